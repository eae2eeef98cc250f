"""Symmetric products, of which one half is computed.

    out[i, j] = g(sum over k of f(i, k) * f(j, k), ...)

The factor is stored in strips, in the order in which tiles of sums read it, whether it gives rows or columns; behind the last of its rows
it is filled up with that.  Of a strip of rows and a strip of columns the sums are a block.  Of row r of blocks the one on the diagonal and
those behind it are computed, half of them in all, the first following on the last: so of two blocks that are each other's transpose it is
one.

    p[s, k, l]    = f(s * wide + l, k)
    t[r, d, i, j] = sum over k of p[r, k, i] * p[(r + d) mod strips, k, j]
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from eqsat.ir.dtypes import itemsize
from eqsat.ir.index import Index, Var, apply
from eqsat.ir.loops import over
from eqsat.ir.tensor import Build, Call, Literal, Position, Read, Reduce, Scalar, axes, axis, reindexed
from eqsat.lowering.nest import Stages, chains, free_variables
from eqsat.lowering.products.product import VECTOR_BYTES, factors, stored

# bytes of a line of a strip: whole vectors, as many as a tile has side by side, or less, which leaves less to be filled up, and twice
LINES = (4 * VECTOR_BYTES, 3 * VECTOR_BYTES, 2 * VECTOR_BYTES)
LEAST_STRIPS, LEAST_TERMS = 3, 64


def in_triangle(build: Build) -> Iterator[tuple[Stages, Build]]:
    """What is made before, strips and blocks, and the build over it, for some widths of strips; none where the sum is no symmetric product,
    or a small one."""
    found = chains(build.body)
    if len(found) != 1 or len(build.shape) < 2 or build.shape[-1] != build.shape[-2] or found[0][0].op != "sum":
        return
    (chain,), (*_, i, j), n = found, axes(build.shape), build.shape[-1]
    folds = [fold.variable for fold in chain]
    if prod(v.extent for v in folds) < LEAST_TERMS or any(v.lo for v in folds) or not _is_symmetric(chain[-1].body, i, j):
        return
    free = free_variables(chain[-1].body)
    if any({i, j} <= free[factor] for factor in factors(chain[-1].body)):
        return
    for wide in (line // itemsize(chain[0].dtype) for line in LINES):
        if -(-n // wide) >= LEAST_STRIPS:
            yield _in_strips(build, chain, wide)


def _in_strips(build: Build, chain: tuple[Reduce, ...], wide: int) -> tuple[Stages, Build]:
    *others, _, j = axes(build.shape)
    strips, half, folds = -(-build.shape[-1] // wide), -(-build.shape[-1] // wide) // 2, [fold.variable for fold in chain]
    free = free_variables(chain[-1].body)
    factor = next(factor for factor in factors(chain[-1].body) if j in free[factor])
    known = [v for v in others if v in free[factor]]
    strip, lane = Var("strip", 0, strips - 1), Var("lane", 0, wide - 1)
    row, n = strip * wide + lane, build.shape[-1]
    line = reindexed(factor, {j: apply("min", row, n - 1) if n % wide else row})
    if n % wide:
        line = Call("where", (Position(apply("lt", row, n), "bool"), line, Literal(0.0, factor.dtype)), factor.dtype)
    packed = stored(line, (*known, strip, *folds, lane)).tensor
    r, d, down, across = (axis(len(others) + k, extent) for k, extent in enumerate((strips, half + 1, wide, wide)))
    total: Scalar = Call(
        "multiply", tuple(Read(packed, (*known, s, *folds, place)) for s, place in ((r, down), ((r + d) % strips, across))), factor.dtype
    )
    for fold in reversed(chain):
        total = Reduce("sum", fold.variable, total)
    made = Build((*build.shape[:-2], strips, half + 1, wide, wide), total)

    def read(i: Index, j: Index) -> Scalar:
        ahead = apply("min", (j // wide - i // wide) % strips, half)
        return Read(made, (*others, i // wide, ahead, i % wide, j % wide))

    *_, i, j = axes(build.shape)
    is_made = Position(apply("le", (j // wide - i // wide) % strips, half), "bool")
    whole = Call("where", (is_made, read(i, j), read(j, i)), total.dtype)
    assert isinstance(packed, Build)
    return ((packed,), (made,)), Build(build.shape, over(build.body, {}, {chain[0]: whole}))


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
