"""Tensors by other definitions: programs in which some tensors are made in another way, and one function put in the place of a read."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from eqsat.ir.index import Const, Index, Var, substitute
from eqsat.ir.tensor import (
    Build,
    Call,
    Gather,
    Position,
    Read,
    Reduce,
    Scalar,
    Tensor,
    axes,
    operands,
    over,
    rebuild,
    reduction,
    scalars,
    sources,
    taken,
)

Definitions = Mapping[Tensor, Tensor]
# an element, what the loop variables around it are, and how many reductions are around it
_Frame = tuple[Scalar, tuple[tuple[Var, Index], ...], int]


def in_order(roots: tuple[Tensor, ...], definitions: Definitions) -> list[Tensor]:
    """The tensors that the roots are made of by these definitions, sources first; a definition is over the tensors that it names."""
    found: dict[Tensor, None] = {}
    stack: list[tuple[Tensor, bool]] = [(root, False) for root in reversed(roots)]
    while stack:
        tensor, ready = stack.pop()
        if tensor in found:
            continue
        if ready:
            found[tensor] = None
            continue
        stack.append((tensor, True))
        stack += [(source, False) for source in reversed(sources(definitions.get(tensor, tensor))) if source not in found]
    return list(found)


def redefined(roots: tuple[Tensor, ...], definitions: Definitions) -> dict[Tensor, Tensor]:
    """What every tensor below the roots becomes where some have other definitions."""
    done: dict[Tensor, Tensor] = {}
    for tensor in in_order(roots, definitions):
        done[tensor] = over(definitions.get(tensor, tensor), done)
    return done


def inlined(body: Scalar, function: Callable[[Tensor], Scalar | None]) -> Scalar:
    """An element with the functions of tensors in the place of their reads, those of `function` that are not None; reductions are
    numbered by how many are around them, outermost first."""
    done: dict[_Frame, Scalar] = {}
    stack: list[_Frame] = [(body, (), 0)]
    while stack:
        frame = stack[-1]
        below = [] if frame in done else _below(frame, function)
        missing = [one for one in below if one not in done]
        if missing:
            stack += missing
            continue
        stack.pop()
        if frame not in done:
            done[frame] = _made(frame, [done[one] for one in below])
    return done[body, (), 0]


def _below(frame: _Frame, function: Callable[[Tensor], Scalar | None]) -> list[_Frame]:
    """What an element is made of."""
    term, known, depth = frame
    if isinstance(term, Read) and (inner := function(term.tensor)) is not None:
        env = dict(known)
        indices = (substitute(index, env) for index in term.indices)
        return [(inner, tuple(zip(axes(term.tensor.shape), indices, strict=True)), depth)]
    if isinstance(term, Reduce):
        return [(term.body, (*known, (term.variable, reduction(depth, term.variable.extent))), depth + 1)]
    return [(arg, known, depth) for arg in operands(term)]


def _made(frame: _Frame, below: list[Scalar]) -> Scalar:
    term, known, depth = frame
    env = dict(known)
    if isinstance(term, Read):
        return below[0] if below else Read(term.tensor, tuple(substitute(index, env) for index in term.indices))
    if isinstance(term, Position):
        return Position(substitute(term.index, env), term.dtype)
    if isinstance(term, Reduce):
        return Reduce(term.op, reduction(depth, term.variable.extent), below[0])
    return rebuild(term, tuple(below))


def with_inlined(tensor: Build, function: Callable[[Tensor], Scalar | None]) -> Build:
    """A build with the functions of tensors in the place of their reads."""
    return Build(tensor.shape, inlined(tensor.body, function))


def index_pairs(
    left: Scalar, right: Scalar, same: Callable[[Tensor, Tensor], bool], function: Callable[[Tensor], Scalar | None] = lambda tensor: None
) -> list[tuple[Index, Index]] | None:
    """The index terms in which two elements differ, side by side; None if they differ in more.

    same      whether the tensors that both read are equal
    function  of tensors that may be read on the left where they are computed on the right
    """
    found: dict[tuple[Index, Index], None] = {}
    seen: set[tuple[Scalar, Scalar]] = set()
    stack = [(left, right)]
    while stack:
        pair = stack.pop()
        if pair in seen:
            continue
        seen.add(pair)
        one, other = pair
        if not _alike(one, other, same):
            if not isinstance(one, Read) or function(one.tensor) is None:
                return None
            stack.append((inlined(one, function), other))
            continue
        if isinstance(one, Read) and isinstance(other, Read):
            found.update(dict.fromkeys(zip(one.indices, other.indices, strict=True)))
        elif isinstance(one, Position) and isinstance(other, Position):
            found[one.index, other.index] = None
        stack += zip(operands(one), operands(other), strict=True)
    return [(one, other) for one, other in found if one is not other]


def _alike(one: Scalar, other: Scalar, same: Callable[[Tensor, Tensor], bool]) -> bool:
    """Whether two elements are the same operation, whatever is below them and at whatever indices they read."""
    if type(one) is not type(other) or one.dtype != other.dtype or len(operands(one)) != len(operands(other)):
        return False
    if isinstance(one, Read | Gather):
        assert isinstance(other, Read | Gather)
        return same(one.tensor, other.tensor)
    if isinstance(one, Reduce):
        assert isinstance(other, Reduce)
        return one.op == other.op and one.variable is other.variable
    return isinstance(one, Position) or one is other or rebuild(one, operands(other)) is other


def decided(body: Scalar) -> tuple[Scalar, list[tuple[Index, Index]]]:
    """An element without the selections whose conditions bounds decide, and the conditions that chose, with what they are."""
    branches: dict[Scalar, Scalar] = {}
    known: dict[Index, Index] = {}
    stack, seen = [body], set[Scalar]()
    while stack:
        term = stack.pop()
        if term in seen:
            continue
        seen.add(term)
        condition = term.args[0] if isinstance(term, Call) and term.op == "where" else None
        if isinstance(condition, Position) and condition.index.bounds[0] == condition.index.bounds[1]:
            truth = Const(bool(condition.index.bounds[0]))
            branch = taken(rebuild(term, (Position(truth, "bool"), *operands(term)[1:])))
            if branch.dtype == term.dtype:
                known[condition.index], branches[term] = truth, branch
                stack.append(branch)
                continue
        stack += operands(term)
    done: dict[Scalar, Scalar] = {}
    for term in scalars(body):
        done[term] = done[branches[term]] if term in branches else rebuild(term, tuple(done[operand] for operand in operands(term)))
    return done[body], list(known.items())
