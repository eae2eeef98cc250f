"""Elements at computed places: the values are NumPy's for places of any dtype, and what is gathered are vectors."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.codegen.llvm.machine import host
from eqsat.ir.errors import EqsatError

Array = np.ndarray[Any, Any]
NARROW = ("uint8", "int8", "bool", "uint16", "int16", "float16")
DTYPES = (*NARROW, "int32", "float32", "int64", "float64", "complex64")
PLACES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
needs_gathers = pytest.mark.skipif(not host().abilities.masks, reason="gathers as vectors need AVX-512")


def table(shape: int | tuple[int, ...], dtype: str) -> Array:
    return np.random.default_rng(7).integers(0, 2 if dtype == "bool" else 120, shape).astype(dtype)


def places(shape: int | tuple[int, ...], count: int, dtype: str) -> Array:
    """Places of an array of so many elements, both ends of what is allowed among them."""
    info = np.iinfo(dtype)
    least, last = max(-count, int(info.min)), min(count - 1, int(info.max))
    found = np.random.default_rng(count).integers(least, last + 1, shape)
    found.reshape(-1)[:4] = least, last, 0, last
    return found.astype(dtype)


def gathers(function: Any, *arrays: Array) -> set[str]:
    """The instructions that gather, of the machine code of a function."""
    return set(re.findall(r"\bvp?gather\w+", eqsat.optimize(function, *arrays).assembly))


@pytest.mark.parametrize("count", [5, 127, 300, 1_000, 70_000])
@pytest.mark.parametrize("at", PLACES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_are_numpys(dtype: str, at: str, count: int) -> None:
    values, chosen = table(count, dtype), places(1_003, count, at)
    np.testing.assert_array_equal(eqsat.optimize(lambda x, i: x[i], values, chosen)(values, chosen), values[chosen])


@pytest.mark.parametrize("at", PLACES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_tables_of_two_axes(dtype: str, at: str) -> None:
    values, rows, columns = table((300, 411), dtype), places((9, 111), 300, at), places((9, 111), 411, at)
    result = eqsat.optimize(lambda x, i, j: (x[i, j], x[i[:, :1], j], x[:, j[0]]), values, rows, columns)
    for one, expected in zip(
        result(values, rows, columns), (values[rows, columns], values[rows[:, :1], columns], values[:, columns[0]]), strict=True
    ):
        np.testing.assert_array_equal(one, expected)


@pytest.mark.parametrize("at", ["int8", "uint8", "int16", "int64"])
@pytest.mark.parametrize("dtype", NARROW)
def test_the_last_elements_of_short_tables(dtype: str, at: str) -> None:
    """Nothing is loaded behind a table, and none is too short to be looked at in parts."""
    for rows in (1, 2, 3):
        values, chosen = table((rows, 517), dtype), places(100, 517, at)
        for first in (0, 1):
            own = values.reshape(-1)[first:].copy()
            np.testing.assert_array_equal(eqsat.optimize(lambda x, i: x[i], own, chosen % 100)(own, chosen % 100), own[chosen % 100])
        np.testing.assert_array_equal(eqsat.optimize(lambda x, i: x[:, i], values, chosen)(values, chosen), values[:, chosen])


@pytest.mark.parametrize("at", PLACES)
def test_what_is_beside_and_folded(at: str) -> None:
    small, halves = table(1_000, "int8"), table(1_000, "float16")
    chosen, weights = places((70, 99), 1_000, at), table((70, 99), "float32")

    def function(xp: Any, x: Any, h: Any, i: Any, w: Any) -> Any:
        return x[i].astype("float32") * w + 1, xp.sum(x[i], axis=1, dtype="int64"), xp.max(h[i], axis=1), xp.where(x[i] > 60, w, 0)

    found = eqsat.optimize(lambda *args: function(enp, *args), small, halves, chosen, weights)(small, halves, chosen, weights)
    for one, expected in zip(found, function(np, small, halves, chosen, weights), strict=True):
        np.testing.assert_array_equal(one, expected)


@pytest.mark.parametrize("terms", [15, 16, 20, 21, 27, 40, 41, 63])
@pytest.mark.parametrize("at", ["uint8", "int16", "int64"])
def test_short_sums_of_gathered_elements(at: str, terms: int) -> None:
    values, chosen = table(700, "float32"), places((50, terms), 700, at)
    levels: tuple[Any, ...] = ("exact", "default", "fast")
    for numerics in levels:
        options = eqsat.Options(numerics=numerics)
        found = eqsat.optimize(lambda x, i: enp.sum(x[i], axis=1), values, chosen, options=options)(values, chosen)
        np.testing.assert_array_equal(found, values[chosen].sum(axis=1))


@pytest.mark.parametrize("at", PLACES)
@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32"])
def test_places_beyond_an_array_are_a_message(dtype: str, at: str) -> None:
    values, info = table(100, dtype), np.iinfo(at)
    for wrong in {int(info.max), int(info.min), 100, -101} - set(range(-100, 100)):
        if info.min <= wrong <= info.max:
            chosen = np.full(40, 3, at)
            chosen[17] = wrong
            with pytest.raises((IndexError, EqsatError)):
                eqsat.optimize(lambda x, i: x[i], values, chosen)(values, chosen)


@needs_gathers
@pytest.mark.parametrize("at", ["int8", "uint8", "int16", "int32"])
def test_floats_are_gathered_by_32_bits(at: str) -> None:
    values, chosen = table(70_000, "float32"), places(5_000, 70_000, at)
    assert gathers(lambda x, i: x[i], values, chosen) == {"vgatherdps"}
    assert gathers(lambda x, i: x[i] * 2 + 1, values, chosen) == {"vgatherdps"}


@needs_gathers
@pytest.mark.parametrize("at", ["uint8", "int16", "int32", "int64"])
@pytest.mark.parametrize("dtype", NARROW)
def test_narrow_elements_are_gathered(dtype: str, at: str) -> None:
    values, chosen = table(70_000, dtype), places(5_000, 70_000, at)
    assert any(name.startswith("vpgather") for name in gathers(lambda x, i: x[i], values, chosen))


@needs_gathers
@pytest.mark.parametrize("terms", [16, 27, 40])
def test_short_sums_are_vectors(terms: int) -> None:
    values, chosen = table(70_000, "float32"), places((900, terms), 70_000, "uint8")
    assert gathers(lambda x, i: enp.sum(x[i], axis=1), values, chosen) == {"vgatherdps"}


@needs_gathers
def test_an_iteration_that_waits_for_the_one_before_loads_its_element_alone() -> None:
    values, letters = table((200, 50), "uint8"), table(5_000, "uint8")

    def last(x: Any, i: Any) -> Any:
        return eqsat.fori(5_000, lambda k, state: x[state.astype("int64"), i[k] % 50], x[0, 0])

    result = eqsat.optimize(last, values, letters)
    assert not re.search(r"\bvpgather", result.assembly)
    state = values[0, 0]
    for letter in letters:
        state = values[state, letter % 50]
    assert result(values, letters) == state


@needs_gathers
def test_what_lies_side_by_side_is_not_gathered() -> None:
    values, chosen = table((5_000, 27), "uint8"), places(900, 5_000, "int64")
    assert not gathers(lambda x, i: x[i], values, chosen)
