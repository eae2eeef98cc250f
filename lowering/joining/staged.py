"""Kernels in strips: several that read each other become one, which computes a few rows of each before it goes on to the next rows.

    for i < n + 2: t[i] = f(i)              for strip: for i < R + 2: t'[i] = f(i + first)
    for i < n: out[i] = g(t[i], t[i + 2])              for i < R: out[i + first] = g(t'[i], t'[i + 2])

What is between them stays in the cache, and rows that two strips need are computed twice.  A window says which rows of a tensor a strip
of the results needs: scale * first + low to scale * (first + R - 1) + high, along one dimension.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from eqsat.ir.dtypes import itemsize
from eqsat.ir.index import Const, Index, Var, variables
from eqsat.ir.loops import Bind, Buffer, For, Kernel, Stmt, Store, loads, over, statements, value_of
from eqsat.ir.tensor import Build, Gather, Read, Reduce, Scalar, Shape, Tensor, axes, axis, reindexed, scalars, sources
from eqsat.lowering.affine import Affine, Forms, bounds, rebuilt as written
from eqsat.lowering.blocks import first_of
from eqsat.lowering.folds.upright import LONGEST_UPRIGHT, UPRIGHT_ROWS
from eqsat.lowering.joining.in_place import in_place
from eqsat.lowering.joining.renaming import Renaming

# what the rows between kernels may take, in the second cache; where a strip reads much whole, more rows share that
STRIP_BYTES = 256 << 10
MOST_STRIP_BYTES = 1 << 20
# what every strip may read whole
WHOLE_BYTES = 1 << 20
# strips at least, for threads to share
STRIPS = 8
Group = tuple[Build, ...]


@dataclass(frozen=True)
class Window:
    """Rows of a tensor along a dimension."""

    dimension: int
    scale: int
    low: int
    high: int

    def rows(self, strip: int) -> int:
        return self.scale * (strip - 1) + self.high - self.low + 1


@dataclass(frozen=True)
class Strips:
    """The variable that counts strips, the first row of the results in one, and for every group the builds of its rows, in the order in
    which they run.

    first  a variable of its own if the last strip computes again rows of the one before, which stands for `begin`; else the same as it
    """

    variable: Var
    first: Index
    begin: Index
    groups: tuple[Group, ...]

    @property
    def overlap(self) -> bool:
        """Whether two strips compute the same rows."""
        return self.first is not self.begin


def first_long(shape: Shape) -> int | None:
    """The first dimension of more than one row."""
    return next((k for k, n in enumerate(shape) if n > 1), None)


def _along(results: Group) -> int:
    along = first_long(results[0].shape)
    assert along is not None
    return along


def windows(results: Group, producers: Sequence[Build]) -> dict[Build, Window] | None:
    """The windows of producers, the last first; None where one of them is not read in rows that go with those of the results.

    Every producer is read by the results and the producers before it alone.
    """
    shape = results[0].shape
    along = first_long(shape)
    if along is None:
        return None
    found: dict[Build, Window] = dict.fromkeys(results, Window(along, 1, 0, 0))
    for producer in producers:
        needed = [one for user, window in found.items() for one in _reads(user, window, producer)]
        if not needed or None in needed:
            return None
        known = [window for window in needed if window is not None]
        first = known[0]
        if any((window.dimension, window.scale) != (first.dimension, first.scale) for window in known):
            return None
        whole = Window(first.dimension, first.scale, min(window.low for window in known), max(window.high for window in known))
        if whole.low < 0 or whole.scale * (shape[along] - 1) + whole.high >= producer.shape[whole.dimension]:
            return None
        found[producer] = whole
    return {producer: found[producer] for producer in producers}


def _reads(user: Build, window: Window, producer: Build) -> list[Window | None]:
    """The windows of a producer that the rows of one of its users need."""
    forms, row = Forms(), axis(window.dimension, user.shape[window.dimension])
    found: list[Window | None] = []
    for term in scalars(user.body):
        if isinstance(term, Gather) and term.tensor is producer:
            found.append(None)
        elif isinstance(term, Read) and term.tensor is producer:
            found.append(_window(term.indices, row, window, forms))
    return found


def _window(indices: Sequence[Index], row: Var, window: Window, forms: Forms) -> Window | None:
    for dimension, index in enumerate(indices):
        form = forms(index)
        stride = form.stride(row)
        if stride is not None and stride > 0:
            low, high = bounds(Affine(form.constant, {atom: c for atom, c in form.terms.items() if atom is not row}))
            return Window(dimension, stride * window.scale, stride * window.low + low, stride * window.high + high)
    return None


def read_whole(groups: Sequence[Group], found: Mapping[Build, Window]) -> int:
    """Bytes of what every strip reads whole."""
    forms = Forms()
    whole: dict[Tensor, int] = {}
    for group in groups:
        for build in group:
            along = found[build].dimension if build in found else _along(group)
            row = axis(along, build.shape[along])
            for term in scalars(build.body):
                if isinstance(term, Read) and all(forms(index).stride(row) == 0 for index in term.indices):
                    whole[term.tensor] = _visited(term, build) * itemsize(term.dtype)
    return sum(whole.values())


def _visited(read: Read, build: Build) -> int:
    """How many elements the loops of a build read at most: of a dimension with one index, none but that."""
    loops = {v for v, n in zip(axes(build.shape), build.shape, strict=True) if n > 1}
    loops |= {term.variable for term in scalars(build.body) if isinstance(term, Reduce)}
    return prod(n for n, index in zip(read.tensor.shape, read.indices, strict=True) if not loops.isdisjoint(variables(index)))


def strip_rows(results: Group, found: Mapping[Build, Window], whole: int) -> int:
    """How many rows of the results a strip has that reads so many bytes whole."""
    along = _along(results)
    extent = results[0].shape[along]
    sizes = {build: build.size // build.shape[w.dimension] * itemsize(build.dtype) * w.scale for build, w in found.items()}
    each = sum(size for build, size in sizes.items() if not _is_followed(build, found, sizes))
    most = max(1, min(max(STRIP_BYTES, min(2 * whole, MOST_STRIP_BYTES)) // max(each, 1), -(-extent // STRIPS)))
    return next((rows for rows in range(most, most // 2, -1) if extent % rows == 0), most)


def _is_followed(build: Build, found: Mapping[Build, Window], sizes: Mapping[Build, int]) -> bool:
    """Whether a producer's one reader is another of its shape: that is mostly written over it."""
    readers = [other for other in found if build in sources(other)]
    return len(readers) == 1 and (readers[0].shape, sizes[readers[0]]) == (build.shape, sizes[build]) and found[readers[0]] == found[build]


def strips(groups: Sequence[Group], found: Mapping[Build, Window], rows: int, within: int = 0) -> Strips:
    """Groups in strips of so many rows of the last, which are the results, in the order in which they run; `within` so many others."""
    results = groups[-1]
    along = _along(results)
    extent = results[0].shape[along]
    count = -(-extent // rows)
    strip = Var(f"strip{within or ''}", 0, count - 1)
    begin = first_of(strip, count, rows, extent)
    first = begin if count * rows == extent else Var(f"{strip.name}_first", *begin.bounds)
    everything = {**found, **dict.fromkeys(results, Window(along, 1, 0, 0))}
    begins = {build: _begin(window, first) for build, window in everything.items()}
    small: dict[Tensor, tuple[Build, Index, int]] = {}
    made: list[Group] = []
    for group in groups:
        builds = tuple(_strip_of(build, everything[build], begins[build], rows, small) for build in group)
        if group is not results:
            small.update((build, (part, begins[build], everything[build].dimension)) for build, part in zip(group, builds, strict=True))
        made.append(builds)
    return Strips(strip, first, begin, tuple(made))


def turned(parts: Strips) -> Strips | None:
    """The same, with columns of their own where short rows of what comes before are folded: neighbours are in other rows then, of which the
    folds are as many at once.  None where there are none."""
    folded = {term.tensor for group in parts.groups for build in group for term in _read_along(build)}

    def is_turned(build: Build) -> bool:
        return build in folded and len(build.shape) == 2 and build.shape[1] <= LONGEST_UPRIGHT and build.shape[0] >= UPRIGHT_ROWS

    chosen = [build for group in parts.groups[:-1] if all(map(is_turned, group)) for build in group]  # which have one shape
    if not chosen:
        return None
    known: dict[Tensor, Build] = {}
    for group in parts.groups:
        for build in group:
            read: dict[Scalar, Scalar] = {
                term: Read(known[term.tensor], term.indices[::-1] if term.tensor in chosen else term.indices)
                for term in scalars(build.body)
                if isinstance(term, Read) and term.tensor in known
            }
            known[build] = Build(build.shape, over(build.body, {}, read))
            if build in chosen:
                rows, columns = build.shape
                across: dict[Var, Index] = {axis(0, rows): axis(1, rows), axis(1, columns): axis(0, columns)}
                known[build] = Build((columns, rows), reindexed(known[build].body, across))
    return replace(parts, groups=tuple(tuple(known[build] for build in group) for group in parts.groups))


def _read_along(build: Build) -> Iterator[Read]:
    """The reads of a build that a fold of the last index goes along."""
    folds = {term.variable for term in scalars(build.body) if isinstance(term, Reduce)}
    for term in scalars(build.body):
        if isinstance(term, Read) and term.indices and term.indices[-1] in folds and folds.isdisjoint(variables(*term.indices[:-1])):
            yield term


def _begin(window: Window, first: Index) -> Index:
    return _plain(first * window.scale + window.low)


def _plain(index: Index) -> Index:
    """A sum in its shortest form."""
    return written(Forms()(index))


def _strip_of(build: Build, window: Window, begin: Index, rows: int, small: Mapping[Tensor, tuple[Build, Index, int]]) -> Build:
    """The rows of a build that one strip needs, over strips of what it reads."""
    count = window.rows(rows)
    shape = tuple(count if k == window.dimension else n for k, n in enumerate(build.shape))
    old, new = (axis(window.dimension, n) for n in (build.shape[window.dimension], count))
    moved = reindexed(build.body, {old: (new if count > 1 else Const(0)) + begin})
    read: dict[Scalar, Scalar] = {}
    for term in scalars(moved):
        if isinstance(term, Read) and term.tensor in small:
            part, start, dimension = small[term.tensor]
            read[term] = Read(part, tuple(_plain(index - start) if k == dimension else index for k, index in enumerate(term.indices)))
    return Build(shape, over(moved, {}, read))


def composed(kernels: Sequence[Kernel], parts: Strips, results: Group, between: Sequence[str]) -> Kernel | None:
    """One kernel that runs others, one behind the other, for every strip; buffers `between` them become scratch memory.  None where two
    strips would change elements of the results that they have in common."""
    shift = _plain(parts.first * (results[0].size // results[0].shape[_along(results)]))
    written = {output.name: shift for output in kernels[-1].outputs}
    if parts.overlap and _changes(kernels[-1], frozenset(written)):
        return None
    body: list[Stmt] = []
    read: dict[str, Buffer] = {}
    scratch: dict[str, Buffer] = {}
    kernels, places = _over_each_other(kernels, between)
    for k, kernel in enumerate(kernels):
        renaming = Renaming(f"_{k}", {**places, **{buffer.name: f"{buffer.name}_{k}" for buffer in kernel.scratch}}, written)
        body += renaming.block(kernel.body)
        read.update((buffer.name, buffer) for buffer in kernel.buffers if buffer.role == "in" and buffer.name not in between)
        made = (buffer for buffer in kernel.outputs if buffer.name in between and buffer.name not in places)
        scratch.update((buffer.name, replace(buffer, role="scratch")) for buffer in made)
        scratch.update((named, replace(buffer, name=named)) for buffer in kernel.scratch for named in (renaming.buffers[buffer.name],))
    outputs = (replace(output, size=build.size) for output, build in zip(kernels[-1].outputs, results, strict=True))
    strip = parts.variable
    if isinstance(parts.first, Var) and parts.overlap:
        body.insert(0, Bind(parts.first, parts.begin))
    whole: tuple[Stmt, ...] = (For(strip, "parallel", tuple(body)),) if strip.extent > 1 else tuple(body)
    return Kernel("kernel", (*read.values(), *outputs), whole, kernels[-1].sizes, tuple(scratch.values()))


def _over_each_other(kernels: Sequence[Kernel], between: Sequence[str]) -> tuple[list[Kernel], dict[str, str]]:
    """Kernels that write what is between them over what they alone read of it, and the buffers in which that then is."""
    found = list(kernels)
    places: dict[str, str] = {}
    for k, kernel in enumerate(kernels):
        targets = [buffer.name for buffer in kernel.outputs if buffer.name in between]
        for source in (buffer.name for buffer in kernel.buffers if buffer.role == "in" and buffer.name in between):
            alone = sum(buffer.name == source for other in kernels for buffer in other.buffers if buffer.role == "in") == 1
            over = in_place(found[k], source, targets[0]) if len(targets) == 1 and alone else None
            if over is not None:
                found[k], places = over, {**places, source: targets[0]}
                break
    while any(place in places for place in places.values()):
        places = {source: places.get(place, place) for source, place in places.items()}
    return found, places


def _changes(kernel: Kernel, outputs: frozenset[str]) -> bool:
    """Whether a kernel reads what it has written."""
    for stmt in statements(kernel.body):
        value = value_of(stmt)
        if (isinstance(stmt, Store) and stmt.combine is not None and stmt.buffer in outputs) or (
            value is not None and any(load.buffer in outputs for load in loads(value))
        ):
            return True
    return False
