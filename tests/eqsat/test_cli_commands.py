"""The commands explain, cost, bench and cache: help, text for readers, JSON for scripts, and bad input in one line."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import eqsat
from eqsat import cli
from eqsat.cli import COMMANDS, main
from eqsat.command_line import bench
from eqsat.command_line.beside_numpy import interleaved_medians
from eqsat.command_line.functions import load_function
from eqsat.keeping.disk import Store
from eqsat.keeping.kept import default_store
from eqsat.pricing.local_target import store_target
from eqsat.pricing.target import DEFAULT_TARGET
from eqsat.report import Report

SOURCE = """
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import eqsat


@dataclass
class Scale:
    factor: float = 2.0


def softmax(x):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def careless(x):
    e = np.exp(x)
    return e / np.sum(e, axis=1, keepdims=True)


def outer(x, y):
    return x[:, None] * y


def scaled(x):
    print("said by the function")
    return x * Scale().factor


def ordered(x):
    return np.sort(x)


def repeated(x):
    return eqsat.fori(3, lambda i, y: y * 2 + 1, x)


def fails(x):
    raise RuntimeError("of its own\\naccord")


def logarithm(x):
    return np.log(x)


def other_shape(x):
    return x[:1]
"""
SOFTMAX = ("user.py:softmax", "--spec", "float32[8,6]")
EXPRESSION = ("(x // 8) * 8 + x % 8", "--var", "x=0:31")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a user's module and arrays."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(bench, "interleaved_medians", lambda calls, budget: interleaved_medians(calls, 0.0, 1))
    (tmp_path / "user.py").write_text(SOURCE)
    (tmp_path / "exits.py").write_text("import sys\nsys.exit(3)\n")
    np.save(tmp_path / "a.npy", np.ones((8, 6), np.float32))
    return tmp_path


@pytest.fixture
def shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What a command prints, which has to end well and say nothing on standard error."""

    def run(*words: str, status: int = 0) -> str:
        assert main(words) == status
        output = capsys.readouterr()
        assert output.err == ""
        return output.out

    return run


@pytest.fixture
def parsed(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """The values of a command's JSON."""

    def run(*words: str, status: int = 0) -> Any:
        assert main([*words, "--json"]) == status
        return json.loads(capsys.readouterr().out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))

    return run


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([command, "--help"])
    assert stopped.value.code == 0
    text = capsys.readouterr().out
    assert f"  python -m eqsat {command}" in text.partition("example")[2]
    assert "--json" in text


def test_the_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    text = capsys.readouterr().out
    assert all(f"    {command}" in text for command in COMMANDS)


def test_an_expression_is_explained(shown: Callable[..., str]) -> None:
    text = shown("explain", *EXPRESSION)
    assert "\n  result      x\n" in text
    assert "x // 8 * 8 + x % 8  =  x" in text
    assert all(word in text for word in ("cost", "saturation", "rules", "div-mod-identity", "identities"))


def test_an_expression_is_explained_to_scripts(parsed: Callable[..., Any]) -> None:
    found = parsed("explain", "(x // 8) * 8 + x % 8 + y % 4", "--var", "x=0:31", "--var", "y=0:5")
    assert set(found) == {"subject", "kind", "target", "sizes", "before", "after", "report", "steps", "missing"}
    assert (found["kind"], found["after"]["text"], found["sizes"]) == ("index", "y % 4 + x", {})
    assert 0 < found["after"]["total_ns"] < found["before"]["total_ns"]
    assert found["steps"][-1]["whole"] == "y % 4 + x"
    assert "div-mod-identity" in found["steps"][-1]["rules"]
    rules = {rule["name"]: rule for rule in found["report"]["rules"]}
    assert rules["div-mod-identity"] == {"name": "div-mod-identity", "table": "identities", "matches": 1}
    assert found["report"]["stop_reason"] == "saturated"
    miss = next(miss for miss in found["missing"] if miss["rule"] == "mod-in-range")
    assert miss == {"term": "y % 4", "rule": "mod-in-range", "guard": "x < y", "needed": "y < 4", "short_by": 2}


def test_conditions_hold_for_one_command_only(parsed: Callable[..., Any]) -> None:
    words = ("explain", "n // 4 * 4", "--var", "n=0:100")
    assert parsed(*words, "--assume", "n % 4 == 0")["after"]["text"] == "n"
    assert parsed(*words)["after"]["text"] != "n"


def test_a_function_is_explained(shown: Callable[..., str]) -> None:
    text = shown("explain", *SOFTMAX)
    assert text.startswith("user.py:softmax(float32[8, 6])\n  kernels     5 -> 1\n")
    assert all(word in text for word in ("kernels as written", "kernels that were chosen", "read-of-build", "build (i0: 8, i1: 6)"))
    assert "define void" not in text


def test_the_stages_that_are_asked_for_are_shown(shown: Callable[..., str]) -> None:
    text = shown("explain", *SOFTMAX, "--loops", "--llvm", "--asm")
    loops, llvm, asm = (text.index(word) for word in ("\nloops\nkernel kernel_0(", "\nllvm\n", "\nasm\n"))
    assert loops < llvm < text.index("define void") < asm < text.index(".globl")


def test_a_function_is_explained_to_scripts(parsed: Callable[..., Any]) -> None:
    found = parsed("explain", *SOFTMAX, "--loops", "--target", "default")
    assert set(found) == {"subject", "kind", "target", "sizes", "before", "after", "report", "loops", "steps"}
    result = eqsat.optimize(load_function("user.py:softmax"), eqsat.spec((8, 6), "float32"), options=eqsat.Options(target=DEFAULT_TARGET))
    assert found["after"]["total_ns"] == float(result.cost)
    assert found["before"]["total_ns"] == float(result.original_cost)
    assert [kernel["name"] for kernel in found["before"]["kernels"]] == [name for name, _ in result.original_cost.breakdown()]
    assert [kernel["makes"] for kernel in found["after"]["kernels"]] == ["float32[8, 6]"]
    assert sum(kernel["ns"] for kernel in found["before"]["kernels"]) == pytest.approx(found["before"]["total_ns"])
    assert [step["rules"] for step in found["steps"]] == [list(step.rows) for step in result.steps]
    assert found["after"]["text"] == str(result.program)
    assert found["loops"] == "\n\n".join(map(str, result.loops))
    matches = {rule["name"]: rule["matches"] for rule in found["report"]["rules"]}
    assert matches == result.report.fired
    assert found["report"]["rested"] == sorted(result.report.rested)


def test_rules_that_rested_are_told(shown: Callable[..., str], parsed: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    assert "matched too often" not in shown("explain", "x // 8 * 8 + x % 8", "--var", "x=0:31")
    monkeypatch.setattr(Report, "rested", property(lambda report: {"div-mod-identity"}, lambda report, names: None), raising=False)
    text = shown("explain", "x // 8 * 8 + x % 8", "--var", "x=0:31")
    assert re.search(r"div-mod-identity .* rested\n", text)
    assert parsed("explain", "x // 8 * 8 + x % 8", "--var", "x=0:31")["report"]["rested"] == ["div-mod-identity"]


def test_library_calls_and_loops_are_kernels_with_results(parsed: Callable[..., Any]) -> None:
    for name in ("ordered", "repeated"):
        found = parsed("cost", f"user.py:{name}", "--spec", "float32[8]")
        for form in ("as_written", "optimized"):
            assert [kernel["makes"] for kernel in found[form]["kernels"]] == ["float32[8]"]


def test_sizes_stay_open_or_are_numbers(parsed: Callable[..., Any]) -> None:
    words = ("cost", "user.py:softmax", "--spec", "float32[n,6]", "--size")
    found = parsed(*words, "n=1:100")
    assert set(found["sizes"]) == {"n"}
    assert found["subject"] == "user.py:softmax(float32[n, 6])"
    assert found["optimized"]["kernels"][0]["makes"].endswith("[n, 6]")
    assert parsed(*words, "n=8") == parsed("cost", *SOFTMAX)


def test_files_and_specs_are_arguments_in_order(parsed: Callable[..., Any]) -> None:
    found = parsed("cost", "user.py:outer", "--spec", "float64[8]", "--input", "a.npy")
    assert found["subject"] == "user.py:outer(float64[8], float32[8, 6])"


def test_costs_are_compared(parsed: Callable[..., Any], shown: Callable[..., str]) -> None:
    words = ("cost", *SOFTMAX, "--against", "user.py:careless")
    found = parsed(*words)
    assert set(found) == {"subject", "kind", "target", "sizes", "as_written", "optimized", "against", "ratio"}
    for form in ("as_written", "optimized"):
        assert found["ratio"][form] == found[form]["total_ns"] / found["against"][form]["total_ns"]
    assert found["ratio"]["as_written"] > 1
    text = shown(*words)
    assert "user.py:careless(float32[8, 6]), as written" in text
    assert "ratio" in text


def test_expressions_have_costs_and_no_ratio_to_nothing(parsed: Callable[..., Any], shown: Callable[..., str]) -> None:
    words = ("cost", *EXPRESSION, "--against", "x * 3")
    found = parsed(*words)
    assert found["optimized"] == {"text": "x", "total_ns": 0.0, "kernels": []}
    assert found["ratio"]["optimized"] == 0
    assert parsed("cost", "x * 3", "--var", "x=0:31", "--against", "x")["ratio"]["optimized"] is None
    assert "as written" in shown(*words)


def test_a_target_scales_costs(parsed: Callable[..., Any], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQSAT_CACHE_DIR", str(folder / "cache"))
    store_target(eqsat.Target(**{**vars(DEFAULT_TARGET), "name": "half as fast", "ghz": DEFAULT_TARGET.ghz / 2}))
    default, local = (parsed("cost", *EXPRESSION, "--target", name) for name in ("default", "local"))
    assert (default["target"], local["target"]) == (DEFAULT_TARGET.name, "half as fast")
    assert local["as_written"]["total_ns"] == 2 * default["as_written"]["total_ns"]


def test_a_function_is_timed_beside_numpy(shown: Callable[..., str]) -> None:
    text = shown("bench", *SOFTMAX, "--threads", "1,2", "--against", "user.py:careless")
    assert all(word in text for word in ("first call", "deviation", "by eqsat's"))
    names = ("eqsat", "NumPy", "user.py:careless")
    assert [line.split()[:2] for line in text.splitlines()[-6:]] == [[count, name] for count in "12" for name in names]


def test_times_are_told_to_scripts(parsed: Callable[..., Any]) -> None:
    before = eqsat.num_threads()
    found = parsed(
        "bench", "user.py:softmax", "--spec", "float32[n,6]", "--size", "n=8", "--threads", "1,3", "--against", "user.py:careless"
    )
    assert set(found) == {"function", "first_call_seconds", "agrees", "deviations", "times"}
    assert found["function"] == "user.py:softmax(float32[8, 6])"
    assert [row["threads"] for row in found["times"]] == [1, 3]
    assert all(set(row["median_seconds"]) == {"eqsat", "NumPy", "user.py:careless"} for row in found["times"])
    assert all(seconds > 0 for row in found["times"] for seconds in row["median_seconds"].values())
    assert found["agrees"] is True
    assert all(0 <= one["found"] <= one["allowed"] for one in found["deviations"].values())
    assert eqsat.num_threads() == before


def test_what_is_not_equal_is_not_timed(parsed: Callable[..., Any], shown: Callable[..., str]) -> None:
    words = ("bench", *SOFTMAX, "--against", "user.py:other_shape")
    found = parsed(*words, status=1)
    assert (found["agrees"], found["times"]) == (False, [])
    assert found["deviations"]["user.py:other_shape"]["found"] is None
    assert "MISMATCH" in shown(*words, status=1)


def test_random_arrays_follow_the_seed_and_warn_of_nothing(parsed: Callable[..., Any], folder: Path) -> None:
    command = [sys.executable, "-m", "eqsat", "bench", "user.py:logarithm", "--spec", "float32[50]", "--seconds", "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    found = [parsed("bench", *SOFTMAX, "--seed", seed)["deviations"]["NumPy"]["found"] for seed in ("1", "1", "2")]
    assert found[0] == found[1]


def test_what_a_function_prints_is_not_in_the_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", "user.py:scaled", "--spec", "float32[3]", "--json"]) == 0
    output = capsys.readouterr()
    assert json.loads(output.out)["kind"] == "program"
    assert output.err == "said by the function\n"


def test_an_optimized_function_is_told_to_scripts(parsed: Callable[..., Any]) -> None:
    found = parsed("optimize", "user.py:softmax", "--input", "a.npy", "--out", "y.npy")
    keys = {"function", "cost_ns", "kernels", "rules", "stop_reason", "agrees", "deviation", "median_seconds", "written"}
    assert set(found) == keys
    assert (found["kernels"], found["written"]) == ({"before": 5, "after": 1}, "y.npy")
    assert np.load("y.npy").shape == (8, 6)


@pytest.fixture
def store(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A folder with some entries."""
    monkeypatch.setenv("EQSAT_CACHE_DIR", str(folder / "cache"))
    store = default_store()
    assert store is not None
    for k, (key, size) in enumerate([("plan\nx", 10), ("code\nx", 2000), ("code\ny", 3000), ("schedule\nx", 40), ("other\nx", 5)]):
        store.put(key, b"x" * size)
        os.utime(store.path(key), (k, k))
    (store.folder / "half.eqsat-part").write_bytes(b"plan")
    (store.folder / "foreign.eqsat").write_bytes(b"no entry")
    os.utime(store.folder / "half.eqsat-part", (-1, -1))
    os.utime(store.folder / "foreign.eqsat", (-2, -2))
    return store


def test_what_is_kept_is_counted_by_kind(store: Store, shown: Callable[..., str], parsed: Callable[..., Any]) -> None:
    found = parsed("cache")
    assert set(found) == {"folder", "entries", "bytes", "limit", "kinds"}
    assert (found["folder"], found["entries"], found["limit"]) == (str(store.root), 7, store.limit)
    assert {kind: one["entries"] for kind, one in found["kinds"].items()} == {
        "code": 2,
        "plan": 1,
        "schedule": 1,
        "unfinished": 1,
        "unknown": 2,
    }
    assert sum(one["bytes"] for one in found["kinds"].values()) == found["bytes"]
    text = shown("cache", "info")
    assert "code" in text
    assert "2 entries" in text


def test_what_is_kept_is_listed_the_latest_first(store: Store, shown: Callable[..., str], parsed: Callable[..., Any]) -> None:
    found = parsed("cache", "list")
    assert [entry["kind"] for entry in found["list"]] == ["unknown", "schedule", "code", "code", "plan", "unfinished", "unknown"]
    assert all(set(entry) == {"kind", "bytes", "used", "path"} for entry in found["list"])
    assert found["list"][2]["path"] == str(store.path("code\ny"))
    assert found["list"][2]["bytes"] == store.path("code\ny").stat().st_size
    lines = shown("cache", "list").splitlines()
    assert lines[1].split() == ["kind", "bytes", "used", "file"]
    assert lines[4].split()[-1] == store.path("code\ny").name


def test_what_is_kept_is_cleared(store: Store, shown: Callable[..., str], parsed: Callable[..., Any]) -> None:
    found = parsed("cache", "clear")
    assert found["cleared"]["entries"] == 7
    assert list(store.files()) == []
    assert ": 0 entries" in shown("cache", "list")
    assert ": 0 entries" in shown("cache")


def test_a_user_without_a_home_has_no_cache(monkeypatch: pytest.MonkeyPatch, shown: Callable[..., str], parsed: Callable[..., Any]) -> None:
    monkeypatch.setattr("eqsat.cache.default_store", lambda: None)
    assert parsed("cache")["folder"] is None
    assert "no home" in shown("cache", "list")


BAD = [
    (["explain"], "EXPRESSION|MODULE:FUNCTION"),
    (["explain", "x +"], "invalid syntax"),
    (["explain", "y % 3", "--var", "x=0:3"], "'y'"),
    (["explain", "x / 3", "--var", "x=0:3"], "x / 3"),
    (["explain", "~" * 3000 + "x", "--var", "x=0:3"], "too deeply"),
    (["explain", "x", "--var", "x"], "x=0:31"),
    (["explain", "x", "--var", "x=3:0"], "3..0"),
    (["explain", "x", "--var", "x=0:99999999999999999999"], "--var"),
    (["explain", "x"], "found name 'x', expected a variable whose bounds are given"),
    (["explain", "x", "--var", "x=0:3", "--var", "x=0:4"], "found x twice"),
    (["explain", "user.py:softmax", "--spec", "float32[n]", "--size", "n=3", "--size", "n=4"], "found n twice"),
    (["explain", "user.py:nowhere", "--spec", "float32[3]"], "found nothing called nowhere in user.py"),
    (["explain", "user.py:softmax.nowhere", "--spec", "float32[3]"], "found nothing called softmax.nowhere in user.py"),
    (["explain", "math:pi", "--spec", "float32[3]"], "found pi in math of type float"),
    (["optimize", "user.py:softmax", "--input", "a.npy", "--dump", "a.npy"], "Options.dump: found a.npy"),
    (["explain", "x", "--var", "2=0:3"], "--var"),
    (["explain", "x", "--var", "x=0:3", "--assume", "x +"], "invalid syntax"),
    (["explain", "x", "--var", "x=0:3", "--assume", "x"], "condition"),
    (["explain", "x", "--var", "x=0:3", "--assume", "x > 7"], "never holds"),
    (["explain", "x", "--var", "x=0:3", "--loops"], "--loops"),
    (["explain", "x", "--var", "x=0:3", "--spec", "float32[3]"], "MODULE:FUNCTION"),
    (["explain", "user.py:softmax"], "--spec"),
    (["explain", "user.py:gone", "--spec", "float32[3]"], "gone"),
    (["explain", "gone.py:softmax", "--spec", "float32[3]"], "gone.py"),
    (["explain", "exits.py:softmax", "--spec", "float32[3]"], "SystemExit"),
    (["explain", "user.py:softmax", "--var", "x=0:3"], "--var"),
    (["explain", "user.py:softmax", "--spec", "float32"], "float32[1024,64]"),
    (["explain", "user.py:softmax", "--spec", "float99[3,4]"], "float99"),
    (["explain", "user.py:softmax", "--spec", "float32[3,x]"], "--size x"),
    (["explain", "user.py:softmax", "--spec", "float32[3,-4]"], "'-4'"),
    (["explain", "user.py:softmax", "--spec", "float32[3,,4]"], "''"),
    (["explain", "user.py:softmax", "--spec", "float32[n,4]", "--size", "n"], "n=512"),
    (["explain", "user.py:softmax", "--spec", "float32[n,4]", "--size", "n=5:1"], "5..1"),
    (["explain", "user.py:softmax", "--spec", "float32[n,4]", "--size", "n=0:5"], "1 or more"),
    (["explain", "user.py:softmax", "--spec", "float32[3,4]", "--size", "n=3"], "found n"),
    (["explain", "user.py:softmax", "--spec", "float32[3]"], "axis"),
    (["explain", "user.py:softmax", "--input", "gone.npy"], "gone.npy"),
    (["explain", "user.py:fails", "--spec", "float32[3]"], "RuntimeError: of its own accord"),
    (["explain", "user.py:softmax", "--spec", "float32[3,4]", "--numerics", "best"], "--numerics"),
    (["explain", "user.py:softmax", "--spec", "float32[3,4]", "--tune", "-1"], "tune"),
    (["cost", "user.py:softmax", "--spec", "float32[3,4]", "--against", "x + 1"], "MODULE:FUNCTION"),
    (["cost", "user.py:softmax", "--spec", "float32[3,4]", "--target", "local"], "calibrate"),
    (["cost", "user.py:softmax", "--spec", "float32[3,4]", "--no-rules", "nonsense"], "nonsense"),
    (["cost", "user.py:outer", "--spec", "float32[3]"], "argument"),
    (["bench"], "MODULE:FUNCTION"),
    (["bench", "user.py:softmax"], "--spec"),
    (["bench", "user.py:softmax", "--spec", "float32[n,4]", "--size", "n=1:9"], "n=9"),
    (["bench", "user.py:softmax", "--spec", "float32[3,4]", "--threads", "0"], "--threads"),
    (["bench", "user.py:softmax", "--spec", "float32[3,4]", "--threads", "1,"], "--threads"),
    (["bench", "user.py:softmax", "--spec", "float32[3,4]", "--seconds", "-1"], "--seconds"),
    (["bench", "user.py:softmax", "--spec", "float32[3,4]", "--seconds", "nan"], "--seconds"),
    (["bench", "user.py:softmax", "--spec", "float32[3,4]", "--seed", "-1"], "--seed"),
    (["bench", "user.py:softmax", "--spec", "float32[3,4]", "--against", "user.py:fails"], "user.py:fails: RuntimeError"),
    (["bench", "user.py:fails", "--spec", "float32[3,4]"], "RuntimeError"),
    (["bench", "user.py:softmax", "--spec", "float32[999999999999,999999]"], "allocate"),
    (["cache", "burn"], "burn"),
    (["calibrate", "--show", "--forget"], "--forget"),
    (["burn"], "burn"),
]


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
@pytest.mark.parametrize(("words", "mentioned"), BAD, ids=lambda value: " ".join(value)[:70] if isinstance(value, list) else "")
def test_bad_input_is_told_in_one_line_with_status_two_and_nothing_written(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], mentioned: str, as_json: bool
) -> None:
    before = {path for path in folder.rglob("*") if "__pycache__" not in path.parts}
    assert status_of([*words, *(["--json"] if as_json else [])]) == 2
    shown = capsys.readouterr()
    assert mentioned in shown.err
    assert (shown.err.count("\n"), shown.out) == (1, "")
    assert {path for path in folder.rglob("*") if "__pycache__" not in path.parts} == before


def status_of(words: list[str]) -> int:
    """The exit status, however the call ends (argparse leaves by SystemExit)."""
    try:
        return main(words)
    except SystemExit as stop:
        return int(stop.code or 0)


def test_modules_are_found_where_the_command_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path not in ("", os.getcwd())])
    (folder / "a_module_of_this_folder.py").write_text("def f(x):\n    return x\n")
    assert load_function("a_module_of_this_folder:f").__name__ == "f"


def test_a_function_that_computes_in_float32_on_the_way_agrees_as_float32_does(folder: Path, shown: Callable[..., str]) -> None:
    (folder / "mixed.py").write_text("import numpy as np\ndef f(a, b):\n    return a @ b / np.sqrt(32)\n")
    given = ["--spec", "float32[64,32]", "--spec", "float32[32,48]"]
    assert "1e-05 allowed" in shown("bench", "mixed.py:f", *given, "--threads", "1", "--seconds", "0")


def test_a_function_may_be_one_of_a_class_or_of_a_module_inside() -> None:
    assert load_function("numpy:linalg.norm") is np.linalg.norm.__wrapped__  # type: ignore[attr-defined]  # dispatched by NumPy


def test_an_interruption_and_a_closed_pipe_end_quietly(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(arguments: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setitem(cli.COMMANDS, "cache", (SimpleNamespace(run=interrupted, add_parser=lambda parser: None, EXAMPLE=""), ""))
    assert main(["cache"]) == cli.INTERRUPTED
    assert capsys.readouterr().err == "eqsat: interrupted\n"
    command = f"{sys.executable} -m eqsat explain 'x % 3' --var x=0:9 | true"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a file that is always full")
def test_an_answer_that_cannot_be_written_is_told_in_one_line() -> None:
    command = [sys.executable, "-m", "eqsat", "cache", "--json"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "eqsat: [Errno 28] No space left on device\n")
