"""Whole networks, printed: `EQSAT_CACHE=0 python -m tests.bench.bench_networks [NAME ...]`.

Seconds to the first result without anything on disk, and milliseconds a call on one thread, of eqsat and of jax where that is installed, in
turns, medians; and the largest difference relative to the largest value.
"""

from __future__ import annotations

import argparse
import os
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

import numpy as np

import eqsat
import eqsat.numpy as enp
from tests.bench.bench_loops import Call, first, in_turns
from tests.bench.network_programs import NETWORKS

SECONDS = 3.0


def of_jax() -> Any:
    """jax.numpy with convolutions and pooling as eqsat has them."""
    import jax

    def conv2d(x: Any, w: Any, stride: int, pad: int, groups: int = 1) -> Any:
        return jax.lax.conv_general_dilated(x, w, (stride, stride), [(pad, pad)] * 2, feature_group_count=groups)

    def maxpool2d(x: Any, k: int, stride: int, pad: int) -> Any:
        window, strides, pads = (1, 1, k, k), (1, 1, stride, stride), [(0, 0), (0, 0), (pad, pad), (pad, pad)]
        return jax.lax.reduce_window(x, -jax.numpy.inf, jax.lax.max, window, strides, pads)

    return SimpleNamespace(**{**vars(jax.numpy), "conv2d": conv2d, "maxpool2d": maxpool2d})


def calls(name: str) -> dict[str, Call]:
    function, arrays = NETWORKS[name]()
    compiled = eqsat.jit(lambda *a: function(enp, *a))
    found: dict[str, Call] = {"eqsat": lambda: compiled(*arrays)}
    if find_spec("jax"):
        import jax

        names = of_jax()
        theirs, there = jax.jit(lambda *a: function(names, *a)), jax.device_put(arrays)
        found["jax"] = lambda: jax.block_until_ready(theirs(*there))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(NETWORKS))
    names = parser.parse_args().names
    eqsat.set_num_threads(1)
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    for name in names:
        known = calls(name)
        began = {who: first(call) for who, call in known.items()}
        results = [np.asarray(call()) for call in known.values()]
        apart = max(float(np.abs(result - results[0]).max() / np.abs(results[0]).max()) for result in results)
        line = ", ".join(f"{who} {seconds * 1e3:.2f}" for who, seconds in in_turns(known, SECONDS).items())
        starts = ", ".join(f"{who} {seconds:.1f}" for who, seconds in began.items())
        print(f"{name}: {line} ms; first {starts} s; apart {apart:.0e}", flush=True)


if __name__ == "__main__":
    main()
