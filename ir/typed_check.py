"""The checker of typed index terms, and their interpreter in integers that wrap around, so that an overflow would show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eqsat.ir.errors import InternalError, UsageError
from eqsat.ir.index import OPS, Var
from eqsat.ir.typed import (
    BITS,
    Access,
    Bound,
    Cast,
    Counter,
    End,
    IndexType,
    Invalid,
    Name,
    Number,
    Numbers,
    Operation,
    Sink,
    Terminal,
    Typed,
    Vector,
    fits,
    typed_terms,
)

Lanes = tuple[int, ...]


def check_typed(*roots: Typed) -> None:
    """Raise InternalError, naming the term, unless the terms are legal and concrete:

    no dtype is "index"; integer operands of an operation have one dtype and one number of lanes; every value that a term can
    take by its bounds is one of its dtype, so that nothing wraps around; nothing is Invalid.
    """
    for term in typed_terms(*roots):
        if isinstance(term, Terminal):
            _check_terminal(term)
            continue
        if term.dtype == "index" or isinstance(term, Invalid):
            _fail(term, f"dtype {term.dtype}" if term.dtype == "index" else "no index", "int32, int64 or bool")
        if term.dtype in BITS and not fits(term.dtype, term.bounds):
            _fail(term, f"values in {term.bounds[0]}..{term.bounds[1]}", f"values of {term.dtype}")
        _check_operands(term)


def _check_operands(term: Typed) -> None:
    if isinstance(term, Operation):
        _same(term, [arg.dtype for arg in term.args if arg.dtype != "bool"])
        if OPS[term.op].kind == "int" and term.op != "int" and any(arg.dtype != term.dtype for arg in term.args):
            _fail(term, ", ".join(arg.dtype for arg in term.args), f"operands of {term.dtype}")
        if len({arg.lanes for arg in term.args}) != 1:
            _fail(term, f"{', '.join(str(arg.lanes) for arg in term.args)} lanes", "one number of lanes")
    elif isinstance(term, Counter | Vector):
        _same(term, [term.dtype, *(arg.dtype for arg in term.operands)])
    elif isinstance(term, Bound):
        _same(term, [term.dtype, term.name.dtype, term.value.dtype])


def _check_terminal(term: Terminal) -> None:
    gate = term.gate if isinstance(term, Access) else None
    if gate is not None and gate.dtype != "bool":
        _fail(term, f"a gate of {gate.dtype}", "a truth value")


def _same(term: Typed, dtypes: list[IndexType]) -> None:
    if len(set(dtypes)) > 1:
        _fail(term, ", ".join(dtypes), "one dtype")


def _fail(term: Typed, found: str, expected: str) -> None:
    raise InternalError(f"typed index {term}: found {found}, expected {expected}")


def wrapped(value: int, dtype: IndexType) -> int:
    """The value that an integer of the dtype holds after `value` was computed in it; exact for "index"."""
    if dtype not in BITS:
        return value
    half = 1 << BITS[dtype] - 1
    return (value + half) % (2 * half) - half


def evaluate_typed(root: Typed, env: Mapping[Var, int]) -> Any:
    """The value of a term where every variable has the integer that `env` gives it.

    An int or a bool, a tuple of them for a vector, a tuple of values for Sink and End, and for Access the index, or None
    where the gate is false.  Raises UsageError for a variable without a value and ZeroDivisionError for a division by zero.
    """
    values: dict[Typed, Any] = {}
    terms = typed_terms(root)
    bound = {term.leaf: term.value for term in terms if isinstance(term, Bound)}
    for term in terms:
        if term in bound:
            values[term] = tuple(wrapped(value, term.dtype) for value in values[bound[term]])
        elif isinstance(term, Access):
            values[term] = None if term.gate is not None and not values[term.gate][0] else _shown(values[term.index])
        elif isinstance(term, Sink | End):
            values[term] = tuple(_shown(values[arg]) for arg in term.operands)
        else:
            values[term] = tuple(wrapped(value, term.dtype) for value in _lanes(term, values, env))
    return values[root] if isinstance(root, Terminal) else _shown(values[root])


def _shown(lanes: Lanes) -> Any:
    return lanes[0] if len(lanes) == 1 else lanes


def _lanes(term: Typed, values: Mapping[Typed, Lanes], env: Mapping[Var, int]) -> Lanes:
    if isinstance(term, Number):
        return (term.value,)
    if isinstance(term, Numbers):
        return term.values
    if isinstance(term, Name | Counter):
        if term.variable not in env:
            raise UsageError(f"evaluate: found no value for the variable {term.variable.name}")
        return (env[term.variable],)
    if isinstance(term, Operation):
        return tuple(OPS[term.op].evaluate(*lane) for lane in zip(*(values[arg] for arg in term.args), strict=True))
    if isinstance(term, Vector):
        return tuple(values[arg][0] for arg in term.args)
    if isinstance(term, Cast):
        return tuple(int(value) for value in values[term.arg])
    return values[term.value] if isinstance(term, Bound) else (0,) * term.lanes
