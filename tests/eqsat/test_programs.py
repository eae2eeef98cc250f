"""Whole programs, drawn at random: every stage gives what NumPy gives."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import eqsat
import eqsat.numpy as enp
from eqsat.ir.check import check_program
from eqsat.ir.containers import positions
from eqsat.ir.evaluate import evaluate
from eqsat.ir.host import run_host
from eqsat.ir.loops_evaluate import run_kernel
from eqsat.ir.steps import HostCall, PlacedStep
from eqsat.ir.tensor import Constant, Program, Tensor
from eqsat.kernels.picking import PlacedKernel, remaining
from eqsat.running.packing import pack, unpack
from eqsat.running.plan import Plan
from eqsat.testing import assert_close
from tests.effort import examples
from tests.eqsat import operation_cases, programs as generator
from tests.eqsat.programs import LaidOut, RandomProgram, Value, laid_out_programs, programs
from tests.eqsat.tracing_cases import Array

PROGRAMS, CALLS = examples(500, 6), examples(200, 6)
STABLE = settings(max_examples=2 * PROGRAMS, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
WILD_PARTS = 20  # each for a process of its own, so that progress shows and memory is bounded
WILD = settings(max_examples=20_000 // WILD_PARTS, database=None, deadline=None, suppress_health_check=list(HealthCheck))


def run_loops(result: eqsat.Result, arrays: Sequence[Array]) -> list[Array]:
    """The outputs of the optimized program: its loop nests run by their interpreter, its other steps when they have what they read."""
    flat: dict[Tensor, Array] = {tensor: array.ravel() for tensor, array in zip(result.program.inputs, arrays, strict=True)}
    waiting: list[PlacedKernel | PlacedStep] = [*result.nests, *remaining(result.parts.steps, result.nests)]
    while waiting:
        ready = [
            step for step in waiting if all(has(flat, tensor) for tensor in (step.read if isinstance(step, PlacedKernel) else step.given))
        ]
        assert ready
        for step in ready:
            waiting.remove(step)
            if isinstance(step, PlacedKernel):
                over = {made: flat[tensor] for tensor, made in step.over}
                flat.update((made, np.array(over.get(made, np.full(made.size, 77)), made.dtype)) for made in step.made)
                run_kernel(step.kernel, [flat[tensor] for tensor in step.tensors])
            else:
                flat.update(called(step, [flat[tensor].reshape(tensor.shape) for tensor in step.given]))
    assert all(has(flat, tensor) for tensor in result.parts.outputs)
    return [flat[tensor].reshape(tensor.shape) for tensor in result.parts.outputs]


def has(flat: dict[Tensor, Array], tensor: Tensor) -> bool:
    """Whether a tensor is known; a constant is from now on."""
    if isinstance(tensor, Constant):
        flat[tensor] = tensor.data.ravel()
    return tensor in flat


def called(step: PlacedStep, arrays: Sequence[Array]) -> dict[Tensor, Array]:
    """What a call makes."""
    assert isinstance(step.step, HostCall)
    results = run_host(step.step.invocation, arrays, step.step.made)
    return {tensor: array.ravel() for tensor, array in zip(step.results, results, strict=True)}


def traced(program: RandomProgram) -> Program:
    found = eqsat.trace(program, *program.arrays)
    check_program(found)
    return found


def returned(program: Program, results: Sequence[Array]) -> list[Array]:
    """The results as the function returned them: equal tensors are computed once."""
    return [results[position] for position in positions(program.structure)]


def check_stages(program: RandomProgram) -> None:
    original = traced(program)
    program.check(returned(original, evaluate(original, program.arrays)), "as traced")
    result = eqsat.optimize(original)
    program.check(returned(result.program, evaluate(result.program, program.arrays)), "optimized")
    program.check(returned(result.program, run_loops(result, program.arrays)), "loop nests")
    program.check(result(*program.arrays), "compiled")
    program.check(Plan(unpack(pack(result.compile().blueprint, ()), ())).result(program.arrays), "as bytes and back")
    assert float(result.cost) <= float(result.original_cost) * (1 + 1e-9)


@pytest.mark.slow
def test_random_programs_equal_numpy_at_every_stage() -> None:
    passed: set[str] = set()

    @STABLE
    @given(programs())
    def check(program: RandomProgram) -> None:
        if len(passed) < PROGRAMS and str(program) not in passed:
            check_stages(program)
            passed.add(str(program))

    check()
    assert len(passed) == PROGRAMS


def test_an_element_that_many_loops_read_is_named_by_those_around_it() -> None:
    def function(x: Any) -> Any:
        least = enp.amin(x, axis=-1, keepdims=True)
        weight = enp.where(least > 0, least, least)
        return weight @ weight, weight, least

    array = np.array([3.0, -1.0, 2.0])
    for found, expected in zip(eqsat.optimize(function, array)(array), function(array), strict=True):
        assert_close(found, np.asarray(expected))


def check_call(drawn: LaidOut) -> None:
    """A jit call, twice, the second time perhaps without Python, gives what NumPy gives."""
    function = eqsat.jit(drawn.program)
    original = traced(drawn.program)
    if drawn.out is None or len(set(positions(original.structure))) < len(drawn.program.outputs):
        drawn.program.check(function(*drawn.arrays), "called")
        drawn.program.check(function(*drawn.arrays), "called again")
        return
    found = function(*drawn.arrays, out=list(drawn.out))
    assert all(one is other for one, other in zip(found, drawn.out, strict=True))
    if not any(np.may_share_memory(one, other) for k, one in enumerate(drawn.out) for other in drawn.out[:k]):
        drawn.program.check(drawn.out, "written")


@pytest.mark.slow
def test_calls_equal_numpy_however_arrays_lie_in_memory() -> None:
    passed: set[str] = set()

    @STABLE
    @given(laid_out_programs())
    def check(drawn: LaidOut) -> None:
        if len(passed) < CALLS and repr(drawn) not in passed:
            check_call(drawn)
            passed.add(repr(drawn))

    check()
    assert len(passed) == CALLS


@pytest.mark.fuzz
@pytest.mark.parametrize("part", range(WILD_PARTS))
def test_any_call_equals_numpy_however_arrays_lie_in_memory(part: int) -> None:
    WILD(given(laid_out_programs(most_steps=12))(check_call))()


@pytest.mark.fuzz
@pytest.mark.parametrize("part", range(WILD_PARTS))
def test_any_longer_program_equals_numpy_at_every_stage(part: int) -> None:
    WILD(given(programs(most_steps=12))(check_stages))()


def test_the_generator_or_the_cases_know_every_function_of_eqsat_numpy() -> None:
    text = inspect.getsource(generator) + inspect.getsource(operation_cases)
    functions = [name for name, value in vars(enp).items() if not name.startswith("_") and inspect.isfunction(value)]
    assert len(functions) > 50
    elsewhere = {"argpartition", "bincount", "histogram"}  # tests/eqsat/test_host_calls.py, as those that are not NumPy's have their own
    elsewhere |= {"from_dlpack", "result_type", "can_cast", "isdtype", "iscomplexobj", "isrealobj"}  # tests/eqsat/test_operations_page.py
    numpys = [name for name in functions if hasattr(np, name) and name not in elsewhere]
    assert [name for name in numpys if not re.search(rf"\b{name}\b", text)] == []


def test_random_programs_are_of_many_kinds() -> None:
    seen: list[RandomProgram] = []

    @settings(STABLE, max_examples=200)
    @given(programs())
    def draw(program: RandomProgram) -> None:
        seen.append(program)

    draw()
    assert {array.dtype.name for program in seen for array in program.arrays} == set(generator.DTYPES)
    assert {len(program.arrays) for program in seen} == {1, 2, 3}
    assert {len(program.outputs) for program in seen} == {1, 2, 3}
    assert sum(len(program.steps) > 3 for program in seen) > 60
    assert sum(any(value.array.size == 1 for value in program.values) for program in seen) > 20


def test_a_wrong_result_of_a_program_is_seen() -> None:
    value = Value(np.ones(3, np.float32), exact=False, scale=8.0)
    program = RandomProgram((value.array,), (), (0,), (value,))
    program.check([value.array + np.float32(7e-5)], "close")
    for wrong in (value.array + np.float32(9e-5), value.array.astype(np.float64), np.ones((3, 1), np.float32)):
        with pytest.raises(AssertionError):
            program.check([wrong], "wrong")
