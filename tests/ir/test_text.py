"""The text of tensor programs."""

from __future__ import annotations

import numpy as np
import pytest

from eqsat.ir.containers import Container
from eqsat.ir.index import apply, var
from eqsat.ir.loops import Pick
from eqsat.ir.tensor import (
    Arg,
    Build,
    Call,
    Constant,
    Gather,
    Generic,
    Input,
    Literal,
    Position,
    Program,
    Read,
    Reduce,
    Scalar,
    axis,
    reduction,
)

X = Input("x", (3, 4), "float32")
T0 = Input("t0", (3,), "float32")


def test_a_program_is_listed_one_line_a_tensor_with_its_result() -> None:
    i, r = axis(0, 3), reduction(0, 4)
    exponential = Call("exp", (Arg(0, "float32"),), "float32")
    total = Generic((("parallel", 3), ("reduction", 4)), ((i, r),), (X,), exponential, "sum")
    shifted = Build((3,), Call("add", (Read(total, (2 - i,)), Literal(1.0, "float32")), "float32"))
    program = Program((X,), (total, shifted), Container("dict", (1, 0), ("b", "a")))
    assert str(program) == "\n".join(
        [
            "program (x: float32[3, 4])",
            "  t0: float32[3] = generic (i0: 3, sum r0: 4) [a0 = x[i0, r0]] -> exp(a0)",
            "  t1: float32[3] = build (i0: 3) -> t0[2 - i0] + 1.0f32",
            "  return {'b': t1, 'a': t0}",
        ]
    )


def test_a_computed_tensor_never_takes_the_name_of_an_input() -> None:
    copied = Build((3,), Read(T0, (axis(0, 3),)))
    assert str(Program((T0,), (copied,))).splitlines()[1:] == ["  t1: float32[3] = build (i0: 3) -> t0[i0]", "  return t1"]


def test_constants_show_their_elements_or_their_checksum() -> None:
    assert str(Constant(np.arange(3))) == "int64[3] = constant [0, 1, 2]"
    assert str(Constant(np.zeros(9))) != str(Constant(np.ones(9)))


def _numbers(*values: float) -> list[Scalar]:
    return [Literal(value, "float64") for value in values]


def test_brackets_keep_the_structure_and_no_more() -> None:
    a, b, c = _numbers(1.0, 2.0, 3.0)
    inner = Call("subtract", (b, c), "float64")
    assert str(Call("subtract", (a, inner), "float64")) == "1.0 - (2.0 - 3.0)"
    assert str(Call("subtract", (inner, a), "float64")) == "2.0 - 3.0 - 1.0"
    assert str(Call("negative", (inner,), "float64")) == "-(2.0 - 3.0)"
    less = Call("less", (inner, a), "bool")
    assert str(Call("logical_not", (less,), "bool")) == "not 2.0 - 3.0 < 1.0"
    assert str(Call("equal", (less, less), "bool")) == "(2.0 - 3.0 < 1.0) == (2.0 - 3.0 < 1.0)"
    assert str(Call("where", (less, a, Literal(-2, "int32")), "float64")) == "where(2.0 - 3.0 < 1.0, 1.0, -2i32)"
    assert str(Call("astype", (a,), "bool")) == "bool(1.0)"


def test_a_fold_and_what_it_reads_are_shown_without_a_program() -> None:
    half = Build((3, 4), Call("multiply", (Read(X, (axis(0, 3), axis(1, 4))), Literal(0.5, "float32")), "float32"))
    fold = Reduce("max", reduction(0, 4), Read(half, (axis(0, 3), reduction(0, 4))))
    expected = "max(r0: 4, t0[i0, r0])\n  t0: float32[3, 4] = build (i0: 3, i1: 4) -> x[i0, i1] * 0.5f32"
    assert str(fold) == expected
    assert str(Build((3,), fold)).splitlines()[1] == expected.splitlines()[1]


def test_positions_name_their_dtype() -> None:
    i, j = axis(0, 3), axis(1, 4)
    assert str(Position(i * 4 + j, "int32")) == "int32(i0 * 4 + i1)"
    below = Position(apply("lt", i, j), "bool")
    assert str(Call("logical_not", (below,), "bool")) == "not bool(i0 < i1)"


def test_gathers_and_picks_show_that_places_are_clipped() -> None:
    doubled = Build((3, 4), Call("add", (Read(X, (axis(0, 3), axis(1, 4))),) * 2, "float32"))
    places = (Literal(7, "int64"), Position(axis(0, 4), "int64"))
    expected = "t0[clip 7, int64(i0)]\n  t0: float32[3, 4] = build (i0: 3, i1: 4) -> x[i0, i1] + x[i0, i1]"
    assert str(Gather(doubled, places)) == expected
    assert str(Pick("x", (3, 4), places, "float32")) == "x[clip 7, int64(i0)]"
    assert str(Pick("x", (3, 4), (Pick("n", (9,), places[:1], "int64"), places[1]), "float32")) == "x[clip n[clip 7], int64(i0)]"


def test_a_deeply_shared_body_has_a_short_text() -> None:
    term: Scalar = Read(X, (var("i0", 0, 2), var("i1", 0, 3)))
    for _ in range(60):
        term = Call("add", (term, term), "float32")
    assert len(str(term)) < 4_000
    assert " with s0 = " in str(term)


@pytest.mark.parametrize(
    ("structure", "text"),
    [(0, "x"), (Container("tuple", (0,)), "(x,)"), (Container("list", (0, Container("tuple", ()))), "[x, ()]")],
)
def test_the_structure_of_the_result_is_written_as_in_python(structure: Container | int, text: str) -> None:
    assert str(Program((X,), (X,), structure)).splitlines()[-1] == f"  return {text}"


def test_a_literal_has_one_text_whichever_number_it_was_made_from() -> None:
    first, again = Literal(4321, "float32"), Literal(4321.0, "float32")
    assert first is again
    assert str(again) == "4321.0f32"
    assert str(Literal(1, "bool")) == str(Literal(True, "bool"))
