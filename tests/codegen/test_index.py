from __future__ import annotations

import random

import numpy as np
import pytest

from eqsat.codegen.index import CODE
from eqsat.ir.errors import InternalError
from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import OPS, Apply, Const, Index, Var, apply, as_index, var, where
from eqsat.ir.loops import Bind, Buffer, For, Kernel, Load, Store
from tests.codegen.nests import Array, run

RANGES = [(0, 6), (1, 7), (-7, 7), (-6, -1), (0, 0)]
DIVISIONS = ("floordiv", "mod", "shl", "shr")


def table(terms: list[Index], x: Var, y: Var) -> Array:
    """The value of every term for all x, y: the term is the offset at which a table of integers is read."""
    low, high = min(t.bounds[0] for t in terms), max(t.bounds[1] for t in terms)
    data = np.arange(low, high + 1)
    stores, count = [], x.extent * y.extent
    for k, term in enumerate(terms):
        place = (x - x.lo) * y.extent + (y - y.lo) + k * count
        stores.append(Store("out", place, Load("data", apply("int", term) - low, "int64")))
    body = (For(x, "parallel", (For(y, "serial", tuple(stores)),)),)
    buffers = (Buffer("data", "int64", data.size, "in"), Buffer("out", "int64", len(terms) * count, "out"))
    return run(Kernel("table", buffers, body), data).reshape(len(terms), x.extent, y.extent)


def expected(term: Index, x: Var, y: Var) -> Array:
    rows = [[int(evaluate_index(term, {x: a, y: b})) for b in range(y.lo, y.hi + 1)] for a in range(x.lo, x.hi + 1)]
    return np.array(rows)


def test_every_index_operation_has_code() -> None:
    assert set(CODE) == set(OPS) - {"int", "bool"}  # these two become casts and comparisons


@pytest.mark.parametrize("right", RANGES)
@pytest.mark.parametrize("left", RANGES)
def test_every_operation_equals_the_interpreter_on_signed_ranges(left: tuple[int, int], right: tuple[int, int]) -> None:
    x, y = var("x", *left), var("y", *right)
    terms: list[Index] = []
    for name, row in OPS.items():
        in_domain = name not in DIVISIONS or (0 not in range(right[0], right[1] + 1) if name in ("floordiv", "mod") else right[0] >= 0)
        if row.arity <= 2 and in_domain:
            terms.append(apply(name, *(x, y)[: row.arity]))
    terms += [where(x < y, x, y * 2), where(x, x < y, True), (x < 3) + (y < 2), -(x < y), (x < 1) & (y < 2), abs(x - y) // 3]
    found = table(terms, x, y)
    for term, values in zip(terms, found, strict=True):
        np.testing.assert_array_equal(values, expected(term, x, y), err_msg=str(term))


@pytest.mark.parametrize("divisor", [-12, -8, -7, -1, 1, 2, 7, 8, 12, 1 << 40])
@pytest.mark.parametrize("bounds", [(0, 40), (-40, 40), (-40, -3), (5, 40)])
def test_division_by_a_constant_is_floor_division(divisor: int, bounds: tuple[int, int]) -> None:
    x, y = var("x", *bounds), var("y", 0, 0)
    terms = [(x // divisor) % 1000, (x % divisor) % 1000]
    found = table(terms, x, y)
    for term, values in zip(terms, found, strict=True):
        np.testing.assert_array_equal(values, expected(term, x, y), err_msg=str(term))


def test_a_division_out_of_its_domain_neither_traps_nor_spoils_the_other_arm() -> None:
    x, y = var("x", -3, 3), var("y", -2, 2)
    terms = [where(y.__ne__(0), x // (y + 0), 5), where(y > 0, x % y, 7), where(y >= 0, apply("shr", x, y * 40), 1)]
    found = table(terms, x, y)
    for term, values in zip(terms[:2], found, strict=False):
        safe = [[eval_where(term, x, y, a, b) for b in range(-2, 3)] for a in range(-3, 4)]
        np.testing.assert_array_equal(values, safe, err_msg=str(term))


def eval_where(term: Index, x: Var, y: Var, a: int, b: int) -> int:
    assert isinstance(term, Apply)
    arm = term.args[1] if evaluate_index(term.args[0], {x: a, y: b}) else term.args[2]
    return int(evaluate_index(arm, {x: a, y: b}))


def test_division_at_the_ends_of_64_bits_is_right() -> None:
    ends = [-(2**63), -(2**63) + 1, 2**63 - 1]
    x, y = var("x", 0, 2), var("y", 0, 3)
    value = where(x.__eq__(0), ends[0], where(x.__eq__(1), ends[1], ends[2]))
    divisor = where(y.__eq__(0), -7, where(y.__eq__(1), 3, where(y.__eq__(2), -(2**62), 2**63 - 1)))
    above = apply("max", value, ends[1])
    terms = [(above // divisor) % 1000, (value % divisor) % 1000, (value // 7) % 1000, (value % 10) + 0, (value % -(2**63)) % 1000]
    terms += [(above // where(y.__eq__(0), -1, divisor)) % 1000, (value % where(y.__eq__(0), -1, divisor)) % 1000]
    for term, values in zip(terms, table(terms, x, y), strict=True):
        np.testing.assert_array_equal(values, expected(term, x, y), err_msg=str(term))


def random_term(rng: random.Random, depth: int, leaves: list[Index]) -> Index:
    if depth == 0 or rng.random() < 0.1:
        return rng.choice([*leaves, as_index(rng.randint(-9, 9))])
    a, b = random_term(rng, depth - 1, leaves), random_term(rng, depth - 1, leaves)
    op = rng.choice(["add", "sub", "mul", "floordiv", "mod", "min", "max", "where", "bitand", "bitxor"])
    if op in ("floordiv", "mod"):
        b = rng.choice([as_index(rng.choice([-6, -4, 3, 5, 8, 16])), apply("max", b, 1), apply("min", b, -1)])
    return where(a < b, a, b + 1) if op == "where" else apply(op, a, b)


def test_random_terms_equal_the_interpreter() -> None:
    rng = random.Random(5)
    x, y = var("x", -5, 6), var("y", 0, 9)
    terms: list[Index] = []
    while len(terms) < 120:
        term = random_term(rng, 4, [x, y])
        terms += [term] if term.bounds[1] - term.bounds[0] < 100_000 else []
    terms = [term % 100_003 for term in terms]
    for term, values in zip(terms, table(terms, x, y), strict=True):
        np.testing.assert_array_equal(values, expected(term, x, y), err_msg=str(term))


def test_a_bound_variable_is_computed_once_and_used_below() -> None:
    i, j = var("i", 0, 9), var("j", 0, 27)
    body = (For(i, "parallel", (Bind(j, i * 3), Store("out", i, Load("data", j + 1, "int64")))),)
    kernel = Kernel("bound", (Buffer("data", "int64", 29, "in"), Buffer("out", "int64", 10, "out")), body)
    assert run(kernel, np.arange(29)).tolist() == [3 * k + 1 for k in range(10)]


def test_a_term_with_more_paths_than_could_be_walked_compiles() -> None:
    i = var("i", 0, 3)
    term: Index = i
    for _ in range(60):
        term = (term + term) % 1000
    data = np.arange(1000)
    kernel = Kernel(
        "shared",
        (Buffer("data", "int64", 1000, "in"), Buffer("out", "int64", 4, "out")),
        (For(i, "serial", (Store("out", i, Load("data", term, "int64")),)),),
    )
    assert run(kernel, data).tolist() == [evaluate_index(term, {i: k}) for k in range(4)]


def test_a_variable_that_nothing_binds_is_reported() -> None:
    i, j = var("i", 0, 3), var("j", 0, 3)
    kernel = Kernel("free", (Buffer("out", "int64", 4, "out"),), (For(i, "serial", (Store("out", j, Load("out", Const(0), "int64")),)),))
    with pytest.raises(InternalError, match="index variable j"):
        run(kernel)
