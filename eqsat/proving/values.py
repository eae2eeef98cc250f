"""The values of a program before and after optimization, compared by the reference interpreter at some or all elements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from eqsat.ir.dtypes import UNSIGNED, is_complex, is_inexact
from eqsat.ir.errors import UnsoundRuleError
from eqsat.ir.evaluate import elements, evaluate
from eqsat.ir.tensor import Build, Call, Constant, Generic, Input, Program, Reduce, Tensor, scalars, tensors
from eqsat.options import Options
from eqsat.proving.certificate import Compared
from eqsat.proving.deviation import share_that_differs

ELEMENTS = (4096, 64, 4, 1)
MOST_WORK = 2**25
MOST_SIZE = 2**26
# rounding may decide a comparison of floats, so where there are floats a few values may differ
ROUNDING = 1e-2
TOLERANCE = {"bfloat16": 3e-2, "float16": 4e-3, "float32": 1e-5, "float64": 1e-12, "complex64": 1e-5, "complex128": 1e-12}
"""Largest deviation that counts as equal, as a fraction of the reference's largest magnitude; 0 for every other dtype."""
Array = np.ndarray[Any, Any]


class _TooMuchWork(Exception):
    """More values than MOST_WORK would have to be computed."""


class _Data:
    """Random values of an input, computed from the position, of the ranges of eqsat.testing.random_arrays."""

    def __init__(self, tensor: Input, seed: int) -> None:
        self.shape, self.dtype, self.seed = tensor.shape, tensor.dtype, seed

    def __getitem__(self, indices: tuple[Any, ...]) -> Any:
        flat = np.ravel_multi_index(np.broadcast_arrays(*indices), self.shape) if indices else np.int64(0)
        with np.errstate(over="ignore"):
            mixed = (np.asarray(flat, np.uint64) + np.uint64(self.seed)) * np.uint64(0x9E3779B97F4A7C15)
            mixed = ((mixed ^ (mixed >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)) >> np.uint64(40)
        if is_inexact(self.dtype):
            values = mixed.astype(np.float64) / 2**22 - 2
            return (values + 1j * (values * 7 % 3 - 1.5) if is_complex(self.dtype) else values).astype(self.dtype)[()]
        least = 0 if self.dtype in UNSIGNED else -8
        return (mixed % np.uint64(2) if self.dtype == "bool" else mixed.astype(np.int64) % 17 + least).astype(self.dtype)[()]


def compare_values(before: Program, after: Program, options: Options) -> tuple[Compared, ...]:
    """One comparison for each output.  Raises UnsoundRuleError where the values differ by more than rounding explains."""
    compared = tuple(_compare(before, after, k, options) for k in range(len(before.outputs)))
    rounds = any(is_inexact(tensor.dtype) for tensor in tensors(*before.outputs))
    for k, one in enumerate(compared):
        if one.deviation > (ROUNDING if rounds else 0.0):
            raise UnsoundRuleError(f"output {k} differs from that of the program as written: {one}")
    return compared


def _compare(before: Program, after: Program, position: int, options: Options) -> Compared:
    size = prod(before.outputs[position].shape)
    if size:
        for count in ELEMENTS:
            try:
                found, expected = (_sample(program, position, count) for program in (after, before))
            except _TooMuchWork:
                continue
            return Compared(expected.size, size, share_that_differs(found, expected, options.numerics == "fast"))
    return Compared(0, size)


def tolerance_of(*programs: Program) -> float:
    """The largest deviation that counts as equal, by the coarsest dtype that the programs compute in; 0 without floats."""
    every = (tensor for program in programs for tensor in tensors(*program.outputs))
    return max((TOLERANCE.get(dtype, 0.0) for tensor in every for dtype in _computed(tensor)), default=0.0)


def _computed(tensor: Tensor) -> Iterator[str]:
    """The dtypes that a tensor is computed in; what is only read, or stated, is exact."""
    if isinstance(tensor, Build | Generic):
        body = tensor.body if isinstance(tensor, Build) else tensor.block
        yield from (term.dtype for term in scalars(body) if isinstance(term, Call | Reduce))
    if not isinstance(tensor, Input | Constant):
        yield tensor.dtype


@dataclass(frozen=True)
class Difference:
    """Where the values of two programs differ most: an element of an output, and what it is in both."""

    output: int
    place: tuple[int, ...]
    found: Any
    expected: Any

    def __str__(self) -> str:
        return f"output {self.output} at {list(self.place)} is {self.found}, expected {self.expected}"


class Samples:
    """Elements of the outputs of programs at some positions, each computed once; the input values are those of `compare_values`."""

    def __init__(self) -> None:
        self._known: dict[tuple[Program, int, int], Array | None] = {}

    def compare(self, before: Program, after: Program) -> tuple[Compared, ...]:
        """One comparison for each output that both have, in order."""
        outputs = zip(before.outputs, after.outputs, strict=False)
        return tuple(self._compared(before, after, position, prod(output.shape)) for position, (output, _) in enumerate(outputs))

    def difference(self, before: Program, after: Program, position: int) -> Difference | None:
        """Where an output of two programs differs most; None where it does not, or cannot be compared."""
        shape = before.outputs[position].shape
        pair = self._pair(before, after, position, prod(shape))
        if pair is None:
            return None
        count, found, expected = pair
        with np.errstate(invalid="ignore"):
            apart = np.abs(found.astype(np.complex128) - expected.astype(np.complex128))
        apart = np.where(np.isnan(apart), np.where(np.isnan(found) == np.isnan(expected), 0.0, np.inf), apart)
        most = int(np.argmax(apart))
        place = np.unravel_index(_positions(prod(shape), position, count)[most], shape) if shape else ()
        return Difference(position, tuple(map(int, place)), found[most], expected[most]) if apart[most] else None

    def _compared(self, before: Program, after: Program, position: int, size: int) -> Compared:
        pair = self._pair(before, after, position, size)
        if pair is None:
            return Compared(0, size)
        _, found, expected = pair
        return Compared(expected.size, size, share_that_differs(found, expected))

    def _pair(self, before: Program, after: Program, position: int, size: int) -> tuple[int, Array, Array] | None:
        """Elements of both, of the program after first, sampled as so many as can be computed."""
        for count in ELEMENTS if size else ():
            found, expected = (self._sample(program, position, count) for program in (after, before))
            if found is not None and expected is not None:
                return count, found, expected
        return None

    def _sample(self, program: Program, position: int, count: int) -> Array | None:
        key = program, position, count
        if key not in self._known:
            try:
                self._known[key] = _sample(program, position, count)
            except _TooMuchWork:
                self._known[key] = None
        return self._known[key]


def _sample(program: Program, position: int, count: int) -> Array:
    """Elements of an output: all of them, or `count`, the first and the last among them, the same ones every time."""
    if any(prod(tensor.shape) > MOST_SIZE for tensor in tensors(*program.outputs) if not isinstance(tensor, Input)):
        raise _TooMuchWork
    output: Tensor = program.outputs[position]
    size = prod(output.shape)
    flat = _positions(size, position, count)
    if program.steps:
        return np.asarray(_evaluated(program)[position].ravel()[flat])
    spent = 0

    def work(values: int) -> None:
        nonlocal spent
        spent += values
        if spent > MOST_WORK:
            raise _TooMuchWork

    inputs = {tensor: _Data(tensor, seed) for seed, tensor in enumerate(program.inputs)}
    indices = tuple(np.unravel_index(flat, output.shape)) if output.shape else ()
    return np.atleast_1d(elements(program, inputs, work)[position][indices])


def _evaluated(program: Program) -> tuple[Array, ...]:
    """The outputs of a program with steps, which are computed as a whole."""
    arrays = []
    for seed, tensor in enumerate(program.inputs):
        if tensor.size > ELEMENTS[0]:
            raise _TooMuchWork
        data = _Data(tensor, seed)
        arrays.append(np.asarray(data[tuple(np.indices(tensor.shape, sparse=True))]).reshape(tensor.shape).astype(tensor.dtype))
    return evaluate(program, arrays)


def _positions(size: int, position: int, count: int) -> Array:
    """The elements that are sampled of an output."""
    some = np.random.default_rng(position).integers(0, size, count)
    return np.arange(size) if size <= count else np.unique([0, size - 1, *some][:count])
