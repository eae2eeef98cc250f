"""Division by a known number: rounded as a division is, where that is known, and nowhere else written otherwise."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import eqsat
from eqsat.codegen import compile_kernels
from eqsat.codegen.builder import NO_ABILITIES, Abilities
from eqsat.codegen.elements.known_divisors import FORMATS, reciprocal
from eqsat.codegen.folds.accumulator import Numerics
from eqsat.codegen.llvm.machine import host
from eqsat.ir.index import Const, Var
from eqsat.ir.loops import Buffer, For, Kernel, Let, Load, Store, Temp
from eqsat.ir.tensor import Call, Literal, Scalar
from eqsat.lowering import type_indices
from tests.codegen.modules import emit_module
from tests.codegen.nests import Array, astype, call, elementwise
from tests.effort import examples, some

DTYPES = list(FORMATS)
DIVISORS = (3.0, -7.0, 9.0, 10.0, 255.0, 65535.0, 0.75, 999999.0, 1.9, 2.0**40 * 5, 3 * 2.0**-50, 1048575.0, 6.0, 0.1, -0.7, np.pi, 1e-5)
# below it quotients may be off by a unit in the last place
LEAST = {dtype: float(np.finfo(dtype).smallest_normal) * 2.0**digits for dtype, (digits, _) in FORMATS.items()}
SIZE = 4096
# divisors for which no parts are right
NOT_KNOWN = {"float32": 7462059.0, "float64": 1.8359375000000475}
FUSES = Abilities(fuses=True)


def divides(dtype: str, divisor: float, source: str, size: int = SIZE) -> Kernel:
    """out[i] = in[i] / divisor, which is cast first where it is of another dtype."""

    def body(x: Scalar) -> Scalar:
        return call("divide", x if source == dtype else astype(x, dtype), Literal(divisor, dtype))

    return elementwise(body, (source,), size)


def quotients(x: Array, dtype: str, divisor: float, numerics: Numerics = "default") -> Array:
    out = np.empty(x.size, dtype)
    compile_kernels([type_indices(divides(dtype, divisor, x.dtype.name, x.size))], numerics).routine("elementwise")([x, out])
    return out


def text(dtype: str, divisor: float, source: str, numerics: Numerics, abilities: Abilities = FUSES) -> str:
    return emit_module([type_indices(divides(dtype, divisor, source))], numerics, abilities)


def near_rounding(dtype: str, divisor: float, rng: np.random.Generator) -> Array:
    """Numbers whose quotients are as near as may be to where rounding changes: products of the divisor and odd numbers of a digit more."""
    digits, _ = FORMATS[dtype]
    between = rng.integers(1 << digits, 2 << digits, SIZE) | 1
    places = rng.integers(-60, 30, SIZE)
    return np.array([float(Fraction(divisor) * int(m) * Fraction(2) ** int(e)) for m, e in zip(between, places, strict=True)], dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("divisor", DIVISORS)
def test_quotients_are_rounded_as_divisions_are(dtype: str, divisor: float) -> None:
    rng = np.random.default_rng(7)
    divisor = np.dtype(dtype).type(divisor).item()
    bits = rng.integers(0, 256, (SIZE, np.dtype(dtype).itemsize), np.uint8).view(dtype).ravel()
    x = np.concatenate([near_rounding(dtype, divisor, rng), bits, np.arange(SIZE, dtype=dtype)])
    with np.errstate(all="ignore"):
        expected, found = x / np.array(divisor, dtype), quotients(x, dtype, divisor)
        near_zero = np.abs(expected) < LEAST[dtype]
        np.testing.assert_array_equal(found[~near_zero], expected[~near_zero])
        apart = np.abs(found[near_zero].astype(np.longdouble) - expected[near_zero].astype(np.longdouble))
        assert np.all(apart <= np.spacing(np.abs(expected[near_zero])))


@pytest.mark.parametrize("numerics", ["exact", "default"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_infinities_nan_and_zeros_are_those_of_divisions(dtype: str, numerics: Numerics) -> None:
    x = np.array([np.inf, -np.inf, 0.0, -0.0, np.finfo(dtype).max, np.finfo(dtype).min, np.nan], dtype)
    for divisor in (9.0, -9.0, 0.75, -0.75):
        with np.errstate(all="ignore"):
            expected = x / np.array(divisor, dtype)
        found = quotients(x, dtype, divisor, numerics)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(np.signbit(found)[:-1], np.signbit(expected)[:-1])


@pytest.mark.parametrize("source", ["bool", "int8", "uint8", "int16", "uint16"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_all_integers_of_one_and_two_bytes_at_exact(dtype: str, source: str) -> None:
    x = np.arange(2).astype(bool) if source == "bool" else np.arange(np.iinfo(source).min, np.iinfo(source).max + 1).astype(source)
    for divisor in some(DIVISORS):
        divisor = np.dtype(dtype).type(divisor).item()
        np.testing.assert_array_equal(quotients(x, dtype, divisor, "exact"), x.astype(dtype) / np.array(divisor, dtype))


@settings(max_examples=examples(200), deadline=None, derandomize=True)
@given(st.sampled_from(DTYPES), st.integers(3, 2**20 - 1).filter(lambda m: m & (m - 1) > 0), st.integers(-60, 39), st.sampled_from((1, -1)))
def test_both_parts_have_one_sign_and_are_the_reciprocal(dtype: str, mantissa: int, exponent: int, sign: int) -> None:
    divisor = sign * mantissa * 2.0**exponent
    parts, (digits, _) = reciprocal(divisor, dtype), FORMATS[dtype]
    assert parts is not None
    high, low = map(Fraction, parts)
    exact = 1 / Fraction(divisor)
    assert high * low > 0
    assert abs(high) < abs(exact)
    assert abs(high + low - exact) <= abs(exact) / 2 ** (2 * digits - 1)


def test_what_is_written_otherwise() -> None:
    assert "fdiv" not in text("float32", 255.0, "float32", "default")
    assert "fdiv" not in text("float32", 255.0, "uint8", "exact")
    assert "fdiv" not in text("float64", 255.0, "int64", "exact")
    assert "fdiv" not in text("float32", 0.1, "float32", "default")
    as_divisions: list[tuple[str, float, str, Numerics]] = [
        ("float32", 255.0, "float32", "exact"),  # quotients near zero
        ("float32", 255.0, "float32", "fast"),  # LLVM multiplies by the reciprocal
        ("float32", NOT_KNOWN["float32"], "float32", "default"),  # no parts that round right
        ("float64", NOT_KNOWN["float64"], "float64", "default"),
        ("float32", 4.0, "float32", "default"),  # a product is exact
        ("float32", 0.0, "float32", "default"),
        ("float32", 3 * 2.0**80, "float32", "default"),  # near the ends of the range
    ]
    for dtype, divisor, source, numerics in as_divisions:
        assert "fdiv" in text(dtype, divisor, source, numerics)
    assert "fdiv" in text("float32", 255.0, "uint8", "default", NO_ABILITIES)
    assert host().abilities.fuses or "fma" not in host().known


def test_the_nearest_parts_of_divisors_of_many_digits_may_be_wrong() -> None:
    """Why quotients near to half way are looked at: of 23 digits of 24 there are divisors without right parts."""
    divisor, x = Fraction(7462059), Fraction(float(np.float32(2.0893576e14)))
    exact = 1 / divisor
    high = np.float32(float(exact))
    high = high if Fraction(float(high)) <= exact else np.nextafter(high, np.float32(0))
    low = np.float32(float(exact - Fraction(float(high))))
    total = x * Fraction(float(high)) + Fraction(float(np.float32(float(x)) * low))
    assert np.float32(float(total)) != np.float32(float(x)) / np.float32(float(divisor))
    assert all_mantissas(float(divisor), (float(high), float(low))) > 0
    assert reciprocal(float(divisor), "float32") is None


def all_mantissas(divisor: float, parts: tuple[float, float]) -> int:
    """How many of all floats between 2^23 and 2^24 are not rounded as a division rounds them."""
    x = np.arange(1 << 23, 1 << 24, dtype=np.float32)
    low = (x * np.float32(parts[1])).astype(np.longdouble)
    found = (x.astype(np.longdouble) * np.longdouble(parts[0]) + low).astype(np.float32)  # 64 digits hold the sum
    return int(np.count_nonzero(found != x / np.float32(divisor)))


@pytest.mark.parametrize("divisor", some([0.1, 0.7, np.pi, np.e, 0.229, 6.2831855, 1.0000001, 1.9999999, 1e-5, 0.9, 12345.678], 3))
def test_all_floats_divided_by_one_of_many_digits(divisor: float) -> None:
    divisor = float(np.float32(divisor))
    parts = reciprocal(divisor, "float32")
    assert parts is not None
    assert all_mantissas(divisor, parts) == 0


@settings(max_examples=examples(400), deadline=None, derandomize=True)
@given(st.sampled_from(DTYPES), st.data())
def test_what_is_known_to_round_right_does(dtype: str, data: st.DataObject) -> None:
    """Quotients as near to half way as there are, of divisors of all digits, in exact arithmetic."""
    digits, _ = FORMATS[dtype]
    c = data.draw(st.integers(1 << (digits - 1), (1 << digits) - 1).filter(lambda m: m & (m - 1) > 0))
    parts = reciprocal(float(c), dtype)
    if parts is None:
        return
    high, low = map(Fraction, parts)
    m = data.draw(st.integers(1 << digits, (2 << digits) - 1)) | 1
    for j in (digits, digits + 1):
        for x in ((m * c >> j) + k for k in (-1, 0, 1)):
            if 1 << (digits - 1) <= x < 1 << digits:
                total = x * high + rounded(x * low, digits)
                assert rounded(total, digits) == rounded(Fraction(x, c), digits)


def rounded(number: Fraction, digits: int) -> Fraction:
    """The nearest number of so many digits, of two the even one."""
    unit = Fraction(2) ** (number.numerator.bit_length() - number.denominator.bit_length() - digits)
    while number >= unit * (1 << digits):
        unit *= 2
    return round(number / unit) * unit


def by_rows(dtype: str, numbers: Array, rows: Array, numerics: Numerics = "default") -> Array:
    """Rows of numbers, each divided by one number."""
    with_rows = eqsat.optimize(
        lambda x, s: x / s[:, None],
        eqsat.spec(rows.shape, dtype),
        eqsat.spec(numbers.shape, dtype),
        options=eqsat.Options(numerics=numerics),
    )
    assert ("fma" in with_rows.llvm_ir) == (numerics == "default" and host().abilities.fuses)
    return np.asarray(with_rows(rows, numbers))


def random_bits(rng: np.random.Generator, dtype: str, *shape: int) -> Array:
    return rng.integers(0, 256, (*shape, np.dtype(dtype).itemsize), np.uint8).view(dtype)[..., 0]


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_divided_by_any_number(dtype: str) -> None:
    """Numbers and divisors of all bit patterns, with the ends of the range among them: rounded as divisions, but for one of a million by a
    unit in the last place; infinities, NaN, and zeros as those of divisions."""
    rng, info = np.random.default_rng(11), np.finfo(dtype)
    ends: list[float] = [
        0.0,
        np.inf,
        np.nan,
        *map(float, (info.max, info.smallest_normal, info.smallest_subnormal, info.max / 3)),
        1.0,
        3.0,
    ]
    both = np.array([*ends, *(-end for end in ends)], dtype)
    numbers = np.concatenate([both, random_bits(rng, dtype, 500), (2.0 ** rng.integers(-140, 120, 50)).astype(dtype)])
    rows = np.concatenate([np.broadcast_to(both, (len(numbers), both.size)), random_bits(rng, dtype, len(numbers), 500)], 1)
    with np.errstate(all="ignore"):
        rows = np.ascontiguousarray(np.concatenate([rows, rng.standard_normal((len(numbers), 160)).astype(dtype) * numbers[:, None]], 1))
        expected, found = rows / numbers[:, None], by_rows(dtype, numbers, rows)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_array_equal(np.isinf(found), np.isinf(expected))
    known = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[known], np.signbit(expected)[known])
    known = np.isfinite(expected)
    apart = np.abs(found[known].astype(np.longdouble) - expected[known].astype(np.longdouble))
    with np.errstate(over="ignore"):
        assert np.all(apart <= np.spacing(np.abs(expected[known])))
    usual = known & (np.abs(expected) >= LEAST[dtype])
    assert np.count_nonzero(found[usual] != expected[usual]) <= 2
    np.testing.assert_array_equal(by_rows(dtype, numbers, rows, "exact"), expected)


def test_short_rows_are_divided() -> None:
    result = eqsat.optimize(lambda x, s: x / s[:, None], eqsat.spec((5, 100), "float32"), eqsat.spec((5,), "float32"))
    assert "fma" not in result.llvm_ir


def test_the_parts_are_made_outside_of_all_loops_that_divide() -> None:
    """A row of 784 of four, each of which is divided by what all share."""
    i, j = Var("i", 0, 783), Var("j", 0, 3)
    place = j * 784 + i
    buffers = Buffer("s", "float32", 1, "in"), Buffer("x", "float32", 3136, "in"), Buffer("y", "float32", 3136, "out")
    quotient = Call("divide", (Load("x", place, "float32"), Temp("t", "float32")), "float32")
    loops = For(i, "parallel", (For(j, "parallel", (Store("y", place, quotient),)),))
    kernel = Kernel("k", buffers, (Let("t", Load("s", Const(0), "float32")), loops))
    assert emit_module([type_indices(kernel)], "default", FUSES).count("fdiv") == 1  # of the reciprocal
