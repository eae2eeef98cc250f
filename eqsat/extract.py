"""From classes to the cheapest tensor program: what to fuse, what to store, and which form of every element and index.

Every element class gets the node with the least cost over the DAG below it (parts that several operands share count once);
a tensor class is a kernel, its price the launch, the store and the parts of its body.  Reading a tensor either pays for its
kernel or takes the fused form.  Tensors that several kernels would compute again are tried as stored ones: their kernel is
paid once and their reads cost loads only.
"""

from __future__ import annotations

import functools
import heapq
import itertools
from collections import defaultdict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from eqsat.costs import (
    NO_LOOPS,
    Access,
    CostModel,
    Part,
    Parts,
    Priced,
    Variables,
    price_access,
    price_call,
    price_fold,
    price_read,
    total_ns,
)
from eqsat.egraph.encode_tensor import literal_from
from eqsat.egraph.forms import RAW, Forms, cheapest_forms
from eqsat.egraph.snapshot import ENode, Snapshot
from eqsat.egraph.spell import as_number, index_term
from eqsat.ir.index import Const, Index, substitute, variables
from eqsat.ir.tensor import Build, Call, Read, Reduce, Scalar, Shape, Tensor, axes, level_of, reduction

MAX_STORED_TRIALS = 12
AFFINE_OPS = ("add", "sub", "neg", "mul")


class IndexReader:
    """Index terms and lists of classes."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.forms: Forms = cheapest_forms(snapshot, written=True)
        self._spelled: dict[int, Index] = {}
        self._lists: dict[int, bool] = {}
        self._items: dict[int, tuple[int, ...]] = {}

    def term(self, name: int) -> Index:
        """The cheapest known term of a class."""
        if name not in self._spelled:
            self._spelled[name] = as_number(index_term(self.forms, name))
        return self._spelled[name]

    def is_stated(self, name: int) -> bool:
        """Whether the index algebra knows this class: it holds more than terms as they are written."""
        return any(node.op not in (*RAW, "Comp", "Pick", "Up") for node in self.snapshot.classes["Ix"][name])

    @functools.cached_property
    def all_affine(self) -> bool:
        """Whether no map, as written, holds an operation that index rules could simplify."""
        written = (node for nodes in self.snapshot.classes["Ix"].values() for node in nodes if node.op in RAW)
        return all(node.args[0] in AFFINE_OPS for node in written)

    def items(self, name: int) -> tuple[int, ...]:
        """The classes of a list."""
        if name not in self._items:
            cell = next((node for node in self.snapshot.classes["Ixs"][name] if node.op == "Cons"), None)
            self._items[name] = () if cell is None else (cell.args[0], *self.items(cell.args[1]))
        return self._items[name]

    def terms(self, name: int) -> tuple[Index, ...]:
        return tuple(self.term(item) for item in self.items(name))

    def is_list(self, name: int) -> bool:
        """Whether a list is spelled out to its end."""
        if name not in self._lists:
            self._lists[name] = False  # a list that is its own tail has no end
            for node in self.snapshot.classes["Ixs"].get(name, ()):
                if node.op == "Nil" or (node.op == "Cons" and node.args[0] in self.forms and self.is_list(node.args[1])):
                    self._lists[name] = True
                    break
        return self._lists[name]


@dataclass(frozen=True)
class Choice:
    """The node chosen for a class, the parts of its cost, and the loop variables that its value depends on."""

    total: float
    node: ENode
    parts: Mapping[Hashable, Part]
    loops: Variables = NO_LOOPS


@dataclass(frozen=True)
class Selection:
    """A program within the e-graph: its cost, the choices that spell it, and the choices under which each stored tensor was priced."""

    total: float
    tensors: Mapping[int, Choice]
    scalars: Mapping[int, Choice]
    stored: Mapping[int, Mapping[int, Choice]]


class Extractor:
    """Chooses a program from one snapshot; `shared` are the tensors that several others read, sources first."""

    def __init__(self, snapshot: Snapshot, leaves: list[Tensor], shared: tuple[int, ...], model: CostModel, reader: IndexReader) -> None:
        self.snapshot, self.leaves, self.model, self.reader = snapshot, leaves, model, reader
        self.shared = shared
        self._reads: dict[ENode, tuple[Parts, Variables]] = {}
        self._accesses: dict[tuple[tuple[int, ...], Shape, str], Access] = {}
        self._types: dict[int, tuple[Shape, str]] = {}
        self._users: defaultdict[tuple[str, int], list[tuple[str, int, ENode]]] = defaultdict(list)
        for sort in ("Tx", "Sx"):
            for name, nodes in snapshot.classes[sort].items():
                for node in nodes:
                    for child in children_of(node):
                        self._users[child].append((sort, name, node))

    def best(self, outputs: tuple[int, ...]) -> Selection | None:
        """The cheapest program found for these tensor classes: greedy, then tensors tried as stored ones.

        None where saturation ended before every output had a form.
        """
        best = self.select(outputs, ())
        if best is None:
            return None
        for name in self.shared[:MAX_STORED_TRIALS]:
            stored = tuple(t for t in self.shared if t in best.stored or t == name)
            trial = self.select(outputs, stored)
            if trial is not None and trial.total < best.total:
                best = trial
        return best

    def select(self, outputs: tuple[int, ...], stored: tuple[int, ...]) -> Selection | None:
        """Greedy choice of every class, with the kernels of `stored` paid once for all."""
        if any(name not in self._relaxed.tensors for name in outputs):
            return None
        state = self._relaxed.copy()
        kernels: Parts = {}
        fixed: dict[int, Choice] = {}
        views: dict[int, Mapping[int, Choice]] = {}
        for name in stored:
            if name in state.tensors:
                fixed[name], views[name] = state.tensors[name], dict(state.scalars)
                kernels.update(fixed[name].parts)
                state.make_free(name)
        for name in outputs:
            kernels.update(fixed[name].parts if name in fixed else state.tensors[name].parts)
        return Selection(total_ns(kernels), {**state.tensors, **fixed}, state.scalars, views)

    @functools.cached_property
    def _relaxed(self) -> _State:
        state = _State(self)
        state.relax_all()
        return state

    # facts about classes ---------------------------------------------------------------------------------------------
    def shape_of(self, build: ENode) -> Shape:
        """The extents of a Build node."""
        return tuple(self.reader.forms[item].args[0] for item in self.reader.items(build.args[0]))

    def dtype_of(self, scalar: int) -> str:
        """The dtype of an element class."""
        return self._dtypes["Sx", scalar]

    def tensor_type(self, name: int) -> tuple[Shape, str]:
        """Shape and dtype of a tensor class."""
        if name not in self._types:
            self._types[name] = self._shape(name), self._dtypes["Tx", name]
        return self._types[name]

    def _shape(self, name: int) -> Shape:
        for node in self.snapshot.classes["Tx"][name]:
            if node.op == "Leaf":
                leaf: Tensor = self.leaves[node.args[0]]
                return leaf.shape
        build = next(node for node in self.snapshot.classes["Tx"][name] if node.op == "Build")
        return self.shape_of(build)

    @functools.cached_property
    def _dtypes(self) -> dict[tuple[str, int], str]:
        """The dtype of every element and tensor class: stated by some node, or that of what a node passes on."""
        known: dict[tuple[str, int], str] = {}
        work = [(sort, name, node) for sort in ("Tx", "Sx") for name, nodes in self.snapshot.classes[sort].items() for node in nodes]
        while work:
            sort, name, node = work.pop()
            if (sort, name) in known:
                continue
            dtype = self._stated_dtype(node) or next((known[child] for child in children_of(node) if child in known), None)
            if dtype is not None:
                known[sort, name] = dtype
                work += self._users[sort, name]
        return known

    def _stated_dtype(self, node: ENode) -> str | None:
        if node.op == "Leaf":
            leaf: Tensor = self.leaves[node.args[0]]
            return leaf.dtype
        return str(node.args[1]) if node.op.startswith("Call") or node.op == "Literal" else None

    def indices(self, node: ENode) -> tuple[Index, ...]:
        """The index terms of a Read or Element node.

        A loop of one step is its index zero: classes that agree there may be read under other loops, where it does not occur.
        """
        terms = axes(self.tensor_type(node.args[0])[0]) if node.op == "Element" else self.reader.terms(node.args[1])
        single = {v: Const(0) for v in variables(*terms) if v.extent == 1}
        return tuple(substitute(term, single) for term in terms) if single else terms

    def read_parts(self, node: ENode) -> tuple[Parts, Variables]:
        """What a load costs, without the kernel that makes the tensor."""
        if node not in self._reads:
            priced = price_read(node, node.args[0], self._access(node))
            self._reads[node] = dict(priced.parts), priced.loops
        return self._reads[node]

    def _access(self, node: ENode) -> Access:
        shape, dtype = self.tensor_type(node.args[0])
        key = (node.args[1:], shape, dtype)
        if key not in self._accesses:
            indices = self.indices(node)
            folded = min((v for v in variables(*indices) if level_of(v) is not None), key=lambda v: v.name, default=None)
            self._accesses[key] = price_access(self.model, shape, dtype, indices, folded)
        return self._accesses[key]

    def spell(self, selection: Selection, outputs: tuple[int, ...]) -> tuple[Tensor, ...]:
        """The tensors of a selection."""
        speller = _Speller(self, selection)
        return tuple(speller.tensor(name, selection.scalars) for name in outputs)


def children_of(node: ENode) -> tuple[tuple[str, int], ...]:
    """Tensor and element classes below a node."""
    if node.op in ("Read", "Element"):
        return (("Tx", node.args[0]),)
    if node.op == "Build":
        return (("Sx", node.args[1]),)
    if node.op.startswith("Call"):
        return tuple(("Sx", arg) for arg in node.args[2:])
    return (("Sx", node.args[2]),) if node.op == "Reduce" else ()


def _outside(fold: Priced) -> Priced:
    """Leaving a reduction: indices of the reduction variables around it are one less."""
    if not any(level_of(v) is not None for v in fold.loops):
        return fold
    parts = {key: (ns, _lowered(loops)) for key, (ns, loops) in fold.parts.items()}
    return Priced(parts, _lowered(fold.loops))


def _lowered(loops: Variables) -> Variables:
    levels = ((v, level_of(v)) for v in loops)
    return frozenset(v if level is None else reduction(level - 1, v.extent) for v, level in levels)


class _State:
    """Costs of classes, lowered step by step until nothing gets cheaper."""

    def __init__(self, extractor: Extractor) -> None:
        self.x = extractor
        self.tensors: dict[int, Choice] = {}
        self.scalars: dict[int, Choice] = {}
        self.free: set[int] = set()

    def copy(self) -> _State:
        """The same costs, to be lowered further."""
        other = _State(self.x)
        other.tensors, other.scalars, other.free = dict(self.tensors), dict(self.scalars), set(self.free)
        return other

    def relax_all(self) -> None:
        """Price every class once, cheapest first: the parts of an operand are parts of what uses it, so costs only grow upwards."""
        heap: list[tuple[float, int, str, int, Choice]] = []
        order = itertools.count()

        def offer(sort: str, name: int, node: ENode) -> None:
            if name not in (self.tensors if sort == "Tx" else self.scalars):
                choice = self.price(sort, node)
                if choice is not None:
                    heapq.heappush(heap, (choice.total, next(order), sort, name, choice))

        for sort in ("Tx", "Sx"):
            for name, nodes in self.x.snapshot.classes[sort].items():
                for node in nodes:
                    if not children_of(node):
                        offer(sort, name, node)
        while heap:
            _, _, sort, name, choice = heapq.heappop(heap)
            table = self.tensors if sort == "Tx" else self.scalars
            if name not in table:
                table[name] = choice
                for user in self.x._users[sort, name]:
                    offer(*user)

    def make_free(self, name: int) -> None:
        """From here on reads of this tensor do not pay for its kernel."""
        self.free.add(name)
        self.relax(list(self.x._users[("Tx", name)]))

    def relax(self, work: list[tuple[str, int, ENode]]) -> None:
        queue = dict.fromkeys(work)
        while queue:
            todo, queue = queue, {}
            for sort, name, node in todo:
                choice = self.price(sort, node)
                table = self.tensors if sort == "Tx" else self.scalars
                known = table.get(name)
                if choice is not None and (known is None or choice.total < known.total * (1 - 1e-12)):
                    table[name] = choice
                    queue.update(dict.fromkeys(self.x._users[(sort, name)]))

    def price(self, sort: str, node: ENode) -> Choice | None:
        """The choice of this node, if everything below it has one."""
        if sort == "Tx":
            return self.price_tensor(node)
        if node.op == "Literal":
            return Choice(0.0, node, {})
        if node.op in ("Read", "Element"):
            return self.price_read(node)
        if node.op.startswith("Call") or node.op == "Reduce":
            return self.price_call(node)
        return None

    def price_tensor(self, node: ENode) -> Choice | None:
        if node.op == "Leaf":
            return Choice(0.0, node, {})
        if node.op != "Build" or node.args[1] not in self.scalars:
            return None
        body = self.scalars[node.args[1]]
        shape, dtype = self.x.shape_of(node), self.x.dtype_of(node.args[1])
        own = self.x.model.store_ns(shape, dtype)
        parts: Parts = {}
        for key, part in body.parts.items():
            if isinstance(key, tuple) and key[0] == "kernel":
                parts[key] = part
            else:
                own += part[0]
        parts["kernel", node] = own, NO_LOOPS
        return Choice(total_ns(parts), node, parts)

    def price_read(self, node: ENode) -> Choice | None:
        name = node.args[0]
        tensor = self.tensors.get(name)
        if tensor is None or (node.op == "Read" and not self.x.reader.is_list(node.args[1])):
            return None
        parts, loops = self.x.read_parts(node)
        if name not in self.free:
            parts = {**parts, **tensor.parts}
        return Choice(total_ns(parts), node, parts, loops)

    def price_call(self, node: ENode) -> Choice | None:
        below = [self.scalars.get(child) for _, child in children_of(node)]
        priced = [Priced(choice.parts, choice.loops) for choice in below if choice is not None]
        if len(priced) < len(below) or any(node in operand.parts for operand in priced):
            return None
        if node.op == "Reduce":
            fold = price_fold(self.x.model, node, priced[0], reduction(0, node.args[1]), self.x.dtype_of(node.args[2]))
            result = _outside(fold)
        else:
            result = price_call(self.x.model, node, priced, node.args[0], node.args[1])
        return Choice(total_ns(result.parts), node, result.parts, result.loops)


class _Speller:
    """Terms of `ir` from the choices of a selection."""

    def __init__(self, extractor: Extractor, selection: Selection) -> None:
        self.x, self.selection = extractor, selection
        self._tensors: dict[int, Tensor] = {}
        self._elements: dict[tuple[int, int, int], Scalar] = {}

    def tensor(self, name: int, scalars: Mapping[int, Choice]) -> Tensor:
        """A tensor class as the selection computes it; `scalars` are the choices of the kernel that asks."""
        if name not in self._tensors:
            node = self.selection.tensors[name].node
            if node.op == "Leaf":
                self._tensors[name] = self.x.leaves[node.args[0]]
            else:
                view = self.selection.stored.get(name, scalars)
                self._tensors[name] = Build(self.x.shape_of(node), self.element(node.args[1], view))
        return self._tensors[name]

    def element(self, root: int, scalars: Mapping[int, Choice], depth: int = 0) -> Scalar:
        """An element class under `depth` reductions."""
        view = id(scalars)
        stack = [(root, depth)]
        while stack:
            name, level = stack[-1]
            node = scalars[name].node
            inside = level + (node.op == "Reduce")
            missing = [(child, inside) for sort, child in children_of(node) if sort == "Sx" and (view, child, inside) not in self._elements]
            if missing:
                stack.extend(missing)
            else:
                stack.pop()
                if (view, name, level) not in self._elements:
                    self._elements[view, name, level] = self._spell(node, scalars, level)
        return self._elements[view, root, depth]

    def _spell(self, node: ENode, scalars: Mapping[int, Choice], depth: int) -> Scalar:
        if node.op == "Literal":
            return literal_from(*node.args)
        if node.op in ("Read", "Element"):
            tensor = self.tensor(node.args[0], scalars)
            return Read(tensor, tuple(_named(index, depth) for index in self.x.indices(node)))
        if node.op == "Reduce":
            op, extent, body = node.args
            return Reduce(op, reduction(depth, extent), self._elements[id(scalars), body, depth + 1])
        return Call(node.args[0], tuple(self._elements[id(scalars), arg, depth] for arg in node.args[2:]), node.args[1])


def _named(index: Index, depth: int) -> Index:
    """An index term with reduction variables named by level, outermost first, instead of de Bruijn index."""
    levels = {v: level for v in variables(index) if (level := level_of(v)) is not None}
    return substitute(index, {v: reduction(depth - 1 - level, v.extent) for v, level in levels.items()})
