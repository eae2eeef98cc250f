"""Short rows that are made of the one before are carried in registers: the values are NumPy's, in every dtype and of every width."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat import Options
from eqsat.codegen.folds.carried_rows import CarriedRow, carried_row
from eqsat.ir.index import Index, Var
from eqsat.ir.loops import For, Load, Store
from eqsat.ir.tensor import Call, Literal, Scalar
from tests.effort import some

K, J = Var("k", 1, 9), Var("j", 0, 4)


def row(stored: Index, value: Scalar, *more: Store, kind: Any = "serial") -> CarriedRow | None:
    return carried_row(For(K, kind, (For(J, "parallel", (Store("out", stored, value), *more)),)))


def grown(before: Index, by: Scalar | None = None) -> Scalar:
    return Call("add", (Load("out", before, "float32"), by or Load("x", K * 5 + J, "float32")), "float32")


def test_rows_that_are_carried() -> None:
    moving = row(K * 5 + J, grown(K * 5 + J - 5))
    assert moving is not None
    assert not moving.stays
    staying = row(J + 0, grown(J + 0), Store("y", K * 5 + J, Literal(1.0, "float32")))
    assert staying is not None
    assert staying.stays
    assert row(9 * 5 - K * 5 + J, grown(10 * 5 - K * 5 + J)) is not None


def test_others_are_not() -> None:
    assert row(K * 5 + J, grown(K * 5 + J - 10)) is None  # of the row before the last
    assert row(K * 5 + J, grown(K * 5 + J - 4)) is None  # of the neighbour
    assert row(K * 4 + J, grown(K * 4 + J - 4)) is None  # rows that overlap
    assert row(K + J * 10, grown(K + J * 10 - 1)) is None  # no neighbours in memory
    assert row(K * 5 + J, grown(K * 5 + J - 5, Load("out", J + 0, "float32"))) is None  # of another row too
    assert row(K * 5 + J, grown(K * 5 + J - 5, Load("x", K * 50 + J * 10, "float32"))) is None
    assert row(K * 5 + J, grown(K * 5 + J - 5), Store("out", K * 5 + J + 100, Literal(1.0, "float32"))) is None
    assert row(K * 5 + J, grown(K * 5 + J - 5), kind="parallel") is None
    assert row(K * 5 + J, Call("exp", (Load("out", K * 5 + J - 5, "float32"),), "float32")) is None


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "sums": lambda xp, x: xp.cumsum(x, axis=0),
    "products": lambda xp, x: xp.cumprod(x, axis=0),
    "sums of squares": lambda xp, x: xp.cumsum(x * x, axis=0) * 2 + 1,
    "sums from below": lambda xp, x: xp.flip(xp.cumsum(xp.flip(x, 0), 0), 0),
    "sums of planes": lambda xp, x: xp.cumsum(x.reshape(5, 20, -1), axis=1),
}
DTYPES = ("float32", "float64", "int32", "int8", "uint16", "complex64", "float16")


CASES = [(name, dtype, width) for name in PROGRAMS for dtype in DTYPES for width in (2, 3, 7, 16, 33)]


@pytest.mark.parametrize(("name", "dtype", "width"), some(CASES, 4))
def test_programs_equal_numpy(name: str, dtype: str, width: int) -> None:
    x = np.random.default_rng(width).integers(-1 if not dtype.startswith("u") else 0, 2, (100, width)).astype(dtype)
    found = np.asarray(eqsat.jit(lambda x: PROGRAMS[name](enp, x))(x))
    np.testing.assert_allclose(found, PROGRAMS[name](np, x), rtol=1e-2 if dtype == "float16" else 1e-5)


@pytest.mark.parametrize("numerics", ["exact", "default", "fast"])
@pytest.mark.parametrize("width", [3, 8, 20])
def test_infinities_and_nan_stay_in_their_column(width: int, numerics: Any) -> None:
    x = np.random.default_rng(width).standard_normal((50, width)).astype(np.float32)
    if numerics != "fast":
        x[7, 1], x[9, 2], x[11, 0] = np.inf, np.nan, -0.0
    found = eqsat.optimize(lambda x: enp.cumsum(x, axis=0), x, options=Options(numerics=numerics))(x)
    np.testing.assert_allclose(found, np.cumsum(x, axis=0), rtol=1e-5, atol=1e-5)


def test_a_row_is_not_loaded_again() -> None:
    result = eqsat.optimize(lambda x: enp.cumsum(x, axis=0), eqsat.spec((5000, 8), "float64"))
    kernel = re.search(r"^kernel_0:\n(.*?)^\.Lfunc_end", result.assembly, re.DOTALL | re.MULTILINE)
    assert kernel
    assert len(re.findall(r"vmovup[sd]\t-?\d*\(%rsi[^)]*\), %zmm", kernel[1])) == 1  # the first one
