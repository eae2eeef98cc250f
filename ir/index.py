"""Index expressions: integers (and truth values) computed from bounded variables.

    index ::= Const(value)                 an integer, or True / False
            | Var(name, lo, hi)            lo <= value <= hi; equal names with other bounds are other variables
            | Apply(op, args)              op: a row of OPS

Division is floor division and `%` its remainder, as in Python (docs/decisions/0001-floor-division.md).  Terms stay as they
are written: simplification has one home, the e-graph.  `str()` gives Python text that evaluates to the same value.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn

import numpy as np

from eqsat.ir import interval, residue
from eqsat.ir.domain import NOT_NEGATIVE, NOT_ZERO, Domain
from eqsat.ir.errors import DTypeError, TraceError, UsageError
from eqsat.ir.interval import Interval
from eqsat.ir.node import Node, Walk, to_text
from eqsat.ir.shown import Shown

Kind = Literal["int", "bool"]


class Index(Node, Shown):
    """An index expression.  Operators build larger ones; `==` builds a comparison whose truth value is identity."""

    bounds: Interval
    kind: Kind

    def __add__(self, other: Index | int) -> Index:
        return apply("add", self, other)

    def __radd__(self, other: Index | int) -> Index:
        return apply("add", other, self)

    def __sub__(self, other: Index | int) -> Index:
        return apply("sub", self, other)

    def __rsub__(self, other: Index | int) -> Index:
        return apply("sub", other, self)

    def __mul__(self, other: Index | int) -> Index:
        return apply("mul", self, other)

    def __rmul__(self, other: Index | int) -> Index:
        return apply("mul", other, self)

    def __floordiv__(self, other: Index | int) -> Index:
        return apply("floordiv", self, other)

    def __rfloordiv__(self, other: Index | int) -> Index:
        return apply("floordiv", other, self)

    def __truediv__(self, other: object) -> NoReturn:
        raise DTypeError(f"index: found `{self}` / {other}, expected integers; use //, which rounds down")

    def __rtruediv__(self, other: object) -> NoReturn:
        raise DTypeError(f"index: found {other} / `{self}`, expected integers; use //, which rounds down")

    def __mod__(self, other: Index | int) -> Index:
        return apply("mod", self, other)

    def __rmod__(self, other: Index | int) -> Index:
        return apply("mod", other, self)

    def __neg__(self) -> Index:
        return apply("neg", self)

    def __abs__(self) -> Index:
        return apply("abs", self)

    def __invert__(self) -> Index:
        return apply("not", self) if self.kind == "bool" else apply("sub", -1, self)

    def __and__(self, other: Index | int) -> Index:
        return _logical("and", "bitand", self, other)

    def __rand__(self, other: Index | int) -> Index:
        return _logical("and", "bitand", other, self)

    def __or__(self, other: Index | int) -> Index:
        return _logical("or", "bitor", self, other)

    def __ror__(self, other: Index | int) -> Index:
        return _logical("or", "bitor", other, self)

    def __xor__(self, other: Index | int) -> Index:
        return _logical("ne", "bitxor", self, other)

    def __rxor__(self, other: Index | int) -> Index:
        return _logical("ne", "bitxor", other, self)

    def __lshift__(self, other: Index | int) -> Index:
        return apply("shl", self, other)

    def __rlshift__(self, other: Index | int) -> Index:
        return apply("shl", other, self)

    def __rshift__(self, other: Index | int) -> Index:
        return apply("shr", self, other)

    def __rrshift__(self, other: Index | int) -> Index:
        return apply("shr", other, self)

    def __lt__(self, other: Index | int) -> Index:
        return apply("lt", self, other)

    def __le__(self, other: Index | int) -> Index:
        return apply("le", self, other)

    def __gt__(self, other: Index | int) -> Index:
        return apply("gt", self, other)

    def __ge__(self, other: Index | int) -> Index:
        return apply("ge", self, other)

    def __eq__(self, other: object) -> Index:  # type: ignore[override]
        return apply("eq", self, other) if isinstance(other, Index | int | np.integer) else NotImplemented

    def __ne__(self, other: object) -> Index:  # type: ignore[override]
        return apply("ne", self, other) if isinstance(other, Index | int | np.integer) else NotImplemented

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise TraceError(f"the truth value of `{self}` depends on its variables; use where(condition, a, b), & and | for `and` and `or`")


@dataclass(frozen=True, eq=False, repr=False)
class Const(Index):
    """An integer or a truth value."""

    value: int
    bounds: Interval = field(init=False)
    kind: Kind = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bounds", (int(self.value), int(self.value)))
        object.__setattr__(self, "kind", "bool" if isinstance(self.value, bool) else "int")

    @staticmethod
    def identified(value: int) -> tuple[Any, ...]:
        return value, isinstance(value, bool)

    def __bool__(self) -> bool:
        return bool(self.value)


@dataclass(frozen=True, eq=False, repr=False)
class Var(Index):
    """A variable with inclusive bounds."""

    name: str
    lo: int
    hi: int
    bounds: Interval = field(init=False)
    kind: Kind = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bounds", (self.lo, self.hi))
        object.__setattr__(self, "kind", "int")

    @property
    def extent(self) -> int:
        """How many values the variable can take."""
        return self.hi - self.lo + 1


@dataclass(frozen=True, eq=False, repr=False)
class Apply(Index):
    """An operation of OPS on index expressions."""

    op: str
    args: tuple[Index, ...]
    bounds: Interval = field(init=False)
    kind: Kind = field(init=False)
    free: tuple[Var, ...] = field(init=False)

    def __post_init__(self) -> None:
        row = OPS[self.op]
        kind = row.kind if row.kind != "same" else "bool" if all(arg.kind == "bool" for arg in self.args[1:]) else "int"
        object.__setattr__(self, "kind", kind)
        bounds = row.bounds(*(arg.bounds for arg in self.args))
        if self.op == "mod" and isinstance(self.args[1], Const) and bounds[0] < bounds[1]:
            bounds = residue.tightened(bounds, residue.of_operation("mod", [residue_of(arg) for arg in self.args]))
        object.__setattr__(self, "bounds", bounds)
        object.__setattr__(self, "free", variables(*self.args))

    @property
    def domain(self) -> Domain | None:
        """Where its last operand has to be, if anywhere, for the operation to have a value."""
        return OPS[self.op].domain

    def __bool__(self) -> bool:
        if self.op in ("eq", "ne"):
            return (self.args[0] is self.args[1]) == (self.op == "eq")
        return super().__bool__()


@dataclass(frozen=True)
class Op:
    """A row of OPS: what an operation means, its bounds, how it is written, and for which last operands it has a value."""

    name: str
    arity: int
    evaluate: Callable[..., Any]
    bounds: Callable[..., Interval]
    kind: Literal["int", "bool", "same"]
    symbol: str
    precedence: int = 20
    commutative: bool = False
    domain: Domain | None = None


def _select(c: Any, a: Any, b: Any) -> Any:
    if isinstance(c, np.ndarray):
        return np.where(c, a, b)
    return a if c else b


def _elementwise(scalar: Callable[..., Any], vector: Callable[..., Any]) -> Callable[..., Any]:
    def evaluate(*values: Any) -> Any:
        return vector(*values) if any(isinstance(v, np.ndarray) for v in values) else scalar(*values)

    return evaluate


OPS: dict[str, Op] = {
    row.name: row
    for row in (
        Op("add", 2, operator.add, interval.add, "int", "+", 9, True),
        Op("sub", 2, operator.sub, interval.sub, "int", "-", 9),
        Op("neg", 1, operator.neg, interval.neg, "int", "-", 11),
        Op("mul", 2, operator.mul, interval.mul, "int", "*", 10, True),
        Op("floordiv", 2, operator.floordiv, interval.floordiv, "int", "//", 10, domain=NOT_ZERO),
        Op("mod", 2, operator.mod, interval.mod, "int", "%", 10, domain=NOT_ZERO),
        Op("min", 2, _elementwise(min, np.minimum), interval.minimum, "int", "min", 20, True),
        Op("max", 2, _elementwise(max, np.maximum), interval.maximum, "int", "max", 20, True),
        Op("abs", 1, abs, interval.absolute, "int", "abs"),
        Op("where", 3, _select, interval.where, "same", "where"),
        Op("lt", 2, operator.lt, interval.lt, "bool", "<", 4),
        Op("le", 2, operator.le, interval.le, "bool", "<=", 4),
        Op("gt", 2, operator.gt, lambda a, b: interval.lt(b, a), "bool", ">", 4),
        Op("ge", 2, operator.ge, lambda a, b: interval.le(b, a), "bool", ">=", 4),
        Op("eq", 2, operator.eq, interval.eq, "bool", "==", 4, True),
        Op("ne", 2, operator.ne, interval.ne, "bool", "!=", 4, True),
        Op("and", 2, _elementwise(lambda a, b: bool(a and b), np.logical_and), interval.logical_and, "bool", "and", 2, True),
        Op("or", 2, _elementwise(lambda a, b: bool(a or b), np.logical_or), interval.logical_or, "bool", "or", 1, True),
        Op("not", 1, _elementwise(operator.not_, np.logical_not), interval.logical_not, "bool", "not ", 3),
        Op("bitand", 2, operator.and_, interval.bitand, "int", "&", 7, True),
        Op("bitor", 2, operator.or_, interval.bitor, "int", "|", 5, True),
        Op("bitxor", 2, operator.xor, interval.bitxor, "int", "^", 6, True),
        Op("shl", 2, operator.lshift, interval.shl, "int", "<<", 8, domain=NOT_NEGATIVE),
        Op("shr", 2, operator.rshift, interval.shr, "int", ">>", 8, domain=NOT_NEGATIVE),
        Op("int", 1, _elementwise(int, lambda a: np.asarray(a).astype(np.int64)), lambda a: a, "int", "int"),
        Op("bool", 1, _elementwise(bool, lambda a: np.asarray(a) != 0), interval.boolean, "bool", "bool"),
    )
}


def var(name: str, lo: int, hi: int) -> Var:
    """A variable whose value lies in lo..hi, both inclusive.

    Raises UsageError for a name that is no identifier, bounds that are no integers, or an empty range.
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise UsageError(f"var: found name {name!r}, expected an identifier")
    for bound in (lo, hi):
        if isinstance(bound, bool) or not isinstance(bound, int | np.integer):
            raise UsageError(f"var {name}: found bound {bound!r}, expected an integer")
    if lo > hi:
        raise UsageError(f"var {name}: found the empty range {lo}..{hi}, expected lo <= hi")
    return Var(name, int(lo), int(hi))


def as_index(value: Index | int | np.integer[Any]) -> Index:
    """An index expression as it is, an integer or truth value as Const."""
    if isinstance(value, Index):
        return value
    if isinstance(value, bool | np.bool_):
        return Const(bool(value))
    if isinstance(value, int | np.integer):
        return Const(int(value))
    raise UsageError(f"index expression: found {value!r} of type {type(value).__name__}, expected an integer or an index expression")


def apply(op: str, *args: Any) -> Index:
    """The term op(args); operands may be Python integers."""
    return Apply(op, tuple(as_index(arg) for arg in args))


def _logical(on_bools: str, on_ints: str, a: Index | int, b: Index | int) -> Index:
    left, right = as_index(a), as_index(b)
    return apply(on_bools if left.kind == right.kind == "bool" else on_ints, left, right)


def where(condition: Index | bool, a: Index | int, b: Index | int) -> Index:
    """a where the condition holds, else b, of which only the one that is chosen has to have a value.

    Raises UsageError for what is no index expression.
    """
    return apply("where", condition, a, b)


def minimum(a: Index | int, b: Index | int) -> Index:
    """The lesser of two index expressions.  Raises UsageError for what is none."""
    return apply("min", a, b)


def maximum(a: Index | int, b: Index | int) -> Index:
    """The greater of two index expressions.  Raises UsageError for what is none."""
    return apply("max", a, b)


def conjunction(conditions: Iterable[Index]) -> Index:
    """All of the conditions, each once; True of none."""
    distinct = list(dict.fromkeys(conditions)) or [Const(True)]
    joined = distinct[0]
    for condition in distinct[1:]:
        joined = apply("and", joined, condition)
    return joined


def in_order(term: Index, key: Callable[[Index], int]) -> Index:
    """The term with the operands of nested `and`, and of nested `or`, by a key: the least first and innermost, equals as they stand."""
    if not any(isinstance(sub, Apply) and sub.op in ("and", "or") for sub in walk(term)):
        return term
    done: dict[Index, Index] = {}
    for sub in walk(term):
        if not isinstance(sub, Apply):
            done[sub] = sub
        elif sub.op in ("and", "or"):
            operands = sorted(_operands(sub.op, *(done[arg] for arg in sub.args)), key=key)
            done[sub] = functools.reduce(functools.partial(apply, sub.op), operands)
        else:
            done[sub] = Apply(sub.op, tuple(done[arg] for arg in sub.args))
    return done[term]


def _operands(op: str, *args: Index) -> Iterator[Index]:
    """The operands of nested operations of one kind."""
    for arg in args:
        yield from _operands(op, *arg.args) if isinstance(arg, Apply) and arg.op == op else (arg,)


def as_truth(term: Index) -> Index:
    """A truth value that is spelled as a number, as the truth value."""
    while isinstance(term, Apply) and term.op in ("int", "bool") and isinstance(term.args[0], Apply | Const):
        term = term.args[0]
    if isinstance(term, Const):
        return Const(bool(term.value))
    return term if term.kind == "bool" else apply("bool", term)


def children(term: Index) -> tuple[Index, ...]:
    return term.args if isinstance(term, Apply) else ()


# every distinct subterm once, operands before the terms that use them
walk: Walk[Index] = Walk("subterms", children)


def residue_of(term: Index) -> residue.Residue:
    """(m, r): every value of a term is r modulo m (residue.py); kept with each term once it was asked for."""
    if "_residue" not in term.__dict__:
        for node in walk(term):
            if "_residue" not in node.__dict__:
                object.__setattr__(node, "_residue", _residue(node))
    found: residue.Residue = term.__dict__["_residue"]
    return found


def _residue(term: Index) -> residue.Residue:
    if isinstance(term, Apply):
        return residue.of_operation(term.op, [residue_of(arg) for arg in term.args])
    return residue.constant(term.bounds[0]) if term.bounds[0] == term.bounds[1] else residue.ANY


def variables(*roots: Index) -> tuple[Var, ...]:
    """The variables that occur, in order of first occurrence."""
    found: dict[Var, None] = {}
    for root in roots:
        if isinstance(root, Apply):
            found.update(dict.fromkeys(root.free))
        elif isinstance(root, Var):
            found[root] = None
    return tuple(found)


def depends(term: Index, variable: Var) -> bool:
    """Whether a variable occurs in a term."""
    return any(other is variable for other in (term.free if isinstance(term, Apply) else (term,)))


def substitute(term: Index, env: Mapping[Var, Index]) -> Index:
    """`term` with every variable of `env` replaced; all at once."""
    done: dict[Index, Index] = {}
    for sub in walk(term):
        if isinstance(sub, Apply):
            args = tuple(done[arg] for arg in sub.args)
            done[sub] = sub if all(a is b for a, b in zip(args, sub.args, strict=True)) else Apply(sub.op, args)
        else:
            done[sub] = env.get(sub, sub) if isinstance(sub, Var) else sub
    return done[term]


@to_text.register
def text(term: Index) -> str:
    """Python text of the term, with the fewest brackets that keep its structure."""
    shown: dict[Index, tuple[str, int]] = {}

    def operand(arg: Index, least: int) -> str:
        written, precedence = shown[arg]
        return written if precedence >= least else f"({written})"

    for sub in walk(term):
        if isinstance(sub, Const):
            shown[sub] = (str(sub.value), 20 if sub.value >= 0 else 11)
        elif isinstance(sub, Var):
            shown[sub] = (sub.name, 20)
        elif isinstance(sub, Apply):
            row = OPS[sub.op]
            if row.precedence == 20:
                shown[sub] = (f"{row.symbol}({', '.join(shown[arg][0] for arg in sub.args)})", 20)
            elif row.arity == 1:
                shown[sub] = (f"{row.symbol}{operand(sub.args[0], row.precedence)}", row.precedence)
            else:
                left = row.precedence + (1 if row.precedence == 4 else 0)
                a, b = operand(sub.args[0], left), operand(sub.args[1], row.precedence + 1)
                shown[sub] = (f"{a} {row.symbol} {b}", row.precedence)
    return shown[term][0]
