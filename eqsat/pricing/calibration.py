"""What the cost model has to know of this machine, measured: `python -m eqsat calibrate`.

What calling a kernel costs is not measured: it says how much an additional kernel has to win, and stays that of the default target.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from eqsat.codegen import compile_kernels
from eqsat.codegen.llvm.clock import cycle_ns
from eqsat.codegen.llvm.machine import host
from eqsat.ir.index import Var
from eqsat.ir.loops import Buffer, Fold, For, Kernel, Load, Pick, Stmt, Store, Temp
from eqsat.ir.tensor import Call, Scalar
from eqsat.lowering import type_indices
from eqsat.pricing.target import DEFAULT_TARGET, Target
from eqsat.pricing.timing import best_seconds
from eqsat.threads import num_threads

FOLDER = Path("/sys/devices/system/cpu/cpu0/cache")
# of one measurement, and the most memory that one takes
SECONDS = 0.15
MOST_BYTES = 256 << 20
# what is tried first of the last cache, by the one before it, and how much slower reading gets where it does not stay
LEAST_SHARED, SLOWER = 2, 2.0
# of one vector
OPERATIONS = 24
# how often one call goes over an array that fits a cache, each time a line further on
AGAIN, LINE = 64, 16
Progress = Callable[[str], None]


def measure(progress: Progress = lambda what: None) -> Target:
    """The parameters of this machine, in about two seconds; `progress` is told what is measured next."""
    progress("the length of a cycle")
    ghz = 1 / cycle_ns()
    vector = host().registers.bytes
    caches = cache_sizes()
    rates = []
    for size in caches[:-1]:
        progress(f"reading from {size >> 10} KiB of cache")
        rates.append(read_ns(size // 2))
    progress(f"reading from {caches[-1] >> 10} KiB of cache, which others share")
    rate, kept = shared_ns(caches[-2], caches[-1])
    rates, caches = [*rates, rate], (*caches[:-1], kept)
    progress("reading from memory")
    rates.append(read_ns(MOST_BYTES))
    progress("storing and gathering")
    near = caches[0] // 2
    return replace(
        DEFAULT_TARGET,
        name=host().cpu,
        ghz=_rounded(ghz),
        vector_bytes=vector,
        threads=num_threads(),
        cache_bytes=caches,
        byte_ns=tuple(_rounded(rate) for rate in np.maximum.accumulate(rates)),
        gather_cycles=_rounded(gather_ns(near) * ghz),
        store_cycles=_rounded(store_ns(near) * vector * ghz),
        load_cycles=_rounded(rates[0] * vector * ghz),
        op_cycles=_rounded(operation_ns(near) * ghz),
        chosen_bytes=min(host().abilities.chooses, default=128) // 8,
    )


def cache_sizes() -> tuple[int, ...]:
    """Bytes of the data caches of a processor, nearest first, as the system tells; else those of the default target."""
    found: dict[int, int] = {}
    for index in sorted(FOLDER.glob("index*")):
        try:
            kind, level, size = ((index / name).read_text().strip() for name in ("type", "level", "size"))
        except OSError:
            continue
        if kind != "Instruction" and size.endswith("K"):
            found[int(level)] = int(size[:-1]) << 10
    sizes = tuple(size for _, size in sorted(found.items()))
    return sizes if len(sizes) > 1 and all(a < b for a, b in pairwise(sizes)) else DEFAULT_TARGET.cache_bytes


def shared_ns(before: int, size: int) -> tuple[float, int]:
    """Nanoseconds a byte from the last cache, of which others leave a part: what is little more than the cache before holds; and how much
    stays there."""
    nbytes = min(LEAST_SHARED * before, size // 2, MOST_BYTES // 4)
    rate = read_ns(nbytes)
    while 2 * nbytes <= min(size, MOST_BYTES // 4) and read_ns(2 * nbytes) < SLOWER * rate:
        nbytes *= 2
    return rate, max(2 * before, min(size, 2 * nbytes))


def read_ns(nbytes: int) -> float:
    """Nanoseconds a byte of adding up float32, which many registers do faster than any cache hands them on."""
    count, again = nbytes // 4, AGAIN if nbytes < MOST_BYTES // 8 else 1
    rep, k = Var("rep", 0, again - 1), Var("k", 0, count - 1)
    fold = Fold("t", "sum", "float32", k, (), Load("x", rep * LINE + k, "float32"))
    size = count + again * LINE
    nanoseconds = _measured(size, again, (For(rep, "serial", (fold, Store("out", rep, Temp("t", "float32")))),))
    return nanoseconds / (again * count * 4)


def store_ns(nbytes: int) -> float:
    """Nanoseconds a byte of writing float32."""
    count = nbytes // 4
    rep, k = Var("rep", 0, AGAIN - 1), Var("k", 0, count - 1)
    body = For(k, "parallel", (Store("out", rep * LINE + k, Load("x", rep * LINE, "float32")),))
    return _measured(1 + AGAIN * LINE, count + AGAIN * LINE, (For(rep, "serial", (body,)),)) / (AGAIN * count * 4)


def operation_ns(nbytes: int) -> float:
    """Nanoseconds of a multiplication and addition of a vector of float32: many to every load, those of many vectors at once."""
    count = nbytes // 16
    rep, k = Var("rep", 0, AGAIN - 1), Var("k", 0, count - 1)
    x: Scalar = Load("x", k, "float32")
    value = x
    for _ in range(OPERATIONS):
        value = Call("add", (Call("multiply", (value, x), "float32"), x), "float32")
    body = For(k, "parallel", (Store("out", rep + k, value),))
    nanoseconds = _measured(count, count + AGAIN, (For(rep, "serial", (body,)),))
    return nanoseconds / (AGAIN * OPERATIONS * count * 4 / host().registers.bytes)


def gather_ns(nbytes: int) -> float:
    """Nanoseconds of an element at a computed place."""
    count = nbytes // 16
    rep, k = Var("rep", 0, AGAIN - 1), Var("k", 0, count - 1)
    place: Scalar = Load("places", k, "int64")
    body = For(k, "parallel", (Store("out", rep + k, Pick("x", (count,), (place,), "float32")),))
    places = np.random.default_rng(0).integers(0, count, count)
    return _measured(count, count + AGAIN, (For(rep, "serial", (body,)),), places) / (AGAIN * count)


def _measured(read: int, written: int, body: Sequence[Stmt], places: Any = None) -> float:
    """Nanoseconds of one run of loops over x and out, the best of as many as there is time for."""
    names = [Buffer("x", "float32", read, "in")]
    arrays = [_aligned(np.ones(read, np.float32))]
    if places is not None:
        names, arrays = [*names, Buffer("places", "int64", len(places), "in")], [*arrays, places]
    kernel = Kernel("measured", (*names, Buffer("out", "float32", written, "out")), tuple(body))
    routine = compile_kernels([type_indices(kernel)]).routine("measured")
    arrays.append(_aligned(np.zeros(written, np.float32)))
    return best_seconds(lambda: routine.entry(*arrays, 0, 0), SECONDS) * 1e9


def _aligned(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The values where a line of the cache begins."""
    memory = np.zeros(values.size + LINE, values.dtype)
    first = -memory.ctypes.data % (LINE * 4) // values.itemsize
    memory[first : first + values.size] = values
    return memory[first : first + values.size]


def _rounded(value: float) -> float:
    """Two digits: what is measured again is rarely closer."""
    return float(f"{value:.2g}")
