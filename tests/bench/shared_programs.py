"""Programs for bench_wide that two threads should share evenly: products of 100 to 400 rows, statistics of all elements, few columns."""

from __future__ import annotations

from tests.bench.plain_programs import Program, floats

SHARED: dict[str, Program] = {
    **{f"product_{n}": (lambda xp, a, b: xp.matmul(a, b), [floats(n, n), floats(n, n)]) for n in (130, 160, 192, 320, 400)},
    "product_tall": (lambda xp, a, b: xp.matmul(a, b), [floats(8192, 64), floats(64, 64)]),
    "standardized": (lambda xp, x: (x - xp.mean(x)) / xp.std(x), [floats(1000, 1000)]),
    "standardized_columns": (lambda xp, x: (x - xp.mean(x, axis=0)) / xp.std(x, axis=0), [floats(40000, 24)]),
    "deviations_of_8": (lambda xp, x: xp.std(x, axis=0), [floats(100000, 8)]),
    "mirrored": (lambda xp, x: xp.pad(x, ((0, 0), (1, 1), (1, 1)), mode="reflect"), [floats(16, 126, 126)]),
}
