"""Random index terms over small ranges, and their values at all points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import Index, Var, apply, as_index, var
from eqsat.proving import integer_sets

VARIABLES = (var("x", -5, 6), var("y", 0, 7), var("z", 1, 3))
# never zero: constants of both signs and terms whose range leaves zero out
DIVISORS: tuple[Index | int, ...] = (1, 2, 3, 4, 6, 8, 12, -1, -3, -4, VARIABLES[2], -VARIABLES[2], VARIABLES[1] + 1)
AMOUNTS: tuple[Index | int, ...] = (0, 1, 3, VARIABLES[2])
CONSTANTS = st.sampled_from([*range(-6, 13), 16, 24, -24, 35])
LARGEST = 2**40

needs_islpy = pytest.mark.skipif(not integer_sets.is_installed(), reason="islpy is not installed")


def grid(variables: tuple[Var, ...] = VARIABLES) -> dict[Var, Any]:
    """All points of the variables' ranges, as open grids."""
    ranges = (np.arange(v.lo, v.hi + 1) for v in variables)
    return dict(zip(variables, np.ix_(*ranges), strict=True))


def values(term: Index, variables: tuple[Var, ...] = VARIABLES) -> Any:
    """The value of the term at all points."""
    shape = tuple(v.extent for v in variables)
    return np.broadcast_to(np.asarray(evaluate_index(term, grid(variables))).astype(np.int64), shape)


def numbers(depth: int) -> st.SearchStrategy[Index]:
    """Integer terms of up to `depth` operations on a path, half of them as tensor programs make them: sums, products, // and %."""
    leaves = st.one_of(st.sampled_from(VARIABLES), st.sampled_from(VARIABLES), CONSTANTS.map(as_index))
    if depth == 0:
        return leaves
    below = st.deferred(lambda: numbers(depth - 1))
    truths = st.deferred(lambda: truth_values(depth - 1))
    division = st.sampled_from(["floordiv", "mod"])
    options = [
        st.builds(lambda a, b, k: a + b * k, below, below, CONSTANTS),
        st.builds(lambda op, a, b: apply(op, a, b), division, below, st.sampled_from(DIVISORS)),
        st.builds(lambda a, k, c: (a // k + c) * k + a % k, below, st.integers(1, 9), st.integers(0, 2)),
        st.builds(lambda op, a, b: apply(op, a, b), division, below, st.sampled_from(DIVISORS)),
        st.builds(lambda op, a, b: apply(op, a, b), st.sampled_from(["add", "sub", "mul", "min", "max"]), below, below),
        st.builds(lambda op, a, b: apply(op, a, b), st.sampled_from(["bitand", "bitor", "bitxor"]), below, below),
        st.builds(lambda op, a: apply(op, a), st.sampled_from(["neg", "abs"]), below),
        st.builds(lambda op, a, b: apply(op, a, b), st.sampled_from(["shl", "shr"]), below, st.sampled_from(AMOUNTS)),
        st.builds(lambda c, a, b: apply("where", c, a, b), truths, below, below),
        truths.map(lambda a: apply("int", a)),
        leaves,
    ]
    return st.one_of(options).filter(lambda term: max(map(abs, term.bounds)) < LARGEST)


def truth_values(depth: int) -> st.SearchStrategy[Index]:
    """Comparisons and what joins them."""
    below = st.deferred(lambda: numbers(max(depth - 1, 0)))
    compare = st.builds(lambda op, a, b: apply(op, a, b), st.sampled_from(["lt", "le", "gt", "ge", "eq", "ne"]), below, below)
    if depth <= 0:
        return compare
    truths = st.deferred(lambda: truth_values(depth - 1))
    return st.one_of(
        compare,
        compare,
        st.builds(lambda op, a, b: apply(op, a, b), st.sampled_from(["and", "or"]), truths, truths),
        truths.map(lambda a: apply("not", a)),
        below.map(lambda a: apply("bool", a)),
    )


def terms(depth: int = 3) -> st.SearchStrategy[Index]:
    """Index terms of both kinds; every operation of OPS occurs."""
    return st.one_of(numbers(depth), numbers(depth), truth_values(depth))
