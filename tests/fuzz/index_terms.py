"""Random index expressions, simplified in batches and compared with what they were; in a process that is ended when it hangs.

    python -m tests.fuzz.index_terms --count 20000 --seed 1

Prints counts and, for what is wrong, the smallest expression found that still is (of each kind as many as --show says).  Exit status 1
if anything is unsound.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

import eqsat
from eqsat.egraph.index_cost import index_cycles
from eqsat.ir.index import Index, variables
from eqsat.ir.index_points import CHUNK, Pair
from eqsat.proving.proof import named
from tests.fuzz.random_terms import draw, smaller

BATCH = 50
SECONDS = 60.0
MEMORY = 6 * 2**30
SHRINKS = 60


@dataclass(frozen=True)
class Finding:
    """Something wrong with one expression: "unsound", "kind" (a number became a truth value or back), "dearer", "error" or "hang"."""

    kind: str
    term: Index
    detail: str

    def __str__(self) -> str:
        ranges = ", ".join(f"{v.name}: {v.lo}..{v.hi}" for v in variables(self.term))
        return f"{self.kind}: {self.term}   [{ranges}]   {self.detail}"


@dataclass
class Tally:
    """What a run of many expressions gave."""

    counts: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)

    def add(self, findings: list[Finding]) -> None:
        self.findings += findings
        self.counts.update(finding.kind for finding in findings)


def examine(terms: list[Index], options: eqsat.Options | None = None) -> tuple[Counter[str], list[Finding]]:
    """Simplify the terms in one run and compare each result with its term, at all points or at those of a search."""
    counts: Counter[str] = Counter(expressions=len(terms))
    findings = []
    for term, result in zip(terms, eqsat.simplify_many(terms, options), strict=True):
        pair = Pair(term, result, extends=True)
        complete = pair.size <= CHUNK and pair.fits
        difference = pair.exhaustive() if complete else pair.search()
        counts.update(changed=int(result is not term), at_all_points=int(complete))
        if difference is not None:
            detail = f"-> {result} at {named(difference.point)}: {difference.left} became {difference.right}"
            findings.append(Finding("unsound", term, detail))
        elif result.kind != term.kind:
            findings.append(Finding("kind", term, f"-> {result}: a {term.kind} became a {result.kind}"))
        elif index_cycles(result) > index_cycles(term):
            findings.append(Finding("dearer", term, f"-> {result}"))
    return counts, findings


def _serve(connection: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    while True:
        terms = connection.recv()
        try:
            connection.send(examine(terms))
        except Exception as error:
            connection.send(f"{type(error).__name__}: {str(error)[:300]}")


class Worker:
    """A process that examines; it is ended and replaced when it does not answer."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._process: Any = None

    def examine(self, terms: list[Index]) -> tuple[Counter[str], list[Finding]] | Finding:
        """What `examine` gives, or the finding that the batch as a whole is: an error or a hang."""
        if self._process is None:
            context = multiprocessing.get_context("spawn")
            self._connection, other = context.Pipe()
            self._process = context.Process(target=_serve, args=(other,), daemon=True)
            self._process.start()
            other.close()
        self._connection.send(terms)
        try:
            if self._connection.poll(self.seconds):
                answer = self._connection.recv()
                return Finding("error", terms[0], answer) if isinstance(answer, str) else answer
            detail = f"no answer in {self.seconds:g} s"
        except EOFError:
            detail = "the process ended"
        self.close()
        return Finding("hang", terms[0], detail)

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None


def search(terms: list[Index], worker: Worker, tally: Tally) -> None:
    """Examine a batch; where it fails as a whole, its halves."""
    answer = worker.examine(terms)
    if isinstance(answer, Finding):
        if len(terms) > 1:
            half = len(terms) // 2
            search(terms[:half], worker, tally)
            search(terms[half:], worker, tally)
            return
        answer = Counter(expressions=1), [answer]
    counts, findings = answer
    tally.counts.update(counts)
    tally.add([shrunk(finding, worker) for finding in findings])


def shrunk(finding: Finding, worker: Worker) -> Finding:
    """The finding on the smallest expression that still has one of its kind."""

    def fails(term: Index) -> Finding | None:
        answer = worker.examine([term])
        found = [answer] if isinstance(answer, Finding) else answer[1]
        return next((one for one in found if one.kind == finding.kind), None)

    return _shrink(finding, fails, 8 if finding.kind == "hang" else SHRINKS)


def _shrink(finding: Finding, fails: Callable[[Index], Finding | None], tries: int) -> Finding:
    while tries > 0:
        for term in smaller(finding.term)[:tries]:
            tries -= 1
            found = fails(term)
            if found is not None:
                finding = found
                break
        else:
            return finding
    return finding


def main() -> int:
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--count", type=int, default=20_000)
    args.add_argument("--seed", type=int, default=0)
    args.add_argument("--batch", type=int, default=BATCH, help="expressions in one simplify_many")
    args.add_argument("--timeout", type=float, default=SECONDS, help="seconds for a batch")
    args.add_argument("--show", type=int, default=10, help="how many findings of a kind to print")
    options = args.parse_args()
    shown: Counter[str] = Counter()
    worker, tally, start = Worker(options.timeout), Tally(), time.perf_counter()
    try:
        for first in range(0, options.count, options.batch):
            search([draw(options.seed, k) for k in range(first, min(first + options.batch, options.count))], worker, tally)
            for finding in tally.findings:
                shown[finding.kind] += 1
                if shown[finding.kind] <= options.show:
                    print(finding, flush=True)
            tally.findings.clear()
    finally:
        worker.close()
    seconds = time.perf_counter() - start
    names = ("expressions", "changed", "at_all_points", "unsound", "kind", "dearer", "error", "hang")
    print(", ".join(f"{name.replace('_', ' ')} {tally.counts[name]}" for name in names), f"in {seconds:.0f} s; seed {options.seed}")
    return 1 if tally.counts["unsound"] else 0


if __name__ == "__main__":
    sys.exit(main())
