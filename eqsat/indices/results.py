"""Results of simplifying, kept by structure: terms that differ in the names of their variables only share one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from eqsat.ir.index import Index, Var, substitute, variables
from eqsat.keeping.recent import Recent
from eqsat.options import Options

CAPACITY = 8192
Simplify = Callable[[list[Index]], list[Index]]


class ResultCache(Recent[Index]):
    """The most recently used results; calls from several threads take turns."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        super().__init__(capacity)

    def results(self, terms: Sequence[Index], options: Options, simplify: Simplify) -> list[Index]:
        """The results for terms in order: those that are kept, and what `simplify` makes of the others, all at once."""
        shapes = {term: _numbered(term) for term in dict.fromkeys(terms)}
        chosen = (options.tables, options.own_rules, options.limits, options.cost.index)
        keys = {term: (shape, chosen) for term, (shape, _) in shapes.items()}
        with self.lock:
            known = {key: self[key] for key in dict.fromkeys(keys.values()) if key in self}
        missing = {key: term for term, key in reversed(keys.items()) if key not in known}
        asked = list(missing.values())[::-1]
        for term, result in zip(asked, simplify(asked) if asked else [], strict=True):
            known[keys[term]] = substitute(result, shapes[term][1])
        with self.lock:
            for key in missing:
                self[key] = known[key]
        return [substitute(known[keys[term]], {number: v for v, number in shapes[term][1].items()}) for term in terms]


def _numbered(term: Index) -> tuple[Index, dict[Var, Var]]:
    """A term with its variables numbered in the order in which they occur, and those numbers."""
    numbers = {v: Var(f"_{k}_", v.lo, v.hi) for k, v in enumerate(variables(term))}
    return substitute(term, numbers), numbers


RESULTS = ResultCache()
