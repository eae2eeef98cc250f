"""Plans and machine code on disk: what is known is not made again, what depends on more is not kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.calling import lazy
from eqsat.cli import main
from eqsat.codegen import host, object_code
from eqsat.driver import optimize_program
from eqsat.ir.tensor import Program
from eqsat.keeping import kept, keys
from eqsat.keeping.disk import File, Store
from eqsat.options import Limits, Options
from eqsat.result import Result
from eqsat.running.blueprint import Array
from eqsat.running.plan import Plan
from eqsat.running.plans import compiled_plan

F = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
Made = list[str]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Made:
    """What is optimized and what is compiled with an empty folder, in order."""
    asked: Made = []

    def optimize(program: Program, options: Options) -> Result:
        asked.append("plan")
        return optimize_program(program, options)

    def compile(*texts: str, threads: int) -> bytes:
        asked.append("code")
        return object_code(*texts, threads=threads)

    monkeypatch.setenv("EQSAT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("eqsat.running.plans.optimize_program", optimize)
    monkeypatch.setattr("eqsat.keeping.kept.object_code", compile)
    return asked


def files() -> list[File]:
    store = kept.default_store()
    assert store is not None
    return list(store.files())


def scaled(x: Any) -> Any:
    return {"y": enp.exp(x) @ x.T, "s": [x.sum(axis=0)]}


def program_of(function: Callable[..., Any] = scaled, array: Array = F) -> Program:
    return eqsat.trace(function, array)


def same(first: Any, second: Any) -> bool:
    return np.array_equal(first["y"], second["y"]) and np.array_equal(first["s"][0], second["s"][0])


# what is known ------------------------------------------------------------------------------------------------------------
def test_a_plan_from_disk_is_the_plan_that_was_made(made: Made) -> None:
    first = compiled_plan(program_of(), Options())
    second = compiled_plan(program_of(), Options())
    assert made == ["plan", "code"]
    assert second is not first
    assert (second.kernels, second.buffers, second.storages) == (first.kernels, first.buffers, first.storages)
    assert same(second(F), first(F))
    assert same(second(F), eqsat.optimize(scaled, F, options=Options(cache=False))(F))


def test_jit_and_lazy_tensors_ask_the_disk_first(made: Made) -> None:
    function = eqsat.jit(scaled)(F)
    assert same(eqsat.jit(scaled)(F), function)
    assert made == ["plan", "code"]
    for _ in range(2):
        lazy.PLANS.clear()
        np.testing.assert_allclose(np.asarray(enp.asarray(F) * 3 + 1), F * 3 + 1)
    assert made == ["plan", "code"] * 2


def test_a_result_is_optimized_again_and_compiled_once(made: Made) -> None:
    first, second = (eqsat.optimize(scaled, F) for _ in range(2))
    assert same(first(F), second(F))
    assert made == ["code"]
    assert first.llvm_ir == second.llvm_ir
    assert "kernel_0" in second.assembly


def test_constants_are_told_apart_by_their_elements(made: Made) -> None:
    for table in (F, F + 1, F.copy()):
        compiled = compiled_plan(program_of(lambda x, table=table: x * table), Options())
        np.testing.assert_array_equal(compiled(F), F * table)
    assert made == ["plan", "code", "plan"]


@pytest.mark.parametrize(
    "options",
    [
        Options(rules=("identities", "sums")),
        Options(numerics="fast"),
        Options(limits=Limits(nodes=5000)),
        Options(target=replace(eqsat.DEFAULT_TARGET, threads=1)),
    ],
    ids=["rules", "numerics", "limits", "target"],
)
def test_options_that_matter_make_plans_of_their_own(made: Made, options: Options) -> None:
    compiled_plan(program_of(), Options())
    for _ in range(2):
        found, expected = (compiled_plan(program_of(), some)(F) for some in (options, Options()))
        np.testing.assert_allclose(found["y"], expected["y"], rtol=1e-6)
        np.testing.assert_allclose(found["s"][0], expected["s"][0], rtol=1e-6)
    assert made.count("plan") == 2


def test_another_machine_or_another_eqsat_takes_no_plan(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled_plan(program_of(), Options())
    for place, value in (("source_hash", "another"), ("egglog_version", "another")):
        monkeypatch.setattr(keys, place, lambda value=value: value)
        compiled_plan(program_of(), Options())
    assert made == ["plan", "code", "plan", "plan"]
    monkeypatch.setattr(type(host()), "identity", ("another processor",))
    compiled_plan(program_of(), Options())
    assert made == ["plan", "code", "plan", "plan", "plan", "code"]


def test_while_eqsats_files_are_being_changed_no_plan_is_kept(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "_IMPORTED", 0.0)
    monkeypatch.setattr(keys, "source_hash", keys.source_hash.__wrapped__)
    for _ in range(2):
        compiled_plan(program_of(), Options())
    assert made == ["plan", "code", "plan"]
    assert len(files()) == 1


def test_the_hash_of_the_sources_covers_every_package() -> None:
    folders = {Path(path).parent.name for path in keys.source_files()}
    assert folders >= {"eqsat", "ir", "lowering", "codegen", "rules", "egraph", "operations"}
    assert keys.source_hash.__wrapped__() == keys.source_hash.__wrapped__() is not None
    assert keys.egglog_version().startswith("egglog-")


# what is not kept ---------------------------------------------------------------------------------------------------------
def unkept(tmp_path: Path) -> Iterator[Options]:
    yield Options(cache=False)
    yield Options(certify=True)
    yield Options(dump=tmp_path / "stages")
    yield Options(limits=Limits(seconds=60.0))


def test_what_depends_on_more_is_not_kept(made: Made, tmp_path: Path) -> None:
    for options in unkept(tmp_path):
        assert same(compiled_plan(program_of(), options)(F), eqsat.jit(scaled, options=options)(F))
    assert files() == []


def test_under_declared_facts_nothing_is_kept(made: Made) -> None:
    with eqsat.assume(eqsat.dim("n", 1, 64) % 4 == 0):
        compiled_plan(program_of(), Options())
    assert files() == []


def test_the_environment_switches_the_disk_off(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQSAT_CACHE", "0")
    eqsat.jit(scaled)(F)
    assert files() == []


def test_a_program_that_is_refused_leaves_nothing(made: Made) -> None:
    with pytest.raises(eqsat.EqsatError):
        eqsat.jit(lambda x: x @ x)(F)
    assert files() == []


# what went wrong on disk --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("damage", [lambda entry: entry[: len(entry) // 2], lambda entry: entry[:-9] + b"\xff" + entry[-8:], lambda _: b""])
def test_damaged_entries_are_made_again(made: Made, damage: Callable[[bytes], bytes]) -> None:
    expected = compiled_plan(program_of(), Options())(F)
    for file in files():
        Path(file.path).write_bytes(damage(Path(file.path).read_bytes()))
    for _ in range(2):
        assert same(compiled_plan(program_of(), Options())(F), expected)
    assert made == ["plan", "code"] * 2


def test_without_a_folder_everything_works(made: Made, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder) -> None:
    monkeypatch.setenv("EQSAT_CACHE_DIR", "/dev/null")
    expected = compiled_plan(program_of(), Options())(F)
    monkeypatch.setattr(kept, "default_root", lambda: None)
    assert same(compiled_plan(program_of(), Options())(F), expected)
    assert made == ["plan", "code"] * 2
    assert not recwarn.list


def test_a_plan_outlives_its_entry(made: Made) -> None:
    plan: Plan = compiled_plan(program_of(), Options())
    read = compiled_plan(program_of(), Options())
    eqsat.cache.clear()
    assert same(plan(F), read(F))


# the doors ----------------------------------------------------------------------------------------------------------------
def test_info_tells_and_clear_removes(made: Made, tmp_path: Path) -> None:
    assert eqsat.cache.info() == eqsat.cache.CacheInfo(tmp_path, 0, 0, Store(tmp_path).limit)
    eqsat.jit(scaled)(F)
    found = eqsat.cache.info()
    assert (found.folder, found.entries, found.bytes) == (tmp_path, 2, sum(file.size for file in files()))
    assert eqsat.cache.clear() == found
    assert eqsat.cache.info().entries == 0


def test_the_command_line_tells_and_removes(made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    eqsat.jit(scaled)(F)
    assert main(["cache"]) == 0
    assert f"{tmp_path}: 2 entries, 0.0 MiB of 256.0 MiB" in capsys.readouterr().out
    assert main(["cache", "clear"]) == 0
    assert main(["cache", "info"]) == 0
    assert f"{tmp_path}: 0 entries" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["cache", "burn"])


def test_a_user_without_a_home_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "default_root", lambda: None)
    assert "no folder" in str(eqsat.cache.info())
    assert eqsat.cache.clear().entries == 0
