"""Ranges split where index terms divide them, so that divisions by their parts come out exactly.

    v = outer * g + inner, 0 <= inner < g        for loops and folds, where g divides the extent of v

With c * g divisible by d, (c*v + rest) // d becomes (c*g/d) * outer + (c*inner + rest) // d.  A range is split only where
what remains no longer crosses a multiple of d, so the division disappears when the offsets are simplified.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from math import gcd

from eqsat.ir.index import Apply, Const, Index, Var, substitute, variables, walk
from eqsat.ir.tensor import Reduce, scalars
from eqsat.lowering.affine import DIVISIONS, Affine, Forms, bounds, rebuilt, remainder
from eqsat.lowering.nest import Nest, replace_variables

Cut = dict[Var, int]


def split(nest: Nest, markers: Collection[int] = ()) -> Nest:
    """The nest with ranges split again and again, until no split removes a division or remainder; of those whose extents are `markers` of
    sizes known at run time none that leaves a part of a size."""
    while cut := _find(nest, markers):
        nest = _apply(nest, cut)
    return nest


def uneven(terms: Iterable[Index], loop: Var) -> tuple[int, ...]:
    """Where to cut a loop so that its middle can be split, and a division goes, which the whole can not: before it the loop has not come to
    a multiple, behind it less is left than a part.  The fewest cuts; nothing where it can be split as it is, or not at all."""
    forms, found = Forms(), set[tuple[int, ...]]()
    for term in walk(*terms):
        if isinstance(term, Apply) and term.op in DIVISIONS and isinstance(term.args[1], Const) and term.args[1].value > 0:
            divisor = int(term.args[1].value)
            rest = remainder(forms(term.args[0]), divisor)
            if list(rest.terms) != [loop]:
                continue
            step, shared = rest.terms[loop], gcd(rest.terms[loop], divisor)
            inner = divisor // shared
            least = rest.constant + min(step * loop.lo, step * (loop.lo + inner - 1))  # of the part that begins where the loop does
            begins = loop.lo - least // shared * pow(step // shared, -1, inner) % inner
            begins += inner if begins < loop.lo else 0
            low, high = sorted((step * begins + rest.constant, step * (begins + inner - 1) + rest.constant))
            ends = begins + (loop.hi + 1 - begins) // inner * inner
            if 1 < inner < ends - begins and low // divisor == high // divisor:
                found.add(tuple(v for v in (begins, ends) if loop.lo < v <= loop.hi))
    return min(found, key=lambda cuts: (len(cuts), cuts), default=())


def _find(nest: Nest, markers: Collection[int]) -> Cut:
    """Inner extents of variables to split, for the first division that splitting removes; empty if there is none."""
    forms = Forms()
    bound = {*nest.loops, *(term.variable for term in scalars(nest.body) if isinstance(term, Reduce))}

    def allowed(cut: Cut) -> bool:
        return all(v.extent not in markers or v.extent // inner in markers for v, inner in cut.items())

    for term in walk(*nest.terms):
        if isinstance(term, Apply) and term.op in DIVISIONS and term in forms(term).terms:
            divisor = term.args[1]
            if isinstance(divisor, Const) and divisor.value > 0:
                for cut in filter(allowed, _cuts(remainder(forms(term.args[0]), divisor.value), divisor.value, bound)):
                    return cut
    return {}


def _cuts(rest: Affine, divisor: int, bound: Collection[Var]) -> Iterator[Cut]:
    """The ways to split variables of a dividend, fewest variables first, after which it stays between two multiples; only those that are
    bound in the nest: the one that counts strips has its loop around it."""
    possible: Cut = {}
    for atom, coefficient in rest.terms.items():
        inner = divisor // gcd(coefficient, divisor)
        if isinstance(atom, Var) and atom in bound and 1 < inner < atom.extent and atom.extent % inner == 0:
            possible[atom] = inner
    single = [{variable: inner} for variable, inner in possible.items()]
    for cut in (*single, possible):
        lo, hi = bounds(rest, {variable: (0, inner - 1) for variable, inner in cut.items()})
        if cut and lo // divisor == hi // divisor:
            yield cut


def _apply(nest: Nest, cut: Cut) -> Nest:
    parts: dict[Var, tuple[Var, ...]] = {}
    env: dict[Var, Index] = {}
    for variable, inner in cut.items():
        outer_part = Var(f"{variable.name}o", 0, variable.extent // inner - 1)
        inner_part = Var(f"{variable.name}i", 0, inner - 1)
        parts[variable] = (outer_part, inner_part)
        env[variable] = outer_part * inner + inner_part
    forms = Forms()

    def change(index: Index) -> Index:
        """Without loops that it does not depend on, once a division is gone."""
        found = substitute(index, env)
        atoms = forms(found).terms if found.kind != "bool" else {}
        fewer = len(atoms) < len(set(variables(found))) and all(isinstance(atom, Var) for atom in atoms)
        return rebuilt(forms(found)) if atoms and fewer else found

    return replace_variables(nest, change, parts)
