"""Which nodes what was extracted is made of."""

from __future__ import annotations

from collections.abc import Iterator

from eqsat.egraph.choose import sharing_forms
from eqsat.egraph.encode import Encoder
from eqsat.egraph.forms import Forms
from eqsat.egraph.index_cost import IndexWeights
from eqsat.egraph.snapshot import ENode, Snapshot
from eqsat.egraph.spell import as_spelled, index_term, reachable
from eqsat.exploring.recording import over
from eqsat.extraction.extract import Extraction
from eqsat.extraction.kernel_choice import choices_below
from eqsat.extraction.tensor_classes import reads
from eqsat.ir.index import Apply, Const, Index

# (sort, class, node) over the names of a snapshot
Used = tuple[str, int, ENode]


def used_by_term(snapshot: Snapshot, forms: Forms, encoder: Encoder, root: int, found: Index, weights: IndexWeights) -> Iterator[Used]:
    """The index nodes that spell a term: those of the cheapest forms of its class, or of what a selection in that class gives under its
    condition; of a term that was kept as it is written, what the encoder made of it.  `root` is a handle."""
    top = snapshot.name(root)
    gated = [arg for node in snapshot.classes["Ix"].get(top, ()) if node.op == "Where" for arg in node.args[1:]]
    for name in (top, *gated):
        for chosen, term in _terms_of(snapshot, forms, name, weights):
            if _bare(term) is _bare(found):
                return _spelled(chosen, name)
    return _written(snapshot, forms, encoder, top)


def gives(snapshot: Snapshot, forms: Forms, name: int, found: Index, weights: IndexWeights) -> tuple[bool, Index | None]:
    """Whether the cheapest forms of a class are this term, and the cheapest term that they are."""
    terms = [term for _, term in _terms_of(snapshot, forms, name, weights)]
    return any(_bare(term) is _bare(found) for term in terms), terms[0] if terms else None


def _terms_of(snapshot: Snapshot, forms: Forms, name: int, weights: IndexWeights) -> Iterator[tuple[Forms, Index]]:
    """The terms that a class may be spelled as: with what can be shared shared, and by cheapest nodes."""
    for chosen in (sharing_forms(snapshot, forms, name, weights), forms) if name in forms else ():
        yield chosen, index_term(chosen, name)


def _bare(term: Index) -> Index:
    """A term without what makes a truth value of it, or an integer."""
    if isinstance(term, Const):
        return Const(int(term.value))
    return term.args[0] if isinstance(term, Apply) and term.op in ("int", "bool") else term


def _spelled(forms: Forms, root: int) -> Iterator[Used]:
    for name in dict.fromkeys((*reachable(forms, root), *as_spelled(forms, root)[1])):
        yield "Ix", name, forms[name]


def _written(snapshot: Snapshot, forms: Forms, encoder: Encoder, root: int) -> Iterator[Used]:
    """The nodes of a class as they are written; where such a node is none any more, its class' cheapest form."""
    chosen = dict(forms)
    written: set[int] = set()
    for handle, op, args in reversed(list(encoder.made())):  # operands first, so that no class is made of itself
        name = snapshot.names["Ix"].get(handle)
        if name is not None and name not in written:
            node = over(ENode(op, args), lambda _, handle: snapshot.names["Ix"].get(handle, handle))
            if node in snapshot.classes["Ix"].get(name, ()):
                chosen[name] = node
                written.add(name)
    yield from (("Ix", name, chosen[name]) for name in reachable(chosen, root))


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
