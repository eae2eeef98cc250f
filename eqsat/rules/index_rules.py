"""Index algebra.  Letters a to n stand for integer constants, p to z for any terms; // and % are floor division.

Sources: Morok's and tinygrad's index arithmetic and TVM's canonical simplifier, restated for floor semantics, where several
guards of the sources fall away; every row is proved exhaustively over signed ranges in tests/eqsat/test_rules.py.
"""

from __future__ import annotations

from eqsat.ir.index import Const, apply, maximum, minimum, where
from eqsat.rules.row import Pattern, Table, literal, term

p, q, r, x, y, z = (term(name) for name in "pqrxyz")
a, c, d, g, k, n = (literal(name) for name in "acdgkn")
TRUE, FALSE = Const(True), Const(False)

IDENTITIES = Table(
    "identities",
    "index",
    "x = n*(x // n) + x % n, in all its disguises",
    (
        Pattern(
            "div-mod-identity",
            (x % n) * c + (x // n) * (c * n),
            x * c,
            (n > 0,),
            "the division algorithm; the core, scaled and three-term forms are this row, for the rest of a sum is kept",
        ),
        Pattern(
            "composed-div-mod",
            ((x // a) % n) * c + (x // (a * n)) * (c * n),
            (x // a) * c,
            (a > 0, n > 0),
            "the identity for x // a, whose quotient by n is x // (a*n)",
        ),
        Pattern(
            "merge-digits",
            (x % a) * c + ((x // a) % n) * (c * a),
            (x % (a * n)) * c,
            (a > 0, n > 0),
            "two adjacent digits of x in a mixed-radix system are one digit",
        ),
        Pattern("nested-division", (x // a + c) // d, (x + a * c) // (a * d), (a > 0, d > 0), "floor of a floor; no sign condition"),
        Pattern("division-of-division", (x // a) // d, x // (a * d), (a > 0, d > 0), "nested-division with c = 0"),
    ),
)

RANGES = Table(
    "ranges",
    "index",
    "what bounds decide",
    (
        Pattern("mod-in-range", x % y, x, (x >= 0, x < y), "nothing wraps"),
        Pattern("mod-in-bucket", x % n, x - k * n, (n > 0, k * n <= x, x < k * n + n), "all values share one quotient k", ((k, x // n),)),
        Pattern("mod-of-multiple", (n * q + r) % n, r % n, (n > 0,), "multiples of n vanish"),
        Pattern("div-of-multiple", (n * q + r) // n, q + r // n, (n > 0,), "multiples of n leave; a large offset is split in the same way"),
        Pattern("drop-small-offset", (x + c) // d, x // d, (d > 0, c >= 0, x % d + c < d), "adding c crosses no multiple of d"),
    ),
)

FACTORS = Table(
    "factors",
    "index",
    "common factors of dividend and divisor, and nested remainders",
    (
        Pattern("cancel-common-factor", (g * q + r) // (g * k), q // k, (g > 1, k > 0, r >= 0, r < g), "divide both by g"),
        Pattern(
            "common-factor-of-mod", (g * q + r) % (g * k), (q % k) * g + r, (g > 1, k > 0, r >= 0, r < g), "take g out of the remainder"
        ),
        Pattern("mod-inside-mod", (c * (x % (n * k)) + r) % n, (c * x + r) % n, (n > 0, k > 0), "the outer remainder forgets the inner"),
        Pattern("mod-of-mod", (x % (n * k)) % n, x % n, (n > 0, k > 0), "mod-inside-mod alone"),
        Pattern("div-of-mod", (x % (n * k)) // n, (x // n) % k, (n > 0, k > 0), "the upper digit of a remainder"),
        Pattern("div-by-one", x // 1, x, (), "every integer is a multiple of one"),
    ),
)

CHOICES = Table(
    "choices",
    "index",
    "constants, min, max, where and truth values that bounds or equal branches decide",
    (
        Pattern("constant-from-bounds", x, k, (k <= x, x <= k), "a class with one value is that value: all constant folding", ((k, x),)),
        Pattern("min-is-left", minimum(x, y), x, (x <= y,), "decided by bounds"),
        Pattern("min-is-right", minimum(x, y), y, (y <= x,), "decided by bounds"),
        Pattern("max-is-left", maximum(x, y), x, (x >= y,), "decided by bounds"),
        Pattern("max-is-right", maximum(x, y), y, (y >= x,), "decided by bounds"),
        Pattern("where-true", where(TRUE, x, y), x, (), "the condition holds"),
        Pattern("where-false", where(FALSE, x, y), y, (), "the condition fails"),
        Pattern("where-same", apply("where", p, x, x), x, (), "both branches agree"),
        Pattern("double-negation", apply("not", apply("not", p)), p, (p >= 0, p <= 1), "not of not, for truth values"),
    ),
)

INDEX_TABLES = (IDENTITIES, RANGES, FACTORS, CHOICES)
