"""Signals and sequences: transforms, filters, dynamic programming, random processes."""

from __future__ import annotations

import numpy as np

from tests.programs.collection import Array, integers, normal, program, uniform

SIGNAL = normal(64, dtype="float64")


@program(normal(8, 8, dtype="float64"))
def discrete_cosine_transform(block: Array) -> Array:
    n = np.arange(8)
    basis = np.cos(np.pi * (2 * n[None, :] + 1) * n[:, None] / 16) * np.where(n == 0, np.sqrt(1 / 8), 0.5)[:, None]
    return basis @ block @ basis.T


@program(SIGNAL)
def discrete_fourier_transform(x: Array) -> Array:
    n = np.arange(len(x))
    angle = 2 * np.pi * np.outer(n, n) % (2 * np.pi * len(x)) / len(x)
    return np.hypot(np.cos(angle) @ x, np.sin(angle) @ x)


@program(SIGNAL)
def haar_wavelet(x: Array) -> list[Array]:
    details = []
    while len(x) > 4:
        details.append((x[::2] - x[1::2]) / np.sqrt(2))
        x = (x[::2] + x[1::2]) / np.sqrt(2)
    return [x, *details]


@program(SIGNAL, normal(7, dtype="float64"))
def finite_impulse_response(x: Array, taps: Array) -> Array:
    return np.convolve(x, taps, mode="valid")


@program(SIGNAL)
def moving_average(x: Array) -> Array:
    total = np.cumsum(np.concatenate([np.zeros(1), x]))
    return (total[5:] - total[:-5]) / 5


@program(SIGNAL, SIGNAL[::-1].copy())
def normalized_correlation(x: Array, y: Array) -> Array:
    x = (x - np.mean(x)) / (np.std(x) * len(x))
    y = (y - np.mean(y)) / np.std(y)
    return np.correlate(x, y, mode="full")


@program(SIGNAL)
def short_time_energy(x: Array) -> Array:
    frames = np.stack([x[k : k + 16] for k in range(0, 49, 8)])
    return 10 * np.log10(np.sum((frames * np.hanning(16)) ** 2, axis=1) + 1e-10)


@program(uniform(12, 4, dtype="float64"), uniform(4, 4, dtype="float64", seed=1), uniform(4, dtype="float64", seed=2))
def viterbi_scores(likelihood: Array, transition: Array, start: Array) -> tuple[Array, Array]:
    score = np.log(start) + np.log(likelihood[0])
    pointers = []
    for k in range(1, 12):
        candidates = score[:, None] + np.log(transition)
        pointers.append(np.argmax(candidates, axis=0))
        score = np.max(candidates, axis=0) + np.log(likelihood[k])
    return score, np.stack(pointers)


@program(uniform(9, 3, dtype="float64"), uniform(3, 3, dtype="float64", seed=1))
def forward_algorithm(likelihood: Array, transition: Array) -> Array:
    transition = transition / transition.sum(axis=1, keepdims=True)
    alpha = likelihood[0] / 3
    for k in range(1, len(likelihood)):
        alpha = (alpha @ transition) * likelihood[k]
    return np.log(alpha.sum())


@program(
    normal(4, dtype="float64"),
    np.eye(4),
    normal(2, dtype="float64"),
    normal(4, 4, dtype="float64", seed=1),
    normal(2, 4, dtype="float64", seed=2),
)
def kalman_step(x: Array, p: Array, z: Array, f: Array, h: Array) -> tuple[Array, Array]:
    x, p = f @ x, f @ p @ f.T + 0.1 * np.eye(4)
    s = h @ p @ h.T + 0.2 * np.eye(2)
    inverse = np.array([[0.0, 1.0], [-1.0, 0.0]]) @ s.T @ np.array([[0.0, -1.0], [1.0, 0.0]]) / (s[0, 0] * s[1, 1] - s[0, 1] * s[1, 0])
    gain = p @ h.T @ inverse
    return x + gain @ (z - h @ x), (np.eye(4) - gain @ h) @ p


@program(integers(9, below=4), integers(7, below=4, seed=1))
def edit_distance(a: Array, b: Array) -> Array:
    previous = np.arange(len(b) + 1)
    for i in range(len(a)):
        best = np.minimum(previous[1:] + 1, previous[:-1] + (b != a[i]))
        row = np.concatenate([np.array([i + 1]), best])
        steps = np.arange(len(b) + 1)
        previous = np.min(np.where(steps[:, None] >= steps, row + steps[:, None] - steps, 1000), axis=1)
    return previous[-1]


@program(normal(3, 50, dtype="float64"))
def autocorrelation(x: Array) -> Array:
    x = x - x.mean(axis=1, keepdims=True)
    return np.stack([(x[:, : 50 - lag] * x[:, lag:]).sum(axis=1) for lag in range(6)], axis=1) / (x**2).sum(axis=1)[:, None]


@program(integers(40, below=2**32, dtype="uint32"))
def xorshift_and_popcount(state: Array) -> tuple[Array, Array]:
    state = state ^ (state << np.uint32(13))
    state = state ^ (state >> np.uint32(17))
    state = state ^ (state << np.uint32(5))
    pairs = state - ((state >> 1) & 0x55555555)
    fours = (pairs & 0x33333333) + ((pairs >> 2) & 0x33333333)
    return state, (((fours + (fours >> 4)) & 0x0F0F0F0F) * np.uint32(0x01010101)) >> 24


@program(normal(32, dtype="complex128"))
def phase_vocoder_step(spectrum: Array) -> Array:
    magnitude = np.abs(spectrum)
    turned = spectrum * np.exp(1j * 0.3 * np.arange(32))
    return turned / np.where(magnitude == 0, 1, magnitude)


@program(integers(30, below=256, dtype="uint8"), integers(30, below=256, dtype="uint8", seed=1))
def alpha_blend_bytes(over: Array, under: Array) -> Array:
    mixed = over.astype(np.uint16) * 180 + under.astype(np.uint16) * 75 + 127
    return (mixed // 255).astype(np.uint8)


@program(uniform(3, 40, low=-1.0))
def mu_law(x: Array) -> tuple[Array, Array]:
    coded = np.sign(x) * np.log1p(255 * np.abs(x)) / np.log1p(np.float32(255))
    levels = np.floor((coded + 1) / 2 * 255 + 0.5).astype(np.uint8)
    back = 2 * levels.astype(np.float32) / 255 - 1
    return levels, np.sign(back) * np.expm1(np.abs(back) * np.log(np.float32(256))) / 255
