"""Costs kernel by kernel: they are those of the result, and their parts say what they are spent on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import eqsat
from eqsat.costs_in_tests.kernels import cost_snapshot, kernel_costs
from eqsat.costs_in_tests.snapshots import fields_of, snapshot_of
from eqsat.ir.errors import UsageError
from eqsat.testing import assert_cheaper, assert_kernels, measure, reproducible

S = eqsat.spec((64, 64), "float32")


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def activated(a: Any, b: Any) -> Any:
    return np.tanh(a @ b) @ b, (a + 1).sum()


def stepped(x: Any) -> Any:
    return eqsat.fori(3, lambda i, c: np.sin(c) + np.cumsum(x, axis=0), np.sort(x, axis=0))


PROGRAMS: tuple[tuple[Callable[..., Any], tuple[Any, ...]], ...] = (
    (softmax, (eqsat.spec((256, 1024), "float32"),)),  # in strips
    (activated, (S, S)),
    (stepped, (S,)),
    (lambda x: np.cumsum(np.exp(x), axis=1) * 2, (S,)),
    (lambda x: np.exp(x).sum() * 2, (eqsat.spec((1 << 22,), "float32"),)),  # in parts
    (lambda x: np.exp(x) / 2 + x.sum(), (eqsat.spec((eqsat.dim("n", 1, 4096), 64), "float32"),)),
    (lambda x: np.take(x, np.argsort(x)), (eqsat.spec((800,), "float64"),)),
    (lambda x: x + np.linspace(0, 1, 64, dtype="float32"), (S,)),
    (lambda x, y: np.abs(x @ y), (eqsat.spec((96, 96), "complex64"),) * 2),  # in real parts
)


@pytest.mark.parametrize(("function", "specs"), PROGRAMS)
def test_parts_add_up_to_kernels_and_kernels_to_the_cost(function: Callable[..., Any], specs: tuple[Any, ...]) -> None:
    result = eqsat.optimize(function, *specs, options=reproducible(None))
    kernels = kernel_costs(result)
    assert [(kernel.name, kernel.ns) for kernel in kernels] == [(name, round(ns, 3)) for name, ns in result.cost.breakdown()]
    for kernel in kernels:
        assert not kernel.parts or sum(kernel.parts.values()) == pytest.approx(kernel.ns, abs=0.01)
    listing = str(result.program)
    assert all(f"  {name}: " in listing for kernel in kernels for name in kernel.makes)
    assert all(kernel.makes for kernel in kernels)
    snapshot = cost_snapshot(result)
    assert snapshot_of(fields_of(snapshot)) == snapshot


def test_parts_name_loads_operations_folds_and_stores() -> None:
    (kernel,) = kernel_costs(eqsat.optimize(softmax, eqsat.spec((4, 64), "float32"), options=reproducible(None)))
    assert {"launch", "load x", "move x", "exp", "divide", "subtract", "store t0", "max(r0: 64, x[i0, r0])"} <= set(kernel.parts)


def test_parts_name_sizes_and_index_operations() -> None:
    (_, (spec,)) = PROGRAMS[5]
    (kernel,) = kernel_costs(eqsat.optimize(PROGRAMS[5][0], spec, options=reproducible(None)))
    assert any("sum(r0: n, " in part for part in kernel.parts)
    reshaped = eqsat.optimize(lambda x: x.T.reshape(32, 128)[:, ::3], S, options=reproducible(None))
    assert any(part.startswith("index ") and "//" in part for kernel in kernel_costs(reshaped) for part in kernel.parts)


def test_an_index_expression_is_one_kernel_of_its_operations() -> None:
    x, y = eqsat.var("x", 0, 999), eqsat.var("y", 0, 7)
    result = eqsat.optimize((x * 8 + y) // 8 * y % 5)
    (kernel,) = kernel_costs(result)
    assert kernel.name == str(result.expr) in kernel.parts
    assert sum(kernel.parts.values()) == pytest.approx(float(result.cost), abs=0.01)


def test_measuring_takes_the_default_target_and_refuses_the_clock() -> None:
    result, fields = measure(softmax, S)
    assert fields["target"] == result.options.target.name == eqsat.DEFAULT_TARGET.name
    mine = eqsat.Options(target=eqsat.Target(**{**vars(eqsat.DEFAULT_TARGET), "name": "mine", "launch_ns": 1.0}))
    assert measure(softmax, S, options=mine)[1]["target"] == "mine"
    for options in (eqsat.Options(tune=1.0), eqsat.Options(limits=eqsat.Limits(seconds=1.0))):
        with pytest.raises(UsageError, match=r"found tune or limits\.seconds, expected neither"):
            measure(softmax, S, options=options)


def test_assert_kernels_counts_kernels_and_looks_into_them() -> None:
    result = eqsat.optimize(activated, S, S)
    assert_kernels(result, 3)
    assert_kernels(activated, [r"tanh\(sum", r"\+ 1\.0", r"sum\(r0: 64, t0"], S, S)
    assert_kernels(result, "tanh")
    assert_kernels(stepped, ["cumulative_sum", "3 times", "sort"], S)
    for expected, message in (
        (2, r"3 kernels, expected 2; found\n  kernel_0  [\d,]+ ns\n    t0: float32\[64, 64\] = build"),
        ("exp", r"no kernel with 'exp'; found\n  kernel_0"),
        (["tanh", "sum"], r"3 kernels, expected 2; found"),
        (["sum", "tanh", "sum"], r"kernel_1 without 'tanh'; found"),
    ):
        with pytest.raises(AssertionError, match=message):
            assert_kernels(result, expected)
    with pytest.raises(UsageError, match="found an index expression, expected a program"):
        assert_kernels(eqsat.var("x", 0, 9), 1)


def test_assert_cheaper_lists_the_kernels_of_what_is_too_dear() -> None:
    with pytest.raises(AssertionError, match=r"is not below 1 \* 1\.0 ns; its kernels:\n  kernel_0  [\d,]+ ns\n    t0: "):
        assert_cheaper(eqsat.optimize(softmax, S), 1.0)
