"""Kernels, and loops of kernels, as tables that machine code runs through without Python."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from eqsat.codegen.calls.running_code import ALONE, LOOP, LOOP_CODE, SPLIT
from eqsat.codegen.llvm.machine import library, object_code
from eqsat.codegen.shared_loops import Units

Array = np.ndarray[Any, Any]


class TableKernel(NamedTuple):
    """The address of a kernel's function NAME.slots, the slots of its buffers, the units of its work, and whether these are worth splitting
    over threads."""

    address: int
    slots: tuple[int, ...]
    units: Units
    splits: bool


class Carry(NamedTuple):
    """What a loop carries from one step to the next.

    nbytes   how much memory it takes
    written  the slot of the body that its kernels write, if they write it
    copied   the slot that is copied, if one is
    other    memory beside that of the result, of as many bytes; None where it is changed in its place, or not at all
    """

    nbytes: int
    written: int | None = None
    copied: int | None = None
    other: Array | None = None


class TablePut(NamedTuple):
    """Values that are put into what is carried and changed in its place: `rows` blocks of `nbytes`, each at a place of `extent`.

    carry          which of those that are carried
    values, place  slots of the body: the blocks, and an int64
    """

    carry: int
    values: int
    place: int
    rows: int
    extent: int
    nbytes: int


class TableLoop(NamedTuple):
    """`steps` runs of a body, whose first slots are the counter, the carries and arrays that stay.

    slots  of carries and what stays where the loop is, and then of its results
    puts   what is put into carries after each step, in order
    """

    body: Run
    steps: int
    carries: tuple[Carry, ...]
    slots: tuple[int, ...]
    puts: tuple[TablePut, ...] = ()


class Run(NamedTuple):
    """Kernels in order, on memory by slots.

    values  the memory of the slots that is known
    slots   how many there are
    checks  (slot, least, most) of int64 numbers that have to be in that range
    finite  (slot, number of floats, bytes of each) of tensors that have to be finite
    """

    values: dict[int, Array]
    slots: int
    kernels: tuple[TableKernel | TableLoop, ...]
    checks: tuple[tuple[int, int, int], ...] = ()
    finite: tuple[tuple[int, int, int], ...] = ()

    @property
    def splits(self) -> bool:
        """Whether threads may share some of it."""
        return any(kernel.body.splits if isinstance(kernel, TableLoop) else kernel.splits for kernel in self.kernels)


class Tables:
    """Tables of 64-bit words, each behind all that it refers to; they stay as long as this does."""

    def __init__(self) -> None:
        self.kept: list[Any] = []

    def table(self, numbers: Sequence[int]) -> int:
        """The address of a table of these numbers, and of a word that may be set."""
        words = np.array([*numbers, 0], np.int64)
        self.kept.append(words)
        return int(words.ctypes.data)

    def run(self, run: Run) -> list[int]:
        """The words of a run.  The word behind its slots may be written by loops: it is what no kernel writes."""
        self.kept.append(run)
        kernels = [word for kernel in run.kernels for word in self._kernel(kernel)]
        values = [run.values[slot].ctypes.data if slot in run.values else 0 for slot in range(run.slots)]
        checks = [word for check in run.checks for word in check]
        finite = [word for tensor in run.finite for word in tensor]
        return [
            *(len(run.kernels), self.table(kernels), self.table(values)),
            *(len(run.checks), self.table(checks), len(run.finite), self.table(finite)),
        ]

    def loop(self, loop: TableLoop) -> int:
        """The address of the table of a loop."""
        nothing = loop.body.slots
        carries = [word for carry in loop.carries for word in _carry(carry, nothing)]
        puts = [word for put in loop.puts for word in put]
        body = self.table(self.run(loop.body))
        stays = len(loop.slots) - 2 * len(loop.carries)
        self.kept.append(loop)
        return self.table([body, loop.steps, len(loop.carries), self.table(carries), stays, len(loop.puts), self.table(puts)])

    def _kernel(self, kernel: TableKernel | TableLoop) -> tuple[int, ...]:
        slots = self.table(kernel.slots)
        if isinstance(kernel, TableLoop):
            return self.loop(kernel), slots, kernel.steps, LOOP, kernel.steps
        return kernel.address, slots, kernel.units.extent, SPLIT if kernel.splits else ALONE, kernel.units.whole


def _carry(carry: Carry, nothing: int) -> tuple[int, int, int, int]:
    """The words of a carry; `nothing`: a slot that none reads."""
    written = nothing if carry.written is None else carry.written
    copied = -1 if carry.copied is None else carry.copied
    return written, copied, carry.nbytes, 0 if carry.other is None else int(carry.other.ctypes.data)


@functools.cache
def _repeat(make_object: Callable[[str], bytes]) -> tuple[Any, Any]:
    code = library(make_object(LOOP_CODE), ("repeat",))
    return code, ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 4, *[ctypes.c_int64] * 2)(code.address("repeat"))


class Repetition:
    """A loop that is run by itself, on one set of memory; `splits`: whether threads may share some of it; make_object: see
    compile_kernels."""

    def __init__(self, loop: TableLoop, make_object: Callable[[str], bytes] = object_code) -> None:
        self.splits = loop.body.splits
        self._tables = Tables()
        self._slots = np.arange(len(loop.slots))
        self._address = self._tables.loop(loop)
        self._code, self._repeat = _repeat(make_object)

    def run(self, arrays: Sequence[Array], team: Array, first: int, last: int) -> bool:
        """Steps first..last-1; `arrays`: carries, what stays, and results, C-contiguous, the results apart from all others.  False where
        what a step computed is not as it has to be.  It runs without the GIL."""
        values = (ctypes.c_int64 * len(arrays))(*(array.__array_interface__["data"][0] for array in arrays))
        slots = self._slots.ctypes.data
        return bool(self._repeat(self._address, ctypes.addressof(values), slots, team.ctypes.data, first, last))
