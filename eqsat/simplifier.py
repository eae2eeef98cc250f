"""Index expressions by themselves: simplify, simplify_many, and their results."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack, suppress

from eqsat.certificate import certify_terms
from eqsat.egraph.encode import Encoder
from eqsat.egraph.forms import Forms, cheapest_forms, index_term
from eqsat.egraph.linear import Linear
from eqsat.index_cost import index_cycles
from eqsat.ir.errors import UnsupportedError
from eqsat.ir.index import Const, Index, as_index
from eqsat.options import Options
from eqsat.report import Report
from eqsat.saturate import PHASES, Session, session


def simplify(expression: Index | int, options: Options | None = None) -> Index:
    """The cheapest index expression that the rules prove equal on all values of the variables."""
    return simplify_many([expression], options)[0]


def simplify_many(expressions: Iterable[Index | int], options: Options | None = None) -> list[Index]:
    """Simplify all expressions in one e-graph; the results stand in the order of the arguments."""
    return simplify_all([as_index(e) for e in expressions], options or Options(), Report())


def simplify_all(terms: list[Index], options: Options, report: Report) -> list[Index]:
    """simplify_many, with the report; a term that the e-graph cannot hold comes back as it is."""
    with Simplifier(options, report) as simplifier:
        return simplifier.simplify(terms)


class Simplifier:
    """Simplifies lists of terms, one after the other, in one transaction on the e-graph, which begins when it is needed.

    A sum of variables is its own n-ary normal form: only terms with other operations enter saturation.
    """

    def __init__(self, options: Options, report: Report) -> None:
        self.options, self.report = options, report
        self._encoder = Encoder()
        self._open = ExitStack()
        self._session: Session | None = None

    def __enter__(self) -> Simplifier:
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def simplify(self, terms: list[Index]) -> list[Index]:
        """The simplified terms in order."""
        encoder = self._encoder
        forms: dict[Index, Linear] = {}
        for term in dict.fromkeys(terms):
            with suppress(UnsupportedError):
                forms[term] = encoder.linear(term)
        spelled = {term: encoder.spell(form) for term, form in forms.items() if encoder.is_plain(form)}
        roots = {term: encoder.sum(form) for term, form in forms.items() if term not in spelled}
        if roots:
            snapshot = self._work().run(PHASES["index"], lambda found, forms: all(_is_plain(forms, found.name(root)) for root in roots.values()))
            chosen = cheapest_forms(snapshot)
            memo: dict[int, Index] = {}
            spelled.update((term, index_term(chosen, snapshot.name(root), memo)) for term, root in roots.items())
        results = [_cheaper(_as_kind(spelled[term], term), term) if term in spelled else term for term in terms]
        if self.options.certify:
            certify_terms(terms, results, self.report)
        return results

    def _work(self) -> Session:
        if self._session is None:
            opened = session(self.options.tables, self.options.limits, self.report, encoder=self._encoder, sorts=("Ix",))
            self._session = self._open.enter_context(opened)
        return self._session


def _is_plain(forms: Forms, name: int) -> bool:
    """Whether the cheapest form of a class is a sum of variables: there is no cheaper one then."""
    node = forms.get(name)
    if node is None or node.op not in ("Num", "Var", "Sum"):
        return False
    return node.op != "Sum" or all(forms[atom].op == "Var" for atom, _ in node.args[1:])


def _cheaper(result: Index, original: Index) -> Index:
    """Forms are chosen class by class, so what they share is paid twice; where that costs more, the term stays as it was."""
    return original if index_cycles(result) > index_cycles(original) else result


def _as_kind(result: Index, original: Index) -> Index:
    if original.kind == "bool" and isinstance(result, Const):
        return Const(bool(result.value))
    return result
