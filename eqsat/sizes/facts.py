"""Facts that the user declares: `assume(n % 4 == 0)`, and sizes that are known only at run time: `dim("n", 1, 65536)`."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from types import TracebackType

from eqsat.ir.errors import UsageError
from eqsat.ir.index import Index, Var, conjunction, var, variables
from eqsat.sizes.contradictions import cannot_hold

_LOCK = threading.Lock()
_FACTS: dict[Fact, None] = {}


def dim(name: str, lo: int, hi: int) -> Var:
    """A size that is known only at run time, lo <= size <= hi; it may be a factor or a divisor of index expressions.

    Raises UsageError for a name that is no identifier, bounds that are no integers, an empty range, or a negative size.
    """
    size = var(name, lo, hi)
    if lo < 0:
        raise UsageError(f"dim {name}: found the least size {lo}, expected 0 or more")
    return size


class Fact:
    """A condition that simplification may use until it is retracted; `with fact:` declares it for the block, again if it was retracted."""

    def __init__(self, condition: Index) -> None:
        self.condition = condition

    def retract(self) -> None:
        """Simplify without this fact from here on; a fact that was retracted already stays so."""
        with _LOCK:
            _FACTS.pop(self, None)

    def declare(self) -> None:
        """Simplify under this fact from here on; UsageError if it cannot hold together with those that are declared."""
        if self in _FACTS:
            return
        others = facts_about([self.condition])
        if cannot_hold(conjunction([others, self.condition])):
            raise UsageError(f"assume: `{self.condition}` never holds where `{others}` does, which is assumed too")
        with _LOCK:
            _FACTS[self] = None

    def __enter__(self) -> Fact:
        self.declare()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.retract()

    def __repr__(self) -> str:
        return f"assume({self.condition})"


def assume(*conditions: Index | bool) -> Fact:
    """Declare that conditions on variables hold, all of them, for all simplifying in this process until the fact is retracted: by
    `.retract()`, or at the end of the block of `with assume(...):`.

    What simplifies under it is equal wherever the conditions hold, and only there.  Raises UsageError for what is no condition, and for
    what holds nowhere, alone or beside the facts that are declared on its variables: by bounds that follow from it, or at none of up to
    65,536 points.
    """
    if not conditions:
        raise UsageError("assume: found no condition, expected one such as n % 4 == 0")
    condition = conjunction(map(_condition, conditions))
    if cannot_hold(condition):
        raise UsageError(f"assume: `{condition}` never holds")
    fact = Fact(condition)
    fact.declare()
    return fact


def _condition(given: Index | bool) -> Index:
    if not isinstance(given, Index) or given.kind != "bool":
        found = f"`{given}`" if isinstance(given, Index) else f"{given!r} (a comparison with == of two equal terms is decided)"
        raise UsageError(f"assume: found {found}, expected a condition such as n % 4 == 0")
    return given


def any_declared() -> bool:
    """Whether a fact holds now that was not retracted."""
    return bool(_FACTS)


def facts_about(terms: Iterable[Index]) -> Index:
    """The conjunction of the facts on variables of these terms, and on variables that such facts connect with them."""
    with _LOCK:
        facts = list(_FACTS)
    known = set(variables(*terms))
    used: list[Fact] = []
    more = True
    while more:
        more = False
        for fact in facts:
            if fact not in used and known.intersection(variables(fact.condition)):
                used.append(fact)
                known.update(variables(fact.condition))
                more = True
    return conjunction(fact.condition for fact in facts if fact in used)
