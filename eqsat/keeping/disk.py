"""Entries on disk that outlive the process: bytes under a key, checked when they are read, bounded in size.

A folder holds one file an entry, named by the hash of its key:

    magic           8 bytes, the last one the version of this format
    checksum        32 bytes, BLAKE2 of everything after it
    length of key   8 bytes, little-endian
    key             UTF-8
    payload         the rest

A file is written beside its place and moved there, so that readers see a whole entry or none.  What fails its checksum, or is another
key's, is no entry.  Nothing here raises for what the disk does: without a folder, or with a full one, there are just no entries.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

FORMAT = 1
MAGIC = b"eqsat\0\0" + bytes([FORMAT])
CHECKSUM = 32
SUFFIX, PART = ".eqsat", ".eqsat-part"
LIMIT = 256 << 20
KEY_START = 16
# a file that is being written for longer is what a process left behind that was killed
PART_SECONDS = 3600.0


@dataclass(frozen=True)
class File:
    """An entry's file as it was when it was listed; `partial`: it is being written, or was when its process ended."""

    path: str
    size: int
    used: float

    @property
    def partial(self) -> bool:
        return self.path.endswith(PART)


class Store:
    """The entries in a folder, and the bound in bytes on those of all formats in it, kept to within a sixteenth; the least recently used go
    first.

    Threads and processes may share a folder.
    """

    def __init__(self, root: Path, limit: int = LIMIT) -> None:
        self.root = root
        self.folder = root / f"v{FORMAT}"
        self.limit = limit

    def path(self, key: str) -> Path:
        """Where the entry of a key is, or would be."""
        return self.folder / f"{hashlib.blake2b(key.encode(), digest_size=20).hexdigest()}{SUFFIX}"

    def get(self, key: str) -> bytes | None:
        """The payload of a key; None where there is none that is whole."""
        path = self.path(key)
        try:
            entry = path.read_bytes()
        except OSError:
            return None
        payload = _payload(entry, key)
        if payload is not None:
            with suppress(OSError):
                os.utime(path)
        return payload

    def put(self, key: str, payload: bytes) -> None:
        """Keep a payload, in the place of what the key had before; one that is larger than the bound is not kept."""
        entry = _entry(key, payload)
        if len(entry) > self.limit:
            return
        with suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            path = self.path(key)
            _write(path, entry)
            if self._looks(path, len(entry)):
                self._trim()

    def _looks(self, path: Path, size: int) -> bool:
        """Whether it is time to look at all files, which takes a tenth of a second where they are many: about once for every sixteenth of
        the bound that is written, by whatever process."""
        return int(path.stem[:8], 16) / 2**32 * (self.limit / 16) < size

    def files(self) -> Iterator[File]:
        """The files of entries of every format, in no order."""
        for folder in _listed(self.root):
            for file in _listed(folder.path):
                if file.name.endswith((SUFFIX, PART)):
                    with suppress(OSError):
                        yield File(file.path, file.stat().st_size, file.stat().st_mtime)

    def clear(self) -> None:
        """Remove all entries; raises OSError where that is not allowed."""
        for file in self.files():
            _remove(file)

    def _trim(self) -> None:
        oldest_part = time.time() - PART_SECONDS
        kept = []
        for file in self.files():
            if file.partial and file.used < oldest_part:
                _remove(file)
            else:
                kept.append(file)
        excess = sum(file.size for file in kept) - self.limit
        for file in sorted((file for file in kept if not file.partial), key=lambda file: file.used):
            if excess <= 0:
                return
            _remove(file)
            excess -= file.size


def default_root() -> Path | None:
    """The folder of this user: EQSAT_CACHE_DIR, else `eqsat` where the platform keeps caches; None for a user without a home."""
    chosen = os.environ.get("EQSAT_CACHE_DIR")
    if chosen:
        return Path(chosen)
    try:
        return _platform_caches() / "eqsat"
    except RuntimeError:
        return None


def _platform_caches() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def key_start(path: str) -> str:
    """The first characters of an entry's key, which is not checked; none of a file that is no entry of this format."""
    start = len(MAGIC) + CHECKSUM + 8
    try:
        with open(path, "rb") as file:
            head = file.read(start + KEY_START)
    except OSError:
        return ""
    return head[start:].decode(errors="replace") if head.startswith(MAGIC) else ""


def _entry(key: str, payload: bytes) -> bytes:
    name = key.encode()
    checked = len(name).to_bytes(8, "little") + name + payload
    return MAGIC + _checksum(checked) + checked


def _payload(entry: bytes, key: str) -> bytes | None:
    """What is behind the head of an entry; None for one that is not whole, or not this key's."""
    start = len(MAGIC) + CHECKSUM
    checked = memoryview(entry)[start:]
    if entry[:start] != MAGIC + _checksum(checked):
        return None
    name = key.encode()
    head = len(name).to_bytes(8, "little") + name
    return bytes(checked[len(head) :]) if checked[: len(head)] == head else None


def _checksum(checked: bytes | memoryview) -> bytes:
    return hashlib.blake2b(checked, digest_size=CHECKSUM).digest()


def _listed(folder: Path | str) -> list[os.DirEntry[str]]:
    """What is in a folder; nothing in what is none, or may not be read."""
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []


def _remove(file: File) -> None:
    with suppress(FileNotFoundError):
        os.unlink(file.path)


def _write(path: Path, entry: bytes) -> None:
    """Put a file in its place as a whole."""
    handle, name = tempfile.mkstemp(suffix=PART, dir=path.parent)
    try:
        with open(handle, "wb") as file:
            file.write(entry)
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
