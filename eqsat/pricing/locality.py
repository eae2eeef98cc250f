"""What the loops of a nest bring into the caches: how much of an array, how often, and how long that takes.

Lines of memory stay in a cache for as long as what the loops inside of some loop touch fits into half of it.  So for each cache there is an
outermost loop from which on everything stays; what is in it is brought once for every iteration of the loops around, but for what the
iteration of the next loop before it has brought already.  Lines whose distance is a large power of two share few places in a cache.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import gcd, prod

from eqsat.pricing.target import Target

LINE_BYTES = 64
# places in a cache for lines whose addresses end alike, at least
WAYS = 8
# how much longer vectors take of whose lines twice as many as there is room for push each other out, and stores to such
CROWDED = 8.0
# lines that are fetched ahead in vain where a run of memory of so many lines, or more, ends
AHEAD, LONG_RUN = 8, 8
# runs whose places in a cache are counted one by one
COUNTED = 2048
# at so many places a processor sees what to fetch ahead; and the part that it takes more to bring what is not, since no run is as long, by
# what is read and by what is written
STREAMS, JUMPING, JUMPING_STORES = 16, 0.1, 1.0
# steps behind the loops, which are those between the accesses of one iteration (see taps)
TAPS = 2
# the extent of a loop, and how far an access goes with each of its iterations, in elements; None where it goes anywhere
Step = tuple[int, int | None]


def moved_ns(target: Target, array_bytes: int, width: int, loops: Sequence[Step], again: int | None = None, stores: bool = False) -> float:
    """Bringing what an access touches near, loops outermost first: the slowest of the caches that the array does not stay in.

    again   of how many loops another access has touched the same in each iteration, which may be near still
    stores  lines that are written part by part, and share all of their places in the second cache, go out and come back for every part
    """
    slowest = 0.0
    most = array_bytes / LINE_BYTES + 1
    touched = [_lines(loops[k:], width) for k in range(len(loops) + 1)]
    # vectors begin within lines, which the next one does not find any more
    gone = min(1.0, max(0.0, touched[-TAPS - 1].share(target.cache_bytes[0]) / WAYS - 1.0))
    in_parts = stores and _run_bytes(loops, width) < LINE_BYTES
    times = _times(loops, width / target.vector_bytes * (1.0 + (CROWDED - 1.0) * gone))
    for size, byte_ns in zip(target.cache_bytes, target.byte_ns[1:], strict=True):
        pushed_out = in_parts and size > target.cache_bytes[0] and any(lines.share(size) >= WAYS for lines in touched)
        if (array_bytes > size or pushed_out) and (again is None or not touched[again].fit(size, most)):
            stays = next(k for k, lines in enumerate(touched) if lines.fit(size, most))
            around = max(stays - 1, 0)
            each = min(most, touched[stays].count) * prod(extent for extent, _ in loops[around:stays])
            brought = prod(times[:around]) * min(each, touched[around].count) * touched[around].ahead
            slowest = max(slowest, brought * LINE_BYTES * byte_ns * (CROWDED if pushed_out and around else 1.0))
    return slowest * (1.0 + (JUMPING_STORES if stores else JUMPING) * _jumps(loops, width))


def _times(loops: Sequence[Step], vector: float) -> list[float]:
    """How often loops touch something, the innermost in vectors, of which an element is such a part: those of whole lines come to each
    once, whatever else shares its places."""
    times = [float(extent) for extent, _ in loops]
    if len(loops) > TAPS and (stride := loops[-TAPS - 1][1]):
        times[-TAPS - 1] = max(1.0, times[-TAPS - 1] * min(1.0, abs(stride) * vector))
    return times


def _run_bytes(loops: Sequence[Step], width: int) -> int:
    """How far the innermost loops go along memory without a gap."""
    run = 1
    for extent, stride in reversed(loops):
        if stride is None or abs(stride) > run:
            break
        run += abs(stride) * (extent - 1)
    return run * width


def taps(constants: Iterable[int], width: int) -> list[Step]:
    """Accesses that differ by constants as loops over them: those that are a line from each other at most, and groups of these."""
    places = sorted(constants)
    groups = [places[:1]]
    for before, place in pairwise(places):
        if (place - before) * width > LINE_BYTES:
            groups.append([])
        groups[-1].append(place)
    firsts = [group[0] for group in groups]
    longest = max(group[-1] - group[0] for group in groups)
    return [(len(groups), min((b - a for a, b in pairwise(firsts)), default=0)), (longest + 1, 1)]


def _jumps(loops: Sequence[Step], width: int) -> float:
    """How much an access goes along memory for a few lines only before it goes on somewhere else, at many places in turns: from 0 to 1."""
    run, streams = 1.0, 1
    for extent, stride in reversed(loops):
        if stride is None or abs(stride) > run + LINE_BYTES / width:
            streams *= extent
        else:
            run += abs(stride) * (extent - 1)
        if streams > STREAMS:
            return max(0.0, 1.0 - run * width / (LONG_RUN * LINE_BYTES))
    return 0.0


@dataclass(frozen=True)
class _Lines:
    """Lines that some loops touch: runs of memory, within which the next line is never far, times how many of them there are.

    run    lines of a run
    apart  bytes from one run to the next, 1 for a single run
    ahead  how much more is fetched, behind the ends of long runs
    """

    count: float
    run: float
    apart: int
    ahead: float

    def fit(self, size: int, most: float) -> bool:
        """Whether they stay in a cache; no more than so many are different."""
        every = _way(size) / LINE_BYTES
        used = min(1.0, _places(self.apart, round(self.count / self.run), _way(size)) * self.run / every)
        return min(self.count, most) * LINE_BYTES <= max(size / 2 * used, LINE_BYTES * WAYS / 2)

    def share(self, size: int) -> float:
        """How many of them share the same places of a cache."""
        runs = self.count / self.run
        return runs / _places(self.apart, round(runs), _way(size))


@functools.lru_cache(maxsize=4096)
def _places(apart: int, runs: int, way: int) -> int:
    """In how many places of a cache so many runs begin: counted, unless they are many or begin where others did."""
    step = gcd(apart, way)
    if runs >= way // step or runs > COUNTED:
        return max(1, min(runs, way // max(step, LINE_BYTES)))
    return len({k * apart % way // LINE_BYTES for k in range(max(runs, 1))})


def _way(size: int) -> int:
    """Lines that are a multiple of so many bytes apart share places in a cache."""
    return 1 << ((size // WAYS).bit_length() - 1)


def _lines(loops: Sequence[Step], width: int) -> _Lines:
    extents: dict[int, int] = {}
    for extent, stride in loops:
        if stride:
            extents[abs(stride)] = extents.get(abs(stride), 1) + extent - 1
    run, runs, apart = 1.0, 1, 1
    for stride, extent in sorted(extents.items()):
        if stride <= run + LINE_BYTES / width:
            run += stride * (extent - 1)
        else:
            runs *= extent
            apart = stride * width if apart == 1 else apart
    scattered = prod(extent for extent, stride in loops if stride is None)
    across = 1.0 - max(width, gcd(apart, LINE_BYTES)) / LINE_BYTES if runs > 1 else 0.0  # runs begin and end within lines
    lines = max(1.0, run * width / LINE_BYTES + across)
    ahead = 1.0 + min(AHEAD / lines, 1.0) if runs > 1 and lines >= LONG_RUN else 1.0
    return _Lines(scattered * runs * lines, lines, apart, ahead)
