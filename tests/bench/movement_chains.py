"""Random chains of movements: round trips that end in the layout they began with, and chains that do not."""

from __future__ import annotations

import random
from dataclasses import dataclass
from math import prod

from eqsat.ir.index import Index, var
from tests.bench.index_score import counterexample, tree_size
from tests.bench.movement import (
    Kind,
    Move,
    Shape,
    factorize,
    flatten,
    loops,
    random_move,
    random_shape,
    read_through,
    regroup,
    shapes,
    unflatten,
)

DEPTH = 8
KINDS: tuple[Kind, ...] = ("reshape", "reshape", "permute", "permute", "expand", "shrink", "flip", "pad")
INVERTIBLE: tuple[Kind, ...] = ("reshape", "reshape", "permute", "permute", "expand", "flip", "pad")
LARGEST_TREE = {True: 600, False: 250}  # operations written out, of round trips and of others; TVM walks trees


@dataclass(frozen=True)
class Chain:
    """A chain, the position it reads, the condition that there is an element, and the position in row-major order."""

    start: Shape
    moves: tuple[Move, ...]
    index: Index
    valid: Index
    linear: Index


def inverse(move: Move, before: Shape, rng: random.Random) -> list[Move]:
    """Movements that undo one; a reshape or permutation sometimes in two steps."""
    detour = rng.random() < 0.3
    if move.kind == "reshape":
        between = regroup(rng, [factor for n in move.arg for factor in factorize(n)] or [1], rng.randint(1, 4))
        return [Move("reshape", between), Move("reshape", before)] if detour else [Move("reshape", before)]
    if move.kind == "permute":
        back = tuple(move.arg.index(axis) for axis in range(len(before)))
        first = tuple(rng.sample(range(len(before)), len(before)))
        second = tuple(first.index(axis) for axis in back)
        return [Move("permute", first), Move("permute", second)] if detour else [Move("permute", back)]
    if move.kind == "flip":
        return [move]
    if move.kind == "pad":
        return [Move("shrink", tuple((low, low + n) for n, (low, _) in zip(before, move.arg, strict=True)))]
    kept = (rng.randrange(wide) if n == 1 else 0 for n, wide in zip(before, move.arg, strict=True))
    return [Move("shrink", tuple((k, k + n) for k, n in zip(kept, before, strict=True)))]


def _round_trip(rng: random.Random) -> tuple[Shape, list[Move]]:
    """Movements done and undone like brackets, some of them side by side, at most DEPTH in all."""
    start = random_shape(rng, rng.randint(2, 6))
    chain: list[Move] = []
    undo: list[tuple[Move, Shape]] = []
    depth = rng.randint(2, DEPTH)
    while len(chain) + len(undo) < depth:
        shape = shapes(start, chain)[-1]
        if undo and rng.random() < 0.25:
            chain += inverse(*undo.pop(), rng)
            continue
        move = random_move(rng, shape, INVERTIBLE)
        if move:
            chain.append(move)
            undo.append((move, shape))
    while undo:
        chain += inverse(*undo.pop(), rng)
    return start, chain


def _one_way(rng: random.Random) -> tuple[Shape, list[Move]]:
    start = random_shape(rng, rng.randint(2, 5))
    chain: list[Move] = []
    depth = rng.randint(2, DEPTH)
    while len(chain) < depth:
        move = random_move(rng, shapes(start, chain)[-1], KINDS)
        chain += [move] if move else []
    return start, chain


def _read(rng: random.Random, start: Shape, moves: list[Move]) -> Chain:
    """The chain read by a loop for each axis of the result, sometimes by one loop over all of them."""
    end = shapes(start, moves)[-1]
    place = unflatten(var("f", 0, prod(end) - 1), end) if prod(end) > 1 and rng.random() < 0.25 else loops(end)
    found, valid = read_through(start, moves, place)
    fused = place and prod(end) > 1 and any(v.name == "f" for v in getattr(flatten(place, end), "free", ()))
    linear: Index = var("f", 0, prod(end) - 1) if fused else flatten(place, end)
    return Chain(start, tuple(moves), flatten(found, start), valid, linear)


def _small(chain: Chain, most: int) -> bool:
    return len(chain.moves) <= DEPTH and max(tree_size(chain.index), tree_size(chain.valid)) <= most


def _chains(rng: random.Random, count: int, identity: bool) -> list[Chain]:
    found: dict[str, Chain] = {}
    while len(found) < count:
        start, moves = _round_trip(rng) if identity else _one_way(rng)
        chain = _read(rng, start, moves)
        if not _small(chain, LARGEST_TREE[identity]) or chain.index is chain.linear:
            continue
        same = shapes(start, moves)[-1] == start and counterexample(chain.linear, chain.index) is None
        if same == identity:
            found.setdefault(f"{chain.index} {chain.valid}", chain)
    return list(found.values())


def round_trips(count: int, seed: int = 0) -> list[Chain]:
    """Distinct chains that end in the original layout: the position read is the position written, everywhere valid."""
    return _chains(random.Random(f"round trips {seed}"), count, identity=True)


def one_way_chains(count: int, seed: int = 0) -> list[Chain]:
    """Distinct chains that end elsewhere."""
    return _chains(random.Random(f"one way {seed}"), count, identity=False)
