"""Random index terms at the edges of 32 and 64 bits, for the tests of typed terms."""

from __future__ import annotations

from hypothesis import strategies as st

from eqsat.ir.index import OPS, Index, Var, apply, as_index, var, where

EDGES = [0, 1, 7, 2**15, 2**16, 2**31 - 1, 2**31, 2**32, 2**33 + 5, 2**62, 2**63 - 1]
WORDS = [*EDGES, *(-edge for edge in EDGES), -(2**63)]


def fits_64(term: Index) -> bool:
    return term.bounds[0] >= -(2**63) and term.bounds[1] < 2**63


@st.composite
def variables_at_edges(draw: st.DrawFn, name: str) -> Var:
    """A variable with a few values around an edge, or with any two words as its bounds."""
    low = draw(st.sampled_from(WORDS)) + draw(st.integers(-3, 3))
    high = draw(st.sampled_from(WORDS)) if draw(st.booleans()) else low + draw(st.integers(0, 5))
    low, high = sorted((max(min(low, 2**63 - 1), -(2**63)), max(min(high, 2**63 - 1), -(2**63))))
    return var(name, low, high)


@st.composite
def terms_at_edges(draw: st.DrawFn, leaves: tuple[Index, ...], depth: int = 4) -> Index:
    """A term over the leaves whose every subterm is a 64-bit integer; divisors are never zero."""
    if depth == 0 or draw(st.integers(0, 9)) == 0:
        return draw(st.sampled_from([*leaves, as_index(draw(st.sampled_from(WORDS)))]))
    a, b = draw(terms_at_edges(leaves, depth - 1)), draw(terms_at_edges(leaves, depth - 1))
    op = draw(st.sampled_from(sorted(OPS)))
    if op in ("floordiv", "mod") and b.bounds[0] <= 0 <= b.bounds[1]:
        b = draw(st.sampled_from([apply("max", b, 1), apply("min", b, -1), as_index(draw(st.sampled_from([3, 7, 1000, -6, 2**31])))]))
    if op in ("shl", "shr"):
        b = as_index(draw(st.sampled_from([0, 1, 5, 31, 32, 62])))
    arms = (a, b) if a.kind == b.kind else (apply("int", a), apply("int", b))
    term = where(a < b, *arms) if op == "where" else apply(op, *(a, b)[: OPS[op].arity])
    return term if fits_64(term) else a


@st.composite
def points(draw: st.DrawFn, *names: Var) -> dict[Var, int]:
    """A value for every variable, often one of its bounds."""
    return {v: draw(st.one_of(st.sampled_from(v.bounds), st.integers(*v.bounds))) for v in names}
