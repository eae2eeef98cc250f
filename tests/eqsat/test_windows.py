"""conv2d and maxpool2d against sums and maxima over NumPy's sliding windows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.ir.errors import DTypeError, EqsatError, ShapeError, UsageError
from tests.eqsat.tracing_cases import Array, sample


def convolved(x: Array, w: Array, stride: int = 1, pad: int = 0, groups: int = 1) -> Array:
    framed = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    windows = np.lib.stride_tricks.sliding_window_view(framed, w.shape[2:], axis=(2, 3))[:, :, ::stride, ::stride]
    parts = [
        np.einsum("nchwkl,ockl->nohw", part, kernel)
        for part, kernel in zip(np.split(windows, groups, axis=1), np.split(w, groups, axis=0), strict=True)
    ]
    return np.concatenate(parts, axis=1)


def pooled(x: Array, k: int = 3, stride: int = 2, pad: int = 0) -> Array:
    framed = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)), constant_values=-np.inf) if pad else x
    windows = np.lib.stride_tricks.sliding_window_view(framed, (k, k), axis=(2, 3))[:, :, ::stride, ::stride]
    return np.asarray(windows.max(axis=(4, 5)))


@pytest.mark.parametrize(
    ("shape", "kernel", "options"),
    [
        ((1, 3, 8, 9), (4, 3, 3, 3), {}),
        ((2, 4, 7, 7), (6, 4, 3, 2), {"stride": 2}),
        ((1, 4, 6, 5), (8, 2, 3, 3), {"pad": 1, "groups": 2}),
        ((2, 3, 9, 8), (3, 1, 3, 3), {"stride": 2, "pad": 1, "groups": 3}),
        ((1, 2, 4, 4), (5, 2, 1, 1), {}),
        ((1, 1, 3, 3), (1, 1, 3, 3), {}),
    ],
)
def test_convolutions(shape: tuple[int, ...], kernel: tuple[int, ...], options: dict[str, int]) -> None:
    x, w = sample(shape, "float32"), sample(kernel, "float32", 1)
    expected = convolved(x, w, **options)
    np.testing.assert_allclose(eqsat.optimize(lambda a, b: enp.conv2d(a, b, **options), x, w)(x, w), expected, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(np.asarray(enp.conv2d(x, w, **options)), expected, rtol=1e-4, atol=1e-3)
    i, k = x.astype("int32"), w.astype("int32")
    found = eqsat.jit(lambda a, b: enp.conv2d(a, b, **options))(i, k)
    np.testing.assert_array_equal(found, convolved(i, k, **options))


@pytest.mark.parametrize(
    ("shape", "options"),
    [((1, 3, 8, 9), {}), ((2, 4, 7, 7), {"k": 2}), ((1, 2, 6, 6), {"k": 3, "stride": 1, "pad": 1}), ((1, 1, 2, 2), {"k": 2, "stride": 3})],
)
def test_pools(shape: tuple[int, ...], options: dict[str, int]) -> None:
    x = sample(shape, "float32")
    np.testing.assert_array_equal(eqsat.optimize(lambda a: enp.maxpool2d(a, **options), x)(x), pooled(x, **options))
    np.testing.assert_array_equal(np.asarray(enp.maxpool2d(x, **options)), pooled(x, **options))


def test_a_block_of_both_takes_two_kernels() -> None:
    x, w, b = sample((1, 4, 18, 18), "float32"), sample((8, 4, 3, 3), "float32", 1), sample((8, 1, 1), "float32", 2)
    result = eqsat.optimize(lambda x, w, b: enp.maxpool2d(enp.maximum(enp.conv2d(x, w) + b, 0.0), 2, 2), x, w, b)
    assert len(result.nests) <= 2
    np.testing.assert_allclose(result(x, w, b), pooled(np.maximum(convolved(x, w) + b, 0), 2, 2), rtol=1e-4, atol=1e-3)


X, W = sample((1, 4, 6, 6), "float32"), sample((4, 4, 3, 3), "float32", 1)
BAD: dict[str, tuple[Any, type[EqsatError]]] = {
    "conv2d: found the shapes": (lambda x, w: enp.conv2d(x[0], w), ShapeError),
    "conv2d: found 4 channels": (lambda x, w: enp.conv2d(x, w, groups=3), ShapeError),
    "conv2d: found a window": (lambda x, w: enp.conv2d(x[:, :, :2], w), ShapeError),
    "conv2d: found the stride 0": (lambda x, w: enp.conv2d(x, w, stride=0), UsageError),
    "conv2d: found bool": (lambda x, w: enp.conv2d(x > 0, w > 0), DTypeError),
    "maxpool2d: found the shape": (lambda x, w: enp.maxpool2d(x[0]), ShapeError),
    "maxpool2d: found int32 with pad": (lambda x, w: enp.maxpool2d(x.astype("int32"), pad=1), DTypeError),
    "maxpool2d: found a window": (lambda x, w: enp.maxpool2d(x, k=7), ShapeError),
}


@pytest.mark.parametrize("message", BAD)
def test_what_does_not_fit_is_refused(message: str) -> None:
    function, error = BAD[message]
    with pytest.raises(error, match=message):
        eqsat.trace(function, X, W)
