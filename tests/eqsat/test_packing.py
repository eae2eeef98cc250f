"""A blueprint as bytes and back is the same blueprint."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import eqsat
from eqsat.ir.tensor import Constant, tensors
from eqsat.running.blueprint import Array, Blueprint
from eqsat.running.packing import pack, unpack
from eqsat.running.plan import Plan

F = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
TABLE = np.arange(12.0).reshape(3, 4) + 0.5
SMALL = np.array([True, False, True])

FUNCTIONS: dict[str, Any] = {
    "one output": lambda x: x + 1,
    "several kernels": lambda x: ((x @ x.T) @ x, x.sum(axis=0)),
    "containers": lambda x: {"a": [x + 1, (x.sum(),)], "b": x + 1},
    "an input as it is": lambda x: (x, x * 2),
    "constants": lambda x: (x * TABLE, TABLE, x[:, 0] * SMALL),
    "no elements": lambda x: (x[:0], x.sum()),
}


def blueprint(name: str) -> Blueprint:
    return eqsat.optimize(FUNCTIONS[name], F).compile().blueprint


def fields(of: Blueprint) -> tuple[Any, ...]:
    """Everything, so that equal is ==: constants as their bytes."""
    constants = {slot: (array.dtype, array.shape, array.tobytes()) for slot, array in of.constants.items()}
    return of.inputs, of.kernels, of.buffers, of.storages, constants, of.outputs, of.structure, of.object_code


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_bytes_are_the_blueprint(name: str, known: bool) -> None:
    original = blueprint(name)
    arrays = list(original.constants.values()) if known else []
    found = unpack(pack(original, arrays), arrays)
    assert fields(found) == fields(original)
    assert all(not array.flags.writeable and array.flags.carray | array.flags.aligned for array in found.constants.values())
    for first, second in zip(leaves(Plan(found)(F)), leaves(Plan(original)(F)), strict=True):
        assert first.dtype == second.dtype
        assert np.array_equal(first, second)


def leaves(value: Any) -> list[Array]:
    if isinstance(value, np.ndarray):
        return [value]
    return [leaf for item in (value.values() if isinstance(value, dict) else value) for leaf in leaves(item)]


def test_constants_of_the_program_are_not_written() -> None:
    large = np.random.default_rng(0).random((100, 100))
    program = eqsat.trace(lambda x: x * large, np.ones((100, 100)))
    known = [tensor.data for tensor in tensors(*program.outputs) if isinstance(tensor, Constant)]
    plan = eqsat.optimize(program).compile()
    packed = pack(plan.blueprint, known)
    assert len(packed) < large.nbytes < len(pack(plan.blueprint, ()))
    assert np.shares_memory(next(iter(unpack(packed, known).constants.values())), known[0])


def test_the_bytes_hold_nothing_that_python_would_run() -> None:
    packed = pack(blueprint("constants"), ())
    assert packed[8:9] == b"{"
    assert b"pickle" not in packed
    assert b"eqsat." not in packed
