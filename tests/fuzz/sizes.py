"""Index expressions over sizes that are known at run time only, simplified under facts that the user declares, and checked over
sampled sizes: `python -m tests.fuzz.sizes --count 200 --seed 0`.

Exit status 1 if a result differs anywhere where its facts hold.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np

import eqsat
from eqsat.egraph.index_cost import index_cycles
from eqsat.ir.errors import EqsatError
from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import Const, Index, Var, apply, variables
from eqsat.ir.index_points import conditions
from tests.bench.index_families import family
from tests.fuzz.outcome import conclude

SIZES = ("n", "m")
POINTS = 4000


@dataclass(frozen=True)
class Case:
    """A term and what is declared of its variables."""

    term: Index
    facts: tuple[Index, ...]

    def __str__(self) -> str:
        ranges = ", ".join(f"{v.name}: {v.lo}..{v.hi}" for v in variables(self.term, *self.facts))
        return f"{self.term}  assuming {', '.join(map(str, self.facts))}  [{ranges}]"


def cases(count: int, seed: int = 0) -> list[Case]:
    """Terms of the family `symbolic`, their sizes declared as `dim`, each with one or two facts about them."""
    rng = random.Random(f"sizes {seed}")
    found: list[Case] = []
    for term in family("symbolic", count, seed):
        sizes = [v for v in variables(term) if v.name in SIZES]
        others = [v for v in variables(term) if v.name not in SIZES]
        facts = [_fact(rng, size, sizes, others) for size in sizes]
        found.append(Case(term, tuple(rng.sample(facts, rng.randint(1, len(facts))) if facts else ())))
    return found


def _fact(rng: random.Random, size: Var, sizes: list[Var], others: list[Var]) -> Index:
    """Something that users know of a size: what divides it, how large it is, what loops it bounds, how it compares with another."""
    step = rng.choice((2, 3, 4, 8))
    other = rng.choice(sizes)
    choices: list[Index | bool] = [
        apply("eq", size % step, 0),
        apply("eq", size % step, rng.randrange(step)),
        size >= rng.randint(size.lo, size.hi),
        size <= rng.randint(size.lo, size.hi),
        *(loop < size for loop in others),
        *([apply("eq", size % other, 0), other <= size] if other is not size else []),
    ]
    fact = rng.choice([choice for choice in choices if isinstance(choice, Index) and choice.bounds != (0, 0)])
    return fact if not isinstance(fact, Const) else apply("eq", size % step, 0)


def dims(case: Case) -> Case:
    """The case with its sizes declared by `eqsat.dim`."""
    env = {v: eqsat.dim(v.name, v.lo, v.hi) for v in variables(case.term, *case.facts) if v.name in SIZES}
    assert all(env[v] == v for v in env)
    return case


def simplified(case: Case) -> Index:
    with ExitStack() as declared:
        for fact in case.facts:
            declared.enter_context(eqsat.assume(fact))
        return eqsat.simplify(case.term)


def sampled(case: Case, seed: int) -> dict[Var, np.ndarray]:
    """Values of all variables: sizes at their ends and in between, the others anywhere."""
    rng = np.random.default_rng(seed)
    env: dict[Var, np.ndarray] = {}
    for v in variables(case.term, *case.facts):
        values = rng.integers(v.lo, v.hi + 1, POINTS)
        if v.name in SIZES:
            ends = rng.random(POINTS)
            values = np.where(ends < 0.1, v.lo, np.where(ends < 0.2, v.hi, values))
        env[v] = values
    return env


def difference(case: Case, result: Index, seed: int = 0) -> tuple[str | None, int]:
    """A sampled point at which the facts hold, the term has a value, and the result has another; and at how many points they hold."""
    env = sampled(case, seed)
    with np.errstate(all="ignore"):
        holds = np.ones(POINTS, bool)
        for condition in (*case.facts, *conditions(case.term)):
            holds &= np.asarray(evaluate_index(condition, env)) != 0
        wrong = holds & (np.asarray(evaluate_index(case.term, env)) != np.asarray(evaluate_index(result, env)))
    if not wrong.any():
        return None, int(holds.sum())
    at = int(np.argmax(wrong))
    return str({v.name: int(values[at]) for v, values in env.items()}), int(holds.sum())


def check(count: int, seed: int) -> tuple[Counter[str], list[str]]:
    """How many cases there are, how many became cheaper for their facts, at how many points they were compared; what is wrong."""
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    for position, case in enumerate(map(dims, cases(count, seed))):
        try:
            result = simplified(case)
        except EqsatError as error:
            if "never holds" in str(error):  # of facts that cannot hold together
                counts.update(cases=1, never=1)
                continue
            wrong.append(f"{case}: {type(error).__name__} {error}")
            continue
        point, points = difference(case, result, position)
        counts.update(cases=1, points=points, never=int(points == 0))
        counts["cheaper for the facts"] += index_cycles(result) < index_cycles(eqsat.simplify(case.term))
        if point is not None:
            wrong.append(f"{case} -> {result} at {point}")
    return counts, wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    conclude(*check(chosen.count, chosen.seed))


if __name__ == "__main__":
    main()
