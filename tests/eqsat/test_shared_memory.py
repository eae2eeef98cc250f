"""What is made of an array shares memory with it as in NumPy, or is refused: what is put into the one is in the other, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.ir.errors import UnsupportedError

MADE: dict[str, Callable[..., Any]] = {
    "copy": lambda xp, x: xp.copy(x),
    "copy method": lambda xp, x: x.copy(),
    "astype": lambda xp, x: x.astype(x.dtype),
    "astype without a copy": lambda xp, x: x.astype(x.dtype, copy=False),
    "array": lambda xp, x: xp.array(x),
    "array dtype": lambda xp, x: xp.array(x, dtype=x.dtype),
    "asarray": lambda xp, x: xp.asarray(x),
    "asanyarray": lambda xp, x: xp.asanyarray(x),
    "asarray of a dtype": lambda xp, x: xp.asarray(x, dtype="float64"),
    "ascontiguousarray": lambda xp, x: xp.ascontiguousarray(x),
    "asfortranarray": lambda xp, x: xp.asfortranarray(x),
    "ascontiguousarray of a transpose": lambda xp, x: xp.ascontiguousarray(x.T),
    "flatten": lambda xp, x: x.flatten(),
    "ravel": lambda xp, x: xp.ravel(x),
    "ravel method": lambda xp, x: x.ravel(),
    "reshape": lambda xp, x: xp.reshape(x, (-1,)),
    "reshape to its shape": lambda xp, x: x.reshape(x.shape),
    "ravel of a transpose": lambda xp, x: x.T.ravel(),
    "atleast_1d": lambda xp, x: xp.atleast_1d(x),
    "atleast_3d": lambda xp, x: xp.atleast_3d(x),
    "squeeze": lambda xp, x: xp.squeeze(x),
    "T": lambda xp, x: x.T,
    "real": lambda xp, x: xp.real(x),
    "x.real": lambda xp, x: x.real,
    "plus": lambda xp, x: +x,
    "positive": lambda xp, x: xp.positive(x),
    "tile once": lambda xp, x: xp.tile(x, 1),
    "tile twice": lambda xp, x: xp.tile(x, (1, 1)),
    "repeat1": lambda xp, x: xp.repeat(x, 1, axis=0),
    "concat1": lambda xp, x: xp.concatenate([x]),
    "roll0": lambda xp, x: xp.roll(x, 0),
    "pad0": lambda xp, x: xp.pad(x, 0),
    "take": lambda xp, x: xp.take(x, np.arange(3), axis=0),
    "nan_to_num": lambda xp, x: xp.nan_to_num(x),
    "round": lambda xp, x: xp.round(x),
    "round5": lambda xp, x: x.round(9),
    "clipnone": lambda xp, x: xp.clip(x, -100, 100),
    "rows at places": lambda xp, x: x[np.arange(3)],
    "slice": lambda xp, x: x[:],
    "ellipsis": lambda xp, x: x[...],
    "flip": lambda xp, x: xp.flip(x),
    "rot90": lambda xp, x: xp.rot90(x),
    "rot90_4": lambda xp, x: xp.rot90(x, 4),
    "triu": lambda xp, x: xp.triu(x, -9),
    "tril": lambda xp, x: xp.tril(x, 9),
    "hstack": lambda xp, x: xp.hstack([x]),
    "vstack": lambda xp, x: xp.vstack([x]),
    "moveaxis": lambda xp, x: xp.moveaxis(x, 0, 0),
    "moveaxis2": lambda xp, x: xp.moveaxis(x, 0, 1),
    "expand_dims": lambda xp, x: xp.expand_dims(x, 0),
    "split": lambda xp, x: xp.split(x, 1)[0],
    "array_split": lambda xp, x: xp.array_split(x, 2)[1],
    "swapaxes": lambda xp, x: xp.swapaxes(x, 0, 1),
    "mul1": lambda xp, x: x * 1.0,
    "add0": lambda xp, x: x + 0,
    "where": lambda xp, x: xp.where(True, x, 0.0),
    "maximum": lambda xp, x: xp.maximum(x, x),
    "sum ax": lambda xp, x: xp.sum(x[None], axis=0),
    "mean": lambda xp, x: xp.mean(x[None], axis=0),
    "max": lambda xp, x: xp.max(x[None], axis=0),
    "diag": lambda xp, x: xp.diag(xp.diag(x)),
    "cumsum": lambda xp, x: xp.cumsum(x[None], axis=0)[0],
    "append": lambda xp, x: xp.append(x, x[:0], axis=0),
    "delete": lambda xp, x: xp.delete(x, [], axis=0),
    "insert": lambda xp, x: xp.insert(x, 0, 5.0, axis=0),
    "sort": lambda xp, x: xp.sort(x, axis=0),
    "partition": lambda xp, x: xp.partition(x, 0, axis=0),
    "stack0": lambda xp, x: xp.stack([x])[0],
    "square of a root": lambda xp, x: xp.sqrt(x) ** 2,
    "abs": lambda xp, x: abs(x),
    "broadcast_to, copied": lambda xp, x: xp.broadcast_to(x, x.shape).copy(),
    "broadcast_arrays, changed": lambda xp, x: xp.broadcast_arrays(x, x)[0] * 1,
    "roll3": lambda xp, x: xp.roll(x, 3, axis=0),
    "product with an identity": lambda xp, x: x @ xp.eye(3),
    "transpose2": lambda xp, x: x.T.T,
    "conj": lambda xp, x: xp.conj(x),
    "conj method": lambda xp, x: x.conj(),
    "nansum": lambda xp, x: xp.nansum(x[None], axis=0),
    "compress": lambda xp, x: xp.compress([True, True, True], x, axis=0),
    "select": lambda xp, x: xp.select([np.ones((3, 3), bool)], [x]),
    "permute_dims": lambda xp, x: xp.permute_dims(x, (0, 1)),
    "matrix_transpose": lambda xp, x: xp.matrix_transpose(x),
    "unstack": lambda xp, x: xp.unstack(x)[0],
    "fftshift": lambda xp, x: xp.fft.fftshift(x),
    "first of all": lambda xp, x: next(iter(x)),
    "item row": lambda xp, x: x[1],
    "row none": lambda xp, x: x[None],
    "diagonal": lambda xp, x: xp.diagonal(x).copy(),
    "full_like": lambda xp, x: xp.full_like(x, 2),
    "mask": lambda xp, x: xp.where(x > -5, x, x),
    "ufunc out": lambda xp, x: xp.minimum(x, 1e9),
    "interp": lambda xp, x: xp.interp(x, [0.0, 9.0], [0.0, 9.0]),
    "prod1": lambda xp, x: xp.prod(x[None], axis=0),
    "einsum": lambda xp, x: xp.einsum("ij->ij", x),
    "einsumT": lambda xp, x: xp.einsum("ij->ji", x),
    "tensordot": lambda xp, x: xp.tensordot(x, 1.0, 0),
    "dot1": lambda xp, x: xp.dot(x, 1.0),
    "identity mm": lambda xp, x: xp.linalg.matrix_power(x, 1),
    "vecdot": lambda xp, x: xp.outer(x, 1.0),
}
# they share or not by how their argument lies in memory, which nobody knows here
UNKNOWN = {
    "astype without a copy",
    "ascontiguousarray",
    "asfortranarray",
    "ascontiguousarray of a transpose",
    "ravel",
    "ravel method",
    "reshape",
    "reshape to its shape",
    "ravel of a transpose",
    "atleast_1d",
    "atleast_3d",
    "real",
    "x.real",
    "rot90",
    "rot90_4",
    "split",
    "array_split",
    "diag",
    "unstack",
    "einsum",
    "einsumT",
    "identity mm",
}


@pytest.mark.parametrize("name", MADE)
def test_changes_are_seen_where_numpy_shows_them(name: str) -> None:
    def changed(xp: Any, u: Any) -> Any:
        v = u * 2
        made = MADE[name](xp, v)
        made[(0,) * made.ndim] = 7.25
        between = v + 0
        v[0, 0] += 3
        return v, made, between

    u = np.arange(1.0, 10).reshape(3, 3)
    if name in UNKNOWN:
        with pytest.raises(UnsupportedError, match="may share memory"):
            eqsat.jit(lambda u: changed(enp, u))(u)
        return
    for found, expected in zip(eqsat.jit(lambda u: changed(enp, u))(u), changed(np, u), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_arrays_and_their_copies() -> None:
    @eqsat.jit
    def f(u: Any) -> Any:
        y, z = enp.array(u), enp.asarray(u, copy=True)
        y[1:-1] = 0
        z[0] = 9
        return y, z, u + 0

    u = np.arange(5.0)
    for found, expected in zip(f(u), ([0, 0, 0, 0, 4], [9, 1, 2, 3, 4], u), strict=True):
        np.testing.assert_array_equal(found, expected)
