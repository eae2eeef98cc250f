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
from eqsat.codegen import compile_kernels, parallel_extent, shares
from eqsat.codegen.shared_loops import _are_different
from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import Const, Index, Var, minimum, variables
from eqsat.ir.loops import Buffer, For, Kernel, Load, Store
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
    if _are_different(one, other):
        assert not _values(one) & _values(other)


def _values(index: Index) -> set[int]:
    names = variables(index)
    points = itertools.product(*(range(v.lo, v.hi + 1) for v in names))
    return {int(evaluate_index(index, dict(zip(names, point, strict=True)))) for point in points}
