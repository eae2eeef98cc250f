"""cumsum and cumprod are NumPy's, on every dtype, as methods, ufuncs and by the array API's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.ir.dtypes import DTYPES
from eqsat.ir.errors import DTypeError, EqsatError, ShapeError, UsageError
from tests.eqsat.test_host_calls import array, same
from tests.eqsat.tracing_cases import traced

ANY: Any = np
SHAPES = ((5,), (3, 4), (2, 3, 5), (1, 1), (0, 3), (3, 0), (0,))
SCANS: dict[str, Callable[..., Any]] = {
    "cumsum": lambda np, x: np.cumsum(x),
    "cumsum of rows": lambda np, x: np.cumsum(x, axis=-1),
    "cumprod": lambda np, x: np.cumprod(x),
    "cumprod of columns": lambda np, x: np.cumprod(x, 0),
    "the methods": lambda np, x: (x.cumsum(axis=0), x.cumprod(-1), x.cumsum()),
    "accumulate": lambda np, x: (ANY.add.accumulate(x), ANY.multiply.accumulate(x, axis=-1)),
    "cumulative_sum": lambda np, x: np.cumulative_sum(x, axis=-1),
    "cumulative_prod": lambda np, x: np.cumulative_prod(x, axis=0),
    "of one axis": lambda np, x: np.cumulative_sum(x[..., 0] if len(x.shape) == 2 else x),
    "with the initial value": lambda np, x: (
        np.cumulative_sum(x, axis=-1, include_initial=True),
        np.cumulative_prod(x, axis=0, include_initial=True),
    ),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SCANS)
def test_scans_are_those_of_numpy(name: str, dtype: str) -> None:
    function = SCANS[name]
    for shape in SHAPES:
        x = array(shape, dtype)
        try:
            expected = function(np, x)
        except Exception:
            with pytest.raises(EqsatError):
                traced(lambda a: function(enp, a), [x])
            continue
        same(traced(lambda a: function(enp, a), [x]), expected, f"{name} {dtype}{shape}")
        same(traced(lambda a: function(np, a), [x]), expected, f"{name} {dtype}{shape}")
        if name != "the methods":
            same(function(enp, x), expected)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("chosen", DTYPES)
def test_scans_in_another_dtype(dtype: str, chosen: str) -> None:
    x = array((3, 5), dtype)
    for function in (np.cumsum, np.cumprod, np.cumulative_sum, np.cumulative_prod):
        try:
            expected = function(x, axis=1, dtype=chosen)
        except TypeError:
            with pytest.raises(DTypeError):
                traced(lambda a, f=function: f(a, axis=1, dtype=chosen), [x])
        else:
            same(traced(lambda a, f=function: f(a, axis=1, dtype=chosen), [x]), expected, f"{function.__name__} {dtype} {chosen}")


def test_scans_run_compiled_lazy_and_at_any_size() -> None:
    x = np.random.default_rng(0).uniform(-1, 1, (4, 6))

    def function(a: Any) -> Any:
        return np.cumsum(a * 2, axis=0) + np.cumprod(a, axis=1)

    np.testing.assert_allclose(eqsat.jit(function)(x), function(x), rtol=1e-14)
    np.testing.assert_allclose(np.asarray(function(enp.asarray(x))), function(x), rtol=1e-14)
    plan = eqsat.optimize(lambda a: np.cumsum(a, axis=0), eqsat.spec((eqsat.dim("n", 1, 90), 6), "float64")).compile()
    same(plan(x), np.cumsum(x, axis=0))
    with_zero = eqsat.optimize(
        lambda a: enp.cumulative_sum(a, axis=0, include_initial=True), eqsat.spec((eqsat.dim("n", 1, 90), 6), "float64")
    )
    np.testing.assert_allclose(with_zero(x), np.concatenate([np.zeros((1, 6)), np.cumsum(x, axis=0)]), rtol=1e-14)


def test_scans_that_cannot_be_are_refused() -> None:
    x = np.ones((2, 3))
    with pytest.raises(UsageError, match="expected an axis"):
        eqsat.trace(lambda a: ANY.cumulative_sum(a), x)
    with pytest.raises(ShapeError, match="axis 2"):
        eqsat.trace(lambda a: ANY.cumsum(a, axis=2), x)
    with pytest.raises(DTypeError, match="dtype"):
        eqsat.trace(lambda a: ANY.cumsum(a, dtype="U3"), x)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("numerics", ["exact", "default"])
@pytest.mark.parametrize("shape", [(64,), (3, 64), (64, 5), (300, 40)])
def test_running_products_are_in_order(shape: tuple[int, ...], numerics: Any, dtype: str) -> None:
    """What is zero or infinite between factors is so where NumPy's is."""
    large = 1e20 if dtype == "float32" else 1e200
    x = np.ones(shape, dtype)
    for axis in (axis for axis, extent in enumerate(shape) if extent > 30):
        rows = np.moveaxis(x, axis, 0)
        for places, value in (((5, 6, 7), large), ((9, 10, 12, 13), 1 / large), ((20, 21), large), ((30,), 0)):
            rows[list(places)] = value
        compiled = eqsat.jit(lambda a, axis=axis: enp.cumprod(a, axis=axis), options=eqsat.Options(numerics=numerics))
        np.testing.assert_array_equal(compiled(x), np.cumprod(x, axis=axis))
