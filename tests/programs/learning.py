"""Machine learning: layers, losses, clustering, trees of decisions, attention."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.programs.collection import Array, integers, normal, program, uniform

X = normal(32, 12)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def softmax(x: Array, axis: int = -1) -> Array:
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


@program(X, normal(12, 20, seed=1), normal(20, seed=2), normal(20, 5, seed=3))
def two_layer_network(x: Array, w1: Array, b1: Array, w2: Array) -> Array:
    return softmax(np.maximum(x @ w1 + b1, 0) @ w2)


@program(normal(7, 10), normal(7, 16, seed=1), normal(7, 16, seed=2), normal(26, 64, seed=3), normal(64, seed=4))
def lstm_cell(x: Array, h: Array, c: Array, w: Array, b: Array) -> tuple[Array, Array]:
    gates = np.concatenate([x, h], axis=1) @ w * 0.2 + b
    i, f, g, o = np.split(gates, 4, axis=1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


@program(normal(6, 8), normal(6, 12, seed=1), {"z": normal(20, 12, seed=2), "r": normal(20, 12, seed=3), "n": normal(20, 12, seed=4)})
def gru_cell(x: Array, h: Array, w: dict[str, Array]) -> Array:
    both = np.hstack([x, h])
    z = 1 / (1 + np.exp(-(both @ w["z"])))
    r = 1 / (1 + np.exp(-(both @ w["r"])))
    new = np.tanh(np.hstack([x, r * h]) @ w["n"])
    return (1 - z) * h + z * new


@program(normal(10, 16), *(normal(16, 16, seed=k) for k in range(4)), normal(16, 32, seed=5), normal(32, 16, seed=6))
def transformer_block(x: Array, wq: Array, wk: Array, wv: Array, wo: Array, w1: Array, w2: Array) -> Array:
    def norm(t: Array) -> Array:
        return (t - t.mean(-1, keepdims=True)) / np.sqrt(t.var(-1, keepdims=True) + 1e-5)

    def heads(t: Array) -> Array:
        return t.reshape(10, 4, 4).transpose(1, 0, 2)

    y = norm(x)
    q, k, v = heads(y @ wq), heads(y @ wk), heads(y @ wv)
    scores = np.where(np.tri(10, dtype=bool), q @ k.swapaxes(-1, -2) / 2.0, -np.inf)
    x = x + (softmax(scores) @ v).transpose(1, 0, 2).reshape(10, 16) @ wo * 0.1
    hidden = norm(x) @ w1
    return x + 0.5 * hidden * (1 + np.tanh(0.79788456 * (hidden + 0.044715 * hidden**3))) @ w2 * 0.1


@program(X, normal(4, 12, seed=1))
def k_means_step(points: Array, centres: Array) -> tuple[Array, Array]:
    squared = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=-1)
    nearest = squared.argmin(axis=1)
    member = (nearest[:, None] == np.arange(4)).astype(points.dtype)
    return nearest, member.T @ points / np.maximum(member.sum(axis=0), 1)[:, None]


@program(X.astype(np.float64))
def pca_power_iterations(x: Array) -> tuple[Array, Array]:
    centred = x - x.mean(axis=0)
    covariance = centred.T @ centred / (len(x) - 1)
    v = np.ones(x.shape[1]) / np.sqrt(x.shape[1])
    for _ in range(4):
        v = covariance @ v
        v = v / np.linalg.norm(v)
    return v, centred @ v


@program(X.astype(np.float64))
def whitening(x: Array) -> Array:
    centred = x - x.mean(axis=0)
    factor = np.linalg.cholesky(np.cov(x, rowvar=False) + 0.1 * np.eye(x.shape[1]))
    return centred @ np.linalg.inv(factor).T


@program(X, integers(32, below=5), normal(12, 5, seed=1))
def logistic_regression_step(x: Array, labels: Array, w: Array) -> tuple[Array, Array]:
    p = softmax(x @ w)
    loss = -np.log(p[np.arange(len(labels)), labels]).mean()
    gradient = x.T @ (p - (labels[:, None] == np.arange(5))) / len(x)
    return loss, w - 0.1 * gradient


@program(normal(3, 4, 12, 14), normal(4, 1, 3, 3, seed=1), normal(8, 4, seed=2))
def depthwise_separable_block(x: Array, depth: Array, point: Array) -> Array:
    p = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    y = sum(p[:, :, i : i + 12, j : j + 14] * depth[None, :, 0, i, j, None, None] for i in range(3) for j in range(3))
    y = np.clip(y, 0, 6)
    return np.einsum("oc,nchw->nohw", point, y)


@program(normal(5, 6, 9, 9), normal(6, seed=1), normal(6, seed=2))
def batch_norm_leaky_relu(x: Array, scale: Array, shift: Array) -> Array:
    mean, deviation = x.mean(axis=(0, 2, 3), keepdims=True), x.std(axis=(0, 2, 3), keepdims=True)
    y = (x - mean) / (deviation + 1e-5) * scale[:, None, None] + shift[:, None, None]
    return np.where(y > 0, y, 0.01 * y)


@program(X, normal(32, 12, seed=1))
def contrastive_loss(a: Array, b: Array) -> Array:
    a = a / np.linalg.norm(a, axis=1, keepdims=True)
    b = b / np.linalg.norm(b, axis=1, keepdims=True)
    logits = a @ b.T / 0.1
    top = logits.max(axis=1, keepdims=True)
    logs = logits - top - np.log(np.exp(logits - top).sum(axis=1, keepdims=True))
    return -np.trace(logs) / len(a)


@program(normal(40, 8), integers(6, 10, below=40))
def embedding_bag(table: Array, tokens: Array) -> Array:
    return np.take(table, tokens, axis=0).mean(axis=1)


@program({"w": normal(12, 3), "b": normal(3)}, {"w": normal(12, 3, seed=1), "b": normal(3, seed=1)}, np.float32(0.9))
def adam_update(parameters: dict[str, Array], gradients: dict[str, Array], beta: Array) -> dict[str, Any]:
    found = {}
    for name, value in parameters.items():
        first = (1 - beta) * gradients[name]
        second = 0.001 * gradients[name] ** 2
        found[name] = value - 0.01 * (first / (1 - beta)) / (np.sqrt(second / 0.001) + 1e-8)
    return found


@program(X, normal(20, 12, seed=1), 3)
def nearest_neighbours(queries: Array, points: Array, k: int) -> tuple[Array, Array]:
    squared = (queries**2).sum(1)[:, None] - 2 * queries @ points.T + (points**2).sum(1)
    order = np.argsort(squared, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(squared, order, axis=1)


@program(normal(2, 16, 16), normal(5, 2, 3, 3, seed=1), normal(5, seed=2))
def convolution_by_windows(x: Array, w: Array, b: Array) -> Array:
    columns = np.stack([x[:, i : i + 14, j : j + 14] for i in range(3) for j in range(3)], axis=1)
    y = np.tensordot(w.reshape(5, 2, 9), columns, axes=([1, 2], [0, 1])) + b[:, None, None]
    return np.maximum(y, 0).reshape(5, 7, 2, 7, 2).max(axis=(2, 4))


@program(integers(50, below=4), normal(50), 4, rtol=1e-6)  # float64 quotients of float32 sums
def grouped_mean(groups: Array, values: Array, count: int) -> Array:
    member = groups == np.arange(count)[:, None]
    return np.sum(np.where(member, values, 0), axis=1) / np.maximum(member.sum(axis=1), 1)


@program(normal(8, 30), uniform(8, 30))
def dropout_and_layer_norm(x: Array, chance: Array) -> Array:
    x = np.where(chance < 0.8, x / np.float32(0.8), 0)
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-6)
