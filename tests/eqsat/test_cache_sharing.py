"""One folder for many threads and processes, some of which are killed: no wrong result, no torn entry."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from eqsat.keeping.disk import CHECKSUM, LIMIT, MAGIC, Store
from tests.effort import examples
from tests.eqsat.cache_worker import ENTRY_BYTES, WHOLE

ROOT = Path(__file__).parent.parent.parent


def started(folder: Path, *action: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.eqsat.cache_worker", *action]
    environment = {**os.environ, "EQSAT_CACHE_DIR": str(folder)}
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def last_line(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return out.splitlines()[-1]


def torn(store: Store) -> list[str]:
    """Entries in their place that fail their checksum."""
    found = []
    for file in store.files():
        if not file.partial:
            entry = Path(file.path).read_bytes()
            checked = entry[len(MAGIC) + CHECKSUM :]
            if entry[: len(MAGIC) + CHECKSUM] != MAGIC + hashlib.blake2b(checked, digest_size=CHECKSUM).digest():
                found.append(file.path)
    return found


@pytest.mark.slow
def test_a_second_process_needs_no_egglog(tmp_path: Path) -> None:
    assert last_line(started(tmp_path, "once")) == "True"
    assert last_line(started(tmp_path, "once")) == "False"


def check_sharing(folder: Path, processes: int, threads: int, calls: int) -> None:
    """All calls of all threads in all processes are right, and leave whole entries."""
    started_all = [started(folder, "share", str(threads), str(calls)) for _ in range(processes)]
    assert [last_line(process) for process in started_all] == [f"{threads * calls} of {threads * calls}"] * processes
    store = Store(folder)
    assert torn(store) == []
    assert parts(store) == []


def parts(store: Store) -> list[str]:
    return [file.path for file in store.files() if file.partial]


@pytest.mark.slow
def test_threads_and_processes_share_a_folder(tmp_path: Path) -> None:
    check_sharing(tmp_path, processes=2, threads=3, calls=examples(8, least=3))


@pytest.mark.fuzz
def test_threads_and_processes_share_a_folder_for_long(tmp_path: Path) -> None:
    for round in range(5):
        check_sharing(tmp_path / str(round), processes=4, threads=8, calls=100)


def killed_while_it_writes(folder: Path) -> None:
    """Kill a process as soon as it has begun to write an entry, after some that were written."""
    process, store = started(folder, "write"), Store(folder)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    while not parts(store):
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)


@pytest.mark.slow
def test_a_process_killed_while_it_writes_loses_that_entry_only(tmp_path: Path) -> None:
    store, halves = Store(tmp_path), 0
    for _ in range(3):
        killed_while_it_writes(tmp_path)
        halves += len(parts(store))
        assert torn(store) == []
        assert all(store.get(f"whole {k}") == bytes(ENTRY_BYTES) for k in range(WHOLE))
        for path in parts(store):
            os.utime(path, (0, 0))
    assert halves > 0
    store.put("more", b"again")
    assert store.get("more") == b"again"
    Store(tmp_path, limit=LIMIT).put("much", bytes(LIMIT // 16))  # so much that all files are looked at
    assert parts(store) == []
