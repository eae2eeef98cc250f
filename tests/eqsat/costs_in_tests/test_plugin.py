"""The pytest plugin in projects of their own: `acceptance` runs in processes of their own, the rest within this one."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from dataclasses import asdict, replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import eqsat
from eqsat.costs_in_tests import session
from eqsat.costs_in_tests.summary import SHOWN
from eqsat.pricing.local_target import FILE
from eqsat.testing import measure
from tests.effort import THOROUGH, thorough

ROOT = Path(__file__).parents[3]
MODEL = """
    import os

    import numpy as np
    import pytest

    import eqsat
    from eqsat.rules import without

    LEVEL = os.environ.get("LEVEL", "")
    OPTIONS = eqsat.Options(rules=without("generic-build", "substitution")) if LEVEL == "no fusion" else None
    SPEC = eqsat.spec((64, 64), "float32")


    def scaled(x):
        return np.tanh(x + 1) * 2


    def scaled_and_sorted(x):
        return np.sort(scaled(x), axis=0)


    def test_scaled(cost):
        result = cost(scaled_and_sorted if LEVEL == "sorted" else scaled, SPEC, options=OPTIONS)
        assert len(result.loops) == len(result.cost.breakdown()) or LEVEL == "sorted"


    @pytest.mark.parametrize("n", [16, 32] if LEVEL != "fewer" else [16])
    def test_sizes(cost, n):
        cost(lambda x: x * 2, eqsat.spec((n,), "float32"))


    class TestIndices:
        def test_both(self, cost):
            x = eqsat.var("x", 0, 31)
            assert str(cost(x // 8 * 8 + x % 8).expr) == "x"
            if LEVEL != "fewer":
                cost(x % 8, name="rest")
"""
INDEX = """
    import eqsat

    X = eqsat.var("x", 0, 31)


    def test_first(cost):
        cost(X % 8)


    def test_second(cost):
        cost(X // 8)
"""


class Project:
    """A folder with tests, in which the plugin is installed as `pip install` does it: by a dist-info folder on the path."""

    def __init__(self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pytester, self.monkeypatch = pytester, monkeypatch
        for name in ("CI", "BUILD_NUMBER", "LEVEL"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("PYTHONPATH", str(ROOT))
        info = pytester.path / f"eqsat-{eqsat.__version__}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: eqsat\nVersion: {eqsat.__version__}\n")
        (info / "entry_points.txt").write_text(f"[pytest11]\neqsat = {declared()}\n")

    def level(self, name: str) -> None:
        self.monkeypatch.setenv("LEVEL", name)

    def acceptance(self, *args: str) -> pytest.RunResult:
        """Run the tests in a process of their own."""
        return self.pytester.runpytest_subprocess("-p", "no:hypothesispytest", *args)

    def run(self, *args: str) -> pytest.RunResult:
        """Run the tests in this process, with all that they use loaded before: pytester forgets modules that are loaded meanwhile."""
        measure(lambda x: np.cumsum(x + 1), eqsat.spec((9,), "float32"))
        installed = any(entry.value == declared() for entry in entry_points(group="pytest11"))
        return self.pytester.runpytest_inprocess(*(() if installed else ("-p", declared())), "-p", "no:hypothesispytest", *args)

    def again(self, *args: str) -> pytest.RunResult:
        """Run the tests once more: in a process of their own in thorough tests, and within this one otherwise."""
        return self.acceptance(*args) if THOROUGH else self.run(*args)

    def path(self, name: str) -> Path:
        return self.pytester.path / "__costs__" / f"{name}.json"

    def snapshots(self, name: str) -> Any:
        """The snapshots of a file, by test and call."""
        return json.loads(self.path(name).read_text())["tests"]


def declared() -> str:
    """The plugin's module, as the package declares it."""
    found: str = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["pytest11"]["eqsat"]
    return found


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    return Project(pytester, monkeypatch)


def shown(result: pytest.RunResult) -> str:
    return result.stdout.str()


# in processes of their own ------------------------------------------------------------------------------------------
@pytest.mark.slow
def test_a_snapshot_is_made_then_a_regression_is_caught_and_accepted(project: Project) -> None:
    project.pytester.makepyfile(test_model=MODEL)
    first = project.acceptance()
    first.assert_outcomes(passed=4)
    first.stdout.fnmatch_lines(["new * test_model.py::test_scaled *ns", "snapshots that were missing are written: commit them"])
    stored = project.path("test_model").read_text()
    found = project.snapshots("test_model")["test_scaled"]["1"]
    assert found["total"] == pytest.approx(sum(kernel["ns"] for kernel in found["kernels"]))
    assert "tanh(x[i0, i1] + 1.0f32) * 2.0f32" in found["program"][1]
    assert "element-of-build" in found["rules"]
    assert found["target"] == eqsat.DEFAULT_TARGET.name

    again = project.again()
    again.assert_outcomes(passed=4)
    assert "= costs =" not in shown(again)

    project.level("no fusion")
    worse = project.again()
    worse.assert_outcomes(passed=3, failed=1)
    worse.stdout.fnmatch_lines(
        [
            ">       result = cost(*",
            "E       Failed: cost * ns -> * ns (+*%), 1 -> 3 kernels, target *",
            "E       as written: as before",
            "E         + kernel_1 *",
            "E           t1: float32[[]64, 64] = build *tanh*",
            "E *+* ns  tanh",
            "E *+* ns  launch",
            "E       rules that no longer fire: *element-of-build*",
            "E         -  t0: float32[[]64, 64] = build * -> tanh(x[[]i0, i1] + 1.0f32) * 2.0f32",
            "E         +  t1: float32[[]64, 64] = build * -> tanh(t0[[]i0, i1])",
            "dearer * test_model.py::test_scaled * ns -> * ns (+*%)",
        ]
    )
    assert project.path("test_model").read_text() == stored

    project.again("--update-costs").assert_outcomes(passed=4)
    assert len(project.snapshots("test_model")["test_scaled"]["1"]["kernels"]) == 3
    project.again("-q").assert_outcomes(passed=4)


@thorough
@pytest.mark.slow
def test_workers_in_parallel_write_what_one_process_writes(project: Project) -> None:
    project.pytester.makepyfile(test_model=MODEL, test_index=INDEX)
    project.acceptance().assert_outcomes(passed=6)
    expected = {name: project.path(name).read_text() for name in ("test_model", "test_index")}
    for path in expected:
        project.path(path).unlink()
    made = project.acceptance("-n", "2")
    made.assert_outcomes(passed=6)
    assert shown(made).count("\nnew ") == 7
    assert {path.name: path.read_text() for path in project.path("x").parent.iterdir()} == {f"{k}.json": v for k, v in expected.items()}

    project.level("fewer")
    project.pytester.makepyfile(test_index=INDEX.replace("test_second", "test_third"))
    changed = project.acceptance("-n", "2", "--dist", "loadgroup", "--update-costs")
    changed.assert_outcomes(passed=5)
    changed.stdout.fnmatch_lines(
        ["unused * test_second", "unused *::test_both (rest)", "unused * test_sizes[[]32]", "snapshots updated: 1 written, 3 removed"]
    )
    assert list(project.snapshots("test_index")) == ["test_first", "test_third"]
    assert list(project.snapshots("test_model")) == ["TestIndices::test_both", "test_scaled", "test_sizes[16]"]
    project.level("sorted")
    worse = project.acceptance("-n", "2")
    worse.assert_outcomes(passed=5, failed=1)
    worse.stdout.fnmatch_lines(["*as written: * ns -> * ns (+*%), another program", "*+ sort_* ns", "dearer *test_scaled*"])


@pytest.mark.slow
def test_a_measured_target_changes_no_snapshot(project: Project) -> None:
    project.pytester.makepyfile(test_model=MODEL)
    project.again().assert_outcomes(passed=4)
    project.monkeypatch.setenv("EQSAT_CACHE_DIR", str(project.pytester.path))
    slow = replace(eqsat.DEFAULT_TARGET, name="slow", ghz=0.5, vector_bytes=16, launch_ns=9e4, cache_bytes=(1024,), byte_ns=(1.0, 2.0))
    (project.pytester.path / FILE).write_text(json.dumps(asdict(replace(slow, gather_cycles=9.0, store_cycles=9.0, load_cycles=9.0))))
    check = "import eqsat; print(eqsat.Options().target.name)"
    assert subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True).stdout == "slow\n"
    again = project.acceptance()
    again.assert_outcomes(passed=4)
    assert "= costs =" not in shown(again)


@pytest.mark.slow
def test_projects_without_costs_load_nothing(project: Project) -> None:
    project.pytester.makepyfile(test_plain="def test_plain():\n    pass\n")
    loaded = "print('loaded', *sorted({'numpy', 'egglog', 'llvmlite', 'eqsat.costs_in_tests.plugin', 'eqsat.ir'} & set(sys.modules)))"
    project.pytester.makeconftest(f"import sys\ndef pytest_unconfigure():\n    {loaded}\n")
    project.acceptance("-s").stdout.fnmatch_lines(["loaded eqsat.costs_in_tests.plugin"])
    project.acceptance("-s", "-p", "no:eqsat").stdout.fnmatch_lines(["loaded"])


# within this process ------------------------------------------------------------------------------------------------
def test_a_lower_cost_passes_and_is_said(project: Project) -> None:
    project.pytester.makepyfile(test_model=MODEL)
    project.level("no fusion")
    project.run().assert_outcomes(passed=4)
    stored = project.path("test_model").read_text()
    project.level("")
    better = project.run()
    better.assert_outcomes(passed=4)
    better.stdout.fnmatch_lines(["cheaper * test_model.py::test_scaled * (-*%)", "`pytest --update-costs` accepts what changed"])
    assert project.path("test_model").read_text() == stored
    project.run("--update-costs").assert_outcomes(passed=4)
    assert project.path("test_model").read_text() != stored


def test_another_program_of_the_same_cost_passes_and_is_said(project: Project) -> None:
    project.pytester.makepyfile(test_index=INDEX)
    project.run().assert_outcomes(passed=2)
    project.pytester.makepyfile(test_index=INDEX.replace("X % 8", "X % 16"))
    other = project.run()
    other.assert_outcomes(passed=2)
    other.stdout.fnmatch_lines(["changed * test_index.py::test_first *as before, by another program"])


def test_what_was_not_run_or_failed_keeps_its_snapshots(project: Project) -> None:
    project.pytester.makepyfile(test_model=MODEL)
    project.run().assert_outcomes(passed=4)
    stored = project.path("test_model").read_text()
    for args in (
        ["-k", "scaled"],
        ["test_model.py::test_scaled"],
        ["--deselect", "test_model.py::test_scaled"],
        ["--collect-only"],
        ["--setup-only"],
    ):
        assert "unused" not in shown(project.run("--update-costs", *args))
        assert project.path("test_model").read_text() == stored
    for change in ("raise ValueError", "pytest.skip()", "pytest.xfail()"):
        project.pytester.makepyfile(test_model=MODEL.replace("assert str(cost(", f"{change}\n            assert str(cost("))
        assert "unused" not in shown(project.run("--update-costs"))
        assert "unused" not in shown(project.run("--update-costs", "--lf"))
    project.pytester.makepyfile(test_model=f"import nowhere\n{MODEL}")
    project.run("--update-costs").assert_outcomes(errors=1)
    assert project.path("test_model").read_text() == stored


def test_what_nothing_uses_is_reported_and_removed_by_update(project: Project) -> None:
    project.pytester.makepyfile(test_model=MODEL, test_index=INDEX)
    project.run().assert_outcomes(passed=6)
    (project.pytester.path / "test_index.py").unlink()
    project.level("fewer")
    for args in ([], ["--update-costs"]):
        found = project.run(*args)
        found.assert_outcomes(passed=3)
        found.stdout.fnmatch_lines(
            [
                "unused * __costs__*test_index.json  the whole file: test_index.py is gone",
                "unused * TestIndices::test_both (rest)",
                "unused * test_sizes[[]32]",
            ]
        )
    assert not project.path("test_index").exists()
    assert list(project.snapshots("test_model")["TestIndices::test_both"]) == ["1"]
    assert "test_sizes[32]" not in project.snapshots("test_model")
    project.pytester.makepyfile(test_model="def test_nothing():\n    pass\n")
    project.run("--update-costs").assert_outcomes(passed=1)
    assert not project.path("test_model").parent.exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", r"found Expecting property name.*, expected snapshots of costs as JSON"),
        ("<<<<<<< HEAD", r"found Expecting value.*, expected snapshots of costs as JSON"),
        ('{"format": 2, "tests": {}}', r"found format 2, expected 1"),
        ("[]", r"found format \[\], expected 1"),
        (
            '{"format": 1, "tests": {"test_first": {"1": {"total": "x"}}}}',
            r"found no snapshots \(KeyError: 'target'\), expected those of format 1",
        ),
        ('{"format": 1, "tests": {"test_first": 3}}', r"found no snapshots \(AttributeError.*\), expected those of format 1"),
    ],
)
def test_a_bad_file_gives_one_clear_line_and_stays(project: Project, content: str, message: str) -> None:
    project.pytester.makepyfile(test_index=INDEX)
    project.path("test_index").parent.mkdir()
    project.path("test_index").write_text(content)
    for args in ([], ["--update-costs"]):
        found = project.run(*args)
        found.assert_outcomes(failed=2)
        lines = [line for line in shown(found).splitlines() if line.startswith("E ")]
        assert len(lines) == 2
        assert all(re.match(rf"E +Failed: .*__costs__.test_index\.json: {message}; mend or delete the file$", line) for line in lines), (
            lines
        )
    assert project.path("test_index").read_text() == content


def test_on_ci_a_missing_snapshot_fails_and_is_not_written(project: Project) -> None:
    project.pytester.makepyfile(test_index=INDEX)
    project.monkeypatch.setenv("CI", "true")
    missing = project.run()
    missing.assert_outcomes(failed=2)
    missing.stdout.fnmatch_lines(["E *no snapshot '1'; none is made on CI: run `pytest --update-costs` and commit what it writes"])
    assert not project.path("test_index").exists()
    project.run("--update-costs").assert_outcomes(passed=2)
    project.run().assert_outcomes(passed=2)


def test_a_name_is_used_once_in_a_test(project: Project) -> None:
    project.pytester.makepyfile(test_index=INDEX.replace("cost(X % 8)", "cost(X % 8, name='a'), cost(X % 4, name='a')"))
    project.run().stdout.fnmatch_lines(["E *cost: found 'a' twice, expected a name for each call"])


def test_a_name_is_a_text(project: Project) -> None:
    project.pytester.makepyfile(test_index=INDEX.replace("cost(X % 8)", "cost(X % 8, name=3)"))
    project.run().stdout.fnmatch_lines(["E *cost: found the name 3, expected a text"])


def test_costs_of_another_unit_are_told_in_it_and_compared_with_none_but_their_own(project: Project) -> None:
    source = """
        import eqsat
        FEWEST = eqsat.Options(cost=eqsat.Costs(objective=lambda work: work.launches, unit="kernels"))
        def test_two(cost):
            spec = eqsat.spec((64, 8), "float32")
            cost(lambda a: {body}, spec, options={options})
    """
    project.pytester.makepyfile(test_model=source.format(body="a.sum(0) * 2", options="FEWEST"))
    project.run().stdout.fnmatch_lines(["new*test_model.py::test_two  1 kernels"])
    project.pytester.makepyfile(test_model=source.format(body="(a.sum(0), a @ a.T)", options="FEWEST"))
    project.run().stdout.fnmatch_lines(["E *cost 1 kernels -> 2 kernels (+100.0%), 1 -> 2 kernels*", "E *+ kernel_*  1 kernels"])
    project.pytester.makepyfile(test_model=source.format(body="a.sum(0) * 2", options="None"))
    project.run().stdout.fnmatch_lines(["E *costs are counted in another unit: found ns, expected kernels as in the snapshot"])


def test_the_costliest_programs_are_listed_if_asked(project: Project) -> None:
    project.pytester.makepyfile(test_model=MODEL)
    project.run()
    listed = project.run("--costs")
    listed.stdout.fnmatch_lines(
        ["*cost  as written  kernels", "*ns *ns *1  test_model.py::test_scaled", "*ns *ns *1  test_model.py::TestIndices::test_both"]
    )
    many = f"""
        import eqsat
        import pytest

        @pytest.mark.parametrize("k", range(2, {SHOWN + 4}))
        def test_many(cost, k):
            cost(eqsat.var("x", 0, 99) % k)
    """
    project.pytester.makepyfile(test_model=many)
    project.run("--costs").stdout.fnmatch_lines(["and 2 more, shown with -v", "new *", "*and 2 more, shown with -v", "unused *"])
    assert "more, shown" not in shown(project.run("--costs", "-v"))


def test_a_snapshot_of_another_target_fails(project: Project) -> None:
    model = MODEL.replace(
        "options=OPTIONS", "options=eqsat.Options(target=eqsat.DEFAULT_TARGET.__class__(**{**vars(eqsat.DEFAULT_TARGET), 'name': 'mine'}))"
    )
    project.pytester.makepyfile(test_model=MODEL)
    project.run().assert_outcomes(passed=4)
    project.pytester.makepyfile(test_model=model)
    project.run().stdout.fnmatch_lines(["E *costs are of another target: found mine, expected x86-64-v4 core as in the snapshot"])


def test_what_cannot_be_written_is_said(project: Project) -> None:
    def refuse(path: Path, tests: object) -> None:
        raise OSError("disk full")

    project.pytester.makepyfile(test_index=INDEX)
    project.monkeypatch.setattr(session, "write_snapshots", refuse)
    found = project.run()
    found.assert_outcomes(passed=2)
    found.stdout.fnmatch_lines(["not written: disk full"])


def test_a_file_in_the_place_of_the_folder_is_said(project: Project) -> None:
    project.pytester.makepyfile(test_index=INDEX)
    project.path("test_index").parent.write_text("")
    project.run().stdout.fnmatch_lines(["E *__costs__*found *, expected snapshots of costs as JSON; mend or delete the file"])


# the guide ----------------------------------------------------------------------------------------------------------
def test_what_the_guide_shows_is_what_happens(project: Project) -> None:
    guide = (ROOT / "docs" / "testing.md").read_text()
    blocks = dict(re.findall(r"^```(python|text)\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL))
    change = re.search(r"Now change `(.*?)` to `(.*?)`:", guide)
    assert change is not None
    assert change[1] in blocks["python"]
    project.pytester.makepyfile(test_model=blocks["python"])
    project.run().assert_outcomes(passed=2)
    assert list(project.snapshots("test_model")) == ["test_offset", "test_softmax"]
    project.pytester.makepyfile(test_model=blocks["python"].replace(change[1], change[2]))
    worse = project.run()
    worse.assert_outcomes(passed=1, failed=1)
    text = "\n".join(line[8:].rstrip() for line in shown(worse).splitlines() if line.startswith("E  "))
    assert f"{text}\n" == blocks["text"].replace("cost", "Failed: cost", 1)
