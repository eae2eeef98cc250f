"""Small loop nests for the tests of codegen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from eqsat.codegen import MachineCode, compile_kernels
from eqsat.codegen.folds.accumulator import Numerics
from eqsat.ir.index import Var, var
from eqsat.ir.loops import Buffer, Fold, For, Kernel, Load, LoopKind, Store, Temp
from eqsat.ir.ops import loop_dtypes
from eqsat.ir.tensor import Call, Scalar
from eqsat.lowering import type_indices

Array = np.ndarray[Any, Any]


def call(op: str, *args: Scalar) -> Call:
    return Call(op, args, loop_dtypes(op, *(arg.dtype for arg in args))[-1])


def astype(arg: Scalar, dtype: str) -> Call:
    return Call("astype", (arg,), dtype)


def elementwise(body: Callable[..., Scalar], dtypes: tuple[str, ...], size: int, kind: LoopKind = "parallel") -> Kernel:
    """out[i] = body(in0[i], in1[i], ...)."""
    i = Var("i", 0, size - 1)
    value = body(*(Load(f"in{k}", i, dtype) for k, dtype in enumerate(dtypes)))
    inputs = (Buffer(f"in{k}", dtype, size, "in") for k, dtype in enumerate(dtypes))
    return Kernel("elementwise", (*inputs, Buffer("out", value.dtype, size, "out")), (For(i, kind, (Store("out", i, value),)),))


def rows(op: str, shape: tuple[int, int], dtype: str, body: Callable[[Scalar], Scalar] = lambda x: x) -> Kernel:
    """out[i] = fold over j of body(in0[i, j])."""
    i, j = var("i", 0, shape[0] - 1), Var("j", 0, shape[1] - 1)
    fold = Fold("total", op, dtype, j, (), body(Load("in0", i * shape[1] + j, dtype)))
    buffers = (Buffer("in0", dtype, shape[0] * shape[1], "in"), Buffer("out", dtype, shape[0], "out"))
    return Kernel("rows", buffers, (For(i, "parallel", (fold, Store("out", i, Temp("total", dtype)))),))


def compiled(kernels: Sequence[Kernel], numerics: Numerics = "default") -> MachineCode:
    """Machine code of kernels, their index terms typed."""
    return compile_kernels([type_indices(kernel) for kernel in kernels], numerics)


def run(kernel: Kernel, *arrays: Array, numerics: Numerics = "default", start: Any = 0) -> Array:
    """The output of the kernel on these inputs; its buffer holds `start` before."""
    out = np.full(kernel.outputs[0].size, start, kernel.outputs[0].dtype)
    compiled([kernel], numerics).routine(kernel.name)([*arrays, out])
    return out


def plain(array: Array) -> Array:
    """NumPy's testing does not know that bfloat16 has NaN."""
    return array.astype("float32") if array.dtype.name == "bfloat16" else array
