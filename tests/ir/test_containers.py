"""Nested results, taken apart and put together."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from eqsat.ir.containers import flatten_result, positions, rebuild_result
from eqsat.ir.errors import UsageError


def test_nested_containers_come_back_with_their_arrays() -> None:
    leaves: list[Any] = []

    def place(leaf: Any, _where: str) -> int:
        leaves.append(leaf)
        return len(leaves) - 1

    result = {"b": (1, [2, ()]), "a": 3}
    structure = flatten_result(result, place)
    assert leaves == [1, 2, 3]
    assert positions(structure) == (0, 1, 2)
    arrays = [np.array(leaf) for leaf in leaves]
    assert rebuild_result(structure, arrays) == result
    assert list(rebuild_result(structure, arrays)) == ["b", "a"]
    again = iter(range(3))
    assert hash(structure) == hash(flatten_result(result, lambda _leaf, _where: next(again)))


def test_an_array_that_is_returned_twice_is_two_arrays() -> None:
    first, second = rebuild_result(flatten_result((0, 0), lambda leaf, _: int(leaf)), [np.zeros(2)])
    first[0] = 1
    assert second[0] == 0


class Pair(NamedTuple):
    low: Any
    high: Any


def test_named_tuples_keep_their_fields() -> None:
    pairs = [Pair(np.array(1), (np.array(2),)), Pair(np.array(3), ())]
    leaves: list[Any] = []
    structure = flatten_result(pairs, lambda leaf, _: leaves.append(leaf) or len(leaves) - 1)  # type: ignore[func-returns-value]
    first, second = rebuild_result(structure, leaves)
    assert (first, second) == tuple(pairs)
    assert (first.low, second.high) == (1, ())
    assert type(first) is type(second)


def test_leaves_are_named_by_their_place() -> None:
    seen = []
    flatten_result({"y": [5]}, lambda _, where: seen.append(where) or 0)  # type: ignore[func-returns-value]
    assert seen == ["result['y'][0]"]


def test_keys_of_results_are_strings() -> None:
    with pytest.raises(UsageError, match="dict key 1, expected strings"):
        flatten_result({1: 2}, lambda _leaf, _where: 0)
