"""Tensor programs into the e-graph."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from eqsat.egraph.encode import Encoder
from eqsat.egraph.laws import Law, laws_of, text_of
from eqsat.egraph.schema import CONSTRUCTORS, GATHER_RANKS
from eqsat.egraph.snapshot import ENode, Snapshot
from eqsat.ir.errors import InternalError, UnsupportedError
from eqsat.ir.generics import as_build
from eqsat.ir.index import Index, Var
from eqsat.ir.tensor import (
    Build,
    Call,
    Gather,
    Generic,
    Literal,
    Position,
    Program,
    Read,
    Reduce,
    Scalar,
    Shape,
    Tensor,
    axes,
    operands as scalar_operands,
    tensors,
)


class TensorEncoder:
    """Encodes tensors through an Encoder; `leaves` are the inputs and constants by the number of their Leaf node."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self.leaves: list[Tensor] = []
        self.handles: dict[Tensor, int] = {}
        self._places: dict[Tensor, int] = {}
        self._elements: dict[Build, tuple[int, str, tuple[int | str, ...]]] = {}
        self._laws: set[Law] = set()

    def program(self, program: Program) -> tuple[int, ...]:
        """Handles of the outputs."""
        for tensor in tensors(*program.outputs):
            self.handles[tensor] = self._tensor(tensor)
        return tuple(self.handles[output] for output in program.outputs)

    def made(self, *made: Tensor) -> None:
        """Encode tensors and all that they read, if that is not done."""
        for tensor in tensors(*made):
            if tensor not in self.handles:
                self.handles[tensor] = self._tensor(tensor)

    def offer(self, build: Build, tensor: Tensor) -> None:
        """State that a build is a tensor of the program; a movement of what comes before that takes its place in the order, so that
        readers may go through either."""
        place = self._places.get(tensor)
        if place is not None and isinstance(build.body, Read) and self._places.get(build.body.tensor, place) < place:
            self._places[build] = place
        self.equate(build, self.handles[tensor])

    def equate(self, build: Build, handle: int | None) -> None:
        """State that a build is the tensor whose class has this handle, if it is one of the program."""
        self.made(build)
        if handle is not None and handle != self.handles[build]:
            self.encoder.facts["same tensor"].append((handle, self.handles[build]))

    def element(self, build: Build, snapshot: Snapshot) -> tuple[int, ENode]:
        """The handle of a build's element, and its node as it was encoded, over the classes of a snapshot."""
        handle, name, operands = self._elements[build]
        sorts = zip(CONSTRUCTORS[name].operands, operands, strict=True)
        return handle, ENode(
            name, tuple(snapshot.name(value, sort) if isinstance(value, int) and sort != "i64" else value for sort, value in sorts)
        )

    def state(self, laws: Iterable[Law]) -> None:
        """State laws that are not stated yet."""
        for law in laws:
            if law not in self._laws:
                self._laws.add(law)
                number, *names = law
                self.encoder.facts["law"].append((number, *map(self.encoder.name, names)))

    def _tensor(self, tensor: Tensor) -> int:
        node = self.encoder.node
        if isinstance(tensor, Build | Generic):
            return self._generic(as_build(tensor) if isinstance(tensor, Generic) else tensor)
        self._places[tensor] = -1
        self.leaves.append(tensor)
        return node("Leaf", len(self.leaves) - 1)

    def _generic(self, build: Build) -> int:
        """A tensor with its place in the order of the program: its function reads tensors before it only."""
        place = self._places.setdefault(build, len(self.handles))
        body = _Body(self, build.shape)
        function, element = body.scalar(build.body)
        handle = self.encoder.node("Generic", place, self.extents(build.shape), function, element)
        self._elements[build] = (element, *body.node_of(build.body))
        self.encoder.facts["rank"].append((handle, place))
        return handle

    def extents(self, shape: tuple[int, ...]) -> int:
        """A list of constants."""
        result = self.encoder.node("Nil")
        for extent in reversed(shape):
            result = self.encoder.node("Cons", self.encoder.number(extent), result)
        return result

    def index_list(self, indices: tuple[Index, ...], reductions: tuple[Var, ...]) -> int:
        """A list of index terms as they are written, under these reductions."""
        result = self.encoder.node("Nil")
        for index in reversed(indices):
            result = self.encoder.node("Cons", self.encoder.written(index, reductions), result)
        return result


class _Body:
    """Encodes the function of one tensor of a given shape: as syntax and as an element, node by node."""

    def __init__(self, tensors: TensorEncoder, shape: Shape) -> None:
        self.tensors, self.shape = tensors, shape
        self._done: dict[tuple[Scalar, tuple[Var, ...]], tuple[int, int]] = {}

    def scalar(self, root: Scalar) -> tuple[int, int]:
        """The handles of the function and of the element."""
        stack: list[tuple[Scalar, tuple[Var, ...]]] = [(root, ())]
        while stack:
            term, reductions = stack[-1]
            inside = (*reductions, term.variable) if isinstance(term, Reduce) else reductions
            missing = [(below, inside) for below in scalar_operands(term) if (below, inside) not in self._done]
            if missing:
                stack.extend(missing)
            else:
                stack.pop()
                self._done[term, reductions] = self._scalar(term, reductions, [self._done[b, inside] for b in scalar_operands(term)])
        return self._done[root, ()]

    def _scalar(self, term: Scalar, reductions: tuple[Var, ...], below: list[tuple[int, int]]) -> tuple[int, int]:
        name, parameters = self._node(term, reductions)
        self.tensors.state(laws_of(term))
        node = self.tensors.encoder.node
        return node(f"Q{name}", *parameters, *(f for f, _ in below)), node(name, *parameters, *(e for _, e in below))

    def node_of(self, root: Scalar) -> tuple[str, tuple[int | str, ...]]:
        """The kind of the element node that an encoded function has at its root, and its operands."""
        name, parameters = self._node(root, ())
        inside = (root.variable,) if isinstance(root, Reduce) else ()
        return name, (*parameters, *(self._done[below, inside][1] for below in scalar_operands(root)))

    def _node(self, term: Scalar, reductions: tuple[Var, ...]) -> tuple[str, tuple[int | str, ...]]:
        """The kind of a node and its operands but for elements."""
        if isinstance(term, Literal):
            return "Literal", (text_of(term), term.dtype)
        if isinstance(term, Read):
            handle = self.tensors.handles[term.tensor]
            if is_identity(term.indices, term.tensor, self.shape):
                return "Element", (handle,)
            return "Read", (handle, self.tensors.index_list(term.indices, reductions))
        if isinstance(term, Gather):
            if len(term.args) not in GATHER_RANKS:
                raise UnsupportedError(
                    f"gather: found an array of {len(term.args)} dimensions, expected 1 to {max(GATHER_RANKS)}; reshape it"
                )
            return f"Gather{len(term.args)}", (self.tensors.handles[term.tensor],)
        if isinstance(term, Position):
            return "Position", (self.tensors.encoder.written(term.index, reductions), term.dtype)
        if isinstance(term, Call):
            return f"Call{len(term.args)}", (term.op, term.dtype)
        if isinstance(term, Reduce):
            return "Reduce", (term.op, term.variable.extent)
        raise InternalError(f"encode: no e-node for {type(term).__name__}")


def is_identity(indices: tuple[Index, ...], tensor: Tensor, shape: Shape) -> bool:
    """Whether a tensor is read at the loops of a result of the same shape, in order."""
    return tensor.shape == shape and all(a is b for a, b in zip(indices, axes(shape), strict=True))


def literal_from(text: str, dtype: str) -> Literal:
    """The constant that `text_of` wrote."""
    return Literal(np.frombuffer(bytes.fromhex(text), dtype)[0].item(), dtype)
