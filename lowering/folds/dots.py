"""Folds along memory for several rows and columns at once: of rows with rows, dot products.

    out[i, j] = g(fold over k of f(i, j, k))      where what f loads lies along k: a[i, k], b[j, k]

A vector holds neighbouring k.  The folds of a tile of rows and columns stay in registers side by side, so what is loaded for a row serves
all columns, and the other way round; their lanes are folded last.  What jumps along k, b[k, j], is copied before, if it is small.

    out[i] = fold over k of a[i, k] * v[k]        a column alone: rows share what is loaded for it, which pays where they are long, and in
                                                  the second cache, for rows begin within lines mostly, where each load takes two of them
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from math import isqrt, prod

from eqsat.ir.dtypes import itemsize
from eqsat.ir.index import Const, Index, Var, substitute, variables
from eqsat.ir.loops import For, Load, Stmt, Store, loads, over
from eqsat.ir.tensor import Reduce, Scalar
from eqsat.ir.vectorizable import is_joint_value
from eqsat.lowering.affine import Forms
from eqsat.lowering.blocks import BlockPlacer, Body, first_of, folds_over
from eqsat.lowering.folds.few_columns import Section, sections
from eqsat.lowering.nest import Nest, Several, chains
from eqsat.lowering.place import Scope, stores
from eqsat.lowering.products.product import ALIASED_BYTES, EVENLY, MOST_SHARES, VECTOR_BYTES, whole_multiple

# vectors of folds side by side, and how many hide the time that one step takes
MOST_SUMS, ENOUGH_SUMS = 24, 8
# rows, and columns, that are read at the same time; of those that share a set of the first cache
MOST_STREAMS, MOST_ALIASED = 8, 4
# vectors along memory, of fewer of which the lanes take longer than the folds
FEWEST_STEPS = 4
# a row from which on it is not in the first cache any more when the next one comes to what both read
LONG_BYTES = 1 << 14
# rows of an array of no more bytes are long enough if they are so long
NEAR_BYTES, LONG_NEAR_BYTES = 1 << 21, 512
# what is copied: at most so many bytes, for at least so many rows of each
MOST_COPIED, LEAST_USES = 1 << 18, 8
# terms that one thread of several, which has copies of its own, folds at the least
SHARE = 1 << 19
# copies of rows that are a multiple of so many bytes long get a vector more, or they would share sets of the first cache
PADDED_BYTES = 1024


@dataclass(frozen=True)
class _Dots:
    """A fold along memory, the axes of its tiles, and the loads that are copied."""

    fold: Reduce
    rows: Var
    columns: Var
    copied: tuple[Load, ...]

    @property
    def lanes(self) -> int:
        return VECTOR_BYTES // itemsize(self.fold.dtype)

    @property
    def streams(self) -> int:
        """The most rows, and the most columns, of a tile."""
        forms, width = Forms(), itemsize(self.fold.dtype)
        steps = [(forms(load.index).stride(v) or 0) * width for load in loads(self.fold.body) for v in (self.rows, self.columns)]
        aliased = not self.copied and any(step and step % ALIASED_BYTES == 0 for step in steps)
        return MOST_ALIASED if aliased else MOST_STREAMS


def dots(nest: Nest, outputs: tuple[str, ...], buffers: frozenset[str]) -> Body | None:
    """The statements and their scratch memory; None where nothing is folded along memory, or nothing that is loaded serves twice."""
    found = _dots_of(nest)
    return None if found is None else _Tiling(nest, found, outputs, buffers).result()


def _dots_of(nest: Nest) -> _Dots | None:
    found = chains(nest.body)
    if isinstance(nest.body, Several) or len(found) != 1 or len(found[0]) != 1:
        return None
    fold, forms = found[0][0], Forms()
    along, read = fold.variable, tuple(dict.fromkeys(loads(fold.body)))
    if along.lo or not is_joint_value(fold.body) or along.extent * itemsize(fold.dtype) < FEWEST_STEPS * VECTOR_BYTES:
        return None
    known = [frozenset(variables(load.index)) for load in read]
    axes = sorted((v for v in nest.loops if not v.lo), key=lambda v: v.extent, reverse=True)
    pairs = [pair for pair in combinations(axes, 2) if all(any(v in of and w not in of for of in known) for v, w in permutations(pair))]
    if not pairs and _are_long([load for load in read if along in variables(load.index)], along, axes):
        alone = [v for v in axes if len({v in of for of in known}) > 1]
        pairs = [(v, Var(f"{v.name}_one", 0, 0)) for v in alone[:1]]
    if not pairs or any(forms(load.index).stride(v) is None for load in read for v in (*nest.loops, along)):
        return None
    rows, columns = max(pairs, key=lambda pair: pair[0].extent * pair[1].extent)
    jumping = tuple(load for load in read if forms(load.index).stride(along) not in (0, 1))
    if len(jumping) == len(read) or not all(_is_small(load, along, columns, rows) for load in jumping):
        return None
    return _Dots(fold, rows, columns, jumping)


def _are_long(read: Sequence[Load], along: Var, axes: Sequence[Var]) -> bool:
    """Whether rows are long enough that several are folded at a time for a column alone."""
    rows = [along.extent * itemsize(load.dtype) for load in read]
    arrays = [row * prod(v.extent for v in axes if v in variables(load.index)) for row, load in zip(rows, read, strict=True)]
    return max(rows, default=0) >= (LONG_NEAR_BYTES if max(arrays, default=0) <= NEAR_BYTES else LONG_BYTES)


def _is_small(load: Load, along: Var, columns: Var, rows: Var) -> bool:
    """Whether a load is worth copying for all rows."""
    size = columns.extent * along.extent * itemsize(load.dtype)
    return rows not in variables(load.index) and size <= MOST_COPIED and rows.extent >= LEAST_USES


def tile_shape(rows: int, columns: int, most: int = MOST_STREAMS) -> tuple[int, int]:
    """(high, wide), `most` of each: the tile with which all take the fewest steps; a step loads a vector a row and column and adds to all
    sums."""
    shapes = [(high, wide) for high in range(1, min(rows, most) + 1) for wide in range(1, min(columns, most, MOST_SUMS // high) + 1)]
    return min(shapes, key=lambda tile: -(-rows // tile[0]) * -(-columns // tile[1]) * _step_cycles(*tile))


def _step_cycles(high: int, wide: int) -> float:
    return max(high * wide, high + wide, ENOUGH_SUMS) / 2 + (high + wide) / 4 + 0.5


class _Tiling:
    """The statements of a nest with one fold along memory."""

    def __init__(self, nest: Nest, found: _Dots, outputs: tuple[str, ...], buffers: frozenset[str]) -> None:
        self.nest, self.dots, self.outputs, self.placer = nest, found, outputs, BlockPlacer(buffers)
        rows, columns, along = found.rows, found.columns, found.fold.variable
        self.outer = [v for v in nest.loops if v not in (rows, columns)]
        self.high, self.wide = tile_shape(rows.extent, columns.extent, found.streams)
        self.down, self.across = -(-rows.extent // self.high), -(-columns.extent // self.wide)
        work = prod(v.extent for v in nest.loops) * along.extent
        shares = min(MOST_SHARES, whole_multiple(1 + isqrt(work // SHARE), EVENLY), self.down) if found.copied and work > SHARE else 1
        self.tall = -(-self.down // shares)
        self.block = Var(f"{rows.name}_block", 0, -(-self.down // self.tall) - 1)
        self.sections = tuple(sections(along.extent, found.lanes))
        self.width = sum(section.sides for section in self.sections)
        self.sums = self.placer.memory(self.high * self.wide * self.width, found.fold.dtype)
        self.stride = along.extent + (found.lanes if along.extent * itemsize(found.fold.dtype) % PADDED_BYTES == 0 else 0)

    def result(self) -> Body:
        rows, columns = self.dots.rows, self.dots.columns
        around = self.placer.nest(self.placer.top, *self.outer, self.block)
        copies = {load: self._copy(around[-1], load) for load in self.dots.copied}
        tile, strip = Var(f"{rows.name}_tile", 0, self.tall - 1), Var(f"{columns.name}_strip", 0, self.across - 1)
        tiles = self.placer.nest(around[-1], *sorted((tile, strip), key=lambda v: v.extent, reverse=True))
        number = self.block * self.tall + (tile if self.tall > 1 else 0) if self.block.extent > 1 else tile
        firsts = {
            rows: first_of(number, self.down, self.high, rows.extent),
            columns: first_of(strip, self.across, self.wide, columns.extent),
        }
        before = 0
        for count, section in enumerate(self.sections):
            tiles[-1].body.append(self._tile(section, count, before, firsts, copies))
            before += section.sides
        self._finish(tiles[-1], firsts)
        self.placer.close_all(tiles)
        self.placer.close_all(around)
        return tuple(self.placer.top.body), tuple(self.placer.scratch)

    def _copy(self, scope: Scope, load: Load) -> str:
        """Scratch memory with what a load finds for all columns, each along memory."""
        columns, along = self.dots.columns, self.dots.fold.variable
        name = self.placer.memory(columns.extent * self.stride, load.dtype)
        term, column = Var(f"{name}_term", 0, along.extent - 1), Var(f"{name}_column", 0, columns.extent - 1)
        opened = self.placer.nest(scope, term, column)
        place = column * self.stride + term if columns.extent > 1 else term
        opened[-1].body.append(Store(name, place, over(load, {columns: column, along: term})))
        self.placer.close_all(opened)
        return name

    def _tile(self, section: Section, count: int, before: int, firsts: dict[Var, Index], copies: dict[Load, str]) -> Stmt:
        """The folds of a tile over some of the terms."""
        dots, tag = self.dots, f"{self.sums}_{count}"
        row, column, lane, step, run = self._variables(tag, self.high, self.wide, section.sides, section.together, section.runs)
        columns, along = dots.columns, dots.fold.variable
        env = {dots.rows: firsts[dots.rows] + row, columns: firsts[columns] + column, along: section.row(run, step, lane)}
        place = env[columns] * self.stride + env[along]
        known: dict[Scalar, Scalar] = {load: Load(name, place, load.dtype) for load, name in copies.items()}
        body, value = folds_over((step, run), iter(self.placer.name, None), dots.fold.op, over(dots.fold.body, env, known))
        statements: tuple[Stmt, ...] = (*body, Store(self.sums, self._place(row, column) + (lane + before), value))
        for axis in (lane, column, row):
            if isinstance(axis, Var):
                statements = (For(axis, "tile", statements),)
        return statements[0]

    def _variables(self, tag: str, *extents: int) -> Iterator[Index]:
        names = ("row", "column", "lane", "step", "run")
        return (Var(f"{tag}_{name}", 0, n - 1) if n > 1 else Const(0) for name, n in zip(names, extents, strict=False))

    def _place(self, row: Index, column: Index) -> Index:
        return (row * self.wide + column) * self.width

    def _finish(self, scope: Scope, firsts: dict[Var, Index]) -> None:
        """The folds of the lanes, and what the body makes of each."""
        dots, tag = self.dots, f"{self.sums}_done"
        row, column = self._variables(tag, self.high, self.wide)
        env = {dots.rows: firsts[dots.rows] + row, dots.columns: firsts[dots.columns] + column}
        opened = self.placer.nest(scope, *(v for v in (row, column) if isinstance(v, Var)))
        lane, dtype = Var(f"{tag}_lane", 0, self.width - 1), dots.fold.dtype
        total = Reduce(dots.fold.op, lane, Load(self.sums, self._place(row, column) + lane, dtype))
        value = self.placer.place(over(self.nest.body, env, {dots.fold: total}), opened[-1])
        opened[-1].body += stores(self.outputs, substitute(self.nest.index, env), value)
        self.placer.close_all(opened)
