"""Index expressions by themselves: simplify, simplify_many, and their results."""

from __future__ import annotations

from collections.abc import Iterable

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
    """simplify_many, with the report; a term that the e-graph cannot hold comes back as it is."""
    with session(options.tables, options.limits, report) as work:
        roots: dict[Index, int] = {}
        for term in dict.fromkeys(terms):
            try:
                roots[term] = work.encoder.index(term)
            except UnsupportedError:
                continue
        snapshot = work.run(PHASES["index"])
        forms = cheapest_forms(snapshot)
        memo: dict[int, Index] = {}
        spelled = {term: index_term(forms, snapshot.name(root), memo) for term, root in roots.items()}
    return [_as_kind(spelled[term], term) if term in spelled else term for term in terms]


def _as_kind(result: Index, original: Index) -> Index:
    if original.kind == "bool" and isinstance(result, Const):
        return Const(bool(result.value))
    return result
