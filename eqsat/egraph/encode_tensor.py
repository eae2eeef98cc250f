"""Tensor programs into the e-graph."""

from __future__ import annotations

import numpy as np

from eqsat.egraph.encode import Encoder
from eqsat.ir.errors import InternalError
from eqsat.ir.index import Index, Var
from eqsat.ir.tensor import (
    Arg,
    Build,
    Call,
    Generic,
    Literal,
    Program,
    Read,
    Reduce,
    Scalar,
    Shape,
    Tensor,
    axes,
    tensors,
)

NO_FOLD = "none"


class TensorEncoder:
    """Encodes tensors through an Encoder; `leaves` are the inputs and constants by the number of their Leaf node."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self.leaves: list[Tensor] = []
        self.handles: dict[Tensor, int] = {}

    def program(self, program: Program) -> tuple[int, ...]:
        """Handles of the outputs."""
        for tensor in tensors(*program.outputs):
            self.handles[tensor] = self._tensor(tensor)
        return tuple(self.handles[output] for output in program.outputs)

    def _tensor(self, tensor: Tensor) -> int:
        if isinstance(tensor, Generic):
            return self._generic(tensor)
        node = self.encoder.node
        if isinstance(tensor, Build):
            body = _Body(self, tensor.shape).scalar(tensor.body)
            return node("Generic", self.extents(tensor.shape), NO_FOLD, node("Nil"), body, node("NoOps"))
        self.leaves.append(tensor)
        return node("Leaf", len(self.leaves) - 1)

    def _generic(self, tensor: Generic) -> int:
        node = self.encoder.node
        operands = node("NoOps")
        for operand, indices in zip(reversed(tensor.operands), reversed(tensor.maps), strict=True):
            if is_identity(indices, operand, tensor.shape):
                operands = node("Whole", self.handles[operand], operands)
            else:
                operands = node("Operand", self.handles[operand], self.index_list(indices, tensor.reductions), operands)
        folded = self.extents(tuple(r.extent for r in tensor.reductions))
        block = _Body(self, ()).scalar(tensor.block)
        return node("Generic", self.extents(tensor.shape), tensor.combine or NO_FOLD, folded, block, operands)

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
    """Encodes the function of one tensor of a given shape, as syntax."""

    def __init__(self, tensors: TensorEncoder, shape: Shape) -> None:
        self.tensors, self.shape = tensors, shape
        self._done: dict[tuple[Scalar, tuple[Var, ...]], int] = {}

    def scalar(self, term: Scalar, reductions: tuple[Var, ...] = ()) -> int:
        """The handle of an element under these reductions."""
        key = (term, reductions)
        if key not in self._done:
            self._done[key] = self._scalar(term, reductions)
        return self._done[key]

    def _scalar(self, term: Scalar, reductions: tuple[Var, ...]) -> int:
        node = self.tensors.encoder.node
        if isinstance(term, Literal):
            return node("QLiteral", literal_text(term), term.dtype)
        if isinstance(term, Read):
            handle = self.tensors.handles[term.tensor]
            if is_identity(term.indices, term.tensor, self.shape):
                return node("QElement", handle)
            return node("QRead", handle, self.tensors.index_list(term.indices, reductions))
        if isinstance(term, Call):
            return node(f"QCall{len(term.args)}", term.op, term.dtype, *(self.scalar(arg, reductions) for arg in term.args))
        if isinstance(term, Reduce):
            return node("QReduce", term.op, term.variable.extent, self.scalar(term.body, (*reductions, term.variable)))
        if isinstance(term, Arg):
            return node("QArg", term.position)
        raise InternalError(f"encode: no e-node for {type(term).__name__}")


def is_identity(indices: tuple[Index, ...], tensor: Tensor, shape: Shape) -> bool:
    """Whether a tensor is read at the loops of a result of the same shape, in order."""
    return tensor.shape == shape and all(a is b for a, b in zip(indices, axes(shape), strict=True))


def literal_text(literal: Literal) -> str:
    """The bytes of a constant, exactly."""
    return np.array(literal.value, literal.dtype).tobytes().hex()


def literal_from(text: str, dtype: str) -> Literal:
    """The constant that `literal_text` wrote."""
    return Literal(np.frombuffer(bytes.fromhex(text), dtype)[0].item(), dtype)
