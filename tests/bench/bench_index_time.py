"""Acceptance row d of index algebra: how long simplifying takes, printed: `python -m tests.bench.bench_index_time [CORPUS.jsonl ...]`.

Every figure is a warm median over distinct terms, result caches off where the options know one: of single calls and of a batch on the
corpora named; microseconds an e-node against the size of the e-graph; sums of many terms; a reshape of six axes there and
back; what is left of the cost at budgets of nodes.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import eqsat
from eqsat.ir.index import Index, var
from eqsat.options import Limits, Options
from tests.bench.index_families import FAMILIES, family
from tests.bench.index_score import score
from tests.bench.movement import Move, factorize, flatten, loops, random_shape, read_through, regroup

T = TypeVar("T")
UNCACHED = Options(cache=False)
BUDGETS = (60, 120, 250, 500)
BINS = (5, 10, 20, 50, 100, 200, 500)


def milliseconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e3


def attempted(call: Callable[[], T]) -> T | None:
    """What the call gives; None, and a line that says why, where it raises: one term is not the end of the run."""
    try:
        return call()
    except Exception as error:
        print(f"    failed: {type(error).__name__}: {error}")
        return None


def read_corpus(path: Path) -> list[Index]:
    """The expressions with floor semantics of a corpus in JSON lines: vars, lhs."""
    cases = [json.loads(line) for line in path.read_text().splitlines()]
    return [
        eqsat.parse_index(case["lhs"], {name: (int(lo), int(hi)) for name, (lo, hi) in case["vars"].items()})
        for case in cases
        if "lhs" in case and case.get("sem") == "floor" and case.get("kind") not in ("gated_index", "iter_image_only")
    ]


def corpus_times(path: Path) -> None:
    """One call a term, and one call for all of them."""
    terms = list(dict.fromkeys(read_corpus(path)))
    if not terms:
        print(f"{path.name}: no expressions to simplify")
        return
    single = [milliseconds(lambda term=term: eqsat.simplify(term, UNCACHED)) for term in terms]  # type: ignore[misc]
    batches = [milliseconds(lambda: eqsat.simplify_many(terms, UNCACHED)) / len(terms) for _ in range(3)]
    p90 = statistics.quantiles(single, n=10)[-1] if len(single) > 1 else single[0]
    print(
        f"{path.name}: {len(terms)} terms, single {statistics.median(single):.2f} ms (p90 {p90:.2f}), in a batch {min(batches):.2f} ms each"
    )


def node_times(terms: Sequence[Index]) -> None:
    """Microseconds an e-node over sizes of e-graphs."""
    found: list[tuple[int, float]] = []
    for term in terms:
        start = time.perf_counter()
        report = attempted(lambda term=term: eqsat.optimize(term).report)  # type: ignore[misc]
        if report is not None:
            found.append((report.nodes, (time.perf_counter() - start) * 1e6))
    for low, high in itertools.pairwise(BINS):
        inside = [(nodes, micro) for nodes, micro in found if low <= nodes < high]
        if inside:
            each = statistics.median(micro / nodes for nodes, micro in inside)
            whole = statistics.median(micro for _, micro in inside)
            print(f"e-graphs of {low:3} to {high:3} nodes: {each:6.1f} us a node, {whole / 1e3:.2f} ms a term ({len(inside)} terms)")


def timed(terms: Sequence[Index], options: Options | None = None) -> tuple[list[float], list[int]]:
    """Milliseconds, and the cost that is left, for each term."""
    times, left = [], []
    for term in terms:
        start = time.perf_counter()
        found = attempted(lambda term=term: eqsat.simplify(term, options))  # type: ignore[misc]
        times.append((time.perf_counter() - start) * 1e3)
        left.append(score(term if found is None else found))
    return times, left


def long_sum(rng: random.Random, terms: int) -> Index:
    """A sum of scaled variables, quotients and remainders: neighbours belong together."""
    total: Index = var("x0", 0, rng.randint(5, 99)) * rng.randint(2, 30)
    for k in range(1, terms, 2):
        x, size = var(f"x{k}", 0, rng.randint(20, 99)), rng.randint(2, 12)
        total = total + x // size * (size * k) + x % size * k
    return total


def sum_times(rng: random.Random) -> None:
    """Sums of 2 to 64 terms; longer ones are left out once a sum takes more than a second."""
    for terms in (2, 4, 8, 16, 32, 64):
        made = [long_sum(rng, terms) for _ in range(6)]
        times, left = timed(made)
        print(f"sum of {terms:2} terms: {statistics.median(times):7.2f} ms; cost {sum(map(score, made))} -> {sum(left)}")
        if statistics.median(times) > 1000:
            print("    longer sums are left out")
            return


def there_and_back(rng: random.Random) -> Index:
    """Six axes reshaped to six others and back: the position."""
    start = between = random_shape(rng, 6, 8)
    while between == start:
        between = regroup(rng, [factor for n in start for factor in factorize(n)], 6)
    place, _ = read_through(start, [Move("reshape", between), Move("reshape", start)], loops(start))
    return flatten(place, start)


def reshape_times(rng: random.Random) -> None:
    made = [there_and_back(rng) for _ in range(12)]
    times, left = timed(made)
    linear = sum(cost <= 15 for cost in left)
    print(f"reshape of 6 axes there and back: {statistics.median(times):.2f} ms, largest {max(times):.2f}; linear {linear} of {len(made)}")


def budget_costs(count: int, seed: int) -> None:
    """What budgets of nodes leave of the cost of large terms."""
    terms = [term for name in FAMILIES for term in family(name, 4 * count, seed) if score(term) >= 60]
    terms = random.Random(seed).sample(terms, min(count, len(terms)))
    print(f"budgets, {len(terms)} terms of cost 60 and more: written {sum(map(score, terms))}")
    for nodes in BUDGETS:
        options = Options(limits=Limits(nodes=nodes))
        start = time.perf_counter()
        left = timed(terms, options)[1]
        each = (time.perf_counter() - start) / len(terms) * 1e3
        above = sum(after > score(term) for after, term in zip(left, terms, strict=True))
        print(f"    {nodes:3} nodes: cost {sum(left)}, above the input's {above}, {each:.2f} ms each")


def main() -> None:
    os.environ["EQSAT_CACHE"] = "0"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="*", type=Path, help="files of JSON lines")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--budget-terms", type=int, default=200)
    options = parser.parse_args()
    eqsat.simplify(eqsat.var("x", 0, 31) // 8 * 8 + eqsat.var("x", 0, 31) % 8)
    rng = random.Random(options.seed)
    for path in options.corpora:
        corpus_times(path)
    node_times([term for name in FAMILIES for term in family(name, 40, options.seed + 1)])
    sum_times(rng)
    reshape_times(rng)
    budget_costs(options.budget_terms, options.seed + 2)


if __name__ == "__main__":
    main()
