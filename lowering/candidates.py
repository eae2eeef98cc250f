"""The candidates: ranges split or not, axes in several orders, ranges merged, reductions inside or outside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from eqsat.ir.loops import Buffer, Kernel
from eqsat.ir.tensor import Build, Size, Tensor, sources
from eqsat.lowering.nest import nest_of
from eqsat.lowering.ranges import order
from eqsat.lowering.ranges.fold_order import folds_arranged
from eqsat.lowering.ranges.order import joined_outermost, merge, orders, shared_columns, unit_folds_innermost, widened
from eqsat.lowering.ranges.seams import chosen_innermost
from eqsat.lowering.ranges.size_blocks import in_blocks
from eqsat.lowering.ranges.size_seams import at_seams
from eqsat.lowering.ranges.split import split
from eqsat.lowering.ranges.unroll import unrolled
from eqsat.lowering.schedule import Schedule
from eqsat.lowering.sharing.folds_outside import folds_outside

MOST = 16
# ways that need sums in another order, and ways that are open to loops which end at sizes known at run time
REORDERING = ("at_places", "tiled", "columns", "upright", "dots", "sums", "boxsums", "pooled", "columns_cut")
SIZED = ("nested", "outward", "columns")


class Schedules:
    """The schedules that compute builds of one shape together; they differ in speed only.

    `names` gives the buffers of the builds and of every tensor that they read, none of which is one of them.  Buffers are C-ordered; a
    kernel's are those read, in order of first read, and the outputs last.  Offsets are left for the caller to simplify.  Sums may be added
    in another order; all else is equal bit for bit.  `tiles`: whether sums may be kept in registers side by side.  `rows`: whether what
    ends at sizes is computed in blocks of so many; there are no schedules where that is not possible.
    """

    def __init__(
        self,
        builds: tuple[Build, ...],
        name: str,
        names: Mapping[Tensor, str],
        sizes: tuple[Size, ...] = (),
        tiles: bool = True,
        rows: int = 0,
    ) -> None:
        read = dict.fromkeys(tensor for build in builds for tensor in sources(build))
        made = tuple(Buffer(names[build], build.dtype, build.size, "out") for build in builds)
        self.name, self.sizes, self.tiles = name, sizes, tiles
        self.buffers = (*(Buffer(names[t], t.dtype, t.size, "in") for t in read), *made)
        self.outputs, self.taken = tuple(output.name for output in made), frozenset(buffer.name for buffer in self.buffers)
        self.markers = {size.marker: size.variable for size in sizes}
        self.written = nest_of(builds if sizes else tuple(folds_arranged(build, tiles) for build in builds), names, self.markers)
        self.blocks = in_blocks(self.written, sizes, rows) if rows else None
        self.possible = self.blocks is not None or not rows
        if self.blocks is not None:
            self.written, self.markers = self.blocks.nest, {}

    def kernel(self, schedule: Schedule) -> Kernel | None:
        """The loop nest of a schedule; None where that is not possible or not allowed."""
        if (schedule.way in REORDERING and not self.tiles) or (schedule.way not in SIZED and self.markers):
            return None
        body = schedule.body(self.outputs, self.taken, frozenset(self.markers))
        if body is None:
            return None
        done, scratch = body
        if self.blocks is not None and not self.blocks.may_overlap(done, self.outputs):
            return None
        whole, counts = (done if self.sizes else folds_outside(done), ()) if self.blocks is None else self.blocks.around(done)
        return Kernel(self.name, self.buffers, whole, self.sizes, scratch, counts)

    def at_seams(self) -> Kernel | None:
        """Loops to sizes of LEAST_SIZE and more, cut where what they read changes; None where nothing does, or where is not known."""
        cut = at_seams(merge(self.written, frozenset(self.markers)), self.outputs, self.taken, self.sizes)
        return None if cut is None else Kernel(self.name, self.buffers, cut[0], self.sizes, parts=cut[1])

    def kernels(self) -> Iterator[tuple[Schedule, Kernel]]:
        """The schedules worth pricing, the loops as written first, each with its loop nest."""
        for schedule in self._worth_pricing() if self.possible else ():
            kernel = self.kernel(schedule)
            if kernel is not None:
                yield schedule, kernel

    def _worth_pricing(self) -> Iterator[Schedule]:
        markers = frozenset(self.markers)
        cut = split(self.written, markers)
        yield Schedule(self.written)
        yield Schedule(cut)
        yield Schedule(self.written, "at_places")
        merged = dict.fromkeys((merge(cut), cut))
        yield from (Schedule(nest, way) for way in ("tiled", "dots") for nest in merged)
        ways = ("turned", "results_turned", "upright", "shuffled", "patches", "pooled", "columns_cut", "repeated", "jammed", "sums")
        yield from (Schedule(nest, way) for way in ways for nest in merged)
        written_out = unrolled(cut, markers)
        if written_out != cut and self.tiles:
            apart = dict.fromkeys((merge(written_out), written_out))
            yield from (Schedule(nest, way) for way in ("jammed", "sums", "boxes", "picked", "boxsums") for nest in apart)
        yield from (Schedule(nest, "columns") for nest in dict.fromkeys((merge(cut, markers), cut)))
        chosen = chosen_innermost(cut)
        if chosen is not None:
            yield from (Schedule(merge(chosen, markers), way) for way in ("boxes", "boxsums"))
        arranged = orders(merge(unit_folds_innermost(cut), markers))
        ordered = orders(unit_folds_innermost(cut))
        wide = [widened(nest) for nest in ordered]
        wide += [] if markers else [joined_outermost(merge(nest)) for nest in ordered]
        if self.tiles:
            for nest in dict.fromkeys(merge(unrolled(nest, markers), markers) for nest in arranged):
                yield from (Schedule(nest, way) for way in ("nested", "stepped"))
        for nest in dict.fromkeys((*(merge(nest, markers) for nest in arranged), merge(self.written, markers), *wide)):
            yield from (Schedule(nest, way) for way in ("nested", "pieces", "boxes", "picked", "boxsums", "outward", "abreast"))
            for way, smallest in (("outward", order.LEAST_BLOCK), ("abreast", order.LEAST_ABREAST)) if not markers else ():
                shared = shared_columns(nest, smallest)
                if shared is not None:
                    yield Schedule(shared, way)


def candidates(
    builds: tuple[Build, ...],
    name: str,
    names: Mapping[Tensor, str],
    sizes: tuple[Size, ...] = (),
    tiles: bool = True,
    rows: int = 0,
) -> tuple[Kernel, ...]:
    """Loop nests that compute builds together (see Schedules), at most MOST, the one as written first."""
    found = dict.fromkeys(kernel for _, kernel in Schedules(builds, name, names, sizes, tiles, rows).kernels())
    return tuple(found)[:MOST]
