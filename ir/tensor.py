"""Tensor programs: what to compute, element by element.

    program ::= Program(inputs, outputs, structure)               structure: how the results are nested (structure.py)
    tensor  ::= Input(name, shape, dtype)
              | Constant(data)                                  an array known when the program is made
              | Build(shape, scalar)                            build N (i -> scalar); reads i0 .. i(rank-1)
              | Generic(iterators, maps, operands, block, combine)
              | StepResult(step, position)                      an array that a step makes of whole arrays; steps: steps.py
    scalar  ::= Literal(value, dtype)
              | Read(tensor, indices)                           one index expression a dimension
              | Position(index, dtype)                          the value of an index expression
              | Gather(tensor, scalars, checked)                one integer element a dimension, clipped to it; checked: none is outside
              | Call(op, scalars, dtype)                        op: a row of ops.SCALAR_OPS
              | Reduce(op, variable, scalar)                    op: a row of ops.REDUCE_OPS; binds variable r0, r1, ...
              | Arg(position, dtype)                            only in the block of a Generic

Loop variables are positional: `axis(k, n)` is dimension k of the enclosing Build, `reduction(level, n)` a variable bound
by Reduce.  A tensor is closed: nothing in it refers to the loops around a Read of it.  A Generic iterates over `iterators`
in order; parallel ones are i0, i1, ... and give the shape, reduction ones r0, r1, ... and are folded by `combine`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal as Choice

import numpy as np

from eqsat.ir.containers import Container, Structure
from eqsat.ir.dtypes import dtype_name
from eqsat.ir.index import Const, Index, Var, substitute
from eqsat.ir.node import Node, Walk
from eqsat.ir.shown import Shown

Shape = tuple[int, ...]
# a polynomial of sizes: coefficients, each with the names of sizes that are multiplied
SizeTerms = tuple[tuple[int, tuple[str, ...]], ...]
IteratorKind = Choice["parallel", "reduction"]


def axis(position: int, extent: int) -> Var:
    """The loop variable of dimension `position` of a Build."""
    return Var(f"i{position}", 0, extent - 1)


def reduction(level: int, extent: int) -> Var:
    """A loop variable bound by Reduce; `level` distinguishes nested ones."""
    return Var(f"r{level}", 0, extent - 1)


def axes(shape: Shape) -> tuple[Var, ...]:
    """The loop variables of a Build of this shape."""
    return tuple(axis(k, n) for k, n in enumerate(shape))


def position_of(variable: Var) -> int | None:
    """The dimension of a Build that a loop variable goes along, None for any other."""
    return int(variable.name[1:]) if variable.name[0] == "i" and variable.name[1:].isdigit() else None


def level_of(variable: Var) -> int | None:
    """The level of a reduction variable, None for any other."""
    return int(variable.name[1:]) if variable.name[0] == "r" and variable.name[1:].isdigit() else None


class Scalar(Node):
    """The value of one element."""

    dtype: str


class Tensor(Node):
    """A whole array; `shape` are its extents, `dtype` the NumPy name of its element type."""

    shape: Shape
    dtype: str

    @property
    def size(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True, eq=False, repr=False)
class Literal(Scalar):
    """A constant element; the value is kept as a Python number of the dtype's kind, so that 1 and 1.0 in a float are one text."""

    value: bool | int | float | complex
    dtype: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", np.array(self.value, self.dtype).item())

    @staticmethod
    def identified(value: bool | int | float | complex, dtype: str) -> tuple[Any, ...]:
        return np.array(value, dtype).tobytes(), dtype


@dataclass(frozen=True, eq=False, repr=False)
class Read(Scalar):
    """tensor[indices]."""

    tensor: Tensor
    indices: tuple[Index, ...]
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", self.tensor.dtype)


@dataclass(frozen=True, eq=False, repr=False)
class Position(Scalar):
    """The value of an index expression: an integer in int32 or int64, a truth value in bool."""

    index: Index
    dtype: str


class Compound(Scalar):
    """A scalar of scalars that is no operation on elements."""

    args: tuple[Scalar, ...]


class Gathered(Compound):
    """An element of an array at places that are elements themselves: int64, one a dimension, clipped to it."""


@dataclass(frozen=True, eq=False, repr=False)
class Gather(Gathered):
    """tensor[args], every place clipped to its dimension; if `checked`, a place outside is an error of the whole program."""

    tensor: Tensor
    args: tuple[Scalar, ...]
    checked: bool = False
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", self.tensor.dtype)


@dataclass(frozen=True, eq=False, repr=False)
class Call(Scalar):
    """op(args), computed in `dtype` (comparisons: in the promoted dtype of their operands)."""

    op: str
    args: tuple[Scalar, ...]
    dtype: str


@dataclass(frozen=True, eq=False, repr=False)
class Reduce(Scalar):
    """Fold of body over every value of variable; the body's dtype is kept."""

    op: str
    variable: Var
    body: Scalar
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", self.body.dtype)


@dataclass(frozen=True, eq=False, repr=False)
class Arg(Scalar):
    """The element of operand `position` in the block of a Generic."""

    position: int
    dtype: str


@dataclass(frozen=True, eq=False, repr=False)
class Input(Tensor):
    """An array passed at call time; of integers that are 0 to `most`, where that is known."""

    name: str
    shape: Shape
    dtype: str
    most: int | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Constant(Tensor):
    """An array known when the program is made; compared by content."""

    data: np.ndarray[Any, Any]
    shape: Shape = field(init=False)
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        data = np.array(self.data, order="C")
        data.setflags(write=False)
        object.__setattr__(self, "data", data)
        object.__setattr__(self, "shape", data.shape)
        object.__setattr__(self, "dtype", dtype_name(data.dtype, "constant"))

    @staticmethod
    def identified(data: Any) -> tuple[Any, ...]:
        data = np.asarray(data)
        return data.tobytes(), data.shape, dtype_name(data.dtype, "constant")


@dataclass(frozen=True, eq=False, repr=False)
class Build(Tensor):
    """build shape (i0, i1, ... -> body)."""

    shape: Shape
    body: Scalar
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", self.body.dtype)

    @functools.cached_property
    def sources(self) -> tuple[Tensor, ...]:
        """The tensors that the body reads, in order of first read."""
        return tuple(dict.fromkeys(s.tensor for s in scalars(self.body) if isinstance(s, Read | Gather)))


@dataclass(frozen=True, eq=False, repr=False)
class Generic(Tensor):
    """A linalg.generic: block over operands read through indexing maps; the output map is the identity."""

    iterators: tuple[tuple[IteratorKind, int], ...]
    maps: tuple[tuple[Index, ...], ...]
    operands: tuple[Tensor, ...]
    block: Scalar
    combine: str | None = None
    shape: Shape = field(init=False)
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(n for kind, n in self.iterators if kind == "parallel"))
        object.__setattr__(self, "dtype", self.block.dtype)

    @property
    def reductions(self) -> tuple[Var, ...]:
        """The variables that are folded, outermost first."""
        extents = [n for kind, n in self.iterators if kind == "reduction"]
        return tuple(reduction(level, n) for level, n in enumerate(extents))


class Step(Node):
    """What makes whole arrays of whole arrays, and is no function of their elements' places.

    name   of its kind
    given  the tensors that it reads
    made   shape and dtype of every array that it makes
    """

    name: str
    given: tuple[Tensor, ...]
    made: tuple[tuple[Shape, str], ...]

    @property
    def results(self) -> tuple[StepResult, ...]:
        return tuple(StepResult(self, k) for k in range(len(self.made)))

    def bounds(self, position: int) -> tuple[int, int] | None:
        """The least and the greatest of the integers that it makes; None where nothing is known of them."""
        return None


@dataclass(frozen=True, eq=False, repr=False)
class StepResult(Tensor):
    """One of the arrays that a step makes."""

    step: Step
    position: int
    shape: Shape = field(init=False)
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        shape, dtype = self.step.made[self.position]
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "dtype", dtype)


@dataclass(frozen=True, eq=False, repr=False)
class Size(Node):
    """A size that is known at run time: its variable, and the extent that stands for it in shapes, which no number of the program is.

    terms  of a size that is made of others (n - 1): what it is; of one that arrays tell: itself
    most   the greatest that it is; the variable of a size of one value has two, so that no rule takes it for a number
    """

    variable: Var
    marker: int
    terms: SizeTerms
    most: int

    @property
    def name(self) -> str:
        """What its variable is called by those who declared it."""
        return self.variable.name[1:]

    @property
    def is_made(self) -> bool:
        return self.terms != ((1, (self.name,)),)


def is_size(variable: Var) -> bool:
    """Whether a variable is a size, and no loop."""
    return variable.name[0] == "$"


@dataclass(frozen=True, eq=False, repr=False)
class Program(Node, Shown):
    """Inputs in call order, the tensors to compute, and the containers that hold the results; `sizes` that are known at run time.

    Without `structure` one output stands alone and several form a tuple.
    """

    inputs: tuple[Input, ...]
    outputs: tuple[Tensor, ...]
    structure: Structure = None  # type: ignore[assignment]  # None: the default is known only with the outputs
    sizes: tuple[Size, ...] = ()

    def __post_init__(self) -> None:
        if self.structure is None:
            several = Container("tuple", tuple(range(len(self.outputs))))
            object.__setattr__(self, "structure", 0 if len(self.outputs) == 1 else several)

    @functools.cached_property
    def steps(self) -> tuple[Step, ...]:
        """The steps that the outputs need, each behind those whose results it is given."""
        return tuple(dict.fromkeys(tensor.step for tensor in tensors(*self.outputs) if isinstance(tensor, StepResult)))


def operands(term: Scalar) -> tuple[Scalar, ...]:
    """The scalars directly below a scalar."""
    if isinstance(term, Call | Compound):
        return term.args
    return (term.body,) if isinstance(term, Reduce) else ()


# every distinct scalar of one body, operands first; does not enter the tensors that are read
scalars: Walk[Scalar] = Walk("scalars", operands)


def has_fold(term: Scalar) -> bool:
    """Whether there is a fold in an element."""
    return any(isinstance(below, Reduce) for below in scalars(term))


def sources(tensor: Tensor) -> tuple[Tensor, ...]:
    """The tensors that a tensor reads directly, each once."""
    if isinstance(tensor, Generic):
        return tuple(dict.fromkeys(tensor.operands))
    if isinstance(tensor, StepResult):
        return tensor.step.given
    return tensor.sources if isinstance(tensor, Build) else ()


# every distinct tensor, sources before the tensors that read them
tensors: Walk[Tensor] = Walk("tensors", sources)


def rebuild(term: Scalar, args: tuple[Scalar, ...]) -> Scalar:
    """The same node over other operands."""
    if args == operands(term):
        return term
    if isinstance(term, Call):
        return Call(term.op, args, term.dtype)
    if isinstance(term, Compound):
        return replace(term, args=args)  # type: ignore[type-var]  # the dataclasses derived from it
    return Reduce(term.op, term.variable, args[0]) if isinstance(term, Reduce) else term


def taken(term: Scalar) -> Scalar:
    """The branch of a selection whose condition is a known truth value; any other term as it is."""
    if isinstance(term, Call) and term.op == "where" and isinstance(term.args[0], Position):
        condition = term.args[0].index
        branch = term.args[1 if isinstance(condition, Const) and condition.value else 2]
        return branch if isinstance(condition, Const) and branch.dtype == term.dtype else term
    return term


def as_dtype(value: Scalar, dtype: str) -> Scalar:
    """A value, cast where it is of another dtype."""
    return value if value.dtype == dtype else Call("astype", (value,), dtype)


def reindexed(root: Scalar, env: Mapping[Var, Index]) -> Scalar:
    """An element over other indices; reductions keep their variables."""
    known = dict(env)
    return with_indices(root, lambda index: substitute(index, known)) if env else root


def with_indices(root: Scalar, change: Callable[[Index], Index]) -> Scalar:
    """An element with all of its index terms changed; reductions keep their variables."""
    done: dict[Scalar, Scalar] = {}
    for term in scalars(root):
        if isinstance(term, Read):
            done[term] = Read(term.tensor, tuple(map(change, term.indices)))
        elif isinstance(term, Position):
            done[term] = Position(change(term.index), term.dtype)
        else:
            done[term] = rebuild(term, tuple(done[arg] for arg in operands(term)))
    return done[root]


def index_terms(term: Scalar) -> tuple[Index, ...]:
    """The index terms of a Read or Position; none of any other scalar."""
    if isinstance(term, Read):
        return term.indices
    return (term.index,) if isinstance(term, Position) else ()


def reread(body: Scalar, replaced: Mapping[Tensor, Tensor], changed: Mapping[Tensor, Callable[[Read], Scalar]] | None = None) -> Scalar:
    """`body` reading other tensors of the same shapes, or of others what reads of them are `changed` to."""
    done: dict[Scalar, Scalar] = {}
    for term in scalars(body):
        if isinstance(term, Read) and changed and term.tensor in changed:
            done[term] = changed[term.tensor](term)
        elif isinstance(term, Read):
            done[term] = Read(replaced[term.tensor], term.indices)
        elif isinstance(term, Gather):
            done[term] = Gather(replaced[term.tensor], tuple(done[arg] for arg in term.args), term.checked)
        else:
            done[term] = rebuild(term, tuple(done[arg] for arg in operands(term)))
    return done[body]


def over(tensor: Tensor, replaced: Mapping[Tensor, Tensor]) -> Tensor:
    """The same operation on other tensors."""
    if all(replaced[source] is source for source in sources(tensor)):
        return tensor
    if isinstance(tensor, Build):
        return Build(tensor.shape, reread(tensor.body, replaced))
    if isinstance(tensor, StepResult):
        given = tuple(replaced[source] for source in tensor.step.given)
        return StepResult(replace(tensor.step, given=given), tensor.position)  # type: ignore[type-var]  # the dataclasses derived from it
    assert isinstance(tensor, Generic)
    operands = tuple(replaced[operand] for operand in tensor.operands)
    return Generic(tensor.iterators, tensor.maps, operands, tensor.block, tensor.combine)
