"""Statistics, finance and linear algebra."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.programs.collection import Array, integers, normal, program, uniform

SAMPLE = normal(40, 6, dtype="float64")
PRICES = uniform(30, dtype="float64", low=80.0, high=120.0)


@program(PRICES, 100.0, 0.02, 0.3, 1.5)
def black_scholes(spot: Array, strike: float, rate: float, volatility: float, years: float) -> tuple[Array, Array]:
    def below(x: Array) -> Array:
        t = 1 / (1 + 0.2316419 * np.abs(x))
        tail = np.exp(-x * x / 2) / np.sqrt(2 * np.pi) * t
        tail = tail * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
        return np.where(x > 0, 1 - tail, tail)

    d1 = (np.log(spot / strike) + (rate + volatility**2 / 2) * years) / (volatility * np.sqrt(years))
    d2 = d1 - volatility * np.sqrt(years)
    call = spot * below(d1) - strike * np.exp(-rate * years) * below(d2)
    return call, call - spot + strike * np.exp(-rate * years)


@program(np.float64(100.0), np.float64(105.0))
def binomial_option_tree(spot: Array, strike: Array) -> Array:
    up, rate, steps = 1.05, 1.001, 8
    p = (rate - 1 / up) / (up - 1 / up)
    value = np.maximum(strike - spot * up ** (2.0 * np.arange(steps + 1) - steps), 0)
    for k in range(steps, 0, -1):
        held = (p * value[1:] + (1 - p) * value[:-1]) / rate
        value = np.maximum(held, strike - spot * up ** (2.0 * np.arange(k) - k + 1))
    return value[0]


@program(normal(20, 12, dtype="float64"))
def monte_carlo_asian_option(shocks: Array) -> Array:
    paths = 100 * np.exp(np.cumsum(0.02 * shocks - 0.0002, axis=1))
    return np.maximum(paths.mean(axis=1) - 100, 0).mean()


@program(SAMPLE)
def correlation_matrix(x: Array) -> Array:
    z = (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)
    return z.T @ z / (len(x) - 1)


@program(SAMPLE)
def moments(x: Array) -> dict[str, Array]:
    centred = x - x.mean(axis=0)
    m2, m3, m4 = ((centred**k).mean(axis=0) for k in (2, 3, 4))
    return {"skewness": m3 / m2**1.5, "kurtosis": m4 / m2**2 - 3, "range": np.ptp(x, axis=0)}


@program(SAMPLE[:, :3], SAMPLE[:, 5])
def least_squares_normal_equations(x: Array, y: Array) -> Array:
    x = np.column_stack([np.ones(len(x)), x])
    return np.linalg.solve(x.T @ x, x.T @ y)


@program(SAMPLE[:5, :5] + 6 * np.eye(5))
def gram_schmidt(a: Array) -> Array:
    basis: list[Array] = []
    for k in range(5):
        v = a[:, k]
        for q in basis:
            v = v - np.dot(q, v) * q
        basis.append(v / np.sqrt(np.vdot(v, v)))
    return np.stack(basis, axis=1)


@program(SAMPLE[:6, :6] @ SAMPLE[:6, :6].T + np.eye(6), SAMPLE[0])
def conjugate_gradient(a: Array, b: Array) -> Array:
    x, r = np.zeros_like(b), b
    p, rr = r, r @ r
    for _ in range(3):
        ap = a @ p
        alpha = rr / (p @ ap)
        x, r = x + alpha * p, r - alpha * ap
        rr, before = r @ r, rr
        p = r + rr / before * p
    return x


@program(SAMPLE, SAMPLE[:7])
def gaussian_kernel_density(points: Array, queries: Array) -> Array:
    squared = ((queries[:, None] - points) ** 2).sum(-1)
    return np.log(np.exp(-squared / 0.5).sum(1)) - np.log(len(points)) - 3 * np.log(2 * np.pi * 0.25)


@program(integers(60, below=2), uniform(60, dtype="float64"))
def area_under_curve(labels: Array, scores: Array) -> Array:
    wins = (scores[:, None] > scores[None, :]) + 0.5 * (scores[:, None] == scores[None, :])
    pairs = (labels[:, None] == 1) & (labels[None, :] == 0)
    return np.sum(wins * pairs) / np.count_nonzero(pairs)


@program(integers(50, below=4), integers(50, below=4, seed=1))
def confusion_matrix(truth: Array, found: Array) -> Array:
    classes = np.arange(4)
    return (truth[:, None] == classes).astype(np.int64).T @ (found[:, None] == classes).astype(np.int64)


@program(SAMPLE)
def robust_scaling(x: Array) -> Array:
    middle = np.median(x, axis=0)
    return (x - middle) / (np.percentile(x, 75, axis=0) - np.percentile(x, 25, axis=0))


@program(PRICES)
def drawdown_and_returns(prices: Array) -> tuple[Any, Any]:
    returns = np.diff(prices) / prices[:-1]
    steps = np.arange(len(prices))
    peak = np.where(steps[:, None] >= steps, prices, -np.inf).max(axis=1)
    return np.min(prices / peak - 1), np.prod(1 + returns) - 1


@program(uniform(8, 8, dtype="float64"))
def page_rank(links: Array) -> Array:
    links = np.where(links > 0.6, 1.0, 0.0) + 0.01
    links = links / links.sum(axis=0)
    rank = np.full(8, 1 / 8)
    for _ in range(6):
        rank = 0.85 * links @ rank + 0.15 / 8
    return rank


@program(SAMPLE[:6], SAMPLE[6:12])
def entropy_and_divergence(a: Array, b: Array) -> tuple[Array, Array]:
    p, q = np.exp(a) / np.exp(a).sum(axis=1, keepdims=True), np.exp(b) / np.exp(b).sum(axis=1, keepdims=True)
    return -(p * np.log2(p)).sum(axis=1), (p * (np.log(p) - np.log(q))).sum(axis=1)


@program(SAMPLE[:9, :3], SAMPLE[9:18, :3])
def cosine_and_cityblock(a: Array, b: Array) -> tuple[Array, Array]:
    cosine = np.inner(a, b) / np.outer(np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=1))
    return cosine, np.abs(a[:, None] - b).sum(axis=-1)
