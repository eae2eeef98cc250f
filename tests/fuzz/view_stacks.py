"""Random chains of movements as view stacks against NumPy, on every element: `python -m tests.fuzz.view_stacks --count 5000 --seed 1`.

With `--complete` the chains are of small shapes, and `simplify()` has to reach one view wherever the values show that there is one.
Exit status 1 if anything differs.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations, product
from math import prod
from typing import Any

import numpy as np

from eqsat.ir.errors import EqsatError
from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import Var
from eqsat.views.reading import loops
from eqsat.views.stack import ViewStack
from eqsat.views.strided import View
from tests.bench.movement import Kind, Move, Shape, random_move, random_shape
from tests.fuzz.outcome import conclude

Array = np.ndarray[Any, Any]
KINDS: tuple[Kind, ...] = ("reshape", "reshape", "permute", "expand", "shrink", "flip", "pad", "stride")
LARGEST = 20_000
SMALL = 12
# the expressions of so many chains are simplified and evaluated once: that takes a tenth of a second
EXPRESSIONS = 10
# what no affine function of a small place is
PADDING = -(10**9)


@dataclass(frozen=True)
class Chain:
    """Movements of an array of the shape `start`; a step can be negative."""

    start: Shape
    moves: tuple[Move, ...]

    def __str__(self) -> str:
        return f"{self.start} " + " ".join(f"{move.kind}{move.arg}" for move in self.moves)

    def of_stack(self) -> ViewStack:
        stack = ViewStack.from_shape(self.start)
        for move in self.moves:
            stack = getattr(stack, move.kind)(move.arg)
        return stack

    def of_array(self, array: Array) -> Array:
        """The movements as NumPy does them."""
        for move in self.moves:
            array = _moved(array, move)
        return array


def _moved(array: Array, move: Move) -> Array:
    arg = move.arg
    if move.kind == "reshape":
        return array.reshape(arg)
    if move.kind == "permute":
        return array.transpose(arg)
    if move.kind == "expand":
        return np.broadcast_to(array, arg)
    if move.kind == "pad":
        return np.pad(array, arg)
    if move.kind == "flip":
        return np.flip(array, tuple(axis for axis, chosen in enumerate(arg) if chosen))
    return array[
        tuple(slice(begin, end) for begin, end in arg) if move.kind == "shrink" else tuple(slice(None, None, step) for step in arg)
    ]


def draw(seed: int, position: int) -> Chain:
    """A chain of up to eight movements."""
    rng = random.Random(f"view stacks {seed} {position}")
    start = shape = random_shape(rng, rng.randint(1, 4), rng.randint(2, 5))
    moves: list[Move] = []
    length = rng.randint(1, 8)
    while len(moves) < length:
        move = random_move(rng, shape, KINDS)
        if move and move.kind == "stride":
            move = Move("stride", tuple(step * rng.choice((1, -1)) for step in move.arg))
        if move and (after := _shape_after(shape, move)) is not None:
            moves.append(move)
            shape = after
    return Chain(start, tuple(moves))


def _shape_after(before: Shape, move: Move) -> Shape | None:
    """The shape of the result, None if it is too large."""
    plain = Move("stride", tuple(map(abs, move.arg))) if move.kind == "stride" else move
    shape = plain.shape(before)
    return shape if prod(shape) <= LARGEST else None


# small shapes ------------------------------------------------------------------------------------------------------
def factorizations(n: int, most: int = 3) -> list[Shape]:
    """The shapes of n elements with at most so many axes, all longer than one; and one with an axis of one element."""
    found: list[Shape] = [(n,)] if n > 1 else [()]
    if most > 1:
        found += [(a, *rest) for a in range(2, n) if n % a == 0 for rest in factorizations(n // a, most - 1) if 1 not in rest]
    return [*found, (n, 1)] if most == 3 else found


def small_moves(shape: Shape) -> list[Move]:
    """Every movement of a small array: of all axes for reshape and permute, of one axis for the others."""
    rank = len(shape)
    found = [Move("reshape", other) for other in factorizations(prod(shape)) if other != shape]
    found += [Move("permute", order) for order in permutations(range(rank)) if order != tuple(range(rank))]
    choices: dict[Kind, Any] = {"pad": lambda n: [(1, 0), (0, 1), (1, 2)], "stride": lambda n: [-1, 2, -2, 3] if n > 1 else []}
    choices["shrink"] = lambda n: [(a, b) for a in range(n) for b in range(a + 1, n + 1) if b - a < n]
    choices["expand"] = lambda n: [2, 3] if n == 1 else []
    idle: dict[Kind, Any] = {"pad": lambda n: (0, 0), "stride": lambda n: 1, "shrink": lambda n: (0, n), "expand": lambda n: n}
    for kind, of in choices.items():
        for axis, n in enumerate(shape):
            rest = [idle[kind](m) for m in shape]
            found += [Move(kind, (*rest[:axis], one, *rest[axis + 1 :])) for one in of(n)]
    return found


def small_chains(longest: int, count: int, seed: int) -> Iterator[Chain]:
    """Chains of up to so many movements of arrays of at most SMALL elements, drawn one by one."""
    rng = random.Random(f"small view stacks {seed}")
    starts = [shape for n in range(1, SMALL + 1) for shape in factorizations(n)]
    for _ in range(count):
        start = shape = rng.choice(starts)
        moves: list[Move] = []
        for _ in range(rng.randint(1, longest)):
            by_kind: dict[Kind, list[Move]] = {}
            for move in small_moves(shape):
                if prod(_shape_after(shape, move) or (SMALL + 1,)) <= SMALL:
                    by_kind.setdefault(move.kind, []).append(move)
            if by_kind:
                kinds = [*by_kind, *(kind for kind in ("reshape", "permute") if kind in by_kind)]
                moves.append(rng.choice(by_kind[rng.choice(kinds)]))
                shape = _shape_after(shape, moves[-1]) or ()
        yield Chain(start, tuple(moves))


def every_small_chain(longest: int) -> Iterator[Chain]:
    """Every chain of exactly so many movements of arrays that never have more than SMALL elements."""
    for n in range(1, SMALL + 1):
        for shape in factorizations(n):
            yield from _continued(Chain(shape, ()), shape, longest)


def _continued(chain: Chain, shape: Shape, more: int) -> Iterator[Chain]:
    if not more:
        yield chain
        return
    for move in small_moves(shape):
        after = _shape_after(shape, move)
        if after is not None and prod(after) <= SMALL:
            yield from _continued(Chain(chain.start, (*chain.moves, move)), after, more - 1)


def only_view(values: Array) -> View | None:
    """The one view with these positions, PADDING where there is no element.

    There is one candidate: its mask is the box around all elements, its strides are the steps from the first of them.
    """
    places = list(product(*map(range, values.shape)))
    valid = [place for place in places if values[place] >= 0]
    if not valid:
        return View(values.shape, (0,) * values.ndim, 0, ((0, 0),) * values.ndim) if values.ndim else None
    mask = tuple((min(axis), max(axis) + 1) for axis in zip(*valid, strict=True))
    first = tuple(lo for lo, _ in mask)
    if values[first] < 0:
        return None
    strides = []
    for axis, (lo, hi) in enumerate(mask):
        following = (*first[:axis], lo + 1, *first[axis + 1 :])
        strides.append(int(values[following] - values[first]) if hi - lo > 1 else 0)
    offset = int(values[first]) - sum(stride * lo for stride, lo in zip(strides, first, strict=True))
    for place in places:
        inside = all(lo <= i < hi for i, (lo, hi) in zip(place, mask, strict=True))
        if values[place] != (offset + sum(s * i for s, i in zip(strides, place, strict=True)) if inside else PADDING):
            return None
    return View(values.shape, tuple(strides), offset, mask)


# checks ------------------------------------------------------------------------------------------------------------
def differences(chain: Chain, expressions: bool = False) -> list[str]:
    """What differs from NumPy: the elements of the stack, of the simplified stack and, if asked, of the expressions."""
    array = np.arange(1, prod(chain.start) + 1).reshape(chain.start)
    expected = chain.of_array(array)
    stack = chain.of_stack()
    simple = stack.simplify()
    readings = {"stack": stack.apply(array), "simplified": simple.apply(array)}
    if expressions:
        readings["expressions"] = _by_expressions(stack, array)
    wrong = [f"{chain}: {name} differs" for name, found in readings.items() if not np.array_equal(found, expected)]
    return wrong + ([f"{chain}: simplified has more views"] if len(simple.views) > len(stack.views) else [])


def _by_expressions(stack: ViewStack, array: Array) -> Array:
    grid = np.ix_(*map(np.arange, stack.shape)) if stack.shape else ()
    env = {index: values for index, values in zip(loops(stack.shape), grid, strict=True) if isinstance(index, Var)}
    position, valid = (np.broadcast_to(evaluate_index(term, env), stack.shape) for term in (stack.index_expr(), stack.valid_expr()))
    return np.where(valid, array.reshape(-1)[np.where(valid, position, 0)], 0)


def incomplete(chain: Chain) -> str | None:
    """What is wrong with the simplified stack of a small chain, given that at most one view has its values."""
    elements = chain.of_array(np.arange(1, prod(chain.start) + 1).reshape(chain.start))
    values = np.where(elements == 0, PADDING, elements - 1)
    only, views = only_view(values), chain.of_stack().simplify().views
    if (only is None) != (len(views) > 1) or only not in (None, views[0]):
        return f"{chain}: found {views}, expected {only or 'several views'}"
    return None


def search(chains: Iterator[Chain], complete: bool) -> tuple[Counter[str], list[str]]:
    """How many chains there were, how many of what kinds; and what is wrong."""
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    for chain in chains:
        try:
            expressions = counts["chains"] % EXPRESSIONS == 0
            wrong += filter(None, [incomplete(chain)]) if complete else differences(chain, expressions)
            stack = chain.of_stack()
            before, after = len(stack.views), len(stack.simplify().views)
        except EqsatError as error:
            wrong.append(f"{chain}: {type(error).__name__} {error}")
            continue
        counts.update({"chains": 1, "several views": int(before > 1), "merged to one": int(before > 1 and after == 1)})
        counts.update({"negative steps": int(any(move.kind == "stride" and min(move.arg, default=1) < 0 for move in chain.moves))})
        counts.update({"padding": int(any(move.kind == "pad" for move in chain.moves))})
    return counts, wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--longest", type=int, default=3, help="movements of a small chain")
    parser.add_argument("--complete", action="store_true", help="small shapes, by brute force")
    parser.add_argument("--every", action="store_true", help="every small chain of exactly --longest movements")
    chosen = parser.parse_args()
    chains: Iterator[Chain] = (draw(chosen.seed, position) for position in range(chosen.count))
    if chosen.every:
        chains = every_small_chain(chosen.longest)
    elif chosen.complete:
        chains = small_chains(chosen.longest, chosen.count, chosen.seed)
    start = time.perf_counter()
    counts, wrong = search(chains, chosen.complete or chosen.every)
    conclude(counts, wrong, f"; {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
