"""Comparisons and sums of whole numbers in 32 bits: where these hold all that is compared or added up, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import eqsat
from eqsat.ir.index import Var
from eqsat.ir.loops import Load
from eqsat.ir.tensor import Call, Literal, Position, Reduce, Scalar
from eqsat.lowering.folds.narrow_integers import narrowed
from tests.effort import some

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


def summed(term: Scalar, extent: int = 1000) -> Scalar:
    return Reduce("sum", Var("r", 0, extent - 1), term)


def cast(term: Scalar, dtype: str) -> Scalar:
    return Call("astype", (term,), dtype)


BYTE, SHORT, TRUTH = (Load("x", Var("r", 0, 999), dtype) for dtype in ("uint8", "int16", "bool"))
SUMS: dict[str, tuple[Scalar, Scalar]] = {
    "how many are true": (summed(cast(TRUTH, "int64")), cast(summed(cast(TRUTH, "int32")), "int64")),
    "bytes": (summed(cast(BYTE, "uint64")), cast(summed(cast(BYTE, "int32")), "uint64")),
    "bytes as floats": (summed(cast(BYTE, "float64")), cast(summed(cast(BYTE, "int32")), "float64")),
    "sums of bytes as floats": (
        Reduce("sum", Var("q", 0, 63), summed(cast(BYTE, "float64"))),
        cast(Reduce("sum", Var("q", 0, 63), summed(cast(BYTE, "int32"))), "float64"),
    ),
    "what wraps at 8 bits": (
        summed(cast(Call("subtract", (BYTE, BYTE), "uint8"), "float64")),
        cast(summed(cast(Call("subtract", (BYTE, BYTE), "uint8"), "int32")), "float64"),
    ),
    "what is cut off": (summed(cast(cast(SHORT, "uint8"), "float32")), cast(summed(cast(cast(SHORT, "uint8"), "int32")), "float32")),
    "what is a product": (
        summed(Call("multiply", (cast(BYTE, "int64"), cast(BYTE, "int64")), "int64")),
        cast(summed(Call("multiply", (cast(BYTE, "int32"), cast(BYTE, "int32")), "int32")), "int64"),
    ),
}
MANY_SUMS = Reduce("sum", Var("q", 0, (1 << 14) - 1), summed(cast(BYTE, "float64")))
KEPT_SUMS = {
    "of more than 32 bits": summed(cast(SHORT, "int64"), 1 << 17),
    "of 32 bits": summed(cast(Load("x", Var("r", 0, 999), "int32"), "int64")),
    "that floats round": summed(cast(SHORT, "float32")),
    "of floats": summed(Load("x", Var("r", 0, 999), "float64")),
    "products": Reduce("prod", Var("r", 0, 9), cast(BYTE, "int64")),
}


@pytest.mark.parametrize("name", NARROWED | SUMS)
def test_what_32_bits_hold_is_done_in_them(name: str) -> None:
    before, after = (NARROWED | SUMS)[name]
    assert narrowed(before) is after


def test_sums_of_sums_are_in_32_bits_as_far_as_these_hold_them() -> None:
    inner = cast(summed(cast(BYTE, "int32")), "float64")
    assert narrowed(MANY_SUMS) is Reduce("sum", Var("q", 0, (1 << 14) - 1), inner)


@pytest.mark.parametrize("name", KEPT | KEPT_SUMS)
def test_others_are_kept(name: str) -> None:
    term = (KEPT | KEPT_SUMS)[name]
    assert narrowed(term) is term


def test_each_term_is_looked_at_once() -> None:
    term: Scalar = cast(SHORT, "int64")
    for k in range(60):
        term = Call("where", (Call("greater", (SHORT, Literal(k, "int16")), "bool"), term, Call("negative", (term,), "int64")), "int64")
    assert narrowed(summed(term)).dtype == "int64"


SUMMED: list[Callable[[Any], Any]] = [
    lambda x: np.mean(x),
    lambda x: np.sum(x),
    lambda x: np.mean(x - x[::-1]),
    lambda x: np.mean(-x),
    lambda x: np.sum((x * x).astype("float64")),
    lambda x: np.mean(x.astype("int8")),
    lambda x: np.mean(x.astype("uint8")),
    lambda x: np.mean(x.astype("bool")),
    lambda x: np.sum(x.astype("uint8").astype("float32")),
    lambda x: np.sum(np.where(x > 5, x, -x), dtype="int64"),
    lambda x: np.sum(x.astype("int64") * x[::-1], axis=0),
    lambda x: np.sum(x > 3, axis=0) - np.sum(x < 3, axis=0),
]


@pytest.mark.parametrize("dtype", some(["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]))
@pytest.mark.parametrize("function", SUMMED)
def test_sums_equal_numpy_at_the_ends_of_the_range(function: Callable[[Any], Any], dtype: str) -> None:
    ends = np.iinfo(dtype).min, np.iinfo(dtype).max
    for extent in (2, 7, 300, 66_000):
        values = np.random.default_rng(extent).integers(*ends, extent, dtype, endpoint=True)
        for x in (values, np.full(extent, ends[0], dtype), np.full(extent, ends[1], dtype), np.arange(extent).astype(dtype)):
            found, expected = eqsat.optimize(function, x)(x), function(x)
            if np.asarray(expected).dtype.kind == "f" and np.dtype(dtype).itemsize > 2:
                np.testing.assert_allclose(found, expected, rtol=1e-6, atol=abs(float(ends[1])) * 1e-12)
            else:
                np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("shape", [(32, 70, 40), (7, 300, 9), (3, 1000, 33)])
def test_bytes_and_truths_along_two_axes_equal_numpy(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    means: list[Callable[[Any], Any]] = [
        lambda x: np.mean(x > 99, axis=(0, 1)),
        lambda x: np.mean(x, axis=(0, 1)),
        lambda x: np.mean(x, axis=(1, 2)),
    ]
    for function in means:
        np.testing.assert_array_equal(eqsat.optimize(function, x)(x), function(x))
    np.testing.assert_allclose(eqsat.optimize(lambda x: np.std(x, axis=(0, 1)), x)(x), np.std(x, axis=(0, 1)), rtol=1e-12)
