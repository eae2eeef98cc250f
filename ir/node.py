"""Hash-consed nodes: equal terms are one object, so equality is identity and hashing is free.

A node class is a dataclass(frozen=True, eq=False, repr=False) that derives from `Node`; its constructor returns the
living node with the same fields if there is one.  What a node is made of is walked by a `Walk`, which remembers it.
"""

from __future__ import annotations

import dataclasses
import functools
import threading
import weakref
from collections.abc import Callable, Container, Iterator
from typing import Any, ClassVar, Generic, TypeVar

N = TypeVar("N", bound="Node")
# what a node is made of is remembered up to so many nodes: large programs have many large ones
REMEMBERED = 256


class Interned(type):
    """Metaclass of node classes: one table for all of them, which holds the nodes weakly."""

    _table: ClassVar[weakref.WeakValueDictionary[tuple[Any, ...], Any]] = weakref.WeakValueDictionary()
    _lock = threading.RLock()
    identity: Callable[..., tuple[Any, ...]]

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        key: tuple[Any, ...] = (cls, *args)
        as_given = not kwargs and cls.identity is Node.identity  # its fields are the key
        if as_given:
            known = Interned._table.get(key)
            if known is not None:
                return known
        node = super().__call__(*args, **kwargs)
        if not as_given or len(args) < len(_parameters(cls)):
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


class Walk(Generic[N]):
    """Every distinct node below some, each behind those that it is made of.

    name      under which a node remembers what it is made of, itself left out, so that nothing keeps itself alive
    children  the nodes that one is made of directly
    """

    def __init__(self, name: str, children: Callable[[N], tuple[N, ...]]) -> None:
        self._name, self._children = name, children

    def __call__(self, *roots: N, known: Container[N] = ()) -> Iterator[N]:
        """The roots too; none that is known already, nor what only those are made of."""
        if len(roots) != 1 or known:
            return self._each(roots, known)
        return iter((*self._below(roots[0]), roots[0]))

    def _below(self, root: N) -> tuple[N, ...]:
        if not self._children(root):
            return ()
        below: tuple[N, ...] | None = root.__dict__.get(self._name)
        if below is None:
            *found, _ = self._each((root,), ())
            below = tuple(found)
            if len(below) < REMEMBERED:
                object.__setattr__(root, self._name, below)
        return below

    def _each(self, roots: tuple[N, ...], known: Container[N]) -> Iterator[N]:
        seen: set[N] = set()
        stack: list[tuple[N, bool]] = [(root, False) for root in reversed(roots)]
        while stack:
            node, ready = stack.pop()
            if node in seen or node in known:
                continue
            below = () if ready else self._children(node)
            if below:
                stack.append((node, True))
                stack.extend([(child, False) for child in reversed(below)])
            else:
                seen.add(node)
                yield node


@functools.singledispatch
def to_text(node: object) -> str:
    """The text form of a term; the modules that define node classes register theirs."""
    raise NotImplementedError(f"no text form for {type(node).__name__}")
