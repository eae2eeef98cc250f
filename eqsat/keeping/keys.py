"""The keys of what is kept on disk: everything that it depends on, so an entry is never out of date, just not asked for any more."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import time
from collections.abc import Iterator
from pathlib import Path

from eqsat.codegen import host
from eqsat.ir.canonical import canonical_text
from eqsat.ir.ops import SCALAR_OPS
from eqsat.ir.tensor import Program
from eqsat.options import Options

ROOT = Path(__file__).parents[1]
_IMPORTED = time.time()


def code_key(*texts: str) -> str:
    """The key of the machine code of modules, whatever program they came from."""
    return "\n".join(["code", *host().identity, *(hashlib.blake2b(text.encode(), digest_size=32).hexdigest() for text in texts)])


def plan_key(program: Program, options: Options) -> str | None:
    """The key of the plan of a program; None while eqsat's own files are not those that this process imported, and for what depends on a
    function of the caller."""
    source = source_hash()
    if source is None or options.cost.text is None:
        return None
    text = canonical_text(program)
    if mentions_own(text):
        return None
    chosen = (options.tables, options.own_rules, options.limits, options.numerics, options.target, options.cost.text, options.tune)
    return "\n".join(["plan", source, egglog_version(), *host().identity, repr(chosen), text])


def mentions_own(text: str) -> bool:
    """Whether the text of a program has the name of an operation of the caller, whose code another process cannot know."""
    return any(name in text for name, row in SCALAR_OPS.items() if row.loops is not None)


@functools.cache
def source_hash() -> str | None:
    """A hash of eqsat's own files, so that one that was changed takes no plan of before; None if one was changed since the import."""
    found = hashlib.blake2b(digest_size=20)
    for path in source_files():
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_mtime > _IMPORTED:
                return None
            source = file.read()
        found.update(f"{os.path.relpath(path, ROOT)} {len(source)} ".encode() + source)
    return found.hexdigest()


def source_files() -> Iterator[str]:
    """The paths of eqsat's Python files, those of linked folders included, in one order everywhere."""
    for folder, folders, names in os.walk(ROOT, followlinks=True):
        folders.sort()
        yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(".py"))


@functools.cache
def egglog_version() -> str:
    """The name and version under which egglog is installed, found without importing it."""
    spec = importlib.util.find_spec("egglog")
    if spec is None or spec.origin is None:
        return "egglog"
    return ", ".join(sorted(path.name for path in Path(spec.origin).parent.parent.glob("egglog-*.dist-info")))
