"""What is said of costs that changed, and the files that hold them."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from eqsat.costs_in_tests.changes import CostChange, Verdict, change_text
from eqsat.costs_in_tests.session import CostSession, Unused
from eqsat.costs_in_tests.snapshots import CostSnapshot, KernelCost, fields_of, has_source, read_snapshots, snapshot_path, write_snapshots
from eqsat.pricing.amounts import amount

PROGRAM = (
    "program (x: float32[9])",
    "  t0: float32[9] = build (i0: 9) -> exp(x[i0])",
    "  t1: float32[] = build () -> sum(r0: 9, t0[r0])",
    "  return (t0, t1)",
)
FIRST = KernelCost("kernel_0", 100.0, ("t0",), {"exp": 60.0, "launch": 40.0})
SECOND = KernelCost("kernel_1", 50.0, ("t1",), {"launch": 40.0, "sum(r0: 9, t0[r0])": 10.0})
BEFORE = CostSnapshot("core", 150.0, 200.0, (FIRST, SECOND), PROGRAM, ("a-rule", "b-rule"), "1.0")


def lines(after: CostSnapshot) -> list[str]:
    return str(CostChange(BEFORE, after)).splitlines()


@pytest.mark.parametrize(
    ("after", "verdict", "fails"),
    [
        (BEFORE, Verdict.SAME, False),
        (replace(BEFORE, total=150.0001), Verdict.SAME, False),
        (replace(BEFORE, rules=(), eqsat="2.0"), Verdict.SAME, False),
        (replace(BEFORE, program=()), Verdict.CHANGED, False),
        (replace(BEFORE, total=149.0), Verdict.CHEAPER, False),
        (replace(BEFORE, total=151.0), Verdict.DEARER, True),
        (replace(BEFORE, total=149.0, target="other"), Verdict.TARGET, True),
    ],
)
def test_only_a_cost_that_rose_fails(after: CostSnapshot, verdict: Verdict, fails: bool) -> None:
    change = CostChange(BEFORE, after)
    assert (change.verdict, change.fails) == (verdict, fails)


def test_a_kernel_that_got_dearer_is_shown_with_its_parts() -> None:
    dearer = replace(FIRST, ns=160.0, parts={"exp": 100.0, "launch": 40.0, "load x": 20.0})
    after = replace(BEFORE, total=210.0, kernels=(dearer, SECOND), eqsat="1.1")
    assert lines(after) == [
        "cost 150 ns -> 210 ns (+40.0%), 2 kernels, target core",
        "the snapshot was made by eqsat 1.0, this is eqsat 1.1",
        "as written: as before",
        "kernels:",
        "  ~ kernel_0  100 ns -> 160 ns (+60.0%)",
        "    t0: float32[9] = build (i0: 9) -> exp(x[i0])",
        "         +40.00 ns  exp",
        "         +20.00 ns  load x",
        "program: as before",
    ]


def test_a_kernel_that_is_new_does_not_hide_that_others_are_as_before() -> None:
    added_line = "  t0: float32[9] = build (i0: 9) -> x[i0] + 1"
    program = (PROGRAM[0], added_line, PROGRAM[1].replace("t0", "t1"), "  t2: float32[] = build () -> sum(r0: 9, t1[r0])")
    added = KernelCost("kernel_0", 45.0, ("t0",), {"launch": 40.0, "add": 5.0})
    others = (replace(FIRST, name="kernel_1", makes=("t1",)), replace(SECOND, name="kernel_2", makes=("t2",)))
    after = replace(BEFORE, total=195.0, written=245.0, kernels=(added, *others), program=program, rules=("b-rule", "c-rule"))
    found = lines(after)
    assert found[:9] == [
        "cost 150 ns -> 195 ns (+30.0%), 2 -> 3 kernels, target core",
        "as written: 200 ns -> 245 ns (+22.5%), another program",
        "kernels:",
        "  + kernel_0  45.00 ns",
        "    t0: float32[9] = build (i0: 9) -> x[i0] + 1",
        "         +40.00 ns  launch",
        "          +5.00 ns  add",
        "rules that no longer fire: a-rule",
        "rules that fire newly: c-rule",
    ]
    assert f"  +{added_line}" in found


def test_a_kernel_that_is_gone_is_shown() -> None:
    found = lines(replace(BEFORE, total=100.0, kernels=(FIRST,), program=PROGRAM[:2]))
    assert found[0] == "cost 150 ns -> 100 ns (-33.3%), 2 -> 1 kernels, target core"
    assert found[3:5] == ["  - kernel_1  50.00 ns", "    t1: float32[] = build () -> sum(r0: 9, t0[r0])"]


def test_numbers_are_written_for_reading() -> None:
    assert [amount(ns) for ns in (0.333, 99.0, 1234567.8)] == ["0.33 ns", "99.00 ns", "1,234,568 ns"]
    assert [change_text(2.0, 3.0), change_text(0.0, 3.0)] == ["+50.0%", "from nothing"]


# files ----------------------------------------------------------------------------------------------------------------
def test_a_file_is_read_as_it_was_written_and_goes_with_its_last_snapshot(tmp_path: Path) -> None:
    path = snapshot_path(tmp_path / "test_a.py")
    assert path == tmp_path / "__costs__" / "test_a.json"
    assert read_snapshots(path) == {}
    tests = {"test_b[é]": {"1": BEFORE}, "test_a": {"x": BEFORE, "1": replace(BEFORE, total=1.0)}}
    write_snapshots(path, tests)
    assert read_snapshots(path) == tests
    text = path.read_text(encoding="utf-8")
    assert text.index('"test_a"') < text.index('"test_b[é]"')
    assert os.listdir(path.parent) == ["test_a.json"]
    mask = os.umask(0o022)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask
    write_snapshots(path, {"test_a": {}})
    assert os.listdir(tmp_path) == []


def test_a_file_that_cannot_be_written_whole_stays_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: str, target: Path) -> None:
        raise OSError("disk full")

    path = snapshot_path(tmp_path / "test_a.py")
    write_snapshots(path, {"test_a": {"1": BEFORE}})
    monkeypatch.setattr("os.replace", refuse)
    with pytest.raises(OSError, match="disk full"):
        write_snapshots(path, {"test_b": {"1": BEFORE}})
    assert os.listdir(path.parent) == ["test_a.json"]
    assert list(read_snapshots(path)) == ["test_a"]


def test_files_with_tests_that_are_no_modules_keep_their_suffix(tmp_path: Path) -> None:
    source = tmp_path / "guide.md"
    assert snapshot_path(source).name == "guide.md.json"
    assert not has_source(snapshot_path(source))
    source.touch()
    assert has_source(snapshot_path(source))


# a run of tests -------------------------------------------------------------------------------------------------------
def test_an_update_keeps_what_another_run_wrote_meanwhile(tmp_path: Path) -> None:
    source = tmp_path / "test_a.py"
    source.touch()
    session = CostSession(update=True, writes=True)
    session.add({"source": str(source), "test": "test_one", "calls": {"1": fields_of(BEFORE)}, "passed": True})
    assert [one.change.verdict for one in session.measured()] == [Verdict.NEW]
    write_snapshots(snapshot_path(source), {"test_two": {"1": BEFORE}})
    session.finish()
    assert list(read_snapshots(snapshot_path(source))) == ["test_one", "test_two"]
    assert (session.written, session.removed, session.failures) == (1, 0, [])


def test_calls_that_a_test_no_longer_makes_are_unused_if_it_passed(tmp_path: Path) -> None:
    source = tmp_path / "test_a.py"
    write_snapshots(snapshot_path(source), {"test_one": {"1": BEFORE, "2": BEFORE}})
    for passed, expected in ((False, []), (True, [Unused(source, "test_one", "2")])):
        session = CostSession(update=False, writes=True)
        session.add({"source": str(source), "test": "test_one", "calls": {"1": fields_of(BEFORE)}, "passed": passed})
        session.finish()
        assert session.unused == expected
