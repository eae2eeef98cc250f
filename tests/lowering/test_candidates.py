"""Every candidate is legal and equal to the tensor interpreter; the ones that should be there are there."""

from __future__ import annotations

import time

import numpy as np
from hypothesis import given, settings

from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import Const, Index, Var, apply, variables
from eqsat.ir.loops import Fold, For, Kernel, Let, Load, Pick, Store, index_terms, statements, values_of
from eqsat.ir.loops_check import check_kernel
from eqsat.ir.tensor import Build, Call, Gather, Input, Literal, Position, Read, Reduce, Scalar, axis, reduction, scalars
from eqsat.lowering import hoist
from eqsat.lowering.candidates import MOST
from tests.effort import examples
from tests.lowering.builds import builds, lowered, names_of, reference, run, siblings

I0, I1, R0 = axis(0, 4), axis(1, 6), reduction(0, 5)


def check_all(*together: Build, tolerance: float = 0.0) -> None:
    expected = reference(*together)
    for kernel in lowered(*together):
        for form in (kernel, hoist(kernel)):
            check_kernel(form)
            for found, value in zip(run(form, *together), expected, strict=True):
                np.testing.assert_allclose(found, value, rtol=tolerance, atol=tolerance, err_msg=str(form))


def depths(kernel: Kernel) -> dict[str, int]:
    """How many loops stand around every Fold and Let, by name; a fold counts as a loop."""
    found: dict[str, int] = {}

    def block(body: tuple[object, ...], depth: int) -> None:
        for stmt in body:
            if isinstance(stmt, For):
                block(stmt.body, depth + 1)
            elif isinstance(stmt, Fold | Let):
                found[stmt.name] = depth
                if isinstance(stmt, Fold):
                    block(stmt.body, depth + 1)

    block(kernel.body, 0)
    return found


def loops(kernel: Kernel) -> list[Var]:
    return [stmt.variable for stmt in statements(kernel.body) if isinstance(stmt, For)]


def _fold_extents(kernel: Kernel) -> tuple[int, ...]:
    return tuple(stmt.variable.extent for stmt in statements(kernel.body) if isinstance(stmt, Fold))


def softmax(shape: tuple[int, int], dimension: int) -> Build:
    """Softmax along a dimension, fused into one Build."""
    x = Input("x", shape, "float32")
    i, j = axis(0, shape[0]), axis(1, shape[1])

    def at(level: int) -> tuple[Var, Read]:
        r = reduction(level, shape[dimension])
        return r, Read(x, (i, r) if dimension else (r, j))

    r0, first = at(0)
    top = Reduce("max", r0, first)
    r1, second = at(1)
    total = Reduce("sum", r1, Call("exp", (Call("subtract", (second, top), "float32"),), "float32"))
    return Build(shape, Call("divide", (Call("exp", (Call("subtract", (Read(x, (i, j)), top), "float32"),), "float32"), total), "float32"))


def matmul() -> Build:
    a, b = Input("a", (4, 5), "int64"), Input("b", (5, 6), "int64")
    return Build((4, 6), Reduce("sum", R0, Call("multiply", (Read(a, (I0, R0)), Read(b, (R0, I1))), "int64")))


def reshaped_transpose() -> Build:
    """x (24, 5) read as (4, 3, 2, 5), axes 0 and 2 exchanged, written as (6, 20)."""
    x = Input("x", (24, 5), "int64")
    row, column = axis(0, 6), axis(1, 20)
    a, b, c, d = row // 3, row % 3, column // 5, column % 5
    return Build((6, 20), Read(x, (c * 6 + b * 2 + a, d)))


@settings(max_examples=examples(300), deadline=None, derandomize=True)
@given(builds())
def test_every_candidate_equals_the_interpreter(build: Build) -> None:
    assert 1 <= len(lowered(build)) <= MOST
    check_all(build)


@settings(max_examples=examples(150), deadline=None, derandomize=True)
@given(siblings())
def test_every_candidate_of_several_builds_equals_the_interpreter(together: tuple[Build, ...]) -> None:
    assert 1 <= len(lowered(*together)) <= MOST
    check_all(*together)


def test_offsets_are_sums_in_c_order() -> None:
    x = Input("x", (4, 1, 6), "int64")
    kernel = lowered(Build((4, 6), Read(x, (I0, I0 - I0, I1))))[0]
    assert [str(term) for term in index_terms(kernel)] == ["i0 * 6 + i1"]


def test_rank_zero_and_unit_axes_have_no_loop() -> None:
    x = Input("x", (3,), "int64")
    for build in (Build((), Read(x, (Const(2),))), Build((1, 1), Read(x, (axis(1, 1),)))):
        assert all(not loops(kernel) for kernel in lowered(build))
        check_all(build)


def test_buffers_come_in_order_of_first_read_and_the_output_last() -> None:
    x, y = Input("x", (4,), "int64"), Input("y", (4,), "int64")
    build = Build((4,), Call("subtract", (Read(y, (I0,)), Call("add", (Read(x, (I0,)), Read(y, (I0,))), "int64")), "int64"))
    assert [(b.name, b.role) for b in lowered(build)[0].buffers] == [("y", "in"), ("x", "in"), ("out", "out")]


def test_temps_avoid_the_names_of_buffers() -> None:
    t0 = Input("t0", (4, 5), "int64")
    build = Build((4,), Reduce("sum", R0, Read(t0, (I0, R0))))
    assert set(depths(lowered(build)[0])) == {"t1"}


def test_softmax_folds_stand_in_the_row_loop() -> None:
    build = softmax((4, 6), 1)
    assert len(names_of(build)) == 2
    kernel = lowered(build)[0]
    folds = [stmt for stmt in statements(kernel.body) if isinstance(stmt, Fold)]
    assert [fold.op for fold in folds] == ["max", "sum"]
    assert [depths(kernel)[fold.name] for fold in folds] == [1, 1]
    assert [v.name for v in loops(kernel)] == ["i0", "i1"]
    check_all(build, tolerance=1e-6)


def test_softmax_of_columns_has_a_candidate_that_folds_once_a_column() -> None:
    build = softmax((4, 6), 0)
    kernels = [kernel for kernel in lowered(build) if [v.name for v in loops(kernel)] == ["i1", "i0"]]
    assert any(set(depths(kernel).values()) == {1} for kernel in kernels)
    check_all(build, tolerance=1e-6)


def test_a_shared_fold_is_computed_once() -> None:
    x = Input("x", (4, 5), "int64")
    total = Reduce("sum", R0, Read(x, (I0, R0)))
    kernel = lowered(Build((4, 6), Call("multiply", (total, Call("add", (total, Literal(1, "int64")), "int64")), "int64")))[0]
    assert sum(isinstance(stmt, Fold) for stmt in statements(kernel.body)) == 1
    assert sum(isinstance(stmt, Let) for stmt in statements(kernel.body)) == 1
    assert set(depths(kernel).values()) == {1}


def test_a_load_that_an_inner_loop_does_not_change_is_hoisted() -> None:
    x, y = Input("x", (4,), "int64"), Input("y", (6,), "int64")
    kernel = lowered(Build((4, 6), Call("add", (Read(x, (I0,)), Read(y, (I1,))), "int64")))[0]
    lets = {stmt.value: stmt.name for stmt in statements(kernel.body) if isinstance(stmt, Let)}
    assert [str(value) for value in lets] == ["x[i0]"]
    assert depths(kernel)[lets[Load("x", I0, "int64")]] == 1


def test_reductions_of_one_variable_get_variables_of_their_own() -> None:
    x = Input("x", (5,), "int64")
    inner = Reduce("max", R0, Read(x, (R0,)))
    build = Build((), Reduce("sum", R0, Call("add", (Read(x, (R0,)), inner), "int64")))
    check_all(build)
    assert depths(lowered(build)[0]) == {"t0": 0, "t1": 0}


def test_a_reshaped_transpose_has_a_candidate_without_division() -> None:
    build = reshaped_transpose()
    check_all(build)
    assert any(all(_linear(term) for term in index_terms(kernel)) for kernel in lowered(build))
    assert not all(_linear(term) for term in index_terms(lowered(build)[0]))


def _linear(term: Index) -> bool:
    """Whether stepping any variable changes the value by the same amount everywhere, tried at every point."""
    free = variables(term)
    grids = np.meshgrid(*(np.arange(v.lo, v.hi + 1) for v in free), indexing="ij")
    values = np.broadcast_to(evaluate_index(term, dict(zip(free, grids, strict=True))), tuple(v.extent for v in free))
    steps = (np.diff(values, axis=k) for k in range(len(free)))
    return all(step.size == 0 or (step == step.flat[0]).all() for step in steps)


def test_a_chain_of_digits_splits_into_its_ranges() -> None:
    x = Input("x", (2, 4, 3), "int64")
    flat = axis(0, 24)
    build = Build((24,), Read(x, (flat // 12, flat // 3 % 4, 2 - flat % 3)))
    assert any([v.extent for v in loops(kernel)] == [2, 4, 3] for kernel in lowered(build))
    check_all(build)


def test_a_fold_range_is_split_too() -> None:
    x = Input("x", (4, 3), "int64")
    r = reduction(0, 12)
    build = Build((), Reduce("sum", r, Read(x, (3 - r // 3, r % 3))))
    assert (4, 3) in {_fold_extents(kernel) for kernel in lowered(build)}
    check_all(build)


def test_a_transposed_copy_has_both_orders() -> None:
    x = Input("x", (6, 4), "int64")
    build = Build((4, 6), Read(x, (I1, I0)))
    assert {tuple(v.name for v in loops(kernel)) for kernel in lowered(build)} == {("i0", "i1"), ("i1", "i0")}
    check_all(build)


def test_matmul_has_the_candidate_with_the_fold_outside() -> None:
    build = matmul()
    summed = (kernel for kernel in lowered(build) if any(isinstance(s, Store) and s.combine == "sum" for s in statements(kernel.body)))
    moved = [kernel for kernel in summed if not kernel.scratch]
    assert [[(stmt.variable.name, stmt.kind) for stmt in statements(kernel.body) if isinstance(stmt, For)] for kernel in moved] == [
        [("i0", "parallel"), ("i1_first", "parallel"), ("r0", "serial"), ("i1", "parallel")]
    ]
    check_all(build)


def test_an_epilogue_runs_in_place_after_an_outward_fold() -> None:
    product = matmul().body
    bias = Input("bias", (6,), "int64")
    build = Build((4, 6), Call("maximum", (Call("add", (product, Read(bias, (I1,))), "int64"), Literal(0, "int64")), "int64"))
    assert any("i1_last" in [v.name for v in loops(kernel)] for kernel in lowered(build))
    check_all(build)


def test_an_epilogue_of_another_dtype_keeps_the_fold_inside() -> None:
    build = Build((4, 6), Call("astype", (matmul().body,), "float32"))
    within = [kernel for kernel in lowered(build) if not kernel.scratch]
    assert within
    assert all(stmt.combine is None for kernel in within for stmt in statements(kernel.body) if isinstance(stmt, Store))
    check_all(build)


def test_sums_of_columns_have_an_outward_candidate_with_one_long_row() -> None:
    x = Input("x", (5, 4, 6), "int64")
    build = Build((4, 6), Reduce("sum", R0, Read(x, (R0, I0, I1))))
    assert any([v.extent for v in loops(kernel)] == [24, 5, 24] for kernel in lowered(build))
    check_all(build)


def test_row_sums_stay_inside() -> None:
    build = Build((4,), Reduce("sum", R0, Read(Input("x", (4, 5), "int64"), (I0, R0))))
    assert not any(isinstance(stmt, Store) and stmt.combine for kernel in lowered(build) for stmt in statements(kernel.body))


def test_elementwise_over_two_axes_has_a_candidate_of_one_loop() -> None:
    x, y = Input("x", (4, 6), "int64"), Input("y", (4, 6), "int64")
    build = Build((4, 6), Call("add", (Read(x, (I0, I1)), Read(y, (I0, I1))), "int64"))
    merged = [kernel for kernel in lowered(build) if len(loops(kernel)) == 1]
    assert [loops(kernel)[0].extent for kernel in merged] == [24]
    assert [str(term) for term in index_terms(merged[0])] == ["i0i1"]
    check_all(build)


def test_a_broadcast_is_not_merged() -> None:
    x, y = Input("x", (4, 6), "int64"), Input("y", (6,), "int64")
    build = Build((4, 6), Call("add", (Read(x, (I0, I1)), Read(y, (I1,))), "int64"))
    assert all(len(loops(kernel)) == 2 for kernel in lowered(build))


def test_neighbouring_folds_are_merged() -> None:
    x = Input("x", (4, 5, 7), "int64")
    r1 = reduction(1, 7)
    build = Build((4,), Reduce("sum", R0, Reduce("sum", r1, Read(x, (I0, R0, r1)))))
    assert {_fold_extents(kernel) for kernel in lowered(build)} == {(5, 7), (35,)}
    check_all(build)


def test_the_fold_of_unit_stride_goes_innermost() -> None:
    x = Input("x", (4, 7, 5), "int64")
    r1 = reduction(1, 7)
    build = Build((4,), Reduce("max", R0, Reduce("max", r1, Read(x, (I0, r1, 4 - R0)))))
    assert {_fold_extents(kernel) for kernel in lowered(build)} == {(7, 5), (7,)}  # the last with the short one written out
    check_all(build)


def picks(kernel: Kernel) -> list[Pick]:
    values = values_of(statements(kernel.body))
    return [term for value in values for term in scalars(value) if isinstance(term, Pick)]


def gathered() -> Build:
    """Rows of x (3, 6) at places."""
    x, places = Input("x", (3, 6), "int64"), Input("places", (4,), "int64")
    return Build((4, 6), Gather(x, (Read(places, (I0,)), Position(I1, "int64"))))


def test_a_gather_is_a_pick_in_the_shape_of_its_array() -> None:
    build = gathered()
    assert [(b.name, b.role) for b in lowered(build)[0].buffers] == [("places", "in"), ("x", "in"), ("out", "out")]
    assert {(pick.buffer, pick.shape) for kernel in lowered(build) for pick in picks(kernel)} == {("x", (3, 6))}
    check_all(build)


def test_a_place_that_an_inner_loop_does_not_change_is_loaded_outside() -> None:
    kernel = lowered(gathered())[0]
    lets = {str(stmt.value): depths(kernel)[stmt.name] for stmt in statements(kernel.body) if isinstance(stmt, Let)}
    assert lets["places[i0]"] == 1


def test_a_gather_in_a_fold_is_folded() -> None:
    x, places = Input("x", (3, 5), "int64"), Input("places", (4,), "int64")
    build = Build((4,), Reduce("sum", R0, Gather(x, (Read(places, (I0,)), Position(4 - R0, "int64")))))
    check_all(build)


def test_loops_that_positions_tell_apart_are_not_merged() -> None:
    x = Input("x", (4, 6), "int64")
    kept, merged = (Build((4, 6), Call("add", (Read(x, (I0, I1)), Position(index, "int64")), "int64")) for index in (I0 + I1, I0 * 6 + I1))
    assert all(len(loops(kernel)) == 2 for kernel in lowered(kept))
    assert any([v.extent for v in loops(kernel)] == [24] for kernel in lowered(merged))
    check_all(kept)
    check_all(merged)


def test_ranges_are_split_where_positions_divide_them() -> None:
    flat = axis(0, 24)
    build = Build((24,), Call("astype", (Position(apply("eq", flat // 6, flat % 6), "bool"),), "int64"))
    assert any([v.extent for v in loops(kernel)] == [4, 6] for kernel in lowered(build))
    check_all(build)


def test_positions_of_unit_axes_are_constants() -> None:
    build = Build((1, 6), Position(axis(0, 1) * 5 + I1, "int64"))
    assert all(v.extent > 1 for kernel in lowered(build) for term in index_terms(kernel) for v in variables(term))
    check_all(build)


def test_a_matrix_product_with_a_position_has_the_fold_outside() -> None:
    """A triangle of a product: the position is known at the end only."""
    triangle = Position(apply("le", I1, I0), "bool")
    build = Build((4, 6), Call("where", (triangle, matmul().body, Literal(0, "int64")), "int64"))
    summed = (kernel for kernel in lowered(build) if any(isinstance(s, Store) and s.combine == "sum" for s in statements(kernel.body)))
    moved = [kernel for kernel in summed if not kernel.scratch]
    assert moved
    check_all(build)


def several() -> tuple[Build, ...]:
    """Sum, maximum and last element of rows, in three dtypes."""
    x = Input("x", (4, 5), "int64")
    row = Read(x, (I0, R0))
    bodies: tuple[Scalar, ...] = (
        Reduce("sum", R0, row),
        Call("astype", (Reduce("max", R0, row),), "float64"),
        Call("less", (Read(x, (I0, Const(4))), Literal(0, "int64")), "bool"),
    )
    return tuple(Build((4,), body) for body in bodies)


def test_several_builds_have_their_outputs_last_and_in_order() -> None:
    for kernel in lowered(*several()):
        assert [(b.name, b.dtype, b.role) for b in kernel.buffers] == [
            ("x", "int64", "in"),
            ("out0", "int64", "out"),
            ("out1", "float64", "out"),
            ("out2", "bool", "out"),
        ]
        stores = [stmt for stmt in statements(kernel.body) if isinstance(stmt, Store)]
        assert [store.buffer for store in stores] == ["out0", "out1", "out2"]
        assert len(loops(kernel)) == 1
    check_all(*several())


def test_what_several_builds_share_is_computed_once() -> None:
    x = Input("x", (4, 5), "int64")
    total = Reduce("sum", R0, Read(x, (I0, R0)))
    together = tuple(Build((4,), body) for body in (total, Call("negative", (total,), "int64")))
    assert {sum(isinstance(stmt, Fold) for stmt in statements(kernel.body)) for kernel in lowered(*together)} == {1, 0}  # 0: written out
    check_all(*together)


def test_several_products_are_added_up_row_by_row_together() -> None:
    a, b, c = Input("a", (4, 5), "int64"), Input("b", (5, 6), "int64"), Input("c", (5, 6), "int64")
    together = tuple(
        Build((4, 6), Reduce("sum", R0, Call("multiply", (Read(a, (I0, R0)), Read(other, (R0, I1))), "int64"))) for other in (b, c)
    )
    rows = [stmt for kernel in lowered(*together) for stmt in statements(kernel.body) if isinstance(stmt, For) and _adds_up(stmt)]
    assert rows
    assert all(len(row.body) == 2 for row in rows)
    check_all(*together)


def _adds_up(stmt: For) -> bool:
    """Whether a loop adds to memory."""
    return any(isinstance(inner, Store) and inner.combine is not None for inner in stmt.body)


def test_a_body_of_two_to_the_forty_paths_lowers_at_once() -> None:
    term: Read | Call = Read(Input("x", (4, 6), "int64"), (I0, I1))
    for _ in range(40):
        term = Call("add", (term, term), "int64")
    build = Build((4, 6), term)
    start = time.perf_counter()
    for kernel in lowered(build):
        hoist(kernel)
    assert time.perf_counter() - start < 0.5
    check_all(build)


def test_lowering_twice_gives_the_same_kernels() -> None:
    assert lowered(matmul()) == lowered(matmul())


def test_short_folds_are_written_out() -> None:
    x = Input("x", (3, 4, 5), "int64")
    for op in ("sum", "prod", "max", "min"):
        inner = Reduce(op, reduction(1, 5), Read(x, (axis(0, 3), reduction(0, 4), reduction(1, 5))))
        build = Build((3,), Reduce("sum", reduction(0, 4), Call("multiply", (inner, Position(reduction(0, 4), "int64")), "int64")))
        check_all(build)
        assert any(not _fold_extents(kernel) for kernel in lowered(build))


def test_long_folds_and_sums_carried_in_another_dtype_stay_folds() -> None:
    for shape, dtype in (((4, 33), "float32"), ((4, 3), "float16")):
        build = Build(
            shape[:1], Reduce("sum", reduction(0, shape[1]), Read(Input("x", shape, dtype), (axis(0, 4), reduction(0, shape[1]))))
        )
        assert all(_fold_extents(kernel) for kernel in lowered(build))


def test_equal_folds_at_different_depths_are_one() -> None:
    """The mean within the variance and the mean beside it: one sum, whatever their variables are called."""
    x, row = Input("x", (6, 40), "float64"), axis(0, 6)
    outer, inner = (Reduce("sum", reduction(k, 40), Read(x, (row, reduction(k, 40)))) for k in (0, 1))
    apart = Call("subtract", (Read(x, (row, reduction(0, 40))), inner), "float64")
    build = Build((6,), Call("add", (outer, Reduce("sum", reduction(0, 40), apart)), "float64"))
    assert all(len(_fold_extents(kernel)) == 2 for kernel in lowered(build))
    check_all(build, tolerance=1e-12)


def test_a_short_fold_around_one_that_stays_is_not_written_out() -> None:
    """The inner fold is short too, but of too many operations; copies of it would bind its variable once each."""
    outer, inner = reduction(0, 2), reduction(1, 16)
    x, w = Input("x", (2, 16), "int64"), Input("w", (16, 2), "int64")
    term: Scalar = Read(x, (outer, inner))
    for k in range(5):
        product = Call("multiply", (term, Call("subtract", (term, Literal(k, "int64")), "int64")), "int64")
        term = Call("subtract", (product, Call("multiply", (product, Call("add", (term, Literal(3, "int64")), "int64")), "int64")), "int64")
    term = Call("multiply", (term, Read(w, (inner, outer))), "int64")
    check_all(Build((), Reduce("sum", outer, Reduce("sum", inner, term))))
