"""Hash-consed nodes: equal terms are one object, so equality is identity and hashing is free.

A node class is a dataclass(frozen=True, eq=False, repr=False) that derives from `Node`; its constructor returns the
living node with the same fields if there is one.  What a node is made of is walked by a `Walk`, which remembers it.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import threading
import weakref
from collections.abc import Callable, Container, Iterator
from typing import Any, ClassVar, Generic, TypeVar

N = TypeVar("N", bound="Node")
# what a node is made of is remembered up to so many nodes: large programs have many large ones
REMEMBERED = 256


class _Entry(weakref.ref[Any]):
    """A node in the table, and where it stands there."""

    __slots__ = ("key",)
    key: tuple[Any, ...]


class Interned(type):
    """Metaclass of node classes: one table for all of them, which holds the nodes weakly."""

    _table: ClassVar[dict[tuple[Any, ...], _Entry]] = {}
    _lock = threading.RLock()
    identified: Callable[..., tuple[Any, ...]] | None

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if kwargs or len(args) != len(_parameters(cls)):
            args = _completed(cls, args, kwargs)
        key = (cls, *(args if cls.identified is None else cls.identified(*args)))
        entry = Interned._table.get(key)
        known = None if entry is None else entry()
        if known is not None:
            return known
        made = _Entry(node := super().__call__(*args), _forget)
        made.key = key
        with Interned._lock:
            entry = Interned._table.get(key)
            known = None if entry is None else entry()
            if known is not None:
                return known
            Interned._table[key] = made
        return node


def _forget(entry: _Entry, table: dict[tuple[Any, ...], _Entry] = Interned._table, lock: Any = Interned._lock) -> None:
    """Take out an entry whose node is gone, unless another has its place; where the interpreter ends too, when names are gone."""
    with lock:
        if table.get(entry.key) is entry:
            del table[entry.key]


@functools.cache
def _parameters(node_class: Any) -> tuple[str, ...]:
    """The fields that a constructor takes."""
    return tuple(field.name for field in dataclasses.fields(node_class) if field.init)


@functools.cache
def _signature(node_class: Any) -> inspect.Signature:
    return inspect.signature(node_class.__init__)


def _completed(node_class: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """What a constructor is given, by position and with its defaults."""
    bound = _signature(node_class).bind(None, *args, **kwargs)
    bound.apply_defaults()
    return bound.args[1:]


class Node(metaclass=Interned):
    """A term; its fields never change."""

    # what makes two nodes of one class the same node, of what the constructor is given: all of that, unless a class has a function for it
    identified: ClassVar[Callable[..., tuple[Any, ...]] | None] = None

    def identity(self) -> tuple[Any, ...]:
        """What makes two nodes of one class the same node."""
        given = tuple(getattr(self, name) for name in _parameters(type(self)))
        return given if self.identified is None else self.identified(*given)

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
