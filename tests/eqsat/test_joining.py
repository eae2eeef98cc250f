"""pad, concatenate, stack, roll, tile, repeat, tril and triu give what NumPy gives, on every dtype, and refuse what does not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.ir.errors import EqsatError, ShapeError, UnsupportedError, UsageError
from tests.eqsat.tracing_cases import assert_same, sample

A, B = (4, 6), (2, 3, 4)
CASES: dict[str, tuple[Any, tuple[tuple[int, ...], ...]]] = {
    "pad all": (lambda x: enp.pad(x, 2), (A,)),
    "pad before and after": (lambda x: enp.pad(x, (1, 3)), (B,)),
    "pad by axis": (lambda x: enp.pad(x, ((0, 0), (1, 2))), (A,)),
    "pad with a value": (lambda x: enp.pad(x, ((0, 1), (2, 0)), constant_values=3), (A,)),
    "pad by nothing": (lambda x: enp.pad(x, 0), (A,)),
    "pad nothing": (lambda x: enp.pad(x, 1), ((0, 3),)),
    "pad with numpy's name": (lambda x: np.pad(x, ((1, 0), (0, 1))), (A,)),
    "concatenate rows": (lambda x, y: enp.concatenate([x, y]), (A, (3, 6))),
    "concatenate columns": (lambda x, y: enp.concatenate((x, y, x), axis=-1), (A, (4, 2))),
    "concatenate flat": (lambda x, y: enp.concatenate([x, y], axis=None), (A, B)),
    "concatenate with a known array": (lambda x: np.concatenate([np.ones((2, 6), x.dtype), x]), (A,)),
    "concatenate with nothing": (lambda x, y: enp.concat([x, y]), (A, (0, 6))),
    "concatenate one": (lambda x: enp.concatenate([x]), (A,)),
    "stack": (lambda x, y: enp.stack([x, y]), (A, A)),
    "stack inside": (lambda x, y: np.stack((x, y, x), axis=1), (A, A)),
    "stack last": (lambda x, y: enp.stack([x, y], axis=-1), (A, A)),
    "stack of rows": (lambda x: enp.stack(x, axis=1), (A,)),
    "roll": (lambda x: enp.roll(x, 3), (A,)),
    "roll back": (lambda x: enp.roll(x, -7, axis=1), (A,)),
    "roll two axes": (lambda x: np.roll(x, (1, 2), axis=(0, 1)), (A,)),
    "roll round": (lambda x: enp.roll(x, 12, 1), (A,)),
    "tile": (lambda x: enp.tile(x, 2), (A,)),
    "tile both": (lambda x: enp.tile(x, (2, 3)), (A,)),
    "tile to more dimensions": (lambda x: enp.tile(x, (2, 1, 2)), ((5,),)),
    "tile fewer": (lambda x: np.tile(x, 2), (B,)),
    "tile none": (lambda x: enp.tile(x, (0, 2)), (A,)),
    "repeat": (lambda x: enp.repeat(x, 2), (A,)),
    "repeat an axis": (lambda x: enp.repeat(x, 3, axis=1), (B,)),
    "repeat none": (lambda x: np.repeat(x, 0, axis=0), (A,)),
    "tril": (lambda x: enp.tril(x), (A,)),
    "tril of a row": (lambda x: enp.tril(x[0], 1), (A,)),
    "triu of a row": (lambda x: enp.triu(x[0]), (A,)),
    "tril of a batch": (lambda x: enp.tril(x, -1), (B,)),
    "triu": (lambda x: np.triu(x, 2), (A,)),
    "all together": (lambda x: enp.pad(enp.roll(enp.stack([x, x[::-1]], 1), 1, 0), 1)[1:, ::2], (A,)),
}


@pytest.mark.parametrize("dtype", ["bool", "int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_the_traced_program_equals_numpy(name: str, dtype: str) -> None:
    function, shapes = CASES[name]
    given = [sample(shape, dtype, seed) for seed, shape in enumerate(shapes)]
    assert_same(function, *given)


@pytest.mark.parametrize("name", CASES)
def test_the_compiled_program_equals_numpy(name: str) -> None:
    function, shapes = CASES[name]
    given = [sample(shape, "float32", seed) for seed, shape in enumerate(shapes)]
    result = eqsat.optimize(function, *given)
    np.testing.assert_array_equal(result(*given), function(*given))
    assert result.cost <= result.original_cost


def test_dtypes_are_promoted() -> None:
    x, y = sample(A, "int32"), sample(A, "float32")
    for function in (lambda a, b: enp.concatenate([a, b]), lambda a, b: enp.stack([b, a], -1)):
        assert_same(function, x, y)


def test_lazy_tensors_are_joined() -> None:
    x = sample(A, "float64")
    lazy = enp.asarray(x)
    np.testing.assert_array_equal(np.asarray(enp.concatenate([lazy, lazy * 2])), np.concatenate([x, x * 2]))


def test_what_is_not_read_leaves_no_trace() -> None:
    """NaN and infinities at an edge do not leak into the frame that reads them and drops them."""
    x = np.array([[np.nan, 1.0], [np.inf, 2.0]])
    np.testing.assert_array_equal(eqsat.optimize(lambda a: enp.pad(a, 1), x)(x), np.pad(x, 1))


BAD: dict[str, tuple[Any, type[EqsatError]]] = {
    "pad: found the mode 'median'": (lambda x: enp.pad(x, 1, "median"), UnsupportedError),
    "pad: found axis 1 without elements": (lambda x: enp.pad(x[:, :0], 1, "edge"), UsageError),
    "pad: found reflect_type='odd'": (lambda x: enp.pad(x, 1, "reflect", reflect_type="odd"), UnsupportedError),
    "pad: found the widths": (lambda x: enp.pad(x, ((1, 2), (1, 2), (1, 2))), UsageError),
    "pad: found the widths -1": (lambda x: enp.pad(x, -1), UsageError),
    "concatenate: found the shapes": (lambda x: enp.concatenate([x, x[:, 1:]]), ShapeError),
    "concatenate: found axis 2": (lambda x: enp.concatenate([x, x], 2), ShapeError),
    "^concatenate: found a 0-d array": (lambda x: enp.concatenate(x[0, 0]), ShapeError),
    "^vstack: found a 0-d array": (lambda x: enp.vstack(x[0, 0]), ShapeError),
    "^stack: found no arrays": (lambda x: enp.stack(x[:0]), ShapeError),
    "stack: found the shapes": (lambda x: enp.stack([x, x[1:]]), ShapeError),
    "roll: found 3 shifts": (lambda x: enp.roll(x, (1, 2, 3), (0, 1)), UsageError),
    "repeat: found -1 times": (lambda x: enp.repeat(x, -1), UsageError),
    "tril: found the shape": (lambda x: enp.tril(x[0, 0]), ShapeError),
}


@pytest.mark.parametrize("message", BAD)
def test_what_does_not_fit_is_refused(message: str) -> None:
    function, error = BAD[message]
    with pytest.raises(error, match=message):
        eqsat.trace(function, sample(A, "float32"))
