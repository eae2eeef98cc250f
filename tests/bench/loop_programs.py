"""Programs with loops for bench_loops: functions of a namespace like NumPy's, its loop `fori(n, body, init)`, and arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Fori = Callable[[int, Callable[[Any, Any], Any], Any], Any]
RNG = np.random.default_rng(0)


def floats(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


def shares(*shape: int) -> Array:
    found = RNG.random(shape).astype(np.float32)
    return np.asarray(found / found.sum(axis=-1, keepdims=True))


def sigmoid(xp: Any, x: Any) -> Any:
    return 1 / (1 + xp.exp(-x))


def put(ys: Any, i: Any, row: Any) -> Any:
    """ys with a row, in place where arrays can be changed."""
    if hasattr(ys, "at"):
        return ys.at[i].set(row)
    ys[i] = row
    return ys


def lstm(xp: Any, fori: Fori, xs: Any, h: Any, w: Any, u: Any, b: Any) -> Any:
    d = h.shape[-1]

    def step(i: Any, carry: Any) -> Any:
        h, c = carry
        z = xs[i] @ w + h @ u + b
        c = sigmoid(xp, z[:, d : 2 * d]) * c + sigmoid(xp, z[:, :d]) * xp.tanh(z[:, 2 * d : 3 * d])
        return sigmoid(xp, z[:, 3 * d :]) * xp.tanh(c), c

    return fori(xs.shape[0], step, (h, h))[0]


def states(xp: Any, fori: Fori, xs: Any, w: Any, u: Any) -> Any:
    def step(i: Any, carry: Any) -> Any:
        h, ys = carry
        h = xp.tanh(xs[i] @ w + h @ u)
        return h, put(ys, i, h)

    return fori(xs.shape[0], step, (xs[0] * 0, xs * 0))[1]


def heat(xp: Any, fori: Fori, x: Any) -> Any:
    def step(i: Any, x: Any) -> Any:
        p = xp.pad(x, 1, mode="edge")
        return x + np.float32(0.1) * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * x)

    return fori(50, step, x)


def sinkhorn(xp: Any, fori: Fori, cost: Any, a: Any, b: Any) -> Any:
    k = xp.exp(-cost)

    def step(i: Any, carry: Any) -> Any:
        u, v = carry
        u = a / (k @ v)
        return u, b / (k.T @ u)

    u, v = fori(30, step, (a, b))
    return u[:, None] * k * v[None, :]


def conjugate_gradient(xp: Any, fori: Fori, m: Any, b: Any) -> Any:
    def step(i: Any, carry: Any) -> Any:
        x, r, p, rr = carry
        q = m @ p
        size = rr / xp.sum(p * q)
        r = r - size * q
        new = xp.sum(r * r)
        return x + size * p, r, r + new / rr * p, new

    return fori(20, step, (b * 0, b, b, xp.sum(b * b)))[0]


def logistic_regression(xp: Any, fori: Fori, x: Any, y: Any, w: Any) -> Any:
    return fori(20, lambda i, w: w - np.float32(0.0001) * (x.T @ (sigmoid(xp, x @ w) - y)), w)


def bodies(xp: Any, fori: Fori, p: Any, v: Any, m: Any) -> Any:
    def step(i: Any, carry: Any) -> Any:
        p, v = carry
        d = p[None] - p[:, None]
        q = xp.sum(d * d, axis=-1) + np.float32(0.01)
        v = v + np.float32(0.01) * xp.sum(d * (m[None, :] / (q * xp.sqrt(q)))[:, :, None], axis=1)
        return p + np.float32(0.01) * v, v

    return fori(5, step, (p, v))


def mandelbrot(xp: Any, fori: Fori, a: Any, b: Any) -> Any:
    def step(i: Any, carry: Any) -> Any:
        x, y, k = carry
        inside = x * x + y * y < 4
        return xp.where(inside, x * x - y * y + a, x), xp.where(inside, 2 * x * y + b, y), k + inside

    return fori(50, step, (a * 0, a * 0, (a * 0).astype("int32")))[2]


def shortest_paths(xp: Any, fori: Fori, d: Any) -> Any:
    return fori(d.shape[0], lambda k, d: xp.minimum(d, d[:, k][:, None] + d[k][None, :]), d)


def means(xp: Any, fori: Fori, x: Any, c: Any) -> Any:
    def step(i: Any, c: Any) -> Any:
        nearest = xp.argmin(xp.sum(c * c, axis=1) - 2 * x @ c.T, axis=1)
        one = (nearest[:, None] == xp.arange(c.shape[0])).astype("float32")
        return (one.T @ x) / xp.maximum(xp.sum(one, axis=0), 1)[:, None]

    return fori(5, step, c)


def forward(xp: Any, fori: Fori, a: Any, b: Any, seen: Any, p: Any) -> Any:
    def step(t: Any, carry: Any) -> Any:
        p, total = carry
        p = (p @ a) * b[:, seen[t]]
        size = xp.sum(p)
        return p / size, total + xp.log(size)

    return fori(seen.shape[0], step, (p, xp.sum(p) * 0))[1]


def edit_distance(xp: Any, fori: Fori, a: Any, b: Any) -> Any:
    """Row by row; what is inserted is a running minimum."""
    n = b.shape[0]
    places = xp.arange(n + 1)

    def step(i: Any, row: Any) -> Any:
        changed = xp.minimum(row[1:] + 1, row[:-1] + (b != a[i]))
        start = xp.concatenate([row[:1] + 1, changed]) - places
        return xp.min(xp.where(places[None, :] <= places[:, None], start[None, :], n), axis=1) + places

    return fori(a.shape[0], step, places)[-1]


def smoothed(xp: Any, fori: Fori, x: Any) -> Any:
    """Exponentially weighted means down columns."""

    def step(i: Any, carry: Any) -> Any:
        h, y = carry
        h = 0.06 * x[i] + 0.94 * h
        return h, put(y, i, h)

    return fori(x.shape[0], step, (x[0] * 1.0, x * 0))[1]


def envelope(xp: Any, fori: Fori, x: Any) -> Any:
    def step(i: Any, carry: Any) -> Any:
        e, y = carry
        level = xp.abs(x[i])
        e = e + xp.where(level > e, 0.1, 0.001) * (level - e)
        return e, put(y, i, e)

    return fori(x.shape[0], step, (x[0] * 0, x * 0))[1]


def biquad(xp: Any, fori: Fori, x: Any, b: Any, a: Any) -> Any:
    """A filter of second order, for many channels."""

    def step(i: Any, carry: Any) -> Any:
        s, t, y = carry
        v = b[0] * x[i] + s
        return b[1] * x[i] - a[0] * v + t, b[2] * x[i] - a[1] * v, put(y, i, v)

    return fori(x.shape[0], step, (x[0] * 0, x[0] * 0, x * 0))[2]


def garch(xp: Any, fori: Fori, r: Any) -> Any:
    def step(i: Any, carry: Any) -> Any:
        h, v = carry
        return 1e-6 + 0.1 * r[i] * r[i] + 0.85 * h, put(v, i, h)

    return fori(r.shape[0], step, (r[0] * 0 + 1e-4, r * 0))[1]


def goertzel(xp: Any, fori: Fori, x: Any, k: Any) -> Any:
    c = 2 * xp.cos(k)
    s, t = fori(x.shape[0], lambda i, s: (x[i] + c * s[0] - s[1], s[0]), (k * 0, k * 0))
    return s * s + t * t - s * t * c


def clenshaw(xp: Any, fori: Fori, c: Any, x: Any) -> Any:
    """A sum of Chebyshev polynomials."""
    n = c.shape[0]
    a, b = fori(n - 1, lambda k, s: (c[n - 1 - k] + 2 * x * s[0] - s[1], s[0]), (x * 0, x * 0))
    return c[0] + x * a - b


def shifted_advection(xp: Any, fori: Fori, w: Any, u: Any) -> Any:
    """A tridiagonal system for each column: rows that the loops read are slices, and their results stand behind the first row."""
    levels, zero = w.shape[0], xp.zeros((w.shape[0] - 1, w.shape[1]), "f4")
    c, d = np.float32(0.25) * w[0] / (3 + w[0]), u[0] / (3 + w[0])
    left, right, given = np.float32(-0.25) * w[:-1], w[1:], u[1:]

    def forward(k: Any, carry: Any) -> Any:
        c, d, cs, ds = carry
        q = 1 / (3 + right[k] - c * left[k])
        c, d = np.float32(0.25) * right[k] * q, (given[k] - d * left[k]) * q
        return c, d, put(cs, k, c), put(ds, k, d)

    _, last, cs, ds = fori(levels - 1, forward, (c, d, zero, zero))
    cs, ds = xp.concatenate([c[None], cs]), xp.concatenate([d[None], ds])

    def back(i: Any, carry: Any) -> Any:
        y, ys = carry
        k = levels - 2 - i
        y = ds[k] - cs[k] * y
        return y, put(ys, k, y)

    return xp.concatenate([fori(levels - 1, back, (last, zero))[1], last[None]])


def there_and_back(xp: Any, fori: Fori, x: Any) -> Any:
    """A filter of rows and the same one backwards, each behind its beginning."""

    def along(x: Any, back: bool) -> Any:
        n = x.shape[0] - 1

        def step(i: Any, carry: Any) -> Any:
            a, ys = carry
            k = n - 1 - i if back else i
            a = np.float32(0.7) * a + np.float32(0.3) * x[k if back else k + 1]
            return a, put(ys, k, a)

        return fori(n, step, (x[-1 if back else 0] * 1, xp.zeros((n, x.shape[1]), "f4")))[1]

    y = xp.concatenate([x[:1], along(x, False)])
    return xp.concatenate([along(y, True), y[-1:]])


def echo_states(xp: Any, fori: Fori, w: Any, x: Any) -> Any:
    def step(i: Any, carry: Any) -> Any:
        h, hs = carry
        h = xp.tanh(w @ h + x[i])
        return h, put(hs, i, h)

    return fori(x.shape[0], step, (w[0] * 0, xp.zeros((x.shape[0], w.shape[0]), "f4")))[1]


SPD = (lambda m: (m @ m.T / 256 + np.eye(256, dtype=np.float32)).astype(np.float32))(floats(256, 256))
GRID = np.meshgrid(np.linspace(-2, 0.5, 128, dtype=np.float32), np.linspace(-1.2, 1.2, 128, dtype=np.float32))
EVEN = np.full(128, 1 / 128, np.float32)

PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Array, ...]]] = {
    "lstm": (lstm, (floats(64, 8, 128), floats(8, 128), floats(128, 512) / 10, floats(128, 512) / 10, floats(512))),
    "states": (states, (floats(200, 32), floats(32, 32) / 8, floats(32, 32) / 8)),
    "heat": (heat, (floats(256, 256),)),
    "sinkhorn": (sinkhorn, (np.abs(floats(128, 128)), EVEN, EVEN)),
    "conjugate gradient": (conjugate_gradient, (SPD, floats(256))),
    "logistic regression": (logistic_regression, (floats(1024, 64), (floats(1024) > 0).astype(np.float32), floats(64))),
    "bodies": (bodies, (floats(256, 3), floats(256, 3), np.abs(floats(256)))),
    "mandelbrot": (mandelbrot, tuple(GRID)),
    "shortest paths": (shortest_paths, (np.abs(floats(128, 128)),)),
    "means": (means, (floats(2048, 16), floats(10, 16))),
    "forward": (forward, (shares(32, 32), shares(32, 10), RNG.integers(0, 10, 100), shares(32))),
    "edit distance": (edit_distance, (RNG.integers(0, 4, 60), RNG.integers(0, 4, 60))),
    "smoothed": (smoothed, (RNG.standard_normal((500, 37)),)),
    "envelope": (envelope, (RNG.standard_normal(3000),)),
    "biquad": (biquad, (floats(600, 64), floats(3) / 4, floats(2) / 4)),
    "garch": (garch, (RNG.standard_normal((1000, 8)) / 100,)),
    "goertzel": (goertzel, (RNG.standard_normal(400), RNG.uniform(0, 3, 48))),
    "shifted advection": (shifted_advection, (RNG.random((60, 400)).astype(np.float32), floats(60, 400))),
    "there and back": (there_and_back, (floats(128, 200),)),
    "echo states": (echo_states, (floats(64, 64) / 8, floats(100))),
    "clenshaw": (clenshaw, (floats(24), RNG.uniform(-1, 1, 10_000).astype(np.float32))),
}
