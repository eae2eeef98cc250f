"""Sums of products in tiles: what one loop does not change is kept in registers for all of its iterations.

    out[i, j] = g(sum over k of f(i, k) * h(k, j))

becomes, for every tile of `high` rows and `wide` columns, one fold over k of high * wide sums.  The columns of h that a tile needs are
copied to scratch memory in the order in which the fold reads them, once for all rows; so are the rows of f, unless a load of them walks
through memory.  The last tile of an axis ends where the axis ends, and so computes again what the tile before it computed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import prod

from eqsat.ir.dtypes import carrier, is_float, itemsize
from eqsat.ir.index import Const, Index, Var, substitute
from eqsat.ir.loops import Buffer, Fold, For, Load, Stmt, Store, Temp
from eqsat.ir.tensor import Call, Reduce, Scalar, scalars
from eqsat.lowering.affine import Forms
from eqsat.lowering.blocks import BlockPlacer, first_of, over
from eqsat.lowering.nest import Nest, Several, chains, free_variables
from eqsat.lowering.place import Scope

# sums in vector registers, and bytes of each
SUMS = 24
VECTOR_BYTES = 64
MOST_ROWS = 14
LEAST_COLUMNS, LEAST_TERMS = 4, 4
# terms that are added up one after the other before their sum is added to others
LONGEST_RUN = 1024
SHORTEST_RUN = 64
SCRATCH_BYTES = 2 << 20
# iterations of the outermost loop, to be shared by threads where there are that many products
ENOUGH = 8
WORTH_SHARING = 1 << 22
# what is read in steps of at most that many bytes, or for fewer tiles than these, stays where it is
NEAR_BYTES = 512
FEW_USES = 3
Factor = Callable[[Index], Load]


@dataclass(frozen=True)
class _Product:
    """The sum: its folds, the factors that the columns do not change, and the others; `epilogue`: the body around it."""

    chain: tuple[Reduce, ...]
    left: tuple[Scalar, ...]
    right: tuple[Scalar, ...]
    rows: Var
    columns: Var

    @property
    def terms(self) -> int:
        return prod(fold.variable.extent for fold in self.chain)


def tiled(nest: Nest, output: str, buffers: frozenset[str]) -> tuple[tuple[Stmt, ...], tuple[Buffer, ...]] | None:
    """The statements and their scratch memory; None where the body is no such sum, or too small."""
    found = _product(nest)
    if found is None:
        return None
    tiling = _Tiling(nest, found, output, buffers)
    fits = (tiling.wide + tiling.high) * found.terms * itemsize(tiling.dtype) <= SCRATCH_BYTES
    return tiling.result() if fits and (found.terms <= LONGEST_RUN or _run(found.terms) >= SHORTEST_RUN) else None


def _product(nest: Nest) -> _Product | None:
    found = chains(nest.body)
    if isinstance(nest.body, Several) or len(nest.loops) < 2 or len(found) != 1 or found[0][0].op != "sum":
        return None
    chain = found[0]
    inside, columns = chain[-1].body, nest.loops[-1]
    free = free_variables(inside)
    if not _adds_up(chain[0].dtype) or any(isinstance(term, Reduce) for term in scalars(inside)) or columns.extent < LEAST_COLUMNS:
        return None
    if Forms()(nest.index).stride(columns) != 1:
        return None
    factors = tuple(_factors(inside))
    left = tuple(factor for factor in factors if columns not in free[factor])
    right = tuple(factor for factor in factors if columns in free[factor])
    possible = [v for v in nest.loops[:-1] if any(v in free[f] for f in left) and not any(v in free[f] for f in right)]
    if not left or not right or not possible:
        return None
    product = _Product(chain, left, right, max(reversed(possible), key=lambda v: min(v.extent, MOST_ROWS)), columns)
    return product if product.terms >= LEAST_TERMS else None


def _adds_up(dtype: str) -> bool:
    """Whether its sums are added up in registers of its own: float32 and float64."""
    return is_float(dtype) and carrier(dtype) == dtype


def _factors(term: Scalar) -> Iterator[Scalar]:
    if isinstance(term, Call) and term.op == "multiply":
        for arg in term.args:
            yield from _factors(arg)
    else:
        yield term


def _times(factors: tuple[Scalar, ...]) -> Scalar:
    total = factors[0]
    for factor in factors[1:]:
        total = Call("multiply", (total, factor), total.dtype)
    return total


def tile_shape(rows: int, columns: int, lanes: int) -> tuple[int, int]:
    """(high, wide): the tile with which all take the fewest steps; a step loads the operands of a tile and adds to all of its sums."""
    best, least = (1, columns), float("inf")
    for vectors in range(1, 5):
        wide = min(columns, vectors * lanes)
        across = -(-columns // wide)
        wide = min(columns, _whole(-(-columns // across), lanes))
        used = _vectors(wide, lanes)
        for high in range(1, min(rows, MOST_ROWS, SUMS // used) + 1):
            sums, loaded = high * used, high + used
            cycles = -(-rows // high) * across * (max(sums, loaded, 8) / 2 + 1)
            if cycles < least:
                best, least = (high, wide), cycles
    return best


def _whole(wide: int, lanes: int) -> int:
    """Whole vectors, so that rows of memory which begin with a line of the cache stay with its lines."""
    return -(-wide // lanes) * lanes if wide > lanes else wide


def _vectors(wide: int, lanes: int) -> int:
    """How many vectors a row of a tile takes: the last one ends with the row, where that is shorter than one they get smaller."""
    return -(-wide // lanes) if wide >= lanes else wide.bit_count()


class _Tiling:
    """The statements of one product."""

    def __init__(self, nest: Nest, product: _Product, output: str, buffers: frozenset[str]) -> None:
        self.nest, self.product, self.output, self.buffers = nest, product, output, buffers
        self.placer = BlockPlacer(buffers)
        self.dtype = product.chain[0].dtype
        rows, columns = product.rows, product.columns
        self.high, self.wide = tile_shape(rows.extent, columns.extent, VECTOR_BYTES // itemsize(self.dtype))
        self.row, self.lane = Var(f"{rows.name}_row", 0, self.high - 1), Var(f"{columns.name}_lane", 0, self.wide - 1)

    def result(self) -> tuple[tuple[Stmt, ...], tuple[Buffer, ...]]:
        rows, columns = self.product.rows, self.product.columns
        outer = [variable for variable in self.nest.loops if variable not in (rows, columns)]
        across, down = -(-columns.extent // self.wide), -(-rows.extent // self.high)
        shared = prod(v.extent for v in outer) * across
        blocks = min(down, -(-ENOUGH // shared)) if prod(v.extent for v in self.nest.loops) * self.product.terms >= WORTH_SHARING else 1
        each = -(-down // blocks)
        block, tile = Var(f"{rows.name}_block", 0, -(-down // each) - 1), Var(f"{rows.name}_tile", 0, each - 1)
        strip = Var(f"{columns.name}_strip", 0, across - 1)
        around = self.placer.nest(self.placer.top, *outer, block, strip)
        first = {
            rows: first_of(_sum(block, each, tile), down, self.high, rows.extent),
            columns: first_of(strip, across, self.wide, columns.extent),
        }
        inmost = around[-1]
        right = self._factor(self.product.right, inmost, self.lane, columns, first[columns], each)
        below = self.placer.nest(inmost, tile)
        self._tile(below[-1], right, first)
        self.placer.close_all((*around, *below[1:]))
        return tuple(self.placer.top.body), tuple(self.placer.scratch)

    def _factor(self, factors: tuple[Scalar, ...], scope: Scope, inside: Var, axis: Var, first: Index, uses: int) -> Factor:
        """The product of some factors, by the number of a term and the place in a tile: where it is in memory, if it is near by or hardly
        used; else in scratch memory, in the order in which it is read."""
        chain = [fold.variable for fold in self.product.chain]
        factor = factors[0]
        if len(factors) == 1 and isinstance(factor, Load):
            form = Forms()(factor.index)
            strides = [stride for variable in chain if (stride := form.stride(variable)) is not None]
            evenly = all(a == b * v.extent for a, b, v in zip(strides, strides[1:], chain[1:], strict=False))
            near = len(strides) == len(chain) and (uses < FEW_USES or abs(strides[-1]) * itemsize(factor.dtype) <= NEAR_BYTES)
            if near and evenly and not any(v.lo for v in chain) and (inside is self.row or form.stride(axis) == 1):
                still = {**dict.fromkeys(chain, Const(0)), axis: first + inside}
                return lambda term: Load(factor.buffer, substitute(factor.index, {**still, chain[-1]: term}), factor.dtype)
        packed = self._packed(factors, scope, inside, axis, first)
        return lambda term: Load(packed, term * inside.extent + inside, self.dtype)

    def _packed(self, factors: tuple[Scalar, ...], scope: Scope, inside: Var, axis: Var, first: Index) -> str:
        """Scratch memory with the product of these factors: for every term of the sum, the elements of a tile along an axis."""
        name = self.placer.memory(self.product.terms * inside.extent, self.dtype)
        place = Var(f"{inside.name}_packed", 0, inside.extent - 1)
        terms = [fold.variable for fold in self.product.chain]
        packed = [Var(f"{place.name}_{v.name}", v.lo, v.hi) for v in terms]
        env: dict[Var, Index] = {**dict(zip(terms, packed, strict=True)), axis: first + place}
        value = over(_times(factors), env)
        opened = self.placer.nest(scope, *([*packed, place] if _steps(value, place) in (0, 1) else [place, *packed]))
        index = _flat([v - v.lo for v in packed], [v.extent for v in packed]) * inside.extent + place
        opened[-1].body.append(Store(name, index, self.placer.place(value, opened[-1])))
        self.placer.close_all(opened)
        return name

    def _tile(self, scope: Scope, right: Factor, first: Mapping[Var, Index]) -> None:
        product, run = self.product, _run(self.product.terms)
        left = self._factor(product.left, scope, self.row, product.rows, first[product.rows], 1 + (self.wide < product.columns.extent))
        inner, outer = Var(f"{self.row.name}_term", 0, run - 1), Var(f"{self.row.name}_run", 0, product.terms // run - 1)
        term = _sum(outer, run, inner)
        name = self.placer.name()
        total: Stmt = Fold(name, "sum", self.dtype, inner, (), Call("multiply", (left(term), right(term)), self.dtype))
        if outer.extent > 1:
            part, name = name, self.placer.name()
            total = Fold(name, "sum", self.dtype, outer, (total,), Temp(part, self.dtype))
        here = {axis: start + inside for (axis, start), inside in zip(first.items(), (self.row, self.lane), strict=True)}
        done = self.nest.body is product.chain[0]
        sums = self.output if done else self.placer.memory(self.high * self.wide, self.dtype)
        place = (sums, substitute(self.nest.index, here) if done else self._in_tile())
        store = Store(*place, Temp(name, self.dtype))
        scope.body.append(For(self.row, "tile", (For(self.lane, "tile", (total, store)),)))
        if not done:
            self._finish(scope, sums, first)

    def _in_tile(self) -> Index:
        return self.row * self.wide + self.lane

    def _finish(self, scope: Scope, sums: str, first: Mapping[Var, Index]) -> None:
        """What the body makes of the sums, element by element."""
        row, lane = (Var(f"{v.name}_last", v.lo, v.hi) for v in (self.row, self.lane))
        env: dict[Var, Index] = {
            self.product.rows: first[self.product.rows] + row,
            self.product.columns: first[self.product.columns] + lane,
        }
        opened = self.placer.nest(scope, row, lane)
        known: dict[Scalar, Scalar] = {self.product.chain[0]: Load(sums, row * self.wide + lane, self.dtype)}
        value = over(self.nest.body, env, known)
        opened[-1].body.append(Store(self.output, substitute(self.nest.index, env), self.placer.place(value, opened[-1])))
        self.placer.close_all(opened)


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


def _run(terms: int) -> int:
    """How many terms are added up before their sum is added to others: all, or the most that divide them evenly."""
    return terms if terms <= LONGEST_RUN else max(n for n in range(1, LONGEST_RUN + 1) if terms % n == 0)
