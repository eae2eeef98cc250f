"""What is kept on disk, and when: machine code and plans are read from there where they are known."""

from __future__ import annotations

from eqsat.codegen import object_code
from eqsat.keeping.disk import Store, default_root
from eqsat.keeping.keys import code_key
from eqsat.options import Options
from eqsat.sizes.facts import any_declared


def default_store() -> Store | None:
    """The entries of this user; None for one without a home."""
    root = default_root()
    return None if root is None else Store(root)


def store_for(options: Options) -> Store | None:
    """Where what these options make is kept; None where it is not: with `cache` off, for certificates and dumps, which show what was
    done, and for what depends on the clock or on facts that the user declared."""
    asked = options.cache and not options.certify and options.dump is None and options.limits.seconds is None
    return default_store() if asked and not any_declared() else None


def kept_code(*texts: str, options: Options, threads: int = 1) -> bytes:
    """The code of modules for this machine; what `eqsat.codegen.object_code` raises where it is not known."""
    store = store_for(options)
    if store is None:
        return object_code(*texts, threads=threads)
    key = code_key(*texts)
    kept = store.get(key)
    if kept is None:
        kept = object_code(*texts, threads=threads)
        store.put(key, kept)
    return kept


def common_code(text: str) -> bytes:
    """The object of machine code that serves all programs."""
    return kept_code(text, options=Options())
