"""Comparisons of whole numbers in 32 bits: where these hold all that is compared, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import eqsat
from eqsat.ir.index import Var
from eqsat.ir.loops import Load
from eqsat.ir.tensor import Call, Literal, Position, Scalar
from eqsat.lowering.narrowed import narrowed

LOOP = Var("i", 0, 9)
PLACE = Position(LOOP, "int64")


def wide(dtype: str) -> Scalar:
    return Call("astype", (Load("x", LOOP, dtype),), "int64")


def compared(a: Scalar, b: Scalar, op: str = "equal") -> Scalar:
    return Call(op, (a, b), "bool")


NARROWED = {
    "a place": (compared(wide("int32"), PLACE), compared(Load("x", LOOP, "int32"), Position(LOOP, "int32"))),
    "a number": (compared(wide("int32"), Literal(7, "int64"), "less"), compared(Load("x", LOOP, "int32"), Literal(7, "int32"), "less")),
    "two arrays": (
        compared(wide("int32"), wide("uint16")),
        compared(Load("x", LOOP, "int32"), Call("astype", (Load("x", LOOP, "uint16"),), "int32")),
    ),
    "truth values": (compared(wide("bool"), PLACE), compared(Call("astype", (Load("x", LOOP, "bool"),), "int32"), Position(LOOP, "int32"))),
    "a choice": (
        compared(Call("where", (Load("c", LOOP, "bool"), PLACE, Literal(9, "int64")), "int64"), wide("int8")),
        compared(
            Call("where", (Load("c", LOOP, "bool"), Position(LOOP, "int32"), Literal(9, "int32")), "int32"),
            Call("astype", (Load("x", LOOP, "int8"),), "int32"),
        ),
    ),
}
KEPT = {
    "64 bits": compared(Load("x", LOOP, "int64"), PLACE),
    "unsigned 32 bits": compared(wide("uint32"), PLACE),
    "floats": compared(Call("astype", (Load("x", LOOP, "float32"),), "int64"), PLACE),
    "a large number": compared(wide("int32"), Literal(1 << 31, "int64")),
    "a large place": compared(wide("int32"), Position(Var("i", 0, 1 << 31), "int64")),
    "sums": compared(Call("add", (wide("int32"), wide("int32")), "int64"), PLACE),
    "no array": compared(PLACE, Literal(3, "int64")),
}


@pytest.mark.parametrize("name", NARROWED)
def test_comparisons_that_32_bits_hold_are_done_in_them(name: str) -> None:
    before, after = NARROWED[name]
    assert narrowed(before) is after


@pytest.mark.parametrize("name", KEPT)
def test_others_are_kept(name: str) -> None:
    assert narrowed(KEPT[name]) is KEPT[name]


FUNCTIONS: list[Callable[[Any], Any]] = [
    lambda x: x[:, None] == np.arange(10),
    lambda x: x.astype("int64") > 2**31 - 2,
    lambda x: x.astype("int64") >= -(2**31),
    lambda x: np.where(x[:, None].astype("int64") < np.arange(-3, 4), 1, 0),
]


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint32", "int64", "float32"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_values_equal_numpy_at_the_ends_of_the_range(function: Callable[[Any], Any], dtype: str) -> None:
    ends = [-(2**31), 2**31 - 128] if dtype == "float32" else [np.iinfo(dtype).min, np.iinfo(dtype).max]
    x = np.array([*ends, 0, 1, 9, 3], dtype)
    np.testing.assert_array_equal(eqsat.optimize(function, x)(x), function(x))
