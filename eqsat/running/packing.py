"""A blueprint as bytes and back: JSON for what is short, raw bytes for machine code and the elements of constants.

    length of head   8 bytes, little-endian
    head             JSON: the fields of the blueprint, and the sizes of the blobs
    blobs            the machine code, then constants that are not among those of the program

Nothing in it is code for Python.  The bytes are read as they were written: `eqsat.keeping.disk` has checked them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import astuple
from typing import Any

import numpy as np

from eqsat.capture.place_checks import PlaceLimit
from eqsat.codegen import Units
from eqsat.codegen.calls.running import TablePut
from eqsat.ir.containers import Container, Structure
from eqsat.ir.host import Invocation, host_function
from eqsat.ir.tensor import Input
from eqsat.running.blueprint import Array, Blueprint, KernelInRows, PlanBuffer, PlanCall, PlanKernel, PlanLoop, PlanStep, RunTimeSize

LENGTH = 8


def pack(blueprint: Blueprint, known: Sequence[Array]) -> bytes:
    """The bytes of a blueprint; constants that are in `known`, those of the program, are named by their position there."""
    positions = {id(array): position for position, array in enumerate(known)}
    blobs = [blueprint.object_code, *(pack(step.body, known) for step in blueprint.steps if isinstance(step, PlanLoop))]
    constants: list[list[Any]] = []
    for slot, array in blueprint.constants.items():
        constants.append([slot, positions.get(id(array))])
        if id(array) not in positions:
            blobs.append(array.tobytes())
    head = {
        "inputs": [[tensor.name, tensor.shape, tensor.dtype] for tensor in blueprint.inputs],
        "kernels": [astuple(kernel) for kernel in blueprint.kernels],
        "buffers": [astuple(buffer) for buffer in blueprint.buffers],
        "storages": blueprint.storages,
        "constants": constants,
        "outputs": blueprint.outputs,
        "once": blueprint.once,
        "finite": blueprint.finite,
        "steps": [_plain_step(step) for step in blueprint.steps],
        "places": [[slot, *astuple(limit)] for slot, limit in blueprint.places],
        "over": blueprint.over,
        "sizes": [astuple(size) for size in blueprint.sizes],
        "structure": _plain(blueprint.structure),
        "blobs": [len(blob) for blob in blobs],
    }
    text = json.dumps(head).encode()
    return b"".join([len(text).to_bytes(LENGTH, "little"), text, *blobs])


def unpack(data: bytes, known: Sequence[Array]) -> Blueprint:
    """The blueprint that `pack` wrote, with the same constants of the program."""
    start = LENGTH + int.from_bytes(data[:LENGTH], "little")
    head = json.loads(data[LENGTH:start])
    blobs = iter(_pieces(data, start, head["blobs"]))
    code = next(blobs)
    steps = tuple(_step(step, blobs, known) for step in head["steps"])
    buffers = tuple(PlanBuffer(role, tuple(shape), dtype, storage) for role, shape, dtype, storage in head["buffers"])
    constants = {
        slot: known[position] if position is not None else _elements(next(blobs), buffers[slot]) for slot, position in head["constants"]
    }
    return Blueprint(
        inputs=tuple(Input(name, tuple(shape), dtype) for name, shape, dtype in head["inputs"]),
        kernels=tuple(_kernel(*kernel) for kernel in head["kernels"]),
        buffers=buffers,
        storages=tuple(head["storages"]),
        constants=constants,
        outputs=tuple(head["outputs"]),
        structure=_structure(head["structure"]),
        object_code=code,
        once=tuple(head["once"]),
        finite=tuple(head["finite"]),
        sizes=tuple(_size(*size) for size in head["sizes"]),
        steps=steps,
        places=tuple((slot, PlaceLimit(*limit)) for slot, *limit in head["places"]),
        over=tuple((position, slot) for position, slot in head["over"]),
    )


def _kernel(name: str, buffers: list[int], needs: list[int], *rest: Any) -> PlanKernel:
    group, estimated_ns, units, results, in_rows = rest
    found = (KernelInRows(other, rows, least, gain, ns, tuple(sizes), shared) for other, rows, least, gain, ns, sizes, shared in in_rows)
    return PlanKernel(name, tuple(buffers), tuple(needs), group, estimated_ns, units and Units(*units), results, tuple(found))


def _size(name: str, lo: int, hi: int, marker: int, terms: list[Any]) -> RunTimeSize:
    return RunTimeSize(name, lo, hi, marker, tuple((k, tuple(names)) for k, names in terms))


def _plain_step(step: PlanStep) -> list[Any]:
    if isinstance(step, PlanLoop):
        return [step.name, step.count, step.following, step.puts]
    function, arguments, values = step.invocation
    return [step.name, function, _plain(arguments), values]


def _step(plain: list[Any], blobs: Iterator[bytes], known: Sequence[Array]) -> PlanStep:
    name, what, *rest = plain
    if isinstance(what, int):
        following, puts = rest
        return PlanLoop(name, what, unpack(next(blobs), known), tuple(following), tuple(TablePut(*put) for put in puts))
    arguments, values = rest
    host_function(what)  # UsageError for what is none
    return PlanCall(name, Invocation(what, _structure(arguments), tuple(values)))


def _pieces(data: bytes, start: int, sizes: Sequence[int]) -> list[bytes]:
    pieces = []
    for size in sizes:
        pieces.append(data[start : start + size])
        start += size
    return pieces


def _elements(blob: bytes, buffer: PlanBuffer) -> Array:
    """A constant in memory of its own, aligned."""
    array = np.frombuffer(blob, buffer.dtype).reshape(buffer.shape).copy()
    array.setflags(write=False)
    return array


def _plain(structure: Structure) -> Any:
    if isinstance(structure, int):
        return structure
    return [structure.kind, [_plain(item) for item in structure.items], structure.keys, structure.of]


def _structure(plain: Any) -> Structure:
    if isinstance(plain, int):
        return plain
    kind, items, keys, of = plain
    return Container(kind, tuple(_structure(item) for item in items), tuple(keys), of)
