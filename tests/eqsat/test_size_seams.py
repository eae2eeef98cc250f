"""Loops that end at a size, cut at seams: what they compute equals NumPy for every size, and nothing is decided in the long pieces."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.ir.index import Var, apply
from eqsat.ir.loops import Fold, For, Kernel, statements, values_of
from eqsat.ir.loops_evaluate import run_kernel
from eqsat.ir.tensor import Call, Literal, Position, Size, scalars
from eqsat.lowering.nest import Nest
from eqsat.lowering.ranges.size_seams import LEAST_SIZE, at_seams
from eqsat.running.sized_plan import SizedPlan

Array = np.ndarray[Any, Any]
N, M = eqsat.dim("n", 1, 3000), eqsat.dim("m", 1, 3000)
COUNTS = (1, 2, 3, 4, 5, 14, 15, 16, 17, 18, 19, 20, 31, 32, 33, 64, 100, 1000)


def blurred(xp: Any, x: Any) -> Any:
    p = xp.pad(x, 1)
    return (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] + p[1:-1, 1:-1]) * 0.25


def windows(xp: Any, x: Any) -> Any:
    p = xp.pad(x, 2)
    return p[:-4] + p[1:-3] * 2.0 + p[2:-2] * 3.0 + p[3:-1] * 2.0 + p[4:]


LINES: dict[str, Callable[[Any, Any], Any]] = {
    "rolled": lambda xp, x: xp.roll(x, 3) + 1.0,
    "rolled back": lambda xp, x: xp.roll(x, -1) * x,
    "padded": lambda xp, x: xp.pad(x, (3, 5)) * 2.0,
    "edges": lambda xp, x: xp.pad(x, 2, mode="edge") * 2.0,
    "neighbours": lambda xp, x: x + xp.pad(x, 1)[2:] - xp.pad(x, 1)[:-2],
    "there and back": lambda xp, x: xp.concatenate([x, xp.flip(x), x]) * 2.0,
    "windows": windows,
}
FACES: dict[str, Callable[[Any, Any], Any]] = {
    "blurred": blurred,
    "rolled rows": lambda xp, x: xp.roll(x, 2, axis=1) + 1.0,
    "rolled columns": lambda xp, x: xp.roll(x, 2, axis=0) + 1.0,
    "padded": lambda xp, x: xp.pad(x, ((1, 0), (2, 3))) - 1.0,
}


def plan_of(function: Callable[..., Any], *shapes: tuple[Any, ...]) -> tuple[SizedPlan, tuple[Kernel, ...]]:
    result = eqsat.optimize(function, *(eqsat.spec(shape, "float32") for shape in shapes))
    plan = result.compile()
    assert isinstance(plan, SizedPlan)
    return plan, tuple(kernel for kernel in result.loops_in_rows if kernel.name.endswith(f"_{LEAST_SIZE}"))


def numbers(*shape: int) -> Array:
    return np.random.default_rng(shape).uniform(-1, 1, shape).astype("float32")


def decides(kernel: Kernel) -> bool:
    """Whether conditions are left in a loop."""
    values = values_of(statements(kernel.body))
    return any(isinstance(term, Position) and term.dtype == "bool" for term in scalars(*values))


@pytest.mark.parametrize("name", LINES)
def test_lines_of_every_length(name: str) -> None:
    program = LINES[name]
    plan, cut = plan_of(lambda x: program(enp, x), (N,))
    assert cut
    assert not any(map(decides, cut))
    for count in COUNTS:
        x = numbers(count)
        np.testing.assert_allclose(plan(x), program(np, x), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", FACES)
def test_faces_of_every_size(name: str) -> None:
    program = FACES[name]
    plan, _ = plan_of(lambda x: program(enp, x), (N, M))
    for down in (1, 2, 15, 16, 17, 40):
        for across in COUNTS:
            x = numbers(down, across)
            np.testing.assert_allclose(plan(x), program(np, x), rtol=1e-6, atol=1e-6)


def test_joined_vectors_of_two_sizes() -> None:
    """The seam is where the one ends."""
    plan, (kernel,) = plan_of(lambda x, y: enp.concatenate([x, y]) * 2.0, (N,), (M,))
    assert len([stmt for stmt in kernel.body if isinstance(stmt, For)]) == 2
    for count in COUNTS:
        for other in COUNTS:
            x, y = numbers(count), numbers(other, 1)[:, 0]
            np.testing.assert_array_equal(plan(x, y), np.concatenate([x, y]) * np.float32(2))


def test_mirrored_ends() -> None:
    plan, cut = plan_of(lambda x: enp.pad(x, 2, mode="reflect"), (2 + N,))
    assert cut
    for count in COUNTS:
        x = numbers(count + 2)
        np.testing.assert_array_equal(plan(x), np.pad(x, 2, mode="reflect"))


@pytest.mark.parametrize(("down", "across"), [(16, 16), (17, 40), (33, 16)])
def test_loops_mean_what_they_should(down: int, across: int) -> None:
    """Under the interpreter, which raises where a place is outside of arrays that are as large as sizes are."""
    result = eqsat.optimize(lambda x: blurred(enp, x), eqsat.spec((N, M), "float32"))
    (kernel,) = (kernel for kernel in result.loops_in_rows if kernel.parts)
    known = {"n": down, "m": across}
    sizes = [sum(k * prod(known[name] for name in names) for k, names in size.terms) for size in kernel.sizes]
    x, out = numbers(down, across), np.zeros(down * across, "float32")
    run_kernel(kernel, [x.reshape(-1), out], sizes)
    np.testing.assert_allclose(out.reshape(x.shape), blurred(np, x), rtol=1e-6, atol=1e-6)


def test_smaller_sizes_run_the_plain_loops() -> None:
    plan, _ = plan_of(lambda x: enp.roll(x, 3) + 1.0, (N,))
    assert plan._for((numbers(LEAST_SIZE - 1),)).kernels[0].name == "kernel_0"
    assert plan._for((numbers(LEAST_SIZE),)).kernels[0].name == f"kernel_0_{LEAST_SIZE}"


def test_threads_are_handed_iterations_of_the_whole_loop() -> None:
    """More than the longest piece has: what the code is told of their number holds for all of them."""
    size = eqsat.dim("n", 1, 1 << 20)
    result = eqsat.optimize(lambda x, y: enp.concatenate([x, y]) * 2.0, *(eqsat.spec((size,), "float32") for _ in range(2)))
    (kernel,) = result.loops_in_rows
    (line,) = (line for line in result.llvm_ir.splitlines() if line.startswith("define") and f'@"{kernel.name}"(' in line)
    (most,) = re.findall(r"range\(i64 0, (\d+)\) %end", line)
    assert int(most) > 2 << 20


def test_a_fold_that_all_pieces_share_is_done_once() -> None:
    _, (kernel,) = plan_of(lambda x: enp.roll(x, 1) - x.mean(), (N,))
    assert sum(isinstance(stmt, Fold) for stmt in statements(kernel.body)) == 1


@pytest.mark.parametrize("distance", [6, 7])
def test_one_extent_stands_for_one_length(distance: int) -> None:
    """Pieces of n - 3 and m - 9 have the same extent where the markers of n and m are 6 apart: the loop stays whole."""
    n, m = Var("$n", 16, 400), Var("$m", 16, 400)
    first, second = Size(n, 1009, ((1, ("n",)),), 400), Size(m, 1009 + distance, ((1, ("m",)),), 400)
    whole = Size(Var("$n + m - 12", 20, 788), 2006 + distance, ((1, ("n",)), (1, ("m",)), (-12, ())), 788)
    loop = Var("i0", 0, whole.marker - 1)
    body = Call("where", (Position(apply("lt", loop, n - 3), "bool"), Literal(1.0, "float32"), Literal(2.0, "float32")), "float32")
    cut = at_seams(Nest((loop,), body, loop), ("out",), frozenset({"out"}), (first, second, whole))
    assert (cut is None) == (distance == 6)
