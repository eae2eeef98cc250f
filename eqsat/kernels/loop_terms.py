"""The index terms of loop nests, simplified.

Most need no e-graph: bounds alone make them sums of variables.  What is left of others is small: the parts of a sum, or of a condition,
that have no variable in common are simplified by themselves, and those that differ in the names of their variables once.  Where results are
certified, and where rules are the caller's own, whole terms go there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from eqsat.egraph.linear import sum_term
from eqsat.indices.simplifier import simplify_terms
from eqsat.ir.groups import connected
from eqsat.ir.index import Apply, Const, Index, Var, apply, substitute, variables
from eqsat.ir.loops import Kernel, index_terms
from eqsat.ir.tensor import is_size
from eqsat.lowering.affine import Affine, Forms
from eqsat.options import Options
from eqsat.report import Report


def simplifier(kernels: Sequence[Kernel], options: Options, report: Report) -> Callable[[Index], Index]:
    """A function from the index terms of all kernels to their simplified forms, found in one run of the e-graph."""
    terms = list(dict.fromkeys(term for kernel in kernels for term in index_terms(kernel)))
    if options.certify or options.own_rules:
        return dict(zip(terms, simplify_terms(terms, options, report, within=True), strict=True)).__getitem__
    forms = Forms()
    parts = {term: _parts_of_sum(forms(term)) if term.kind == "int" else _parts_of_condition(term) for term in terms}
    every = dict.fromkeys(part for found in parts.values() for part in found if not isinstance(part, Var))
    named = {part: _by_place(part) for part in every}
    plain = list(dict.fromkeys(term for term, _ in named.values()))
    simplified = dict(zip(plain, simplify_terms(plain, options, report, within=True), strict=True))
    done: dict[Index, Index] = {part: substitute(simplified[term], names) for part, (term, names) in named.items()}
    return {term: _joined(term, forms(term), parts[term], done, forms) for term in terms}.__getitem__


def _joined(term: Index, form: Affine, parts: Sequence[Index], done: dict[Index, Index], forms: Forms) -> Index:
    """A term of its parts, simplified."""
    if term.kind != "int":
        found: Index = Const(True)
        for part in parts:
            condition = done.get(part, part)
            found = condition if found is Const(True) else apply("and", found, condition) if condition is not Const(True) else found
        return found
    constant, total = form.constant, dict[Index, int]()
    for part in parts:
        k = form.terms[part] if isinstance(part, Var) else 1
        inside = Affine(0, {part: 1}) if isinstance(part, Var) else forms(done[part])
        constant += k * inside.constant
        for atom, coefficient in inside.terms.items():
            total[atom] = total.get(atom, 0) + k * coefficient
    return sum_term(constant, tuple((atom, k) for atom, k in total.items() if k))


def _parts_of_sum(form: Affine) -> list[Index]:
    """The variables that stand alone in a sum, and the sums of what has variables in common, without the constant."""
    alone = [atom for atom in form.terms if isinstance(atom, Var)]
    others = [atom for atom in form.terms if not isinstance(atom, Var)]
    groups = connected([*others, *alone], lambda atom: variables(atom))
    return [
        group[0] if len(group) == 1 and isinstance(group[0], Var) else sum_term(0, tuple((atom, form.terms[atom]) for atom in group))
        for group in groups
    ]


def _parts_of_condition(term: Index) -> list[Index]:
    """The conjunctions of what has variables in common."""
    found: list[Index] = []
    for group in connected(dict.fromkeys(_conjuncts(term)), lambda conjunct: variables(conjunct)):
        whole = group[0]
        for other in group[1:]:
            whole = apply("and", whole, other)
        found.append(whole)
    return found


def _conjuncts(term: Index) -> Iterator[Index]:
    if isinstance(term, Apply) and term.op == "and":
        for arg in term.args:
            yield from _conjuncts(arg)
    else:
        yield term


def _by_place(term: Index) -> tuple[Index, dict[Var, Index]]:
    """A term with its loop variables named by the places where they stand first, and which these are; one with sizes as it is."""
    own = variables(term)
    if any(map(is_size, own)):
        return term, {}
    names = {variable: Var(f"v{place}", variable.lo, variable.hi) for place, variable in enumerate(own)}
    return substitute(term, names), {name: variable for variable, name in names.items()}
