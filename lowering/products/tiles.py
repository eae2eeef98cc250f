"""Sums of products in tiles: what one loop does not change is kept in registers for all of its iterations.

For every group of strips of columns, and every part of the terms (see lowering.product), the factor of the columns is copied to scratch
memory in the order in which the folds read it, once for all rows; so is the factor of the rows, for all strips of a group, unless a load of
it goes through memory in that order anyway.  Sums of several parts are kept in scratch memory until the last, several sums until all are
there.  The last block, group and tile of an axis end where the axis ends, and so compute again what those before them computed.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import prod

from eqsat.ir.dtypes import itemsize
from eqsat.ir.index import Const, Index, Var, substitute
from eqsat.ir.loops import Fold, For, Load, Stmt, Store, Temp, loads, over
from eqsat.ir.tensor import Call, Literal, Reduce, Scalar, scalars
from eqsat.ir.vectorizable import LANES, is_joint_value
from eqsat.lowering.affine import Forms
from eqsat.lowering.blocks import BlockPlacer, Body, first_of, tile_over
from eqsat.lowering.movements.turned import LEAST, SIDE
from eqsat.lowering.nest import Nest, Several
from eqsat.lowering.place import Scope, stores
from eqsat.lowering.products.product import (
    FEW_USES,
    NEAR_BYTES,
    VECTOR_BYTES,
    Blocking,
    Product,
    Products,
    Tile,
    blocking,
    part_of_one,
    products_of,
    run,
    whole_multiple,
)

# what is so many elements on is copied along the columns still: it is in one of two lines of the cache
NEAR_STEPS = 2
# a factor by the number of a term within a part, and that of a row of a tile or a column of a strip
Factor = Callable[[Index, Index], Scalar]
Env = dict[Var, Index]


def tiled(nest: Nest, outputs: tuple[str, ...], buffers: frozenset[str], shape: tuple[int, int] | None = None) -> Body | None:
    """The statements and their scratch memory; None where the body has no such sum, or small ones.  `shape`: rows and columns of a tile."""
    products = products_of(nest)
    if products is None:
        return None
    outer = [variable for variable in nest.loops if variable not in (products.rows, *products.columns.loops)]
    blocks = blocking(products, outer, shape)
    return _Tiling(nest, products, blocks, outer, outputs, buffers).result() if blocks is not None else None


@dataclass(frozen=True)
class _Box:
    """Places of a span: loops over them, the number of each, and the loops of the nest there."""

    loops: tuple[Var, ...]
    number: Index
    at: Env


@dataclass(frozen=True)
class _Span:
    """The places of a tile or strip along an axis, which is a loop, or one in another whose lines lie behind each other in the output.

    extent  how many there are
    first   of the outer loop, where they begin
    """

    name: str
    loops: tuple[Var, ...]
    extent: int
    first: Index

    def behind(self, place: Index) -> Env:
        """The loops at a place, for what is linear in them and goes on from line to line."""
        if len(self.loops) == 1:
            return {self.loops[0]: self.first + place}
        return {self.loops[0]: self.first, self.loops[1]: place}

    def boxes(self, tag: str, at: int = 0, wide: int | None = None) -> Iterator[_Box]:
        """Places from `at` on: all of a loop together; of lines the end of one, whole ones, and the beginning of one."""
        end = self.extent if wide is None else at + wide
        if len(self.loops) == 1:
            yield self._box(tag, [(at, end - at)])
            return
        line = self.loops[1].extent
        for number in itertools.count():
            if at == end:
                return
            lines = (end - at) // line if at % line == 0 else 0
            width = line if lines else min(end, at // line * line + line) - at
            yield self._box(f"{tag}{number or ''}", [(at // line, max(lines, 1)), (at % line, width)])
            at += max(lines, 1) * width

    def _box(self, tag: str, sides: list[tuple[int, int]]) -> _Box:
        """`sides`: where it begins along each loop, and how long it is."""
        names = ("_line", "")[-len(sides) :]
        loops = tuple(Var(f"{self.name}{name}{tag}", 0, size - 1) for name, (_, size) in zip(names, sides, strict=True))
        at: list[Index] = [loop + low if loop.extent > 1 else Const(low) for loop, (low, _) in zip(loops, sides, strict=True)]
        number = _flat(at, [0, *(v.extent for v in self.loops[1:])])
        return _Box(loops, number, dict(zip(self.loops, (self.first + at[0], *at[1:]), strict=True)))


@dataclass(frozen=True)
class _Side:
    """Some factors and the span that changes them; `uses`: for how many tiles one copy serves; `strip`: the strips that it has together."""

    factors: tuple[Scalar, ...]
    span: _Span
    uses: int
    strip: Var | None = None


@dataclass(frozen=True)
class _Part:
    """Some terms of a sum: iterations of its outermost fold from `first` on; `tag` makes names of its own; `last`: none follow."""

    product: Product
    tag: str
    first: Index
    extents: tuple[int, ...]
    last: bool

    @property
    def terms(self) -> int:
        return prod(self.extents)

    @property
    def folds(self) -> tuple[Var, ...]:
        return tuple(fold.variable for fold in self.product.chain)


class _Tiling:
    """The statements of a body with products in it."""

    def __init__(
        self, nest: Nest, products: Products, blocks: Blocking, outer: list[Var], outputs: tuple[str, ...], buffers: frozenset[str]
    ) -> None:
        self.nest, self.products, self.blocks, self.outer, self.outputs = nest, products, blocks, outer, outputs
        self.placer = BlockPlacer(buffers)
        rows, columns = products.rows.name, products.columns.inner.name
        self.block, self.group = Var(f"{rows}_block", 0, blocks.blocks - 1), Var(f"{columns}_group", 0, blocks.groups - 1)
        self.done = nest.body is products.sums[0].chain[0] or self._ends_in_registers()
        # of each side, the memory of its copies: no later part is longer than the first
        self.copies: dict[tuple[tuple[Var, ...], int], str] = {}
        direct = self.done and not products.kept
        self.sums = {
            (one, tile): outputs[0] if direct else self.placer.memory(self._kept(tile), products.dtype)
            for one in products.sums
            for tile in blocks.tiles
        }

    def _ends_in_registers(self) -> bool:
        """Whether the body makes of one sum, in a few operations, what vectors of neighbours may be stored as."""
        (first, *others), columns = self.products.sums, self.products.columns
        if others or columns.lines is not None or isinstance(self.nest.body, Several):
            return False
        whole, forms = over(self.nest.body, {}, {first.chain[0]: Temp("sum", self.products.dtype)}), Forms()
        return is_joint_value(whole) and all(forms(load.index).stride(columns.inner) in (0, 1) for load in loads(whole))

    def _kept(self, tile: Tile) -> int:
        """How many sums of tiles are kept."""
        return tile.high * tile.wide * (tile.tall * self.blocks.strips if self.products.kept else 1)

    def result(self) -> Body:
        loops = [*self.outer, self.block, self.group]
        shared = min(loops, key=lambda v: (part_of_one(v.extent), -v.extent))
        around = self.placer.nest(self.placer.top, shared, *(v for v in loops if v is not shared))
        for number, product in enumerate(self.products.sums):
            self._sum(around[-1], product, f"_{number}" if number else "")
        self.placer.close_all(around)
        return tuple(self.placer.top.body), tuple(self.placer.scratch)

    def _sum(self, scope: Scope, product: Product, tag: str) -> None:
        """All parts of a sum, over a block and a group."""
        extents = tuple(fold.variable.extent for fold in product.chain)
        if product.parts > 1:
            for k, tile in enumerate(self.blocks.tiles):
                zero = Var(f"{self.products.rows.name}_zero{k or ''}{tag}", 0, self._kept(tile) - 1)
                start = Store(self.sums[product, tile], zero, Literal(0.0, self.products.dtype))
                scope.body.append(For(zero, "parallel", (start,)))
            part = Var(f"{product.chain[0].variable.name}_part", 0, product.parts - 2)
            opened = self.placer.nest(scope, part)
            first = part * product.each if part.extent > 1 else Const(0)
            self._part(opened[-1], _Part(product, tag, first, (product.each, *extents[1:]), last=False))
            for inner in opened[:0:-1]:
                self.placer.close(inner, "serial")
            tag += "_last"
        before = (product.parts - 1) * product.each
        self._part(scope, _Part(product, tag, Const(before), (extents[0] - before, *extents[1:]), last=True))

    def _part(self, scope: Scope, part: _Part) -> None:
        blocks, columns = self.blocks, self.products.columns
        inner, unit = columns.inner.name, columns.unit
        strip = Var(f"{inner}_strips", 0, blocks.strips - 1)
        across = first_of(_sum(self.group, blocks.strips, strip), blocks.across, blocks.wide // unit, columns.extent // unit)
        span = _Span(f"{inner}_lane{part.tag}", columns.loops, blocks.wide, across)
        right = self._factor(scope, part, _Side(part.product.right, span, blocks.tiles[0].tall, strip))
        for k, tile in enumerate(blocks.tiles):
            self._tiles(scope, replace(part, tag=f"{k or ''}{part.tag}"), tile, strip, span, right)

    def _tiles(self, scope: Scope, part: _Part, tile: Tile, of: Var, columns: _Span, right: Factor) -> None:
        """All tiles of some columns of the strips, which `of` counts in what is given."""
        blocks, rows = self.blocks, self.products.rows
        number = Var(f"{rows.name}_tile{part.tag}", 0, tile.tall - 1)
        down = first_of(_sum(self.block, tile.tall, number), tile.down, tile.high, rows.extent)
        span = _Span(f"{rows.name}_row{part.tag}", (rows,), tile.high, down)
        strip = Var(f"{columns.loops[-1].name}_strip{part.tag}", 0, of.hi)
        columns = replace(columns, name=f"{columns.loops[-1].name}_lane{part.tag}", first=substitute(columns.first, {of: strip}))
        tiles = self.placer.nest(scope, number)
        left = self._factor(tiles[-1], part, _Side(part.product.left, span, blocks.strips))
        strips = self.placer.nest(tiles[-1], strip)
        place = _sum(number, blocks.strips, strip)
        sums = _flat([place, Const(0)], [0, tile.high]) if self.products.kept else Const(0)
        self._tile(strips[-1], part, tile, (span, columns), (left, lambda term, place: over(right(term, place), {of: strip})), sums)
        if part.last and part.product is self.products.sums[-1] and not self.done:
            self._finish(strips[-1], tile, (span, columns), sums)
        self.placer.close_all(strips)
        self.placer.close_all(tiles)

    def _factor(self, scope: Scope, part: _Part, side: _Side) -> Factor:
        """The product of some factors, by the number of a term in a part: where it is in memory, if it is near by or hardly used; else in
        scratch memory, in the order in which it is read."""
        factor, before = side.factors[0], part.first * prod(part.extents[1:])
        load = _read(factor, side)
        if len(side.factors) == 1 and load is not None:
            form = Forms()(load.index)
            strides = [stride for variable in part.folds if (stride := form.stride(variable)) is not None]
            evenly = all(a == b * v.extent for a, b, v in zip(strides, strides[1:], part.folds[1:], strict=False))
            near = len(strides) == len(part.folds) and (side.uses < FEW_USES or abs(strides[-1]) * itemsize(load.dtype) <= NEAR_BYTES)
            steps = [form.stride(loop) for loop in side.span.loops]
            behind = side.strip is None or steps == [prod(v.extent for v in side.span.loops[k + 1 :]) for k in range(len(steps))]
            if near and evenly and not any(v.lo for v in part.folds) and behind:
                still = dict.fromkeys(part.folds, Const(0))
                return lambda term, place: over(factor, {**still, **side.span.behind(place), part.folds[-1]: before + term})
        packed, strip = self._packed(scope, part, side), side.strip
        panel = strip * part.terms if strip is not None and strip.extent > 1 else Const(0)
        return lambda term, place: Load(packed, (panel + term) * self._pitch(side) + place, self.products.dtype)

    def _pitch(self, side: _Side) -> int:
        """How far apart copies for one term and the next are: whole vectors of columns, none of which lies in two lines of the cache."""
        lanes = VECTOR_BYTES // itemsize(self.products.dtype)
        return whole_multiple(side.span.extent, lanes) if side.strip is not None and side.span.extent > lanes else side.span.extent

    def _packed(self, scope: Scope, part: _Part, side: _Side) -> str:
        """Scratch memory with the product of some factors: for every strip and term of a part, the elements of a tile along an axis."""
        strips, span = side.strip.extent if side.strip is not None else 1, side.span
        kept, pitch = (span.loops, span.extent), self._pitch(side)
        name = self.copies.get(kept) or self.placer.memory(strips * part.terms * pitch, self.products.dtype)
        self.copies[kept] = name
        (box,) = span.boxes("_packed")
        places, at = box.loops, box.at
        names = (f"{span.name}_packed_{v.name}" for v in part.folds)
        terms: list[Index] = [Var(name, 0, n - 1) if n > 1 else Const(0) for name, n in zip(names, part.extents, strict=True)]
        firsts = [part.first, *(Const(0) for _ in terms[1:])]
        env: Env = {v: t + (first + v.lo) for v, t, first in zip(part.folds, terms, firsts, strict=True)}
        index, numbers = _flat(terms, list(part.extents)), []
        if side.strip is not None and strips > 1:
            number = Var(f"{span.name}_packed_strip", 0, strips - 1)
            at = {loop: substitute(value, {side.strip: number}) for loop, value in at.items()}
            index, numbers = number * part.terms + index, [number]
        value = over(_times(side.factors), {**env, **at})
        loops, steps = [term for term in terms if isinstance(term, Var)], _steps(value, places[-1])
        along = steps is not None and steps <= NEAR_STEPS
        target = index * pitch + box.number
        if not along and len(places) == 1 and loops and _is_turned(value, loops[-1], places[0]):
            self._turned(scope, [*numbers, *loops[:-1]], (loops[-1], places[0]), Store(name, target, value))
            return name
        opened = self.placer.nest(scope, *([*loops, *numbers, *places] if along else [*numbers, *places, *loops]))
        opened[-1].body.append(Store(name, target, self.placer.place(value, opened[-1])))
        self.placer.close_all(opened)
        return name

    def _turned(self, scope: Scope, around: list[Var], square: tuple[Var, Var], store: Store) -> None:
        """A store for all values of two loops, squares of which are turned in registers."""
        blocks: list[Var] = []
        sides: list[Var] = []
        env: Env = {}
        for loop in square:
            size = min(loop.extent, SIDE)
            count = -(-loop.extent // size)
            blocks.append(Var(f"{loop.name}_square", 0, count - 1))
            sides.append(Var(f"{loop.name}_side", 0, size - 1))
            env[loop] = first_of(blocks[-1], count, size, loop.extent) + sides[-1]
        row, lane = sides
        opened = self.placer.nest(scope, *around, *reversed(blocks))
        opened[-1].body.append(tile_over(row, lane, Store(store.buffer, substitute(store.index, env), over(store.value, env))))
        self.placer.close_all(opened)

    def _tile(self, scope: Scope, part: _Part, tile: Tile, spans: tuple[_Span, _Span], factors: tuple[Factor, Factor], sums: Index) -> None:
        """Sums of a tile, which are kept from an element of their memory on."""
        dtype, together, memory = self.products.dtype, run(part.terms), self.sums[part.product, tile]
        row, lane = Var(spans[0].name, 0, tile.high - 1), Var(spans[1].name, 0, tile.wide - 1)
        place, column = (sums + row) * tile.wide + lane, lane + tile.at
        inner, outer = Var(f"{row.name}_term", 0, together - 1), Var(f"{row.name}_run", 0, part.terms // together - 1)
        left, right = (factor(_sum(outer, together, inner), at) for factor, at in zip(factors, (row, column), strict=True))
        name = self.placer.name()
        total: Stmt = Fold(name, "sum", dtype, inner, (), part.product.term(left, right))
        if outer.extent > 1:
            inmost, name = name, self.placer.name()
            total = Fold(name, "sum", dtype, outer, (total,), Temp(inmost, dtype))
        value: Scalar = Temp(name, dtype)
        several = part.product.parts > 1
        if part.last and self.done:
            value = Call("add", (Load(memory, place, dtype), value), dtype) if several else value
            env = {**spans[0].behind(row), **spans[1].behind(column)}
            made = over(self.nest.body, env, {part.product.chain[0]: value})
            store = Store(self.outputs[0], substitute(self.nest.index, env), made)
        else:
            store = Store(memory, place, value, "sum" if several else None)
        scope.body.append(tile_over(row, lane, total, store))

    def _finish(self, scope: Scope, tile: Tile, spans: tuple[_Span, _Span], sums: Index) -> None:
        """What the body makes of the sums, element by element."""
        for k, columns in enumerate(spans[1].boxes("_done", tile.at, tile.wide)):
            (rows,) = spans[0].boxes(f"_done{k or ''}")
            env, place = {**rows.at, **columns.at}, (sums + rows.number) * tile.wide + (columns.number - tile.at)
            opened = self.placer.nest(scope, *rows.loops, *columns.loops)
            known: dict[Scalar, Scalar] = {
                one.chain[0]: Load(self.sums[one, tile], place, self.products.dtype) for one in self.products.sums
            }
            if k or tile.at:
                env = _with_folds(self.nest.body, env, known, f"_{columns.loops[-1].name}")
            value = self.placer.place(over(self.nest.body, env, known), opened[-1])
            opened[-1].body += stores(self.outputs, substitute(self.nest.index, env), value)
            self.placer.close_all(opened)


def _with_folds(body: Scalar, env: Env, known: dict[Scalar, Scalar], suffix: str) -> Env:
    """The indices, and among what is known the folds that are not yet, with variables of their own."""
    folds = [term for term in scalars(body) if isinstance(term, Reduce) and term not in known]
    own = {fold.variable: Var(fold.variable.name + suffix, fold.variable.lo, fold.variable.hi) for fold in folds}
    env = {**env, **own}
    for fold in folds:
        known[fold] = Reduce(fold.op, own[fold.variable], over(fold.body, env, known))
    return env


def _read(factor: Scalar, side: _Side) -> Load | None:
    """The load that a factor is, or, where it is of one row, that of the number that it is a part of."""
    if isinstance(factor, Call) and factor.op in ("real", "imag") and side.strip is None:
        factor = factor.args[0]
    return factor if isinstance(factor, Load) else None


def _times(factors: tuple[Scalar, ...]) -> Scalar:
    return functools.reduce(lambda total, factor: Call("multiply", (total, factor), total.dtype), factors)


def _sum(outer: Var, size: int, inner: Var) -> Index:
    """outer * size + inner, of variables that may have one value only."""
    parts: list[Index] = [outer * size] if outer.extent > 1 else []
    parts += [inner] if inner.extent > 1 else []
    return functools.reduce(lambda a, b: a + b, parts) if parts else Const(0)


def _flat(indices: list[Index], extents: list[int]) -> Index:
    total = indices[0]
    for index, extent in zip(indices[1:], extents[1:], strict=True):
        total = total * extent + index
    return total


def _is_turned(value: Scalar, row: Var, lane: Var) -> bool:
    """Whether an element is loaded along a loop, and far apart along another, so that squares of them may be turned."""
    if not isinstance(value, Load) or value.dtype not in LANES or min(row.extent, lane.extent) < LEAST:
        return False
    form = Forms()(value.index)
    return form.stride(row) == 1 and form.stride(lane) not in (0, 1, None)


def _steps(value: Scalar, variable: Var) -> int | None:
    """The largest stride of a load along a variable."""
    forms = Forms()
    strides = [forms(term.index).stride(variable) for term in scalars(value) if isinstance(term, Load)]
    return None if None in strides else max((abs(stride) for stride in strides if stride is not None), default=0)
