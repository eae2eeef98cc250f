"""The nested containers that a traced function takes and returns, apart from the arrays in them.

structure ::= int                              position in the outputs of a Program, or among the leaves of a call
            | Container(kind, items, keys, of)
                  kind  "tuple", "list", "dict", or "fields" of a dataclass
                  keys  of a dict, or the names of fields, in order
                  of    the class of a named tuple or a dataclass, by module and name
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import sys
from collections import Counter, namedtuple
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal as Choice
from weakref import WeakKeyDictionary, WeakValueDictionary

from eqsat.ir.errors import UsageError


@dataclass(frozen=True)
class Container:
    """A tuple, list, dict or dataclass of results."""

    kind: Choice["tuple", "list", "dict", "fields"]
    items: tuple[Structure, ...]
    keys: tuple[str, ...] = ()
    of: str = ""


Structure = int | Container


def positions(structure: Structure) -> tuple[int, ...]:
    """The output positions that occur, left to right, with repetitions."""
    if isinstance(structure, int):
        return (structure,)
    return tuple(position for item in structure.items for position in positions(item))


def each_by_itself(structure: Structure) -> Structure:
    """The same containers with a position of its own for each array in them, left to right."""
    numbers = itertools.count()

    def numbered(part: Structure) -> Structure:
        if isinstance(part, int):
            return next(numbers)
        return dataclasses.replace(part, items=tuple(numbered(item) for item in part.items))

    return numbered(structure)


def flatten_result(result: Any, place: Callable[[Any, str], int], where: str = "result") -> Structure:
    """The structure of what a function returned, or takes; `place(leaf, where)` stores a leaf and gives its position.

    Raises UsageError for dict keys that are no strings; other leaves are judged by `place`.
    """
    if fields := fields_of(result):
        items = tuple(flatten_result(getattr(result, name), place, f"{where}.{name}") for name in fields)
        return Container("tuple" if isinstance(result, tuple) else "fields", items, fields, _noted(type(result)))
    if type(result) is tuple or type(result) is list:
        items = tuple(flatten_result(item, place, f"{where}[{k}]") for k, item in enumerate(result))
        return Container("list" if type(result) is list else "tuple", items)
    if type(result) is dict:
        for key in result:
            if type(key) is not str:
                raise UsageError(f"{where}: found the dict key {key!r}, expected strings")
        items = tuple(flatten_result(item, place, f"{where}[{key!r}]") for key, item in result.items())
        return Container("dict", items, tuple(result))
    return place(result, where)


def rebuild_result(structure: Structure, arrays: Sequence[Any]) -> Any:
    """The containers again, filled with the arrays of a Program's outputs; what occurs twice is copied."""
    if isinstance(structure, int):
        return arrays[structure]
    used: set[int] = set()

    def fill(part: Structure) -> Any:
        if isinstance(part, int):
            array = arrays[part].copy() if part in used else arrays[part]
            used.add(part)
            return array
        filled = [fill(item) for item in part.items]
        if part.kind == "dict":
            return dict(zip(part.keys, filled, strict=True))
        if part.keys:
            return _with_fields(part, filled)
        return tuple(filled) if part.kind == "tuple" else filled

    return fill(structure)


def fields_of(value: Any) -> tuple[str, ...]:
    """The names of the fields of a named tuple or a dataclass; none of anything else, nor of what has a shape and a dtype itself."""
    if isinstance(value, tuple):
        return tuple(getattr(value, "_fields", ()))
    if dataclasses.is_dataclass(value) and not isinstance(value, type) and not hasattr(value, "dtype"):
        return tuple(field.name for field in dataclasses.fields(value))
    return ()


# classes with fields that have been met, by name, and their names: a module and what it calls them, and a number where several classes
# have had that name
_CLASSES: WeakValueDictionary[str, type[Any]] = WeakValueDictionary()
_NAMES: WeakKeyDictionary[type[Any], str] = WeakKeyDictionary()
_TIMES: Counter[str] = Counter()


def _noted(kind: type[Any]) -> str:
    if kind not in _NAMES:
        name = f"{kind.__module__}:{kind.__qualname__}"
        _TIMES[name] += 1
        _NAMES[kind] = name if _TIMES[name] == 1 else f"{name}#{_TIMES[name]}"
        _CLASSES[_NAMES[kind]] = kind
    return _NAMES[kind]


def _with_fields(part: Container, values: Sequence[Any]) -> Any:
    """A named tuple or dataclass of these values; of a class that this process does not know a named tuple of its own."""
    found = _CLASSES.get(part.of) or _loaded(part.of)
    if part.kind == "tuple":
        is_it = isinstance(found, type) and issubclass(found, tuple) and getattr(found, "_fields", ()) == part.keys
        return tuple.__new__(found, values) if is_it and found is not None else named(part.keys)(*values)
    if not dataclasses.is_dataclass(found) or tuple(field.name for field in dataclasses.fields(found)) != part.keys:
        return named(part.keys)(*values)
    made = object.__new__(found)
    for key, value in zip(part.keys, values, strict=True):
        object.__setattr__(made, key, value)  # of frozen ones too, and without what a new one would do
    return made


def _loaded(name: str) -> type[Any] | None:
    """The class of that module and name, if the module is loaded; nothing is imported for it."""
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    return found if isinstance(found, type) else None


@functools.cache
def named(fields: tuple[str, ...]) -> type[Any]:
    """The class of named tuples with these fields."""
    return namedtuple("Result", fields)  # fields are known only now
