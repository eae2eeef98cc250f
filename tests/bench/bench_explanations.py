"""How well results are explained, printed: `python -m tests.bench.bench_explanations [--count N] [--seed S]`.

Of generated terms (index_families.py): how many results are traced to their originals step by step, how long that takes, and that
both sides of every step agree at the points of index_score.py; for those that keep a division whether a guard is named, and whether
with it granted (`eqsat.assume`) the division goes or the row fires.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import Counter

import numpy as np

import eqsat
from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import Apply, Index, variables, walk
from eqsat.ir.index_points import conditions
from eqsat.result import IndexResult
from tests.bench.index_families import FAMILIES, family
from tests.bench.index_score import grid


def kept(term: Index) -> set[Index]:
    """The divisions of a term."""
    return {sub for sub in walk(term) if isinstance(sub, Apply) and sub.op in ("floordiv", "mod")}


def disagreement(before: Index, after: Index) -> str | None:
    """A point at which two sides differ, at which the first one has a value; both may name variables that the other has not."""
    names = variables(before, after)
    env = grid(names)
    with np.errstate(all="ignore"):
        wrong = np.asarray(evaluate_index(before, env)) != np.asarray(evaluate_index(after, env))
    for condition in conditions(before):
        wrong = wrong & (np.asarray(evaluate_index(condition, env)) != 0)
    if not np.any(wrong):
        return None
    at = int(np.argmax(wrong)) if wrong.shape else 0
    return str({v.name: int(env[v][at]) for v in names})


def trace(found: IndexResult, seen: Counter[str], times: list[float], lengths: list[int]) -> None:
    """Whether the steps are those of a trace, and whether each is an equality."""
    start = time.perf_counter()
    steps = found.steps
    times.append(time.perf_counter() - start)
    lengths.append(len(steps))
    seen["changed"] += 1
    seen["not traced"] += len(steps) == 1 and len(steps[0].rows) > 6
    for step in steps:
        seen["steps"] += 1
        wrong = disagreement(step.before, step.after)
        if wrong is not None:
            seen["wrong"] += 1
            print(f"  wrong: {step.before} = {step.after} by {step.rows} at {wrong}")


def ask(found: IndexResult, seen: Counter[str]) -> None:
    """Whether a guard is named for a division that stays, and what happens where it is granted."""
    seen["kept"] += 1
    seen["named"] += bool(found.missing)
    for miss in found.missing[:1]:
        with eqsat.assume(miss.needed):
            after = eqsat.optimize(found.expr)
        gone = miss.term not in kept(after.expr)
        seen["gone"] += gone
        seen["gone or fired"] += gone or after.report.matches[miss.row] > 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=50, help="terms of each family")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    seen: Counter[str] = Counter()
    times: list[float] = []
    lengths: list[int] = []
    for name in FAMILIES:
        for term in family(name, chosen.count, chosen.seed):
            found = eqsat.optimize(term)
            if found.expr is not term:
                trace(found, seen, times, lengths)
            if kept(found.expr):
                ask(found, seen)
    print(f"{seen['changed']} expressions changed, {seen['not traced']} not traced; {seen['steps']} steps, {seen['wrong']} wrong")
    print(f"steps: median {statistics.median(lengths)}, most {max(lengths)}; ", end="")
    print(f"time: median {1e3 * statistics.median(times):.0f} ms, most {max(times):.1f} s")
    print(f"{seen['kept']} keep a division, {seen['named']} with a guard named; granted, {seen['gone']} lose the division,", end=" ")
    print(f"{seen['gone or fired']} lose it or the row fires")


if __name__ == "__main__":
    main()
