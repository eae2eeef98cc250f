"""What fusion and algebra are worth: named programs as written and as extracted, estimated and measured, in turns.

`python -m tests.bench.bench_fusion [names] [--rounds N]` prints for every program kernels and estimated time before and after, the rows
that matched, and medians of both in this process on one thread.  "agrees": what costs less by the estimate takes no longer.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import eqsat
from eqsat.algebra.alternatives import ROWS
from tests.eqsat.kernel_programs import PROGRAMS, Named, arrays

# what a clock on a shared machine cannot tell apart
SAME = 1.1
ALGEBRA = (*(row.name for row in ROWS), "constant-is-function")


def timed(plan: Callable[..., Any], given: list[Any]) -> float:
    """Microseconds of one call."""
    start = time.perf_counter()
    plan(*given)
    return (time.perf_counter() - start) * 1e6


def measured(name: str, named: Named, rounds: int) -> str:
    """One line of the table."""
    given = arrays(named)
    options = eqsat.Options(numerics="fast" if name in FAST else "default", cache=False)
    result = eqsat.optimize(named.function, *given, options=options)
    written = eqsat.optimize(named.function, *given, options=eqsat.Options(rules=(), cache=False))
    before, after = written.compile(), result.compile()
    np.testing.assert_allclose(after(*given), before(*given), rtol=1e-3, atol=1e-3)
    times = [(timed(before, given), timed(after, given)) for _ in range(rounds)]
    slow, fast = (statistics.median(column) for column in zip(*times, strict=True))
    rows = ", ".join(row for row in ALGEBRA if result.report.matches[row]) or "fusion"
    agrees = "agrees" if slow * SAME >= fast else "DISAGREES"
    cost, price = float(result.original_cost) / 1e3, float(result.cost) / 1e3
    kernels = f"{len(written.nests):3} -> {len(result.nests):2} kernels"
    return (
        f"{name:32} {kernels}, estimated {cost:9.1f} -> {price:8.1f} us ({cost / price:6.2f}x), "
        f"measured {slow:9.1f} -> {fast:8.1f} us ({slow / fast:6.2f}x) {agrees}; {rows}"
    )


def difference_of_squares(x: Any, y: Any) -> Any:
    return (x + y) * (x + y) - (x - y) * (x - y) - 4.0 * x * y + x


def transposed_product(a: Any, b: Any) -> Any:
    return a.T @ b.T


# only without infinities and NaN does y cancel
FAST = {"difference of squares": Named(difference_of_squares, ((1 << 20,),) * 2, 1, "x")}
PARTS = {
    "mean of a layer": Named(lambda x, w, b: (x @ w + b).mean(axis=0), ((512, 256), (256, 256), (256,)), 2, "sums in parts"),
    "reflection": Named(lambda a, v: (np.eye(256, dtype="float32") - 2 * v[:, None] * v) @ a, ((256, 256), (256,)), 2, "sums in parts"),
    "low-rank update": Named(lambda a, u, v, x: (a + u @ v) @ x, ((700, 700), (700, 4), (4, 700), (700,)), 3, "sums in parts"),
    "greatest of sums": Named(lambda a, b: (a[:, None] + b).max(axis=1), ((700,), (800,)), 2, "what does not vary is outside"),
}
MORE = {"product of transposes": Named(transposed_product, ((256, 192), (320, 256)), 1, "transposes are maps"), **FAST, **PARTS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of names of programs; all without")
    parser.add_argument("--rounds", type=int, default=31)
    chosen = parser.parse_args()
    eqsat.set_num_threads(1)
    for name, named in {**PROGRAMS, **MORE}.items():
        if not chosen.names or any(part in name for part in chosen.names):
            print(measured(name, named, chosen.rounds), flush=True)


if __name__ == "__main__":
    main()
