"""What programs take by where in a page their results begin, printed: `python -m tests.bench.bench_places [--size 1024] [--rounds 7]`.

Operands begin with a page, results so many bytes behind one, as `out=`; the last column is the place that a call without it chooses
(codegen/memory/places.py).  One thread, float32, squares of so many rows; the least of some rounds.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import eqsat
import eqsat.numpy as enp
from eqsat.codegen.memory.places import PAGE
from eqsat.pricing.timing import best_seconds

PLACES = (0, 64, 128, 512, 1024, 2048, 3072, 3968, 4032)


def heat(x: Any) -> Any:
    return x + 0.1 * (enp.roll(x, 1, 0) + enp.roll(x, -1, 0) + enp.roll(x, 1, 1) + enp.roll(x, -1, 1) - 4 * x)


def blur(x: Any) -> Any:
    p = enp.pad(x, ((1, 1), (1, 1)))
    h = p[:, :-2] + p[:, 1:-1] + p[:, 2:]
    return (h[:-2] + h[1:-1] + h[2:]) / 9


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "x * 2 + 1": lambda x: x * 2 + 1,
    "exp": lambda x: enp.exp(x),
    "x.T + 1": lambda x: x.T + 1,
    "roll by 1": lambda x: enp.roll(x, 1, 1),
    "x + its roll": lambda x: x + enp.roll(x, 1, 1),
    "cumsum of rows": lambda x: enp.cumsum(x, axis=1),
    "exp(x - max)": lambda x: enp.exp(x - x.max(axis=1, keepdims=True)),
    "heat on a torus": heat,
    "blur, padded": blur,
}


def array_at(place: int, size: int) -> np.ndarray[Any, Any]:
    """A square that begins so many bytes behind the beginning of a page."""
    memory = np.zeros(4 * size * size + PAGE, np.uint8)
    first = (place - memory.ctypes.data) % PAGE
    return memory[first : first + 4 * size * size].view(np.float32).reshape(size, size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=7)
    asked = parser.parse_args()
    eqsat.set_num_threads(1)
    x = array_at(0, asked.size)
    x[:] = np.random.default_rng(0).standard_normal(x.shape)
    print(f"{'us':18}" + "".join(f"{place:>8}" for place in PLACES) + "  chosen")
    for name, program in PROGRAMS.items():
        function = eqsat.jit(program)
        results = [array_at(place, asked.size) for place in PLACES]
        calls = [*(functools.partial(function, x, out=out) for out in results), functools.partial(function, x)]
        least = [float("inf")] * len(calls)
        for _ in range(asked.rounds):
            least = [min(before, best_seconds(call, 0.02, 100)) for before, call in zip(least, calls, strict=True)]
        print(f"{name:18}" + "".join(f"{seconds * 1e6:8.1f}" for seconds in least) + f"  at {function(x).ctypes.data % PAGE}", flush=True)


if __name__ == "__main__":
    main()
