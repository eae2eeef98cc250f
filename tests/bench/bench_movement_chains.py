"""Acceptance rows c and h of index algebra: movement chains and gated indices, printed.

    python -m tests.bench.bench_movement_chains --count 1000 --seed 0 [--only round one-way gated] [--bad N] [--batch N] [--no-peers]

round    chains that end in the original layout: how many come out as the linear index, always valid, without // and %
one-way  other chains: how many have no more // and % than either peer's answers (position and condition together; ours simplified
         as a gated index, the peers' one by one)
gated    positions with conditions (half as many): whether the simplified pair equals the original wherever the condition holds,
         and whether conditions that are always true are gone
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from types import ModuleType

import numpy as np

import eqsat
from eqsat.ir.errors import EqsatError
from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import Const, Index, variables
from tests.bench.index_families import gated
from tests.bench.index_peers import ask, installed
from tests.bench.index_score import counterexample, divisions, grid, score
from tests.bench.index_worker import Worker, simplified
from tests.bench.movement_chains import Chain, one_way_chains, round_trips

Pair = tuple[Index, Index]


def answered(chains: Sequence[Chain], worker: Worker, batch: int) -> tuple[list[Pair], float]:
    """Our answers to position and condition of each chain, the terms as they are where there is none; and seconds."""
    terms = [term for chain in chains for term in (chain.index, chain.valid)]
    answers, seconds = simplified(worker, terms, batch)
    kept = [term if isinstance(answer, str) else answer for term, answer in zip(terms, answers, strict=True)]
    failed = [answer for answer in answers if isinstance(answer, str)]
    if failed:
        print(f"    {len(failed)} terms without an answer, the first: {failed[0]}")
    return list(zip(kept[::2], kept[1::2], strict=True)), seconds


def unsound(chain: Chain, pair: Pair) -> bool:
    return any(counterexample(term, answer) is not None for term, answer in zip((chain.index, chain.valid), pair, strict=True))


def shown(chain: Chain) -> str:
    return f"{chain.start} " + " ".join(f"{move.kind}{move.arg}" for move in chain.moves)


def round_trip_report(chains: Sequence[Chain], worker: Worker, batch: int, bad: int) -> None:
    """Chains that are the identity: collapsed, by count; the first that are not, in full."""
    pairs, seconds = answered(chains, worker, batch)
    collapsed = [
        divisions(*pair) == 0 and isinstance(pair[1], Const) and score(pair[0]) <= score(chain.linear)
        for chain, pair in zip(chains, pairs, strict=True)
    ]
    wrong = sum(unsound(chain, pair) for chain, pair in zip(chains, pairs, strict=True))
    print(
        f"round: {len(chains)} chains, linear {sum(collapsed) / len(chains):.1%}, unsound {wrong}, "
        f"{seconds / len(chains) * 1e3:.2f} ms a chain; divisions written {sum(divisions(c.index, c.valid) for c in chains)}, "
        f"left {sum(divisions(*pair) for pair in pairs)}"
    )
    left = [(chain, pair) for chain, pair, done in zip(chains, pairs, collapsed, strict=True) if not done]
    for chain, (index, valid) in sorted(left, key=lambda item: len(str(item[0].index)))[:bad]:
        print(
            f"    kept: {shown(chain)}\n        {chain.index} when {chain.valid}\n        -> {index} when {valid}; expected {chain.linear}"
        )


def one_way_report(chains: Sequence[Chain], peers: Sequence[ModuleType], bad: int) -> None:
    """Chains that end elsewhere: // and % left in position and condition, simplified together, beside each peer."""
    start = time.perf_counter()
    pairs = [eqsat.simplify_gated(chain.index, chain.valid) for chain in chains]
    seconds = time.perf_counter() - start
    wrong = sum(
        bool(counterexample(chain.valid, gate, beside=chain.index) or counterexample(chain.index, found, chain.valid))
        for chain, (found, gate) in zip(chains, pairs, strict=True)
    )
    written, left = sum(divisions(c.index, c.valid) for c in chains), [divisions(*pair) for pair in pairs]
    print(
        f"one-way: {len(chains)} chains, unsound {wrong}, {seconds / len(chains) * 1e3:.2f} ms a chain; "
        f"divisions written {written}, left {sum(left)}"
    )
    for peer in peers:
        start = time.perf_counter()
        answers = [(ask(peer, chain.index).term, ask(peer, chain.valid).term) for chain in chains]
        theirs = [divisions(*pair) for pair in answers]
        more = [k for k in range(len(chains)) if left[k] > theirs[k]]
        dearer = sum(score(*pairs[k]) > score(*answers[k]) for k in more)
        fewer = sum(ours < other for ours, other in zip(left, theirs, strict=True))
        print(
            f"    {peer.NAME:12} left {sum(theirs)} ({(time.perf_counter() - start) / len(chains) * 1e3:.1f} ms a chain, all variants); "
            f"ours fewer on {fewer}, more on {len(more)}, of those {dearer} cost more"
        )
        for k in sorted(more, key=lambda k: len(str(chains[k].index)))[:bad]:
            print(f"    more: {chains[k].index} when {chains[k].valid}\n        ours {pairs[k][0]} when {pairs[k][1]}")
            print(f"        {peer.NAME} {answers[k][0]} when {answers[k][1]}; {ranges(chains[k])}")


def ranges(chain: Chain) -> str:
    return ", ".join(f"{v.name} {v.lo}..{v.hi}" for v in variables(chain.index, chain.valid))


def always(valid: Index) -> bool:
    """Whether the condition holds at all points that are looked at."""
    return bool(np.all(evaluate_index(valid, grid(variables(valid)))))


def gated_report(pairs: Sequence[Pair], bad: int) -> None:
    """Simplified together: equal where the condition holds, cheaper than each simplified alone, decided conditions gone."""
    simplify_gated = getattr(eqsat, "simplify_gated", None)
    if simplify_gated is None:
        print("gated: this version of eqsat has no simplify_gated")
        return
    wrong, errors, kept, costs = list[str](), 0, 0, [0, 0]
    start = time.perf_counter()
    for index, valid in pairs:
        try:
            found, gate = simplify_gated(index, valid)
        except EqsatError as error:
            errors += 1
            wrong += [f"ERROR {index} when {valid}: {error}"]
            continue
        where = counterexample(valid, gate, beside=index) or counterexample(index, found, valid)
        wrong += [f"UNSOUND {index} when {valid} -> {found} when {gate} at {where}"] if where else []
        kept += not isinstance(gate, Const) and always(valid)
        costs[0], costs[1] = costs[0] + score(index, valid), costs[1] + score(found, gate)
    print(
        f"gated: {len(pairs)} pairs, unsound {len(wrong) - errors}, errors {errors}, decided conditions kept {kept}, "
        f"cost {costs[0]} -> {costs[1]}, {(time.perf_counter() - start) / len(pairs) * 1e3:.2f} ms each"
    )
    for line in wrong[: max(bad, 3)]:
        print(f"    {line}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", choices=["round", "one-way", "gated"], default=["round", "one-way", "gated"])
    parser.add_argument("--bad", type=int, default=0, help="how many failures of each kind to print")
    parser.add_argument("--batch", type=int, default=16, help="terms in one call of simplify_many")
    parser.add_argument("--no-peers", action="store_true", help="do not ask the peers")
    options = parser.parse_args()
    worker = Worker()
    if "round" in options.only:
        round_trip_report(round_trips(options.count, options.seed), worker, options.batch, options.bad)
    if "one-way" in options.only:
        peers = [] if options.no_peers else installed()
        one_way_report(one_way_chains(options.count, options.seed), peers, options.bad)
    if "gated" in options.only:
        gated_report(gated(-(-options.count // 2), options.seed), options.bad)


if __name__ == "__main__":
    main()
