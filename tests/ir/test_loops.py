"""Loop nests: their text, what the checker rejects, and what the interpreter does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from eqsat.ir.errors import InternalError
from eqsat.ir.index import Const, Var, apply
from eqsat.ir.loops import Bind, Buffer, Fold, For, Kernel, Let, Load, Pick, Stmt, Store, Temp, index_terms, map_indices
from eqsat.ir.loops_check import check_kernel
from eqsat.ir.loops_evaluate import run_kernel
from eqsat.ir.tensor import Call, Literal, Position, Scalar

I0, R0, B0 = Var("i0", 0, 2), Var("r0", 0, 3), Var("b0", 0, 8)
ROW = Load("x", B0 + R0, "float32")
SUM = Fold("t0", "sum", "float32", R0, (), ROW)


def kernel(*body: Stmt) -> Kernel:
    """A kernel over x[12] and out[3], all float32."""
    return Kernel("k", (Buffer("x", "float32", 12, "in"), Buffer("out", "float32", 3, "out")), body)


def rows(*body: Stmt) -> Kernel:
    """The body under a loop over i0, where b0 = i0 * 4."""
    return kernel(For(I0, "parallel", (Bind(B0, I0 * 4), *body)))


ROW_SUMS = rows(SUM, Store("out", I0, Temp("t0", "float32")))


def test_a_kernel_reads_as_indented_loops() -> None:
    assert str(ROW_SUMS) == "\n".join(
        (
            "kernel k(x: in float32[12], out: out float32[3])",
            "    for i0 in 0..2 parallel:",
            "        b0 = i0 * 4",
            "        t0 = sum for r0 in 0..3: x[b0 + r0]",
            "        out[i0] = t0",
        )
    )


def test_a_fold_with_statements_yields_its_value() -> None:
    fold = replace(SUM, body=(Let("t1", ROW),), value=Call("multiply", (Temp("t1", "float32"), Temp("t1", "float32")), "float32"))
    text = str(rows(fold, Store("out", I0, Temp("t0", "float32"), "sum")))
    assert "t0 = sum for r0 in 0..3:\n            t1 = x[b0 + r0]\n            yield t1 * t1" in text
    assert "out[i0] sum= t0" in text


def test_row_sums_are_computed() -> None:
    x, out = np.arange(12, dtype=np.float32), np.zeros(3, np.float32)
    check_kernel(ROW_SUMS)
    run_kernel(ROW_SUMS, [x, out])
    assert out.tolist() == x.reshape(3, 4).sum(axis=1).tolist()


def test_combining_stores_accumulate_in_place() -> None:
    out = np.array([10, 20, 30], np.float32)
    body = For(R0, "serial", (Store("out", I0, ROW, "max"),))
    run_kernel(rows(body), [np.arange(0, 36, 3, dtype=np.float32), out])
    assert out.tolist() == [10, 21, 33]


def test_arithmetic_is_that_of_the_dtype() -> None:
    big = Literal(2**31 - 1, "int32")
    out = np.zeros(1, np.int32)
    body = Store("out", Const(0), Call("add", (big, Literal(1, "int32")), "int32"))
    run_kernel(Kernel("k", (Buffer("out", "int32", 1, "out"),), (body,)), [out])
    assert out[0] == -(2**31)


def test_comparisons_and_where_mean_what_numpy_means() -> None:
    value = Load("x", I0, "float32")
    less = Call("less", (value, Literal(1.0, "float32")), "bool")
    body = Store("out", I0, Call("where", (less, Literal(-1.0, "float32"), value), "float32"))
    x, out = np.arange(12, dtype=np.float32), np.zeros(3, np.float32)
    check_kernel(kernel(For(I0, "parallel", (body,))))
    run_kernel(kernel(For(I0, "parallel", (body,))), [x, out])
    assert out.tolist() == np.where(x < 1, -1, x)[:3].tolist()


def test_an_access_outside_its_buffer_stops_the_run() -> None:
    body = For(I0, "parallel", (Store("out", I0, Load("x", I0 * 6, "float32")),))
    with pytest.raises(InternalError, match=r"found x\[i0 \* 6\] at element 12, expected 0\.\.11"):
        run_kernel(kernel(body), [np.zeros(12, np.float32), np.zeros(3, np.float32)])


def picked(*places: Scalar, shape: tuple[int, ...] = (3, 4), dtype: str = "float32") -> Kernel:
    """out[i0] = x, seen in this shape, at places."""
    return rows(Store("out", I0, Pick("x", shape, places, dtype)))


COLUMN, FAR, NEAR = Position(I0, "int64"), Literal(2**63 - 1, "int64"), Literal(-(2**63), "int64")


@pytest.mark.parametrize(
    ("places", "expected"),
    [((COLUMN, COLUMN), [0, 5, 10]), ((FAR, COLUMN), [8, 9, 10]), ((COLUMN, FAR), [3, 7, 11]), ((NEAR, FAR), [3] * 3)],
)
def test_a_pick_clips_every_place_to_its_dimension(places: tuple[Scalar, ...], expected: list[int]) -> None:
    out = np.zeros(3, np.float32)
    check_kernel(picked(*places))
    run_kernel(picked(*places), [np.arange(12, dtype=np.float32), out])
    assert out.tolist() == expected


def test_positions_and_picks_read_as_in_programs() -> None:
    assert str(picked(Position(I0 * 2, "int64"), FAR)).endswith("out[i0] = x[clip int64(i0 * 2), 9223372036854775807]")


def test_positions_are_index_terms_of_their_kernel() -> None:
    kernel = picked(Position(I0 * 2, "int64"), Position(2 - I0, "int64"))
    assert {str(term) for term in index_terms(kernel)} == {"i0 * 4", "i0 * 2", "2 - i0", "i0"}
    doubled = map_indices(kernel, lambda term: Const(1) if str(term) == "2 - i0" else term)
    assert "x[clip int64(i0 * 2), int64(1)]" in str(doubled)


def test_positions_are_values_of_their_dtype() -> None:
    out = np.zeros(3, np.bool_)
    body = For(I0, "parallel", (Store("out", I0, Position(apply("lt", I0, 2), "bool")),))
    mask = Kernel("k", (Buffer("out", "bool", 3, "out"),), (body,))
    check_kernel(mask)
    run_kernel(mask, [out])
    assert out.tolist() == [True, True, False]


@pytest.mark.parametrize(
    "arrays",
    [
        lambda: [np.zeros(12, np.float32)],
        lambda: [np.zeros(12, np.float32), np.zeros(4, np.float32)],
        lambda: [np.zeros(12, np.float64), np.zeros(3, np.float32)],
    ],
)
def test_arrays_that_do_not_fit_are_named(arrays: Callable[[], list[np.ndarray]]) -> None:
    with pytest.raises(InternalError, match="kernel k"):
        run_kernel(ROW_SUMS, arrays())


STORE = Store("out", I0, Temp("t0", "float32"))
ZERO = Literal(0.0, "float32")
ILLEGAL: dict[str, tuple[Kernel, str]] = {
    "an unbound loop variable": (kernel(Store("out", I0, ZERO)), "unbound variable i0"),
    "a variable of other bounds": (rows(Store("out", Var("i0", 0, 1), ZERO)), "unbound variable i0 in 0..1"),
    "a fold variable used after its fold": (rows(SUM, Store("out", I0, Load("x", R0, "float32"))), "unbound variable r0"),
    "an unbound temp": (rows(STORE), "temp t0"),
    "a temp of an inner scope": (rows(replace(SUM, body=(Let("t1", ROW),)), Store("out", I0, Temp("t1", "float32"))), "temp t1"),
    "a name bound twice": (rows(SUM, SUM, STORE), "name r0"),
    "a temp bound twice": (rows(Let("t0", ZERO), Let("t0", ZERO)), "name t0"),
    "a load that can leave its buffer": (rows(Store("out", I0, Load("x", B0 + 4, "float32"))), "load from x: found b0 + 4 in 4..12"),
    "a store that can leave its buffer": (rows(Store("out", I0 - 1, ZERO)), "store to out: found i0 - 1 in -1..1"),
    "a bind outside the variable's bounds": (kernel(For(I0, "parallel", (Bind(Var("b0", 0, 7), I0 * 4),))), "bind b0"),
    "a load of another dtype": (rows(Store("out", I0, Load("x", I0, "float64"))), "dtype float64, expected float32"),
    "a store of another dtype": (rows(Store("out", I0, Literal(0.0, "float64"))), "dtype float64, expected float32"),
    "a call of another dtype": (rows(Store("out", I0, Call("add", (ZERO, ZERO), "float64"))), "operation add"),
    "operands of two dtypes": (rows(Store("out", I0, Call("less", (ZERO, Literal(0.0, "float64")), "bool"))), "operand of less"),
    "a fold of another dtype": (rows(replace(SUM, dtype="float64"), STORE), "fold t0"),
    "a write to an input": (rows(Store("x", I0, ZERO)), "store to x: found an input"),
    "an unknown buffer": (rows(Store("y", I0, ZERO)), "unknown buffer y"),
    "an unknown operation": (rows(Store("out", I0, Call("sinus", (ZERO,), "float32"))), "unknown operation sinus"),
    "an unknown fold": (rows(replace(SUM, op="product"), STORE), "unknown reduction product"),
    "an unknown combine": (rows(Store("out", I0, ZERO, "product")), "unknown reduction product"),
    "an unknown kind of loop": (kernel(For(I0, "vector", ())), "kind vector"),  # type: ignore[arg-type]
    "a position of an unbound variable": (
        rows(Store("out", I0, Call("astype", (Position(R0, "int64"),), "float32"))),
        "unbound variable r0",
    ),
    "a position of another kind": (rows(Let("t0", Position(I0, "bool"))), "position: found i0 as bool"),
    "a position that its dtype does not hold": (rows(Let("t0", Position(I0 * 2**31, "int32"))), "expected values of int32"),
    "a pick from an unknown buffer": (rows(Let("t0", Pick("y", (3,), (COLUMN,), "float32"))), "pick from y: found an unknown buffer"),
    "a pick in a shape of another size": (
        picked(COLUMN, COLUMN, shape=(3, 5)),
        "2 places in the shape (3, 5), expected one a dimension of 12",
    ),
    "a pick of too few places": (picked(COLUMN), "1 places in the shape (3, 4)"),
    "a pick of another dtype": (picked(COLUMN, COLUMN, dtype="float64"), "pick from x: found dtype float64, expected float32"),
    "a pick at an int32": (picked(COLUMN, Position(I0, "int32")), "pick from x: found dtype int32, expected int64"),
    "a pick at an unbound variable": (picked(COLUMN, Position(R0, "int64")), "position: found the unbound variable r0"),
    "no output": (Kernel("k", (Buffer("a", "bool", 1, "in"),), ()), "inputs and then outputs"),
    "an input last": (Kernel("k", (Buffer("a", "bool", 1, "out"), Buffer("b", "bool", 1, "in")), ()), "inputs and then outputs"),
}


@pytest.mark.parametrize("what", ILLEGAL)
def test_the_checker_rejects(what: str) -> None:
    illegal, message = ILLEGAL[what]
    with pytest.raises(InternalError) as caught:
        check_kernel(illegal)
    assert "kernel k" in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize(("step", "legal"), [(2, True), (3, False)])
def test_the_checker_knows_what_bound_variables_stand_for(step: int, legal: bool) -> None:
    """An even number modulo 12 is 10 at most, though the variable that stands for the even one has odd numbers between its bounds."""
    i = Var("i", 0, 6)
    back = Var("back", -6 * step, 0)
    body = (Bind(back, i * -step), Store("out", i, Load("x", back % 12 + 1, "float32")))
    buffers = (Buffer("x", "float32", 12 if legal else 10, "in"), Buffer("out", "float32", 7, "out"))
    kernel = Kernel("k", buffers, (For(i, "parallel", body),))
    if legal:
        check_kernel(kernel)
    else:
        with pytest.raises(InternalError):
            check_kernel(kernel)
