"""Terms as text that no other term has: names of programs that outlive the process."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from eqsat.ir.containers import Container
from eqsat.ir.errors import InternalError
from eqsat.ir.node import Node

LONG_BYTES = 64
PLAIN = (str, int, bytes, type(None))  # types of fields of which no two have one repr


def canonical_text(root: Node) -> str:
    """A line for every distinct node below `root`, operands first: its class and its fields, nodes by the number of their line.

    Two terms have one text if and only if they are the same node.  Long byte strings (the elements of constants) are written as
    their BLAKE2 hash.
    """
    numbers: dict[Node, int] = {}
    lines: list[str] = []
    stack = [(root, root.identity(), False)]
    while stack:
        node, fields, ready = stack.pop()
        if node in numbers:
            continue
        below = [] if ready else [part for part in _nodes(fields) if part not in numbers]
        if below:
            stack.append((node, fields, True))
            stack.extend((part, part.identity(), False) for part in reversed(below))
        else:
            lines.append(f"{type(node).__name__} {_spelled(fields, numbers)}")
            numbers[node] = len(numbers)
    return "\n".join(lines)


def _nodes(fields: tuple[Any, ...]) -> Iterator[Node]:
    for field in fields:
        if isinstance(field, Node):
            yield field
        elif isinstance(field, tuple):
            yield from _nodes(field)


def _spelled(field: Any, numbers: Mapping[Node, int]) -> str:
    if isinstance(field, Node):
        return f"#{numbers[field]}"
    if isinstance(field, tuple):
        return f"({' '.join(_spelled(part, numbers) for part in field)})"
    if isinstance(field, Container):
        return f"{field.kind}{_spelled(field.items, numbers)}{field.keys!r}{field.of}"
    if isinstance(field, bytes) and len(field) > LONG_BYTES:
        return f"{len(field)}:{hashlib.blake2b(field, digest_size=32).hexdigest()}"
    if not isinstance(field, PLAIN):
        raise InternalError(f"canonical text: found a field of type {type(field).__name__}, expected one whose repr is its own")
    return repr(field)
