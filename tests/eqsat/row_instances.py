"""Pattern rows with concrete constants and terms: their left sides, with the guard holding or not."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import Apply, Const, Index, Var, apply, substitute, var, variables, walk
from eqsat.rules.row import LITERAL_RANGE, Pattern, is_literal

RANGES = ((0, 20), (-7, 12), (0, 3), (4, 7), (1, 5), (-4, -1), (0, 1))
TRIES = 6000


def instances(row: Pattern, count: int, guarded: bool = True) -> list[Index]:
    """Left sides for which the guard follows from the ranges of their variables; else any."""
    rng = random.Random(f"{row.name} {guarded}")
    found: dict[Index, None] = {}
    for _ in range(TRIES):
        env = _drawn(row, rng)
        if not guarded or _guard_follows(row, env):
            found[substitute(row.lhs, env)] = None
        if len(found) == count:
            break
    return [term if isinstance(term, Apply) else abs(term) for term in found]


def _drawn(row: Pattern, rng: random.Random) -> dict[Var, Index]:
    """A constant or term for each variable of the left side; a term may depend on the ones before it, as guards need."""
    read_off = {name for name, _ in row.define}
    env: dict[Var, Index] = {}
    for name in variables(row.lhs, *row.when):
        if is_literal(name):
            if name not in read_off:
                env[name] = Const(rng.randint(*LITERAL_RANGE))
        else:
            env[name] = _term(name.name, [term for term in env.values() if not isinstance(term, Const)], rng)
    return env


def _term(name: str, before: list[Index], rng: random.Random) -> Index:
    kind = rng.random()
    if kind < 0.1:
        return Const(rng.randint(*LITERAL_RANGE))
    if before and kind < 0.4:
        return rng.choice(before) * rng.choice((1, -1)) + rng.randint(-4, 4)
    span = rng.randrange(len(RANGES))
    fresh = var(f"{name}_{span}", *RANGES[span])
    if kind < 0.6:
        return apply("int", apply(rng.choice(("ge", "eq", "lt")), fresh, rng.randint(-4, 4)))
    return fresh


def _guard_follows(row: Pattern, env: dict[Var, Index]) -> bool:
    """Whether every condition holds at all points; constants read off bounds are the least values."""
    names = variables(*env.values())
    grid = dict(zip(names, np.ix_(*(np.arange(v.lo, v.hi + 1) for v in names)), strict=True))
    try:
        known = {**env}
        for name, value in row.define:
            known[name] = Const(int(np.min(evaluate_index(substitute(value, known), grid))))
        return all(np.all(evaluate_index(substitute(condition, known), grid)) for condition in row.when)
    except ZeroDivisionError:
        return False


# readings --------------------------------------------------------------------------------------------------------------------


def readings(row: Pattern) -> Iterator[Pattern]:
    """A row as it is written, and as the e-graph holds it: `and` is min, `or` is max, `not` is `== 0` or `1 -`."""
    yield row
    for negation in ("eq", "sub"):
        yield replace(row, lhs=_held(row.lhs, negation), rhs=_held(row.rhs, negation))


def _held(term: Index, negation: str) -> Index:
    done: dict[Index, Index] = {}
    for sub in walk(term):
        if isinstance(sub, Apply):
            args = [done[arg] for arg in sub.args]
            if sub.op == "not":
                done[sub] = apply("eq", args[0], 0) if negation == "eq" else 1 - args[0]
            else:
                done[sub] = apply({"and": "min", "or": "max"}.get(sub.op, sub.op), *args)
        else:
            done[sub] = Const(int(sub.value)) if isinstance(sub, Const) else sub
    return done[term]
