"""Terms that are settled as they are written: saturation, if it goes on nevertheless, makes none of them cheaper."""

from __future__ import annotations

import random

import pytest

from eqsat import simplifier
from eqsat.egraph.encode import Encoder
from eqsat.egraph.settled import is_settled
from eqsat.egraph.snapshot import written_snapshot
from eqsat.index_cost import index_cycles
from eqsat.ir.index import Const, Index, apply, var, where
from eqsat.options import Options
from eqsat.parse import parse_index
from eqsat.report import Report

TERMS = 600
RANGES = {"x": (0, 30), "y": (-5, 9), "z": (0, 4), "t": (0, 2), "b": (0, 1)}
SETTLED = (
    "x + 2*y - 3",
    "y + (x - 1) // 4",
    "4*y + (x + z) % 4 * 2",
    "x < 4",
    "x < y",
    "not (x == 4)",
    "min(x, 7)",
    "max(x, y)",
    "x + y < z + 4",
    "where(x < 4, y, z)",
)
OPEN = {
    "x // 4 * 4": "x - x % 4 costs less",
    "x + x // 4": "a variable inside and outside",
    "(x + 1) // 4 + 1": "one constant can go into the other",
    "(x + 4) % 4": "a multiple of the divisor",
    "2*x // 4": "a factor that dividend and divisor share",
    "(x + b) // 2": "a variable of two values",
    "-x % 2": "nothing to subtract from",
    "z // 8": "bounds decide",
    "x // y": "no constant divisor",
    "b >= 1": "a truth value itself",
    "x >= -1": "bounds decide",
    "2*x < 9": "a coefficient",
    "x + b < 9": "a variable of two values",
    "min(x, -1)": "bounds decide",
    "min(x, x)": "a variable with itself",
    "x // 4 + y % 2": "two operations",
    "where(x < 4, y, x)": "a variable compared and chosen",
    "where(x < 4, y, y)": "no choice",
    "where(x < 4, 1, 0)": "a truth value itself",
    "where(x < 4, y, b)": "a variable of two values",
}


def settled(term: Index) -> bool:
    """Whether a term is settled as it is written."""
    encoder = Encoder()
    root = encoder.index(term)
    snapshot = written_snapshot(encoder)
    return is_settled({name: nodes[0] for name, nodes in snapshot.classes["Ix"].items()}, snapshot.bounds, root)


@pytest.mark.parametrize("text", SETTLED)
def test_one_operation_on_variables_of_its_own_is_settled(text: str) -> None:
    assert settled(parse_index(text, RANGES))


@pytest.mark.parametrize("text", OPEN)
def test_what_may_get_cheaper_is_not_settled(text: str) -> None:
    assert not settled(parse_index(text, RANGES))


def drawn(rng: random.Random) -> Index:
    """A sum of variables and one operation, settled or nearly so."""
    v = [var(name, lo := rng.randint(-9, 9), lo + rng.choice((1, 2, 3, 5, 8, 15, 40))) for name in rng.sample("uvwxyz", 5)]
    kind = rng.choice(("floordiv", "mod", "ge", "lt", "eq", "min", "max", "where"))
    other = rng.choice((v[1], rng.randint(-9, 40)))
    if kind in ("min", "max"):
        return apply(kind, v[0], other)
    if kind not in ("floordiv", "mod"):
        compared = apply(rng.choice(("ge", "lt", "eq")), v[0] * rng.choice((1, -1)) + rng.choice((0, 0, v[2], -v[2])), other)
        return compared if kind != "where" else where(compared, v[3], rng.choice((v[4], 0, 1, -3)))
    dividend = v[0] * rng.choice((1, -1)) + rng.choice((0, 0, 1, 3, -4, 9))
    for more in v[1 : rng.randint(1, 3)]:
        dividend = dividend + more * rng.choice((1, 1, 1, -1))
    n = rng.choice((2, 3, 4, 5, 8))
    total = apply(kind, dividend, n) * (rng.choice((1, 1, 2, n)) if kind == "mod" else 1) + rng.choice((0, 0, 1, -7))
    for more in v[3 : rng.randint(3, 5)]:
        total = total + more * rng.choice((1, 1, -1, 2, 3, 4, 8))
    return total


def test_saturation_makes_no_settled_term_cheaper(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(7)
    terms = [term for term in dict.fromkeys(drawn(rng) for _ in range(TERMS)) if settled(term)]
    written = dict(zip(terms, simplifier.simplify_all(terms, Options(), Report()), strict=True))
    assert len(terms) > TERMS // 5
    monkeypatch.setattr(simplifier, "is_settled", lambda *_: False)
    for term, result in zip(terms, simplifier.simplify_all(terms, Options(), Report()), strict=True):
        assert index_cycles(result) == index_cycles(written[term]), f"{term}: {written[term]}, {result}"


def test_a_comparison_of_a_variable_whose_class_is_new_is_decided_by_the_range_of_the_variable() -> None:
    """A class that has just become a variable still has its earlier bounds, in which the comparison would be open."""
    i, j = var("i", 0, 41), var("j", 0, 9)
    padded = (42 - i) * 15 + j + 2
    place = padded // 4 * 4 + padded % 4
    valid = (place // 15 >= 1) & (place % 15 >= 2) & (place // 15 < 43) & (place % 15 < 12)
    assert simplifier.simplify(valid, Options(cache=False)) is Const(True)
