"""Running sums across memory in one pass with what they are of and what is made of them: one kernel, and what NumPy computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.ir.loops_evaluate import run_kernel
from tests.effort import some

Function = Callable[..., Any]
ROWS = np.random.default_rng(5).integers(0, 3, 200)
# numbers of kernels beside functions of an array and an axis that is not the last
PROGRAMS: dict[str, tuple[Function, int]] = {
    "of something": (lambda xp, x, a: xp.cumsum(x * 2 + 1, axis=a), 1),
    "something of them": (lambda xp, x, a: xp.cumsum(x, axis=a) * 2 + x, 1),
    "both": (lambda xp, x, a: 1 - xp.cumsum(x * x, axis=a), 1),
    "from behind": (lambda xp, x, a: xp.flip(xp.cumsum(xp.flip(x, a), axis=a), a), 1),
    "from behind, and turned": (lambda xp, x, a: xp.flip(xp.cumsum(xp.flip(x, -1), axis=a), (a, -1)) - x, 1),
    "greatest so far": (lambda xp, x, a: xp.maximum.accumulate(abs(x), axis=a) - x, 1),
    "least so far": (lambda xp, x, a: x - xp.minimum.accumulate(x + 1, axis=a), 1),
    "products": (lambda xp, x, a: xp.cumprod(xp.where(x > 0, 1, -1) * x / 2, axis=a) - 1, 1),
    "of a row and a column": (lambda xp, x, a: xp.cumsum(x * 3 + x[:1], axis=a), 1),
    "shares of all": (lambda xp, x, a: (lambda c: c / (1 + abs(c)))(xp.cumsum(x, axis=a)), 1),
    "two results": (lambda xp, x, a: (lambda c: (c, c * 2))(xp.cumsum(x, axis=a)), 2),
    "of what is a result": (lambda xp, x, a: (lambda y: (y, xp.cumsum(y, axis=a)))(x * 2 + 1), 2),
    "of neighbours": (lambda xp, x, a: xp.diff(xp.cumsum(x, axis=a), axis=a) * 2, 2),
    "and some rows of them": (lambda xp, x, a: (lambda c: c + xp.take(c, ROWS[: x.shape[0]], axis=0))(xp.cumsum(x, axis=a)), 2),
    "of chosen rows": (lambda xp, x, a: xp.cumsum(xp.take(x, ROWS[: x.shape[0]], axis=0), axis=a) + 1, 1),
    "the greatest of them": (lambda xp, x, a: xp.max(xp.cumsum(x * 2, axis=a), axis=a), 1),
    "the last where all are small": (lambda xp, x, a: _where_all_are_small(xp, xp.cumsum(x * 2, axis=a), a), 1),
    "the deepest fall": (lambda xp, x, a: xp.max(xp.maximum.accumulate(x, axis=a) - x, axis=a), 1),
    "a sum of sums, its axis kept": (lambda xp, x, a: xp.sum(xp.cumsum(x * x, axis=a), axis=a, keepdims=True), 1),
    "how far they go": (lambda xp, x, a: (lambda c: xp.max(c, axis=a) - xp.min(c * 2 + x, axis=a))(xp.cumsum(x, axis=a)), 1),
    "several folds, and the last": (lambda xp, x, a: (lambda c: (xp.max(c, a), xp.min(c * 2, a), xp.take(c, -1, a)))(xp.cumsum(x, a)), 1),
    "several made of them": (lambda xp, x, a: (lambda c: (c * 2, c + x))(xp.cumsum(x, axis=a)), 1),
    "one way and the other": (lambda xp, x, a: (lambda c: (c * 2, xp.flip(c, a) + x))(xp.cumsum(x, axis=a)), 2),
    "the last that was positive": (lambda xp, x, a: _filled(xp, x, a), 1),
    "folds of neighbours": (lambda xp, x, a: xp.max(xp.diff(xp.cumsum(x, axis=a), axis=a), axis=a, initial=0), 2),
    "folds across": (lambda xp, x, a: xp.max(xp.cumsum(x, axis=a), axis=-1), 2),
    "what the last is taken from": (lambda xp, x, a: _greatest_difference(xp, xp.cumsum(x, axis=a), a), 2),
    "of turned axes": (lambda xp, x, a: xp.swapaxes(xp.cumsum(x, axis=a), a, -1) + 1, 2),
    "of several things": (lambda xp, x, a: (xp.cumsum(x * 2, axis=a), xp.cumsum(x * x + 1, axis=a)), 2),
}


def _where_all_are_small(xp: Any, c: Any, axis: int) -> Any:
    return xp.where(xp.all(c < 9, axis=axis), xp.take(c, -1, axis=axis) * 3, 0)


def _filled(xp: Any, x: Any, axis: int) -> Any:
    """What stands last before every place where it is positive."""
    places = np.arange(x.shape[axis]).reshape([-1 if k == axis else 1 for k in range(x.ndim)])
    return xp.take_along_axis(x, xp.maximum.accumulate(xp.where(x > 0, places, 0), axis=axis), axis)


def _greatest_difference(xp: Any, c: Any, axis: int) -> Any:
    return xp.max(xp.abs(c - xp.take(c, [-1], axis=axis)), axis=axis)


SHAPES = [
    ((160, 130), 0),
    ((9, 20, 70), 1),
    ((8, 10, 3, 50), 1),
    ((3, 60, 130), 0),
    ((20, 1), 0),
    ((9, 20, 1), 1),
    ((5, 1, 7), 1),
    ((30, 2), 0),
]
DTYPES = ("float32", "float64", "int32", "int8", "float16")
# every third of all, in which all values of each come
CASES = [(name, *at, dtype) for name in PROGRAMS for dtype in DTYPES for at in SHAPES][::3]


@pytest.mark.parametrize(("name", "shape", "axis", "dtype"), some(CASES, 7))
def test_scans_across_memory_are_what_numpy_computes(name: str, shape: tuple[int, ...], axis: int, dtype: str) -> None:
    function, kernels = PROGRAMS[name]
    numbers = np.random.default_rng(3).integers(-2, 3, shape).astype(dtype)
    result = eqsat.optimize(lambda x: function(enp, x, axis), numbers)
    assert dtype != "float32" or shape != SHAPES[0][0] or len(result.nests) == kernels
    made, expected = (each if isinstance(each, tuple) else (each,) for each in (result(numbers), function(np, numbers, axis)))
    for one, other in zip(made, expected, strict=True):
        np.testing.assert_allclose(np.asarray(one), other, rtol=1e-5, atol=1e-5)
    if len(result.loops) == 1 and len(result.loops[0].buffers) == 2:
        memory = [np.ascontiguousarray(numbers).ravel(), np.zeros(expected[0].size, expected[0].dtype)]
        run_kernel(result.loops[0], memory)
        np.testing.assert_allclose(memory[-1].reshape(expected[0].shape), expected[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_share_strips_and_rows(threads: int) -> None:
    before = eqsat.num_threads()
    eqsat.set_num_threads(threads)
    try:
        for shape, axis in (((3000, 300), 0), ((8, 300, 300), 1), ((2, 900, 1400), 1)):
            x = np.random.default_rng(1).integers(-9, 9, shape).astype("float64")
            np.testing.assert_array_equal(
                np.asarray(eqsat.jit(lambda x, axis=axis: enp.cumsum(x * 2, axis=axis) - 1)(x)), np.cumsum(x * 2, axis=axis) - 1
            )
    finally:
        eqsat.set_num_threads(before)


def test_the_first_element_keeps_its_sign_and_products_are_rounded_at_exact() -> None:
    x = np.array([[-0.0, 0.1, np.nan, np.inf] * 20, [-0.0, 0.7, 1.0, -np.inf] * 20] * 9, "float32")
    with np.errstate(invalid="ignore"):
        expected = np.cumsum(x * np.float32(0.1), axis=0)
        found = np.asarray(eqsat.optimize(lambda x: enp.cumsum(x * np.float32(0.1), axis=0), x, options=eqsat.Options(numerics="exact"))(x))
    np.testing.assert_array_equal(found, expected)
    assert (np.signbit(found) == np.signbit(expected))[~np.isnan(expected)].all()


def test_running_sums_of_complex_numbers() -> None:
    rng = np.random.default_rng(2)
    x = (rng.integers(-5, 6, (40, 90)) + 1j * rng.integers(-5, 6, (40, 90))).astype("complex64")
    np.testing.assert_array_equal(np.asarray(eqsat.jit(lambda x: enp.cumsum(x * 2j, axis=0) + 1)(x)), np.cumsum(x * 2j, axis=0) + 1)
