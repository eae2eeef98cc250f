"""From classes to the cheapest tensor program: which tensors are stored, and which form of every element and index.

A tensor that is stored has a kernel, paid once; one that is not is computed again wherever it is read.  The search starts with every
tensor of the program stored; each in turn may be read by others or not, whichever makes the program cheaper, until no turn helps.
A store also moves from a tensor to one that is made of it, and back.
Turns go from the results to the inputs and back: once all readers of a tensor are one kernel, computing it there costs nothing twice.
Short programs are searched from the inputs to the results as well, and the cheaper one counts.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from eqsat.egraph.encode_tensor import literal_from
from eqsat.egraph.snapshot import ENode
from eqsat.extraction.kernel_choice import Choice, Effort, Kernel, KernelChoices, again_ns, choices_below, folding, times_in_folds
from eqsat.extraction.tensor_classes import TensorClasses, reads
from eqsat.ir.index import Index, as_truth, substitute, variables
from eqsat.ir.tensor import Build, Call, Gather, Position, Read, Reduce, Scalar, Tensor, level_of, reduction, taken
from eqsat.pricing.cost_model import CostModel

# how often all moves are tried, unless a pass changes nothing
PASSES = 4
# kernels made of more element classes are not tried, unless the program begins with such
MOST_ELEMENTS = 512
# costs that differ by rounding only
SAME = 1e-9
# programs with no more moves are searched from both ends
MOST_MOVES_TWICE = 200
# so many tensors are tried together, then halves of them down to so many; in programs of several times as many
TOGETHER, FEWEST_TOGETHER = 32, 8


@dataclass(frozen=True)
class Move:
    """One tensor class that others may read or not, or two of which the second is made of the first; or (class, node) of an element that
    algebra offers, with the tensor classes that it needs and, last, the one that it computes."""

    tensors: tuple[int, ...]
    offer: tuple[int, ENode] | None = None


@dataclass(frozen=True)
class Selection:
    """A program within the e-graph: the kernels of tensor classes, which tensors could be read, and what was taken of algebra's offers."""

    kernels: Mapping[int, Kernel]
    readable: frozenset[int]
    taken: frozenset[tuple[int, ENode]]
    model: CostModel

    @functools.cached_property
    def ns(self) -> float:
        """The cost of all kernels."""
        return sum(kernel.ns for kernel in self.kernels.values())

    @functools.cached_property
    def again_ns(self) -> dict[int, float]:
        """The element classes that are computed more than once, with the most that computing each but once would save."""
        return again_ns(self.model, self.kernels.values())

    @functools.cached_property
    def times_in_folds(self) -> dict[int, float]:
        """How many times element classes are computed in reductions."""
        return times_in_folds(self.kernels.values())

    @functools.cached_property
    def read(self) -> frozenset[int]:
        """The tensor classes that some kernel reads."""
        return frozenset(name for kernel in self.kernels.values() for name in kernel.reads)

    def plain(self, elements: Iterable[int]) -> bool:
        """Whether element classes are computed by one kernel at the most, in no reduction, and of none."""
        return not any(name in self.again_ns or name in self.times_in_folds or name in self.folding for name in elements)

    @functools.cached_property
    def folding(self) -> frozenset[int]:
        """The element classes that are reductions or made of some."""
        return folding(self.kernels.values())

    def nodes(self) -> Iterator[ENode]:
        """The element nodes that were chosen."""
        for kernel in self.kernels.values():
            yield from (choice.node for choice in choices_below(kernel.element) if choice.node is not None)


# told of every program that a search looks at
Watch = Callable[[Selection], None]


@dataclass(frozen=True)
class Extraction:
    """What a program was extracted from: the kernels that were chosen, what is known of the classes, and those of the outputs."""

    selection: Selection
    classes: TensorClasses
    outputs: tuple[int, ...]


def cheapest(
    classes: TensorClasses,
    order: Mapping[int, int],
    moves: Sequence[Move],
    outputs: tuple[int, ...],
    start: Iterable[int],
    watch: Watch = lambda seen: None,
    most: float = math.inf,
) -> Selection | None:
    """The cheapest program found for these outputs, searched by these moves from one in which the tensors of `start` may be read.

    `order` gives the tensor classes that may have kernels their places; the search ends when it has priced `most` element classes.  None
    where saturation ended before every output had a form.
    """
    choices = KernelChoices(classes, order, start, effort=Effort(most))
    first = _selection(choices, outputs)
    if first is None:
        return None
    if computed := order.keys() - choices.readable:
        stored = choices.flipped(computed)
        other = _selection(stored, outputs)
        if other is not None and other.ns < first.ns:
            choices, first = stored, other
    watch(first)
    choices.most = max(MOST_ELEMENTS, *(2 * kernel.size for kernel in first.kernels.values()), 0)
    ordered = sorted(moves, key=lambda move: (move.offer is None, order[move.tensors[-1]]))
    found = _descend(choices, first, outputs, ordered[::-1], watch)
    if len(moves) <= MOST_MOVES_TWICE and len(found.kernels) > len(set(outputs)) and not choices.effort.is_spent:
        found = min(found, _descend(choices, first, outputs, ordered, watch), key=lambda selection: selection.ns)
    return found


def _descend(choices: KernelChoices, best: Selection, outputs: tuple[int, ...], moves: Sequence[Move], watch: Watch) -> Selection:
    """The program that is left when no move makes it cheaper, after so many rounds, there and back, or when the effort is spent; stores
    move in the second round.  A move that did not help is not tried again while the kernels are the same that it would change."""
    alone = [move for move in moves if move.offer is not None or len(move.tensors) == 1]
    choices, best = _descend_together(choices, best, outputs, [move.tensors[0] for move in alone if move.offer is None], watch)
    in_vain: dict[Move, dict[int, Kernel | None]] = {}
    for turn in range(PASSES):
        before = best
        for move in moves if turn else alone:
            if choices.effort.is_spent:
                return best
            if move in in_vain and all(best.kernels.get(name) == kernel for name, kernel in in_vain[move].items()):
                continue
            ways, tried = _moved(move, choices, best, outputs), set[frozenset[int]]()
            in_vain.pop(move, None)
            while ways and (flipped := ways.pop(0)).readable not in tried:
                found = _selection(flipped, outputs)
                if found is None:
                    in_vain[move] = dict(best.kernels)
                    break
                watch(found)
                if _is_better(found, best):
                    choices, best = flipped, found
                    break
                tried.add(flipped.readable)
                in_vain.setdefault(move, {}).update(_changed(best, found))
                # another tensor of the same elements stands in for one that is read no more: both have to go
                instead = [name for name in found.kernels if name not in best.kernels and name not in outputs]
                ways += [flipped.flipped(instead)] if instead and move.offer is None else []
        if turn and best is before:
            break
        moves = moves[::-1] if turn else moves
    return best


def _descend_together(
    choices: KernelChoices, best: Selection, outputs: tuple[int, ...], names: Sequence[int], watch: Watch
) -> tuple[KernelChoices, Selection]:
    """What is left of a long program, as loops of Python write it out, where runs of its tensors are stored no more together: one by one
    the search would price what they are made of as often as there are of them."""

    def stored_of(some: Sequence[int]) -> list[int]:
        return [name for name in some if name in choices.readable and name in best.kernels and name in best.read]

    stored = stored_of(names)
    if len(stored) <= TOGETHER:
        return choices, best
    runs = [stored[at : at + TOGETHER] for at in range(0, len(stored), TOGETHER)][::-1]
    while runs and not choices.effort.is_spent:
        run = runs.pop()
        together, flipped = stored_of(run), choices
        if len(together) < FEWEST_TOGETHER:
            continue
        found: Selection | None = best
        while together and found is not None and not choices.effort.is_spent:
            flipped = flipped.flipped(together)
            found = _selection(flipped, outputs)
            if found is not None:
                watch(found)
                # other tensors of the same elements stand in for those that are read no more
                together = [name for name in found.kernels if name not in best.kernels and name not in outputs]
        if found is not None and _is_better(found, best):
            choices, best = flipped, found
        else:
            runs += [run[len(run) // 2 :], run[: len(run) // 2]]
    return choices, best


def _changed(best: Selection, found: Selection) -> dict[int, Kernel | None]:
    """The kernels of one program that another one does without, or has otherwise; None for those that only the other one has."""
    names = {*best.kernels, *found.kernels}
    return {name: best.kernels.get(name) for name in names if best.kernels.get(name) != found.kernels.get(name)}


def _is_better(found: Selection, best: Selection) -> bool:
    """Whether a program costs less, or as much with fewer kernels."""
    if abs(found.ns - best.ns) <= SAME * best.ns:
        return len(found.kernels) < len(best.kernels)
    return found.ns < best.ns


def _moved(move: Move, choices: KernelChoices, best: Selection, outputs: tuple[int, ...]) -> list[KernelChoices]:
    """The choices after a move, if it can make a difference: a tensor is read, or else computed more than once, at a cost of more than
    storing it; of two that change places one is read, the other not, nor plain if the one is a result that nobody reads; an offer is
    taken, with all its tensors read, or, if it is one, not read, or taken back."""
    read = [name for name in move.tensors if name in choices.readable]
    if move.offer is not None:
        missing = [] if move.offer in choices.taken else [name for name in move.tensors if name not in read]
        alone = [choices.flipped((), move.offer)] if missing and len(move.tensors) == 1 else []
        return [choices.flipped(missing, move.offer), *alone]
    return [choices.flipped(move.tensors)] if _may_help(move.tensors, read, choices, best, outputs) else []


def _may_help(tensors: tuple[int, ...], read: Sequence[int], choices: KernelChoices, best: Selection, outputs: tuple[int, ...]) -> bool:
    """Whether it can make a difference that those of a few tensors that are read are not, and the other way round."""
    if len(read) > 1 or (read and read[0] not in best.kernels):
        return False
    elements = [user for name in tensors if name not in read for sort, user in choices.classes.users["Tx", name] if sort == "Sx"]
    if read:
        is_read = read[0] in best.read
        return is_read if len(tensors) == 1 else is_read or read[0] not in outputs or not best.plain(elements)
    if len(tensors) > 1:
        return False
    model, (shape, dtype) = choices.classes.model, choices.classes.tensor_type(tensors[0])
    saved = [best.again_ns[user] for user in dict.fromkeys(elements) if user in best.again_ns]
    store_ns = model.store_ns(shape, dtype)
    often = any(best.times_in_folds.get(user, 0) > prod(shape) for user in elements)
    return often or len(saved) > 1 or any(ns > store_ns or model.costs.objective is not None for ns in saved)


def _selection(choices: KernelChoices, outputs: tuple[int, ...]) -> Selection | None:
    kernels = choices.kernels(outputs)
    return None if kernels is None else Selection(kernels, choices.readable, choices.taken, choices.classes.model)


def spell(
    classes: TensorClasses,
    order: Mapping[int, int],
    selection: Selection,
    outputs: tuple[int, ...],
    finish: Callable[[Scalar], Scalar] = lambda element: element,
) -> tuple[Tensor, ...]:
    """The tensors of a selection, of elements that are finished by a function."""
    speller = _Speller(classes)
    for name in sorted(selection.kernels, key=order.__getitem__):
        kernel = selection.kernels[name]
        speller.made[name] = Build(kernel.shape, finish(speller.element(kernel.element)))
    return tuple(speller.tensor(name) for name in outputs)


class _Speller:
    """Terms of `ir` from choices; `made` are the tensors that have kernels."""

    def __init__(self, classes: TensorClasses) -> None:
        self.classes = classes
        self.made: dict[int, Tensor] = {}
        self._elements: dict[tuple[Choice, int], Scalar] = {}

    def tensor(self, name: int) -> Tensor:
        leaf = self.classes.leaf(name)
        return leaf if leaf is not None else self.made[name]

    def element(self, root: Choice) -> Scalar:
        """The element that choices make up."""
        stack = [(root, 0)]
        while stack:
            choice, depth = stack[-1]
            assert choice.node is not None
            inside = depth + (choice.node.op == "Reduce")
            missing = [(below, inside) for below in choice.below if (below, inside) not in self._elements]
            if missing:
                stack += missing
            else:
                stack.pop()
                below = tuple(self._elements[operand, inside] for operand in choice.below)
                self._elements[choice, depth] = self._spelled(choice.name, choice.node, below, depth)
        return self._elements[root, 0]

    def _spelled(self, name: int, node: ENode, below: tuple[Scalar, ...], depth: int) -> Scalar:
        """A node over its operands, under `depth` reductions."""
        if node.op == "Literal":
            return literal_from(*node.args)
        if node.op == "Position":
            index = self.classes.position(name, node)
            assert index is not None
            return Position(_named(as_truth(index) if node.args[1] == "bool" else index, depth), node.args[1])
        if node.op in ("Read", "Element"):
            return Read(self.tensor(node.args[0]), tuple(_named(index, depth) for index in self.classes.indices(name, node)))
        if node.op == "Reduce":
            return Reduce(node.args[0], reduction(depth, node.args[1]), below[0])
        if reads(node):
            return Gather(self.tensor(node.args[0]), below)
        return taken(Call(node.args[0], below, node.args[1]))


def _named(index: Index, depth: int) -> Index:
    """An index term with reduction variables named by level, outermost first, instead of de Bruijn index."""
    levels = {v: level for v in variables(index) if (level := level_of(v)) is not None}
    return substitute(index, {v: reduction(depth - 1 - level, v.extent) for v, level in levels.items()})
