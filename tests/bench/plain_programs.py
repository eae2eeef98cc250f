"""Further programs for bench_wide, over the operations that the shared benchmark uses: each is (function of a namespace, arguments).

Networks, movements, scans, stencils, reductions of every shape, products of every shape, and algebra, at sizes from some to a million
elements; among them shapes that are easily forgotten: narrow columns, few columns of a product, padding around what is computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

RNG = np.random.default_rng(0)
Program = tuple[Callable[..., Any], list[Any]]


def floats(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype("f4")


def softmax(xp: Any, x: Any, axis: int = -1) -> Any:
    e = xp.exp(x - xp.max(x, axis=axis, keepdims=True))
    return e / xp.sum(e, axis=axis, keepdims=True)


def layernorm(xp: Any, x: Any, g: Any, b: Any) -> Any:
    d = x - xp.mean(x, axis=-1, keepdims=True)
    return d / xp.sqrt(xp.mean(d * d, axis=-1, keepdims=True) + 1e-5) * g + b


def gelu(xp: Any, x: Any) -> Any:
    return 0.5 * x * (1 + xp.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


PLAIN: dict[str, Program] = {
    "batchnorm_plain": (
        lambda xp, x, g, b: (lambda m: (lambda d: d / xp.sqrt(xp.mean(d * d, axis=(0, 2, 3), keepdims=True) + 1e-5) * g + b)(x - m))(
            xp.mean(x, axis=(0, 2, 3), keepdims=True)
        ),
        [floats(16, 32, 28, 28), floats(1, 32, 1, 1), floats(1, 32, 1, 1)],
    ),
    "bn_nhwc": (
        lambda xp, x, g, b: (lambda m: (lambda d: d / xp.sqrt(xp.mean(d * d, axis=(0, 1, 2), keepdims=True) + 1e-5) * g + b)(x - m))(
            xp.mean(x, axis=(0, 1, 2), keepdims=True)
        ),
        [floats(16, 28, 28, 32), floats(32), floats(32)],
    ),
    "bn_nhwc_64": (
        lambda xp, x: (lambda m: (lambda d: d / xp.sqrt(xp.mean(d * d, axis=(0, 1, 2), keepdims=True) + 1e-5))(x - m))(
            xp.mean(x, axis=(0, 1, 2), keepdims=True)
        ),
        [floats(8, 28, 28, 64)],
    ),
    "groupnorm_plain": (
        lambda xp, x: xp.reshape(
            (
                lambda y: (
                    (y - xp.mean(y, axis=(2, 3), keepdims=True))
                    / xp.sqrt(
                        xp.mean(
                            (y - xp.mean(y, axis=(2, 3), keepdims=True)) * (y - xp.mean(y, axis=(2, 3), keepdims=True)),
                            axis=(2, 3),
                            keepdims=True,
                        )
                        + 1e-5
                    )
                )
            )(xp.reshape(x, (8, 4, 8, 28 * 28))),
            (8, 32, 28, 28),
        ),
        [floats(8, 32, 28, 28)],
    ),
    "rms_res": (
        lambda xp, x, y, g: (x + y) / xp.sqrt(xp.mean((x + y) * (x + y), axis=-1, keepdims=True) + 1e-6) * g,
        [floats(512, 768), floats(512, 768), floats(768)],
    ),
    "ln_768": (layernorm, [floats(512, 768), floats(768), floats(768)]),
    "ln_100": (layernorm, [floats(4096, 100), floats(100), floats(100)]),
    "sm_axis0": (lambda xp, x: softmax(xp, x, 0), [floats(1024, 64)]),
    "sm_axis0_16": (lambda xp, x: softmax(xp, x, 0), [floats(10000, 16)]),
    "sm_mid": (lambda xp, x: softmax(xp, x, 1), [floats(32, 128, 32)]),
    "sm_heads": (lambda xp, x, m: softmax(xp, x * 0.125 + m), [floats(4, 8, 128, 128), floats(1, 1, 128, 128)]),
    "attn": (
        lambda xp, q, k, v: xp.matmul(softmax(xp, xp.matmul(q, xp.transpose(k, (0, 1, 3, 2))) * 0.125), v),
        [floats(1, 8, 128, 64), floats(1, 8, 128, 64), floats(1, 8, 128, 64)],
    ),
    "attn_small": (
        lambda xp, q, k, v: xp.matmul(softmax(xp, xp.matmul(q, xp.transpose(k, (0, 2, 1))) * 0.2), v),
        [floats(64, 32, 16), floats(64, 32, 16), floats(64, 32, 16)],
    ),
    "attn_long": (
        lambda xp, q, k, v: xp.matmul(softmax(xp, xp.matmul(q, xp.transpose(k, (0, 2, 1))) * 0.125), v),
        [floats(4, 512, 64), floats(4, 512, 64), floats(4, 512, 64)],
    ),
    "mlp_small": (
        lambda xp, x, w, b, v, c: xp.matmul(gelu(xp, xp.matmul(x, w) + b), v) + c,
        [floats(32, 128), floats(128, 512) * 0.05, floats(512), floats(512, 128) * 0.05, floats(128)],
    ),
    "mlp_1": (
        lambda xp, x, w, b, v, c: xp.matmul(xp.maximum(xp.matmul(x, w) + b, 0), v) + c,
        [floats(1, 784), floats(784, 512) * 0.05, floats(512), floats(512, 10) * 0.05, floats(10)],
    ),
    "conv1x1": (
        lambda xp, x, w: xp.reshape(xp.matmul(w, xp.reshape(x, (64, 56 * 56))), (1, 64, 56, 56)),
        [floats(1, 64, 56, 56), floats(64, 64)],
    ),
    "tr_021": (lambda xp, x: xp.transpose(x, (0, 2, 1)) * 2.0, [floats(64, 128, 128)]),
    "tr_3120": (lambda xp, x: xp.transpose(x, (3, 1, 2, 0)) + 1.0, [floats(16, 32, 32, 64)]),
    "tr_nchw_nhwc": (lambda xp, x: xp.transpose(x, (0, 2, 3, 1)) * 0.5, [floats(4, 64, 56, 56)]),
    "tr_rgb": (lambda xp, x: xp.transpose(x, (2, 0, 1)) * (1 / 255.0), [floats(512, 512, 3)]),
    "tr_chw_hwc": (lambda xp, x: xp.transpose(x, (1, 2, 0)) * 255.0, [floats(3, 512, 512)]),
    "roll1": (lambda xp, x: xp.roll(x, 7, 1) + x, [floats(1000, 1000)]),
    "roll0": (lambda xp, x: xp.roll(x, 1, 0) - x, [floats(1000, 1000)]),
    "flip0": (lambda xp, x: xp.flip(x, 0) + x, [floats(1000, 1000)]),
    "flip1": (lambda xp, x: xp.flip(x, 1) + x, [floats(1000, 1000)]),
    "concat0": (lambda xp, a, b: xp.concatenate([a, b], 0) * 2.0, [floats(500, 700), floats(300, 700)]),
    "concat1": (lambda xp, a, b, c: xp.concatenate([a, b, c], 1) + 1.0, [floats(1000, 100), floats(1000, 37), floats(1000, 200)]),
    "stack1": (lambda xp, a, b: xp.stack([a, b], 1) * 1.0, [floats(1 << 19), floats(1 << 19)]),
    "stack3": (lambda xp, a, b, c: xp.stack([a, b, c], -1), [floats(512, 512), floats(512, 512), floats(512, 512)]),
    "pad1": (lambda xp, x: xp.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))), [floats(4, 32, 56, 56)]),
    "pad_mirrored": (lambda xp, x: xp.pad(xp.concatenate([x, xp.flip(x, 1)], 1), ((1, 1), (2, 2))), [floats(500, 500)]),
    "tile": (lambda xp, x: xp.tile(x, (8, 8)) * 2.0, [floats(128, 128)]),
    "repeat0": (lambda xp, x: xp.repeat(x, 4, 0) + 1.0, [floats(256, 1024)]),
    "repeat1": (lambda xp, x: xp.repeat(x, 4, 1) + 1.0, [floats(1024, 256)]),
    "repeat1_3": (lambda xp, x: xp.repeat(x, 3, 1) + 1.0, [floats(1024, 256)]),
    "up2": (lambda xp, x: xp.repeat(xp.repeat(x, 2, 2), 2, 3) + 0.0, [floats(2, 32, 64, 64)]),
    "cumsum0_plain": (lambda xp, x: xp.cumsum(x, 0), [floats(1000, 1000)]),
    "cumsum_mid": (lambda xp, x: xp.cumsum(x, 1), [floats(64, 256, 64)]),
    "cumsum_flat": (lambda xp, x: xp.cumsum(x, 0), [floats(1 << 20)]),
    "cumsum_small": (lambda xp, x: xp.cumsum(x, 1), [floats(100000, 8)]),
    "box_sat": (
        lambda xp, x: (lambda s: s[8:, 8:] - s[:-8, 8:] - s[8:, :-8] + s[:-8, :-8])(xp.cumsum(xp.cumsum(x, 0), 1)),
        [floats(512, 512)],
    ),
    "take1": (lambda xp, x, i: xp.take(x, i, 1), [floats(1000, 1000), RNG.integers(0, 1000, 1000)]),
    "take0": (lambda xp, x, i: xp.take(x, i, 0), [floats(10000, 64), RNG.integers(0, 10000, 20000)]),
    "take_bag": (lambda xp, x, i: xp.sum(xp.take(x, i, 0), 1), [floats(10000, 64), RNG.integers(0, 10000, (1000, 20))]),
    "sum1": (lambda xp, x: xp.sum(x, 1), [floats(2048, 2048)]),
    "sum0_plain": (lambda xp, x: xp.sum(x, 0), [floats(2048, 2048)]),
    "sum_mid_plain": (lambda xp, x: xp.sum(x, 1), [floats(64, 128, 256)]),
    "max0": (lambda xp, x: xp.max(x, 0), [floats(2048, 1024)]),
    "max_all": (lambda xp, x: xp.max(x), [floats(1 << 22)]),
    "mean_keep": (lambda xp, x: x - xp.mean(x, axis=(1, 2), keepdims=True), [floats(64, 56, 56)]),
    "var1": (lambda xp, x: xp.mean((x - xp.mean(x, axis=1, keepdims=True)) ** 2, axis=1), [floats(1024, 1024)]),
    "norm_rows_plain": (lambda xp, x: x / xp.sqrt(xp.sum(x * x, axis=1, keepdims=True)), [floats(4096, 128)]),
    "cos": (
        lambda xp, x, y: xp.sum(x * y, axis=1) / xp.sqrt(xp.sum(x * x, axis=1) * xp.sum(y * y, axis=1)),
        [floats(2048, 256), floats(2048, 256)],
    ),
    "pair": (
        lambda xp, a, b: xp.sum((a[:, None, :] - b[None, :, :]) * (a[:, None, :] - b[None, :, :]), axis=2),
        [floats(256, 32), floats(256, 32)],
    ),
    "heat3d": (
        lambda xp, u: (
            u[1:-1, 1:-1, 1:-1]
            + 0.1
            * (
                u[2:, 1:-1, 1:-1]
                + u[:-2, 1:-1, 1:-1]
                + u[1:-1, 2:, 1:-1]
                + u[1:-1, :-2, 1:-1]
                + u[1:-1, 1:-1, 2:]
                + u[1:-1, 1:-1, :-2]
                - 6 * u[1:-1, 1:-1, 1:-1]
            )
        ),
        [floats(66, 66, 66)],
    ),
    "stencil9": (
        lambda xp, x: sum(x[i : 510 + i, j : 510 + j] * (0.1 * (i + 1) * (j + 1)) for i in range(3) for j in range(3)),
        [floats(512, 512)],
    ),
    "blur5": (
        lambda xp, x: (lambda h: sum(h[i : 508 + i] * c for i, c in enumerate((0.1, 0.2, 0.4, 0.2, 0.1))))(
            sum(x[:, j : 508 + j] * c for j, c in enumerate((0.1, 0.2, 0.4, 0.2, 0.1)))
        ),
        [floats(512, 512)],
    ),
    "sobel_plain": (
        lambda xp, x: xp.sqrt(
            (x[2:, 2:] + 2 * x[1:-1, 2:] + x[:-2, 2:] - x[2:, :-2] - 2 * x[1:-1, :-2] - x[:-2, :-2]) ** 2
            + (x[2:, 2:] + 2 * x[2:, 1:-1] + x[2:, :-2] - x[:-2, 2:] - 2 * x[:-2, 1:-1] - x[:-2, :-2]) ** 2
        ),
        [floats(512, 512)],
    ),
    "life_plain": (
        lambda xp, x: (lambda n: xp.where((n == 3) | ((n == 2) & (x == 1)), 1.0, 0.0))(
            sum(xp.roll(xp.roll(x, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
        ),
        [(floats(512, 512) > 0).astype("f4")],
    ),
    "jacobi4_plain": (
        lambda xp, u: (lambda s: s(s(s(s(u)))))(
            lambda v: xp.pad(0.25 * (v[2:, 1:-1] + v[:-2, 1:-1] + v[1:-1, 2:] + v[1:-1, :-2]), ((1, 1), (1, 1)))
        ),
        [floats(512, 512)],
    ),
    "wave_plain": (lambda xp, u, v: 2 * u[1:-1] - v[1:-1] + 0.3 * (u[2:] - 2 * u[1:-1] + u[:-2]), [floats(1 << 20), floats(1 << 20)]),
    "lap_neu": (
        lambda xp, x: (lambda p: p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * x)(xp.pad(x, 1)),
        [floats(512, 512)],
    ),
    "chain_abc": (lambda xp, a, b, c: xp.matmul(a, xp.matmul(b, c)), [floats(256, 256), floats(256, 256), floats(256, 2)]),
    "alg_dist": (lambda xp, a, b, c: xp.matmul(a, b) + xp.matmul(a, c), [floats(256, 256), floats(256, 256), floats(256, 256)]),
    "alg_trace": (lambda xp, a, b: xp.sum(a * xp.transpose(b, (1, 0))), [floats(512, 512), floats(512, 512)]),
    "alg_outer": (lambda xp, u, v, x: xp.matmul(u[:, None] * v[None, :], x), [floats(512), floats(512), floats(512, 64)]),
    "alg_mean_mm": (lambda xp, a, b: xp.mean(xp.matmul(a, b), axis=0), [floats(512, 512), floats(512, 512)]),
    "alg_sq": (lambda xp, x, y: (x + y) * (x - y) + y * y, [floats(1 << 20), floats(1 << 20)]),
    "gemv_t": (lambda xp, a, x: xp.matmul(xp.transpose(a, (1, 0)), x), [floats(2048, 2048), floats(2048, 1)]),
    "mm_nt": (lambda xp, a, b: xp.matmul(a, xp.transpose(b, (1, 0))), [floats(256, 256), floats(256, 256)]),
    "mm_batch": (lambda xp, a, b: xp.matmul(a, b), [floats(16, 64, 64), floats(16, 64, 64)]),
    "mm_k8": (lambda xp, a, b: xp.matmul(a, b), [floats(512, 8), floats(8, 512)]),
    "mm_130": (lambda xp, a, b: xp.matmul(a, b), [floats(130, 130), floats(130, 130)]),
    "mm_m4": (lambda xp, a, b: xp.matmul(a, b), [floats(4, 1024), floats(1024, 1024)]),
    "mm_n8": (lambda xp, a, b: xp.matmul(a, b), [floats(1024, 1024), floats(1024, 8)]),
    "swish": (lambda xp, x: x / (1 + xp.exp(-x)), [floats(1 << 20)]),
    "softplus_plain": (lambda xp, x: xp.log(1 + xp.exp(x)), [floats(1 << 20)]),
    "logit": (lambda xp, x: xp.log(xp.exp(x) / (1 + xp.exp(x))), [floats(1 << 18)]),
    "entropy": (lambda xp, x: -xp.sum(x * xp.log(x + 1e-9), axis=1), [abs(floats(1024, 512))]),
    "clip": (lambda xp, x: xp.minimum(xp.maximum(x, -1.0), 1.0), [floats(1 << 20)]),
    "where": (lambda xp, x, y: xp.where(x > y, x - y, y * 2), [floats(1 << 20), floats(1 << 20)]),
    "adam_plain": (
        lambda xp, p, g, m, v: p - 0.001 * (0.9 * m + 0.1 * g) / (xp.sqrt(0.999 * v + 0.001 * g * g) + 1e-8),
        [floats(1 << 20), floats(1 << 20), floats(1 << 20), abs(floats(1 << 20))],
    ),
    "huber_plain": (
        lambda xp, a, b: xp.mean(xp.where(xp.maximum(a - b, b - a) < 1.0, 0.5 * (a - b) * (a - b), xp.maximum(a - b, b - a) - 0.5)),
        [floats(1 << 20), floats(1 << 20)],
    ),
    "xent": (lambda xp, x: -xp.mean(xp.log(softmax(xp, x))[:, 3]), [floats(4096, 10)]),
    "xent1000": (lambda xp, x: xp.mean(xp.log(xp.sum(xp.exp(x - xp.max(x, axis=1, keepdims=True)), axis=1))), [floats(512, 1000)]),
    "bcast_col": (lambda xp, x, c: x * c[:, None] + 1, [floats(2000, 500), floats(2000)]),
    "bcast_3": (lambda xp, x, s, t: x * s + t, [floats(512, 512, 3), floats(3), floats(3)]),
    "rgb2gray_plain": (lambda xp, x: x[..., 0] * 0.3 + x[..., 1] * 0.59 + x[..., 2] * 0.11, [floats(512, 512, 3)]),
    "bcast_chan": (lambda xp, x, s, t: xp.maximum(x * s + t, 0.0), [floats(8, 64, 28, 28), floats(64, 1, 1), floats(64, 1, 1)]),
    "outer_plain": (lambda xp, a, b: xp.exp(-((a[:, None] - b[None, :]) ** 2)), [floats(1000), floats(1000)]),
    "small_ew": (lambda xp, a, b: a * b + 1, [floats(100), floats(100)]),
    "small_sm": (lambda xp, x: softmax(xp, x), [floats(8, 10)]),
    "small_mm": (lambda xp, a, b: xp.matmul(a, b), [floats(4, 4), floats(4, 4)]),
    "small_ln": (layernorm, [floats(4, 64), floats(64), floats(64)]),
    "tall_sum_8": (lambda xp, x: xp.sum(x, axis=0), [floats(200000, 8)]),
    "tall_sum_10": (lambda xp, x: xp.sum(x, axis=0), [floats(160000, 10)]),
    "tall_max_16": (lambda xp, x: xp.max(x, axis=0), [floats(100000, 16)]),
    "tall_var_24": (lambda xp, x: xp.var(x, axis=0), [floats(66664, 24)]),
    "mid_sum_32": (lambda xp, x: xp.sum(x, axis=1), [floats(8, 6250, 32)]),
    "mm_8_2048": (lambda xp, a, b: xp.matmul(a, b), [floats(8, 2048), floats(2048, 2048)]),
    "mm_512_32": (lambda xp, a, b: xp.matmul(a, b), [floats(512, 512), floats(512, 32)]),
    "swap_sides_3": (lambda xp, x: xp.transpose(x, (1, 0, 2)) + 1, [floats(1024, 1024, 3)]),
    "swap_sides_4": (lambda xp, x: xp.transpose(x, (1, 0, 2)) + 1, [floats(512, 512, 4)]),
    "quarter_turn": (lambda xp, x: xp.flip(xp.transpose(x, (1, 0, 2)), 0) + 1, [floats(1000, 1000, 3)]),
    "heads_16": (lambda xp, x: xp.transpose(x, (0, 2, 1, 3)) + 1, [floats(32, 64, 64, 16)]),
    "turned_through": (lambda xp, x: xp.transpose(xp.reshape(x, (600, 210))).reshape(70, 60, 30) + 1, [floats(60, 70, 30)]),
}
