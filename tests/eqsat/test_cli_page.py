"""docs/command_line.md shows what happens, and lists every key and variable."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eqsat.cli import main
from eqsat.command_line import bench, beside_numpy
from eqsat.command_line.beside_numpy import interleaved_medians

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "command_line.md").read_text()
COMMANDS = dict(re.findall(r"^\$ python -m eqsat (.*)\n((?:(?!\$ |```).*\n)*)", TEXT, re.MULTILINE))
# what differs from run to run, and with every rule that is added: numbers, their units, and the width of columns
NUMBERS = re.compile(r"\b\d[\d.]*(e[+-]\d+)?( ns| us| ms| s)?\b")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the page's program and an array."""
    (program,) = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    (tmp_path / "softmax.py").write_text(program)
    np.save(tmp_path / "a.npy", np.ones((1024, 64), np.float32))
    monkeypatch.chdir(tmp_path)
    for module in (bench, beside_numpy):
        monkeypatch.setattr(module, "interleaved_medians", lambda calls, budget: interleaved_medians(calls, 0.0, 1))
    monkeypatch.setenv("EQSAT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", [command for command in COMMANDS if command.startswith(("explain", "cost"))])
def test_what_the_page_shows_is_what_is_printed(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(shlex.split(command)) == 0
    printed = masked(capsys.readouterr().out)
    for part in COMMANDS[command].split("...\n"):
        assert masked(part) in printed


def masked(text: str) -> str:
    return re.sub(" +", " ", NUMBERS.sub("#", text))


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", [*COMMANDS, "cache", "cache clear", "calibrate --show"])
def test_commands_of_the_page_run_and_their_keys_are_listed(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*shlex.split(command), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    if "calibrate" not in command:
        assert {key for key in keys(found) if f"`{key}`" not in TEXT} == set()


# mappings whose keys are names of the user's
BY_NAME = {"sizes", "deviations", "median_seconds", "rules", "kinds"}


def keys(value: Any) -> Iterator[str]:
    """Every key of nested values, but those that are names."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from keys(list(inner.values()) if key in BY_NAME and isinstance(inner, dict) else inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner)


def test_every_variable_of_the_environment_is_listed() -> None:
    sources = [path for folder in ("eqsat", "ir", "lowering", "codegen") for path in (ROOT / folder).rglob("*.py")]
    used = {name for path in sources for name in re.findall(r"EQSAT_[A-Z_]+", path.read_text())}
    assert used == set(re.findall(r"^\| (EQSAT_[A-Z_]+) \|", TEXT, re.MULTILINE))
