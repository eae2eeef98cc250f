"""Min, max, where, comparisons, truth values and bits.  Letters a to n stand for integer constants, p to z for any terms.

A comparison is a sum and a sign, `s >= 0` or `s == 0`, so what both sides share has cancelled; `and` is min and `or` is max of
truth values.  x - y in a guard is bounded through the class of the difference.
"""

from __future__ import annotations

from eqsat.ir.index import Const, Index, apply, maximum, minimum, where
from eqsat.rules.row import Pattern, Table, literal, term

p, q, r, t, x, y, z = (term(name) for name in "pqrtxyz")
c, d, g, k, m, n = (literal(name) for name in "cdgkmn")
POWER = (n > 0, (n & (n - 1)) == 0)
TRUE, FALSE = Const(True), Const(False)


def both(u: Index, v: Index) -> Index:
    return apply("and", u, v)


def either(u: Index, v: Index) -> Index:
    return apply("or", u, v)


def no(u: Index) -> Index:
    return apply("not", u)


CHOICES = Table(
    "choices",
    "index",
    "min, max and abs that bounds decide; each inside the other",
    (
        Pattern("min-of-ordered", minimum(x, y), x, (x - y <= 0,), "decided by the bounds of the difference"),
        Pattern("max-of-ordered", maximum(x, y), x, (x - y >= 0,), "decided by the bounds of the difference"),
        Pattern("min-of-same", minimum(x, x), x, (), "idempotent"),
        Pattern("max-of-same", maximum(x, x), x, (), "idempotent"),
        Pattern("clamp-either-way", minimum(maximum(x, c), d), maximum(minimum(x, d), c), (c <= d,), "the order of clamping is free"),
        Pattern("clamp-back", maximum(minimum(x, d), c), minimum(maximum(x, c), d), (c <= d,), "the order of clamping is free"),
        Pattern("min-of-quotients", minimum(x // d, y // d), minimum(x, y) // d, (d > 0,), "division is monotone"),
        Pattern("max-of-quotients", maximum(x // d, y // d), maximum(x, y) // d, (d > 0,), "division is monotone"),
        Pattern("quotient-of-min", minimum(x, y) // d, minimum(x // d, y // d), (d > 0,), "division is monotone"),
        Pattern("quotient-of-max", maximum(x, y) // d, maximum(x // d, y // d), (d > 0,), "division is monotone"),
        Pattern("abs-of-nonnegative", abs(x), x, (x >= 0,), "decided by bounds"),
        Pattern("abs-of-nonpositive", abs(x), x * -1, (x <= 0,), "decided by bounds"),
    ),
)

COMPARISONS = Table(
    "comparisons",
    "index",
    "sums and signs",
    (
        Pattern(
            "sign-of-multiple",
            (g * q + r) >= 0,
            (q + m) >= 0,
            (g > 1, g * m <= r, r < g * m + g),
            "divide by g, rounding down: all values of r // g are one m",
            ((m, r // g),),
        ),
        Pattern("sign-of-quotient", ((x // d) + r) >= 0, (x + r * d) >= 0, (d > 0,), "x // d >= -r when x >= -r*d"),
        Pattern("sign-of-plain-quotient", (x // d) >= 0, x >= 0, (d > 0,), "a quotient is negative where its dividend is"),
        Pattern(
            "sign-of-negative-quotient", ((x // d) * -1 + r) >= 0, (r * d - x + (d - 1)) >= 0, (d > 0,), "x // d <= r when x < r*d + d"
        ),
        Pattern("zero-of-multiple", (g * q + r) == 0, q == 0, (g > 1, r >= 0, r <= 0), "divide by g"),
        Pattern("never-a-multiple", (g * q + r) == 0, FALSE, (g > 1, r > 0, r < g), "r is no multiple of g"),
        Pattern("sign-of-truth", (k * p + c) >= 0, p, (p >= 0, p <= 1, c < 0, k + c >= 0), "holds for 1, not for 0"),
        Pattern("sign-of-untruth", (k * p + c) >= 0, no(p), (p >= 0, p <= 1, c >= 0, k + c < 0), "holds for 0, not for 1"),
        Pattern("zero-of-truth", (k * p + c) == 0, p, (p >= 0, p <= 1, k + c == 0, c != 0), "holds for 1, not for 0"),
        Pattern("zero-is-the-least", x == 0, (x * -1) >= 0, (x >= 0,), "no value is below zero"),
        Pattern("zero-is-the-greatest", x == 0, x >= 0, (x <= 0,), "no value is above zero"),
        Pattern("truth-is-zero", p == 0, no(p), (p >= 0, p <= 1), "a truth value that is zero"),
        Pattern(
            "quotient-is",
            (x // n + c) == 0,
            both((x + c * n) >= 0, (x * -1 + (n - 1 - c * n)) >= 0),
            (n > 0,),
            "x // n is -c for the n values from -c*n on",
        ),
        Pattern(
            "quotient-is-zero", (x // n) == 0, both(x >= 0, (x * -1 + (n - 1)) >= 0), (n > 0,), "x // n is 0 for the n values from 0 on"
        ),
        Pattern(
            "quotient-and-remainder-are",
            both((x // n + c) == 0, (x % n + d) == 0),
            both((x + (c * n + d)) == 0, (x % n + d) == 0),
            (n > 0,),
            "both digits are known",
        ),
        Pattern(
            "quotient-is-and-remainder-above",
            both((x // n + c) == 0, (x % n + d) >= 0),
            both((x // n + c) == 0, (x + (c * n + d)) >= 0),
            (n > 0,),
            "where the quotient is known the remainder is x less a constant",
        ),
        Pattern(
            "quotient-is-and-remainder-below",
            both((x // n + c) == 0, ((x % n) * -1 + d) >= 0),
            both((x // n + c) == 0, (x * -1 + (d - c * n)) >= 0),
            (n > 0,),
            "where the quotient is known the remainder is x less a constant",
        ),
        Pattern("not-of-sign", no(x >= 0), (x * -1 - 1) >= 0, (), "the opposite comparison is the sign of -x - 1"),
        Pattern("double-negation", no(no(p)), p, (p >= 0, p <= 1), "not of not, for truth values"),
    ),
)

LOGIC = Table(
    "logic",
    "index",
    "conjunctions and disjunctions of comparisons",
    (
        Pattern("implied-sign", both(x >= 0, y >= 0), x >= 0, (y - x >= 0,), "the weaker of two comparisons follows"),
        Pattern("implying-sign", either(x >= 0, y >= 0), x >= 0, (y - x <= 0,), "the stronger of two comparisons adds nothing"),
        Pattern("exclusive-signs", both(x >= 0, y >= 0), FALSE, (x + y < 0,), "the sum of two that hold is not negative"),
        Pattern("exhaustive-signs", either(x >= 0, y >= 0), TRUE, (x + y >= -1,), "the sum of two that fail is less than -1"),
        Pattern("two-signs-are-zero", both(x >= 0, y >= 0), x == 0, (x + y >= 0, x + y <= 0), "x >= 0 and -x >= 0"),
        Pattern("sign-implied-by-zero", both(x == 0, y >= 0), x == 0, (y - x >= 0,), "y >= x = 0"),
        Pattern("sign-implied-by-opposite", both(x == 0, y >= 0), x == 0, (x + y >= 0,), "y >= -x = 0"),
        Pattern("sign-excluded-by-zero", both(x == 0, y >= 0), FALSE, (y - x < 0,), "y < x = 0"),
        Pattern("sign-excluded-by-opposite", both(x == 0, y >= 0), FALSE, (x + y < 0,), "y < -x = 0"),
        Pattern("sign-implies-zero", either(x == 0, y >= 0), y >= 0, (y - x >= 0,), "x = 0 gives y >= 0"),
        Pattern("opposite-implies-zero", either(x == 0, y >= 0), y >= 0, (x + y >= 0,), "x = 0 gives y >= 0"),
        Pattern("exclusive-zeros", both(x == 0, y == 0), FALSE, (x - y > 0,), "two different values"),
        Pattern("exclusive-opposite-zeros", both(x == 0, y == 0), FALSE, (x + y > 0,), "two different values"),
        Pattern("zero-excludes-zero", both(x == 0, no(y == 0)), x == 0, (x - y > 0,), "two different values"),
        Pattern("zero-excludes-lower-zero", both(x == 0, no(y == 0)), x == 0, (x - y < 0,), "two different values"),
        Pattern("zero-excludes-opposite", both(x == 0, no(y == 0)), x == 0, (x + y > 0,), "two different values"),
        Pattern("zero-excludes-lower-opposite", both(x == 0, no(y == 0)), x == 0, (x + y < 0,), "two different values"),
        Pattern("sign-or-zero", either(x >= 0, y == 0), y >= 0, (x - y >= -1, x - y <= 0), "above or equal"),
        Pattern("sign-or-opposite-zero", either(x >= 0, y == 0), (y * -1) >= 0, (x + y >= -1, x + y <= 0), "above or equal"),
        Pattern("sign-and-not-zero", both(x >= 0, no(y == 0)), (x - 1) >= 0, (x - y >= 0, x - y <= 0), "at least but not equal"),
        Pattern("sign-and-not-opposite-zero", both(x >= 0, no(y == 0)), (x - 1) >= 0, (x + y >= 0, x + y <= 0), "at least but not equal"),
        Pattern(
            "signs-are-not-zero", either(x >= 0, y >= 0), no((x + 1) == 0), (x + y >= -2, x + y <= -2), "above or below: x + 1 = -y - 1"
        ),
        Pattern("or-of-nots", either(no(p), no(q)), no(both(p, q)), (p >= 0, p <= 1, q >= 0, q <= 1), "De Morgan, back"),
        Pattern("not-zero-or", either(no(p), q), no(both(p, no(q))), (p >= 0, p <= 1, q >= 0, q <= 1), "De Morgan, back"),
        Pattern("contradiction", both(p, no(p)), FALSE, (p >= 0, p <= 1), "both cannot hold"),
        Pattern("excluded-middle", either(p, no(p)), TRUE, (p >= 0, p <= 1), "one of them holds"),
        Pattern("not-of-and", no(both(p, q)), either(no(p), no(q)), (p >= 0, p <= 1, q >= 0, q <= 1), "De Morgan"),
        Pattern("not-of-or", no(either(p, q)), both(no(p), no(q)), (p >= 0, p <= 1, q >= 0, q <= 1), "De Morgan"),
    ),
)

WHERE = Table(
    "where",
    "index",
    "selections",
    (
        Pattern("where-true", where(TRUE, x, y), x, (), "the condition holds"),
        Pattern("where-false", where(FALSE, x, y), y, (), "the condition fails"),
        Pattern("where-same", apply("where", p, x, x), x, (), "both branches agree"),
        Pattern("where-not", where(no(p), x, y), where(p, y, x), (p >= 0, p <= 1), "branches change places"),
        Pattern("where-is-condition", where(p, Const(1), Const(0)), p, (p >= 0, p <= 1), "a truth value is 1 or 0"),
        Pattern("where-is-negation", where(p, Const(0), Const(1)), no(p), (p >= 0, p <= 1), "a truth value is 1 or 0"),
        Pattern("where-or-false", where(p, q, Const(0)), both(p, q), (p >= 0, p <= 1, q >= 0, q <= 1), "conjunction"),
        Pattern("where-true-or", where(p, Const(1), q), either(p, q), (p >= 0, p <= 1, q >= 0, q <= 1), "disjunction"),
        Pattern("where-false-or", where(p, Const(0), q), both(no(p), q), (p >= 0, p <= 1, q >= 0, q <= 1), "conjunction"),
        Pattern("where-or-true", where(p, q, Const(1)), either(no(p), q), (p >= 0, p <= 1, q >= 0, q <= 1), "disjunction"),
        Pattern("where-in-where-true", where(p, where(p, x, y), z), where(p, x, z), (), "the condition is known"),
        Pattern("where-in-where-false", where(p, x, where(p, y, z)), where(p, x, z), (), "the condition is known"),
        Pattern(
            "nested-where-and", where(p, where(q, x, y), y), where(both(p, q), x, y), (p >= 0, p <= 1, q >= 0, q <= 1), "two conditions"
        ),
        Pattern(
            "nested-where-or", where(p, x, where(q, x, y)), where(either(p, q), x, y), (p >= 0, p <= 1, q >= 0, q <= 1), "two conditions"
        ),
        Pattern("quotient-of-where", where(p, x, y) // n, where(p, x // n, y // n), (n != 0,), "into both branches"),
        Pattern("remainder-of-where", where(p, x, y) % n, where(p, x % n, y % n), (n != 0,), "into both branches"),
        Pattern("where-of-quotients", where(p, x // n, y // n), where(p, x, y) // n, (n != 0,), "one division"),
        Pattern("where-of-remainders", where(p, x % n, y % n), where(p, x, y) % n, (n != 0,), "one division"),
        Pattern("where-of-symbolic-quotients", where(p, x // z, y // z), where(p, x, y) // z, (z != 0,), "one division"),
        Pattern("where-of-symbolic-remainders", where(p, x % z, y % z), where(p, x, y) % z, (z != 0,), "one division"),
        Pattern("min-of-wheres", minimum(where(p, x, y), where(p, z, t)), where(p, minimum(x, z), minimum(y, t)), (), "one condition"),
        Pattern("max-of-wheres", maximum(where(p, x, y), where(p, z, t)), where(p, maximum(x, z), maximum(y, t)), (), "one condition"),
    ),
)

BITS = Table(
    "bits",
    "index",
    "masks and shifts are remainders and quotients by powers of two",
    (
        Pattern("and-with-mask", apply("bitand", x, n), x % (n + 1), (n >= 0, (n & (n + 1)) == 0), "the lowest bits"),
        Pattern(
            "and-with-high-mask", apply("bitand", x, n), x - x % (-1 * n), (n < 0, (n & (-1 * n)) == -1 * n), "all but the lowest bits"
        ),
        Pattern("shift-left", x << k, x * (1 << k), (k >= 0, k <= 30), "a product with a power of two"),
        Pattern("shift-right", x >> k, x // (1 << k), (k >= 0, k <= 30), "a quotient by a power of two"),
        Pattern("or-with-zero", apply("bitor", x, Const(0)), x, (), "no bits"),
        Pattern("xor-with-zero", apply("bitxor", x, Const(0)), x, (), "no bits"),
        Pattern("or-with-ones", apply("bitor", x, Const(-1)), Const(-1), (), "all bits"),
        Pattern("xor-with-ones", apply("bitxor", x, Const(-1)), x * -1 - 1, (), "the complement"),
        Pattern("and-of-same", apply("bitand", x, x), x, (), "idempotent"),
        Pattern("or-of-same", apply("bitor", x, x), x, (), "idempotent"),
        Pattern("xor-of-same", apply("bitxor", x, x), Const(0), (), "its own inverse"),
        Pattern("xor-of-xor", apply("bitxor", apply("bitxor", x, k), m), apply("bitxor", x, apply("bitxor", k, m)), (), "associativity"),
        Pattern("and-of-and", apply("bitand", apply("bitand", x, k), m), apply("bitand", x, k & m), (), "associativity"),
        Pattern("or-of-or", apply("bitor", apply("bitor", x, k), m), apply("bitor", x, apply("bitor", k, m)), (), "associativity"),
        Pattern("xor-twice", apply("bitxor", apply("bitxor", x, y), y), x, (), "its own inverse"),
        Pattern("and-absorbs-or", apply("bitand", x, apply("bitor", x, y)), x, (), "absorption"),
        Pattern("or-absorbs-and", apply("bitor", x, apply("bitand", x, y)), x, (), "absorption"),
        Pattern(
            "and-of-remainder",
            apply("bitand", x % n, k),
            apply("bitand", x, k & (n - 1)),
            POWER,
            "fewer bits",
        ),
        Pattern(
            "or-with-constant",
            apply("bitor", x, k),
            apply("bitand", x, k * -1 - 1) + k,
            (),
            "the bits of the constant, and of x the others",
        ),
        Pattern(
            "xor-with-low-bits", apply("bitxor", x, k), x * -1 + k, ((k & (k + 1)) == 0, x >= 0, x <= k), "the complement in so many bits"
        ),
        Pattern(
            "xor-with-part", apply("bitxor", x, apply("bitand", x, y)), x - apply("bitand", x, y), (), "the bits of x that y has are gone"
        ),
        Pattern("xor-with-remainder", apply("bitxor", x, x % n), x - x % n, POWER, "the lowest bits are gone"),
        Pattern("or-with-remainder", apply("bitor", x, x % n), x, POWER, "the lowest bits are there"),
        Pattern("and-with-remainder", apply("bitand", x, x % n), x % n, POWER, "the lowest bits are there"),
        Pattern(
            "or-of-masks",
            apply("bitor", apply("bitand", x, y), apply("bitand", x, z)),
            apply("bitand", x, apply("bitor", y, z)),
            (),
            "one mask",
        ),
        Pattern("and-of-truths", apply("bitand", p, q), both(p, q), (p >= 0, p <= 1, q >= 0, q <= 1), "one bit each"),
        Pattern("or-of-truths", apply("bitor", p, q), either(p, q), (p >= 0, p <= 1, q >= 0, q <= 1), "one bit each"),
        Pattern("quotient-of-and", apply("bitand", x, y) // n, apply("bitand", x // n, y // n), POWER, "the upper bits"),
        Pattern("remainder-of-and", apply("bitand", x, y) % n, apply("bitand", x % n, y % n), POWER, "the lower bits"),
        Pattern("quotient-of-or", apply("bitor", x, y) // n, apply("bitor", x // n, y // n), POWER, "the upper bits"),
        Pattern("remainder-of-or", apply("bitor", x, y) % n, apply("bitor", x % n, y % n), POWER, "the lower bits"),
        Pattern("quotient-of-xor", apply("bitxor", x, y) // n, apply("bitxor", x // n, y // n), POWER, "the upper bits"),
        Pattern("remainder-of-xor", apply("bitxor", x, y) % n, apply("bitxor", x % n, y % n), POWER, "the lower bits"),
    ),
)

LOGIC_TABLES = (CHOICES, COMPARISONS, LOGIC, WHERE, BITS)
