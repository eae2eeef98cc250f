"""Programs for bench_wide: elements of small tables at computed places, and functions of bytes, of which there are but 256."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.bench.further_programs import bytes_of, floats
from tests.bench.group_programs import members


def linear_light(xp: Any, x: Any) -> Any:
    c = x.astype("float32") / 255
    return xp.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


TABLES: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "table_of_bytes": (lambda xp, t, x: xp.take(t, x), [bytes_of(256), bytes_of(200, 300)]),
    "tables_of_bytes": (lambda xp, t, s, x: xp.take(s, xp.take(t, x)), [bytes_of(256), bytes_of(256), bytes_of(200, 300)]),
    "letters": (lambda xp, t, x: xp.take(t, x & 63), [bytes_of(64), bytes_of(200, 300)]),
    "weights_of_10": (lambda xp, w, k: xp.take(w, k), [floats(10), members(60_000, 10)]),
    "weights_of_64": (lambda xp, w, k: xp.take(w, k) * 2 + 1, [floats(64), members(60_000, 64)]),
    "weights_of_bytes": (lambda xp, w, x: xp.take(w, x), [floats(256), bytes_of(200, 300)]),
    "doubles_of_16": (lambda xp, w, k: xp.take(w, k), [floats(16).astype("f8"), members(60_000, 16)]),
    "columns_of_64": (lambda xp, x, j: x[:, j], [floats(400, 64), members(64, 64)]),
    "columns_of_bytes": (lambda xp, x, j: x[:, j], [bytes_of(400, 200), members(200, 200)]),
    "places_along_rows": (
        lambda xp, x, j: xp.take_along_axis(x, j, 1),
        [floats(400, 16), members(6_400, 16).reshape(400, 16).astype("i8")],
    ),
    "gamma_of_bytes": (lambda xp, x: ((x.astype("float32") / 255) ** 0.4545 * 255 + 0.5).astype("uint8"), [bytes_of(200, 300)]),
    "contrast": (lambda xp, x: xp.clip((x.astype("float32") - 128) * 1.3 + 128, 0, 255).astype("uint8"), [bytes_of(200, 300)]),
    "linear_light": (linear_light, [bytes_of(200, 300)]),
    "kinds_of_letters": (lambda xp, x: ((x >= 48) & (x < 58)) | ((x >= 65) & (x < 71)) | ((x >= 97) & (x < 103)), [bytes_of(60_000)]),
    "quantized_back": (lambda xp, x: (x.astype("float32") - np.float32(117)) * np.float32(0.02), [bytes_of(200, 300)]),
}
