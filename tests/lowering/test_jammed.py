"""Rows jammed together: the same values as the build, offered where rows share what they compute, and inside of boxes."""

from __future__ import annotations

import functools
import itertools

import pytest
from hypothesis import given, settings, strategies as st

from eqsat.ir.index import Index, apply
from eqsat.ir.loops import For, Load, statements
from eqsat.ir.tensor import Build, Call, Input, Literal, Position, Read, Scalar, axes
from eqsat.lowering.affine import Forms
from eqsat.lowering.nest import nest_of
from eqsat.lowering.sharing.row_sums import by_rows
from tests.effort import examples
from tests.lowering.builds import check_offered, offered


def plus(a: Scalar, b: Scalar) -> Scalar:
    return Call("add", (a, b), a.dtype)


def taps(h: int, w: int, dtype: str) -> tuple[Input, tuple[Index, Index]]:
    i, j = axes((h, w))
    return Input("a", (h + 2, w + 2), dtype), (i, j)


def across(source: Input, i: Index, j: Index) -> Scalar:
    """Three neighbours in a row."""
    first, second, third = (Read(source, (i, j + k)) for k in range(3))
    return plus(plus(first, second), third)


def blur(h: int, w: int, dtype: str = "float32") -> Build:
    """Sums of three in a row, of three rows."""
    source, (i, j) = taps(h, w, dtype)
    return Build((h, w), plus(plus(across(source, i, j), across(source, i + 1, j)), across(source, i + 2, j)))


def weighted(h: int, w: int) -> Build:
    """With something that rows do not share."""
    plain = blur(h, w)
    i, j = axes((h, w))
    assert isinstance(plain.body, Call)
    return Build((h, w), Call("multiply", (plain.body, Read(Input("b", (h, w), "float32"), (i, j))), "float32"))


def layers(n: int, h: int, w: int) -> Build:
    """The shared axis is not the outermost one."""
    k, i, j = axes((n, h, w))
    source = Input("a", (n, h + 1, w + 2), "float32")

    def row(at: Index) -> Scalar:
        first, second, third = (Read(source, (k, at, j + m)) for m in range(3))
        return plus(plus(first, second), third)

    return Build((n, h, w), plus(row(i), row(i + 1)))


def nine(h: int, w: int, dtype: str = "float32", op: str = "add") -> Build:
    """All nine neighbours, one after the other."""
    source, (i, j) = taps(h, w, dtype)
    every: list[Scalar] = [Read(source, (i + m, j + n)) for m in range(3) for n in range(3)]
    return Build((h, w), functools.reduce(lambda a, b: Call(op, (a, b), dtype), every))


def cube(n: int, h: int, w: int) -> Build:
    """All 27 neighbours, from the last to the first, with something of no row between."""
    k, i, j = axes((n, h, w))
    source = Input("a", (n + 2, h + 2, w + 2), "float32")
    every: list[Scalar] = [Read(source, (k + a, i + b, j + c)) for a in range(3) for b in range(3) for c in range(3)]
    every.insert(5, Read(Input("b", (w,), "float32"), (j,)))
    return Build((n, h, w), functools.reduce(plus, reversed(every)))


def padded(h: int, w: int) -> Build:
    """Zeros around the image."""
    i, j = axes((h, w))
    source = Input("a", (h, w), "float32")

    def at(row: Index, column: Index) -> Scalar:
        inside = (row >= 0) & (row < h) & (column >= 0) & (column < w)
        place = (apply("max", apply("min", row, h - 1), 0), apply("max", apply("min", column, w - 1), 0))
        return Call("where", (Position(inside, "bool"), Read(source, place), Literal(0.0, "float32")), "float32")

    rows = [plus(plus(at(i + m, j - 1), at(i + m, j)), at(i + m, j + 1)) for m in (-1, 0, 1)]
    return Build((h, w), plus(plus(*rows[:2]), rows[2]))


CASES = {
    "whole tiles": blur(12, 64),
    "what is left over": blur(13, 83),
    "few rows": blur(2, 40),
    "one vector": blur(9, 16),
    "float64": blur(10, 21, "float64"),
    "integers": blur(10, 40, "int32"),
    "something of each row": weighted(11, 45),
    "layers": layers(3, 9, 37),
}


@pytest.mark.parametrize("name", CASES)
def test_rows_together_hold_what_the_build_does(name: str) -> None:
    check_offered(CASES[name], "jammed")


SUMS = {
    "nine neighbours": nine(13, 83),
    "the greatest of nine": nine(12, 40, op="maximum"),
    "integers": nine(9, 33, "int64"),
    "a cube": cube(4, 7, 35),
}


@pytest.mark.parametrize("name", SUMS)
def test_sums_by_rows_hold_what_the_build_does(name: str) -> None:
    check_offered(SUMS[name], "sums")
    assert not offered(SUMS[name], "jammed")


@settings(max_examples=examples(8, least=3), deadline=None, derandomize=True)
@given(st.integers(2, 20), st.integers(16, 90))
def test_any_extents(h: int, w: int) -> None:
    check_offered(weighted(h, w), "jammed")


def test_rows_that_share_loads_alone_and_short_ones_stay_apart() -> None:
    source, (i, j) = taps(20, 40, "float32")
    down = plus(plus(Read(source, (i, j)), Read(source, (i + 1, j))), Read(source, (i + 2, j)))
    assert not offered(Build((20, 40), down), "jammed")
    assert not offered(blur(20, 15), "jammed")


@pytest.mark.parametrize("shape", [(20, 40), (7, 83)])
def test_the_middle_of_what_is_padded_is_jammed(shape: tuple[int, int]) -> None:
    build = padded(*shape)
    check_offered(build, "boxes")
    tiles = [
        stmt for kernel in offered(build, "boxes") for stmt in statements(kernel.body) if isinstance(stmt, For) and stmt.kind == "tile"
    ]
    assert tiles


def test_what_is_padded_is_added_up_by_rows() -> None:
    build = padded(11, 37)
    check_offered(build, "boxsums")


@settings(max_examples=examples(60), deadline=None, derandomize=True)
@given(st.permutations(list(itertools.product(range(3), range(3)))), st.integers(4, 9), st.booleans())
def test_any_order_of_terms_becomes_one(order: list[tuple[int, int]], length: int, doubled: bool) -> None:
    i, j = axes((6, 40))
    source = Input("a", (8, 42), "float32")
    terms: list[Scalar] = [Read(source, (i + a, j + b)) for a, b in order[:length]]
    terms += terms[:1] if doubled else []
    nest = nest_of((Build((6, 40), functools.reduce(plus, terms)),), {source: "a"}, {})
    ordered = by_rows(nest, nest.loops[0])
    leaves = sorted(str(term) for term in _leaves(ordered.body))
    assert leaves == sorted(str(term) for term in _leaves(nest.body))
    rows = [place // 42 for place in (Forms()(term.index).constant for term in _leaves(ordered.body) if isinstance(term, Load))]
    assert rows == sorted(rows)


def _leaves(term: Scalar) -> list[Scalar]:
    return [leaf for arg in term.args for leaf in _leaves(arg)] if isinstance(term, Call) else [term]
