"""A program with other numbers in the place of those that are made of its sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import isfinite

from eqsat.ir.dtypes import is_integer
from eqsat.ir.errors import UnsupportedError
from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import Apply, Const, Index, Var, apply, as_index, variables, walk
from eqsat.ir.steps import HostCall
from eqsat.ir.tensor import (
    Build,
    Constant,
    Gather,
    Generic,
    Input,
    Literal,
    Position,
    Program,
    Read,
    Reduce,
    Scalar,
    Shape,
    Size,
    StepResult,
    Tensor,
    as_dtype,
    index_terms,
    is_size,
    operands,
    rebuild,
    scalars,
    sources,
    tensors,
)

Extents = Callable[[int], int]
Terms = Callable[[Const | Var], Index]


def resized(program: Program, extent: Extents, term: Terms, sizes: tuple[Size, ...]) -> Program:
    """A program with other extents, and index terms in the place of constants and sizes."""
    change = _Resizing(extent, term)
    done = change.tensors(program.outputs)
    inputs = tuple(Input(one.name, change.shape(one.shape), one.dtype) for one in program.inputs)
    return Program(inputs, tuple(done[output] for output in program.outputs), program.structure, sizes)


def numbers(program: Program) -> Iterator[int]:
    """The extents and the constants in index terms of a program."""
    yield from extents(program)
    for index in indices(program):
        yield from (int(sub.value) for sub in walk(index) if isinstance(sub, Const))


def integers(program: Program) -> Iterator[int]:
    """The integers among the elements of a program."""
    for term in _elements(program):
        if isinstance(term, Literal) and is_integer(term.dtype):
            yield int(term.value.real)


def literals(program: Program) -> Iterator[float]:
    """The numbers among the elements of a program that are finite, of complex ones the real parts."""
    for term in _elements(program):
        if isinstance(term, Literal) and isfinite(number := float(term.value.real)):
            yield number


def extents(program: Program) -> Iterator[int]:
    """The numbers of iterations of a program, and of elements along axes."""
    for tensor in tensors(*program.inputs, *program.outputs):
        yield from tensor.shape
        if isinstance(tensor, Generic):
            yield from (n for _, n in tensor.iterators)
        elif isinstance(tensor, Build):
            yield from (term.variable.extent for term in scalars(tensor.body) if isinstance(term, Reduce))


def indices(program: Program) -> Iterator[Index]:
    """The index terms of a program."""
    for tensor in tensors(*program.outputs):
        if isinstance(tensor, Generic):
            yield from (index for indices in tensor.maps for index in indices)
    for term in _elements(program):
        yield from index_terms(term)


def _elements(program: Program) -> Iterator[Scalar]:
    for tensor in tensors(*program.outputs):
        if isinstance(tensor, Build | Generic):
            yield from scalars(tensor.body if isinstance(tensor, Build) else tensor.block)


class _Resizing:
    def __init__(self, extent: Extents, term: Terms) -> None:
        self.extent, self.term = extent, term
        self.indices: dict[Index, Index] = {}

    def shape(self, shape: Shape) -> Shape:
        return tuple(map(self.extent, shape))

    def tensors(self, roots: tuple[Tensor, ...]) -> dict[Tensor, Tensor]:
        done: dict[Tensor, Tensor] = {}
        for tensor in tensors(*roots):
            done[tensor] = self._tensor(tensor, done)
        return done

    def _tensor(self, tensor: Tensor, done: dict[Tensor, Tensor]) -> Tensor:
        if isinstance(tensor, Input):
            return Input(tensor.name, self.shape(tensor.shape), tensor.dtype)
        if isinstance(tensor, Build):
            return Build(self.shape(tensor.shape), self._scalar(tensor.body, done))
        if isinstance(tensor, Generic):
            iterators = tuple((kind, self.extent(n)) for kind, n in tensor.iterators)
            maps = tuple(tuple(map(self.index, indices)) for indices in tensor.maps)
            given = tuple(done[operand] for operand in tensor.operands)
            return Generic(iterators, maps, given, self._scalar(tensor.block, done), tensor.combine)
        if isinstance(tensor, StepResult) and isinstance(tensor.step, HostCall):
            given = tuple(done[source] for source in sources(tensor))
            made = tuple((self.shape(shape), dtype) for shape, dtype in tensor.step.made)
            return StepResult(replace(tensor.step, given=given, made=made), tensor.position)
        if isinstance(tensor, StepResult):
            raise UnsupportedError("fori: found a loop in a program with sizes that are known at run time only; give spec numbers")
        assert isinstance(tensor, Constant)
        return tensor

    def _scalar(self, root: Scalar, done: dict[Tensor, Tensor]) -> Scalar:
        known: dict[Scalar, Scalar] = {}
        for term in scalars(root):
            args = tuple(known[arg] for arg in operands(term))
            if isinstance(term, Read):
                known[term] = Read(done[term.tensor], tuple(map(self.index, term.indices)))
            elif isinstance(term, Position):
                known[term] = Position(self.index(term.index), term.dtype)
            elif isinstance(term, Gather):
                known[term] = Gather(done[term.tensor], args, term.checked)
            elif isinstance(term, Reduce):
                known[term] = Reduce(term.op, self._loop(term.variable), args[0])
            elif isinstance(term, Literal) and is_integer(term.dtype):
                index = self.term(Const(int(term.value.real)))
                known[term] = term if isinstance(index, Const) else as_dtype(Position(index, "int64"), term.dtype)
            else:
                known[term] = rebuild(term, args)
        return known[root]

    def _loop(self, variable: Var) -> Var:
        return Var(variable.name, variable.lo, self.extent(variable.extent) - 1 + variable.lo)

    def index(self, index: Index) -> Index:
        for term in walk(index):
            if term in self.indices:
                continue
            if isinstance(term, Apply):
                found = apply(term.op, *(self.indices[arg] for arg in term.args))
                known = not variables(found) and bool(variables(term))
                self.indices[term] = as_index(evaluate_index(found, {})) if known else found
            elif isinstance(term, Const) or (isinstance(term, Var) and is_size(term)):
                self.indices[term] = self.term(term)
            else:
                assert isinstance(term, Var)
                self.indices[term] = self._loop(term)
        return self.indices[index]
