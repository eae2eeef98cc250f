"""Index terms through types and LLVM: equal to Python's integers, up to the edges of 32 and 64 bits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import Phase, given, settings, strategies as st

from eqsat.codegen import compile_kernels
from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import OPS, Const, Index, Var, apply, var, where
from eqsat.ir.loops import Bind, Buffer, Fold, For, Kernel, Load, Store, Temp
from eqsat.ir.tensor import Literal
from eqsat.ir.typed import Bound, Numbers, Operation, Sink, Special, Typed, Vector
from eqsat.ir.typed_check import evaluate_typed
from eqsat.lowering import type_indices
from eqsat.lowering.index_dtypes import Abstract, lower_index_dtypes
from tests.codegen.typed_functions import TypedFunction
from tests.effort import examples
from tests.ir.typed_terms import points, terms_at_edges, variables_at_edges


def typed(*roots: Index | Typed) -> tuple[Typed, ...]:
    abstract = Abstract()
    return lower_index_dtypes(Sink(tuple(root if isinstance(root, Typed) else abstract(root) for root in roots))).operands


def check_random_terms(data: st.DataObject) -> None:
    """Eight terms at six points."""
    names = tuple(data.draw(variables_at_edges(name)) for name in "xyz")
    terms = [data.draw(terms_at_edges(names)) for _ in range(8)]
    function = TypedFunction(typed(*terms), names)
    for _ in range(6):
        env = data.draw(points(*names))
        assert function(*(env[v] for v in names)) == [int(evaluate_index(term, env)) for term in terms]


@settings(max_examples=examples(40), deadline=None)
@given(st.data())
def test_random_terms_at_the_edges_equal_python(data: st.DataObject) -> None:
    check_random_terms(data)


@pytest.mark.parametrize(("low", "d"), [(-(2**31) + 1, 3), (-(2**31), 3), (-(2**31) + 1, 7), (-(2**63) + 1, 3), (-(2**63), 5)])
def test_a_multiple_that_leaves_the_type_makes_a_dividend_that_does_not(low: int, d: int) -> None:
    """The least numbers need a multiple of the divisor that is no number of the type itself."""
    for high in (low, -7):
        x = Var("x", low, high)
        least = apply("min", x, Const(-7))
        function = TypedFunction(typed(apply("floordiv", least, Const(d)), apply("mod", least, Const(d))), (x,))
        for value in {low, min(low + 1, high), low // 2 if high > low // 2 else low, high}:
            assert function(value) == [value // d, value % d]


@pytest.mark.fuzz
@settings(max_examples=1000, deadline=None, phases=[Phase.generate])
@given(st.data())
def test_many_random_terms_at_the_edges_equal_python(data: st.DataObject) -> None:
    check_random_terms(data)


EDGES = [
    (2**31 - 4, 2**31 - 1),
    (-(2**31), -(2**31) + 3),
    (2**31 - 2, 2**31 + 1),
    (2**63 - 4, 2**63 - 1),
    (-(2**63), -(2**63) + 3),
    (-2, 2),
]


@pytest.mark.parametrize("edge", EDGES)
def test_every_operation_at_an_edge_equals_python(edge: tuple[int, int]) -> None:
    x = var("x", *edge)
    terms: list[Index] = [where(x < edge[1], x, edge[0])]
    for small in (var("y", 1, 3), var("y", -3, -2), var("y", 0, 2)):
        for name, row in OPS.items():
            in_domain = name not in ("floordiv", "mod") or small.lo != 0
            if row.arity <= 2 and in_domain and (name not in ("shl", "shr") or small.lo >= 0):
                terms.append(apply(name, *(x, small)[: row.arity]))
    terms = [term for term in terms if term.bounds[0] >= -(2**63) and term.bounds[1] < 2**63]
    assert len(terms) > 40
    names = tuple(dict.fromkeys(v for term in terms for v in (x, *getattr(term, "free", ()))))
    function = TypedFunction(typed(*terms), names)
    for step in range(12):
        env = {v: v.lo + (step + k) % v.extent for k, v in enumerate(names)}
        assert function(*env.values()) == [int(evaluate_index(term, env)) for term in terms]


def test_vectors_constants_launch_indices_and_bound_names_have_code() -> None:
    i, t, b, n = var("i", 0, 2**31 - 1), var("t", 0, 255), var("b", 0, 6), var("n", -(2**20), 2**20)
    ten = Abstract()
    thread = Special(t, ten(apply("int", 256)), "index")
    lanes = Vector((ten(i), ten(i // 3), ten(n % 7), ten(n // 2**10)), "index")
    steps = Numbers((1, 5, 2**33, -7), "index")
    bound = Bound(ten(b), ten(n % 7), "index")
    roots: list[Typed] = [bound, thread, lanes, steps]
    roots += [Operation(op, (lanes, steps), "index") for op in ("add", "sub", "floordiv", "mod", "min", "max", "bitxor")]
    roots += [Operation("mul", (lanes, Numbers((3, -5, 2**31, 7), "index")), "index")]
    less = Operation("lt", (lanes, steps), "bool")
    roots += [Operation("abs", (lanes,), "index"), Operation("where", (less, lanes, steps), "index"), Operation("not", (less,), "bool")]
    roots += [Operation("neg", (lanes,), "index"), Operation("floordiv", (lanes, Numbers((7,) * 4, "index")), "index"), ten(b * 3 + 1)]
    concrete = typed(*roots)
    function = TypedFunction(concrete, (i, t, n))
    for k in range(20):
        env = {i: 2**31 - 1 - k * 97_654_321 % 2**31, t: k * 13 % 256, n: (-1) ** k * (2**20 - k * 4_321)}
        wanted = evaluate_typed(Sink(concrete), env)
        assert function(*env.values()) == [tuple(map(int, w)) if isinstance(w, tuple) else int(w) for w in wanted]


def test_proved_arithmetic_is_marked_and_narrow() -> None:
    i, n = var("i", 0, 999), var("n", -5, 999)
    text = TypedFunction(typed(i * 1000 + 7, n - i, (i + 5) // 7, i * 2**40), (i, n)).text
    assert "mul nuw nsw i32" in text
    assert "add nuw nsw i32" in text
    assert "sub nsw i32" in text
    assert "udiv i32" in text
    assert "mul nuw nsw i64" in text
    assert "zext nneg i32" in text


def test_a_buffer_of_more_than_2_31_elements_is_addressed_in_64_bits() -> None:
    size = 2**31 + 10
    data = np.zeros(size, np.bool_)  # pages that nothing touches take no memory
    data[-3:] = True
    i, j, last = var("i", 0, 2), var("j", 0, 4), Var("k", size - 5, size - 1)
    stores = For(i, "parallel", (Store("out", i, Load("data", i * (2**30 + 4) + 1, "bool")),))
    fold = Fold("any", "max", "bool", last, (), Load("data", last, "bool"))
    total = Fold("far", "max", "bool", j, (), Load("data", j + (size - 5), "bool"))
    body = (stores, fold, Store("out", apply("int", 3), Temp("any", "bool")), total, Store("out", apply("int", 4), Temp("far", "bool")))
    kernel = Kernel("large", (Buffer("data", "bool", size, "in"), Buffer("out", "bool", 5, "out")), body)
    out = np.zeros(5, np.bool_)
    compile_kernels([type_indices(kernel)]).routine("large")([data, out])
    assert out.tolist() == [False, False, True, True, True]
    assert data[2 * (2**30 + 4) + 1]


def test_a_loop_whose_end_leaves_32_bits_is_counted_in_64() -> None:
    i = Var("i", 2**31 - 3, 2**31 - 1)
    kernel = Kernel(
        "late", (Buffer("out", "int64", 3, "out"),), (For(i, "parallel", (Store("out", i - (2**31 - 3), Literal(1, "int64")),)),)
    )
    code = compile_kernels([type_indices(kernel)])
    out = np.zeros(3, np.int64)
    code.routine("late")([out], 1, 3)
    assert out.tolist() == [0, 1, 1]
    assert "phi i64" in code.llvm_ir


def test_the_narrow_name_of_a_wide_value_is_used_below() -> None:
    i, b = var("i", 0, 6), var("b", 0, 99)
    body = (For(i, "serial", (Bind(b, (i * 2**40 + 3) % 100), Store("out", i, Load("data", b, "int64")))),)
    kernel = Kernel("narrow", (Buffer("data", "int64", 100, "in"), Buffer("out", "int64", 7, "out")), body)
    out = np.zeros(7, np.int64)
    compile_kernels([type_indices(kernel)]).routine("narrow")([np.arange(100), out])
    assert out.tolist() == [(k * 2**40 + 3) % 100 for k in range(7)]
