"""Programs of many kinds, further ones: what users of NumPy write in learning, vision, signals, simulation and games.

Each is a function of a namespace with NumPy's names, and the arrays that it is called with.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.bench.plain_programs import softmax

RNG = np.random.default_rng(1)


def floats(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype("f4")


def doubles(*shape: int) -> Any:
    return RNG.standard_normal(shape)


def bytes_of(*shape: int) -> Any:
    return RNG.integers(0, 256, shape, dtype="u1")


def sigmoid(xp: Any, x: Any) -> Any:
    return 1 / (1 + xp.exp(-x))


FURTHER: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "conv1d": (lambda xp, x, w: sum(w[k] * x[k : x.shape[0] - 6 + k] for k in range(7)), [floats(1 << 18), floats(7)]),
    "avgpool2": (lambda xp, x: xp.mean(xp.reshape(x, (16, 32, 32, 2, 32, 2)), axis=(3, 5)), [floats(16, 32, 64, 64)]),
    "maxpool3s2": (
        lambda xp, x: functools.reduce(xp.maximum, [x[:, :, i : i + 63 : 2, j : j + 63 : 2] for i in range(3) for j in range(3)]),
        [floats(8, 16, 65, 65)],
    ),
    "upsample2": (lambda xp, x: xp.repeat(xp.repeat(x, 2, axis=2), 2, axis=3), [floats(4, 16, 64, 64)]),
    "bilinear2": (lambda xp, x: (x[:, :-1, :-1] + x[:, 1:, :-1] + x[:, :-1, 1:] + x[:, 1:, 1:]) * 0.25, [floats(32, 129, 129)]),
    "rope": (
        lambda xp, x, c, s: xp.concatenate([x[..., :32] * c - x[..., 32:] * s, x[..., :32] * s + x[..., 32:] * c], axis=-1),
        [floats(8, 512, 64), floats(512, 32), floats(512, 32)],
    ),
    "causal": (
        lambda xp, q, k, v: xp.matmul(
            softmax(xp, xp.where(xp.arange(256)[:, None] >= xp.arange(256)[None, :], xp.matmul(q, xp.swapaxes(k, 1, 2)) * 0.125, -1e9)), v
        ),
        [floats(4, 256, 64), floats(4, 256, 64), floats(4, 256, 64)],
    ),
    "einsum_ijk": (lambda xp, a, b: xp.einsum("ijk,jkl->il", a, b), [floats(64, 16, 32), floats(16, 32, 64)]),
    "kron": (lambda xp, a, b: xp.kron(a, b), [floats(32, 32), floats(16, 16)]),
    "cdist": (lambda xp, a, b: xp.sqrt(xp.sum((a[:, None, :] - b[None, :, :]) ** 2, axis=-1)), [floats(256, 16), floats(256, 16)]),
    "kmeans": (lambda xp, x, c: xp.argmin(xp.sum((x[:, None, :] - c[None, :, :]) ** 2, axis=-1), axis=1), [floats(4096, 8), floats(16, 8)]),
    "kmeans_mm": (
        lambda xp, x, c: xp.argmin(xp.sum(c * c, axis=1)[None] - 2 * xp.matmul(x, c.T), axis=1),
        [floats(4096, 64), floats(32, 64)],
    ),
    "softplus": (lambda xp, x: xp.logaddexp(x, 0 * x), [floats(1 << 17)]),
    "elu": (lambda xp, x: xp.where(x > 0, x, xp.expm1(x)), [floats(1 << 18)]),
    "selu_mish": (lambda xp, x: x * xp.tanh(xp.log1p(xp.exp(x))), [floats(1 << 17)]),
    "kl": (lambda xp, p, q: xp.sum(p * (xp.log(p) - xp.log(q)), axis=1), [abs(floats(512, 512)) + 0.1, abs(floats(512, 512)) + 0.1]),
    "l2norm": (lambda xp, x: x / xp.sqrt(xp.sum(x * x, axis=1, keepdims=True)), [floats(1024, 256)]),
    "cossim": (lambda xp, x: (lambda n: xp.matmul(n, n.T))(x / xp.sqrt(xp.sum(x * x, axis=1, keepdims=True))), [floats(256, 128)]),
    "softmax_bwd": (lambda xp, y, g: y * (g - xp.sum(y * g, axis=-1, keepdims=True)), [floats(512, 512), floats(512, 512)]),
    "int8dot": (
        lambda xp, a, b: xp.matmul(a.astype(xp.int32), b.astype(xp.int32)),
        [RNG.integers(-128, 128, (128, 256), dtype="i1"), RNG.integers(-128, 128, (256, 128), dtype="i1")],
    ),
    "thresh_u8": (lambda xp, x: xp.where(x > 128, 255, 0).astype(xp.uint8), [bytes_of(1024, 1024)]),
    "erode": (
        lambda xp, x: functools.reduce(xp.minimum, [x[i : 512 + i, j : 512 + j] for i in range(3) for j in range(3)]),
        [bytes_of(514, 514)],
    ),
    "integral": (lambda xp, x: xp.cumsum(xp.cumsum(x, axis=0), axis=1), [floats(512, 512)]),
    "gamma": (lambda xp, x: x**2.2, [abs(floats(1 << 18))]),
    "blend_u8": (
        lambda xp, a, b: ((a.astype(xp.uint16) * 179 + b.astype(xp.uint16) * 76) // 256).astype(xp.uint8),
        [bytes_of(1024, 1024), bytes_of(1024, 1024)],
    ),
    "nhwc_u8": (lambda xp, x: xp.transpose(x, (2, 0, 1)).astype(xp.float32) / 255, [bytes_of(512, 512, 3)]),
    "jacobi4": (
        lambda xp, x: functools.reduce(lambda u, _: 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]), range(4), x),
        [floats(520, 520)],
    ),
    "wave": (
        lambda xp, u, v: (
            2 * u[1:-1, 1:-1] - v[1:-1, 1:-1] + 0.1 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1])
        ),
        [doubles(514, 514), doubles(514, 514)],
    ),
    "nansum": (lambda xp, x: xp.sum(xp.where(xp.isnan(x), 0, x), axis=1), [floats(1024, 512)]),
    "gather2": (lambda xp, x, i, j: x[i, j], [floats(512, 512), RNG.integers(0, 512, 1 << 17), RNG.integers(0, 512, 1 << 17)]),
    "tril": (lambda xp, x: xp.tril(x), [floats(1024, 1024)]),
    "hypot": (lambda xp, x, y: xp.hypot(x, y), [floats(1 << 18), floats(1 << 18)]),
    "atan2": (lambda xp, x, y: xp.arctan2(x, y), [floats(1 << 17), floats(1 << 17)]),
    "intdivmod": (lambda xp, x: (x // 7) * 3 + x % 13, [RNG.integers(0, 10**6, 1 << 18, dtype="i4")]),
    "xorshift": (
        lambda xp, x: functools.reduce(lambda a, _: (lambda b: b ^ (b << 5))((lambda c: c ^ (c >> 17))(a ^ (a << 13))), range(3), x),
        [RNG.integers(0, 2**32, 1 << 18, dtype="u4")],
    ),
    "sum_i64": (lambda xp, x: xp.sum(x), [RNG.integers(0, 1000, 1 << 20)]),
    "sum_u8": (lambda xp, x: xp.sum(x, dtype=xp.int64), [bytes_of(1 << 21)]),
    "tropical": (lambda xp, a, b: xp.min(a[:, :, None] + b[None, :, :], axis=1), [floats(128, 128), floats(128, 128)]),
    "floyd_step": (lambda xp, x: xp.minimum(x, x[:, :1] + x[:1, :]), [floats(1024, 1024)]),
    "matvec_f64": (lambda xp, a, x: xp.matmul(a, x), [doubles(1024, 1024), doubles(1024)]),
    "vecmat": (lambda xp, x, a: xp.matmul(x, a), [floats(1024), floats(1024, 1024)]),
    "vecmat_s": (lambda xp, x, a: xp.matmul(x, a), [floats(256), floats(256, 256)]),
    "mm_tall": (lambda xp, a, b: xp.matmul(a, b), [floats(20000, 16), floats(16, 16)]),
    "mm_tn": (lambda xp, a, b: xp.matmul(a.T, b), [floats(2000, 64), floats(2000, 64)]),
    "mm_300": (lambda xp, a, b: xp.matmul(a, b), [floats(300, 300), floats(300, 300)]),
    "mm_f64_300": (lambda xp, a, b: xp.matmul(a, b), [doubles(300, 300), doubles(300, 300)]),
    "mm_c64": (lambda xp, a, b: xp.matmul(a, b), [(floats(128, 128) + 1j * floats(128, 128)), (floats(128, 128) + 1j * floats(128, 128))]),
    "argmax_all": (lambda xp, x: xp.argmax(x), [floats(1 << 20)]),
    "zscore0": (lambda xp, x: (x - xp.mean(x, axis=0)) / xp.std(x, axis=0), [floats(4096, 64)]),
    "patchify": (
        lambda xp, x: xp.reshape(xp.transpose(xp.reshape(x, (3, 14, 16, 14, 16)), (1, 3, 0, 2, 4)), (196, 768)),
        [floats(3, 224, 224)],
    ),
    "lstm": (
        lambda xp, x, h, c, w, u, b: (
            lambda z: (lambda cn: sigmoid(xp, z[:, 384:]) * xp.tanh(cn))(
                sigmoid(xp, z[:, 128:256]) * c + sigmoid(xp, z[:, :128]) * xp.tanh(z[:, 256:384])
            )
        )(xp.matmul(x, w) + xp.matmul(h, u) + b),
        [floats(32, 128), floats(32, 128), floats(32, 128), floats(128, 512), floats(128, 512), floats(512)],
    ),
    "lbm": (lambda xp, q: (lambda rho: q * 0.4 + 0.6 * rho[None] / 9)(xp.sum(q, axis=0)), [doubles(9, 256, 256)]),
    "mandel64": (
        lambda xp, cr, ci: functools.reduce(
            lambda z, _: (z[0] * z[0] - z[1] * z[1] + cr, 2 * z[0] * z[1] + ci), range(10), (cr * 0, ci * 0)
        )[0],
        [doubles(256, 256) * 0.1, doubles(256, 256) * 0.1],
    ),
    "stdnorm_cdf": (lambda xp, x: 0.5 * (1 + xp.tanh(0.79788 * (x + 0.044715 * x**3))), [floats(1 << 18)]),
    "sincos64": (lambda xp, x: xp.sin(x) + xp.cos(x), [doubles(1 << 16)]),
    "log64": (lambda xp, x: xp.log(x) * xp.sqrt(x), [abs(doubles(1 << 17)) + 0.1]),
    "pad_conv": (
        lambda xp, x: (lambda p: sum(p[i : i + 256, j : j + 256] * (i + j) for i in range(3) for j in range(3)))(xp.pad(x, 1)),
        [floats(256, 256)],
    ),
    "tile_add": (lambda xp, x, y: xp.tile(x, (4, 4)) + y, [floats(128, 128), floats(512, 512)]),
    "rot90": (lambda xp, x: xp.rot90(x) * 2, [floats(1024, 1024)]),
    "flip2": (lambda xp, x: x[::-1, ::-1] * 1.5, [floats(1024, 1024)]),
    "batch_vec": (lambda xp, a, x: xp.einsum("bij,bj->bi", a, x), [floats(256, 32, 32), floats(256, 32)]),
    "bn_infer": (
        lambda xp, x, m, v, g, b: (x - m[:, None, None]) / xp.sqrt(v[:, None, None] + 1e-5) * g[:, None, None] + b[:, None, None],
        [floats(8, 64, 28, 28), floats(64), abs(floats(64)), floats(64), floats(64)],
    ),
    "pow_int": (lambda xp, x: x**3 + x**5, [floats(1 << 18)]),
    "select3": (lambda xp, x: xp.where(x < -1, -1.0, xp.where(x > 1, 1.0, x)).astype(xp.float32), [floats(1 << 18)]),
    "f16_add": (lambda xp, x, y: x + y * 2, [floats(1 << 18).astype("f2"), floats(1 << 18).astype("f2")]),
    "cummax_like": (lambda xp, x: xp.cumsum(x, axis=1), [floats(1024, 256)]),
    "conv2d_s2": (
        lambda xp, x, w: sum(
            xp.einsum("nchw,oc->nohw", x[:, :, i : i + 55 : 2, j : j + 55 : 2], w[:, :, i, j]) for i in range(3) for j in range(3)
        ),
        [floats(2, 16, 57, 57), floats(32, 16, 3, 3)],
    ),
    "depth_to_space": (
        lambda xp, x: xp.reshape(xp.transpose(xp.reshape(x, (4, 2, 2, 16, 32, 32)), (0, 3, 4, 1, 5, 2)), (4, 16, 64, 64)),
        [floats(4, 64, 32, 32)],
    ),
    "bias_relu": (lambda xp, x, b: xp.maximum(x + b, 0), [floats(4096, 64), floats(64)]),
    "bias_relu24": (lambda xp, x, b: xp.maximum(x + b, 0), [floats(8192, 24), floats(24)]),
    "layernorm64": (
        lambda xp, x, g, b: (x - xp.mean(x, -1, keepdims=True)) / xp.sqrt(xp.var(x, -1, keepdims=True) + 1e-5) * g + b,
        [floats(4096, 64), floats(64), floats(64)],
    ),
    "softmax16": (lambda xp, x: softmax(xp, x), [floats(8192, 16)]),
    "softmax10": (lambda xp, x: softmax(xp, x), [floats(8192, 10)]),
    "logsumexp": (lambda xp, x: xp.log(xp.sum(xp.exp(x - xp.max(x, 1, keepdims=True)), 1)) + xp.max(x, 1), [floats(2048, 100)]),
    "topk_mask": (lambda xp, x: xp.where(x >= xp.max(x, axis=1, keepdims=True), x, 0), [floats(1024, 256)]),
    "qkv": (
        lambda xp, x, a, b, c: (
            (xp.matmul(x, a), xp.matmul(x, b), xp.matmul(x, c))[0] + 0 * xp.matmul(x, b)[0, 0] + 0 * xp.matmul(x, c)[0, 0]
        ),
        [floats(256, 256), floats(256, 64), floats(256, 64), floats(256, 64)],
    ),
    "gru": (
        lambda xp, x, h, w, u: (lambda z, r: z * h + (1 - z) * xp.tanh(r * h))(
            sigmoid(xp, xp.matmul(x, w[:, :128]) + xp.matmul(h, u[:, :128])),
            sigmoid(xp, xp.matmul(x, w[:, 128:]) + xp.matmul(h, u[:, 128:])),
        ),
        [floats(64, 128), floats(64, 128), floats(128, 256), floats(128, 256)],
    ),
    "bilin": (lambda xp, x, w, y: xp.einsum("bi,ij,bj->b", x, w, y), [floats(512, 64), floats(64, 64), floats(512, 64)]),
    "lowrank": (lambda xp, x, u, v: xp.matmul(xp.matmul(x, u), v) + x, [floats(512, 256), floats(256, 8), floats(8, 256)]),
    "gram": (lambda xp, x: xp.matmul(x.T, x), [floats(2000, 50)]),
    "rbf": (
        lambda xp, x, y: xp.exp(-0.5 * (xp.sum(x * x, 1)[:, None] + xp.sum(y * y, 1)[None, :] - 2 * xp.matmul(x, y.T))),
        [floats(300, 20), floats(300, 20)],
    ),
    "mahal": (lambda xp, x, p: xp.sum(xp.matmul(x, p) * x, axis=1), [floats(5000, 10), floats(10, 10)]),
    "hist_onehot": (lambda xp, x: xp.sum(x[:, None] == xp.arange(16)[None, :], axis=0), [RNG.integers(0, 16, 20000)]),
    "cumprod": (lambda xp, x: xp.cumprod(x, axis=1), [abs(floats(512, 128))]),
    "running_mean": (lambda xp, x: xp.cumsum(x, axis=0) / xp.arange(1, 1025)[:, None], [floats(1024, 256)]),
    "unfold": (lambda xp, x: xp.stack([x[i : i + 1000] for i in range(16)], axis=1), [floats(1015)]),
    "fir": (lambda xp, x, h: sum(h[k] * x[k : k + 100000] for k in range(32)), [floats(100031), floats(32)]),
    "outer_sum": (lambda xp, a, b: xp.sum(a[:, None] * b[None, :] + 1, axis=1), [floats(1000), floats(1000)]),
    "pairwise_abs": (lambda xp, a: xp.sum(abs(a[:, None] - a[None, :]), axis=1), [floats(2000)]),
    "chebyshev": (lambda xp, x: functools.reduce(lambda t, _: (t[1], 2 * x * t[1] - t[0]), range(8), (x * 0 + 1, x))[1], [floats(1 << 17)]),
    "quat": (
        lambda xp, q, r: xp.stack(
            [
                q[:, 0] * r[:, 0] - q[:, 1] * r[:, 1] - q[:, 2] * r[:, 2] - q[:, 3] * r[:, 3],
                q[:, 0] * r[:, 1] + q[:, 1] * r[:, 0] + q[:, 2] * r[:, 3] - q[:, 3] * r[:, 2],
                q[:, 0] * r[:, 2] - q[:, 1] * r[:, 3] + q[:, 2] * r[:, 0] + q[:, 3] * r[:, 1],
                q[:, 0] * r[:, 3] + q[:, 1] * r[:, 2] - q[:, 2] * r[:, 1] + q[:, 3] * r[:, 0],
            ],
            axis=1,
        ),
        [floats(50000, 4), floats(50000, 4)],
    ),
    "norm3": (lambda xp, x: x / xp.sqrt(xp.sum(x * x, axis=1, keepdims=True)), [floats(100000, 3)]),
    "tri_area": (
        lambda xp, a, b, c: 0.5 * xp.sqrt(xp.sum(xp.cross(b - a, c - a) ** 2, axis=1)),
        [floats(50000, 3), floats(50000, 3), floats(50000, 3)],
    ),
    "haversine": (
        lambda xp, a, b: 2 * xp.arcsin(xp.sqrt(xp.sin((b - a) / 2) ** 2 + xp.cos(a) * xp.cos(b) * xp.sin((b + a) / 4) ** 2 * 0.1)),
        [floats(1 << 15) * 0.3, floats(1 << 15) * 0.3],
    ),
    "complex_abs": (lambda xp, z: xp.abs(z), [floats(1 << 17) + 1j * floats(1 << 17)]),
    "cplx_mandel": (
        lambda xp, c: functools.reduce(lambda z, _: z * z + c, range(6), c * 0),
        [(doubles(1 << 15) + 1j * doubles(1 << 15)) * 0.3],
    ),
    "packbits_like": (lambda xp, x: xp.sum(xp.reshape(x, (20000, 8)) * (2 ** xp.arange(8)), axis=1), [RNG.integers(0, 2, 160000)]),
    "gather_rows": (lambda xp, t, i: t[i] * 2, [floats(1000, 64), RNG.integers(0, 1000, 4000)]),
    "embed_sum": (lambda xp, t, i: xp.sum(t[i], axis=1), [floats(1000, 64), RNG.integers(0, 1000, (512, 8))]),
    "take_flat": (lambda xp, x, i: xp.take(x, i), [floats(1000, 1000), RNG.integers(0, 10**6, 20000)]),
    "roll2": (lambda xp, x: xp.roll(x, (3, 5), (0, 1)) - x, [floats(700, 700)]),
    "laplace_wrap": (
        lambda xp, x: xp.roll(x, 1, 0) + xp.roll(x, -1, 0) + xp.roll(x, 1, 1) + xp.roll(x, -1, 1) - 4 * x,
        [doubles(500, 500)],
    ),
    "median3": (
        lambda xp, x: (lambda a, b, c: xp.maximum(xp.minimum(a, b), xp.minimum(xp.maximum(a, b), c)))(x[:-2], x[1:-1], x[2:]),
        [floats(1 << 18)],
    ),
    "sort3net": (lambda xp, x: (lambda a, b: xp.stack([xp.minimum(a, b), xp.maximum(a, b)], 1))(x[:, 0], x[:, 1]), [floats(100000, 2)]),
    "sumsq_axis02": (lambda xp, x: xp.sum(x * x, axis=(0, 2)), [floats(32, 64, 256)]),
    "var01": (lambda xp, x: xp.var(x, axis=(0, 1)), [floats(64, 64, 32)]),
    "max_axis1": (lambda xp, x: xp.max(x, axis=1), [floats(64, 256, 64)]),
    "mean_i32": (lambda xp, x: xp.mean(x, axis=0), [RNG.integers(0, 100, (1000, 300), dtype="i4")]),
    "u8_conv": (lambda xp, x: ((x[:-2].astype(xp.int16) + 2 * x[1:-1] + x[2:]) // 4).astype(xp.uint8), [bytes_of(1002, 1000)]),
    "dither": (
        lambda xp, x: xp.where((x.astype(xp.int32) + xp.tile(xp.arange(16).reshape(4, 4) * 16, (128, 128))) > 255, 255, 0).astype(xp.uint8),
        [bytes_of(512, 512)],
    ),
    "lerp": (lambda xp, a, b, t: a + (b - a) * t[:, None], [floats(2000, 100), floats(2000, 100), floats(2000)]),
    "huge_expr": (lambda xp, x: functools.reduce(lambda a, k: a * x + k, range(20), x), [floats(1 << 17)]),
    "where_chain": (
        lambda xp, x: functools.reduce(lambda a, k: xp.where(x > k, k, a), [-1.5, -1, -0.5, 0, 0.5, 1, 1.5], x * 0 - 2),
        [floats(1 << 17)],
    ),
    "f64_softmax": (lambda xp, x: softmax(xp, x), [doubles(512, 512)]),
    "f64_mm_small": (lambda xp, a, b: xp.matmul(a, b), [doubles(32, 32), doubles(32, 32)]),
    "mm_batched32": (lambda xp, a, b: xp.matmul(a, b), [floats(64, 32, 32), floats(64, 32, 32)]),
    "mm_1000x3": (lambda xp, a, b: xp.matmul(a, b), [floats(1000, 1000), floats(1000, 3)]),
    "mm_5": (lambda xp, a, b: xp.matmul(a, b), [floats(5, 1000), floats(1000, 1000)]),
    "diag_mm": (lambda xp, a, v: xp.matmul(a, xp.diag(v)), [floats(300, 300), floats(300)]),
    "block_sum": (lambda xp, x: xp.sum(xp.reshape(x, (64, 16, 64, 16)), axis=(1, 3)), [floats(1024, 1024)]),
    "pad_reflect": (lambda xp, x: xp.pad(x, 2, mode="reflect"), [floats(500, 500)]),
    "flatten_mm": (lambda xp, x, w: xp.matmul(xp.reshape(x, (64, -1)), w), [floats(64, 16, 7, 7), floats(784, 10)]),
}
