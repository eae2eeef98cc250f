"""The prover of Pattern rows: both sides evaluated at every point of a small signed grid where the guard holds.

The terms of a guard are read point by point, which is weaker than what the compiled rule asks of their bounds, and a constant
that `define` reads off bounds ranges over all values that the guard allows; so a proved row is equal under either reading.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import Apply, Index, Var, variables, walk
from eqsat.rules.row import LITERAL_RANGE, TERM_RANGE, Pattern, is_literal

MAX_POINTS = 4_000_000
Mask = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True)
class Verdict:
    """What the prover found out about a row.

    proved          both sides agree, as values and in having one, wherever the guard holds, and it holds somewhere
    counterexample  a value for every variable, the smallest by the sum of absolute values; None if there is none
    points          how many points satisfy the guard and give a side a value
    """

    proved: bool
    counterexample: dict[str, int] | None
    points: int


def check_pattern(row: Pattern) -> Verdict:
    """Evaluate both sides of a row over the signed ranges of its variables (rules/row.py), masked by its guard.

    A division by zero and a shift by a negative amount have no value: a side that has none where the other has one refutes the
    row, a guard that has none does not hold.  A guard that never holds proves nothing.  Term ranges shrink until the grid has at
    most MAX_POINTS points.
    """
    names = variables(row.lhs, row.rhs, *row.when, *(name for name, _ in row.define))
    grid = _grid(names)
    shape = np.broadcast_shapes(*(axis.shape for axis in grid.values()))
    held = np.ones(shape, bool)
    for condition in row.when:
        held &= _defined(condition, grid, shape) & (evaluate_index(condition, grid) != 0)
    left, right = _defined(row.lhs, grid, shape), _defined(row.rhs, grid, shape)
    differs = (left != right) | (left & (evaluate_index(row.lhs, grid) != evaluate_index(row.rhs, grid)))
    points = int(np.count_nonzero(held & (left | right)))
    wrong = held & differs
    if wrong.any():
        return Verdict(False, _smallest(wrong, grid), points)
    return Verdict(points > 0, None, points)


def _grid(names: tuple[Var, ...]) -> dict[Var, np.ndarray[Any, Any]]:
    """An open grid: every variable along an axis of its own."""
    shrink = 0
    while True:
        ranges = [LITERAL_RANGE if is_literal(name) else (TERM_RANGE[0] + shrink, TERM_RANGE[1] - shrink) for name in names]
        if np.prod([float(hi - lo + 1) for lo, hi in ranges]) <= MAX_POINTS:
            return dict(zip(names, np.ix_(*(np.arange(lo, hi + 1) for lo, hi in ranges)), strict=True))
        shrink += 1


def _defined(term: Index, grid: dict[Var, np.ndarray[Any, Any]], shape: tuple[int, ...]) -> Mask:
    """The points at which a term has a value."""
    defined = np.ones(shape, bool)
    for sub in walk(term):
        if isinstance(sub, Apply) and sub.op in ("floordiv", "mod"):
            defined &= evaluate_index(sub.args[1], grid) != 0
        elif isinstance(sub, Apply) and sub.op in ("shl", "shr"):
            defined &= evaluate_index(sub.args[1], grid) >= 0
    return defined


def _smallest(wrong: Mask, grid: dict[Var, np.ndarray[Any, Any]]) -> dict[str, int]:
    size = sum(np.abs(axis) for axis in grid.values())
    at = np.unravel_index(np.argmin(np.where(wrong, size, np.iinfo(np.int64).max)), wrong.shape)
    return {name.name: int(axis.ravel()[position]) for (name, axis), position in zip(grid.items(), at, strict=True)}
