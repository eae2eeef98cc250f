"""Convolutions of many shapes beside other libraries, printed: `python -m tests.bench.bench_convolutions [--threads 1] [--rounds 5]`.

Layers of residual networks, first layers, small images and batches; float32.  torch and jax take part where they are installed, each
with so many threads; medians of interleaved rounds, the ratio to the fastest of the others, and what is computed in a second.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import eqsat
import eqsat.numpy as enp
from tests.bench.bench_wide import seconds


@dataclass(frozen=True)
class Layer:
    """Images (batch, channels, side, side) under filters of size x size."""

    batch: int
    channels: int
    side: int
    filters: int
    size: int
    stride: int = 1
    pad: int = 0

    @property
    def flops(self) -> int:
        side = (self.side + 2 * self.pad - self.size) // self.stride + 1
        return 2 * self.batch * self.filters * side**2 * self.channels * self.size**2


LAYERS = (
    *(Layer(1, c, side, c, 3, 1, 1) for c, side in ((64, 56), (128, 28), (256, 14), (512, 7))),
    *(Layer(1, c, side, 2 * c, 3, 2, 1) for c, side in ((64, 56), (128, 28), (256, 14))),
    Layer(1, 128, 28, 256, 1, 2),
    Layer(1, 3, 224, 64, 7, 2, 3),
    Layer(1, 3, 224, 32, 3, 2, 1),
    Layer(1, 3, 224, 96, 4, 4),
    Layer(1, 32, 64, 32, 4, 2, 1),
    Layer(1, 16, 64, 32, 5, 1, 2),
    Layer(8, 16, 14, 32, 3, 1, 1),
    Layer(8, 16, 32, 32, 3, 1, 1),
    Layer(16, 64, 8, 64, 3, 1, 1),
    Layer(2, 24, 33, 40, 3, 2, 1),
)


def runners(layer: Layer, threads: int) -> dict[str, Callable[[], Any]]:
    """A call of each system, ready to be timed."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (layer.batch, layer.channels, layer.side, layer.side)).astype(np.float32)
    w = rng.uniform(-1, 1, (layer.filters, layer.channels, layer.size, layer.size)).astype(np.float32)
    compiled = eqsat.jit(lambda x, w: enp.conv2d(x, w, layer.stride, layer.pad))
    found: dict[str, Callable[[], Any]] = {"eqsat": lambda: compiled(x, w)}
    if importlib.util.find_spec("torch") is not None:
        import torch  # type: ignore[import-not-found, unused-ignore]

        torch.set_num_threads(threads)
        given = torch.from_numpy(x), torch.from_numpy(w)
        found["torch"] = lambda: torch.nn.functional.conv2d(*given, stride=layer.stride, padding=layer.pad).numpy()
    if importlib.util.find_spec("jax") is not None:
        import jax

        steps, around = (layer.stride, layer.stride), ((layer.pad, layer.pad),) * 2
        other = jax.jit(lambda x, w: jax.lax.conv_general_dilated(x, w, steps, around))
        put = jax.device_put(x), jax.device_put(w)
        found["jax"] = lambda: jax.block_until_ready(other(*put))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    eqsat.set_num_threads(asked.threads)
    ratios: list[float] = []
    for layer in LAYERS:
        calls = runners(layer, asked.threads)
        results = {who: np.asarray(call()) for who, call in calls.items()}
        for who, result in results.items():
            np.testing.assert_allclose(result, results["eqsat"], rtol=1e-3, atol=1e-3, err_msg=who)
        rounds = [{who: seconds(call) for who, call in calls.items()} for _ in range(asked.rounds)]
        times = {who: statistics.median(one[who] for one in rounds) for who in calls}
        others = [time for who, time in times.items() if who != "eqsat"]
        ratios += [min(others) / times["eqsat"]] if others else []
        shown = "  ".join(f"{who} {time * 1e6:.0f} us" for who, time in times.items())
        print(f"{layer}: {f'{ratios[-1]:.2f}  ' if others else ''}{shown}, {layer.flops / times['eqsat'] / 1e9:.0f} GF/s", flush=True)
    if ratios:
        print(f"{len(ratios)} layers, geometric mean {math.exp(statistics.fmean(map(math.log, ratios))):.2f}, lowest {min(ratios):.2f}")


if __name__ == "__main__":
    main()
