"""Functions of NumPy that eqsat lacks, called by the program where an option says so (docs/fallback.md)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.ir.errors import TraceError, UnsupportedError, UsageError
from eqsat.ir.host import flat
from eqsat.ir.steps import HostCall
from eqsat.running.packing import pack, unpack
from eqsat.running.plan import Plan
from eqsat.testing import assert_close

Function = Callable[..., Any]
ANY: Any = np
ON = eqsat.Options(fallback=True)
X = np.random.default_rng(0).uniform(-1, 1, (4, 5))

LEFT_TO_NUMPY: dict[str, Function] = {
    "interp": lambda x: np.interp(x, [0, 0.5, 1], [1, 2, 3]),
    "gradient": lambda x: np.gradient(x),
    "gradient of an axis": lambda x: np.gradient(x, axis=0) * 2,
    "diff": lambda x: np.diff(x, axis=1),
    "cross": lambda x: np.cross(x[:, :3], x[:, 1:4]),
    "kron": lambda x: np.kron(x, x),
    "convolve": lambda x: np.convolve(x[0], x[1], mode="same"),
    "covariance": lambda x: (np.cov(x), np.corrcoef(x)),
    "polynomials": lambda x: (np.polyfit(np.arange(5), x[0], 2), np.polyval(x[0], x), np.vander(x[1], 3)),
    "lstsq": lambda x: np.linalg.lstsq(x, x[:, 0])[0],
    "digitize": lambda x: np.digitize(x, [0, 0.2, 0.5]),
    "block": lambda x: np.block([[x, x + 1], [x * 2, x]]),
    "select": lambda x: np.select([x > 0, x < -0.5], [x, x * 2], 9),
    "lexsort": lambda x: np.lexsort((x[0], x[1])),
    "average": lambda x: np.average(x, axis=0, weights=[1, 2, 3, 4.0]),
    "histogram2d": lambda x: np.histogram2d(x[0], x[1], bins=3),
    "frexp": lambda x: np.frexp(x),
    "methods of ufuncs": lambda x: (np.subtract.outer(x[0], x[1]), np.maximum.accumulate(x, axis=1), np.add.reduceat(x, [0, 2], axis=0)),
    "keywords of NumPy alone": lambda x: (np.pad(x, 1, mode="linear_ramp", end_values=2), np.cov(x, aweights=[1, 2, 3, 4, 5.0])),
    "an argument of NumPy alone": lambda x: x / np.size(x, 0),
    "a keyword": lambda x: np.sum(x, axis=0, where=x > 0, initial=0.5),
    "a method": lambda x: x.trace() + x.ptp() if hasattr(x, "ptp") else x.trace() + np.ptp(x),
    "between kernels": lambda x: np.tanh(np.i0(np.exp(x)) + 1).sum(axis=0),
}


def check(found: Any, expected: Any) -> None:
    for one, other in zip(flat(found), flat(expected), strict=True):
        assert (one.dtype, one.shape) == (np.asarray(other).dtype, np.shape(other))
        assert_close(np.asarray(one), np.asarray(other))


@pytest.mark.parametrize("name", LEFT_TO_NUMPY)
def test_functions_that_are_left_to_numpy(name: str) -> None:
    function = LEFT_TO_NUMPY[name]
    check(eqsat.jit(function, fallback=True)(X), function(X))


def test_a_plan_with_the_fallback_is_bytes_and_back_and_shows_its_calls() -> None:
    function = LEFT_TO_NUMPY["between kernels"]
    result = eqsat.optimize(function, X, options=eqsat.Options(fallback=True, certify=True))
    assert [step.name for step in result.program.steps if isinstance(step, HostCall)] == ["i0"]
    plan = result.compile()
    assert [kernel.name for kernel in plan.kernels if not kernel.name.startswith("kernel")] == ["i0_0"]
    check(Plan(unpack(pack(plan.blueprint, ()), ()))(X), function(X))


def test_the_option_reaches_loops_and_every_entry() -> None:
    def function(x: Any) -> Any:
        return eqsat.fori(3, lambda i, c: np.i0(c) + x, x)

    expected = X
    for _ in range(3):
        expected = np.i0(expected) + X
    for compiled in (eqsat.jit(function, fallback=True), eqsat.jit(fallback=True)(function), eqsat.jit(function, options=ON)):
        check(compiled(X), expected)
    check(eqsat.optimize(function, X, options=ON)(X), expected)
    assert eqsat.trace(function, X, fallback=True).steps


def test_lazy_tensors_go_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    x = enp.asarray(X)
    with pytest.raises(UnsupportedError, match="fallback"):
        np.poly(x[0])
    monkeypatch.setenv("EQSAT_FALLBACK", "1")
    check(np.asarray(np.poly(x[0] * 2) + 1), np.poly(X[0] * 2) + 1)
    check(eqsat.jit(lambda a: np.poly(a[0]))(X), np.poly(X[0]))


@pytest.mark.parametrize("name", LEFT_TO_NUMPY)
def test_without_the_option_nothing_is_called_that_is_no_row(name: str) -> None:
    try:
        program = eqsat.trace(LEFT_TO_NUMPY[name], X)
    except (UnsupportedError, AttributeError) as error:
        assert "fallback=True" in str(error)  # noqa: PT017  # what eqsat has by now is traced
    else:
        assert not any(step.invocation.function.startswith("numpy.") for step in program.steps if isinstance(step, HostCall))


REFUSED: dict[str, tuple[Function, type[Exception], str]] = {
    "nonzero": (lambda x: ANY.nonzero(x), UnsupportedError, "values"),
    "unique": (lambda x: ANY.unique(x), UnsupportedError, "values"),
    "a shape that examples disagree on": (lambda x: ANY.ix_(x[0] > 0), UnsupportedError, "several shapes"),
    "a function as an argument": (lambda x: ANY.pad(x, 1, mode=lambda *row: None), UnsupportedError, "a function"),
    "writing to arguments": (lambda x: ANY.copyto(x, 1), UnsupportedError, "copyto"),
    "writing to files": (lambda x: ANY.save("x.npy", x), UnsupportedError, "save"),
    "writing to a place": (lambda x: ANY.put_along_axis(x, np.zeros((1, 5), int), 0.0, 0), UnsupportedError, "belongs to the caller"),
    "out": (lambda x: ANY.gradient(ANY.ldexp(x, 2, out=x)), UnsupportedError, "out="),
    "values": (lambda x: x.tolist(), TraceError, "run time"),
    "out that is known": (lambda x: ANY.ldexp(x, 2, out=np.empty((4, 5))), UnsupportedError, "out="),
    "a keyword that nobody has": (lambda x: ANY.cov(x, weights=2), TypeError, "weights"),
    "a keyword that the mode lacks": (lambda x: ANY.pad(x, 1, end_value=2), UsageError, "pad: NumPy says"),
    "changing in place": (lambda x: ANY.nan_to_num(x, copy=False), UsageError, "read-only"),
    "filling an argument": (lambda x: x.fill(1), UnsupportedError, "found an argument"),
    "what NumPy refuses": (lambda x: ANY.polyfit(x[0], x[0], -1), UsageError, "polyfit: found deg = -1"),
    "the fallback of numpy.random": (lambda x: np.random.default_rng(0).permutation(x), TraceError, "run time"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_the_fallback_cannot_do_is_refused(what: str) -> None:
    function, error, text = REFUSED[what]
    with pytest.raises(error, match=text):
        eqsat.jit(function, fallback=True)(X)


def test_a_result_of_another_dtype_than_recorded_is_an_error_of_its_call() -> None:
    function = eqsat.jit(lambda z: np.real_if_close(z) * 2, fallback=True)
    real = np.array([1.0 + 0j, 2.0])
    check(function(real), np.array([2.0, 4.0]))
    with pytest.raises(UnsupportedError, match="real_if_close: found complex128"):
        function(real * 1j)
    check(function(real * 2), np.array([4.0, 8.0]))
