"""`python -m eqsat cache`: what is kept on disk, as sums or one by one, or removed."""

from __future__ import annotations

import argparse
import time
from collections import Counter

from eqsat import cache
from eqsat.cache import mebibytes
from eqsat.command_line.answer import Answer, Facts, Table, Text

EXAMPLE = """examples:
  python -m eqsat cache
  python -m eqsat cache list
  python -m eqsat cache clear"""
MINUTE, HOUR, DAY = 60, 3600, 86400


def add_parser(parser: argparse.ArgumentParser) -> None:
    text = "info, the default: folder, entries, bytes; list: every entry, the latest used first; clear: remove all of them"
    parser.add_argument("action", choices=("info", "list", "clear"), nargs="?", default="info", help=text)


def run(arguments: argparse.Namespace) -> Answer:
    if arguments.action == "clear":
        found = cache.clear()
        return Answer((Text("", f"cleared {found}"),), {"cleared": _data(found)})
    found, entries = cache.info(), cache.entries()
    if arguments.action == "list":
        return _listed(found, entries)
    kinds = Counter(entry.kind for entry in entries)
    sizes: Counter[str] = Counter()
    for entry in entries:
        sizes[entry.kind] += entry.bytes
    by_kind = {kind: {"entries": kinds[kind], "bytes": sizes[kind]} for kind in sorted(kinds)}
    facts = tuple((kind, f"{kinds[kind]} entries, {mebibytes(sizes[kind])}") for kind in sorted(kinds))
    return Answer((Facts(str(found), facts) if facts else Text("", str(found)),), {**_data(found), "kinds": by_kind})


def _listed(found: cache.CacheInfo, entries: tuple[cache.CacheEntry, ...]) -> Answer:
    now = time.time()
    rows = tuple((entry.kind, f"{entry.bytes:,}", _ago(now - entry.used), entry.path.name) for entry in entries)
    columns = ("kind", "bytes", "used", "file")
    table = Table(str(found), columns, rows, frozenset({"bytes", "used"}))
    data = [{"kind": entry.kind, "bytes": entry.bytes, "used": entry.used, "path": str(entry.path)} for entry in entries]
    return Answer((table if rows else Text("", str(found)),), {**_data(found), "list": data})


def _data(found: cache.CacheInfo) -> dict[str, object]:
    folder = None if found.folder is None else str(found.folder)
    return {"folder": folder, "entries": found.entries, "bytes": found.bytes, "limit": found.limit}


def _ago(seconds: float) -> str:
    for unit, size in (("d", DAY), ("h", HOUR), ("min", MINUTE)):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit} ago"
    return f"{max(seconds, 0):.0f} s ago"
