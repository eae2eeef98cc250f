"""Plans: kernels in groups, memory between them, results where the caller wants them."""

from __future__ import annotations

import copy
import gc
import itertools
import pickle
import subprocess
import sys
import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.ir.errors import DTypeError, ShapeError, UnsupportedError, UsageError
from eqsat.running.plan import Plan

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(7)
A, B, C = (RNG.standard_normal((24, 24)).astype(np.float32) for _ in range(3))


def chain(a: Any, b: Any) -> Any:
    x = a @ b
    for _ in range(4):
        x = (x / 24) @ b
    return x


def bent(a: Any, b: Any) -> Any:
    """Products with a function between, which is computed of a whole row of sums."""
    x = a @ b
    for _ in range(4):
        x = enp.tanh(x) @ b
    return x


def apart(a: Any, b: Any, c: Any) -> Any:
    return (a @ b) @ (b @ c), {"sum": (a @ c).sum(axis=0)}


def plan_of(function: Any, *arrays: Array, options: eqsat.Options | None = None) -> Plan:
    plan = eqsat.optimize(function, *arrays, options=options).compile()
    assert isinstance(plan, Plan)
    return plan


def test_a_kernel_comes_after_those_that_it_reads_and_groups_are_their_levels() -> None:
    plan = plan_of(apart, A, B, C)
    written: dict[int, int] = {}
    for position, kernel in enumerate(plan.kernels):
        # one that writes over what it reads comes after who wrote that
        assert kernel.dependencies == tuple(sorted({written[slot] for slot in kernel.buffers if slot in written}))
        assert all(earlier < position for earlier in kernel.dependencies)
        assert kernel.group == max((plan.kernels[earlier].group + 1 for earlier in kernel.dependencies), default=0)
        written.update(dict.fromkeys(kernel.written, position))
    assert [kernel.group for kernel in plan.kernels] == sorted(kernel.group for kernel in plan.kernels)
    assert sum(kernel.group == 0 for kernel in plan.kernels) >= 2


def test_arrays_between_kernels_share_memory_when_they_are_not_alive_together() -> None:
    a, b = (RNG.standard_normal((80, 80)).astype(np.float32) for _ in range(2))
    plan = plan_of(chain, a, b)
    between = [buffer for buffer in plan.buffers if buffer.role == "intermediate"]
    assert len(between) == 3  # of five products with one matrix, four: its square is computed once
    assert len(plan.storages) == 2
    assert sum(plan.storages) == 2 * a.nbytes
    np.testing.assert_allclose(plan(a, b), chain(a, b), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(plan(b, a), chain(b, a), rtol=1e-4, atol=1e-4)


def test_rows_that_one_tile_holds_are_written_over_what_was_read() -> None:
    a, b = (np.ascontiguousarray(array) for array in (A[:40, :40], B[:40, :40]))
    plan = plan_of(bent, a, b)
    assert [buffer.role for buffer in plan.buffers] == ["input", "input", "intermediate", "output"]
    np.testing.assert_allclose(plan(a, b), bent(a, b), rtol=1e-4, atol=1e-5)


def test_the_result_is_written_where_the_caller_says() -> None:
    plan = plan_of(chain, A, B)
    out = np.full_like(A, np.nan)
    assert plan(A, B, out=out) is out
    np.testing.assert_array_equal(out, plan(A, B))
    assert plan.output(0) is not out
    strided = np.full((24, 48), np.nan, np.float32)[:, ::2]
    plan(A, B, out=strided)
    np.testing.assert_array_equal(strided, out)


def test_several_results_are_written_where_the_caller_says() -> None:
    plan = plan_of(apart, A, B, C)
    expected = plan(A, B, C)
    outs = [np.zeros((24, 24), np.float32), np.zeros(24, np.float32)]
    found = plan(A, B, C, out=outs)
    assert found[0] is outs[0]
    assert found[1]["sum"] is outs[1]
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1]["sum"], expected[1]["sum"])
    assert plan.num_outputs == 2
    assert plan.output(1) is outs[1]


def test_an_output_that_is_an_input_or_overlaps_one_is_right_all_the_same() -> None:
    plan = plan_of(lambda a: enp.flip(a, axis=0) + a[:, ::-1], A)
    expected = plan(A)
    inplace = A.copy()
    plan(inplace, out=inplace)
    np.testing.assert_array_equal(inplace, expected)
    memory = np.concatenate([A, A])
    plan(memory[:24], out=memory[12:36])
    np.testing.assert_array_equal(memory[12:36], expected)


def test_the_latest_outputs_can_be_asked_for() -> None:
    plan = plan_of(chain, A, B)
    with pytest.raises(UsageError, match=r"output\(0\): found no run yet"):
        plan.output(0)
    result = plan(A, B)
    assert plan.output(0) is result
    with pytest.raises(UsageError, match=r"output\(1\): found 1 outputs"):
        plan.output(1)


def test_only_a_call_of_the_plan_is_the_latest_run() -> None:
    plan = plan_of(chain, A, B)
    np.testing.assert_array_equal(plan.result([A, B]), plan.run([A, B])[0])
    with pytest.raises(UsageError, match="found no run yet"):
        plan.output(0)


def test_one_memory_for_two_results_is_refused_before_anything_runs() -> None:
    both = eqsat.jit(lambda x: (x + 1, x * 2))
    twice = eqsat.jit(lambda x: (y := x + 1, y))
    x, memory = np.arange(3.0), np.zeros(6)
    for function in (both, twice):
        for _ in range(3):
            with pytest.raises(UsageError, match=r"out\[1\]: found the same array as out\[0\], expected an array of its own"):
                function(x, out=(x, x))
            with pytest.raises(UsageError, match=r"out\[1\]: found memory of out\[0\]"):
                function(x, out=(memory[:3], memory[2:5]))
        assert not memory.any()
        np.testing.assert_array_equal(function(x, out=(memory[::2], memory[1::2]))[0], x + 1)
        np.testing.assert_array_equal(memory[::2], x + 1)
        memory[:] = 0
        np.testing.assert_array_equal(x, np.arange(3.0))


@pytest.mark.parametrize(
    ("out", "error", "message"),
    [
        (np.zeros((24, 23), np.float32), ShapeError, "out: found float32"),
        (np.zeros((24, 24)), DTypeError, "out: found float64"),
        ([], UsageError, "out: found 0 arrays, expected 1 arrays"),
        ("x", UsageError, "out: found a str, expected 1 arrays"),
        ([[1.0]], UsageError, "out: found a list"),
        (np.broadcast_to(np.float32(0), (24, 24)), UsageError, "out: found a read-only array"),
    ],
)
def test_an_out_that_does_not_fit_is_refused_before_anything_runs(out: Any, error: type[Exception], message: str) -> None:
    plan = plan_of(chain, A, B)
    with pytest.raises(error, match=message):
        plan(A, B, out=out)
    with pytest.raises(UsageError, match="found no run yet"):
        plan.output(0)


def test_an_array_may_be_given_for_each_that_is_returned_or_for_each_output() -> None:
    def function(x: Array) -> Any:
        return x.max(1), {"again": np.amax(x, axis=1), "other": [x + 1, x.max(1)]}

    plan = plan_of(function, A)
    row, whole = np.zeros(A.shape[0], A.dtype), np.zeros_like(A)
    given = [row, row.copy(), whole, row.copy()]
    first, rest = plan(A, out=given)
    assert (first is row, rest["again"] is given[1], rest["other"][0] is whole, rest["other"][1] is given[3]) == (True,) * 4
    for found in (given[0], given[1], given[3]):
        np.testing.assert_array_equal(found, A.max(1))
    np.testing.assert_array_equal(plan.output(1), A + 1)
    row[:] = 0
    first, rest = plan(A, out=[row, whole])
    assert first is row
    np.testing.assert_array_equal(rest["again"], A.max(1))
    with pytest.raises(UsageError, match="found 3 arrays"):
        plan(A, out=given[:3])
    with pytest.raises(ShapeError, match=r"out\[3\]"):
        plan(A, out=[*given[:3], whole])


def test_what_is_made_of_constants_is_computed_once() -> None:
    weights = np.random.default_rng(3).uniform(-1, 1, (64, 64)).astype("float32")
    x = np.random.default_rng(4).uniform(-1, 1, (2000, 64)).astype("float32")
    result = eqsat.optimize(lambda x: (x @ enp.asarray(weights)) @ enp.asarray(weights).T, x)
    plan = result.compile()
    assert len(plan.blueprint.once) == 1
    assert [ns for _, ns in result.cost.breakdown()].count(0.0) == 1
    for _ in range(2):
        np.testing.assert_allclose(plan(x), x @ weights @ weights.T, rtol=1e-4, atol=1e-4)


def test_results_that_are_always_the_same_are_written_by_every_call() -> None:
    weights = np.random.default_rng(3).uniform(-1, 1, (64, 64)).astype("float32")
    result = eqsat.optimize(lambda x: (x + 1, enp.zeros((300, 5)), enp.asarray(weights) * 2, enp.eye(7)), np.ones(9))
    plan = result.compile()
    assert not plan.blueprint.once
    assert plan.direct is not None
    for _ in range(4):  # the last ones without Python
        found = plan(np.ones(9))
        for got, wanted in zip(found[1:], (np.zeros((300, 5)), weights * 2, np.eye(7)), strict=True):
            np.testing.assert_array_equal(got, wanted)
            got[:] = 9


def softmax(x: Any) -> Any:
    shifted = np.exp(x - x.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


def attention(q: Any, k: Any, v: Any) -> Any:
    return softmax(q @ k.T) @ v


WIDE = RNG.standard_normal((48, 512)).astype(np.float32)


def test_a_kernel_writes_over_what_nothing_reads_any_more() -> None:
    plan = plan_of(softmax, WIDE)
    assert len(plan.kernels) == 2
    assert [buffer.role for buffer in plan.buffers] == ["input", "output"]
    x, out = WIDE.copy(), np.empty_like(WIDE)
    expected = np.asarray(softmax(WIDE))
    np.testing.assert_allclose(plan(x, out=out), expected, rtol=1e-5)
    np.testing.assert_array_equal(x, WIDE)
    np.testing.assert_allclose(plan(x, out=x), expected, rtol=1e-5)
    few_kernels = eqsat.Options(target=replace(eqsat.DEFAULT_TARGET, launch_ns=1500.0))
    plan = plan_of(attention, A, B, C, options=few_kernels)
    assert len(plan.storages) == 1
    np.testing.assert_allclose(plan(A, B, C), attention(A, B, C), rtol=1e-4)


def test_what_is_read_later_is_not_written_over() -> None:
    def scores(x: Any) -> Any:
        shifted = np.exp(x - x.max(axis=1, keepdims=True))
        return shifted / shifted.sum(axis=1, keepdims=True), shifted

    plan = plan_of(scores, WIDE)
    for found, expected in zip(plan(WIDE), scores(WIDE), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert [buffer.role for buffer in plan.buffers].count("output") == 2


def test_what_parts_of_a_later_result_read_is_not_written_over_before() -> None:
    """The variance is computed in parts, which come before it, and as late as what shifts the same array in its own memory."""

    def scaled(np: Any, x: Any, y: Any, w: Any) -> Any:
        least = np.min(x) / (1 + np.abs(y))
        kept = np.maximum(least, x)
        product = kept.T @ w
        return product - least, np.maximum(np.var(product), 1) - kept.T

    arrays = RNG.standard_normal((17, 1391)), RNG.standard_normal(()), RNG.standard_normal((17, 100))
    plan = plan_of(lambda *given: scaled(enp, *given), *arrays)
    for found, expected in zip(plan(*arrays), scaled(np, *arrays), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    slots = [kernel.buffers for kernel in plan.kernels]
    writers = [(position, slot) for position, kernel in enumerate(plan.kernels) for slot in kernel.written]
    for position, slot in writers:
        earlier = [k for k, other in writers if other == slot and k < position]
        readers = [k for k, buffers in enumerate(slots[:position]) if slot in buffers] if earlier else []
        assert set(readers) <= set(plan.kernels[position].dependencies)


def test_copies_are_the_plan_itself_and_it_is_not_pickled() -> None:
    result = eqsat.optimize(chain, A, B)
    for value in (result, result.compile()):
        assert copy.copy(value) is value
        assert copy.deepcopy({"kept": [value]})["kept"][0] is value
        with pytest.raises(UsageError, match=r"pickle: found a (Result|Plan), which holds machine code"):
            pickle.dumps(value)
    again = pickle.loads(pickle.dumps(result.program))
    np.testing.assert_array_equal(eqsat.optimize(again)(A, B), result(A, B))


def test_a_position_that_is_no_number_is_told() -> None:
    plan = plan_of(chain, A, B)
    plan(A, B)
    with pytest.raises(UsageError, match="found 1 outputs"):
        plan.output("first")  # type: ignore[arg-type]


def test_more_elements_than_memory_has_are_counted() -> None:
    """2^80 elements, which are none in 64 bits."""
    ones = np.ones(1, np.int64)
    assert eqsat.jit(lambda x: np.broadcast_to(x, (2**40, 2**40))[5:7, 3:4] + 1)(ones).tolist() == [[2], [2]]
    with pytest.raises(UnsupportedError, match="64-bit"):
        eqsat.optimize(lambda x: x + 1, eqsat.spec((2**32, 2**32), "int8")).compile()


@pytest.mark.parametrize("several", [False, True])
def test_calls_without_python_are_calls_of_the_plan(several: bool) -> None:
    """From the third call on: results, the latest outputs, `out`, and what is refused."""

    def function(x: Any) -> Any:
        return (x + 1, x * 2) if several else x + 1

    plan = eqsat.optimize(function, eqsat.spec((5,), "float32")).compile()
    for k in range(5):
        x = np.full(5, k, np.float32)
        found = plan(x)
        results = found if several else (found,)
        assert len(results) == plan.num_outputs
        for position, (result, expected) in enumerate(zip(results, (x + 1, x * 2), strict=False)):
            np.testing.assert_array_equal(result, expected)
            assert plan.output(position) is result
        out = [np.empty(5, np.float32) for _ in results]
        np.testing.assert_array_equal(plan(x, out=out if several else out[0])[0], function(x)[0])
        assert plan.output(0) is out[0]
        np.testing.assert_array_equal(plan(np.repeat(x, 2)[::2])[0], function(x)[0])
        with pytest.raises(ShapeError, match="float32"):
            plan(np.zeros(4, np.float32))
        with pytest.raises(DTypeError):
            plan(np.zeros(5))
        with pytest.raises(UsageError):
            plan()


def test_a_plan_that_nothing_refers_to_is_gone_at_once() -> None:
    plan = eqsat.optimize(lambda x: x + 1, eqsat.spec((5,), "float32")).compile()
    for _ in range(4):
        plan(np.zeros(5, np.float32))
    known = weakref.ref(plan)
    gc.disable()
    try:
        del plan
        assert known() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("calls", [0, 2])
@pytest.mark.parametrize("extent", [4, eqsat.dim("n", 1, 9)], ids=str)
def test_an_output_that_is_an_input_is_what_that_was_before_the_call(extent: Any, calls: int) -> None:
    def function(x: Any, y: Any) -> Any:
        return x + y, x * y, x

    plan = eqsat.optimize(function, *[eqsat.spec((extent,), "float32")] * 2).compile()
    for places in itertools.product("xyo", repeat=3):
        if places.count("x") > 1 or places.count("y") > 1:
            continue
        x, y = np.arange(1, 5, dtype="float32"), np.arange(5, 9, dtype="float32")
        expected = [one.copy() for one in function(x, y)]
        for _ in range(calls):
            plan(x.copy(), y.copy())
        out = [{"x": x, "y": y}.get(place, np.zeros(4, "float32")) for place in places]
        plan(x, y, out=out)
        for found, wanted in zip(out, expected, strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_a_collection_of_garbage_may_call_a_plan_while_another_is_learned(tmp_path: Path) -> None:
    code = (
        "import gc, numpy as np, eqsat\n"
        "n = eqsat.dim('n', 1, 64)\n"
        "p = eqsat.optimize(lambda x: x + 1, eqsat.spec((n, 8), 'float32')).compile()\n"
        "q = eqsat.optimize(lambda x: x + 2, eqsat.spec((4, 4), 'float32')).compile()\n"
        "turned, inside = np.ones((4, 4), 'f4', order='F'), []\n"
        "def collected(phase, info):\n"
        "    if phase == 'start' and not inside:\n"
        "        inside.append(1); q(turned); inside.pop()\n"
        "q(turned); q(turned); gc.callbacks.append(collected); gc.set_threshold(1)\n"
        "for rows in range(1, 20):\n"
        "    for _ in range(3): assert (p(np.ones((rows, 8), 'f4')) == 2).all()\n"
        "gc.callbacks.clear()\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, timeout=100)
