"""Which nodes what was extracted is made of."""

from __future__ import annotations

from collections.abc import Iterator

from eqsat.egraph.choose import sharing_forms
from eqsat.egraph.encode import Encoder
from eqsat.egraph.forms import Forms
from eqsat.egraph.snapshot import ENode, Snapshot
from eqsat.egraph.spell import as_spelled, index_term, reachable
from eqsat.extract import Extraction
from eqsat.ir.index import Apply, Index
from eqsat.kernel_choice import choices_below
from eqsat.tensor_classes import reads

# (sort, class, node) over the names of a snapshot
Used = tuple[str, int, ENode]


def used_by_term(snapshot: Snapshot, forms: Forms, root: int, found: Index) -> list[Used]:
    """The index nodes that spell a term: those of the cheapest forms of its class, or of what a selection in that class gives under its
    condition; of a term that was kept as it is written, its n-ary form."""
    gated = [arg for node in snapshot.classes["Ix"].get(root, ()) if node.op == "Where" for arg in node.args[1:]]
    for name in (root, *gated):
        if name in forms:
            for chosen in (sharing_forms(snapshot, forms, name), forms):
                if _bare(index_term(chosen, name)) is _bare(found):
                    return list(_spelled(chosen, name))
    return list(_written(snapshot, found))


def _bare(term: Index) -> Index:
    """A term without what makes a truth value of it, or an integer."""
    return term.args[0] if isinstance(term, Apply) and term.op in ("int", "bool") else term


def _spelled(forms: Forms, root: int) -> Iterator[Used]:
    for name in dict.fromkeys((*reachable(forms, root), *reachable(as_spelled(forms, root), root))):
        yield "Ix", name, forms[name]


def _written(snapshot: Snapshot, term: Index) -> Iterator[Used]:
    """The nodes of a term that the e-graph holds, looked up from its variables on."""
    places = {node: name for name, nodes in snapshot.classes["Ix"].items() for node in nodes}
    encoder = Encoder()
    encoder.index(term)
    known: dict[int, int] = {}
    for handle, op, args in reversed(list(encoder.made())):
        node = _over(op, args, known)
        if node in places:
            known[handle] = places[node]
            yield "Ix", places[node], node


def _over(op: str, args: tuple[int | tuple[int, int] | str, ...], known: dict[int, int]) -> ENode:
    """A node over the classes of a snapshot, as far as they are known."""
    if op == "Sum":
        terms = sorted((known.get(term[0], -1), term[1]) for term in args[1:] if isinstance(term, tuple))
        return ENode(op, (args[0], *terms))
    if op in ("Num", "Var"):
        return ENode(op, args)
    found = tuple(known.get(arg, -1) for arg in args if isinstance(arg, int))
    return ENode(op, tuple(sorted(found)) if op == "Prod" else found)


def used_by_program(extraction: Extraction) -> Iterator[Used]:
    """The nodes of every kernel: its build, elements, the maps of its loads, and the arrays that these read."""
    classes, reader = extraction.classes, extraction.classes.reader
    tensors, lists, indices = list(extraction.outputs), [], []
    for name, kernel in extraction.selection.kernels.items():
        build = next(
            node for node in classes.builds(name) if node.args[1] == kernel.element.name and classes.shape_of(node) == kernel.shape
        )
        yield "Tx", name, build
        lists.append(build.args[0])
        for choice in choices_below(kernel.element):
            if choice.node is not None:
                yield "Sx", choice.name, choice.node
                tensors += [choice.node.args[0]] if reads(choice.node) else []
                lists += [choice.node.args[1]] if choice.node.op == "Read" else []
                indices += [choice.node.args[0]] if choice.node.op == "Position" else []
    for name in dict.fromkeys(tensors):
        yield from (("Tx", name, node) for node in classes.snapshot.classes["Tx"][name] if node.op == "Leaf")
    for name in dict.fromkeys(lists):
        yield from _cells(extraction, name)
        indices += reader.items(name)
    for name in dict.fromkeys(indices):
        yield from _spelled(reader.forms, name)


def _cells(extraction: Extraction, name: int) -> Iterator[Used]:
    """The cells of a list."""
    for node in extraction.classes.snapshot.classes["Ixs"][name]:
        if node.op in ("Cons", "Nil"):
            yield "Ixs", name, node
            if node.op == "Cons":
                yield from _cells(extraction, node.args[1])
            return
