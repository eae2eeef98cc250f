"""Reading terms out of classes: the cheapest well-founded node of every index class, and index terms from chosen nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from eqsat.egraph.encode import Linear, sum_term
from eqsat.egraph.schema import OP_OF_NODE
from eqsat.egraph.snapshot import ENode, Snapshot
from eqsat.index_cost import node_cycles
from eqsat.ir.index import Apply, Const, Index, Var, apply

Forms = Mapping[int, ENode]
RAW = ("Raw1", "Raw2", "Raw3")


def index_children(node: ENode) -> tuple[int, ...]:
    """The classes below an index node."""
    if node.op == "Sum":
        return tuple(atom for atom, _ in node.args[1:])
    if node.op in ("Num", "Var", "Axis", "RAxis"):
        return ()
    return tuple(node.args[1:]) if node.op == "Scale" or node.op in RAW else tuple(node.args)


def constants(snapshot: Snapshot) -> dict[int, int]:
    """The classes that are a constant."""
    return {name: node.args[0] for name, nodes in snapshot.classes["Ix"].items() for node in nodes if node.op == "Num"}


def cheapest_forms(snapshot: Snapshot, written: bool = False) -> dict[int, ENode]:
    """For every class that has a finite form its node of least tree cost; ties go to the node met first.

    With `written`, operations as they are written count too.
    """
    known = constants(snapshot)
    chosen: dict[int, ENode] = {name: ENode("Num", (value,)) for name, value in known.items()}
    cost: dict[int, float] = dict.fromkeys(known, 0.0)
    todo = [
        (name, node, own, index_children(node))
        for name, nodes in snapshot.classes["Ix"].items()
        if name not in known
        for node in nodes
        if (own := node_cycles(node, known.get)) is not None and (written or node.op not in RAW)
    ]
    unknown = float("inf")
    changed = True
    while changed:
        changed = False
        for name, node, total, children in todo:
            for child in children:
                total += cost.get(child, unknown)
            if total < cost.get(name, unknown):
                cost[name], chosen[name], changed = total, node, True
    return chosen


def linear_of(forms: Forms, product: Callable[[tuple[int, ...]], int]) -> Callable[[ENode], Linear]:
    """A function from nodes to linear forms whose atoms are no sums: sums are opened through the forms of their members."""
    known: dict[int, Linear] = {}

    def of_class(name: int) -> Linear:
        if name not in known:
            node = forms[name]
            known[name] = of_node(node) if node.op in ("Num", "Sum", "Add", "Scale", "Prod") else Linear(0, ((name, 1),))
        return known[name]

    def of_node(node: ENode) -> Linear:
        if node.op == "Num":
            return Linear(node.args[0])
        if node.op == "Scale":
            return of_class(node.args[1]).times(node.args[0])
        if node.op == "Add":
            return of_class(node.args[0]).plus(of_class(node.args[1]))
        if node.op == "Prod":
            return of_product(node)
        total = Linear(node.args[0])
        for atom, k in node.args[1:]:
            total = total.plus(of_class(atom), k)
        return total

    def of_product(node: ENode) -> Linear:
        factor, atoms = 1, []
        for member in node.args:
            form = of_class(member) if forms[member].op != "Prod" else Linear(0, ((member, 1),))
            if not form.terms:
                factor *= form.constant
            elif len(form.terms) == 1 and not form.constant:
                factor *= form.terms[0][1]
                atoms.append(form.terms[0][0])
            else:
                atoms.append(member)
        if not atoms:
            return Linear(factor)
        atom = atoms[0] if len(atoms) == 1 else product(tuple(atoms))
        return Linear.of(0, ((atom, factor),))

    return of_node


def index_term(forms: Forms, name: int, memo: dict[int, Index] | None = None) -> Index:
    """The term that the chosen nodes spell for a class."""
    done: dict[int, Index] = {} if memo is None else memo
    stack = [name]
    while stack:
        here = stack[-1]
        missing = [child for child in index_children(forms[here]) if child not in done]
        if here in done or not missing:
            stack.pop()
            if here not in done:
                done[here] = _spell(forms[here], done)
        else:
            stack.extend(missing)
    return done[name]


def _spell(node: ENode, done: dict[int, Index]) -> Index:
    if node.op == "Num":
        return Const(node.args[0])
    if node.op == "Var":
        return Var(*node.args)
    if node.op in ("Axis", "RAxis"):
        return Var(f"{'i' if node.op == 'Axis' else 'r'}{node.args[0]}", 0, node.args[1] - 1)
    if node.op == "Sum":
        return sum_term(node.args[0], [(done[atom], k) for atom, k in node.args[1:]])
    if node.op == "Scale":
        return sum_term(0, [(done[node.args[1]], node.args[0])])
    if node.op in ("Add", "Prod"):
        result = done[node.args[0]]
        for arg in node.args[1:]:
            result = apply("add" if node.op == "Add" else "mul", result, done[arg])
        return result
    if node.op in RAW:
        return Apply(node.args[0], tuple(done[arg] for arg in node.args[1:]))
    args = tuple(done[arg] for arg in node.args)
    if node.op == "Not":
        return _negated(args[0])
    return Apply(OP_OF_NODE[node.op], args)


_INVERSE = {"lt": "ge", "eq": "ne", "le": "gt", "gt": "le", "ge": "lt", "ne": "eq"}


def _negated(term: Index) -> Index:
    """not term, as the opposite comparison where there is one."""
    if isinstance(term, Apply) and term.op in _INVERSE:
        return Apply(_INVERSE[term.op], term.args)
    return term.args[0] if isinstance(term, Apply) and term.op == "not" else apply("not", term)
