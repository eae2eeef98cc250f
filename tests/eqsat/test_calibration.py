"""The target of this machine: measured plausibly, stored whole, used by options, and never believed where it makes no sense."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from eqsat import progress
from eqsat.cli import main
from eqsat.ir.errors import UsageError
from eqsat.pricing import calibration
from eqsat.pricing.calibration import cache_sizes, measure
from eqsat.pricing.local_target import FILE, forget_target, local_target, store_target, stored_target, target_of
from eqsat.pricing.target import DEFAULT_TARGET

SLOWER = replace(DEFAULT_TARGET, name="slower", ghz=1.5)


def test_what_is_measured_is_a_machine() -> None:
    told: list[str] = []
    found = measure(told.append)
    assert told
    assert 0.3 < found.ghz < 10
    assert 0.05 < found.gather_cycles < 100
    assert 0.05 < found.op_cycles < 20
    assert found.cache_bytes[:-1] == cache_sizes()[:-1]
    assert found.cache_bytes[-1] <= cache_sizes()[-1]  # others share it
    assert all(a < b for a, b in pairwise(found.cache_bytes))
    assert all(a <= b for a, b in pairwise(found.byte_ns))
    assert found.byte_ns[0] < found.byte_ns[-1] < 10
    assert found == target_of(json.loads(json.dumps(asdict(found))))


def test_what_is_stored_is_found_again_until_it_is_forgotten(tmp_path: Path) -> None:
    root = tmp_path / "new"
    assert stored_target(root) is None
    assert store_target(SLOWER, root) == root / FILE
    assert stored_target(root) == SLOWER
    assert [path.name for path in root.iterdir()] == [FILE]
    assert forget_target(root) == root / FILE
    assert (forget_target(root), stored_target(root)) == (None, None)


@pytest.mark.parametrize(
    "change",
    [
        {"ghz": 0.0},
        {"ghz": -1.0},
        {"ghz": "3"},
        {"ghz": float("nan")},
        {"name": 3},
        {"byte_ns": [0.1]},
        {"byte_ns": 0.1},
        {"cache_bytes": [1, 2, 3, 4]},
        {"cache_bytes": [49152.5, 1 << 20, 1 << 25]},
        {"cache_bytes": [1 << 20, 1 << 15, 1 << 25]},
        {"cache_bytes": [], "byte_ns": [0.1]},
        {"vector_bytes": 2},
        {"threads": True},
        {"threads": 2.5},
        {"more": 1},
    ],
)
def test_targets_that_make_no_sense_are_refused(change: dict[str, Any], tmp_path: Path) -> None:
    fields = {**json.loads(json.dumps(asdict(SLOWER))), **change}
    with pytest.raises(UsageError, match=r"^target: found .*expected"):
        target_of(fields)
    (tmp_path / FILE).write_text(json.dumps(fields))
    assert stored_target(tmp_path) is None


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "\0"])
def test_files_that_are_no_target_are_none(text: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(text)
    assert stored_target(tmp_path) is None


def name_in_a_new_process(**environment: str) -> str:
    command = [sys.executable, "-c", "import eqsat; print(eqsat.Options().target.name)"]
    return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=True).stdout.strip()


def test_options_use_what_is_stored_unless_told_otherwise(tmp_path: Path) -> None:
    store_target(SLOWER, tmp_path)
    assert name_in_a_new_process(EQSAT_CACHE_DIR=str(tmp_path)) == "slower"
    assert name_in_a_new_process(EQSAT_CACHE_DIR=str(tmp_path), EQSAT_TARGET="default") == DEFAULT_TARGET.name
    assert name_in_a_new_process(EQSAT_CACHE_DIR=str(tmp_path / "none")) == DEFAULT_TARGET.name


def test_the_command_measures_shows_and_forgets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EQSAT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(calibration, "SECONDS", 0.01)
    monkeypatch.setattr(progress, "DELAY", 0.01)
    monkeypatch.setenv("EQSAT_PROGRESS", "1")
    assert main(["calibrate"]) == 0
    output = capsys.readouterr()
    assert f"stored in {tmp_path / FILE}" in output.out
    assert "eqsat: measuring " in output.err
    stored = stored_target(tmp_path)
    assert stored is not None
    local_target.cache_clear()
    try:
        assert main(["calibrate", "--show", "--json"]) == 0
        assert target_of(json.loads(capsys.readouterr().out)) == stored
    finally:
        local_target.cache_clear()
    for said in (f"removed {tmp_path / FILE}", "nothing was stored"):
        assert main(["calibrate", "--forget"]) == 0
        assert said in capsys.readouterr().out


def test_bad_command_lines_and_folders_exit_with_2(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["calibrate", "--show", "--forget"])
    assert stopped.value.code == 2
    monkeypatch.setattr(calibration, "SECONDS", 0.001)
    monkeypatch.setenv("EQSAT_CACHE_DIR", os.devnull)
    assert main(["calibrate"]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("eqsat: ")
