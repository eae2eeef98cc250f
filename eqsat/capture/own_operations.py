"""Elementwise operations of the caller: rows in the tables that the built-in ones are rows of."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from eqsat.capture.signature import is_number
from eqsat.capture.specs import Spec
from eqsat.capture.traces import apply, traced_deep
from eqsat.capture.tracing import trace
from eqsat.codegen.builder import LLVM_TYPES, Builder, Code, Value
from eqsat.codegen.scalar import TABLES, UNCARRIED, inlined
from eqsat.ir.dtypes import DTYPES, INTEGERS, carrier, dtype_name
from eqsat.ir.errors import EqsatError, UnsupportedError, UsageError, one_line
from eqsat.ir.generics import instantiate_block
from eqsat.ir.ops import SCALAR_OPS, ScalarOp, forget_loops, loop_dtypes, numbered
from eqsat.ir.tensor import Arg, Build, Call, Constant, Generic, Input, Literal, Read, Scalar, Tensor, operands, rebuild, scalars, tensors
from eqsat.ir.value_bounds import CALLS, Bounds
from eqsat.operations.elementwise import call, elementwise, given
from eqsat.operations.table import OPERATIONS
from eqsat.pricing.cycles import DEFAULT_COSTS, ELEMENT_CYCLES, check_cycles
from eqsat.proving.operation_check import ULPS, Definition, OperationVerdict, asked_bounds, verdict_on

Function = Callable[..., Any]
# operands and results of operations of the caller
TYPES = ("bool", *INTEGERS, "float16", "float32", "float64")
MOST_OPERANDS = 3
_LOCK = threading.RLock()
_REGISTERED: dict[str, Operation] = {}
# how often a name was registered: programs of a removed operation are no programs of the next one of its name
_TIMES: dict[str, int] = {}


@dataclass(frozen=True, eq=False)
class Operation(Definition):
    """An operation that was registered: call it on traced arrays, lazy tensors, numpy arrays and numbers."""

    def __call__(self, *values: Any) -> Any:
        _check_registered(self, "a call")
        if any(True for _ in traced_deep(values)):
            return apply(self.key, *values)
        types = (given(value) if is_number(value) else dtype_name(np.asarray(value).dtype, self.name) for value in values)
        *computed, _ = loop_dtypes(self.key, *types)
        return self.meaning(*(np.asarray(value).astype(dtype) for value, dtype in zip(values, computed, strict=True)))

    def remove(self) -> None:
        """Take the operation out of the tables; plans that were compiled go on to work, programs with it can not be compiled."""
        with _LOCK:
            if _REGISTERED.get(self.name) is self:
                del _REGISTERED[self.name]
                _leave(self.key)


def operation(
    name: str,
    meaning: Function,
    *,
    dtypes: Mapping[str, str] | Iterable[str] = ("float32", "float64"),
    code: Function | None = None,
    llvm: Code | None = None,
    cycles: float | None = None,
    bounds: Callable[..., Bounds] | None = None,
    ulps: float = ULPS,
    replace: bool = False,
) -> Operation:
    """Register an elementwise operation of one to three operands, for this process.

    name     an identifier that no operation of eqsat has
    meaning  what it means: a function of NumPy arrays of one dtype and shape, of which each element of the result depends on the elements
             in the same place.  The interpreter calls it, and the code is checked against it
    dtypes   the dtypes that operands are cast to, the first that holds them all; a dict gives the dtype of the result of each
    code     the operation made of others, a function that can be traced; by default the meaning itself
    llvm     instead of `code`: a function of a `eqsat.codegen.builder.Builder`, the tuple of operands and the flags of fast math, which
             writes LLVM IR and gives the value; float16 is computed in float32 and rounded.  It runs in this process, and a trap ends it
    cycles   what one vector operation costs; by default the sum over the operations of `code`
    bounds   of integers: a function of a pair (least, greatest) for each operand that gives such a pair for the result
    ulps     by how many units in the last place floats may miss the meaning; 0 asks for its signed zeros too
    replace  take the place of an operation that was registered under this name

    Plans with it are not kept on disk, where another process could not tell what it means.
    Raises UsageError for bad arguments, and with the first counterexample where the code is not what the meaning says on special and
    random values of every dtype (`check_operation`).
    """
    with _LOCK:
        _check_name(name, replace)
        loops, arity = _loops(name, dtypes), _arity(name, meaning)
        if isinstance(ulps, bool) or not isinstance(ulps, int | float) or not 0 <= ulps < float("inf"):
            raise UsageError(f"operation {name}: found ulps={ulps!r}, expected a number that is not negative")
        codes, estimated = _codes(name, meaning, code, llvm, arity, loops)
        if cycles is None and estimated is None:
            raise UsageError(f"operation {name}: found llvm= without cycles=, expected what a vector operation of it costs")
        given_cycles = check_cycles(f"operation {name}: cycles", estimated if cycles is None else cycles)
        number = _TIMES.get(name, 0) + 1
        made = Operation(name, numbered(name, number), arity, loops, _guarded(name, meaning, loops), bounds, given_cycles, ulps)
        _enter(made, codes, carried=llvm is not None)
        try:
            verdict = verdict_on(made)
            if not verdict:
                raise UsageError(str(verdict))
        except BaseException:
            _leave(made.key)
            raise
        if name in _REGISTERED:
            _REGISTERED[name].remove()
        _REGISTERED[name], _TIMES[name] = made, number
        return made


def check_operation(operation: Operation) -> OperationVerdict:
    """Whether the code of an operation gives what its meaning says, whether the meaning is elementwise, and whether its bounds hold, on
    special and random values of every dtype; true only if so, and else with the first counterexample.

    Raises UsageError where its functions raise, where LLVM refuses the code, and for one that was removed or replaced.
    """
    _check_registered(operation, "a check")
    return verdict_on(operation)


def _check_registered(operation: Operation, what: str) -> None:
    if _REGISTERED.get(operation.name) is not operation:
        raise UsageError(f"operation {operation.name}: found {what} after it was removed or replaced, expected one before")


# registering ----------------------------------------------------------------------------------------------------------
def _enter(made: Operation, codes: Mapping[str, Code], carried: bool) -> None:
    """The rows of an operation, in the tables of meanings, code, costs, bounds and names."""
    key = made.key
    SCALAR_OPS[key] = ScalarOp(made.name, made.arity, "loops", made.meaning, takes_bool="bool" in made.loops, loops=made.loops)
    for dtype, code in codes.items():
        TABLES[dtype][key] = code
    if not carried:
        UNCARRIED.add(key)
    ELEMENT_CYCLES[key] = made.cycles
    if made.bounds is not None:
        CALLS[key] = functools.partial(asked_bounds, made.name, made.bounds)
    OPERATIONS[key] = functools.partial(_on_tensors, made)


def _leave(key: str) -> None:
    """Take these rows out again."""
    for table in (SCALAR_OPS, ELEMENT_CYCLES, CALLS, OPERATIONS, *TABLES.values()):
        table.pop(key, None)  # type: ignore[attr-defined]
    UNCARRIED.discard(key)
    forget_loops()


def _on_tensors(made: Operation, *values: Any) -> Tensor:
    return elementwise(made.name, values, lambda *elements: call(made.key, *elements))


# arguments ------------------------------------------------------------------------------------------------------------
def _check_name(name: Any, replace: bool) -> None:
    if not isinstance(name, str) or not name.isidentifier():
        raise UsageError(f"operation: found the name {name!r}, expected an identifier")
    if name in _REGISTERED:
        if not replace:
            raise UsageError(f"operation {name}: found a name that is registered, expected another one, or replace=True")
    elif name in SCALAR_OPS or name in OPERATIONS:
        raise UsageError(f"operation {name}: found a name that is eqsat's own, expected another one")


def _loops(name: str, dtypes: Any) -> dict[str, str]:
    """The dtypes of results by those of operands, small ones first."""
    pairs = dtypes if isinstance(dtypes, Mapping) else {dtype: dtype for dtype in ([dtypes] if isinstance(dtypes, str) else dtypes)}
    where = f"operation {name}: dtypes"
    named = {dtype_name(dtype, where): dtype_name(result, where) for dtype, result in pairs.items()}
    for dtype in (*named, *named.values()):
        if dtype not in TYPES:
            raise UnsupportedError(f"{where}: found {dtype}, supported are {', '.join(TYPES)}")
    if not named:
        raise UsageError(f"{where}: found none, expected one at least")
    return dict(sorted(named.items(), key=lambda item: DTYPES.index(item[0])))


def _arity(name: str, meaning: Any) -> int:
    if not callable(meaning):
        raise UsageError(f"operation {name}: found a {type(meaning).__name__}, expected a function of NumPy arrays for its meaning")
    if isinstance(meaning, np.ufunc):
        arity = meaning.nin
    else:
        found = inspect.signature(meaning).parameters.values()
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        arity = sum(parameter.kind in kinds and parameter.default is parameter.empty for parameter in found)
    if not 1 <= arity <= MOST_OPERANDS:
        raise UsageError(f"operation {name}: found a meaning of {arity} operands, expected 1 to {MOST_OPERANDS}")
    return arity


def _guarded(name: str, meaning: Function, loops: Mapping[str, str]) -> Function:
    """The meaning on arrays of one shape, with one-line errors for what it raises and for results that are not what was said."""

    def guarded(*values: Any) -> Any:
        arrays = np.broadcast_arrays(*values)
        dtype = arrays[0].dtype.name
        try:
            with np.errstate(all="ignore"):
                found = np.asarray(meaning(*arrays))
        except Exception as error:
            raise UsageError(f"operation {name}: its meaning raised {one_line(error)}, for {dtype}") from error
        if found.dtype.name != loops[dtype] or found.shape != arrays[0].shape:
            expected = f"{loops[dtype]}{list(arrays[0].shape)}"
            raise UsageError(f"operation {name}: found {found.dtype}{list(found.shape)} of its meaning for {dtype}, expected {expected}")
        return found[()]

    return guarded


# code -----------------------------------------------------------------------------------------------------------------
def _codes(
    name: str, meaning: Function, code: Function | None, llvm: Code | None, arity: int, loops: Mapping[str, str]
) -> tuple[dict[str, Code], float | None]:
    """The code of an operation for each dtype, and what it costs, as far as that is known."""
    if llvm is not None:
        if code is not None:
            raise UsageError(f"operation {name}: found both code= and llvm=, expected one of them")
        return {dtype: _written(name, llvm, dtype, result) for dtype, result in loops.items()}, None
    bodies = {dtype: _traced(name, code or meaning, arity, dtype, result) for dtype, result in loops.items()}
    return {dtype: inlined(body) for dtype, body in bodies.items()}, max(map(_cycles, bodies.values()))


def _written(name: str, llvm: Code, dtype: str, result: str) -> Code:
    """Code of the caller, with one-line errors for what it raises and for a value that is not of the type it has to be."""
    type = LLVM_TYPES[carrier(dtype) if result == dtype else result]

    def code(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
        try:
            found = llvm(b, args, flags)
        except Exception as error:
            raise UsageError(f"operation {name}: its code raised {one_line(error)}, for {dtype}") from error
        if not isinstance(found, Value) or found.type != type:
            given = found.type if isinstance(found, Value) else f"a {found.__class__.__name__}"
            raise UsageError(f"operation {name}: found {given} of its code for {dtype}, expected a Value of type {type}")
        return found

    return code


def _traced(name: str, function: Function, arity: int, dtype: str, result: str) -> Scalar:
    """The term of Args that a function of elements is."""
    try:
        program = trace(function, *[Spec((), dtype)] * arity)
    except EqsatError as error:
        raise UsageError(f"operation {name}: its code cannot be traced for {dtype}: {error}") from error
    except Exception as error:
        raise UsageError(f"operation {name}: its code raised {one_line(error)}, for {dtype}") from error
    if len(program.outputs) != 1 or program.steps or program.outputs[0].shape:
        raise UsageError(f"operation {name}: found code that makes more than one element for {dtype}, expected one of the elements given")
    made: dict[Tensor, Scalar] = {tensor: Arg(k, dtype) for k, tensor in enumerate(program.inputs)}
    for tensor in tensors(*program.outputs):
        if tensor not in made:
            made[tensor] = _inlined(name, tensor, made)
    found = made[program.outputs[0]]
    if found.dtype != result:
        raise UsageError(f"operation {name}: found {found.dtype} of its code for {dtype}, expected {result}")
    return found


def _inlined(name: str, tensor: Tensor, made: Mapping[Tensor, Scalar]) -> Scalar:
    """The one element of a tensor, of those of the tensors that it is made of."""
    if isinstance(tensor, Constant) and not tensor.shape:
        return Literal(tensor.data.item(), tensor.dtype)
    if isinstance(tensor, Generic) and not tensor.shape and tensor.combine is None:
        return instantiate_block(tensor.block, tuple(made[operand] for operand in tensor.operands))
    if isinstance(tensor, Build) and not tensor.shape and all(isinstance(term, Call | Literal | Read) for term in scalars(tensor.body)):
        done: dict[Scalar, Scalar] = {}
        for term in scalars(tensor.body):
            below = tuple(done[arg] for arg in operands(term))
            done[term] = made[term.tensor] if isinstance(term, Read) else rebuild(term, below)
        return done[tensor.body]
    kind = "an array from elsewhere" if isinstance(tensor, Input | Constant) else "a fold or an array"
    raise UsageError(f"operation {name}: found {kind} in its code, expected elementwise operations on its operands and numbers")


def _cycles(body: Scalar) -> float:
    """What the operations of a term cost."""
    return sum(DEFAULT_COSTS.cycles(term.op, term.dtype) for term in scalars(body) if isinstance(term, Call))
