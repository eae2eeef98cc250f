"""Pools and filters of padded arrays beside scipy.ndimage's and NumPy's, printed: `python -m tests.bench.bench_windows [--rounds 7]`.

Windows of `np.lib.stride_tricks.sliding_window_view`, folded; float32, one thread, the least of some rounds, microseconds.  scipy, where it
is installed, filters images one by one, for windows that step by one.
"""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import eqsat
import eqsat.numpy as enp
from eqsat.pricing.timing import best_seconds

SHAPES = [(33, 111, 113), (64, 56, 56), (3, 480, 640), (8, 1000, 1000)]


class Filter(NamedTuple):
    """Windows of `reach` by `reach`, `step` from each other, of images with `border` around, folded; `padding` as np.pad takes it."""

    fold: str
    reach: int
    step: int
    border: int
    padding: dict[str, Any]

    def of(self, xp: Any, x: Any) -> Any:
        around = (self.border, self.border)
        padded = xp.pad(x, ((0, 0), around, around), **self.padding) if self.border else x
        windows = xp.lib.stride_tricks.sliding_window_view(padded, (self.reach, self.reach), axis=(1, 2))
        return getattr(windows[:, :: self.step, :: self.step], self.fold)(axis=(3, 4))


LOWEST: dict[str, Any] = {"constant_values": -np.inf}
FILTERS = {
    "pool_max 3, step 2, border 1": Filter("max", 3, 2, 1, LOWEST),
    "pool_mean 3, step 2, border 1": Filter("mean", 3, 2, 1, {}),
    "pool_max 2, step 2, border 1": Filter("max", 2, 2, 1, LOWEST),
    "pool_sum 5, step 2, edges": Filter("sum", 5, 2, 2, {"mode": "edge"}),
    "filter_mean 3": Filter("mean", 3, 1, 0, {}),
    "filter_mean 3, border 1": Filter("mean", 3, 1, 1, {}),
    "filter_max 3, border 1": Filter("max", 3, 1, 1, LOWEST),
}


def by_scipy(one: Filter) -> Callable[[Any], Any] | None:
    """The same by scipy.ndimage, where it has it."""
    if importlib.util.find_spec("scipy") is None or one.step > 1 or not one.border:
        return None
    from scipy import ndimage

    function = {"mean": ndimage.uniform_filter, "max": ndimage.maximum_filter}[one.fold]
    value = one.padding.get("constant_values", 0)
    return lambda x: np.stack([function(image, one.reach, mode="constant", cval=value) for image in x])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    asked = parser.parse_args()
    eqsat.set_num_threads(1)
    print(f"{'us':48}{'eqsat':>10}{'numpy':>10}{'scipy':>10}")
    for shape in SHAPES:
        x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
        for name, one in FILTERS.items():
            calls: list[Callable[[], Any] | None] = [partial(eqsat.jit(partial(one.of, enp)), x), partial(one.of, np, x)]
            scipy = by_scipy(one)
            calls.append(scipy and partial(scipy, x))
            results = [call() for call in calls if call is not None]
            assert all(np.allclose(results[0], result, atol=1e-5) for result in results), name
            least = [float("inf")] * len(calls)
            for _ in range(asked.rounds):
                least = [
                    before if call is None else min(before, best_seconds(call, 0.02, 30)) for before, call in zip(least, calls, strict=True)
                ]
            figures = "".join(f"{seconds * 1e6:10.1f}" if seconds < float("inf") else f"{'':10}" for seconds in least)
            print(f"{name:32}{shape!s:16}{figures}", flush=True)


if __name__ == "__main__":
    main()
