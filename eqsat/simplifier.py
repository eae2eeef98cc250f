"""Index expressions by themselves: simplify, simplify_many, and their results."""

from __future__ import annotations

from collections.abc import Iterable

from eqsat.egraph.encode import Linear
from eqsat.egraph.forms import cheapest_forms, index_term
from eqsat.ir.errors import UnsupportedError
from eqsat.ir.index import Const, Index, as_index
from eqsat.options import Options
from eqsat.report import Report
from eqsat.saturate import PHASES, session


def simplify(expression: Index | int, options: Options | None = None) -> Index:
    """The cheapest index expression that the rules prove equal on all values of the variables."""
    return simplify_many([expression], options)[0]


def simplify_many(expressions: Iterable[Index | int], options: Options | None = None) -> list[Index]:
    """Simplify all expressions in one e-graph; the results stand in the order of the arguments."""
    return simplify_all([as_index(e) for e in expressions], options or Options(), Report())


def simplify_all(terms: list[Index], options: Options, report: Report) -> list[Index]:
    """simplify_many, with the report; a term that the e-graph cannot hold comes back as it is.

    A sum of variables is its own n-ary normal form: only terms with other operations enter saturation.
    """
    with session(options.tables, options.limits, report) as work:
        forms: dict[Index, Linear] = {}
        for term in dict.fromkeys(terms):
            try:
                forms[term] = work.encoder.linear(term)
            except UnsupportedError:
                continue
        open_terms = [term for term, form in forms.items() if not work.encoder.is_plain(form)]
        spelled = {term: work.encoder.spell(form) for term, form in forms.items() if work.encoder.is_plain(form)}
        if open_terms:
            roots = {term: work.encoder.sum(forms[term]) for term in open_terms}
            snapshot = work.run(PHASES["index"])
            chosen = cheapest_forms(snapshot)
            memo: dict[int, Index] = {}
            spelled.update((term, index_term(chosen, snapshot.name(root), memo)) for term, root in roots.items())
    return [_as_kind(spelled[term], term) if term in spelled else term for term in terms]


def _as_kind(result: Index, original: Index) -> Index:
    if original.kind == "bool" and isinstance(result, Const):
        return Const(bool(result.value))
    return result
