"""The first place where a condition holds: a fold that need not go on to the end.

    min over r of where(condition(r), a + r, last)      where a + r is never more than last

Whether the condition holds somewhere in a block of neighbours is asked in vectors, block after block; what is left to fold is the first
block where it does, or the last block of all.
"""

from __future__ import annotations

from eqsat.codegen.builder import Value, integer, truth
from eqsat.codegen.fold import Carried
from eqsat.codegen.scope import Scope
from eqsat.codegen.tile import Emitter
from eqsat.ir.affine import coefficient
from eqsat.ir.index import Index, Var, substitute
from eqsat.ir.loops import Bind, Fold
from eqsat.ir.tensor import Call, Literal, Position, Scalar

# iterations of a block, and vectors of it that are looked at side by side
BLOCK, SIDE_BY_SIDE = 64, 4


def searched(fold: Fold) -> Scalar | None:
    """The condition of a fold that is such a search; None for any other, or a short one."""
    value = fold.value
    if fold.op != "min" or not isinstance(value, Call) or value.op != "where" or fold.variable.extent < 2 * BLOCK:
        return None
    condition, place, last = value.args
    if not isinstance(place, Position) or not isinstance(last, Literal) or not all(isinstance(stmt, Bind) for stmt in fold.body):
        return None
    bound: dict[Var, Index] = {}
    for stmt in fold.body:
        assert isinstance(stmt, Bind)
        bound[stmt.variable] = substitute(stmt.value, bound)
    rising = coefficient(substitute(place.index, bound), fold.variable) == 1
    return condition if rising and isinstance(last.value, int) and place.index.bounds[1] <= last.value else None


def emit_search(e: Emitter, fold: Fold, condition: Scalar, scope: Scope) -> Value:
    """Where the block begins that is left to fold."""
    b, place, (first, end) = e.b, e.typed[fold.variable], e.range(fold.variable, scope)
    none, size = integer(0, first.type), integer(BLOCK, first.type)
    latest = b.binary("sub", end, size, "nsw")

    def step(counter: Value, carried: Carried) -> Carried:
        inner = scope.inner()
        inner.indices[place] = b.binary("add", at, counter, "nsw")
        e.block(fold.body, inner)
        return (b.binary("or", carried[0], e.value(condition, inner)),)

    label, source = b.fresh("search"), b.block
    back, after = f"{label}.next", f"{label}.end"
    b.jump(label)
    b.start(label)
    at, line = b.phi(first.type, first, source, "at", back)
    (holds,) = e.loop(none, size, (truth(False),), step, b.keep_rolled(SIDE_BY_SIDE))
    b.branch(b.binary("or", holds, b.compare("sge", at, latest)), after, back)
    b.start(back)
    b.complete(line, b.intrinsic("smin", b.binary("add", at, size, "nsw"), latest))
    b.jump(label)
    b.start(after)
    return at
