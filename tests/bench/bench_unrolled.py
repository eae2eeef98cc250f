"""Programs that write a step out again and again, printed: `python -m tests.bench.bench_unrolled [NAME ...]`.

Seconds to the first result, with caches off, and microseconds a call after it on one thread, beside NumPy.  The steps read their own result
at shifted places: padded, rolled, in halves or through constant indices.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import eqsat

Arrays = tuple[np.ndarray[Any, Any], ...]
Function = Callable[..., Any]
RNG = np.random.default_rng(0)


def _floats(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.standard_normal(shape).astype(np.float32)


def waves(e: Any, h: Any) -> Any:
    for _ in range(5):
        h = h + 0.5 * np.diff(e)
        e = e + 0.5 * np.pad(np.diff(h), 1)
    return e, h


def jacobi(x: Any) -> Any:
    for _ in range(4):
        p = np.pad(x, 1)
        x = 0.25 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:])
    return x


def life(x: Any) -> Any:
    for _ in range(3):
        p = np.pad(x, 1)
        around: Any = sum(p[i : i + 24, j : j + 24] for i in range(3) for j in range(3) if (i, j) != (1, 1))
        x = ((around == 3) | ((x == 1) & (around == 2))).astype(np.int32)
    return x


def rule_30(x: Any) -> Any:
    rows = [x]
    for _ in range(10):
        rows.append(np.roll(rows[-1], 1) ^ (rows[-1] | np.roll(rows[-1], -1)))
    return np.stack(rows)


def pyramid(x: Any) -> Any:
    found = []
    for _ in range(3):
        p = np.pad(x, 2, mode="reflect")
        rows: Any = sum(k / 16 * p[:, i : i + x.shape[1]] for i, k in enumerate((1, 4, 6, 4, 1)))
        blurred: Any = sum(k / 16 * rows[i : i + x.shape[0]] for i, k in enumerate((1, 4, 6, 4, 1)))
        less = blurred[::2, ::2]
        found.append(x - np.repeat(np.repeat(less, 2, 0), 2, 1))
        x = less
    return (*found, x)


def lifting(x: Any) -> Any:
    found = []
    for _ in range(2):
        even, odd = x[::2], x[1::2]
        d = odd - ((even + np.append(even[1:], even[-1:])) >> 1)
        x = even + ((np.append(d[:1], d[:-1]) + d + 2) >> 2)
        found.append(d)
    return np.concatenate([x, *found[::-1]])


def fourier(x: Any) -> Any:
    def halves(re: Any, im: Any) -> Any:
        n = re.shape[0]
        if n == 1:
            return re, im
        (a, b), (c, d) = halves(re[::2], im[::2]), halves(re[1::2], im[1::2])
        angle = -2 * np.pi * np.arange(n // 2) / n
        w, z = np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)
        p, q = w * c - z * d, w * d + z * c
        return np.concatenate([a + p, a - p]), np.concatenate([b + q, b - q])

    return np.stack(halves(x, x * 0))


def strassen(a: Any, b: Any) -> Any:
    if a.shape[0] <= 4:
        return a @ b
    h = a.shape[0] // 2
    (a11, a12), (a21, a22) = ((m[:, :h], m[:, h:]) for m in (a[:h], a[h:]))
    (b11, b12), (b21, b22) = ((m[:, :h], m[:, h:]) for m in (b[:h], b[h:]))
    p1, p2, p3, p4 = strassen(a11, b12 - b22), strassen(a11 + a12, b22), strassen(a21 + a22, b11), strassen(a22, b21 - b11)
    p5, p6, p7 = strassen(a11 + a22, b11 + b22), strassen(a12 - a22, b21 + b22), strassen(a11 - a21, b11 + b12)
    return np.block([[p5 + p4 - p2 + p6, p1 + p2], [p3 + p4, p1 + p5 - p3 - p7]])


def bitonic(x: Any) -> Any:
    places = np.arange(x.shape[0])
    size = 2
    while size <= x.shape[0]:
        step = size // 2
        while step:
            other = x[places ^ step]
            upwards = ((places & size) == 0) == ((places & step) == 0)
            x = np.where(upwards, np.minimum(x, other), np.maximum(x, other))
            step //= 2
        size *= 2
    return x


def hypercube(x: Any) -> Any:
    places = np.arange(x.shape[0])
    for k in range(16):
        x = np.minimum(x, x[places ^ (1 << k % 5)] + 0.5)
    return x


PROGRAMS: dict[str, tuple[Function, Arrays]] = {
    "waves": (waves, (_floats(64), _floats(63))),
    "jacobi": (jacobi, (_floats(20, 20),)),
    "life": (life, ((RNG.random((24, 24)) < 0.4).astype(np.int32),)),
    "rule_30": (rule_30, (RNG.random(64) < 0.5,)),
    "pyramid": (pyramid, (_floats(32, 32),)),
    "lifting": (lifting, (RNG.integers(0, 255, 32).astype(np.int32),)),
    "fourier": (fourier, (_floats(16),)),
    "strassen": (strassen, (_floats(16, 16).astype(np.float64), _floats(16, 16).astype(np.float64))),
    "bitonic": (bitonic, (_floats(64),)),
    "hypercube": (hypercube, (_floats(32),)),
}


def seconds(call: Callable[[], Any], rounds: int) -> float:
    """The least time of a call."""
    least = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        least = min(least, time.perf_counter() - start)
    return least


def show(name: str) -> None:
    function, arrays = PROGRAMS[name]
    compiled = eqsat.jit(function, options=eqsat.Options(cache=False))
    first = seconds(lambda: compiled(*arrays), 1)
    expected, found = function(*arrays), compiled(*arrays)
    several = isinstance(expected, tuple)
    for one, other in zip(found if several else (found,), expected if several else (expected,), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)
    ours, numpys = (seconds(lambda call=call: call(*arrays), 300) * 1e6 for call in (compiled, function))  # type: ignore[misc]
    print(f"{name:10} first result {first:6.2f} s, then {ours:7.2f} us a call, NumPy {numpys:8.1f}", flush=True)


def main() -> None:
    os.environ["EQSAT_CACHE"] = "0"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PROGRAMS))
    eqsat.set_num_threads(1)
    eqsat.jit(lambda x: x + 1)(np.ones(4))
    for name in parser.parse_args().names or PROGRAMS:
        show(name)


if __name__ == "__main__":
    main()
