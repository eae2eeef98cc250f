"""Calls without Python in between: a builtin function that checks arrays, allocates results and runs kernels, or hands the call on.

Its machine code is the same for all functions and walks tables of 64-bit words.  A plan that takes long runs without the GIL; while it
does, other calls of it are handed on, so one memory between kernels serves all calls.  Layouts and functions used: the ndarray structure
and array of functions of NumPy's C API, and the stable ABI of CPython,
https://numpy.org/doc/stable/reference/c-api/types-and-structures.html#c.PyArrayObject.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from eqsat.codegen.calls.direct_checks import ALIGNED, CONTIGUOUS, DATA, DTYPE, ENTRIES, EXTENTS, FLAGS, HEAD, RANK, TYPE, WRITEABLE
from eqsat.codegen.calls.direct_code import CODE, MOST_OUTPUTS
from eqsat.codegen.calls.running import Run, Tables
from eqsat.codegen.llvm.machine import library, object_code
from eqsat.codegen.memory.places import marks

Array = np.ndarray[Any, Any]
# positions of PyArray_NewFromDescr among the functions of NumPy's C API
NEW_FROM_DESCR = 94
# METH_FASTCALL | METH_KEYWORDS
CONVENTION = 0x80 | 0x02
# of CPython, in the order of the first table
FUNCTIONS = (
    *("PyObject_Vectorcall", "PyTuple_New", "PyTuple_SetItem", "PyTuple_GetItem", "PyTuple_Size", "Py_IncRef", "Py_DecRef"),
    *("PyEval_SaveThread", "PyEval_RestoreThread"),
)


class DirectPlan(NamedTuple):
    """What a plan does, for calls without Python.

    inputs, outputs  dtypes and shapes; inputs take the first slots
    output_slots     where the kernels find the memory of the outputs
    run              its kernels, and memory for all other slots; where what they compute is not as it has to be, the call is handed on
    as_tuple         whether the outputs are returned as a tuple; else there is one
    long             whether to run without the GIL
    """

    inputs: tuple[tuple[np.dtype[Any], tuple[int, ...]], ...]
    outputs: tuple[tuple[np.dtype[Any], tuple[int, ...]], ...]
    output_slots: tuple[int, ...]
    run: Run
    as_tuple: bool
    long: bool = False


class _Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (("name", ctypes.c_char_p), ("call", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p))


class _Table(np.ndarray[Any, Any]):
    """The first table, and what the others need to stay alive."""

    kept: list[Any]


@functools.cache
def supported() -> bool:
    """Whether objects of this process are laid out as they are read here."""
    if sys.implementation.name != "cpython" or HEAD != 16 or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return False
    probe = np.empty((3, 5), np.float32)
    flags = CONTIGUOUS | ALIGNED | WRITEABLE
    head = [_read(ctypes.c_int64, id(probe) + offset) for offset in (TYPE, DATA, DTYPE, EXTENTS)]
    rank, set_flags = (_read(ctypes.c_int32, id(probe) + offset) for offset in (RANK, FLAGS))
    if head[:3] != [id(np.ndarray), probe.ctypes.data, id(np.dtype(np.float32))] or rank != 2 or set_flags & flags != flags:
        return False
    return [_read(ctypes.c_int64, head[3] + 8 * k) for k in range(rank)] == [3, 5]


def _read(kind: type[ctypes.c_int64] | type[ctypes.c_int32], address: int) -> int:
    return int(kind.from_address(address).value)


@functools.cache
def numpy_function(position: int) -> int:
    """The address of a function of NumPy's C API."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    functions = pointer(sys.modules["numpy._core._multiarray_umath"]._ARRAY_API, None)
    return _read(ctypes.c_int64, functions + 8 * position)


def _python_function(name: str) -> int:
    return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0


class DirectCall:
    """`function` runs plans that it was told of, where the arguments are arrays that fit, and calls `otherwise` for everything else.

    takes_out: whether the keyword `out` names an array for the result; team: a pool, its function and how many pieces it makes, or
    zeros (codegen/calls/pool.py), looked at in every call; memory: what makes arrays for results, a function and its first argument
    (codegen/memory/results.py); make_object: see compile_kernels.
    """

    def __init__(
        self,
        name: str,
        otherwise: Callable[..., Any],
        team: Array,
        takes_out: bool = True,
        memory: tuple[int, int] = (0, 0),
        make_object: Callable[[str], bytes] = object_code,
    ) -> None:
        code = library(make_object(CODE), ("direct",))
        call, *rest = map(_python_function, FUNCTIONS)
        out = sys.intern("out")
        words = [0, id(otherwise), id(np.ndarray), id(out) if takes_out else 0, numpy_function(NEW_FROM_DESCR), call, *rest]
        words += [int(team.ctypes.data), *memory]
        self._table = np.array(words, np.int64).view(_Table)
        method = _Method(name.encode(), code.address("direct"), CONVENTION, None)
        self._table.kept = [otherwise, out, code, method, team]
        make = ctypes.pythonapi.PyCFunction_NewEx
        make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
        self.function: Callable[..., Any] = make(ctypes.addressof(method), self._table, None)

    def learn(self, plan: DirectPlan, keep: Any) -> None:
        """Run this plan from now on where arrays fit it, before those learned earlier; `keep` stays alive as long as the function."""
        assert len(plan.outputs) <= MOST_OUTPUTS
        tables = Tables()

        def arrays(specs: Sequence[tuple[np.dtype[Any], tuple[int, ...]]]) -> int:
            sizes = [int(np.prod(shape, dtype=np.int64)) * dtype.itemsize for dtype, shape in specs]
            return tables.table(
                [tables.table([id(dtype), len(shape), size, *shape]) for (dtype, shape), size in zip(specs, sizes, strict=True)]
            )

        entry = tables.table(
            [
                *tables.run(plan.run),
                int(self._table[ENTRIES]),
                *(len(plan.inputs), arrays(plan.inputs)),
                *(len(plan.outputs), arrays(plan.outputs), tables.table(plan.output_slots), int(plan.as_tuple)),
                *(int(plan.long), marks(plan.run.values.values()), 0),
            ]
        )
        self._table.kept += [tables, plan, keep]
        self._table[ENTRIES] = entry
