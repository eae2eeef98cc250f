"""Illegal programs, and what the checker says."""

from __future__ import annotations

import numpy as np
import pytest

from eqsat.ir.check import check_program
from eqsat.ir.containers import Container
from eqsat.ir.errors import BoundsError, DTypeError, EqsatError, InternalError, UsageError
from eqsat.ir.index import apply
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
    Tensor,
    axis,
    reduction,
)

X = Input("x", (3, 4), "float32")
N = Input("n", (3,), "int32")
I0, I1, R = axis(0, 3), axis(1, 4), reduction(0, 4)
ONE = Literal(1.0, "float32")
A0 = Arg(0, "float32")
ELEMENT = Read(X, (I0, I1))
BELOW = apply("lt", I0, I1)
COLUMN = Position(I1, "int64")


def built(body: Scalar, shape: tuple[int, ...] = (3, 4)) -> Build:
    return Build(shape, body)


def generic(block: Scalar, combine: str | None = None, operand: Tensor = X) -> Generic:
    return Generic((("parallel", 3), ("reduction", 4)), ((I0, R),), (operand,), block, combine)


LEGAL = {
    "a read of every element": built(ELEMENT),
    "a row read through a fold": Build((3,), Reduce("sum", R, Read(X, (I0, R)))),
    "two folds of one level, side by side": Build(
        (3,), Call("add", (Reduce("sum", R, Read(X, (I0, R))), Reduce("max", R, Read(X, (2 - I0, R)))), "float32")
    ),
    "a fold in a generic": generic(Call("exp", (A0,), "float32"), "sum"),
    "a constant": Constant(np.arange(3)),
    "a comparison": built(Call("less", (ELEMENT, ONE), "bool")),
    "a choice": built(Call("where", (Literal(True, "bool"), ELEMENT, ONE), "float32")),
    "a cast": built(Call("astype", (ELEMENT,), "int64")),
    "an empty constant": Constant(np.empty((0, 3))),
    "an index as an integer": built(Position(I0 * 4 + I1, "int32")),
    "a comparison of indices as a truth value": built(Position(BELOW, "bool")),
    "the largest int32": Build((2,), Position(axis(0, 2) * (2**31 - 1), "int32")),
    "an index in a fold": Build((3,), Reduce("sum", R, Position(I0 * R, "int64"))),
    "an index in the block of a generic": generic(Position(I0 + R, "int64"), "max"),
    "elements at places": built(Gather(X, (Call("astype", (Read(N, (I0,)),), "int64"), COLUMN))),
    "elements at places of elements": built(Gather(X, (Literal(-7, "int64"), Position(I0 * 100, "int64")))),
}


@pytest.mark.parametrize("name", LEGAL)
def test_legal_programs_pass(name: str) -> None:
    check_program(Program((X, N), (LEGAL[name],)))


ILLEGAL: dict[str, tuple[Tensor, type[EqsatError], str]] = {
    "an index past the end": (built(Read(X, (I0, I1 + 1))), BoundsError, "i1 + 1 within 1..4, expected 0..3"),
    "a negative index": (built(Read(X, (I0 - 1, I1))), BoundsError, "-1..1"),
    "an index of a map past the end": (
        Generic((("parallel", 3),), ((I0 + 1, I0),), (X,), A0),
        BoundsError,
        "generic: found the index i0 + 1",
    ),
    "too few indices": (built(Read(X, (I0,))), InternalError, "found 1 indices, expected 2"),
    "an unbound fold variable": (built(Read(X, (I0, R))), InternalError, "variable r0"),
    "an axis of another extent": (built(Read(X, (axis(0, 2), I1))), InternalError, "variable i0 in 0..1"),
    "a variable used after its fold": (
        built(Call("add", (Reduce("sum", R, Read(X, (I0, R))), Read(X, (I0, R))), "float32")),
        InternalError,
        "variable r0",
    ),
    "a variable bound twice": (built(Reduce("sum", R, Reduce("sum", R, Read(X, (I0, R))))), InternalError, "bound twice"),
    "operands of two dtypes": (built(Call("add", (ELEMENT, Read(N, (I0,))), "float32")), DTypeError, "float32, int32"),
    "a result of the wrong dtype": (built(Call("less", (ELEMENT, ONE), "float32")), InternalError, "expected bool"),
    "integers divided without a cast": (
        Build((3,), Call("divide", (Read(N, (I0,)), Literal(2, "int32")), "float64")),
        InternalError,
        "cast first",
    ),
    "a condition that is no bool": (built(Call("where", (ELEMENT, ELEMENT, ONE), "float32")), DTypeError, "condition of dtype float32"),
    "logic on numbers": (built(Call("logical_and", (ELEMENT, ONE), "bool")), DTypeError, "expected bool"),
    "an unknown operation": (built(Call("haversine", (ELEMENT,), "float32")), InternalError, "haversine"),
    "a missing operand": (built(Call("add", (ELEMENT,), "float32")), DTypeError, "found 1 operands"),
    "an unknown fold": (generic(A0, "nor"), InternalError, "nor"),
    "bits of floats": (generic(A0, "xor"), DTypeError, "integers"),
    "a sum of bools": (generic(Literal(True, "bool"), "sum"), DTypeError, "bool"),
    "a reduction without a fold": (generic(A0), InternalError, "None with 1 reduction"),
    "an argument outside a block": (built(A0), InternalError, "outside the block"),
    "an argument without an operand": (generic(Arg(1, "float32"), "sum"), InternalError, "argument 1"),
    "an argument of another dtype": (generic(Arg(0, "float64"), "sum"), InternalError, "as float64"),
    "a read in a block": (generic(Read(N, (I0,)), "max"), InternalError, "Read in the block"),
    "a map too few": (Generic((("parallel", 3),), (), (X,), A0), InternalError, "found 0 maps"),
    "an integer as a truth value": (built(Position(I0, "bool")), InternalError, "position: found i0 as bool"),
    "a truth value as an integer": (built(Position(BELOW, "int64")), InternalError, "expected bool for a truth value"),
    "an index as a float": (built(Position(I0, "float32")), InternalError, "position: found i0 as float32"),
    "an index beyond int32": (Build((3,), Position(I0 * 2**30, "int32")), InternalError, "expected values of int32"),
    "an index beyond int64": (Build((3,), Position(I0 * 2**62, "int64")), InternalError, "expected values of int64"),
    "an index of an unbound variable": (built(Position(R, "int64")), InternalError, "variable r0"),
    "an index of an unbound variable in a block": (generic(Position(I1, "int64"), "max"), InternalError, "variable i1"),
    "a place too few": (built(Gather(X, (COLUMN,))), InternalError, "gather: found the places int64, expected 2 of int64"),
    "a place of another dtype": (built(Gather(X, (COLUMN, Position(I1, "int32")))), InternalError, "found the places int64, int32"),
    "a place of an unbound variable": (built(Gather(X, (COLUMN, Position(R, "int64")))), InternalError, "variable r0"),
    "a gather from no elements": (built(Gather(Constant(np.empty((0,))), (COLUMN,))), InternalError, "the shape [0]"),
    "a gather in a block": (generic(Gather(N, (Literal(0, "int64"),)), "max"), InternalError, "Gather in the block"),
    "a gather from another program's input": (
        built(Gather(Input("y", (3,), "float32"), (COLUMN,))),
        InternalError,
        "a read of y",
    ),
    "a build without elements": (Build((0, 4), ONE), InternalError, "[0, 4]"),
    "an input of another program": (Input("y", (3,), "float32"), InternalError, "y"),
    "a dtype that does not exist": (Build((3,), Literal(1, "longdouble")), DTypeError, "float128"),
}


@pytest.mark.parametrize("name", ILLEGAL)
def test_illegal_programs_are_refused(name: str) -> None:
    tensor, error, words = ILLEGAL[name]
    with pytest.raises(error) as caught:
        check_program(Program((X, N), (tensor,)))
    assert type(caught.value) is error
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_input_names_must_differ() -> None:
    with pytest.raises(UsageError, match="2 inputs named x"):
        check_program(Program((X, Input("x", (3,), "float32")), (X,)))


def test_the_result_must_name_outputs() -> None:
    with pytest.raises(InternalError, match="result 1, expected one of 1"):
        check_program(Program((X,), (X,), Container("tuple", (0, 1))))


def test_a_body_of_a_thousand_nested_calls_is_checked() -> None:
    body: Scalar = ELEMENT
    for _ in range(2_000):
        body = Call("negative", (body,), "float32")
    check_program(Program((X,), (built(body),)))
