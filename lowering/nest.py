"""A Build with its loops made explicit: the form that the choices of `lowering` rewrite before statements are placed.

    nest ::= Nest(loops, body, index)       for loops, outermost first: output[index] = body

In a body every read is a Load at a flat offset, every Reduce binds a variable of its own, and no loop has one iteration.  A nest of
several outputs has a Several as its body, one scalar for each.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass

from eqsat.ir.index import Const, Index, Var, substitute, variables
from eqsat.ir.loops import Load, Pick, rebuilt
from eqsat.ir.tensor import (
    Build,
    Compound,
    Gather,
    Position,
    Read,
    Reduce,
    Scalar,
    Shape,
    Tensor,
    axes,
    is_size,
    operands,
    rebuild,
    reindexed,
    scalars,
)
from eqsat.ir.vectorizable import is_joint_value
from eqsat.lowering.folds.narrow_integers import narrowed
from eqsat.lowering.movements.picks import in_rows, joined_places

Names = Mapping[Tensor, str]
# the variables of sizes that are known at run time, by the extents that stand for them
Sizes = Mapping[int, Var]
Free = dict[Scalar, frozenset[Var]]
# builds that are computed together, one group after the other
Stages = tuple[tuple[Build, ...], ...]


@dataclass(frozen=True, eq=False, repr=False)
class Several(Compound):
    """The elements that one iteration of a nest of several outputs computes."""

    args: tuple[Scalar, ...]
    dtype: str = ""


@dataclass(frozen=True)
class Nest:
    """Parallel loops around one element."""

    loops: tuple[Var, ...]
    body: Scalar
    index: Index

    @functools.cached_property
    def loads(self) -> tuple[Load, ...]:
        """Every distinct load of the body."""
        return tuple(term for term in scalars(self.body) if isinstance(term, Load))

    @property
    def is_joint(self) -> bool:
        """Whether its code serves several iterations at once."""
        return all(map(is_joint_value, elements(self.body)))

    @functools.cached_property
    def offsets(self) -> tuple[Index, ...]:
        """The offset written and every offset read, each once."""
        return tuple(dict.fromkeys((self.index, *(load.index for load in self.loads))))

    @functools.cached_property
    def conditions(self) -> tuple[Index, ...]:
        """The truth values among its positions, by which elements are chosen."""
        return tuple(dict.fromkeys(term.index for term in scalars(self.body) if isinstance(term, Position) and term.dtype == "bool"))

    @functools.cached_property
    def terms(self) -> tuple[Index, ...]:
        """Every index term: offsets and positions."""
        positions = (term.index for term in scalars(self.body) if isinstance(term, Position))
        return tuple(dict.fromkeys((*self.offsets, *positions)))


def nest_of(builds: tuple[Build, ...], names: Names, sizes: Sizes) -> Nest:
    """The nest of builds of one shape as written: a loop an axis, in order."""
    shape = builds[0].shape
    loops = axes(shape)
    whole = alike(builds[0].body if len(builds) == 1 else Several(tuple(build.body for build in builds)))
    unit: dict[Var, Index] = {v: Const(0) for v in loops if v.extent == 1}
    indices = tuple(unit.get(v, v) for v in loops)
    body = narrowed(_Naming(whole, names, sizes).scope(whole, unit))
    return Nest(tuple(v for v in loops if v not in unit), body, flat(indices, shape, sizes))


def flat(indices: tuple[Index, ...], shape: Shape, sizes: Sizes) -> Index:
    """The offset of an element in C order; dimensions of size one add nothing."""
    total: Index | None = None
    stride: Index | int = 1
    parts: list[Index] = []
    for index, extent in zip(reversed(indices), reversed(shape), strict=True):
        if extent > 1:
            parts.append(index if isinstance(stride, int) and stride == 1 else index * stride)
        stride = stride * sizes.get(extent, extent) if not isinstance(stride, int) or stride != 1 else sizes.get(extent, extent)
    for part in reversed(parts):
        total = part if total is None else total + part
    return Const(0) if total is None else total


def free_variables(root: Scalar) -> Free:
    """For every scalar below root the loop variables that it needs from around it."""
    free: Free = {}
    for term in scalars(root):
        if isinstance(term, Load | Position):
            free[term] = frozenset(v for v in variables(term.index) if not is_size(v))
        elif isinstance(term, Read):
            free[term] = frozenset(v for v in variables(*term.indices) if not is_size(v))
        else:
            below = frozenset[Var]().union(*(free[arg] for arg in operands(term)))
            free[term] = below - {term.variable} if isinstance(term, Reduce) else below
    return free


def elements(body: Scalar) -> tuple[Scalar, ...]:
    """What one iteration computes, one for each output."""
    return body.args if isinstance(body, Several) else (body,)


def largest(root: Scalar, chosen: Container[Scalar]) -> list[Scalar]:
    """The terms of an element that are among these and within no other of them, those nearer to the root first."""
    reached, found = {root}, list[Scalar]()
    for term in reversed(tuple(scalars(root))):
        if term in chosen and term in reached:
            found.append(term)
        elif term in reached:
            reached.update(operands(term))
    return found


def scope_order(root: Scalar) -> Iterator[Scalar]:
    """Every distinct scalar evaluated in the scope of root, operands first; the bodies of its reductions are other scopes."""
    seen: set[Scalar] = set()
    stack = [(root, False)]
    while stack:
        term, ready = stack.pop()
        if term in seen:
            continue
        below = () if isinstance(term, Reduce) else operands(term)
        if ready or not below:
            seen.add(term)
            yield term
        else:
            stack.append((term, True))
            stack.extend((arg, False) for arg in reversed(below))


def alike(root: Scalar) -> Scalar:
    """Equal reductions as one term, wherever they stand: the variable of each is named by how many are nested in it."""
    done: dict[Scalar, Scalar] = {}
    inside: dict[Scalar, int] = {}
    for term in scalars(root):
        deepest = max((inside[arg] for arg in operands(term)), default=0)
        if isinstance(term, Reduce):
            variable = Var(f"f{deepest}", term.variable.lo, term.variable.hi)
            done[term] = Reduce(term.op, variable, reindexed(done[term.body], {term.variable: variable}))
        else:
            done[term] = rebuild(term, tuple(done[arg] for arg in operands(term)))
        inside[term] = deepest + isinstance(term, Reduce)
    return done[root]


class _Naming:
    """Gives reductions variables of their own and reads their flat offsets.

    A Reduce that occurs under several loops is copied only where a variable it needs differs, so sharing survives.
    """

    def __init__(self, root: Scalar, names: Names, sizes: Sizes) -> None:
        self.names, self.sizes = names, sizes
        self.free = free_variables(root)
        self.reduced: dict[tuple[Reduce, frozenset[tuple[Var, Index]]], Scalar] = {}
        self.count = 0

    def scope(self, root: Scalar, env: Mapping[Var, Index]) -> Scalar:
        done: dict[Scalar, Scalar] = {}
        for term in scope_order(root):
            if isinstance(term, Read):
                indices = tuple(substitute(index, env) for index in term.indices)
                done[term] = Load(self.names[term.tensor], flat(indices, term.tensor.shape, self.sizes), term.dtype)
            elif isinstance(term, Gather):
                shape, places = term.tensor.shape, tuple(done[arg] for arg in term.args)
                if not self.sizes:
                    shape, places = in_rows(*joined_places(shape, places))
                done[term] = Pick(self.names[term.tensor], shape, places, term.dtype)
            elif isinstance(term, Position):
                done[term] = Position(substitute(term.index, env), term.dtype)
            elif isinstance(term, Reduce):
                done[term] = self.reduce(term, env)
            else:
                done[term] = rebuild(term, tuple(done[arg] for arg in operands(term)))
        return done[root]

    def reduce(self, term: Reduce, env: Mapping[Var, Index]) -> Scalar:
        needed = self.free[term]
        key = term, frozenset((v, index) for v, index in env.items() if v in needed)
        if key not in self.reduced:
            self.reduced[key] = self.fresh(term, {v: index for v, index in env.items() if v in needed})
        return self.reduced[key]

    def fresh(self, term: Reduce, env: Mapping[Var, Index]) -> Scalar:
        extent = term.variable.extent
        if extent == 1:
            return self.scope(term.body, {**env, term.variable: Const(term.variable.lo)})
        variable = Var(f"r{self.count}", term.variable.lo, term.variable.hi)
        self.count += 1
        return Reduce(term.op, variable, self.scope(term.body, {**env, term.variable: variable}))


def replace_variables(nest: Nest, change: Callable[[Index], Index], parts: Mapping[Var, tuple[Var, ...]]) -> Nest:
    """The nest over other variables: `parts` gives the loops or folds in the place of each, `change` the new offsets."""
    done: dict[Scalar, Scalar] = {}
    for term in scalars(nest.body):
        if isinstance(term, Reduce):
            body = done[term.body]
            for variable in reversed(parts.get(term.variable, (term.variable,))):
                body = Reduce(term.op, variable, body)
            done[term] = body
        else:
            done[term] = rebuilt(term, tuple(done[arg] for arg in operands(term)), change)
    loops = tuple(part for v in nest.loops for part in parts.get(v, (v,)))
    return Nest(loops, done[nest.body], change(nest.index))


def chains(body: Scalar) -> tuple[tuple[Reduce, ...], ...]:
    """Reductions of one operation that stand directly in each other and are used nowhere else, outermost first."""
    terms = tuple(scalars(body))
    uses: dict[Scalar, int] = {body: 1}
    for term in terms:
        for arg in operands(term):
            uses[arg] = uses.get(arg, 0) + 1
    inside: set[Scalar] = set()
    found: list[tuple[Reduce, ...]] = []
    for term in reversed(terms):
        if not isinstance(term, Reduce) or term in inside:
            continue
        chain = [term]
        while isinstance(below := chain[-1].body, Reduce) and below.op == term.op and uses[below] == 1:
            chain.append(below)
        inside.update(chain)
        found.append(tuple(chain))
    return tuple(found)
