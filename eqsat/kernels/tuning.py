"""Loop nests chosen by measuring them: a beam search from the candidates, for as many seconds as `Options(tune=...)` says.

The schedules that are estimated to be fast are compiled and run; then those that differ from the fastest by one thing
(lowering/schedule.py), those with the best estimates first, until nothing is faster or the time is over.  What was found is kept on disk
under the loops as they were written, so that later processes neither search nor measure again; a search that ran out of time is not.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from eqsat.codegen import compile_kernels, host
from eqsat.codegen.memory.places import aligned_bytes
from eqsat.ir.dtypes import itemsize
from eqsat.ir.loops import Kernel, map_indices
from eqsat.keeping.kept import store_for
from eqsat.keeping.keys import mentions_own, source_hash
from eqsat.kernels.loop_terms import simplifier
from eqsat.lowering import hoist, type_indices
from eqsat.lowering.candidates import Schedules
from eqsat.lowering.schedule import Schedule
from eqsat.options import Numerics, Options
from eqsat.pricing.nest_costs import largest_share, nest_ns
from eqsat.pricing.timing import best_seconds
from eqsat.progress import tell
from eqsat.report import Report

# schedules that are measured before neighbours are looked at, and how many of the fastest these are neighbours of
BEAM, PARENTS = 6, 2
# running one, beside compiling it
RUN_SECONDS, MOST_RUNS = 0.02, 50
# what is faster by less is not believed
BELIEVED = 0.95


@dataclass(frozen=True)
class _Found:
    """A schedule, the numbers of the start and of the neighbours that lead to it, its loop nest, and nanoseconds, estimated or measured."""

    schedule: Schedule
    path: tuple[int, ...]
    kernel: Kernel
    ns: float


class Tuner:
    """Measures for all kernels of a program together."""

    def __init__(self, options: Options, report: Report) -> None:
        self.options, self.report = options, report
        self.end = time.perf_counter() + options.tune

    def fastest(self, schedules: Schedules, estimated: Kernel) -> Kernel:
        """The fastest loop nest that was measured; what was estimated to be where there is no time."""
        start = [(schedule, (k,)) for k, (schedule, _) in enumerate(schedules.kernels())]
        store, key = store_for(self.options), self._key(schedules)
        kept = store.get(key) if store is not None and key is not None else None
        if kept is not None and (again := self._again(schedules, start, kept)) is not None:
            return again
        found = self._search(schedules, start, estimated)
        if found is None:
            return estimated
        ended = time.perf_counter() < self.end
        if ended and store is not None and key is not None:
            store.put(key, json.dumps(found.path).encode())
        return found.kernel

    def _search(self, schedules: Schedules, start: Iterable[tuple[Schedule, tuple[int, ...]]], estimated: Kernel) -> _Found | None:
        seen: set[Kernel] = set()
        measured: list[_Found] = []
        offered = list(start)
        while offered:
            better = False
            fresh = [one for one in self._priced(schedules, offered) if one.kernel not in seen]
            for one in sorted(fresh, key=lambda one: one.ns)[:BEAM]:
                if time.perf_counter() > self.end or one.kernel in seen:
                    break
                seen.add(one.kernel)
                tell(f"measuring loop nests: {len(seen)}, for {self.end - time.perf_counter():.0f} s more")
                real = _Found(one.schedule, one.path, one.kernel, measured_ns(one.kernel, self.options))
                better = better or not measured or real.ns < BELIEVED * measured[0].ns
                measured = sorted([*measured, real], key=lambda one: one.ns)
            parents = measured[:PARENTS] if better and time.perf_counter() < self.end else []
            offered = [(other, (*one.path, k)) for one in parents for k, other in enumerate(one.schedule.neighbours())]
        own = next((one for one in measured if one.kernel == estimated), None)
        return own if own is not None and own.ns * BELIEVED < measured[0].ns else measured[0] if measured else None

    def _priced(self, schedules: Schedules, offered: Iterable[tuple[Schedule, tuple[int, ...]]]) -> list[_Found]:
        """The loop nests of schedules that can be, simplified, with their estimates."""
        open_ones = [(schedule, path, kernel) for schedule, path in offered if (kernel := schedules.kernel(schedule)) is not None]
        change = simplifier([kernel for _, _, kernel in open_ones], self.options, self.report)
        simplified = [(schedule, path, map_indices(kernel, change)) for schedule, path, kernel in open_ones]
        target, costs = self.options.target, self.options.cost
        return [_Found(schedule, path, kernel, nest_ns(kernel, target, costs)) for schedule, path, kernel in simplified]

    def _again(self, schedules: Schedules, start: Sequence[tuple[Schedule, tuple[int, ...]]], kept: bytes) -> Kernel | None:
        """What an entry on disk says; None where it leads nowhere."""
        first, *steps = json.loads(kept)
        if first >= len(start):
            return None
        schedule = start[first][0]
        for step in steps:
            around = list(schedule.neighbours())
            if step >= len(around):
                return None
            schedule = around[step]
        found = self._priced(schedules, [(schedule, ())])
        return found[0].kernel if found else None

    def _key(self, schedules: Schedules) -> str | None:
        """The loops as written, and all that a measurement depends on; None while eqsat's files are not those that were imported."""
        source, written, costs = source_hash(), schedules.kernel(Schedule(schedules.written)), self.options.cost.text
        text = hashlib.blake2b(str(written).encode(), digest_size=32).hexdigest()
        settings = repr((self.options.numerics, self.options.target, costs, self.options.tables, self.options.own_rules))
        if source is None or costs is None or mentions_own(str(written)):
            return None
        return "\n".join(["schedule", source, *host().identity, settings, text])


def measured_ns(kernel: Kernel, options: Options) -> float:
    """Its time on one thread; the target's threads share the outermost loop as in `nest_ns`."""
    share = largest_share(kernel, options.target.threads)
    return kernel_seconds(kernel, options.numerics, RUN_SECONDS) * 1e9 * share + options.target.launch_ns


def kernel_seconds(kernel: Kernel, numerics: Numerics, limit: float) -> float:
    """The best of several runs on one thread."""
    return best_seconds(kernel_call(kernel, numerics), limit, MOST_RUNS)


def kernel_call(kernel: Kernel, numerics: Numerics) -> Callable[[], object]:
    """Running a kernel on one thread, on small integers, so that no value is denormal or infinite, in memory that begins where lines of the
    cache do, as results of plans do.  It has run once."""
    routine = compile_kernels([type_indices(hoist(kernel))], numerics).routine(kernel.name)
    rng = np.random.default_rng(0)
    arrays = [aligned_bytes(buffer.size * itemsize(buffer.dtype)).view(buffer.dtype) for buffer in kernel.buffers]
    for array in arrays:
        array[...] = rng.integers(1, 5, array.size)
    extent = routine.parallel_extent or 0
    routine.entry(*arrays, 0, extent)
    return lambda: routine.entry(*arrays, 0, extent)
