"""Places of gathers that are digits of one number, and rows that elements choose."""

from __future__ import annotations

import numpy as np
import pytest

import eqsat
from eqsat.ir.index import Var
from eqsat.ir.loops import For, Load, statements
from eqsat.ir.tensor import Call, Literal, Position, Scalar
from eqsat.lowering.movements.picks import in_rows, joined_places

PLACE = Load("i", Var("k", 0, 99), "int64")


def literal(value: int) -> Literal:
    return Literal(value, "int64")


def within(least: int, most: int) -> Scalar:
    return Call("minimum", (Call("maximum", (PLACE, literal(least)), "int64"), literal(most)), "int64")


def quotient(s: Scalar, n: int) -> Scalar:
    return Call("floor_divide", (s, literal(n)), "int64")


def rest(s: Scalar, n: int) -> Scalar:
    return Call("remainder", (s, literal(n)), "int64")


def test_digits_of_a_number_within_the_array_are_the_number() -> None:
    s = within(0, 99)
    clipped = PLACE  # as every place is
    assert joined_places((10, 10), (quotient(s, 10), rest(s, 10))) == ((100,), (clipped,))
    digits = (quotient(s, 10), rest(quotient(s, 5), 2), rest(s, 5))
    assert joined_places((10, 2, 5), digits) == ((100,), (clipped,))
    assert joined_places((7, 2, 5), (PLACE, rest(quotient(s, 5), 2), rest(s, 5))) == ((7, 10), (PLACE, rest(s, 10)))
    assert joined_places((10, 1, 10), (quotient(s, 10), PLACE, rest(s, 10))) == ((100,), (clipped,))
    assert joined_places((50,), (s,)) == ((50,), (s,))


@pytest.mark.parametrize(
    ("shape", "places"),
    [
        ((10, 10), (quotient(PLACE, 10), rest(PLACE, 10))),  # may be out of range, and is clipped digit by digit then
        ((10, 10), (quotient(within(-1, 99), 10), rest(within(-1, 99), 10))),
        ((10, 10), (quotient(within(0, 100), 10), rest(within(0, 100), 10))),
        ((10, 10), (quotient(within(0, 99), 5), rest(within(0, 99), 10))),
        ((10, 5), (quotient(within(0, 49), 10), rest(within(0, 49), 10))),
        ((10, 10), (quotient(within(0, 98), 10), rest(within(0, 99), 10))),
        ((100,), (rest(PLACE, 100),)),
    ],
)
def test_other_places_stay(shape: tuple[int, ...], places: tuple[Scalar, ...]) -> None:
    assert joined_places(shape, places) == (shape, places)


def row(of: Scalar, n: int, place: Scalar, first: bool = True) -> Scalar:
    product = Call("multiply", (of, literal(n)), "int64")
    return Call("add", (product, place) if first else (place, product), "int64")


@pytest.mark.parametrize("first", [True, False])
def test_an_element_chooses_a_row(first: bool) -> None:
    j = Position(Var("j", 0, 9), "int64")
    assert in_rows((70,), (row(within(0, 6), 10, j, first),)) == ((7, 10), (within(0, 6), j))
    assert in_rows((3, 70), (PLACE, row(within(0, 6), 10, j, first))) == ((3, 7, 10), (PLACE, within(0, 6), j))


@pytest.mark.parametrize(
    ("size", "place"),
    [
        (70, row(PLACE, 10, Position(Var("j", 0, 9), "int64"))),  # may be any row, and the sum is clipped
        (70, row(within(0, 7), 10, Position(Var("j", 0, 9), "int64"))),
        (70, row(within(0, 6), 10, Position(Var("j", 0, 10), "int64"))),  # leaves the row
        (75, row(within(0, 6), 10, Position(Var("j", 0, 9), "int64"))),
        (70, row(within(0, 6), 10, within(0, 9))),  # no loop goes along it
        (70, PLACE),
    ],
)
def test_other_places_are_in_one_row(size: int, place: Scalar) -> None:
    assert in_rows((size,), (place,)) == ((size,), (place,))


def test_rows_of_reshaped_arrays_are_copied() -> None:
    """Row by row: seven of two rows of 87,736 take 81 us, one element after the other 240."""
    x, rows = np.random.default_rng(2).random(1_000, "float32"), np.array([1, 0, 1, -1, 0, 1, 1], "int32")
    result = eqsat.optimize(lambda x, rows: np.take(x.reshape(2, 500), rows, axis=0), x, rows)
    loops = [stmt for kernel in result.loops for stmt in statements(kernel.body) if isinstance(stmt, For)]
    assert loops[-1].variable.extent == 500
    np.testing.assert_array_equal(result(x, rows), np.take(x.reshape(2, 500), rows, axis=0))


@pytest.mark.parametrize("shape", [(40, 25), (10, 10, 10), (2, 5, 4, 25)])
def test_takes_of_flat_arrays_read_at_one_place(shape: tuple[int, ...]) -> None:
    x, places = np.random.default_rng(2).random(shape), np.random.default_rng(3).integers(-1000, 1000, 300)
    result = eqsat.optimize(lambda x, i: np.take(x, i), x, places)
    assert "//" not in str(result.loops)
    np.testing.assert_array_equal(result(x, places), np.take(x, places))
    with pytest.raises(IndexError):
        result(x, np.full(300, 1000))
