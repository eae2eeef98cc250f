"""Attention of several heads, softmax included: one thread and two, beside its parts as kernels of their own and beside NumPy.

python -m tests.bench.bench_attention
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import eqsat
import eqsat.numpy as enp
from eqsat.command_line.beside_numpy import interleaved_medians
from eqsat.kernels import staging

SHAPES = ((8, 256, 64), (8, 1024, 64), (12, 384, 64), (1, 2048, 64), (1, 4096, 64))


def attention(xp: Any, q: Any, k: Any, v: Any) -> Any:
    scores = q @ xp.swapaxes(k, -1, -2) / np.float32(8)
    weights = xp.exp(scores - scores.max(axis=-1, keepdims=True))
    return (weights / weights.sum(axis=-1, keepdims=True)) @ v


def apart(arrays: list[np.ndarray[Any, Any]], options: eqsat.Options) -> eqsat.Result:
    """The program with every kernel by itself."""
    least = staging.LEAST_BYTES
    staging.LEAST_BYTES = 1 << 60
    try:
        return eqsat.optimize(lambda *a: attention(enp, *a), *arrays, options=options)
    finally:
        staging.LEAST_BYTES = least


def main() -> None:
    """Print the table."""
    print(f"{'heads, rows, width':20} kernels      ms   GF/s   apart x   NumPy x   two threads ms")
    for shape in SHAPES:
        arrays = [np.random.default_rng(k).standard_normal(shape).astype(np.float32) for k in range(3)]
        options = eqsat.Options(cache=False)
        result = eqsat.optimize(lambda *a: attention(enp, *a), *arrays, options=options)
        one, other = result.compile(), apart(arrays, options).compile()
        eqsat.set_num_threads(1)
        calls = {"one": partial(one, *arrays), "apart": partial(other, *arrays), "NumPy": partial(attention, np, *arrays)}
        times = interleaved_medians(calls, 3.0)
        eqsat.set_num_threads(2)
        two = interleaved_medians({"one": calls["one"]}, 1.0)["one"]
        heads, rows, width = shape
        print(
            f"{shape!s:20} {len(result.loops):7} {times['one'] * 1e3:7.2f} {4 * heads * rows * rows * width / times['one'] / 1e9:6.0f}"
            f"{times['apart'] / times['one']:10.2f}{times['NumPy'] / times['one']:10.2f}{two * 1e3:17.2f}"
        )


if __name__ == "__main__":
    main()
