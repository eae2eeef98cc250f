"""The prover of Pattern rows: both sides evaluated at every point of a small signed grid where the guard holds.

The terms of a guard are read point by point, which is weaker than what the compiled rule asks of their bounds, and a constant
that `define` reads off bounds ranges over all values that the guard allows; so a proved row is equal under either reading.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import Apply, Index, Var, variables, walk
from eqsat.rules.row import LITERAL_RANGE, TERM_RANGE, Pattern, is_literal

MAX_POINTS = 4_000_000
Mask = np.ndarray[Any, np.dtype[np.bool_]]
# values of every variable, in shapes that NumPy broadcasts
Axes = dict[Var, np.ndarray[Any, Any]]


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
    held, differs, valued = evaluated(row.lhs, row.rhs, row.when, grid)
    points = int(np.count_nonzero(held & valued))
    wrong = held & differs
    if wrong.any():
        return Verdict(False, _smallest(wrong, grid), points)
    return Verdict(points > 0, None, points)


def evaluated(left: Index, right: Index, when: Iterable[Index], axes: Axes) -> tuple[Mask, Mask, Mask]:
    """Where all conditions hold; where the sides differ, as values or in having one; where one of them has a value."""
    shape = np.broadcast_shapes(*(axis.shape for axis in axes.values()))
    held = np.ones(shape, bool)
    for condition in when:
        held &= holds(condition, axes, shape)
    has_left, has_right = _defined(left, axes, shape), _defined(right, axes, shape)
    differs = (has_left != has_right) | (has_left & (_value(left, axes) != _value(right, axes)))
    return held, differs, has_left | has_right


def holds(condition: Index, axes: Axes, shape: tuple[int, ...]) -> Mask:
    """Where a condition has a value and that is not zero."""
    return np.asarray(_defined(condition, axes, shape) & (_value(condition, axes) != 0), bool)


def _value(term: Index, axes: Axes) -> Any:
    """The values of a term; where it has none, any."""
    with np.errstate(all="ignore"):
        return evaluate_index(term, axes)


def open_grid(names: Iterable[Var], ranges: Iterable[tuple[int, int]]) -> Axes:
    """Every variable along an axis of its own."""
    return dict(zip(names, np.ix_(*(np.arange(lo, hi + 1) for lo, hi in ranges)), strict=True))


def _grid(names: tuple[Var, ...]) -> Axes:
    """An open grid with at most MAX_POINTS."""
    shrink = 0
    while True:
        ranges = [LITERAL_RANGE if is_literal(name) else (TERM_RANGE[0] + shrink, TERM_RANGE[1] - shrink) for name in names]
        if np.prod([float(hi - lo + 1) for lo, hi in ranges]) <= MAX_POINTS:
            return open_grid(names, ranges)
        shrink += 1


def _defined(term: Index, grid: Axes, shape: tuple[int, ...]) -> Mask:
    """The points at which a term has a value."""
    defined = np.ones(shape, bool)
    for sub in walk(term):
        if isinstance(sub, Apply) and sub.domain is not None:
            defined &= sub.domain.holds(_value(sub.args[-1], grid))
    return defined


def _smallest(wrong: Mask, grid: Axes) -> dict[str, int]:
    size = sum(np.abs(axis) for axis in grid.values())
    at = np.unravel_index(np.argmin(np.where(wrong, size, np.iinfo(np.int64).max)), wrong.shape)
    return {name.name: int(axis.ravel()[position]) for (name, axis), position in zip(grid.items(), at, strict=True)}
