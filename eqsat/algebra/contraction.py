"""The order in which a product under sums is computed: the one with the fewest multiplications.

    sum over j, k of A[i,k] * B[k,j] * v[j]   =   sum over k of A[i,k] * u[k]   where u[k] = sum over j of B[k,j] * v[j]

Dynamic programming over sets of factors, as einsum's optimizers do (source: opt_einsum, "optimal"): a set is computed once, over the
variables that the rest of the product or the result still needs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod

from eqsat.algebra.products import Number, Product, multiplied, variables_of
from eqsat.ir.index import Index, Var
from eqsat.ir.tensor import Build, Read, Reduce, Scalar, Shape, axes, axis, reduction, reindexed

Loops = tuple[Var, ...]
# how much more has to be done as written than in parts
CONTRACTION_GAIN = Fraction(3, 2)


@dataclass(frozen=True)
class Plan:
    """How a set of factors is computed, over the loops `loops`: from two smaller sets, or from one factor alone."""

    factors: tuple[Scalar, ...]
    loops: Loops
    work: int
    parts: tuple[Plan, ...] = ()

    @property
    def inner(self) -> tuple[Plan, ...]:
        """The plans of what is multiplied."""
        return self.parts or (Plan(self.factors, variables_of(*self.factors), 0),)

    @property
    def folded(self) -> Loops:
        """The variables that it sums over."""
        return tuple(dict.fromkeys(v for part in self.inner for v in part.loops if v not in self.loops))

    @property
    def alike(self) -> tuple[Shape, Shape, frozenset[tuple[Scalar, int]]]:
        """The same for plans that differ in the names of their loops and the order of their factors alone."""
        env: dict[Var, Index] = {v: axis(k, v.extent) for k, v in enumerate(self.loops)}
        env |= {v: reduction(k, v.extent) for k, v in enumerate(v for v in variables_of(*self.factors) if v not in self.loops)}
        counted = Counter(reindexed(factor, env) for factor in self.factors)
        return tuple(v.extent for v in self.loops), tuple(v.extent for v in env), frozenset(counted.items())

    @property
    def is_factor(self) -> bool:
        """Whether there is nothing to do: it is a factor as it stands."""
        return not self.parts and self.loops == variables_of(*self.factors)


def cheapest_order(product: Product, kept: Collection[Var]) -> Plan:
    """The plan with the fewest multiplications for a product whose result varies with the variables `kept`."""
    return _Orders(product, kept).best((1 << len(product.factors)) - 1)


class _Orders:
    """Sets of factors are bit masks."""

    def __init__(self, product: Product, kept: Collection[Var]) -> None:
        self.factors, self.kept = product.factors, frozenset(kept)
        self.loops = [variables_of(factor) for factor in product.factors]
        self._best: dict[int, Plan] = {}

    def members(self, mask: int) -> tuple[int, ...]:
        return tuple(k for k in range(len(self.factors)) if mask >> k & 1)

    def needed(self, mask: int) -> Loops:
        """The loops of a set that the result or another factor needs too, in order of first use."""
        others = {v for k in range(len(self.factors)) if not mask >> k & 1 for v in self.loops[k]}
        return tuple(dict.fromkeys(v for k in self.members(mask) for v in self.loops[k] if v in others or v in self.kept))

    def best(self, mask: int) -> Plan:
        if mask not in self._best:
            factors = tuple(self.factors[k] for k in self.members(mask))
            loops = self.needed(mask)
            if len(factors) <= 1:
                own = variables_of(*factors)
                self._best[mask] = Plan(factors, loops, 0 if loops == own else trips(own))
            else:
                splits = [(self.best(left), self.best(mask ^ left)) for left in _halves(mask)]
                plans = (Plan(factors, loops, _work_of(a, b) + trips({*a.loops, *b.loops}), (a, b)) for a, b in splits)
                self._best[mask] = min(plans, key=lambda plan: plan.work)
        return self._best[mask]


def _work_of(a: Plan, b: Plan) -> int:
    """The work of two parts; of two that are computed alike, as those of x @ A.T @ A @ x, one is the other at other loops."""
    return a.work if a.work == b.work and a.alike == b.alike else a.work + b.work


def _halves(mask: int) -> Iterator[int]:
    """The proper subsets of a set that hold its lowest member: one of each pair of complements."""
    lowest = mask & -mask
    rest = mask ^ lowest
    part = rest
    while part:
        part = (part - 1) & rest
        yield part | lowest


def trips(loops: Collection[Var]) -> int:
    """How many iterations loops have."""
    return prod(v.extent for v in loops)


@dataclass
class Spelling:
    """Tensors for a plan; `made` are those between, sources first."""

    made: list[Build] = field(default_factory=list)
    _alike: dict[Hashable, Build] = field(default_factory=dict)

    def result(self, plan: Plan, product: Product, shape: Shape, dtype: str) -> Build:
        """The tensor of the whole product, with its coefficient and the bound variables that no factor depends on."""
        body = self._folded(plan, {v: v for v in axes(shape)})
        return Build(shape, multiplied(self.coefficient(plan, product), [body], dtype))

    def coefficient(self, plan: Plan, product: Product) -> Number:
        """The coefficient of a product, with the bound variables that no factor depends on."""
        used = set(variables_of(*plan.factors))
        return product.coefficient * trips([v for v in product.bound if v not in used])

    def element(self, plan: Plan, loops: Loops) -> Scalar:
        """The value of a plan at loops of a result: of one with folds a read of a tensor of its own."""
        return self._element(plan) if plan.folded else self._folded(plan, {v: v for v in loops})

    def _element(self, plan: Plan) -> Scalar:
        """The value of a plan at its loops: a factor, or a read of the tensor that is made of it."""
        if plan.is_factor:
            return plan.factors[0]
        tensor = self._alike.get(plan.alike)
        if tensor is None:
            env: dict[Var, Index] = {v: axis(k, v.extent) for k, v in enumerate(plan.loops)}
            tensor = self._alike[plan.alike] = Build(tuple(v.extent for v in plan.loops), self._folded(plan, env))
            self.made.append(tensor)
        return Read(tensor, plan.loops)

    def _folded(self, plan: Plan, env: dict[Var, Index]) -> Scalar:
        """The sum that a plan is, over indices for its loops."""
        factors = [self._element(part) for part in plan.inner]
        return folded("sum", plan.folded, multiplied(1, factors, plan.factors[0].dtype), env)


def folded(op: str, variables: Sequence[Var], term: Scalar, env: Mapping[Var, Index]) -> Scalar:
    """The fold of an element without folds over variables, the first outermost, with indices for others."""
    levels: dict[Var, Index] = {v: reduction(level, v.extent) for level, v in enumerate(variables)}
    body = reindexed(term, {**env, **levels})
    for level, v in reversed(list(enumerate(variables))):
        body = Reduce(op, reduction(level, v.extent), body)
    return body
