"""A reduction moved outwards: its result row is kept in the output while the folds run around the innermost axis.

    for P: for k: for j: out[P, j] = combine(out[P, j], f(P, k, j))       instead of a fold over k inside j

Worth offering where loads run through memory along j but jump along k: a matrix product, sums of columns.  With several iterations of k
abreast a row is loaded and stored once for all of them, in the same order, and memory is read in as many streams:

    for P: for k by 4: for j: out[P, j] = combine(combine(combine(combine(out[P, j], f(P, k, j)), f(P, k + 1, j)), ..
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from eqsat.ir.dtypes import carrier, is_inexact
from eqsat.ir.index import Index, Var, as_index, substitute, variables
from eqsat.ir.loops import Load, Pick, Stmt, Store, over
from eqsat.ir.ops import REDUCE_OPS, identity_of
from eqsat.ir.tensor import Call, Literal, Position, Reduce, Scalar, has_fold, scalars
from eqsat.lowering.affine import Affine, Forms
from eqsat.lowering.nest import Nest, Several, chains
from eqsat.lowering.place import Placer, Scope

# elements from one place of a row to the next, at most
FARTHEST = 4
# iterations of a fold that share a way through the row
ABREAST = 4
# adding up one by one in the result's dtype loses accuracy with length; longer sums stay folds, which carry more digits
LONGEST_SUM = 16_384


def outward(nest: Nest, output: str, buffers: frozenset[str], abreast: int = 1) -> tuple[Stmt, ...] | None:
    """The statements with the folds around the last loop; None where that is not possible or gains nothing.  `abreast`: how many iterations
    of the innermost fold go through the row together.

    Possible where the body is one chain of folds, or elementwise in its result and of the same dtype.
    """
    found = chains(nest.body)
    if isinstance(nest.body, Several) or not nest.loops or len(found) != 1 or found[0][0].dtype != nest.body.dtype:
        return None
    chain = found[0]
    dtype, length = chain[0].dtype, prod(fold.variable.extent for fold in chain)
    if chain[0].op == "sum" and is_inexact(dtype) and (length > LONGEST_SUM or carrier(dtype) != dtype):
        return None
    if has_fold(chain[-1].body) or not _gains(nest.loops[-1], chain):
        return None
    if chain[-1].variable.extent < 2 * abreast:
        return None
    placer = Placer(buffers)
    scope, opened = placer.top, []
    for variable in nest.loops[:-1]:
        scope = placer.open(variable, scope)
        opened.append(scope)
    _initialize(placer, scope, nest, output, chain[0])
    if abreast > 1:
        _accumulate_abreast(placer, scope, nest, output, chain, abreast)
    else:
        _accumulate(placer, scope, nest, output, chain)
    if nest.body is not chain[0]:
        _finish(placer, scope, nest, output, chain[0])
    for scope in reversed(opened):
        placer.close(scope, "parallel")
    return tuple(placer.top.body)


def _gains(inner: Var, chain: tuple[Reduce, ...]) -> bool:
    """Whether some load steps by one along the axis while a fold makes it jump; of what is gathered
    the last place says where in a row, others that are no elements how far a fold goes."""
    forms, folded = Forms(), {fold.variable for fold in chain}
    for term in scalars(chain[-1].body):
        if isinstance(term, Load):
            if jumps_behind(forms(term.index), inner, folded):
                return True
        elif isinstance(term, Pick) and isinstance(last := term.args[-1], Position) and forms(last.index).stride(inner) in (1, -1):
            jumped = (place.index for place in term.args[:-1] if isinstance(place, Position))
            if any(not folded.isdisjoint(variables(index)) for index in jumped):
                return True
    return False


def jumps_behind(form: Affine, inner: Var, folded: Iterable[Var]) -> bool:
    """Whether a place in memory goes on by little along an axis, and farther in a fold, or as is not known."""
    step = abs(form.stride(inner) or 0)
    strides = (form.stride(variable) for variable in folded)
    return 0 < step <= FARTHEST and any(stride is None or abs(stride) > step for stride in strides)


def _initialize(placer: Placer, scope: Scope, nest: Nest, output: str, fold: Reduce) -> None:
    inner = nest.loops[-1]
    first = Var(f"{inner.name}_first", inner.lo, inner.hi)
    row = placer.open(first, scope)
    start = Literal(identity_of(fold.op, fold.dtype).item(), fold.dtype)
    row.body.append(Store(output, substitute(nest.index, {inner: first}), start))
    placer.close(row, "parallel")


def _accumulate(placer: Placer, scope: Scope, nest: Nest, output: str, chain: tuple[Reduce, ...]) -> None:
    opened = []
    for fold in chain:
        scope = placer.open(fold.variable, scope)
        opened.append(scope)
    row = placer.open(nest.loops[-1], scope)
    row.body.append(Store(output, nest.index, placer.place(chain[-1].body, row), chain[0].op))
    placer.close(row, "parallel")
    for scope in reversed(opened):
        placer.close(scope, "serial")


def _accumulate_abreast(placer: Placer, scope: Scope, nest: Nest, output: str, chain: tuple[Reduce, ...], abreast: int) -> None:
    *around, fold = chain
    opened = []
    for outer in around:
        scope = placer.open(outer.variable, scope)
        opened.append(scope)
    first, (groups, rest) = fold.variable.lo, divmod(fold.variable.extent, abreast)
    group = Var(f"{fold.variable.name}_group", 0, groups - 1)
    inside = placer.open(group, scope)
    _add_to_row(placer, inside, nest, output, fold, nest.loops[-1], [group * abreast + (first + k) for k in range(abreast)])
    placer.close(inside, "serial")
    if rest:
        last = nest.loops[-1]
        again = Var(f"{last.name}_rest", last.lo, last.hi)
        _add_to_row(placer, scope, nest, output, fold, again, [as_index(first + groups * abreast + k) for k in range(rest)])
    for scope in reversed(opened):
        placer.close(scope, "serial")


def _add_to_row(placer: Placer, scope: Scope, nest: Nest, output: str, fold: Reduce, place: Var, iterations: Sequence[Index]) -> None:
    """Combine the row with what some iterations of a fold give, in order."""
    row = placer.open(place, scope)
    env: dict[Var, Index] = {nest.loops[-1]: place}
    index = substitute(nest.index, env)
    total: Scalar = Load(output, index, fold.dtype)
    for iteration in iterations:
        total = Call(REDUCE_OPS[fold.op].step, (total, over(fold.body, {**env, fold.variable: iteration})), fold.dtype)
    row.body.append(Store(output, index, placer.place(total, row)))
    placer.close(row, "parallel")


def _finish(placer: Placer, scope: Scope, nest: Nest, output: str, fold: Reduce) -> None:
    inner = nest.loops[-1]
    last = Var(f"{inner.name}_last", inner.lo, inner.hi)
    env: dict[Var, Index] = {inner: last}
    index = substitute(nest.index, env)
    value = over(nest.body, env, {fold: Load(output, index, fold.dtype)})
    row = placer.open(last, scope)
    row.body.append(Store(output, index, placer.place(value, row)))
    placer.close(row, "parallel")
