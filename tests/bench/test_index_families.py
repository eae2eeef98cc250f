"""The generators and scores behind the index benchmarks; the peers themselves are not needed."""

from __future__ import annotations

import random

import numpy as np
import pytest

from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import Const, apply, maximum, var, where
from tests.bench.index_families import FAMILIES, family, gated
from tests.bench.index_peers import added, complemented, multiplied
from tests.bench.index_score import counterexample, divisions, score, tree_size
from tests.bench.movement import Move, factorize, flatten, random_move, read_through, shapes
from tests.bench.movement_chains import DEPTH, one_way_chains, round_trips

X, Y = var("x", -9, 30), var("y", 0, 7)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_holds_distinct_terms_that_follow_from_the_seed(name: str) -> None:
    terms = family(name, 60, seed=3)
    assert len({str(term) for term in terms}) == 60
    assert [str(term) for term in family(name, 60, seed=3)] == [str(term) for term in terms]
    assert str(family(name, 1, seed=4)[0]) != str(terms[0])


def test_round_trips_read_the_place_that_is_written() -> None:
    chains = round_trips(60, seed=1)
    assert {move.kind for chain in chains for move in chain.moves} == {"reshape", "permute", "expand", "shrink", "flip", "pad"}
    for chain in chains:
        assert shapes(chain.start, chain.moves)[-1] == chain.start
        assert len(chain.moves) <= DEPTH
        assert counterexample(chain.linear, chain.index) is None
        assert counterexample(chain.valid, Const(True)) is None


def test_other_chains_change_the_place() -> None:
    for chain in one_way_chains(40, seed=1):
        assert shapes(chain.start, chain.moves)[-1] != chain.start or counterexample(chain.linear, chain.index) is not None


def test_a_chain_reads_the_elements_that_numpy_moves() -> None:
    chain = [Move("reshape", (3, 4)), Move("pad", ((1, 0), (0, 2))), Move("flip", (True, False)), Move("permute", (1, 0))]
    end = shapes((12,), chain)[-1]
    i, j = (var(f"i{axis}", 0, n - 1) for axis, n in enumerate(end))
    place, valid = read_through((12,), chain, [i, j])
    moved = np.flip(np.pad(np.arange(12).reshape(3, 4), ((1, 0), (0, 2)), constant_values=-1), 0).T
    rows, columns = np.ix_(*map(np.arange, end))
    assert np.array_equal(evaluate_index(where(valid, flatten(place, (12,)), -1), {i: rows, j: columns}), moved)


def test_a_gated_index_has_a_gate_that_bounds_do_not_decide_in_general() -> None:
    pairs = gated(40, seed=1)
    assert all(valid.kind == "bool" and not isinstance(valid, Const) for _, valid in pairs)
    assert sum(valid.bounds == (0, 1) for _, valid in pairs) > 20


def test_movements_keep_the_number_of_elements_where_they_must() -> None:
    rng = random.Random(0)
    made = [random_move(rng, (6, 10, 1), ("reshape", "permute", "flip")) for _ in range(50)]
    sizes = {tuple(sorted(f for n in move.shape((6, 10, 1)) for f in factorize(n))) for move in made if move}
    assert sizes == {(2, 2, 3, 5)}


def test_the_score_weighs_operations_and_counts_shared_ones_once() -> None:
    assert score(X // 8 * 8 + X % 8) == 2 + 2 + 1 + 1
    assert score((X // 7) * -1 + (X // 7)) == 10 + 1 + 1
    assert score(where(apply("not", X < 3), -X, maximum(X, Y))) == 1 + 1 + 0 + 1 + 1
    assert score(X // (Y + 1), X % (Y + 1)) == 10 + 10 + 1
    assert (divisions(X // 7 + X // 7 + Y % 2), tree_size(X // 7 + X // 7)) == (2, 3)


def test_a_wrong_answer_has_a_counterexample() -> None:
    assert counterexample(X // 3 * 3 + X % 3, X) is None
    assert counterexample(X % 3, X - X // 4 * 3) is not None
    assert counterexample(X, where(X >= 0, X, 0), given=X >= 0) is None
    assert counterexample(X, Y) == "variables ['y'] from nowhere"


def test_factors_of_minus_one_are_read_as_subtractions_and_minima() -> None:
    assert str(added(X, multiplied(Y, Const(-1)))) == "x - y"
    assert str(added(X, multiplied(Y, Const(-3)))) == "x - y * 3"
    assert str(multiplied(maximum(multiplied(X, Const(-1)), Const(-5)), Const(-1))) == "min(x, 5)"


def test_complements_of_maxima_of_complements_are_read_as_minima() -> None:
    flipped = maximum(apply("bitxor", X, Const(-1)), Const(-8))
    assert str(complemented(flipped)) == "min(x, 7)"
    assert str(complemented(X + Y)) == "x + y ^ -1"
