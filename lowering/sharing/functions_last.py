"""Functions of folds, computed behind all of these, in vectors: beside a fold that goes along memory they are computed one by one.

out[i] = tanh(sum over k of a[i, k] * x[k])     ->     s[i] = sum over k of a[i, k] * x[k], and out[i] = tanh(s[i])
"""

from __future__ import annotations

from eqsat.ir.loops import over
from eqsat.ir.tensor import Build, Call, Read, Reduce, Scalar, axes, has_fold, operands
from eqsat.ir.vectorizable import JOINT_OPS
from eqsat.lowering.nest import Stages, alike, free_variables, scope_order
from eqsat.lowering.sharing.common_terms import stored_by_terms

# elements at the least, and the folds that one loop computes at the most
FEWEST, MOST_FOLDS = 16, 3


def functions_last(build: Build) -> tuple[Stages, Build] | None:
    """The folds, and the build over them; None where elements share them, or are no functions of them that take long."""
    body = alike(build.body)
    if build.size < FEWEST or not has_fold(body):
        return None
    folds = [term for term in scope_order(body) if isinstance(term, Reduce)]
    loops, free = tuple(v for v in axes(build.shape) if v.extent > 1), free_variables(body)
    if len(folds) > MOST_FOLDS or any(free[fold] != frozenset(loops) for fold in folds) or not _is_function(body):
        return None
    read: dict[Scalar, Read] = {fold: stored_by_terms(fold, loops) for fold in folds}
    made = tuple(dict.fromkeys(one.tensor for one in read.values() if isinstance(one.tensor, Build)))
    return ((made,), Build(build.shape, over(body, {}, read))) if len({one.shape for one in made}) == 1 else None


def _is_function(body: Scalar) -> bool:
    """Whether an operation that takes long is made of a fold."""
    holding = set[Scalar]()
    for term in scope_order(body):
        if isinstance(term, Reduce) or not holding.isdisjoint(operands(term)):
            holding.add(term)
            if isinstance(term, Call) and term.op not in JOINT_OPS:
                return True
    return False
