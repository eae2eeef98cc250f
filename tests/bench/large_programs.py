"""Programs over 16 MB and more for bench_wide, which wait for memory."""

from __future__ import annotations

from typing import Any

from tests.bench.plain_programs import Program, floats


def pooled(xp: Any, x: Any, rows: int, columns: int) -> Any:
    return xp.max(xp.reshape(x, (x.shape[0], x.shape[1] // rows, rows, x.shape[2] // columns, columns)), axis=(2, 4))


LARGE: dict[str, Program] = {
    "large_transpose": (lambda xp, x, y: xp.transpose(x) + y, [floats(2048, 2048), floats(2048, 2048)]),
    "large_symmetric": (lambda xp, x: (x + xp.transpose(x)) * 0.5, [floats(2048, 2048)]),
    "large_turned": (lambda xp, x: xp.transpose(x, (2, 1, 0)) * 2 + xp.zeros((1,), "float32"), [floats(128, 128, 256)]),
    "large_depth": (
        lambda xp, x: xp.reshape(xp.transpose(xp.reshape(x, (16, 128, 4, 128, 4)), (0, 2, 4, 1, 3)), (16, 16, 128, 128)) * 2,
        [floats(16, 512, 512)],
    ),
    "large_pool_4": (lambda xp, x: pooled(xp, x, 4, 4), [floats(16, 512, 512)]),
    "large_pool_2": (lambda xp, x: pooled(xp, x, 2, 2), [floats(16, 512, 512)]),
    "large_column_sums": (lambda xp, x: xp.sum(x, axis=0), [floats(4096, 1024)]),
    "large_column_peaks": (lambda xp, x: xp.max(x, axis=0), [floats(4096, 1024)]),
    "large_vecmat": (lambda xp, x, y: y @ x, [floats(4096, 1024), floats(4096)]),
    "large_flip": (lambda xp, x: xp.flip(x, 0) * 2, [floats(4096, 1024)]),
    "large_normed": (
        lambda xp, x: (x - xp.mean(x, axis=(0, 1, 2), keepdims=True)) / xp.sqrt(xp.var(x, axis=(0, 1, 2), keepdims=True) + 1e-5),
        [floats(16, 64, 64, 64)],
    ),
    "large_cumsum": (lambda xp, x: xp.cumsum(x, axis=1), [floats(4096, 1024)]),
}
