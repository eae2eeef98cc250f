"""The search for the cheapest program: its effort is bounded, and what it found by then is an answer."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.extraction import extract
from eqsat.extraction.kernel_choice import Effort, KernelChoices
from eqsat.ir.loops import Fold, For, statements
from tests.effort import THOROUGH

STEPS = 4 if THOROUGH else 3
A, H = np.array([[1, 0.1], [0, 1]]), np.array([[1.0, 0.0]])


def kalman(z: Any) -> Any:
    """An unrolled filter: every step is made of the one before several times over."""
    x, p, found = enp.zeros((2, 1)), enp.eye(2), []
    for k in range(STEPS):
        x, p = A @ x, A @ p @ A.T + 0.01 * np.eye(2)
        gain = p @ H.T / (H @ p @ H.T + 0.5)
        x, p = x + gain @ (z[k] - H @ x), (np.eye(2) - gain @ H) @ p
        found.append(x[:, 0])
    return enp.stack(found)


@pytest.mark.parametrize("priced", [0.0, 0.02, 2.0])
def test_a_search_that_has_priced_enough_ends_with_what_it_has(priced: float, monkeypatch: pytest.MonkeyPatch) -> None:
    efforts: list[Effort] = []

    def made(classes: Any, order: Any, start: Any, effort: Effort) -> KernelChoices:
        efforts.append(effort)
        return KernelChoices(classes, order, start, effort=effort)

    monkeypatch.setattr("eqsat.extraction.cheapest.PRICED", priced)
    monkeypatch.setattr(extract, "KernelChoices", made)
    z = np.random.default_rng(0).standard_normal(STEPS)
    result = eqsat.optimize(kalman, z, options=eqsat.Options(cache=False))
    np.testing.assert_allclose(result(z), np.asarray(kalman(enp.asarray(z))), rtol=1e-12)
    assert float(result.cost) <= float(result.original_cost)
    # one program is priced whatever the budget is, and the move that exceeds it is finished
    assert all(effort.priced < effort.most + 2500 for effort in efforts)
    assert all(effort.is_spent for effort in efforts) == (priced < 1)


@pytest.mark.parametrize("numerics", ["exact", "default", "fast"])
def test_of_two_reads_that_cost_the_same_that_of_a_stored_tensor_is_tried(numerics: Any) -> None:
    """Points read along a product's terms cost what turned ones do, but only of these the product is in tiles, with what follows in it."""

    def distances(x: Any, c: Any) -> Any:
        return enp.sum(c * c, axis=1) - 2.0 * (x @ c.T)

    result = eqsat.optimize(
        distances, eqsat.spec((2003, 17), "float32"), eqsat.spec((33, 17), "float32"), options=eqsat.Options(numerics=numerics)
    )
    assert len(result.nests) == 3
    assert float(result.cost) < 0.8 * float(result.original_cost)


@pytest.mark.parametrize(
    ("function", "builds"),
    [
        (lambda x: x.sum(axis=0) - x.sum(axis=1), 2),
        (lambda x: x.max(axis=0) * x.sum(axis=1) - x.min(axis=0), 2),
        (lambda x: (x * x).sum(axis=1) - x.mean(axis=1), 1),
        (lambda x: x.sum(axis=0) - (x * x).sum(axis=0), 1),
        (lambda x: x[:4].sum(axis=0) - x[:, :4].sum(axis=1), 1),
    ],
)
def test_folds_along_rows_and_along_columns_are_builds_of_their_own(function: Any, builds: int) -> None:
    """Vectors of a kernel go one way: what lies the other way is read element by element."""
    result = eqsat.optimize(function, eqsat.spec((300, 300), "float64"))
    assert sum(len(nest.made) for nest in result.nests) == builds
    x = np.random.default_rng(0).standard_normal((300, 300))
    np.testing.assert_allclose(result(x), function(x), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("inside", [(-1,), (8, 14, 14)])
def test_what_groups_of_an_axis_share_is_computed_once_for_each(inside: tuple[int, ...]) -> None:
    """Groups of channels, which a reshape makes and takes back: their means vary with channel // 8 only."""

    def normalized(x: Any, g: Any) -> Any:
        y = np.reshape(x, (4, 8, *inside))
        axes = tuple(range(2, 2 + len(inside)))
        centred = y - y.mean(axis=axes, keepdims=True)
        y = centred / np.sqrt((centred * centred).mean(axis=axes, keepdims=True) + 1e-5)
        return np.reshape(y, x.shape) * g[:, None, None]

    specs = eqsat.spec((4, 64, 14, 14), "float32"), eqsat.spec((64,), "float32")
    result = eqsat.optimize(normalized, *specs)
    assert len(result.nests) == 1
    loops = [stmt for stmt in statements(result.loops[0].body) if isinstance(stmt, For | Fold)]
    around = [stmt.variable.extent for stmt in loops if any(isinstance(inner, Fold) for inner in statements(stmt.body))]
    assert math.prod(around) == 4 * 8
    x, g = (np.random.default_rng(3).standard_normal(shape).astype("float32") for shape in ((4, 64, 14, 14), (64,)))
    np.testing.assert_allclose(result(x, g), normalized(x, g), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(
    ("function", "count"),
    [
        (lambda x: np.maximum(x, -x) * 2, 1),
        (lambda x: 1 / (np.maximum(x - 1, 1 - x) + 1), 1),
        (lambda x: np.maximum(x[1:] - x[:-1], x[:-1] - x[1:]).sum() + np.maximum(x[:, 1:] - x[:, :-1], x[:, :-1] - x[:, 1:]).sum(), 2),
    ],
)
def test_an_offer_is_taken_within_a_kernel(function: Any, count: int) -> None:
    """Where what it computes is not worth storing."""
    x = np.random.default_rng(1).standard_normal((40, 50))
    result = eqsat.optimize(function, x)
    assert len(result.nests) == 1
    assert str(result.program).count("absolute") == count
    assert "maximum" not in str(result.program)
    np.testing.assert_allclose(result(x), function(x), rtol=1e-12)


def smoothed(x: Any) -> Any:
    """Steps of a loop of Python, each made of the one before, all of them results."""
    h, found = x[:, 0], [x[:, 0]]
    for k in range(1, x.shape[1]):
        h = 0.9 * h + 0.1 * x[:, k]
        found.append(h)
    return enp.stack(found, axis=1)


def test_what_loops_of_python_write_out_is_searched_in_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """One by one every step would price all the others."""
    seen: list[extract.Selection | None] = []
    found = extract._selection

    def looked_at(choices: KernelChoices, outputs: tuple[int, ...]) -> extract.Selection | None:
        seen.append(found(choices, outputs))
        return seen[-1]

    monkeypatch.setattr(extract, "_selection", looked_at)
    x, counts = np.random.default_rng(2).standard_normal((30, 80)), []
    for together in (extract.TOGETHER, 1000):
        monkeypatch.setattr(extract, "TOGETHER", together)
        seen.clear()
        result = eqsat.optimize(smoothed, x, options=eqsat.Options(cache=False))
        np.testing.assert_allclose(result(x), np.asarray(smoothed(enp.asarray(x))), rtol=1e-12)
        counts.append((len(result.nests), len(seen)))
    (kernels, few), (others, many) = counts
    assert kernels == others == 1
    assert few < 40 < 80 < many
