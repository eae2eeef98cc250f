"""Collections of garbage stop while eqsat optimizes, and begin again."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator

import pytest

import eqsat
from eqsat.gc_pause import uncollected


@pytest.fixture(autouse=True)
def collections_as_they_were() -> Iterator[None]:
    before = gc.isenabled()
    gc.enable()
    yield
    gc.enable() if before else gc.disable()


def test_nothing_is_collected_inside() -> None:
    with uncollected():
        assert not gc.isenabled()
        with uncollected():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_process_that_collects_nothing_stays_so() -> None:
    gc.disable()
    with uncollected():
        pass
    assert not gc.isenabled()


def test_the_last_of_several_threads_lets_them_begin_again() -> None:
    inside, leave = threading.Event(), threading.Event()

    def work() -> None:
        with uncollected():
            inside.set()
            leave.wait()

    thread = threading.Thread(target=work)
    with uncollected():
        thread.start()
        inside.wait()
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()


def test_errors_let_them_begin_again() -> None:
    with pytest.raises(eqsat.EqsatError):
        eqsat.optimize(lambda x: x.no_such_method(), eqsat.spec((3,), "float32"))
    eqsat.optimize(lambda x: x + 1.0, eqsat.spec((3,), "float32"))
    eqsat.simplify(eqsat.parse_index("(x * 4 + 1) // 4", {"x": (0, 9)}))
    assert gc.isenabled()


def test_what_is_optimized_starts_no_collection() -> None:
    started: list[str] = []

    def note(phase: str, _: dict[str, int]) -> None:
        started.append(phase)

    gc.callbacks.append(note)
    try:
        program = eqsat.trace(lambda x, y: (x @ y + x).sum(axis=0), *[eqsat.spec((20, 20), "float32")] * 2)
        with uncollected():
            started.clear()
            eqsat.optimize(program, options=eqsat.Options(cache=False))
            assert not started
    finally:
        gc.callbacks.remove(note)
