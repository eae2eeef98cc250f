"""Terms that no rule makes cheaper, as their cheapest form shows: saturation need not begin or go on for them.

They are a sum of variables, and at most one operation more on variables of its own that bounds do not decide:

    x + 2*y - 3      y + (x - z + 1) // 4      x < y + z      min(x, 7)      where(x < 4, y, 0)
"""

from __future__ import annotations

from collections.abc import Mapping

from eqsat.egraph.encode import EVERYTHING
from eqsat.egraph.forms import SIGNS, Forms
from eqsat.egraph.linear import Linear
from eqsat.egraph.schema import VARIABLES
from eqsat.ir.interval import Interval, within

Bounds = Mapping[int, Interval]
# a variable of two values makes more terms linear
LEAST_RANGE = 2


def is_settled(forms: Forms, bounds: Bounds, name: int) -> bool:
    """Whether the cheapest form of a class shows that there is no cheaper one."""
    while name in forms and forms[name].op == "Not":
        name = forms[name].args[0]
    if name not in forms:
        return False
    form = _form(forms, name)
    if any(atom not in forms for atom, _ in form.terms):
        return False
    others = [(atom, k) for atom, k in form.terms if forms[atom].op not in VARIABLES]
    if not others:
        return True
    (atom, k), *more = others
    op = forms[atom].op
    if op in ("Floordiv", "Mod"):
        alone = not more and (k == 1 or (k > 0 and op == "Mod"))
        return alone and _is_least_division(forms, bounds, atom, form.without(atom))
    if form.single is None:
        return False
    if op in SIGNS:
        return _is_open_sign(forms, bounds, atom)
    return (op in ("Min", "Max") and _is_open_order(forms, bounds, atom)) or (op == "Where" and _is_open_choice(forms, bounds, atom))


def is_sum_of_variables(forms: Forms, bounds: Bounds, name: int) -> bool:
    """Whether the cheapest form of a class is a sum of variables that stays within its bounds."""
    if name not in forms:
        return False
    form = _form(forms, name)
    if any(atom not in forms or forms[atom].op not in VARIABLES for atom, _ in form.terms):
        return False
    return within(_bounds_of(forms, bounds, form), bounds.get(name, EVERYTHING))


def _form(forms: Forms, name: int) -> Linear:
    node = forms[name]
    if node.op == "Num":
        return Linear(node.args[0])
    return Linear(node.args[0], node.args[1:]) if node.op == "Sum" else Linear(0, ((name, 1),))


def _are_variables(forms: Forms, bounds: Bounds, form: Linear, least: int) -> bool:
    """Whether a sum is made of variables with as large a range at least, added or subtracted."""
    ranges = (_range(forms, bounds, atom) for atom, _ in form.terms)
    units = all(abs(k) == 1 and atom in forms and forms[atom].op in VARIABLES for atom, k in form.terms)
    return units and bool(form.terms) and all(hi - lo >= least for lo, hi in ranges)


def _is_least_division(forms: Forms, bounds: Bounds, name: int, outside: Linear) -> bool:
    """Whether a division is by a constant that every variable of its dividend exceeds, nothing is negated, and no constant can go into
    another."""
    dividend, divisor = forms[name].args
    n = forms[divisor].args[0] if divisor in forms and forms[divisor].op == "Num" else 0
    if n < 2 or dividend not in forms:
        return False
    below = _form(forms, dividend)
    apart = {atom for atom, _ in below.terms}.isdisjoint(atom for atom, _ in outside.terms)
    least = any(k > 0 for _, k in below.terms) if not below.constant else not outside.constant and below.constant % n != 0
    return apart and least and _are_variables(forms, bounds, below, n)


def _is_open_sign(forms: Forms, bounds: Bounds, name: int) -> bool:
    """Whether a comparison is one of variables, added or subtracted, and undecided: then it depends on each of them."""
    node = forms[name]
    if node.args[0] not in forms or not _are_variables(forms, bounds, form := _form(forms, node.args[0]), LEAST_RANGE):
        return False
    lo, hi = _bounds_of(forms, bounds, form)
    return lo < 0 <= hi if node.op == "Nonneg" else lo <= 0 <= hi


def _bounds_of(forms: Forms, bounds: Bounds, form: Linear) -> Interval:
    """Bounds of a sum of variables; those of its class may not be known yet."""
    lo = hi = form.constant
    for atom, k in form.terms:
        ends = [k * end for end in _range(forms, bounds, atom)]
        lo, hi = lo + min(ends), hi + max(ends)
    return lo, hi


def _range(forms: Forms, bounds: Bounds, name: int) -> Interval:
    """Bounds of a class; those of a variable are its own, which may not be known of its class yet."""
    lo, hi = bounds.get(name, EVERYTHING)
    if name in forms and forms[name].op in VARIABLES:
        *_, least, most = (0, forms[name].args[1] - 1) if forms[name].op != "Var" else forms[name].args
        return max(lo, least), min(hi, most)
    return lo, hi


def _is_open_order(forms: Forms, bounds: Bounds, name: int) -> bool:
    """Whether min or max chooses between two variables, or a variable and a constant, and either can be chosen."""
    x, y = (_range(forms, bounds, arg) for arg in forms[name].args)
    return _are_leaves(forms, bounds, *forms[name].args) and x[0] < y[1] and y[0] < x[1]


def _is_open_choice(forms: Forms, bounds: Bounds, name: int) -> bool:
    """Whether a comparison chooses between two variables that are not compared, or one and a constant."""
    sign, *branches = forms[name].args
    if sign not in forms or forms[sign].op not in SIGNS or not _is_open_sign(forms, bounds, sign):
        return False
    compared = (atom for atom, _ in _form(forms, forms[sign].args[0]).terms)
    return _are_leaves(forms, bounds, *branches) and set(branches).isdisjoint(compared)


def _are_leaves(forms: Forms, bounds: Bounds, x: int, y: int) -> bool:
    """Whether two classes are variables, or one of them a constant."""
    operations = [forms[name].op if name in forms else "" for name in (x, y)]
    ranges = [_range(forms, bounds, name) for name in (x, y)]
    wide = all(op == "Num" or (op in VARIABLES and hi - lo >= LEAST_RANGE) for op, (lo, hi) in zip(operations, ranges, strict=True))
    return wide and operations != ["Num", "Num"] and x != y
