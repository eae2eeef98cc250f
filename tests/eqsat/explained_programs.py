"""Programs of which the steps are looked at, each for something that happens on the way to its cheapest form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import eqsat
import eqsat.numpy as enp
from eqsat import Spec, spec

Case = tuple[Callable[..., Any], tuple[Spec, ...]]
N = eqsat.dim("n", 1, 512)


def _softmax(x: Any) -> Any:
    e = enp.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def _there_and_back(x: Any) -> Any:
    return (enp.exp(x).T.reshape(2, 24).reshape(6, 8).T + 1).sum(axis=0)


def _attention(q: Any, k: Any, v: Any) -> Any:
    return _softmax(q @ k.T / 4) @ v


def _layer(x: Any, w: Any, b: Any) -> Any:
    h = enp.maximum(x @ w + b, 0)
    return (h - h.mean(axis=1, keepdims=True)) / enp.sqrt(h.var(axis=1, keepdims=True) + 1e-5)


def _image(x: Any) -> Any:
    y = enp.pad(x, 1, "reflect")
    return (y[:-2, 1:-1] + y[1:-1, 1:-1] + y[2:, 1:-1]) / 3


CASES: dict[str, Case] = {
    "elementwise chain": (lambda x: enp.tanh(enp.exp(x * 2) + 1) - x, (spec((4, 6), "float32"),)),
    "softmax": (_softmax, (spec((8, 6), "float32"),)),
    "movements there and back": (_there_and_back, (spec((8, 6), "float32"),)),
    "product of three": (
        lambda a, b, v: (a @ b) @ v,
        (spec((30, 20), "float32"), spec((20, 40), "float32"), spec((40,), "float32")),
    ),
    "sum through a product": (lambda a, b: (a @ b).sum(axis=1), (spec((300, 200), "float32"), spec((200, 100), "float32"))),
    "common factor": (lambda a, b, c: a @ b + a @ c, (spec((120, 100), "float32"), *2 * (spec((100, 80), "float32"),))),
    "like terms": (lambda x, y: (x + y) * (x + y) - (x - y) * (x - y) - 4 * x * y, 2 * (spec((5, 4), "int64"),)),
    "identity matrix": (lambda x: np.eye(64, dtype="float32") @ x, (spec((64, 64), "float32"),)),
    "fold of equal elements": (lambda x: enp.broadcast_to(x[:, None], (400, 70)).max(axis=1), (spec((400,), "float32"),)),
    "mean of a layer": (
        lambda x, w, b: (x @ w + b).mean(axis=0),
        (spec((120, 100), "float32"), spec((100, 80), "float32"), spec((80,), "float32")),
    ),
    "greatest of sums": (lambda x, y: (x[:, None] + y).max(axis=1), 2 * (spec((300,), "float32"),)),
    "function of a table": (
        lambda t, i: enp.exp(enp.take(t, i, axis=0) * 2.0) + 1.0,
        (spec((64,), "float32"), spec((300, 400), "uint8")),
    ),
    "magnitudes": (lambda x: enp.maximum(x, -x).sum(axis=1), (spec((300, 400), "float32"),)),
    "squared moduli": (lambda z: enp.abs(z) ** 2 + 1.0, (spec((300, 400), "complex64"),)),
    "sum of tiles": (lambda x: enp.tile(x, (4, 3)).sum(axis=1), (spec((30, 40), "float32"),)),
    "known array": (lambda x: (x[:, None] == enp.arange(5)).sum(axis=0), (spec((9,), "int64"),)),
    "attention": (_attention, 3 * (spec((8, 4), "float32"),)),
    "layer": (_layer, (spec((6, 8), "float32"), spec((8, 4), "float32"), spec((4,), "float32"))),
    "image": (_image, (spec((8, 9), "float32"),)),
    "several results": (lambda x: (enp.exp(x), enp.exp(x.T.T).sum(axis=0), x + 1), (spec((5, 4), "float64"),)),
    "equal tensors": (lambda x: (enp.exp(x), enp.exp(enp.flip(enp.flip(x, 0), 0))), (spec((5, 4), "float64"),)),
    "gather that is checked": (lambda x, i: (x.T * 2)[i] + 1, (spec((4, 5), "float32"), spec((3,), "int64"))),
    "library call": (lambda x: (enp.sort(x * 2, axis=1) + 1).T.sum(axis=0), (spec((5, 4), "float32"),)),
    "loop": (lambda x: eqsat.fori(3, lambda i, c: enp.tanh(c @ x.T.T) + i, x) * 2, (spec((4, 4), "float64"),)),
    "size known at run time": (lambda x, w: enp.exp(x @ w).sum(axis=1), (spec((N, 8), "float32"), spec((8, 4), "float32"))),
    "running sum": (lambda x: enp.cumsum(enp.exp(x), axis=1)[:, ::-1], (spec((5, 4), "float64"),)),
    "copy": (lambda x: x.T.T, (spec((5, 4), "float32"),)),
    "known result": (lambda x: enp.ones(3), (spec((2,), "float32"),)),
    "no elements": (lambda x: x.sum(axis=0), (spec((0, 4), "float64"),)),
    "variance": (lambda x: x.var(axis=0), (spec((12, 5), "float32"),)),
}
