"""A stored tensor in another shape is made in that shape, where nothing else reads it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.ir.index import Var
from eqsat.ir.loops import Buffer, For, Kernel, Load, Store
from eqsat.kernels.copies import copied

RNG = np.random.default_rng(6)
PLACES = RNG.integers(0, 13, 20)


def repeated(x: Any) -> Any:
    """Chosen rows, repeated in an axis between: the last reshape is not simplified into the places."""
    return enp.repeat(enp.take(x, PLACES, 0), 3, 2)


def test_a_reshape_of_a_stored_tensor_is_no_kernel() -> None:
    x = RNG.standard_normal((13, 4, 32, 8)).astype("float32")
    result = eqsat.optimize(lambda a: repeated(a).reshape(16, -1, 8), x)
    assert not any(copied(nest.kernel) for nest in result.nests)
    np.testing.assert_array_equal(result(x), np.repeat(x[PLACES], 3, 2).reshape(16, -1, 8))
    assert float(result.cost) < float(result.original_cost)


def test_values_put_into_rows_are_put_into_what_is_returned() -> None:
    x, places = RNG.standard_normal((8, 400)), RNG.integers(-400, 400, (8, 16))

    def put(a: Any, k: Any) -> Any:
        y, rows = a.copy(), np.arange(8)[:, None]
        y[rows, k] = a[rows, k] * 2.0
        return y

    result = eqsat.optimize(put, x, places)
    assert not any(copied(nest.kernel) for nest in result.nests)
    assert not any("%" in str(nest.kernel) for nest in result.nests)  # rows and places in them are one place
    np.testing.assert_array_equal(result(x, places), put(x, places))


def test_what_others_read_stays() -> None:
    x = RNG.standard_normal((13, 4, 32, 8)).astype("float32")

    def both(a: Any) -> Any:
        y = repeated(a)
        return y, y.reshape(16, -1, 8), y.reshape(16, -1, 8).sum(axis=1)

    result = eqsat.optimize(both, x)
    y = np.repeat(x[PLACES], 3, 2)
    for found, expected in zip(result(x), (y, y.reshape(16, -1, 8), y.reshape(16, -1, 8).sum(axis=1)), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


ROW, LANE = Var("i", 0, 3), Var("j", 0, 4)
BUFFERS = (Buffer("a", "float32", 20, "in"), Buffer("b", "float32", 20, "out"))
PLACE = ROW * 5 + LANE


@pytest.mark.parametrize(
    ("store", "is_copy"),
    [
        (Store("b", PLACE, Load("a", PLACE, "float32")), True),
        (Store("b", PLACE, Load("a", LANE * 4 + ROW, "float32")), False),
        (Store("b", PLACE, Load("a", PLACE, "float32"), "sum"), False),
    ],
)
def test_copies_are_told(store: Store, is_copy: bool) -> None:
    def kernel(*body: Any, buffers: tuple[Buffer, ...] = BUFFERS) -> Kernel:
        return Kernel("k", buffers, (For(ROW, "parallel", (For(LANE, "parallel", body),)),))

    assert copied(kernel(store)) == ("a" if is_copy else None)
    assert copied(kernel(store, store)) is None
    assert copied(kernel(store, buffers=(BUFFERS[0], Buffer("b", "float32", 21, "out")))) is None
