"""Loops cut at seams: the same values as the build, and nothing left in a piece that depends on where it is."""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import Any, Literal as OneOf

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import eqsat
import eqsat.numpy as enp
from eqsat.indices.simplifier import simplify_terms
from eqsat.ir.index import Apply, Index, Var, apply, as_index, variables, walk, where
from eqsat.ir.loops import For, Kernel, index_terms, map_indices, statements, values_of
from eqsat.ir.tensor import Build, Call, Input, Literal, Position, Read, Reduce, Scalar, axes, reduction, scalars
from eqsat.lowering.ranges import seams
from eqsat.lowering.ranges.seams import LEAST_PIECE, MOST_PIECES, begins
from eqsat.lowering.ranges.split import uneven
from eqsat.options import Options
from eqsat.report import Report
from tests.effort import THOROUGH, examples
from tests.lowering.builds import builds, lowered, offered, reference, run, siblings

ROW, J = axes((3, 40))
SHAPE = (3, 40)


def read(shape: tuple[int, ...], *indices: Index) -> Read:
    return Read(Input(f"x{shape[-1]}", shape, "int64"), indices)


def padded() -> Build:
    inside = (J >= 2) & (J < 37)
    value = Call(
        "where", (Position(inside, "bool"), read((3, 35), ROW, apply("max", apply("min", J - 2, 34), 0)), Literal(0, "int64")), "int64"
    )
    return Build(SHAPE, value)


def edges() -> Build:
    return Build(SHAPE, read((3, 34), ROW, apply("min", apply("max", J - 3, 0), 33)))


def rolled() -> Build:
    return Build(SHAPE, Call("add", (read((3, 40), ROW, (J + 7) % 40), read((3, 40), ROW, (J + 39) % 40)), "int64"))


def joined() -> Build:
    """Two arrays side by side, the second backwards."""
    first, second = read((3, 15), ROW, apply("min", J, 14)), read((3, 25), ROW, apply("max", 39 - J, 0) % 25)
    return Build(SHAPE, Call("where", (Position(J < 15, "bool"), first, second), "int64"))


def chosen() -> Build:
    return Build(SHAPE, read((3, 40), ROW, where(apply("eq", J, 11), 0, J)))


def rows_folded() -> Build:
    """The sum of each row in its first part, another row's greatest in its second."""
    r = reduction(0, 40)
    whole, other = Reduce("sum", r, read((3, 40), ROW, r)), Reduce("max", r, read((3, 40), 2 - ROW, r))
    return Build(SHAPE, Call("where", (Position(J < 9, "bool"), Call("multiply", (whole, read((3, 40), ROW, J)), "int64"), other), "int64"))


def odd(place: Callable[[Index], Index]) -> Build:
    """41 elements a row, in another order or repeated."""
    return Build((3, 41), read((3, 42), ROW, place(axes((3, 41))[1])))


def mirrored(distance: Callable[[Index], Index]) -> Build:
    """The middle between its mirror images."""
    there = distance(J - 3)
    return Build(SHAPE, read((3, 35), ROW, apply("min", there, 68 - there)))


def joined_and_padded() -> Build:
    """An array beside its mirror image, with two columns more at each end."""
    place = apply("min", apply("max", J - 2, 0), 35)
    sides = read((3, 18), ROW, apply("min", place, 17)), read((3, 18), ROW, 17 - apply("max", place - 18, 0))
    within = Call("where", (Position(place < 18, "bool"), *sides), "int64")
    return Build(SHAPE, Call("where", (Position((J >= 2) & (J < 38), "bool"), within, Literal(0, "int64")), "int64"))


CASES = {
    "rows folded": (rows_folded(), 2),
    "mirrored": (mirrored(abs), 3),
    "mirrored, as it is written": (mirrored(lambda index: apply("max", index, 0 - index)), 3),
    "padded": (padded(), 3),
    "edges": (edges(), 3),
    "rolled": (rolled(), 3),
    "joined": (joined(), 2),
    "chosen": (chosen(), 3),
    "joined and padded": (joined_and_padded(), 4),
}


def in_pieces(build: Build) -> list[Kernel]:
    """The candidates with pieces of the last axis."""
    names = ([s.variable.name for s in statements(kernel.body) if isinstance(s, For)] for kernel in lowered(build))
    return [kernel for kernel, loops in zip(lowered(build), names, strict=True) if any(name.startswith("i1_") for name in loops)]


@pytest.mark.parametrize("name", CASES)
def test_pieces_hold_what_the_build_does_and_no_conditions(name: str) -> None:
    build, pieces = CASES[name]
    kernels = in_pieces(build)
    assert kernels
    for kernel in kernels:
        np.testing.assert_array_equal(run(kernel, build)[0], reference(build)[0])
    simple = simplified(kernels[0])
    np.testing.assert_array_equal(run(simple, build)[0], reference(build)[0])
    changing = ("where", "min", "max", "abs", "mod", "lt", "ge", "eq")
    assert not [term for term in walk(*index_terms(simple)) if isinstance(term, Apply) and term.op in changing]
    stores = str(simple).count("out[")
    assert pieces <= stores <= MOST_PIECES


# for odd loops: what they read, and where their middle begins and ends
ODD: dict[str, tuple[Build, tuple[int, ...]]] = {
    "behind": (odd(lambda j: j // 2), (40,)),
    "before": (odd(lambda j: (j + 1) // 2), (1,)),
    "both": (odd(lambda j: (j + 2) // 3), (1, 40)),
    "falling": (odd(lambda j: (40 - j) // 2), (1,)),
    "a remainder": (odd(lambda j: j % 2 * 20 + j // 2), (40,)),
    "steps": (odd(lambda j: j * 2 // 4), (40,)),
    "two, of which one fits": (odd(lambda j: j // 2 + (j + 1) // 2), (1,)),
}


@pytest.mark.parametrize("name", ODD)
def test_the_middle_of_a_loop_that_parts_do_not_fill_is_split(name: str) -> None:
    build, cuts = ODD[name]
    (read,) = [term for term in scalars(build.body) if isinstance(term, Read)]
    assert uneven((read.indices[1],), axes(build.shape)[1]) == cuts
    kernels = [kernel for kernel in in_pieces(build) if "o in " in str(kernel)]
    assert kernels
    for kernel in kernels:
        np.testing.assert_array_equal(run(kernel, build)[0], reference(build)[0])
        terms = index_terms(kernel)
        known = dict(zip(terms, simplify_terms(list(terms), Options(), Report(), within=True), strict=True))
        simple = map_indices(kernel, known.__getitem__)
        np.testing.assert_array_equal(run(simple, build)[0], reference(build)[0])
        assert not [term for term in walk(*index_terms(simple)) if isinstance(term, Apply) and term.op in ("floordiv", "mod")]


def test_what_can_be_split_as_it_is_or_not_at_all_is_not_cut() -> None:
    j, other = Var("j", 0, 40), Var("i", 0, 8)
    assert uneven((Var("j", 0, 39) // 2,), Var("j", 0, 39)) == ()
    assert uneven((j * 7 % 8, (j + other) // 2, j // (other + 1), j // 64, j * 2), j) == ()
    assert uneven((j // 5, (j + 1) // 2), j) == (1,)


@given(st.integers(-3, 3), st.integers(-9, 9), st.integers(2, 9), st.integers(4, 50), st.integers(-3, 3))
def test_in_the_middle_no_part_crosses_a_multiple(step: int, constant: int, divisor: int, extent: int, low: int) -> None:
    loop = Var("j", low, low + extent - 1)
    cuts = uneven(((loop * step + constant) // divisor,), loop)
    if cuts:
        inner = divisor // gcd(step, divisor)
        begin = next((cut for cut in cuts if (cut - low) < inner), low)
        end = cuts[-1] if cuts[-1] - low >= inner else low + extent
        assert (end - begin) % inner == 0 < end - begin
        for first in range(begin, end, inner):
            assert len({(step * v + constant) // divisor for v in range(first, first + inner)}) == 1


UP, ALONG = axes((12, 40))
TWO = (12, 40)


def whole(*indices: Index) -> Read:
    return read(TWO, *indices)


def chosen_by(condition: Index, one: Scalar, other: Scalar) -> Call:
    return Call("where", (Position(condition, "bool"), one, other), "int64")


def doubled(value: Scalar) -> Call:
    return Call("add", (value, value), "int64")


BOXES = {
    "rows on rows": (Build(TWO, chosen_by(UP < 5, whole(apply("min", UP, 4), ALONG), doubled(whole(apply("max", UP - 5, 0), ALONG)))), 2),
    "each row another": (
        Build(TWO, chosen_by(UP < 1, whole(UP, ALONG), chosen_by(UP < 2, doubled(whole(UP, ALONG)), Literal(7, "int64")))),
        3,
    ),
    "a frame": (
        Build(
            TWO,
            chosen_by(
                (UP >= 2) & (UP < 9) & (ALONG >= 3) & (ALONG < 31),
                whole(apply("max", UP - 2, 0), apply("max", ALONG - 3, 0)),
                Literal(0, "int64"),
            ),
        ),
        5,
    ),
    "short rows": (Build((9, 3), chosen_by(axes((9, 3))[1] < 1, Literal(1, "int64"), read((9, 3), *axes((9, 3))))), 2),
    "digits": (Build(TWO, chosen_by(ALONG % 2 < 1, whole(UP, ALONG), doubled(whole(UP, ALONG)))), 2),
}


@pytest.mark.parametrize("name", BOXES)
def test_boxes_decide_between_elements(name: str) -> None:
    build, count = BOXES[name]
    kernels = [kernel for kernel in lowered(build) if str(kernel).count("out[") == count and "where" not in str(kernel)]
    assert kernels
    for kernel in kernels:
        np.testing.assert_array_equal(run(kernel, build)[0], reference(build)[0])


def test_loops_that_a_fold_depends_on_and_too_many_boxes_stay_whole() -> None:
    r = reduction(0, 40)
    folded = Build(TWO, chosen_by(UP < 5, Reduce("sum", r, whole(UP, r)), whole(UP, ALONG)))
    assert all(name not in str(kernel) for kernel in lowered(folded) for name in ("i0_0", "i0_1"))
    value: Scalar = Literal(0, "int64")
    for k in range(1, 40):
        value = chosen_by(axes((40, 3))[0] < k, Literal(k, "int64"), value)
    assert all("i0_0" not in str(kernel) for kernel in lowered(Build((40, 3), value)))


def test_what_changes_too_often_or_with_other_loops_stays_whole() -> None:
    for index in ((J * 7) % 40, (J + ROW) % 40):
        assert not in_pieces(Build(SHAPE, read((3, 40), ROW, index)))
    short = axes((3, LEAST_PIECE - 1))
    assert not in_pieces(Build((3, LEAST_PIECE - 1), read((3, LEAST_PIECE - 1), short[0], (short[1] + 1) % (LEAST_PIECE - 1))))


def test_a_loop_around_short_ones_is_cut() -> None:
    """Every second element halfway to the next, as images are enlarged: stores that are neighbours stay in one loop."""
    row, j, second = axes((3, 40, 2))
    half = Call("add", (read((3, 40), row, j), read((3, 40), row, apply("min", j + 1, 39))), "int64")
    build = Build((3, 40, 2), chosen_by(apply("eq", second, 0), read((3, 40), row, j), half))
    loops = [[s.variable.name for s in statements(kernel.body) if isinstance(s, For)] for kernel in lowered(build)]
    cut = [kernel for kernel, names in zip(lowered(build), loops, strict=True) if names[:3] == ["i0", "i1_0", "i2_0"]]
    assert cut
    for kernel in cut:
        np.testing.assert_array_equal(run(kernel, build)[0], reference(build)[0])


@pytest.mark.parametrize("row", [5, 12, 33])
@pytest.mark.parametrize("mode", ["wrap", "edge"])
def test_short_rows_within_a_piece_are_one_loop(row: int, mode: OneOf["wrap", "edge"]) -> None:
    """Cosines of rows of 12 that are rolled: 3,800 us for two million, row by row, 1,150 of one loop a piece."""

    def padded(x: Any) -> Any:
        return np.sqrt(np.pad(abs(x), ((0, 0), (2, 3), (0, 0)), mode=mode)), np.cos(np.roll(x, 5, axis=1))

    x = np.random.default_rng(row).standard_normal((6, 1_000, row))
    result = eqsat.optimize(padded, x)
    longest = [max(loop.variable.extent for loop in statements(kernel.body) if isinstance(loop, For)) for kernel in result.loops]
    assert min(longest) >= 990 * row
    for one, other in zip(result(x), padded(x), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14)


def test_the_middle_between_edges_is_the_longest_with_the_fewest_pieces() -> None:
    j = Var("j", 0, 39)
    window = [apply("min", apply("max", j + k, 3), 42) for k in range(7)]  # of 7 places, at the ends the nearest there are
    ends = [apply("max", j - 1, 0), apply("min", j + 1, 39)]
    assert seams.begins(ends, j) == [0, 1, 39]
    assert seams.begins([apply("max", j + 3, 3), apply("min", j, 39)], j) == [0]  # one operand all the way
    found = seams.begins(window, j)
    assert found == [0, 1, 3, 37, 39]
    assert all({k, k + 1} & set(found) for k in (1, 2, 3, 37, 38))


def taps(count: int, or_nothing: bool, along: int) -> Build:
    """Sums of so many neighbours of each element in a row or in a column; beyond the ends is the last of them, or nothing."""
    place, middle = axes((3, 60)) if along else axes((60, 3))[::-1], count // 2
    total: Scalar = Literal(0, "int64")
    for k in range(-middle, count - middle):
        at = place[1] + k
        within = apply("min", apply("max", at, 0), 59)
        one = read((3, 60), place[0], within) if along else read((60, 3), within, place[0])
        total = Call("add", (total, chosen_by((at >= 0) & (at < 60), one, Literal(0, "int64")) if or_nothing else one), "int64")
    return Build((3, 60) if along else (60, 3), total)


@pytest.mark.parametrize("along", [0, 1])
@pytest.mark.parametrize("or_nothing", [False, True])
@pytest.mark.parametrize("count", [9, 13, 25])
def test_many_neighbours_are_read_without_a_look_at_the_ends_in_the_middle(count: int, or_nothing: bool, along: int) -> None:
    build = taps(count, or_nothing, along)
    kernels = [kernel for kernel in lowered(build) if any(is_plain_middle(loop, 60 - count + 1) for loop in statements(kernel.body))]
    assert kernels or not (or_nothing or along)  # the row that is read is known for all of it
    for kernel in lowered(build):
        np.testing.assert_array_equal(run(kernel, build)[0], reference(build)[0], err_msg=str(kernel))


def is_plain_middle(loop: Any, extent: int) -> bool:
    """Whether this is a loop over what is far from the ends, in which nothing is chosen."""
    if not isinstance(loop, For) or loop.variable.extent not in (extent, 3 * extent):
        return False
    return not any(isinstance(term, Call) and term.op == "where" for value in values_of(statements(loop.body)) for term in scalars(value))


def test_the_middle_is_cut_out_only_where_it_is_most_of_a_loop() -> None:
    """Of eight arrays side by side each has a piece of its own."""
    parts = [read((3, 40), ROW, apply("max", apply("min", J - 5 * k, 39), 0)) for k in range(8)]
    value: Scalar = parts[0]
    for k in range(1, 8):
        value = chosen_by(5 * k <= J, parts[k], value)
    extents = [
        loop.variable.extent for kernel in in_pieces(Build(SHAPE, value)) for loop in statements(kernel.body) if isinstance(loop, For)
    ]
    assert 30 not in extents
    assert seams._around_the_longest(range(0, 40, 5), Var("j", 0, 39)) == []
    assert seams._around_the_longest([0, 1, 3, 37, 38, 39], Var("j", 0, 39)) == [0, 3, 37]


@settings(max_examples=examples(150), deadline=None, derandomize=True)
@given(builds())
def test_any_build_in_pieces(build: Build) -> None:
    check(build)


@settings(max_examples=examples(60), deadline=None, derandomize=True)
@given(siblings())
def test_any_siblings_in_pieces(together: tuple[Build, ...]) -> None:
    check(*together)


def check(*together: Build) -> None:
    expected = reference(*together)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(seams, "LEAST_PIECE", 2)
        kernels = lowered(*together)
    for kernel in kernels:
        for found, value in zip(run(kernel, *together), expected, strict=True):
            np.testing.assert_array_equal(found, value, err_msg=str(kernel))


def test_a_step_that_is_not_one_and_a_falling_one() -> None:
    v = Var("v", -7, 40)
    for step in (-3, -2, -1, 1, 2, 5):
        for constant in range(-20, 21):
            for mark in (-5, 0, 1, 6):
                found = list(seams._reached(step, constant, v, (mark,)))
                at_least = [step * k + constant >= mark for k in range(v.lo, v.hi + 1)]
                changes = [v.lo + k for k in range(1, v.extent) if at_least[k] != at_least[k - 1]]
                assert found == changes


def blocks_of_rows() -> Build:
    """Rows filled up to whole blocks, each block transposed: loops over blocks and lanes decide together."""
    block, column, lane = axes((3, 20, 16))
    row = block * 16 + lane
    inside = Position(apply("lt", row, 42), "bool")
    read_row = Read(Input("x", (42, 20), "int64"), (apply("min", row, 41), column))
    return Build((3, 20, 16), Call("where", (inside, read_row, Literal(0, "int64")), "int64"))


def transposed(place: Callable[[Index], Index]) -> Build:
    i, j = axes((20, 30))
    return Build((20, 30), Read(Input("x", (30, 20), "int64"), (place(j), i)))


def test_loops_are_cut_where_others_within_decide_less_than_a_step() -> None:
    build = blocks_of_rows()
    block, _, lane = axes((3, 20, 16))
    condition = apply("lt", block * 16 + lane, 42)
    assert begins((condition,), block) == [0]
    assert begins((condition,), block, (lane,)) == [0, 2]
    assert begins((apply("ge", 42 - block * 16 - lane, 1),), block, (lane,)) == [0, 2]
    assert begins((apply("lt", block + lane, 9),), block, (lane,)) == [0]  # undecided for most
    (kernel, *_) = offered(build, "boxes")
    np.testing.assert_array_equal(run(kernel, build)[0], reference(build)[0])
    assert "where" not in str(kernel)
    assert "min(i0" not in str(kernel)


@pytest.mark.parametrize("way", ["pieces", "boxes"])
def test_what_is_read_across_memory_in_a_piece_is_turned(way: str) -> None:
    build = transposed(lambda j: (j + 11) % 30) if way == "pieces" else blocks_of_rows()
    kernels = offered(build, way)
    assert any("tile" in str(kernel) for kernel in kernels)
    for kernel in kernels:
        np.testing.assert_array_equal(run(kernel, build)[0], reference(build)[0])


def test_lanes_of_turned_pieces_have_places_of_their_own() -> None:
    """Two results, one of which is read element by element: an address of the first lane is none of the others."""
    x = np.random.default_rng(0).standard_normal((200, 300)).astype("float32")
    found = eqsat.jit(lambda x: (enp.pad(x, 1).T + 1, enp.pad(enp.roll(x, 2, axis=0), 1).T))(x)
    for one, other in zip(found, (np.pad(x, 1).T + 1, np.pad(np.roll(x, 2, axis=0), 1).T), strict=True):
        np.testing.assert_array_equal(one, other)
    found = eqsat.jit(lambda x: (x.T + 1, enp.roll(x, 2, axis=0).T * 2))(x)
    for one, other in zip(found, (x.T + 1, np.roll(x, 2, axis=0).T * 2), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("steps", "turns"), [(20, 1), (seams.MOST_IN_TURN + 3, 2)])
def test_rows_that_are_made_of_each_other_are_written_out_once(steps: int, turns: int) -> None:
    shape = (steps, 40 if THOROUGH else 20)
    row, column = axes(shape)
    x = Input("x", shape, "int64")
    chain: list[Scalar] = [Read(x, (as_index(0), column))]
    for step in range(1, steps):
        before = Call("multiply", (chain[-1], Literal(3, "int64")), "int64")
        chain.append(Call("add", (before, Read(x, (as_index(step), column))), "int64"))
    body: Scalar = chain[-1]
    for step in reversed(range(steps - 1)):
        body = Call("where", (Position(apply("lt", row, step + 1), "bool"), chain[step], body), "int64")
    build = Build(shape, body)
    kernel, *_ = [found for found in offered(build, "boxes") if isinstance(loop := found.body[0], For) and loop.variable.extent == shape[1]]
    np.testing.assert_array_equal(run(kernel, build)[0], reference(build)[0])
    loops = [loop for loop in statements(kernel.body) if isinstance(loop, For)]
    assert len(loops) == turns
    products = [term for term in scalars(*values_of(statements(kernel.body))) if isinstance(term, Call) and term.op == "multiply"]
    assert len(products) == sum(min(steps, (turn + 1) * seams.MOST_IN_TURN) - 1 for turn in range(turns))


def simplified(kernel: Kernel) -> Kernel:
    terms = index_terms(kernel)
    return map_indices(kernel, dict(zip(terms, simplify_terms(list(terms), Options(), Report(), within=True), strict=True)).__getitem__)


def wraps_within(kernel: Kernel) -> bool:
    """Whether an index term has a remainder that an innermost loop changes."""
    innermost = {s.variable for s in statements(kernel.body) if isinstance(s, For) and not any(isinstance(inner, For) for inner in s.body)}
    remainders = [term for term in walk(*index_terms(kernel)) if isinstance(term, Apply) and term.op == "mod"]
    return any(innermost & set(variables(term)) for term in remainders)


def test_stacked_rows_that_wrap_round_share_what_they_compute() -> None:
    shape = (3, 5, 40)
    piece, row, column = axes(shape)
    x = Input("x", shape, "int64")
    parts: list[Scalar] = [Read(x, (as_index(k), row, (column + k) % 40)) for k in range(3)]
    total = Call("multiply", (Call("add", (parts[0], parts[1]), "int64"), parts[2]), "int64")
    first, second, third = (Call("subtract", (total, part), "int64") for part in parts)
    rest = Call("where", (Position(apply("lt", piece, 2), "bool"), second, third), "int64")
    build = Build(shape, Call("where", (Position(apply("lt", piece, 1), "bool"), first, rest), "int64"))
    cut = [found for kernel in offered(build, "boxes") if not wraps_within(found := simplified(kernel))]
    products = []
    for kernel in cut:
        np.testing.assert_array_equal(run(kernel, build)[0], reference(build)[0])
        terms = scalars(*values_of(statements(kernel.body)))
        products.append(sum(isinstance(term, Call) and term.op == "multiply" for term in terms))
    assert min(products) == 3  # at both ends and between them, not in each of nine pieces


@pytest.mark.parametrize("row", [8, 42])
def test_short_rows_that_wrap_round_are_cut_too(row: int) -> None:
    shape = (4, 12, row)
    plane, line, column = axes(shape)
    x = Input("x", shape, "int64")
    across = Call("add", (Read(x, ((plane + 1) % 4, line, column)), Read(x, (plane, (line + 11) % 12, column))), "int64")
    build = Build(shape, Call("add", (across, Read(x, (plane, line, (column + row - 1) % row))), "int64"))
    kernels = [simplified(kernel) for kernel in offered(build, "pieces")]
    assert kernels
    assert not any(map(wraps_within, kernels))
    for kernel in kernels:
        np.testing.assert_array_equal(run(kernel, build)[0], reference(build)[0])


@pytest.mark.parametrize("shape", [(5, 9, 31), (3, 200), (2, 3, 4, 20)])
def test_steps_of_lattice_gases_are_numpys(shape: tuple[int, ...]) -> None:
    def step(xp: Any, f: Any) -> Any:
        moved = [f[0], *(xp.roll(f[k], 1 if k % 2 else -1, (k - 1) // 2 % (len(shape) - 1)) for k in range(1, shape[0]))]
        mean = sum(moved[1:], moved[0]) * (1 / shape[0])
        return xp.stack([part + 0.5 * (mean - part) for part in moved], 0)

    x = np.random.default_rng(3).random(shape)
    np.testing.assert_allclose(np.asarray(eqsat.jit(lambda x: step(enp, x))(x)), step(np, x), rtol=1e-12)
