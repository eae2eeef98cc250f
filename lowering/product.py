"""Sums of products: which bodies are one, and the blocks in which it is computed.

    out[i, j] = g(sum over k of f(i, k) * h(k, j))

The smallest block is a tile: `high` rows and `wide` columns whose sums stay in registers for one fold over k.  A part of the terms, a group
of strips of columns, each as wide as a tile, and a block of rows are chosen for the caches: the columns of h that a group needs in one part
stay in the second cache while all rows of the block pass, and the rows of f that a tile needs stay in the first while the strips pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isqrt, prod

from eqsat.ir.dtypes import carrier, is_float, itemsize
from eqsat.ir.index import Var
from eqsat.ir.tensor import Call, Reduce, Scalar, scalars
from eqsat.lowering.affine import Forms
from eqsat.lowering.nest import Nest, Several, chains, free_variables

# vector registers that sums and what is loaded for them take, and bytes of each
VECTORS = 31
VECTOR_BYTES = 64
MOST_ROWS = 14
LEAST_COLUMNS, LEAST_TERMS = 4, 4
# what each row of a tile costs in a step, in halves of a cycle: it is read in its own place
ROW_CYCLES = 0.2
# products of more terms are computed in parts of about so many
ONE_PART, PART_TERMS = 1024, 512
# terms that are added up one after the other before their sum is added to others
LONGEST_RUN, SHORTEST_RUN = 1024, 64
# what the columns of a group and the sums of a block may take, in the second cache
GROUP_BYTES = SUMS_BYTES = 1 << 20
MOST_GROUP_BYTES = 2 << 20
# products that are worth sharing among threads, and that one share holds at the least
WORTH_SHARING, SHARE = 1 << 22, 1 << 22
MOST_SHARES = 8


@dataclass(frozen=True)
class Product:
    """The sum: its folds, the factors that the columns do not change, and the others."""

    chain: tuple[Reduce, ...]
    left: tuple[Scalar, ...]
    right: tuple[Scalar, ...]
    rows: Var
    columns: Var

    @property
    def dtype(self) -> str:
        return self.chain[0].dtype

    @property
    def terms(self) -> int:
        return prod(fold.variable.extent for fold in self.chain)


@dataclass(frozen=True)
class Blocking:
    """The blocks of a product.

    high, wide       of a tile
    down, across     tiles and strips in all
    blocks, tall     blocks of rows, and the tiles of each
    groups, strips   groups of columns, and the strips of each
    parts, each      parts of the terms, and the iterations of the outermost fold in each but the last
    """

    high: int
    wide: int
    down: int
    across: int
    blocks: int
    tall: int
    groups: int
    strips: int
    parts: int
    each: int


def product_of(nest: Nest) -> Product | None:
    """The sum of products that a nest computes; None where it is none, or a small one."""
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
    product = Product(chain, left, right, max(reversed(possible), key=lambda v: min(v.extent, MOST_ROWS)), columns)
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


def blocking(product: Product, others: int, shape: tuple[int, int] | None = None) -> Blocking | None:
    """The blocks of a product that is computed `others` times, for tiles of some shape; None where no part of it fits the caches."""
    width, rows, columns = itemsize(product.dtype), product.rows.extent, product.columns.extent
    high, wide = (min(shape[0], rows), min(shape[1], columns)) if shape else tile_shape(rows, columns, VECTOR_BYTES // width)
    down, across = -(-product.rows.extent // high), -(-product.columns.extent // wide)
    first = product.chain[0].variable.extent
    each = -(-first // (-(-product.terms // PART_TERMS) if product.terms > ONE_PART else 1))
    terms = each * (product.terms // first)
    if (wide + high) * terms * width > MOST_GROUP_BYTES or (terms > LONGEST_RUN and run(terms) < SHORTEST_RUN):
        return None
    work = others * product.rows.extent * product.columns.extent * product.terms
    shares = min(MOST_SHARES, 1 + isqrt(work // SHARE)) if work >= WORTH_SHARING else 1
    shares = -(-shares // others)
    most = max(1, min(GROUP_BYTES // (wide * terms * width), -(-across // shares) if across >= shares else across))
    strips = min(range(-(-most // 2), most + 1), key=lambda size: (-(-across // size) * size, -size))
    groups, parts = -(-across // strips), -(-first // each)
    blocks = 1 if 2 * groups >= shares else shares
    if parts > 1:
        blocks = max(blocks, -(-down * high * strips * wide * width // SUMS_BYTES))
    tall = -(-down // min(blocks, down))
    return Blocking(high, wide, down, across, -(-down // tall), tall, groups, strips, parts, each)


def tile_shape(rows: int, columns: int, lanes: int) -> tuple[int, int]:
    """(high, wide): the tile with which all take the fewest steps; a step loads the operands of a tile and adds to all of its sums."""
    best, least = (1, columns), float("inf")
    for vectors in range(1, 5):
        wide = min(columns, vectors * lanes)
        across = -(-columns // wide)
        wide = min(columns, _whole(-(-columns // across), lanes))
        used = _vectors(wide, lanes)
        for high in range(1, min(rows, MOST_ROWS, (VECTORS - used - 1) // used) + 1):
            sums, loaded = high * used, high + used
            cycles = -(-rows // high) * across * ((max(sums, loaded, 8) + ROW_CYCLES * high) / 2 + 1)
            if cycles < least:
                best, least = (high, wide), cycles
    return best


def _whole(wide: int, lanes: int) -> int:
    """Whole vectors, so that rows of memory which begin with a line of the cache stay with its lines."""
    return -(-wide // lanes) * lanes if wide > lanes else wide


def _vectors(wide: int, lanes: int) -> int:
    """How many vectors a row of a tile takes: the last one ends with the row, where that is shorter than one they get smaller."""
    return -(-wide // lanes) if wide >= lanes else wide.bit_count()


def run(terms: int) -> int:
    """How many terms are added up before their sum is added to others: all, or the most that divide them evenly."""
    return terms if terms <= LONGEST_RUN else max(n for n in range(1, LONGEST_RUN + 1) if terms % n == 0)
