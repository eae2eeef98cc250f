"""The reference interpreter of index expressions and tensor programs: what a term means, in NumPy.

A Build is evaluated at all its points at once, on open grids of loop variables; a Reduce adds one trailing axis and folds it.
Every stage of eqsat is tested against this module, so it follows the definitions and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from eqsat.ir.errors import BoundsError, InternalError, UsageError
from eqsat.ir.generics import as_build
from eqsat.ir.host import run_host
from eqsat.ir.index import OPS, Const, Index, Var, variables, walk
from eqsat.ir.ops import REDUCE_OPS, SCALAR_OPS, converted
from eqsat.ir.steps import HostCall, Loop
from eqsat.ir.tensor import (
    Build,
    Call,
    Constant,
    Gather,
    Generic,
    Input,
    Literal,
    Position,
    Program,
    Read,
    Reduce,
    Scalar,
    Step,
    StepResult,
    Tensor,
    axes,
    index_terms,
    level_of,
    operands,
    scalars,
    tensors,
)

Array = np.ndarray[Any, Any]
Env = Mapping[Var, Any]
# values that Elements computes side by side
AT_ONCE = 2**20


def evaluate_index(term: Index, env: Env) -> Any:
    """The value of an index expression where every variable has the int, or the integer array, that `env` gives it.

    Arrays broadcast.  Raises UsageError for a variable without a value; division of an int by zero raises ZeroDivisionError,
    while elements of an array that are divided by zero have no meaning.
    """
    values: dict[Index, Any] = {}
    with np.errstate(divide="ignore"):
        for sub in walk(term):
            if isinstance(sub, Const):
                values[sub] = sub.value
            elif isinstance(sub, Var):
                if sub not in env:
                    raise UsageError(f"evaluate: found no value for the variable {sub.name}")
                values[sub] = env[sub]
            else:
                values[sub] = OPS[sub.op].evaluate(*(values[arg] for arg in sub.args))  # type: ignore[attr-defined]
    return values[term]


def evaluate(program: Program, arrays: Sequence[Array]) -> tuple[Array, ...]:
    """The outputs of a program on these arrays, one an input, in order."""
    if len(arrays) != len(program.inputs):
        raise UsageError(f"evaluate: found {len(arrays)} arrays, expected {len(program.inputs)}")
    known = dict(zip(program.inputs, arrays, strict=True))
    values = _evaluate_all(program.outputs, known)
    return tuple(values[output] for output in program.outputs)


def _run_step(step: Step, given: Sequence[Array]) -> Sequence[Array]:
    if isinstance(step, Loop):
        return _run_loop(step, given)
    if isinstance(step, HostCall):
        return run_host(step.invocation, given, step.made)
    raise InternalError(f"evaluate: found a {type(step).__name__}, expected a step of the grammar")


def _run_loop(loop: Loop, given: Sequence[Array]) -> Sequence[Array]:
    carry, stay = given[: len(loop.made)], given[len(loop.made) :]
    for step in range(loop.count):
        carry = evaluate(loop.body, [np.array(step), *carry, *stay])
    return carry


def evaluate_tensor(tensor: Tensor, inputs: Mapping[Input, Array]) -> Array:
    """The value of one tensor where every input that it needs has its array."""
    return _evaluate_all((tensor,), inputs)[tensor]


class Elements:
    """A Build whose elements are computed when they are read, each once: `elements[indices]`, one integer array an axis.

    values  what the tensors are read from that it reads: arrays, other Elements, or anything that is indexed so
    work    told how many values a computation has, before each; it may raise to end it
    """

    def __init__(self, build: Build, values: Mapping[Tensor, Any], work: Callable[[int], None]) -> None:
        self._build, self._values, self._work = build, values, work
        self._known = np.zeros(prod(build.shape), bool)
        self._data = np.empty(prod(build.shape), build.dtype)
        self._folded = _values_of(build.body)

    def __getitem__(self, indices: tuple[Any, ...]) -> Any:
        shape = self._build.shape
        flat = np.asarray(np.ravel_multi_index(np.broadcast_arrays(*indices), shape) if indices else 0)
        wanted = np.unique(flat)
        missing = wanted[~self._known[wanted]]
        if missing.size:
            self._work(missing.size * self._folded)
            for part in np.array_split(missing, missing.size * self._folded // AT_ONCE + 1):
                self._compute(part)
        return self._data[flat]

    def _compute(self, flat: Array) -> None:
        if flat.size:
            shape = self._build.shape
            env = dict(zip(axes(shape), np.unravel_index(flat, shape), strict=True)) if shape else {}
            with np.errstate(all="ignore"):
                self._data[flat] = np.broadcast_to(_scalar(self._build.body, env, 1, self._values), flat.shape)
            self._known[flat] = True


def _values_of(body: Scalar) -> int:
    """The most values that a part of one element has: one for each iteration of the reductions that it depends on."""
    most = 1
    loops: dict[Scalar, frozenset[Var]] = {}
    for term in scalars(body):
        own = frozenset(v for v in variables(*index_terms(term)) if level_of(v) is not None)
        inside = own.union(*(loops[below] for below in operands(term)))
        folded = frozenset((term.variable,)) if isinstance(term, Reduce) else frozenset()
        most = max(most, prod(v.extent for v in inside | folded))
        loops[term] = inside - folded
    return most


def elements(program: Program, inputs: Mapping[Input, Any], work: Callable[[int], None]) -> tuple[Any, ...]:
    """The outputs of a program as tensors to be read at some elements: arrays and Elements."""
    values: dict[Tensor, Any] = {}
    for tensor in tensors(*program.outputs):
        if isinstance(tensor, Build | Generic):
            values[tensor] = Elements(tensor if isinstance(tensor, Build) else as_build(tensor), values, work)
        else:
            values[tensor] = inputs[tensor] if isinstance(tensor, Input) else tensor.data  # type: ignore[attr-defined]
    return tuple(values[output] for output in program.outputs)


def _evaluate_all(roots: tuple[Tensor, ...], inputs: Mapping[Input, Array]) -> dict[Tensor, Array]:
    """The value of every tensor below the roots; each is computed once."""
    values: dict[Tensor, Array] = {}
    made: dict[Step, Sequence[Array]] = {}
    for tensor in tensors(*roots):
        if isinstance(tensor, Input):
            values[tensor] = _input(tensor, inputs)
        elif isinstance(tensor, Constant):
            values[tensor] = tensor.data
        elif isinstance(tensor, Build | Generic):
            values[tensor] = _build(tensor if isinstance(tensor, Build) else as_build(tensor), values)
        elif isinstance(tensor, StepResult):
            if tensor.step not in made:
                made[tensor.step] = _run_step(tensor.step, [values[given] for given in tensor.step.given])
            values[tensor] = made[tensor.step][tensor.position]
        else:
            raise InternalError(f"evaluate: found a {type(tensor).__name__}, expected a tensor of the grammar")
    return values


def _input(tensor: Input, inputs: Mapping[Input, Array]) -> Array:
    if tensor not in inputs:
        raise UsageError(f"evaluate: found no array for the input {tensor.name}")
    array = np.asarray(inputs[tensor])
    if array.shape != tensor.shape or array.dtype.name != tensor.dtype:
        found, expected = f"{array.dtype.name}{list(array.shape)}", f"{tensor.dtype}{list(tensor.shape)}"
        raise UsageError(f"evaluate: input {tensor.name}: found {found}, expected {expected}")
    return array


def _build(build: Build, values: Mapping[Tensor, Array]) -> Array:
    grids = np.indices(build.shape, sparse=True) if build.shape else ()
    with np.errstate(all="ignore"):
        value = _scalar(build.body, dict(zip(axes(build.shape), grids, strict=True)), len(build.shape), values)
    return np.array(np.broadcast_to(value, build.shape), order="C")


def _scalar(body: Scalar, env: Env, rank: int, values: Mapping[Tensor, Array]) -> Any:
    """The value of `body` on grids of `rank` axes, itself a scalar or an array that broadcasts to them."""
    done: dict[Scalar, Any] = {}
    for term in _in_scope(body):
        if isinstance(term, Literal):
            done[term] = np.dtype(term.dtype).type(term.value)
        elif isinstance(term, Read):
            done[term] = _read(term, env, values)
        elif isinstance(term, Gather):
            done[term] = values[term.tensor][_places(term, [done[arg] for arg in term.args])]
        elif isinstance(term, Position):
            done[term] = np.asarray(evaluate_index(term.index, env)).astype(term.dtype)[()]
        elif isinstance(term, Call):
            done[term] = _call(term, [done[arg] for arg in term.args])
        elif isinstance(term, Reduce):
            done[term] = _fold(term, env, rank, values)
        else:
            raise InternalError(f"evaluate: found a {type(term).__name__} outside the block of a Generic")
    return done[body]


def _in_scope(root: Scalar) -> Iterator[Scalar]:
    """Every distinct scalar of a body, operands first, without what a Reduce folds: that has one more variable."""
    seen: set[Scalar] = set()
    stack: list[tuple[Scalar, bool]] = [(root, False)]
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
            stack.extend((arg, False) for arg in below)


def _read(term: Read, env: Env, values: Mapping[Tensor, Array]) -> Any:
    indices = tuple(evaluate_index(index, env) for index in term.indices)
    for index, found, extent in zip(term.indices, indices, term.tensor.shape, strict=True):
        low, high = np.min(found), np.max(found)
        if low < 0 or high >= extent:
            raise BoundsError(f"evaluate: found the index {index} = {low}..{high}, expected 0..{extent - 1}")
    return values[term.tensor][indices]


def _places(term: Gather, found: Sequence[Any]) -> tuple[Any, ...]:
    """The places of a gather, each clipped to its dimension; BoundsError where one is outside and the gather is checked."""
    for k, (place, extent) in enumerate(zip(found, term.tensor.shape, strict=True)):
        if term.checked and np.size(place) and (np.min(place) < 0 or np.max(place) >= extent):
            raise BoundsError(f"evaluate: found a place {np.min(place)}..{np.max(place)} in dimension {k}, expected 0..{extent - 1}")
    return tuple(np.clip(place, 0, extent - 1) for place, extent in zip(found, term.tensor.shape, strict=True))


def _call(term: Call, args: list[Any]) -> Any:
    if term.op == "astype":
        return converted(args[0], term.dtype)
    return SCALAR_OPS[term.op].meaning(*args)


def _fold(term: Reduce, env: Env, rank: int, values: Mapping[Tensor, Array]) -> Any:
    extent = term.variable.extent
    inner = {variable: np.asarray(grid)[..., np.newaxis] for variable, grid in env.items()}
    inner[term.variable] = np.arange(term.variable.lo, term.variable.hi + 1)
    body = _scalar(term.body, inner, rank + 1, values)
    body = np.broadcast_to(body, np.broadcast_shapes(np.shape(body), (1,) * rank + (extent,)))
    return REDUCE_OPS[term.op].meaning(body, axis=-1, dtype=np.dtype(term.dtype))
