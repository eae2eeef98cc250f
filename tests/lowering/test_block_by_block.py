"""Running sums of long rows in blocks with what they are of and what is made of them: beside NumPy, and which are one kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import eqsat
import eqsat.numpy as enp
from eqsat.kernels import row_chains
from eqsat.lowering.joining.block_by_block import BLOCK
from tests.effort import examples

Array = Any
RNG = np.random.default_rng(0)
SIZES = (2 * BLOCK, 2 * BLOCK + 1, 3 * BLOCK - 1, 5000)

CHAINS: dict[str, Callable[[Any, Array, Array], Array]] = {
    "sums divided": lambda xp, x, y: xp.cumsum(x * y) / xp.cumsum(y),
    "sums of sums": lambda xp, x, y: xp.cumsum(xp.cumsum(x)),
    "from the greatest": lambda xp, x, y: x / xp.maximum.accumulate(x * y) - 1,
    "functions": lambda xp, x, y: xp.exp(-xp.cumsum(xp.log1p(x))),
    "means so far": lambda xp, x, y: xp.cumsum(x) / xp.arange(1, x.shape[0] + 1),
    "a number before": lambda xp, x, y: xp.cumsum(x * y[0]) * y[1],
    "products": lambda xp, x, y: xp.cumprod(1 + x / 1000) * y,
    "least and greatest": lambda xp, x, y: xp.maximum.accumulate(x) - xp.minimum.accumulate(y + x),
    "four sums": lambda xp, x, y: xp.cumsum(x) * xp.cumsum(y) + xp.cumsum(x * x) * xp.cumsum(y * y),
}


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it is estimated to cost."""
    monkeypatch.setattr(row_chains, "FAR", 1e9)
    monkeypatch.setattr(row_chains, "LEAST_SAVED", -1e9)


def compared(function: Callable[[Any, Array, Array], Array], x: Array, y: Array, **options: Any) -> eqsat.Result:
    specs = (eqsat.spec(x.shape, x.dtype.name), eqsat.spec(y.shape, y.dtype.name))
    result = eqsat.optimize(lambda *arrays: function(enp, *arrays), *specs, options=eqsat.Options(**options))
    found, expected = result.compile()(x, y), function(np, x, y)
    assert found.dtype == expected.dtype
    tolerance = 0.0 if expected.dtype.kind in "bi" else 2e-5 if x.dtype.itemsize == 4 else 1e-11
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=100 * tolerance)
    return result


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CHAINS)
def test_chains_are_one_kernel(name: str, dtype: Any) -> None:
    for size in SIZES:
        x, y = (RNG.uniform(0.5, 1.5, size).astype(dtype) for _ in range(2))
        result = compared(CHAINS[name], x, y)
        kernels = [kernel for kernel in result.compile().kernels if not kernel.name.startswith("constant")]
        assert len(kernels) == 1 + (name == "means so far" and len(kernels) == 2), str(result.loops)
        assert "for block in" in str(result.loops)


OF_ROWS: dict[str, Callable[[Any, Array, Array], Array]] = {
    "sums divided": lambda xp, x, y: xp.cumsum(x * y, axis=-1) / xp.cumsum(y, axis=-1),
    "a column": lambda xp, x, y: xp.cumsum(x * y[:, :1], axis=-1) * y[:, 1:2] + y[0],
    "from the greatest": lambda xp, x, y: x - xp.maximum.accumulate(x * y, axis=-1),
    "sums of sums": lambda xp, x, y: xp.cumsum(xp.cumsum(x, axis=-1), axis=-1),
}


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("rows", [2, 3, 17])
@pytest.mark.parametrize("name", OF_ROWS)
def test_rows_are_gone_through_one_after_the_other(name: str, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_chains, "row_by_row", lambda *_, **__: None)
    for size in SIZES:
        x, y = RNG.uniform(0.5, 1.5, (rows, size)), RNG.uniform(0.5, 1.5, (rows, size))
        assert "for block in" in str(compared(OF_ROWS[name], x, y).loops)


def moving(xp: Any, x: Array, width: int) -> Array:
    """A moving average by running sums with a zero in front."""
    c = xp.cumsum(xp.concatenate([xp.zeros((*x.shape[:-1], 1), x.dtype), x], axis=-1), axis=-1)
    return (c[..., width:] - c[..., :-width]) / width


WINDOWS: dict[str, Callable[[Any, Array, int], Array]] = {
    "moving averages": moving,
    "differences": lambda xp, x, width: xp.cumsum(x, axis=-1)[..., width:] - xp.cumsum(x, axis=-1)[..., :-width],
    "three places": lambda xp, x, width: (lambda c: c[..., 2 * width :] - 2 * c[..., width:-width] + c[..., : -2 * width])(
        xp.cumsum(x * x, axis=-1)
    ),
    "two sums": lambda xp, x, width: xp.cumsum(x * x, axis=-1)[..., width:] - xp.cumsum(x, axis=-1)[..., :-width] ** 2,
    "later ones": lambda xp, x, width: xp.cumsum(x, axis=-1)[..., width:] * 2.0,
}


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("name", WINDOWS)
def test_windows_of_running_sums_are_read_in_blocks(name: str, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_chains, "row_by_row", lambda *_, **__: None)
    for width, size in ((1, 1025), (3, 1500), (63, 2048), (64, 2049), (65, 1700), (200, 3000), (300, 5000), (1000, 9001)):
        x = RNG.uniform(0.5, 1.5, (rows, size) if rows > 1 else size)

        def function(xp: Any, x: Array, _: Array, width: int = width) -> Array:
            return WINDOWS[name](xp, x, width)

        result = compared(function, x, x[..., :1].copy())
        assert "for block in" in str(result.loops) or width > 600, (width, str(result.loops))


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("numerics", ["exact", "default", "fast"])
def test_every_mode_of_numerics_is_close(numerics: Any) -> None:
    x, y = (RNG.uniform(0.5, 1.5, 3000) for _ in range(2))
    compared(CHAINS["sums divided"], x, y, numerics=numerics)


@pytest.mark.usefixtures("always")
def test_integers_and_truth_values() -> None:
    x, y = RNG.integers(-9, 9, 3001), RNG.integers(-9, 9, 3001)
    result = compared(lambda xp, x, y: xp.where(x > 0, xp.cumsum(x > 0) - 1, -1), x, y)
    assert "for block in" in str(result.loops)
    compared(lambda xp, x, y: xp.logical_or.accumulate(x * y == 64) & (y > 2), x, y)
    compared(lambda xp, x, y: xp.cumsum(x * y) % 7, x, y)


@pytest.mark.usefixtures("always")
def test_values_that_are_not_finite_and_zeros_below_zero() -> None:
    def folded(xp: Any, x: Array, y: Array) -> Array:
        return xp.copysign(1.0, xp.cumsum(x * 1.0)) + xp.maximum.accumulate(y * 1.0)

    x = RNG.standard_normal(3000)
    y = x.copy()
    x[1700:], y[700] = 0.0, np.nan
    for first in (np.zeros(3000) * -1.0, np.full(3000, -np.inf), x):
        function = eqsat.jit(lambda x, y: folded(enp, x, y))
        expected = folded(np, first, y)
        np.testing.assert_array_equal(function(first, y), expected)


def test_short_rows_and_other_elements_are_no_blocks() -> None:
    x, y = RNG.random(BLOCK + 5), RNG.random(BLOCK + 5)
    assert "for block in" not in str(compared(CHAINS["sums divided"], x, y).loops)
    x, y = RNG.random(200_000), RNG.random(200_000)
    assert "for block in" in str(compared(CHAINS["sums divided"], x, y).loops)
    for other in (
        lambda xp, x, y: xp.cumsum(x)[::-1] * y,
        lambda xp, x, y: xp.cumsum(x)[5:] - xp.cumsum(x)[:-5],
        lambda xp, x, y: xp.cumsum(x[::-1] * y),
        lambda xp, x, y: xp.cumsum(x) / xp.cumsum(x)[-1],
    ):
        compared(other, x, y)


def test_what_stays_is_stored() -> None:
    x, y = RNG.random(200_000), RNG.random(200_000)
    totals, means = eqsat.jit(lambda x, y: (t := enp.cumsum(x * y), t / enp.cumsum(y)))(x, y)
    np.testing.assert_allclose(totals, np.cumsum(x * y), rtol=1e-11)
    np.testing.assert_allclose(means, np.cumsum(x * y) / np.cumsum(y), rtol=1e-11)


@st.composite
def chains(draw: st.DrawFn) -> Callable[[Any, Array, Array], Array]:
    """Running folds of elements and of each other, and elements of them."""
    steps = draw(
        st.lists(st.tuples(st.sampled_from(["sum", "max", "min", "+", "-", "*", "where", "shift"]), st.integers(0, 9)), max_size=7)
    )

    def chain(xp: Any, x: Array, y: Array) -> Array:
        known = [x, y]
        for what, at in steps:
            one, other = known[at % len(known)], known[(at + 1) % len(known)]
            if what == "sum":
                made = xp.cumsum(one) / 64
            elif what in ("max", "min"):
                extremum: Any = xp.maximum if what == "max" else xp.minimum
                made = extremum.accumulate(one)
            elif what == "where":
                made = xp.where(one > other, one, -other)
            elif what == "shift":
                made = xp.roll(one, at)
            else:
                made = one + other if what == "+" else one - other if what == "-" else one * other / 8
            known.append(made)
        return known[-1] + known[len(known) // 2]

    return chain


@pytest.mark.usefixtures("always")
@settings(max_examples=examples(12), deadline=None)
@given(chains(), st.sampled_from(SIZES), st.integers(0, 2**32 - 1))
def test_random_chains_are_what_they_are_in_numpy(chain: Callable[[Any, Array, Array], Array], size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(-1, 1, size), rng.uniform(-1, 1, size)
    found, expected = eqsat.jit(lambda *arrays: chain(enp, *arrays))(x, y), chain(np, x, y)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * max(1.0, float(np.abs(expected).max())))
