"""The same input gives the same program, cost, counts, loop nests and code, in this process and in every other."""

from __future__ import annotations

import difflib
import os
import subprocess
import sys
from typing import Any

import pytest

import eqsat
from eqsat.egraph.engine import Engine
from tests.effort import thorough
from tests.eqsat.digest import PROGRAMS, TERMS

AGAIN = """
from tests.eqsat.digest import lines
for _ in range(2):
    print("\\n".join(lines(matches=False)), end="\\0")
"""


def printed(seed: str, *program: str) -> str:
    """What tests/eqsat/digest.py, or another program, prints in a process with this hash seed."""
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    command = [sys.executable, *(program or ("-m", "tests.eqsat.digest"))]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def assert_same_text(first: str, second: str) -> None:
    different = list(difflib.unified_diff(first.splitlines(), second.splitlines(), lineterm="", n=1))
    assert not different, "\n".join(different[:20])


@pytest.fixture(scope="module")
def text() -> str:
    return printed("0")


def test_the_text_holds_every_stage(text: str) -> None:
    for function, _ in PROGRAMS:
        assert f"== {function.__name__}\n" in text
    assert text.count("define ") >= len(PROGRAMS)
    assert text.count("kernel kernel_0") == len(PROGRAMS)
    assert len(text.split("== index terms\n")[1].splitlines()) == 2 * TERMS


@pytest.mark.slow
def test_a_process_with_another_hash_seed_gives_the_same_text(text: str) -> None:
    assert_same_text(text, printed("4242"))


@thorough
@pytest.mark.slow
def test_what_ran_before_changes_no_result() -> None:
    """How often rows matched may differ, and so the steps and nodes on the way: egglog's numbers for classes grow, and with them the order
    of its tables.  In a process of its own, so that what ran before is the same each time."""
    first, second, _ = printed("0", "-c", AGAIN).split("\0")
    assert_same_text(first, second)


def test_a_session_that_grew_large_is_no_burden_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of tables that are only emptied every later session looks at what is left of their rows."""
    seen: list[str] = []
    run_text = Engine.run_text

    def noted(engine: Engine, text: str) -> list[Any]:
        seen.append(text)
        return run_text(engine, text)

    monkeypatch.setattr(Engine, "run_text", noted)
    x = eqsat.var("x", 0, 63)
    for worn, expected in ((0, "(pop) (push)"), (10**9, "(run clear 1)")):
        monkeypatch.setattr("eqsat.egraph.engine.WORN", worn)
        monkeypatch.setattr("eqsat.egraph.engine.SESSIONS_PER_POP", 10**9)
        assert str(eqsat.simplify((x // 8) * 8 + x % 8, eqsat.Options(cache=False))) == "x"
        assert seen[-1] == expected
