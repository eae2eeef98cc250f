"""Folds of one range in one loop: which they are, and that each gives what it gives by itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.codegen.folds.accumulator import SUM_BLOCK, Numerics
from eqsat.codegen.folds.loops import LEAST_TOGETHER, MOST_CARRIED, bodies, in_one_loop
from eqsat.ir.index import Var
from eqsat.ir.loops import Fold, Let, Load, Stmt, Store, Temp
from eqsat.ir.tensor import Call, Position, Scalar
from eqsat.lowering import type_indices
from tests.codegen.modules import emit_module
from tests.effort import some

Array = np.ndarray[Any, Any]
N = 1000


def fold(name: str, *buffers: str, op: str = "sum", extent: int = N, dtype: str = "float64", body: tuple[Stmt, ...] = ()) -> Fold:
    """A fold of the sum of what buffers hold at a place, or of temporaries that begin with t."""
    variable = Var(f"r_{name}", 0, extent - 1)
    loaded: list[Scalar] = [Temp(one, dtype) if one.startswith("t") else Load(one, variable, dtype) for one in buffers]
    value = loaded[0]
    for other in loaded[1:]:
        value = Call("add", (value, other), dtype)
    return Fold(name, op, dtype, variable, body, value)


INNER = fold("t9", "x")
SEARCH = Fold(
    "t8", "min", "int64", INNER.variable, (), Call("where", (Load("m", INNER.variable, "bool"), Position(INNER.variable, "int64")), "int64")
)


@pytest.mark.parametrize(
    ("body", "loops"),
    [
        ((fold("t0", "x"), fold("t1", "x")), ["t0 t1"]),
        ((fold("t0", "x"), fold("t1", "y")), ["t0", "t1"]),  # nothing in common
        ((fold("t0", "x"), fold("t1", "y"), fold("t2", "x", "y")), ["t0 t1 t2"]),  # but for the last one
        ((fold("t0", "x"), fold("t1", "y"), fold("t2", "x"), fold("t3", "y")), ["t0 t2", "t1 t3"]),
        ((fold("t0", "x"), fold("t1", "x", "t0")), ["t0", "t1"]),  # made of the first
        ((fold("t0", "x"), fold("t1", "x", "t0"), fold("t2", "x")), ["t0", "t1 t2"]),
        ((fold("t0", "x"), fold("t1", "x", extent=N - 1)), ["t0", "t1"]),
        ((fold("t0", "x", extent=LEAST_TOGETHER - 1), fold("t1", "x", extent=LEAST_TOGETHER - 1)), ["t0", "t1"]),
        ((fold("t0", "x"), fold("t1", "x", dtype="float32")), ["t0", "t1"]),  # of another width
        ((fold("t0", "x"), Let("t5", Temp("t0", "float64")), fold("t1", "x")), ["t0", "t5", "t1"]),
        ((fold("t0", "x"), fold("t1", "t9", "x", body=(INNER,)), fold("t2", "x")), ["t0", "t1", "t2"]),  # has a loop in it
        ((fold("t0", "x", "m"), SEARCH), ["t0", "t8"]),
        (tuple(fold(f"t{k}", "x") for k in range(MOST_CARRIED + 1)), [" ".join(f"t{k}" for k in range(MOST_CARRIED)), f"t{MOST_CARRIED}"]),
        (
            tuple(fold(f"t{k}", "x", op="max") for k in range(MOST_CARRIED)),  # extrema carry two values
            [" ".join(f"t{k + first}" for k in range(MOST_CARRIED // 2)) for first in (0, MOST_CARRIED // 2)],
        ),
    ],
)
def test_which_folds_are_one_loop(body: tuple[Stmt, ...], loops: list[str]) -> None:
    found = list(in_one_loop(body))
    assert [" ".join(stmt.name for stmt in group if not isinstance(stmt, Store)) for group in found] == loops  # type: ignore[union-attr]
    assert sorted(str(stmt) for group in found for stmt in group) == sorted(map(str, body))


def nested(name: str, *reads: str, extent: int = 3, inner: int = N) -> Fold:
    """A fold of folds."""
    return fold(name, f"{name}_in", extent=extent, body=(fold(f"{name}_in", *reads, extent=inner),))


@pytest.mark.parametrize(
    ("others", "loops"),
    [
        ((nested("t1", "x"),), ["t0 t1"]),
        ((nested("t1", "y"),), ["t0", "t1"]),
        ((nested("t1", "x", extent=4),), ["t0", "t1"]),
        ((nested("t1", "x", inner=N + 1),), ["t0", "t1"]),
        ((nested("t1", "x", "t0"),), ["t0", "t1"]),  # made of the first
        ((fold("t1", "x", extent=3),), ["t0", "t1"]),
    ],
)
def test_folds_of_folds_are_one_loop_of_one_loop(others: tuple[Fold, ...], loops: list[str]) -> None:
    found = list(in_one_loop((nested("t0", "x"), *others)))
    assert [" ".join(stmt.name for stmt in group if isinstance(stmt, Fold)) for group in found] == loops
    for group in found:
        inside = bodies([stmt for stmt in group if isinstance(stmt, Fold)])
        assert [len(one) for one in in_one_loop(inside)] == ([len(group)] if inside else [])


@pytest.mark.parametrize("numerics", ["exact", "default"])
def test_sums_over_pairs_are_those_of_numpy(numerics: Numerics) -> None:
    x, y = data("float64", (150,), 3)

    def pairs(a: Any, b: Any) -> Any:
        p, q = np.abs(a[:, None] - a) - a[:, None], np.abs(b[:, None] - b) * b
        return (p * q).sum() / np.sqrt((p * p).sum() * (q * q).sum()), p.max() - q.min()

    result = eqsat.optimize(pairs, x, y, options=eqsat.Options(numerics=numerics))
    np.testing.assert_allclose(result(x, y), pairs(x, y), rtol=1e-12)


def test_what_stays_a_short_loop_is_apart() -> None:
    one, other = fold("t0", "x"), fold("t1", "x")
    assert list(in_one_loop((one, other), {one})) == [(one,), (other,)]


Function = Callable[..., Sequence[Any]]
FUNCTIONS: dict[str, Function] = {
    "moments": lambda x, y: (x.sum(), (x * x).sum(), (x * x * x).sum()),
    "products": lambda x, y: ((x * y).sum(), (x * x).sum(), (y * y).sum()),
    "range": lambda x, y: (x.max(), x.min(), x.sum()),
    "ranges": lambda x, y: (x.max(), y.min(), (x - y).max(), (x - y).min(), y.max()),
    "where positive": lambda x, y: (enp.where(x > y, x, 0).sum(), enp.where(x > y, y, 0).sum(), enp.where(x > y, x - y, 0).max()),
    "many": lambda x, y: [(x * (y - k)).sum() for k in range(11)],
    "of rows": lambda x, y: ((x * y).sum(axis=-1) + (x * x).sum(axis=-1), x.max(axis=-1) - x.min(axis=-1)),
}


def data(dtype: str, shape: tuple[int, ...], seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    parts = [rng.uniform(-1.5, 1.5, shape) if np.dtype(dtype).kind in "fc" else rng.integers(-9, 9, shape) for _ in range(3)]
    return tuple((part + (1j * parts[2] if np.dtype(dtype).kind == "c" else 0)).astype(dtype) for part in parts[:2])  # type: ignore[return-value]


CASES = [
    (name, dtype, shape, numerics)
    for name in FUNCTIONS
    for dtype in ("float32", "float64", "int32", "int64", "complex64")
    for shape in ((LEAST_TOGETHER,), (777,), (2 * SUM_BLOCK,), (5 * SUM_BLOCK + 3,), (3, 200))
    for numerics in ("exact", "default", "fast")
]


@pytest.mark.parametrize(("name", "dtype", "shape", "numerics"), some(CASES, 11))
def test_each_gives_what_it_gives_by_itself(name: str, dtype: str, shape: tuple[int, ...], numerics: Numerics) -> None:
    function, given = FUNCTIONS[name], data(dtype, shape)
    found = eqsat.optimize(function, *given, options=eqsat.Options(numerics=numerics))(*given)
    wide = [array.astype({"f": "float64", "c": "complex128"}.get(array.dtype.kind, dtype)) for array in given]
    for one, expected in zip(found, function(*wide), strict=True):
        if np.dtype(dtype).kind in "fc":
            scale = np.abs(expected).max() + sum(np.abs(array).sum() for array in wide) * 1e-3
            assert np.abs(one - expected).max() <= scale * (1e-5 if dtype in ("float32", "complex64") else 1e-13)
        else:
            np.testing.assert_array_equal(one, expected.astype(one.dtype))


@pytest.mark.parametrize("extent", [100, 3 * SUM_BLOCK + 5])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf, None])
def test_extrema_of_the_same_numbers_show_nan_both(extent: int, dtype: str, special: float | None) -> None:
    def extrema(x: Any) -> Any:
        return x.max() - 2 * x.min(), x.min(), x.sum(), x.max()

    for place in (0, 1, extent // 2, extent - 1):
        x = np.random.default_rng(place).uniform(-1, 1, extent).astype(dtype)
        if special is not None:
            x[place] = special
        for one, expected in zip(eqsat.jit(extrema)(x), extrema(x), strict=True):
            np.testing.assert_allclose(one, expected, rtol=1e-5, atol=1e-5)


def test_two_sums_are_one_loop_of_machine_code() -> None:
    x = np.random.default_rng(0).uniform(-1, 1, 1000)
    for function, loops in ((lambda x: x.sum() / (x * x).sum(), 1), (lambda x: x.sum() / (x[1:] * x[1:]).sum(), 2)):
        text = emit_module([type_indices(kernel) for kernel in eqsat.optimize(function, x).loops], "default")
        assert len(re.findall(r"^loop[0-9.]*:", text, re.MULTILINE)) == loops


@pytest.mark.parametrize("n", [1, 63, 64, 5000, 9000])
def test_folds_of_any_size_are_one_loop(n: int) -> None:
    size = eqsat.dim("n", 1, 10_000)
    spec = eqsat.Spec((size,), "float32")
    plan = eqsat.optimize(lambda x, y: ((x * y).sum(), x.max(), y.min(), (x * x).sum()), spec, spec).compile()
    x, y = (np.random.default_rng(n + k).uniform(-1, 1, n).astype("float32") for k in (0, 1))
    expected = ((x * y).sum(dtype="float64"), x.max(), y.min(), (x * x).sum(dtype="float64"))
    for one, other in zip(plan(x, y), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


def test_sums_of_many_floats_lose_no_digits_together() -> None:
    x = np.full(1 << 22, 0.1, "float32")
    total, squares = eqsat.jit(lambda x: (x.sum(), (x * x).sum()))(x)
    np.testing.assert_allclose([total, squares], [x.sum(dtype="float64"), (x.astype("float64") ** 2).sum()], rtol=1e-6)
