"""Costs of programs as they are kept beside tests: what a snapshot holds, and the JSON files of them.

A file holds the snapshots of one test file, by test and by call:

    {"format": 1, "tests": {"test_softmax[1024]": {"1": {"total": 174637.92, ...}}}}

Keys are sorted and listings are lists of lines, so that a diff of two versions can be read.  Nothing is imported here that takes time: the
pytest plugin is loaded whenever pytest starts.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from eqsat.costs_in_tests import FOLDER
from eqsat.ir.errors import UsageError

FORMAT = 1
DECIMALS = 3


@dataclass(frozen=True)
class KernelCost:
    """What a kernel, or a step that is none, costs.

    ns     estimated nanoseconds, to a thousandth, or what else the cost model counts
    makes  the names of the tensors that it computes, as the program's listing has them
    parts  what the nanoseconds are spent on: loads, operations, folds, stores; empty for steps, and for other units
    """

    name: str
    ns: float
    makes: tuple[str, ...] = ()
    parts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class CostSnapshot:
    """The cost of an optimized program, and what explains it; two are equal if all but the versions of eqsat is.

    target   the machine that costs are estimated for
    total    estimated nanoseconds; written: of the program as it was written
    kernels  in execution order
    program  the lines of its listing
    rules    the names of the rules that fired, in alphabetical order.  Not how often: that depends on what ran before.
    eqsat    the version that made it, "" where it does not matter
    unit     what costs are counted in
    """

    target: str
    total: float
    written: float
    kernels: tuple[KernelCost, ...]
    program: tuple[str, ...]
    rules: tuple[str, ...]
    eqsat: str = field(default="", compare=False)
    unit: str = "ns"


Calls = dict[str, CostSnapshot]
Tests = dict[str, Calls]


def snapshot_path(source: Path) -> Path:
    """Where the snapshots of a file with tests are; other files than Python's keep their suffix."""
    return source.parent / FOLDER / f"{source.stem if source.suffix == '.py' else source.name}.json"


def has_source(path: Path) -> bool:
    """Whether the file with tests that a file of snapshots belongs to exists."""
    return any((path.parent.parent / name).exists() for name in (f"{path.stem}.py", path.stem))


def read_snapshots(path: Path) -> Tests:
    """The snapshots of a file by test and call, none where there is no file; UsageError for one that holds something else."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: found {error}, expected snapshots of costs as JSON; mend or delete the file") from error
    found = content.get("format") if isinstance(content, dict) else content
    if found != FORMAT:
        raise UsageError(f"{path}: found format {found!r}, expected {FORMAT}; mend or delete the file")
    try:
        return {test: {call: snapshot_of(fields) for call, fields in calls.items()} for test, calls in content["tests"].items()}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        what = f"{type(error).__name__}: {error}"
        raise UsageError(f"{path}: found no snapshots ({what}), expected those of format {FORMAT}; mend or delete the file") from error


def write_snapshots(path: Path, tests: Tests) -> None:
    """Put the snapshots of a file in its place as a whole; without any it is removed, and its folder if that is empty then."""
    kept = {test: calls for test, calls in tests.items() if calls}
    if not kept:
        path.unlink(missing_ok=True)
        with suppress(OSError):
            path.parent.rmdir()
        return
    listed = {test: {call: fields_of(one) for call, one in calls.items()} for test, calls in kept.items()}
    path.parent.mkdir(exist_ok=True)
    handle, partial = tempfile.mkstemp(prefix=path.name, dir=path.parent)
    try:
        with open(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps({"format": FORMAT, "tests": listed}, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
        os.chmod(partial, 0o666 & ~_umask())
        os.replace(partial, path)
    except BaseException:
        os.unlink(partial)
        raise


def _umask() -> int:
    """What this process takes from the modes of its files, which is only told where it is set."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def fields_of(snapshot: CostSnapshot) -> dict[str, Any]:
    """A snapshot as numbers, texts, sequences and dicts."""
    return asdict(snapshot)


def snapshot_of(fields: Mapping[str, Any]) -> CostSnapshot:
    """The snapshot of what `fields_of` gives; TypeError, KeyError or ValueError for anything else."""
    return CostSnapshot(
        target=str(fields["target"]),
        total=float(fields["total"]),
        written=float(fields["written"]),
        kernels=tuple(map(_kernel, fields["kernels"])),
        program=tuple(map(str, fields["program"])),
        rules=tuple(map(str, fields["rules"])),
        eqsat=str(fields["eqsat"]),
        unit=str(fields.get("unit", "ns")),
    )


def _kernel(fields: Mapping[str, Any]) -> KernelCost:
    parts = {str(what): float(ns) for what, ns in fields["parts"].items()}
    return KernelCost(str(fields["name"]), float(fields["ns"]), tuple(map(str, fields["makes"])), parts)
