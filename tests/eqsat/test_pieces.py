"""What costs say of loops that are cut at their seams: terms as they are for most of a loop, and kernels that pad what they compute."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import eqsat
import eqsat.numpy as enp
from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import Apply, Index, apply, as_index, var, variables, walk
from eqsat.ir.tensor import reduction
from eqsat.pricing.pieces import Box, Pieces, box_of
from tests.effort import some

ROW, COLUMN = var("i0", 0, 511), var("i1", 0, 99)


def test_clips_are_what_they_are_for_most_of_a_loop() -> None:
    clipped = apply("min", apply("max", COLUMN - 1, as_index(0)), as_index(97))
    assert [str(eqsat.simplify(term)) for term in Pieces().longest(clipped * 4 + ROW)] == ["i1 * 4 + i0 - 4"]
    both = apply("min", ROW, COLUMN)
    assert Pieces().longest(both) == (both,)


@given(st.sampled_from(["min", "max"]), st.integers(-3, 3).filter(bool), st.integers(-200, 200), st.integers(-200, 200))
def test_a_choice_is_right_for_half_of_the_loop(op: str, step: int, offset: int, other: int) -> None:
    term = apply(op, COLUMN * step + offset, as_index(other))
    (found,) = Pieces().longest(term)
    same = [evaluate_index(found, {COLUMN: j}) == evaluate_index(term, {COLUMN: j}) for j in range(100)]
    assert sum(same) >= (25 if op in ("min", "max") and COLUMN in variables(found) else 49)


COMPARISONS = st.builds(
    lambda term, op, step, other: apply(op, term * step, as_index(other)),
    st.sampled_from([ROW, COLUMN, COLUMN % 4, COLUMN // 25, COLUMN % 20 // 5]),
    st.sampled_from(["lt", "le", "gt", "ge", "eq", "ne"]),
    st.integers(-2, 2).filter(bool),
    st.integers(-20, 120),
)


@given(st.lists(st.tuples(COMPARISONS, st.booleans()), min_size=1, max_size=3))
def test_boxes_have_the_share_of_loops_for_which_their_conditions_hold(conditions: list[tuple[Index, bool]]) -> None:
    """Digits of one loop are taken for loops of their own."""
    guards = tuple(condition if holds else apply("not", apply("bool", apply("int", condition))) for condition, holds in conditions)
    boxes = [box for guard in guards if (box := box_of(guard)) is not None]
    assert len(boxes) == len(guards)
    found = functools.reduce(Box.meet, boxes).share(frozenset((ROW, COLUMN)))
    rows, columns = np.ogrid[0:512, 0:100]
    holds = np.logical_and.reduce([np.broadcast_to(evaluate_index(guard, {ROW: rows, COLUMN: columns}), (512, 100)) for guard in guards])
    if (
        len({sub for guard in guards for sub in walk(guard) if isinstance(sub, Apply) and sub.op in ("mod", "floordiv")}) == 0
        or len(guards) == 1
    ):
        assert found == pytest.approx(holds.mean())
    else:
        assert 0 <= found <= 1


def test_boxes_know_nothing_of_folds_products_and_several_loops_at_once() -> None:
    for condition in (apply("lt", reduction(0, 9), 3), apply("lt", ROW * COLUMN, 3), apply("lt", ROW + COLUMN, 3), COLUMN % 7 < 2):
        assert box_of(condition) is None
    either = box_of(apply("or", ROW < 256, COLUMN < 50))
    assert either is not None
    assert either.share(either.loops) == 0.75
    assert either.share(frozenset((ROW,))) == 1.0  # a part that varies with rows alone is needed for each of them


def test_elements_side_by_side_cost_what_each_does() -> None:
    x = np.zeros((64, 64), np.float32)
    parts: list[Any] = [lambda y: enp.sin(y), lambda y: enp.exp(y), lambda y: enp.tanh(y)]
    alone = sum(float(eqsat.optimize(part, x).cost) for part in parts)
    for join in (enp.stack, enp.concatenate):
        for axis in (0, 1):
            together = eqsat.optimize(lambda y, j=join, k=axis: j([part(y) for part in parts], k), x)
            assert len(together.nests) == 1
            assert float(together.cost) < alone
            np.testing.assert_allclose(
                together(x + 0.5), getattr(np, join.__name__)([f(x + 0.5) for f in (np.sin, np.exp, np.tanh)], axis), rtol=1e-6
            )


def _condition(*terms: Index) -> Apply:
    found = apply("and", *terms)
    assert isinstance(found, Apply)
    return found


def test_pieces_decide_comparisons_of_one_loop_each() -> None:
    assert Pieces().are_decided(_condition(COLUMN >= 1, ROW < 300))
    assert not Pieces().are_decided(_condition(COLUMN >= 1, ROW < COLUMN))
    assert not Pieces().are_decided(_condition(COLUMN % 3 < 1, ROW < 300))
    assert Pieces().are_decided(_condition(var("i2", 0, 3) >= 2, ROW < 300))  # however short a loop is


def test_padding_short_axes_takes_no_kernel_of_its_own() -> None:
    """Conditions of a loop of four and of two long ones: 3,100 us in two kernels, 1,140 in one."""
    specs = eqsat.spec((2, 316, 3925), "float32"), eqsat.spec((3925,), "float32"), eqsat.spec((2, 316, 3925), "float32")
    result = eqsat.optimize(lambda a, b, c: np.pad((np.maximum(a, b) - c)[:, 2:315], [(2, 0)] * 3), *specs)
    assert len(result.loops) == 1


@pytest.mark.parametrize("steps", [1, 3])
def test_padding_what_is_computed_takes_no_kernel_of_its_own(steps: int) -> None:
    """Relaxation with fixed edges: a kernel for each step, as it is estimated."""

    def relaxed(u: Any) -> Any:
        for _ in range(steps):
            u = enp.pad(0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]), 1)
        return u

    result = eqsat.optimize(relaxed, eqsat.spec((256, 384), "float32"))
    assert len(result.nests) == steps
    u = np.random.default_rng(0).random((256, 384), "float32")
    expected = u
    for _ in range(steps):
        expected = np.pad(0.25 * (expected[2:, 1:-1] + expected[:-2, 1:-1] + expected[1:-1, 2:] + expected[1:-1, :-2]), 1)
    np.testing.assert_allclose(result(u), expected, rtol=1e-5)


@pytest.mark.parametrize("mode", ["reflect", "symmetric", "wrap", "edge"])
def test_folds_of_padded_rows_of_any_length(mode: Any) -> None:
    rng = np.random.default_rng(0)
    for n in some([2, 4, 5, 8, 16, 24], 2):
        x = rng.standard_normal(n)
        for function in (lambda y: np.pad(y, (1, 0), mode=mode).sum(), lambda y: np.argmax(np.pad(y, (1, 1), mode=mode))):
            np.testing.assert_allclose(eqsat.jit(function)(x), function(x))


def test_a_search_that_comes_back_to_where_it_was_ends() -> None:
    x = np.random.default_rng(0).standard_normal((15, 2))

    def function(y: Any) -> Any:
        return np.pad(y @ y.T, ((3, 1), (0, 0)))[::-1][:, [3, 1, 12]]

    np.testing.assert_allclose(eqsat.jit(function)(x), function(x))
