"""Things that have something in common, together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable
from typing import TypeVar

T = TypeVar("T")


def connected(items: Iterable[T], names: Callable[[T], Collection[Hashable]]) -> list[list[T]]:
    """Items in groups, in order within each, of which no two have a name in common, directly or by others."""
    groups: list[tuple[set[Hashable], list[T]]] = []
    for item in items:
        own = set(names(item))
        joined = [group for group in groups if not group[0].isdisjoint(own)]
        groups = [group for group in groups if group not in joined]
        groups.append((own.union(*(known for known, _ in joined)), [*(one for _, members in joined for one in members), item]))
    return [members for _, members in groups]
