"""Programs of many kinds beside NumPy, and jax where it is installed: `python -m tests.bench.bench_wide [--threads 1] [name ...]`.

The net for what the shared workloads do not have.  Each is written once, for any namespace with NumPy's names, and compared with NumPy
before it is timed: medians of interleaved rounds, the ratio is the time of the faster of the others over ours.  With one thread all
run on one processor.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import itertools
import math
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

# NumPy's BLAS starts its threads when it is loaded, on whatever processors there are
os.environ.setdefault("OPENBLAS_NUM_THREADS", next((count for option, count in itertools.pairwise(sys.argv) if option == "--threads"), "1"))

import numpy as np

import eqsat
import eqsat.numpy as enp
from tests.bench.alike_programs import ALIKE
from tests.bench.block_programs import BLOCKS
from tests.bench.folded_programs import FOLDED
from tests.bench.found_programs import FOUND
from tests.bench.further_programs import FURTHER
from tests.bench.gather_programs import GATHERS
from tests.bench.group_programs import GROUPS
from tests.bench.half_programs import HALVES
from tests.bench.known_programs import KNOWN
from tests.bench.large_programs import LARGE
from tests.bench.line_programs import LINES
from tests.bench.moved_programs import MOVED
from tests.bench.ordered_programs import ORDERED
from tests.bench.part_programs import PARTS
from tests.bench.pixel_programs import PIXELS
from tests.bench.plain_programs import PLAIN, softmax
from tests.bench.point_programs import POINTS
from tests.bench.result_programs import RESULTS
from tests.bench.seam_programs import SEAMS
from tests.bench.shared_programs import SHARED
from tests.bench.short_row_programs import SHORT_ROWS
from tests.bench.stacked_programs import STACKED
from tests.bench.stencil_programs import STENCILS
from tests.bench.summed_programs import SUMMED
from tests.bench.table_programs import TABLES
from tests.bench.together_programs import TOGETHER

RNG = np.random.default_rng(0)
ROUNDS, SECONDS = 5, 0.03


def floats(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype("f4")


PROGRAMS: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "batchnorm": (
        lambda xp, x: (x - xp.mean(x, axis=(0, 2, 3), keepdims=True)) / xp.sqrt(xp.var(x, axis=(0, 2, 3), keepdims=True) + 1e-5),
        [floats(16, 32, 28, 28)],
    ),
    "rmsnorm": (lambda xp, x, g: x / xp.sqrt(xp.mean(x * x, axis=-1, keepdims=True) + 1e-6) * g, [floats(512, 1024), floats(1024)]),
    "attention": (
        lambda xp, q, k, v: xp.matmul(softmax(xp, xp.matmul(q, xp.swapaxes(k, 1, 2)) * 0.125), v),
        [floats(8, 128, 64), floats(8, 128, 64), floats(8, 128, 64)],
    ),
    "crossent": (
        lambda xp, x, y: (
            -xp.mean(
                xp.take_along_axis(
                    x
                    - xp.max(x, axis=1, keepdims=True)
                    - xp.log(xp.sum(xp.exp(x - xp.max(x, axis=1, keepdims=True)), axis=1, keepdims=True)),
                    y[:, None],
                    axis=1,
                )
            )
        ),
        [floats(1024, 1000), RNG.integers(0, 1000, 1024)],
    ),
    "argmax1": (lambda xp, x: xp.argmax(x, axis=1), [floats(1024, 1000)]),
    "argmax0": (lambda xp, x: xp.argmax(x, axis=0), [floats(1024, 1000)]),
    "sum0": (lambda xp, x: xp.sum(x, axis=0), [floats(2048, 512)]),
    "mean_mid": (lambda xp, x: xp.mean(x, axis=1), [floats(64, 128, 128)]),
    "var0": (lambda xp, x: xp.var(x, axis=0), [floats(2048, 512)]),
    "cumsum0": (lambda xp, x: xp.cumsum(x, axis=0), [floats(1024, 1024)]),
    "cumprod1": (lambda xp, x: xp.cumprod(x, axis=1), [floats(512, 512) * 0.01 + 1]),
    "sobel": (
        lambda xp, x: xp.sqrt(
            (x[:-2, 2:] + 2 * x[1:-1, 2:] + x[2:, 2:] - x[:-2, :-2] - 2 * x[1:-1, :-2] - x[2:, :-2]) ** 2
            + (x[2:, :-2] + 2 * x[2:, 1:-1] + x[2:, 2:] - x[:-2, :-2] - 2 * x[:-2, 1:-1] - x[:-2, 2:]) ** 2
        ),
        [floats(512, 512)],
    ),
    "life": (
        lambda xp, x: (lambda n: xp.where((n == 3) | ((n == 2) & (x == 1)), 1, 0).astype("int8"))(
            sum(xp.roll(xp.roll(x, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))
        ),
        [RNG.integers(0, 2, (512, 512)).astype("i1")],
    ),
    "stencil3d": (
        lambda xp, x: (
            x[1:-1, 1:-1, 1:-1] * -6
            + x[2:, 1:-1, 1:-1]
            + x[:-2, 1:-1, 1:-1]
            + x[1:-1, 2:, 1:-1]
            + x[1:-1, :-2, 1:-1]
            + x[1:-1, 1:-1, 2:]
            + x[1:-1, 1:-1, :-2]
        ),
        [floats(64, 64, 64)],
    ),
    "pairdist": (lambda xp, a, b: xp.sqrt(xp.sum((a[:, None, :] - b[None, :, :]) ** 2, axis=-1)), [floats(500, 16), floats(400, 16)]),
    "kmeans_assign": (
        lambda xp, a, b: xp.argmin(xp.sum((a[:, None, :] - b[None, :, :]) ** 2, axis=-1), axis=1),
        [floats(4000, 8), floats(16, 8)],
    ),
    "outer": (lambda xp, a, b: a[:, None] * b[None, :], [floats(1000), floats(1000)]),
    "batched4x4": (lambda xp, a, b: xp.matmul(a, b), [floats(5000, 4, 4), floats(5000, 4, 4)]),
    "tri_mask": (lambda xp, x: xp.where(xp.arange(512)[:, None] >= xp.arange(512)[None, :], x, -1e9), [floats(512, 512)]),
    "rotary": (
        lambda xp, x, c, s: xp.concatenate([x[..., :32] * c - x[..., 32:] * s, x[..., 32:] * c + x[..., :32] * s], axis=-1),
        [floats(256, 8, 64), floats(256, 1, 32), floats(256, 1, 32)],
    ),
    "swiglu": (lambda xp, a, b: a / (1 + xp.exp(-a)) * b, [floats(256, 1024), floats(256, 1024)]),
    "adam": (
        lambda xp, p, g, m, v: p - 1e-3 * (0.9 * m + 0.1 * g) / (xp.sqrt(0.999 * v + 0.001 * g * g) + 1e-8),
        [floats(1 << 19), floats(1 << 19), floats(1 << 19), abs(floats(1 << 19))],
    ),
    "onehot_mm": (lambda xp, i, t: xp.take(t, i, axis=0), [RNG.integers(0, 1000, 4096), floats(1000, 64)]),
    "norm_rows": (lambda xp, x: x / xp.sqrt(xp.sum(x * x, axis=1, keepdims=True)), [floats(4096, 64)]),
    "rgb2gray": (
        lambda xp, x: (x.astype("float32") * np.array([0.299, 0.587, 0.114], "f4")).sum(axis=-1),
        [RNG.integers(0, 255, (480, 640, 3)).astype("u1")],
    ),
    "u8_bright": (
        lambda xp, x: xp.clip(x.astype("int32") * 3 // 2 + 10, 0, 255).astype("uint8"),
        [RNG.integers(0, 255, (480, 640, 3)).astype("u1")],
    ),
    "flip": (lambda xp, x: xp.flip(x, 1) * 1.0, [floats(512, 512, 3)]),
    "nhwc2nchw": (lambda xp, x: xp.transpose(x, (0, 3, 1, 2)) + 0.0, [floats(8, 64, 64, 16)]),
    "downsample": (lambda xp, x: xp.mean(xp.reshape(x, (256, 4, 256, 4)), axis=(1, 3)), [floats(1024, 1024)]),
    "upsample": (lambda xp, x: xp.repeat(xp.repeat(x, 2, 0), 2, 1) + 0.0, [floats(256, 256)]),
    "diff": (lambda xp, x: x[1:] - x[:-1], [floats(1 << 20)]),
    "std_all": (lambda xp, x: xp.std(x), [floats(1 << 20)]),
    "logsumexp0": (lambda xp, x: xp.log(xp.sum(xp.exp(x - xp.max(x, axis=0)), axis=0)) + xp.max(x, axis=0), [floats(512, 1024)]),
    "minmax_norm": (lambda xp, x: (x - xp.min(x)) / (xp.max(x) - xp.min(x)), [floats(1 << 20)]),
    "any_all": (lambda xp, x: xp.all(x > -5, axis=1), [floats(1024, 1024)]),
    "count": (lambda xp, x: xp.sum(x > 0.5), [floats(1 << 20)]),
    "i32_hash": (lambda xp, x: ((x ^ (x >> 15)) * 73244475) ^ ((x * 7) >> 3), [RNG.integers(0, 1 << 30, 1 << 20).astype("i4")]),
    "f64_poly": (lambda xp, x: ((x * 2 + 1) * x - 3) * x + 0.5, [RNG.random(1 << 19)]),
    "pow_sqrt": (lambda xp, x: x**1.5 + xp.sqrt(x), [abs(floats(1 << 19)) + 0.1]),
    "sincos": (lambda xp, x: xp.sin(x) * xp.cos(x), [floats(1 << 19) * 10]),
    "log1p": (lambda xp, x: xp.log1p(x) + xp.expm1(-x), [abs(floats(1 << 19))]),
    "bilinear_form": (lambda xp, a, w, b: xp.sum(xp.matmul(a, w) * b, axis=1), [floats(256, 64), floats(64, 64), floats(256, 64)]),
    "mm_T": (lambda xp, a, b: xp.matmul(a.T, b), [floats(512, 256), floats(512, 384)]),
    "mm_BT": (lambda xp, a, b: xp.matmul(a, b.T), [floats(512, 256), floats(384, 256)]),
    "gemv_T": (lambda xp, a, v: xp.matmul(v, a), [floats(1024, 1024), floats(1024)]),
    "mm_i32": (
        lambda xp, a, b: xp.matmul(a, b),
        [RNG.integers(-9, 9, (128, 128)).astype("i4"), RNG.integers(-9, 9, (128, 128)).astype("i4")],
    ),
    "concat": (lambda xp, a, b: xp.concatenate([a, b], axis=1) * 2.0, [floats(512, 256), floats(512, 256)]),
    "pad_sum": (lambda xp, x: xp.pad(x, 1)[1:-1, 2:] + x, [floats(512, 512)]),
    "lerp_cols": (lambda xp, x: x[:, :-1] * 0.3 + x[:, 1:] * 0.7, [floats(512, 513)]),
    "gather2d": (lambda xp, x, i, j: x[i, j], [floats(512, 512), RNG.integers(0, 512, (256, 256)), RNG.integers(0, 512, (256, 256))]),
    "softmax0": (lambda xp, x: (lambda e: e / xp.sum(e, axis=0))(xp.exp(x - xp.max(x, axis=0))), [floats(512, 512)]),
    "transpose_mm_bias": (lambda xp, x, w, b: xp.maximum(xp.matmul(x, w.T) + b, 0), [floats(64, 512), floats(512, 512), floats(512)]),
    "complex_mul": (
        lambda xp, a, b: a * b + a,
        [(floats(1 << 18) + 1j * floats(1 << 18)).astype("c8"), (floats(1 << 18) + 1j * floats(1 << 18)).astype("c8")],
    ),
    "l1_dist": (lambda xp, a, b: xp.sum(xp.abs(a - b), axis=1), [floats(2000, 64), floats(64)]),
    "hist_like": (lambda xp, i: xp.sum((i[:, None] == xp.arange(64)[None, :]), axis=0), [RNG.integers(0, 64, 100000)]),
    "groupnorm": (
        lambda xp, x: (
            lambda y: xp.reshape(
                (y - xp.mean(y, axis=2, keepdims=True)) / xp.sqrt(xp.var(y, axis=2, keepdims=True) + 1e-5), (8, 32, 16, 16)
            )
        )(xp.reshape(x, (8, 4, 2048))),
        [floats(8, 32, 16, 16)],
    ),
    "instancenorm": (
        lambda xp, x: (x - xp.mean(x, axis=(2, 3), keepdims=True)) / xp.sqrt(xp.var(x, axis=(2, 3), keepdims=True) + 1e-5),
        [floats(16, 32, 32, 32)],
    ),
    "ln_last3d": (
        lambda xp, x: (x - xp.mean(x, axis=-1, keepdims=True)) / xp.sqrt(xp.var(x, axis=-1, keepdims=True) + 1e-5),
        [floats(8, 128, 256)],
    ),
    "channels_last_bn": (
        lambda xp, x: (x - xp.mean(x, axis=(0, 1, 2))) / xp.sqrt(xp.var(x, axis=(0, 1, 2)) + 1e-5),
        [floats(16, 28, 28, 32)],
    ),
    "colnorm": (lambda xp, x: (x - xp.mean(x, axis=0)) / xp.std(x, axis=0), [floats(1000, 100)]),
    "cov": (lambda xp, x: xp.matmul((x - xp.mean(x, axis=0)).T, (x - xp.mean(x, axis=0))) / 1999, [floats(2000, 50)]),
    "corr_vec": (lambda xp, x, y: xp.sum((x - xp.mean(x, axis=0)) * (y - xp.mean(y))[:, None], axis=0), [floats(1000, 200), floats(1000)]),
    "ridge_grad": (lambda xp, x, y, w: xp.matmul(x.T, xp.matmul(x, w) - y) / 2000 + 0.1 * w, [floats(2000, 64), floats(2000), floats(64)]),
    "logreg_grad": (
        lambda xp, x, y, w: xp.matmul(x.T, 1 / (1 + xp.exp(-xp.matmul(x, w))) - y),
        [floats(2000, 64), (floats(2000) > 0).astype("f4"), floats(64)],
    ),
    "sum_tall": (lambda xp, x: xp.sum(x, axis=0), [floats(100000, 16)]),
    "max_tall": (lambda xp, x: xp.max(x, axis=0), [floats(100000, 3)]),
    "mean_wide": (lambda xp, x: xp.mean(x, axis=1), [floats(16, 100000)]),
    "sum_keep": (lambda xp, x: xp.sum(x, axis=2), [floats(300, 300, 4)]),
    "sum_mid": (lambda xp, x: xp.sum(x, axis=1), [floats(100, 30, 50)]),
    "sum_01": (lambda xp, x: xp.sum(x, axis=(0, 1)), [floats(100, 60, 50)]),
    "sum_02": (lambda xp, x: xp.sum(x, axis=(0, 2)), [floats(100, 60, 50)]),
    "norm2": (lambda xp, x: xp.sqrt(xp.sum(x * x)), [floats(1 << 20)]),
    "dot": (lambda xp, a, b: xp.sum(a * b), [floats(1 << 20), floats(1 << 20)]),
    "einsum_bhqk": (lambda xp, q, k: xp.matmul(q, xp.swapaxes(k, 2, 3)), [floats(4, 8, 64, 32), floats(4, 8, 64, 32)]),
    "heads_split": (lambda xp, x: xp.transpose(xp.reshape(x, (8, 128, 8, 64)), (0, 2, 1, 3)) * 1.0, [floats(8, 128, 512)]),
    "heads_merge": (lambda xp, x: xp.reshape(xp.transpose(x, (0, 2, 1, 3)), (8, 128, 512)) * 1.0, [floats(8, 8, 128, 64)]),
    "causal_softmax": (
        lambda xp, x: (lambda y: (lambda e: e / xp.sum(e, axis=-1, keepdims=True))(xp.exp(y - xp.max(y, axis=-1, keepdims=True))))(
            xp.where(xp.arange(128)[:, None] >= xp.arange(128)[None, :], x, -1e9)
        ),
        [floats(8, 128, 128)],
    ),
    "gelu_erf": (lambda xp, x: 0.5 * x * (1 + xp.tanh(0.797 * (x + 0.0447 * x * x * x))), [floats(256, 1024)]),
    "mish": (lambda xp, x: x * xp.tanh(xp.log1p(xp.exp(x))), [floats(256, 1024)]),
    "huber": (
        lambda xp, a, b: xp.mean(xp.where(xp.abs(a - b) < 1, 0.5 * (a - b) ** 2, xp.abs(a - b) - 0.5)),
        [floats(1 << 19), floats(1 << 19)],
    ),
    "bce": (
        lambda xp, p, y: -xp.mean(y * xp.log(p) + (1 - y) * xp.log(1 - p)),
        [RNG.random(1 << 19).astype("f4") * 0.98 + 0.01, (floats(1 << 19) > 0).astype("f4")],
    ),
    "box3": (lambda xp, x: (x[:-2] + x[1:-1] + x[2:]) / 3, [floats(512, 512)]),
    "laplace5": (lambda xp, x: x[2:-2, 2:-2] * 4 - x[:-4, 2:-2] - x[4:, 2:-2] - x[2:-2, :-4] - x[2:-2, 4:], [floats(600, 600)]),
    "conv1d_same": (
        lambda xp, x: (lambda y: y[:, :-2] * 0.25 + y[:, 1:-1] * 0.5 + y[:, 2:] * 0.25)(xp.pad(x, ((0, 0), (1, 1)))),
        [floats(64, 1024)],
    ),
    "avgpool3s2": (
        lambda xp, x: sum(x[:, :, i : i + 63 : 2, j : j + 63 : 2] for i in range(3) for j in range(3)) / 9,
        [floats(8, 16, 65, 65)],
    ),
    "im_resize_half": (lambda xp, x: (x[::2, ::2] + x[1::2, ::2] + x[::2, 1::2] + x[1::2, 1::2]) * 0.25, [floats(480, 640, 3)]),
    "rgb2yuv": (lambda xp, x: xp.matmul(x, np.array([[0.3, 0.6, 0.1], [-0.1, -0.3, 0.4], [0.6, -0.5, -0.1]], "f4")), [floats(480, 640, 3)]),
    "thresh_count": (lambda xp, x: xp.sum(x > 128), [RNG.integers(0, 255, (480, 640)).astype("u1")]),
    "blocks8": (lambda xp, x: xp.transpose(xp.reshape(x, (64, 8, 64, 8)), (0, 2, 1, 3)) + 1, [floats(512, 512)]),
    "dct8": (lambda xp, x, d: xp.matmul(x, d.T), [floats(4096, 8), floats(8, 8)]),
    "rot3": (lambda xp, x, r: xp.matmul(x, r.T), [floats(50000, 3), floats(3, 3)]),
    "cross": (
        lambda xp, a, b: xp.stack(
            [a[:, 1] * b[:, 2] - a[:, 2] * b[:, 1], a[:, 2] * b[:, 0] - a[:, 0] * b[:, 2], a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]], axis=1
        ),
        [floats(50000, 3), floats(50000, 3)],
    ),
    "nbody": (
        lambda xp, x: (lambda d: xp.sum(d / ((xp.sum(d * d, axis=-1, keepdims=True) + 0.01) ** 1.5), axis=1))(
            x[None, :, :] - x[:, None, :]
        ),
        [floats(300, 3)],
    ),
    "poly_eval": (
        lambda xp, x, c: ((((((c[7] * x + c[6]) * x + c[5]) * x + c[4]) * x + c[3]) * x + c[2]) * x + c[1]) * x + c[0],
        [floats(100000), floats(8)],
    ),
    "heat2d10": (
        lambda xp, x: functools.reduce(
            lambda u, _: u + 0.1 * (xp.roll(u, 1, 0) + xp.roll(u, -1, 0) + xp.roll(u, 1, 1) + xp.roll(u, -1, 1) - 4 * u), range(4), x
        ),
        [floats(256, 256)],
    ),
    "blackscholes": (
        lambda xp, s, k: s / (1 + xp.exp(-1.7 * (xp.log(s / k) + 0.5))) - k * xp.exp(-0.05) / (1 + xp.exp(-1.7 * (xp.log(s / k) - 0.5))),
        [abs(floats(1 << 18)) + 1, abs(floats(1 << 18)) + 1],
    ),
    "logistic_map": (lambda xp, x: functools.reduce(lambda u, _: 3.7 * u * (1 - u), range(20), x), [RNG.random(1 << 18)]),
    "interleave": (lambda xp, a, b: xp.reshape(xp.stack([a, b], axis=1), (1 << 19,)), [floats(1 << 18), floats(1 << 18)]),
    "deinterleave": (lambda xp, x: x[::2] - x[1::2], [floats(1 << 19)]),
    "moving_avg": (lambda xp, x: (xp.cumsum(x)[8:] - xp.cumsum(x)[:-8]) / 8, [floats(1 << 18)]),
    "reverse": (lambda xp, x: x[::-1] * 1.0, [floats(1 << 20)]),
    "diag_mul": (lambda xp, d, x: d[:, None] * x * d[None, :], [floats(512), floats(512, 512)]),
    "vander": (lambda xp, x: xp.stack([x**k for k in range(6)], axis=1), [floats(20000)]),
    "mm_skinny": (lambda xp, a, b: xp.matmul(a, b), [floats(4096, 32), floats(32, 32)]),
    "mm_wide": (lambda xp, a, b: xp.matmul(a, b), [floats(8, 512), floats(512, 4096)]),
    "mm_batch_small": (lambda xp, a, b: xp.matmul(a, b), [floats(256, 16, 16), floats(256, 16, 16)]),
    "mm_f64_100": (lambda xp, a, b: xp.matmul(a, b), [RNG.random((100, 100)), RNG.random((100, 100))]),
    "quad_form": (lambda xp, x, q: xp.sum(xp.matmul(x, q) * x, axis=1), [floats(2000, 32), floats(32, 32)]),
    # running sums with what is around them, distances, counts, places in short rows, orders of rows, transposes of powers of two
    "sums_from_behind": (lambda xp, x: xp.flip(xp.cumsum(xp.flip(x, 1), 1), 1), [RNG.integers(-9, 20, (1023, 700)).astype("i4")]),
    "moving_averages": (lambda xp, x: (lambda c: (c[:, 32:] - c[:, :-32]) / 32)(xp.cumsum(x, axis=1)), [floats(600, 2048)]),
    "distances_128": (lambda xp, a, b: xp.sqrt(xp.sum((a[:, None] - b) ** 2, axis=-1)), [floats(257, 128), floats(301, 128)]),
    "city_blocks": (lambda xp, a, b: xp.sum(xp.abs(a[:, None] - b), axis=-1), [floats(257, 19), floats(301, 19)]),
    "mean_of_bytes": (lambda xp, x: xp.mean(x), [RNG.integers(0, 255, (700, 1501)).astype("u1")]),
    "share_above": (lambda xp, x: xp.mean(x > 0.3), [floats(700, 1501)]),
    "least_of_33": (lambda xp, x: xp.argmin(x, axis=1), [floats(2000, 33)]),
    "nearest_centres": (
        lambda xp, x, c: xp.argmin(xp.sum(c * c, axis=1) - 2 * xp.matmul(x, c.T), axis=1),
        [floats(2003, 17), floats(33, 17)],
    ),
    "among_three": (lambda xp, x: xp.where(x >= xp.sort(x, axis=-1)[:, -3:-2], x, 0), [floats(2000, 12)]),
    "axes_reversed": (lambda xp, x: xp.reshape(xp.transpose(x, (2, 1, 0)) * 2 + 1, (64, 4096)), [floats(4, 1024, 64)]),
    "weighted_dot": (lambda xp, x, y, w: xp.sum(x * y * w), [floats(1000003), floats(1000003), floats(1000003)]),
}


PROGRAMS |= FURTHER | PLAIN | STACKED | STENCILS | GATHERS | LARGE | SHORT_ROWS | HALVES | PARTS | SHARED | FOLDED | ORDERED | FOUND
PROGRAMS |= SUMMED | MOVED | ALIKE | SEAMS | PIXELS | POINTS | GROUPS | RESULTS | TABLES | KNOWN | BLOCKS | LINES | TOGETHER


def runners(function: Callable[..., Any], arguments: list[Any]) -> dict[str, Callable[[], Any]]:
    """A call of each system, ready to be timed."""
    compiled = eqsat.jit(lambda *a: function(enp, *a))
    found: dict[str, Callable[[], Any]] = {"eqsat": lambda: compiled(*arguments), "numpy": lambda: function(np, *arguments)}
    if importlib.util.find_spec("jax") is not None:
        import jax

        jax.config.update("jax_enable_x64", True)
        other, given = jax.jit(lambda *a: function(jax.numpy, *a)), [jax.device_put(a) for a in arguments]
        found["jax"] = lambda: jax.block_until_ready(other(*given))
    return found


def several(results: Any) -> list[np.ndarray[Any, Any]]:
    return [np.asarray(result) for result in (results if isinstance(results, tuple) else (results,))]


def seconds(call: Callable[[], Any]) -> float:
    """The median of some calls in a row."""
    taken: list[float] = []
    end = time.perf_counter() + SECONDS
    while not taken or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[[], *PROGRAMS], metavar="name")
    parser.add_argument("--threads", type=int, default=1)
    asked = parser.parse_args()
    eqsat.set_num_threads(asked.threads)
    if asked.threads == 1 and hasattr(os, "sched_setaffinity"):  # jax asks how many processors there are, and takes them all
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    ratios: list[float] = []
    for name, (function, arguments) in PROGRAMS.items():
        if asked.names and name not in asked.names:
            continue
        calls = runners(function, arguments)
        expected = function(np, *arguments)
        for one, other in zip(several(calls["eqsat"]()), several(expected), strict=True):
            largest = np.abs(other[np.isfinite(other)].astype(complex)).max(initial=0.0)  # long sums of NumPy's are wrong by 1e-5 of it
            np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-3 + 3e-5 * largest, err_msg=name)
        for call in calls.values():
            call()
            call()
        rounds = [{who: seconds(call) for who, call in calls.items()} for _ in range(ROUNDS)]
        times = {who: statistics.median(one[who] for one in rounds) for who in calls}
        best = min((who for who in times if who != "eqsat"), key=lambda who: times[who])
        ratios.append(times[best] / times["eqsat"])
        print(f"{name:22} {ratios[-1]:6.2f}  {'  '.join(f'{who} {t * 1e6:.1f} us' for who, t in times.items())}", flush=True)
    mean, slower = math.exp(statistics.fmean(map(math.log, ratios))), [sum(ratio < limit for ratio in ratios) for limit in (0.8, 1.0)]
    print(f"{len(ratios)} programs, geometric mean {mean:.2f}, {slower[0]} below 0.8, {slower[1]} below 1")


if __name__ == "__main__":
    main()
