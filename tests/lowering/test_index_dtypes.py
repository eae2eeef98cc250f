from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from eqsat.ir.errors import InternalError, UnsupportedError
from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import OPS, Index, Var, apply, as_index, var, where
from eqsat.ir.loops import Bind, Buffer, For, Kernel, Load, Store
from eqsat.ir.typed import (
    Access,
    Bound,
    Cast,
    End,
    Invalid,
    Name,
    Number,
    Numbers,
    Operation,
    Range,
    Sink,
    Special,
    Typed,
    Vector,
    fits,
    typed_terms,
)
from eqsat.ir.typed_check import check_typed, evaluate_typed
from eqsat.lowering.index_dtypes import (
    PHASES,
    PROPAGATE,
    STRIP,
    WRAP,
    Abstract,
    Rewriter,
    Row,
    loop_range,
    lower_index_dtypes,
    type_indices,
)
from tests.effort import examples
from tests.ir.typed_terms import points, terms_at_edges, variables_at_edges

X, N = var("i", 0, 999), var("n", 1, 2**31)


def lowered(root: Typed) -> Typed:
    """The only operand of a sink, lowered and checked."""
    sink = lower_index_dtypes(Sink((root,)))
    check_typed(sink)
    return sink.operands[0]


def index(term: Index | int) -> Typed:
    return Abstract()(as_index(term))


@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_the_lowered_form_of_a_term_at_the_edges_is_legal_and_equal_in_fixed_width(data: st.DataObject) -> None:
    names = tuple(data.draw(variables_at_edges(name)) for name in "xyz")
    term = data.draw(terms_at_edges(names))
    env = data.draw(points(*names))
    typed = lowered(index(term))
    assert evaluate_typed(typed, env) == evaluate_typed(index(term), env) == int(evaluate_index(term, env))


@settings(max_examples=examples(100), deadline=None)
@given(st.data())
def test_an_operation_is_wide_only_where_its_result_or_an_operand_is(data: st.DataObject) -> None:
    names = tuple(data.draw(variables_at_edges(name)) for name in "xy")
    for term in typed_terms(lowered(index(data.draw(terms_at_edges(names))))):
        if isinstance(term, Operation) and "int64" in (term.dtype, term.args[-1].dtype):
            operands = [arg.arg if isinstance(arg, Cast) else arg for arg in term.args]
            wide = [arg for arg in operands if arg.dtype == "int64" and not (isinstance(arg, Number) and fits("int32", arg.bounds))]
            assert wide or not fits("int32", term.bounds)


@pytest.mark.parametrize(
    ("term", "text"),
    [
        (as_index(5), "5:i32"),
        (as_index(2**31), "2147483648:i64"),
        (X, "i:i32"),
        (N, "n:i64"),
        (X * 2**20, "mul.i32(i:i32, 1048576:i32)"),
        (X * 2**22, "mul.i64(i64(i:i32), 4194304:i64)"),
        (X * 2**22 // 2**22, "floordiv.i64(mul.i64(i64(i:i32), 4194304:i64), 4194304:i64)"),
        (X + 2**31 - 1000 - X, "sub.i64(sub.i64(add.i64(i64(i:i32), 2147483648:i64), 1000:i64), i64(i:i32))"),
        (X < N, "lt.bool(i64(i:i32), n:i64)"),
        ((X < 3) + (X < 5), "add.i32(i32(lt.bool(i:i32, 3:i32)), i32(lt.bool(i:i32, 5:i32)))"),
        (where(X < 3, X, N), "where.i64(lt.bool(i:i32, 3:i32), i64(i:i32), n:i64)"),
        (where(X, X < 3, True), "where.bool(ne.bool(i:i32, 0:i32), lt.bool(i:i32, 3:i32), True)"),
        (apply("and", X, N), "and.bool(ne.bool(i:i32, 0:i32), ne.bool(n:i64, 0:i64))"),
        (apply("int", X < 3), "i32(lt.bool(i:i32, 3:i32))"),
        (apply("bool", N), "ne.bool(n:i64, 0:i64)"),
        (apply("neg", var("m", -(2**31), 0)), "neg.i64(i64(m:i32))"),
        (apply("abs", var("m", -(2**31) + 1, 0)), "abs.i32(m:i32)"),
    ],
)
def test_the_type_of_a_term_follows_from_its_bounds(term: Index, text: str) -> None:
    assert str(lowered(index(term))) == text


@pytest.mark.parametrize(
    ("root", "text"),
    [
        (Numbers((0, 1, 2, 3), "index"), "<0, 1, 2, 3>:i32"),
        (Numbers((0, 2**31), "index"), "<0, 2147483648>:i64"),
        (loop_range(var("r", 0, 2**31 - 2)), "r:i32<2147483647:i32"),
        (loop_range(var("r", 0, 2**31 - 1)), "r:i64<2147483648:i64"),
        (Special(var("t", 0, 255), index(256), "index"), "t:i32<256:i32"),
        (Vector((index(X), index(X * 2**22)), "index"), "<i64(i:i32), mul.i64(i64(i:i32), 4194304:i64)>"),
        (Bound(index(var("b", 0, 6)), index(N % 7), "index"), "(i64(b:i32) = mod.i64(n:i64, 7:i64))"),
        (
            Operation("add", (Vector((index(X), index(X + 1)), "index"), Numbers((2**31, 5), "index")), "index"),
            "add.i64(i64(<i:i32, add.i32(i:i32, 1:i32)>), <2147483648, 5>:i64)",
        ),
        (
            Operation("and", (Numbers((0, 1), "index"), Numbers((2, 3), "index")), "bool"),
            "and.bool(ne.bool(<0, 1>:i32, <0, 0>:i32), ne.bool(<2, 3>:i32, <0, 0>:i32))",
        ),
    ],
)
def test_every_other_kind_of_node_has_a_type(root: Typed, text: str) -> None:
    assert str(lowered(root)) == text


def test_the_end_of_a_loop_is_a_value_of_its_counter() -> None:
    counter = lowered(loop_range(var("r", 5, 2**31 - 1)))
    assert isinstance(counter, Range)
    assert counter.dtype == counter.end.dtype == "int64"


def test_an_access_takes_its_gate_from_the_index() -> None:
    gated = Operation("where", (index(X < 7), index(X * 2), Invalid("index")), "index")
    assert str(lower_index_dtypes(Access("x", gated))) == "x[mul.i32(i:i32, 2:i32)] if lt.bool(i:i32, 7:i32)"
    assert str(lower_index_dtypes(Access("x", index(X)))) == "x[i:i32]"
    twice = Operation("where", (index(X > 2), gated, Invalid("index")), "index")
    access = lower_index_dtypes(Access("x", twice))
    check_typed(access)
    assert [evaluate_typed(access, {X: value}) for value in (2, 3, 6, 7)] == [None, 6, 12, None]


def test_sinks_and_ends_hold_no_wrapper() -> None:
    end = lower_index_dtypes(End(index(X + 1), (loop_range(var("r", 0, 9)),)))
    assert str(end) == "end(add.i32(i:i32, 1:i32), r:i32<10:i32)"
    check_typed(end)
    assert evaluate_typed(lower_index_dtypes(Sink((index(X), index(N)))), {X: 3, N: 2**31}) == (3, 2**31)


def test_a_bound_name_has_the_value_below() -> None:
    name = var("b", 0, 6)
    bound = Bound(index(name), index(N % 7), "index")
    sink = Sink((bound, index(name * 3)))
    assert evaluate_typed(lower_index_dtypes(sink), {N: 2**31 - 1}) == ((2**31 - 1) % 7, (2**31 - 1) % 7 * 3)


@pytest.mark.parametrize("term", [X * 2**60, N * N * 2, as_index(2**63), (X * 2**60) % 7, where(X < 3, X * 2**62, 0)])
def test_a_value_beyond_64_bits_is_refused(term: Index) -> None:
    with pytest.raises(UnsupportedError, match="expected 64-bit integers"):
        lower_index_dtypes(Sink((Abstract()(term),)))


def test_a_kernel_that_leaves_64_bits_is_refused_under_the_name_of_the_subterm() -> None:
    out, i = Buffer("out", "int64", 7, "out"), var("i", 0, 6)
    kernel = Kernel("wide", (out,), (For(i, "serial", (Store("out", (i * 2**62 * 4) % 7, Load("out", as_index(0), "int64")),)),))
    with pytest.raises(UnsupportedError, match=r"index i \* 4611686018427387904: found values in 0\.\."):
        type_indices(kernel)


def test_a_launch_of_too_many_threads_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="fewer than 2\\^31"):
        lower_index_dtypes(Sink((Special(var("t", 0, 2**31), index(2**31 + 1), "index"),)))


def test_each_phase_does_its_part() -> None:
    root: Typed = Access("x", index(X + 5))
    wrapped_leaves = Rewriter(WRAP)(root)
    assert str(wrapped_leaves) == "x[add.index(index(i:i32), index(5:i32))]"
    propagated = Rewriter(PROPAGATE)(wrapped_leaves)
    assert str(propagated) == "x[index(add.i32(i:i32, 5:i32))]"
    assert str(Rewriter(STRIP)(propagated)) == "x[add.i32(i:i32, 5:i32)]" == str(lower_index_dtypes(root))


def fired(row: Row, root: Typed) -> bool:
    """Whether a row changed a node on the way to the lowered form."""
    count = 0

    def counting(term: Typed) -> Typed | None:
        nonlocal count
        found = row.rewrite(term)
        count += found is not None
        return found

    rows = [Row(r.name, r.node, counting if r is row else r.rewrite) for phase in PHASES.values() for r in phase]
    Rewriter(rows)(root)
    return count > 0


@pytest.mark.parametrize("row", [row for phase in PHASES.values() for row in phase], ids=lambda row: row.name)
def test_every_row_is_needed(row: Row) -> None:
    gated = Operation("where", (index(apply("and", X, X < 7)), index(where(X < 5, X * 2, X)), Invalid("index")), "index")
    other = (Numbers((1, 2), "index"), loop_range(var("r", 0, 3)), Special(var("t", 0, 3), index(4), "index"))
    vector = Vector((index(X), index(N)), "index")
    bound = Bound(index(var("b", 0, 6)), index(N % 7), "index")
    root = Sink((Access("x", gated), *other, vector, bound, End(index(X), ())))
    assert fired(row, root)
    rows = [r for phase in PHASES.values() for r in phase if r is not row]
    try:
        check_typed(Rewriter(rows)(root))
        legal = not any(isinstance(t, Operation) and isinstance(t.args[-1], Invalid) for t in typed_terms(Rewriter(rows)(root)))
    except InternalError:
        legal = False
    assert not legal


def test_a_kernel_has_types_for_counters_bound_values_and_offsets() -> None:
    i, j, b = var("i", 0, 9), var("j", 0, 2**31), var("b", 0, 27)
    body = (For(i, "parallel", (Bind(b, i * 3), For(j, "serial", (Store("out", i, Load("data", b + 1, "int64")),)))),)
    kernel = Kernel("typed", (Buffer("data", "int64", 29, "in"), Buffer("out", "int64", 10, "out")), body)
    lines = str(type_indices(kernel)).splitlines()
    assert lines[-5:] == [
        "    i: i:i32<10:i32",
        "    b: (b:i32 = mul.i32(i:i32<10:i32, 3:i32))",
        "    j: j:i64<2147483649:i64",
        "    i * 3: mul.i32(i:i32<10:i32, 3:i32)",
        "    b + 1: add.i32(b:i32, 1:i32)",
    ]


@pytest.mark.parametrize("op", sorted(OPS))
def test_every_operation_is_typed_at_the_edge_of_32_bits(op: str) -> None:
    x, y = Var("x", 2**31 - 3, 2**31 - 1), Var("y", 1, 3)
    term = apply(op, *((x < 2**31 - 2, x, y) if op == "where" else (x, y)[: OPS[op].arity]))
    typed = lowered(index(term))
    for a in range(x.lo, x.hi + 1):
        for c in range(y.lo, y.hi + 1):
            assert evaluate_typed(typed, {x: a, y: c}) == int(evaluate_index(term, {x: a, y: c}))


def test_the_checker_finds_what_would_overflow_and_what_does_not_fit() -> None:
    x = Name(var("x", 0, 2**31 - 1), "int32")
    overflowing = Operation("add", (x, Number(1, "int32")), "int32")
    assert evaluate_typed(overflowing, {var("x", 0, 2**31 - 1): 2**31 - 1}) == -(2**31)
    mixed = Operation("add", (x, Number(1, "int64")), "int64")
    lanes = Operation("add", (x, Numbers((1, 2), "int32")), "int32")
    gate = Access("x", x, x)
    for wrong in (overflowing, mixed, lanes, gate, index(X), Invalid("int32"), Vector((x, Number(1, "int64")), "int32")):
        with pytest.raises(InternalError, match="typed index"):
            check_typed(wrong)
