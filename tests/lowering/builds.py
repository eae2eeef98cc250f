"""Builds for the tests of lowering: how to run them, and a hypothesis strategy for small random ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from eqsat.codegen import compile_kernels
from eqsat.ir.evaluate import evaluate_tensor
from eqsat.ir.index import Const, Index, Var, apply
from eqsat.ir.loops import Kernel
from eqsat.ir.loops_check import check_kernel
from eqsat.ir.loops_evaluate import run_kernel
from eqsat.ir.tensor import Build, Call, Gather, Input, Literal, Position, Read, Reduce, Scalar, Tensor, axes, reduction, sources
from eqsat.lowering import candidates, hoist, type_indices
from eqsat.lowering.candidates import Schedules
from eqsat.lowering.folds import parted

Array = np.ndarray[Any, Any]
DTYPE = "int64"
EXTENTS = st.sampled_from([1, 2, 3, 4, 6])
MOST_STEPS = 150


def count_few_terms_as_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short folds, and rows of few terms, are divided into parts."""
    monkeypatch.setattr(parted, "LEAST_TERMS", 4)
    monkeypatch.setattr(parted, "LEAST_PARTS", 2)
    monkeypatch.setattr(parted, "ROW_TERMS", 4)
    monkeypatch.setattr(parted, "LEAST_ROWS", 2)


def names_of(*builds: Build) -> dict[Tensor, str]:
    names: dict[Tensor, str] = {t: t.name for build in builds for t in sources(build) if isinstance(t, Input)}
    outputs = ["out"] if len(builds) == 1 else [f"out{k}" for k in range(len(builds))]
    return {**names, **dict(zip(builds, outputs, strict=True))}


def lowered(*builds: Build) -> tuple[Kernel, ...]:
    return candidates(builds, "k", names_of(*builds))


def inputs_of(*builds: Build) -> dict[Input, Array]:
    """Small integers, so that sums are exact in every dtype and order."""
    rng = np.random.default_rng(0)
    read = dict.fromkeys(t for build in builds for t in sources(build) if isinstance(t, Input))
    return {t: rng.integers(-9, 10, t.shape).astype(t.dtype) for t in read}


def reference(*builds: Build) -> tuple[Array, ...]:
    inputs = inputs_of(*builds)
    return tuple(evaluate_tensor(build, inputs) for build in builds)


def run(kernel: Kernel, *builds: Build) -> tuple[Array, ...]:
    """What the kernel writes, in the shapes of the Builds; the outputs start as garbage."""
    values = {t.name: array.ravel() for t, array in inputs_of(*builds).items()}
    written = [np.full(build.size, 77).astype(build.dtype) for build in builds]
    run_kernel(kernel, [*(values[b.name] for b in kernel.buffers[: -len(builds)]), *written])
    return tuple(out.reshape(build.shape) for out, build in zip(written, builds, strict=True))


def offered(build: Build, way: str) -> list[Kernel]:
    """The loop nests of a way in which this build may be computed."""
    return [kernel for schedule, kernel in Schedules((build,), "k", names_of(build)).kernels() if schedule.way == way]


def check_offered(build: Build, way: str) -> None:
    """A way is open to a build, and its loop nests hold the same values as it, by the interpreter and as machine code."""
    (expected,) = reference(build)
    found = offered(build, way)
    assert found
    for kernel in found:
        for form in (kernel, hoist(kernel)):
            check_kernel(form)
            np.testing.assert_array_equal(run(form, build)[0], expected)
        routine = compile_kernels([type_indices(hoist(kernel))]).routine("k")
        values = {tensor.name: array.ravel() for tensor, array in inputs_of(build).items()}
        out = np.zeros(build.size, build.dtype)
        routine([*(values[buffer.name] for buffer in kernel.buffers[:-1]), out])
        np.testing.assert_array_equal(out.reshape(build.shape), expected)


@st.composite
def builds(draw: st.DrawFn) -> Build:
    """Elementwise terms, transposes, reversals, reshapes with // and %, positions, gathers, nested reductions and shared subterms."""
    shape = tuple(draw(st.lists(EXTENTS, max_size=3)))
    drawing = _Drawing(draw, int(np.prod(shape, dtype=int)))
    root = draw(st.sampled_from(["any", "fold", "epilogue"]))
    if root == "any":
        return Build(shape, drawing.scalar(axes(shape), 3))
    fold = drawing.reduce(axes(shape), 2)
    return Build(shape, fold if root == "fold" else Call("subtract", (fold, drawing.scalar(axes(shape), 1)), DTYPE))


@st.composite
def siblings(draw: st.DrawFn) -> tuple[Build, ...]:
    """Two or three Builds of one shape that may have terms in common."""
    shape = tuple(draw(st.lists(EXTENTS, max_size=3)))
    drawing = _Drawing(draw, int(np.prod(shape, dtype=int)))
    bodies = [drawing.scalar(axes(shape), 3) for _ in range(draw(st.integers(2, 3)))]
    return tuple(dict.fromkeys(Build(shape, body) for body in bodies))


class _Drawing:
    """One Build being drawn: how many steps its loops have, and the terms drawn so far with the variables they may use."""

    def __init__(self, draw: st.DrawFn, steps: int) -> None:
        self.draw = draw
        self.steps = steps
        self.inputs = 0
        self.drawn: list[tuple[Scalar, frozenset[Var]]] = []

    def scalar(self, loops: tuple[Var, ...], depth: int) -> Scalar:
        shared = [term for term, free in self.drawn if free <= set(loops)]
        kind = self.draw(st.sampled_from(["read", "read", "again", "call", "call", "reduce", "reduce", "literal", "position", "gather"]))
        if kind == "again" and shared:
            return self.draw(st.sampled_from(shared))
        if kind == "call" and depth:
            term = self.call(loops, depth)
        elif kind == "reduce" and depth:
            term = self.reduce(loops, depth)
        elif kind == "position":
            term = self.position(loops)
        elif kind == "gather" and depth:
            term = self.gather(loops, depth)
        elif kind == "literal":
            return Literal(self.draw(st.integers(-3, 3)), DTYPE)
        else:
            term = self.read(loops)
        self.drawn.append((term, frozenset(loops)))
        return term

    def call(self, loops: tuple[Var, ...], depth: int) -> Scalar:
        op = self.draw(st.sampled_from(["add", "multiply", "subtract", "maximum", "negative", "where"]))
        args = tuple(self.scalar(loops, depth - 1) for _ in range(1 if op == "negative" else 2))
        if op == "where":
            return Call("where", (Call("less", args, "bool"), *args), DTYPE)
        return Call(op, args, DTYPE)

    def reduce(self, loops: tuple[Var, ...], depth: int) -> Scalar:
        extent = self.draw(EXTENTS)
        if self.steps * extent > MOST_STEPS:
            return self.read(loops)
        self.steps *= extent
        variable = reduction(sum(v.name[0] == "r" for v in loops), extent)
        op = self.draw(st.sampled_from(["sum", "prod", "max", "min"]))
        return Reduce(op, variable, self.scalar((*loops, variable), depth - 1))

    def position(self, loops: tuple[Var, ...]) -> Scalar:
        index = self.index(loops)
        if self.draw(st.booleans()):
            return Position(index, DTYPE)
        return Call("astype", (Position(apply("lt", index, self.draw(st.integers(0, 5))), "bool"),), DTYPE)

    def gather(self, loops: tuple[Var, ...], depth: int) -> Scalar:
        """Of a small array, so that places lie on both sides of it."""
        shape = tuple(self.draw(st.lists(EXTENTS, min_size=1, max_size=2)))
        places = tuple(self.scalar(loops, depth - 1) for _ in shape)
        self.inputs += 1
        return Gather(Input(f"x{self.inputs}", shape, DTYPE), places)

    def read(self, loops: tuple[Var, ...]) -> Scalar:
        indices = tuple(self.index(loops) for _ in range(self.draw(st.integers(0, 3))))
        self.inputs += 1
        return Read(Input(f"x{self.inputs}", tuple(index.bounds[1] + 1 for index in indices), DTYPE), indices)

    def index(self, loops: tuple[Var, ...]) -> Index:
        """An index that is never negative; the array that it reads is as large as it needs."""
        if not loops:
            return Const(self.draw(st.integers(0, 2)))
        v, w = (self.draw(st.sampled_from(loops)) for _ in range(2))
        flat = v * w.extent + w if self.draw(st.booleans()) else v
        divisor = self.draw(st.sampled_from([2, 3, 4, 6]))
        kind = self.draw(st.sampled_from(["plain", "plain", "reversed", "div", "mod", "digit", "offset"]))
        if kind == "reversed":
            return flat.bounds[1] - flat
        if kind == "div":
            return flat // divisor
        if kind == "mod":
            return flat % divisor
        if kind == "digit":
            return flat // divisor % self.draw(st.sampled_from([2, 3]))
        return flat + divisor if kind == "offset" else flat


def machine(kernel: Kernel, build: Build, numerics: Any = "default") -> Array:
    """What the compiled kernel writes."""
    (found,) = machines(kernel, (build,), numerics)
    return found


def machines(kernel: Kernel, builds: tuple[Build, ...], numerics: Any = "default") -> list[Array]:
    """What the compiled kernel of several builds writes."""
    routine = compile_kernels([type_indices(hoist(kernel))], numerics).routine(kernel.name)
    arrays = {tensor.name: array.ravel() for tensor, array in inputs_of(*builds).items()}
    outs = [np.full(build.size, np.nan, build.dtype) for build in builds]
    routine([*(arrays[buffer.name] for buffer in kernel.buffers[: -len(outs)]), *outs])
    return [out.reshape(build.shape) for out, build in zip(outs, builds, strict=True)]
