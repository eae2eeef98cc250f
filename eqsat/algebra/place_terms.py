"""Places that are computed, with divisions decided by what their parts may be: digits of a sum of digits are these again.

(i * 60 + p * 3 + j) // 3 % 20   is   p            for elements p of 0 to 19 and j of 0 to 2
"""

from __future__ import annotations

from math import gcd

from eqsat.ir.index import Apply, Const, Index, Var, apply, walk
from eqsat.ir.interval import within
from eqsat.ir.places import PLACE, place_at
from eqsat.ir.tensor import Call, Literal, Position, Scalar, operands, scalars
from eqsat.ir.value_bounds import limits, scalar_bounds
from eqsat.lowering.affine import DIVISIONS, Affine, Forms, bounds, quotient, rebuilt, remainder

OPERATIONS = {"add": "add", "subtract": "sub", "multiply": "mul", "floor_divide": "floordiv", "remainder": "mod"}


def simple_place(place: Scalar) -> Scalar:
    """An equal place, of as few divisions as bounds decide; as it is where one of its parts may be any number."""
    if not any(isinstance(term, Call) and OPERATIONS.get(term.op) in DIVISIONS for term in scalars(place)):
        return place
    elements: dict[Var, Scalar] = {}
    index = _index_of(place, elements)
    found = None if index is None else place_at(_simple(index), elements)
    return place if found is None or _size(found) >= _size(place) else found


def _size(place: Scalar) -> int:
    """How many elements have to be computed."""
    return sum(isinstance(term, Call) for term in scalars(place))


def _index_of(place: Scalar, elements: dict[Var, Scalar]) -> Index | None:
    """A place as an index term, with variables in the place of elements; None where a number in it may be one that does not fit."""
    done: dict[Scalar, Index] = {}
    for term in scalars(place):
        args = [done[arg] for arg in operands(term) if arg in done]
        if isinstance(term, Position) and term.dtype == PLACE:
            found: Index = term.index
        elif isinstance(term, Literal) and isinstance(term.value, int) and term.dtype == PLACE:
            found = Const(term.value)
        elif isinstance(term, Call) and term.op in OPERATIONS and term.dtype == PLACE and len(args) == 2:
            found = apply(OPERATIONS[term.op], *args)
        elif term.dtype == PLACE:
            found = Var(f"p{len(elements)}", *scalar_bounds(term))
            elements[found] = term
        else:
            continue
        if not within(found.bounds, limits(PLACE)):
            return None
        done[term] = found
    return done.get(place)


def _simple(index: Index) -> Index:
    """An index term with its divisions decided, operands first."""
    forms, done = Forms(), dict[Index, Index]()
    for term in walk(index):
        if isinstance(term, Apply):
            found = apply(term.op, *(done[arg] for arg in term.args))
            divisor = found.args[1] if isinstance(found, Apply) and found.op in DIVISIONS else None
            if isinstance(found, Apply) and isinstance(divisor, Const) and divisor.value > 1:
                found = _divided(found.op, forms(found.args[0]), int(divisor.value), forms)
            done[term] = rebuilt(forms(found)) if found.kind == "int" else found
        else:
            done[term] = term
    return done[index]


def _divided(op: str, form: Affine, divisor: int, forms: Forms) -> Index:
    """A division of a sum, by a part of the divisor where the rest of the sum lies between two multiples of it."""
    for factor in sorted({gcd(divisor, coefficient) for coefficient in form.terms.values()} - {1}, reverse=True):
        rest = remainder(form, factor)
        low, high = bounds(rest)
        if low // factor != high // factor:
            continue
        # form = whole * factor + digit, where digit is one of factor
        times, evenly = low // factor, quotient(form, factor)
        whole = rebuilt(Affine(evenly.constant + times, evenly.terms))
        digit = rebuilt(Affine(rest.constant - times * factor, rest.terms))
        if op == "floordiv":
            return apply(op, whole, divisor // factor) if factor < divisor else whole
        return rebuilt(forms(apply(op, whole, divisor // factor) * factor + digit)) if factor < divisor else digit
    evenly, left = quotient(form, divisor), rebuilt(remainder(form, divisor))
    return apply("mod", left, divisor) if op == "mod" else rebuilt(evenly) + apply("floordiv", left, divisor)
