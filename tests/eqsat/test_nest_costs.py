"""What loop nests are estimated to cost, by what costs: units that work side by side, memory, LLVM's limits, threads."""

from __future__ import annotations

from dataclasses import replace

import pytest

from eqsat.ir.index import Index, Var
from eqsat.ir.loops import Buffer, Fold, For, Kernel, Load, Pick, Store, Temp
from eqsat.ir.tensor import Call, Literal, Position, Scalar
from eqsat.pricing.cycles import Costs
from eqsat.pricing.nest_costs import nest_ns, work_shared
from eqsat.pricing.nest_work import Work
from eqsat.pricing.target import DEFAULT_TARGET, SPLIT_NS

ONE = replace(DEFAULT_TARGET, threads=1, launch_ns=0.001)


def loop(value: Scalar, extent: int, size: int | None = None, rows: int = 1, place: Index | None = None) -> Kernel:
    """out[k] = value, `rows` times."""
    k, rep = Var("k", 0, extent - 1), Var("rep", 0, rows - 1)
    body = For(k, "parallel", (Store("out", k if place is None else place, value),))
    buffers = Buffer("x", "float32", size or extent, "in"), Buffer("out", "float32", size or extent, "out")
    return Kernel("k", buffers, (For(rep, "serial", (body,)) if rows > 1 else body,))


def polynomial(x: Scalar, degree: int) -> Scalar:
    value = x
    for _ in range(degree):
        value = Call("add", (Call("multiply", (value, x), "float32"), Literal(1.0, "float32")), "float32")
    return value


def k(extent: int) -> Load:
    return Load("x", Var("k", 0, extent - 1), "float32")


def test_the_busiest_unit_says_how_long_it_takes() -> None:
    assert Work(loads=30.0, stores=6.0, operations=3.0).ns(3.0) == pytest.approx(10.0, rel=0.1)
    assert Work(operations=30.0, moved=1.0, rest=5.0).ns(3.0) == pytest.approx(15.0, rel=0.1)
    total = Work(loads=1.0, rest=2.0) + Work(loads=3.0, stores=1.0, waits=4.0, moved=5.0)
    assert total == Work(4.0, 1.0, 0.0, 4.0, 5.0, 2.0)


def test_arithmetic_is_hidden_behind_memory_as_long_as_there_is_little() -> None:
    far, near = 1 << 22, 1 << 10
    little, much = ([nest_ns(loop(polynomial(k(n), degree), n), ONE) for n in (near, far)] for degree in (1, 40))
    assert little[1] < 1.3 * nest_ns(loop(k(far), far), ONE)
    assert much[0] > 4 * little[0]


def test_what_does_not_go_along_memory_costs_more() -> None:
    along, across = k(256), Load("x", Var("k", 0, 255) * 100, "float32")
    assert nest_ns(loop(across, 256, 25600), ONE) > 3 * nest_ns(loop(along, 256, 25600), ONE)
    scattered = loop(along, 256, 25600, place=Var("k", 0, 255) * 100)
    assert nest_ns(scattered, ONE) > 3 * nest_ns(loop(along, 256, 25600), ONE)


def every_fourth(extent: int) -> Kernel:
    """out[k] = x[4*k], in a tile, which picks elements out of whole vectors."""
    lane = Var("k", 0, extent - 1)
    body = For(lane, "tile", (Store("out", lane, Load("x", lane * 4, "float32")),))
    return Kernel("k", (Buffer("x", "float32", 4 * extent, "in"), Buffer("out", "float32", extent, "out")), (body,))


def test_elements_that_are_stepped_over_are_brought_near_too() -> None:
    far = 1 << 20
    assert nest_ns(every_fourth(far), ONE) > 2.5 * nest_ns(loop(k(far), far, 4 * far), ONE)


def gathered(rows: int, columns: int, *, of_rows: bool) -> Kernel:
    """out[i, j] = x[places[i], j], or x[i, places[j]]."""
    i, j = Var("i", 0, rows - 1), Var("j", 0, columns - 1)
    places = [Load("places", i, "int64"), Position(j, "int64")] if of_rows else [Position(i, "int64"), Load("places", j, "int64")]
    body = For(j, "parallel", (Store("out", i * columns + j, Pick("x", (rows, columns), tuple(places), "float32")),))
    buffers = Buffer("x", "float32", rows * columns, "in"), Buffer("out", "float32", rows * columns, "out")
    return Kernel("k", (Buffer("places", "int64", max(rows, columns), "in"), *buffers), (For(i, "parallel", (body,)),))


def test_rows_that_are_gathered_go_along_memory() -> None:
    along, across = (nest_ns(gathered(512, 64, of_rows=of_rows), ONE) for of_rows in (True, False))
    assert across > 5 * along
    assert along < 1.5 * nest_ns(loop(k(512 * 64), 512 * 64), ONE)


def column_sums(rows: int, columns: int) -> Kernel:
    """Rows added up, one after the other."""
    r, j = Var("r", 0, rows - 1), Var("j", 0, columns - 1)
    body = For(r, "serial", (For(j, "parallel", (Store("out", j, Load("x", r * columns + j, "float32"), "sum"),)),))
    return Kernel("k", (Buffer("x", "float32", rows * columns, "in"), Buffer("out", "float32", columns, "out")), (body,))


def test_rows_that_stay_in_registers_cost_less_than_those_in_memory() -> None:
    kept, stored = (nest_ns(column_sums(8, columns), ONE) / columns for columns in (448, 464))
    assert kept < 0.9 * stored
    narrow, alone = (nest_ns(column_sums(64, columns), ONE) for columns in (8, 1))
    assert narrow < 3 * alone


def folded(extent: int, function: str | None = None) -> Kernel:
    """Sums of columns, or of a function of their elements, one result after the other."""
    i, r = Var("i", 0, 255), Var("r", 0, extent - 1)
    element: Scalar = Load("x", r * 256 + i, "float32")
    fold = Fold("t", "sum", "float32", r, (), Call(function, (element,), "float32") if function else element)
    buffers = Buffer("x", "float32", 256 * extent, "in"), Buffer("out", "float32", 256, "out")
    return Kernel("k", buffers, (For(i, "parallel", (fold, Store("out", i, Temp("t", "float32")))),))


def test_folds_that_llvm_writes_out_run_in_vectors_of_results() -> None:
    short, long = (nest_ns(folded(extent), ONE) / extent for extent in (48, 64))
    assert long > 2 * short  # measured on an AMD EPYC: 0.24 and 1.2 cycles a term


def test_of_functions_llvm_writes_out_less_terms() -> None:
    short, long = (nest_ns(folded(extent, "exp"), ONE) / extent for extent in (8, 12))
    assert long > 2 * short  # maxima taken off and exp of the rest, rows of 128: 8 rows 18 us of 65,536 elements, 12 rows 150


def test_half_vectors_make_operations_dearer_but_not_divisions() -> None:
    halves = replace(ONE, op_cycles=1.0)
    for op, dearer in (("exp", 2.0), ("divide", 1.0), ("sqrt", 1.0)):
        args = (k(1024), k(1024)) if op == "divide" else (k(1024),)
        plain, split = (nest_ns(loop(Call(op, args, "float32"), 1024), target) for target in (ONE, halves))
        assert split / plain == pytest.approx(dearer, rel=0.25)


def test_a_division_by_a_constant_is_two_operations_where_it_is_known_to_be_rounded_alike() -> None:
    divisors = (lit(0.1), k(1024), lit(7462059.0))
    quick, slow, unknown = (loop(Call("divide", (k(1024), by), "float32"), 1024) for by in divisors)
    assert nest_ns(quick, ONE) < 0.5 * nest_ns(unknown, ONE)
    assert nest_ns(unknown, ONE) == pytest.approx(nest_ns(slow, ONE), rel=0.1)
    halves, times = (loop(Call(op, (k(1024), lit(by)), "float32"), 1024) for op, by in (("divide", 0.5), ("multiply", 2.0)))
    assert nest_ns(halves, ONE) == nest_ns(times, ONE)
    own = Costs(element_cycles={"divide": 40.0})
    assert nest_ns(quick, ONE, own) == pytest.approx(nest_ns(slow, ONE, own), rel=0.1)


def lit(value: float) -> Literal:
    return Literal(value, "float32")


def test_threads_share_what_takes_long() -> None:
    two = replace(ONE, threads=2)
    small, large = loop(k(1024), 1024), loop(k(1 << 22), 1 << 22)
    assert nest_ns(small, two) == nest_ns(small, ONE) < SPLIT_NS
    assert nest_ns(large, two) == pytest.approx(nest_ns(large, ONE) / 2, rel=0.05)
    times = [work_shared(ns, 0.5) for ns in range(1_000, 100_000, 1_000)]
    assert times == sorted(set(times))  # more work never takes less
