"""What an element depends on of a variable: where all its indices have it in one term, of fewer values, that term alone.

f(x[i % 63, j])   as a function of i % 63, which has 63 values, whatever the extent of i
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from eqsat.ir.index import Apply, Const, Index, Var, depends, walk
from eqsat.ir.tensor import Build, Read, Scalar, axis, index_terms, scalars, with_indices


def stored_by_terms(factor: Scalar, known: Sequence[Var]) -> Read:
    """A factor that depends on these variables, read from a tensor of its own with an axis for each of them, or for its term."""
    terms = [_only_term(factor, variable) for variable in known]
    lows = [term.bounds[0] for term in terms]
    shape = tuple(term.bounds[1] - low + 1 for term, low in zip(terms, lows, strict=True))
    places = {term: axis(k, n) + low for k, (term, n, low) in enumerate(zip(terms, shape, lows, strict=True))}
    body = with_indices(factor, lambda index: _with_terms(index, places))
    return Read(Build(shape, body), tuple(term - low for term, low in zip(terms, lows, strict=True)))


def _only_term(factor: Scalar, variable: Var) -> Index:
    """The largest term of a variable alone that is in all indices with it, where it has fewer values than the variable, or else that."""
    found = {term for scalar in scalars(factor) for index in index_terms(scalar) for term in _terms_of(index, variable)}
    (term, *others) = found or {variable}
    return variable if others or term.bounds[1] - term.bounds[0] >= variable.extent - 1 else term


def _terms_of(index: Index, variable: Var) -> Iterator[Index]:
    """The largest terms in which the variable occurs without others."""
    if not depends(index, variable):
        return
    if all(sub is variable or not isinstance(sub, Var) for sub in walk(index)):
        yield index
    elif isinstance(index, Apply):
        for arg in index.args:
            yield from _terms_of(arg, variable)


def _with_terms(index: Index, places: Mapping[Index, Index]) -> Index:
    """An index term with others in the place of some of its terms."""
    done: dict[Index, Index] = {}
    for sub in walk(index):
        if sub in places:
            done[sub] = places[sub]
        elif isinstance(sub, Apply):
            done[sub] = Apply(sub.op, tuple(done[arg] for arg in sub.args))
        else:
            assert isinstance(sub, Const | Var)
            done[sub] = sub
    return done[index]
