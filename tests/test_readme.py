"""What README.md prints is what happens."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

TEXT = (Path(__file__).parent.parent / "README.md").read_text()
COMMANDS = (
    "python3 -m venv .venv && .venv/bin/pip install -q -e '.[demo,test]' && .venv/bin/python -m eqsat",
    ".venv/bin/python -m pytest -q -n auto --dist worksteal",
)
MOST_LINES = 12


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def test_the_example_prints_what_the_readme_says() -> None:
    (example,), (expected,) = blocks("python"), blocks("text")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(example, "README.md", "exec"), {"__name__": "__main__"})
    assert printed.getvalue() == expected


def test_the_example_is_short() -> None:
    (example,) = blocks("python")
    assert len([line for line in example.splitlines() if line.strip()]) <= MOST_LINES


def test_the_two_commands_stand_in_blocks_of_their_own() -> None:
    found = [block.strip() for block in blocks("sh")]
    assert all(command in found for command in COMMANDS)
