"""A model of an e-graph: one value for every class, against which every node of the class is checked.

If each node gives the value of its class from the values of the classes below it, then every term that can be spelled from
the class has that value: all forms are checked at once, without spelling any of them.

A value is an array over a common list of dimensions, one for every variable and loop axis in the e-graph, with extent 1 where the
class does not depend on it.  Classes that only hold pending substitutions have no value.

A term has no value where it divides by zero; a term that equals it may have one.  So an index class has a value at a point where
one of its nodes has one, all nodes that have one there agree, and the points at which no node has one are its hole.

`Given x k` is some value within its bounds, and x where x is within them; it has none where a relation with others does not hold.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from eqsat.egraph.encode_tensor import literal_from
from eqsat.egraph.forms import SIGNS, index_children
from eqsat.egraph.linear import Linear
from eqsat.egraph.schema import INDEX_NODES, OP_OF_NODE
from eqsat.egraph.snapshot import ENode, Snapshot
from eqsat.ir.index import OPS, Var
from eqsat.ir.ops import REDUCE_OPS, SCALAR_OPS

Array = np.ndarray[Any, Any]
Class = tuple[str, int]
Mask = np.ndarray[Any, np.dtype[np.bool_]]
SORTS = ("Ix", "Ixs", "Sx", "Tx")
LOOPS = ("Var", "Axis", "RAxis")
INDEX_OPS = frozenset(node.name for node in INDEX_NODES if node.name not in ("Num", *LOOPS)) | {"Sum", "Prod"}


class IllFormedError(Exception):
    """A node that no program can hold: a read out of bounds, or an element that depends on loops that are not around it."""


class Model:
    """Values of the classes of a snapshot; `leaves` are the arrays of its Leaf nodes, `variables` have dimensions in any case."""

    def __init__(
        self,
        snapshot: Snapshot,
        leaves: Sequence[Array] = (),
        variables: Sequence[Var] = (),
        relations: Mapping[int, Sequence[Linear]] | None = None,
    ) -> None:
        self.snapshot, self.leaves = snapshot, leaves
        loops = {*_loops(snapshot, leaves), *(("Var", *v.identity()) for v in variables)}
        self.dimension = {loop: position for position, loop in enumerate(sorted(loops))}
        self.values: dict[Class, Any] = {}
        self.holes: dict[Class, Mask] = {}
        self._given = {node: name for name, nodes in snapshot.classes["Ix"].items() for node in nodes if node.op == "Given"}
        self._relations = {snapshot.name(handle): forms for handle, forms in (relations or {}).items() if handle in snapshot.names["Ix"]}
        self.checked = 0
        self.broken: list[str] = []
        self._solve()

    def index(self, handle: int) -> Array:
        """The value of the index class that a handle names; masked where it has none."""
        return self._masked(self.snapshot.name(handle))

    def _masked(self, name: int) -> Array:
        value, hole = self.values["Ix", name], self.holes.get(("Ix", name))
        if hole is None:
            return value  # type: ignore[no-any-return]
        shape = np.broadcast_shapes(value.shape, hole.shape)
        return np.ma.masked_array(np.broadcast_to(value, shape), mask=np.broadcast_to(hole, shape))

    def grid(self, variable: Var) -> Array:
        """All values of a variable, along its dimension."""
        return self._leaf(ENode("Var", variable.identity()))

    def tensor(self, handle: int) -> Array:
        """The value of the tensor class that a handle names."""
        return self.values["Tx", self.snapshot.name(handle, "Tx")]  # type: ignore[no-any-return]

    def gives(self, node: ENode, name: int) -> bool:
        """Whether an index node has the value of a class wherever it has one."""
        found = self._checked_value(node)
        return found is not None and _equal(found[0], self.values["Ix", name], found[1])

    def violations(self) -> list[str]:
        """Every node that is ill-formed or whose value is not that of its class, and every class whose values leave its bounds."""
        wrong = []
        for sort, name, node in self._nodes():
            found = self._checked_value(node)
            if found is not None:
                self.checked += 1
                if not _equal(found[0], self.values[sort, name], found[1]):
                    wrong.append(f"{sort} {name}: {node} is not {self.snapshot.classes[sort][name]}")
        wrong += self.broken
        for name, (lo, hi) in self.snapshot.bounds.items():
            if ("Ix", name) in self.values:
                value = self._masked(name)
                if not np.ma.filled((lo <= value) & (value <= hi), True).all():
                    wrong.append(f"class {name} has bounds {lo}..{hi}, values {value.min()}..{value.max()}")
        return wrong

    def _nodes(self) -> Iterator[tuple[str, int, ENode]]:
        for sort in SORTS:
            for name, nodes in self.snapshot.classes[sort].items():
                yield from ((sort, name, node) for node in nodes)

    def _solve(self) -> None:
        """Give every class the value of one of its nodes, and in its hole of others, until no class gets more."""
        todo = list(self._nodes())
        progress = True
        while progress:
            progress, later = False, []
            for sort, name, node in todo:
                if (sort, name) not in self.values or (sort, name) in self.holes:
                    found = self._checked_value(node)
                    progress |= found is not None and self._fill((sort, name), *found)
                    later.append((sort, name, node))
            todo = later
        self.broken.clear()

    def _fill(self, key: Class, value: Any, hole: Mask | None) -> bool:
        """Give a class a value outside of a hole, where it has none yet -> whether that is anywhere."""
        before = self.holes.pop(key, None) if key in self.values else np.ones((), bool)
        assert before is not None
        left = None if hole is None or not np.any(before & hole) else before & hole
        if key not in self.values:
            self.values[key] = value
        elif left is not None and not np.any(before & ~left):
            self.holes[key] = before
            return False
        else:
            self.values[key] = np.where(before, value, self.values[key])
        if left is not None:
            self.holes[key] = left
        return True

    def _checked_value(self, node: ENode) -> tuple[Any, Mask | None] | None:
        """The value and hole of a node, None if it has no value."""
        try:
            value, hole = self._value(node), self._hole(node)
        except IllFormedError as error:
            self.broken.append(f"{node}: {error}")
            return None
        return None if value is None else (value, hole)

    def _hole(self, node: ENode) -> Mask | None:
        """Where an index node has no value: where an operand has none, and where it divides by zero."""
        if node.op not in INDEX_OPS:
            return None
        children = [("Ix", child) for child in index_children(node)]
        holes = [self.holes[child] for child in children if child in self.holes]
        if node.op == "Given":
            holes += self._unrelated(node)
        op = OP_OF_NODE.get(node.op, node.args[0] if node.op.startswith("Raw") else "")
        if op in ("floordiv", "mod") and children[1] in self.values and not np.all(self.values[children[1]]):
            holes.append(self.values[children[1]] == 0)
        if op in ("shl", "shr") and children[1] in self.values and np.any(self.values[children[1]] < 0):
            holes.append(self.values[children[1]] < 0)
        return functools.reduce(np.logical_or, holes) if holes else None

    def _value(self, node: ENode) -> Any:
        """The value of a node from those of its operands, None if one has none."""
        if node.op in ("Num", *LOOPS):
            return self._leaf(node)
        if node.op == "Sum":
            parts = [(self.values.get(("Ix", atom)), k) for atom, k in node.args[1:]]
            known = all(part is not None for part, _ in parts)
            return sum((k * part for part, k in parts), self._constant(node.args[0])) if known else None
        if node.op in ("Nil", "Cons"):
            return self._list(node)
        if node.op == "Leaf":
            return self.leaves[node.args[0]]
        if node.op == "Literal":
            return self._constant(np.dtype(node.args[1]).type(literal_from(*node.args).value))
        if node.op in ("Read", "Element", "Position", "Build", "Reduce") or node.op.startswith(("Call", "Gather")):
            return self._element(node)
        if node.op == "Scale":
            below = self.values.get(("Ix", node.args[1]))
            return None if below is None else node.args[0] * below
        if node.op == "Given":
            return self._given_value(node)
        if node.op in INDEX_OPS:
            return self._operation(node)
        return None

    def _given_value(self, node: ENode) -> Any:
        below = self.values.get(("Ix", node.args[0]))
        return None if below is None else np.clip(below, *self.snapshot.bounds[self._given[node]])

    def _unrelated(self, node: ENode) -> list[Mask]:
        """Where what is given of several does not hold: nothing is said of them there."""
        holes = []
        given = {name: other for other, name in self._given.items()}
        for form in self._relations.get(self._given[node], ()):
            parts = [(self._given_value(given[self.snapshot.name(atom)]), k) for atom, k in form.terms if self.snapshot.name(atom) in given]
            if len(parts) == len(form.terms) and all(part is not None for part, _ in parts):
                holes.append(sum((k * part for part, k in parts), self._constant(form.constant)) < 0)
        return holes

    def _constant(self, value: Any) -> Array:
        return np.full((1,) * len(self.dimension), value)

    def _leaf(self, node: ENode) -> Array:
        if node.op == "Num":
            return self._constant(node.args[0])
        lo, hi = node.args[1:] if node.op == "Var" else (0, node.args[1] - 1)
        return self._spread(np.arange(lo, hi + 1), [(node.op, *node.args)])

    def _list(self, node: ENode) -> tuple[Array, ...] | None:
        if node.op == "Nil":
            return ()
        head, tail = self.values.get(("Ix", node.args[0])), self.values.get(("Ixs", node.args[1]))
        if ("Ix", node.args[0]) in self.holes:
            return None
        return None if head is None or tail is None else (head, *tail)

    def _operation(self, node: ENode) -> Array | None:
        raw = node.op.startswith("Raw")
        args: list[Any] = [self.values.get(("Ix", arg)) for arg in (node.args[1:] if raw else node.args)]
        if any(arg is None for arg in args):
            return None
        if node.op in ("Add", "Prod", "Mul"):
            return np.asarray(sum(args) if node.op == "Add" else prod(args))
        if node.op in SIGNS:
            return np.asarray(args[0] >= 0 if node.op == "Nonneg" else args[0] == 0).astype(np.int64)
        op = node.args[0] if raw else OP_OF_NODE[node.op]
        if op in ("floordiv", "mod"):
            args[1] = np.where(args[1] == 0, 1, args[1])
        elif op in ("shl", "shr"):
            args[1] = np.maximum(args[1], 0)
        return OPS[op].evaluate(*args) + np.zeros((), np.int64)  # type: ignore[no-any-return]

    def _element(self, node: ENode) -> Array | None:
        below = [self.values.get(child) for child in _children(node)]
        if any(value is None for value in below):
            return None
        if node.op == "Element":
            return self._spread(below[0], _axes(below[0].shape))  # type: ignore[union-attr, arg-type]
        if node.op == "Read":
            return self._read(below[0], below[1])  # type: ignore[arg-type]
        if node.op == "Position":
            return np.asarray(below[0]).astype(node.args[1])
        if node.op.startswith("Gather"):
            tensor, *found = (np.asarray(value) for value in below)
            return np.asarray(tensor[tuple(np.clip(place, 0, n - 1) for place, n in zip(found, tensor.shape, strict=True))])
        if node.op == "Build":
            return self._build(tuple(int(n.item()) for n in below[0]), below[1])  # type: ignore[union-attr, arg-type]
        if node.op == "Reduce":
            return self._fold(node.args[0], node.args[1], below[0])  # type: ignore[arg-type]
        result = below[0].astype(node.args[1]) if node.args[0] == "astype" else SCALAR_OPS[node.args[0]].meaning(*below)  # type: ignore[union-attr]
        return np.asarray(result)

    def _read(self, tensor: Array, indices: tuple[Array, ...]) -> Array:
        assert len(indices) == tensor.ndim
        for index, extent in zip(indices, tensor.shape, strict=True):
            if index.min() < 0 or index.max() >= extent:
                raise IllFormedError(f"reads {index.min()}..{index.max()} of {extent}")
        return tensor[indices] if indices else self._constant(tensor[()])

    def _spread(self, array: Array, loops: Sequence[tuple[Any, ...]]) -> Array:
        """An array whose axes run with these loops."""
        positions = [self.dimension[loop] for loop in loops]
        shape = [1] * len(self.dimension)
        for position, extent in zip(positions, array.shape, strict=True):
            shape[position] = extent
        return array.transpose(np.argsort(positions)).reshape(shape)

    def _build(self, shape: tuple[int, ...], body: Array) -> Array:
        positions = [self.dimension[loop] for loop in _axes(shape)]
        full = [1] * len(self.dimension)
        for position, extent in zip(positions, shape, strict=True):
            full[position] = extent
        if any(n > 1 for position, n in enumerate(body.shape) if position not in positions):
            raise IllFormedError("depends on a loop that is not around it")
        ordered = np.broadcast_to(body, full)
        return ordered.reshape([shape[k] for k in np.argsort(positions)]).transpose(np.argsort(np.argsort(positions)))

    def _fold(self, op: str, extent: int, body: Array) -> Array:
        """Fold the innermost reduction variable; the others are then one level further in."""
        folded = self.dimension["RAxis", 0, extent]
        shape = list(body.shape)
        shape[folded] = extent
        result: Array = REDUCE_OPS[op].meaning(np.broadcast_to(body, shape), axis=folded, dtype=body.dtype, keepdims=True)
        for kind, level, n in sorted((loop for loop in self.dimension if loop[0] == "RAxis"), key=lambda loop: int(loop[1])):
            here = self.dimension[kind, level, n]
            if result.shape[here] > 1:
                below = self.dimension[kind, level - 1, n]
                if result.shape[below] > 1:
                    raise IllFormedError("two reduction variables of one level")
                result = result.swapaxes(here, below)
        return result


def _loops(snapshot: Snapshot, leaves: Sequence[Array]) -> set[tuple[Any, ...]]:
    """Every variable and loop axis that a class can depend on."""
    nodes = [node for sort in SORTS for group in snapshot.classes[sort].values() for node in group]
    loops = {(node.op, *node.args) for node in nodes if node.op in LOOPS}
    depth = 1 + max((loop[1] for loop in loops if loop[0] == "RAxis"), default=0)
    extents = {loop[2] for loop in loops if loop[0] == "RAxis"} | {node.args[1] for node in nodes if node.op == "Reduce"}
    constants = {node.args[0] for node in nodes if node.op == "Num"}
    shapes = {n for leaf in leaves for n in leaf.shape} | {n for n in constants if n > 0} if leaves else set()
    rank = 1 + max((leaf.ndim for leaf in leaves), default=0)
    bound = {("RAxis", level, n) for level in range(depth) for n in extents}
    return loops | bound | {("Axis", k, n) for k in range(rank) for n in shapes} | set(_long_axes(snapshot, rank))


def _long_axes(snapshot: Snapshot, rank: int) -> Iterator[tuple[Any, ...]]:
    """The axes from this one on of builds that have more."""
    numbers = {name: node.args[0] for name, nodes in snapshot.classes["Ix"].items() for node in nodes if node.op == "Num"}
    cells = {name: node.args for name, nodes in snapshot.classes["Ixs"].items() for node in nodes if node.op == "Cons"}
    for build in (node for nodes in snapshot.classes["Tx"].values() for node in nodes if node.op == "Build"):
        extents, rest = [], build.args[0]
        while rest in cells:
            head, rest = cells[rest]
            extents.append(numbers[head])
        yield from (("Axis", k, n) for k, n in enumerate(extents) if k >= rank)


def _axes(shape: tuple[int, ...]) -> list[tuple[Any, ...]]:
    return [("Axis", k, n) for k, n in enumerate(shape)]


def _children(node: ENode) -> list[Class]:
    if node.op == "Element":
        return [("Tx", node.args[0])]
    if node.op == "Read":
        return [("Tx", node.args[0]), ("Ixs", node.args[1])]
    if node.op == "Position":
        return [("Ix", node.args[0])]
    if node.op.startswith("Gather"):
        return [("Tx", node.args[0]), *(("Sx", arg) for arg in node.args[1:])]
    if node.op == "Build":
        return [("Ixs", node.args[0]), ("Sx", node.args[1])]
    return [("Sx", arg) for arg in (node.args[2:] if node.op.startswith("Call") else node.args[2:3])]


def _equal(a: Any, b: Any, hole: Mask | None = None) -> bool:
    """Whether two values agree outside of a hole."""
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(_equal, a, b))
    same = a == b if hole is None else (a == b) | hole
    return bool(np.all(same)) and (a.dtype == b.dtype or {a.dtype.kind, b.dtype.kind} == {"b", "i"})
