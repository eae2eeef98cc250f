"""Terms from chosen nodes: what is computed once and read twice is written so that both read the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import gcd

from eqsat.egraph.forms import RAW, SIGNS, Forms, index_children
from eqsat.egraph.index_cost import index_cycles, is_power_of_two
from eqsat.egraph.linear import Linear, sign_term, sum_term, zero_term
from eqsat.egraph.schema import OP_OF_NODE
from eqsat.egraph.snapshot import ENode
from eqsat.ir.index import OPS, Apply, Const, Index, Var, apply

Group = tuple[tuple[int, int], ...]


def reachable(forms: Forms, root: int) -> list[int]:
    """The classes that a term is made of, the root first."""
    found: dict[int, None] = {root: None}
    stack = [root]
    while stack:
        for child in index_children(forms[stack.pop()]):
            if child not in found:
                found[child] = None
                stack.append(child)
    return list(found)


def as_spelled(forms: Forms, root: int) -> tuple[Forms, list[int]]:
    """The chosen nodes below a class over what is given, in place of what it is under an assumption: both are spelled alike; and
    constants among the terms of a sum as part of its constant.  With them the classes that the term is made of."""
    classes = reachable(forms, root)
    given = {name for name in classes if forms[name].op == "Given"}
    constant = {name: forms[name].args[0] for name in classes if forms[name].op == "Num"}
    folded = [name for name in classes if forms[name].op == "Sum" and any(atom in constant for atom, _ in forms[name].args[1:])]
    if not given and not folded:
        return forms, classes
    bare = dict(forms)
    for name in classes if given else folded:
        node = forms[name]
        if node.op == "Sum":
            terms = [(given_class(forms, atom), k) for atom, k in node.args[1:] if atom not in constant]
            form = Linear.of(node.args[0] + sum(k * constant.get(atom, 0) for atom, k in node.args[1:]), terms)
            bare[name] = ENode("Sum", (form.constant, *form.terms))
        elif name not in given and index_children(node):
            bare[name] = ENode(node.op, tuple(given_class(forms, arg) if arg in given else arg for arg in node.args))
    return bare, reachable(bare, root)


def given_class(forms: Forms, name: int) -> int:
    """What a class is outside of assumptions."""
    while forms[name].op == "Given":
        name = forms[name].args[0]
    return name


def index_term(forms: Forms, root: int) -> Index:
    """The term that the chosen nodes spell for a class; comparisons of one difference as such where that is cheaper."""
    forms, classes = as_spelled(forms, root)
    term, differences = _Speller(forms, classes).term(root), _shared_differences(forms, classes)
    if not differences:
        return term
    other = _Speller(forms, classes, differences).term(root)
    return other if index_cycles(other) < index_cycles(term) else term


def _shared_differences(forms: Forms, classes: list[int]) -> dict[Group, int | None]:
    """Sums of which something is subtracted that several comparisons look at, or one comparison and something else: each without its
    constant, with the class that is computed of it anyway, if there is one."""
    signs = [forms[name] for name in classes if forms[name].op in SIGNS]
    if not signs:
        return {}
    readers = [child for name in classes if forms[name].op not in SIGNS for child in index_children(forms[name])]
    computed = {found[0]: name for name in reversed(readers) if (found := _difference(forms[name])) is not None}
    compared = Counter(found[0] for node in signs if (found := _difference(forms[node.args[0]])) is not None)
    return {key: computed.get(key) for key, times in compared.items() if times > 1 or key in computed}


def _difference(node: ENode) -> tuple[Group, int] | None:
    """The terms of a sum of both signs, a first one that is added, and whether they were so (1) or the opposite (-1)."""
    terms = node.args[1:] if node.op == "Sum" else ()
    if all(k > 0 for _, k in terms) or all(k < 0 for _, k in terms):
        return None
    sign = 1 if terms[0][1] > 0 else -1
    return tuple((atom, sign * k) for atom, k in terms), sign


class _Speller:
    """Writes one term; sums that are part of others are written so that they are one subterm, and `differences` that several comparisons
    look at (_shared_differences) as one, too."""

    def __init__(self, forms: Forms, classes: list[int], differences: Mapping[Group, int | None] | None = None) -> None:
        self.forms = forms
        self.differences = differences or {}
        self.done: dict[int, Index] = {}
        self.parts: dict[Group, Index] = {}
        sums = [forms[name] for name in classes if forms[name].op == "Sum"]
        self.groups = common_groups(sums)
        self.readers = Counter(child for name in classes if forms[name].op not in SIGNS for child in index_children(forms[name]))

    def term(self, root: int) -> Index:
        stack = [root]
        while stack:
            here = stack[-1]
            missing = [child for child in self.needed(self.forms[here]) if child not in self.done]
            if here in self.done or not missing:
                stack.pop()
                if here not in self.done:
                    self.done[here] = self.spell(self.forms[here])
            else:
                stack.extend(missing)
        return self.done[root]

    def needed(self, node: ENode) -> tuple[int, ...]:
        """What is spelled before a node: its operands, and a sum that a comparison reads in place of its own."""
        found = _difference(self.forms[node.args[0]]) if self.differences and node.op in SIGNS else None
        computed = self.differences.get(found[0]) if found is not None else None
        return index_children(node) if computed is None else (*index_children(node), computed)

    def spell(self, node: ENode) -> Index:
        """The term of a node whose operands are spelled."""
        done = self.done
        if node.op == "Num":
            return Const(node.args[0])
        if node.op == "Var":
            return Var(*node.args)
        if node.op in ("Axis", "RAxis"):
            return Var(f"{'i' if node.op == 'Axis' else 'r'}{node.args[0]}", 0, node.args[1] - 1)
        if node.op == "Sum":
            return sum_term(node.args[0], self.in_groups(node.args[1:]))
        if node.op == "Scale":
            return sum_term(0, [(as_number(done[node.args[1]]), node.args[0])])
        if node.op in SIGNS:
            return self.sign(node)
        if node.op == "Given":
            return done[node.args[0]]
        if node.op in ("Add", "Prod", "Mul"):
            result = as_number(done[node.args[0]])
            for arg in node.args[1:]:
                result = apply("add" if node.op == "Add" else "mul", result, as_number(done[arg]))
            return result
        if node.op in RAW:
            return Apply(node.args[0], tuple(done[arg] for arg in node.args[1:]))
        args = tuple(done[arg] for arg in node.args)
        if node.op == "Not":
            return negated(args[0])
        if node.op in ("Min", "Max") and any(arg.kind == "bool" for arg in args) and all(map(_is_truth, args)):
            return apply("and" if node.op == "Min" else "or", *map(_truth, args))
        if node.op == "Where":
            return Apply("where", (_truth(args[0]), *args[1:]))
        op, args = OP_OF_NODE[node.op], tuple(map(as_number, args))
        if isinstance(args[0], Const) and OPS[op].commutative:  # numbers last
            args = args[::-1]
        return _turned_quotient(Apply(op, args))

    def in_groups(self, terms: Group) -> list[tuple[Index, int]]:
        """Terms of a sum as parts: groups that other sums are made of are one part each."""
        groups, left = split_groups(terms, self.groups)
        parts = [(self.group(group), factor) for group, factor in groups]
        return [*parts, *(_turned_remainder(as_number(self.done[atom]), k) for atom, k in left.items())]

    def group(self, group: Group) -> Index:
        if group not in self.parts:
            self.parts[group] = sum_term(0, [(as_number(self.done[atom]), k) for atom, k in group])
        return self.parts[group]

    def sign(self, node: ENode) -> Index:
        """A comparison, what is subtracted on the other side; as it stands if the sum is computed anyway."""
        below = self.forms[node.args[0]]
        if self.readers[node.args[0]]:
            return apply("ge" if node.op == "Nonneg" else "eq", self.done[node.args[0]], 0)
        if below.op == "Sum":
            form = Linear(below.args[0], below.args[1:])
        elif below.op == "Scale":
            form = Linear(0, ((below.args[1], below.args[0]),))
        else:
            form = Linear(0, ((node.args[0], 1),))
        found = _difference(below) if self.differences else None
        if found is not None and found[0] in self.differences:
            return self.sign_of_difference(node.op, *found, form.constant)
        left = self.in_sides(tuple(t for t in form.terms if t[1] > 0))
        right = self.in_sides(tuple((atom, -k) for atom, k in form.terms if k < 0))
        parts = [*left, *((part, -k) for part, k in right)]
        return (sign_term if node.op == "Nonneg" else zero_term)(form.constant, parts)

    def sign_of_difference(self, op: str, terms: Group, sign: int, constant: int) -> Index:
        """sign * (sum of terms) + constant >= 0, or == 0, the sum computed once."""
        computed = self.differences[terms]
        if computed is None:
            part = self.group(terms)
        else:
            node, part = self.forms[computed], self.done[computed]
            sign *= 1 if dict(node.args[1:])[terms[0][0]] == terms[0][1] else -1
            constant -= sign * node.args[0]
        if op == "Zero":
            return apply("eq", part, -sign * constant)
        return apply("ge", part, -constant) if sign > 0 else apply("le", part, constant)

    def in_sides(self, terms: Group) -> list[tuple[Index, int]]:
        return self.in_groups(terms) if terms else []


def common_groups(sums: list[ENode]) -> list[Group]:
    """The groups that several sums are made of, the longest first."""
    if len(sums) < 2:
        return []
    groups = {group for node in sums for group in _sides(node)}
    parts = [dict(node.args[1:]) for node in sums]
    common = [group for group in groups if sum(_multiple(part, group) != 0 for part in parts) > 1]
    return sorted(common, key=lambda group: (-len(group), group))


def split_groups(terms: Group, groups: list[Group]) -> tuple[list[tuple[Group, int]], dict[int, int]]:
    """Terms of a sum as multiples of groups, and what is left."""
    left = dict(terms)
    found = []
    for group in groups:
        factor = _multiple(left, group)
        if factor and len(group) < len(terms):
            for atom, _ in group:
                del left[atom]
            found.append((group, factor))
    return found, left


def _multiple(terms: dict[int, int], group: Group) -> int:
    """k if k times a group is among the terms of a sum, else 0."""
    factor, rest = divmod(terms.get(group[0][0], 0), group[0][1])
    return factor if not rest and all(terms.get(atom) == factor * k for atom, k in group) else 0


def _sides(node: ENode) -> list[Group]:
    """The terms of a sum with positive and those with negative coefficients, where there are several, without common factor."""
    sides = []
    for sign in (1, -1):
        terms = [(atom, sign * k) for atom, k in node.args[1:] if sign * k > 0]
        if len(terms) > 1:
            common = gcd(*(k for _, k in terms))
            sides.append(tuple((atom, k // common) for atom, k in terms))
    return sides


def _turned_quotient(term: Apply) -> Apply:
    """-x // n as x // -n, where n is no power of two."""
    if term.op == "floordiv" and (negated_dividend := _opposite(term)) is not None:
        return Apply("floordiv", negated_dividend)
    return term


def _turned_remainder(part: Index, k: int) -> tuple[Index, int]:
    """-(-x % n) as x % -n, where n is no power of two."""
    if k < 0 and isinstance(part, Apply) and part.op == "mod" and (negated_dividend := _opposite(part)) is not None:
        return Apply("mod", negated_dividend), -k
    return part, k


def _opposite(term: Apply) -> tuple[Index, Index] | None:
    """(x, -n) for a division of -x by a constant n that is no power of two."""
    dividend, divisor = term.args
    if isinstance(dividend, Apply) and dividend.op == "neg" and isinstance(divisor, Const) and divisor.value > 0:
        return None if is_power_of_two(int(divisor.value)) else (dividend.args[0], Const(-int(divisor.value)))
    return None


def as_number(term: Index) -> Index:
    """A truth value as an integer: NumPy's sums of truth values are truth values, and its reads by them are masks."""
    return apply("int", term) if term.kind == "bool" else term


def _is_truth(term: Index) -> bool:
    return term.kind == "bool" or (isinstance(term, Const) and term.value in (0, 1))


def _truth(term: Index) -> Index:
    """A term whose value is 0 or 1 as a truth value."""
    return Const(bool(term.value)) if isinstance(term, Const) else term


_INVERSE = {"lt": "ge", "eq": "ne", "le": "gt", "gt": "le", "ge": "lt", "ne": "eq"}


def negated(term: Index) -> Index:
    """not term, as the opposite comparison where there is one."""
    if isinstance(term, Const):
        return Const(not term.value)
    if isinstance(term, Apply) and term.op in _INVERSE:
        return Apply(_INVERSE[term.op], term.args)
    return term.args[0] if isinstance(term, Apply) and term.op == "not" else apply("not", term)
