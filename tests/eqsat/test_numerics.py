"""What each level of `numerics` may change: rounding, contraction, infinities, NaN and the sign of zero, on named programs."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.extraction.kernel_choice import SHOWING
from eqsat.ir.errors import InternalError
from eqsat.ir.ops import COMPLEX_OPS, SCALAR_OPS
from eqsat.options import Numerics
from eqsat.pricing.target import DEFAULT_TARGET
from eqsat.result import Result
from tests.effort import examples, some
from tests.eqsat.kernel_programs import PROGRAMS, arrays
from tests.eqsat.test_algebra import CASES, Function, data

Array = np.ndarray[Any, Any]
SPECIAL = (np.inf, -np.inf, np.nan, -0.0, 0.0, 1e-42, 3e38, -3e38)
# where a kernel costs nothing, algebra pays for small arrays too
CHEAP_KERNELS = replace(DEFAULT_TARGET, launch_ns=0.0)


def special(arrays: list[Array], seed: int) -> list[Array]:
    """The arrays with a few special values at random places, of complex numbers in either part."""
    rng = np.random.default_rng(seed)
    changed = [array.copy() for array in arrays]
    for array in changed:
        parts = array.reshape(-1).view(array.real.dtype)
        places = rng.integers(0, parts.size, 2)
        parts[places] = rng.choice(SPECIAL, 2)
    return changed


def as_written(function: Callable[..., Any], given: list[Array]) -> Result:
    """The program kernel by kernel, in the order of its operations, float32 sums carried in float64."""
    return eqsat.optimize(function, *given, options=eqsat.Options(rules=(), numerics="exact"))


def assert_special_values_equal(found: Array, expected: Array) -> None:
    """NaN and infinities stand in the same places."""
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_array_equal(np.isposinf(found), np.isposinf(expected))
    np.testing.assert_array_equal(np.isneginf(found), np.isneginf(expected))


ALGEBRA = [name for name, (_, _, rows) in CASES.items() if rows - {"constant-is-function"}]


@pytest.mark.parametrize(("name", "numerics"), some(itertools.product(ALGEBRA, ["exact", "default"]), 5))
def test_algebra_gives_the_special_values_of_the_program_as_written(name: str, numerics: Numerics) -> None:
    function, shapes, _ = CASES[name]
    plain = data(shapes, "float32", 0)
    written = as_written(function, plain)
    optimized = eqsat.optimize(function, *plain, options=eqsat.Options(numerics=numerics, target=CHEAP_KERNELS))
    for seed in range(12):
        given = special(data(shapes, "float32", seed), seed)
        expected, found = np.asarray(written(*given)), np.asarray(optimized(*given))
        if np.abs(np.concatenate([array[np.isfinite(array)] for array in given])).max() < 1e30:
            assert_special_values_equal(found, expected)


PARTS: dict[str, Function] = {"all": lambda z: z, "real": lambda z: z.real, "imag": lambda z: z.imag, "absolute": abs}


@pytest.mark.parametrize(("name", "part"), some(itertools.product(ALGEBRA, PARTS), 7))
def test_algebra_of_complex_numbers_shows_what_is_not_finite(name: str, part: str) -> None:
    """Also where only a part is looked at."""
    function, shapes, _ = CASES[name]
    plain = data(shapes, "complex64", 0)

    def program(*args: Any) -> Any:
        return PARTS[part](function(*args))

    written = as_written(program, plain)
    optimized = eqsat.optimize(program, *plain, options=eqsat.Options(target=CHEAP_KERNELS))
    for seed in range(12):
        given = special(data(shapes, "complex64", seed), seed)
        if np.abs(np.concatenate([array[np.isfinite(array)] for array in given])).max() < 1e30:
            expected, found = np.asarray(written(*given)), np.asarray(optimized(*given))
            np.testing.assert_array_equal(np.isfinite(found), np.isfinite(expected))
            finite = np.isfinite(expected)
            np.testing.assert_allclose(found[finite], expected[finite], rtol=1e-5, atol=1e-5)


def test_some_of_these_programs_are_checked_and_some_need_no_check() -> None:
    taken = 0
    for name in some(ALGEBRA, 2):
        function, shapes, _ = CASES[name]
        result = eqsat.optimize(function, *data(shapes, "float32"), options=eqsat.Options(target=CHEAP_KERNELS))
        taken += bool(result.finite)
        assert not eqsat.optimize(function, *data(shapes, "int32"), options=eqsat.Options(target=CHEAP_KERNELS)).finite
        assert not eqsat.optimize(function, *data(shapes, "float32"), options=eqsat.Options(target=CHEAP_KERNELS, numerics="fast")).finite
    assert taken >= examples(8, 2, 4)


@pytest.mark.parametrize(("name", "numerics"), some(itertools.product(PROGRAMS, ["exact", "default"]), 5))
def test_fusion_gives_the_special_values_of_the_program_as_written(name: str, numerics: Numerics) -> None:
    named = PROGRAMS[name]
    plain = arrays(named)
    written = as_written(named.function, plain)
    optimized = eqsat.optimize(named.function, *plain, options=eqsat.Options(numerics=numerics))
    for seed in range(3):
        given = [np.where(np.abs(array) > 1e30, 1.0, array).astype("float32") for array in special(plain, seed)]
        assert_special_values_equal(np.asarray(optimized(*given)), np.asarray(written(*given)))


HUGE = np.full((6, 6), 1e250)
SCALED: dict[str, tuple[Function, tuple[Array, ...]]] = {
    "coefficients that vanish together": (lambda a, b, v: (((a @ b) * 1e-200 @ v) * 1e-200) * 1e200, (HUGE, HUGE / 1e250, HUGE[0])),
    "coefficients that are infinite together": (lambda a, v: ((a * 1e-200 @ v) * 1e-200) / 1e-300, (HUGE, HUGE[0])),
    "infinite products times zero": (lambda x: np.eye(6) @ (x * x), (HUGE,)),
    "two orders of one chain": (lambda a, b, v: ((a @ b) @ v, a @ (b @ v)), (HUGE, HUGE, HUGE[0] / 1e250 / 1e250)),
    "a constant on both sides": (lambda x: np.eye(6) @ x @ np.eye(6), (HUGE,)),
    "a constant with NaN": (lambda x: np.triu(np.full((6, 6), np.nan)) @ x, (HUGE,)),
}


@pytest.mark.parametrize("numerics", ["exact", "default"])
@pytest.mark.parametrize("name", SCALED)
def test_numbers_between_may_be_infinite_or_vanish(name: str, numerics: Numerics) -> None:
    function, given = SCALED[name]
    with np.errstate(all="ignore"):
        expected = function(*given)
    found = eqsat.optimize(function, *given, options=eqsat.Options(numerics=numerics, target=CHEAP_KERNELS))(*given)
    outputs, wanted = (values if isinstance(values, tuple) else (values,) for values in (found, expected))
    for one, other in zip(outputs, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("op", SHOWING)
def test_an_operation_that_shows_what_is_not_finite_does_so_beside_any_operand(op: str) -> None:
    others = np.array([0.0, -0.0, 1.0, -2.5, 1e300, np.inf, -np.inf, np.nan])
    for position in SHOWING[op]:
        for value in (np.inf, -np.inf, np.nan):
            operands = [others] * SCALAR_OPS[op].arity
            operands[position] = np.full_like(others, value)
            with np.errstate(all="ignore"):
                assert not np.isfinite(SCALAR_OPS[op].meaning(*operands)).any()


@pytest.mark.parametrize("op", sorted(set(SHOWING) & COMPLEX_OPS))
def test_an_operation_shows_that_either_part_of_a_complex_number_is_not_finite(op: str) -> None:
    parts = (0.0, -0.0, 1.0, -2.5, 1e300, np.inf, -np.inf, np.nan)
    others = np.array([complex(real, imag) for real in parts for imag in parts])
    for position in SHOWING[op]:
        for value in others[~np.isfinite(others)]:
            operands = [others] * SCALAR_OPS[op].arity
            operands[position] = np.full_like(others, value)
            with np.errstate(all="ignore"):
                assert not np.isfinite(SCALAR_OPS[op].meaning(*operands)).any()


@pytest.mark.parametrize(
    ("special", "numerics", "mode"), some(itertools.product([np.inf, np.nan], ["exact", "default"], ["full", "same", "valid"]), 5)
)
def test_what_is_not_finite_counts_only_where_vectors_overlap(mode: str, numerics: Numerics, special: float) -> None:
    """Zeros beside the longer vector would make it NaN elsewhere too."""
    options = eqsat.Options(numerics=numerics)
    longer, shorter = np.arange(1.0, 8.0), np.array([1.0, special, 2.0, 3.0])
    functions: tuple[Callable[..., Any], ...] = (np.convolve, np.correlate)
    for first, second in ((longer, shorter), (shorter, longer)):
        for function in functions:
            found = eqsat.jit(lambda a, b, function=function: function(a, b, mode), options=options)(first, second)
            np.testing.assert_array_equal(found, function(first, second, mode))


@pytest.mark.parametrize("power", ["exp", "exp2"])
@pytest.mark.parametrize("axis", [0, 1, None])
def test_the_greatest_of_a_softmax_of_products_is_one(power: str, axis: int | None) -> None:
    """As one operation with the product that is taken from the greatest, which is rounded, exponents were more than zero: up to 3.5."""

    def softmax(x: Any, y: Any) -> Any:
        v = x * x * y
        return getattr(enp, power)(v - enp.max(v, axis=axis, keepdims=True))

    rng = np.random.default_rng(3)
    x, y = (1000 * rng.standard_normal((40, 30))).astype("float32"), rng.standard_normal((40, 30)).astype("float32")
    for numerics in ("exact", "default"):
        found = eqsat.optimize(softmax, x, y, options=eqsat.Options(numerics=numerics))(x, y)
        assert np.array_equal(found.max(axis=axis), np.ones_like(found.max(axis=axis)))


EDGES: dict[str, Callable[[Any, Any], Any]] = {
    "with a temperature": lambda x, y: enp.exp((x * y - enp.max(x * y, axis=1, keepdims=True)) / 8),
    "the other way round": lambda x, y: enp.exp(-(enp.max(x * y, axis=1, keepdims=True) - x * y)),
    "limited": lambda x, y: enp.exp(enp.minimum(x * y - enp.max(x * y, axis=1, keepdims=True), 100)),
    "a power": lambda x, y: enp.power(2.5, x * y - enp.max(x * y, axis=1, keepdims=True)),
}


@pytest.mark.parametrize("name", EDGES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_greatest_of_its_relatives_is_one_too(name: str, dtype: str) -> None:
    x = (10 * np.random.default_rng(0).standard_normal((100, 300))).astype(dtype)
    found = eqsat.optimize(EDGES[name], x, x[::-1].copy())(x, x[::-1].copy())
    assert np.array_equal(found.max(axis=1), np.ones_like(found[:, 0]))


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: enp.sqrt(enp.max(x * y, axis=1, keepdims=True) - x * y),
        lambda x, y: enp.sqrt(x * y - enp.min(x * y, axis=0)),
        lambda x, y: enp.sqrt(x * x - y * y),
        lambda x, y: enp.log(x * y - enp.min(x * y, axis=0) + 0.0),
    ],
)
def test_what_is_zero_is_not_less(function: Any) -> None:
    """Square roots of x * x - y * y were NaN where they are equal."""
    x = (10 * np.random.default_rng(0).standard_normal((100, 300))).astype("float32")
    with np.errstate(divide="ignore"):
        for y in (x[::-1].copy(), x.copy()):
            exact = eqsat.optimize(function, x, y, options=eqsat.Options(numerics="exact"))(x, y)
            assert np.array_equal(np.isnan(eqsat.optimize(function, x, y)(x, y)), np.isnan(exact))


STEPS: dict[str, Callable[..., Any]] = {
    "cast": lambda xp, x: xp.astype(x, "uint8") if xp is enp else x.astype("uint8"),
    "floor": lambda xp, x: xp.floor(x),
    "ceil": lambda xp, x: xp.ceil(x),
    "rint": lambda xp, x: xp.rint(x),
    "remainder": lambda xp, x: xp.remainder(x, np.float32(5)),
}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("share", [0.1, 1 / 3, 0.7])
def test_what_goes_in_steps_steps_where_numpy_does(name: str, share: float) -> None:
    """A blend of two equal bytes is that byte: with a product that is not rounded it would be a little less, and one less as a byte."""
    a, b = (side.reshape(-1).astype(np.uint8) for side in np.meshgrid(np.arange(256), np.arange(256)))
    t = np.float32(share)

    def blended(xp: Any, a: Any, b: Any) -> Any:
        return STEPS[name](xp, a * (np.float32(1) - t) + b * t)

    np.testing.assert_array_equal(np.asarray(eqsat.jit(lambda a, b: blended(enp, a, b))(a, b)), blended(np, a, b))


@pytest.mark.parametrize("error", [InternalError, ValueError])
def test_a_step_that_refuses_what_is_not_finite_is_no_fault_of_ours(error: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the program is computed without algebra; an illegal term of ours is told."""

    def refuses(*arguments: Any) -> None:
        raise error("refused")

    found = []
    for name in ALGEBRA:
        function, shapes, _ = CASES[name]
        result = eqsat.optimize(function, *data(shapes, "float32"), options=eqsat.Options(target=CHEAP_KERNELS))
        if result.finite:
            found.append((result.compile(), data(shapes, "float32")))
            break
    ((plan, given),) = found
    expected = plan.run(given)
    monkeypatch.setattr(plan, "_launches", ((refuses, *plan._launches[0][1:]),))
    if error is InternalError:
        with pytest.raises(InternalError, match="refused"):
            plan.run(given)
    else:
        np.testing.assert_allclose(plan.run(given)[0], expected[0], rtol=1e-4)
