"""Loops of Python that put what they make at places of arrays, one after the other, as loops again: the same values, and one body."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import eqsat
import eqsat.numpy as enp
from eqsat.operations.assignment import at_known_place, setitem
from tests.effort import examples
from tests.eqsat.test_rolled import loops

Array = Any
RNG = np.random.default_rng(0)
X, ROWS = RNG.random(60), RNG.random((40, 3))


def smoothed(xp: Any, x: Array) -> Array:
    """Every step reads what the one before it put."""
    y = xp.empty_like(x)
    y[0] = x[0]
    for i in range(1, x.shape[0]):
        y[i] = 0.1 * x[i] + 0.9 * y[i - 1]
    return y


def backwards(xp: Any, x: Array) -> Array:
    n = x.shape[0]
    y = xp.zeros_like(x)
    y[n - 1] = x[n - 1]
    for i in range(n - 2, -1, -1):
        y[i] = x[i] + 0.5 * y[i + 1]
    return y


def two_back(xp: Any, x: Array) -> Array:
    y = x.copy()
    for i in range(2, x.shape[0]):
        y[i] = 0.5 * y[i - 1] + 0.3 * y[i - 2] + x[i]
    return y


def with_a_state(xp: Any, x: Array) -> Array:
    """A number goes on beside the array, which has another dtype."""
    y, s = xp.zeros(x.shape, "float64"), x[0]
    for i in range(x.shape[0]):
        s = xp.where(x[i] > s, 0.5 * (s + x[i]), s)
        y[i] = s
    return y


def rows(xp: Any, x: Array) -> Array:
    y = xp.zeros((x.shape[0] + 1, x.shape[1]))
    for i in range(x.shape[0]):
        y[i + 1] = 0.9 * y[i] + x[i] * xp.sum(y[i])
    return y


def columns(xp: Any, x: Array) -> Array:
    y = xp.ones((3, x.shape[0]))
    for i in range(1, x.shape[0]):
        y[:, i] = y[:, i - 1] * x[i] + 0.1
    return y


def two_arrays(xp: Any, x: Array) -> Array:
    y, z = xp.zeros_like(x), xp.zeros_like(x)
    for i in range(1, x.shape[0]):
        y[i] = x[i] + 0.5 * z[i - 1]
        z[i] = y[i] - 0.5 * y[i - 1]
    return y - z


def one_row(xp: Any, x: Array) -> Array:
    """A number of the places stays."""
    y = xp.zeros((4, x.shape[0]))
    for i in range(1, x.shape[0]):
        y[2, i] = y[2, i - 1] * 0.5 + x[i]
    return y


def every_other(xp: Any, x: Array) -> Array:
    y = x * 2
    for i in range(x.shape[0] // 2 - 1):
        y[2 * i + 2] += 0.25 * y[2 * i]
    return y


def turned_round(xp: Any, x: Array) -> Array:
    n = x.shape[0]
    y = x.copy()
    for i in range(n):
        y[i] = y[i] + y[n - 1 - i]
    return y


PUTS: dict[str, tuple[Callable[..., Any], Array]] = {
    "smoothed": (smoothed, X),
    "backwards": (backwards, X),
    "two back": (two_back, X),
    "with a state": (with_a_state, X.astype(np.float32)),
    "rows": (rows, ROWS),
    "columns": (columns, X),
    "two arrays": (two_arrays, X),
    "one row": (one_row, X),
    "every other": (every_other, X),
    "turned round": (turned_round, X),
    "integers": (two_back, RNG.integers(0, 50, 60)),
}


@pytest.mark.parametrize("name", PUTS)
def test_what_is_put_one_after_the_other_is_a_loop(name: str) -> None:
    function, x = PUTS[name]
    if x.dtype.kind == "i":
        with np.errstate(all="ignore"):
            expected = function(np, x)
    else:
        expected = function(np, x)
    result = eqsat.optimize(lambda x: function(enp, x), x)
    np.testing.assert_allclose(result(x), expected, rtol=1e-6 if x.dtype == np.float32 else 1e-12)
    assert len(loops(result)) == 1, str(result.program)
    assert loops(result)[0] >= min(x.shape[0], 29) - 4


def test_long_ones_are_compiled_in_seconds() -> None:
    x = RNG.random(600)
    result = eqsat.optimize(lambda x: smoothed(enp, x), x)
    np.testing.assert_allclose(result(x), smoothed(np, x), rtol=1e-12)
    assert loops(result)[0] >= 590


def test_what_was_put_is_read_off_the_tensor() -> None:
    shapes = ((4, 5), (), (4,), (5,))
    a, number, column, row = eqsat.trace(lambda *given: given, *(eqsat.spec(shape, "float64") for shape in shapes)).inputs
    puts: list[tuple[Any, Any, tuple[int | None, int | None]]] = [
        ((1, 2), number, (1, 2)),
        ((0, 4), number, (0, 4)),
        ((slice(None), 3), column, (None, 3)),
        (3, row, (3, None)),
    ]
    for key, value, places in puts:
        found = at_known_place(setitem(a, key, value))
        assert found is not None
        assert found.of is a
        assert found.places == places
    others: list[Any] = [(slice(1, 3), 2), (slice(2, None), slice(None)), (slice(None, None, 2), 1), (slice(None), 3)]
    assert all(at_known_place(setitem(a, key, number)) is None for key in others)


def edit_distance(xp: Any, a: Array, b: Array) -> Array:
    """Every row reads the letters that the first one read."""
    n, m = a.shape[0], b.shape[0]
    table = xp.zeros((n + 1, m + 1), "int64")
    table[0, :], table[:, 0] = np.arange(m + 1), np.arange(n + 1)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            replaced = table[i - 1, j - 1] + (a[i - 1] != b[j - 1])
            table[i, j] = xp.minimum(xp.minimum(table[i - 1, j] + 1, table[i, j - 1] + 1), replaced)
    return table


def test_a_table_is_a_loop_for_each_row() -> None:
    a, b = RNG.integers(0, 3, 3), RNG.integers(0, 3, 14)
    result = eqsat.optimize(lambda a, b: edit_distance(enp, a, b), a, b)
    np.testing.assert_array_equal(result(a, b), edit_distance(np, a, b))
    assert len(loops(result)) == 3
    assert min(loops(result)) >= 10


@st.composite
def recurrences(draw: st.DrawFn) -> Callable[[Any, Array], Array]:
    """Steps that read and put at places that go on, in one array or two."""
    count = draw(st.integers(9, 14))
    offset = st.integers(0, 3)
    steps = draw(
        st.lists(st.tuples(st.sampled_from("yz"), st.sampled_from((1, -1)), offset, offset, st.booleans()), min_size=1, max_size=3)
    )

    def program(xp: Any, x: Array) -> Array:
        known = {"y": x * 1.0, "z": xp.roll(x, 3)}
        total = x[0]
        for i in range(count):
            for name, direction, put, read, adds in steps:
                at = i + put if direction == 1 else count - 1 - i + put
                other = known["z" if name == "y" else "y"]
                value = 0.5 * known[name][abs(at - read)] + 0.25 * other[i + read] - 0.1 * total
                if adds:
                    known[name][at] += value
                else:
                    known[name][at] = value
            total = 0.5 * total + known["y"][i] * 0.1
        return known["y"] + known["z"] * total

    return program


@given(recurrences())
@settings(max_examples=examples(10), deadline=None)
def test_random_recurrences_are_what_they_are_in_numpy(program: Callable[[Any, Array], Array]) -> None:
    x = X[:20]
    result = eqsat.optimize(lambda x: program(enp, x), x)
    np.testing.assert_allclose(result(x), program(np, x), rtol=1e-9, atol=1e-9)
