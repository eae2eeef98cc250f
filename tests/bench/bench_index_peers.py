"""Acceptance row b of index algebra: our simplifier beside tinygrad's and TVM's on generated expressions, printed.

    python -m tests.bench.bench_index_peers --count 2000 --seed 0 [--families NAME ...] [--bad N] [--batch N] [--write DIRECTORY]

Every answer is checked at points; a wrong one of a peer is left out, a wrong one of ours is unsound.  The cost is that of
tests/bench/index_score.py.  --write leaves the worst losses and a corpus (JSON lines) for every family in DIRECTORY.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from eqsat.ir.index import Index, variables
from tests.bench.index_families import FAMILIES, family
from tests.bench.index_peers import Answer, ask, installed
from tests.bench.index_score import counterexample, score
from tests.bench.index_worker import Worker, simplified


@dataclass(frozen=True)
class Compared:
    """A term, our answer (the term itself where it is wrong or an error), and the peers' answers by name."""

    term: Index
    ours: Index
    peers: dict[str, Answer]
    unsound: str | None
    error: str | None

    @property
    def best(self) -> Index:
        """The cheapest of the peers' answers, or the term where there is none."""
        return min((answer.term for answer in self.peers.values()), key=score, default=self.term)

    @property
    def loss(self) -> int:
        return score(self.ours) - score(self.best)


def compare(terms: Sequence[Index], worker: Worker, peers: Sequence[ModuleType], batch: int) -> tuple[list[Compared], float]:
    """All answers to the terms, and our seconds."""
    answers, seconds = simplified(worker, terms, batch)
    found = []
    for term, answer in zip(terms, answers, strict=True):
        error = answer if isinstance(answer, str) else None
        unsound = None if isinstance(answer, str) else counterexample(term, answer)
        ours = term if isinstance(answer, str) or unsound else answer
        found.append(Compared(term, ours, {peer.NAME: ask(peer, term) for peer in peers}, unsound and f"{answer} at {unsound}", error))
    return found, seconds


def report(name: str, found: Sequence[Compared], seconds: float) -> None:
    """One family on one line, and one for each peer."""
    n = len(found)
    no_more, less = sum(one.loss <= 0 for one in found) / n, sum(one.loss < 0 for one in found) / n
    unsound, errors = sum(one.unsound is not None for one in found), sum(one.error is not None for one in found)
    written, ours, best = (
        sum(map(score, terms)) for terms in ([one.term for one in found], [one.ours for one in found], [one.best for one in found])
    )
    print(
        f"{name:16} {n:5} terms: no more {no_more:6.1%}, less {less:6.1%}, unsound {unsound}, errors {errors}; "
        f"cost written {written}, ours {ours}, best peer {best}; ours {seconds / n * 1e3:.2f} ms each"
    )
    for peer in found[0].peers:
        answers = [one.peers[peer] for one in found]
        no_more = sum(score(one.ours) <= one.peers[peer].cost for one in found) / n
        wrong, failed = sum(a.wrong is not None for a in answers), sum(a.failed is not None for a in answers)
        cost, milliseconds = sum(a.cost for a in answers), sum(a.seconds for a in answers) / n * 1e3
        print(f"    {peer:12} cost {cost}, {milliseconds:.2f} ms each, wrong {wrong}, failed {failed}; ours no more {no_more:.1%}")
        for text, times in Counter(a.failed for a in answers if a.failed).most_common(2):
            print(f"        failed {times} times: {text}")


def ranges(term: Index) -> dict[str, list[int]]:
    return {v.name: list(v.bounds) for v in variables(term)}


def losses(found: Sequence[Compared], most: int) -> list[str]:
    """The worst losses: text, ranges, our cost and text, the best peer's."""
    worst = sorted((one for one in found if one.loss > 0), key=lambda one: -one.loss)[:most]
    return [f"{one.term} | {json.dumps(ranges(one.term))} | {score(one.ours)} {one.ours} | {score(one.best)} {one.best}" for one in worst]


def write(directory: Path, name: str, found: Sequence[Compared], most: int) -> None:
    """The worst losses of a family, and a corpus whose published texts are the peers' cheapest."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"losses_{name}.txt").write_text("".join(line + "\n" for line in losses(found, 40)))
    cases = [
        {"id": f"{name}#{k}", "kind": "simplify", "vars": ranges(one.term), "lhs": str(one.term), "expected": str(one.best), "sem": "floor"}
        for k, one in enumerate(found[:most])
    ]
    (directory / f"family_{name}.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000, help="terms in all families together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--families", nargs="+", choices=list(FAMILIES), default=list(FAMILIES))
    parser.add_argument("--bad", type=int, default=0, help="how many of the worst losses to print for each family")
    parser.add_argument("--batch", type=int, default=16, help="terms in one call of simplify_many")
    parser.add_argument("--write", type=Path, help="a directory for losses and corpora")
    parser.add_argument("--corpus", type=int, default=120, help="terms in a corpus that is written")
    options = parser.parse_args()
    peers = installed()
    worker = Worker()
    together: list[Compared] = []
    spent = 0.0
    for name in options.families:
        found, seconds = compare(family(name, -(-options.count // len(FAMILIES)), options.seed), worker, peers, options.batch)
        report(name, found, seconds)
        for line in losses(found, options.bad):
            print(f"    loss: {line}")
        for one in found:
            if one.unsound or one.error:
                print(f"    {'UNSOUND' if one.unsound else 'ERROR'} {one.term} -> {one.unsound or one.error}")
        if options.write:
            write(options.write, name, found, options.corpus)
        together += found
        spent += seconds
    report("all", together, spent)


if __name__ == "__main__":
    main()
