"""Kernels by cost: which form every element of a kernel takes, while some tensors may be read and all others are computed again.

A class that can be read takes the cheapest load; any other the node with the least cost over the DAG below it, where parts that
several operands share count once.  A kernel reads tensors that stand before it in the order of the program only, so no two kernels
wait for each other, whatever the e-graph has found to be equal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from eqsat.egraph.encode_tensor import literal_from
from eqsat.egraph.snapshot import ENode
from eqsat.extraction.tensor_classes import TensorClasses, outside, reads
from eqsat.ir.dtypes import is_complex, is_inexact
from eqsat.ir.index import Index
from eqsat.ir.tensor import Constant, Shape, axes, level_of, reduction
from eqsat.pricing.cost_model import CostModel, trips
from eqsat.pricing.costs import again_for_rows, kernel_work_ns
from eqsat.pricing.element_costs import Priced, price_call, price_fold, price_gather, price_read, total_ns

FIRST, LAST = -1, 1 << 62
Candidates = list[tuple[ENode, tuple[int, ...]]]


@dataclass(frozen=True, eq=False)
class Choice(Priced):
    """The node chosen for an element class (None: it has no finite form), and the choices below it.

    since, until  for kernels at which places in the order of the program it was chosen: after the first, up to the last
    """

    name: int = 0
    node: ENode | None = None
    below: tuple[Choice, ...] = ()
    since: int = FIRST
    until: int = LAST


@dataclass(frozen=True)
class Kernel:
    """The kernel of a tensor class: its element, what it costs alone in every call, the tensor classes with kernels that it reads, and
    whether it reads arrays that a call is given.  One made of nothing but constants is computed once and free from then on."""

    shape: Shape
    element: Choice
    ns: float
    reads: tuple[int, ...]
    reads_inputs: bool

    @property
    def size(self) -> int:
        """Of how many element classes it is made."""
        return sum(1 for _ in choices_below(self.element))


@dataclass
class Effort:
    """How many element classes were priced so far, and how many may be."""

    most: float = math.inf
    priced: int = 0

    @property
    def is_spent(self) -> bool:
        return self.priced > self.most


class KernelChoices:
    """`order` gives the place of every tensor class that has a kernel; `readable` are those that other kernels may read.

    taken   (class, node) of elements that are computed as algebra offers; what is only offered is not used
    most    of how many element classes a kernel is made at the most, as far as they are not known: one of more has no finite form
    effort  of all choices that come of these
    """

    def __init__(
        self,
        classes: TensorClasses,
        order: Mapping[int, int],
        readable: Iterable[int],
        taken: frozenset[tuple[int, ENode]] = frozenset(),
        most: float = math.inf,
        effort: Effort | None = None,
    ) -> None:
        self.classes, self.order, self.most = classes, order, most
        self.effort = effort or Effort()
        self.readable, self.taken = frozenset(readable), taken
        self._known: dict[int, tuple[Choice, ...]] = {}
        self._kernels: dict[int, Kernel | None] = {}

    def flipped(self, names: Collection[int], offer: tuple[int, ENode] | None = None) -> KernelChoices:
        """The same with these tensors readable if they are not, and the other way round, and with an offer taken or not; what they do
        not touch is known already."""
        taken = self.taken if offer is None else self.taken.symmetric_difference((offer,))
        other = KernelChoices(self.classes, self.order, self.readable.symmetric_difference(names), taken, self.most, self.effort)
        other._known, other._kernels = dict(self._known), dict(self._kernels)
        touched = [user for name in names for user in self.classes.users["Tx", name]] + ([("Sx", offer[0])] if offer is not None else [])
        stack = [(sort, name, other._forget(sort, name)) for sort, name in dict.fromkeys(touched)]
        while stack:
            sort, name, forgotten = stack.pop()
            for user_sort, user in self.classes.users["Sx", name] if forgotten and sort == "Sx" else ():
                stack.append((user_sort, user, other._forget(user_sort, user, what_is_loaded=False)))
        return other

    def _forget(self, sort: str, name: int, what_is_loaded: bool = True) -> bool:
        """Forget the kernel of a tensor class or the choices of an element class, of these perhaps but those that need no computing: no
        other choice changes them.  Whether there were some."""
        if sort != "Sx":
            return self._kernels.pop(name, None) is not None
        known = self._known.pop(name, ())
        kept = () if what_is_loaded else tuple(choice for choice in known if choice.node is not None and not choice.below)
        if kept:
            self._known[name] = kept
        return len(kept) < len(known)

    def kernels(self, outputs: Iterable[int]) -> dict[int, Kernel] | None:
        """The kernels that these tensor classes need, in no order; None if one of them has no finite form."""
        found: dict[int, Kernel] = {}
        stack = [name for name in outputs if self.classes.leaf(name) is None]
        while stack:
            name = stack.pop()
            if name in found:
                continue
            kernel = self.kernel(name)
            if kernel is None:
                return None
            found[name] = kernel
            stack += kernel.reads
        constants: set[int] = set()
        for name in sorted((name for name, kernel in found.items() if not kernel.reads_inputs), key=self.order.__getitem__):
            if constants.issuperset(found[name].reads):
                constants.add(name)
                found[name] = replace(found[name], ns=0.0)
        return found

    def kernel(self, name: int) -> Kernel | None:
        """The cheapest kernel of a tensor class, given what it may read."""
        if name not in self._kernels:
            builds = self.classes.builds(name)
            offered = [node for node in builds if any(offer[0] == node.args[1] for offer in self.taken)]
            kernels = (self._kernel(node, self.order[name]) for node in offered or builds)
            self._kernels[name] = min((kernel for kernel in kernels if kernel is not None), key=lambda k: k.ns, default=None)
        return self._kernels[name]

    def _kernel(self, node: ENode, place: int) -> Kernel | None:
        element = self._element(node.args[1], place)
        shape = self.classes.shape_of(node)
        if element is None or element.node is None or not element.loops <= frozenset(axes(shape)):
            return None
        moved = [key[1] for key in element.parts if isinstance(key, tuple) and key[0] == "move"]
        leaves = [leaf for name in moved if (leaf := self.classes.leaf(name)) is not None]
        reads = tuple(name for name in moved if self.classes.leaf(name) is None)
        made = [(shape, self.classes.dtype_of(node.args[1]))]
        work = kernel_work_ns(self.classes.model, element.parts, shape)
        total = self.classes.model.kernel_cost(element.parts, work, made, self.classes.tensor_type)
        return Kernel(shape, element, total, reads, not all(isinstance(leaf, Constant) for leaf in leaves))

    def _element(self, root: int, place: int) -> Choice | None:
        """The choice of an element class for a kernel at this place; None where too many have to be made for it."""
        stack, opened = [root], dict[int, Candidates]()
        while stack:
            name = stack[-1]
            if self._at(name, place) is not None:
                stack.pop()
            elif name in opened:
                stack.pop()
                self.effort.priced += 1
                self._known[name] = (*self._known.get(name, ()), self._cheapest(name, opened[name], place))
            elif len(opened) >= self.most:
                return None
            else:
                opened[name] = self._candidates(name, place)
                stack += [child for _, below in opened[name] for child in below if child not in opened and self._at(child, place) is None]
        return self._at(root, place)

    def _at(self, name: int, place: int) -> Choice | None:
        for choice in self._known.get(name, ()):
            if choice.since < place <= choice.until:
                return choice
        return None

    def _candidates(self, name: int, place: int) -> Candidates:
        """The nodes worth pricing, with the classes below them: what needs no computing, if there is such a node, but for what is computed
        as algebra offers."""
        nodes = self.classes.below[name]
        ready: Candidates = [(node, ()) for node, _ in nodes if self._is_ready(name, node, place)]
        offers = self.classes.offers.get(name, ())
        possible = [(node, children) for node, children in nodes if not reads(node) or self._may_read(node.args[0], place)]
        offered = [(node, children) for node, children in possible if node in offers and (name, node) in self.taken]
        if offered:
            return [(node, ()) for node, _ in ready if not reads(node) or self._computes(node.args[0], name)] or offered
        return ready or [(node, children) for node, children in possible if children and node not in offers]

    def _computes(self, tensor: int, element: int) -> bool:
        """Whether an element is what a kernel of a tensor computes."""
        return any(build.args[1] == element for build in self.classes.builds(tensor))

    def _is_ready(self, name: int, node: ENode, place: int) -> bool:
        """Whether a node needs no computing: a constant, the value of an index, or a load that a kernel at this place may make."""
        if node.op == "Position":
            return self.classes.position(name, node) is not None
        if node.op not in ("Read", "Element"):
            return node.op == "Literal"
        return self._may_read(node.args[0], place) and self.classes.access(name, node) is not None

    def _may_read(self, name: int, place: int) -> bool:
        return self.classes.leaf(name) is not None or (name in self.readable and self.order[name] < place)

    def _cheapest(self, name: int, candidates: Candidates, place: int) -> Choice:
        given = [(node, tuple(self._at(child, place) for child in children)) for node, children in candidates]
        span = self._span(name, (choice for _, below in given for choice in below if choice is not None), place)
        priced = [choice for node, below in given if (choice := self._priced(name, node, below, span)) is not None]
        if len(priced) > 1:
            # where(r < 2, x, x) is x, which may stand where no r is bound: a class needs no variable that one of its nodes does without
            fewest = [choice for choice in priced if not any(other.loops < choice.loops for other in priced)]
            return min(fewest, key=lambda choice: (total_ns(choice.parts), self._is_leaf(choice)))
        return priced[0] if priced else Choice(name=name, since=span[0], until=span[1])

    def _is_leaf(self, choice: Choice) -> bool:
        """Whether it reads no tensor that may be stored, of which a move of the search tells what it is worth: such come first."""
        node = choice.node
        return node is None or not reads(node) or self.classes.leaf(node.args[0]) is not None

    def _span(self, name: int, below: Iterable[Choice], place: int) -> tuple[int, int]:
        """For which kernels the same nodes are candidates, and have the same choices below them."""
        since, until = FIRST, LAST
        for tensor in self.classes.read_by.get(name, ()):
            if tensor in self.readable:
                other = self.order[tensor]
                since, until = (max(since, other), until) if other < place else (since, min(until, other))
        for choice in below:
            since, until = max(since, choice.since), min(until, choice.until)
        return since, until

    def _priced(self, name: int, node: ENode, below: tuple[Choice | None, ...], span: tuple[int, int]) -> Choice | None:
        """The choice of this node, if everything below it has a finite form; `span`: since and until."""
        operands = tuple(choice for choice in below if choice is not None and choice.node is not None)
        if len(operands) < len(below):
            return None
        if node.op == "Literal":
            return Choice(name=name, node=node, since=span[0], until=span[1], number=literal_from(*node.args).value)
        model = self.classes.model
        if node.op == "Position":
            index = self.classes.position(name, node)
            assert index is not None
            priced = self.classes.priced(index)
        elif node.op in ("Read", "Element"):
            access = self.classes.access(name, node)
            assert access is not None
            priced = price_read(node, node.args[0], access)
        elif node.op == "Reduce":
            dtype = self.classes.dtype_of(node.args[2])
            priced = _outside(price_fold(model, node, node.args[0], operands[0], reduction(0, node.args[1]), dtype))
        elif reads(node):
            priced = price_gather(model, node, operands, node.args[0], *self.classes.tensor_type(node.args[0]))
        else:
            priced = price_call(model, node, operands, self.classes.priced_as(node), node.args[1], self._condition(node, operands))
        known = (
            priced.own,
            priced.loops,
            priced.awkward,
            priced.operands,
            priced.sides,
            priced.apart,
            priced.digits,
            priced.number,
            priced.along,
            priced.spikes,
        )
        return Choice(*known, name, node, operands, *span)

    def _condition(self, node: ENode, operands: tuple[Choice, ...]) -> Index | None:
        """The index term that chooses between elements."""
        chooser = operands[0] if node.args[0] == "where" else None
        if chooser is None or chooser.node is None or chooser.node.op != "Position":
            return None
        return self.classes.position(chooser.name, chooser.node)


def again_ns(model: CostModel, kernels: Iterable[Kernel]) -> dict[int, float]:
    """The element classes that several kernels compute, or one kernel for every row, each with the most that computing it but once would
    save: in all kernels but one, what nothing else there needs.  In one kernel that is not known."""
    alone: dict[int, list[float]] = {}
    unknown: set[int] = set()
    for kernel in kernels:
        for name, ns in _alone_ns(kernel.element).items():
            alone.setdefault(name, []).append(ns)
        for_rows = again_for_rows(model, kernel.element.parts, kernel.shape)
        unknown.update(choice.name for choice in choices_below(kernel.element) if for_rows and not for_rows.keys().isdisjoint(choice.own))
    found = {name: sum(ns) - max(ns) for name, ns in alone.items() if len(ns) > 1}
    return found | dict.fromkeys(unknown, math.inf)


def times_in_folds(kernels: Iterable[Kernel]) -> dict[int, float]:
    """How many times each element class is computed in reductions; infinity where a loop repeats it that it does not depend on."""
    stack = [(fold, fold.loops, False) for kernel in kernels for fold in choices_below(kernel.element) if _is_fold(fold)]
    seen, found = set(stack), dict[int, float]()
    while stack:
        choice, around, again = stack.pop()
        again = again or choice.loops != around
        found[choice.name] = max(found.get(choice.name, 0.0), math.inf if again else trips(around))
        inside = choice.below[0].loops if _is_fold(choice) else around
        more = [below for operand in choice.below if (below := (operand, inside, again)) not in seen]
        seen.update(more)
        stack += more
    return found


def folding(kernels: Iterable[Kernel]) -> frozenset[int]:
    """The element classes that are reductions or made of some."""
    found: set[Choice] = set()
    for kernel in kernels:
        for choice in _operands_first(kernel.element):
            if _is_fold(choice) or not found.isdisjoint(choice.below):
                found.add(choice)
    return frozenset(choice.name for choice in found)


def _is_fold(choice: Choice) -> bool:
    return choice.node is not None and choice.node.op == "Reduce"


def _alone_ns(root: Choice) -> dict[int, float]:
    """What every class of an element costs with all that only it needs: the choices that it dominates, those that boxes decide between at
    the most that they may be."""
    order = list(reversed(_operands_first(root)))
    above: dict[Choice, Choice] = {}
    depth = {root: 0}
    for choice in order:
        for operand in choice.below:
            one, other = choice, above.get(operand, choice)
            while one is not other:
                one, other = (above[one], other) if depth[one] > depth[other] else (one, above[other])
            above[operand], depth[operand] = one, depth[one] + 1
    alone = {choice: 0.0 if choice.sides else total_ns(choice.own) for choice in order}
    for choice in reversed(order[1:]):
        alone[above[choice]] += alone[choice]
    return {choice.name: ns for choice, ns in alone.items()}


def _operands_first(root: Choice) -> list[Choice]:
    """Every choice that an element is made of, each once and after those that it is made of."""
    found: dict[Choice, None] = {}
    stack = [root]
    while stack:
        choice = stack[-1]
        missing = [operand for operand in choice.below if operand not in found]
        stack += missing
        if not missing:
            found[stack.pop()] = None
    return list(found)


# operations that give no finite value where an operand is not: by the operands for which that holds
SHOWING: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("add", "subtract", "multiply", "hypot", "complex"), (0, 1)),
    **dict.fromkeys(
        ("negative", "conjugate", "absolute", "divide", "floor", "ceil", "trunc", "rint", "sqrt", "cbrt", "log", "log2", "log10", "log1p"),
        (0,),
    ),
    **dict.fromkeys(("sin", "cos", "tan", "arcsin", "arccos", "sinh", "cosh", "arcsinh", "arccosh", "arctanh"), (0,)),
}


def uses(root: Choice, node: ENode) -> bool:
    """Whether an element is made of a node."""
    return any(choice.node == node for choice in choices_below(root))


def shows_not_finite(root: Choice, node: ENode, dtype_of: Callable[[int], str]) -> bool:
    """Whether the value of an element is not finite wherever that of this node within it is not; `dtype_of` element classes."""
    shown: set[Choice] = set()
    stack = [root]
    while stack:
        choice = stack.pop()
        if choice in shown or choice.node is None:
            continue
        shown.add(choice)
        if choice.node.op == "Reduce" and choice.node.args[0] == "sum":
            stack += choice.below
        elif choice.node.op.startswith("Call"):
            op, dtype = choice.node.args[:2]
            if op != "astype":
                stack += [choice.below[k] for k in SHOWING.get(op, ())]
            elif is_complex(dtype) or (is_inexact(dtype) and not is_complex(dtype_of(choice.below[0].name))):
                stack.append(choice.below[0])
    return all(choice in shown for choice in choices_below(root) if choice.node == node)


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
    parts = {key: (ns, outside(loops)) for key, (ns, loops) in fold.own.items()}
    digits = frozenset((v, step, extent) for loop, step, extent in fold.digits for v in outside(frozenset((loop,))))
    return Priced(parts, outside(fold.loops), outside(fold.awkward), digits=digits)
