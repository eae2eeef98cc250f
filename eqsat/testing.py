"""Assertions for users' own tests: programs compared by cost and by meaning."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from eqsat.capture.tracing import trace
from eqsat.costs_in_tests.changes import definitions, kernel_lines
from eqsat.costs_in_tests.kernels import cost_snapshot, kernel_costs
from eqsat.costs_in_tests.snapshots import fields_of
from eqsat.driver import optimize
from eqsat.ir.dtypes import UNSIGNED, is_complex, is_float, is_inexact
from eqsat.ir.errors import UsageError
from eqsat.ir.evaluate import evaluate, evaluate_index
from eqsat.ir.index import Index, Var, as_index, variables
from eqsat.ir.tensor import Program
from eqsat.options import Options, options_of
from eqsat.pricing.costs import Cost, cost
from eqsat.pricing.local_target import local_target
from eqsat.pricing.target import DEFAULT_TARGET
from eqsat.proving.deviation import apart
from eqsat.proving.values import TOLERANCE as TOLERANCE, tolerance_of
from eqsat.report import Report
from eqsat.result import IndexResult, Result

POINTS = 4096


def assert_cheaper(candidate: Any, reference: Any, factor: float = 1.0) -> None:
    """Assert that `candidate` costs less than `factor` times `reference`.

    Each is a Cost, a number of nanoseconds, a Result (its cost after optimization), a Program or an index expression (as written).
    Numbers are in the unit of the other side.  Raises UsageError for costs that are counted in two units.
    """
    sides = _cost_of(candidate), _cost_of(reference)
    found, expected = map(float, sides)
    units = {side.unit: None for side in sides if isinstance(side, Cost)} or {"ns": None}
    if len(units) > 1:
        raise UsageError(f"assert_cheaper: found costs in {' and in '.join(units)}, expected one unit")
    (unit,) = units
    if not found < factor * expected:
        raise AssertionError(f"cost {found:,.1f} {unit} is not below {factor:g} * {expected:,.1f} {unit}{_listing(candidate)}")


def _cost_of(value: Any) -> Cost | float:
    if isinstance(value, Cost | int | float):
        return value
    if isinstance(value, Result | IndexResult):
        return value.cost
    if isinstance(value, Index):
        return IndexResult(value, value, Report()).cost
    if isinstance(value, Program):
        return cost(value)
    raise UsageError(f"assert_cheaper: found a {type(value).__name__}, expected a Cost, a Result, a Program or an index expression")


def assert_kernels(target: Any, expected: int | str | Sequence[str], *specs: Any, options: Options | None = None) -> None:
    """Assert how many kernels an optimized program has, or what they compute.

    target    a Result, or what `eqsat.optimize` takes, with its specs; costs are those of the named default target then
    expected  the number of kernels; a regular expression that is found in the listing of some kernel; or one for each kernel, in
              execution order, that is found in its listing.  The listing of a kernel is what its lines in `Result.program` say; a step that
              is no kernel, a loop or a call of NumPy, counts as one.
    """
    result = target if isinstance(target, Result) and not specs else optimize(target, *specs, options=reproducible(options))
    if isinstance(result, IndexResult):
        raise UsageError("assert_kernels: found an index expression, expected a program")
    kernels, program = kernel_costs(result), str(result.program).splitlines()
    listings = ["\n".join(definitions(kernel, program)) or kernel.name for kernel in kernels]
    what = "\n".join(["; found", *kernel_lines(kernels, program, result.cost.unit)])
    if isinstance(expected, int):
        if len(kernels) != expected:
            raise AssertionError(f"{len(kernels)} kernels, expected {expected}{what}")
    elif isinstance(expected, str):
        if not any(re.search(expected, listing) for listing in listings):
            raise AssertionError(f"no kernel with {expected!r}{what}")
    else:
        if len(kernels) != len(expected):
            raise AssertionError(f"{len(kernels)} kernels, expected {len(expected)}{what}")
        for kernel, pattern, listing in zip(kernels, expected, listings, strict=True):
            if not re.search(pattern, listing):
                raise AssertionError(f"{kernel.name} without {pattern!r}{what}")


def measure(target: Any, *specs: Any, options: Options | None = None) -> tuple[Result | IndexResult, dict[str, Any]]:
    """What `eqsat.optimize` makes of a target with its specs, and its cost with what explains it, as the fixture `cost` stores that."""
    result = optimize(target, *specs, options=reproducible(options))
    return result, fields_of(cost_snapshot(result))


def reproducible(options: Options | None) -> Options:
    """Options whose costs are the same on every machine and in every run: where they name no target it is the named default.

    UsageError for options that go by the clock.
    """
    chosen = options_of(options, "options")
    if chosen.tune or chosen.limits.seconds is not None:
        raise UsageError("options: found tune or limits.seconds, expected neither: what goes by the clock gives other costs in every run")
    return replace(chosen, target=DEFAULT_TARGET) if chosen.target == local_target() else chosen


def _listing(value: Any) -> str:
    """The kernels of a result, for messages."""
    if not isinstance(value, Result):
        return ""
    return "\n".join(["; its kernels:", *kernel_lines(kernel_costs(value), str(value.program).splitlines(), value.cost.unit)])


def assert_equivalent(candidate: Any, reference: Any, *specs: Any, rtol: float | None = None, seed: int = 0) -> None:
    """Assert that two programs give the same values on random inputs, or that two index expressions agree on all (or many) points.

    Programs are Programs, Results, or functions followed by the specs of their arguments; inputs are drawn from `seed`.
    rtol  allowed deviation relative to the largest value; None: that of TOLERANCE for the coarsest dtype that either program computes in,
          0 for integers and bool
    """
    if isinstance(candidate, Index | IndexResult):
        if specs or rtol is not None:
            given = "specs" if specs else f"rtol={rtol}"
            raise UsageError(f"assert_equivalent: found {given} for an index expression, expected neither specs nor rtol")
        _assert_equal_indices(_index_of(candidate), _index_of(reference), seed)
        return
    first, second = _runnable(candidate, specs), _runnable(reference, specs)
    program = first[0]
    arrays = random_arrays(program, seed)
    allowed = tolerance_of(program, second[0]) if rtol is None else rtol
    for k, (found, expected) in enumerate(zip(first[1](arrays), second[1](arrays), strict=True)):
        kinds = [f"{array.dtype}{list(array.shape)}" for array in (found, expected)]
        if kinds[0] != kinds[1]:
            raise AssertionError(f"output {k}: found {kinds[0]}, expected {kinds[1]}")
        assert_close(found, expected, allowed, f"output {k}")


def assert_close(found: Any, expected: Any, rtol: float | None = None, what: str = "result") -> None:
    """Assert that arrays of one shape agree up to rtol times the largest finite value; infinities and NaN must stand in the same places,
    integers and truth values must be equal.  `rtol`: None is that of TOLERANCE for the dtype."""
    got, wanted = np.asarray(found), np.asarray(expected)
    if got.shape != wanted.shape:
        raise AssertionError(f"{what}: found the shape {got.shape}, expected {wanted.shape}")
    largest, scale = apart(got, wanted)
    if not is_inexact(got.dtype.name):
        if largest:
            raise AssertionError(f"{what}: values differ")
        return
    allowed, scale = TOLERANCE[got.dtype.name] if rtol is None else rtol, max(scale, 1e-30)
    if not np.isfinite(largest):
        raise AssertionError(f"{what}: infinities or NaN differ")
    if not largest <= allowed * scale:
        raise AssertionError(f"{what}: largest deviation {largest:g} exceeds {allowed:g} of the scale {scale:g}")


def random_arrays(program: Program, seed: int = 0) -> list[np.ndarray[Any, Any]]:
    """Arrays for the inputs of a program: floats from -2 to 2, integers from -8 to 8 (unsigned: to 16), both truth values."""
    rng = np.random.default_rng(seed)
    return [_random(rng, tensor.shape, tensor.dtype) for tensor in program.inputs]


def _random(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    if is_complex(dtype):
        return np.asarray(rng.uniform(-2, 2, shape) + 1j * rng.uniform(-2, 2, shape), dtype)
    if is_float(dtype):
        return np.asarray(rng.uniform(-2, 2, shape), dtype)
    low, high = (0, 2) if dtype == "bool" else (0, 17) if dtype in UNSIGNED else (-8, 9)
    return np.asarray(rng.integers(low, high, shape), dtype)


def _runnable(value: Any, specs: Sequence[Any]) -> tuple[Program, Callable[[list[Any]], tuple[np.ndarray[Any, Any], ...]]]:
    if isinstance(value, Result):
        return value.original, value.compile().run
    if not isinstance(value, Program) and not callable(value):
        found = f"found a {type(value).__name__}, expected a Program, a Result or a function with its specs"
        raise UsageError(f"assert_equivalent: {found}; assert_close compares arrays")
    program = value if isinstance(value, Program) else trace(value, *specs)
    return program, lambda arrays: evaluate(program, arrays)


def _index_of(value: Any) -> Index:
    return value.expr if isinstance(value, IndexResult) else as_index(value)


def _assert_equal_indices(a: Index, b: Index, seed: int) -> None:
    names = variables(a, b)
    for point in index_points(names, seed):
        env = dict(zip(names, point, strict=True))
        found, expected = evaluate_index(a, env), evaluate_index(b, env)
        if found != expected:
            raise AssertionError(f"at { ({v.name: x for v, x in env.items()}) }: found {found}, expected {expected}")


def index_points(names: Sequence[Var], seed: int = 0) -> Iterable[tuple[int, ...]]:
    """All points of the variables' ranges where they are few, else POINTS random ones with the ends favoured."""
    if prod(v.extent for v in names) <= POINTS:
        return itertools.product(*(range(v.lo, v.hi + 1) for v in names))
    rng = random.Random(seed)
    return (tuple(rng.choice((v.lo, v.hi, rng.randint(v.lo, v.hi))) for v in names) for _ in range(POINTS))
