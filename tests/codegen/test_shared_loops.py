"""Loops that threads share: which of several they are, in any pieces the kernel is what it is as a whole."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import eqsat
import eqsat.numpy as enp
from eqsat.codegen import Units, compile_kernels, parallel_extent, shared_units, shares
from eqsat.codegen.divided_loops import are_different
from eqsat.codegen.shared_loops import ENOUGH
from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import Const, Index, Var, minimum, variables
from eqsat.ir.loops import Buffer, For, Kernel, Let, Load, LoopKind, Stmt, Store
from eqsat.ir.tensor import Literal
from eqsat.lowering import type_indices
from tests.effort import examples

Function = Callable[[Any], Any]
X = np.random.default_rng(0).standard_normal((200, 150)).astype("float32")
PROGRAMS: dict[str, Function] = {
    "padded transpose": lambda x: enp.pad(x.T, 1),
    "rolled transpose": lambda x: enp.roll(x.T, 5, axis=1),
    "joined transposes": lambda x: enp.concatenate([x.T, x.T * 2], axis=1),
    "transposes on top of each other": lambda x: enp.concatenate([x.T, x.T * 2], axis=0),
    "frame of another width on each side": lambda x: enp.pad(x.T * 3, ((2, 1), (4, 3))),
}


def neighbours(x: Any) -> Any:
    p = enp.pad(x, 1)
    return p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]


# corners are single stores
CORNERS: dict[str, Function] = {
    "neighbours": neighbours,
    "neighbours around": lambda x: neighbours(x) - 4.0 * x,
}


@pytest.mark.parametrize("name", [*PROGRAMS, *CORNERS])
def test_any_pieces_of_several_loops_make_the_whole(name: str) -> None:
    function = {**PROGRAMS, **CORNERS}[name]
    (kernel,) = eqsat.optimize(function, X, options=eqsat.Options(cache=False)).loops
    found, extent = shares(kernel), parallel_extent(kernel) or 0
    assert found
    assert name in PROGRAMS or any(isinstance(stmt, Store) for stmt in kernel.body)
    assert extent == sum(share.extent for share in found)
    expected = np.asarray(function(X))
    routine = compile_kernels([type_indices(kernel)]).routine(kernel.name)
    rng = np.random.default_rng(1)
    for pieces in (1, 2, 8, 61):
        out = np.full(expected.shape, np.nan, "float32")
        cuts = sorted({0, extent, *map(int, rng.integers(0, extent, pieces - 1))})
        for begin, end in reversed(list(itertools.pairwise(cuts))):
            routine([X, out], begin, end)
        np.testing.assert_array_equal(out, expected)


R = np.random.default_rng(3)


def integers(*shape: int) -> Any:
    """Small ones, whose sums of products are exact in any order."""
    return R.integers(-4, 5, shape).astype("float32")


# loops of few iterations, which threads divide: columns copied for many tiles, sums that are kept from part to part of the terms, tiles of
# two widths, and what is made of sums in memory of their own
DIVIDED: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "product": (lambda a, b: a @ b, (integers(300, 256), integers(256, 512))),
    "product in parts": (lambda a, b: a @ b, (integers(120, 2100), integers(2100, 200))),
    "products": (lambda a, b: a @ b, (integers(3, 200, 64), integers(3, 64, 200))),
    "product and more": (lambda a, b, c: enp.maximum(a @ b + c, 0) * 2, (integers(256, 128), integers(128, 512), integers(512))),
    "images": (lambda x: x.reshape(3, 4, 4, 40, 50).transpose(0, 3, 1, 4, 2) * 2, (integers(48, 40, 50),)),
    "rows of few": (lambda x: x / enp.max(x, axis=-1, keepdims=True), (integers(3, 50, 128),)),
}


@pytest.mark.parametrize("name", DIVIDED)
def test_any_pieces_of_divided_loops_make_the_whole(name: str) -> None:
    function, arrays = DIVIDED[name]
    arrays = tuple(abs(np.asarray(array)) + 1 for array in arrays)
    found = eqsat.optimize(function, *arrays, options=eqsat.Options(cache=False))
    (kernel,) = found.loops
    (share,), units = shares(kernel), shared_units(kernel)
    assert share.is_divided
    assert units is not None
    assert units.extent >= ENOUGH // 2 > share.loop.variable.extent
    expected = np.asarray(found.compile()(*arrays))
    routine = compile_kernels([type_indices(kernel)]).routine(kernel.name)
    rng = np.random.default_rng(1)
    for pieces in (1, 2, 7, 16, units.extent):
        out = np.full(expected.shape, np.nan, "float32")
        cuts = sorted({0, units.extent, *map(int, rng.integers(0, units.extent, pieces - 1))})
        for begin, end in reversed(list(itertools.pairwise(cuts))):
            routine([*arrays, out], begin, end)
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("name", DIVIDED)
def test_results_are_the_same_for_every_number_of_threads(name: str) -> None:
    function, arrays = DIVIDED[name]
    compiled, before = eqsat.jit(function, options=eqsat.Options(cache=False)), eqsat.num_threads()
    try:
        results = []
        for threads in (1, 2, 3, 8, 13):
            eqsat.set_num_threads(threads)
            results.append(np.array(compiled(*arrays)))
    finally:
        eqsat.set_num_threads(before)
    assert all(np.array_equal(result, results[0]) for result in results)


def test_a_product_is_shared_by_more_threads_than_it_has_groups() -> None:
    (kernel,) = eqsat.optimize(*_product(512), options=eqsat.Options(cache=False)).loops
    units = shared_units(kernel)
    assert units is not None
    assert units.whole == shares(kernel)[0].loop.variable.extent == 2
    assert [units.pieces(threads) for threads in (1, 2, 3, 4, 16, 1000)] == [2, 2, 3, 4, 16, units.extent]
    assert [Units(601, 601).pieces(threads) for threads in (2, 16, 1000)] == [8, 64, 601]


def test_loops_that_run_in_vectors_are_not_made_one_with_others() -> None:
    """A sum of eight terms is written out, so the loop around it is the one of vectors."""
    ways: list[tuple[Function, tuple[int, ...], int]] = [
        (lambda x: x.sum(axis=1), (6, 8, 15), 1),
        (lambda x: x[:, :15].sum(axis=2), (6, 16, 200), 2),
    ]
    for function, shape, loops in ways:
        (kernel,) = eqsat.optimize(function, eqsat.spec(shape, "int64"), options=eqsat.Options(cache=False)).loops
        assert len(shares(kernel)[0].loops) == loops


def _product(size: int) -> tuple[Callable[..., Any], Any, Any]:
    return lambda a, b: a @ b, integers(size, size), integers(size, size)


IMAGE, ROW, LANE = Var("i", 0, 2), Var("j", 0, 49), Var("k", 0, 7)
FEW = Var("n", 0, 5)
TURNED = For(LANE, "parallel", (For(ROW, "parallel", (Store("own", LANE * 50 + ROW, Literal(1.0, "float32")),)),))
OUTER = IMAGE * 400 + ROW * 8 + LANE
ONE = Literal(1.0, "float32")


def inner(*body: Stmt, kind: LoopKind = "parallel") -> For:
    return For(ROW, kind, (For(LANE, "parallel", body),))


def few(*body: Stmt) -> Kernel:
    """Three iterations of statements, with memory of their own and another result."""
    buffers = (Buffer("out", "float32", 1200, "out"), Buffer("other", "float32", 1200, "out"))
    return Kernel("k", buffers, (For(IMAGE, "parallel", body),), scratch=(Buffer("own", "float32", 401, "scratch"),))


KEPT = Load("own", ROW * 8 + LANE, "float32")


@pytest.mark.parametrize(
    ("kernel", "is_divided"),
    [
        (few(inner(Store("own", ROW * 8 + LANE, ONE)), inner(Store("out", OUTER, KEPT))), True),
        (few(inner(Store("own", ROW * 8 + LANE, ONE), Store("out", OUTER, KEPT))), True),
        # of the next iteration, of a longer loop, of all
        (few(inner(Store("own", ROW * 8 + LANE, ONE)), inner(Store("out", OUTER, Load("own", ROW * 8 + LANE + 1, "float32")))), False),
        (few(TURNED, inner(Store("out", OUTER, KEPT))), False),
        (few(inner(Store("own", ROW * 8 + LANE, ONE)), Let("t", Load("own", Const(7), "float32")), inner(Store("out", OUTER, ONE))), False),
        # copied once for all iterations, of which a thread does a part: if that is little
        (few(For(FEW, "parallel", (Store("own", FEW, ONE),)), inner(Store("out", OUTER, Load("own", Const(3), "float32")))), True),
        (few(inner(Store("own", ROW * 8 + LANE, ONE)), inner(Store("out", OUTER, Load("own", LANE, "float32")))), False),
        # a result that is read, added to, and written twice
        (few(inner(Store("other", OUTER, ONE)), inner(Store("out", OUTER, Load("other", OUTER, "float32")))), False),
        (few(inner(Store("other", OUTER, ONE)), inner(Store("out", OUTER, ONE, "sum"))), False),
        (few(inner(Store("out", OUTER, ONE)), inner(Store("out", IMAGE * 400 + ROW * 8 + 7 - LANE, Literal(2.0, "float32")))), False),
        (few(inner(Store("out", OUTER, ONE)), inner(Store("other", OUTER, ONE))), True),
        # done one after the other
        (few(inner(Store("out", OUTER, ONE), kind="serial"), Store("own", Const(0), ONE)), False),
    ],
)
def test_loops_are_divided_where_no_iteration_needs_another(kernel: Kernel, is_divided: bool) -> None:
    (share,) = shares(kernel)
    assert share.is_divided == is_divided


def test_pieces_are_of_about_the_same_work() -> None:
    (kernel,) = eqsat.optimize(PROGRAMS["padded transpose"], X, options=eqsat.Options(cache=False)).loops
    assert max(share.extent for share in shares(kernel)) > 0.9 * (parallel_extent(kernel) or 0)


A, B = Var("i", 0, 9), Var("j", 0, 9)


def two_loops(first: Index, second: Index, read: bool = False, scratch: bool = False) -> Kernel:
    """Two loops that store ones, or what the first one stores, at these places."""
    name = "s" if scratch else "out"
    value = Load(name, B, "float32") if read else Literal(1.0, "float32")
    body = (
        For(A, "parallel", (Store(name if scratch else "out", first, Literal(1.0, "float32")),)),
        For(B, "parallel", (Store("out", second, value),)),
    )
    buffers = (Buffer("out", "float32", 400, "out"),)
    return Kernel("k", buffers, body, scratch=(Buffer("s", "float32", 400, "scratch"),) if scratch else ())


@pytest.mark.parametrize(
    ("kernel", "apart"),
    [
        (two_loops(A, B + 10), True),
        (two_loops(A, B + 9), False),
        (two_loops(A * 20, B * 20 + 19), True),
        (two_loops(A * 20, B * 20), False),
        (two_loops(A * 2, B * 2 + 1), True),
        (two_loops(A * 20 + 7, B * 10 + 8), True),
        (two_loops(A * 20 + 8, B * 10 + 8), False),
        (two_loops(A * 20 + minimum(A, 4), B * 20 + 5 + minimum(B, 4)), True),
        (two_loops(A * 20 + minimum(A, 5), B * 20 + 5 + minimum(B, 4)), False),
        (two_loops(A, B + 10, read=True), False),
        (two_loops(A, B, read=True, scratch=True), False),
    ],
    ids=lambda value: str(value) if isinstance(value, bool) else "",
)
def test_loops_are_shared_where_each_writes_elsewhere(kernel: Kernel, apart: bool) -> None:
    assert bool(shares(kernel)) == apart


@st.composite
def places(draw: st.DrawFn) -> Index:
    """A sum of scaled variables, one of them perhaps bounded."""
    term: Index = Const(draw(st.integers(-6, 12)))
    for name in draw(st.sampled_from(["a", "ab", "abc"])):
        variable: Index = Var(name, draw(st.integers(-2, 0)), draw(st.integers(0, 3)))
        variable = minimum(variable, draw(st.integers(0, 2))) if draw(st.booleans()) else variable
        term = term + variable * draw(st.sampled_from([-7, -3, -1, 1, 2, 3, 4, 6, 12]))
    return term


@settings(max_examples=examples(400), deadline=None)
@given(places(), places())
def test_places_that_are_told_apart_never_meet(one: Index, other: Index) -> None:
    if are_different(one, other):
        assert not _values(one) & _values(other)


def _values(index: Index) -> set[int]:
    names = variables(index)
    points = itertools.product(*(range(v.lo, v.hi + 1) for v in names))
    return {int(evaluate_index(index, dict(zip(names, point, strict=True)))) for point in points}
