"""Folds as loops: alone, or several along the same range in one loop.

    s = sum over r of f(r)
    t = sum over r of g(r)        what both read is read once, and each has something to do while the other waits

So are folds of folds: their outer loops are one, and then their inner ones.

Long sums of floats are in blocks, whose sums are added with the most digits there are (see `fold`); in one loop with them the others are
folded block by block too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Protocol

from eqsat.codegen.builder import Value, integer
from eqsat.codegen.elements.casts import convert
from eqsat.codegen.elements.known_divisors import divisors
from eqsat.codegen.emitter import Emitter
from eqsat.codegen.folds.accumulator import LONG_OUTER_FOLD, SUM_BLOCK, Accumulator, Carried, Flags, accumulator, widest
from eqsat.codegen.folds.rests import LONG_BYTES, end_of_vectors, rest_note, whole_note, width_of
from eqsat.codegen.folds.rolled import vectors_of_fold
from eqsat.codegen.folds.search import (
    LEAST_MARKED,
    MOST_MARKED,
    REMEMBERED,
    SEARCH_BLOCK,
    emit_marked,
    emit_remembered,
    emit_search,
    is_marked,
    searched,
)
from eqsat.codegen.index import llvm_type, resized
from eqsat.codegen.picks import sums_gathered
from eqsat.codegen.scalar import literal
from eqsat.codegen.scope import Scope
from eqsat.ir.dtypes import carrier, is_complex, is_float, is_inexact
from eqsat.ir.errors import InternalError
from eqsat.ir.groups import connected
from eqsat.ir.index import Index, Var, substitute
from eqsat.ir.loops import Fold, For, Kernel, Load, Pick, Stmt, Store, Temp, bound_in, loaded, over, statements, values_of
from eqsat.ir.ops import identity_of
from eqsat.ir.tensor import Literal, Position, Scalar, scalars
from eqsat.ir.value_bounds import needs_32_bits

ZERO = integer(0)
# folds of fewer elements are written out, or are loops by themselves; of one loop at most so many values are carried on
LEAST_TOGETHER, MOST_CARRIED = 64, 8


class FoldEmitter(Emitter, Protocol):
    """rolled     loops that stay short loops (see `rolled`)
    across      loops that are written out (see `rolled`)
    remembered  folds by the name of the search that begins where theirs was found; begins: where that is
    """

    rolled: frozenset[For | Fold]
    across: frozenset[For | Fold]
    remembered: dict[str, str]
    begins: dict[str, Value]


def kept_apart(kernel: Kernel, rolled: frozenset[For | Fold], known: Collection[str]) -> frozenset[Stmt]:
    """The loops that stay short loops, and the folds that remember for a search where their result was: loops by themselves."""
    return rolled | {stmt for stmt in statements(kernel.body) if isinstance(stmt, Fold) and stmt.name in known}


def in_one_loop(body: Sequence[Stmt], apart: Collection[Stmt] = ()) -> Iterator[tuple[Stmt, ...]]:
    """The statements of a block, those in one that are one loop: folds of one range that follow each other, all in elements of one width,
    which read buffers in common and are not `apart`.  No fold is made of another one."""
    run: list[Fold] = []
    for stmt in body:
        fold = stmt if isinstance(stmt, Fold) and stmt not in apart and _may_join(stmt) else None
        if fold is not None and run and _is_beside(fold, run):
            run.append(fold)
            continue
        yield from _loops_of(run)
        run = [fold] if fold is not None else []
        if fold is None:
            yield (stmt,)
    yield from _loops_of(run)


def _may_join(fold: Fold) -> bool:
    """Whether it may be in one loop with others: it has no loops of its own but a fold that may, which comes last, and is no search."""
    *before, last = fold.body or (None,)
    if isinstance(last, Fold):
        return not any(isinstance(stmt, For | Fold) for stmt in before) and _may_join(last)
    inside = any(isinstance(stmt, For | Fold) for stmt in fold.body)
    searches = fold.op == "min" and any(isinstance(term, Position) for term in scalars(fold.value))
    return not inside and not searches and fold.variable.extent >= LEAST_TOGETHER


def bodies(folds: Sequence[Fold]) -> tuple[Stmt, ...]:
    """The statements of several folds run as one loop; inner folds last, so that they can be joined too."""
    if len(folds) == 1:
        return folds[0].body
    inside = [stmt for fold in folds for stmt in fold.body]
    return (*(stmt for stmt in inside if not isinstance(stmt, Fold)), *(stmt for stmt in inside if isinstance(stmt, Fold)))


def _ranges(fold: Fold) -> list[tuple[int, int]]:
    """The first and the last number of its loop and of that in it."""
    inner = [found for stmt in fold.body if isinstance(stmt, Fold) for found in _ranges(stmt)]
    return [(fold.variable.lo, fold.variable.hi), *inner]


def _is_beside(fold: Fold, run: Sequence[Fold]) -> bool:
    """Whether it is of the same ranges as others, computes in elements as wide, and is made of none of them, nor of what one of them stores
    but for the element at the same place."""
    first, names = run[0], {other.name for other in run}
    if _ranges(fold) != _ranges(first) or width_of(fold) != width_of(first):
        return False
    values = [*values_of(fold.body), fold.value]
    if any(isinstance(term, Temp) and term.name in names for term in scalars(*values)):
        return False
    return not any(_is_in_the_way(one, other) for other in run for one, other in ((fold, other), (other, fold)))


def _is_in_the_way(one: Fold, other: Fold) -> bool:
    """Whether a fold stores what another one needs, or stores, at another place in the same iteration."""
    shared = _stored(one) & (loaded((other,)) | _stored(other))
    if not shared:
        return False
    places = {place for fold in (one, other) for buffer, place in _places(fold) if buffer in shared}
    return None in places or len(places) > len(shared)


def _stored(fold: Fold) -> set[str]:
    return {stmt.buffer for stmt in statements(fold.body) if isinstance(stmt, Store)}


def _places(fold: Fold) -> Iterator[tuple[str, Index | None]]:
    """The buffers that a fold reads and writes, and where, in its loop by one name; None for what is in no such place."""
    if any(isinstance(stmt, For | Fold) for stmt in fold.body):
        yield from ((buffer, None) for buffer in loaded((fold,)) | _stored(fold))
        return
    variable = fold.variable
    loop: dict[Var, Index] = {variable: Var("along", variable.lo, variable.hi)}
    bound = {**loop, **{name: substitute(value, loop) for name, value in bound_in(fold.body).items()}}
    for term in scalars(*values_of(fold.body), fold.value):
        if isinstance(term, Load | Pick):
            yield term.buffer, substitute(term.index, bound) if isinstance(term, Load) else None
    for stmt in fold.body:
        if isinstance(stmt, Store):
            yield stmt.buffer, substitute(stmt.index, bound)


def _loops_of(run: Sequence[Fold]) -> Iterator[tuple[Fold, ...]]:
    """Those that read buffers in common, or what others store, in as many loops as they need for what they carry."""
    for folds in connected(run, lambda fold: loaded((fold,)) | _stored(fold)):
        group: list[Fold] = []
        for fold in folds:
            if sum(map(_carried, (*group, fold))) > MOST_CARRIED:
                yield tuple(group)
                group = []
            group.append(fold)
        yield tuple(group)


def _carried(fold: Fold) -> int:
    """How many values its loop carries on: extrema of floats whether there was NaN, complex numbers both parts."""
    return 2 if is_complex(fold.dtype) or (is_float(fold.dtype) and fold.op in ("max", "min")) else 1


def emit_folds(e: FoldEmitter, folds: Sequence[Fold], scope: Scope) -> Sequence[Value]:
    """The results of folds in one loop.  Of the same elements the first extremum alone looks for NaN."""
    firsts = [_first_extremum_of(fold, folds[:k]) for k, fold in enumerate(folds)]
    flags = [e.flags if first is None else e.flags._replace(ignore_nan=True) for first in firsts]
    results = list(_emitted(e, folds, flags, scope))
    for k, first in enumerate(firsts):
        if first is not None:
            known = results[first]
            results[k] = e.b.select(e.b.compare("uno", known, known), known, results[k])
    return results


def _first_extremum_of(fold: Fold, others: Sequence[Fold]) -> int | None:
    """The place of an extremum of the same floats among folds."""
    for k, other in enumerate(others):
        extrema = all(one.op in ("max", "min") and is_float(one.dtype) and not one.body for one in (fold, other))
        if extrema and over(other.value, {other.variable: fold.variable}) is fold.value:
            return k
    return None


def _emitted(e: FoldEmitter, folds: Sequence[Fold], flags: Sequence[Flags], scope: Scope) -> Sequence[Value]:
    """The results of folds in one loop, or in blocks whose results are folded with the most digits there are (see `fold`)."""
    one = folds[0]
    extent, (first, end) = one.variable.extent, e.range(one.variable, scope)
    size = e.kernel.size_of(one.variable)
    nested = any(isinstance(inner, For | Fold) for inner in one.body)
    sums = [fold.op == "sum" and is_inexact(fold.dtype) and carrier(fold.dtype) == fold.dtype for fold in folds]
    wide = e.exact or (nested and extent >= LONG_OUTER_FOLD)
    totals = [
        accumulator(
            fold.op,
            fold.dtype,
            its,
            is_sum and wide,
            narrow=extent > 0 and size is None and needs_32_bits(fold.op, fold.value),
            masks=e.b.abilities.masks,
            across=fold in e.across,
        )
        for fold, its, is_sum in zip(folds, flags, sums, strict=True)
    ]
    if extent <= 0:
        return [total.result(e.b, total.initial) for total in totals]
    if size is None and one.name in e.remembered:

        def part(first: Value, end: Value) -> Value:
            return fold_range(e, folds, first, end, scope.inner(), totals)[0]

        result, e.begins[e.remembered[one.name]] = emit_remembered(e, one, part)
        return [result]
    if size is None and LEAST_MARKED <= extent <= MOST_MARKED and is_marked(e, one):
        return [emit_marked(e, one, first, extent, scope)]
    condition = searched(one) if size is None else None
    if condition is not None:
        known = e.begins.pop(one.name, None)
        at, length = (emit_search(e, one, condition, scope), SEARCH_BLOCK) if known is None else (known, REMEMBERED)
        if known is None and is_marked(e, one):
            return [emit_marked(e, one, at, length, scope)]
        return fold_range(e, folds, integer(0, at.type), integer(length, at.type), scope, totals, at)
    if not any(sums) or e.exact or nested or extent < 2 * SUM_BLOCK:
        return fold_range(e, folds, first, end, scope, totals)
    return _in_blocks(e, folds, flags, scope, totals, sums, end)


def _in_blocks(
    e: FoldEmitter,
    folds: Sequence[Fold],
    flags: Sequence[Flags],
    scope: Scope,
    totals: Sequence[Accumulator],
    sums: Sequence[bool],
    end: Value,
) -> Sequence[Value]:
    """The results of folds in one loop, in blocks of SUM_BLOCK iterations; `sums`: which of them carry more digits from block to block."""
    variable, size = folds[0].variable, e.kernel.size_of(folds[0].variable)
    b, inside = e.b, [widest(fold.dtype) if is_sum else fold.dtype for fold, is_sum in zip(folds, sums, strict=True)]
    whole = [
        accumulator(fold.op, dtype, its, wide=is_sum, masks=b.abilities.masks)
        for fold, its, dtype, is_sum in zip(folds, flags, inside, sums, strict=True)
    ]
    stop = integer(variable.hi + 1) if size is None else resized(b, end, "i64", size.variable.bounds)
    count = integer(-(-variable.extent // SUM_BLOCK))
    if size is not None:
        count = b.binary("lshr", b.binary("add", stop, integer(SUM_BLOCK - 1), "nuw nsw"), integer(SUM_BLOCK.bit_length() - 1))

    def step(counter: Value, carried: Carried) -> Carried:
        first = b.binary("add", b.binary("mul", counter, integer(SUM_BLOCK), "nuw nsw"), integer(variable.lo), "nsw")
        last = b.binary("add", first, integer(SUM_BLOCK), "nsw")
        last = last if size is None and variable.extent % SUM_BLOCK == 0 else b.intrinsic("smin", last, stop)
        parts = fold_range(e, folds, first, last, scope.inner(), totals)
        steps = zip(whole, _split(whole, carried), parts, folds, inside, strict=True)
        return tuple(value for one, own, part, fold, dtype in steps for value in one.step(b, own, convert(b, part, fold.dtype, dtype)))

    blocks = e.loop(ZERO, count, _initial(whole), step, b.keep_rolled)
    return [
        convert(b, one.result(b, own), dtype, fold.dtype)
        for one, own, fold, dtype in zip(whole, _split(whole, blocks), folds, inside, strict=True)
    ]


def fold_range(
    e: FoldEmitter,
    folds: Sequence[Fold],
    first: Value,
    end: Value,
    scope: Scope,
    into: Sequence[Accumulator],
    start: Value | None = None,
) -> Sequence[Value]:
    """Folds from `first` to `end`, counted in their type: that of blocks is i64, which LLVM needs to see how long they are; `start`:
    from where they count."""
    one = folds[0].variable
    values = [value for fold in folds for value in (*values_of(fold.body), fold.value)]
    by = divisors(e.b, values, one.extent, scope.temps, e.flags.arithmetic)
    hidden = {fold: _hidden(e, fold, scope) for fold in folds}
    for fold in folds:
        if fold.value.dtype != fold.dtype:
            raise InternalError(f"codegen: found fold {fold.name} of {fold.value.dtype} in {fold.dtype}, expected one dtype")

    def step(counter: Value, carried: Carried) -> Carried:
        inner, following = scope.inner(by), list[Value]()
        counter = counter if start is None else e.b.binary("add", start, counter, "nsw")
        for fold in folds:
            place = e.typed[fold.variable]
            inner.indices[place] = resized(e.b, counter, llvm_type(place), place.bounds)
        e.block(bodies(folds), inner)
        for fold, total, own in zip(folds, into, _split(into, carried), strict=True):
            shown = () if hidden[fold] is fold.value else (e.value(fold.value, inner),)
            following += total.step(e.b, own, e.value(hidden[fold], inner), *shown)
        return tuple(following)

    def note() -> str:
        if folds[0] in e.rolled or start is not None:
            terms = one.extent if start is None else SEARCH_BLOCK
            return e.b.keep_rolled(vectors_of_fold(folds[0].dtype, terms, e.registers.bytes))
        if e.b.abilities.masks and not e.exact and all(map(sums_gathered, folds)):
            return e.b.keep_for_vectors()
        return e.b.keep_vectors_rolled() if one.extent * width_of(folds[0]) >= LONG_BYTES else ""

    if folds[0] in e.across:
        last = _initial(into)
        for number in range(one.lo, one.hi + 1):
            last = step(integer(number, first.type), last)
    elif (middle := end_of_vectors(e, folds, first, end)) is not None:
        return _in_two_parts(e, folds, into, (first, middle, end), step, note)
    else:
        last = e.loop(first, end, _initial(into), step, note)
    return _results(e, into, last)


def _in_two_parts(
    e: FoldEmitter,
    folds: Sequence[Fold],
    into: Sequence[Accumulator],
    ends: tuple[Value, Value, Value],
    step: Callable[[Value, Carried], Carried],
    note: Callable[[], str],
) -> Sequence[Value]:
    """Folds from the first to the last of three numbers, in a loop as far as the second and one behind it."""
    first, middle, end = ends
    short = whole_note(e, folds, first, middle)
    whole = e.loop(first, middle, _initial(into), step, note if short is None else lambda: short)
    rest = e.loop(middle, end, _initial(into), step, lambda: rest_note(e, folds, middle, end))
    found = zip(into, _results(e, into, whole), _results(e, into, rest), strict=True)
    return [total.result(e.b, total.step(e.b, total.step(e.b, total.initial, one), other)) for total, one, other in found]


def _results(e: FoldEmitter, into: Sequence[Accumulator], carried: Carried) -> list[Value]:
    return [total.result(e.b, own) for total, own in zip(into, _split(into, carried), strict=True)]


def _hidden(e: FoldEmitter, fold: Fold, scope: Scope) -> Scalar:
    """What an extremum of floats is one of, with what LLVM must not see in the place of what changes nothing: it would put a selection
    between that and the element, as in nanmax, behind the comparison, and vectorize none such."""
    if fold.op not in ("max", "min") or not is_float(fold.dtype):
        return fold.value
    least = Literal(identity_of(fold.op, fold.dtype).item(), fold.dtype)
    if all(term is not least for term in scalars(fold.value)):
        return fold.value
    name = f"{fold.name}_least"
    scope.temps[name] = e.b.opaque(literal(least))
    return over(fold.value, {}, {least: Temp(name, fold.dtype)})


def _initial(accumulators: Sequence[Accumulator]) -> Carried:
    return tuple(value for one in accumulators for value in one.initial)


def _split(accumulators: Sequence[Accumulator], carried: Carried) -> list[Carried]:
    """What a loop carries, by accumulators."""
    ends = accumulate((len(one.initial) for one in accumulators), initial=0)
    return [carried[first:last] for first, last in pairwise(ends)]
