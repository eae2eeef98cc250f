"""Arguments of compiled programs: what is taken, what is laid out anew, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import eqsat
from eqsat.capture.arguments import all_fit, check_arguments
from eqsat.ir.dtypes import DTYPES
from eqsat.ir.errors import DTypeError, EqsatError, ShapeError, UsageError
from eqsat.ir.tensor import Input
from eqsat.testing import assert_close
from tests.eqsat.tracing_cases import sample

X = Input("x", (3, 4), "float32")
S = Input("s", (), "float64")
INPUTS = (X, S)
ARRAY = np.arange(12, dtype=np.float32).reshape(3, 4)
SCALAR = np.array(2.0)


def test_fitting_arrays_pass_without_a_copy() -> None:
    x, s = check_arguments(INPUTS, [ARRAY, SCALAR])
    assert x is ARRAY
    assert s is SCALAR


@pytest.mark.parametrize(
    "strided", [np.asfortranarray(ARRAY), ARRAY[::-1, ::-1], np.repeat(ARRAY, 2, axis=1)[:, ::2], np.broadcast_to(ARRAY[0], (3, 4))]
)
def test_other_layouts_are_copied_to_c_order(strided: np.ndarray[Any, Any]) -> None:
    (x, _) = check_arguments(INPUTS, [strided, SCALAR])
    assert x.flags.c_contiguous
    assert np.array_equal(x, strided)


def test_unaligned_arrays_are_copied() -> None:
    unaligned = np.frombuffer(b"\0" + ARRAY.tobytes(), np.float32, offset=1).reshape(3, 4)
    assert not unaligned.flags.aligned
    assert check_arguments(INPUTS, [unaligned, SCALAR])[0].flags.aligned


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_of_every_layout_and_dtype_give_numpys_result(dtype: str) -> None:
    def function(x: Any, y: Any) -> Any:
        return np.where(x != y, x, y), (x + y).sum(0), x.astype("complex64")

    x, y = (np.asarray(sample((5, 6), dtype, seed)) for seed in (1, 2))
    unaligned = np.frombuffer(b"\0" + y.tobytes(), dtype, offset=1).reshape(5, 6)
    fixed = y.copy()
    fixed.flags.writeable = False
    compiled = eqsat.optimize(function, x, y)
    for other in (y, unaligned, fixed, y[::-1, ::-1], np.asfortranarray(y), np.repeat(y, 2, 1)[:, ::2], np.broadcast_to(y[0], (5, 6)), x):
        for found, expected in zip(compiled(x, other), function(x, other), strict=True):
            assert found.dtype == expected.dtype
            assert_close(found, expected)
    if x.dtype.itemsize > 1:
        with pytest.raises(DTypeError, match="byte order"):
            compiled(x, y.astype(y.dtype.newbyteorder()))


REFUSED: dict[str, tuple[list[Any], type[EqsatError], str]] = {
    "a missing array": ([ARRAY], UsageError, "found 1 arrays, expected 2 (x, s)"),
    "a list": ([ARRAY.tolist(), SCALAR], UsageError, "x: found a list, expected a numpy.ndarray; pass numpy.asarray(x)"),
    "a NumPy scalar": ([ARRAY, np.float64(2)], UsageError, "s: found a float64, expected a numpy.ndarray; pass numpy.asarray(s)"),
    "a number": ([ARRAY, 2.0], UsageError, "pass numpy.asarray(s)"),
    "None": ([None, SCALAR], UsageError, "x: found a NoneType"),
    "a masked array": ([np.ma.masked_array(ARRAY), SCALAR], UsageError, "x: found a MaskedArray"),
    "another dtype": ([ARRAY.astype("float64"), SCALAR], DTypeError, "found float64[3, 4], expected float32[3, 4]; convert with .astype"),
    "an unknown dtype": ([ARRAY.astype("longdouble"), SCALAR], DTypeError, "x: found float128"),
    "another byte order": ([ARRAY.astype(ARRAY.dtype.newbyteorder()), SCALAR], DTypeError, "byte order"),
    "another shape": ([ARRAY.T, SCALAR], ShapeError, "x: found float32[4, 3], expected float32[3, 4]"),
    "another rank": ([ARRAY, SCALAR.reshape(1)], ShapeError, "s: found float64[1], expected float64[]"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused_by_name(name: str) -> None:
    arrays, error, words = REFUSED[name]
    with pytest.raises(error) as caught:
        check_arguments(INPUTS, arrays)
    assert type(caught.value) is error
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


FORMS = (((3, 4), np.dtype("float32")), ((), np.dtype("float64")))


def test_arrays_that_are_handed_on_as_they_are_are_told_quickly() -> None:
    assert all_fit([ARRAY, SCALAR], FORMS)
    read_only = ARRAY.copy()
    read_only.flags.writeable = False
    assert all_fit([read_only, SCALAR], FORMS)


@pytest.mark.parametrize(
    "arrays",
    [
        [ARRAY],
        [ARRAY.T, SCALAR],
        [np.asfortranarray(ARRAY), SCALAR],
        [ARRAY.astype(">f4"), SCALAR],
        [ARRAY.astype("float64"), SCALAR],
        [ARRAY.tolist(), SCALAR],
        [ARRAY, np.float64(2)],
        [ARRAY.view(np.matrix), SCALAR],
    ],
)
def test_other_arrays_are_looked_at(arrays: list[Any]) -> None:
    assert not all_fit(arrays, FORMS)
