"""Loop nests chosen by measuring them: right, no slower as far as was measured, in time, and kept."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import eqsat
from eqsat.ir.errors import UsageError
from eqsat.ir.loops import Kernel
from eqsat.kernels import tuning
from eqsat.kernels.tuning import Tuner
from eqsat.lowering import hoist
from eqsat.lowering.schedule import Schedule
from eqsat.report import Report

RNG = np.random.default_rng(2)
PROGRAMS: dict[str, tuple[Any, tuple[tuple[int, ...], ...]]] = {
    "product": (lambda a, b: a @ b, ((30, 40), (40, 50))),
    "transpose": (lambda a, b: a.T + b, ((48, 64), (64, 48))),
    "columns": (lambda a: (a * a).sum(axis=0), ((60, 70),)),
    "softmax": (lambda a: np.exp(a) / np.exp(a).sum(axis=1, keepdims=True), ((20, 50),)),
    "two results": (lambda a, b: (a + b, a * b), ((20, 50), (20, 50))),
}


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EQSAT_CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[Kernel]:
    """The loop nests that are measured; each takes as long as its text is, so that the choice is known."""
    seen: list[Kernel] = []

    def length(kernel: Kernel, options: eqsat.Options) -> float:
        del options
        seen.append(kernel)
        return float(len(str(kernel)))

    monkeypatch.setattr(tuning, "measured_ns", length)
    return seen


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("numerics", ["exact", "default"])
def test_tuned_programs_compute_the_same(name: str, numerics: Any) -> None:
    function, shapes = PROGRAMS[name]
    arrays = [RNG.integers(1, 5, shape).astype(np.float32) for shape in shapes]
    found = eqsat.optimize(function, *arrays, options=eqsat.Options(tune=1.0, numerics=numerics))(*arrays)
    for one, other in zip(*(value if isinstance(value, tuple) else (value,) for value in (found, function(*arrays))), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_the_search_goes_on_from_the_fastest(measured: list[Kernel], monkeypatch: pytest.MonkeyPatch) -> None:
    function, shapes = PROGRAMS["product"]

    def search() -> Any:
        measured.clear()
        return eqsat.optimize(function, *(eqsat.spec(shape, "float32") for shape in shapes), options=eqsat.Options(tune=60))

    (nest,) = search().nests
    assert len(set(measured)) == len(measured)
    chosen = next(kernel for kernel in measured if hoist(kernel).body == nest.kernel.body)
    assert len(str(chosen)) <= min(len(str(kernel)) for kernel in measured) / tuning.BELIEVED
    count = len(measured)
    monkeypatch.setattr(Schedule, "neighbours", lambda self: iter(()))
    search()
    assert 0 < len(measured) < count


def test_without_time_nothing_is_measured_and_the_estimate_stands(measured: list[Kernel]) -> None:
    for seconds in (0, 1e-9):
        eqsat.optimize(lambda a: a.sum(axis=0), eqsat.spec((60, 70), "float32"), options=eqsat.Options(tune=seconds))
    assert not measured


def test_it_ends_in_time() -> None:
    start = time.perf_counter()
    tuner = Tuner(eqsat.Options(tune=0.3), Report())
    assert tuner.end - start < 0.4
    eqsat.optimize(PROGRAMS["product"][0], *(eqsat.spec(s, "float32") for s in PROGRAMS["product"][1]), options=eqsat.Options(tune=0.3))
    assert time.perf_counter() - start < 10


@pytest.mark.usefixtures("kept")
def test_what_was_found_is_kept(measured: list[Kernel]) -> None:
    def loops() -> str:
        specs = (eqsat.spec(s, "float32") for s in PROGRAMS["product"][1])
        return str(eqsat.optimize(PROGRAMS["product"][0], *specs, options=eqsat.Options(tune=60, cache=True)).loops)

    first, count = loops(), len(measured)
    assert count
    assert loops() == first
    assert len(measured) == count


@pytest.mark.parametrize("wrong", [-1, float("nan"), float("inf"), "3", True])
def test_seconds_that_are_none_are_refused(wrong: Any) -> None:
    with pytest.raises(UsageError, match=r"Options.tune: found .*, expected seconds"):
        eqsat.Options(tune=wrong)
