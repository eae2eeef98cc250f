"""How tiles are divided into parts whose sums stay in registers."""

from __future__ import annotations

import pytest

from eqsat.codegen.tiles.parts import part_shape, parts_of, pieces_of, turned_part_shape
from eqsat.ir.index import Var


@pytest.mark.parametrize("sums", [12, 24, 28])
@pytest.mark.parametrize("rows", range(1, 15))
@pytest.mark.parametrize("pieces", range(1, 9))
def test_a_part_fits_registers_beside_what_is_loaded_for_it(rows: int, pieces: int, sums: int) -> None:
    high, wide = part_shape(rows, pieces, sums)
    assert 1 <= high <= rows
    assert 1 <= wide <= pieces
    assert high * wide + wide <= sums + 2
    if rows * pieces <= sums and rows * pieces + pieces <= sums + 2:
        assert (high, wide) == (rows, pieces)


@pytest.mark.parametrize(
    ("rows", "pieces", "shape"),
    [
        (6, 8, (6, 2)),  # twelve sums, two vectors of columns and one number of a row
        (9, 6, (5, 2)),  # five rows and four, not nine with one vector each, for which as much is loaded as is added
        (12, 4, (6, 2)),
        (8, 6, (4, 2)),  # all parts alike: eight sums are as many as are begun
        (8, 1, (8, 1)),
        (12, 3, (3, 3)),  # not twelve rows of one vector, which load as much as they add
        (4, 3, (4, 2)),  # twelve sums and three vectors leave no register for the number of a row
    ],
)
def test_parts_of_twelve_sums(rows: int, pieces: int, shape: tuple[int, int]) -> None:
    assert part_shape(rows, pieces, 12) == shape


@pytest.mark.parametrize(("rows", "shape"), [(16, (8, 1)), (20, (8, 1)), (8, (8, 1)), (4, (4, 3))])
def test_rows_that_are_turned_stay_in_squares(rows: int, shape: tuple[int, int]) -> None:
    assert turned_part_shape(rows, 16, 12, 8) == shape


def test_pieces_end_with_the_loop_or_get_smaller() -> None:
    lane = Var("j", 0, 18)
    assert list(pieces_of(lane, 8)) == [(0, 8), (8, 8), (11, 8)]
    assert list(pieces_of(lane, 8, again=False)) == [(0, 8), (8, 8), (16, 2), (18, 1)]
    assert list(pieces_of(Var("j", 2, 4), 8)) == [(2, 2), (3, 2)]


def test_the_last_part_is_what_is_left() -> None:
    assert list(map(list, parts_of([1, 2, 3, 4, 5], 2))) == [[1, 2], [3, 4], [5]]
