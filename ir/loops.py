"""Loop nests: how a kernel computes its tensor.

    kernel ::= Kernel(name, buffers, body, sizes, scratch, blocks)   buffers: what it reads, then what it writes, flat and C-ordered
    stmt   ::= For(variable, kind, body)              kind: "parallel" (iterations independent), "serial", or "tile"
             | Bind(variable, value)                  an index computed once and used below as a variable
             | Clip(variable, value)                  the same of an integer element, clipped to the variable's range
             | Let(name, value)                       an element computed once and used below as Temp
             | Fold(name, op, dtype, variable, body, value)   name = fold of value over variable; body runs before value
             | Store(buffer, index, value, combine)   buffer[index] = value, or combine(buffer[index], value)
    expr   ::= Literal | Position | Call              as in ir.tensor, over these leaves
             | Load(buffer, index, dtype)             buffer[index]
             | Pick(buffer, shape, args, dtype)       an element of a C-ordered array of this shape at args, clipped to its dimensions
             | Temp(name, dtype)                      a Let or a finished Fold

Iterations of "tile" loops are independent, and may be run together: folds in them side by side, in registers.  Around the others stands
nothing but tile loops, and nothing else is a loop in them.  Scratch is memory of the kernel's own, undefined at first.

Statement order is execution order.  A name is bound once in a kernel.  Buffer indices are flat element offsets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal as Choice

from eqsat.ir.dtypes import itemsize
from eqsat.ir.index import Index, Var, substitute
from eqsat.ir.node import to_text
from eqsat.ir.shown import Shown
from eqsat.ir.tensor import Gathered, Position, Read, Scalar, Shape, Size, operands, rebuild, scalars, taken

LoopKind = Choice["parallel", "serial", "tile"]
Role = Choice["in", "out", "scratch"]


@dataclass(frozen=True, eq=False, repr=False)
class Load(Scalar):
    """buffer[index]."""

    buffer: str
    index: Index
    dtype: str


@dataclass(frozen=True, eq=False, repr=False)
class Pick(Gathered):
    """The element of a C-ordered array of `shape` at the places `args`, each clipped to its dimension."""

    buffer: str
    shape: Shape
    args: tuple[Scalar, ...]
    dtype: str


@dataclass(frozen=True, eq=False, repr=False)
class Temp(Scalar):
    """The value of a Let or of a finished Fold."""

    name: str
    dtype: str


@dataclass(frozen=True)
class Buffer:
    """A flat array of `size` elements that a kernel reads ("in"), writes ("out"), or has for itself ("scratch")."""

    name: str
    dtype: str
    size: int
    role: Role


@dataclass(frozen=True)
class For:
    variable: Var
    kind: LoopKind
    body: tuple[Stmt, ...]


@dataclass(frozen=True)
class Bind:
    variable: Var
    value: Index


@dataclass(frozen=True)
class Clip:
    variable: Var
    value: Scalar


@dataclass(frozen=True)
class Let:
    name: str
    value: Scalar


@dataclass(frozen=True)
class Fold:
    name: str
    op: str
    dtype: str
    variable: Var
    body: tuple[Stmt, ...]
    value: Scalar


@dataclass(frozen=True)
class Store:
    buffer: str
    index: Index
    value: Scalar
    combine: str | None = None


Stmt = For | Bind | Clip | Let | Fold | Store


@dataclass(frozen=True)
class Blocks:
    """How many blocks of `rows` cover a size, which is no less: what stands for it as extents of loops, and its variable."""

    variable: Var
    marker: int
    size: Size
    rows: int

    def count(self, size: int) -> int:
        return -(-size // self.rows)


@dataclass(frozen=True)
class Part:
    """A part of a loop to a size, which has this extent as a `whole`: what stands for its length as extents of loops, and its variable,
    which is a size's or is bound first."""

    variable: Var
    marker: int
    whole: int


@dataclass(frozen=True, repr=False)
class Kernel(Shown):
    """One loop nest; the last buffers are those that it writes.

    sizes   that are known when it is called: a loop or fold whose extent is the marker of one ends at the size, and the size's variable
            may be used in index terms; a buffer is as large as sizes may be
    blocks  of sizes, the same of loops: the kernel is for sizes that are no less than one of them
    parts   of loops to sizes, the same: the outermost statements of the kernel are independent of each other
    """

    name: str
    buffers: tuple[Buffer, ...]
    body: tuple[Stmt, ...]
    sizes: tuple[Size, ...] = ()
    scratch: tuple[Buffer, ...] = ()
    blocks: tuple[Blocks, ...] = ()
    parts: tuple[Part, ...] = ()

    @property
    def ends(self) -> tuple[Size | Blocks | Part, ...]:
        """At what loops may end: sizes, numbers of blocks, and parts of sizes."""
        return (*self.sizes, *self.blocks, *self.parts)

    def size_of(self, variable: Var) -> Size | Blocks | Part | None:
        """The size, number of blocks or part of a size, at which a loop variable ends."""
        return next((end for end in self.ends if end.marker == variable.extent), None)

    @property
    def outputs(self) -> tuple[Buffer, ...]:
        return tuple(buffer for buffer in self.buffers if buffer.role == "out")

    @property
    def bytes(self) -> dict[str, int]:
        """What each buffer takes, scratch memory too."""
        return {buffer.name: buffer.size * itemsize(buffer.dtype) for buffer in (*self.buffers, *self.scratch)}

    def __str__(self) -> str:
        return to_text(self)


def statements(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """Every statement, outer ones first."""
    for stmt in body:
        yield stmt
        if isinstance(stmt, For | Fold):
            yield from statements(stmt.body)


def bound(body: tuple[Stmt, ...]) -> set[str]:
    """The names that statements bind."""
    elements = {stmt.name for stmt in statements(body) if isinstance(stmt, Let | Fold)}
    return elements | {stmt.variable.name for stmt in statements(body) if isinstance(stmt, For | Fold | Bind | Clip)}


def value_of(stmt: Stmt) -> Scalar | None:
    """The element expression that a statement evaluates."""
    return stmt.value if isinstance(stmt, Clip | Let | Fold | Store) else None


def values_of(body: Iterable[Stmt]) -> list[Scalar]:
    """The element expressions that statements themselves evaluate, not those in them."""
    return [value for stmt in body if (value := value_of(stmt)) is not None]


def map_indices(kernel: Kernel, change: Callable[[Index], Index]) -> Kernel:
    """The kernel with every index term replaced by `change(term)`; selections whose conditions are constants then are branches."""
    return _mapped(kernel, lambda term, args: taken(rebuilt(term, args, change)), change)


def map_loads(kernel: Kernel, change: Callable[[Load], Load]) -> Kernel:
    """The kernel with every load replaced by `change(load)`."""
    return _mapped(kernel, lambda term, args: change(term) if isinstance(term, Load) else rebuild(term, args), lambda index: index)


def renamed(kernel: Kernel, names: Mapping[str, str]) -> Kernel | None:
    """The kernel with other names for its buffers; None where one of them is the name of something else in it."""
    scratch = {buffer.name for buffer in kernel.scratch if buffer.name not in names}
    own = {stmt.name for stmt in statements(kernel.body) if isinstance(stmt, Let | Fold)}
    if not (own | scratch).isdisjoint(names.values()):
        return None

    def element(term: Scalar, args: tuple[Scalar, ...]) -> Scalar:
        if isinstance(term, Load):
            return Load(names.get(term.buffer, term.buffer), term.index, term.dtype)
        if isinstance(term, Pick):
            return Pick(names.get(term.buffer, term.buffer), term.shape, args, term.dtype)
        return rebuild(term, args)

    moved = _mapped(kernel, element, lambda index: index, lambda buffer: names.get(buffer, buffer))
    buffers, scratch_buffers = (
        tuple(replace(one, name=names.get(one.name, one.name)) for one in some) for some in (kernel.buffers, kernel.scratch)
    )
    return replace(moved, buffers=buffers, scratch=scratch_buffers)


def _mapped(
    kernel: Kernel,
    element: Callable[[Scalar, tuple[Scalar, ...]], Scalar],
    index: Callable[[Index], Index],
    stored: Callable[[str], str] = lambda buffer: buffer,
) -> Kernel:
    """The kernel over other elements, made of a term and its operands, and other index terms, which stores to other buffers."""
    done: dict[Scalar, Scalar] = {}

    def scalar(root: Scalar) -> Scalar:
        for term in scalars(root):
            done[term] = element(term, tuple(done[arg] for arg in operands(term)))
        return done[root]

    def block(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(statement(stmt) for stmt in body)

    def statement(stmt: Stmt) -> Stmt:
        if isinstance(stmt, For):
            return replace(stmt, body=block(stmt.body))
        if isinstance(stmt, Bind):
            return replace(stmt, value=index(stmt.value))
        if isinstance(stmt, Clip | Let):
            return replace(stmt, value=scalar(stmt.value))
        if isinstance(stmt, Fold):
            return replace(stmt, body=block(stmt.body), value=scalar(stmt.value))
        return replace(stmt, buffer=stored(stmt.buffer), index=index(stmt.index), value=scalar(stmt.value))

    return replace(kernel, body=block(kernel.body))


def rebuilt(term: Scalar, args: tuple[Scalar, ...], change: Callable[[Index], Index]) -> Scalar:
    """The same node over other operands, its index, if it has one, replaced by `change(index)`."""
    if isinstance(term, Load):
        return Load(term.buffer, change(term.index), term.dtype)
    if isinstance(term, Read):
        return Read(term.tensor, tuple(map(change, term.indices)))
    return Position(change(term.index), term.dtype) if isinstance(term, Position) else rebuild(term, args)


def over(root: Scalar, env: Mapping[Var, Index], known: Mapping[Scalar, Scalar] | None = None) -> Scalar:
    """An element over other indices, with some of its terms replaced."""
    done: dict[Scalar, Scalar] = dict(known or {})
    for term in scalars(root):
        if term not in done:
            done[term] = rebuilt(term, tuple(done[arg] for arg in operands(term)), lambda index: substitute(index, env))
    return done[root]


def with_offsets(root: Scalar, change: Callable[[Index], Index]) -> Scalar:
    """An element with all of its index terms changed."""
    done: dict[Scalar, Scalar] = {}
    for term in scalars(root):
        done[term] = rebuilt(term, tuple(done[arg] for arg in operands(term)), change)
    return done[root]


def bound_in(body: Iterable[Stmt], before: Mapping[Var, Index] | None = None) -> dict[Var, Index]:
    """What the index variables of a body stand for, the Binds of loops in it left out."""
    bound = dict(before or {})
    for stmt in body:
        if isinstance(stmt, Bind):
            bound[stmt.variable] = substitute(stmt.value, bound)
    return bound


def loaded(body: Iterable[Stmt]) -> set[str]:
    """The buffers that statements read."""
    return {term.buffer for term in scalars(*values_of(statements(tuple(body)))) if isinstance(term, Load | Pick)}


def nested_loops(outer: For) -> list[For]:
    """A loop and those in it, as long as each holds nothing but the next."""
    loops = [outer]
    while len(loops[-1].body) == 1 and isinstance(below := loops[-1].body[0], For):
        loops.append(below)
    return loops


def loads(term: Scalar) -> Iterator[Load]:
    """Every distinct load of an expression."""
    return (here for here in scalars(term) if isinstance(here, Load))


def index_terms(kernel: Kernel) -> tuple[Index, ...]:
    """Every distinct index term of the kernel: store and load offsets and bound values."""
    found: dict[Index, None] = {}
    for stmt in statements(kernel.body):
        if isinstance(stmt, Bind | Store):
            found[stmt.value if isinstance(stmt, Bind) else stmt.index] = None
        value = value_of(stmt)
        if value is not None:
            found.update((term.index, None) for term in scalars(value) if isinstance(term, Load | Position))
    return tuple(found)
