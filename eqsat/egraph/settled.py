"""Terms that no rule makes cheaper, as their cheapest form shows: saturation need not begin or go on for them.

They are a sum of variables and of operations, each on variables of its own that bounds do not decide; or a conjunction:

    x + 2*y - 3      y + (x - z + 1) // 4 + w % 8      x < y + z      8*min(max(x, 1), 7) + y - 8      where(x < 4, y, 0)
    8*min(6*x + 36*y, 58) + 8*z
    x >= 1 and x < 7 and y < 3
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from math import gcd

from eqsat.egraph.encode import EVERYTHING
from eqsat.egraph.forms import SIGNS, Forms, index_children
from eqsat.egraph.index_cost import is_power_of_two
from eqsat.egraph.linear import Linear
from eqsat.egraph.schema import DIVISIONS, VARIABLES
from eqsat.egraph.snapshot import ENode
from eqsat.ir.interval import BOOL, Interval, within

Bounds = Mapping[int, Interval]
# a variable of two values makes more terms linear
LEAST_RANGE = 2
OTHER_WAY = {"Min": "Max", "Max": "Min"}


def is_settled(forms: Forms, bounds: Bounds, name: int) -> bool:
    """Whether the cheapest form of a class shows that there is no cheaper one."""
    return _Look(forms, bounds).is_settled(name)


def is_sum_of_variables(forms: Forms, bounds: Bounds, name: int) -> bool:
    """Whether the cheapest form of a class is a sum of variables that stays within its bounds."""
    look = _Look(forms, bounds)
    if name not in forms:
        return False
    form = look.form(name)
    return all(look.op(atom) in VARIABLES for atom, _ in form.terms) and within(look.bounds_of(form), bounds.get(name, EVERYTHING))


class _Look:
    """A look at the cheapest forms of classes."""

    def __init__(self, forms: Forms, bounds: Bounds) -> None:
        self.forms, self.bounds = forms, bounds

    # what there is -------------------------------------------------------------------------------------------------
    def op(self, name: int) -> str:
        return self.forms[name].op if name in self.forms else ""

    def form(self, name: int) -> Linear:
        node = self.forms[name]
        if node.op == "Num":
            return Linear(node.args[0])
        return Linear(node.args[0], node.args[1:]) if node.op == "Sum" else Linear(0, ((name, 1),))

    def constant(self, name: int) -> int | None:
        return self.forms[name].args[0] if self.op(name) == "Num" else None

    def variables(self, names: Iterable[int]) -> Counter[int]:
        """The variables that some classes are made of, with how many of these classes are made of each."""
        found = Counter[int]()
        for name in names:
            stack, seen = [name], {name}
            while stack:
                here = stack.pop()
                if self.op(here) in VARIABLES:
                    found[here] += 1
                elif here in self.forms:
                    more = set(index_children(self.forms[here])) - seen
                    seen |= more
                    stack += more
        return found

    def range(self, name: int) -> Interval:
        """Bounds of a class; those of a variable are its own, which may not be known of its class yet."""
        lo, hi = self.bounds.get(name, EVERYTHING)
        if self.op(name) in VARIABLES:
            node = self.forms[name]
            *_, least, most = (0, node.args[1] - 1) if node.op != "Var" else node.args
            return max(lo, least), min(hi, most)
        return lo, hi

    def width(self, name: int) -> int:
        lo, hi = self.range(name)
        return hi - lo

    def bounds_of(self, form: Linear) -> Interval:
        """Bounds of a sum of variables; those of its class may not be known yet."""
        return form.bounds(self.range)

    # what is settled -----------------------------------------------------------------------------------------------
    def is_settled(self, name: int) -> bool:
        while self.op(name) == "Not":
            name = self.forms[name].args[0]
        if name not in self.forms or (self.op(name) in DIVISIONS and within(self.range(name), BOOL)):
            return False  # of two values a comparison says as much
        form = self.form(name)
        if any(atom not in self.forms for atom, _ in form.terms):
            return False
        others = [(atom, k) for atom, k in form.terms if self.op(atom) not in VARIABLES]
        if not others:
            return True
        if self.op(name) in SIGNS:
            return self._is_open_sign(name)
        if self._is_conjunction(name):
            return self._is_open_conjunction(name)
        if len(others) > 1 or self.op(others[0][0]) not in DIVISIONS:
            shared = self.variables(atom for atom, _ in form.terms)
            if set(shared.values()) != {1}:
                return False
        return all(self._is_open(atom, k, form) for atom, k in others)

    def _is_open(self, name: int, factor: int, form: Linear) -> bool:
        """Whether an operation that is a term of a sum stays one, whatever else is in the sum."""
        op = self.op(name)
        if op in DIVISIONS:
            return (factor == 1 or (factor > 0 and op == "Mod")) and self._is_least_division(name, form.without(name))
        return (op in OTHER_WAY and self._is_open_order(name, factor, form)) or (op == "Where" and self._is_open_choice(name))

    def _are_variables(self, form: Linear, least: int, units: bool = True) -> bool:
        """Whether a sum is made of variables with as large a range at least, added or subtracted."""
        plain = all((abs(k) == 1 or not units) and self.op(atom) in VARIABLES for atom, k in form.terms)
        return plain and bool(form.terms) and all(self.width(atom) >= least for atom, _ in form.terms)

    def _is_least_division(self, name: int, outside: Linear) -> bool:
        """Whether a division is by a constant that every variable of its dividend exceeds, if need be twice, so that powers of two do not
        serve, nothing is negated, and no constant can go into another; or of a variable by another one, both with a wide range."""
        dividend, divisor = self.forms[name].args
        n = self.constant(divisor)
        if n is None:
            return self._is_open_ratio(dividend, divisor)
        if n < LEAST_RANGE or dividend not in self.forms:
            return False
        below = self.form(dividend)
        apart = {atom for atom, _ in below.terms}.isdisjoint(atom for atom, _ in outside.terms)
        least = any(k > 0 for _, k in below.terms) if not below.constant else not outside.constant and below.constant % n != 0
        wide = n if is_power_of_two(n) else 2 * n
        return apart and least and self._are_variables(below, wide, units=False) and self._are_reduced(below, n)

    def _are_reduced(self, form: Linear, n: int) -> bool:
        """Whether coefficients are one, or share no factor with the divisor, and no other multiple of that brings them nearer to zero."""
        if all(abs(k) == 1 for _, k in form.terms):
            return True
        return all(k == 1 or (k > 1 and 2 * k < n and gcd(k, n) == 1) for _, k in form.terms)

    def _is_open_ratio(self, dividend: int, divisor: int) -> bool:
        """Whether a division is of a variable by another one that stays positive, and takes many values."""
        if self.op(dividend) not in VARIABLES or self.op(divisor) not in VARIABLES or dividend == divisor:
            return False
        lo, hi = self.range(divisor)
        return lo > 0 and lo + LEAST_RANGE <= hi and LEAST_RANGE * hi <= self.width(dividend)

    def _is_open_sign(self, name: int) -> bool:
        """Whether a comparison is one of variables, added or subtracted, and undecided: then it depends on each of them."""
        if self.op(name) not in SIGNS:
            return False
        node = self.forms[name]
        if node.args[0] not in self.forms or not self._are_variables(form := self.form(node.args[0]), LEAST_RANGE):
            return False
        lo, hi = self.bounds_of(form)
        return lo < 0 <= hi if node.op == "Nonneg" else lo <= 0 <= hi

    def _is_conjunction(self, name: int) -> bool:
        """Whether a minimum or maximum is one of comparisons."""
        return self.op(name) in OTHER_WAY and all(self.op(part) in SIGNS for part in self._parts(name, self.op(name)))

    def _parts(self, name: int, op: str) -> Iterator[int]:
        """What an operation of operations of its own kind joins, as often as it does."""
        stack = [name]
        while stack:
            here = stack.pop()
            if self.op(here) == op:
                stack += self.forms[here].args
            else:
                yield here

    def _is_open_conjunction(self, name: int) -> bool:
        """Whether comparisons are joined of variables of their own; two that bound one variable from both sides are one."""
        parts = list(self._parts(name, self.op(name)))
        if len(set(parts)) < len(parts) or not all(self.op(part) == "Nonneg" and self._is_open_sign(part) for part in parts):
            return False
        compared = [self.form(self.forms[part].args[0]) for part in parts]
        both: dict[int, dict[int, int]] = {}
        for form in compared:
            if len(form.terms) == 1:
                ((variable, k),) = form.terms
                if k in both.setdefault(variable, {}):
                    return False
                both[variable][k] = form.constant
        # -least + x and most - x: joined by "and" between them, by "or" outside of them
        sides = [(-ends[1], ends[-1]) for ends in both.values() if len(ends) > 1]
        wide = all(abs(most - least) > LEAST_RANGE and (least < most) == (self.op(name) == "Min") for least, most in sides)
        several = [form for form in compared if len(form.terms) > 1]
        used = Counter(atom for form in several for atom, _ in form.terms) + Counter(both.keys())
        return wide and max(used.values()) == 1

    def _is_open_order(self, name: int, factor: int, around: Linear) -> bool:
        """Whether min or max chooses between two variables, or a variable and a constant, and either can be chosen; or bounds from the
        other side what such a choice bounds; or bounds a sum."""
        node = self.forms[name]
        x, y = node.args
        for inner, bound in ((x, y), (y, x)):
            if self.op(bound) == "Num" and self.op(inner) == OTHER_WAY[node.op]:
                return self._is_open_clamp(node, self.forms[inner], self.range(bound)[0])
            if self.op(bound) == "Num" and self.op(inner) == "Sum":
                shares = factor == 1 or any(k == factor and atom != name for atom, k in around.terms)
                return shares and self._is_open_bound(self.form(inner), self.range(bound)[0])
        (low, high), (least, most) = self.range(x), self.range(y)
        return self._are_leaves(x, y) and low < most and least < high

    def _is_open_bound(self, form: Linear, bound: int) -> bool:
        """Whether a sum of variables is bounded within its range, by no multiple of a factor that all of it has."""
        if form.constant or not all(k > 0 for _, k in form.terms) or not self._are_variables(form, LEAST_RANGE, units=False):
            return False
        common, (lo, hi) = gcd(*(k for _, k in form.terms)), self.bounds_of(form)
        return lo < bound < hi and (common == 1 or bound % common != 0)

    def _is_open_clamp(self, outer: ENode, inner: ENode, bound: int) -> bool:
        """Whether a variable is bounded from both sides, within its range."""
        limits = [k for arg in inner.args if (k := self.constant(arg)) is not None]
        clamped = [arg for arg in inner.args if self.op(arg) in VARIABLES]
        if len(limits) != 1 or len(clamped) != 1:
            return False
        least, most = sorted((limits[0], bound)) if (outer.op == "Min") == (limits[0] < bound) else (bound, bound)
        lo, hi = self.range(clamped[0])
        return lo < least and most < hi and least + LEAST_RANGE <= most

    def _is_open_choice(self, name: int) -> bool:
        """Whether a comparison chooses between two variables that are not compared, or one and a constant."""
        sign, *branches = self.forms[name].args
        if not self._is_open_sign(sign):
            return False
        compared = (atom for atom, _ in self.form(self.forms[sign].args[0]).terms)
        return self._are_leaves(*branches) and set(branches).isdisjoint(compared)

    def _are_leaves(self, x: int, y: int) -> bool:
        """Whether two classes are variables, or one of them a constant."""
        wide = [self.op(name) in VARIABLES and self.width(name) >= LEAST_RANGE for name in (x, y)]
        return x != y and any(wide) and all(is_wide or self.op(name) == "Num" for is_wide, name in zip(wide, (x, y), strict=True))
