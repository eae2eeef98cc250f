"""Values made once: by how many threads they are asked for, what fails, what is dropped."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from eqsat.keeping.once import Once


def test_threads_that_ask_for_one_key_wait_for_one_value() -> None:
    once: Once[object] = Once()
    made: list[object] = []
    barrier = threading.Barrier(8)

    def make() -> object:
        time.sleep(0.02)
        made.append(object())
        return made[-1]

    def ask(_: int) -> object:
        barrier.wait()
        return once.get("key", make)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(ask, range(8)))
    assert len(made) == 1
    assert all(value is made[0] for value in found)


def test_other_keys_are_made_meanwhile() -> None:
    once: Once[str] = Once()
    inside, go = threading.Event(), threading.Event()

    def slow() -> str:
        inside.set()
        assert go.wait(10)
        return "slow"

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(once.get, "slow", slow)
        assert inside.wait(10)
        assert once.get("quick", lambda: "quick") == "quick"
        go.set()
        assert waiting.result() == "slow"


def test_what_fails_is_tried_again() -> None:
    once: Once[int] = Once()

    def fail() -> int:
        raise KeyError("no")

    for _ in range(2):
        with pytest.raises(KeyError):
            once.get("key", fail)
    assert len(once) == 0
    assert once.get("key", lambda: 1) == 1


def test_one_value_may_need_another() -> None:
    once: Once[int] = Once()
    assert once.get("outer", lambda: once.get("inner", lambda: 1) + 1) == 2


def test_the_least_recently_used_is_dropped() -> None:
    once: Once[int] = Once(capacity=2)
    for key in (1, 2, 1, 3):
        once.get(key, lambda key=key: key)  # type: ignore[misc]
    assert len(once) == 2
    assert once.get(1, lambda: 10) == 1
    assert once.get(2, lambda: 20) == 20
    once.clear()
    assert len(once) == 0
