"""Programs for bench_wide of which half is computed, or parts of which are transposes: symmetric products, padded and rolled transposes."""

from __future__ import annotations

from typing import Any

from tests.bench.plain_programs import Program, floats


def centred(xp: Any, x: Any) -> Any:
    return x - xp.mean(x, axis=0)


HALVES: dict[str, Program] = {
    "gram_512": (lambda xp, x: xp.matmul(x.T, x), [floats(512, 512)]),
    "gram_of_rows": (lambda xp, x: xp.matmul(x, x.T), [floats(512, 512)]),
    "gram_300": (lambda xp, x: xp.matmul(x.T, x), [floats(2000, 300)]),
    "covariance_200": (lambda xp, x: xp.matmul(centred(xp, x).T, centred(xp, x)) / 999, [floats(1000, 200)]),
    "padded_transpose": (lambda xp, x: xp.pad(x.T, ((2, 2), (3, 3))), [floats(1000, 800)]),
    "rolled_transpose": (lambda xp, x: xp.roll(x.T, 5, axis=1), [floats(1000, 800)]),
    "joined_transposes": (lambda xp, x: xp.concatenate([x.T, x.T * 2], axis=1), [floats(1000, 800)]),
    "padded_channels_last": (
        lambda xp, x: xp.pad(xp.transpose(x, (0, 2, 3, 1)), ((0, 0), (1, 1), (1, 1), (0, 0))),
        [floats(8, 64, 56, 56)],
    ),
}
