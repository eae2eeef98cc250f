from __future__ import annotations

import itertools
import random
from dataclasses import replace

import numpy as np
import pytest

from eqsat.codegen import parallel_extent
from eqsat.codegen.folds.accumulator import Numerics
from eqsat.codegen.llvm.machine import Machine, host
from eqsat.codegen.math import FUNCTIONS
from eqsat.ir.dtypes import DTYPES, is_complex
from eqsat.ir.errors import DTypeError, InternalError
from eqsat.ir.index import Const, Index, Var, apply, maximum, var
from eqsat.ir.loops import Bind, Buffer, Fold, For, Kernel, Let, Load, LoopKind, Pick, Stmt, Store, Temp, map_loads
from eqsat.ir.loops_check import check_kernel
from eqsat.ir.loops_evaluate import run_kernel
from eqsat.ir.ops import REDUCE_OPS, SCALAR_OPS, loop_dtypes
from eqsat.ir.tensor import Literal, Position, Scalar
from tests.codegen.nests import Array, astype, call, compiled, elementwise, plain, rows, run
from tests.effort import examples, some

# those of which every operation is exact in the order in which it is written
EXACT = tuple(dtype for dtype in DTYPES if not is_complex(dtype))
SIZES = some((*range(6), 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 67), 2)


def sample(dtype: str, size: int, seed: int = 3) -> Array:
    values = np.random.default_rng(seed).integers(-9, 9, size).astype(dtype)
    return values + values[::-1] * values.dtype.type(1j) if is_complex(dtype) else values


def square_plus_one(x: Scalar) -> Scalar:
    return call("add", call("multiply", x, x), Literal(1, x.dtype)) if x.dtype != "bool" else call("logical_not", x)


@pytest.mark.parametrize("kind", ["serial", "parallel"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_an_elementwise_loop_of_any_size_equals_numpy(dtype: str, kind: LoopKind) -> None:
    kernels = [elementwise(square_plus_one, (dtype,), size, kind) for size in SIZES]
    named = [Kernel(f"size{size}", k.buffers, k.body) for size, k in zip(SIZES, kernels, strict=True)]
    code = compiled(named)
    for size in SIZES:
        x, out = sample(dtype, size), np.zeros(size, dtype)
        code.routine(f"size{size}")([x, out])
        np.testing.assert_array_equal(out, ~x if dtype == "bool" else x * x + np.ones(1, dtype))


@pytest.mark.parametrize(("dtype", "op"), some(itertools.product(DTYPES, ["sum", "prod", "max", "min"])))
def test_a_fold_of_any_size_equals_numpy(dtype: str, op: str) -> None:
    if op in ("sum", "prod") and dtype == "bool":
        pytest.skip("NumPy sums and multiplies booleans as integers; the cast is written out")
    kernels = [Kernel(f"size{size}", k.buffers, k.body) for size in SIZES for k in [rows(op, (3, size), dtype)]]
    code = compiled(kernels)
    for size in SIZES[1:]:
        x, out = sample(dtype, 3 * size), np.zeros(3, dtype)
        code.routine(f"size{size}")([x, out])
        with np.errstate(over="ignore", invalid="ignore"):
            expected = REDUCE_OPS[op].meaning(x.reshape(3, size), axis=1, dtype=dtype)
        eps = 2.0**-8 if dtype == "bfloat16" else np.finfo(dtype).eps if is_complex(dtype) else 0.0  # ml_dtypes rounds each step
        np.testing.assert_allclose(out, expected, rtol=8 * size * eps if op == "prod" else 0)


def boxes(*begins: int, apart: int = 0) -> Kernel:
    """x * x + 1 in loops of their own from each of these places on, up to 67, written so many places further."""
    loops = []
    for k, (begin, end) in enumerate(zip(begins, [*begins[1:], 67], strict=True)):
        v = var(f"i{k}", 0, end - begin - 1)
        loops.append(For(v, "parallel", (Store("out", v + (begin + k * apart), square_plus_one(Load("x0", v + begin, "float32"))),)))
    return Kernel("boxes", (Buffer("x0", "float32", 67, "in"), Buffer("out", "float32", 67 + 2 * abs(apart), "out")), tuple(loops))


def test_loops_that_may_write_the_same_or_read_what_others_write_are_not_split() -> None:
    assert parallel_extent(boxes(0, 30, apart=1)) == parallel_extent(boxes(0, 30)) == 67
    assert parallel_extent(boxes(0, 30, apart=-1)) is None
    kernel = boxes(0, 30)
    of_its_own = map_loads(kernel, lambda load: Load("out", load.index, load.dtype))
    assert parallel_extent(of_its_own) == 67
    of_the_other = map_loads(kernel, lambda load: Load("out", maximum(load.index - 1, 0), load.dtype))
    assert parallel_extent(of_the_other) is None
    first, second = kernel.body
    assert parallel_extent(replace(kernel, body=(first, Let("t", Literal(1.0, "float32")), second))) == 67
    assert parallel_extent(replace(kernel, body=(first, Store("out", Const(66), Literal(1.0, "float32"))))) == 30
    assert parallel_extent(replace(kernel, body=(first, Store("out", Const(7), Literal(1.0, "float32"))))) is None
    assert parallel_extent(replace(kernel, scratch=(Buffer("s", "float32", 4, "scratch"),))) == 67


def shifted(terms: int) -> Kernel:
    """x less the sum of its first terms."""
    k, v = var("k", 0, terms - 1), var("i", 0, 66)
    total = Fold("t", "sum", "float32", k, (), Load("x0", k, "float32"))
    value = call("subtract", Load("x0", v, "float32"), Temp("t", "float32"))
    loop = For(v, "parallel", (Store("out", v, value),))
    return Kernel("shifted", (Buffer("x0", "float32", 67, "in"), Buffer("out", "float32", 67, "out")), (total, loop))


def test_a_fold_that_takes_as_long_as_the_loop_behind_it_is_not_computed_by_each_thread() -> None:
    assert parallel_extent(shifted(1)) == 67
    assert parallel_extent(shifted(2)) is None


@pytest.mark.parametrize(
    "kernel",
    [shifted(1), elementwise(square_plus_one, ("float32",), 67), rows("sum", (67, 5), "float32"), boxes(0, 1, 31, 45), boxes(0, 66)],
)
def test_the_parts_of_a_split_loop_make_the_whole(kernel: Kernel) -> None:
    routine = compiled([kernel]).routine(kernel.name)
    assert routine.parallel_extent == 67
    x = sample("float32", kernel.buffers[0].size)
    whole, parts = np.full(67, 7, np.float32), np.full(67, 7, np.float32)
    routine([x, whole])
    for begin, end in [(40, 67), (0, 1), (1, 1), (1, 40)]:
        before = parts.copy()
        routine([x, parts], begin, end)
        np.testing.assert_array_equal(np.delete(parts, np.s_[begin:end]), np.delete(before, np.s_[begin:end]))
    np.testing.assert_array_equal(parts, whole)


def test_a_loop_that_does_not_start_at_zero_is_split_from_its_first_iteration() -> None:
    i = var("i", -3, 6)
    store = Store("out", i + 3, Load("data", i * i, "int64"))
    kernel = Kernel("shifted", (Buffer("data", "int64", 37, "in"), Buffer("out", "int64", 10, "out")), (For(i, "parallel", (store,)),))
    out = np.full(10, -1)
    compiled([kernel]).routine("shifted")([np.arange(37), out], 2, 5)
    assert out.tolist() == [-1, -1, 1, 0, 1, -1, -1, -1, -1, -1]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", ["max", "min"])
@pytest.mark.parametrize("size", [1, 5, 64, 200])
def test_a_fold_to_an_extremum_propagates_nan_from_any_place(op: str, dtype: str, size: int) -> None:
    x = np.tile(-np.arange(1.0, size + 1, dtype=dtype), (size + 1, 1))
    x[np.arange(size), np.arange(size)] = np.nan
    x[-1, 0] = -np.inf
    for numerics in ("exact", "default"):
        found = run(rows(op, x.shape, dtype), x, numerics=numerics)
        np.testing.assert_array_equal(found, REDUCE_OPS[op].meaning(x, axis=1))


@pytest.mark.parametrize("masks", [True, False])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("op", ["max", "min"])
def test_nan_is_found_with_and_without_masks(op: str, dtype: str, masks: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Machine, "abilities", host().abilities._replace(masks=masks))
    x = np.random.default_rng(8).normal(size=(70, 67)).astype(dtype)
    x[:, 3] = [(np.inf, -np.inf, -0.0, 1)[row % 4] for row in range(70)]
    x[np.arange(67), np.arange(67)] = np.copysign(np.nan, (-1.0) ** np.arange(67))
    np.testing.assert_array_equal(run(rows(op, x.shape, dtype), x.ravel()), getattr(x, op)(axis=1))


@pytest.mark.parametrize("extremes", [(np.inf, 1.0), (-np.inf, 1.0), (np.inf, -np.inf), (np.nan, 1.0), (3e38, 3e38)])
def test_a_long_sum_keeps_infinities_and_nan(extremes: tuple[float, float]) -> None:
    x = np.zeros(10_000, np.float32)
    x[[17, 9_000]] = extremes
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(run(rows("sum", (1, x.size), "float32"), x), [x.sum()])


@pytest.mark.parametrize("numerics", ["exact", "default", "fast"])
@pytest.mark.parametrize("shape", [(1, 1 << 22), (1, (1 << 22) - 1237)])
@pytest.mark.parametrize("fill", ["tenth", "uniform"])
def test_a_float32_sum_of_four_million_is_accurate(numerics: Numerics, shape: tuple[int, int], fill: str) -> None:
    x = np.full(shape[1], 0.1, np.float32) if fill == "tenth" else np.random.default_rng(2).random(shape[1], np.float32)
    found = run(rows("sum", shape, "float32"), x, numerics=numerics)[0]
    assert abs(found / x.sum(dtype=np.float64) - 1) < 1e-6


@pytest.mark.parametrize("outer", [40, 1000])
def test_a_fold_of_folds_is_accurate(outer: int) -> None:
    r, s = var("r", 0, outer - 1), var("s", 0, 299)
    inner = Fold("part", "sum", "float32", s, (), Load("x", r * 300 + s, "float32"))
    body = (Fold("all", "sum", "float32", r, (inner,), Temp("part", "float32")), Store("out", var("z", 0, 0), Temp("all", "float32")))
    buffers = (Buffer("x", "float32", outer * 300, "in"), Buffer("out", "float32", 1, "out"))
    kernel = Kernel("nested", buffers, (For(var("z", 0, 0), "parallel", body),))
    x = np.full(outer * 300, 0.1, np.float32)
    assert abs(run(kernel, x)[0] / x.sum(dtype=np.float64) - 1) < 1e-6


def test_the_blocks_of_a_long_sum_are_not_unrolled() -> None:
    assert len(compiled([rows("sum", (1, 1 << 14), "float32")]).assembly) < 5000


def test_a_fold_over_nothing_is_its_identity() -> None:
    for op, dtype, identity in [("sum", "float32", 0.0), ("max", "float64", -np.inf), ("min", "int32", 2**31 - 1), ("max", "bool", False)]:
        assert run(rows(op, (2, 0), dtype), np.zeros(0, dtype)).tolist() == [identity] * 2


@pytest.mark.parametrize(("combine", "expected"), [("sum", 5 + 0 + 1 + 2 + 3), ("max", 5), ("minimum", 0), (None, 3)])
def test_a_combining_store_folds_into_memory(combine: str | None, expected: int) -> None:
    i, r = var("i", 0, 9), var("r", 0, 3)
    store = Store("out", i, Load("x", r * 10 + i, "float32"), combine)
    kernel = Kernel(
        "combine",
        (Buffer("x", "float32", 40, "in"), Buffer("out", "float32", 10, "out")),
        (For(r, "serial", (For(i, "parallel", (store,)),)),),
    )
    x = np.repeat(np.arange(4, dtype=np.float32), 10)
    assert run(kernel, x, start=5).tolist() == [expected] * 10


def test_a_load_after_a_store_sees_what_was_stored() -> None:
    i, j = var("i", 0, 3), var("j", 0, 2)
    here = Load("out", i, "int64")
    grow: tuple[Stmt, ...] = (
        Let("before", here),
        Store("out", i, call("add", here, here)),
        Store("out", i, call("add", here, Temp("before", "int64"))),
        For(j, "serial", (Store("out", i, call("add", here, Literal(1, "int64"))),)),
        Store("out", i, call("multiply", here, Literal(10, "int64"))),
    )
    kernel = Kernel("readback", (Buffer("out", "int64", 4, "out"),), (For(i, "serial", grow),))
    expected = np.full(4, 5)
    run_kernel(kernel, [expected])
    assert run(kernel, start=5).tolist() == expected.tolist() == [180] * 4


def test_statements_in_a_fold_run_before_its_value() -> None:
    i, r, k = var("i", 0, 4), var("r", 0, 6), var("k", 0, 34)
    body = (Bind(k, i * 7 + r), Let("e", call("exp", Load("x", k, "float64"))))
    fold = Fold("s", "sum", "float64", r, body, call("multiply", Temp("e", "float64"), Temp("e", "float64")))
    kernel = Kernel(
        "inside",
        (Buffer("x", "float64", 35, "in"), Buffer("out", "float64", 5, "out")),
        (For(i, "parallel", (fold, Store("out", i, call("log", Temp("s", "float64"))))),),
    )
    x = np.random.default_rng(0).random(35)
    np.testing.assert_allclose(run(kernel, x), np.log(np.exp(2 * x).reshape(5, 7).sum(1)), rtol=1e-15)


PLACES = np.array([-(2**63), -(2**32), -1, 0, 1, 2, 3, 4, 2**31, 2**32 + 1, 2**63 - 1])


def equals_the_interpreter(kernel: Kernel, *arrays: Array) -> Array:
    """What the kernel writes at every level of numerics, which is what the interpreter writes."""
    check_kernel(kernel)
    expected = np.zeros(kernel.outputs[0].size, kernel.outputs[0].dtype)
    run_kernel(kernel, [*arrays, expected])
    levels: tuple[Numerics, ...] = ("exact", "default", "fast")
    for numerics in levels:
        np.testing.assert_array_equal(run(kernel, *arrays, numerics=numerics), expected)
    return expected


def picking(shape: tuple[int, ...], dtype: str, size: int) -> Kernel:
    """out[i] = data[places[i], places[i], ...], clipped."""
    i = var("i", 0, size - 1)
    place = Load("places", i, "int64")
    inputs = Buffer("places", "int64", size, "in"), Buffer("data", dtype, int(np.prod(shape, dtype=int)), "in")
    store = Store("out", i, Pick("data", shape, (place,) * len(shape), dtype))
    return Kernel("picking", (*inputs, Buffer("out", dtype, size, "out")), (For(i, "parallel", (store,)),))


@pytest.mark.parametrize("shape", [(1,), (4,), (3, 5), (5, 3), (2, 3, 4), (1, 4, 1)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_pick_clips_its_places_at_both_ends(dtype: str, shape: tuple[int, ...]) -> None:
    data = sample(dtype, int(np.prod(shape)))
    found = equals_the_interpreter(picking(shape, dtype, PLACES.size), PLACES, data)
    clipped = tuple(np.clip(PLACES, 0, extent - 1) for extent in shape)
    np.testing.assert_array_equal(found, data.reshape(shape)[clipped])


@pytest.mark.parametrize("size", [1, 7, 16, 67, 1000])
def test_a_pick_in_a_loop_of_any_length_equals_numpy(size: int) -> None:
    """Vectors of places are clipped lane by lane."""
    places, data = np.random.default_rng(4).integers(-50, 150, size), sample("float32", 100)
    np.testing.assert_array_equal(run(picking((100,), "float32", size), places, data), data[np.clip(places, 0, 99)])


def test_a_pick_at_a_pick_equals_the_interpreter() -> None:
    def body(place: Scalar) -> Scalar:
        return Pick("in0", (PLACES.size,), (Pick("in0", (PLACES.size,), (place,), "int64"),), "int64")

    equals_the_interpreter(elementwise(body, ("int64",), PLACES.size), PLACES)


def test_a_pick_after_a_store_sees_what_was_stored() -> None:
    i = var("i", 0, 3)
    first = Pick("out", (4,), (Literal(0, "int64"),), "int64")
    body: tuple[Stmt, ...] = (Store("out", i, call("add", first, Literal(1, "int64"))), Store("out", Const(0), call("add", first, first)))
    kernel = Kernel("readback", (Buffer("out", "int64", 4, "out"),), (For(i, "serial", body),))
    expected = np.full(4, 5)
    run_kernel(kernel, [expected])
    assert run(kernel, start=5).tolist() == expected.tolist()


def test_a_fold_of_picks_equals_the_interpreter() -> None:
    i, r = var("i", 0, PLACES.size - 1), var("r", 0, 4)
    pick = Pick("data", (3, 5), (Load("places", i, "int64"), Position(5 - r, "int64")), "int64")
    fold = Fold("s", "sum", "int64", r, (), pick)
    buffers = (Buffer("places", "int64", PLACES.size, "in"), Buffer("data", "int64", 15, "in"), Buffer("out", "int64", PLACES.size, "out"))
    kernel = Kernel("folded", buffers, (For(i, "parallel", (fold, Store("out", i, Temp("s", "int64")))),))
    equals_the_interpreter(kernel, PLACES, sample("int64", 15))


ROW, COLUMN = var("i", -3, 20), var("j", 0, 6)
POSITIONS: dict[str, tuple[Index, str]] = {
    "a counter": (ROW, "int64"),
    "a counter as int32": (ROW, "int32"),
    "negative numbers": (ROW * -7 - COLUMN, "int32"),
    "int32 to its ends": ((COLUMN % 2) * (2**32 - 1) - 2**31, "int32"),
    "beyond int32": (ROW * 2**40 + COLUMN, "int64"),
    "digits": ((ROW + 3) * 7 + COLUMN - (ROW * COLUMN) // 5 % 3, "int64"),
    "a constant": (Const(2**40), "int64"),
    "a comparison": (apply("lt", ROW, COLUMN), "bool"),
    "an equation of digits": (apply("eq", (ROW + 3) % 5, COLUMN // 2), "bool"),
    "a conjunction": (apply("and", apply("ge", ROW, 2), apply("not", apply("eq", COLUMN, 3))), "bool"),
    "what is always true": (apply("lt", ROW, 100), "bool"),
}


@pytest.mark.parametrize("name", POSITIONS)
def test_positions_equal_the_interpreter(name: str) -> None:
    index, dtype = POSITIONS[name]
    store = Store("out", (ROW + 3) * 7 + COLUMN, Position(index, dtype))
    kernel = Kernel("positions", (Buffer("out", dtype, 24 * 7, "out"),), (For(ROW, "parallel", (For(COLUMN, "parallel", (store,)),)),))
    equals_the_interpreter(kernel)


def test_positions_enter_arithmetic_in_their_dtype() -> None:
    """2^31 - 1 and one more, in 32 bits: sums of elements wrap, whatever the type of the index."""
    i = var("i", 0, 3)
    value = call("add", Position(i + (2**31 - 4), "int32"), Literal(2, "int32"))
    kernel = Kernel("wrapped", (Buffer("out", "int32", 4, "out"),), (For(i, "parallel", (Store("out", i, value),)),))
    assert equals_the_interpreter(kernel).tolist() == [2**31 - 2, 2**31 - 1, -(2**31), -(2**31) + 1]


@pytest.mark.parametrize("numerics", ["exact", "default", "fast"])
def test_a_kernel_writes_all_of_its_results(numerics: Numerics) -> None:
    i, r = var("i", 0, 9), var("r", 0, 6)
    fold = Fold("s", "sum", "int64", r, (), Load("x", i * 7 + r, "int64"))
    total = Temp("s", "int64")
    stores = (Store("a", i, total), Store("b", i, astype(total, "float64")), Store("c", i, call("less", total, Literal(0, "int64"))))
    outputs = (Buffer("a", "int64", 10, "out"), Buffer("b", "float64", 10, "out"), Buffer("c", "bool", 10, "out"))
    kernel = Kernel("several", (Buffer("x", "int64", 70, "in"), *outputs), (For(i, "parallel", (fold, *stores)),))
    check_kernel(kernel)
    x, written = sample("int64", 70), [np.zeros(10, buffer.dtype) for buffer in outputs]
    routine = compiled([kernel], numerics).routine("several")
    for begin, end in ((6, 10), (0, 6)):
        routine([x, *written], begin, end)
    sums = x.reshape(10, 7).sum(axis=1)
    for found, expected in zip(written, (sums, sums, sums < 0), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_an_expression_with_more_paths_than_could_be_walked_compiles() -> None:
    def doubled(x: Scalar) -> Scalar:
        for _ in range(50):
            x = call("multiply", call("add", x, x), Literal(0.5, "float64"))
        return x

    x = np.arange(5.0)
    np.testing.assert_array_equal(run(elementwise(doubled, ("float64",), 5), x), x)


def test_an_expression_deeper_than_the_stack_of_python_compiles() -> None:
    def deep(x: Scalar) -> Scalar:
        for _ in range(3000):
            x = call("subtract", Literal(1, "int64"), x)
        return x

    np.testing.assert_array_equal(run(elementwise(deep, ("int64",), 5), np.arange(5)), np.arange(5))


def random_element(rng: random.Random, depth: int, leaves: dict[str, list[Scalar]], dtype: str) -> Scalar:
    """An expression of this dtype over all operations whose results are exact."""
    if depth == 0 or rng.random() < 0.1:
        return rng.choice(leaves[dtype])
    free = (*FUNCTIONS, "real", "imag", "signbit", "copysign")  # the sign of a NaN is whatever comes out
    names = [n for n, row in SCALAR_OPS.items() if n not in free and (dtype != "bool" or row.takes_bool)]
    row = SCALAR_OPS[rng.choice(names)]
    if row.rule == "cast":
        return astype(random_element(rng, depth - 1, leaves, rng.choice(EXACT)), dtype)
    inside = rng.choice(EXACT) if row.rule == "compare" else "bool" if row.rule == "logic" else dtype
    try:
        kinds = loop_dtypes(row.name, *(("bool", inside, inside) if row.rule == "select" else (inside,) * row.arity))[:-1]
    except DTypeError:
        return random_element(rng, depth, leaves, dtype)
    return astype(call(row.name, *(random_element(rng, depth - 1, leaves, kind) for kind in kinds)), dtype)


@pytest.mark.parametrize("dtype", EXACT)
def test_random_expressions_equal_the_interpreter(dtype: str) -> None:
    rng = random.Random(11)
    for _ in range(examples(8, least=4)):
        inputs = [sample(name, 40, seed=rng.randrange(99)) for name in EXACT]

        def body(*loads: Scalar) -> Scalar:
            leaves = {load.dtype: [load, Literal(3 if load.dtype != "bool" else True, load.dtype)] for load in loads}
            return random_element(rng, 5, leaves, dtype)

        kernel = elementwise(body, EXACT, 40)
        expected = np.zeros(40, dtype)
        run_kernel(kernel, [*inputs, expected])
        np.testing.assert_array_equal(plain(run(kernel, *inputs, numerics="exact")), plain(expected), err_msg=str(kernel))


def test_default_numerics_keep_every_single_operation() -> None:
    x = np.array([1e-8, -0.0, np.inf, np.nan, 1e30] * 20, np.float32)

    def body(a: Scalar) -> Scalar:
        one = Literal(1.0, "float32")
        return call("subtract", call("subtract", call("add", a, one), one), call("multiply", a, Literal(0.0, "float32")))

    with np.errstate(all="ignore"):
        expected = ((x + 1) - 1) - x * 0
    np.testing.assert_array_equal(run(elementwise(body, ("float32",), 100), x), expected)


@pytest.mark.parametrize(
    "body",
    [
        (Store("nowhere", var("i", 0, 3), Literal(1.0, "float32")),),
        (Store("out", var("i", 0, 3), Literal(1.0, "float64")),),
        (Store("out", var("i", 0, 3), Literal(1.0, "float32"), "less"),),
        (Store("out", var("i", 0, 3), Literal(1.0, "float32"), "median"),),
        (Store("out", var("i", 0, 3), Temp("nothing", "float32")),),
        (Let("t", Literal(1, "int32")), Store("out", var("i", 0, 3), Temp("t", "float32"))),
        (Fold("t", "product", "float32", var("r", 0, 3), (), Literal(1.0, "float32")),),
        (Fold("t", "sum", "float32", var("r", 0, 3), (), Literal(1.0, "float64")),),
        (Store("out", var("i", 0, 3), astype(Load("nowhere", var("i", 0, 3), "bool"), "float32")),),
        (Store("out", var("i", 0, 3), Pick("nowhere", (4,), (Literal(0, "int64"),), "float32")),),
    ],
)
def test_an_illegal_statement_is_reported(body: tuple[Stmt, ...]) -> None:
    kernel = Kernel("illegal", (Buffer("out", "float32", 4, "out"),), (For(Var("i", 0, 3), "serial", body),))
    with pytest.raises(InternalError, match="codegen: found"):
        compiled([kernel])


@pytest.mark.parametrize(("rows", "width"), some(itertools.product([8, 16, 32, 64, 128], [1, 2, 3, 4, 8])))
def test_places_wrap_around_at_powers_of_two(rows: int, width: int) -> None:
    """LLVM 22 loads what lies behind the last row instead of the first one, if it knows that the row is a counter modulo a power of two."""
    size = 2 * rows * width
    for shift in (1, rows - 1, 5):
        batch, row, column, term = var("i0", 0, 1), var("i1", 0, rows - 1), var("i2", 0, width - 1), var("r0", 0, rows - 1)
        here = batch * (rows * width) + row * width + column
        turned = batch * (rows * width) + (row + shift) % rows * width + column
        total = batch * (rows * width) + (term + shift) % rows * width + column
        x, y = Load("x", turned, "float64"), Load("x", here, "float64")
        stored = Store("out", here, call("add", call("multiply", x, Literal(0.5, "float64")), y))
        folded = Fold("t", "sum", "float64", term, (), Load("x", total, "float64"))
        added = Store("out", batch * width + column, Temp("t", "float64"))
        buffers = (Buffer("x", "float64", size, "in"), Buffer("out", "float64", size, "out"))
        inner = For(batch, "parallel", (For(row, "parallel", (For(column, "parallel", (stored,)),)),))
        sums = For(batch, "parallel", (For(column, "parallel", (folded, added)),))
        data = np.random.default_rng(shift).integers(1, 9, size).astype("float64")
        for loop in (inner, sums):
            kernel = Kernel("wrapping", buffers, (loop,))
            found, expected = np.zeros(size), np.zeros(size)
            run_kernel(kernel, [data, expected])
            compiled([kernel]).routine("wrapping")([data, found])
            np.testing.assert_array_equal(found, expected)
