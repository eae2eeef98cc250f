"""Programs for bench_wide of whose products a part is read: rows, diagonals, the last token of layers, rows at computed places."""

from __future__ import annotations

import numpy as np

from tests.bench.plain_programs import Program, floats, softmax

PLACES = np.array([3, 77, 410, 9])


PARTS: dict[str, Program] = {
    "row_of_product": (lambda xp, a, b: xp.matmul(a, b)[3], [floats(512, 512), floats(512, 512)]),
    "diagonal_of_product": (lambda xp, a, b: xp.diagonal(xp.matmul(a, b)), [floats(512, 512), floats(512, 512)]),
    "rows_at_places": (lambda xp, a, b, i: xp.matmul(a, b)[i], [floats(512, 512), floats(512, 512), PLACES]),
    "first_of_layers": (
        lambda xp, x, w, v: xp.matmul(xp.maximum(xp.matmul(x, w), 0), v)[:4],
        [floats(256, 512), floats(512, 512), floats(512, 256)],
    ),
    "last_token": (
        lambda xp, q, k, v: xp.matmul(softmax(xp, xp.matmul(q, xp.swapaxes(k, 1, 2)) * 0.125), v)[:, -1],
        [floats(8, 256, 64), floats(8, 256, 64), floats(8, 256, 64)],
    ),
    "shifted_rows": (lambda xp, x: xp.matmul(xp.eye(512, k=1), x), [floats(512, 512)]),
}
