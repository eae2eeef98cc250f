"""Sizes that are known at run time: one plan for all of them, equal to NumPy, and clear errors where a program depends on a size."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.ir.errors import DTypeError, EqsatError, ShapeError, TraceError, UnsupportedError, UsageError
from eqsat.ir.index import Var
from eqsat.ir.loops_evaluate import run_kernel
from eqsat.pricing.target import DEFAULT_TARGET, SPLIT_NS
from eqsat.running.packing import pack, unpack
from eqsat.running.sized_plan import SizedPlan, plan_of
from eqsat.sizes import markers as sizes
from tests.eqsat.kernel_programs import layer_norm, softmax

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]
N, M = eqsat.dim("n", 1, 4096), eqsat.dim("m", 1, 512)

PROGRAMS: dict[str, tuple[Function, list[tuple[int | Var, ...]]]] = {
    "elementwise": (lambda x: enp.maximum(x * 2.0 + 1.0, 0.0), [(N, 64)]),
    "of a vector": (lambda x, y: x * y - 1.0, [(N,), (N,)]),
    "broadcast": (lambda x, y: x[:, None] + y[None, :], [(N,), (M,)]),
    "softmax": (softmax, [(N, M)]),
    "layer norm": (layer_norm, [(N, M), (M,), (M,)]),
    "mean of columns": (lambda x: x.mean(axis=0), [(N, 64)]),
    "mean of all": (lambda x: x.mean(), [(N, M)]),
    "sum": (lambda x: x.sum(), [(N,)]),
    "sum of squares": (lambda x: (x * x).sum(axis=1), [(M, N)]),
    "statistics": (lambda x: (x.sum(axis=1), x.max(axis=1), x.min(axis=0)), [(N, M)]),
    "product": (lambda x, w: enp.maximum(x @ w, 0.0), [(N, 64), (64, M)]),
    "product of a transpose": (lambda x, w: x.T @ w, [(N, 48), (N, M)]),
    "gram": (lambda x: x @ x.T, [(M, 32)]),
    "chain": (lambda a, b, v: (a @ b) @ v, [(N, M), (M, N), (N,)]),
    "movements": (lambda x: x.reshape(x.shape[0], 8, 8).transpose(0, 2, 1) * 2.0, [(N, 64)]),
    "batch": (lambda x, w: x @ w, [(N, 4, M), (M, 8)]),
    "centred": (lambda x: x - x.mean(axis=0, keepdims=True), [(N, M)]),
    "comparison": (lambda x, y: enp.where(x > y, x, y).astype("float64"), [(N,), (N,)]),
    "turned": (lambda x, y: enp.exp(x + y).T, [(N, 20), (N, 20)]),
    "chosen and turned": (lambda x, y: enp.where(x > y, x - y, 0).T, [(13, N), (13, N)]),
    "sums turned": (lambda x: x.sum(axis=1).T, [(3, N, 40)]),
    "every second": (lambda x: enp.exp(x[:, ::2]), [(N, 64)]),
    "short rows": (lambda x, c: enp.maximum(x * c, 0), [(N, 18, 5), (18, 1)]),
    "sums around": (lambda x: x.sum(axis=(0, 2)), [(N, 18, 5)]),
    "first greatest": (lambda x: enp.argmax(x), [(N,)]),
    "rolled": (lambda x: enp.cos(enp.roll(x, 5, axis=1)), [(3, N, 5)]),
    "few columns": (lambda w, x: w @ x, [(32, 64), (N, 64, 5)]),
}
SIZES = [*((k, 1 + k % 9) for k in range(1, 36)), (64, 64), (65, 33), (127, 129), (1000, 7), (4095, 3), (4096, 1), (5, 512)]


def arrays(shapes: list[tuple[int | Var, ...]], n: int, m: int) -> list[Array]:
    rng = np.random.default_rng(n * 1000 + m)
    known = {N: n, M: m}
    actual = [tuple(known[extent] if isinstance(extent, Var) else extent for extent in shape) for shape in shapes]
    return [rng.uniform(-1, 1, shape).astype("float32") for shape in actual]


def plan_for(name: str) -> SizedPlan:
    function, shapes = PROGRAMS[name]
    plan = eqsat.optimize(function, *(eqsat.spec(shape, "float32") for shape in shapes)).compile()
    assert isinstance(plan, SizedPlan)
    return plan


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_plan_serves_all_sizes(name: str) -> None:
    plan, (function, shapes) = plan_for(name), PROGRAMS[name]
    for n, m in SIZES:
        given = arrays(shapes, n, m)
        found, expected = plan(*given), function(*given)
        for one, other in zip(_leaves(found), _leaves(expected), strict=True):
            assert one.shape == np.shape(other)
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-4, err_msg=f"n = {n}, m = {m}")


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    before = eqsat.num_threads()
    yield eqsat.set_num_threads
    eqsat.set_num_threads(before)


@pytest.mark.parametrize("name", PROGRAMS)
def test_calls_without_python_are_those_of_the_sizes_at_hand(name: str, threads: Callable[[int], None]) -> None:
    plan, shapes = plan_for(name), PROGRAMS[name][1]
    given = [arrays(shapes, n, m) for n, m in ((3, 5), (64, 64), (127, 33), (1, 1), (2000, 70))]
    expected = [_leaves(plan.result(one)) for one in given]
    for count in (1, 2):
        threads(count)
        for one, right in [*zip(given, expected, strict=True)] * 3:
            for found, other in zip(_leaves(plan(*one)), right, strict=True):
                np.testing.assert_array_equal(found, other)
    assert type(plan._call).__name__ == "builtin_function_or_method"
    out = tuple(np.empty_like(one) for one in expected[1])
    plan(*given[1], out=out)
    for found, other in zip(out, expected[1], strict=True):
        np.testing.assert_array_equal(found, other)
    np.testing.assert_array_equal(plan.output(0), expected[1][0])
    with pytest.raises(EqsatError):
        plan(*(np.ones((5000, *array.shape[1:]), array.dtype) for array in given[0]))


def _leaves(found: Any) -> tuple[Array, ...]:
    return found if isinstance(found, tuple) else (found,)


def test_large_memory_between_kernels_is_not_kept_for_every_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eqsat.running.sized_plan.LITTLE", -1)
    plan = plan_for("elementwise")
    for _ in range(4):
        np.testing.assert_array_equal(plan(np.ones((3, 64), "float32")), np.full((3, 64), 3.0))
    assert plan._call is None


def test_small_arrays_are_not_split_over_threads() -> None:
    plan = plan_for("elementwise")
    ns = [plan._for(arrays([(N, 64)], n, 1)).kernels[0].estimated_ns for n in (1, 64, 4096)]
    assert ns[0] < ns[1] / 30 < ns[2] / 30 / 30
    assert ns[1] < SPLIT_NS < ns[2]


def test_every_size_in_the_range() -> None:
    plan = plan_for("of a vector")
    x = np.arange(4096, dtype="float32")
    for n in range(1, 4097):
        np.testing.assert_array_equal(plan(x[:n], x[:n]), x[:n] * x[:n] - 1.0)


def test_no_element_behind_the_last_is_written() -> None:
    plan = plan_for("elementwise")
    for n in range(1, 70):
        memory = np.full((n + 4, 64), 7.0, "float32")
        x = np.ones((n, 64), "float32")
        plan(x, out=memory[:n])
        np.testing.assert_array_equal(memory, np.concatenate([np.full((n, 64), 3.0), np.full((4, 64), 7.0)]))


def test_what_is_returned_twice_is_given_two_arrays() -> None:
    n = eqsat.dim("n", 1, 64)

    def twice(x: Any) -> Any:
        y = x + 1
        return y, (x * 2, y)

    plan = eqsat.optimize(twice, eqsat.spec((n,), "float32")).compile()
    x = np.arange(5, dtype="float32")
    given = [np.empty_like(x) for _ in range(3)]
    first, others = plan(x, out=given)
    for one, target in zip((first, *others), given, strict=True):
        assert one is target
    for found, expected in zip(given, (x + 1, x * 2, x + 1), strict=True):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(plan.output(0), x + 1)


@pytest.mark.parametrize("name", ["elementwise", "mean of columns", "product", "softmax"])
def test_the_loop_nests_say_the_same_under_their_interpreter(name: str) -> None:
    function, shapes = PROGRAMS[name]
    result = eqsat.optimize(function, *(eqsat.spec(shape, "float32") for shape in shapes))
    for n, m in ((1, 1), (3, 2), (5, 4)):
        given = arrays(shapes, n, m)
        known = {size.marker: value for size, value in zip(result.program.sizes, [n, m][: len(result.program.sizes)], strict=True)}
        flat: dict[Any, Array] = {tensor: array.ravel() for tensor, array in zip(result.program.inputs, given, strict=True)}
        for nest in result.nests:
            for build in nest.builds:
                shape = [known.get(extent, extent) for extent in build.shape]
                flat[build] = np.full(int(np.prod(shape)), 77).astype(build.dtype)
            run_kernel(nest.kernel, [flat[tensor] for tensor in nest.tensors], list(known.values()))
        np.testing.assert_allclose(flat[result.program.outputs[0]], np.ravel(function(*given)), rtol=1e-4, atol=1e-4)


def test_values_that_are_not_finite_come_out_as_numpy_gives_them() -> None:
    function, shapes = PROGRAMS["chain"]
    target = replace(DEFAULT_TARGET, launch_ns=0.0)
    result = eqsat.optimize(function, *(eqsat.spec(shape, "float32") for shape in shapes), options=eqsat.Options(target=target))
    assert result.finite
    for n, m in ((3, 4), (20, 5)):
        a, b, v = arrays(shapes, n, m)
        a[0, 0], v[0] = np.inf, np.nan
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(np.isnan(result(a, b, v)), np.isnan(function(a, b, v)))


def test_plans_with_sizes_are_bytes_and_back() -> None:
    plan, (function, shapes) = plan_for("softmax"), PROGRAMS["softmax"]
    again = plan_of(unpack(pack(plan.blueprint, ()), ()))
    (x,) = arrays(shapes, 17, 5)
    np.testing.assert_allclose(again(x), function(x), rtol=1e-5)


def test_sizes_by_name() -> None:
    plan = plan_for("softmax")
    x = np.ones((3, 4), "float32")
    np.testing.assert_allclose(plan.execute_with_vars(x, n=3, m=4), np.full((3, 4), 0.25))
    assert plan.num_outputs == 1
    np.testing.assert_allclose(plan.output(0), np.full((3, 4), 0.25))
    with pytest.raises(ShapeError, match="found n = 4, expected 3 as in the arrays"):
        plan.execute_with_vars(x, n=4)
    with pytest.raises(UsageError, match="found the size k, expected one of n, m"):
        plan.execute_with_vars(x, k=4)
    known = eqsat.optimize(lambda x: x + 1, x).compile()
    np.testing.assert_array_equal(known.execute_with_vars(x), x + 1)
    with pytest.raises(UsageError, match="all sizes of this plan are known"):
        known.execute_with_vars(x, n=3)


def test_programs_show_sizes_by_name() -> None:
    result = eqsat.optimize(lambda x: x.mean(axis=0), eqsat.spec((N, 8), "float32"))
    assert "x: float32[n, 8]" in str(result.original)
    assert "sum(r0: n," in str(result.program)
    assert not re.search(r"\d{4}", str(result.program))


CALLS: dict[str, tuple[list[Array], type[Exception], str]] = {
    "too large": ([np.ones((4097, 64), "float32")], ShapeError, "found n = 4097, expected 1 to 4096"),
    "empty": ([np.ones((0, 64), "float32")], ShapeError, "found n = 0, expected 1 to 4096"),
    "another extent": ([np.ones((3, 63), "float32")], ShapeError, r"found float32\[3, 63\], expected float32\[3, 64\]"),
    "another rank": ([np.ones(64, "float32")], EqsatError, "x"),
    "another dtype": ([np.ones((3, 64))], DTypeError, "expected float32"),
    "no array": ([], UsageError, "expected"),
    "a ragged list": ([[[1], [1, 2]]], UsageError, "call: found list, expected numpy.ndarray"),  # type: ignore[list-item]
}


@pytest.mark.parametrize("what", CALLS)
def test_arrays_that_do_not_fit_are_refused(what: str) -> None:
    given, error, message = CALLS[what]
    with pytest.raises(error, match=message):
        plan_for("elementwise")(*given)


def test_arrays_of_different_sizes_are_refused() -> None:
    with pytest.raises(ShapeError, match="y: found n = 4, expected 3 as in x"):
        plan_for("of a vector")(np.ones(3, "float32"), np.ones(4, "float32"))


FIXED = np.ones((4099, 64), "float32")
DEPENDENT: dict[str, tuple[Function, type[Exception]]] = {
    "without its first row": (lambda x: x[1:] + 1.0, UnsupportedError),
    "its first rows": (lambda x: x[:5] + 1.0, UnsupportedError),
    "one row": (lambda x: x[3] + 1.0, UnsupportedError),
    "a branch": (lambda x: x + 1.0 if x.shape[0] > 10 else x, TraceError),
    "its length": (lambda x: x + float(len(x)), TraceError),
    "a loop over it": (lambda x: sum(x[k] for k in range(x.shape[0])), EqsatError),
    "an array of another size": (lambda x: x + FIXED, ShapeError),
    "whether it is a number": (lambda x: x * 2.0 if x.shape[0] == 7 else x, TraceError),
    "whether it is another number": (lambda x: x * 2.0 if x.shape[0] != 7 else x, TraceError),
    "whether it is among numbers": (lambda x: x * (2.0 if x.shape[0] in (1, 2, 3) else 3.0), TraceError),
    "its lowest bit": (lambda x: x * 2.0 if x.shape[0] & 1 else x, UnsupportedError),
    "its remainder": (lambda x: x * 2.0 if x.shape[0] % 3 else x, UnsupportedError),
    "its remainder, with the quotient": (lambda x: x * divmod(x.shape[0], 2)[1], UnsupportedError),
    "its conversion": (lambda x: x * float(int(x.shape[0])), UnsupportedError),
    "dimensions of one": (lambda x: x.squeeze() + 1.0, UnsupportedError),
}


@pytest.mark.parametrize("what", DEPENDENT)
def test_what_depends_on_a_size_is_refused_before_anything_runs(what: str) -> None:
    function, error = DEPENDENT[what]
    small = eqsat.dim("n", 1, 40)
    with pytest.raises(error):
        eqsat.optimize(function, eqsat.spec((small, 64), "float32"))


def test_decisions_that_bounds_decide_are_fine() -> None:
    for function, expected in ((lambda x: x.shape[0] > 5000, False), (lambda x: x.shape[0] >= 1, True), (lambda x: x.shape[0] < 1, False)):
        result = eqsat.optimize(lambda x, f=function: x * (2.0 if f(x) else 3.0), eqsat.spec((N,), "float32"))
        np.testing.assert_array_equal(result(np.ones(3, "float32")), np.full(3, 2.0 if expected else 3.0))


def test_constants_larger_than_sizes_are_fine() -> None:
    weights = np.random.default_rng(0).uniform(-1, 1, (64, 5000)).astype("float32")
    plan = eqsat.optimize(lambda x: (x @ weights).sum(axis=1), eqsat.spec((eqsat.dim("n", 1, 10), 64), "float32")).compile()
    for n in range(1, 11):
        x = np.ones((n, 64), "float32")
        np.testing.assert_allclose(plan(x), (x @ weights).sum(axis=1), rtol=1e-3, atol=1e-2)


def test_first_rows_within_the_least_size_are_fine() -> None:
    plan = eqsat.optimize(lambda x: x[:5] * 2.0, eqsat.spec((eqsat.dim("n", 5, 100), 3), "float32")).compile()
    for n, x in itertools.product((5, 6, 100), (np.random.default_rng(1).random((100, 3), "float32"),)):
        np.testing.assert_array_equal(plan(x[:n]), x[:5] * 2.0)


def test_remainders_that_python_does_not_let_us_see_are_noticed() -> None:
    """`int.__add__` goes around the operators of a size, as C code may; what comes of it differs between two traces."""
    with pytest.raises(UnsupportedError, match="found another program for other values of n, expected one for all"):
        eqsat.optimize(lambda x: x * float(int.__add__(x.shape[0], 0) % 7 == 0), eqsat.spec((eqsat.dim("n", 1, 40), 4), "float32"))


def test_a_loop_over_a_size_is_told_from_one_that_ends() -> None:
    with pytest.raises(UnsupportedError, match=r"found more than 10,000 operations, where n is known at run time only"):
        eqsat.trace(lambda x: sum(x[k] for k in range(x.shape[0])), eqsat.spec((eqsat.dim("n", 1, 65536),), "float32"))


def test_specs_of_sizes_are_checked() -> None:
    with pytest.raises(UsageError, match=r"found the size n in 0\.\.4, expected 1 or more"):
        eqsat.spec((eqsat.dim("n", 0, 4),), "float32")
    with pytest.raises(UsageError, match="two sizes called n"):
        eqsat.trace(lambda x, y: (x, y), eqsat.spec((eqsat.dim("n", 1, 4),), "float32"), eqsat.spec((eqsat.dim("n", 1, 5),), "float32"))


def test_sizes_that_indices_cannot_hold_are_refused_at_once() -> None:
    for most in (2**62, 2**80):
        with pytest.raises(UnsupportedError, match="found the size n"):
            eqsat.optimize(lambda x: x + 1, eqsat.spec((eqsat.dim("n", 1, most),), "float32"))
    wide = eqsat.spec((eqsat.dim("n", 1, 2**40), eqsat.dim("m", 1, 2**40)), "float32")
    with pytest.raises(UnsupportedError, match="64-bit"):
        eqsat.optimize(lambda x: x + 1, wide).compile()
    assert eqsat.optimize(lambda x: x + 1, eqsat.spec((eqsat.dim("n", 1, 2**55),), "float32")).compile()(np.ones(3, "float32"))[2] == 2


def test_markers_are_primes() -> None:
    found = [n for n in range(3000) if sizes._is_prime(n)]
    assert found == [n for n in range(2, 3000) if all(n % k for k in range(2, n))]
    assert sizes._is_prime(2**61 - 1)
    assert not sizes._is_prime((2**31 - 1) * (2**29 - 3))
