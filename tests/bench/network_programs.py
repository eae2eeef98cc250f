"""Whole networks for bench_networks: functions of a namespace like NumPy's that has `conv2d` and `maxpool2d`, and of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.bench.plain_programs import softmax

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(0)


def floats(*shape: int, size: float = 1.0) -> Array:
    return (RNG.standard_normal(shape) * size).astype(np.float32)


def normed(xp: Any, x: Any, g: Any, b: Any) -> Any:
    centred = x - xp.mean(x, axis=-1, keepdims=True)
    return centred / xp.sqrt(xp.mean(centred**2, axis=-1, keepdims=True) + np.float32(1e-5)) * g + b


def gelu(xp: Any, x: Any) -> Any:
    return np.float32(0.5) * x * (1 + xp.tanh(np.float32(0.7978845608) * (x + np.float32(0.044715) * x**3)))


def transformer(layers: int, tokens: int, width: int, heads: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    mask = np.triu(np.full((tokens, tokens), -1e9, np.float32), 1)
    shapes = [(width,), (width,), (width, 3 * width), (width, width), (width,), (width,), (width, 4 * width), (4 * width, width)]
    weights = [[floats(*shape, size=0.02) for shape in shapes] for _ in range(layers)]

    def function(xp: Any, x: Any, weights: Any) -> Any:
        for g1, b1, wq, wo, g2, b2, w1, w2 in weights:
            parts = xp.split(normed(xp, x, g1, b1) @ wq, 3, axis=-1)
            q, k, v = (xp.transpose(xp.reshape(part, (tokens, heads, width // heads)), (1, 0, 2)) for part in parts)
            a = softmax(xp, q @ xp.transpose(k, (0, 2, 1)) / np.float32((width // heads) ** 0.5) + mask)
            x = x + xp.reshape(xp.transpose(a @ v, (1, 0, 2)), (tokens, width)) @ wo
            x = x + gelu(xp, normed(xp, x, g2, b2) @ w1) @ w2
        return x

    return function, (floats(tokens, width), weights)


def layer(out: int, given: int, size: int) -> list[Array]:
    """The weights of a convolution, and scale and shift of its channels."""
    return [floats(out, given, size, size, size=(2 / (given * size * size)) ** 0.5), 1 + floats(out, size=0.1), floats(out, size=0.1)]


def scaled(x: Any, scale: Any, shift: Any) -> Any:
    return x * scale[:, None, None] + shift[:, None, None]


def resnet18(size: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    blocks: list[Any] = []
    strides: list[int] = []
    channels = 64
    for out in (64, 128, 256, 512):
        for stride in (1 if out == 64 else 2, 1):
            beside = [layer(out, channels, 1)] if stride == 2 else []
            blocks.append([layer(out, channels, 3), layer(out, out, 3), *beside])
            strides.append(stride)
            channels = out

    def function(xp: Any, x: Any, stem: Any, blocks: Any, last: Any) -> Any:
        x = xp.maxpool2d(xp.maximum(scaled(xp.conv2d(x, stem[0], stride=2, pad=3), *stem[1:]), 0), 3, 2, 1)
        for (one, two, *beside), stride in zip(blocks, strides, strict=True):
            y = xp.maximum(scaled(xp.conv2d(x, one[0], stride=stride, pad=1), *one[1:]), 0)
            y = scaled(xp.conv2d(y, two[0], stride=1, pad=1), *two[1:])
            for other in beside:
                x = scaled(xp.conv2d(x, other[0], stride=stride, pad=0), *other[1:])
            x = xp.maximum(x + y, 0)
        return xp.mean(x, axis=(2, 3)) @ last

    return function, (floats(1, 3, size, size), layer(64, 3, 7), blocks, floats(512, 1000, size=0.05))


def mobilenet2(size: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    blocks: list[Any] = []
    kinds: list[tuple[int, bool]] = []
    channels = 32
    for times, out, count, first in (
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    ):
        for k in range(count):
            wide, stride = channels * times, first if k == 0 else 1
            blocks.append([*([layer(wide, channels, 1)] if times > 1 else []), layer(wide, 1, 3), layer(out, wide, 1)])
            kinds.append((stride, stride == 1 and channels == out))
            channels = out

    def function(xp: Any, x: Any, stem: Any, blocks: Any) -> Any:
        x = xp.clip(scaled(xp.conv2d(x, stem[0], stride=2, pad=1), *stem[1:]), 0, 6)
        for (*wider, each, last), (stride, adds) in zip(blocks, kinds, strict=True):
            y = x
            for one in wider:
                y = xp.clip(scaled(xp.conv2d(y, one[0], stride=1, pad=0), *one[1:]), 0, 6)
            y = xp.clip(scaled(xp.conv2d(y, each[0], stride=stride, pad=1, groups=each[0].shape[0]), *each[1:]), 0, 6)
            y = scaled(xp.conv2d(y, last[0], stride=1, pad=0), *last[1:])
            x = x + y if adds else y
        return xp.mean(x, axis=(2, 3))

    return function, (floats(1, 3, size, size), layer(32, 3, 3), blocks)


def unet(size: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    pairs = ((16, 1), (16, 16), (32, 16), (32, 32), (64, 32), (64, 64), (32, 96), (32, 32), (16, 48), (16, 16), (1, 16))
    weights = [layer(out, given, 3)[0] for out, given in pairs]

    def function(xp: Any, x: Any, w: Any) -> Any:
        def twice(x: Any, k: int) -> Any:
            for one in w[k : k + 2]:
                x = xp.maximum(xp.conv2d(x, one, stride=1, pad=1), 0)
            return x

        def larger(x: Any) -> Any:
            return xp.repeat(xp.repeat(x, 2, axis=2), 2, axis=3)

        a = twice(x, 0)
        b = twice(xp.maxpool2d(a, 2, 2, 0), 2)
        c = twice(xp.maxpool2d(b, 2, 2, 0), 4)
        d = twice(xp.concatenate([larger(c), b], axis=1), 6)
        e = twice(xp.concatenate([larger(d), a], axis=1), 8)
        return xp.conv2d(e, w[10], stride=1, pad=1)

    return function, (floats(1, 1, size, size), weights)


NETWORKS: dict[str, Callable[[], tuple[Callable[..., Any], tuple[Any, ...]]]] = {
    "transformer of 4 layers, 128 x 256": lambda: transformer(4, 128, 256, 8),
    "transformer of 12 layers, 64 x 384": lambda: transformer(12, 64, 384, 6),
    "ResNet-18, 112 x 112": lambda: resnet18(112),
    "MobileNetV2, 112 x 112": lambda: mobilenet2(112),
    "U-Net, 64 x 64": lambda: unet(64),
}
