"""Sums of products in tiles: what one loop does not change is kept in registers for all of its iterations.

For every group of strips of columns, and every part of the terms (see lowering.product), the factor of the columns is copied to scratch
memory in the order in which the folds read it, once for all rows; so is the factor of the rows, for all strips of a group, unless a load of
it goes through memory in that order anyway.  Sums of several parts are kept in scratch memory until the last.  The last block, group and
tile of an axis end where the axis ends, and so compute again what those before them computed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from eqsat.ir.dtypes import itemsize
from eqsat.ir.index import Const, Index, Var, substitute
from eqsat.ir.loops import Buffer, Fold, For, Load, Stmt, Store, Temp
from eqsat.ir.tensor import Call, Literal, Scalar, scalars
from eqsat.lowering.affine import Forms
from eqsat.lowering.blocks import BlockPlacer, first_of, over
from eqsat.lowering.nest import Nest
from eqsat.lowering.place import Scope
from eqsat.lowering.product import Blocking, Product, blocking, product_of, run

# what is read in steps of at most that many bytes, or for fewer tiles than these, stays where it is
NEAR_BYTES = 512
FEW_USES = 3
# a factor by the number of a term within a part
Factor = Callable[[Index], Load]
Env = dict[Var, Index]


def tiled(
    nest: Nest, output: str, buffers: frozenset[str], shape: tuple[int, int] | None = None
) -> tuple[tuple[Stmt, ...], tuple[Buffer, ...]] | None:
    """The statements and their scratch memory; None where the body is no such sum, or too small.  `shape`: rows and columns of a tile."""
    product = product_of(nest)
    if product is None:
        return None
    outer = [variable for variable in nest.loops if variable not in (product.rows, product.columns)]
    blocks = blocking(product, prod(variable.extent for variable in outer), shape)
    return _Tiling(nest, product, blocks, outer, output, buffers).result() if blocks is not None else None


@dataclass(frozen=True)
class _Side:
    """Some factors, the axis that changes them, the place in a tile along it and where the tile begins; `uses`: for how many tiles one
    copy serves; `strip`: the strips that it has together."""

    factors: tuple[Scalar, ...]
    axis: Var
    inside: Var
    first: Index
    uses: int
    strip: Var | None = None


@dataclass(frozen=True)
class _Part:
    """Some terms of the sum: iterations of its outermost fold from `first` on; `tag` makes names of its own; `last`: none follow."""

    tag: str
    first: Index
    extents: tuple[int, ...]
    last: bool

    @property
    def terms(self) -> int:
        return prod(self.extents)


class _Tiling:
    """The statements of one product."""

    def __init__(self, nest: Nest, product: Product, blocks: Blocking, outer: list[Var], output: str, buffers: frozenset[str]) -> None:
        self.nest, self.product, self.blocks, self.outer, self.output = nest, product, blocks, outer, output
        self.placer = BlockPlacer(buffers)
        self.chain = tuple(fold.variable for fold in product.chain)
        rows, columns = product.rows.name, product.columns.name
        self.block, self.group = Var(f"{rows}_block", 0, blocks.blocks - 1), Var(f"{columns}_group", 0, blocks.groups - 1)
        self.done = nest.body is product.chain[0]
        several = blocks.parts > 1
        size = blocks.high * blocks.wide * (blocks.tall * blocks.strips if several else 1)
        self.copies: dict[Var, str] = {}  # of each side, the memory of its copies: the last part is not longer than others
        self.sums = self.placer.memory(size, product.dtype) if several or not self.done else output

    def result(self) -> tuple[tuple[Stmt, ...], tuple[Buffer, ...]]:
        blocks, product = self.blocks, self.product
        larger = sorted((self.block, self.group), key=lambda v: v.extent, reverse=True)
        around = self.placer.nest(self.placer.top, *self.outer, *larger)
        extents = tuple(variable.extent for variable in self.chain)
        if blocks.parts > 1:
            zero = Var(f"{product.rows.name}_zero", 0, blocks.tall * blocks.strips * blocks.high * blocks.wide - 1)
            around[-1].body.append(For(zero, "parallel", (Store(self.sums, zero, Literal(0.0, product.dtype)),)))
            part = Var(f"{self.chain[0].name}_part", 0, blocks.parts - 2)
            opened = self.placer.nest(around[-1], part)
            first = part * blocks.each if part.extent > 1 else Const(0)
            self._part(opened[-1], _Part("", first, (blocks.each, *extents[1:]), last=False))
            for scope in opened[:0:-1]:
                self.placer.close(scope, "serial")
        before = (blocks.parts - 1) * blocks.each
        self._part(around[-1], _Part("_last" if before else "", Const(before), (extents[0] - before, *extents[1:]), last=True))
        self.placer.close_all(around)
        return tuple(self.placer.top.body), tuple(self.placer.scratch)

    def _part(self, scope: Scope, part: _Part) -> None:
        blocks, product = self.blocks, self.product
        rows, columns = product.rows, product.columns
        tile, strip = Var(f"{rows.name}_tile{part.tag}", 0, blocks.tall - 1), Var(f"{columns.name}_strip{part.tag}", 0, blocks.strips - 1)
        row, lane = Var(f"{rows.name}_row{part.tag}", 0, blocks.high - 1), Var(f"{columns.name}_lane{part.tag}", 0, blocks.wide - 1)
        down = first_of(_sum(self.block, blocks.tall, tile), blocks.down, blocks.high, rows.extent)
        across = first_of(_sum(self.group, blocks.strips, strip), blocks.across, blocks.wide, columns.extent)
        right = self._factor(scope, part, _Side(product.right, columns, lane, across, blocks.tall, strip))
        tiles = self.placer.nest(scope, tile)
        left = self._factor(tiles[-1], part, _Side(product.left, rows, row, down, blocks.strips))
        strips = self.placer.nest(tiles[-1], strip)
        number = _sum(tile, blocks.strips, strip)
        place = _flat([number, row, lane], [0, blocks.high, blocks.wide]) if blocks.parts > 1 else row * blocks.wide + lane
        here: dict[Var, Index] = {rows: down + row, columns: across + lane}
        self._tile(strips[-1], part, (row, lane), (left, right), place, here)
        if part.last and not self.done:
            self._finish(strips[-1], (row, lane), place, here)
        self.placer.close_all(strips)
        self.placer.close_all(tiles)

    def _factor(self, scope: Scope, part: _Part, side: _Side) -> Factor:
        """The product of some factors, by the number of a term in a part: where it is in memory, if it is near by or hardly used; else in
        scratch memory, in the order in which it is read."""
        factor, before = side.factors[0], part.first * prod(part.extents[1:])
        if len(side.factors) == 1 and isinstance(factor, Load):
            form = Forms()(factor.index)
            strides = [stride for variable in self.chain if (stride := form.stride(variable)) is not None]
            evenly = all(a == b * v.extent for a, b, v in zip(strides, strides[1:], self.chain[1:], strict=False))
            near = len(strides) == len(self.chain) and (side.uses < FEW_USES or abs(strides[-1]) * itemsize(factor.dtype) <= NEAR_BYTES)
            if near and evenly and not any(v.lo for v in self.chain) and (side.strip is None or form.stride(side.axis) == 1):
                still = {**dict.fromkeys(self.chain, Const(0)), side.axis: side.first + side.inside}
                return lambda term: Load(factor.buffer, substitute(factor.index, {**still, self.chain[-1]: before + term}), factor.dtype)
        packed, strip, inside = self._packed(scope, part, side), side.strip, side.inside
        panel = strip * part.terms if strip is not None and strip.extent > 1 else Const(0)
        return lambda term: Load(packed, (panel + term) * inside.extent + inside, self.product.dtype)

    def _packed(self, scope: Scope, part: _Part, side: _Side) -> str:
        """Scratch memory with the product of some factors: for every strip and term of a part, the elements of a tile along an axis."""
        strips = side.strip.extent if side.strip is not None else 1
        name = self.copies.get(side.axis) or self.placer.memory(strips * part.terms * side.inside.extent, self.product.dtype)
        self.copies[side.axis] = name
        place = Var(f"{side.inside.name}_packed", 0, side.inside.extent - 1)
        names = (f"{place.name}_{v.name}" for v in self.chain)
        terms: list[Index] = [Var(name, 0, n - 1) if n > 1 else Const(0) for name, n in zip(names, part.extents, strict=True)]
        firsts = [part.first, *(Const(0) for _ in terms[1:])]
        env: dict[Var, Index] = {v: t + (first + v.lo) for v, t, first in zip(self.chain, terms, firsts, strict=True)}
        env[side.axis], index, numbers = side.first + place, _flat(terms, list(part.extents)), []
        if side.strip is not None and strips > 1:
            number = Var(f"{place.name}_strip", 0, strips - 1)
            env[side.axis] = substitute(env[side.axis], {side.strip: number})
            index, numbers = number * part.terms + index, [number]
        value = over(_times(side.factors), env)
        loops, along = [term for term in terms if isinstance(term, Var)], _steps(value, place) in (0, 1)
        opened = self.placer.nest(scope, *([*loops, *numbers, place] if along else [*numbers, place, *loops]))
        opened[-1].body.append(Store(name, index * side.inside.extent + place, self.placer.place(value, opened[-1])))
        self.placer.close_all(opened)
        return name

    def _tile(self, scope: Scope, part: _Part, tile: tuple[Var, Var], factors: tuple[Factor, Factor], place: Index, here: Env) -> None:
        dtype, together = self.product.dtype, run(part.terms)
        row, lane = tile
        inner, outer = Var(f"{row.name}_term", 0, together - 1), Var(f"{row.name}_run", 0, part.terms // together - 1)
        left, right = (factor(_sum(outer, together, inner)) for factor in factors)
        name = self.placer.name()
        total: Stmt = Fold(name, "sum", dtype, inner, (), Call("multiply", (left, right), dtype))
        if outer.extent > 1:
            inmost, name = name, self.placer.name()
            total = Fold(name, "sum", dtype, outer, (total,), Temp(inmost, dtype))
        value: Scalar = Temp(name, dtype)
        if part.last and self.done:
            value = Call("add", (Load(self.sums, place, dtype), value), dtype) if self.blocks.parts > 1 else value
            store = Store(self.output, substitute(self.nest.index, here), value)
        else:
            store = Store(self.sums, place, value, "sum" if self.blocks.parts > 1 else None)
        scope.body.append(For(row, "tile", (For(lane, "tile", (total, store)),)))

    def _finish(self, scope: Scope, tile: tuple[Var, Var], place: Index, here: Env) -> None:
        """What the body makes of the sums, element by element."""
        row, lane = (Var(f"{v.name}_done", v.lo, v.hi) for v in tile)
        again: Env = dict(zip(tile, (row, lane), strict=True))
        env = {axis: substitute(index, again) for axis, index in here.items()}
        opened = self.placer.nest(scope, row, lane)
        known: dict[Scalar, Scalar] = {self.product.chain[0]: Load(self.sums, substitute(place, again), self.product.dtype)}
        value = over(self.nest.body, env, known)
        opened[-1].body.append(Store(self.output, substitute(self.nest.index, env), self.placer.place(value, opened[-1])))
        self.placer.close_all(opened)


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


def _steps(value: Scalar, variable: Var) -> int | None:
    """The largest stride of a load along a variable."""
    forms = Forms()
    strides = [forms(term.index).stride(variable) for term in scalars(value) if isinstance(term, Load)]
    return None if None in strides else max((abs(stride) for stride in strides if stride is not None), default=0)
