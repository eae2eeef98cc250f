"""Index terms whose variables are elements: where an element says where to read."""

from __future__ import annotations

from collections.abc import Mapping

from eqsat.ir.index import Apply, Const, Index, Var, substitute, variables, walk
from eqsat.ir.tensor import Call, Literal, Position, Scalar, as_dtype

PLACE = "int64"
# index operations as operations on places
ON_PLACES = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "neg": "negative",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "min": "minimum",
    "max": "maximum",
    "abs": "absolute",
    "where": "where",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "eq": "equal",
    "ne": "not_equal",
    "and": "logical_and",
    "or": "logical_or",
    "not": "logical_not",
}


def place_at(index: Index, env: Mapping[Var, Scalar]) -> Scalar | None:
    """An index term at places; an index term itself where they all are, and so what it is made of."""
    moved = {v: env[v] for v in variables(index) if v in env}
    plain = {v: place.index for v, place in moved.items() if isinstance(place, Position)}
    if len(plain) == len(moved):
        term = substitute(index, plain)
        return Position(term, _dtype(term))
    elements = moved.keys() - plain.keys()
    done: dict[Index, Scalar] = {}
    for term in walk(index):
        if not isinstance(term, Const) and elements.isdisjoint(variables(term)):
            done[term] = Position(substitute(term, plain), _dtype(term))
        elif isinstance(term, Apply):
            if term.op not in ON_PLACES:
                return None
            of_truths = term.op in ("and", "or", "not") or (term.op == "where" and term.kind == "bool")
            args = [done[arg] if of_truths else as_dtype(done[arg], PLACE) for arg in term.args]
            if term.op == "where":
                args[0] = done[term.args[0]]
            done[term] = Call(ON_PLACES[term.op], tuple(args), _dtype(term))
        elif isinstance(term, Const):
            done[term] = Literal(term.value, _dtype(term))
        else:
            assert isinstance(term, Var)
            done[term] = env[term]
    return done[index]


def _dtype(index: Index) -> str:
    return "bool" if index.kind == "bool" else PLACE
