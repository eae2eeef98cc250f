"""What a node costs by itself, its operands at hand: estimated nanoseconds on a target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from eqsat.egraph.forms import constants
from eqsat.egraph.index_cost import IndexWeights
from eqsat.egraph.snapshot import ENode, Snapshot
from eqsat.extraction.tensor_classes import TensorClasses, elements_of, reads
from eqsat.ir.tensor import reduction
from eqsat.pricing.cost_model import CostModel, Variables, whole
from eqsat.pricing.element_costs import Priced, price_call, price_fold, price_gather, price_position, price_read, total_ns
from eqsat.pricing.target import Target

# (sort, class, node) over the names of a snapshot, and its cost
PricedNode = tuple[str, int, ENode, float]


def price_indices(snapshot: Snapshot, target: Target, weights: IndexWeights) -> Iterator[PricedNode]:
    """Index nodes, each computed once; those that no program is made of have no cost."""
    known = constants(snapshot)
    for name, nodes in snapshot.classes["Ix"].items():
        for node in nodes:
            cycles = weights.node_cycles(node, known.get)
            if cycles is not None:
                yield "Ix", name, node, cycles / target.ghz


def price_tensors(classes: TensorClasses) -> Iterator[PricedNode]:
    """Nodes of elements, for all loops that they depend on, and builds: what storing them and starting a kernel costs."""
    for name, nodes in classes.snapshot.classes["Sx"].items():
        for node in nodes:
            priced = _element(classes, name, node)
            if priced is not None:
                yield "Sx", name, node, total_ns(priced.own)
    for name in classes.snapshot.classes["Tx"]:
        for node in classes.builds(name):
            dtype = classes.dtypes.get(("Sx", node.args[1]))
            if dtype is not None:
                yield "Tx", name, node, classes.model.store_ns(classes.shape_of(node), dtype)


def _element(classes: TensorClasses, name: int, node: ENode) -> Priced | None:
    """The price of an element node over operands that cost nothing; None where it is not known to its end."""
    model: CostModel = classes.model
    below = _operands(classes.loops, node)
    if below is None or (node.op != "Literal" and ("Sx", name) not in classes.dtypes):
        return None
    if node.op == "Literal":
        return Priced()
    if node.op == "Position":
        index = classes.position(name, node)
        return None if index is None else price_position(model, index)
    if node.op in ("Read", "Element"):
        access = classes.access(name, node)
        return None if access is None else price_read(node, node.args[0], access)
    if node.op == "Reduce":
        return price_fold(model, node, node.args[0], below[0], reduction(0, node.args[1]), classes.dtype_of(node.args[2]))
    if reads(node):
        return price_gather(model, node, below, node.args[0], *classes.tensor_type(node.args[0]))
    if not node.op.startswith("Call"):
        return None
    return price_call(model, node, below, classes.priced_as(node), node.args[1])


def _operands(loops: Mapping[int, Variables], node: ENode) -> tuple[Priced, ...] | None:
    """The elements below a node, as if they were free; None where it is not known which loops one of them depends on."""
    names = elements_of(node)
    return tuple(Priced(loops=loops[name], digits=whole(loops[name])) for name in names) if all(name in loops for name in names) else None
