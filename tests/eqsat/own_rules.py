"""Rules as a new user writes them: true ones, each with a term that it makes cheaper, and tempting ones that are false."""

from __future__ import annotations

import random

from hypothesis import strategies as st

from eqsat import Index, Rule, maximum, minimum, pattern, var, where
from eqsat.ir.index import Const, Var, apply, substitute, variables
from eqsat.rules.variables import PatternVariable
from tests.eqsat.index_terms import VARIABLES

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
    (Rule("square-of-abs", abs(x) * abs(y), abs(x * y)), abs(s) * abs(j - 4)),
    (Rule("three-digits", (x * (n * d) + y * d + z) // d, x * n + y + z // d, d != 0), (i * 24 + s * 4 + j) // 4),
    (Rule("highest-digit", ((x * n + y) * d + z) // (n * d), x, (y >= 0, y < n, z >= 0, z < d)), (i * 72 + j * 9 + var("w", 0, 8)) // 72),
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


# random left sides, and terms that are instances of them
_NUMBERS = st.one_of(st.sampled_from([x, y, z, c, pattern("e", "constant")]), st.integers(-3, 5).map(Const))
_DIVISORS = st.sampled_from([Const(2), Const(3), Const(-4), c, y])
_DIVISIONS, _BITS = st.sampled_from(["floordiv", "mod"]), st.sampled_from(["bitand", "bitor", "bitxor"])


def shapes_of_patterns(depth: int = 2) -> st.SearchStrategy[Index]:
    """Integer terms over pattern variables."""
    if depth == 0:
        return _NUMBERS
    below, truths = st.deferred(lambda: shapes_of_patterns(depth - 1)), st.deferred(lambda: _truths(depth - 1))
    return st.one_of(
        st.builds(lambda a, b: a + b, below, below),
        st.builds(lambda a, b: a - b, below, below),
        st.builds(lambda a, b: a * b, below, st.one_of(_DIVISORS, below)),
        st.builds(lambda op, a, b: apply(op, a, b), _DIVISIONS, below, _DIVISORS),
        st.builds(lambda op, a, b: apply(op, a, b), st.sampled_from(["min", "max"]), below, below),
        st.builds(lambda op, a, b: apply(op, a, b), _BITS, below, below),
        st.builds(lambda p, a, b: apply("where", p, a, b), truths, below, below),
        st.builds(abs, below),
        truths.map(lambda p: apply("int", p)),
    )


def _truths(depth: int) -> st.SearchStrategy[Index]:
    if depth == 0:
        return st.sampled_from([p, q])
    below, truths = shapes_of_patterns(depth - 1), st.deferred(lambda: _truths(depth - 1))
    return st.one_of(
        st.builds(lambda op, a, b: apply(op, a, b), st.sampled_from(["lt", "le", "gt", "ge", "eq", "ne"]), below, below),
        st.builds(lambda op, a, b: apply(op, a, b), st.sampled_from(["and", "or"]), truths, truths),
        truths.map(lambda a: apply("not", a)),
        below.map(lambda a: apply("bool", a)),
    )


def an_instance(lhs: Index, seed: int) -> Index:
    """A left side with terms in the place of its variables, and sometimes as a part of a sum or under a division."""
    rng, (a, b, e) = random.Random(seed), VARIABLES
    terms = {
        "int": (a, b, e, a + b, a * 2 + 1, b % 3, a // 2, Const(3), b * 4, e * b, minimum(a, b), a - 3, where(a < 0, b, e)),
        "bool": (a < 2, b >= 3, (a + b) == 4, e > 1),
        "constant": tuple(map(Const, (1, 2, 3, 4, -2, 6))),
    }
    chosen: dict[Var, Index] = {v: rng.choice(terms[v.stands]) for v in variables(lhs) if isinstance(v, PatternVariable)}
    term = substitute(lhs, chosen)
    term = apply("add", term, rng.choice((a, b * 2, Const(1), e))) if rng.random() < 0.5 else term
    return apply(rng.choice(("floordiv", "mod")), term, rng.choice((2, 3, 4))) if rng.random() < 0.3 else term
