"""Identities of elements: laws are tried on all numbers of small dtypes, false ones rejected; each row fires, programs keep every bit."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import eqsat
import eqsat.numpy as enp
from eqsat.egraph import laws
from eqsat.egraph.laws import LEFT, MINUS, RIGHT, Law, laws_of
from eqsat.ir.errors import DTypeError
from eqsat.ir.evaluate import evaluate
from eqsat.ir.ops import SCALAR_OPS, loop_dtypes
from eqsat.ir.tensor import Build, Call, Input, Literal, Read, Scalar, axes
from eqsat.options import Options
from eqsat.rules.elements import ELEMENTS, less
from tests.effort import examples

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]
DTYPES = ("float16", "int8", "uint8", "bool")


def numbers(dtype: str) -> Array:
    """All numbers of 8 bits; of float16, those at which something changes: special ones, and neighbours of powers of two."""
    if dtype == "float16":
        powers = np.array([2.0**k for k in range(-24, 16)] + [0.0, np.inf, np.nan, 3.14, 65504.0, 1 / 3], "float16")
        return np.concatenate([powers, -powers, np.nextafter(powers, np.float16(1)), np.nextafter(-powers, np.float16(9))])
    return np.array([False, True]) if dtype == "bool" else np.arange(256).astype("uint8").view(dtype)


def same(left: Any, right: Any) -> bool:
    """Equal to the last bit, but for which NaN it is."""
    left, right = np.broadcast_arrays(np.asarray(left), np.asarray(right))
    if left.dtype != right.dtype:
        return False
    if left.dtype.kind != "f":
        return bool(np.array_equal(left, right))
    signs = np.array_equal(np.signbit(left[~np.isnan(left)]), np.signbit(right[~np.isnan(right)]))
    return bool(np.array_equal(left, right, equal_nan=True)) and signs


def operation(name: str) -> Function:
    return SCALAR_OPS[name].meaning


def number_of(law: Law, dtype: str) -> Any:
    return np.frombuffer(bytes.fromhex(law[3]), dtype)[0]


# what each law states, by its number: both sides over three numbers and a condition
STATED: dict[int, Callable[[Law, str], Iterator[tuple[Function, Function]]]] = {}


def states(number: int) -> Callable[[Function], Function]:
    def keep(function: Function) -> Function:
        STATED[number] = function
        return function

    return keep


@states(RIGHT)
def _(law: Law, dtype: str) -> Iterator[tuple[Function, Function]]:
    f = operation(law[1])
    yield lambda x, y, z, c: f(x, number_of(law, dtype)), lambda x, y, z, c: x


@states(LEFT)
def _(law: Law, dtype: str) -> Iterator[tuple[Function, Function]]:
    f = operation(law[1])
    yield lambda x, y, z, c: f(number_of(law, dtype), x), lambda x, y, z, c: x


@states(laws.TWICE)
def _(law: Law, dtype: str) -> Iterator[tuple[Function, Function]]:
    f = operation(law[1])
    yield lambda x, y, z, c: f(f(x)), lambda x, y, z, c: x


@states(laws.AGAIN)
def _(law: Law, dtype: str) -> Iterator[tuple[Function, Function]]:
    f, g = operation(law[1]), operation(law[2])
    yield lambda x, y, z, c: f(g(x)), lambda x, y, z, c: g(x)


@states(laws.SAME)
def _(law: Law, dtype: str) -> Iterator[tuple[Function, Function]]:
    f = operation(law[1])
    yield lambda x, y, z, c: f(x, x), lambda x, y, z, c: x
    yield lambda x, y, z, c: f(f(x, y), y), lambda x, y, z, c: f(x, y)
    yield lambda x, y, z, c: f(y, f(y, x)), lambda x, y, z, c: f(y, x)


@states(laws.ANY)
def _(law: Law, dtype: str) -> Iterator[tuple[Function, Function]]:
    f = operation(law[1])
    yield lambda x, y, z, c: f(f(y, x), y), lambda x, y, z, c: f(y, x)
    yield lambda x, y, z, c: f(y, f(x, y)), lambda x, y, z, c: f(x, y)


@states(laws.EVEN)
def _(law: Law, dtype: str) -> Iterator[tuple[Function, Function]]:
    f, n = operation(law[1]), operation(law[2])
    yield lambda x, y, z, c: f(n(x)), lambda x, y, z, c: f(x)


@states(laws.BOTH)
def _(law: Law, dtype: str) -> Iterator[tuple[Function, Function]]:
    f, n = operation(law[1]), operation(law[2])
    yield lambda x, y, z, c: f(n(x), n(y)), lambda x, y, z, c: f(x, y)


@states(laws.OPPOSITE)
def _(law: Law, dtype: str) -> Iterator[tuple[Function, Function]]:
    f, n, p = map(operation, law[1:4])
    yield lambda x, y, z, c: f(x, n(y)), lambda x, y, z, c: p(x, y)


@states(laws.TURNED)
def _(law: Law, dtype: str) -> Iterator[tuple[Function, Function]]:
    f, n, p = map(operation, law[1:4])
    yield lambda x, y, z, c: f(n(x), y), lambda x, y, z, c: p(y, x)


@states(MINUS)
def _(law: Law, dtype: str) -> Iterator[tuple[Function, Function]]:
    f, n = operation(law[1]), operation(law[4])
    yield lambda x, y, z, c: f(x, number_of(law, dtype)), lambda x, y, z, c: n(x)


@states(laws.CHOICE)
def _(law: Law, dtype: str) -> Iterator[tuple[Function, Function]]:
    w = operation(law[1])
    yield lambda x, y, z, c: w(c, x, x), lambda x, y, z, c: x
    yield lambda x, y, z, c: w(c, w(c, x, y), z), lambda x, y, z, c: w(c, x, z)
    yield lambda x, y, z, c: w(c, x, w(c, y, z)), lambda x, y, z, c: w(c, x, z)


@states(laws.FIRST)
@states(laws.SECOND)
def _(law: Law, dtype: str) -> Iterator[tuple[Function, Function]]:
    w, known = operation(law[1]), np.frombuffer(bytes.fromhex(law[2]), law[3])[0]
    yield lambda x, y, z, c: w(known, x, y), lambda x, y, z, c: x if law[0] == laws.FIRST else y


@states(laws.NOT)
def _(law: Law, dtype: str) -> Iterator[tuple[Function, Function]]:
    w, n = operation(law[1]), operation(law[2])
    yield lambda x, y, z, c: w(n(c), x, y), lambda x, y, z, c: w(c, y, x)


@states(laws.DENIED)
def _(law: Law, dtype: str) -> Iterator[tuple[Function, Function]]:
    n, p, q = map(operation, law[1:4])
    yield lambda x, y, z, c: n(p(x, y)), lambda x, y, z, c: q(x, y)


def counterexample(law: Law, dtype: str) -> bool:
    """Whether a law is false for some numbers of a dtype: pairs of all of them, with a few third ones and both conditions."""
    x, y = (side.ravel() for side in np.meshgrid(numbers(dtype), numbers(dtype)))
    with np.errstate(all="ignore"):
        for left, right in STATED[law[0]](law, dtype):
            for z, c in itertools.product(numbers(dtype)[:3], (np.False_, np.True_)):
                if not same(left(x, y, z, c), right(x, y, z, c)):
                    return True
    return False


def operand(dtype: str) -> Read:
    return Read(Input("x", (3,), dtype), axes((3,)))


def calls() -> Iterator[tuple[str, Call]]:
    """Each operation, of elements and of numbers in their place, in each small dtype that it takes."""
    for dtype, row in itertools.product(DTYPES, SCALAR_OPS.values()):
        kinds: list[Scalar] = [operand(dtype), *(Literal(v, dtype) for v in {0, 1} | ({-1, -0.0} if dtype == "float16" else set()))]
        if dtype == "int8":
            kinds.append(Literal(-1, dtype))
        first = [operand("bool")] if row.rule == "select" else kinds
        for args in itertools.product(*([first] + [kinds] * (row.arity - 1))):
            try:
                *taken, made = loop_dtypes(row.name, *(arg.dtype for arg in args))
            except DTypeError:
                continue
            if taken == [arg.dtype for arg in args] and row.name != "astype":
                yield dtype, Call(row.name, args, made)


LAWS = dict.fromkeys((dtype, law) for dtype, call in calls() for law in laws_of(call))


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_law_holds_to_the_last_bit(dtype: str) -> None:
    stated = [law for given, law in LAWS if given == dtype]
    assert len(stated) > 10
    # of bool, what a law makes of an operation may be one that bool has not
    false = [law for law in stated if not (dtype == "bool" and "negative" in law) and counterexample(law, dtype)]
    assert not false


FALSE: dict[str, tuple[Law, str]] = {
    "x + 0.0": ((RIGHT, "add", "float16", np.float16(0).tobytes().hex(), ""), "float16"),
    "0.0 - x": ((LEFT, "subtract", "float16", np.float16(0).tobytes().hex(), ""), "float16"),
    "x // 1 of floats": ((RIGHT, "floor_divide", "float16", np.float16(1).tobytes().hex(), ""), "float16"),
    "absolute of unsigned": ((laws.EVEN, "absolute", "negative", "uint8", ""), "uint8"),
    "twice absolute": ((laws.TWICE, "absolute", "", "", ""), "int8"),
    "sum of equals": ((laws.SAME, "add", "", "", ""), "float16"),
    "xor of equals": ((laws.SAME, "bitwise_xor", "", "", ""), "uint8"),
    "odd": ((laws.EVEN, "sign", "negative", "", ""), "float16"),
    "rounded negatives": ((laws.EVEN, "floor", "negative", "", ""), "float16"),
    "sum of negatives": ((laws.BOTH, "add", "negative", "float16", ""), "float16"),
    "not less": ((laws.DENIED, "logical_not", "less", "greater_equal", ""), "float16"),
    "turned difference": ((laws.TURNED, "subtract", "negative", "add", ""), "int8"),
    "any order of zeros": ((laws.ANY, "maximum", "float16", "", ""), "float16"),
    "sign after floor": ((laws.AGAIN, "sign", "floor", "", ""), "float16"),
    "minus one of minus": ((MINUS, "subtract", "float16", np.float16(-1).tobytes().hex(), "negative"), "float16"),
}


@pytest.mark.parametrize("name", FALSE)
def test_a_false_law_has_a_counterexample(name: str) -> None:
    law, dtype = FALSE[name]
    assert counterexample(law, dtype)
    assert (dtype, law) not in LAWS


# by the row that has to fire: a program, and what is left of it
PROGRAMS: Mapping[str, tuple[Function, str]] = {
    "right-unit": (lambda x, i, b: x / 1.0 - 0.0, "x[i0]"),
    "left-unit": (lambda x, i, b: 1.0 * x, "x[i0]"),
    "twice": (lambda x, i, b: ~~i, "i[i0]"),
    "again": (lambda x, i, b: enp.floor(enp.ceil(x)), "ceil(x[i0])"),
    "same-operands": (lambda x, i, b: enp.maximum(x, x), "x[i0]"),
    "operand-again-1": (lambda x, i, b: enp.maximum(enp.maximum(x, 0.0), 0.0), "maximum(x[i0], 0.0f32)"),
    "operand-again-2": (lambda x, i, b: enp.minimum(2.0, enp.minimum(2.0, x)), "minimum(2.0f32, x[i0])"),
    "operand-again-3": (lambda x, i, b: enp.maximum(enp.maximum(2, i), 2), "maximum(2, i[i0])"),
    "operand-again-4": (lambda x, i, b: b & ((i > 3) & b), "i[i0] > 3 and b[i0]"),
    "of-negative": (lambda x, i, b: abs(-x), "absolute(x[i0])"),
    "two-negatives": (lambda x, i, b: (-x) / (-enp.exp(x)), "x[i0] / exp(x[i0])"),
    "minus-negative": (lambda x, i, b: x - (-enp.exp(x)), "x[i0] + exp(x[i0])"),
    "negative-plus": (lambda x, i, b: -enp.exp(x) + x, "x[i0] - exp(x[i0])"),
    "times-minus-one": (lambda x, i, b: x / -1.0, "-x[i0]"),
    "choice-of-same": (lambda x, i, b: enp.where(b, x, x * 1.0), "x[i0]"),
    "choice-of-true": (lambda x, i, b: enp.where(np.ones(8, bool), x, 2.0), "x[i0]"),
    "choice-of-false": (lambda x, i, b: enp.where(np.zeros(8, bool), 2.0, x), "x[i0]"),
    "chosen-again": (lambda x, i, b: enp.where(b, enp.where(b, x, 3.0), 2.0), "where(b[i0], x[i0], 2.0f32)"),
    "left-again": (lambda x, i, b: enp.where(b, x, enp.where(b, -x, 2.0)), "where(b[i0], x[i0], 2.0f32)"),
    "choice-of-not": (lambda x, i, b: enp.where(~b, x, 2.0), "where(b[i0], 2.0f32, x[i0])"),
    "not-equal": (lambda x, i, b: ~(x == 2.0), "x[i0] != 2.0f32"),
}
X = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-42, -3.7, 2.0], "float32")
VALUES = (X, np.arange(-3, 5), np.array([True, False] * 4))
SPECS = (eqsat.spec((8,), "float32"), eqsat.spec((8,), "int64"), eqsat.spec((8,), "bool"))


def test_every_row_has_a_program() -> None:
    assert [row.name for row in ELEMENTS.rows] == list(PROGRAMS)


@pytest.mark.parametrize("numerics", ["exact", "default", "fast"])
@pytest.mark.parametrize("row", PROGRAMS)
def test_a_row_leaves_less_of_a_program(row: str, numerics: Any) -> None:
    function, left = PROGRAMS[row]

    def named(x: Any, i: Any, b: Any) -> Any:
        return function(x, i, b)

    result = eqsat.optimize(named, *SPECS, options=Options(numerics=numerics))
    assert result.report.matches[row] > 0
    assert str(result.extracted.outputs[0]).endswith(f"-> {left}")
    with np.errstate(all="ignore"):
        expected = named_with_numpy(function)
    assert same(np.asarray(result(*VALUES)), expected) or "exp" in left
    assert not np.shares_memory(np.asarray(result(*VALUES)), X)


def named_with_numpy(function: Function) -> Array:
    """The program as it is written, by an evaluation of its trace."""
    return np.asarray(evaluate(eqsat.trace(function, *SPECS), VALUES)[0])


def test_rows_see_what_fusion_brings_together() -> None:
    def steps(x: Any) -> Any:
        y = -enp.pad(x, 1)
        return enp.maximum((-y)[1:-1], 0.0) * 1.0

    result = eqsat.optimize(steps, SPECS[0])
    assert str(result.extracted.outputs[0]).endswith("-> maximum(x[i0], 0.0f32)")
    without = eqsat.optimize(steps, SPECS[0], options=Options(rules=eqsat.rules.without("elements")))
    assert str(without.extracted.outputs[0]).endswith("-> maximum(--x[i0], 0.0f32) * 1.0f32")
    assert result.cost < without.cost


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_any_program_of_such_operations_keeps_every_bit(data: st.DataObject) -> None:
    """fmax is left out: which of two zeros it is, NumPy says for each processor."""
    unary = (lambda a: -a, abs, enp.floor, enp.ceil, enp.trunc, lambda a: a * 1.0, lambda a: a - 0.0, lambda a: a * -1.0, lambda a: 1.0 * a)
    binary = (enp.maximum, enp.minimum, lambda a, b: a - b, lambda a, b: a + b, lambda a, b: a * b)
    chosen = (lambda c, a, b: enp.where(c > 0, a, b), lambda c, a, b: enp.where(~(c == a), a, b))
    steps = data.draw(st.lists(st.tuples(st.sampled_from((*unary, *binary, *chosen)), *[st.integers(0, 9)] * 3), min_size=2, max_size=7))

    def program(x: Any, y: Any) -> Any:
        made = [x, y]
        for operation, *at in steps:
            arity = 1 if operation in unary else 2 if operation in binary else 3
            made.append(operation(*(made[-1 - k % len(made)] for k in at[:arity])))
        return made[-1]

    specs, values = (SPECS[0], SPECS[0]), (X, X[::-1].copy())
    found = eqsat.optimize(program, *specs, options=Options(numerics="exact"))(*values)
    with np.errstate(all="ignore"):
        expected = evaluate(eqsat.trace(program, *specs), values)[0]
    assert same(np.asarray(found), expected)


def test_what_has_to_be_checked_is_not_used_unchecked() -> None:
    """A row of an identity times a matrix is a row only if the others are finite; `1.0 * x` is `x` either way."""

    def chosen(x: Any) -> Any:
        return enp.matmul(enp.eye(8, dtype="float32"), x)

    result = eqsat.optimize(chosen, eqsat.spec((8, 4), "float32"))
    assert str(result.extracted.outputs[0]).endswith("i1]")
    assert result.finite
    x = np.ones((8, 4), "float32")
    np.testing.assert_array_equal(result(x), x)
    x[2, 1] = np.inf
    np.testing.assert_array_equal(np.isnan(result(x))[:, 1], [k != 2 for k in range(8)])


@pytest.mark.parametrize("row", PROGRAMS)
def test_terms_become_what_classes_do(row: str) -> None:
    made = eqsat.optimize(PROGRAMS[row][0], *SPECS, options=Options(rules=eqsat.rules.without("elements"))).extracted.outputs[0]
    assert isinstance(made, Build)
    found, rows = less(made.body)
    assert row in rows
    assert str(Build(made.shape, found)).endswith(f"-> {PROGRAMS[row][1]}")
    assert less(found) == (found, ())


@pytest.mark.parametrize("numerics", ["exact", "default", "fast"])
def test_a_negation_that_is_used_stays(numerics: Any) -> None:
    """What a double negation leaves is no operand of it, and may have no other form than the negation of a negation."""
    programs = (
        lambda x, i, b: enp.maximum(enp.negative(-abs(i)), 0),
        lambda x, i, b: enp.floor(enp.negative(-abs(x))),
        lambda x, i, b: enp.where(b, enp.negative(-abs(x)), x),
        lambda x, i, b: (enp.negative(-abs(i)), -abs(i)),
    )
    for program in programs:
        found = eqsat.optimize(program, *SPECS, options=Options(numerics=numerics))(*VALUES)
        expected = evaluate(eqsat.trace(program, *SPECS), VALUES)
        for one, other in zip(found if isinstance(found, tuple) else (found,), expected, strict=True):
            assert same(one, other)


def test_of_complex_numbers_the_order_of_zeros_and_nan_counts() -> None:
    x, y = np.array([0j, complex(np.nan, 1)]), np.array([complex(-0.0, 0.0), complex(1, np.nan)])
    found = eqsat.jit(lambda x, y: enp.maximum(y, enp.maximum(x, y)))(x, y)
    expected = np.maximum(y, np.maximum(x, y))
    assert np.asarray(found).tobytes() == expected.tobytes()
