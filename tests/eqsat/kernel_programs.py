"""Named programs with the number of kernels that each needs, derived by hand: for tests of what is fused, and for measurements of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from eqsat.numpy import exp, log, maximum, sqrt, tanh, where

Function = Callable[..., Any]
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Named:
    """A function of float32 arrays of these shapes; `most`: the kernels that it may take, for the reason `why`."""

    function: Function
    shapes: tuple[Shape, ...]
    most: int
    why: str


def softmax(x: Any) -> Any:
    e = exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def logsumexp(x: Any) -> Any:
    return log(exp(x - x.max(axis=1, keepdims=True)).sum(axis=1)) + x.max(axis=1)


def layer_norm(x: Any, gain: Any, bias: Any) -> Any:
    d = x - x.mean(axis=-1, keepdims=True)
    return d / sqrt((d * d).mean(axis=-1, keepdims=True) + 1e-5) * gain + bias


def variance(x: Any) -> Any:
    return ((x - x.mean(axis=1, keepdims=True)) ** 2).mean(axis=1)


def attention(q: Any, k: Any, v: Any) -> Any:
    return softmax(q @ k.T * 0.125) @ v


def gelu(x: Any) -> Any:
    return 0.5 * x * (1.0 + tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def block(x: Any, g1: Any, b1: Any, wq: Any, wk: Any, wv: Any, wo: Any, g2: Any, b2: Any, w1: Any, c1: Any, w2: Any, c2: Any) -> Any:
    """A transformer block of four heads."""
    length, width = x.shape

    def heads(h: Any, w: Any) -> Any:
        return (h @ w).reshape(length, 4, width // 4).transpose(1, 0, 2)

    h = layer_norm(x, g1, b1)
    q, k, v = heads(h, wq), heads(h, wk), heads(h, wv)
    scores = softmax(q @ k.transpose(0, 2, 1) * float(1 / np.sqrt(width // 4)))
    x = x + (scores @ v).transpose(1, 0, 2).reshape(length, width) @ wo
    return x + gelu(layer_norm(x, g2, b2) @ w1 + c1) @ w2 + c2


def mandelbrot(cr: Any, ci: Any) -> Any:
    zr, zi, n = cr * 0.0, ci * 0.0, cr * 0.0
    for _ in range(6):
        r2, i2 = zr * zr, zi * zi
        live = (r2 + i2) < 4.0
        n, zr, zi = where(live, n + 1.0, n), where(live, r2 - i2 + cr, zr), where(live, 2.0 * zr * zi + ci, zi)
    return n


def stencil(u: Any) -> Any:
    return u[1:-1, 1:-1] + 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1])


def moved(x: Any) -> Any:
    y = x.reshape(8, 4, 4, 4, 16).transpose(0, 3, 1, 4, 2).reshape(32, 4 * 16, 4).transpose(1, 0, 2)
    return y.reshape(64, 32 * 4) * 2.0


def convolution(x: Any, w: Any, b: Any) -> Any:
    """conv 3 x 3, bias, relu and pool 2 x 2 of one image (C, H, W)."""
    height, width = x.shape[1] - 2, x.shape[2] - 2
    taps = [x[:, i : i + height, j : j + width].reshape(x.shape[0], -1) for i in range(3) for j in range(3)]
    weights = w.reshape(w.shape[0], x.shape[0], 9)
    flat: Any = sum(weights[:, :, k] @ tap for k, tap in enumerate(taps))
    y = maximum(flat.reshape(w.shape[0], height, width) + b, 0.0)
    return y.reshape(w.shape[0], height // 2, 2, width // 2, 2).max(axis=4).max(axis=2)


def one_hot(v: Any, table: Any) -> Any:
    return (v[:, None].astype("int64") == np.arange(table.shape[0])[None, :]).astype("float32") @ table


BLOCK = ((32, 64), (64,), (64,), *((64, 64),) * 4, (64,), (64,), (64, 256), (256,), (256, 64), (64,))
PROGRAMS = {
    "elementwise chain": Named(
        lambda a, b: maximum((a * b + a) * 0.5 - b, 0.0), ((64, 256),) * 2, 1, "every operation is at the same place"
    ),
    "softmax": Named(softmax, ((256, 512),), 2, "exp is stored, or computed twice: one kernel or two"),
    "logsumexp": Named(logsumexp, ((256, 512),), 1, "greatest element and sum are of the row that one iteration has"),
    "layer norm": Named(layer_norm, ((256, 512), (512,), (512,)), 1, "mean and variance are of the row that one iteration has"),
    "variance": Named(variance, ((256, 512),), 1, "the mean is of the row that one iteration has"),
    "matrix product, bias, relu": Named(lambda a, b, c: maximum(a @ b + c, 0.0), ((64, 128), (128, 96), (96,)), 1, "the end of a product"),
    "attention": Named(attention, ((128, 64),) * 3, 5, "two products, a softmax of two, keys turned so that vectors run along them"),
    "transformer block": Named(block, BLOCK, 12, "eight products and four: two norms and a softmax of two"),
    "mandelbrot": Named(mandelbrot, ((128, 128),) * 2, 1, "every operation is at the same place"),
    "heat": Named(stencil, ((258, 258),), 1, "neighbours are reads"),
    "movements": Named(moved, ((32, 4 * 4 * 16),), 1, "movements are maps of reads"),
    "matrix chain and vector": Named(lambda a, b, v: (a @ b) @ v, ((256, 256), (256, 256), (256,)), 2, "two products with a vector"),
    "sum of a product": Named(lambda a, b: (a @ b).sum(), ((256, 256),) * 2, 2, "sums of columns, and their product with sums of rows"),
    "two products, one factor": Named(lambda a, b, c: a @ b + a @ c, ((128, 128),) * 3, 2, "a sum and a product"),
    "one-hot": Named(one_hot, ((256,), (512, 64)), 1, "a gather"),
    "divided by the sum": Named(lambda x: x / x.sum(), ((512, 512),), 3, "the sum first, in parts that threads share"),
    "residual": Named(lambda x, w, v: x + maximum(x @ w, 0.0) @ v, ((64, 128), (128, 256), (256, 128)), 2, "two products"),
    "cosine": Named(lambda a, b: (a * b).sum() / sqrt((a * a).sum() * (b * b).sum()), ((4096,),) * 2, 1, "one number"),
    "distances": Named(lambda x, c: ((x[:, None, :] - c[None, :, :]) ** 2).sum(axis=2), ((256, 16), (32, 16)), 1, "sums over differences"),
    "gram": Named(lambda x: x.T @ x, ((256, 64),), 1, "a transpose is a map"),
    "power iteration": Named(lambda a, v: (lambda w: w / sqrt((w * w).sum()))(a @ v), ((256, 256), (256,)), 2, "a product, then its norm"),
    "rms norm": Named(lambda x, g: x / sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-6) * g, ((256, 512), (512,)), 1, "one row at a time"),
    "convolution, bias, relu, pool": Named(convolution, ((4, 34, 34), (8, 4, 3, 3), (8, 1, 1)), 2, "nine taps are one sum; then the pool"),
    "cast and scale": Named(
        lambda x: (x.astype("float64") * 2.0 + 1.0).astype("float32"), ((512, 64),), 1, "every operation is at the same place"
    ),
}


def arrays(named: Named, seed: int = 0) -> list[Any]:
    """Random arrays of a program's shapes."""
    rng = np.random.default_rng(seed)
    return [rng.uniform(-1, 1, shape).astype("float32") for shape in named.shapes]
