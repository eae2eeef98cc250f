"""The largest error of every function in units of the last place: the table of docs/math.md.

Run with `python -m tests.bench.bench_errors [name ...]`; the ranges and patterns are those of the tests, with more points.
"""

from __future__ import annotations

import itertools
import sys

from tests.codegen.functions import FUNCTIONS, patterns, routine, uniform, worst

SIZE = 1 << 20
# of what Python has to compute digit by digit
SMALL_SIZE = 1 << 14


def error(name: str, dtype: str) -> float:
    size = SMALL_SIZE if (name, dtype) == ("erf", "float64") else SIZE
    ranges = FUNCTIONS[name]
    points = itertools.chain(uniform(dtype, ranges, size), patterns(dtype, 4, len(ranges), size))
    return worst(name, points, routine(name, dtype, size))


def main() -> None:
    print("| function | float32 | float64 |\n|---|--:|--:|")
    for name in sys.argv[1:] or FUNCTIONS:
        print(f"| {name} | {error(name, 'float32'):.2f} | {error(name, 'float64'):.2f} |", flush=True)


if __name__ == "__main__":
    main()
