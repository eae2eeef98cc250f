"""Calls with more than arrays: numbers, keywords, and arrays in containers, taken apart at little cost.

All but the arrays of a call is its form, which is a key.  The arrays are handed to machine code that knows the plans of that form, and
looks at their shapes and dtypes itself (eqsat/running/direct_call.py).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eqsat.capture.signature import Baked, Given
from eqsat.running.direct_call import KnownPlans
from eqsat.running.plan import Plan

# forms that are remembered
MOST_FORMS = 256
PLAIN = frozenset((bool, int, str, type(None)))


class _Unknown(Exception):
    """A value that is no array, nor a number, text, dtype or None, nor a container of these."""


@dataclass
class Form:
    """Calls that differ in their arrays alone; `direct`: what takes these, once a plan is known."""

    known: KnownPlans
    direct: Callable[..., Any] | None = None

    def called(self, plan: Plan) -> None:
        """Remember a plan that was called with such values; once it was called twice it is called directly, if it can be."""
        self.direct = self.known.called(id(plan), lambda: plan.direct, plan) or self.direct


class Forms:
    """The forms of calls of one function; `otherwise(names, values, out)` computes what is not known.

    names   of the arguments of a call: how many are positional, and the keywords of the others
    values  of the arguments, positional ones first
    """

    def __init__(self, title: str, otherwise: Callable[..., Any]) -> None:
        self._title, self._otherwise = title, otherwise
        self._order: dict[tuple[Any, ...], tuple[int, ...]] = {}
        self._found: dict[Hashable, Form] = {}

    def know(self, names: tuple[Any, ...], inputs: Sequence[Any]) -> None:
        """In which order a program takes the values of calls with these names: `inputs` are their places (Given); in none that is known
        where other arrays, of defaults, are among them."""
        if all(isinstance(value, Given | Baked) for value in inputs):
            self._order[names] = tuple(value.position for value in inputs if isinstance(value, Given))

    def find(self, names: tuple[Any, ...], values: Sequence[Any]) -> tuple[Form, list[Any]] | None:
        """The form of a call and its arrays in order; None of a call that is none of these, whose order is not known, or one too many."""
        order = self._order.get(names)
        if order is None:
            return None
        arrays: list[Any] = []
        try:
            key = (names, *[_key(values[place], arrays) for place in order])
        except _Unknown:
            return None
        found = self._found.get(key)
        if found is None and len(self._found) < MOST_FORMS:
            found = self._found.setdefault(key, self._form(names, order, values))
        return None if found is None else (found, arrays)

    def _form(self, names: tuple[Any, ...], order: tuple[int, ...], values: Sequence[Any]) -> Form:
        emptied = [_emptied(value) for value in values]

        def otherwise(*arrays: Any, out: Any = None) -> Any:
            rest, filled = iter(arrays), list(emptied)
            for place in order:
                filled[place] = _filled(emptied[place], rest)
            return self._otherwise(names, filled, out)

        return Form(KnownPlans(self._title, otherwise))


# where an array stands
_ARRAY = object()


def _key(value: Any, arrays: list[Any]) -> Hashable:
    """What tells a value apart but for the elements of its arrays, which are appended; _Unknown of any other."""
    kind = type(value)
    if kind is np.ndarray:
        arrays.append(value)
        return None
    if kind in PLAIN:
        return kind, value
    if kind is float:
        return kind, value.hex()  # zeros have signs, and no NaN equals another
    if kind is tuple or kind is list:
        return (kind, *[_key(item, arrays) for item in value])
    if kind is dict:
        return (kind, *value, *[_key(item, arrays) for item in value.values()])
    if isinstance(value, np.generic):
        arrays.append(np.asarray(value))
        return None
    if isinstance(value, type | np.dtype):
        return type, value
    raise _Unknown


def _emptied(value: Any) -> Any:
    """A value of its own with _ARRAY in the place of each array."""
    kind = type(value)
    if kind is tuple or kind is list:
        return kind(_emptied(item) for item in value)
    if kind is dict:
        return {name: _emptied(item) for name, item in value.items()}
    return _ARRAY if isinstance(value, np.ndarray | np.generic) else value


def _filled(value: Any, arrays: Iterator[Any]) -> Any:
    kind = type(value)
    if kind is tuple or kind is list:
        return kind(_filled(item, arrays) for item in value)
    if kind is dict:
        return {name: _filled(item, arrays) for name, item in value.items()}
    return next(arrays) if value is _ARRAY else value
