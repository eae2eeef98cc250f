"""Sums of products: which bodies are made of them, and the blocks in which they are computed.

    out[i, j] = g(sum over k of f(i, k) * h(k, j), ...)

or of what else is made of f(i, k) and h(k, j), as the squares of their differences are.

The smallest block is a tile: `high` rows and `wide` columns whose sums stay in registers for one fold over k.  A part of the terms, a group
of strips of columns, each as wide as a tile or two, and a block of rows are chosen for the caches: the columns of h that a group needs in
one part stay in the second cache while all rows of the block pass, and the rows of f that a tile needs stay in the first while the strips
pass.  Two tiles side by side are of four vectors and three, or three and two, each as high as its own registers allow: so 112 columns, two
lines of an image of 56, leave nothing of a vector over.

Columns are the innermost loop.  Where that is short, as that of a small image, and the loop around it goes on where it ends in the output,
both are: a strip is then some whole lines wide.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import isqrt, prod

from eqsat.ir.dtypes import carrier, is_float, itemsize
from eqsat.ir.index import Index, Var
from eqsat.ir.loops import Load, Temp, over
from eqsat.ir.tensor import Build, Call, Literal, Read, Reduce, Scalar, axis, has_fold, reindexed, scalars
from eqsat.ir.vectorizable import is_joint_value
from eqsat.lowering.affine import Forms
from eqsat.lowering.nest import Free, Nest, chains, free_variables, largest

# vector registers that sums and what is loaded for them take, and bytes of each
VECTORS = 31
VECTOR_BYTES = 64
# of a tile: LLVM keeps the address of each row in a register, and where those are not enough it moves sums, which takes twice as long
MOST_VECTORS, MOST_ROWS = 4, 12
# vectors of sums of what is no product, as squares of differences are: LLVM makes all terms of a step before it adds one of them
VECTORS_MADE = 12
# of the tiles of a strip together, and what they have to save
STRIP_VECTORS, SAVED = 7, 1.03
# rows of a tile that is as wide as that, unless it has all: a part of it finds its columns in a quarter of the first cache, and few rows
# read them often
LEAST_ROWS = 6
# rows that lie so far apart share a set of the first cache, which holds so many lines; one vector a row does not hide that they leave it
ALIASED_BYTES, WAYS = 4096, 8
LEAST_COLUMNS, LEAST_TERMS = 4, 4
# products of fewer terms, where rows are so long that they share what is read of the right factor
FEWEST_TERMS, LONG_ROW = 2, 1024
# what each row of a tile costs in a step, in halves of a cycle: it is read in its own place
ROW_CYCLES = 0.2
# products of more terms are computed in parts of about so many
ONE_PART, PART_TERMS = 1024, 512
# what is read in steps of at most that many bytes, or for fewer tiles than these, stays where it is
NEAR_BYTES = 512
FEW_USES = 3
# a right factor of more bytes that stays where it is comes from far away: parts of few terms read some rows at a time from end to end, as
# many as a set of the first cache has lines, for rows of tiles read them again
FAR_BYTES, FAR_TERMS = 4 << 20, WAYS
# terms that are added up one after the other before their sum is added to others
LONGEST_RUN, SHORTEST_RUN = 1024, 64
# what the columns of a group and the sums of a block may take, in the second cache
GROUP_BYTES = SUMS_BYTES = 1 << 20
MOST_GROUP_BYTES = 2 << 20
# columns that are so near are read fastest; more save reading the rows again, which is worth it while they are so many times those at most
NEAR_GROUP_BYTES, REPAID = 64 << 10, 16
# products that are worth sharing among threads; of more, one share holds at the least so many; threads that share evenly
WORTH_SHARING, SHARE = 1 << 20, 1 << 22
MOST_SHARES, EVENLY = 8, 2
# to fetch the rows of a tile, once for all strips of a group, in tiles; to copy the columns of a strip, once for all tiles of a block, in
# tiles of 24 cycles: four cycles a vector and four a line
FETCHED_ROWS, COPIED_VECTOR = 1 / 16, 1 / 6
# what threads wait for each other, of the time of all, by pieces
UNEVEN = 0.05


@dataclass(frozen=True)
class Product:
    """A sum: its folds, the factors that the columns do not change, and the others.

    made  what is added up where that is no product: an element made of one left and one right operand, in the place of factors

    More terms than `at_most` are computed in parts, of about `part` terms.
    """

    chain: tuple[Reduce, ...]
    left: tuple[Scalar, ...]
    right: tuple[Scalar, ...]
    made: Scalar | None = None
    at_most: int = ONE_PART
    part: int = PART_TERMS

    def term(self, left: Scalar, right: Scalar) -> Scalar:
        """What is added up, of the products of the left and of the right factors."""
        if self.made is None:
            return Call("multiply", (left, right), left.dtype)
        return over(self.made, {}, {self.left[0]: left, self.right[0]: right})

    @property
    def most_sums(self) -> int:
        """How many vectors of sums a tile has at the most: a product is added to its sum as it is made."""
        return VECTORS if self.made is None else VECTORS_MADE

    @property
    def terms(self) -> int:
        return prod(fold.variable.extent for fold in self.chain)

    @property
    def each(self) -> int:
        """How many iterations of the outermost fold a part has; the last one may have fewer."""
        first = self.chain[0].variable.extent
        return -(-first // (-(-self.terms // self.part) if self.terms > self.at_most else 1))

    @property
    def parts(self) -> int:
        return -(-self.chain[0].variable.extent // self.each)

    @property
    def at_once(self) -> int:
        """The terms of a part."""
        return self.each * (self.terms // self.chain[0].variable.extent)


@dataclass(frozen=True)
class Columns:
    """What lies behind each other in the output: the innermost loop, or lines of it."""

    inner: Var
    lines: Var | None = None

    @property
    def loops(self) -> tuple[Var, ...]:
        return (self.inner,) if self.lines is None else (self.lines, self.inner)

    @property
    def extent(self) -> int:
        return prod(v.extent for v in self.loops)

    @property
    def unit(self) -> int:
        """A strip is so many columns wide, or a multiple."""
        return 1 if self.lines is None else self.inner.extent


@dataclass(frozen=True)
class Products:
    """The sums of a body, all of one dtype, that of the longest parts first, and the axes of their tiles."""

    sums: tuple[Product, ...]
    rows: Var
    columns: Columns

    @property
    def dtype(self) -> str:
        return self.sums[0].chain[0].dtype

    @property
    def most_sums(self) -> int:
        """How many vectors of sums a tile has at the most."""
        return min(one.most_sums for one in self.sums)

    @property
    def most_rows(self) -> int:
        """Rows of a tile of one vector each; of half a vector fewer, for the columns need a line as well."""
        forms = Forms()
        read = (term for product in self.sums for factor in product.left for term in scalars(factor) if isinstance(term, Load))
        steps = ((forms(load.index).stride(self.rows) or 0) * itemsize(load.dtype) for load in read)
        half = self.columns.extent * itemsize(self.dtype) <= VECTOR_BYTES // 2
        return WAYS - half if any(step and step % ALIASED_BYTES == 0 for step in steps) else MOST_ROWS

    @property
    def kept(self) -> bool:
        """Whether sums of a whole block are kept in memory: until the last part of each, and until the last sum."""
        return len(self.sums) > 1 or self.sums[0].parts > 1


@dataclass(frozen=True)
class Tile:
    """The tiles of some columns of a strip.

    at, wide    the first of these columns, and how many
    high, down  rows of a tile, and tiles in all
    tall        the tiles of a block of rows
    """

    at: int
    wide: int
    high: int
    down: int
    tall: int


@dataclass(frozen=True)
class Blocking:
    """The blocks of products.

    tiles            of a strip, side by side
    blocks           of rows
    across, groups   strips in all, and groups of them
    strips           of a group
    """

    tiles: tuple[Tile, ...]
    blocks: int
    across: int
    groups: int
    strips: int

    @property
    def wide(self) -> int:
        """The columns of a strip."""
        return sum(tile.wide for tile in self.tiles)


def products_of(nest: Nest) -> Products | None:
    """The sums of products that a nest computes; None where it computes none, small ones, or other folds for each column."""
    if len(nest.loops) < 2 or nest.loops[-1].extent < LEAST_COLUMNS or Forms()(nest.index).stride(nest.loops[-1]) != 1:
        return None
    inner, free = nest.loops[-1], free_variables(nest.body)
    inside = (chain for chain in chains(nest.body) if inner in free[chain[0]])
    sums = [_product(chain, inner, free) or _made_of_two(chain, nest.loops, free) for chain in inside]
    found = [one for one in sums if one is not None]
    possible = [v for v in nest.loops[:-1] if all(_is_row(v, one, free) for one in found)]
    if not found or len(found) < len(sums) or not possible or len({one.chain[0].dtype for one in found}) > 1:
        return None
    rows = max(reversed(possible), key=lambda v: min(v.extent, MOST_ROWS))
    columns = Columns(inner, _lines(nest, rows, found, free))
    found = sorted((_in_parts(one, rows, columns) for one in found), key=lambda one: -one.at_once)
    return Products(tuple(found), rows, columns)


def _lines(nest: Nest, rows: Var, sums: list[Product], free: Free) -> Var | None:
    """The loop around the innermost, if tiles are to have several of its lines: all right factors change from line to line, no left one."""
    around, inner = nest.loops[-2:]
    lanes = VECTOR_BYTES // itemsize(sums[0].chain[0].dtype)
    right = all(any(around in free[factor] for factor in one.right) for one in sums)
    left = any(around in free[factor] for one in sums for factor in one.left)
    if left or not right or not Forms()(nest.index).stride(around) == inner.extent <= STRIP_VECTORS * lanes // 2:
        return None
    wide = sum(wide for _, wide in strip_shape(rows.extent, around.extent * inner.extent, lanes, unit=inner.extent))
    return around if wide > inner.extent else None


def _in_parts(product: Product, rows: Var, columns: Columns) -> Product:
    """The product, in small parts if its right factor is read in its place and comes from far away."""
    width = itemsize(product.chain[0].dtype)
    tiles = -(-rows.extent // strip_shape(rows.extent, columns.extent, VECTOR_BYTES // width, unit=columns.unit)[0][0])
    is_far = columns.extent * product.terms * width > FAR_BYTES and columns.extent * width > NEAR_BYTES
    small = tiles < FEW_USES and is_far and len(product.right) == 1 and isinstance(product.right[0], Load)
    return replace(product, at_most=FAR_TERMS, part=FAR_TERMS) if small else product


def _product(chain: tuple[Reduce, ...], columns: Var, free: Free) -> Product | None:
    inside = chain[-1].body
    if chain[0].op != "sum" or not _adds_up(chain[0].dtype) or has_fold(inside):
        return None
    found = tuple(factors(inside))
    left = tuple(factor for factor in found if columns not in free[factor])
    right = tuple(factor for factor in found if columns in free[factor])
    product = Product(chain, left, right)
    least = FEWEST_TERMS if columns.extent >= LONG_ROW else LEAST_TERMS
    return product if left and right and product.terms >= least else None


def _made_of_two(chain: tuple[Reduce, ...], loops: Sequence[Var], free: Free) -> Product | None:
    """The sum of what is made of an operand that the innermost loop does not change, and one that another loop does not."""
    inside, columns = chain[-1].body, loops[-1]
    if chain[0].op != "sum" or not _adds_up(chain[0].dtype) or not is_joint_value(inside):
        return None
    for row in reversed(loops[:-1]):
        sides = largest(inside, {term for term in free if row not in free[term] or columns not in free[term]})
        left, right = ([term for term in sides if loop in free[term]] for loop in (row, columns))
        others = [term for term in sides if term not in (*left, *right)]
        if len(left) == len(right) == 1 and all(isinstance(term, Literal) for term in others):
            product = Product(chain, (left[0],), (right[0],), inside)
            rest = scalars(product.term(Temp("left", chain[0].dtype), Temp("right", chain[0].dtype)))
            if not all(isinstance(term, Call | Literal | Temp) for term in rest):
                return None  # what both loops change is read besides
            return product if left[0].dtype == right[0].dtype == chain[0].dtype and product.terms >= LEAST_TERMS else None
    return None


def _is_row(variable: Var, product: Product, free: Free) -> bool:
    return any(variable in free[factor] for factor in product.left) and not any(variable in free[factor] for factor in product.right)


def _adds_up(dtype: str) -> bool:
    """Whether its sums are added up in registers of its own: float32 and float64."""
    return is_float(dtype) and carrier(dtype) == dtype


def factors(term: Scalar) -> Iterator[Scalar]:
    """What a product is made of."""
    if isinstance(term, Call) and term.op == "multiply":
        for arg in term.args:
            yield from factors(arg)
    else:
        yield term


def stored(factor: Scalar, known: Sequence[Var]) -> Read:
    """A factor that depends on these variables, read from a tensor of its own with an axis for each."""
    at: dict[Var, Index] = {variable: axis(k, variable.extent) for k, variable in enumerate(known)}
    return Read(Build(tuple(variable.extent for variable in known), reindexed(factor, at)), tuple(known))


def blocking(products: Products, outer: Sequence[Var], shape: tuple[int, int] | None = None) -> Blocking | None:
    """The blocks of products within other loops, for tiles of some shape; None where no part of them fits the caches."""
    width, rows, columns, terms = itemsize(products.dtype), products.rows.extent, products.columns.extent, products.sums[0].at_once
    unit, lanes = products.columns.unit, VECTOR_BYTES // width
    if shape is None:
        shapes = strip_shape(rows, columns, lanes, products.most_rows, unit, products.most_sums)
    else:
        shapes = ((min(shape[0], rows), min(max(shape[1] // unit, 1) * unit, columns)),)
    high, wide = max(high for high, _ in shapes), sum(wide for _, wide in shapes)
    down, across = -(-rows // shapes[0][0]), -(-columns // wide)
    if (wide + high) * terms * width > MOST_GROUP_BYTES or (terms > LONGEST_RUN and run(terms) < SHORTEST_RUN):
        return None
    others = tuple(loop.extent for loop in outer)
    work = prod(others) * rows * columns * sum(one.terms for one in products.sums)
    shares = min(MOST_SHARES, max(EVENLY, 1 + isqrt(work // SHARE))) if work >= WORTH_SHARING else 1
    group = min(GROUP_BYTES, max(NEAR_GROUP_BYTES, REPAID * rows * terms * width)) if down >= FEW_USES else GROUP_BYTES
    near = max(1, group // (wide * terms * width))
    kept = len(products.sums) * down * shapes[0][0] * wide * width if products.kept else 0
    copied = wide / unit * (1 + _vectors(unit, lanes)) if unit > 1 else 1 + _vectors(wide, lanes)
    blocks, strips = _divided(others, down, across, min(near, across), shares, kept, copied * COPIED_VECTOR)
    return Blocking(tuple(_tiles(rows, blocks, shapes)), blocks, across, -(-across // strips), strips)


def _divided(others: tuple[int, ...], down: int, across: int, near: int, shares: int, kept: int, copied: float) -> tuple[int, int]:
    """(blocks of rows, strips of a group), of `down` tiles and `across` strips, which take least, in all and for the thread that has most.

    others  iterations of the loops around them
    near    most strips of a group
    shares  pieces that are worth having
    kept    bytes of the sums of a strip that are kept
    copied  what it takes to copy the columns of a strip, in tiles
    """
    best, least = (1, 1), float("inf")
    fewest = -(-across // near)
    for strips in dict.fromkeys(-(-across // groups) for groups in range(fewest, min(across, fewest + 2 * MOST_SHARES) + 1)):
        fit = max(1, -(-strips * kept // SUMS_BYTES))
        heights = dict.fromkeys(-(-down // blocks) for blocks in range(fit, max(fit, MOST_SHARES if shares > 1 else 1) + 1))
        for tall in heights:
            blocks, groups = -(-down // tall), -(-across // strips)
            piece = tall * (strips + FETCHED_ROWS) + strips * copied
            part, pieces = min((part_of_one(n), -n) for n in (*others, blocks, groups)) if shares > 1 else (1.0, -1)
            time = prod(others) * blocks * groups * piece * (1 / EVENLY + part) * (1 + UNEVEN / min(-pieces, shares))
            if time < least:
                best, least = (blocks, strips), time
    return best


def _tiles(rows: int, blocks: int, shapes: Sequence[tuple[int, int]]) -> Iterator[Tile]:
    """The tiles of so many blocks: none computes more of the rows of the one before than it has to."""
    at = 0
    for most, wide in shapes:
        tall = -(-rows // (most * blocks))
        high = -(-rows // (blocks * tall))
        yield Tile(at, wide, high, -(-rows // high), tall)
        at += wide


def part_of_one(extent: int) -> float:
    """The share of a loop's iterations that the busiest of EVENLY threads has."""
    return -(-extent // EVENLY) / extent


def strip_shape(
    rows: int, columns: int, lanes: int, most_rows: int = MOST_ROWS, unit: int = 1, most_sums: int = VECTORS
) -> tuple[tuple[int, int], ...]:
    """(high, wide) of the tiles, one or two side by side, with which all take the fewest steps.

    A step loads the operands of a tile and adds to all of its sums.

    most_rows  of a tile of one vector each
    unit       of which the width of all is a multiple
    most_sums  vectors of sums of a tile
    """
    best: tuple[tuple[int, int], ...] = ((1, columns),)
    least = float("inf")
    for vectors in range(-(-unit // lanes), STRIP_VECTORS + 1):
        wide = min(columns, vectors * lanes // unit * unit)
        across = -(-columns // wide)
        wide = min(columns, _whole(-(-columns // across), lanes) if unit == 1 else -(-columns // (across * unit)) * unit)
        used = _vectors(wide, lanes)
        first = wide if used <= MOST_VECTORS else -(-used // 2) * lanes
        widths = [width for width in (first, wide - first) if width]
        tiles = [_tile(rows, width, lanes, most_rows, most_sums) for width in widths]
        cycles = across * sum(needed for _, needed in tiles) * (SAVED if len(tiles) > 1 else 1)
        if cycles < least:
            best, least = tuple((high, width) for (high, _), width in zip(tiles, widths, strict=True)), cycles
    return best


def _tile(rows: int, wide: int, lanes: int, most_rows: int, most_sums: int) -> tuple[int, float]:
    """The rows of a tile that is so wide, and the cycles of a step of all tiles under each other."""
    used = _vectors(wide, lanes)
    tallest = min(rows, most_rows if used == 1 else MOST_ROWS, min(most_sums, VECTORS - used - 1) // used)
    best, least = 1, float("inf")
    for high in range(min(rows, LEAST_ROWS) if used == MOST_VECTORS else 1, tallest + 1):
        sums, loaded = high * used, high + used
        cycles = -(-rows // high) * ((max(sums, loaded, 8) + ROW_CYCLES * high) / 2 + 1)
        if cycles < least:
            best, least = high, cycles
    return best, least


def whole_multiple(number: int, of: int) -> int:
    """The least multiple that is no less."""
    return -(-number // of) * of


def _whole(wide: int, lanes: int) -> int:
    """Whole vectors, so that rows of memory which begin with a line of the cache stay with its lines."""
    return whole_multiple(wide, lanes) if wide > lanes else wide


def _vectors(wide: int, lanes: int) -> int:
    """How many vectors a row of a tile takes: the last one ends with the row, where that is shorter than one they get smaller."""
    return -(-wide // lanes) if wide >= lanes else wide.bit_count()


def run(terms: int) -> int:
    """How many terms are added up before their sum joins others: all, or their greatest divisor up to LONGEST_RUN."""
    return terms if terms <= LONGEST_RUN else max(n for n in range(1, LONGEST_RUN + 1) if terms % n == 0)
