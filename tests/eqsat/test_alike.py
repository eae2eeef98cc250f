"""Kernels that are found once for builds that do the same with other tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.ir.loops import Fold, Let, renamed, statements
from eqsat.ir.loops_check import check_kernel
from eqsat.kernels import picking as kernels
from eqsat.kernels.alike import Alike
from eqsat.lowering import candidates

X = np.linspace(-1, 1, 96 * 64, dtype=np.float32).reshape(96, 64)
WEIGHTS = [np.linspace(-k, 1, 64 * 64, dtype=np.float32).reshape(64, 64) / 64 for k in range(1, 6)]


def layers(x: Any, weights: Any) -> Any:
    for w in weights:
        e = enp.exp(x @ w - enp.max(x @ w, axis=1, keepdims=True))
        x = x + e / enp.sum(e, axis=1, keepdims=True)
    return x


def stencils(x: Any) -> Any:
    """Chains in strips, twice the same."""
    for _ in range(2):
        p = enp.pad(x, 2, mode="edge")
        rows = p[:-4] + p[1:-3] + p[2:-2] + p[3:-1] + p[4:]
        x = enp.sqrt(enp.abs(rows[:, :-4] + rows[:, 1:-3] + rows[:, 2:-2] + rows[:, 3:-1] + rows[:, 4:]))
        x = x / enp.sum(x)
    return x


@pytest.mark.parametrize("name", ["layers", "stencils"])
def test_programs_are_what_they_are_without_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given: tuple[Any, ...] = (X, WEIGHTS) if name == "layers" else (np.random.default_rng(0).random((256, 256), np.float32),)
    program = eqsat.trace(layers if name == "layers" else stencils, *given)
    found = eqsat.optimize(program)
    monkeypatch.setattr(Alike, "find", lambda *_: None)
    monkeypatch.setattr(Alike, "first", lambda self, groups: list(groups))
    without = eqsat.optimize(program)
    arrays = (X, *WEIGHTS) if name == "layers" else given
    # one term among equally cheap ones may be another, for others are simplified with it
    assert [kernel.buffers for kernel in found.loops] == [kernel.buffers for kernel in without.loops]
    assert float(found.cost) == pytest.approx(float(without.cost), rel=1e-3)
    np.testing.assert_array_equal(found(*arrays), without(*arrays))


def test_layers_that_are_alike_are_lowered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []

    def counted(*args: Any) -> Any:
        counts.append(1)
        return candidates(*args)

    monkeypatch.setattr(kernels, "candidates", counted)
    eqsat.optimize(eqsat.trace(layers, X[:16], WEIGHTS[:3]))
    three = len(counts)
    counts.clear()
    eqsat.optimize(eqsat.trace(layers, X[:16], WEIGHTS))
    assert len(counts) == three


def test_names_that_a_kernel_has_already_are_not_given_to_its_buffers() -> None:
    (kernel,) = eqsat.optimize(lambda x: enp.exp(x).sum(axis=1), X).loops
    own = next(stmt.name for stmt in statements(kernel.body) if isinstance(stmt, Let | Fold))
    names = [buffer.name for buffer in kernel.buffers]
    other = renamed(kernel, dict(zip(names, "abcdef", strict=False)))
    assert other is not None
    check_kernel(other)
    assert [buffer.name for buffer in other.buffers] == list("abcdef"[: len(names)])
    again = renamed(other, dict(zip("abcdef", names, strict=False)))
    assert str(again) == str(kernel)
    assert renamed(kernel, {**{name: name for name in names}, names[0]: own}) is None


def test_parameters_may_be_called_as_kernels_call_what_they_compute() -> None:
    (kernel,) = eqsat.optimize(lambda x: enp.exp(x).sum(axis=1), X).loops
    own = sorted({stmt.name for stmt in statements(kernel.body) if isinstance(stmt, Let | Fold)})[0]
    scope: dict[str, Any] = {"enp": enp}
    exec(f"def function(x, {own}): return enp.exp(x).sum(axis=1), enp.exp({own}).sum(axis=1)", scope)
    one, other = eqsat.optimize(scope["function"], X, X * 2)(X, X * 2)
    np.testing.assert_allclose(one, np.exp(X).sum(axis=1), rtol=1e-5)
    np.testing.assert_allclose(other, np.exp(X * 2).sum(axis=1), rtol=1e-5)
