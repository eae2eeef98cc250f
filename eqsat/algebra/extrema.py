"""Greatest and least elements: what does not vary with a variable of the fold is outside of it.

    max r. x                    =   x
    max r. x + y[r]             =   x + max r. y[r]
    max r. x - y[r]             =   x - min r. y[r]
    max r. minimum(x, y[r])     =   minimum(x, max r. y[r])
    max r < 2000. x[r % 500]    =   max r < 500. x[r]

Rounding keeps order, so the equations hold for floats as they do for numbers, where no infinity meets its opposite: then x + max r. y[r]
is not finite.  Sums of integers wrap, and keep no order.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from eqsat.algebra.contraction import CONTRACTION_GAIN, folded, trips
from eqsat.algebra.products import Opener, Product, is_call, opened, through_movements, variables_of
from eqsat.algebra.repeats import without_repeats
from eqsat.ir.dtypes import is_complex, is_inexact
from eqsat.ir.index import Index, Var
from eqsat.ir.tensor import Build, Call, Read, Reduce, Scalar, axes, axis, has_fold, reindexed

OPPOSITE = {"max": "min", "min": "max"}
LATTICE, SUMS = ("maximum", "minimum"), ("add", "subtract")


@dataclass(frozen=True)
class Extremum:
    """A build that is equal to another; the tensors that it is made of; whether sums were taken apart, which show what is not finite."""

    build: Build
    made: tuple[Build, ...]
    shows: bool


def without_invariants(tensor: Build) -> Extremum | None:
    """A greatest or least element with what does not vary outside of the fold; None where that is not much less work."""
    opener, term, bound = Opener(), through_movements(tensor.body), list[Var]()
    op, env = term.op if isinstance(term, Reduce) else "", dict[Var, Index]()
    while isinstance(term, Reduce) and term.op == op:
        bound.append(opener.fresh(term.variable))
        env[term.variable] = bound[-1]
        term = term.body
    if op not in OPPOSITE or has_fold(term) or is_complex(tensor.dtype):
        return None
    parts, loops = _Parts(), axes(tensor.shape)
    different = without_repeats(Product(1, tuple(bound), (reindexed(term, env),)), opener.fresh)
    whole = parts.folded(op, different.bound, *different.factors)
    is_made = isinstance(whole, Read) and whole.tensor in parts.made and whole.indices == loops
    build = parts.made.pop() if is_made else Build(tensor.shape, whole)
    if (parts.work + (0 if is_made else trips(loops))) * CONTRACTION_GAIN > trips(loops) * trips(bound):
        return None
    return Extremum(build, tuple(parts.made), parts.shows)


@dataclass
class _Parts:
    """Folds of parts of an element: `made` are the tensors for them, sources first, `work` how many elements they visit."""

    made: list[Build] = field(default_factory=list)
    work: int = 0
    shows: bool = False

    def folded(self, op: str, bound: Collection[Var], term: Scalar) -> Scalar:
        """The greatest or least that an element without folds is over bound variables, of which it need not depend on all."""
        mine = [v for v in bound if v in variables_of(term)]
        call = opened(term, lambda body: isinstance(body, Read | Call))
        if not mine or not (is_call(call, *LATTICE) or (is_call(call, *SUMS) and is_inexact(call.dtype))):
            return self._made(op, mine, term)
        assert isinstance(call, Call)
        left, right = (variables_of(arg) for arg in call.args)
        common = [v for v in mine if v in left and v in right]
        apart = [v for v in mine if v not in common]
        if not apart:
            return self._made(op, mine, term)
        self.shows |= call.op in SUMS
        ops = (op, OPPOSITE[op] if call.op == "subtract" else op)
        parts = tuple(self.folded(way, apart, arg) for way, arg in zip(ops, call.args, strict=True))
        return self._made(op, common, Call(call.op, parts, call.dtype))

    def _made(self, op: str, bound: list[Var], term: Scalar) -> Scalar:
        """A read of a tensor that is the fold of an element; the element where it does not vary."""
        if not bound:
            return term
        loops = tuple(v for v in variables_of(term) if v not in bound)
        places: dict[Var, Index] = {v: axis(k, v.extent) for k, v in enumerate(loops)}
        self.work += trips(loops) * trips(bound)
        self.made.append(Build(tuple(v.extent for v in loops), folded(op, bound, term, places)))
        return Read(self.made[-1], loops)
