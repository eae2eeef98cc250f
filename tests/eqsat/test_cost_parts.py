"""The parts of a cost add up to the cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import eqsat
from eqsat.kernels.cost_parts import PART_KINDS, nest_parts, program_parts
from eqsat.pricing.cost_model import CostModel


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def siblings(x: Any) -> Any:
    return x.sum(axis=1), x.max(axis=1)


def in_strips(x: Any, w: Any) -> Any:
    return np.tanh(x @ w) @ w.T


def running(x: Any) -> Any:
    return np.cumsum(x, axis=1) * 2


def known(x: Any) -> Any:
    return x + np.arange(16, dtype=np.float32) ** 2


def picked(x: Any) -> Any:
    return np.take(x, x[:, 0].astype(np.int64), axis=1)


WIDE, SQUARE = eqsat.spec((64, 16), "float32"), eqsat.spec((16, 16), "float32")
PROGRAMS = [(softmax, (WIDE,)), (siblings, (WIDE,)), (in_strips, (WIDE, SQUARE)), (running, (WIDE,)), (known, (WIDE,)), (picked, (WIDE,))]


@pytest.mark.parametrize(("function", "specs"), PROGRAMS, ids=lambda value: getattr(value, "__name__", ""))
def test_the_parts_of_every_kernel_add_up_to_its_cost(function: Any, specs: tuple[eqsat.Spec, ...]) -> None:
    result = eqsat.optimize(function, *specs)
    model = CostModel(result.options.target)
    for cost, parts in (
        (result.cost, nest_parts(result.nests, model)),
        (result.original_cost, program_parts(result.original, model)),
    ):
        sums = [sum(ns for _, ns in kernel) for kernel in parts]
        assert sums == pytest.approx([ns for _, ns in cost.kernels[: len(parts)]])
        assert all([kind for kind, _ in kernel] == [kind for kind in PART_KINDS if kind in dict(kernel)] for kernel in parts)


def test_the_kinds_are_told_apart() -> None:
    result = eqsat.optimize(softmax, WIDE)
    kinds = {kind for kernel in nest_parts(result.nests, CostModel(result.options.target)) for kind, _ in kernel}
    assert {"launch", "memory", "stores", "arithmetic", "reductions"} <= kinds
