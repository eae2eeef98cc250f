from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.codegen.elements.complex_numbers import COMPLEX
from eqsat.codegen.elements.integers import UNSIGNED
from eqsat.codegen.math import FUNCTIONS
from eqsat.codegen.scalar import CODE, code_of
from eqsat.ir.dtypes import DTYPES, INTEGERS, is_complex, is_float, is_integer
from eqsat.ir.errors import DTypeError, InternalError
from eqsat.ir.ops import BOOL_FORM, COMPLEX_OPS, SCALAR_OPS, converted, loop_dtypes
from eqsat.ir.tensor import Call, Literal, Scalar
from tests.codegen.nests import Array, astype, call, elementwise, plain, run
from tests.effort import some

REALS = (0.0, -0.0, 1.0, -1.0, 0.5, 3.0, -3.0, 7.25, -7.25, 1e-7, 1e-40, -1e-310, 65519.0, 1e30, -3e38, 1e300, np.inf, -np.inf, np.nan)
# products of these do not overflow, so that a fused multiply-add, which NumPy uses for complex numbers where it can, gives the same
PARTS = (0.0, -0.0, 1.0, -0.5, 3.0, -7.25, np.inf, -np.inf, np.nan)
MATH = tuple(FUNCTIONS)


def values(dtype: str) -> Array:
    """Values where operations go wrong."""
    with np.errstate(over="ignore"):
        if is_complex(dtype):
            return np.array([complex(x, y) for x in PARTS for y in PARTS], dtype)
        if is_float(dtype):
            return np.array(REALS, dtype)
        if dtype == "bool":
            return np.array([False, True])
        info = np.iinfo(dtype)
        small = [
            0,
            1,
            2,
            3,
            7,
            8,
            10,
            63,
            64,
            65,
            info.bits - 1,
            info.bits,
            info.max,
            info.max - 1,
            info.max // 2 + 1,
            info.min,
            info.min + 1,
        ]
        return np.array([*small, *(-x for x in (1, 2, 3, 8, 65) if info.min)], dtype)


def grid(*dtypes: str) -> list[Array]:
    """Every combination of those values, one flat array an operand; 100 and more elements, so that vector code runs."""
    columns = np.meshgrid(*(values(dtype) for dtype in dtypes), indexing="ij")
    repeat = -(-100 // columns[0].size)
    return [np.ascontiguousarray(np.tile(column.ravel(), repeat)) for column in columns]


def cases() -> list[tuple[str, tuple[str, ...]]]:
    """Every operation on every dtype that it is computed in."""
    found = []
    for name, row in SCALAR_OPS.items():
        for dtype in DTYPES if row.rule != "cast" else ():
            dtypes = ("bool", dtype, dtype) if row.rule == "select" else (dtype,) * row.arity
            try:
                legal = loop_dtypes(name, *dtypes)[:-1] == dtypes
            except DTypeError:
                continue
            legal &= (
                (name not in MATH or is_integer(dtype))
                and not (dtype == "bool" and name in BOOL_FORM)
                and (not is_complex(dtype) or name in COMPLEX_OPS)
            )
            found += [(name, dtypes)] if legal else []
    return found


def test_every_scalar_operation_has_code() -> None:
    assert {*CODE, *COMPLEX, "astype"} == set(SCALAR_OPS)
    assert {*COMPLEX, "astype"} == COMPLEX_OPS
    assert set(UNSIGNED) < set(CODE)
    assert len(cases()) > 250
    for name, dtypes in cases():
        assert callable(code_of(name, dtypes[-1]))


@pytest.mark.parametrize(("name", "dtypes", "numerics"), some(((*case, level) for case in cases() for level in ("default", "exact")), 3))
def test_an_operation_equals_numpy_on_special_values(name: str, dtypes: tuple[str, ...], numerics: str) -> None:
    operands = grid(*dtypes)
    kernel = elementwise(lambda *args: call(name, *args), dtypes, operands[0].size)
    with np.errstate(all="ignore"):
        expected = SCALAR_OPS[name].meaning(*operands)
    found = run(kernel, *operands, numerics=numerics)  # type: ignore[arg-type]
    assert found.dtype == expected.dtype
    rounds = is_complex(dtypes[-1]) and name in ("multiply", "divide", "absolute", "sqrt")
    for one, other in zip(parts(found), parts(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=4 * np.finfo(one.dtype).eps if rounds else 0)
        free = name in ("maximum", "minimum") or (name, dtypes[0]) == ("nextafter", "float16")  # NumPy 2.4 and 2.5 differ
        free |= (name, dtypes[0]) == ("sign", "bfloat16")  # ml_dtypes 0.6 gives -0.0 the sign -0.0, NumPy 0.0
        if not free and not rounds:
            np.testing.assert_array_equal(np.signbit(one[other == 0]), np.signbit(other[other == 0]))


def parts(array: Array) -> tuple[Array, ...]:
    return (array.real, array.imag) if np.iscomplexobj(array) else (array,)


@pytest.mark.parametrize(("source", "target"), some(itertools.product(DTYPES, DTYPES), 4))
def test_a_cast_equals_numpys_of_single_elements(source: str, target: str) -> None:
    """What an unsigned integer does not hold depends in NumPy on how many elements are cast at once."""
    (operand,) = grid(source)
    found = run(elementwise(lambda x: astype(x, target), (source,), operand.size), operand)
    with np.errstate(all="ignore"):
        expected = np.concatenate([converted(operand[k : k + 1], target) for k in range(operand.size)])
    np.testing.assert_array_equal(plain(found), plain(expected))
    if is_float(source) and is_float(target):
        np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


def test_every_float16_is_the_float_that_numpy_makes_of_it_and_back() -> None:
    every = np.arange(2**16, dtype=np.uint16).view(np.float16)
    for target in ("float32", "float64"):
        found = run(elementwise(lambda x, target=target: astype(x, target), ("float16",), every.size), every)
        np.testing.assert_array_equal(found, every.astype(target))
        back = run(elementwise(lambda x: astype(x, "float16"), (target,), every.size), found)
        np.testing.assert_array_equal(back, every)


@pytest.mark.parametrize("source", ["float32", "float64"])
def test_rounding_to_float16_is_once_and_to_even(source: str) -> None:
    """Numbers around the middle between neighbours, of which rounding to float32 first would lose on which side they are."""
    halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float64)
    middle = (halves[1:] + halves[:-1]) / 2
    tiny = 2.0**-30 if source == "float64" else 2.0**-12
    numbers = np.concatenate([middle, middle * (1 + tiny), middle * (1 - tiny), [65519.99, 65520, 1e300, 5e-8, 2e-8]])
    with np.errstate(over="ignore"):
        numbers = np.concatenate([numbers, -numbers]).astype(source)
        expected = numbers.astype(np.float16)
    found = run(elementwise(lambda x: astype(x, "float16"), (source,), numbers.size), numbers)
    np.testing.assert_array_equal(found.view(np.uint16), expected.view(np.uint16))


@pytest.mark.parametrize("name", MATH)
def test_a_function_of_float16_is_its_float32_rounded(name: str) -> None:
    every = np.arange(2**16, dtype=np.uint16).view(np.float16)
    arity = SCALAR_OPS[name].arity
    arrays = [every, np.random.default_rng(0).permutation(every)][:arity]
    found = run(elementwise(lambda *args: call(name, *args), ("float16",) * arity, every.size), *arrays)
    with np.errstate(all="ignore"):
        expected = SCALAR_OPS[name].meaning(*(array.astype(np.float64) for array in arrays)).astype(np.float16)
    distance = np.abs(found.view(np.int16).astype(int) - expected.view(np.int16).astype(int))
    assert distance[~np.isnan(expected)].max() <= 1
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", ["floor_divide", "remainder"])
def test_division_is_exact_beside_multiples(name: str, dtype: str) -> None:
    """Where a quotient that is rounded would be carried over an integer."""
    info, random = np.iinfo(dtype), np.random.default_rng(0)
    a = random.integers(info.min, info.max, 20_000, dtype, endpoint=True)
    d = random.integers(info.min, info.max, a.size, dtype, endpoint=True) >> random.integers(0, info.bits, a.size).astype(dtype)
    with np.errstate(all="ignore"):
        multiple = a - a % d
        near, divisors = np.concatenate([multiple, multiple - 1, multiple + 1]), np.tile(d, 3)
        expected = SCALAR_OPS[name].meaning(near, divisors)
    found = run(elementwise(lambda x, y: call(name, x, y), (dtype, dtype), near.size), near, divisors)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", ["floor_divide", "remainder", "left_shift", "right_shift"])
def test_an_operation_with_a_constant_equals_numpy(name: str, dtype: str) -> None:
    (operand,) = grid(dtype)
    for number in some(values(dtype)):
        constant = Literal(number.item(), dtype)
        kernel = elementwise(lambda x, constant=constant: call(name, x, constant), (dtype,), operand.size)
        with np.errstate(all="ignore"):
            expected = SCALAR_OPS[name].meaning(operand, number)
        np.testing.assert_array_equal(run(kernel, operand), expected)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (np.nan, "float32"),
        (-0.0, "float64"),
        (np.inf, "float32"),
        (0.1, "float32"),
        (1, "bool"),
        (0.1, "float16"),
        (200, "uint8"),
        (2**64 - 1, "uint64"),
        (complex(-0.0, np.nan), "complex64"),
    ],
)
def test_a_literal_keeps_its_bits(value: float, dtype: str) -> None:
    found = run(elementwise(lambda: Literal(value, dtype), (), 3))
    assert found.tobytes() == np.full(3, value, dtype).tobytes()


def test_any_nonzero_byte_is_a_true_bool() -> None:
    bytes_ = np.array([0, 1, 2, 255], np.uint8)
    found = run(elementwise(lambda x: call("logical_not", x), ("bool",), 4), bytes_.view(bool))
    assert found.view(np.uint8).tolist() == [1, 0, 0, 0]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x: Call("add", (x, astype(x, "float64")), "float64"),
        lambda x: Call("less", (x, astype(x, "float64")), "bool"),
        lambda x: Call("where", (x, x, x), "float32"),
        lambda x: Call("exp", (astype(x, "int64"),), "float64"),
        lambda x: Call("logical_not", (x,), "bool"),
        lambda x: Call("cosine", (x,), "float32"),
    ],
)
def test_a_call_whose_operands_are_not_cast_is_refused(wrong: object) -> None:
    assert callable(wrong)

    def body(x: Scalar) -> Scalar:
        result = wrong(x)
        assert isinstance(result, Scalar)
        return result

    with pytest.raises(InternalError, match="codegen: found"):
        run(elementwise(body, ("float32",), 4), np.zeros(4, np.float32))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_extrema_of_extrema_are_nan_and_zeros_have_signs_as_in_numpy(dtype: str) -> None:
    """Every tree of four random ones over columns with NaN, zeros of both signs and infinities; some of what it is made of is a result."""
    rng = np.random.default_rng(7)
    x = rng.choice([np.nan, 0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, 2.5, 3.5, 4.5], (24, 500), p=[0.03, *[0.1] * 8, 0.17]).astype(dtype)
    for seed in range(4):
        choose = np.random.default_rng(seed)
        steps = [(choose.integers(2), *choose.integers(0, 24 + k, 2)) for k in range(40)]

        def tree(xp: Any, x: Any, steps: Any = steps) -> Any:
            values = [x[k] for k in range(24)]
            for which, one, other in steps:
                values.append((xp.minimum, xp.maximum)[which](values[one], values[other]))
            return values[-1], values[-7], xp.maximum(values[-3], 0.0), xp.minimum(-0.0, values[-4])

        for found, expected in zip(eqsat.jit(lambda x: tree(enp, x))(x), tree(np, x), strict=True):
            np.testing.assert_array_equal(found, expected)
            numbers = ~np.isnan(expected)
            np.testing.assert_array_equal(np.signbit(found)[numbers], np.signbit(expected)[numbers])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_constants_that_are_nan_are_seen_wherever_they_stand(dtype: str) -> None:
    x = np.array([1, -2, 3, np.nan, np.inf], dtype)
    programs: tuple[Any, ...] = (
        lambda xp, x: xp.minimum(np.nan, x),
        lambda xp, x: xp.maximum(xp.maximum(x, np.nan), 1),
        lambda xp, x: xp.clip(x, np.nan, 3),
        lambda xp, x: xp.maximum(xp.maximum(np.float32(1), np.float32(np.nan)), x),
        lambda xp, x: xp.maximum(xp.minimum(x, -np.inf), np.inf),
        lambda xp, x: xp.minimum(xp.maximum(x, 2), xp.maximum(x, -0.0)),
    )
    for found, expected in zip(eqsat.jit(lambda x: tuple(f(enp, x) for f in programs))(x), (f(np, x) for f in programs), strict=True):
        np.testing.assert_array_equal(found, expected)
