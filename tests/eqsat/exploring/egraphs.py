"""E-graphs that several tests look into."""

from __future__ import annotations

import functools
from typing import Any

import eqsat
import eqsat.numpy as enp
from eqsat.exploring import EGraph

X, Y = eqsat.var("x", 0, 31), eqsat.var("y", 0, 100)
TERMS = {
    "identity": X // 8 * 8 + X % 8,
    "digits": (X * 4 + Y % 4) // 4 % 8,
    "order": eqsat.minimum(X, (X * 3 + Y) // 2) % 5 + (X + Y * 8) // 8 * 8 + (X + Y * 8) % 8,
    "choice": eqsat.where(X < 40, X, 3),
    "shared": (X * 5 + Y) // 3 + (X * 5 + Y) % 3 + eqsat.maximum(X * 5 + Y, 7),
    "plain": X + Y * 3,
    "kept": (X * Y) // 7,
    "comparison": (X // 4 < 3) & (Y % 4 < 9),
}


def softmax_of_product(x: Any, w: Any) -> Any:
    y = x.reshape(4, 16).T @ w
    e = enp.exp(y - y.max(axis=1, keepdims=True))
    return (e / e.sum(axis=1, keepdims=True)).reshape(-1)


def shuffled_sines(x: Any) -> Any:
    for k in range(5):
        x = enp.sin(x.reshape(8, 8).T.reshape(64) * 2 + k)
    return x


def chain_of_products(a: Any, b: Any, c: Any) -> Any:
    return (a @ b) @ c


def stored(x: Any) -> Any:
    return x + 1, enp.sort(x)


def matrix(*shape: int) -> eqsat.Spec:
    return eqsat.spec(shape, "float32")


PROGRAMS = {
    "softmax": eqsat.trace(softmax_of_product, matrix(64), matrix(4, 8)),
    "sines": eqsat.trace(shuffled_sines, matrix(64)),
    "products": eqsat.trace(chain_of_products, matrix(20, 30), matrix(30, 40), matrix(40, 2)),
    "steps": eqsat.trace(stored, matrix(8)),
}


@functools.cache
def egraph(name: str) -> EGraph:
    return eqsat.explore(TERMS[name] if name in TERMS else PROGRAMS[name])
