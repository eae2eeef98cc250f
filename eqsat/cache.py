"""What is kept on disk: `eqsat.cache.info()` and `eqsat.cache.clear()`, or `python -m eqsat cache`; see docs/caches.md."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from eqsat.kept import default_store


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
        return f"{self.folder}: {self.entries} entries, {_mebibytes(self.bytes)} of {_mebibytes(self.limit)}"


def info() -> CacheInfo:
    """What is kept now, by every version of eqsat."""
    store = default_store()
    if store is None:
        return CacheInfo(None)
    files = list(store.files())
    return CacheInfo(store.root, len(files), sum(file.size for file in files), store.limit)


def clear() -> CacheInfo:
    """Remove what is kept on disk, and tell what that was; plans that this process has stay usable.  OSError where that is not allowed."""
    found, store = info(), default_store()
    if store is not None:
        store.clear()
    return found


def _mebibytes(count: int) -> str:
    return f"{count / (1 << 20):.1f} MiB"
