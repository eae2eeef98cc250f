from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from eqsat.cli import main
from eqsat.command_line.beside_numpy import interleaved_medians
from eqsat.command_line.functions import load_function

SOURCE = """
import numpy as np

NOT_A_FUNCTION = 3


def softmax(x):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def add(x, y):
    return x + y


def two(x):
    return x + 1, x * 2


def branches(x):
    return x + 1 if x.sum() > 0 else x


def fails(x):
    raise RuntimeError("of its own\\naccord")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a user's module and arrays; timing is cut to a few rounds."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("eqsat.command_line.beside_numpy.interleaved_medians", lambda calls, budget: interleaved_medians(calls, 0.0))
    (tmp_path / "user.py").write_text(SOURCE)
    (tmp_path / "broken.py").write_text("import a_module_that_is_not_there\n")
    (tmp_path / "text.npy").write_text("no array")
    (tmp_path / "empty.npy").write_text("")
    random = np.random.default_rng(0)
    np.save(tmp_path / "a.npy", random.normal(size=(5, 7)).astype(np.float32))
    np.save(tmp_path / "b.npy", random.normal(size=(4, 3)).astype(np.float32))
    np.save(tmp_path / "dates.npy", np.zeros(3, "M8[s]"))
    np.save(tmp_path / "objects.npy", np.array([None, "a"], object), allow_pickle=True)
    with (tmp_path / "several.npy").open("wb") as file:
        np.savez(file, x=np.zeros(3), y=np.zeros(3))
    return tmp_path


def optimize(*words: str) -> int:
    return main(["optimize", *words])


def listing(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if "__pycache__" not in path.parts}


def test_a_function_of_ones_own_is_compared_with_numpy_and_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert optimize("user.py:softmax", "--input", "a.npy", "--out", "y") == 0
    shown = capsys.readouterr().out
    assert "user.py:softmax(float32[5, 7])" in shown
    assert all(word in shown for word in ("cost", "kernels", "rules", "deviation", "time", "NumPy"))
    x = np.load("a.npy")
    expected = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
    assert np.allclose(np.load("y"), expected, atol=1e-6)
    assert not list(folder.glob("*.part"))


def test_inputs_are_passed_in_order(folder: Path) -> None:
    np.save("c.npy", np.load("a.npy") * 10)
    (folder / "order.py").write_text("def minus(x, y):\n    return x - y\n")
    assert optimize("order.py:minus", "--input", "c.npy", "--input", "a.npy", "--out", "y.npy") == 0
    assert np.allclose(np.load("y.npy"), 9 * np.load("a.npy"), rtol=1e-5)


def test_a_module_may_be_named_with_dots() -> None:
    assert load_function("os.path:join").__name__ == "join"


def test_a_table_of_rules_can_be_left_out(folder: Path) -> None:
    assert optimize("user.py:softmax", "--input", "a.npy", "--no-rules", "identities") == 0


def test_every_stage_can_be_dumped(folder: Path) -> None:
    assert optimize("user.py:softmax", "--input", "a.npy", "--dump", "stages") == 0
    assert list((folder / "stages").iterdir())


@pytest.mark.parametrize(
    ("words", "mentioned"),
    [
        (["user.py:softmax", "--input", "missing.npy"], "missing.npy"),
        (["user.py:softmax", "--input", "text.npy"], "text.npy"),
        (["user.py:softmax", "--input", "empty.npy"], "empty.npy"),
        (["user.py:softmax", "--input", "objects.npy"], "objects.npy"),
        (["user.py:softmax", "--input", "several.npy"], "several.npy"),
        (["user.py:softmax", "--input", "."], "found ."),
        (["user.py:softmax", "--input", "dates.npy"], "datetime64"),
        (["user.py", "--input", "a.npy"], "MODULE:FUNCTION"),
        (["nowhere.py:f", "--input", "a.npy"], "nowhere.py"),
        (["no.such.module:f", "--input", "a.npy"], "no.such.module"),
        (["broken.py:f", "--input", "a.npy"], "a_module_that_is_not_there"),
        (["user.py:missing", "--input", "a.npy"], "missing"),
        (["user.py:NOT_A_FUNCTION", "--input", "a.npy"], "NOT_A_FUNCTION"),
        (["user.py:softmax", "--input", "a.npy", "--no-rules", "nonsense"], "nonsense"),
        (["user.py:add", "--input", "a.npy", "--input", "b.npy"], "(4, 3)"),
        (["user.py:add", "--input", "a.npy"], "argument"),
        (["user.py:branches", "--input", "a.npy"], "bool()"),
        (["user.py:fails", "--input", "a.npy"], "RuntimeError: of its own accord"),
        (["user.py:two", "--input", "a.npy"], "2 outputs"),
        (["user.py:softmax"], "--input"),
        (["user.py:softmax", "--input", "a.npy", "--colour", "red"], "--colour"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_told_in_one_line_with_status_two_and_nothing_written(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], mentioned: str
) -> None:
    before = listing(folder)
    assert status_of(lambda: optimize(*words, "--out", "y.npy")) == 2
    shown = capsys.readouterr()
    assert mentioned in shown.err
    assert shown.err.count("\n") == 1
    assert "Traceback" not in shown.err
    assert shown.out == ""
    assert listing(folder) == before


def test_an_output_folder_that_is_not_there_is_bad_input(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert optimize("user.py:softmax", "--input", "a.npy", "--out", "nowhere/y.npy") == 2
    assert "nowhere" in capsys.readouterr().err


def test_a_mismatch_writes_nothing_and_gives_status_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eqsat.command_line.beside_numpy.max_deviation", lambda value, reference, coarsest: (1.0, 1e-5))
    assert optimize("user.py:softmax", "--input", "a.npy", "--out", "y.npy") == 1
    assert not (folder / "y.npy").exists()


def test_the_module_runs_as_a_program(folder: Path) -> None:
    command = [sys.executable, "-m", "eqsat", "optimize", "user.py:softmax", "--input", "missing.npy"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "eqsat: --input: found no file missing.npy\n"


def status_of(call: Callable[[], int]) -> int:
    """The exit status, however the call ends (argparse leaves by SystemExit)."""
    try:
        return call()
    except SystemExit as stop:
        return int(stop.code or 0)
