"""Facts about the tensor and element classes of a snapshot: shapes, dtypes, who reads what, and what a load costs."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Mapping

from eqsat.egraph.snapshot import ENode, Snapshot
from eqsat.extraction.index_reader import IndexReader
from eqsat.ir.check import in_range
from eqsat.ir.index import Const, Index, Var, apply, substitute
from eqsat.ir.tensor import Shape, Tensor, axes, level_of, reduction
from eqsat.pricing.cost_model import NO_LOOPS, CostModel, Variables, loops_of
from eqsat.pricing.cycles import priced_as
from eqsat.pricing.element_costs import Access, Priced, price_access, price_position


class TensorClasses:
    """`leaves` are the inputs and constants by the number of their Leaf node.

    below    for every element class its nodes with the element classes below them
    read_by  for every element class the tensor classes that its nodes read
    users    (sort, class) of the nodes above a tensor or element class
    offers   for element classes the nodes that algebra offers: used only where they are asked for
    """

    def __init__(self, snapshot: Snapshot, leaves: list[Tensor], model: CostModel, reader: IndexReader) -> None:
        self.snapshot, self.leaves, self.model, self.reader = snapshot, leaves, model, reader
        self._accesses: dict[tuple[int, ENode], Access | None] = {}
        self._alike: dict[tuple[tuple[Index, ...], Shape, str], Access | None] = {}
        self._positions: dict[tuple[int, ENode], Index | None] = {}
        self._prices: dict[Index, Priced] = {}
        self._types: dict[int, tuple[Shape, str]] = {}
        self._leaf_of = {name: leaves[n.args[0]] for name, nodes in snapshot.classes["Tx"].items() for n in nodes if n.op == "Leaf"}
        self.offers: dict[int, frozenset[ENode]] = {}
        elements = snapshot.classes["Sx"].items()
        self.below = {name: [(node, elements_of(node)) for node in nodes] for name, nodes in elements}
        self.read_by = {name: tuple(node.args[0] for node in nodes if reads(node)) for name, nodes in elements}
        self.users: defaultdict[tuple[str, int], list[tuple[str, int]]] = defaultdict(list)
        for sort in ("Tx", "Sx"):
            for name, nodes in snapshot.classes[sort].items():
                for node in nodes:
                    for child in children_of(node):
                        self.users[child].append((sort, name))

    def leaf(self, name: int) -> Tensor | None:
        """The input or constant that a tensor class is."""
        return self._leaf_of.get(name)

    def builds(self, name: int) -> list[ENode]:
        """The functions that a tensor class is known to be made by."""
        return [node for node in self.snapshot.classes["Tx"][name] if node.op == "Build"]

    def shape_of(self, build: ENode) -> Shape:
        """The extents of a Build node."""
        return tuple(self.reader.forms[item].args[0] for item in self.reader.items(build.args[0]))

    def dtype_of(self, element: int) -> str:
        """The dtype of an element class."""
        return self.dtypes["Sx", element]

    def priced_as(self, call: ENode) -> str:
        """The operation that a call takes as long as."""
        op = call.args[0]
        return op if op != "absolute" else priced_as(op, self.dtype_of(call.args[2]))

    def tensor_type(self, name: int) -> tuple[Shape, str]:
        """Shape and dtype of a tensor class."""
        if name not in self._types:
            leaf = self.leaf(name)
            shape = leaf.shape if leaf is not None else self.shape_of(self.builds(name)[0])
            self._types[name] = shape, self.dtypes["Tx", name]
        return self._types[name]

    @functools.cached_property
    def dtypes(self) -> dict[tuple[str, int], str]:
        """The dtype of every element and tensor class: stated by some node, or that of what a node passes on."""
        known: dict[tuple[str, int], str] = {}
        classes = self.snapshot.classes
        work = [(sort, name) for sort in ("Tx", "Sx") for name in classes[sort]]
        while work:
            sort, name = work.pop()
            if (sort, name) in known:
                continue
            for node in classes[sort][name]:
                dtype = self._stated_dtype(node) or next((known[child] for child in children_of(node) if child in known), None)
                if dtype is not None:
                    known[sort, name] = dtype
                    work += self.users[sort, name]
                    break
        return known

    def _stated_dtype(self, node: ENode) -> str | None:
        if node.op == "Leaf":
            leaf: Tensor = self.leaves[node.args[0]]
            return leaf.dtype
        return str(node.args[1]) if node.op.startswith("Call") or node.op in ("Literal", "Position") else None

    def indices(self, name: int, node: ENode) -> tuple[Index, ...]:
        """The index terms of a Read or Element node of an element class.

        A loop that the class does not depend on, as one of its nodes shows, is at zero there: the class may be read under other loops.
        """
        terms = self._written(node)
        idle: dict[Var, Index] = {v: Const(0) for v in loops_of(*terms) if v.extent == 1 or v not in self.loops[name]}
        return tuple(substitute(term, idle) for term in terms) if idle else terms

    def _written(self, node: ENode) -> tuple[Index, ...]:
        return axes(self.tensor_type(node.args[0])[0]) if node.op == "Element" else self.reader.terms(node.args[1])

    def position(self, name: int, node: ENode) -> Index | None:
        """The index term of a Position node of an element class, if it is known to its end."""
        key = (name, node)
        if key not in self._positions:
            self._positions[key] = self._position(name, node)
        return self._positions[key]

    def _position(self, name: int, node: ENode) -> Index | None:
        if node.args[0] not in self.reader.forms:
            return None
        term = self.reader.term(node.args[0])
        idle: dict[Var, Index] = {v: Const(0) for v in loops_of(term) if v.extent == 1 or v not in self.loops[name]}
        found = substitute(term, idle) if idle else term
        return apply("bool", found) if node.args[1] == "bool" and found.kind != "bool" else found

    @functools.cached_property
    def loops(self) -> dict[int, Variables]:
        """The loop variables that an element class may depend on: those of all its nodes, for all have its value."""
        known: dict[int, Variables] = {}
        elements = self.snapshot.classes["Sx"]
        work = dict.fromkeys(elements)
        while work:
            todo, work = work, {}
            for name in todo:
                found = [loops for node in elements[name] if (loops := self._loops_of(node, known)) is not None]
                if found and (shared := found[0].intersection(*found[1:])) != known.get(name):
                    known[name] = shared
                    work.update((user, None) for sort, user in self.users["Sx", name] if sort == "Sx")
        return known

    def _loops_of(self, node: ENode, known: Mapping[int, Variables]) -> Variables | None:
        """The loop variables of a node; None where they are not known yet."""
        if node.op == "Element" or (node.op == "Read" and self.reader.is_list(node.args[1])):
            return loops_of(*self._written(node))
        if node.op == "Position" and node.args[0] in self.reader.forms:
            return loops_of(self.reader.term(node.args[0]))
        below = [known.get(name) for name in elements_of(node)]
        if node.op in ("Read", "Position", "At") or any(loops is None for loops in below):
            return None
        loops = NO_LOOPS.union(*(loops for loops in below if loops is not None))
        return outside(loops - {reduction(0, node.args[1])}) if node.op == "Reduce" else loops

    def priced(self, index: Index) -> Priced:
        """What the value of an index term costs."""
        if index not in self._prices:
            self._prices[index] = price_position(self.model, index)
        return self._prices[index]

    def access(self, name: int, node: ENode) -> Access | None:
        """What the load of a Read or Element node of an element class costs; None where its map is not known to its end, or its parts do
        not show that it stays in range, as those of the maps that it was composed of do."""
        if node.op == "Read" and not self.reader.is_list(node.args[1]):
            return None
        key = (name, node)
        if key not in self._accesses:
            alike = (self.indices(name, node), *self.tensor_type(node.args[0]))
            if alike not in self._alike:
                self._alike[alike] = self._access(*alike)
            self._accesses[key] = self._alike[alike]
        return self._accesses[key]

    def _access(self, indices: tuple[Index, ...], shape: Shape, dtype: str) -> Access | None:
        if not in_range(shape, indices):
            return None
        folded = sorted((v for v in loops_of(*indices) if level_of(v) is not None), key=lambda v: v.name)
        return price_access(self.model, shape, dtype, indices, folded)


def outside(loops: Variables) -> Variables:
    """Loops as they are called outside of a reduction: indices of the reduction variables around it are one less."""
    levels = ((v, level_of(v)) for v in loops)
    return frozenset(v if level is None else reduction(level - 1, v.extent) for v, level in levels)


def children_of(node: ENode) -> tuple[tuple[str, int], ...]:
    """Tensor and element classes below a node."""
    read = (("Tx", node.args[0]),) if reads(node) else ()
    return (*read, *(("Sx", name) for name in elements_of(node)))


def reads(node: ENode) -> bool:
    """Whether a node reads a tensor, its first operand."""
    return node.op in ("Read", "Element") or node.op.startswith("Gather")


def elements_of(node: ENode) -> tuple[int, ...]:
    """The element classes below a node."""
    if node.op == "Build":
        return (node.args[1],)
    if node.op.startswith("Call"):
        return tuple(node.args[2:])
    if node.op.startswith("Gather"):
        return tuple(node.args[1:])
    return (node.args[2],) if node.op == "Reduce" else ()
