"""Algebra of tensors: every offer is equal to its tensor, programs take what is cheaper, and numerics decide what is offered."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.algebra import alternatives
from eqsat.algebra.alternatives import ROWS
from eqsat.ir.check import check_program
from eqsat.ir.dtypes import integer_range
from eqsat.ir.errors import UnsupportedError
from eqsat.ir.evaluate import evaluate
from eqsat.ir.generics import as_builds
from eqsat.ir.tensor import Build, Program, scalars
from eqsat.options import Numerics
from tests.effort import some

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]

# large enough that what is used again is worth keeping
N, M, K = 6, 10, 12
A, B, C, V, W = (N, M), (M, K), (M, K), (K,), (N,)

# name -> function, shapes, the rows that must find something
CASES: dict[str, tuple[Function, tuple[tuple[int, ...], ...], set[str]]] = {
    "matrix chain and vector": (lambda a, b, v: (a @ b) @ v, (A, B, V), {"contraction-order"}),
    "vector and matrix chain": (lambda w, a, b: w @ (a @ b), (W, A, B), set()),
    "chain of four": (lambda a, b, c, d: ((a @ b) @ c) @ d, ((18, 6), (6, 18), (18, 6), (6, 3)), {"contraction-order"}),
    "sum of a product": (lambda a, b: (a @ b).sum(), (A, B), {"contraction-order"}),
    "row sums of a product": (lambda a, b: (a @ b).sum(axis=1), (A, B), {"contraction-order"}),
    "trace of a product": (lambda a, b: ((a @ b) * np.eye(N, dtype="int64")).sum(), (A, (M, N)), set()),
    "invariant factor": (lambda a, w: (w[:, None] * a).sum(axis=1), (A, W), set()),
    "outer product summed": (lambda w, v: (w[:, None] * v[None, :]).sum(), (W, V), {"contraction-order"}),
    "scaled chain": (lambda a, b, v: ((2 * a) @ (-b)) @ (v * 3), (A, B, V), {"contraction-order"}),
    "transposed chain": (lambda a, b, v: (b.T @ a.T).T @ v, (A, B, V), {"contraction-order"}),
    "common left factor": (lambda a, b, c: a @ b + a @ c, (A, B, C), {"common-factor-of-sums"}),
    "common left factor, one subtracted": (lambda a, b, c: a @ b - a @ c, (A, B, C), {"common-factor-of-sums"}),
    "common right factor": (lambda b, c, v: b @ v - c @ v, (B, C, V), {"common-factor-of-sums"}),
    "common factor and another term": (lambda a, b, c, d: a @ b + d - a @ c, (A, B, C, (N, K)), {"common-factor-of-sums"}),
    "three with a common factor": (lambda a, b, c, d: a @ b + a @ c - a @ d, (A, B, C, C), {"common-factor-of-sums"}),
    "difference of squares": (lambda x, y: (x + y) * (x + y) - (x - y) * (x - y) - 4 * x * y + x, (A, A), {"like-terms"}),
    "like terms": (lambda x, y: x * y + y * x - x * y, (A, A), {"like-terms"}),
    "identity": (lambda a: a @ np.eye(M, dtype="int64"), (A,), {"sum-of-one-point", "constant-is-function"}),
    "diagonal": (lambda a: a @ (3 * np.eye(M, dtype="int64")), (A,), {"sum-of-one-point"}),
    "shift by a matrix": (lambda a: np.eye(N, k=1, dtype="int64") @ a, (A,), {"sum-of-one-point"}),
    "row chosen by a comparison": (
        lambda a: enp.where(np.arange(N)[:, None] == 2, a, 0).sum(axis=0),
        (A,),
        {"sum-of-one-point"},
    ),
    "square of a product": (lambda a, x: x @ a.T @ a @ x, (A, (M,)), {"contraction-order"}),
    "rows and columns added": (lambda a, x: (a + a.T) @ x, ((18, 18), (18,)), {"sum-in-parts"}),
    "rows and columns subtracted": (lambda a, x: (a - a.T) @ x, ((18, 18), (18,)), {"sum-in-parts"}),
    "a product written twice": (lambda a, x: (a @ x) * (x @ a.T).max() + (x[None, :] @ a.T)[0], (A, (M,)), {"operand-order"}),
    "a row of layers": (lambda a, b, c: (enp.maximum(a @ b, 0) @ c.T)[2], (A, B, C), {"part-that-is-read"}),
    "some rows of layers": (lambda a, b, c: enp.pad((abs(a @ b) @ c.T)[::2] - 1, 1)[:2], (A, B, C), {"part-that-is-read"}),
    "a diagonal outside": (lambda a: enp.eye(N, k=N, dtype="int64") @ a, (A,), set()),
    "identity of axes apart": (
        lambda a: (a[None, :, :] * (np.arange(N)[:, None, None] == np.arange(N)[None, :, None])).sum(axis=1),
        (A,),
        {"sum-of-one-point"},
    ),
    "scaled rows": (lambda a, w: (np.eye(N, dtype="int64") * w) @ a, (A, W), {"sum-of-one-point"}),
    "one-hot rows": (lambda a, v: (v[:, None] == np.arange(N)[None, :]).astype(a.dtype) @ a, (A, V), {"sum-of-one-point"}),
    "one-hot rows, chosen": (
        lambda a, v: enp.where((v[:, None] == np.arange(M))[None, :, :], a[:, None, :], 0).sum(axis=2),
        (A, V),
        {"sum-of-one-point"},
    ),
    "one-hot rows, counted down": (
        lambda a, v: (v[:, None] == (N - 1 - np.arange(N))[None, :]).astype(a.dtype) @ a,
        (A, V),
        {"sum-of-one-point"},
    ),
    "sums of groups": (
        lambda a: (enp.count_nonzero(a, axis=1)[:, None] % 4 == np.arange(4)[None, :]).astype(a.dtype).T @ a,
        (A,),
        {"sum-at-places"},
    ),
    "weights by position": (lambda a: (a * np.arange(M)).sum(axis=1), (A,), {"constant-is-function"}),
    "lower triangle": (lambda a, b: (a @ b) * np.tri(N, K, dtype="int64"), (A, B), {"constant-is-function"}),
    "greatest of equal": (lambda w: enp.broadcast_to(w[:, None], (N, 7)).max(axis=1), (W,), {"fold-of-invariant"}),
    "elements of a reshape": (
        lambda a, v: enp.reshape(a, (K, 5))[enp.count_nonzero(a, axis=1) % K, 1] + v[0],
        (A, V),
        {"gather-of-elements"},
    ),
    "elements of a slice turned round": (lambda a: a[1:, ::-1].T[enp.count_nonzero(a, axis=1) % 3], (A,), {"gather-of-elements"}),
    "elements of a padded array": (lambda a: enp.pad(a, 2)[enp.count_nonzero(a, axis=1) % 9, 3], (A,), {"gather-of-elements"}),
    "rows of a product": (lambda a, w: (a * w[:, None])[enp.count_nonzero(a, axis=1) % N], (A, W), {"gather-of-elements"}),
    "places of places": (
        lambda a, w: a[1:].T[enp.count_nonzero(a.T, axis=1) % M][(enp.count_nonzero(a, axis=1) - 3) % M, 2] * w,
        (A, W),
        {"gather-of-elements"},
    ),
    "product of chosen elements": (
        lambda w, a: w[enp.count_nonzero(a, axis=1) % N] * (w[enp.count_nonzero(a, axis=1) % N] - 4) - a[0, 0],
        (W, (20, 3)),
        {"function-of-a-table"},
    ),
    "scaled rows that are chosen": (
        lambda a, u, c: 2 - a[enp.count_nonzero(c, axis=1) % N] * u,
        (A, (M,), (30, 5)),
        {"function-of-a-table"},
    ),
    "sums of functions of chosen rows": (
        lambda a, c: (a[enp.count_nonzero(c, axis=2) % N] * a[enp.count_nonzero(c, axis=2) % N]).sum(axis=1),
        (A, (12, 5, 2)),
        {"function-of-a-table"},
    ),
    "functions of few chosen rows": (
        lambda a, c: a[enp.count_nonzero(c, axis=1) % N] * a[enp.count_nonzero(c, axis=1) % N],
        (A, (3, 4)),
        set(),
    ),
    "sum of tiles": (lambda a: enp.tile(a, (4, 3)).sum(), (A,), {"contraction-order"}),
    "column sums of tiles": (lambda a, v: enp.tile(a, (4, 3)).sum(axis=0), (A, V), {"contraction-order"}),
    "row sums of repeated elements": (lambda a, w: (enp.repeat(a, 5, axis=1) * w[:, None]).sum(axis=1), (A, W), {"contraction-order"}),
    "sum of tiles of repeated elements": (lambda v: enp.tile(enp.repeat(v, 3), 2).sum(), (V,), {"contraction-order"}),
    "sum of a layer": (lambda a, b, v: (a @ b + v).sum(), (A, B, V), {"sum-in-parts"}),
    "column sums of a layer": (lambda a, b, v: (3 * (a @ b + v) - 7).sum(axis=0), (A, B, V), {"sum-in-parts"}),
    "sum of two products": (lambda a, b, c, d: (a @ b - c.T @ d).sum(axis=1), (A, B, (9, N), (9, K)), {"sum-in-parts"}),
    "two layers": (lambda a, b, c, v, w: (a @ b + v) @ c - w[:, None], (A, B, (K, 1), V, W), {"sum-in-parts"}),
    "reflection": (lambda a, w: (np.eye(N, dtype="int64") - 2 * w[:, None] * w) @ a, (A, W), {"sum-in-parts"}),
    "low rank and a matrix": (lambda a, w, u, v: (w[:, None] * u - a) @ v, (A, W, (M,), (M,)), {"sum-in-parts"}),
    "sum of all sums": (lambda w, v: (w[:, None] + v).sum(), (W, V), {"sum-in-parts"}),
    "sums of differences": (lambda w, v: (w[:, None] - v).sum(axis=1), (W, V), {"sum-in-parts"}),
    "what cancels": (lambda a, b, c: ((a + a * 2) @ b + c).sum(axis=1) - (3 * a @ b).sum(axis=1), (A, B, (N, K)), {"sum-in-parts"}),
    "greater of both signs": (lambda a, w: enp.maximum(-a * 2, a * 2) - enp.maximum(w, -w)[:, None], (A, W), {"greater-of-opposites"}),
    "greater difference": (lambda a, b: enp.maximum(a[::-1] - 3, 3 - a[::-1]).sum(axis=1), (A, B), {"greater-of-opposites"}),
    "squared modulus": (lambda a: (enp.abs(a * 1j) ** 2).sum(axis=1), (A,), {"square-of-modulus"}),
    "squared moduli of differences": (lambda a, w: enp.square(enp.abs(1j * a[:, ::-1] - 2j * w[:, None])), (A, W), {"square-of-modulus"}),
    "greatest of tiles": (lambda a, w: enp.tile(a, (4, 3)).max(axis=0) - enp.repeat(w, 7).min(), (A, W), {"fold-of-invariant"}),
    "greatest of lesser": (lambda w, v: enp.minimum(w[:, None], v).max(axis=1), (W, V), {"fold-of-invariant"}),
    "least of all greater": (lambda w, v: enp.maximum(w[:, None], abs(v)).min(), (W, V), {"fold-of-invariant"}),
    "greatest in common": (lambda a, v: enp.maximum(a[:, :, None], v).max(axis=(1, 2)), (A, V), {"fold-of-invariant"}),
    "sum of equal": (lambda w: enp.broadcast_to(w[:, None], (N, 7)).sum(axis=1), (W,), {"contraction-order"}),
}


def data(shapes: tuple[tuple[int, ...], ...], dtype: str, seed: int = 0) -> list[Array]:
    """Whole numbers, so that sums are exact; complex ones too."""
    rng = np.random.default_rng(seed)
    numbers = [rng.integers(-9, 9, shape).astype(dtype) for shape in shapes]
    return [array + array.dtype.type(1j) * rng.integers(-9, 9, array.shape) if array.dtype.kind == "c" else array for array in numbers]


def traced(name: str, dtype: str) -> tuple[Program, list[Array]]:
    function, shapes, _ = CASES[name]
    arrays = data(shapes, dtype)
    return as_builds(eqsat.trace(function, *arrays)), arrays


@pytest.mark.parametrize("name", CASES)
def test_every_offer_is_equal_to_its_tensor(name: str) -> None:
    program, arrays = traced(name, "int64")
    offers = alternatives(program, "default")
    assert {way.row for ways in offers.values() for way in ways} >= CASES[name][2]
    for tensor, ways in offers.items():
        for way in ways:
            check_program(Program(program.inputs, (way.found.build, *way.found.made)))
            found, expected = (evaluate(Program(program.inputs, (one,)), arrays) for one in (way.found.build, tensor))
            np.testing.assert_array_equal(found, expected)


LEVELS = [
    *(("int32", "default"), ("float32", "exact"), ("float32", "default"), ("float32", "fast"), ("float64", "default")),
    *(("complex64", "default"), ("complex128", "fast")),
]


@pytest.mark.parametrize(("name", "dtype", "numerics"), some(((name, *level) for name in CASES for level in LEVELS), 8))
def test_programs_equal_numpy_at_every_level(name: str, dtype: str, numerics: Numerics) -> None:
    function, shapes, _ = CASES[name]
    arrays = data(shapes, dtype, seed=1)
    expected = eqsat.optimize(eqsat.trace(function, *arrays), options=eqsat.Options(numerics="exact", rules=eqsat.rules.without("algebra")))
    result = eqsat.optimize(eqsat.trace(function, *arrays), options=eqsat.Options(numerics=numerics))
    np.testing.assert_allclose(result(*arrays), expected(*arrays), rtol=1e-5)


@pytest.mark.parametrize("dtype", some(["int8", "uint64"]))
def test_wrapped_integers_are_a_ring(dtype: str) -> None:
    """Of every width, signed or not; what is cast between is another ring."""
    rng, low, high = np.random.default_rng(2), *integer_range(dtype)
    for name, (function, shapes, _) in some(CASES.items()):
        arrays = [rng.integers(low, high, shape, dtype, endpoint=True) for shape in shapes]
        expected = eqsat.optimize(function, *arrays, options=eqsat.Options(rules=()))(*arrays)
        if expected.dtype.kind == "f":
            continue  # uint64 beside the int64 of the function
        result = eqsat.optimize(function, *arrays, options=eqsat.Options(numerics="exact"))
        np.testing.assert_array_equal(result(*arrays), expected, err_msg=name)
        np.testing.assert_array_equal(expected, function(*arrays), err_msg=name)


def test_sums_of_float16_keep_their_order() -> None:
    reordered = {"contraction-order", "common-factor-of-sums", "like-terms", "sum-of-one-point"}
    for function, shapes, _ in CASES.values():
        program = as_builds(eqsat.trace(function, *data(shapes, "float16")))
        offers = alternatives(program, "fast")
        found = {way.row for tensor, ways in offers.items() if tensor.dtype == "float16" for way in ways}
        assert not found & reordered


def forces(np: Any, points: Any, weights: Any, scale: float) -> Any:
    apart = points[None] - points[:, None]
    square = np.sum(apart * apart, axis=-1) + 1e-2
    return np.sum((weights / (square * np.sqrt(square)))[:, :, None] * (apart / scale), axis=1)


DIFFERENCES: dict[str, Callable[..., Any]] = {
    "forces": lambda np, x, w: forces(np, x, w, 1.0),
    "forces, scaled": lambda np, x, w: forces(np, x, w, -0.5),
    "the other way round": lambda np, x, w: ((-x[:, 0])[None, :] + x[:, 1, None]) @ w,
    "doubled": lambda np, x, w: (2 * x[:, 0, None] - 2 * x[:, 1]) @ w,
    "and a number": lambda np, x, w: np.sum((x[:, 0, None] - x[:, 1] - 1) * w, axis=1),
    "not weighted": lambda np, x, w: np.sum((x[:, 0, None] - x[:, 1]) / 4, axis=1),
    "the mean": lambda np, x, w: np.mean(x[:, 0, None] - x[:, 1]),
}


@pytest.mark.parametrize("name", DIFFERENCES)
def test_differences_of_given_elements_are_not_taken_apart(name: str) -> None:
    rng, function = np.random.default_rng(3), DIFFERENCES[name]
    given = (rng.standard_normal((256, 3)) + 1e5).astype("float32"), rng.random(256).astype("float32")
    exact = function(np, *(array.astype("float64") for array in given))
    found = eqsat.jit(lambda *arrays: function(enp, *arrays))(*given)
    np.testing.assert_allclose(found, exact, rtol=1e-5, atol=1e-5 * float(np.abs(exact).max()))


# rows of tensors that are no builds, and of whole programs
PROGRAMS = {"constant-is-function", "operand-order"}


@pytest.mark.parametrize(
    ("numerics", "rows"),
    [
        ("exact", {"fold-of-invariant", "gather-of-elements", "function-of-a-table", "part-that-is-read"} | PROGRAMS),
        ("default", {row.name for row in ROWS} - {"like-terms"} | PROGRAMS),
        ("fast", {row.name for row in ROWS} | PROGRAMS),
    ],
)
def test_numerics_say_what_is_offered_of_floats(numerics: Numerics, rows: set[str]) -> None:
    found = set()
    for name in CASES:
        program, _ = traced(name, "float32")
        found |= {way.row for ways in alternatives(program, numerics).values() for way in ways}
    assert found == rows


def test_nothing_is_offered_where_a_dimension_is_empty() -> None:
    shapes = itertools.product((0, 2), repeat=3)
    for n, k, m in shapes:
        program = as_builds(eqsat.trace(lambda a, b, v: (a @ b) @ v, *(np.zeros(s) for s in ((n, k), (k, m), (m,)))))
        assert any(isinstance(tensor, Build) for tensor in alternatives(program, "fast")) == (0 not in (n, k, m))


# what is taken -----------------------------------------------------------------------------------------------------------
def sizes(function: Function, *shapes: tuple[int, ...]) -> tuple[eqsat.Result, list[tuple[int, ...]]]:
    result = eqsat.optimize(function, *(eqsat.spec(shape, "float32") for shape in shapes))
    return result, [build.shape for nest in result.nests for build in nest.builds]


def test_a_chain_is_computed_from_its_cheap_end() -> None:
    result, shapes = sizes(lambda a, b, v: (a @ b) @ v, (300, 300), (300, 300), (300,))
    assert shapes == [(300,), (300,)]
    assert float(result.cost) * 20 < float(result.original_cost)


def test_a_chain_that_is_cheap_as_written_stays() -> None:
    _, shapes = sizes(lambda a, b, v: a @ (b @ v), (300, 300), (300, 300), (300,))
    assert shapes == [(300,), (300,)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "function",
    some(
        [
            lambda a, b, v: ((a @ b) / 9) @ v,
            lambda a, b, v: (a @ b / -3.5).sum(axis=1),
            lambda a, b, v: v @ (a @ a.T / 299) @ v,
            lambda a, b, v: ((a / 4) @ (b / 7) / 11 @ v) / 3,
            lambda a, b, v: enp.mean(a @ b, axis=1),
        ],
        2,
    ),
)
def test_quotients_by_constants_are_products_in_chains(function: Function, dtype: str) -> None:
    rng = np.random.default_rng(3)
    a, b, v = (rng.standard_normal(shape).astype(dtype) for shape in ((96, 96), (96, 96), (96,)))
    result, exact = eqsat.optimize(function, a, b, v), eqsat.optimize(function, a, b, v, options=eqsat.Options(numerics="exact"))
    assert float(result.cost) * 3 < float(result.original_cost)
    assert not exact.report.matches["contraction-order"]
    expected = np.asarray(function(*(x.astype("float64") for x in (a, b, v))))
    scale = np.abs(expected).max() * np.finfo(dtype).eps * 2000
    np.testing.assert_allclose(result(a, b, v), expected, rtol=0, atol=scale)
    a[3, 5] = np.inf
    with np.errstate(invalid="ignore"):
        assert (np.isfinite(result(a, b, v)) == np.isfinite(function(a, b, v))).all()


def test_a_quotient_by_so_much_or_little_that_it_may_vanish_stays() -> None:
    specs = [eqsat.spec(shape, "float32") for shape in ((64, 64), (64, 64), (64,))]
    for by, found in ((1e9, True), (1e20, False), (1e-20, False), (0.0, False), (np.inf, False)):
        assert bool(eqsat.optimize(lambda a, b, v, by=by: (a @ b / by) @ v, *specs).report.matches["contraction-order"]) == found


def test_a_product_that_is_an_output_is_used() -> None:
    result = eqsat.optimize(lambda a, b: (a @ b, (a @ b).sum()), eqsat.spec((64, 64), "float32"), eqsat.spec((64, 64), "float32"))
    assert result.nests[0].builds[0].shape == (64, 64)


def test_two_products_with_a_common_factor_are_one() -> None:
    result, _ = sizes(lambda a, b, c: a @ b + a @ c, (200, 200), (200, 200), (200, 200))
    folds = sum(str(build).count("sum(") for nest in result.nests for build in nest.builds)
    assert folds == 1


def test_the_sum_of_a_product_needs_no_product() -> None:
    result, _ = sizes(lambda a, b: (a @ b).sum(), (512, 512), (512, 512))
    assert float(result.cost) * 100 < float(result.original_cost)
    assert result.report.matches["contraction-order"] > 0


@pytest.mark.parametrize(
    "function",
    [
        lambda a: np.eye(64) @ a,
        lambda a: np.eye(64, k=1) @ a,
        lambda a: a[::-1] @ np.eye(64),
        lambda a: (a[None] * (np.arange(64)[:, None, None] == np.arange(64)[None, :, None])).sum(axis=1),
    ],
    ids=["identity in another dtype", "shift", "flipped", "axes apart"],
)
def test_one_element_is_read_in_place_of_a_product_and_where_another_is_infinite_all_are(function: Function) -> None:
    a = np.arange(64 * 64, dtype="float32").reshape(64, 64)
    result = eqsat.optimize(function, a)
    assert "sum(" not in str(result.program)
    compiled = result.compile()
    for value in (0.0, np.inf, np.nan):
        a[5, 7] = value
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(compiled(a), function(a))


# (function, how many times less the program costs at the least)
PARTS: dict[str, tuple[Function, float]] = {
    "places that are sums": (lambda a, b, c: (lambda s: s[s % 96][c[0, :3].astype("int64") % 96])((a @ b @ c[0]).astype("int64")), 0.9),
    "product with nothing": (lambda a, b, c: enp.diagonal(enp.eye(96, k=96, dtype="float32") @ (a @ b)), 0.9),
    "row": (lambda a, b, c: (a @ b)[3], 20),
    "rows": (lambda a, b, c: enp.maximum(a @ b, 0)[:4], 10),
    "every other row of three": (lambda a, b, c: (a @ b)[np.array([3, 5, 7])], 10),
    "diagonal": (lambda a, b, c: enp.diag(a @ b), 4),
    "row of a chain": (lambda a, b, c: (a @ b @ c)[0], 20),
    "last column of a chain": (lambda a, b, c: (a @ b @ c)[:, -1], 20),
    "quadratic forms": (lambda a, b, c: enp.diag(a @ b @ a.T), 1.8),
    "rolled": (lambda a, b, c: enp.roll(a @ b, 1, axis=0)[0], 20),
    "joined": (lambda a, b, c: enp.concatenate([a @ b, c @ b])[:2], 20),
    "one of a stack": (lambda a, b, c: enp.stack([a @ b, c @ b])[1], 1.8),
    "difference of rows": (lambda a, b, c: (a @ b)[0] - (a @ b)[1], 20),
    "column sums": (lambda a, b, c: enp.sum(a, axis=1)[3:5], 2),
    "row of layers": (lambda a, b, c: (enp.maximum(enp.maximum(a @ b, 0) @ c, 1) @ b)[0], 20),
    "some rows of layers": (lambda a, b, c: enp.maximum(a @ b, 0)[:, ::2].T[5:9] @ c, 4),
    "last row of scores": (lambda a, b, c: (enp.where(a @ b.T > enp.max(a @ b.T, axis=1, keepdims=True) - 9, 1, 0) @ c)[-1], 10),
    "rows at computed places": (lambda a, b, c: (a @ b)[(c[0, :3] > 0).astype("int64") - 5], 5),
    "elements at computed places": (lambda a, b, c: (a @ b)[(c[0] > 0).astype("int64"), (c[1] > 0).astype("int64")], 2),
    "column sums of rows at computed places": (lambda a, b, c: enp.sum((a @ b)[(c[0, :3] > 0).astype("int64")], axis=0), 5),
    "chosen by nothing": (lambda a, b, c: enp.where(np.zeros((96, 96), bool), a @ b, c), 20),
}


@pytest.mark.parametrize("name", PARTS)
def test_of_a_product_only_what_is_read_is_computed(name: str) -> None:
    function, less = PARTS[name]
    arrays = [np.random.default_rng(k).integers(-4, 5, (96, 96)).astype("float32") for k in range(3)]
    result = eqsat.optimize(function, *arrays)
    assert float(result.cost) * less < float(result.original_cost)
    np.testing.assert_array_equal(result.compile()(*arrays), function(*arrays))


def test_no_fold_is_put_into_the_places_of_another() -> None:
    a, places = np.arange(18).reshape(6, 3), np.array([1, 5, 1])
    program = as_builds(eqsat.trace(lambda a, j: (lambda s: s[s % 6][j % 6])(enp.sum(a, axis=1)), a, places))
    found = [way.found for ways in alternatives(program, "exact").values() for way in ways if way.row == "gather-of-elements"]
    assert found
    for one in found:
        check_program(Program(program.inputs, (one.build, *one.made)))


def test_algebra_can_be_switched_off() -> None:
    specs = [eqsat.spec((64, 64), "float32")] * 2
    plain = eqsat.optimize(lambda a, b: (a @ b).sum(), *specs, options=eqsat.Options(rules=eqsat.rules.without("algebra")))
    assert plain.report.matches["contraction-order"] == 0
    assert plain.cost > eqsat.optimize(lambda a, b: (a @ b).sum(), *specs).cost


# what is shared -----------------------------------------------------------------------------------------------------------
DOUBLED: dict[str, Function] = {"square": lambda y: y * y, "double": lambda y: y + y, "negated": lambda y: -(y * -y)}


@pytest.mark.parametrize(
    ("step", "dtype", "numerics"), some(itertools.product(DOUBLED, ["float32", "int64"], ["exact", "default", "fast"]), 5)
)
def test_elements_that_are_used_twice_are_read_once(step: str, dtype: str, numerics: Numerics) -> None:
    """After sixty steps there are 2^60 paths to the input."""

    def repeated(x: Any) -> Any:
        for _ in range(60):
            x = DOUBLED[step](x)
        return x

    x = np.array([0, 1, 1, 0], dtype)
    expected = repeated(x)
    np.testing.assert_array_equal(eqsat.jit(repeated, options=eqsat.Options(numerics=numerics))(x), expected)


def test_powers_with_large_exponents_are_chains_of_squares() -> None:
    x = np.array([-3, -1, 0, 1, 2, 7])
    for exponent in (65535, 2**31 - 1, 2**63 - 1):
        np.testing.assert_array_equal(eqsat.jit(lambda x, n=exponent: x**n)(x), x**exponent)


@pytest.mark.parametrize("numerics", ["exact", "default"])
def test_coefficients_beyond_the_range_of_floats_are_left_alone(numerics: Numerics) -> None:
    def scaled(a: Any) -> Any:
        return (a * 1e-200) @ (a * 1e-200) + (a * 1e200 * 1e200) @ a - (a * 1e-300 * 1e-300) @ a

    a = np.full((8, 8), 1e-100)
    np.testing.assert_allclose(eqsat.jit(scaled, options=eqsat.Options(numerics=numerics))(a), scaled(a), rtol=1e-9)


def test_more_operations_than_can_be_nested_are_told_where_algebra_would_look_into_them() -> None:
    def counted(x: Any) -> Any:
        for k in range(sys.getrecursionlimit() * 5 // 4):
            x = x + k
        return x

    x = np.ones(3)
    np.testing.assert_array_equal(eqsat.jit(counted)(x), counted(x))
    with pytest.raises(UnsupportedError, match=r"recursion limit of \d+ .* eqsat\.fori"):
        eqsat.jit(counted, options=eqsat.Options(numerics="fast"))(x)


def test_an_offer_that_reads_what_it_computes_is_not_taken() -> None:
    """Along an axis of one, sorted elements are the elements: what gathers them gathers them from themselves."""

    def function(x: Any) -> Any:
        rolled = (np.roll(x, -6, 2) * (np.arange(7) < 2)).reshape(1, 21, 9)
        joined = np.concatenate([rolled[1:], rolled[:1] * 2])
        taken = np.take_along_axis(joined, np.argsort(joined, 0, kind="stable")[::-1], 0)
        return (taken + taken) * (np.arange(9) < 2)

    x = np.random.default_rng(0).integers(-9, 9, (9, 3, 7))
    np.testing.assert_array_equal(eqsat.jit(function)(x), function(x))


def test_chains_of_gathers_are_opened_as_far_as_that_is_small() -> None:
    """Each step reads the one before at two places: all of them together would be 2 ** 40 elements."""
    places = np.arange(32)

    def function(x: Any) -> Any:
        for k in range(40):
            x = np.minimum(x, x[places ^ (1 << k % 5)] + 0.5)
        return x

    program = as_builds(eqsat.trace(function, eqsat.spec((32,), "float32")))
    offered = [way.found.build for ways in alternatives(program, "default").values() for way in ways if way.row == "gather-of-elements"]
    assert offered
    assert max(sum(1 for _ in scalars(build.body)) for build in offered if isinstance(build, Build)) <= 256
    x = np.random.default_rng(0).uniform(-1, 1, 32).astype("float32")
    np.testing.assert_array_equal(eqsat.jit(function)(x), function(x))


def test_a_gather_from_the_end_of_a_long_chain() -> None:
    def function(x: Any) -> Any:
        for _ in range(120):
            x = np.sin(x) * 1.01 + 0.1
        return x[[3, 1, 4, 1, 5]]

    x = np.random.default_rng(0).uniform(-1, 1, 40)
    np.testing.assert_allclose(eqsat.jit(function)(x), function(x), rtol=1e-12)


DIAGONALS: dict[str, Callable[..., Any]] = {
    "of both sides": lambda xp, d, a, e: (xp.diag(d) @ a) @ xp.diag(e),
    "of the other side first": lambda xp, d, a, e: xp.diag(d) @ (a @ xp.diag(e)),
    "of a product": lambda xp, d, a, e: (d[:, None] * a) @ xp.diag(e),
    "beside the middle": lambda xp, d, a, e: (a * e) @ xp.eye(6, k=1, dtype="float32"),
    "turned round": lambda xp, d, a, e: (a * e) @ xp.flip(xp.eye(6, dtype="float32"), 0),
    "that is summed": lambda xp, d, a, e: (xp.diag(d) @ a @ xp.diag(e)).sum(axis=0),
    "that is hidden": lambda xp, d, a, e: xp.tanh((a * e) @ xp.diag(d)),
}


@pytest.mark.parametrize("name", DIAGONALS)
def test_products_with_diagonal_matrices_are_checked_where_they_show_what_is_not_finite(name: str) -> None:
    """Products of the elements may overflow; what is multiplied by zero then shows in the result."""
    function, rng = eqsat.jit(lambda d, a, e: DIAGONALS[name](enp, d, a, e)), np.random.default_rng(0)
    numbers = np.array([1, 2, -1, 0, 1e30, 1e-30, np.inf, np.nan, -0.0], "float32")
    for _ in range(40):
        d, a, e = (rng.choice(numbers, shape, p=[0.2, 0.2, 0.2, 0.14, 0.1, 0.1, 0.02, 0.02, 0.02]) for shape in (6, (6, 6), 6))
        with np.errstate(all="ignore"):
            expected = DIAGONALS[name](np, d, a, e)
        left = 1e-6 if name == "that is summed" else 0  # of numbers that a sum cancels
        np.testing.assert_allclose(np.asarray(function(d, a, e)), expected, rtol=1e-5, atol=left)


def test_a_matrix_between_diagonal_ones_is_scaled_by_one_kernel() -> None:
    d, a = eqsat.spec((50,), "float32"), eqsat.spec((50, 50), "float32")
    result = eqsat.optimize(lambda d, a, e: DIAGONALS["of both sides"](enp, d, a, e), d, a, d)
    assert len(result.loops) == 1
    assert len(result.finite) == 1


@pytest.mark.parametrize("shift", [0.0, 1e30])
@pytest.mark.parametrize(
    "function",
    [
        lambda xp, a, w, v: (w[:, None] + v).max(),
        lambda xp, a, w, v: (w[:, None] - v).max(axis=1),
        lambda xp, a, w, v: (v - w[:, None]).min(axis=1),
        lambda xp, a, w, v: (v - w[:, None] + a[:, :1]).min(axis=(0, 1)),
        lambda xp, a, w, v: xp.minimum(w[:, None], v).max(axis=0),
        lambda xp, a, w, v: xp.maximum(w[:, None] + v, v - 1).max(axis=0),
        lambda xp, a, w, v: (a[:, :, None] + v).max(axis=(1, 2)) - a[:, 0],
        lambda xp, a, w, v: (a[:, :, None] - a[:, None, :]).min(axis=(0, 2)),
        lambda xp, a, w, v: (w[:, None] + v).sum(axis=1),
        lambda xp, a, w, v: (v - w[:, None]).mean(axis=1),
    ],
)
def test_infinities_and_nan_are_where_they_were(function: Callable[..., Any], shift: float) -> None:
    rng, compiled = np.random.default_rng(0), eqsat.jit(lambda *arrays: function(enp, *arrays))
    numbers = np.array([1, 2.5, -1, 0, np.inf, -np.inf, np.nan, -shift, shift * 1e8 + 3], "float32")
    for _ in range(60):
        a, w, v = (rng.choice(numbers, shape, p=[0.24, 0.2, 0.2, 0.2, 0.02, 0.02, 0.02, 0.05, 0.05]) for shape in ((7, 11), 7, 12))
        with np.errstate(all="ignore"):
            expected = function(np, a, w, v)
        np.testing.assert_allclose(np.asarray(compiled(a, w, v)), expected, rtol=1e-5, atol=1e-5 * shift)


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b, v: (a @ b + v).mean(axis=0),
        lambda a, b, v: (a @ b - v).sum(),
        lambda a, b, v: (np.eye(400, dtype="float32") - 2 * v[:, None] * v) @ a,
        lambda a, b, v: (v[:, None] + a.reshape(-1)[::4]).max(axis=1),
        lambda a, b, v: enp.minimum(v[:, None], a.reshape(-1)[::4]).max(axis=0),
    ],
)
def test_what_is_computed_in_parts_costs_a_tenth(function: Function) -> None:
    result, _ = sizes(function, (400, 400), (400, 400), (400,))
    assert float(result.cost) * 10 < float(result.original_cost)


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: ((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=2),
        lambda a, b: ((a - a.mean(axis=0)) ** 2).mean(axis=0),
        lambda a, b: (a - a.mean(axis=0)).T @ (b - b.mean(axis=0)),
        lambda a, b: (a - a.mean(axis=0)) @ b,
    ],
)
def test_squares_and_products_of_differences_stay(function: Function) -> None:
    """The products that they are made of are larger than their sum, and cancel."""
    result, _ = sizes(function, (40, 40), (40, 40))
    assert not result.report.matches["sum-in-parts"]


@pytest.mark.parametrize("seed", some(range(60), 5))
def test_random_sums_and_products_under_sums_are_what_they_were(seed: int) -> None:
    rng = np.random.default_rng(seed)
    arrays = data(((5, 5), (5, 5), (5,), (5, 1)), "int64", seed)

    def element(values: list[Any], depth: int) -> Any:
        if not depth:
            return values[rng.integers(len(values))]
        left, right = (element(values, depth - 1) for _ in range(2))
        way = rng.integers(7)
        if way < 2:
            return (left + values[0] * 0) @ (right + values[1] * 0)
        if way == 2:
            return (left * right + values[0]).sum(axis=int(rng.integers(2)), keepdims=True)
        return (left + right, left - right, left * right, -left)[way - 3]

    choices = rng.bit_generator.state

    def function(*values: Any) -> Any:
        rng.bit_generator.state = choices
        whole = element([*values, np.eye(5, dtype="int64"), 3], 4) + values[0] * 0
        return (whole.sum(), whole.sum(axis=0), whole)[seed % 3]

    np.testing.assert_array_equal(np.asarray(eqsat.jit(function)(*arrays)), function(*arrays))
