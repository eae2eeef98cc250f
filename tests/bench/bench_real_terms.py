"""Index terms of real programs beside what tinygrad's and TVM's simplifiers make of them, printed.

    python -m tests.bench.bench_real_terms [--count N] [--seed N] [--losses N]

`real_terms.jsonl.gz` holds 2,119 of 12,431 terms and gated indices that tinygrad 0.14 and TVM 0.26 build of about 300 programs (networks
forwards and backwards, layouts, attention, random numbers apart) before they simplify, with the cost of what the better of both made of
each; terms on which that once was cheaper than ours are all among them, so the share of losses is above that of the whole.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import time
from pathlib import Path
from typing import Any

import eqsat
from eqsat.indices.parse import parse_index
from eqsat.ir.index import Index, apply, as_index
from tests.bench.index_score import counterexample, score

TERMS = Path(__file__).with_name("real_terms.jsonl.gz")


def read() -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(TERMS.read_bytes()).decode().splitlines()]


def answered(row: dict[str, Any]) -> tuple[int, int, bool]:
    """The cost as written and of ours, and whether ours is wrong somewhere."""
    ranges = {name: (int(lo), int(hi)) for name, (lo, hi) in row["vars"].items()}
    term = parse_index(row["term"], ranges)
    if "gate" not in row:
        found = eqsat.simplify(term)
        return score(term), score(found), counterexample(term, found) is not None
    gate = parse_index(row["gate"], ranges)
    index, valid = eqsat.simplify_gated(term, gate)
    wrong = counterexample(gate, as_index(valid)) or counterexample(_where(gate, term), _where(gate, index))
    return score(term, gate), score(index, as_index(valid)), wrong is not None


def _where(gate: Index, term: Index) -> Index:
    return apply("where", gate, term, as_index(-1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, help="so many terms, drawn at random; all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--losses", type=int, default=5, help="so many of the terms where a peer is cheaper are printed")
    chosen = parser.parse_args()
    rows = read()
    rows = random.Random(chosen.seed).sample(rows, min(chosen.count, len(rows))) if chosen.count else rows
    started, written, best, ours, unsound = time.perf_counter(), 0, 0, 0, 0
    lost: list[tuple[int, dict[str, Any]]] = []
    less = 0
    for row in rows:
        before, cost, wrong = answered(row)
        written, best, ours, unsound = written + before, best + row["best"], ours + cost, unsound + wrong
        less += cost < row["best"]
        if cost > row["best"]:
            lost.append((cost - row["best"], row))
    seconds, kept = (time.perf_counter() - started) / len(rows), 1 - len(lost) / len(rows)
    print(
        f"{len(rows)} terms: no dearer than the better of both {kept:.2%}, cheaper {less / len(rows):.2%}, unsound {unsound}; "
        f"cost {written} as written, {best} the better of both, {ours} ours; {1e3 * seconds:.0f} ms a term"
    )
    for more, row in sorted(lost, key=lambda one: -one[0])[: chosen.losses]:
        print(f"  {more} more, {row['program']}: {row['term']} {'when ' + row['gate'] if 'gate' in row else ''} {row['vars']}")


if __name__ == "__main__":
    main()
