"""`fori` in functions that are traced: the loop is part of the program, and its body is compiled once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.ir.errors import DTypeError, ShapeError, UnsupportedError, UsageError
from eqsat.ir.evaluate import evaluate
from eqsat.ir.steps import Loop
from eqsat.running.packing import pack, unpack
from eqsat.running.plan import Plan
from tests.eqsat.kernel_programs import softmax

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(0)
A, V = RNG.uniform(-1, 1, (6, 5)), RNG.uniform(-1, 1, 5)


def power_iteration(a: Any, v: Any) -> Any:
    """The body takes w of the trace around it, carries two arrays and uses the counter."""
    w = a.T @ a

    def step(i: Any, carry: Any) -> Any:
        x, total = carry
        y = w @ x
        size = enp.sqrt((y * y).sum())
        return y / size, total + size * i

    x, total = eqsat.fori(20, step, (v, np.float64(0.0)))
    return {"vector": x, "total": total, "trace": w.sum()}


def nested(x: Any) -> Any:
    return eqsat.fori(2, lambda i, c: eqsat.fori(3, lambda j, d: d + c * 0.1 + x * j - i, c), x)


def two_loops(x: Any) -> Any:
    doubled = eqsat.fori(3, lambda i, c: c * 2.0, x)
    return eqsat.fori(4, lambda i, c: c + doubled, enp.exp(doubled * 0.01)).sum(), doubled


def mixed(x: Any) -> Any:
    return softmax(eqsat.fori(5, lambda i, c: c + i, x) * 0.1) @ x


PROGRAMS: dict[str, tuple[Any, tuple[Array, ...]]] = {
    "power iteration": (power_iteration, (A, V)),
    "nested": (nested, (V,)),
    "two loops": (two_loops, (V,)),
    "what goes on": (mixed, (A @ A.T,)),
    "no step": (lambda x: eqsat.fori(0, lambda i, c: c + 1.0, x), (V,)),
    "one result": (lambda x: eqsat.fori(7, lambda i, c: c + i, x), (V,)),
    "numbers only": (lambda x: x + eqsat.fori(7, lambda i, c: c + i, 0), (V,)),
}


def by_hand(name: str) -> Any:
    """What NumPy gives: fori on arrays is a loop in Python."""
    function, given = PROGRAMS[name]
    if name == "power iteration":
        w, x, total = A.T @ A, V, 0.0
        for i in range(20):
            y = w @ x
            total += float(np.sqrt((y * y).sum())) * i
            x = y / np.sqrt((y * y).sum())
        return {"vector": x, "total": total, "trace": w.sum()}
    return function(*given)


def leaves(result: Any) -> list[Any]:
    if isinstance(result, dict):
        return list(result.values())
    return list(result) if isinstance(result, tuple) else [result]


@pytest.mark.parametrize("name", PROGRAMS)
def test_loops_in_programs_equal_numpy(name: str) -> None:
    function, given = PROGRAMS[name]
    program = eqsat.trace(function, *given)
    expected, compiled = leaves(by_hand(name)), eqsat.jit(options=eqsat.Options())(function)
    for what, found in {
        "interpreter": evaluate(program, given),
        "optimized": leaves(eqsat.optimize(program, options=eqsat.Options(check=True))(*given)),
        "jit": leaves(compiled(*given)),
    }.items():
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-10, err_msg=what)


def test_the_body_is_compiled_once_and_what_stays_is_computed_before() -> None:
    result = eqsat.optimize(power_iteration, A, V)
    (loop,) = result.program.steps
    assert isinstance(loop, Loop)
    assert (loop.count, len(loop.given), len(loop.results)) == (20, 3, 2)
    assert len(result.bodies) == 1
    plan = result.compile()
    steps = {kernel.name: kernel for kernel in plan.kernels}
    assert steps["loop_0"].group == 1
    assert steps["loop_0"].dependencies == (0,)
    assert float(result.cost) < float(result.original_cost)


def test_loops_that_nobody_reads_are_dropped() -> None:
    def unused(x: Any) -> Any:
        eqsat.fori(5, lambda i, c: c + 1.0, x)
        return x * 2.0

    assert not eqsat.trace(unused, V).steps


def test_the_certificate_covers_what_loops_are_given_and_their_bodies() -> None:
    certificate = eqsat.optimize(power_iteration, A, V, options=eqsat.Options(certify=True)).certificate
    assert certificate
    assert len(certificate.outputs) == 3 + 3 + 2  # given, returned, and those of the body


def test_plans_with_loops_are_bytes_and_back() -> None:
    plan = eqsat.optimize(power_iteration, A, V).compile()
    again = Plan(unpack(pack(plan.blueprint, ()), ()))
    for one, other in zip(leaves(again(A, V)), leaves(plan(A, V)), strict=True):
        np.testing.assert_array_equal(one, other)


def test_programs_show_their_loops() -> None:
    text = str(eqsat.trace(power_iteration, A, V))
    assert "  t3: float64[5], t4: float64[] = 20 times (v, t0, t2)" in text
    assert "    program (i: int64[], carry[0]: float64[5], carry[1]: float64[], captured0: float64[5, 5])" in text


ERRORS: dict[str, tuple[Any, type[Exception]]] = {
    "another shape": (lambda x: eqsat.fori(2, lambda i, c: c.sum(), x), ShapeError),
    "another dtype": (lambda x: eqsat.fori(2, lambda i, c: c > 0.0, x), DTypeError),
    "another container": (lambda x: eqsat.fori(2, lambda i, c: (c, c), x), UsageError),
    "a negative number": (lambda x: eqsat.fori(-1, lambda i, c: c, x), UsageError),
}


@pytest.mark.parametrize("what", ERRORS)
def test_bodies_that_do_not_fit_are_refused(what: str) -> None:
    function, error = ERRORS[what]
    with pytest.raises(error, match="fori"):
        eqsat.trace(function, V)


def test_loops_and_sizes_do_not_go_together_yet() -> None:
    with pytest.raises(UnsupportedError, match="fori"):
        eqsat.trace(lambda x: eqsat.fori(2, lambda i, c: c + 1.0, x), eqsat.spec((eqsat.dim("n", 1, 9),), "float32"))


def test_arrays_of_a_body_are_no_arrays_of_the_program() -> None:
    kept: list[Any] = []

    def leaking(x: Any) -> Any:
        def step(i: Any, c: Any) -> Any:
            kept.append(c)
            return c + 1.0

        eqsat.fori(2, step, x)
        return kept[0] * 2.0

    with pytest.raises(UsageError):
        eqsat.trace(leaking, V)


@pytest.mark.parametrize("beside", [lambda xp, x: xp.cumsum(x, 1), lambda xp, x: x * 0.5 + xp.roll(x, 1, axis=0)])
def test_what_a_loop_reads_on_its_way_is_stored_for_it(beside: Any) -> None:
    """The array that the rows of a recurrence are put into is computed by its loop, and read by nothing else that is a kernel."""

    def both(xp: Any, x: Any) -> Any:
        rows = xp.reshape(x, (36, 24, 2, 19))
        steps = xp.zeros_like(rows)
        steps[0] = rows[0]
        for t in range(1, 36):
            steps[t] = 0.9 * steps[t - 1] + rows[t]
        return beside(xp, rows), steps

    x = RNG.standard_normal((8, 8, 513))
    for found, expected in zip(eqsat.jit(lambda a: both(enp, a))(x), both(np, x), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
