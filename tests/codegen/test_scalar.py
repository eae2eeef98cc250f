from __future__ import annotations

import itertools

import numpy as np
import pytest

from eqsat.codegen.math import FUNCTIONS
from eqsat.codegen.scalar import CODE
from eqsat.ir.dtypes import is_float
from eqsat.ir.errors import DTypeError, InternalError
from eqsat.ir.ops import SCALAR_OPS, result_dtype
from eqsat.ir.tensor import Call, Literal, Scalar
from tests.codegen.nests import Array, astype, call, elementwise, run

DTYPES = ("bool", "int32", "int64", "float32", "float64")
REALS = (0.0, -0.0, 1.0, -1.0, 0.5, 3.0, -3.0, 7.25, -7.25, 1e-40, -1e-310, 1e30, -3e38, 1e300, np.inf, -np.inf, np.nan)
MATH = tuple(FUNCTIONS)


def values(dtype: str) -> Array:
    """Values where operations go wrong."""
    with np.errstate(over="ignore"):
        if is_float(dtype):
            return np.array(REALS, dtype)
        if dtype == "bool":
            return np.array([False, True])
        info = np.iinfo(dtype)
        return np.array([0, 1, -1, 2, -2, 3, -3, 7, -8, 10, 1 << 20, info.min, info.min + 1, info.max, info.max - 1], dtype)


def grid(*dtypes: str) -> list[Array]:
    """Every combination of those values, one flat array an operand; 100 and more elements, so that vector code runs."""
    columns = np.meshgrid(*(values(dtype) for dtype in dtypes), indexing="ij")
    repeat = -(-100 // columns[0].size)
    return [np.ascontiguousarray(np.tile(column.ravel(), repeat)) for column in columns]


def cases() -> list[tuple[str, tuple[str, ...]]]:
    found = []
    for name, row in SCALAR_OPS.items():
        for dtype in DTYPES if row.rule != "cast" else ():
            dtypes = ("bool", dtype, dtype) if row.rule == "select" else (dtype,) * row.arity
            try:
                legal = result_dtype(name, *dtypes) == dtype or row.rule in ("compare", "select")
            except DTypeError:
                continue
            found += [(name, dtypes)] if legal and (name not in MATH or not is_float(dtype)) else []
    return found


def test_every_scalar_operation_has_code() -> None:
    assert {*CODE, "astype"} == set(SCALAR_OPS)


@pytest.mark.parametrize("numerics", ["exact", "default"])
@pytest.mark.parametrize(("name", "dtypes"), cases())
def test_an_operation_equals_numpy_on_special_values(name: str, dtypes: tuple[str, ...], numerics: str) -> None:
    operands = grid(*dtypes)
    kernel = elementwise(lambda *args: call(name, *args), dtypes, operands[0].size)
    with np.errstate(all="ignore"):
        expected = SCALAR_OPS[name].meaning(*operands)
    found = run(kernel, *operands, numerics=numerics)  # type: ignore[arg-type]
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    if name not in ("maximum", "minimum"):
        np.testing.assert_array_equal(np.signbit(found[expected == 0]), np.signbit(expected[expected == 0]))


@pytest.mark.parametrize(("source", "target"), list(itertools.product(DTYPES, DTYPES)))
def test_a_cast_equals_numpy_where_the_value_fits_and_gives_the_least_integer_elsewhere(source: str, target: str) -> None:
    (operand,) = grid(source)
    found = run(elementwise(lambda x: astype(x, target), (source,), operand.size), operand)
    with np.errstate(all="ignore"):
        expected = operand.astype(target)
        if is_float(source) and target.startswith("int"):
            info = np.iinfo(target)
            wide = np.trunc(operand.astype(np.longdouble))
            expected = np.where((wide >= info.min) & (wide <= info.max), expected, np.array(info.min, target))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("divisor", [-8, -7, -1, 0, 1, 2, 7, 64, -(2**31)])
@pytest.mark.parametrize("name", ["floor_divide", "remainder"])
def test_division_by_a_constant_equals_numpy(name: str, divisor: int) -> None:
    (operand,) = grid("int32")
    kernel = elementwise(lambda x: call(name, x, Literal(divisor, "int32")), ("int32",), operand.size)
    with np.errstate(all="ignore"):
        expected = SCALAR_OPS[name].meaning(operand, np.int32(divisor))
    np.testing.assert_array_equal(run(kernel, operand), expected)


@pytest.mark.parametrize(("value", "dtype"), [(np.nan, "float32"), (-0.0, "float64"), (np.inf, "float32"), (0.1, "float32"), (1, "bool")])
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
