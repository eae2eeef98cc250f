"""Residues against brute force: of every operation on all operands with small residues, and of terms at all points."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import OPS, Const, Index, apply, residue_of, var, variables, where
from eqsat.ir.residue import RESIDUES, Residue, of_operation, tightened

SMALL: list[Residue] = [(0, -3), (0, 0), (0, 2), (0, 4), (1, 0), (2, 1), (4, 0), (4, 3), (6, 2)]
SPAN = np.arange(-24, 25)


def values(residue: Residue) -> np.ndarray:
    m, r = residue
    return SPAN[(SPAN - r) % m == 0] if m else np.array([r])


@pytest.mark.parametrize("op", RESIDUES)
def test_every_value_of_an_operation_has_its_residue(op: str) -> None:
    for operands in itertools.product(SMALL, repeat=OPS[op].arity):
        if op == "where":
            operands = ((1, 0), *operands[1:])
        grid = list(np.ix_(*map(values, operands)))
        if op in ("floordiv", "mod"):
            grid[1] = grid[1][:, grid[1][0] != 0]
        if op == "shl":
            grid[1] = grid[1][:, grid[1][0] >= 0]
        m, r = of_operation(op, list(operands))
        found = np.asarray(OPS[op].evaluate(*grid))
        assert np.all((found - r) % m == 0 if m else found == r), f"{op} of {operands}: found {m, r}"


def test_an_operation_that_is_not_listed_has_any_residue() -> None:
    assert of_operation("bitxor", [(4, 0), (4, 0)]) == (1, 0)


def test_bounds_lose_what_has_another_residue() -> None:
    assert tightened((0, 15), (4, 3)) == (3, 15)
    assert tightened((-5, 6), (4, 0)) == (-4, 4)
    assert tightened((5, 6), (4, 0)) == (5, 6)
    assert tightened((0, 7), (1, 0)) == (0, 7)


def test_a_remainder_of_multiples_ends_at_the_last_of_them() -> None:
    x, y = var("x", 0, 3584), var("y", 0, 128)
    assert ((x * 2048 + y * 16) % 7168).bounds == (0, 7152)
    assert ((x * 6 + 4) % 9).bounds == (1, 7)
    assert (where(x > 3, x * 4, y * 6) % 8).bounds == (0, 6)
    assert ((x * 4) % -6).bounds == (-4, 0)


@pytest.mark.parametrize("seed", range(40))
def test_residues_and_bounds_of_random_terms_hold_at_all_points(seed: int) -> None:
    rng = random.Random(seed)
    leaves: list[Index] = [var("x", -5, 9), var("y", 0, 6), Const(4), Const(-6), Const(3)]
    for _ in range(12):
        op = rng.choice(("add", "sub", "mul", "min", "max", "floordiv", "mod", "neg"))
        operands = [rng.choice(leaves) for _ in range(OPS[op].arity)]
        if op in ("floordiv", "mod"):
            operands[1] = Const(rng.choice((2, 3, 4, 6, -4)))
        leaves.append(apply(op, *operands))
        names = variables(leaves[-1])
        grid = dict(zip(names, np.ix_(*(np.arange(v.lo, v.hi + 1) for v in names)), strict=True))
        found = np.asarray(evaluate_index(leaves[-1], grid))
        m, r = residue_of(leaves[-1])
        lo, hi = leaves[-1].bounds
        assert np.all((found - r) % m == 0 if m else found == r)
        assert lo <= found.min()
        assert found.max() <= hi
