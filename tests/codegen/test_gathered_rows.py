"""Short rows that elements choose are loaded as vectors: the values are NumPy's, and no line of them is gathered number by number."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat import Options

LEVELS = ("exact", "default", "fast")


def places(count: int, rows: int, dtype: str = "int32") -> np.ndarray[Any, Any]:
    found = np.random.default_rng(count).integers(-rows, rows, count).astype(dtype)
    found[:2] = -rows, rows - 1
    return found


def table(rows: int, width: int, dtype: str) -> np.ndarray[Any, Any]:
    return (np.random.default_rng(width).standard_normal((rows, width)) * 100).astype(dtype)


@pytest.mark.parametrize("numerics", LEVELS)
@pytest.mark.parametrize("width", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "int16", "uint8", "complex64", "float16"])
def test_rows_are_numpys(dtype: str, width: int, numerics: Any) -> None:
    x, i, j = table(61, width, dtype), places(1_001, 61), places(1_001, 61, "int64")
    scale = table(1, width, dtype)[0]
    if dtype == "float16":
        x, scale = x / 16, scale / 16

    def program(xp: Any, x: Any, i: Any, j: Any, scale: Any) -> Any:
        rows = xp.take(x, i, axis=0)
        return rows, xp.take(x, j, 0) * scale - rows, xp.take(x, j, axis=0)[::-1] + rows[:, :1]

    result = eqsat.optimize(lambda *args: program(enp, *args), x, i, j, scale, options=Options(numerics=numerics))
    for one, other in zip(result(x, i, j, scale), program(np, x, i, j, scale), strict=True):
        exact = numerics == "exact" or dtype.startswith(("int", "uint"))
        np.testing.assert_allclose(one, other, rtol=0 if exact and dtype != "float16" else 1e-2 if dtype == "float16" else 1e-5, atol=1e-3)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("width", [2, 3, 4])
def test_nothing_is_gathered_number_by_number(dtype: str, width: int) -> None:
    x, i = table(500, width, dtype), places(10_000, 500)
    result = eqsat.optimize(lambda x, i: enp.take(x, i, axis=0) * 2 + 1, x, i)
    kernel = re.search(r"^kernel_0:\n(.*?)^\.Lfunc_end", result.assembly, re.DOTALL | re.MULTILINE)
    assert kernel
    assert "gather" not in kernel[1]
    np.testing.assert_allclose(result(x, i), x[i] * 2 + 1, rtol=1e-6)


def test_places_beyond_the_rows_are_a_message() -> None:
    x, i = table(61, 3, "float32"), places(1_001, 61)
    result = eqsat.optimize(lambda x, i: enp.take(x, i, axis=0), x, i)
    i[500] = 61
    with pytest.raises(IndexError, match="61"):
        result(x, i)


def test_rows_within_rows_and_part_of_rows() -> None:
    x, i = np.random.default_rng(0).random((7, 9, 4)), places(300, 9)
    programs: tuple[Callable[..., Any], ...] = (
        lambda xp, x, i: x[:, :, 1:][2, i],
        lambda xp, x, i: xp.take(x, i, axis=1) * x[:, :1],
        lambda xp, x, i: x[i % 7, i % 9] + x[(i + 3) % 7, i % 9, ::-1],
        lambda xp, x, i: x[3, i, :2] @ x[:2, 0],
        lambda xp, x, i: xp.where(i[:, None] > 2, xp.take(x[0], i, axis=0), 0.0),
        lambda xp, x, i: xp.sum(xp.take(x[0], i, axis=0) ** 2, axis=-1),
    )
    for program in programs:
        np.testing.assert_allclose(eqsat.jit(partial(program, enp))(x, i), program(np, x, i), rtol=1e-12)
