"""Seeded families of index expressions as tensor compilers write them, with variables of constant ranges.

    split_merge       loops split, fused, unrolled and read again in another blocking
    reshape_permute   reshapes and permutations of 3 to 6 axes, sizes that are no powers of two
    windows           padded, strided and dilated windows, lowered to matrix products too
    roll_flip_tile    axes rolled, reversed, tiled, repeated
    clamps            borders, tails of tiles, concatenations: min, max, where
    symbolic          sizes that are variables, and their products, as divisors

`family(name, count, seed)` gives as many distinct terms as asked for, the same ones for the same seed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from math import prod

from eqsat.ir.index import Apply, Const, Index, Var, apply, conjunction, var, walk, where
from tests.bench.index_guards import clamps, symbolic
from tests.bench.index_score import divisions, score, tree_size
from tests.bench.movement import (
    SIZES,
    Kind,
    Move,
    flatten,
    loops,
    plus,
    random_move,
    random_shape,
    read_through,
    shapes,
    tiled_loop,
    times,
    unflatten,
)

Axis = tuple[Index, int]
LARGEST = 1 << 30
PLANS: tuple[tuple[Kind, ...], ...] = (
    ("reshape", "permute", "reshape"),
    ("permute", "reshape", "permute"),
    ("permute", "reshape"),
    ("reshape", "permute"),
)
WINDOWS = ((1, 1), (2, 1), (3, 1), (3, 2), (5, 1))
VIEWS: tuple[tuple[Kind, ...], ...] = (
    ("pad",),
    ("stride", "shrink", "permute"),
    ("reshape",),
    ("pad", "shrink", "flip", "stride"),
    ("reshape", "permute"),
)


def split_merge(rng: random.Random) -> Index:
    """Loop variables that are split, fused, unrolled and reordered; then the position in a buffer, or one of the new axes."""
    axes: list[Axis] = [(tiled_loop(f"i{k}", n, rng), n) for k, n in enumerate(rng.choices(SIZES, k=rng.randint(1, 3)))]
    for _ in range(rng.randint(2, 7)):
        _reblock(rng, axes)
    if rng.random() < 0.3:
        return rng.choice(axes)[0]
    if rng.random() < 0.3:
        rng.shuffle(axes)
    return flatten([i for i, _ in axes], tuple(n for _, n in axes))


def _reblock(rng: random.Random, axes: list[Axis]) -> None:
    """Split an axis, or fuse two neighbours."""
    k = rng.randrange(len(axes))
    index, extent = axes[k]
    if len(axes) > 1 and rng.random() < 0.5:
        k = min(k, len(axes) - 2)
        (outer, n), (inner, m) = axes[k : k + 2]
        axes[k : k + 2] = [(plus(times(outer, m), inner), n * m)]
    elif extent > 3:
        even = [f for f in range(2, extent) if extent % f == 0]
        factor = rng.choice(even) if even and rng.random() < 0.8 else rng.randint(2, min(extent - 1, 16))
        axes[k : k + 1] = [(index // factor, -(-extent // factor)), (index % factor, factor)]
    if len(axes) > 2 and rng.random() < 0.3:
        a, b = rng.sample(range(len(axes)), 2)
        axes[a], axes[b] = axes[b], axes[a]


def reshape_permute(rng: random.Random) -> Index:
    """Reshape, permute, reshape of 3 to 6 axes, sometimes again: the position in the buffer, or one coordinate."""
    start = random_shape(rng, rng.randint(3, 6))
    chain: list[Move] = []
    for kind in rng.choice(PLANS):
        move = random_move(rng, shapes(start, chain)[-1], (kind,))
        chain += [move] if move else []
    end = shapes(start, chain)[-1]
    fused = prod(end) > 1 and rng.random() < 0.4
    found, _ = read_through(start, chain, unflatten(var("f", 0, prod(end) - 1), end) if fused else loops(end))
    return rng.choice(found) if rng.random() < 0.25 else flatten(found, start)


def windows(rng: random.Random) -> Index:
    """The element that a window reads: guarded, or its position alone, or its guard."""
    index, valid = window(rng)
    draw = rng.random()
    if draw < 0.25 or isinstance(valid, Const):
        return index
    return valid if draw < 0.45 else where(valid, index, rng.choice((0, -1)))


def window(rng: random.Random) -> tuple[Index, Index]:
    """Position and condition of the element that a padded, strided view reads."""
    return rng.choice((_convolution, _convolution, _transposed, _pooled))(rng)


def _convolution(rng: random.Random) -> tuple[Index, Index]:
    """Channels, height and width read by a convolution, as nested loops or as a matrix product."""
    channels, height, width = rng.choice((1, 3, 4, 8)), rng.choice((7, 12, 14, 28, 33)), rng.choice((7, 12, 15, 28))
    (kernel, dilation), stride, pad = rng.choice(WINDOWS), rng.choice((1, 1, 2, 3)), rng.choice((0, 1, 1, 2))
    reach = dilation * (kernel - 1) + 1
    out = tuple((n + 2 * pad - reach) // stride + 1 for n in (height, width))
    rows, taps = _fused("m", out, rng), _fused("k", (channels, kernel, kernel), rng)
    y, x = (plus(plus(times(o, stride), times(t, dilation)), -pad) for o, t in zip(rows, taps[1:], strict=True))
    return flatten([taps[0], y, x], (channels, height, width)), _inside(((y, height), (x, width)))


def _fused(name: str, shape: tuple[int, ...], rng: random.Random) -> list[Index]:
    """The axes of a shape as loops of their own, or all from one fused loop, which may be tiled."""
    total = prod(shape)
    if total == 1 or rng.random() < 0.5:
        return [times(i, 1) for i in loops(shape, name)]
    return unflatten(tiled_loop(name, total, rng), shape)


def _inside(bounded: Sequence[tuple[Index, int]]) -> Index:
    """0 <= i < n for all pairs, leaving out what no loop can leave."""
    sides: list[Index] = []
    for i, n in bounded:
        sides += ([i >= 0] if i.bounds[0] < 0 else []) + ([i < n] if i.bounds[1] >= n else [])
    return conjunction(sides)


def _transposed(rng: random.Random) -> tuple[Index, Index]:
    """A transposed convolution: the element exists where the stride divides."""
    size, kernel, stride, pad = rng.choice((5, 7, 12, 14)), rng.choice((2, 3, 4)), rng.choice((2, 3)), rng.choice((0, 1))
    channel = var("c", 0, 7)
    out = (size - 1) * stride + kernel - 2 * pad
    position, tap = _fused("o", (out, kernel), rng)
    source = plus(position, pad) - tap
    valid = apply("and", (source % stride).__eq__(0), _inside(((source // stride, size),)))
    return channel * size + source // stride, valid


def _pooled(rng: random.Random) -> tuple[Index, Index]:
    """A view made by pad, shrink, stride and reshape, read by loops or by one fused loop."""
    start = random_shape(rng, rng.randint(2, 3), 4)
    chain: list[Move] = []
    for kinds in VIEWS:
        move = random_move(rng, shapes(start, chain)[-1], kinds)
        chain += [move] if move else []
    end = shapes(start, chain)[-1]
    found, valid = read_through(start, chain, _fused("i", end, rng))
    return flatten(found, start), valid


def roll_flip_tile(rng: random.Random) -> Index:
    """Axes rolled, reversed, tiled, repeated and subsampled, several times in a row, with reshapes between."""
    shape = random_shape(rng, rng.randint(1, 3), rng.randint(3, 5))
    outer = [_axis(rng, f"i{axis}", n) if n > 1 else Const(0) for axis, n in enumerate(shape)]
    if len(shape) > 1 and rng.random() < 0.5:
        shift, total = rng.randint(1, prod(shape) - 1), prod(shape)
        outer = unflatten((flatten(outer, shape) + shift) % total, shape)
    return flatten(outer, shape)


def _axis(rng: random.Random, name: str, n: int) -> Index:
    """The element of an axis of n elements that a loop reads after some steps."""
    plan = [rng.choice(("roll", "roll", "flip", "tile", "repeat", "stride")) for _ in range(rng.randint(1, 4))]
    sizes = [n]
    for step in plan:
        sizes.append(sizes[-1] * 2 if step in ("tile", "repeat") else max(sizes[-1] // 2, 1) if step == "stride" else sizes[-1])
    i = tiled_loop(name, sizes[-1], rng) if sizes[-1] > 1 else Const(0)
    for step, before in zip(reversed(plan), reversed(sizes[:-1]), strict=True):
        if before == 1:
            i = Const(0)
        elif step == "roll":
            i = (i + rng.randint(1, 2 * before)) % before
        elif step == "flip":
            i = before - 1 - i
        elif step == "tile":
            i = i % before
        elif step == "repeat":
            i = i // 2
        else:
            i = plus(i * 2, rng.randint(0, 1))
    return i


FAMILIES: dict[str, Callable[[random.Random], Index]] = {
    "split_merge": split_merge,
    "reshape_permute": reshape_permute,
    "windows": windows,
    "roll_flip_tile": roll_flip_tile,
    "clamps": clamps,
    "symbolic": symbolic,
}


def family(name: str, count: int, seed: int = 0) -> list[Index]:
    """`count` distinct terms of a family."""
    rng = random.Random(f"{name} {seed}")
    found: dict[str, Index] = {}
    while len(found) < count:
        term = FAMILIES[name](rng)
        if _worth_reading(term):
            found.setdefault(str(term), term)
    return list(found.values())


def _worth_reading(term: Index) -> bool:
    """Neither trivial nor larger than a loop nest would hold, and every name means one variable."""
    names = [sub.name for sub in walk(term) if isinstance(sub, Var)]
    if len(set(names)) < len(names) or not 4 <= score(term) <= 200 or tree_size(term) > 200:
        return False
    special = divisions(term) or any(sub.op in ("min", "max", "where", "and") for sub in walk(term) if isinstance(sub, Apply))
    return bool(special) and max(map(abs, term.bounds)) < LARGEST


def gated(count: int, seed: int = 0) -> list[tuple[Index, Index]]:
    """Positions with the condition under which they are read, from padded and strided views."""
    rng = random.Random(f"gated {seed}")
    found: dict[str, tuple[Index, Index]] = {}
    while len(found) < count:
        index, valid = window(rng)
        if not isinstance(valid, Const) and _worth_reading(where(valid, index, -1)):
            found.setdefault(f"{index} {valid}", (index, valid))
    return list(found.values())
