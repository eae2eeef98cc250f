"""What is kept on disk: `eqsat.cache.info()`, `entries()` and `clear()`, or `python -m eqsat cache`; see docs/caches.md."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from eqsat.keeping.disk import File, key_start
from eqsat.keeping.kept import default_store

KINDS = ("code", "plan", "schedule")


@dataclass(frozen=True)
class CacheInfo:
    """The folder (None: there is no place for one), how many entries it holds, their bytes, and how many bytes it may hold."""

    folder: Path | None
    entries: int = 0
    bytes: int = 0
    limit: int = 0

    def __str__(self) -> str:
        if self.folder is None:
            return "no folder for a cache on disk: the user has no home"
        return f"{self.folder}: {self.entries} entries, {mebibytes(self.bytes)} of {mebibytes(self.limit)}"


@dataclass(frozen=True)
class CacheEntry:
    """One entry: `plan`, `code` (machine code) or `schedule`, `unfinished` while it is written, `unknown` if it is of another version; its
    bytes, when it was used last (seconds since 1970), and its file."""

    kind: str
    bytes: int
    used: float
    path: Path


def info() -> CacheInfo:
    """What is kept now, by every version of eqsat."""
    store = default_store()
    if store is None:
        return CacheInfo(None)
    files = list(store.files())
    return CacheInfo(store.root, len(files), sum(file.size for file in files), store.limit)


def entries() -> tuple[CacheEntry, ...]:
    """Every entry that is kept now, the latest used first."""
    store = default_store()
    files = sorted(store.files(), key=lambda file: (-file.used, file.path)) if store is not None else []
    return tuple(CacheEntry(_kind(file), file.size, file.used, Path(file.path)) for file in files)


def _kind(file: File) -> str:
    """The first line of its key."""
    if file.partial:
        return "unfinished"
    kind = key_start(file.path).partition("\n")[0]
    return kind if kind in KINDS else "unknown"


def clear() -> CacheInfo:
    """Remove what is kept on disk, and tell what that was; plans that this process has stay usable.  OSError where that is not allowed."""
    found, store = info(), default_store()
    if store is not None:
        store.clear()
    return found


def mebibytes(count: int) -> str:
    """1.5 MiB."""
    return f"{count / (1 << 20):.1f} MiB"
