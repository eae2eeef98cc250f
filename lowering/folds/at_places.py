"""Folds of which every term counts at one place: it is added there.

    for j: out[j] = sum over k of where(p[k] == j, v[k], 0)        is        out = 0;  for k: out[p[k]] += v[k]

Counts of classes, sums of groups, tables of pairs, written as comparisons with all places.  Each term is looked at once, not once for
every place.  A place that is none of the loop's is clipped to one, where the comparison is false, so that nothing is added.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from eqsat.ir.affine import coefficient
from eqsat.ir.dtypes import integer_range, is_integer, itemsize
from eqsat.ir.index import Const, Index, Var, substitute
from eqsat.ir.interval import within
from eqsat.ir.loops import Clip, Load, Store, over
from eqsat.ir.ops import identity_of
from eqsat.ir.places import PLACE
from eqsat.ir.tensor import Call, Literal, Position, Reduce, Scalar, as_dtype, has_fold
from eqsat.lowering.blocks import BlockPlacer, Body
from eqsat.lowering.folds.columns import adds_up
from eqsat.lowering.folds.outward import LONGEST_SUM
from eqsat.lowering.nest import Nest, Several, chains, flat, free_variables
from eqsat.lowering.place import Scope

# what is added to at random stays in the second cache
MOST_BYTES = 1 << 18
# operations whose result is zero if one operand is
PRODUCTS = ("multiply", "logical_and", "bitwise_and")

Places = Mapping[Var, Scalar]


def at_places(nest: Nest, outputs: tuple[str, ...], buffers: frozenset[str]) -> Body | None:
    """The statements and their scratch memory; None where terms of some fold count at more than one place."""
    if isinstance(nest.body, Several):
        return None
    found = chains(nest.body)
    if not found or any(has_fold(chain[-1].body) or not adds_up(chain[0]) for chain in found):
        return None
    places = [places_of(chain, nest.loops) for chain in found]
    if not all(places):
        return None
    added = {v for known in places for v in known}
    around = tuple(v for v in nest.loops if any(v in loops_of(place) for known in places for place in known.values()))
    if not added.isdisjoint(around):
        return None
    placer = BlockPlacer(buffers)
    opened = placer.nest(placer.top, *around)
    inside = tuple(v for v in nest.loops if v not in around)
    totals: dict[Scalar, Scalar] = {}
    for number, (chain, known) in enumerate(zip(found, places, strict=True)):
        fold, longer = chain[0], _carried_in(chain)
        own = tuple(v for v in inside if v in loops_of(fold))
        if fold is nest.body and longer == fold.dtype and own == inside:
            table, place = outputs[0], nest.index
        else:
            shape = tuple(v.extent for v in own)
            place, size = flat(own, shape, {}), prod(shape)
            if size * itemsize(longer) > MOST_BYTES:
                return None
            table = placer.memory(size, longer)
            totals[fold] = as_dtype(Load(table, place, longer), fold.dtype)
        _start(placer, opened[-1], own, Store(table, place, Literal(identity_of(fold.op, longer).item(), longer)), number)
        _add(placer, opened[-1], own, chain, known, Store(table, place, as_dtype(chain[-1].body, longer), fold.op), number)
    if totals:
        rows = placer.nest(opened[-1], *inside)
        value = over(nest.body, {}, totals)
        rows[-1].body.append(Store(outputs[0], nest.index, placer.place(value, rows[-1])))
        placer.close_all(rows)
    placer.close_all(opened)
    return tuple(placer.top.body), tuple(placer.scratch)


def _carried_in(chain: tuple[Reduce, ...]) -> str:
    """The dtype in which a fold is carried: long sums of float32 in float64, as NumPy's are added up in parts."""
    long = chain[0].op == "sum" and prod(fold.variable.extent for fold in chain) > LONGEST_SUM
    return "float64" if long and chain[0].dtype == "float32" else chain[0].dtype


def _start(placer: BlockPlacer, scope: Scope, loops: tuple[Var, ...], store: Store, number: int) -> None:
    fresh = {v: Var(f"{v.name}_start{number or ''}", v.lo, v.hi) for v in loops}
    rows = placer.nest(scope, *fresh.values())
    rows[-1].body.append(Store(store.buffer, substitute(store.index, dict(fresh)), store.value))
    placer.close_all(rows)


def _add(
    placer: BlockPlacer, scope: Scope, loops: tuple[Var, ...], chain: tuple[Reduce, ...], places: Places, store: Store, number: int
) -> None:
    """Every term, at its place; along loops that have no places of their own at all of theirs."""
    opened = [scope]
    for fold in chain:
        opened.append(placer.open(fold.variable, opened[-1]))
    here = opened[-1]
    env: dict[Var, Index] = {}
    for v, place in places.items():
        clipped = env[v] = Var(f"{v.name}_place{number or ''}", v.lo, v.hi)
        here.body.append(Clip(clipped, placer.place(place, here)))
        placer.scopes[clipped] = here
    lanes = {v: Var(f"{v.name}_lane{number or ''}", v.lo, v.hi) for v in loops if v not in places}
    env |= lanes
    rows = placer.nest(here, *lanes.values())
    value = placer.place(over(store.value, env), rows[-1])
    rows[-1].body.append(Store(store.buffer, substitute(store.index, env), value, store.combine))
    placer.close_all(rows)
    for inner in reversed(opened[1:]):
        placer.close(inner, "serial")


def loops_of(term: Scalar) -> frozenset[Var]:
    """The variables that an element depends on."""
    return free_variables(term)[term]


def places_of(chain: tuple[Reduce, ...], loops: tuple[Var, ...]) -> Places:
    """The loops at one place of which only a term of a fold counts, each with that place."""
    fold = chain[0]
    zero = identity_of(fold.op, fold.dtype).item()
    folded = {one.variable for one in chain}
    found = _where_it_counts(chain[-1].body, zero, loops)
    return {v: place for v, place in found.items() if not folded.isdisjoint(loops_of(place))}


def _where_it_counts(term: Scalar, zero: complex, loops: tuple[Var, ...]) -> dict[Var, Scalar]:
    """Loops with the places outside of which an element is `zero`."""
    if not isinstance(term, Call):
        return {}
    if term.op == "where":
        condition, then, otherwise = term.args
        if isinstance(otherwise, Literal) and otherwise.value == zero:
            return _conditions(condition, loops) | _where_it_counts(then, zero, loops)
    elif zero == 0 and term.op == "astype":
        return _where_it_counts(term.args[0], zero, loops)
    elif zero == 0 and term.op in PRODUCTS and (term.dtype == "bool" or is_integer(term.dtype)):
        one, other = (_where_it_counts(arg, zero, loops) for arg in term.args)
        return one | other
    elif zero == 0 and term.op == "equal":
        return _conditions(term, loops)
    return {}


def _conditions(term: Scalar, loops: tuple[Var, ...]) -> dict[Var, Scalar]:
    """Loops with the places where a condition says that they are."""
    if isinstance(term, Call) and term.op in ("logical_and", "bitwise_and"):
        one, other = (_conditions(arg, loops) for arg in term.args)
        return one | other
    if not isinstance(term, Call) or term.op != "equal":
        return {}
    for mine, place in (term.args, term.args[::-1]):
        position = _uncast(mine)
        if not isinstance(position, Position) or not is_integer(place.dtype) or place.dtype == "uint64":
            continue
        for loop in loops:
            if coefficient(position.index, loop) == 1 and loop not in loops_of(place):
                rest = substitute(position.index, {loop: Const(0)})
                at = place if rest.bounds == (0, 0) else Call("subtract", (as_dtype(place, PLACE), Position(rest, PLACE)), PLACE)
                return {loop: at}
    return {}


def _uncast(term: Scalar) -> Scalar:
    """What a position was before it became an integer of another dtype, if that holds it."""
    inside = term
    while isinstance(inside, Call) and inside.op == "astype" and is_integer(inside.dtype):
        inside = inside.args[0]
    holds = isinstance(inside, Position) and within(inside.index.bounds, integer_range(term.dtype))
    return inside if holds else term
