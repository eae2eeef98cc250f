"""Symmetric products, of which one half is computed.

    out[i, j] = g(sum over k of f(i, k) * f(j, k), ...)

Rows and columns are cut into blocks.  Of row r of blocks the one on the diagonal and those behind it are computed, half of them in all, the
first following on the last: so of two blocks that are each other's transpose it is one.

    t[r, d, i, j] = sum over k of f(r * rows + i, k) * f((r + d) mod blocks * rows + j, k)

The factor of the columns is stored before, unless the columns lie behind each other in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from eqsat.ir.affine import coefficient
from eqsat.ir.index import Index, Var, apply
from eqsat.ir.loops import over
from eqsat.ir.tensor import Build, Call, Position, Read, Reduce, Scalar, axes, axis, reindexed
from eqsat.lowering.nest import Stages, chains, free_variables
from eqsat.lowering.product import factors, stored

# rows of a block; with more of them fewer blocks on the diagonal are computed as a whole, with fewer the factors are copied less often
LEAST_ROWS, MOST_ROWS = 64, 256
LEAST_BLOCKS, LEAST_TERMS = 3, 64
# what copying rows takes, by what computing a row with so many others does; and how many sizes of blocks are tried
COPIED, TRIED = 16, 3


def in_triangle(build: Build) -> Iterator[tuple[Stages, Build]]:
    """The blocks that are computed, and the build over them, for some sizes of blocks; none where the sum is no symmetric product, a small
    one, or one of a number of rows that has no such divisor."""
    found = chains(build.body)
    if len(found) != 1 or len(build.shape) < 2 or build.shape[-1] != build.shape[-2] or found[0][0].op != "sum":
        return
    (chain,), (*_, i, j), n = found, axes(build.shape), build.shape[-1]
    folds = [fold.variable for fold in chain]
    if prod(v.extent for v in folds) < LEAST_TERMS or any(v.lo for v in folds) or not _is_symmetric(chain[-1].body, i, j):
        return
    sizes = [rows for rows in range(LEAST_ROWS, MOST_ROWS + 1) if n % rows == 0 and n >= LEAST_BLOCKS * rows]
    for rows in sorted(sizes, key=lambda rows: _work(n, rows))[:TRIED]:
        yield _in_blocks(build, chain, rows)


def _in_blocks(build: Build, chain: tuple[Reduce, ...], rows: int) -> tuple[Stages, Build]:
    *others, i, j = axes(build.shape)
    blocks, half, last = build.shape[-1] // rows, build.shape[-1] // rows // 2, len(others)
    free = free_variables(chain[-1].body)
    left, right = sorted(factors(chain[-1].body), key=lambda factor: j in free[factor])
    before: Stages = ()
    if not (isinstance(right, Read) and coefficient(right.indices[-1], j) == 1):
        known = (*(v for v in (*others, *(fold.variable for fold in chain)) if v in free[right]), j)
        right = stored(right, known)
        assert isinstance(right.tensor, Build)
        before = ((right.tensor,),)
    r, d, down, across = (axis(last + k, extent) for k, extent in enumerate((blocks, half + 1, rows, rows)))
    columns = reindexed(right, {j: (r + d) % blocks * rows + across})
    total: Scalar = Call("multiply", (reindexed(left, {i: r * rows + down}), columns), left.dtype)
    for fold in reversed(chain):
        total = Reduce("sum", fold.variable, total)
    made = Build((*build.shape[:-2], blocks, half + 1, rows, rows), total)

    def read(i: Index, j: Index) -> Scalar:
        ahead = apply("min", (j // rows - i // rows) % blocks, half)
        return Read(made, (*others, i // rows, ahead, i % rows, j % rows))

    is_made = Position(apply("le", (j // rows - i // rows) % blocks, half), "bool")
    whole = Call("where", (is_made, read(i, j), read(j, i)), total.dtype)
    return (*before, (made,)), Build(build.shape, over(build.body, {}, {chain[0]: whole}))


def _work(n: int, rows: int) -> int:
    """What blocks of so many rows take, for choosing among sizes."""
    blocks = n // rows
    return blocks * (blocks // 2 + 1) * rows * (rows + COPIED)


def _is_symmetric(body: Scalar, i: Var, j: Var) -> bool:
    """Whether a product is the same with rows and columns exchanged, and is of two factors, one of each."""
    every = [_moved(factor) for factor in factors(body)]
    free = free_variables(Call("multiply", tuple(every), body.dtype)) if len(every) == 2 else {}
    return bool(free) and reindexed(every[0], {i: j, j: i}) is every[1] and len({i, j} & free[every[0]]) == 1


def _moved(factor: Scalar) -> Scalar:
    """An element of what a tensor is that is stored in another order."""
    while isinstance(factor, Read) and isinstance(factor.tensor, Build) and isinstance(factor.tensor.body, Read):
        factor = reindexed(factor.tensor.body, dict(zip(axes(factor.tensor.shape), factor.indices, strict=True)))
    return factor
