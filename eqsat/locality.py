"""What the loops of a nest bring into the caches: how much of an array, how often, and how long that takes.

Lines of memory stay in a cache for as long as what the loops inside of some loop touch fits into half of it.  So for each cache there is an
outermost loop from which on everything stays; what is in it is brought once for every iteration of the loops around, but for what the
iteration of the next loop before it has brought already.  Lines whose distance is a large power of two share few places in a cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod

from eqsat.target import Target

LINE_BYTES = 64
# places in a cache for lines whose addresses end alike, at least
WAYS = 8
# lines that are fetched ahead in vain where a run of memory of so many lines, or more, ends
AHEAD, LONG_RUN = 16, 8
# the extent of a loop, and how far an access goes with each of its iterations, in elements; None where it goes anywhere
Step = tuple[int, int | None]


def moved_ns(target: Target, array_bytes: int, width: int, loops: Sequence[Step]) -> float:
    """Bringing what an access touches near, loops outermost first: the slowest of the caches that the array does not stay in."""
    slowest = 0.0
    most = array_bytes / LINE_BYTES + 1
    touched = [_lines(loops[k:], width) for k in range(len(loops) + 1)]
    for size, byte_ns in zip(target.cache_bytes, target.byte_ns[1:], strict=True):
        if array_bytes > size:
            stays, lines = next(
                (k, min(most, count)) for k, (count, apart, _) in enumerate(touched) if _fits(min(most, count), apart, size)
            )
            around = max(stays - 1, 0)
            there, _, ahead = touched[around]
            lines = min(lines * prod(extent for extent, _ in loops[around:stays]), there)
            brought = prod(extent for extent, _ in loops[:around]) * lines * ahead
            slowest = max(slowest, brought * LINE_BYTES * byte_ns)
    return slowest


def _fits(lines: float, apart: int, size: int) -> bool:
    """Whether so many lines, in runs that are so many bytes apart, stay in a cache."""
    way = 1 << ((size // WAYS).bit_length() - 1)  # lines that are a multiple of it apart share places
    crowded = max(1, gcd(apart, way) // LINE_BYTES)
    return lines * LINE_BYTES <= max(size / 2 / crowded, LINE_BYTES * WAYS / 2)


def _lines(loops: Sequence[Step], width: int) -> tuple[float, int, float]:
    """How many lines some loops touch, runs of memory, within which the next line is never far, times how many of them there are; and the
    distance in bytes from one run to the next, 1 for a single run; and how much more is fetched, behind the ends of long runs."""
    run, runs, apart = 1.0, 1, 1
    for stride, extent in sorted((abs(stride), extent) for extent, stride in loops if stride):
        if stride <= max(run, LINE_BYTES / width):
            run += stride * (extent - 1)
        else:
            runs *= extent
            apart = stride * width if apart == 1 else apart
    scattered = prod(extent for extent, stride in loops if stride is None)
    lines = max(1.0, run * width / LINE_BYTES)
    return scattered * runs * lines, apart, 1.0 + min(AHEAD / lines, 1.0) if runs > 1 and lines >= LONG_RUN else 1.0
