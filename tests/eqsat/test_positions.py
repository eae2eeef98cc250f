"""Positions and gathers in programs that are written in the terms of `ir`: optimized, they equal the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

import eqsat
from eqsat.ir.errors import UnsupportedError
from eqsat.ir.evaluate import evaluate
from eqsat.ir.index import Const, apply
from eqsat.ir.tensor import Build, Call, Constant, Gather, Input, Literal, Position, Program, Read, Reduce, Tensor, axes, axis, reduction

X, V = Input("x", (6, 4), "float32"), Input("v", (6,), "int64")
ARRAYS = [np.arange(24, dtype=np.float32).reshape(6, 4) / 4, np.array([-5, 0, 3, 5, 6, 2**62])]
I0, I1 = axes((6, 4))
R, FLAT = reduction(0, 4), axis(0, 24)
ELEMENT, PLACE, COLUMN = Read(X, (I0, I1)), Read(V, (I0,)), Position(I1, "int64")
ROWS = Gather(X, (PLACE, COLUMN))
DOUBLED = Build((6, 4), Call("add", (ELEMENT, ELEMENT), "float32"))


def chosen(condition: Position) -> Call:
    return Call("where", (condition, ELEMENT, Literal(0.0, "float32")), "float32")


CASES: dict[str, Tensor] = {
    "a mask": Build((6, 4), chosen(Position(apply("le", I1, I0), "bool"))),
    "a mask that is always true": Build((6, 4), chosen(Position(apply("lt", I0, 9), "bool"))),
    "a mask that is never true": Build((6, 4), chosen(Position(apply("gt", I0, 9), "bool"))),
    "a condition": Build((6, 4), Position(apply("and", apply("lt", I0, 3), apply("not", apply("ge", I1, 2))), "bool")),
    "an equation of digits": Build((24,), Position(apply("eq", FLAT % 4, FLAT // 6), "bool")),
    "an equation of two values": Build((2,), Position(apply("eq", axis(0, 2), 1), "bool")),
    "negative numbers": Build((6,), Position(-I0 * 1000, "int32")),
    "large numbers": Build((6,), Position(I0 * 2**60, "int64")),
    "a constant": Build((), Position(Const(3), "int64")),
    "a unit axis": Build((1, 4), Position(axis(0, 1) + axis(1, 4), "int64")),
    "a fold of positions": Build((6,), Reduce("sum", R, Position(R * I0, "int64"))),
    "a fold of conditions": Build((6,), Reduce("max", R, Position(apply("eq", R, I0), "bool"))),
    "rows": Build((6, 4), ROWS),
    "rows, read twice": Build((6, 4), Call("add", (ROWS, Call("multiply", (ROWS, ELEMENT), "float32")), "float32")),
    "rows of what is computed": Build((6, 4), Gather(DOUBLED, (PLACE, COLUMN))),
    "sums of rows": Build((6,), Reduce("sum", R, Gather(X, (PLACE, Position(R, "int64"))))),
    "places of places": Build((6,), Gather(V, (Gather(V, (PLACE,)),))),
    "elements of a constant": Build((6,), Gather(Constant(np.array([3, 1, 4, 1, 5])), (PLACE,))),
    "elements of four dimensions": Build((6,), Gather(Constant(np.arange(36).reshape(3, 2, 3, 2) % 5 < 2), (PLACE,) * 4)),
}


@pytest.mark.parametrize("name", CASES)
def test_programs_with_positions_and_gathers_equal_the_interpreter(name: str) -> None:
    program = Program((X, V), (CASES[name],))
    result = eqsat.optimize(program)
    found = np.asarray(result(*ARRAYS))
    (expected,) = evaluate(program, ARRAYS)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    (extracted,) = evaluate(result.program, ARRAYS)
    np.testing.assert_array_equal(extracted, expected)


@pytest.mark.parametrize("shape", [(), (1, 2, 1, 2, 1)])
def test_gathers_from_arrays_of_other_ranks_are_refused(shape: tuple[int, ...]) -> None:
    gather = Build((6,), Gather(Constant(np.zeros(shape)), (PLACE,) * len(shape)))
    with pytest.raises(UnsupportedError, match=f"array of {len(shape)} dimensions, expected 1 to 4"):
        eqsat.optimize(Program((V,), (gather,)))
