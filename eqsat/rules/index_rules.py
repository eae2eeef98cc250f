"""Division and remainder.  Letters a to n stand for integer constants, p to z for any terms; // and % are floor division.

Sources: Morok's and tinygrad's index arithmetic and TVM's canonical simplifier, restated for floor semantics, where several
guards of the sources fall away; every row is proved exhaustively over signed ranges in tests/eqsat/test_rules.py.
"""

from __future__ import annotations

from eqsat.ir.index import Const
from eqsat.rules.row import Pattern, Table, literal, term

q, r, w, x, y, z = (term(name) for name in "qrwxyz")
a, b, c, d, g, k, l, m, n = (literal(name) for name in "abcdgklmn")  # noqa: E741

# divisors that are multiplied stay where twice and thrice their size are numbers still
SMALL = a * d <= Const(1 << 55)

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
        Pattern(
            "merge-upper-digits",
            ((x // d) % a) * c + ((x // (d * a)) % n) * (c * a),
            ((x // d) % (a * n)) * c,
            (d > 0, a > 0, n > 0),
            "merge-digits for x // d, whose quotient by a is x // (d*a)",
        ),
        Pattern("mod-from-div", x * c + (x // n) * (c * n * -1), (x % n) * c, (n > 0,), "the identity, solved for the remainder"),
        Pattern("div-from-mod", x * c + (x % n) * (c * -1), (x // n) * (c * n), (n > 0,), "the identity, solved for the quotient"),
        Pattern("quotient-in-quotient", (x // a + r) // d, (x + r * a) // (a * d), (a > 0, d > 0, SMALL), "one division for two"),
        Pattern("nested-division", (x // a + c) // d, (x + a * c) // (a * d), (a > 0, d > 0, SMALL), "floor of a floor; no sign condition"),
        Pattern(
            "offset-into-quotient",
            (x // a + c) % n,
            ((x + a * c) // a) % n,
            (a > 0, n > 0),
            "an offset of a quotient is one of its dividend",
        ),
        Pattern(
            "quotient-of-shifted-digit",
            ((x // a) % n + c) // d,
            (x % (a * n) + a * c) // (a * d),
            (a > 0, n > 0, d > 0, SMALL),
            "nested-division for a digit, which is a quotient of a remainder",
        ),
        Pattern(
            "quotient-of-digit",
            ((x // a) % n) // d,
            (x % (a * n)) // (a * d),
            (a > 0, n > 0, d > 0, n % d != 0, SMALL),
            "quotient-of-shifted-digit with c = 0; where d divides n it is a digit itself",
        ),
        Pattern("division-of-division", (x // a) // d, x // (a * d), (a > 0, d > 0, SMALL), "nested-division with c = 0"),
        Pattern("negative-divisor", x // y, (x * -1) // (y * -1), (y < 0,), "both signs turn"),
        Pattern("negative-modulus", x % y, ((x * -1) % (y * -1)) * -1, (y < 0,), "the remainder has the sign of the divisor"),
    ),
)

RANGES = Table(
    "ranges",
    "index",
    "what bounds decide",
    (
        Pattern("constant-from-bounds", x, k, (k <= x, x <= k), "a class with one value is that value: all constant folding", ((k, x),)),
        Pattern("mod-in-range", x % y, x, (x >= 0, x < y), "nothing wraps"),
        Pattern("mod-in-bucket", x % n, x - k * n, (n > 0, k * n <= x, x < k * n + n), "all values share one quotient k", ((k, x // n),)),
        Pattern(
            "mod-in-bucket-of-term",
            x % y,
            x - y * k,
            (k >= 0, y > 0, k * y <= x, x < k * y + y),
            "all values share one quotient k, whatever the divisor",
            ((k, x // y),),
        ),
        Pattern("mod-of-multiple", (n * q + r) % n, r % n, (n > 0,), "multiples of n vanish"),
        Pattern("div-of-multiple", (n * q + r) // n, q + r // n, (n > 0,), "multiples of n leave; a large offset is split in the same way"),
        Pattern("drop-small-offset", (x + c) // d, x // d, (d > 0, c >= 0, x % d + c < d), "adding c crosses no multiple of d"),
        Pattern(
            "div-of-two-values",
            (k * x + c) // n,
            (x - l) * ((k * (l + 1) + c) // n - (k * l + c) // n) + (k * l + c) // n,
            (n > 0, l <= x, x <= l + 1),
            "a function of a variable with two values is linear",
            ((l, x),),
        ),
        Pattern(
            "mod-of-two-values",
            (k * x + c) % n,
            (x - l) * ((k * (l + 1) + c) % n - (k * l + c) % n) + (k * l + c) % n,
            (n > 0, l <= x, x <= l + 1),
            "a function of a variable with two values is linear",
            ((l, x),),
        ),
    ),
)

FACTORS = Table(
    "factors",
    "index",
    "common factors of dividend and divisor, and nested remainders",
    (
        Pattern(
            "cancel-common-factor",
            (g * q + r) // (g * k),
            (q + m) // k,
            (g > 1, k > 0, g * m <= r, r < g * m + g),
            "divide both by g: all values of r // g are one m",
            ((m, r // g),),
        ),
        Pattern(
            "common-factor-of-mod",
            (g * q + r) % (g * k),
            ((q + m) % k) * g + r - g * m,
            (g > 1, k > 0, g * m <= r, r < g * m + g),
            "take g out of the remainder",
            ((m, r // g),),
        ),
        Pattern("divide-in-steps", (g * q + r) // (g * k), (q + r // g) // k, (g > 1, k > 1), "first by g, then by k"),
        Pattern("mod-inside-mod", (c * (x % (n * k)) + r) % n, (c * x + r) % n, (n > 0, k > 0), "the outer remainder forgets the inner"),
        Pattern("mod-of-mod", (x % (n * k)) % n, x % n, (n > 0, k > 0), "mod-inside-mod alone"),
        Pattern("div-of-mod", (x % (n * k)) // n, (x // n) % k, (n > 0, k > 0), "the upper digit of a remainder"),
        Pattern("div-by-one", x // 1, x, (), "every integer is a multiple of one"),
    ),
)

SYMBOLIC = Table(
    "symbolic",
    "index",
    "divisors that are terms",
    (
        Pattern("quotient-of-itself", x // x, Const(1), (x != 0,), "one, where there is a quotient"),
        Pattern("remainder-of-itself", x % x, Const(0), (x != 0,), "nothing is left"),
        Pattern("exact-symbolic-quotient", (z * q + r) // (z * w), q // w, (z != 0, w != 0, r >= 0, r <= 0), "cancel z"),
        Pattern("exact-symbolic-remainder", (z * q + r) % (z * w), (q % w) * z, (z != 0, w != 0, r >= 0, r <= 0), "take z out"),
        Pattern("mod-of-symbolic-multiple", (z * q + r) % z, r % z, (z != 0,), "multiples of z vanish"),
        Pattern("div-of-symbolic-multiple", (z * q + r) // z, q + r // z, (z != 0,), "multiples of z leave"),
        Pattern("symbolic-division-of-division", (x // z) // w, x // (z * w), (z != 0, w > 0), "floor of a floor"),
        Pattern("symbolic-mod-of-mod", (x % (z * w)) % z, x % z, (z != 0, w != 0), "the outer remainder forgets the inner"),
        Pattern("symbolic-div-of-mod", (x % (z * w)) // z, (x // z) % w, (z != 0, w > 0), "the upper digit of a remainder"),
        Pattern("div-below-divisor", x // y, Const(0), (x >= 0, y - x > 0), "the quotient of what is less than its divisor"),
        Pattern("mod-below-divisor", x % y, x, (x >= 0, y - x > 0), "nothing wraps"),
        Pattern(
            "cancel-symbolic-factor",
            (z * q + r) // (z * w),
            q // w,
            (z > 0, w > 0, r >= 0, z - r > 0),
            "divide both by z",
        ),
        Pattern(
            "symbolic-factor-of-mod",
            (z * q + r) % (z * w),
            (q % w) * z + r,
            (z > 0, w > 0, r >= 0, z - r > 0),
            "take z out of the remainder",
        ),
    ),
)

DIVISION_TABLES = (IDENTITIES, RANGES, FACTORS, SYMBOLIC)
