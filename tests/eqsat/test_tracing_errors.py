"""Wrong uses of traced arrays: the class of the error and what its one line says."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import eqsat.numpy as enp
from eqsat.capture.specs import spec
from eqsat.capture.tracing import trace
from eqsat.ir.errors import BoundsError, DTypeError, EqsatError, ShapeError, TraceError, UnsupportedError, UsageError

X = spec((3, 4), "float32")
Wrong = tuple[Callable[[Any], Any], type[EqsatError], str]


def in_place(x: Any) -> Any:
    x += 1
    return x


def assigned(x: Any) -> Any:
    x[0] = 1
    return x


def branched(x: Any) -> Any:
    return x if x.sum() > 0 else -x


def repeated(x: Any) -> Any:
    while x.sum() > 1:
        x = x / 2
    return x


def counted(x: Any) -> Any:
    for _ in range(100):
        if x.sum() < 1:
            break
        x = x / 2
    return x


def into_an_array(x: Any) -> Any:
    total = np.zeros((3, 4), np.float32)
    total += x
    return total


WRONG: dict[str, Wrong] = {
    "if on values": (branched, TraceError, "enp.where(condition, a, b)"),
    "while on values": (repeated, TraceError, "eqsat.fori"),
    "for until a value": (counted, TraceError, "eqsat.fori"),
    "and of conditions": (lambda x: (x > 0) and (x < 1), TraceError, "& | ~"),
    "float()": (lambda x: float(x.sum()), TraceError, "astype('float64')"),
    "math.exp": (lambda x: math.exp(x.sum()), TraceError, "not of math"),
    "int()": (lambda x: int(x.sum()), TraceError, "eqsat.fori"),
    "range": (lambda x: [x for _ in range(x.astype("int64").sum())], TraceError, "eqsat.fori"),
    "slicing up to a value": (lambda x: x[: x.astype("int64").sum()], TraceError, "enp.where"),
    "indexing a list by a value": (lambda x: [1, 2][x.astype("int64").sum()] * x, TraceError, "enp.where"),
    "an extent that is a value": (lambda x: x.reshape(x.astype("int64").sum()), TraceError, "extent"),
    "extents that are values": (lambda x: x.reshape(x.astype("int64").sum(), 1), TraceError, "extent"),
    "an axis that is a value": (lambda x: x.sum(axis=x.astype("int64").sum()), TraceError, "axis"),
    "numpy.asarray": (lambda x: np.asarray(x), TraceError, "only at run time"),
    "numpy.array of a list": (lambda x: np.array([x, x]), TraceError, "only at run time"),
    "membership": (lambda x: 1 in x, TraceError, "max()"),
    "item": (lambda x: x.sum().item(), TraceError, "outside"),
    "in-place addition": (in_place, UnsupportedError, "x = x + y"),
    "in-place addition to a plain array": (into_an_array, UnsupportedError, "out="),
    "assignment": (assigned, UnsupportedError, "where(mask, y, x)"),
    "a mask": (lambda x: x[x > 0], UnsupportedError, "where"),
    "a mask of another shape": (lambda x: x[np.ones((3, 3), bool)], BoundsError, "mask of the shape (3, 3), expected (3, 4)"),
    "an index array out of range": (lambda x: x[:, [0, 4]], BoundsError, "index 4 in dimension 1, expected -4..3"),
    "index arrays that do not broadcast": (lambda x: x[[0, 1], [0, 1, 2]], ShapeError, "(2,) and (3,)"),
    "an index array of floats": (lambda x: x[x[0]], UsageError, "an array of float32 as the index"),
    "a float index": (lambda x: x[1.5], UsageError, "1.5"),
    "a bool index": (lambda x: x[True], UnsupportedError, "a bool"),
    "an index out of range": (lambda x: x[3], BoundsError, "index 3 in dimension 0, expected -3..2"),
    "too many indices": (lambda x: x[0, 0, 0], ShapeError, "3 indices, expected at most 2"),
    "two ellipses": (lambda x: x[..., ...], UsageError, "ellipses"),
    "a slice step of zero": (lambda x: x[::0], UsageError, "step 0"),
    "shapes that do not broadcast": (lambda x: x + np.ones(3), ShapeError, "(3, 4) and (3,)"),
    "a matmul of wrong shapes": (lambda x: x @ x, ShapeError, "(3, 4) and (3, 4), expected 4 rows"),
    "a matmul with a number": (lambda x: x @ 2, ShapeError, "0-d"),
    "a reshape of the wrong size": (lambda x: x.reshape(5, 3), ShapeError, "12 elements"),
    "two unknown extents": (lambda x: x.reshape(-1, -1), ShapeError, "(-1, -1)"),
    "an order of memory": (lambda x: x.reshape(4, 3, order="K"), UnsupportedError, "'K'"),
    "the order that is in memory": (lambda x: x.T.ravel(order="A"), UnsupportedError, "'A'"),
    "an array in the order of Fortran": (lambda x: enp.array([x, x], order="F"), UnsupportedError, "order='F'; arrays are in C order"),
    "an array that is no copy": (lambda x: enp.asarray(x, copy=False), UnsupportedError, "copy=False"),
    "an axis out of range": (lambda x: x.sum(axis=2), ShapeError, "axis 2, expected one in -2..1"),
    "a repeated axis": (lambda x: x.sum(axis=(0, -2)), ShapeError, "different"),
    "a float axis": (lambda x: x.sum(axis=0.5), UsageError, "0.5"),
    "too few axes": (lambda x: x.transpose(0), ShapeError, "expected 2"),
    "a squeeze of a long dimension": (lambda x: x.squeeze(axis=0), ShapeError, "dimensions of one"),
    "a broadcast to a smaller shape": (lambda x: np.broadcast_to(x, (4,)), ShapeError, "(4,)"),
    "moveaxis of unequal counts": (lambda x: np.moveaxis(x, (0, 1), 0), ShapeError, "equally many"),
    "matrix_transpose of a vector": (lambda x: x[0].mT, ShapeError, "two dimensions"),
    "the length of a 0-d array": (lambda x: len(x.sum()), ShapeError, "0-d"),
    "the largest of nothing": (lambda x: x[:0].max(axis=0), UsageError, "zero-size"),
    "an unknown function": (lambda x: np.poly(x[0]), UnsupportedError, "poly"),
    "an unknown function with a way out": (lambda x: np.linalg.eig(x[:, :3]), UnsupportedError, "use linalg.eigh"),
    "an unknown ufunc": (lambda x: np.isnat(x), UnsupportedError, "isnat: not supported"),
    "a sum over a list": (lambda x: np.sum([x, x]), TraceError, "enp.stack("),
    "a ufunc's accumulate": (lambda x: np.hypot.accumulate(x), UnsupportedError, "hypot.accumulate"),
    "out=": (lambda x: np.add(x, x, out=np.zeros((3, 4), np.float32)), UnsupportedError, "out="),
    "where=": (lambda x: np.add(x, x, where=np.ones((3, 4), bool)), UnsupportedError, "where(condition, result, other)"),
    "where= of numbers": (lambda x: x.sum(where=np.ones((3, 4))), DTypeError, "where= of float64, expected bool"),
    "an unknown keyword": (lambda x: x.sum(axes=0), UsageError, "axes="),
    "too many operands": (lambda x: enp.add(x, x, x, x), UsageError, "too many positional"),
    "an int to a negative power": (lambda x: x.astype("int64") ** -1, UsageError, "float base"),
    "a difference of bools": (lambda x: (x > 0) - (x > 1), DTypeError, "bool"),
    "bits of floats": (lambda x: x & 1, DTypeError, "bitwise_and: found float32 and a Python int"),
    "complex numbers divided to the floor": (lambda x: x // 1j, DTypeError, "floor_divide: found float32 and a Python complex"),
    "a cast to an unknown dtype": (lambda x: x.astype("longdouble"), DTypeError, "float128"),
    "a cast to nonsense": (lambda x: x.astype("number"), DTypeError, "number"),
    "a captured array of longdouble": (lambda x: x + np.ones(4, np.longdouble), DTypeError, "float128"),
    "a captured array of objects": (lambda x: x + np.array([None] * 4), DTypeError, "object"),
    "a string": (lambda x: x + "1", UsageError, "str"),
    "a ragged list": (lambda x: x * [[1], [2, 3]], UsageError, "no array"),
    "None as an operand": (lambda x: x + None, UsageError, "NoneType"),
    "a sum in bool": (lambda x: x.sum(dtype=bool), DTypeError, "max"),
    "a mean in integers": (lambda x: x.mean(dtype="int64"), DTypeError, "int64"),
    "a filling array": (lambda x: enp.full_like(x, [1, 2, 3]), ShapeError, "(3, 4) and (3,)"),
    "nothing returned": (lambda x: None, UsageError, "NoneType"),
    "a string returned": (lambda x: {"y": (x, "z")}, UsageError, "result['y'][1]: found a str"),
    "complex numbers returned": (lambda x: np.ones(2, np.longdouble), DTypeError, "float128"),
    "numbered keys returned": (lambda x: {0: x}, UsageError, "dict key 0"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_use_is_told_in_one_line(name: str) -> None:
    function, error, words = WRONG[name]
    with pytest.raises(error) as caught:
        trace(function, X)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


def test_arrays_of_two_traces_do_not_mix() -> None:
    kept: list[Any] = []

    def keep(x: Any) -> Any:
        kept.append(x)
        return x

    trace(keep, X)
    with pytest.raises(UsageError, match="two traces"):
        trace(lambda x: x + kept[0], X)
    with pytest.raises(UsageError, match="another trace"):
        trace(lambda x: kept[0], X)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((), UsageError, "does not fit (x)"),
        ((X, X), UsageError, "does not fit (x)"),
        (([1.0],), UsageError, "x: found a list, expected a numpy.ndarray; pass numpy.asarray(x)"),
        ((np.ones(2, np.longdouble),), DTypeError, "x: found float128"),
        ((np.ones(2, np.clongdouble),), DTypeError, "x: found complex256"),
        ((np.array([object()]),), DTypeError, "x: found object"),
    ],
)
def test_wrong_arguments_of_trace_are_named(arguments: tuple[Any, ...], error: type[EqsatError], words: str) -> None:
    def doubled(x: Any) -> Any:
        return x * 2

    with pytest.raises(error) as caught:
        trace(doubled, *arguments)
    assert words in str(caught.value)


def test_what_is_no_function_is_not_traced() -> None:
    with pytest.raises(UsageError, match="found a int, expected a function"):
        trace(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("shape", "dtype", "error", "words"),
    [
        ((2, -1), "float32", ShapeError, "-1"),
        ((2.0,), "float32", UsageError, "2.0"),
        ("34", "float32", UsageError, "'34'"),
        ((2,), "longdouble", DTypeError, "float128"),
        ((2,), "float23", DTypeError, "float23"),
        ((True,), "float32", UsageError, "True"),
    ],
)
def test_a_wrong_spec_is_refused(shape: Any, dtype: str, error: type[EqsatError], words: str) -> None:
    with pytest.raises(error) as caught:
        spec(shape, dtype)
    assert words in str(caught.value)


def test_names_that_eqsat_lacks_are_missing_attributes() -> None:
    assert not hasattr(enp, "sums")
    assert hasattr(enp, "sum")
    with pytest.raises(AttributeError, match=r"eqsat\.numpy\.sums: not supported on traced arrays; the nearest are sum"):
        enp.sums  # noqa: B018
    for module, name in ((enp.linalg, "eig"), (enp.fft, "hfft2")):
        assert not hasattr(module, name)
        with pytest.raises(AttributeError, match=rf"{name}: not supported on traced arrays"):
            getattr(module, name)
    with pytest.raises(UnsupportedError, match=r"roots: not supported on traced arrays"):
        trace(lambda x: enp.roots(x[0]), X)
    with pytest.raises(AttributeError, match="searched"):
        trace(lambda x: x.searched(), X)
