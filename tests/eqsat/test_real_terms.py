"""Index terms of real programs, as tinygrad and TVM lower them, which cost more than what one of these makes of them once."""

from __future__ import annotations

import pytest

import eqsat
from eqsat.indices.parse import parse_index
from tests.bench.index_score import counterexample, score

Bounds = tuple[int, int]
# a term, the ranges of its variables, and the cost of what the better of both makes of it
TERMS: list[tuple[str, dict[str, Bounds], int]] = [
    # variables of one value (Winograd convolutions, kernels of one row)
    ("r0*12 + r1", {"r0": (0, 0), "r1": (0, 11)}, 0),
    ("r0*12 + r1", {"r0": (3, 3), "r1": (0, 11)}, 1),
    ("x*12 + y%5", {"x": (2, 2), "y": (0, 9)}, 11),
    # quotients of two values as conditions (rotated embeddings, Hadamard transforms)
    ("not (x//8 != 0)", {"x": (0, 15)}, 1),
    ("not (x//4%2 != 0)", {"x": (0, 300)}, 2),
    ("x//8 == 1", {"x": (0, 15)}, 1),
    # equality with an end of the range (choices among stacked arrays)
    ("x != 0 and x != 1", {"x": (0, 8)}, 1),
    ("x == 0 or x == 1", {"x": (0, 8)}, 1),
    ("x%4 != 0 and x%4 != 1 and x%4 != 2", {"x": (0, 99)}, 2),
    ("x//3%5 != 0", {"x": (0, 99)}, 11),
    ("x//3%5 == 0", {"x": (0, 99)}, 11),
    ("x//3%5 == 4", {"x": (0, 99)}, 11),
    ("where(x//3%5 == 0, a, b)", {"x": (0, 99), "a": (0, 9), "b": (0, 9)}, 12),
    # digits of another radix (pooling backwards, dilation)
    ("x//3%10//7", {"x": (0, 300)}, 20),
    ("(x//3%10 + 4)//5", {"x": (0, 300)}, 21),
    ("(x//11%9 + 1)//2", {"x": (0, 300)}, 22),
    # digits with an offset (windows that are shifted around)
    ("x%6 + (x//6 + 1)%4*6", {"x": (0, 30)}, 11),
    ("(x + 3)%6 + (x + 9)//6%2*6", {"x": (0, 11)}, 11),
    ("(x + 2)%5 + (x + 7)//5%3*5", {"x": (0, 30)}, 11),
    ("(x + 9)//6*6 + (x + 3)%6", {"x": (0, 30)}, 1),
    # several comparisons of one difference (transposed convolutions, biases of attention)
    ("a - b >= -6 and a - b + 1 < 3", {"a": (0, 7), "b": (0, 9)}, 4),
    ("a == b + 3 or a == b + 7 or a == b + 9", {"a": (0, 20), "b": (0, 9)}, 6),
    ("(r1 - r0*3 + 2) * where(r0*3 - r1 + 1 < 0, -1, 1)", {"r0": (0, 3), "r1": (0, 11)}, 8),
    (
        "(r0*3 - r1 + 2) * where(r0*3 - r1 + 2 != 0, where(r0*3 - r1 < -2, -1, 1), 0)",
        {"r0": (0, 3), "r1": (0, 11)},
        10,
    ),
]


@pytest.mark.parametrize(("text", "ranges", "least"), TERMS, ids=[text for text, _, _ in TERMS])
def test_terms_cost_no_more_than_what_others_make_of_them(text: str, ranges: dict[str, Bounds], least: int) -> None:
    term = parse_index(text, ranges)
    result = eqsat.simplify(term)
    assert score(result) <= least
    assert counterexample(term, result) is None
