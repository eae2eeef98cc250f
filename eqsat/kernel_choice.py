"""Kernels by cost: which form every element of a kernel takes, while some tensors may be read and all others are computed again.

A class that can be read takes the cheapest load; any other the node with the least cost over the DAG below it, where parts that
several operands share count once.  A kernel reads tensors that stand before it in the order of the program only, so no two kernels
wait for each other, whatever the e-graph has found to be equal.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from eqsat.costs import NO_LOOPS, Part, Priced, Variables, price_call, price_fold, price_read, total_ns
from eqsat.egraph.snapshot import ENode
from eqsat.ir.tensor import Shape, level_of, reduction
from eqsat.tensor_classes import TensorClasses, elements_of

FIRST, LAST = -1, 1 << 62


@dataclass(frozen=True, eq=False)
class Choice:
    """The node chosen for an element class (None: it has no finite form) with the choices below it, the parts of its cost, the loops that
    it depends on, and the places in the order of the program of kernels for which it was chosen: after `since`, up to `until`."""

    node: ENode | None
    below: tuple[Choice, ...] = ()
    parts: Mapping[Hashable, Part] = field(default_factory=dict)
    loops: Variables = NO_LOOPS
    since: int = FIRST
    until: int = LAST

    def holds_at(self, place: int) -> bool:
        """Whether a kernel at this place may use it."""
        return self.since < place <= self.until


@dataclass(frozen=True)
class Kernel:
    """The kernel of a tensor class: its element, what it costs alone, and the tensor classes that it reads."""

    shape: Shape
    element: Choice
    ns: float
    reads: tuple[int, ...]


class KernelChoices:
    """`order` gives the place of every tensor class that has a kernel; `readable` are those that other kernels may read."""

    def __init__(self, classes: TensorClasses, order: Mapping[int, int], readable: Iterable[int]) -> None:
        self.classes, self.order = classes, order
        self.readable = frozenset(readable)
        self._known: dict[int, tuple[Choice, ...]] = {}
        self._kernels: dict[int, Kernel | None] = {}

    def flipped(self, names: Collection[int]) -> KernelChoices:
        """The same with these tensors readable if they are not, and the other way round; what they do not touch is known already."""
        other = KernelChoices(self.classes, self.order, self.readable.symmetric_difference(names))
        other._known, other._kernels = dict(self._known), dict(self._kernels)
        stack = [user for name in names for user in self.classes.users["Tx", name]]
        while stack:
            sort, name = stack.pop()
            known: dict[int, object] = other._known if sort == "Sx" else other._kernels  # type: ignore[assignment]
            if known.pop(name, None) is not None and sort == "Sx":
                stack += self.classes.users["Sx", name]
        return other

    def kernels(self, outputs: Iterable[int]) -> dict[int, Kernel] | None:
        """The kernels that these tensor classes need, in no order; None if one of them has no finite form."""
        found: dict[int, Kernel] = {}
        stack = list(outputs)
        while stack:
            name = stack.pop()
            if name in found or self.classes.leaf(name) is not None:
                continue
            kernel = self.kernel(name)
            if kernel is None:
                return None
            found[name] = kernel
            stack += kernel.reads
        return found

    def kernel(self, name: int) -> Kernel | None:
        """The cheapest kernel of a tensor class, given what it may read."""
        if name not in self._kernels:
            kernels = (self._kernel(node, self.order[name]) for node in self.classes.builds(name))
            self._kernels[name] = min((kernel for kernel in kernels if kernel is not None), key=lambda k: k.ns, default=None)
        return self._kernels[name]

    def _kernel(self, node: ENode, place: int) -> Kernel | None:
        element = self._element(node.args[1], place)
        if element.node is None:
            return None
        shape = self.classes.shape_of(node)
        ns = self.classes.model.store_ns(shape, self.classes.dtype_of(node.args[1])) + total_ns(element.parts)
        moved = (key[1] for key in element.parts if isinstance(key, tuple) and key[0] == "move")
        return Kernel(shape, element, ns, tuple(moved))

    def _element(self, root: int, place: int) -> Choice:
        """The choice of an element class for a kernel at this place."""
        stack, opened = [root], set()
        while stack:
            name = stack[-1]
            if self._at(name, place) is not None:
                stack.pop()
                continue
            nodes = self._candidates(name, place)
            missing = [child for node in nodes for child in elements_of(node) if child not in opened and self._at(child, place) is None]
            if missing and name not in opened:
                opened.add(name)
                stack += missing
            else:
                stack.pop()
                self._known[name] = (*self._known.get(name, ()), self._cheapest(name, nodes, place))
        found = self._at(root, place)
        assert found is not None
        return found

    def _at(self, name: int, place: int) -> Choice | None:
        return next((choice for choice in self._known.get(name, ()) if choice.holds_at(place)), None)

    def _candidates(self, name: int, place: int) -> list[ENode]:
        """The nodes worth pricing: what needs no computing, if there is such a node."""
        nodes = self.classes.snapshot.classes["Sx"][name]
        ready = [node for node in nodes if node.op == "Literal" or (node.op in ("Read", "Element") and self._may_read(node, place))]
        return ready or [node for node in nodes if elements_of(node)]

    def _may_read(self, node: ENode, place: int) -> bool:
        name = node.args[0]
        allowed = self.classes.leaf(name) is not None or (name in self.readable and self.order[name] < place)
        return allowed and self.classes.access(node) is not None

    def _cheapest(self, name: int, nodes: list[ENode], place: int) -> Choice:
        priced = [choice for node in nodes if (choice := self._priced(node, place)) is not None]
        best = min(priced, key=lambda choice: total_ns(choice.parts), default=Choice(None))
        since, until = self._span(name, nodes, place)
        return Choice(best.node, best.below, best.parts, best.loops, since, until)

    def _span(self, name: int, nodes: list[ENode], place: int) -> tuple[int, int]:
        """For which kernels the same nodes are candidates, and have the same choices below them."""
        reads = (node.args[0] for node in self.classes.snapshot.classes["Sx"][name] if node.op in ("Read", "Element"))
        places = [self.order[tensor] for tensor in reads if tensor in self.readable]
        below = [choice for node in nodes for child in elements_of(node) if (choice := self._at(child, place)) is not None]
        since = max((*(p for p in places if p < place), *(choice.since for choice in below)), default=FIRST)
        return since, min((*(p for p in places if p >= place), *(choice.until for choice in below)), default=LAST)

    def _priced(self, node: ENode, place: int) -> Choice | None:
        """The choice of this node, if everything below it has one."""
        if node.op == "Literal":
            return Choice(node)
        if node.op in ("Read", "Element"):
            access = self.classes.access(node)
            assert access is not None
            read = price_read(node, node.args[0], access)
            return Choice(node, (), read.parts, read.loops)
        below = tuple(choice for child in elements_of(node) if (choice := self._at(child, place)) is not None and choice.node is not None)
        if len(below) < len(elements_of(node)):
            return None
        operands = [Priced(choice.parts, choice.loops) for choice in below]
        model = self.classes.model
        if node.op == "Reduce":
            dtype = self.classes.dtype_of(node.args[2])
            priced = _outside(price_fold(model, node, operands[0], reduction(0, node.args[1]), dtype))
        else:
            priced = price_call(model, node, operands, node.args[0], node.args[1])
        return Choice(node, below, priced.parts, priced.loops)


def choices_below(root: Choice) -> Iterator[Choice]:
    """Every choice that an element is made of, each once."""
    seen: set[Choice] = set()
    stack = [root]
    while stack:
        choice = stack.pop()
        if choice not in seen:
            seen.add(choice)
            stack += choice.below
            yield choice


def _outside(fold: Priced) -> Priced:
    """Leaving a reduction: indices of the reduction variables around it are one less."""
    if not any(level_of(v) is not None for v in fold.loops):
        return fold
    parts = {key: (ns, _lowered(loops)) for key, (ns, loops) in fold.parts.items()}
    return Priced(parts, _lowered(fold.loops))


def _lowered(loops: Variables) -> Variables:
    levels = ((v, level_of(v)) for v in loops)
    return frozenset(v if level is None else reduction(level - 1, v.extent) for v, level in levels)
