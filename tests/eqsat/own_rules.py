"""Rules as a new user writes them: true ones, each with a term that it makes cheaper, and tempting ones that are false."""

from __future__ import annotations

from eqsat import Index, Rule, maximum, minimum, pattern, var, where

x, y, z, n, d, k = (pattern(name) for name in "xyzndk")
c = pattern("c", "constant")
p, q = pattern("p", "bool"), pattern("q", "bool")

i, j, s, m = var("i", 0, 63), var("j", 0, 7), var("s", -50, 50), var("m", 1, 9)
small = j < 4

TRUE: list[tuple[Rule, Index]] = [
    (Rule("wraps-nothing", x % n, x, (x >= 0, x < n)), (j + 2) % 16),
    (Rule("multiple-vanishes", (n * x + y) % n, y % n, n != 0), (8 * i + j * 24 + s) % 8),
    (Rule("multiple-leaves", (n * x + y) // n, x + y // n, n != 0), (m * i + j) // m),
    (Rule("floor-of-floor", (x // n) // d, x // (n * d), (n > 0, d > 0)), (s // 3) // 5),
    (Rule("whole-of-parts", (x // n) * n + x % n, x, n != 0), j + (s // 6) * 6 + s % 6),
    (Rule("absorb-max", minimum(x, maximum(x, y)), x), minimum(maximum(j, s), s)),
    (Rule("known-condition", where(p, x, where(p, y, z)), where(p, x, z)), where(small, i, where(small, j, s))),
    (Rule("quarter-both-sides", x * 4 < y * 4, x < y), i * 4 < s * 4),
    (Rule("mask-is-remainder", x & 255, x % 256), s & 255),
    (Rule("factor-out-of-abs", abs(x * n), abs(x) * n, n >= 0), abs(s * m) // m),
    (Rule("half-of-odd", (x * 2 + 1) // 2, x), (s * 2 + 1) // 2),
    (Rule("choice-of-truth", where(p, q, False), p & q), where(small, i < 3, False)),
    (Rule("outer-remainder", (x % (n * d)) % n, x % n, (n > 0, d > 0)), (s % 12) % 4),
    (Rule("small-offset", (x * c + y) // c, x, (c > 0, y >= 0, y < c)), (s * 9 + j) // 9),
    (Rule("sum-of-wheres", where(p, x, y) + where(p, z, k), where(p, x + z, y + k)), where(small, i, s) + m + where(small, j, 4)),
]

# with what is missing, where the search must find it
FALSE: list[tuple[Rule, Index | None]] = [
    (Rule("remainder-without-sign", x % n, x, x < n), x >= 0),
    (Rule("floor-of-floor-any-sign", (x // n) // d, x // (n * d), d != 0), d > 0),
    (Rule("parts-without-divisor", (x // n) * n + x % n, x), n != 0),
    (Rule("division-distributes", (x + y) // n, x // n + y // n, n > 0), x % n + y % n < n),
    (Rule("mask-too-wide", x & 255, x, (x >= 0, x < 300)), x <= 255),
    (Rule("bound-off-by-one", minimum(x, 1000), x, x <= 1001), None),
    (Rule("abs-any-factor", abs(x * n), abs(x) * n), n >= 0),
    (Rule("factor-into-quotient", (x * n) // d, x * (n // d), d > 0), n % d == 0),
    (Rule("any-inner-remainder", (x % n) % d, x % d, (n > 0, d > 0)), n % d == 0),
    (Rule("truncating", (-x) // n, -(x // n), n > 0), x % n == 0),
    (Rule("quotient-of-itself", x // x, 1), x != 0),
    (Rule("true-so-far", x < 1_000_000, True), None),
    (Rule("offset-that-crosses", (x + k) // d, x // d, (d > 0, k >= 0, k < d)), x % d + k < d),
    (Rule("order-any-factor", x * n < y * n, x < y), n > 0),
    (Rule("two-conditions", where(p, x, y) + where(q, x, y), where(p | q, 2 * x, 2 * y)), None),
    (Rule("digit-of-remainder", (x % n) // d, (x // d) % (n // d), (n > 0, d > 0)), n % d == 0),
    (Rule("rounds-up", (x * 2 + 1) // 2, x + 1), None),
    (Rule("shift-and-back", (x << k) >> k, x), k >= 0),
    (Rule("any mask", x & (n - 1), x % n, n > 0), (n & (n - 1)) == 0),
    (Rule("large_bound", x % 4294967296, x, (x >= 0, x <= 4294967296)), x < 4294967296),
]
