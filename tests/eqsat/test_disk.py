"""Entries on disk: whole or not there, whatever happened to their files."""

from __future__ import annotations

import os
import resource
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eqsat.keeping.disk import CHECKSUM, LIMIT, MAGIC, PART_SECONDS, Store, default_root

KEY, PAYLOAD = "what it is made of", bytes(range(256)) * 4
HEAD = len(MAGIC) + CHECKSUM


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "cache")


def names(store: Store) -> list[str]:
    return sorted(os.path.basename(file.path) for file in store.files())


# keeping ------------------------------------------------------------------------------------------------------------------
def test_what_was_put_is_got_and_nothing_else(store: Store) -> None:
    assert store.get(KEY) is None
    store.put(KEY, PAYLOAD)
    store.put("empty", b"")
    assert store.get(KEY) == PAYLOAD
    assert store.get("empty") == b""
    assert store.get("other") is None
    store.put(KEY, b"new")
    assert store.get(KEY) == b"new"
    assert len(names(store)) == 2


def test_only_the_user_may_read_and_write_the_folder(store: Store) -> None:
    store.put(KEY, PAYLOAD)
    assert store.folder.stat().st_mode & 0o777 == 0o700
    assert store.path(KEY).stat().st_mode & 0o777 == 0o600


# entries that are not whole -----------------------------------------------------------------------------------------------
def cut(size: int) -> Callable[[bytes], bytes]:
    return lambda entry: entry[:size]


def flipped(place: int) -> Callable[[bytes], bytes]:
    return lambda entry: entry[:place] + bytes([entry[place] ^ 0x10]) + entry[place + 1 :]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": cut(0),
    "cut in the magic": cut(5),
    "cut in the checksum": cut(HEAD - 1),
    "cut before the length of the key": cut(HEAD),
    "cut in the key": cut(HEAD + 12),
    "cut in the payload": cut(HEAD + 100),
    "cut by a byte": lambda entry: entry[:-1],
    "grown by a byte": lambda entry: entry + b"\0",
    "zeros, as a file system leaves them": lambda entry: bytes(len(entry)),
    "another format": lambda entry: MAGIC[:-1] + bytes([MAGIC[-1] + 1]) + entry[len(MAGIC) :],
    "a foreign file": lambda entry: b"\x7fELF" + bytes(200),
    **{f"a bit flipped at {place}": flipped(place) for place in (0, 7, 8, HEAD - 1, HEAD, HEAD + 7, HEAD + 8, HEAD + 20, HEAD + 60, -2)},
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_entry_is_none_and_is_made_again(store: Store, damage: str) -> None:
    store.put(KEY, PAYLOAD)
    path = store.path(KEY)
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    assert store.get(KEY) is None
    store.put(KEY, PAYLOAD)
    assert store.get(KEY) == PAYLOAD


def test_every_byte_of_an_entry_counts(store: Store) -> None:
    store.put("key", b"payload")
    path = store.path("key")
    entry = path.read_bytes()
    for place in range(len(entry)):
        path.write_bytes(flipped(place)(entry))
        assert store.get("key") is None


def test_an_entry_under_the_name_of_another_key_is_none(store: Store) -> None:
    store.put(KEY, PAYLOAD)
    os.replace(store.path(KEY), store.path("other"))
    assert store.get("other") is None


def test_a_folder_in_the_place_of_an_entry_is_none(store: Store) -> None:
    store.path(KEY).mkdir(parents=True)
    store.put(KEY, PAYLOAD)
    assert store.get(KEY) is None
    assert not any(file.partial for file in store.files())


# folders that cannot be used --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("root", [Path(os.devnull), Path(os.devnull) / "below"])
def test_without_a_folder_nothing_is_kept(root: Path) -> None:
    store = Store(root)
    store.put(KEY, PAYLOAD)
    assert store.get(KEY) is None
    assert list(store.files()) == []
    store.clear()


@pytest.mark.parametrize(
    "step", ["os.replace", "tempfile.mkstemp", "os.scandir", "pathlib.Path.mkdir", "os.utime", "pathlib.Path.read_bytes"]
)
def test_whatever_the_disk_refuses_is_no_error_and_leaves_no_part(store: Store, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise PermissionError(13, "refused")

    store.put(KEY, PAYLOAD)
    monkeypatch.setattr(step, refuse)
    store.put("second", PAYLOAD)
    assert store.get(KEY) in (PAYLOAD, None)
    assert not any(file.partial for file in store.files())
    monkeypatch.undo()
    assert store.get(KEY) == PAYLOAD


def test_a_full_disk_keeps_what_was_there(store: Store) -> None:
    store.put(KEY, PAYLOAD)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        store.put(KEY, b"new" * 100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert store.get(KEY) == PAYLOAD
    assert len(names(store)) == 1


# the bound ----------------------------------------------------------------------------------------------------------------
def aged(store: Store, key: str, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(store.path(key), (then, then))


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    store = Store(tmp_path, limit=4 * (len(PAYLOAD) + 100))
    for k, key in enumerate("abcd"):
        store.put(key, PAYLOAD)
        aged(store, key, 100 - k)
    assert store.get("a") == PAYLOAD
    store.put("e", PAYLOAD)
    assert [key for key in "abcde" if store.get(key)] == ["a", "c", "d", "e"]
    assert sum(file.size for file in store.files()) <= store.limit


def test_what_is_larger_than_the_bound_is_not_kept(tmp_path: Path) -> None:
    store = Store(tmp_path, limit=1000)
    store.put("small", b"x")
    store.put("large", bytes(1000))
    assert store.get("large") is None
    assert store.get("small") == b"x"


def test_entries_of_other_formats_count_and_other_files_are_left_alone(tmp_path: Path) -> None:
    store = Store(tmp_path, limit=3000)
    others = [tmp_path / "mine.eqsat", tmp_path / "v1" / "mine.part", tmp_path / "data" / "x.entry"]
    older = tmp_path / "v0" / "x.eqsat"
    for path in (*others, older):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(bytes(2500))
        os.utime(path, (0, 0))
    store.put(KEY, PAYLOAD)
    assert not older.exists()
    store.clear()
    assert store.get(KEY) is None
    assert all(path.exists() for path in others)


def test_what_a_killed_process_left_behind_goes_after_a_while(store: Store) -> None:
    store.put(KEY, PAYLOAD)
    dead, writing = store.folder / "x.eqsat-part", store.folder / "y.eqsat-part"
    dead.write_bytes(b"half")
    writing.write_bytes(b"half")
    os.utime(dead, (time.time() - 2 * PART_SECONDS,) * 2)
    Store(store.root, limit=16 * len(PAYLOAD)).put("second", PAYLOAD)  # one that looks at all files
    assert not dead.exists()
    assert writing.exists()


def test_files_that_vanish_while_they_are_listed_are_no_error(store: Store) -> None:
    for k in range(20):
        store.put(f"{k}", PAYLOAD)
    listed = store.files()
    next(listed)
    Store(store.root).clear()
    assert list(listed) == []
    store.put(KEY, PAYLOAD)
    listed = store.files()
    shutil.rmtree(store.root)
    assert list(listed) == []
    store.put(KEY, PAYLOAD)
    assert store.get(KEY) == PAYLOAD


# where it is ----------------------------------------------------------------------------------------------------------------
def test_the_folder_is_the_environments_or_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQSAT_CACHE_DIR", "/somewhere")
    assert default_root() == Path("/somewhere")
    monkeypatch.setenv("EQSAT_CACHE_DIR", "")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert default_root() == Path("/xdg/eqsat")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/me")
    assert default_root() == Path("/home/me/.cache/eqsat")
    monkeypatch.setattr("sys.platform", "darwin")
    assert default_root() == Path("/home/me/Library/Caches/eqsat")
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", "/local")
    assert default_root() == Path("/local/eqsat")


def test_a_user_without_a_home_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setenv("EQSAT_CACHE_DIR", "")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    assert default_root() is None


def test_the_bound_is_256_mebibytes(store: Store) -> None:
    assert store.limit == LIMIT == 256 * 1024 * 1024


def test_about_one_write_in_a_sixteenth_of_the_bound_looks_at_all_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """How many there are has no part in what a write costs, nor has which process writes."""
    looks = [0]
    monkeypatch.setattr(Store, "_trim", lambda store: looks.__setitem__(0, looks[0] + 1))
    entries, size = 400, len(PAYLOAD) + 100
    for k in range(entries):
        Store(tmp_path, limit=16 * 20 * size).put(f"{k}", PAYLOAD)
    assert entries // 40 < looks[0] < entries // 10
