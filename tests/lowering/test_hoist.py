"""Hoisting: index work stands where it is first known, named once, and nothing trivial is named."""

from __future__ import annotations

import numpy as np

from eqsat.ir.index import Const, Index, Var, where
from eqsat.ir.loops import Bind, Buffer, Fold, For, Kernel, Load, Stmt, Store, Temp, statements
from eqsat.ir.loops_check import check_kernel
from eqsat.ir.loops_evaluate import run_kernel
from eqsat.lowering import hoist

OUTER, INNER = Var("i", 0, 2), Var("j", 0, 3)
SIZE = 64


def copy(index: Index, source: Index, *before: Stmt) -> Kernel:
    """out[index] = x[source] under i and j."""
    inner = For(INNER, "parallel", (Store("out", index, Load("x", source, "int64")),))
    buffers = Buffer("x", "int64", SIZE, "in"), Buffer("out", "int64", SIZE, "out")
    return Kernel("k", buffers, (For(OUTER, "parallel", (*before, inner)),))


def hoisted(kernel: Kernel) -> Kernel:
    """The hoisted kernel, known to be legal and to write what the kernel wrote."""
    done = hoist(kernel)
    check_kernel(done)
    x = np.arange(SIZE) * 3
    a, b = np.zeros(SIZE, np.int64), np.zeros(SIZE, np.int64)
    run_kernel(kernel, [x, a])
    run_kernel(done, [x, b])
    assert a.tolist() == b.tolist()
    return done


def binds(kernel: Kernel) -> list[str]:
    return [f"{stmt.variable.name} = {stmt.value}" for stmt in statements(kernel.body) if isinstance(stmt, Bind)]


def test_what_the_inner_loop_does_not_change_is_bound_outside() -> None:
    done = hoisted(copy(OUTER * 4 + INNER, OUTER * 5 + INNER))
    assert str(done).splitlines()[1:] == [
        "    for i in 0..2 parallel:",
        "        b0 = i * 4",
        "        b1 = i * 5",
        "        for j in 0..3 parallel:",
        "            out[b0 + j] = x[b1 + j]",
    ]


def test_sums_are_regrouped_so_that_outer_parts_come_first() -> None:
    assert binds(hoisted(copy(INNER + 1 + OUTER * 4, INNER))) == ["b0 = i * 4"]


def test_a_subtracted_outer_part_takes_the_constant_along() -> None:
    assert binds(hoisted(copy(INNER - OUTER * 4 + 8, INNER))) == ["b0 = 8 - i * 4"]


def test_a_repeated_offset_is_bound_once() -> None:
    done = hoisted(copy(OUTER * 4 + INNER, OUTER * 4 + INNER))
    assert binds(done) == ["b0 = i * 4", "b1 = b0 + j"]


def test_variables_constants_and_their_sums_get_no_name() -> None:
    assert binds(hoisted(copy(INNER, OUTER + 1))) == []
    assert binds(hoisted(copy(INNER + 3, INNER + 3))) == []


def test_bounds_are_those_of_the_value() -> None:
    done = hoisted(copy(OUTER * 4 + INNER, INNER))
    assert [stmt.variable.bounds for stmt in statements(done.body) if isinstance(stmt, Bind)] == [(0, 8)]


def test_division_is_bound_where_its_variables_are_known() -> None:
    assert binds(hoisted(copy(INNER, (OUTER * 5 + 1) // 2 % 3 * 4 + INNER))) == ["b0 = (i * 5 + 1) // 2 % 3 * 4"]


def test_conditions_get_no_name() -> None:
    done = hoisted(copy(INNER, where((OUTER * 2 < 3) & (INNER < 2), OUTER * 2, INNER)))
    assert binds(done) == ["b0 = i * 2"]


def test_binds_that_were_there_stay_first() -> None:
    b = Var("b0", 0, 8)
    done = hoisted(copy(b + INNER, b * 2 + INNER, Bind(b, OUTER * 4)))
    assert binds(done) == ["b0 = i * 4", "b1 = b0 * 2"]


def test_the_statements_of_a_fold_have_their_own_level() -> None:
    r = Var("r", 0, 4)
    fold = Fold("t0", "sum", "int64", r, (), Load("x", INNER + OUTER * 4 + (r * 3 + OUTER) % 5 * 2 + (r * 3 + OUTER) % 5, "int64"))
    inner = For(INNER, "parallel", (fold, Store("out", OUTER * 4 + INNER, Temp("t0", "int64"))))
    buffers = Buffer("x", "int64", SIZE, "in"), Buffer("out", "int64", SIZE, "out")
    done = hoisted(Kernel("k", buffers, (For(OUTER, "parallel", (inner,)),)))
    assert binds(done) == ["b0 = i * 4", "b1 = b0 + j", "b2 = (i + r * 3) % 5"]


def test_a_sum_of_two_to_the_forty_paths_is_hoisted_at_once() -> None:
    term: Index = INNER - INNER
    for _ in range(40):
        term = term + term
    done = hoist(copy(Const(0), term % SIZE))
    check_kernel(done)
    assert len(binds(done)) >= 39
