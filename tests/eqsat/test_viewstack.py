"""View stacks: the notes' examples, NumPy's meaning on every element, one view wherever one exists, and errors before anything runs."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import eqsat
from eqsat import View, ViewStack
from eqsat.ir.errors import InternalError, ShapeError, UsageError
from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import Const, variables
from eqsat.views.merging import ALL_PLACES, SOME_PLACES, fit, grid_of, merge_by_equality, one_view
from eqsat.views.strides import merge_by_strides
from tests.bench.movement import Move
from tests.bench.movement_chains import round_trips
from tests.effort import examples
from tests.fuzz.view_stacks import Chain, differences, draw, every_small_chain, incomplete, only_view, small_chains

SEED = 20
LETTERS = np.array(list("abcdefgh"))


def transposed(stack: ViewStack, rows: int) -> ViewStack:
    """The elements as a matrix of so many rows, read column by column."""
    return stack.reshape((rows, -1)).permute((1, 0)).reshape(-1)


# the notes' examples -----------------------------------------------------------------------------------------------
def test_letters_in_a_row_a_grid_and_a_cube_have_the_positions_of_the_notes() -> None:
    row = ViewStack.from_shape((8,))
    grid = row.reshape((2, 4))
    cube = grid.reshape((2, 2, 2))
    assert [str(stack.index_expr()) for stack in (row, grid, cube)] == ["idx0", "idx0 * 4 + idx1", "idx0 * 4 + idx1 * 2 + idx2"]
    assert [stack.apply(LETTERS)[place] for stack, place in ((row, 3), (grid, (1, 2)), (cube, (1, 0, 1)))] == ["d", "g", "f"]
    assert all(len(stack.views) == 1 and stack.contiguous for stack in (row, grid, cube))


def test_a_permuted_grid_is_read_along_its_columns() -> None:
    grid = ViewStack.from_shape((4, 2))
    assert str(grid.index_expr()) == "idx0 * 2 + idx1"
    assert str(grid.permute((1, 0)).index_expr()) == "idx1 * 2 + idx0"
    assert ["".join(row) for row in grid.permute((1, 0)).apply(LETTERS)] == ["aceg", "bdfh"]


def test_two_views_are_needed_where_the_notes_need_them() -> None:
    stack = ViewStack.from_shape((4, 2)).reshape((2, 2, 2)).reshape((2, 4))
    assert repr(stack.views) == "(View(shape=(2, 4), strides=(4, 1), offset=0, mask=None, contiguous=True),)"
    stack = stack.permute((1, 0))
    assert repr(stack.views) == "(View(shape=(4, 2), strides=(1, 4), offset=0, mask=None, contiguous=False),)"
    assert str(stack.index_expr()) == "idx1 * 4 + idx0"
    stack = stack.reshape((2, 4))
    assert stack.views == (View((4, 2), (1, 4)), View((2, 4), (4, 1)))
    assert [view.contiguous for view in stack.views] == [False, True]
    assert (stack.contiguous, stack.shape, stack.size, stack.strides, stack.mask) == (False, (2, 4), 8, (4, 1), None)
    assert str(stack.index_expr()) == "idx1 % 2 * 4 + idx0 * 2 + idx1 // 2"
    assert stack.simplify().views == stack.views


# meaning -----------------------------------------------------------------------------------------------------------
def test_300_random_chains_equal_numpy_on_every_element() -> None:
    chains = [draw(SEED, position) for position in range(300)]
    assert [line for chain in chains for line in differences(chain)] == []
    kinds = {move.kind for chain in chains for move in chain.moves}
    assert kinds == {"reshape", "permute", "expand", "shrink", "flip", "pad", "stride"}
    assert sum(any(move.kind == "stride" and min(move.arg) < 0 for move in chain.moves) for chain in chains) >= 50
    assert sum(len(chain.of_stack().views) > 1 for chain in chains) >= 50


def test_expressions_evaluate_to_the_elements_of_numpy() -> None:
    chains = [draw(SEED, position) for position in range(1000, 1000 + examples(40, 8, 5))]
    assert [line for chain in chains for line in differences(chain, expressions=True)] == []


def test_reading_a_reversed_view_equals_numpy() -> None:
    array = np.arange(35).reshape(5, 7)
    stack = ViewStack.from_shape((5, 7))
    assert np.array_equal(stack.flip(1).apply(array), array[:, ::-1])
    assert np.array_equal(stack.flip((True, False)).apply(array), array[::-1])
    assert np.array_equal(stack.flip((-1, 0)).apply(array), array[::-1, ::-1])
    assert np.array_equal(stack.stride((-2, 3)).apply(array), array[::-2, ::3])
    assert stack.stride((-2, 3)).views == (View((3, 3), (-14, 3), 28),)


def test_padding_is_the_zero_of_the_dtype_and_outside_of_the_valid_expression() -> None:
    stack = ViewStack.from_shape((2, 3)).pad(((1, 0), (0, 2)))
    assert (stack.mask, stack.strides, stack.views[0].offset) == (((1, 3), (0, 3)), (3, 1), -3)
    assert stack.valid_expr().bounds == (0, 1)
    for dtype in (np.bool_, np.int32, np.float64):
        array = np.arange(6).reshape(2, 3).astype(dtype)
        found = stack.apply(array)
        assert found.dtype == dtype
        assert np.array_equal(found, np.pad(array, ((1, 0), (0, 2))))
    inside = stack.shrink(((1, 3), (0, 3)))
    assert (inside.mask, inside.contiguous, inside.valid_expr()) == (None, True, Const(True))


def test_a_stack_without_elements_and_one_of_padding_only_are_read() -> None:
    empty = ViewStack.from_shape((2, 0, 3)).permute((2, 0, 1)).reshape((0, 5))
    assert (empty.views, empty.index_expr(), empty.valid_expr()) == ((View((0, 5), (0, 0)),), Const(0), Const(True))
    assert empty.apply(np.zeros((2, 0, 3))).shape == (0, 5)
    padded = empty.pad(((1, 1), (0, 0)))
    assert padded.views == (View((2, 5), (0, 0), 0, ((0, 0), (0, 0))),)
    assert (padded.index_expr(), padded.valid_expr()) == (Const(0), Const(False))
    assert np.array_equal(padded.apply(np.zeros((2, 0, 3))), np.zeros((2, 5)))


def test_scalars_are_views_without_axes() -> None:
    scalar = ViewStack.from_shape((1, 1)).reshape(())
    assert (scalar.views, scalar.shape, scalar.size, scalar.contiguous) == ((View((), ()),), (), 1, True)
    assert scalar.index_expr() is Const(0)
    assert scalar.apply([[7]])[()] == 7
    assert scalar.reshape((1, 1)).expand((2, 3)).views == (View((2, 3), (0, 0)),)
    # no axis can exclude the only element of a scalar
    nothing = ViewStack.from_shape((1,)).pad(((1, 0),)).shrink(((0, 1),)).reshape(())
    assert len(nothing.simplify().views) == 2
    assert nothing.valid_expr() is Const(False)
    assert nothing.apply([7])[()] == 0


def test_movements_read_no_array() -> None:
    wide = ViewStack.from_shape((2**20, 1)).expand((2**20, 2**30)).permute((1, 0)).pad(((2**20, 0), (1, 1)))
    assert (wide.size, len(wide.views)) == ((2**30 + 2**20) * (2**20 + 2), 1)
    assert str(wide.index_expr()) == "idx1 - 1"


# canonical views ---------------------------------------------------------------------------------------------------
def test_equal_views_are_equal_functions() -> None:
    assert View((1, 4), (9, 1)) == View((1, 4), (0, 1))
    assert View((3, 4), (9, 1), 0, ((2, 3), (0, 4))) == View((3, 4), (0, 1), 18, ((2, 3), (0, 4)))
    assert View((3, 4), (4, 1), 0, ((0, 3), (0, 4))) == View((3, 4), (4, 1))
    assert View((3, 4), (4, 1), 5, ((0, 3), (2, 2))) == View((3, 4), (0, 0), 0, ((0, 0), (0, 0)))
    assert View((0, 4), (4, 1), 5, ((0, 0), (1, 2))) == View((0, 4), (0, 0))
    assert View((3, 4), (4, 1)) != View((3, 4), (4, 1), 1)


def test_only_row_major_views_from_the_first_element_on_are_contiguous() -> None:
    assert View((2, 1, 3), (3, 0, 1)).contiguous
    assert View((0, 4), (4, 1)).contiguous
    others = View((2, 3), (1, 2)), View((2, 3), (3, 1), 1), View((2, 3), (3, 1), 0, ((0, 2), (0, 2))), View((2, 3), (0, 1))
    assert not any(view.contiguous for view in others)


# merging -----------------------------------------------------------------------------------------------------------
def test_simplify_reaches_one_view_wherever_brute_force_finds_one() -> None:
    chains = [*small_chains(3, 1500, SEED), *small_chains(7, 1500, SEED), *small_chains(12, 600, SEED)]
    assert list(filter(None, map(incomplete, chains))) == []
    stacks = [stack for stack in (chain.of_stack() for chain in chains) if len(stack.views) > 1]
    assert sum(len(stack.simplify().views) == 1 for stack in stacks) >= 100
    assert sum(len(stack.simplify().views) > 1 for stack in stacks) >= 100


@pytest.mark.fuzz
def test_simplify_is_complete_for_every_chain_of_two_movements_of_small_shapes() -> None:
    assert list(filter(None, map(incomplete, every_small_chain(2)))) == []


def test_brute_force_finds_the_view_of_values_and_none_where_there_is_none() -> None:
    values = np.array([[-(10**9), 4, 2], [-(10**9), 7, 5]])
    assert only_view(values) == View((2, 3), (3, -2), 6, ((0, 2), (1, 3)))
    values[1, 2] = 6
    assert only_view(values) is None
    assert incomplete(Chain((4, 2), (Move("permute", (1, 0)), Move("reshape", (8,))))) is None


def test_movements_done_and_undone_are_one_contiguous_view() -> None:
    for chain in round_trips(60):
        stack = ViewStack.from_shape(chain.start)
        for move in chain.moves:
            stack = getattr(stack, move.kind)(move.arg)
        assert stack.simplify().contiguous, chain


def test_a_stack_merges_where_no_two_neighbours_of_it_do() -> None:
    stack = ViewStack.from_shape(8)
    for _ in range(3):
        stack = transposed(stack, 2)
    assert [merge_by_strides(*pair) for pair in pairwise(stack.views)] == [None, None, None]
    assert stack.simplify().contiguous


def test_the_e_graph_merges_what_has_too_many_places_to_look_at() -> None:
    stack = ViewStack.from_shape(200**3)
    for _ in range(3):
        stack = transposed(stack, 200)
    assert stack.size > ALL_PLACES > SOME_PLACES
    assert len(stack.views) == 4
    assert stack.simplify().views == (View((200**3,), (1,)),)
    assert stack.flip(0).pad(((3, 5),)).simplify().views == (View((200**3 + 8,), (-1,), 200**3 + 2, ((3, 200**3 + 3),)),)


def test_the_e_graph_alone_merges_nine_of_ten_small_stacks_that_strides_cannot() -> None:
    stacks = [chain.of_stack() for chain in small_chains(12, 500, SEED)]
    single = [(stack.views, stack.simplify().views[0]) for stack in stacks if len(stack.views) > 1 == len(stack.simplify().views)]
    hard = [(views, only) for views, only in single if len(views) > 2 or merge_by_strides(*views) is None]
    found = [(merge_by_equality(views), only) for views, only in hard]
    assert len(found) >= 10
    assert all(view is None or view == only for view, only in found)
    assert sum(view is not None for view, _ in found) >= 0.9 * len(found)


def test_windows_of_a_row_are_one_view_of_overlapping_rows() -> None:
    repeated = ViewStack.from_shape((1, 5000)).expand((8, 5000)).reshape(40000).shrink(((0, 7 * 5001),))
    windows = repeated.reshape((7, 5001)).shrink(((0, 7), (0, 4994))).permute((1, 0))
    assert windows.simplify().views == (View((4994, 7), (1, 1)),)


def test_a_mask_below_becomes_a_mask_above_where_it_is_a_box_there() -> None:
    padded = ViewStack.from_shape((64, 63)).pad(((0, 0), (0, 1))).permute((1, 0)).reshape((8, 8, 64))
    assert padded.reshape((64, 64)).simplify().views == (View((64, 64), (1, 63), 0, ((0, 63), (0, 64))),)
    # the last column of the padding is no box among eight by eight columns
    assert len(padded.simplify().views) == 2


def test_a_grid_refutes_what_is_affine_only_in_part() -> None:
    lower, upper = View((100, 100), (1, 100)), View((10_000,), (1,))
    assert fit((lower, upper), grid_of(upper, SOME_PLACES)) is None
    assert fit((lower, upper), [np.arange(101)]) is None
    # every hundredth position is the next one: a step of a hundredth
    assert fit((lower, upper), [np.arange(0, 10_000, 100)]) is None
    assert fit((lower, upper), [np.arange(100)]) is not None
    assert [len(places) for places in grid_of(View((4, 10**6), (10**6, 1)), 100)] == [4, 15]


def test_a_view_that_differs_from_its_stack_is_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    one_view.cache_clear()
    stack = ViewStack.from_shape(41**3)
    for _ in range(3):
        stack = transposed(stack, 41)
    monkeypatch.setattr("eqsat.views.merging.merge_by_equality", lambda views: View((41**3,), (1,), 1))
    with pytest.raises(InternalError, match="merge_by_equality: found View"):
        stack.simplify()


# errors ------------------------------------------------------------------------------------------------------------
STACK = ViewStack.from_shape((2, 1, 3))
WRONG: dict[str, tuple[type[Exception], Callable[[], Any]]] = {
    "reshape: found 6 elements of shape (2, 1, 3), which do not fill the shape (4, 2)": (ShapeError, lambda: STACK.reshape((4, 2))),
    "which do not fill the shape (-1, -1)": (ShapeError, lambda: STACK.reshape((-1, -1))),
    "reshape: found extent 1.5": (UsageError, lambda: STACK.reshape((1.5, 4))),  # type: ignore[arg-type]
    "permute: found the axes (0, 0, 1)": (ShapeError, lambda: STACK.permute((0, 0, 1))),
    "permute: found 2 axes (0, 1), expected 3": (ShapeError, lambda: STACK.permute((0, 1))),
    "permute: found axis 3": (ShapeError, lambda: STACK.permute((0, 1, 3))),
    "expand: found the shape (2, 1, 3) to become (4, 1, 3)": (ShapeError, lambda: STACK.expand((4, 1, 3))),
    "expand: found 2 extents (2, 3), expected 3": (ShapeError, lambda: STACK.expand((2, 3))),
    "expand: found the shape (2, -1, 3), expected no extent below 0": (ShapeError, lambda: STACK.expand((2, -1, 3))),
    "pad: found the widths [(0, 0), (-1, 0), (0, 0)]": (UsageError, lambda: STACK.pad(((0, 0), (-1, 0), (0, 0)))),
    "pad: found 1 pairs ((1, 1),), expected 3": (ShapeError, lambda: STACK.pad(((1, 1),))),
    "pad: found (1, 1, 1), expected a pair": (UsageError, lambda: STACK.pad((1, 1, 1))),  # type: ignore[arg-type]
    "shrink: found the limits [(0, 2), (0, 1), (1, 4)]": (ShapeError, lambda: STACK.shrink(((0, 2), (0, 1), (1, 4)))),
    "shrink: found the limits [(1, 0), (0, 1), (0, 3)]": (ShapeError, lambda: STACK.shrink(((1, 0), (0, 1), (0, 3)))),
    "flip: found axis 3": (ShapeError, lambda: STACK.flip(3)),
    "flip: found axis True": (UsageError, lambda: STACK.flip((True,))),
    "stride: found the steps (1, 0, 1)": (UsageError, lambda: STACK.stride((1, 0, 1))),
    "stride: found 1 steps (2,), expected 3": (ShapeError, lambda: STACK.stride(2)),
    "from_shape: found the shape (2, -1)": (ShapeError, lambda: ViewStack.from_shape((2, -1))),
    "apply: found an array of 5 elements, expected 6": (ShapeError, lambda: STACK.apply(np.arange(5))),
    "View: found strides (1,)": (ShapeError, lambda: View((2, 3), (1,))),
    "View: found mask ((0, 3),)": (ShapeError, lambda: View((2,), (1,), 0, ((0, 3),))),
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_movements_are_refused_in_one_line(message: str) -> None:
    kind, call = WRONG[message]
    with pytest.raises(kind) as caught:
        call()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, eqsat.EqsatError)


def test_long_stacks_of_few_places_are_merged_before_they_are_stated() -> None:
    """Eleven transpositions of 4 x 6 are the identity, so of a hundred views few are left."""
    stack = ViewStack.from_shape((4, 6))
    for _ in range(111):
        stack = stack.permute((1, 0)).reshape((4, 6))
    assert len(stack.views) > 100
    assert str(stack.index_expr()).count("//") <= 4
    position = stack.index_expr()
    names = {v.name: v for v in variables(position)}
    found = [[evaluate_index(position, {names["idx0"]: i, names["idx1"]: j}) for j in range(6)] for i in range(4)]
    np.testing.assert_array_equal(found, stack.apply(np.arange(24)))
