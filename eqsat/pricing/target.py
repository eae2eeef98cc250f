"""The machine that costs are estimated for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, prod

from eqsat.ir.dtypes import itemsize
from eqsat.ir.small_tables import is_small_table

# below this estimate a kernel is faster on one thread than handed to several
SPLIT_NS = 25_000.0
# bytes of an array that there is not
BEYOND = 1 << 62


@dataclass(frozen=True)
class Target:
    """Parameters of the cost model; a named default makes costs the same everywhere.

    ghz            cycles per nanosecond
    vector_bytes   width of a vector register
    threads        how many share the outermost loop of a kernel
    launch_ns      calling one kernel: its first instructions, seldom in a cache (4 ns in a loop over kernels; 1000 from Python)
    cache_bytes    sizes of the cache levels; the last level is memory
    byte_ns        nanoseconds a byte moved from each level, and from memory
    gather_cycles  a load whose neighbours in the innermost loop are not neighbours in memory
    store_cycles, load_cycles  a vector access that hits the first cache
    op_cycles      an addition or multiplication of vectors, of many that do not wait for each other
    chosen_bytes   of the smallest elements that it chooses from registers (ir/small_tables.py); more than 8 where it does not
    """

    name: str
    ghz: float
    vector_bytes: int
    threads: int
    launch_ns: float
    cache_bytes: tuple[int, ...]
    byte_ns: tuple[float, ...]
    gather_cycles: float
    store_cycles: float
    load_cycles: float
    op_cycles: float = 0.5
    chosen_bytes: int = 16

    def byte_ns_of(self, size_bytes: float) -> float:
        """Moving one byte of an array of this size."""
        for size, cost in zip(self.cache_bytes, self.byte_ns, strict=False):
            if size_bytes <= size:
                return cost
        return self.byte_ns[-1]

    def choosing_cycles(self, dtype: str, shape: tuple[int, ...]) -> float:
        """An element at a computed place of an array; small arrays stand in wide registers, of which two instructions for every pair choose
        a vector of elements."""
        if itemsize(dtype) < self.chosen_bytes or not is_small_table(dtype, shape):
            return self.gather_cycles
        lanes = self.vector_bytes / itemsize(dtype)
        return min(self.gather_cycles, 2 * self.op_cycles * (1 + ceil(prod(shape) / lanes)) / lanes)

    def move_ns(self, size_bytes: float) -> float:
        """Streaming an array of this size once."""
        return size_bytes * self.byte_ns_of(size_bytes)


def near(target: Target) -> Target:
    """A target on which all that is not in the first cache is in the second."""
    return replace(target, cache_bytes=(target.cache_bytes[0], *(BEYOND for _ in target.cache_bytes[1:])))


DEFAULT_TARGET = Target(
    name="x86-64-v4 core",
    ghz=3.0,
    vector_bytes=64,
    threads=2,
    launch_ns=100.0,
    cache_bytes=(48 << 10, 1 << 20, 32 << 20),
    byte_ns=(0.004, 0.008, 0.02, 0.05),
    gather_cycles=0.8,
    store_cycles=1.0,
    load_cycles=0.5,
    op_cycles=0.5,
    chosen_bytes=1,
)
