from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat import Costs, Operation, Options, check_operation
from eqsat.codegen import compile_kernels
from eqsat.codegen.builder import Builder, Value, integer, real
from eqsat.codegen.scalar import TABLES, UNCARRIED
from eqsat.ir.errors import DTypeError, UnsupportedError, UsageError
from eqsat.ir.evaluate import evaluate
from eqsat.ir.ops import SCALAR_OPS
from eqsat.ir.value_bounds import CALLS, tensor_bounds
from eqsat.keeping.keys import plan_key
from eqsat.lowering import type_indices
from eqsat.operations.table import OPERATIONS
from eqsat.pricing.cycles import ELEMENT_CYCLES
from eqsat.proving.operation_check import agree, samples
from eqsat.testing import assert_equivalent

Register = Callable[..., Operation]
LINE = np.linspace(-3, 3, 1000, dtype=np.float32)


@pytest.fixture
def register() -> Iterator[Register]:
    """eqsat.operation, whose operations are removed afterwards."""
    made: list[Operation] = []

    def registered(*args: Any, **kwargs: Any) -> Operation:
        made.append(eqsat.operation(*args, **kwargs))
        return made[-1]

    yield registered
    for operation in made:
        operation.remove()


def softsign(x: Any) -> Any:
    return x / (1 + np.abs(x))


def bits_set(x: Any) -> Any:
    """How many bits of an uint32 are set, side by side in its halves, quarters and so on."""
    x = x - ((x >> 1) & 0x55555555)
    x = (x & 0x33333333) + ((x >> 2) & 0x33333333)
    return ((((x + (x >> 4)) & 0x0F0F0F0F) * 0x01010101) >> 24).astype(np.uint8)


def reciprocal_root(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
    return b.binary("fdiv", real(1.0, args[0].type), b.intrinsic("sqrt", args[0], flags=flags), flags)


def rotated(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
    return b.intrinsic("fshl", args[0], args[0], args[1])


# operations of each kind ------------------------------------------------------------------------------------------------
def test_an_operation_of_others_runs_wherever_built_in_ones_do(register: Register) -> None:
    own = register("softsign", softsign, dtypes=("float16", "float32", "float64"))
    expected = softsign(LINE) * 2 + LINE

    def function(x: Any) -> Any:
        return own(x) * 2 + x

    np.testing.assert_allclose(eqsat.jit(function)(LINE), expected, rtol=1e-6)
    np.testing.assert_allclose(np.asarray(function(enp.asarray(LINE))), expected, rtol=1e-6)
    np.testing.assert_allclose(function(LINE), expected, rtol=1e-6)
    program = eqsat.trace(function, LINE)
    np.testing.assert_allclose(evaluate(program, [LINE])[0], expected, rtol=1e-6)
    assert re.search(r"softsign(#\d+)?\(", str(program))  # registered again, it has another name in programs
    assert_equivalent(program, eqsat.optimize(program).program)


def test_operands_are_cast_to_the_first_dtype_that_holds_them(register: Register) -> None:
    own = register("softsign", softsign, dtypes=("float64", "float32", "float16"))
    for given, computed in (("int8", "float16"), ("uint16", "float32"), ("int32", "float64"), ("float32", "float32")):
        array = np.arange(5).astype(given)
        for result in (own(array), eqsat.jit(own)(array), np.asarray(own(enp.asarray(array)))):
            assert result.dtype == computed
    assert own(3).dtype == np.float64
    with pytest.raises(DTypeError, match="softsign: found complex64, expected float16 or float32 or float64"):
        eqsat.trace(own, eqsat.spec((3,), "complex64"))
    with pytest.raises(DTypeError, match="softsign: found str"):
        own("a")
    with pytest.raises(DTypeError, match="softsign: found 2 operands, expected 1"):
        own(LINE, LINE)


def test_a_bit_trick_has_a_result_of_another_dtype(register: Register) -> None:
    own = register("bits_set", np.bitwise_count, dtypes={"uint32": "uint8"}, code=bits_set, bounds=lambda a: (0, 32))
    given = samples("uint32", 1)[0]
    found = eqsat.jit(own)(given)
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, np.bitwise_count(given))


def test_an_operation_of_two_and_of_three_operands_broadcasts(register: Register) -> None:
    floor = register("at_least", lambda x, low: np.where(x < low, low, x), dtypes=("float32", "int64"))
    blend = register("blend", lambda x, y, t: x + t * (y - x))
    column, row = LINE[:30].reshape(30, 1), LINE[-40:]
    np.testing.assert_array_equal(eqsat.jit(floor)(column, row), np.where(column < row, row, column))
    np.testing.assert_array_equal(eqsat.jit(lambda x: floor(x, 2))(np.arange(5)), [2, 2, 2, 3, 4])
    found = eqsat.jit(lambda x, y: blend(x, y, 0.25).sum(axis=0))(column, row)
    np.testing.assert_allclose(found, (column + np.float32(0.25) * (row - column)).sum(axis=0), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_code_in_llvm_ir_serves_every_float(register: Register, dtype: str) -> None:
    def meaning(x: Any) -> Any:
        return (1 / np.sqrt(x.astype(np.float32 if x.dtype == np.float16 else x.dtype))).astype(x.dtype)

    own = register("reciprocal_root", meaning, dtypes=(dtype,), llvm=reciprocal_root, cycles=22.0)
    array = np.abs(LINE).astype(dtype)
    np.testing.assert_array_equal(eqsat.jit(own, options=Options(numerics="exact"))(array), own(array))
    assert check_operation(own).points > 4000


def test_code_in_llvm_ir_serves_integers(register: Register) -> None:
    own = register("rotated", lambda x, k: x << (k % 32) | x >> (-k % 32), dtypes="uint32", llvm=rotated, cycles=1.0)
    given = samples("uint32", 2)
    np.testing.assert_array_equal(eqsat.jit(own)(*given), own(*given))


def test_code_becomes_vectors_where_it_can(register: Register) -> None:
    own = register("softsign", softsign, dtypes="float32")
    result = eqsat.optimize(own, eqsat.spec((4096,), "float32"))
    text = compile_kernels([type_indices(loop) for loop in result.loops], "default").optimized_ir
    assert any("fdiv" in line and "<" in line for line in text.splitlines())


def test_operations_are_made_of_operations(register: Register) -> None:
    inner = register("softsign", softsign)
    outer = register("twice_softsign", lambda x: 2 * softsign(x), code=lambda x: inner(x) * 2)
    assert outer.cycles == pytest.approx(inner.cycles + 0.6)
    np.testing.assert_allclose(eqsat.jit(outer)(LINE), 2 * softsign(LINE), rtol=1e-6)


PROGRAMS: dict[str, Callable[[Any, Operation, Operation], Any]] = {
    "fold": lambda a, one, two: one(a).sum(axis=0),
    "movement": lambda a, one, two: one(a.T)[::-1].reshape(8, 24) + 1,
    "product": lambda a, one, two: one(a @ a.T) @ a,
    "broadcast": lambda a, one, two: two(a, a.max(axis=1, keepdims=True) * 0.5),
    "joined": lambda a, one, two: enp.concatenate([one(a), two(a, a * a)]),
    "loop": lambda a, one, two: eqsat.fori(3, lambda i, s: one(s) * 2, a),
    "choice": lambda a, one, two: enp.where(one(a) > 0.1, two(a, 0.3), a).max(axis=1),
    "library call": lambda a, one, two: enp.sort(one(a), axis=1),
    "cast": lambda a, one, two: enp.exp(one(a.astype("float32"))).mean(),
}


@pytest.mark.parametrize("numerics", ["exact", "default", "fast"])
def test_programs_of_every_kind_compute_what_numpy_does(register: Register, numerics: Any) -> None:
    one = register("softsign", softsign)
    two = register("lower_of", lambda x, y: np.where(y < x, y, x))
    array = np.random.default_rng(0).normal(size=(12, 16))
    for kind, function in PROGRAMS.items():
        program = eqsat.trace(lambda a, function=function: function(a, one, two), array)
        result = eqsat.optimize(program, options=Options(numerics=numerics, certify=numerics == "default"))
        np.testing.assert_allclose(result(array), np.asarray(function(array, one, two)), rtol=1e-5, err_msg=kind)


def test_sizes_that_are_known_at_run_time_are_no_matter(register: Register) -> None:
    own = register("softsign", softsign)
    n = eqsat.dim("n", 1, 4096)
    plan = eqsat.optimize(lambda x: own(x).sum(axis=1), eqsat.spec((n, 16), "float64")).compile()
    for rows in (1, 12, 33):
        array = np.random.default_rng(rows).normal(size=(rows, 16))
        np.testing.assert_allclose(plan(array), softsign(array).sum(axis=1), rtol=1e-12)


# what the tables say of them ----------------------------------------------------------------------------------------------
def test_bounds_make_checks_of_places_unnecessary(register: Register) -> None:
    known = register("low_bits", lambda x: x & 7, dtypes="int64", bounds=lambda a: (0, 7))
    unknown = register("low_bits_unsaid", lambda x: x & 7, dtypes="int64")
    table = np.arange(8.0)
    places = eqsat.spec((100,), "int64")
    results = [eqsat.optimize(lambda i, own=own: enp.take(enp.asarray(table), own(i)), places) for own in (known, unknown)]
    assert [len(result.places) for result in results] == [0, 1]
    assert tensor_bounds(eqsat.trace(known, places).outputs[0]) == (0, 7)
    given = np.arange(-50, 50)
    for result in results:
        np.testing.assert_array_equal(result(given), table[given & 7])


def test_what_is_told_to_be_cheap_is_computed_again(register: Register) -> None:
    cheap = register("gentle", np.negative, cycles=0.0)
    dear = register("heavy", np.negative, cycles=900.0)
    computed = []
    for own, name in ((cheap, "gentle("), (dear, "heavy(")):

        def function(a: Any, b: Any, own: Operation = own) -> Any:
            e = own(a)
            return e.sum(axis=1), e * b

        computed.append(str(eqsat.optimize(function, *[eqsat.spec((64, 1000), "float32")] * 2).loops).count(name))
    assert computed == [2, 1]


def test_a_cost_model_may_say_something_else(register: Register) -> None:
    own = register("heavy", np.negative, cycles=900.0)
    program = eqsat.trace(own, eqsat.spec((1000,), "float32"))
    assert eqsat.cost(program, Options(cost=Costs(element_cycles={"heavy": 1.0}))) < eqsat.cost(program)


# what is refused ----------------------------------------------------------------------------------------------------------
def unbounded(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
    return b.intrinsc("sqrt", args[0])  # type: ignore[attr-defined,no-any-return]


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "another function": (
        {"meaning": lambda x: x, "code": lambda x: x + 1, "dtypes": "int32"},
        r"operation own: own\(0\) of int32 is 1 by its code, expected 0",
    ),
    "wrong for one special value": (
        {"meaning": np.fabs, "code": lambda x: np.where(x < 0, -x, x), "ulps": 0},
        r"own\(-0.0\) of float32 is -0.0 by its code, expected 0.0",
    ),
    "a sum that is not wide enough": (
        {"meaning": lambda x: (x.astype(np.int64) + 1).astype(np.int32) // 2, "code": lambda x: (x >> 1) + 1, "dtypes": "int32"},
        r"own\(0\) of int32 is 1 by its code, expected 0",
    ),
    "rounds too often": (
        {"meaning": lambda x: np.sqrt(x * x + 1), "code": lambda x: np.abs(x) + 0.5 / np.abs(x)},
        r"own\(0.0\) of float32 is inf by its code, expected 1.0, within 4 units in the last place",
    ),
    "no meaning of elements": ({"meaning": np.sort, "code": lambda x: x, "dtypes": "int32"}, r"as its meaning among other elements"),
    "meaning of another dtype": (
        {"meaning": lambda x: x * 1.5, "code": lambda x: x, "dtypes": "int32"},
        r"operation own: found float64\[\d+\] of its meaning for int32, expected int32\[\d+\]",
    ),
    "meaning raises": (
        {"meaning": lambda x: 1 / 0, "code": lambda x: x},
        r"operation own: its meaning raised ZeroDivisionError: division by zero, for float32",
    ),
    "code of another dtype": (
        {"meaning": np.bitwise_count, "code": lambda x: x & 1, "dtypes": {"uint32": "uint8"}},
        r"operation own: found uint32 of its code for uint32, expected uint8",
    ),
    "code raises": (
        {"meaning": np.abs, "code": lambda x: 1 / 0},
        r"operation own: its code raised ZeroDivisionError: division by zero, for float32",
    ),
    "code cannot be traced": (
        {"meaning": lambda x: x if x > 0 else -x},
        r"operation own: its code cannot be traced for float32: .*",
    ),
    "code folds": ({"meaning": np.abs, "code": lambda x: enp.arange(3) + x}, r"found code that makes more than one element"),
    "code takes an array": (
        {"meaning": np.abs, "code": lambda x: (np.arange(3.0, dtype=np.float32) + x).sum()},
        r"found (a fold or an array|an array from elsewhere) in its code",
    ),
    "LLVM code raises": (
        {"meaning": np.sqrt, "llvm": unbounded, "cycles": 1.0},
        r"operation own: its code raised AttributeError: 'Builder' object has no attribute 'intrinsc', for float32",
    ),
    "LLVM code of another type": (
        {"meaning": np.sqrt, "llvm": lambda b, args, flags: integer(1, "i32"), "cycles": 1.0},
        r"operation own: found i32 of its code for float32, expected a Value of type float",
    ),
    "LLVM refuses it": (
        {"meaning": np.sqrt, "llvm": lambda b, args, flags: b.emit(args[0].type, "nonsense"), "cycles": 1.0},
        r"operation own: its code is refused: .*expected instruction opcode",
    ),
    "LLVM code without cost": (
        {"meaning": np.sqrt, "llvm": reciprocal_root},
        r"operation own: found llvm= without cycles=, expected what a vector operation of it costs",
    ),
    "both kinds of code": ({"meaning": np.sqrt, "llvm": reciprocal_root, "code": np.sqrt}, r"found both code= and llvm="),
    "bounds that do not hold": (
        {"meaning": lambda x, y: np.maximum(x, y), "bounds": lambda a, b: a, "dtypes": "int32"},
        r"own\(-?\d+, -?\d+\) of int32 is -?\d+, expected -?\d+..-?\d+, its bounds for operands in",
    ),
    "bounds that do not hold at the ends of a dtype": (
        {"meaning": lambda x: x & ~1, "bounds": lambda a: (a[0] - 1, min(a[1], 10**6)), "dtypes": "int64"},
        r"own\(\d{19}\) of int64 is \d{19}, expected \d{19}..1000000",
    ),
    "bounds that are no pair": (
        {"meaning": lambda x: x & 7, "bounds": lambda a: 7, "dtypes": "int32"},
        r"operation own: its bounds raised TypeError: .*, expected a pair of integers",
    ),
    "cycles": ({"meaning": np.abs, "cycles": -1.0}, r"operation own: cycles: found -1.0, expected cycles"),
    "ulps": ({"meaning": np.abs, "ulps": -1.0}, r"operation own: found ulps=-1.0"),
    "arity": ({"meaning": lambda *x: x[0]}, r"operation own: found a meaning of 0 operands, expected 1 to 3"),
    "no function": ({"meaning": 3}, r"operation own: found a int, expected a function of NumPy arrays"),
    "no dtypes": ({"meaning": np.abs, "dtypes": ()}, r"operation own: dtypes: found none"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_operation_is_refused_in_one_line(case: str, register: Register) -> None:
    wrong, message = WRONG[case]
    with pytest.raises(UsageError, match=message) as caught:
        register("own", **wrong)
    assert "\n" not in str(caught.value)
    assert "own" not in SCALAR_OPS


def test_complex_numbers_are_not_supported() -> None:
    with pytest.raises(UnsupportedError, match="operation own: dtypes: found complex64, supported are bool, int8"):
        eqsat.operation("own", np.conjugate, dtypes="complex64")


@pytest.mark.parametrize(
    ("name", "message"),
    [("exp", "eqsat's own"), ("reshape", "eqsat's own"), ("a b", "expected an identifier"), (3, "expected an identifier")],
)
def test_a_name_that_is_taken_or_is_no_name_is_refused(name: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        eqsat.operation(name, np.negative)


def test_checking_tells_the_first_counterexample(register: Register, monkeypatch: pytest.MonkeyPatch) -> None:
    own = register("own", np.negative, dtypes="int32")
    verdict = check_operation(own)
    assert verdict
    assert verdict.counterexample is None
    assert "its code is its meaning at" in str(verdict)
    monkeypatch.setitem(TABLES["int32"], own.key, lambda b, args, flags: args[0])
    verdict = check_operation(own)
    assert not verdict
    assert (verdict.dtype, verdict.counterexample, verdict.found, verdict.expected) == ("int32", (1,), 1, -1)


def test_floats_agree_within_units_in_the_last_place() -> None:
    one = np.array([1.0, 0.0, -0.0, np.nan, np.inf, 1e-45, -1.0], np.float32)
    near = np.nextafter(one, np.float32(2.0))
    assert agree(one, one, 0).all()
    assert list(agree(near, one, 1.0)) == [True, True, True, True, False, True, True]
    assert list(agree(near, one, 0.5)) == [False, False, False, True, False, False, False]
    assert not agree(np.array([0.0]), np.array([-0.0]), 0).any()
    assert agree(np.array([0.0]), np.array([-0.0]), 1).all()
    assert not agree(np.array([np.inf]), np.array([np.finfo(float).max]), 4).any()


# registering --------------------------------------------------------------------------------------------------------------
def test_a_removed_operation_leaves_no_rows(register: Register) -> None:
    tables: list[Mapping[str, Any]] = [SCALAR_OPS, ELEMENT_CYCLES, CALLS, OPERATIONS, *TABLES.values()]
    before = [set(table) for table in tables], set(UNCARRIED)
    own = register("own", lambda x: x & 7, dtypes="int64", bounds=lambda a: (0, 7))
    function = eqsat.jit(lambda x: own(x) + 1)
    assert list(function(np.arange(3))) == [1, 2, 3]
    own.remove()
    own.remove()
    assert ([set(table) for table in tables], set(UNCARRIED)) == before
    assert list(function(np.arange(3))) == [1, 2, 3]
    with pytest.raises(UsageError, match="operation own: found a check after it was removed or replaced"):
        eqsat.check_operation(own)
    with pytest.raises(UsageError, match="operation own: found a call after it was removed"):
        own(3)


def test_an_operation_that_replaces_another_is_not_taken_for_it(register: Register) -> None:
    first = register("own", lambda x: x + 1, dtypes="int64")
    array = enp.asarray(np.arange(4))
    assert list(np.asarray(first(array))) == [1, 2, 3, 4]
    with pytest.raises(UsageError, match="operation own: found a name that is registered"):
        register("own", lambda x: x + 2, dtypes="int64")
    second = register("own", lambda x: x + 2, dtypes="int64", replace=True)
    assert list(np.asarray(second(array))) == [2, 3, 4, 5]
    assert first.key != second.key
    with pytest.raises(UsageError, match="removed"):
        first(array)


def test_an_operation_that_is_refused_leaves_the_one_that_it_was_to_replace(register: Register) -> None:
    own = register("own", lambda x: x + 1, dtypes="int64")
    for dtype in ("int32", "int64"):
        with pytest.raises(UsageError, match="by its code"):
            register("own", lambda x: x + 2, code=lambda x: x + 3, dtypes=dtype, replace=True)
    assert list(eqsat.jit(own)(np.arange(3))) == [1, 2, 3]
    assert register("own", lambda x: x + 2, dtypes="int32", replace=True)(np.int8(1)) == 3


def test_plans_with_own_operations_have_no_key_on_disk(register: Register) -> None:
    own = register("own", np.negative)
    spec = eqsat.spec((10,), "float32")
    assert plan_key(eqsat.trace(own, spec), Options()) is None
    assert plan_key(eqsat.trace(lambda x: eqsat.fori(3, lambda i, s: own(s), x), spec), Options()) is None
    assert plan_key(eqsat.trace(np.negative, spec), Options()) is not None


def test_threads_may_register_at_the_same_time(register: Register) -> None:
    found: list[float] = []

    def work(k: int) -> None:
        own = register(f"own_{k}", lambda x: x + k, dtypes="float64")
        found.append(float(eqsat.jit(own)(np.array([1.0]))[0]))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [1.0, 2.0, 3.0, 4.0]


def test_an_operation_that_is_registered_again_keeps_its_name(register: Register) -> None:
    for _ in range(2):
        own = register("again", softsign, replace=True)
    assert own.key == "again#2"
    program = eqsat.trace(own, eqsat.spec((1000,), "float32"))
    assert eqsat.cost(program, Options(cost=Costs(element_cycles={"again": 900.0}))) > eqsat.cost(program)
    with pytest.raises(UsageError, match=r"^again: found 2 operands, expected 1"):
        eqsat.trace(lambda x: own(x, x), LINE)
    with pytest.raises(UsageError, match=r"^again: found complex64"):
        eqsat.trace(own, eqsat.spec((3,), "complex64"))
