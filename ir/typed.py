"""Typed index terms: index terms whose every node says in which integer type it is computed.

    typed ::= Number(value, dtype)              an integer or a truth value
            | Numbers(values, dtype)            a constant vector
            | Name(variable, dtype)             a size, or a value that a Bind has computed
            | Range(variable, end, dtype)       a loop counter, from variable.lo while below end
            | Special(variable, end, dtype)     a launch index (a thread, a block), below end
            | Operation(op, args, dtype)        op: a row of eqsat.ir.index.OPS; integer operands share one dtype
            | Cast(arg, dtype)                  the same value in another type
            | Vector(args, dtype)               lanes put together
            | Bound(name, value, dtype)         the value, and from here on the value of the name
            | Invalid(dtype)                    no index: the other arm of a gate
    terminal ::= Access(buffer, index, gate)    an element of a buffer, left alone where the gate is false
               | Sink(args)                     values that leave the world of indices
               | End(body, ranges)              the end of loops

dtype is "int32", "int64" or "bool", or "index" for the integers without a width that index terms are made of.  A vector has
the dtype of its lanes.  `lowering/index_dtypes.py` takes terms of dtype "index" to terms without it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from eqsat.ir.index import OPS, Var
from eqsat.ir.interval import Interval
from eqsat.ir.node import Node, to_text

IndexType = Literal["index", "int32", "int64", "bool"]
BITS: dict[IndexType, int] = {"int32": 32, "int64": 64}


def limits(dtype: IndexType) -> Interval:
    """The least and the greatest value of "int32" or "int64"."""
    half = 1 << BITS[dtype] - 1
    return -half, half - 1


def fits(dtype: IndexType, *bounds: Interval) -> bool:
    """Whether all values of these intervals are values of the dtype."""
    least, greatest = limits(dtype)
    return all(lo >= least and hi <= greatest for lo, hi in bounds)


def hull(*bounds: Interval) -> Interval:
    """The least interval that holds all of these."""
    return min(lo for lo, _ in bounds), max(hi for _, hi in bounds)


class Typed(Node):
    """A typed index term.  `operands`: what it is computed from; `lanes`: 1 for scalars; `bounds` hold for every lane.

    Bounds and lanes follow from the fields and are set when a node is made.
    """

    dtype: IndexType
    bounds: Interval
    lanes: int

    @property
    def operands(self) -> tuple[Typed, ...]:
        return ()

    def rebuilt(self, operands: tuple[Typed, ...]) -> Typed:
        """The same node over other operands."""
        return self

    def _set(self, bounds: Interval, lanes: int = 1) -> None:
        object.__setattr__(self, "bounds", bounds)
        object.__setattr__(self, "lanes", lanes)


@dataclass(frozen=True, eq=False, repr=False)
class Number(Typed):
    value: int
    dtype: IndexType

    def __post_init__(self) -> None:
        self._set((int(self.value), int(self.value)))


@dataclass(frozen=True, eq=False, repr=False)
class Numbers(Typed):
    values: tuple[int, ...]
    dtype: IndexType

    def __post_init__(self) -> None:
        self._set((min(self.values), max(self.values)), len(self.values))


@dataclass(frozen=True, eq=False, repr=False)
class Name(Typed):
    variable: Var
    dtype: IndexType

    def __post_init__(self) -> None:
        self._set(self.variable.bounds)


@dataclass(frozen=True, eq=False, repr=False)
class Counter(Typed):
    """What Range and Special have in common."""

    variable: Var
    end: Typed
    dtype: IndexType

    def __post_init__(self) -> None:
        self._set(self.variable.bounds)

    @property
    def operands(self) -> tuple[Typed, ...]:
        return (self.end,)

    def rebuilt(self, operands: tuple[Typed, ...]) -> Typed:
        built: Typed = type(self)(self.variable, operands[0], self.dtype)
        return built


@dataclass(frozen=True, eq=False, repr=False)
class Range(Counter):
    pass


@dataclass(frozen=True, eq=False, repr=False)
class Special(Counter):
    pass


@dataclass(frozen=True, eq=False, repr=False)
class Operation(Typed):
    op: str
    args: tuple[Typed, ...]
    dtype: IndexType

    def __post_init__(self) -> None:
        if self.op == "where" and isinstance(self.args[2], Invalid):
            self._set(self.args[1].bounds, self.args[1].lanes)
        else:
            self._set(OPS[self.op].bounds(*(arg.bounds for arg in self.args)), self.args[-1].lanes)

    @property
    def operands(self) -> tuple[Typed, ...]:
        return self.args

    def rebuilt(self, operands: tuple[Typed, ...]) -> Typed:
        return Operation(self.op, operands, self.dtype)


@dataclass(frozen=True, eq=False, repr=False)
class Cast(Typed):
    arg: Typed
    dtype: IndexType

    def __post_init__(self) -> None:
        self._set(self.arg.bounds, self.arg.lanes)

    @property
    def operands(self) -> tuple[Typed, ...]:
        return (self.arg,)

    def rebuilt(self, operands: tuple[Typed, ...]) -> Typed:
        return Cast(operands[0], self.dtype)


@dataclass(frozen=True, eq=False, repr=False)
class Vector(Typed):
    args: tuple[Typed, ...]
    dtype: IndexType

    def __post_init__(self) -> None:
        self._set(hull(*(arg.bounds for arg in self.args)), len(self.args))

    @property
    def operands(self) -> tuple[Typed, ...]:
        return self.args

    def rebuilt(self, operands: tuple[Typed, ...]) -> Typed:
        return Vector(operands, self.dtype)


@dataclass(frozen=True, eq=False, repr=False)
class Bound(Typed):
    name: Typed
    value: Typed
    dtype: IndexType

    def __post_init__(self) -> None:
        self._set(self.name.bounds)

    @property
    def operands(self) -> tuple[Typed, ...]:
        return self.value, self.name

    def rebuilt(self, operands: tuple[Typed, ...]) -> Typed:
        return Bound(operands[1], operands[0], self.dtype)

    @property
    def leaf(self) -> Typed:
        """The Name without casts around it."""
        return self.name.operands[0] if isinstance(self.name, Cast) else self.name


@dataclass(frozen=True, eq=False, repr=False)
class Invalid(Typed):
    dtype: IndexType

    def __post_init__(self) -> None:
        self._set((0, 0))


class Terminal(Typed):
    """A node that uses index terms and is none: it has neither dtype nor bounds."""


@dataclass(frozen=True, eq=False, repr=False)
class Access(Terminal):
    buffer: str
    index: Typed
    gate: Typed | None = None

    @property
    def operands(self) -> tuple[Typed, ...]:
        return (self.index,) if self.gate is None else (self.index, self.gate)

    def rebuilt(self, operands: tuple[Typed, ...]) -> Typed:
        return Access(self.buffer, *operands)


@dataclass(frozen=True, eq=False, repr=False)
class Sink(Terminal):
    args: tuple[Typed, ...]

    @property
    def operands(self) -> tuple[Typed, ...]:
        return self.args

    def rebuilt(self, operands: tuple[Typed, ...]) -> Typed:
        return Sink(operands)


@dataclass(frozen=True, eq=False, repr=False)
class End(Terminal):
    body: Typed
    ranges: tuple[Typed, ...]

    @property
    def operands(self) -> tuple[Typed, ...]:
        return self.body, *self.ranges

    def rebuilt(self, operands: tuple[Typed, ...]) -> Typed:
        return End(operands[0], operands[1:])


def typed_terms(*roots: Typed) -> list[Typed]:
    """Every distinct subterm once, operands before the terms that use them."""
    found: dict[Typed, None] = {}
    stack = list(reversed(roots))
    while stack:
        term = stack[-1]
        missing = [] if term in found else [arg for arg in term.operands if arg not in found]
        stack.extend(reversed(missing))
        if not missing:
            found[stack.pop()] = None
    return list(found)


SHORT: dict[IndexType, str] = {"int32": "i32", "int64": "i64", "bool": "bool", "index": "index"}


@to_text.register
def _typed(term: Typed) -> str:
    """`add.i32(i:i32, 4)`: types at leaves, operations and casts."""
    shown: dict[Typed, str] = {}
    for sub in typed_terms(term):
        shown[sub] = _text(sub, [shown[arg] for arg in sub.operands])
    return shown[term]


def _text(term: Typed, args: list[str]) -> str:
    if isinstance(term, Access):
        return f"{term.buffer}[{args[0]}]" + (f" if {args[1]}" if term.gate else "")
    if isinstance(term, Sink | End):
        return f"{'sink' if isinstance(term, Sink) else 'end'}({', '.join(args)})"
    kind = SHORT[term.dtype]
    if isinstance(term, Number):
        return str(term.value) if term.dtype in ("index", "bool") else f"{term.value}:{kind}"
    if isinstance(term, Numbers):
        return f"<{', '.join(map(str, term.values))}>:{kind}"
    if isinstance(term, Name):
        return f"{term.variable.name}:{kind}"
    if isinstance(term, Counter):
        return f"{term.variable.name}:{kind}<{args[0]}"
    if isinstance(term, Operation):
        return f"{term.op}.{kind}({', '.join(args)})"
    if isinstance(term, Vector):
        return f"<{', '.join(args)}>"
    if isinstance(term, Bound):
        return f"({args[1]} = {args[0]})"
    return f"{kind}({args[0]})" if isinstance(term, Cast) else "invalid"
