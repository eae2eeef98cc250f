"""Equality of quasi-affine index expressions as a question about integer sets, for isl: the only module that imports islpy.

A number becomes a piecewise quasi-affine function over the box of the variables, a truth value the set where it holds.  Sums,
products with constants, `//` and `%` by constants, shifts by constants, bit operations with constants, min, max, abs, where and
comparisons have a form; a factor, divisor or amount of at most CASES values is one constant after the other.  Any other subterm
becomes a variable of its own with the bounds of the subterm, the same one for operations on operands that are proved equal: what is
equal for all its values is equal.
S. Verdoolaege, "isl: An Integer Set Library for the Polyhedral Model", ICMS 2010.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from eqsat.ir.index import OPS, Apply, Const, Index, Var
from eqsat.ir.index_points import Difference, Pair, conditions

CASES = 8
# operations without a form are compared with each other where there are no more than this
MOST_OPAQUE = 6
# isl's own count of steps, so that the answer does not depend on the clock
MOST_STEPS = 1_000_000
_COMPARE = {"lt": "lt_set", "le": "le_set", "gt": "gt_set", "ge": "ge_set", "eq": "eq_set", "ne": "ne_set"}


@dataclass(frozen=True)
class Answer:
    """equal: proved; difference: refuted; neither: `note` says why."""

    equal: bool = False
    difference: Difference | None = None
    note: str = ""


def compare(pair: Pair) -> Answer:
    """Whether two sides agree on all values of their variables."""
    isl = _islpy()
    if isl is None:
        return Answer(note="islpy is not installed (pip install 'eqsat[sets]')")
    try:
        return _compare(isl, pair)
    except isl.Error as error:
        return Answer(note=f"integer sets gave up: {str(error).splitlines()[0] if str(error) else 'isl error'}")


def is_installed() -> bool:
    """Whether islpy can be imported; without it nothing is decided by integer sets."""
    return _islpy() is not None


def _islpy() -> Any:
    try:
        import islpy
    except ImportError:
        return None
    return islpy


def _compare(isl: Any, pair: Pair) -> Answer:
    needs = conditions(pair.left), conditions(pair.right)
    sets = _Sets(isl, (pair.left, pair.right, *needs[0], *needs[1]))
    domains = []
    for need in needs:
        domain = sets.box
        for condition in need:
            domain = domain.intersect(sets.truth(condition))
        domains.append(domain)
    wrong = domains[0].subtract(domains[1])
    if not pair.extends:
        wrong = wrong.union(domains[1].subtract(domains[0]))
    wrong = wrong.union(sets.differ(pair.left, pair.right).intersect(domains[0]).intersect(domains[1]))
    if wrong.is_empty():
        return Answer(equal=True)
    point = sets.point(wrong)
    difference = pair.at({v: point.get(v, v.lo) for v in pair.variables})
    opaque = ", ".join(str(term) for term in sets.atoms if not isinstance(term, Var))
    return Answer(difference=difference, note=f"not quasi-affine: {opaque}" if opaque else "")


def _equal(isl: Any, a: Index, b: Index) -> bool:
    return a is b or _compare(isl, Pair(a, b)).equal


def _congruent(isl: Any, a: Apply, b: Apply) -> bool:
    """Whether two operations work on equal operands."""
    if a.op != b.op:
        return False
    orders = (b.args, b.args[::-1]) if OPS[a.op].commutative else (b.args,)
    return any(all(_equal(isl, x, y) for x, y in zip(a.args, order, strict=True)) for order in orders)


def _representatives(isl: Any, opaque: list[Apply]) -> dict[Index, Index]:
    """For every operation without a form the first one that is proved equal to it."""
    found: dict[Index, Index] = {}
    for term in opaque:
        known = [other for other in dict.fromkeys(found.values()) if isinstance(other, Apply)]
        compared = known if len(opaque) <= MOST_OPAQUE else []
        found[term] = next((other for other in compared if _congruent(isl, other, term)), term)
    return found


def _few(term: Index) -> bool:
    return term.bounds[1] - term.bounds[0] < CASES


def has_form(term: Apply) -> bool:
    """Whether an operation on numbers and sets that have forms has one."""
    if term.op == "mul":
        return _few(term.args[0]) or _few(term.args[1])
    if term.domain is not None:
        return _few(term.args[1])
    if term.op in ("bitand", "bitor", "bitxor"):
        return any(arg.bounds[0] == arg.bounds[1] for arg in term.args)
    return True


class _Sets:
    """The forms of all subterms of some roots over one space, with a dimension for every atom."""

    def __init__(self, isl: Any, roots: tuple[Index, ...]) -> None:
        self.isl, self.context = isl, isl.Context()
        self.context.set_max_operations(MOST_STEPS)
        order = _order(roots)
        opaque = [term for term in order if isinstance(term, Apply) and not has_form(term)]
        representative = _representatives(isl, opaque)
        self.atoms = [term for term in order if isinstance(term, Var) or representative.get(term) is term]
        space = isl.Space.create_from_names(self.context, set=[f"d{k}" for k in range(len(self.atoms))])
        self.local = isl.LocalSpace.from_space(space)
        self.box = isl.Set.universe(space)
        for k, atom in enumerate(self.atoms):
            lo, hi = (self.val(bound) for bound in atom.bounds)
            self.box = self.box.lower_bound_val(isl.dim_type.set, k, lo).upper_bound_val(isl.dim_type.set, k, hi)
        self.positions = {atom: k for k, atom in enumerate(self.atoms)}
        self.positions.update((term, self.positions[first]) for term, first in representative.items())
        self.known: dict[Index, Any] = {}
        for term in order:
            self.known[term] = self._form(term)

    def val(self, value: int) -> Any:
        return self.isl.Val(str(value), self.context)

    def constant(self, value: int) -> Any:
        return self.isl.PwAff.val_on_domain(self.box, self.val(value))

    def number(self, term: Index) -> Any:
        """The piecewise function of a term; a truth value is 1 where it holds."""
        form = self.known[term]
        if not isinstance(form, self.isl.Set):
            return form
        one, zero = self.isl.PwAff.val_on_domain(form, self.val(1)), self.isl.PwAff.val_on_domain(self.box.subtract(form), self.val(0))
        return one.union_add(zero)

    def truth(self, term: Index) -> Any:
        """The set on which a term holds; a number holds where it is not zero."""
        form = self.known[term]
        return form if isinstance(form, self.isl.Set) else form.non_zero_set()

    def differ(self, left: Index, right: Index) -> Any:
        forms = self.known[left], self.known[right]
        if all(isinstance(form, self.isl.Set) for form in forms):
            return forms[0].subtract(forms[1]).union(forms[1].subtract(forms[0]))
        return self.number(left).ne_set(self.number(right))

    def point(self, found: Any) -> dict[Index, int]:
        point = found.sample_point()
        return {atom: int(point.get_coordinate_val(self.isl.dim_type.set, k).to_python()) for k, atom in enumerate(self.atoms)}

    def _form(self, term: Index) -> Any:
        if isinstance(term, Const):
            return self.constant(int(term.value))
        if not isinstance(term, Apply) or not has_form(term):
            axis = self.isl.PwAff.var_on_domain(self.local, self.isl.dim_type.set, self.positions[term])
            return axis.intersect_domain(self.box)
        if term.kind == "bool" and term.op != "where":
            return self._set(term)
        return self._number(term).coalesce()

    def _set(self, term: Apply) -> Any:
        if term.op in _COMPARE:
            a, b = (self.number(arg) for arg in term.args)
            return getattr(a, _COMPARE[term.op])(b)
        first = self.truth(term.args[0])
        if term.op == "bool":
            return first
        if term.op == "not":
            return self.box.subtract(first)
        second = self.truth(term.args[1])
        return first.intersect(second) if term.op == "and" else first.union(second).coalesce()

    def _number(self, term: Apply) -> Any:
        if term.op == "where":
            holds = self.truth(term.args[0])
            a, b = (self.number(arg) for arg in term.args[1:])
            return a.intersect_domain(holds).union_add(b.intersect_domain(self.box.subtract(holds)))
        args = [self.number(arg) for arg in term.args]
        if term.op in ("add", "sub", "neg", "min", "max"):
            return getattr(args[0], term.op)(*args[1:])
        if term.op in ("int", "bool"):
            return args[0]
        if term.op == "abs":
            return args[0].max(args[0].neg())
        if term.op in ("bitand", "bitor", "bitxor"):
            mask = next(k for k, arg in enumerate(term.args) if arg.bounds[0] == arg.bounds[1])
            return self._bits(term.op, args[1 - mask], term.args[mask].bounds[0])
        few = 0 if term.op == "mul" and _few(term.args[0]) else 1
        return self._cases(term.args[few], args[few], lambda k: self._by_constant(term.op, args[1 - few], k))

    def _cases(self, operand: Index, form: Any, by: Callable[[int], Any]) -> Any:
        """One constant after the other for an operand of few values."""
        lo, hi = operand.bounds
        whole = self.isl.PwAff.empty(self.local.get_space().from_domain().add_dims(self.isl.dim_type.out, 1))
        for k in range(lo, hi + 1):
            part = by(k)
            if part is not None:
                whole = whole.union_add(part if lo == hi else part.intersect_domain(form.eq_set(self.constant(k))))
        return whole

    def _by_constant(self, op: str, a: Any, k: int) -> Any:
        """a op k; None where that has no value."""
        if op == "mul":
            return a.scale_val(self.val(k))
        if op in ("shl", "shr"):
            if k < 0:
                return None
            return a.scale_val(self.val(1 << k)) if op == "shl" else self._quotient(a, 1 << k)
        if k == 0:
            return None
        quotient = self._quotient(a, k)
        return quotient if op == "floordiv" else a.sub(quotient.scale_val(self.val(k)))

    def _quotient(self, a: Any, k: int) -> Any:
        """The floor of a / k, which is that of -a / -k."""
        return (a if k > 0 else a.neg()).scale_down_val(self.val(abs(k))).floor()

    def _bits(self, op: str, a: Any, mask: int) -> Any:
        """a & m by runs of ones; a | m = a + m - (a & m) and a ^ m = a + m - 2 * (a & m), for numbers of any sign."""
        both = self._masked(a, mask)
        if op == "bitand":
            return both
        return a.add(self.constant(mask)).sub(both.scale_val(self.val(1 if op == "bitor" else 2)))

    def _masked(self, a: Any, mask: int) -> Any:
        if mask < 0:
            return a.sub(self._masked(a, ~mask))
        result, low = self.constant(0), 0
        while mask >> low:
            if mask >> low & 1:
                high = low
                while mask >> high & 1:
                    high += 1
                # bits low..high-1 are a % 2**high - a % 2**low
                result = result.add(self._by_constant("mod", a, 1 << high)).sub(self._by_constant("mod", a, 1 << low))
                low = high
            else:
                low += 1
        return result


def _order(roots: tuple[Index, ...]) -> list[Index]:
    """Every subterm, operands first; what has no form is not opened."""
    done: dict[Index, None] = {}
    stack = [(root, False) for root in reversed(roots)]
    while stack:
        term, ready = stack.pop()
        if term in done:
            continue
        if ready or not isinstance(term, Apply) or not has_form(term):
            done[term] = None
        else:
            stack.append((term, True))
            stack.extend((arg, False) for arg in reversed(term.args))
    return list(done)
