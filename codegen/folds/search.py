"""The first place where a condition holds: a fold that need not go on to the end.

    min over r of where(condition(r), a + r, last)      where a + r is never more than last

Whether the condition holds somewhere in a block of neighbours is asked in vectors, block after block; what is left to fold is the first
block where it does, or the last block of all.  Where the condition is that an element is the extremum that a fold before found, that fold
goes through blocks itself, and says in which one it was: nothing is read twice but that block.

Of so few places that their answers are the bits of one number, as those of a block are, the first bit is asked for, where vectors are
compared to masks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from eqsat.codegen import scalar
from eqsat.codegen.builder import Builder, Value, integer, is_real, truth
from eqsat.codegen.emitter import Emitter
from eqsat.codegen.folds.accumulator import Accumulator, Carried
from eqsat.codegen.folds.neighbours import of_neighbours
from eqsat.codegen.index import resized
from eqsat.codegen.scope import Scope
from eqsat.codegen.tiles.vectors import is_near
from eqsat.ir import vectorizable
from eqsat.ir.affine import coefficient
from eqsat.ir.dtypes import COMPLEX, UNSIGNED, itemsize
from eqsat.ir.index import substitute
from eqsat.ir.loops import Bind, Fold, For, Kernel, Load, Stmt, Temp, bound_in, over, statements
from eqsat.ir.ops import COMPARISONS, identity_of
from eqsat.ir.tensor import Call, Literal, Position, Scalar, scalars

# iterations of a block, and vectors of it that are looked at side by side
SEARCH_BLOCK, SIDE_BY_SIDE = 64, 4
# iterations of a block of a fold that remembers where its result was, and of such a fold
REMEMBERED, LEAST_REMEMBERED = 1024, 4096
# places whose answers are the bits of one number
LEAST_MARKED, MOST_MARKED = 16, 2 * SEARCH_BLOCK
# operations whose code serves vectors in conditions
ASKED = frozenset((*COMPARISONS, "logical_or", "logical_and", *vectorizable.JOINT_OPS))


def searched(fold: Fold) -> Scalar | None:
    """The condition of a fold that is such a search; None for any other, or a short one."""
    return sought(fold) if fold.variable.extent >= 2 * SEARCH_BLOCK else None


def sought(fold: Fold) -> Scalar | None:
    """The condition of a search, however short."""
    value = fold.value
    if fold.op != "min" or not isinstance(value, Call) or value.op != "where":
        return None
    condition, place, last = value.args
    if not isinstance(place, Position) or not isinstance(last, Literal) or not all(isinstance(stmt, Bind) for stmt in fold.body):
        return None
    rising = coefficient(substitute(place.index, bound_in(fold.body)), fold.variable) == 1
    return condition if rising and isinstance(last.value, int) and place.index.bounds[1] <= last.value else None


def remembered(kernel: Kernel) -> dict[str, str]:
    """Folds for the greatest or least of long rows, by the name of the search behind each that looks for the place of its result."""
    bodies = [kernel.body, *(stmt.body for stmt in statements(kernel.body) if isinstance(stmt, For | Fold))]
    return {extremum.name: search.name for body in bodies for extremum, search in _pairs(body)}


def _pairs(body: tuple[Stmt, ...]) -> Iterator[tuple[Fold, Fold]]:
    folds = [stmt for stmt in body if isinstance(stmt, Fold)]
    for k, extremum in enumerate(folds):
        long = extremum.op in ("max", "min") and extremum.variable.extent >= LEAST_REMEMBERED and extremum.dtype not in ("bool", *COMPLEX)
        search = next((fold for fold in folds[k + 1 :] if long and _looks_for(fold, extremum)), None)
        if search is not None:
            yield extremum, search


def _looks_for(fold: Fold, extremum: Fold) -> bool:
    """Whether a fold is the search for an element that is equal to an extremum of the same elements, or is NaN."""
    condition, (one, other) = searched(fold), (fold.variable, extremum.variable)
    if condition is None or (one.lo, one.hi) != (other.lo, other.hi) or not all(isinstance(stmt, Bind) for stmt in extremum.body):
        return False
    element = over(extremum.value, {**bound_in(extremum.body), other: one})
    found = Call("equal", (element, Temp(extremum.name, extremum.dtype)), "bool")
    no_number = Call("not_equal", (element, element), "bool")
    return over(condition, bound_in(fold.body)) in (found, Call("logical_or", (found, no_number), "bool"))


def emit_search(e: Emitter, fold: Fold, condition: Scalar, scope: Scope) -> Value:
    """Where the block begins that is left to fold."""
    b, place, (first, end) = e.b, e.typed[fold.variable], e.range(fold.variable, scope)
    none, size = integer(0, first.type), integer(SEARCH_BLOCK, first.type)
    latest = b.binary("sub", end, size, "nsw")
    found = _found_by_mask() if b.abilities.masks else _found_by_count(max(itemsize(term.dtype) for term in scalars(condition)))

    def step(counter: Value, carried: Carried) -> Carried:
        inner = scope.inner()
        inner.indices[place] = b.binary("add", at, counter, "nsw")
        e.block(fold.body, inner)
        return found.step(b, carried, e.value(condition, inner))

    label, source = b.fresh("search"), b.block
    back, after = f"{label}.next", f"{label}.end"
    b.jump(label)
    b.start(label)
    at, line = b.phi(first.type, first, source, "at", back)
    holds = found.result(b, e.loop(none, size, found.initial, step, lambda: b.keep_rolled(SIDE_BY_SIDE)))
    b.branch(b.binary("or", holds, b.compare("sge", at, latest)), after, back)
    b.start(back)
    b.complete(line, b.intrinsic("smin", b.binary("add", at, size, "nsw"), latest))
    b.jump(label)
    b.start(after)
    return at


def is_marked(e: Emitter, fold: Fold) -> bool:
    """Whether answers for neighbours may be the bits of a number: loads a few steps apart are compared, and what is the same for all."""
    condition = sought(fold)
    if condition is None or not e.b.abilities.masks:
        return False
    steps = [_step(term, fold) for term in scalars(condition) if isinstance(term, Load)]
    known = (isinstance(term, Load | Literal | Temp) or (isinstance(term, Call) and term.op in ASKED) for term in scalars(condition))
    dtypes = {term.dtype for term in scalars(condition) if not isinstance(term, Call)}
    along = any(steps) and all(step is not None and (step == 0 or is_near(step)) for step in steps)
    return along and all(known) and len(dtypes) == 1 and dtypes <= vectorizable.LANES


def _step(load: Load, fold: Fold) -> int | None:
    return coefficient(substitute(load.index, bound_in(fold.body)), fold.variable)


def emit_marked(e: Emitter, fold: Fold, first: Value, count: int, scope: Scope) -> Value:
    """The result of a search among so many places from the first on; the last vector begins where it ends with them."""
    assert isinstance(fold.value, Call)
    b, (condition, place, last) = e.b, fold.value.args
    size = next(itemsize(term.dtype) for term in scalars(condition) if isinstance(term, Load))
    width = min(e.registers.bytes // size, 1 << count.bit_length() - 1)
    type = f"i{SEARCH_BLOCK if count <= SEARCH_BLOCK else MOST_MARKED}"

    def answers(begin: int) -> Value:
        inner = scope.inner()
        inner.indices[e.typed[fold.variable]] = b.binary("add", first, integer(begin, first.type), "nsw")
        e.block(fold.body, inner)
        return of_neighbours(e, condition, inner, width, lambda load: _step(load, fold))

    whole, left = divmod(count, width)
    marks = _number(b, [answers(k * width) for k in range(whole)], type)
    if left:
        last_ones = b.binary("shl", _number(b, [answers(count - width)], type), integer(count - width, type))
        marks = b.binary("or", marks, last_ones)
    inner = scope.inner()
    inner.indices[e.typed[fold.variable]] = first
    e.block(fold.body, inner)
    begin_place, found = e.value(place, inner), b.intrinsic("cttz", marks, truth(False))
    behind = resized(b, found, begin_place.type, (0, MOST_MARKED))
    return b.select(b.compare("ne", marks, integer(0, type)), b.binary("add", begin_place, behind), e.value(last, inner))


def _number(b: Builder, answers: list[Value], type: str) -> Value:
    """The number of which the answers of vectors are the bits, those of the first ones the lowest."""
    while len(answers) > 1:
        width = int(answers[0].type[1:].split()[0])
        pairs = zip(answers[::2], (*answers[1::2], Value("zeroinitializer", answers[0].type)), strict=False)
        lanes = ", ".join(f"i32 {lane}" for lane in range(2 * width))
        answers = [b.emit(f"<{2 * width} x i1>", f"shufflevector {one}, {other}, <{2 * width} x i32> <{lanes}>") for one, other in pairs]
    bits = b.cast("bitcast", answers[0], f"i{answers[0].type[1:].split()[0]}")
    return bits if bits.type == type else b.cast("zext", bits, type)


def _found_by_mask() -> Accumulator:
    """Whether a condition held somewhere."""
    return Accumulator((truth(False),), lambda b, carried, holds: (b.binary("or", carried[0], holds),), lambda b, carried: carried[0])


def _found_by_count(width: int) -> Accumulator:
    """The same where vectors have no masks: how often it held, in numbers of so many bytes, as wide as what is compared."""
    none = integer(0, f"i{8 * width}")

    def step(b: Builder, carried: Carried, holds: Value) -> Carried:
        return (b.binary("add", carried[0], b.cast("zext", holds, none.type)),)

    return Accumulator((none,), step, lambda b, carried: b.compare("ne", carried[0], none))


def emit_remembered(e: Emitter, fold: Fold, part: Callable[[Value, Value], Value]) -> tuple[Value, Value]:
    """The greatest or least of a long row, and where the first block of it begins that it was found in; the last one ends with the row.
    `part`: that from one place to another."""
    b, low, extent = e.b, fold.variable.lo, fold.variable.extent
    size, latest = integer(REMEMBERED), integer(low + extent - REMEMBERED)

    def step(counter: Value, carried: Carried) -> Carried:
        first = b.intrinsic("smin", b.binary("add", b.binary("mul", counter, size, "nuw nsw"), integer(low), "nsw"), latest)
        value = part(first, b.binary("add", first, size, "nsw"))
        better = _is_better(e, fold, value, carried[0])
        return b.select(better, value, carried[0]), b.select(better, first, carried[1])

    least = scalar.literal(Literal(identity_of(fold.op, fold.dtype).item(), fold.dtype))
    result, at = e.loop(integer(0), integer(-(-extent // REMEMBERED)), (least, integer(low)), step, b.keep_rolled)
    return result, at


def _is_better(e: Emitter, fold: Fold, value: Value, best: Value) -> Value:
    """Whether an extremum is another one than the best so far, or the first NaN."""
    b, above = e.b, fold.op == "max"
    if not is_real(value.type):
        sign = "u" if fold.dtype in UNSIGNED else "s"
        return b.compare(f"{sign}{'gt' if above else 'lt'}", value, best)
    first_nan = b.binary("and", b.compare("uno", value, value), b.compare("ord", best, best))
    return b.binary("or", b.compare("ogt" if above else "olt", value, best), first_nan)
