"""Products of complex numbers as real ones: the same values and the same infinities, for every kind of operands."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import eqsat
import eqsat.numpy as enp
from eqsat.ir.evaluate import evaluate_tensor
from eqsat.ir.tensor import Build, Call, Input, Read, Reduce, Scalar, as_dtype, axis, reduction
from eqsat.lowering.products.complex_products import in_reals
from tests.effort import examples, some
from tests.lowering.builds import inputs_of, reference

Array = np.ndarray[Any, np.dtype[Any]]
PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "product": lambda a, b: a @ b,
    "conjugated and scaled": lambda a, b: (a.conj() @ b) * (2 + 1j) + 1,
    "magnitudes": lambda a, b: enp.abs(a @ b),
    "columns of b in front": lambda a, b: enp.einsum("...ij,...jk->...ki", a, b.conj()),
    "both changed before": lambda a, b: (a * 2j) @ (b - 1),
}


def numbers(seed: int, *shape: int, dtype: str = "complex64") -> Array:
    random = np.random.default_rng(seed)
    value = random.standard_normal(shape) + 1j * random.standard_normal(shape)
    return value.astype(dtype) if "complex" in dtype else value.real.astype(dtype)


def product(left: Scalar, right: Scalar) -> Scalar:
    return Call("multiply", (left, right), left.dtype)


@pytest.mark.parametrize("finite", [True, False])
@pytest.mark.parametrize("dtypes", [("complex64", "complex64"), ("float32", "complex64"), ("complex64", "float32")])
def test_the_parts_are_the_sums(dtypes: tuple[str, str], finite: bool) -> None:
    k = reduction(0, 5)
    a, b = Input("a", (2, 5), dtypes[0]), Input("b", (5, 4), dtypes[1])
    left, right = (as_dtype(term, "complex64") for term in (Read(a, (axis(0, 2), k)), Read(b, (k, axis(1, 4)))))
    build = Build((2, 4), Call("conjugate", (Reduce("sum", k, product(left, right)),), "complex64"))
    divided = in_reals(build, finite)
    assert divided is not None
    stages, whole = divided
    assert len(stages) == (1 if finite and dtypes[1] == "float32" else 2)
    np.testing.assert_allclose(evaluate_tensor(whole, inputs_of(build)), reference(build)[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "complex64", "complex128"])
@pytest.mark.parametrize("sizes", some([(500, 2, 33), (64, 2, 16), (300, 40, 33)], 2))
def test_two_products_are_made_of_the_same_parts(sizes: tuple[int, int, int], dtype: str) -> None:
    k, m, n = sizes
    rng = np.random.default_rng(0)
    x, y = ((rng.standard_normal((2, k, side)) * [[[1]], [[2]]]).astype(dtype) for side in (m, n))
    x, y = x[0] + x[1] * (1j if dtype[0] == "c" else 1), y[0] - y[1]
    found = eqsat.jit(lambda x, y: (enp.matmul(x.T, y), enp.matmul(y.T, x).T, enp.matmul(y.T, y)))(x.astype(dtype), y.astype(dtype))
    for value, expected in zip(found, (x.T @ y, (y.T @ x).T, y.T @ y), strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-3, atol=1e-2)


def test_what_is_no_product_of_complex_numbers_stays_whole() -> None:
    k, a, b = reduction(0, 5), Input("a", (6, 5), "complex64"), Input("b", (5, 8), "complex64")
    left, right = Read(a, (axis(0, 6), k)), Read(b, (k, axis(1, 8)))
    assert in_reals(Build((6, 8), Reduce("sum", k, product(left, right))), False) is not None
    assert in_reals(Build((6, 8), Reduce("prod", k, product(left, right))), False) is None
    assert in_reals(Build((6, 8), Reduce("sum", k, right)), False) is None
    assert in_reals(Build((6,), Reduce("sum", k, Read(a, (axis(0, 6), k)))), False) is None
    real = [Call("real", (term,), "float32") for term in (left, right)]
    assert in_reals(Build((6, 8), Reduce("sum", k, product(*real))), False) is None


def test_a_factor_of_overlapping_windows_is_not_stored() -> None:
    k, image, weights = reduction(0, 6), Input("x", (30,), "complex64"), Input("w", (4, 6), "complex64")
    windows = Read(image, (axis(1, 25) + k,))
    assert in_reals(Build((4, 25), Reduce("sum", k, product(Read(weights, (axis(0, 4), k)), windows))), False) is None


@pytest.mark.parametrize(
    ("shape", "name", "dtype"),
    some(itertools.product([(33, 64, 65), (64, 48, 100), (2, 70, 40)], PROGRAMS, ["complex64", "complex128"])),
)
def test_programs_equal_numpy(name: str, shape: tuple[int, int, int], dtype: str) -> None:
    m, k, n = shape
    a, b, function = numbers(0, m, k, dtype=dtype), numbers(1, k, n, dtype=dtype), PROGRAMS[name]
    expected, tolerance = function(a, b), 1e-4 if dtype == "complex64" else 1e-12
    np.testing.assert_allclose(eqsat.jit(function)(a, b), expected, rtol=tolerance, atol=tolerance * 10)


@settings(max_examples=examples(25, least=4), deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(st.tuples(*[st.integers(1, 40)] * 3), st.sampled_from([(), (2,)]), st.sampled_from([(), (2,)]), st.booleans(), st.booleans())
def test_random_shapes_and_batches(shape: tuple[int, int, int], before: Any, behind: Any, real: bool, fast: bool) -> None:
    m, k, n = shape
    a, b = numbers(2, *before, m, k), numbers(3, *behind, k, n, dtype="float32" if real else "complex64")
    options = eqsat.Options(numerics="fast" if fast else "default")
    for one, two in ((a, b), (np.swapaxes(b, -1, -2), np.swapaxes(a, -1, -2))):
        expected = one @ two
        found = eqsat.jit(lambda x, y: x @ y, options=options)(one, two)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_infinities_make_the_nans_that_terms_make_in_order() -> None:
    a, b = numbers(4, 64, 64), numbers(5, 64, 64)
    a[3, 5], a[7, 9], b[11, 13] = complex(np.inf, 1), complex(0, -np.inf), complex(np.nan, 0)
    with np.errstate(all="ignore"):
        terms = a[:, :, None] * b[None]
        expected = terms.sum(axis=1)
    result = eqsat.optimize(lambda x, y: x @ y, a, b)
    assert len(result.nests) == 3
    found = result(a, b)
    for one, other in ((found.real, expected.real), (found.imag, expected.imag)):
        np.testing.assert_array_equal(np.isnan(one), np.isnan(other))
        np.testing.assert_array_equal(one[np.isinf(other)], other[np.isinf(other)])


def test_exact_products_are_one_kernel() -> None:
    a, b = numbers(6, 64, 64), numbers(7, 64, 64)
    assert len(eqsat.optimize(lambda x, y: x @ y, a, b, options=eqsat.Options(numerics="exact")).nests) == 1


@pytest.mark.parametrize("shape", [(128, 8), (16, 64, 8), (4, 64, 4)])
def test_few_columns_of_complex_numbers_are_priced(shape: tuple[int, ...]) -> None:
    """A fold of the real parts beside one of the imaginary parts: prices asked for places between those of the other."""
    rng = np.random.default_rng(2)
    k = shape[-2]
    w, x = (rng.standard_normal(s) + 1j * rng.standard_normal(s) for s in ((k, k), shape))
    np.testing.assert_allclose(eqsat.optimize(lambda w, x: w.T @ x, w, x)(w, x), w.T @ x, rtol=1e-9, atol=1e-9)
