"""What it takes to record, to call and to repeat, printed: `python -m tests.bench.bench_capture`.

Least times of warm calls on 8 x 8 float32 arrays, where arithmetic is nothing, and of two outputs that share a 256 x 256 product.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import eqsat
import eqsat.numpy as enp


def microseconds(call: Callable[[], Any], repeat: int = 300) -> float:
    call()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times) * 1e6


def recorded(array: Any, operations: int = 10) -> Any:
    for _ in range(operations // 2):
        array = array * 2 + 1
    return array


def nested(params: Any, x: Any) -> Any:
    return sum(layer["w"] + layer["b"] for layer in params["layers"]) + x


def apart(m: Any) -> Any:
    return np.asarray((enp.asarray(m) @ enp.asarray(m)).sum(axis=0)), np.asarray((enp.asarray(m) @ enp.asarray(m)).max(axis=1))


def together(m: Any) -> Any:
    product = enp.asarray(m) @ enp.asarray(m)
    return eqsat.realize(product.sum(axis=0), product.max(axis=1))


def main() -> None:
    small, out = np.ones((8, 8), np.float32), np.empty((8, 8), np.float32)
    large = np.random.default_rng(0).random((256, 256))
    leaf = enp.asarray(small)
    affine, layered = eqsat.jit(lambda x, y: x * 2 + y), eqsat.jit(nested)
    plan = eqsat.optimize(lambda x, y: x * 2 + y, small, small).compile()
    scaled = eqsat.jit(lambda x, by: x * by)
    params = {"layers": [{"w": small, "b": small[0]} for _ in range(4)]}
    rows: dict[str, float] = {
        "a plan, two arrays": microseconds(lambda: plan(small, small)),
        "a plan, two arrays and out=": microseconds(lambda: plan(small, small, out=out)),
        "a jit call, two arrays": microseconds(lambda: affine(small, small)),
        "a jit call, an array and a number": microseconds(lambda: scaled(small, 2.0)),
        "a jit call, an array and a keyword": microseconds(lambda: scaled(small, by=2.0)),
        "a jit call, nine arrays in containers": microseconds(lambda: layered(params, small)),
        "recording one of ten operations": microseconds(lambda: recorded(leaf)) / 10,
        "ten operations recorded and realized": microseconds(lambda: np.asarray(recorded(enp.asarray(small)))),
        "a step of fori": microseconds(lambda: eqsat.fori(1000, lambda i, c: c * 0.5 + 1, small), 5) / 1000,
        "two outputs apart": microseconds(lambda: apart(large), 20),
        "two outputs by one plan": microseconds(lambda: together(large), 20),
    }
    for name, value in rows.items():
        print(f"{name:40} {value:9.1f} us")


if __name__ == "__main__":
    main()
