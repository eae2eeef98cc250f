"""Builds for the tests of lowering: how to run them, and a hypothesis strategy for small random ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from eqsat.ir.evaluate import evaluate_tensor
from eqsat.ir.index import Const, Index, Var
from eqsat.ir.loops import Kernel
from eqsat.ir.loops_evaluate import run_kernel
from eqsat.ir.tensor import Build, Call, Input, Literal, Read, Reduce, Scalar, Tensor, axes, reduction, sources
from eqsat.lowering import candidates

Array = np.ndarray[Any, Any]
DTYPE = "int64"
EXTENTS = st.sampled_from([1, 2, 3, 4, 6])
MOST_STEPS = 150


def names_of(build: Build) -> dict[Tensor, str]:
    names: dict[Tensor, str] = {t: t.name for t in sources(build) if isinstance(t, Input)}
    return {**names, build: "out"}


def lowered(build: Build) -> tuple[Kernel, ...]:
    return candidates((build,), "k", names_of(build))


def inputs_of(build: Build) -> dict[Input, Array]:
    """Small integers, so that sums are exact in every dtype and order."""
    rng = np.random.default_rng(0)
    return {t: rng.integers(-9, 10, t.shape).astype(t.dtype) for t in sources(build) if isinstance(t, Input)}


def reference(build: Build) -> Array:
    return evaluate_tensor(build, inputs_of(build))


def run(kernel: Kernel, build: Build) -> Array:
    """What the kernel writes, in the shape of the Build; the output starts as garbage."""
    values = {t.name: array.ravel() for t, array in inputs_of(build).items()}
    out = np.full(build.size, 77).astype(build.dtype)
    run_kernel(kernel, [*(values[b.name] for b in kernel.buffers[:-1]), out])
    return out.reshape(build.shape)


@st.composite
def builds(draw: st.DrawFn) -> Build:
    """Elementwise terms, transposes, reversals, reshapes with // and %, nested reductions and shared subterms."""
    shape = tuple(draw(st.lists(EXTENTS, max_size=3)))
    drawing = _Drawing(draw, int(np.prod(shape, dtype=int)))
    root = draw(st.sampled_from(["any", "fold", "epilogue"]))
    if root == "any":
        return Build(shape, drawing.scalar(axes(shape), 3))
    fold = drawing.reduce(axes(shape), 2)
    return Build(shape, fold if root == "fold" else Call("subtract", (fold, drawing.scalar(axes(shape), 1)), DTYPE))


class _Drawing:
    """One Build being drawn: how many steps its loops have, and the terms drawn so far with the variables they may use."""

    def __init__(self, draw: st.DrawFn, steps: int) -> None:
        self.draw = draw
        self.steps = steps
        self.inputs = 0
        self.drawn: list[tuple[Scalar, frozenset[Var]]] = []

    def scalar(self, loops: tuple[Var, ...], depth: int) -> Scalar:
        shared = [term for term, free in self.drawn if free <= set(loops)]
        kind = self.draw(st.sampled_from(["read", "read", "again", "call", "call", "reduce", "reduce", "literal"]))
        if kind == "again" and shared:
            return self.draw(st.sampled_from(shared))
        if kind == "call" and depth:
            term = self.call(loops, depth)
        elif kind == "reduce" and depth:
            term = self.reduce(loops, depth)
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
        op = self.draw(st.sampled_from(["sum", "max", "min"]))
        return Reduce(op, variable, self.scalar((*loops, variable), depth - 1))

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
