"""What accesses beside and behind each other bring near: each line once, as far as caches hold it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import pytest

from eqsat.ir.index import Index, Var
from eqsat.ir.loops import Buffer, For, Kernel, Load, Stmt, Store
from eqsat.ir.tensor import Call, Scalar
from eqsat.lowering.affine import Forms
from eqsat.pricing.locality import LINE_BYTES, moved_ns, taps
from eqsat.pricing.target import DEFAULT_TARGET
from eqsat.pricing.touched import Touched

ROW, J, K = Var("i", 0, 499), Var("j", 0, 799), Var("k", 0, 799)
SIZE = 1 << 20


def load(index: Index) -> Load:
    return Load("x", index, "float32")


def total(places: list[Index]) -> Scalar:
    terms: list[Scalar] = [load(place) for place in places]
    return reduce(lambda one, other: Call("add", (one, other), "float32"), terms)


def store(index: Index, value: Scalar) -> Store:
    return Store("out", index, value)


def kernel(*body: Stmt) -> Kernel:
    return Kernel("k", (Buffer("x", "float32", SIZE, "in"), Buffer("out", "float32", SIZE, "out")), (For(ROW, "parallel", body),))


def brought(kernel: Kernel, accesses: Sequence[tuple[Index, tuple[Var, ...]]]) -> list[float]:
    touched = Touched(kernel, DEFAULT_TARGET, Forms())
    return [touched.moved_ns("x", index, "float32", loops) for index, loops in accesses]


@pytest.mark.parametrize(
    ("constants", "expected"),
    [
        ((0,), [(1, 0), (1, 1)]),
        ((0, 1, 2), [(1, 0), (3, 1)]),
        ((-1, 0, 99, 100, 199), [(3, 100), (2, 1)]),
        (range(0, 3200, 800), [(4, 800), (1, 1)]),
    ],
)
def test_constants_are_groups_of_places_along_memory(constants: tuple[int, ...], expected: list[tuple[int, int]]) -> None:
    assert taps(constants, 4) == expected


def test_terms_written_out_bring_what_their_fold_brings() -> None:
    """A row of a product with all of a matrix of 100 KB, for each of 500 rows."""
    r = Var("r", 0, 31)
    written = [J + r * 800 for r in range(32)]
    one = brought(kernel(For(J, "parallel", (store(J, total(written)),))), [(index, (ROW, J)) for index in written])
    assert one[1:] == [0.0] * 31
    assert one[0] == moved_ns(DEFAULT_TARGET, 4 * SIZE, 4, [(500, 0), (800, 1), (32, 800)])
    assert one[0] > 400 * brought(kernel(For(J, "parallel", (store(J, load(J)),))), [(J, (ROW, J))])[0] / 32
    assert brought(kernel(store(ROW, load(J + r * 800))), [(J + r * 800, (ROW, r, J))])[0] == pytest.approx(one[0], rel=0.1)


def test_rows_that_a_window_reads_come_once() -> None:
    window = [ROW * 800 + J + 800 * k + c for k in range(3) for c in range(3)]
    found = brought(kernel(For(J, "parallel", (store(J, total(window)),))), [(index, (ROW, J)) for index in window])
    alone = brought(kernel(For(J, "parallel", (store(J, load(ROW * 800 + J)),))), [(ROW * 800 + J, (ROW, J))])
    assert sum(found) == pytest.approx(sum(alone), rel=0.01)


def test_the_ends_of_rows_come_with_them() -> None:
    row, first, last, far = ROW * 800 + J + 1, ROW * 800, ROW * 800 + 801, ROW * 800 + 80_000
    body = store(first, load(first)), For(J, "parallel", (store(row, load(row)),)), store(last, load(last)), store(far, load(far))
    found = brought(kernel(*body), [(first, (ROW,)), (row, (ROW, J)), (last, (ROW,)), (far, (ROW,))])
    assert found[0] > found[2] == found[3] == 0.0
    near = brought(kernel(*body[:3]), [(first, (ROW,)), (row, (ROW, J)), (last, (ROW,))])
    assert near[0] == near[2] == 0.0 < near[1] == found[1]


def test_a_second_loop_over_what_is_near_brings_nothing() -> None:
    rows = [(ROW * 800 + J, (ROW, J)), (ROW * 800 + K, (ROW, K))]
    assert brought(kernel(*(For(v, "parallel", (store(index, load(index)),)) for index, (_, v) in rows)), rows)[1] == 0.0
    short, long = Var("short", 0, 9), Var("long", 0, 79_999)
    for first, second in ((short, J), (long, Var("again", 0, 79_999))):  # less than the second needs, more than a cache holds
        loops = [(ROW * 800 + v, (ROW, v)) for v in (first, second)]
        assert brought(kernel(*(For(v, "parallel", (store(index, load(index)),)) for index, (_, v) in loops)), loops)[1] > 0.0


def test_runs_apart_take_parts_of_lines_and_many_short_ones_are_not_fetched_ahead() -> None:
    near = moved_ns(DEFAULT_TARGET, 4 * SIZE, 4, [(100, 56), (56, 1)])
    assert moved_ns(DEFAULT_TARGET, 4 * SIZE, 4, [(100, 3000), (56, 1)]) > 1.2 * near
    lines = 100 * 64 * 4 / LINE_BYTES
    assert moved_ns(DEFAULT_TARGET, 4 * SIZE, 4, [(4, 320), (25, 8000), (64, 1)]) > lines * LINE_BYTES * DEFAULT_TARGET.byte_ns[2]


def test_rows_as_long_as_a_place_in_a_cache_stay_there_few_elements_of_each_do_not() -> None:
    """Rows of 4 KB, where lines that are 4 KB apart share places of the first cache."""
    whole = moved_ns(DEFAULT_TARGET, SIZE, 4, [(500, 0), (3, 1024), (1000, 1)])
    assert whole < moved_ns(DEFAULT_TARGET, SIZE, 4, [(500, 0), (1, 1), (32, 1024)])


def test_lines_that_are_written_in_parts_and_share_their_places_come_back_for_each() -> None:
    """Of 64 x 1,024 x 4 the last two axes written last: 64 lines 16 kB apart, and the next 16 bytes of each after all of them."""
    steps = [(1024, 4), (64, 4096), (4, 1), (1, 0), (1, 1)]
    aligned = moved_ns(DEFAULT_TARGET, SIZE, 4, steps, stores=True)
    apart = moved_ns(DEFAULT_TARGET, SIZE, 4, [(1024, 4), (64, 4100), (4, 1), (1, 0), (1, 1)], stores=True)
    whole = moved_ns(DEFAULT_TARGET, SIZE, 4, [(64, 4096), (1024, 4), (4, 1), (1, 0), (1, 1)], stores=True)
    assert aligned > 5 * apart
    assert aligned > 5 * whole
