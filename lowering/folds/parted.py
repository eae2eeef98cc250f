"""Long reductions in two: parts that threads can share, and the reduction of the parts.

s = g(sum over k < n of f(k))   ->   t[p] = sum over k < n / P of f(p * n / P + k), and s = g(sum over p < P of t[p])

The terms that are left over where n is no multiple of P, fewer than P, are folded with the parts.

So are the folds of a row of results in a matrix, whose rows a thread goes through whole, instead of a part of each.

The first place of an extremum, which is looked for among elements that are compared with it, has the extremum in parts: then it is looked
for in the first part alone whose extremum is that of all.  Where what is compared does not say where it is read, the first place of each
part is found with its extremum.
"""

from __future__ import annotations

from collections.abc import Sequence

from eqsat.ir.affine import coefficient
from eqsat.ir.dtypes import carrier, itemsize
from eqsat.ir.index import Const, Index, Var, depends, minimum
from eqsat.ir.loops import over
from eqsat.ir.ops import REDUCE_OPS
from eqsat.ir.places import PLACE, place_at
from eqsat.ir.tensor import (
    Build,
    Call,
    Gather,
    Literal,
    Position,
    Read,
    Reduce,
    Scalar,
    Shape,
    as_dtype,
    axes,
    axis,
    operands,
    rebuild,
    reduction,
    reindexed,
    scalars,
)
from eqsat.lowering.nest import Stages, chains, free_variables
from eqsat.lowering.ranges.fold_order import folds_arranged

# of a result of so few elements, or first places of extrema; so many terms at least, of each or of all these
MOST_ELEMENTS, MOST_SOUGHT = 2, 16
LEAST_TERMS = 1 << 17
# a term counts once for each time it is made of so many others
HEAVY = 16
MOST_PARTS, LEAST_PARTS = 64, 8
# of a row of so many bytes at the most, so many terms in all, and terms of each part
ROW_BYTES, ROW_TERMS, ROW_PARTS, LEAST_ROWS = 1 << 15, 1 << 18, 8, 24
# equal parts that are taken, whatever is left over of others
ENOUGH_PARTS = 4
# folds down rows that are computed together
MOST_ROWS = 4
# of the last axis that is folded, at most; and where it is estimated to be cheaper
SHORT_TERMS, MORE_TERMS = 16, 64
WIDER = {"float32": "float64", "complex64": "complex128"}


def in_parts(build: Build) -> tuple[Stages, Build] | None:
    """The parts, which are computed together, and the build over them; None where there are no long reductions, of as many terms all."""
    build = folds_arranged(build)
    folds = [chain[0] for chain in chains(build.body)]
    found = [fold for fold in folds if not any(fold in scalars(other.body) for other in folds if other is not fold)]
    if build.size > MOST_SOUGHT or not found or any(carrier(fold.dtype) != fold.dtype or fold.variable.lo for fold in found):
        return None
    extents, sought = {fold.variable.extent for fold in found}, [_sought(fold) for fold in found]
    if len(extents) > 1 or (len(found) > 1 and sought != [None] * len(found)):
        return None
    extent, extremum = extents.pop(), sought[0]
    if extremum is None and build.size > MOST_ELEMENTS:
        return None
    work = extent * build.size if extremum is not None else sum(map(_work, found))
    parts = min(range(MOST_PARTS, LEAST_PARTS - 1, -1), key=lambda n: extent % n)
    if work < LEAST_TERMS or extent < parts:
        return None
    if extremum is not None:
        together, whole = _search_in_parts(build.shape, found[0], extremum, parts)
        return (together,), Build(build.shape, over(build.body, {}, {found[0]: whole}))
    made, totals = dict[Build, None](), dict[Scalar, Scalar]()
    for fold in found:
        value = _part(fold, build.shape, parts)
        wide = WIDER.get(value.dtype, value.dtype) if fold.op in ("sum", "prod") else value.dtype
        part = Build((*build.shape, parts), as_dtype(value, wide))
        made[part] = None
        total: Scalar = Reduce(fold.op, reduction(0, parts), _read(part, 0))
        if extent % parts:
            total = Call(REDUCE_OPS[fold.op].step, (total, as_dtype(_rest(fold, extent % parts), wide)), wide)
        totals[fold] = as_dtype(total, value.dtype)
    return (tuple(made),), Build(build.shape, over(build.body, {}, totals))


def _work(fold: Reduce) -> int:
    """How many terms a fold has, heavy ones counted as several."""
    return terms_of(fold) * max(1, sum(1 for _ in scalars(fold.body)) // HEAVY)


def row_in_parts(build: Build) -> tuple[Stages, Build] | None:
    """The same for a row of results, each part with a row of its own."""
    found = rows_in_parts((build,))
    return None if found is None else (found[0], found[1][0])


def rows_in_parts(builds: Sequence[Build]) -> tuple[Stages, tuple[Build, ...]] | None:
    """The same for rows of results of one shape, whose folds are over the same terms; folds that do not vary along a row stay.  All parts
    are computed together."""
    builds = [folds_arranged(build) for build in builds]
    every = [chain[0] for build in builds for chain in chains(build.body)]
    shape, folds = builds[0].shape, [fold for fold in every if free_variables(fold)[fold]]
    if sum(n > 1 for n in shape) != 1 or max(build.size * itemsize(build.dtype) for build in builds) > ROW_BYTES:
        return None
    if not folds or any(fold.variable.lo or carrier(fold.dtype) != fold.dtype for fold in folds) or not _are_alike(folds):
        return None
    terms, extent = terms_of(folds[0]), folds[0].variable.extent
    parts = _number_of_parts(extent, terms)
    if parts < ENOUGH_PARTS and extent >= ENOUGH_PARTS * ROW_PARTS and terms >= ROW_PARTS * LEAST_ROWS:
        parts = ROW_PARTS  # and some rows that are left over
    if parts < 2 or terms * builds[0].size < ROW_TERMS:
        return None
    places, behind, part = axes(shape), _behind_parts(shape), reduction(0, parts)
    made, totals = dict[Build, None](), dict[Scalar, Scalar]()
    for fold in folds:
        term = Var(fold.variable.name, 0, extent // parts - 1)
        body = reindexed(fold.body, {**behind, fold.variable: axis(0, parts) * term.extent + term})
        rows = Build((parts, *shape), Reduce(fold.op, term, body))
        made[rows] = None
        totals[fold] = total = Reduce(fold.op, part, Read(rows, (part, *places)))
        if extent % parts:
            totals[fold] = Call(REDUCE_OPS[fold.op].step, (total, _rest(fold, extent % parts)), total.dtype)
    return (tuple(made),), tuple(Build(shape, over(build.body, {}, totals)) for build in builds)


def _are_alike(folds: Sequence[Reduce]) -> bool:
    """Whether folds are over the same terms, none of them made of another, and no more kinds of them than one kernel stores."""
    alike = len({(fold.variable.extent, terms_of(fold)) for fold in folds}) == 1
    apart = not any(one in scalars(other.body) for one in folds for other in folds)
    return alike and apart and len(set(folds)) <= MOST_ROWS


def columns_in_parts(build: Build, longest: int = SHORT_TERMS) -> tuple[Stages, Build] | None:
    """Folds along axes between which another one lies, first for each element of the last of these, which is short, so that memory is gone
    through as it lies: sum over k, c of f(k, i, c) is the sum over c of the sums over k, which are a row for all i and c."""
    build = folds_arranged(build)
    found = chains(build.body)
    if len(found) != 1 or len(found[0]) < 2 or any(fold.variable.lo or carrier(fold.dtype) != fold.dtype for fold in found[0]):
        return None
    chain = found[0]
    (first, *between, inner), op = [fold.variable for fold in chain], chain[0].op
    places, behind = axes(build.shape), _behind_parts(build.shape)
    if not 1 < inner.extent <= longest or terms_of(chain[0]) * build.size < ROW_TERMS or not _goes_over(chain[-1].body, inner, places):
        return None
    parts = _number_of_parts(first.extent, first.extent)
    term, last = Var(first.name, 0, first.extent // parts - 1), axis(len(places) + 1, inner.extent)
    body = reindexed(chain[-1].body, {**behind, first: axis(0, parts) * term.extent + term, inner: last})
    for variable in (*reversed(between), term):
        body = Reduce(op, variable, body)
    made = Build((parts, *build.shape, inner.extent), body)
    each, part = reduction(0, inner.extent), reduction(1, parts)
    whole = Reduce(op, each, Reduce(op, part, Read(made, (part, *places, each))))
    return ((made,),), Build(build.shape, over(build.body, {}, {chain[0]: whole}))


def _number_of_parts(extent: int, terms: int) -> int:
    """How many equal parts a fold of so many terms has, of which each has some rows."""
    return next((n for n in range(ROW_PARTS, 1, -1) if extent % n == 0 and terms >= n * LEAST_ROWS), 1)


def _behind_parts(shape: Shape) -> dict[Var, Index]:
    """The places of a shape behind an axis for the number of a part."""
    return dict(zip(axes(shape), axes((1, *shape))[1:], strict=True))


def _goes_over(body: Scalar, inner: Var, places: Sequence[Var]) -> bool:
    """Whether an array is read along a loop of a fold that lies within one of results."""
    reads = (term.indices for term in scalars(body) if isinstance(term, Read) and len(term.indices) > 1)
    return any(coefficient(indices[-1], inner) == 1 and any(depends(indices[-2], place) for place in places) for indices in reads)


def for_threads(build: Build) -> tuple[Stages, Build]:
    """A build with its long reductions in parts, or as it is."""
    return in_parts(build) or columns_in_parts(build) or row_in_parts(build) or ((), build)


def _part(fold: Reduce, shape: Shape, parts: int, each: int | None = None) -> Scalar:
    """A fold over one part, whose number is an axis behind those of the shape.  `each`: how many terms it has, where the last one may have
    some of those before it again."""
    each, place, last = each or fold.variable.extent // parts, axis(len(shape), parts), fold.variable.hi
    term = Var(fold.variable.name, 0, each - 1)
    begin = place * each if parts * each <= last + 1 else minimum(place * each, last + 1 - each)
    body = reindexed(fold.body, {fold.variable: begin + term if each > 1 else begin})
    return Reduce(fold.op, term, body) if each > 1 else body


def _rest(fold: Reduce, count: int) -> Scalar:
    """A fold over its last terms."""
    term = Var(fold.variable.name, 0, count - 1)
    before = fold.variable.extent - count
    body = reindexed(fold.body, {fold.variable: term + before if count > 1 else Const(before)})
    return Reduce(fold.op, term, body) if count > 1 else body


def _read(made: Build, level: int) -> Read:
    """What is made of a part, in a fold over the parts."""
    *outer, parts = made.shape
    return Read(made, (*(axis(k, n) for k, n in enumerate(outer)), reduction(level, parts)))


def _sought(fold: Reduce) -> Reduce | None:
    """The extremum whose first place a fold looks for: min over r of where(f(r) == extremum of f, or f(r) is NaN, r, last)."""
    if fold.op != "min" or not isinstance(fold.body, Call) or fold.body.op != "where" or not isinstance(fold.body.args[2], Literal):
        return None
    condition = fold.body.args[0]
    equal = condition.args[0] if isinstance(condition, Call) and condition.op == "logical_or" else condition
    if not isinstance(equal, Call) or equal.op != "equal":
        return None
    element, extremum = equal.args
    if not isinstance(extremum, Reduce) or extremum.op not in ("max", "min") or extremum.variable.extent != fold.variable.extent:
        return None
    same = reindexed(extremum.body, {extremum.variable: fold.variable}) is element
    return extremum if same and condition in (equal, _or_nan(equal, element)) else None


def _or_nan(equal: Scalar, element: Scalar) -> Scalar:
    return Call("logical_or", (equal, Call("not_equal", (element, element), "bool")), "bool")


def _search_in_parts(shape: Shape, fold: Reduce, extremum: Reduce, parts: int) -> tuple[tuple[Build, ...], Scalar]:
    """What is found of each part, and the first place of the extremum of all; what the last part has again does not come first there."""
    each, extent = -(-fold.variable.extent // parts), fold.variable.extent
    greatest = _part(extremum, shape, parts, each)
    made = Build((*shape, parts), greatest)
    condition, place, last = operands(fold.body)
    value, best = _read(made, 1), Reduce(extremum.op, reduction(0, parts), _read(made, 0))

    def found(element: Scalar) -> Scalar:
        equal = Call("equal", (element, best), "bool")
        return equal if isinstance(condition, Call) and condition.op == "equal" else _or_nan(equal, element)

    number = Position(reduction(1, parts), PLACE)
    which = Reduce("min", reduction(1, parts), Call("where", (found(value), number, Literal(parts - 1, PLACE)), PLACE))
    term, begin = reduction(2, each), Call("multiply", (which, Literal(each, PLACE)), PLACE)
    begin = Call("minimum", (begin, Literal(extent - each, PLACE)), PLACE) if parts * each > extent else begin
    there = Call("add", (begin, Position(term, PLACE)), PLACE)
    element = _gathered(extremum.body, extremum.variable, there)
    is_place = isinstance(place, Position) and place.index is fold.variable and place.dtype == fold.dtype == PLACE
    behind = isinstance(last, Literal) and isinstance(last.value, int) and last.value >= extent - 1
    if element is not None and is_place and behind:  # what stands for no place is none before others
        return (made,), Reduce(fold.op, term, Call("where", (found(element), there, last), fold.dtype))
    first = _part(Reduce(fold.op, fold.variable, over(fold.body, {}, {extremum: greatest})), shape, parts, each)
    firsts = Build((*shape, parts), first)
    return (made, firsts), Reduce(fold.op, reduction(1, parts), Call("where", (found(value), _read(firsts, 1), last), fold.dtype))


def _gathered(root: Scalar, variable: Var, place: Scalar) -> Scalar | None:
    """An element with the value of a variable in an element, so that arrays are read where that says; None where something is folded over
    what varies with it, or a place has operations that no element has."""
    done: dict[Scalar, Scalar] = {}
    for term, free in free_variables(root).items():
        if variable not in free:
            done[term] = term
        elif isinstance(term, Read | Position):
            places = [place_at(index, {variable: place}) for index in (term.indices if isinstance(term, Read) else (term.index,))]
            known = tuple(one for one in places if one is not None)
            if len(known) < len(places):
                return None
            done[term] = Gather(term.tensor, known) if isinstance(term, Read) else as_dtype(known[0], term.dtype)
        elif isinstance(term, Reduce):
            return None
        else:
            done[term] = rebuild(term, tuple(done[arg] for arg in operands(term)))
    return done[root]


def terms_of(fold: Reduce) -> int:
    """How many elements a fold goes through, those of folds within it included."""
    terms: dict[Scalar, int] = {}
    for term in scalars(fold):
        below = max((terms[operand] for operand in operands(term)), default=1)
        terms[term] = below * term.variable.extent if isinstance(term, Reduce) else below
    return terms[fold]
