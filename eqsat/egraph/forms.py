"""Reading classes: the cheapest well-founded node of every index class, and linear forms through them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field

from eqsat.egraph.index_cost import DEFAULT_WEIGHTS, DIVIDED, IndexWeights
from eqsat.egraph.linear import Linear
from eqsat.egraph.schema import INDEX_LEAVES, SUM_OPS
from eqsat.egraph.snapshot import ENode, Snapshot

Forms = Mapping[int, ENode]
# a class, one of its nodes, the operands of that, and its own cost
Choice = tuple[int, ENode, tuple[int, ...], float]
SIGNS = ("Nonneg", "Zero")
RECIPES = ("Add", "Scale", "Mul")
RAW = ("Raw1", "Raw2", "Raw3")
# where the classes stand among the operands of a node, if not all operands are classes
_NONE, _FIRST, _LATER = slice(0, 0), slice(0, 1), slice(1, None)
CHILDREN = {
    **dict.fromkeys((*INDEX_LEAVES, "Unknown"), _NONE),
    **dict.fromkeys(("Scale", *RAW), _LATER),
    "Given": _FIRST,
}


def index_children(node: ENode) -> tuple[int, ...]:
    """The classes below an index node."""
    op, args = node
    if op == "Sum":
        return tuple([atom for atom, _ in args[1:]])
    return args[CHILDREN[op]] if op in CHILDREN else args


def constants(snapshot: Snapshot) -> dict[int, int]:
    """The classes that are a constant."""
    return {name: node.args[0] for name, nodes in snapshot.classes["Ix"].items() for node in nodes if node.op == "Num"}


class Honesty:
    """Which nodes of truth values are 0 or 1 outside of assumptions too.

    What is given is spelled as the variable itself, which is right where the assumption holds.  Elsewhere `p and q` needs a q that is a
    truth value all the same: for x of any size, and p that says x is 0 or 1, it is not min(p, x).  A class is honest if it has a node that
    is made of comparisons, or of nothing that is given; honest classes of truth values are spelled by such nodes only, and of the others
    nothing is a conjunction or disjunction.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.matters = "Given" in snapshot.ops
        if self.matters and snapshot.honest is None:
            snapshot.honest = self._honest()
        self.honest = snapshot.honest or frozenset[int]()

    def may_spell(self, name: int, node: ENode) -> bool:
        """Whether a node may be the form of a class."""
        if not self.matters or not self._is_truth(name):
            return True
        return self._is_honest(node, self.honest) if name in self.honest else node.op not in ("Min", "Max")

    def _honest(self) -> frozenset[int]:
        classes = self.snapshot.classes["Ix"]
        found: set[int] = set()
        todo = list(classes)
        while True:
            left = []
            for name in todo:  # operands first, mostly
                if any(self._is_honest(node, found) for node in classes[name]):
                    found.add(name)
                else:
                    left.append(name)
            if len(left) == len(todo):
                return frozenset(found)
            todo = left

    def _is_honest(self, node: ENode, honest: Set[int]) -> bool:
        if node.op == "Given":
            return self._is_truth(node.args[0])
        return node.op in SIGNS or honest >= set(index_children(node))

    def _is_truth(self, name: int) -> bool:
        lo, hi = self.snapshot.bounds.get(name, (-1, 2))
        return lo >= 0 and hi <= 1


@dataclass
class Reading:
    """A snapshot with the cheapest well-founded node of every index class that has a finite form, and its tree cost.

    fresh      the classes whose nodes or bounds are not as the reading before had them, and those that are made of such
    postponed  the classes that a visit has not looked at, for another one is due: the reading after has them as fresh
    """

    snapshot: Snapshot
    weights: IndexWeights = DEFAULT_WEIGHTS
    forms: dict[int, ENode] = field(default_factory=dict)
    cost: dict[int, float] = field(default_factory=dict)
    fresh: set[int] = field(default_factory=set)
    postponed: set[int] = field(default_factory=set)

    def constant(self, name: int) -> int | None:
        """The constant that a class is."""
        node = self.forms.get(name)
        return node.args[0] if node is not None and node.op == "Num" else None

    def cost_of(self, node: ENode) -> float:
        """The tree cost of a node of fixed arity; none that is made of its own class costs as little as the class."""
        below = sum(self.cost.get(child, float("inf")) for child in index_children(node))
        return below + (self.weights.node_cycles(node, self.constant) or 0.0)


def cheapest_forms(snapshot: Snapshot, weights: IndexWeights = DEFAULT_WEIGHTS, written: bool = False) -> dict[int, ENode]:
    """For every class that has a finite form its node of least tree cost; of several a sum, then the one met first.

    With `written`, operations as they are written count too.
    """
    return read(snapshot, weights, written=written).forms


def read(snapshot: Snapshot, weights: IndexWeights = DEFAULT_WEIGHTS, before: Reading | None = None, written: bool = False) -> Reading:
    """The cheapest forms of a snapshot; those of classes that did not change are taken from the reading before."""
    classes = snapshot.classes["Ix"]
    reading = Reading(snapshot, weights, fresh=fresh_classes(snapshot, before) if before is not None else set(classes))
    chosen, cost, node_cycles = reading.forms, reading.cost, weights.node_cycles
    if before is not None:
        for name in classes:
            if name not in reading.fresh and name in before.forms:
                chosen[name], cost[name] = before.forms[name], before.cost[name]
    known, may_spell = constants(snapshot), Honesty(snapshot).may_spell
    for name in reading.fresh.intersection(known):
        chosen[name], cost[name] = ENode("Num", (known[name],)), 0.0
    divided = dict.fromkeys(("Floordiv", "Mod"), DIVIDED if "Given" in snapshot.ops else 0.0)
    choices = [
        (name, node, index_children(node), own + divided.get(node.op, 0.0))
        for name, nodes in classes.items()
        if name in reading.fresh and name not in known
        for node in nodes
        if (own := node_cycles(node, known.get)) is not None and (written or node.op not in RAW) and may_spell(name, node)
    ]
    unknown = float("inf")

    def is_cheaper(name: int, node: ENode, children: tuple[int, ...], own: float) -> bool:
        total = own
        for child in children:
            total += cost.get(child, unknown)
        if node.op in SIGNS and total < unknown:
            total -= weights.sign_saving(node.op, chosen[children[0]])
        known_cost = cost.get(name, unknown)
        # a node that costs nothing itself must be cheaper, or classes might be made of each other
        if total < known_cost or (own and total == known_cost < unknown and _rank(node, chosen) < _rank(chosen[name], chosen)):
            cost[name], chosen[name] = total, node
            return True
        return False

    choose(choices, set(cost), is_cheaper)
    return reading


def choose(choices: Iterable[Choice], moved: set[int], is_cheaper: Callable[[int, ENode, tuple[int, ...], float], bool]) -> None:
    """Take choices until none is cheaper than what its class has; what is made of nothing that moved costs what it did."""
    while True:
        earlier, moved = moved, set()
        for name, node, children, own in choices:
            if children and earlier.isdisjoint(children) and moved.isdisjoint(children):
                continue
            if is_cheaper(name, node, children, own):
                moved.add(name)
        if not moved:
            return


def _rank(node: ENode, forms: Forms) -> int:
    """Which of several nodes of equal cost: a sum, for sums that read it can take it in, one of variables first; then a remainder, for
    remainders that read it may do without, and an equality, which says more to readers; a recipe last, the sum that it means follows."""
    if node.op == "Sum":
        return int(any(forms[atom].op != "Var" for atom, _ in node.args[1:]))
    return 4 if node.op in RECIPES else 2 if node.op in ("Mod", "Zero") else 3


def fresh_classes(snapshot: Snapshot, before: Reading) -> set[int]:
    """The index classes whose nodes or bounds are not as they were, those that were postponed, and those that are made of such."""
    classes, known = snapshot.classes["Ix"], before.snapshot.classes["Ix"]
    bounds, bounds_before = snapshot.bounds, before.snapshot.bounds
    found = [name for name, nodes in classes.items() if nodes != known.get(name) or bounds.get(name) != bounds_before.get(name)]
    found += {snapshot.name(name) for name in before.postponed}.difference(found)
    parents: dict[int, list[int]] = {}
    for name, nodes in classes.items() if len(found) < len(classes) else ():
        for node in nodes:
            for child in index_children(node):
                parents.setdefault(child, []).append(name)
    fresh = set(found)
    while found:
        for parent in parents.get(found.pop(), ()):
            if parent not in fresh:
                fresh.add(parent)
                found.append(parent)
    return fresh


class Opener:
    """Linear forms whose atoms are no sums: sums are opened through the forms of their members."""

    def __init__(self, forms: Forms, product: Callable[[tuple[int, ...]], int]) -> None:
        self.forms, self._product = forms, product
        self._known: dict[int, Linear] = {}

    def of_class(self, name: int) -> Linear:
        """The form of a class through its cheapest node."""
        if name not in self._known:
            node = self.forms.get(name)
            self._known[name] = self.of_node(node) if node is not None and node.op in SUM_OPS else Linear(0, ((name, 1),))
        return self._known[name]

    def of_node(self, node: ENode) -> Linear:
        """The form of a node of SUM_OPS."""
        if node.op == "Num":
            return Linear(node.args[0])
        if node.op == "Scale":
            return self.of_class(node.args[1]).times(node.args[0])
        if node.op == "Add":
            return self.of_class(node.args[0]).plus(self.of_class(node.args[1]))
        if node.op in ("Prod", "Mul"):
            return self._of_product(node)
        forms = self.forms
        if not any(atom in forms and forms[atom].op in SUM_OPS for atom, _ in node.args[1:]):
            return Linear(node.args[0], node.args[1:])
        total = Linear(node.args[0])
        for atom, k in node.args[1:]:
            total = total.plus(self.of_class(atom), k)
        return total

    def _of_product(self, node: ENode) -> Linear:
        factor, atoms = 1, []
        for member in node.args:
            form = self.of_class(member) if self.forms[member].op not in ("Prod", "Mul") else Linear(0, ((member, 1),))
            if not form.terms:
                factor *= form.constant
            elif len(form.terms) == 1 and not form.constant:
                factor *= form.terms[0][1]
                atoms.append(form.terms[0][0])
            else:
                atoms.append(member)
        if not atoms:
            return Linear(factor)
        atom = atoms[0] if len(atoms) == 1 else self._product(tuple(atoms))
        return Linear.of(0, ((atom, factor),))
