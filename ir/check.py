"""The checker of tensor programs: what makes a Program legal beyond its grammar.

program   input names differ; every Input that is read is one of them; the structure names outputs
build     no extent is zero; a body uses the axes of its Build and the variables of the Reduces around it
read      one index a dimension, each within the array whatever the loop variables are
gather    one place a dimension, each an int64; the array is not empty
position  bool for a truth value, else int32 or int64 that holds every value of the index
call      operands share a dtype (apart from the condition of where, and astype), the result is NumPy's
generic   one map an operand, one index a dimension; the block computes with Arg, Position, Literal and Call only
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from eqsat.ir import interval
from eqsat.ir.containers import positions
from eqsat.ir.dtypes import dtype_name, is_integer
from eqsat.ir.errors import BoundsError, DTypeError, InternalError, UsageError
from eqsat.ir.host import flat, host_function, made_by
from eqsat.ir.index import Index, Var, variables
from eqsat.ir.ops import BIT_FOLDS, REDUCE_OPS, SCALAR_OPS, loop_dtypes
from eqsat.ir.steps import HostCall, Loop
from eqsat.ir.tensor import (
    Arg,
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
    Shape,
    Step,
    StepResult,
    Tensor,
    axes,
    is_size,
    operands,
    scalars,
    tensors,
)


def check_program(program: Program) -> None:
    """Nothing, if the program is legal.

    Raises UsageError for input names that occur twice, BoundsError for an index that can leave its array, DTypeError for operands
    that an operation does not take, InternalError for everything else.
    """
    for name, count in Counter(tensor.name for tensor in program.inputs).items():
        if count > 1:
            raise UsageError(f"program: found {count} inputs named {name}, expected different names")
    for position in positions(program.structure):
        if not 0 <= position < len(program.outputs):
            raise InternalError(f"program: found the result {position}, expected one of {len(program.outputs)} outputs")
    for step in program.steps:
        _step(step)
    for tensor in tensors(*program.outputs):
        if isinstance(tensor, Input) and tensor not in program.inputs:
            raise InternalError(f"program: found a read of {tensor.name}, which is none of its inputs")
        check_tensor(tensor)


def _step(step: Step) -> None:
    if isinstance(step, Loop):
        _loop(step)
    elif isinstance(step, HostCall):
        _host_call(step)
    else:
        raise InternalError(f"step: found a {type(step).__name__}, expected one of the grammar")


def _host_call(step: HostCall) -> None:
    """The function exists, and makes what its row says, if it says so."""
    row = host_function(step.invocation.function)
    for _, dtype in step.made:
        dtype_name(dtype, step.name)
    if row.made is not None and (expected := tuple(flat(made_by(step.invocation, step.given)))) != step.made:
        raise InternalError(f"{step.name}: found the results {step.made}, expected {expected}")


def _loop(loop: Loop) -> None:
    check_program(loop.body)
    _counter, *inputs = loop.body.inputs
    carries = inputs[: len(loop.body.outputs)]
    pairs = [*zip(inputs, loop.given, strict=True), *zip(carries, loop.body.outputs, strict=True)]
    for one, other in pairs:
        if (one.shape, one.dtype) != (other.shape, other.dtype):
            raise InternalError(f"loop: found {other.dtype}{list(other.shape)}, expected {one.dtype}{list(one.shape)} as of {one.name}")


def check_tensor(tensor: Tensor) -> None:
    """Checks one tensor by itself; the tensors that it reads are taken as legal."""
    dtype_name(tensor.dtype, type(tensor).__name__)
    if isinstance(tensor, Build):
        _extents("build", tensor.shape)
        _body(tensor)
    elif isinstance(tensor, Generic):
        _extents("generic", tuple(extent for _, extent in tensor.iterators))
        _generic(tensor)
    elif not isinstance(tensor, Input | Constant | StepResult):
        raise InternalError(f"tensor: found a {type(tensor).__name__}, expected one of the grammar")


def _extents(where: str, extents: Shape) -> None:
    if any(extent <= 0 for extent in extents):
        raise InternalError(f"{where}: found the extents {list(extents)}, expected positive ones")


def _body(build: Build) -> None:
    """Every variable of the body is bound, by the Build or by one Reduce."""
    free: dict[Scalar, frozenset[Var]] = {}
    bound: dict[Scalar, frozenset[Var]] = {}
    for term in scalars(build.body):
        below = operands(term)
        free[term] = frozenset[Var]().union(*(free[arg] for arg in below))
        bound[term] = frozenset[Var]().union(*(bound[arg] for arg in below))
        if isinstance(term, Read):
            _indices("read", term.tensor, term.indices)
            free[term] = frozenset(variables(*term.indices))
        elif isinstance(term, Position):
            free[term] = frozenset(variables(term.index))
        elif isinstance(term, Reduce):
            if any(inner.name == term.variable.name for inner in bound[term]):
                raise InternalError(f"reduce: found {term.variable.name} bound twice, one inside the other")
            _extents("reduce", (term.variable.extent,))
            free[term] -= {term.variable}
            bound[term] |= {term.variable}
        elif isinstance(term, Arg):
            raise InternalError(f"build: found the argument {term.position} outside the block of a Generic")
        _typed(term)
    _bound("build", free[build.body], axes(build.shape))


def _generic(generic: Generic) -> None:
    if len(generic.maps) != len(generic.operands):
        raise InternalError(f"generic: found {len(generic.maps)} maps, expected one for each of {len(generic.operands)} operands")
    if (generic.combine is None) != (not generic.reductions):
        raise InternalError(f"generic: found the fold {generic.combine} with {len(generic.reductions)} reduction iterators")
    loops = (*axes(generic.shape), *generic.reductions)
    for operand, indices in zip(generic.operands, generic.maps, strict=True):
        _indices("generic", operand, indices)
        _bound("generic", variables(*indices), loops)
    for term in scalars(generic.block):
        if isinstance(term, Arg):
            _argument(term, generic)
        elif isinstance(term, Position):
            _bound("generic", variables(term.index), loops)
        elif not isinstance(term, Literal | Call):
            raise InternalError(f"generic: found a {type(term).__name__} in the block, expected Arg, Position, Literal or Call")
        _typed(term)
    if generic.combine is not None:
        _foldable(generic.combine, generic.block.dtype)


def _argument(arg: Arg, generic: Generic) -> None:
    if not 0 <= arg.position < len(generic.operands):
        raise InternalError(f"generic: found the argument {arg.position}, expected one of {len(generic.operands)} operands")
    expected = generic.operands[arg.position].dtype
    if arg.dtype != expected:
        raise InternalError(f"generic: found the argument {arg.position} as {arg.dtype}, expected its operand's {expected}")


def in_range(shape: Shape, indices: tuple[Index, ...]) -> bool:
    """Whether the bounds of their parts show that indices lie within an array; of what is computed from sizes, that they may."""
    return all(_may_be_place(index, extent) for index, extent in zip(indices, shape, strict=True))


def _may_be_place(index: Index, extent: int) -> bool:
    low, high = index.bounds
    return (low >= 0 and high < extent) or (low < extent and high >= 0 and any(map(is_size, variables(index))))


def _indices(where: str, tensor: Tensor, indices: tuple[Index, ...]) -> None:
    if len(indices) != len(tensor.shape):
        raise InternalError(f"{where}: found {len(indices)} indices, expected {len(tensor.shape)} for the shape {list(tensor.shape)}")
    for index, extent in zip(indices, tensor.shape, strict=True):
        if not _may_be_place(index, extent):
            low, high = index.bounds
            raise BoundsError(f"{where}: found the index {index} within {low}..{high}, expected 0..{extent - 1}")


def _bound(where: str, used: Iterable[Var], loops: tuple[Var, ...]) -> None:
    known = frozenset(loops)
    for variable in used:
        if variable not in known and not is_size(variable):
            expected = ", ".join(f"{loop.name} in 0..{loop.hi}" for loop in loops) or "none"
            found = f"{variable.name} in {variable.lo}..{variable.hi}"
            raise InternalError(f"{where}: found the variable {found}, expected its loop variables: {expected}")


def _typed(term: Scalar) -> None:
    """The dtype of a scalar follows from its operands."""
    dtype_name(term.dtype, type(term).__name__)
    if isinstance(term, Reduce):
        _foldable(term.op, term.dtype)
    elif isinstance(term, Call):
        _call(term)
    elif isinstance(term, Position):
        check_position(term)
    elif isinstance(term, Gather):
        _gather(term)


def _gather(term: Gather) -> None:
    if len(term.args) != len(term.tensor.shape) or any(arg.dtype != "int64" for arg in term.args):
        found = ", ".join(arg.dtype for arg in term.args)
        raise InternalError(f"gather: found the places {found}, expected {len(term.tensor.shape)} of int64, one a dimension")
    if 0 in term.tensor.shape:
        raise InternalError(f"gather: found an array of the shape {list(term.tensor.shape)}, expected one that has elements")


def check_position(term: Position) -> None:
    """InternalError unless the dtype of a position holds every value of its index."""
    if (term.dtype == "bool") != (term.index.kind == "bool") or term.dtype not in ("bool", "int32", "int64"):
        raise InternalError(f"position: found {term.index} as {term.dtype}, expected bool for a truth value, int32 or int64 for an integer")
    if term.dtype != "bool":
        limits = np.iinfo(term.dtype)
        if not interval.within(term.index.bounds, (int(limits.min), int(limits.max))):
            raise InternalError(f"position: found {term.index} within {term.index.bounds}, expected values of {term.dtype}")


def _foldable(op: str, dtype: str) -> None:
    if op not in REDUCE_OPS:
        raise InternalError(f"reduce: found the fold {op}, expected one of {', '.join(REDUCE_OPS)}")
    if op in ("sum", "prod") and dtype == "bool":
        raise DTypeError(f"{op}: found a fold of bool, expected numbers")
    if op in BIT_FOLDS and not is_integer(dtype):
        raise DTypeError(f"{op}: found a fold of {dtype}, expected integers")


def _call(term: Call) -> None:
    if term.op not in SCALAR_OPS:
        raise InternalError(f"call: found the operation {term.op}, which has no row in SCALAR_OPS")
    row = SCALAR_OPS[term.op]
    dtypes = tuple(arg.dtype for arg in term.args)
    if term.op == "astype" and len(dtypes) == 1:
        return
    *computed, result = loop_dtypes(term.op, *dtypes)
    shared = dtypes[1:] if row.rule == "select" else dtypes
    if len(set(shared)) > 1:
        raise DTypeError(f"{term.op}: found operands of {', '.join(shared)}, expected one dtype; cast first")
    if result != term.dtype:
        raise InternalError(f"{term.op}: found the result {term.dtype} of {', '.join(dtypes)}, expected {result}")
    if computed != [*dtypes]:
        raise InternalError(f"{term.op}: found operands of {shared[0]}, expected {computed[-1]}; cast first")
