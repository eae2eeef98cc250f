"""What else would do: other forms of an index expression, and other programs that the search saw, each with its cost."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from eqsat.costs import Cost, cost_of_term
from eqsat.equality import prove_equal
from eqsat.explored import explored, under
from eqsat.ir.errors import UnsupportedError, UsageError
from eqsat.ir.index import Index
from eqsat.options import Options
from eqsat.proof import Proof

# forms that are looked at for each that is asked for: their order is by cost only as far as they are known
LOOKED_AT = 8


@dataclass(frozen=True)
class OtherForm:
    """An index expression that is equal to one that was optimized; `proof` says how that is known."""

    expr: Index
    cost: Cost
    proof: Proof

    def __str__(self) -> str:
        return f"{float(self.cost):8.2f} ns  {self.expr}"


def other_forms(original: Index, chosen: Index, options: Options, fact: Index, k: int) -> tuple[OtherForm, ...]:
    """The k cheapest other forms that saturation found, and the original, by cost; what is not proved equal is left out."""
    check_count(k)
    found: dict[Index, None] = {original: None}
    try:
        with explored(original, fact, options) as graph:
            found.update(dict.fromkeys(islice(graph.others(), LOOKED_AT * (k + 1))))
    except UnsupportedError:
        pass
    forms: list[OtherForm] = []
    for term in sorted((term for term in found if term is not chosen), key=lambda term: float(cost_of_term(term))):
        if len(forms) == k:
            break
        proof = prove_equal(under(original, fact), under(term, fact), extends=True)
        if proof:
            forms.append(OtherForm(term, cost_of_term(term), proof))
    return tuple(forms)


def check_count(k: int) -> None:
    """UsageError for what is no number of alternatives."""
    if isinstance(k, bool) or not isinstance(k, int) or k < 0:
        raise UsageError(f"alternatives: found k = {k!r}, expected a number of alternatives")
