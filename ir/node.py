"""Hash-consed nodes: equal terms are one object, so equality is identity and hashing is free.

A node class is a dataclass(frozen=True, eq=False, repr=False) that derives from `Node`; its constructor returns the
living node with the same fields if there is one.
"""

from __future__ import annotations

import dataclasses
import functools
import threading
import weakref
from typing import Any, ClassVar


class Interned(type):
    """Metaclass of node classes: one table for all of them, which holds the nodes weakly."""

    _table: ClassVar[weakref.WeakValueDictionary[tuple[Any, ...], Any]] = weakref.WeakValueDictionary()
    _lock = threading.RLock()

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        node = super().__call__(*args, **kwargs)
        key = (cls, *node.identity())
        with Interned._lock:
            return Interned._table.setdefault(key, node)


@functools.cache
def _parameters(node_class: Any) -> tuple[str, ...]:
    """The fields that a constructor takes."""
    return tuple(field.name for field in dataclasses.fields(node_class) if field.init)


class Node(metaclass=Interned):
    """A term; its fields never change."""

    def identity(self) -> tuple[Any, ...]:
        """What makes two nodes of one class the same node."""
        return tuple(getattr(self, name) for name in _parameters(type(self)))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, name) for name in _parameters(type(self)))

    def __copy__(self) -> Node:
        return self

    def __deepcopy__(self, memo: object) -> Node:
        return self

    def __str__(self) -> str:
        return to_text(self)

    __repr__ = __str__


@functools.singledispatch
def to_text(node: object) -> str:
    """The text form of a term; the modules that define node classes register theirs."""
    raise NotImplementedError(f"no text form for {type(node).__name__}")
