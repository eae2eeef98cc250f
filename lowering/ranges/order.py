"""Orders of loops: which axis runs innermost, and ranges that are one range in memory."""

from __future__ import annotations

from itertools import pairwise
from math import prod

from eqsat.ir.index import Index, Var, apply, substitute, variables
from eqsat.ir.tensor import Reduce, Scalar, operands, rebuild, scalars
from eqsat.lowering.affine import Affine, Forms, rebuilt
from eqsat.lowering.nest import Nest, chains, free_variables, replace_variables

# axes along memory that are tried innermost, those of the most accesses first
UNIT_AXES = 2
# blocks of a loop that threads share, elements of each, of one of two, and of one that several iterations of a fold go through together
ENOUGH, LEAST_BLOCK, LEAST_HALF, LEAST_ABREAST = 8, 256, 64, 512


def orders(nest: Nest) -> tuple[Nest, ...]:
    """The orders of the parallel loops worth pricing, as written first.

    Each of the axes with most unit-stride accesses goes innermost once; the axes that reductions need go outermost once,
    so that no fold is repeated for an axis it does not depend on.
    """
    forms = Forms()
    ranked = sorted(nest.loops, key=lambda v: -_unit_accesses(v, nest.offsets, forms))
    units = [v for v in ranked if _unit_accesses(v, nest.offsets, forms)]
    found = [nest.loops, *((*_without(nest.loops, unit), unit) for unit in units[:UNIT_AXES])]
    folded = needed_by_folds(nest)
    found.append(tuple(v for v in nest.loops if v in folded) + tuple(v for v in nest.loops if v not in folded))
    return tuple(Nest(loops, nest.body, nest.index) for loops in dict.fromkeys(found))


def widened(nest: Nest) -> Nest:
    """The longest loop but the innermost outermost: work for every thread, and short loops inside stay in the cache."""
    if len(nest.loops) < 3:
        return nest
    longest = max(nest.loops[:-1], key=lambda v: v.extent)
    return Nest((longest, *_without(nest.loops, longest)), nest.body, nest.index)


def joined_outermost(nest: Nest) -> Nest:
    """The outermost loops as one that counts them all, where threads would share the first unevenly: results are still written in order."""
    if not nest.loops or nest.loops[0].extent >= ENOUGH or any(v.lo for v in nest.loops):
        return nest
    count = next((k for k in range(2, len(nest.loops)) if prod(v.extent for v in nest.loops[:k]) >= ENOUGH), 0)
    if not count:
        return nest
    joined, inner = nest.loops[:count], nest.loops[count:]
    whole = Var("".join(v.name for v in joined), 0, prod(v.extent for v in joined) - 1)
    env: dict[Var, Index] = {}
    for k, v in enumerate(joined):
        step = prod(other.extent for other in joined[k + 1 :])
        digit: Index = whole if step == 1 else apply("floordiv", whole, step)
        env[v] = apply("mod", digit, v.extent) if k else digit
    found = replace_variables(nest, lambda index: substitute(index, env), {joined[0]: (whole,)} | dict.fromkeys(joined[1:], ()))
    return Nest((whole, *inner), found.body, found.index)


def block_size(extent: int, others: int, smallest: int) -> int | None:
    """How many neighbours are a block that threads can share, of a loop that is done `others` times, `smallest` at least of a long one; all
    where there are times enough, None where the loop does not divide."""
    if others >= ENOUGH:
        return extent
    least = max(smallest, -(-extent * others // ENOUGH)) if extent >= 2 * smallest else max(LEAST_HALF, -(-extent // 2))
    counts = (count for count in range(extent // least, 1, -1) if extent % count == 0)
    return next((extent // count for count in counts), extent if extent < 2 * smallest else None)


def shared_columns(nest: Nest, smallest: int) -> Nest | None:
    """The innermost loop in blocks that threads can share, the blocks outermost; None where it is short or there are iterations enough."""
    last = nest.loops[-1] if nest.loops else None
    if last is None or last.lo:
        return None
    size = block_size(last.extent, prod(v.extent for v in nest.loops[:-1]), smallest)
    if size is None or size == last.extent:
        return None
    block, column = Var(f"{last.name}_share", 0, last.extent // size - 1), Var(last.name, 0, size - 1)
    env: dict[Var, Index] = {last: block * size + column}
    cut = replace_variables(nest, lambda index: substitute(index, env), {last: (block, column)})
    return Nest((block, *_without(cut.loops, block)), cut.body, cut.index)


def _without(row: tuple[Var, ...], variable: Var) -> tuple[Var, ...]:
    return tuple(v for v in row if v is not variable)


def _unit_accesses(variable: Var, offsets: tuple[Index, ...], forms: Forms) -> int:
    return sum(forms(offset).stride(variable) in (1, -1) for offset in offsets)


def needed_by_folds(nest: Nest) -> frozenset[Var]:
    free = free_variables(nest.body)
    return frozenset[Var]().union(*(below for term, below in free.items() if isinstance(term, Reduce)))


def unit_folds_innermost(nest: Nest) -> Nest:
    """Nested folds of one operation reordered: the variable with most unit-stride loads innermost (they commute)."""
    forms = Forms()
    order: dict[Scalar, tuple[Var, ...]] = {}
    ends: dict[Scalar, Scalar] = {}
    for chain in chains(nest.body):
        found = tuple(r.variable for r in chain)
        best = max(reversed(found), key=lambda v: _unit_accesses(v, Nest((), chain[-1].body, nest.index).offsets, forms))
        order[chain[0]] = (*_without(found, best), best)
        ends[chain[0]] = chain[-1].body
    done: dict[Scalar, Scalar] = {}
    for term in scalars(nest.body):
        if isinstance(term, Reduce) and term in order:
            body = done[ends[term]]
            for variable in reversed(order[term]):
                body = Reduce(term.op, variable, body)
            done[term] = body
        else:
            done[term] = rebuild(term, tuple(done[arg] for arg in operands(term)))
    return Nest(nest.loops, done[nest.body], nest.index)


def merge(nest: Nest, markers: frozenset[int] = frozenset()) -> Nest:
    """Neighbouring loops, and neighbouring folds of one operation, made one wherever every access allows it and both have extents that
    are no `markers` of sizes known at run time.

    Outer u and inner v become one range where every offset is linear in both and stride(u) = extent(v) * stride(v).
    """
    while pair := _mergeable(nest, forms := Forms(), markers):
        nest = _merged(nest, *pair, forms)
    return nest


def _mergeable(nest: Nest, forms: Forms, markers: frozenset[int]) -> tuple[Var, Var] | None:
    folds = [tuple(r.variable for r in chain) for chain in chains(nest.body)]
    for row in (nest.loops, *folds):
        for outer, inner in pairwise(row):
            if markers.isdisjoint((outer.extent, inner.extent)) and all(_one_range(forms(offset), outer, inner) for offset in nest.terms):
                return outer, inner
    return None


def _one_range(form: Affine, outer: Var, inner: Var) -> bool:
    step, stride = form.stride(outer), form.stride(inner)
    return step is not None and stride is not None and step == inner.extent * stride


def _merged(nest: Nest, outer: Var, inner: Var, forms: Forms) -> Nest:
    whole = Var(f"{outer.name}{inner.name}", 0, outer.extent * inner.extent - 1)

    def change(index: Index) -> Index:
        if not {outer, inner} & set(variables(index)):
            return index
        form = forms(index)
        terms = {(whole if atom is inner else atom): c for atom, c in form.terms.items() if atom is not outer}
        return rebuilt(Affine(form.constant, terms))

    return replace_variables(nest, change, {outer: (), inner: (whole,)})
