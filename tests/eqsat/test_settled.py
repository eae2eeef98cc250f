"""Terms that are settled as they are written: saturation, if it goes on nevertheless, makes none of them cheaper."""

from __future__ import annotations

import random

import pytest

from eqsat.egraph.encode import Encoder
from eqsat.egraph.index_cost import index_cycles
from eqsat.egraph.settled import is_settled
from eqsat.egraph.snapshot import written_snapshot
from eqsat.indices import simplifier
from eqsat.indices.parse import parse_index
from eqsat.ir.index import Const, Index, apply, var, where
from eqsat.options import Options
from eqsat.report import Report
from tests.effort import examples

TERMS = examples(1800)
RANGES = {"x": (0, 30), "y": (-5, 9), "z": (0, 4), "t": (0, 2), "b": (0, 1), "w": (0, 90), "p": (1, 9), "s": (8, 11)}
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
    "x // 4 + y % 2",
    "8*min(max(x, 1), 7) + 2*max(y, 0) - 9",
    "5*x // 12",
    "w % p",
    "x >= 1 and x < 7 and y < 3",
    "x < 1 or x >= 7",
    "min(4*x + z, 7)",
    "8*min(6*x + 36*z, 58) + 8*w",
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
    "x // y": "the divisor may be zero or negative",
    "x // p * 3 + w // x": "few quotients",
    "w // (z + 1)": "no variable divides",
    "8*x // 12": "a factor that dividend and divisor share",
    "7*x // 12": "12*x - 5*x",
    "min(x, 7) + x": "a variable inside and outside",
    "x // 4 + min(x, y)": "a variable in two operations",
    "min(max(x, 7), 7)": "one value",
    "min(max(x, -1), 7)": "bounds decide",
    "min(max(x, 9), 7)": "the last bound decides",
    "x >= 1 and x < 2": "an equality",
    "x >= 1 and x >= 7": "one says more",
    "x >= 1 and y < 3 and x >= 1": "said twice",
    "s // 3": "few quotients",
    "x >= 1 or x < 7": "always so",
    "x < y and y < z": "a variable compared twice",
    "x < 1 and x - y < 4": "a variable compared twice",
    "not (x < 2) == (y < 3)": "a comparison of comparisons",
    "b >= 1": "a truth value itself",
    "x >= -1": "bounds decide",
    "2*x < 9": "a coefficient",
    "x + b < 9": "a variable of two values",
    "min(x, -1)": "bounds decide",
    "min(x, x)": "a variable with itself",
    "min(6*x, 60)": "a factor of all",
    "8*min(6*x, 58)": "a factor that can go into others",
    "min(x + w + 3, 58)": "a constant to take out",
    "min(x + z, 90)": "bounds decide",
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
def test_operations_on_variables_of_their_own_are_settled(text: str) -> None:
    assert settled(parse_index(text, RANGES))


@pytest.mark.parametrize("text", OPEN)
def test_what_may_get_cheaper_is_not_settled(text: str) -> None:
    assert not settled(parse_index(text, RANGES))


def variables(rng: random.Random) -> list[Index]:
    return [var(name, lo := rng.randint(-9, 9), lo + rng.choice((1, 2, 3, 5, 8, 15, 40))) for name in rng.sample("tuvwxyz", 6)]


def operation(rng: random.Random, v: list[Index]) -> Index:
    """An operation that is settled on variables with the ranges for it."""
    kind = rng.choice(("floordiv", "mod", "ratio", "ge", "min", "bound", "clamp", "where"))
    other = rng.choice((v[1], rng.randint(-9, 40)))
    if kind == "bound":
        total = v[0] * rng.choice((1, 3, 4, 6)) + rng.choice((0, v[1] * rng.choice((1, 2, 6, 12))))
        return apply(rng.choice(("min", "max")), total, rng.randint(-9, 60))
    if kind == "min":
        return apply(rng.choice(("min", "max")), v[0], other)
    if kind == "clamp":
        outer, inner = rng.sample(("min", "max"), 2)
        return apply(outer, apply(inner, v[0], rng.randint(-9, 40)), rng.randint(-9, 40))
    if kind == "ratio":
        number, divisor = var("n", lo := rng.randint(0, 9), lo + rng.choice((5, 90))), var("d", 1, rng.randint(1, 9))
        return apply(rng.choice(("floordiv", "mod")), number, divisor)
    if kind in ("ge", "where"):
        compared = apply(rng.choice(("ge", "lt", "eq")), v[0] * rng.choice((1, -1)) + rng.choice((0, 0, v[2], -v[2])), other)
        return compared if kind == "ge" else where(compared, v[1], rng.choice((v[2], 0, 1, -3)))
    n = rng.choice((2, 3, 4, 5, 8, 12))
    dividend = v[0] * rng.choice((1, 1, -1, 2, 3, 5)) + rng.choice((0, 0, 1, 3, -4, 9))
    for more in v[1 : rng.randint(1, 3)]:
        dividend = dividend + more * rng.choice((1, 1, 1, -1, 3))
    return apply(kind, dividend, n)


def conjunction(rng: random.Random, v: list[Index]) -> Index:
    """Comparisons of a few variables, some of them from both sides."""
    parts = []
    for _ in range(rng.randint(2, 4)):
        k = rng.randint(0, 2)
        parts.append(apply(rng.choice(("ge", "lt")), rng.choice((v[k], v[k], v[k] + v[k + 1])), rng.randint(-9, 30)))
    result, op = parts[0], rng.choice(("and", "and", "or"))
    for part in parts[1:]:
        result = apply(op, result, part)
    return result


def drawn(rng: random.Random) -> Index:
    """A sum of variables and one or two operations, or a conjunction, settled or nearly so."""
    v = variables(rng)
    if rng.random() < 0.2:
        return conjunction(rng, v)
    total = operation(rng, v)
    if total.kind == "bool" or rng.random() < 0.3:
        return total
    total = total * rng.choice((1, 1, 2, 4, -1)) + rng.choice((0, 0, 1, -7))
    if rng.random() < 0.4 and (more := operation(rng, v[3:])).kind != "bool":
        total = total + more * rng.choice((1, 1, 3, -2))
    for other in v[4 : rng.randint(4, 6)]:
        total = total + other * rng.choice((1, 1, -1, 2, 3, 4, 8))
    return total


def test_saturation_makes_no_settled_term_cheaper(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(7)
    terms = [term for term in dict.fromkeys(drawn(rng) for _ in range(TERMS)) if settled(term)]
    written = dict(zip(terms, simplifier.simplify_all(terms, Options(), Report()), strict=True))
    assert len(terms) > TERMS // 10
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
