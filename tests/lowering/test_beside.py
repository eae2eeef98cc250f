"""Kernels that read the same arrays, as one: both results, what is one kernel and what is not, and nothing written over what is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import eqsat
import eqsat.numpy as enp
from eqsat.ir.errors import BoundsError
from eqsat.ir.index import Var
from eqsat.ir.loops import Fold, For, Let, Load, Store, statements
from eqsat.ir.tensor import Call, scalars
from eqsat.kernels import joined
from eqsat.lowering.sharing.stored_in_folds import stored_in_folds
from tests.effort import examples
from tests.eqsat.programs import RandomProgram, programs
from tests.eqsat.test_programs import check_stages
from tests.lowering.builds import count_few_terms_as_many

Array = Any
RNG = np.random.default_rng(0)
X, Y = (RNG.standard_normal((1000, 1024)).astype(np.float32) for _ in range(2))
SMALL = RNG.standard_normal((300, 400)).astype(np.float32)
PLACES = RNG.integers(-1000, 1000, (512, 1024))
# programs of NumPy's or of eqsat's functions, with how many kernels they are
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Array, ...], int]] = {
    "rows and their sums": (lambda xp, x: (x * 2, xp.sum(x, axis=1)), (X,), 1),
    "all elements, and a sum of all": (lambda xp, x: (xp.maximum(x, 0), xp.sum(x)), (X,), 2),
    "a loss and its gradient": (lambda xp, x, y: (xp.mean((x - y) ** 2), 2 * (x - y) / x.size), (X, Y), 2),
    "extremes of all": (lambda xp, x: (xp.min(x), xp.max(x)), (X,), 2),
    "a scaled array, and a sum of all squares": (lambda xp, x: (x * 2 + 1, xp.sum(x * x), xp.max(x)), (SMALL,), 1),
    "an array that is stored, and a sum of it": (lambda xp, x: (xp.exp(x), xp.sum(xp.exp(x), axis=1)), (SMALL,), 1),
    "a difference, and its mean square": (lambda xp, x, y: (x - y, xp.mean((x - y) ** 2)), (SMALL, SMALL[::-1].copy()), 1),
    "terms with what they share": (
        lambda xp, x, y: (xp.clip(x - y, -1, 1), xp.mean(xp.where(xp.abs(x - y) < 1, 0.5 * (x - y) ** 2, xp.abs(x - y) - 0.5))),
        (SMALL, SMALL[::-1].copy()),
        1,
    ),
    "rows with their means and deviations": (
        lambda xp, x: (
            (x - xp.mean(x, axis=1, keepdims=True)) / xp.std(x, axis=1, keepdims=True),
            xp.mean(x, axis=1, keepdims=True),
            xp.std(x, axis=1, keepdims=True),
        ),
        (SMALL,),
        1,
    ),
    "sums and extremes of sums of rows": (lambda xp, x: (xp.sum(xp.tanh(x)), xp.max(xp.tanh(x))), (X[:, :24].copy(),), 1),
    "what is passed on is read behind the parts": (
        lambda xp, x: (lambda y: (xp.sum(y), xp.max(y), y[100], xp.sum(y * y) / (xp.sum(y) + y[9])))(xp.sum(x, axis=1)),
        (np.tile(X[:, :3], (9, 1))[:8192].copy(),),
        3,
    ),
    "sums of the same": (lambda xp, x: xp.maximum(xp.sum(x), xp.sum(x * x)), (X[:131, :1000].copy(),), 2),
    "a sum of what quotients of a product are made of": (
        lambda xp, x, y: (xp.sum(xp.exp(x)), (xp.exp(x) / (x * x + 1)) @ y),
        (X[:128, :128].copy(), Y[:128, :3].copy()),
        2,
    ),
    "a length that is no product": (lambda xp, x: (x + 1, xp.sum(x * x)), (SMALL.ravel()[:32771].copy(),), 1),
    "places that are checked": (lambda xp, x, i: xp.take(x, i), (X[0, :1000].copy(), PLACES), 2),
    "running sums stay by themselves": (lambda xp, x: (xp.cumulative_sum(x, axis=0), x * 2), (X,), 2),
    "no common divisor": (lambda xp, x: (x[:997] * 2, xp.sum(x[:991], axis=1)), (X,), 1),
    "sums of rows and of columns": (lambda xp, x: (xp.sum(x, axis=0), xp.sum(x, axis=1)), (X,), 2),
    "products from both sides": (lambda xp, x, y, z: (x @ y, z @ x), (X[:997], X[0], X[:997, 0].copy()), 2),
    "the way back through a normalization": (lambda xp, x, y: _backwards(xp, x, y), (X, Y), 3),
}


def _backwards(xp: Any, x: Array, y: Array) -> Any:
    mean = xp.mean(x, axis=-1, keepdims=True)
    rate = 1 / xp.sqrt(xp.mean((x - mean) ** 2, axis=-1, keepdims=True) + 1e-5)
    n = (x - mean) * rate
    inner = rate * (y - xp.mean(y, axis=-1, keepdims=True) - n * xp.mean(y * n, axis=-1, keepdims=True))
    return inner, xp.sum(y * n, axis=0), xp.sum(y, axis=0)


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_reads_the_same_is_one_kernel(name: str) -> None:
    function, arrays, kernels = PROGRAMS[name]
    result = eqsat.optimize(lambda *a: function(enp, *a), *arrays)
    assert len(result.loops) == kernels
    expected = function(np, *(a.astype(np.float64) if a.dtype == np.float32 else a for a in arrays))
    found = result(*arrays)
    for one, other in zip(*(v if isinstance(v, tuple) else (v,) for v in (found, expected)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4 * np.max(np.abs(other)))


def test_a_place_out_of_range_is_still_an_error() -> None:
    compiled = eqsat.jit(lambda x, i: np.take(x, i))
    table, places = np.arange(1000.0), PLACES.copy()
    np.testing.assert_array_equal(compiled(table, places), table[places])
    for wrong in (1000, -1001):
        places[511, 1023] = wrong
        with pytest.raises(BoundsError, match=str(wrong)):
            compiled(table, places)


def test_nothing_is_written_over_what_the_other_one_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The intermediate array is read by nothing behind the kernel, which is when kernels write over what they read."""
    monkeypatch.setattr(joined, "LEAST_BYTES", 0)
    monkeypatch.setattr(joined, "LEAST_SAVED", -1e9)
    x = RNG.standard_normal((64, 64))

    def function(x: Any) -> Any:
        y = np.cumsum(x, axis=0)
        return y * 2, np.sum(y, axis=1)

    result = eqsat.optimize(function, x)
    for one, other in zip(result(x), function(x), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_random_programs_whose_kernels_are_joined_wherever_they_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    count_few_terms_as_many(monkeypatch)
    monkeypatch.setattr(joined, "LEAST_BYTES", 1)
    monkeypatch.setattr(joined, "LEAST_SAVED", -1e9)
    pairs = 0

    @settings(max_examples=examples(120), deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(programs())
    def check(program: RandomProgram) -> None:
        nonlocal pairs
        check_stages(program)
        pairs += sum(len(nest.priced) > 1 for nest in eqsat.optimize(program, *program.arrays).nests)

    check()
    assert pairs > 1


@st.composite
def folds_both_ways(draw: st.DrawFn) -> Callable[[Any, Array, Array], tuple[Array, ...]]:
    """Folds of rows and of columns of what is made of two arrays, of such folds of rows, and of each other."""
    steps = draw(st.lists(st.tuples(st.sampled_from(["row", "column", "all", "element"]), st.integers(0, 7)), min_size=2, max_size=6))
    kept = draw(st.lists(st.booleans(), min_size=6, max_size=6))

    def program(xp: Any, x: Array, y: Array) -> tuple[Array, ...]:
        arrays, rows, made = [x, y], [xp.sum(x, axis=1, keepdims=True) * 0.01], []
        for (what, at), keep in zip(steps, kept, strict=False):
            one, row = arrays[at % len(arrays)], rows[at % len(rows)]
            value = one * row + arrays[(at + 1) % len(arrays)] if at % 2 else one - row
            if what == "row":
                rows.append((xp.max if at > 4 else xp.mean)(value, axis=1, keepdims=True))
                made += [rows[-1]] if keep else []
            elif what == "element":
                arrays.append(value * 0.5)
                made += [arrays[-1]] if keep else []
            else:
                made.append((xp.min if at > 5 else xp.sum)(value, axis=0 if what == "column" else None))
        return (*made, arrays[-1] + rows[-1])

    return program


@pytest.mark.parametrize("shape", [(64, 33), (37, 19), (203, 65)])
def test_folds_both_ways_are_what_they_are_in_numpy(shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    count_few_terms_as_many(monkeypatch)
    monkeypatch.setattr(joined, "LEAST_BYTES", 1)
    monkeypatch.setattr(joined, "LEAST_SAVED", -1e9)
    x, y = RNG.standard_normal(shape), RNG.standard_normal(shape)

    @settings(max_examples=examples(12), deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(folds_both_ways())
    def check(program: Callable[[Any, Array, Array], tuple[Array, ...]]) -> None:
        found, expected = eqsat.optimize(lambda x, y: program(enp, x, y), x, y)(x, y), program(np, x, y)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)

    check()


def relaxed(xp: Any, u: Array, f: Array) -> tuple[Array, Array]:
    """A step inside of a fixed edge, and how much it changed."""
    t = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - f[1:-1, 1:-1])
    inner = xp.concatenate([u[1:-1, :1], t, u[1:-1, -1:]], axis=1)
    return xp.concatenate([u[:1], inner, u[-1:]], axis=0), xp.sum((t - u[1:-1, 1:-1]) ** 2)


def test_what_is_stored_and_folded_is_computed_once() -> None:
    u, f = RNG.random((321, 1029)), RNG.random((321, 1029))
    result = eqsat.optimize(lambda u, f: relaxed(enp, u, f), u, f)
    folds = [stmt for kernel in result.loops for stmt in statements(kernel.body) if isinstance(stmt, Fold)]
    (fold,) = [fold for fold in folds if any(isinstance(stmt, Store) for stmt in fold.body)]
    assert sum(isinstance(term, Call) for term in scalars(fold.value)) <= 2  # the difference, and its square
    for threads in (1, 2, 3):
        eqsat.set_num_threads(threads)
        for found, expected in zip(result(u, f), relaxed(np, u, f), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12)
    eqsat.set_num_threads(1)


@given(st.integers(3, 40), st.integers(3, 70), st.sampled_from(("sum", "max", "min")), st.booleans(), st.integers(1, 3))
@settings(max_examples=examples(20), deadline=None)
def test_random_steps_and_folds(rows: int, columns: int, fold: str, whole: bool, threads: int) -> None:
    x, y = RNG.standard_normal((2, rows, columns)).astype("f4")

    def step(xp: Any, x: Array, y: Array) -> tuple[Array, ...]:
        t = x * np.float32(0.5) - y[::-1] * y
        return t, getattr(xp, fold)((t - x) * t, axis=None if whole else 1)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(joined, "LEAST_BYTES", 0)  # as if there were many rows
        patched.setattr(joined, "LEAST_SAVED", -1.0)
        result = eqsat.optimize(lambda x, y: step(enp, x, y), x, y, options=eqsat.Options(cache=False))
    eqsat.set_num_threads(threads)
    for found, expected in zip(result(x, y), step(np, x, y), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    eqsat.set_num_threads(1)


def mixed(xp: Any, a: Array, b: Array) -> tuple[Array, ...]:
    """Two channels as one of 16 bits, and the greatest of it (int16 in, int32 within)."""
    v = xp.clip((a.astype(xp.int32) * 205 + b.astype(xp.int32) * 51 + 128) >> 8, -32768, 32767)
    return v.astype(xp.int16), xp.max(xp.abs(v))


def squared(xp: Any, a: Array, b: Array) -> tuple[Array, ...]:
    v = a * 205 + b * 51
    return v * v, xp.max(xp.abs(v))


def in_rows(xp: Any, a: Array, b: Array) -> tuple[Array, ...]:
    v = xp.clip(a * b, -1, 1)
    return v * 3, xp.sum(v * v, axis=-1)


@pytest.mark.parametrize(
    ("program", "shape", "dtype"),
    [
        (mixed, (1 << 17,), "i2"),
        (mixed, (1 << 14,), "i2"),
        (squared, (1 << 18,), "f8"),
        (squared, (16384,), "f8"),
        (in_rows, (64, 4099), "f4"),
        (in_rows, (300, 512), "f8"),
    ],
)
def test_what_is_passed_to_a_fold_is_never_stored(program: Callable[..., Any], shape: tuple[int, ...], dtype: str) -> None:
    """Whether threads share the fold or not: its terms are computed and the results of them stored in one loop."""
    a, b = (
        RNG.integers(-30000, 30000, shape).astype(dtype) if dtype == "i2" else RNG.standard_normal(shape).astype(dtype) for _ in range(2)
    )
    result = eqsat.optimize(lambda a, b: program(enp, a, b), a, b)
    (kernel,) = [kernel for kernel in result.loops if any(buffer.size == a.size for buffer in kernel.buffers)]
    assert not kernel.scratch
    (fold,) = [stmt for stmt in statements(kernel.body) if isinstance(stmt, Fold)]
    assert any(isinstance(stmt, Store) for stmt in fold.body)
    for threads in (1, 2, 3):
        eqsat.set_num_threads(threads)
        for found, expected in zip(result(a, b), program(np, a, b), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-5)
    eqsat.set_num_threads(1)


def test_two_folds_of_what_is_passed_have_a_part_of_it() -> None:
    a = RNG.integers(-30000, 30000, 1 << 18).astype("i2")
    result = eqsat.optimize(
        lambda a: (lambda v: (v.astype(enp.int16), enp.max(v), enp.min(v)))(enp.clip(a.astype(enp.int32) * 3, -5, 7)), a
    )
    v = np.clip(a.astype(np.int32) * 3, -5, 7)
    for found, expected in zip(result(a), (v.astype(np.int16), v.max(), v.min()), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert all(buffer.size <= 2048 for kernel in result.loops for buffer in kernel.scratch)
    assert not any(buffer.dtype == "int32" and buffer.size == a.size for kernel in result.loops for buffer in kernel.buffers)


def test_rows_beside_running_sums_are_all_written() -> None:
    """The loop along a running sum begins with its second element."""
    x, y = RNG.standard_normal((2, 2000, 130))
    result = eqsat.optimize(lambda x, y: (enp.cumsum(y, axis=1) * 2.0, enp.maximum(x, y)), x, y)
    assert len(result.loops) == 1
    first, second = result(x, y)
    np.testing.assert_allclose(first, np.cumsum(y, axis=1) * 2.0, rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(second, np.maximum(x, y))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("turned", [False, True])
def test_a_fold_waits_for_what_another_one_stores(dtype: str, turned: bool) -> None:
    """Of three folds of a row the first stores what the second reads, and reads what the third does."""

    def scaled(xp: Any, a: Any, b: Any) -> Any:
        t = xp.minimum(a, b)
        rows = [xp.sum(t, axis=1, keepdims=True), xp.max(t, axis=1, keepdims=True), xp.max(a, axis=1, keepdims=True)]
        return xp.sum(a * rows[0] * rows[1] * xp.abs(t - rows[2]), axis=1), t[:, ::-1] * t if turned else t

    a, b = RNG.standard_normal((2, 130, 600)).astype(dtype)
    for found, expected in zip(eqsat.jit(lambda *x: scaled(enp, *x))(a, b), scaled(np, a, b), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3 * float(np.abs(expected).max()))


def test_loops_in_two_folds_have_names_of_their_own() -> None:
    def pair(name: str) -> tuple[For, Fold]:
        loop, along = Var(f"{name}i", 0, 99), Var(f"{name}r", 0, 99)
        stored = Store(f"{name}out", loop, Call("multiply", (Load(name, loop, "float32"), Load(name, loop, "float32")), "float32"))
        return For(loop, "parallel", (stored,)), Fold(f"{name}sum", "sum", "float32", along, (), Load(f"{name}out", along, "float32"))

    found = stored_in_folds((*pair("x"), *pair("y")))
    assert [type(stmt) for stmt in found] == [Fold, Fold]
    names = [stmt.name for stmt in statements(found) if isinstance(stmt, Let)]
    assert len(names) == len(set(names)) == 2
