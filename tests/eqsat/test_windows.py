"""Convolutions and pools against sums and maxima over NumPy's sliding windows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.ir.errors import DTypeError, EqsatError, ShapeError, UsageError
from tests.eqsat.tracing_cases import Array, sample, traced

Pairs = tuple[tuple[int, int], ...]


def windows(x: Array, sizes: tuple[int, ...], stride: Any, pads: Pairs, dilation: Any, value: float = 0) -> Array:
    """Windows over the last axes: (N, C, where they are ..., what is in them ...)."""
    rank = len(sizes)
    strides, apart = np.broadcast_to(stride, rank), np.broadcast_to(dilation, rank)
    framed = np.pad(x, ((0, 0), (0, 0), *pads), constant_values=value) if np.any(pads) else x
    reach = tuple((sizes[k] - 1) * apart[k] + 1 for k in range(rank))
    found = np.lib.stride_tricks.sliding_window_view(framed, reach, axis=tuple(range(2, 2 + rank)))
    return found[(slice(None),) * 2 + tuple(slice(None, None, n) for n in strides) + tuple(slice(None, None, n) for n in apart)]


def around(pad: Any, rank: int) -> Pairs:
    column = np.reshape(pad, (-1, 1)) if np.ndim(pad) == 1 else pad
    return tuple((int(before), int(after)) for before, after in np.broadcast_to(column, (rank, 2)))


def convolved(x: Array, w: Array, stride: Any = 1, pad: Any = 0, groups: int = 1, dilation: Any = 1) -> Array:
    rank = x.ndim - 2
    found = windows(x, w.shape[2:], stride, around(pad, rank), dilation)
    summed = [1, *range(2 + rank, 2 + 2 * rank)]
    pairs = zip(np.split(found, groups, axis=1), np.split(w, groups, axis=0), strict=True)
    parts = [np.tensordot(part, kernel, (summed, range(1, 2 + rank))) for part, kernel in pairs]
    return np.moveaxis(np.concatenate(parts, axis=-1), -1, 1)


def pooled(x: Array, k: Any = 3, stride: Any = 2, pad: Any = 0, dilation: Any = 1) -> Array:
    rank = x.ndim - 2
    sizes = tuple(int(n) for n in np.broadcast_to(k, rank))
    found = windows(x, sizes, stride, around(pad, rank), dilation, -np.inf)
    return np.asarray(found.max(axis=tuple(range(2 + rank, 2 + 2 * rank))))


def averaged(x: Array, k: Any = 3, stride: Any = 2, pad: Any = 0, count_pad: bool = True) -> Array:
    rank = x.ndim - 2
    sizes = tuple(int(n) for n in np.broadcast_to(k, rank))
    inside = tuple(range(2 + rank, 2 + 2 * rank))
    total, counts = (windows(part, sizes, stride, around(pad, rank), 1).sum(axis=inside) for part in (x, np.ones_like(x)))
    return np.asarray(total / (np.prod(sizes) if count_pad else counts)).astype(x.dtype if x.dtype.kind == "f" else "float64")


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


@pytest.mark.parametrize(
    ("shape", "kernel", "options"),
    [
        ((2, 3, 9), (4, 3, 3), {}),
        ((1, 4, 11), (2, 2, 3), {"stride": 2, "pad": 2, "groups": 2, "dilation": 2}),
        ((1, 2, 9), (3, 2, 2), {"pad": ((2, 1),)}),
        ((2, 3, 8, 9), (4, 3, 3, 2), {"stride": (2, 1), "pad": (1, 0), "dilation": (1, 3)}),
        ((1, 2, 7, 8), (2, 1, 3, 3), {"pad": ((0, 2), (3, 1)), "groups": 2}),
        ((1, 2, 5, 4, 6), (3, 2, 2, 2, 3), {}),
        ((1, 4, 5, 4, 6), (4, 1, 3, 2, 3), {"groups": 4, "stride": (1, 2, 2), "pad": 1, "dilation": (2, 1, 1)}),
        ((0, 3, 9), (4, 3, 3), {}),
        ((1, 1, 1), (1, 1, 1), {}),
    ],
)
def test_convolutions_over_one_to_three_axes(shape: tuple[int, ...], kernel: tuple[int, ...], options: dict[str, Any]) -> None:
    function = getattr(enp, f"conv{len(shape) - 2}d")
    x, w = sample(shape, "float64"), sample(kernel, "float64", 1)
    found = traced(lambda a, b: function(a, b, **options), [x, w])
    np.testing.assert_allclose(found, convolved(x, w, **options), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("shape", "options"),
    [
        ((2, 3, 9), {}),
        ((2, 3, 8, 9), {"k": (3, 2), "stride": (1, 2), "pad": (1, 0)}),
        ((1, 2, 9), {"k": 4, "stride": 3, "pad": ((1, 2),)}),
        ((1, 2, 5, 6, 7), {"k": (2, 1, 3), "stride": 2}),
        ((1, 2, 5, 6, 7), {"k": 3, "stride": (1, 2, 3), "pad": 1}),
        ((1, 0, 5), {"k": 2}),
    ],
)
def test_pools_over_one_to_three_axes(shape: tuple[int, ...], options: dict[str, Any]) -> None:
    rank = len(shape) - 2
    x = sample(shape, "float64")
    greatest, mean = getattr(enp, f"maxpool{rank}d"), getattr(enp, f"avgpool{rank}d")
    np.testing.assert_array_equal(traced(lambda a: greatest(a, **options), [x]), pooled(x, **options))
    np.testing.assert_allclose(traced(lambda a: mean(a, **options), [x]), averaged(x, **options), rtol=1e-12)
    inside = traced(lambda a: mean(a, **options, count_pad=False), [x])
    np.testing.assert_allclose(inside, averaged(x, **options, count_pad=False), rtol=1e-12)
    whole = x.astype("int64")
    if not options.get("pad"):
        np.testing.assert_array_equal(traced(lambda a: greatest(a, **options), [whole]), pooled(whole, **options))
    np.testing.assert_allclose(traced(lambda a: mean(a, **options), [whole]), averaged(whole, **options), rtol=1e-12)


def test_windows_that_are_apart_and_compiled() -> None:
    x, w = sample((1, 2, 9, 10), "float32"), sample((2, 2, 2, 3), "float32", 1)
    options: dict[str, Any] = {"stride": 2, "pad": ((1, 0), (2, 3)), "dilation": (3, 2)}
    np.testing.assert_allclose(np.asarray(enp.conv2d(x, w, **options)), convolved(x, w, **options), rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(np.asarray(enp.maxpool2d(x, k=2, stride=1, dilation=(3, 2))), pooled(x, 2, 1, 0, (3, 2)))
    np.testing.assert_allclose(np.asarray(enp.avgpool2d(x, pad=1, count_pad=False)), averaged(x, pad=1, count_pad=False), rtol=1e-5)


@pytest.mark.parametrize(("extent", "stride", "pad"), [(9, 1, (1, 1)), (9, 2, (1, 1)), (10, 2, (0, 1)), (10, 3, (1, 1)), (8, 4, (0, 0))])
def test_same_gives_as_many_windows_as_elements_divided_by_the_stride(extent: int, stride: int, pad: tuple[int, int]) -> None:
    x, w = sample((1, 2, extent), "float32"), sample((3, 2, 3), "float32", 1)
    found = traced(lambda a, b: enp.conv1d(a, b, stride=stride, pad="same"), [x, w])
    assert found.shape == (1, 3, -(-extent // stride))
    np.testing.assert_allclose(found, convolved(x, w, stride=stride, pad=(pad,)), rtol=1e-5, atol=1e-5)
    valid = traced(lambda a, b: enp.conv1d(a, b, stride=stride, pad="valid"), [x, w])
    np.testing.assert_allclose(valid, convolved(x, w, stride=stride), rtol=1e-5, atol=1e-5)


def test_a_block_of_both_takes_two_kernels() -> None:
    x, w, b = sample((1, 16, 34, 34), "float32"), sample((32, 16, 3, 3), "float32", 1), sample((32, 1, 1), "float32", 2)
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
    "conv2d: found pad='full'": (lambda x, w: enp.conv2d(x, w, pad="full"), UsageError),
    "conv2d: found the pad -1": (lambda x, w: enp.conv2d(x, w, pad=-1), UsageError),
    "conv2d: found stride": (lambda x, w: enp.conv2d(x, w, stride=(1, 2, 1)), UsageError),
    "conv1d: found the shapes": (lambda x, w: enp.conv1d(x, w), ShapeError),
    "avgpool3d: found the shape": (lambda x, w: enp.avgpool3d(x), ShapeError),
    "maxpool2d: found a window": (lambda x, w: enp.maxpool2d(x, k=7), ShapeError),
}


@pytest.mark.parametrize("message", BAD)
def test_what_does_not_fit_is_refused(message: str) -> None:
    function, error = BAD[message]
    with pytest.raises(error, match=message):
        eqsat.trace(function, X, W)
