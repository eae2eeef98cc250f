"""Lazy tensors: values when asked, shared work once, arrays that nobody can change behind them, memory that is let go."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import eqsat
import eqsat.numpy as enp
from eqsat.calling import lazy
from eqsat.capture.arguments import check_arguments
from eqsat.capture.traces import is_lazy
from eqsat.driver import optimize_program
from eqsat.ir.containers import rebuild_result
from eqsat.ir.errors import DTypeError, TraceError, UnsupportedError, UsageError
from eqsat.ir.evaluate import evaluate
from eqsat.ir.tensor import Constant, Program, tensors
from eqsat.options import Options
from eqsat.result import Result
from tests.effort import examples
from tests.eqsat.programs import RandomProgram, programs
from tests.eqsat.test_tracing import ONE_ARRAY

F = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
N = np.arange(1, 7)
Results = list[Result]


@dataclass
class Interpreted:
    """The reference interpreter in place of a plan."""

    program: Program

    def result(self, arrays: list[Any]) -> Any:
        return rebuild_result(self.program.structure, evaluate(self.program, check_arguments(self.program.inputs, arrays)))


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lazy, "plan_of", lambda program, _options: Interpreted(program))


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Results:
    """Every program that is optimized and compiled for lazy tensors, none being known before."""
    results: Results = []

    def spy(program: Program, options: Options) -> Result:
        results.append(optimize_program(program, options))
        return results[-1]

    monkeypatch.setattr("eqsat.running.plans.optimize_program", spy)
    lazy.PLANS.clear()
    return results


def products(results: Results) -> int:
    """How many kernels read the first two inputs."""
    return sum({0, 1} <= set(kernel.buffers) for result in results for kernel in result.compile().kernels)


# values --------------------------------------------------------------------------------------------------------------
@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("name", ONE_ARRAY)
def test_every_operation_on_a_lazy_tensor_equals_numpy(name: str) -> None:
    function, array = ONE_ARRAY[name]
    with np.errstate(all="ignore"):
        expected = np.asarray(function(array))
    result = function(enp.asarray(array))
    assert is_lazy(result)
    found = np.asarray(result)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    tolerance = 1e-5 if expected.dtype == np.float32 else 1e-12
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.usefixtures("interpreted")
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(programs())
def test_random_programs_on_lazy_tensors_equal_numpy(program: RandomProgram) -> None:
    outputs = program(*map(enp.asarray, program.arrays))
    program.check(list(eqsat.realize(*(enp.asarray(output) for output in outputs))), "as lazy tensors")


def test_the_example_of_the_contract_holds() -> None:
    t = enp.asarray(np.arange(6.0))
    u = (t.reshape(2, 3).transpose(1, 0) + 1).sum(axis=0)
    v = t * 2
    assert repr(u) == "LazyTensor(shape=(2,), dtype=float64)"
    assert np.array_equal(np.asarray(u), [6.0, 15.0])
    first, second = eqsat.realize(u, v)
    assert np.array_equal(first, [6.0, 15.0])
    assert np.array_equal(second, np.arange(6.0) * 2)
    assert eqsat.realize() == ()


class Pair(NamedTuple):
    left: Any
    right: Any


def test_containers_of_lazy_tensors_come_back_with_arrays_in_them() -> None:
    t = enp.asarray(np.arange(3.0))
    u = t + 1
    nested, alone = eqsat.realize({"a": u, "b": [t, (u * 2, Pair(u, t))]}, t * 3)
    as_jit = eqsat.jit(lambda t, u: {"a": u, "b": [t, (u * 2, Pair(u, t))]})(np.arange(3.0), np.arange(1.0, 4.0))
    assert repr(nested) == repr(as_jit)
    np.testing.assert_array_equal(alone, [0, 3, 6])
    with pytest.raises(UsageError, match=r"realize\['a'\]\[1\]: found a int, expected lazy tensors"):
        eqsat.realize({"a": [t, 1]})


@pytest.mark.usefixtures("interpreted")
def test_python_may_ask_a_lazy_tensor_for_its_value() -> None:
    t = enp.asarray(N)
    assert (float(t[0]), int(t.sum()), bool(t[0] > 3), t[-1:].item(), t[:2].tolist()) == (1.0, 21, False, 6, [1, 2])
    assert t.item(2) == 3
    assert [k for k in range(t[2])] == [0, 1, 2]  # noqa: C416
    assert int(t[t[1]]) == 3
    assert t[: t[1]].tolist() == [1, 2]
    assert 6 in t
    assert 7 not in t
    assert max(float(part) for part in t) == 6.0
    while t.sum() > 10:
        t = t // 2
    assert t.tolist() == [0, 1, 1, 2, 2, 3]


@pytest.mark.parametrize("places", [np.array(2), np.array([2]), np.array([[2]]), np.array([2, 0])], ids=lambda places: str(places.shape))
def test_a_lazy_tensor_as_an_index_of_an_array_is_what_the_array_is(places: Any) -> None:
    table = np.arange(12).reshape(3, 4)
    found = table[enp.asarray(places)]
    np.testing.assert_array_equal(found, table[places], strict=True)


@pytest.mark.usefixtures("interpreted")
def test_conversions_to_arrays_take_dtype_and_copy() -> None:
    u = enp.asarray(N) + 1
    assert np.asarray(u, dtype="float32").dtype == np.float32
    assert np.asarray(u) is np.asarray(u)
    writeable = np.array(u)
    writeable[:] = 0
    assert u.tolist() == [2, 3, 4, 5, 6, 7]
    with pytest.raises(ValueError, match="copy"):
        np.array(u, dtype="float32", copy=False)


@pytest.mark.usefixtures("interpreted")
def test_lists_numbers_and_other_byte_orders_become_arrays() -> None:
    assert enp.asarray([[1, 2], [3, 4]]).dtype == np.int64
    assert enp.asarray(2.5).shape == ()
    assert enp.asarray([1, 2], dtype="float32").dtype == np.float32
    assert (enp.asarray(N.astype(">i8")) * 2).tolist() == (N * 2).tolist()
    assert (enp.asarray(N)[::-1] + enp.asarray(N[::-1])).tolist() == (2 * N[::-1]).tolist()
    assert (F[::-1, ::2] + enp.asarray(F)[:, :2]).dtype == np.float32
    assert np.asarray(enp.asarray(F[:0]) * 2).shape == (0, 4)
    t = enp.asarray(N)
    assert enp.asarray(t) is t


WRONG: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "longdouble": (lambda t: enp.asarray(np.ones(2, np.longdouble)), DTypeError, "asarray: found float128"),
    "objects": (lambda t: enp.asarray([None]), DTypeError, "asarray: found object"),
    "a masked array": (lambda t: enp.asarray(np.ma.masked_array(F)), UsageError, "asarray: found a MaskedArray"),
    "float() of several elements": (lambda t: float(t), UsageError, r"float\(\): found LazyTensor\(shape=\(6,\)"),
    "a list indexed by one element in a row": (lambda t: [1, 2, 3][t[:1]], UsageError, "expected one element in a 0-d array"),
    "bool() of several elements": (lambda t: bool(t), UsageError, "expected one element"),
    "realize of an array": (lambda t: eqsat.realize(t, N), UsageError, "realize: found a ndarray, expected lazy tensors"),
    "realize in a trace": (lambda t: eqsat.trace(lambda x: eqsat.realize(x), N), UsageError, "realize: found a TracedArray"),
    "a change in place": (lambda t: t.__iadd__(1), UnsupportedError, "x = x"),
    "an extent that is a lazy tensor": (lambda t: t.reshape(t[0]), TraceError, r"int\(\) of a lazy tensor"),
    "a mask": (lambda t: t[t > 2], UnsupportedError, "where"),
    "optimize of lazy tensors and arrays": (lambda t: eqsat.optimize(t, N), UsageError, "expected a Program"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_use_of_lazy_tensors_is_told(name: str) -> None:
    function, error, words = WRONG[name]
    with pytest.raises(error, match=words):
        function(enp.asarray(N))


# arrays --------------------------------------------------------------------------------------------------------------
@pytest.mark.usefixtures("interpreted")
def test_what_is_written_to_an_array_afterwards_does_not_matter() -> None:
    array = N.copy()
    t = enp.asarray(array)
    u = t + 1
    array[:] = 0
    assert u.tolist() == (N + 1).tolist()
    assert t.tolist() == N.tolist()
    assert (enp.asarray(array) + 1).tolist() == [1] * 6


def test_an_array_is_one_leaf_until_it_is_written_to() -> None:
    array = N.copy()
    t = enp.asarray(array)
    assert enp.asarray(array).tensor is t.tensor
    array[0] = 7
    assert enp.asarray(array).tensor is not t.tensor
    nan, zero = np.array([np.nan]), np.array([0.0])
    t, u = enp.asarray(nan), enp.asarray(zero)
    assert enp.asarray(nan).tensor is t.tensor
    zero *= -1
    assert enp.asarray(zero).tensor is not u.tensor


def test_only_arrays_that_nobody_can_write_to_are_not_copied() -> None:
    array = N.copy()
    view = array.view()
    view.flags.writeable = False
    read_only = N.copy()
    read_only.flags.writeable = False
    of_bytes = np.frombuffer(N.tobytes(), N.dtype)
    taken = [np.shares_memory(np.asarray(enp.asarray(value)), value) for value in (array, view, read_only, read_only[1:], of_bytes)]
    assert taken == [False, False, True, True, True]


@pytest.mark.usefixtures("interpreted")
def test_results_cannot_be_written_to() -> None:
    t = enp.asarray(N)
    for found in (np.asarray(t), np.asarray(t + 1), eqsat.realize(t * 3)[0]):
        with pytest.raises(ValueError, match="read-only"):
            found[0] = 5
        with pytest.raises(ValueError, match="WRITEABLE"):
            found.flags.writeable = True


# sharing -------------------------------------------------------------------------------------------------------------
def test_identical_computations_are_one_node() -> None:
    s, t = enp.asarray(F), enp.asarray(F)
    assert (np.exp(s) + F).tensor is (enp.exp(t) + F.copy()).tensor
    assert (s + 1).tensor is not (s + 2).tensor
    assert (s + 1).tensor is not (enp.asarray(F.copy()) + 1).tensor


def test_several_outputs_share_work_in_one_plan(compiled: Results) -> None:
    a, b = np.random.default_rng(0).random((2, 64, 64))

    def outputs() -> tuple[Any, Any]:
        product = enp.asarray(a) @ enp.asarray(b)
        return product.min(axis=0), product.max(axis=1)

    together = eqsat.realize(*outputs())
    assert len(compiled) == 1
    assert len(compiled[0].compile().kernels) <= 3
    assert products(compiled) == 1
    shared_cost = compiled.pop().cost
    apart = [np.asarray(output) for output in outputs()]
    assert (len(compiled), products(compiled)) == (2, 2)
    assert float(shared_cost) < 0.7 * sum(float(result.cost) for result in compiled)
    for found, expected in zip((*together, *apart), ((a @ b).min(axis=0), (a @ b).max(axis=1)) * 2, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_what_was_computed_is_read_by_all_that_refers_to_it(compiled: Results) -> None:
    t = enp.asarray(F)
    product, same = t @ t.T, t @ t.T
    column_sums, shifted = np.exp(product).sum(axis=0), same + 1
    np.asarray(product)
    np.testing.assert_allclose(np.asarray(column_sums), np.exp(F @ F.T).sum(axis=0), rtol=1e-5)
    np.testing.assert_allclose(np.asarray(shifted), F @ F.T + 1, rtol=1e-5)
    assert [[tensor.shape for tensor in result.original.inputs] for result in compiled] == [[(3, 4)], [(3, 3)], [(3, 3)]]
    assert np.asarray(same) is np.asarray(product)
    np.testing.assert_allclose(np.asarray(np.exp(product) * same), np.exp(F @ F.T) * (F @ F.T), rtol=1e-5)
    assert [tensor.shape for tensor in compiled[3].original.inputs] == [(3, 3)]


def test_a_result_that_was_asked_for_twice_is_computed_once(compiled: Results) -> None:
    u = enp.asarray(F) * 3
    first, second = eqsat.realize(u, enp.asarray(F) * 3)
    assert first is second
    assert np.asarray(u) is first
    assert len(compiled) == 1


def test_a_plan_serves_other_data_of_the_same_structure(compiled: Results) -> None:
    for seed in range(3):
        array = np.random.default_rng(seed).random((3, 4))
        found = np.asarray(enp.asarray(array) * 2 + array[0])
        np.testing.assert_allclose(found, array * 2 + array[0], rtol=1e-12)
    assert len(compiled) == 1
    same = enp.asarray(F.astype(float))
    np.asarray(same * 2 + same[0])
    np.asarray(same[:2] * 2 + F.astype(float)[0])
    np.asarray(same * 3 + F.astype(float)[0])
    assert len(compiled) == 4
    eqsat.realize(enp.asarray(array) * 2 + array[0] + 0, options=Options(numerics="exact"))
    assert compiled[-1].options.numerics == "exact"


def test_plans_hold_no_arrays(compiled: Results) -> None:
    np.asarray(enp.asarray(F) + np.ones(4, np.float32))
    assert [tensor for tensor in tensors(*compiled[0].original.outputs) if isinstance(tensor, Constant)] == []
    assert [tensor.name for tensor in compiled[0].original.inputs] == ["x0", "x1"]


def test_optimize_shows_the_program_of_lazy_tensors() -> None:
    t = enp.asarray(F)
    result = eqsat.optimize(t * 2 + 1, (t * 2).sum())
    first, second = result(F)
    np.testing.assert_allclose(first, F * 2 + 1, rtol=1e-6)
    np.testing.assert_allclose(second, (F * 2).sum(), atol=1e-5)


# memory --------------------------------------------------------------------------------------------------------------
@pytest.fixture
def new_objects_only() -> Iterator[None]:
    """What a collection looks at: of all that other tests have left behind, each takes half a second."""
    gc.freeze()
    yield
    gc.unfreeze()


def alive(reference: weakref.ref[Any]) -> bool:
    gc.collect()
    return reference() is not None


@pytest.mark.usefixtures("new_objects_only")
def test_memory_is_let_go_with_the_last_tensor_that_refers_to_it() -> None:
    t = enp.asarray(np.random.default_rng(0).random((3, 4)))
    u = t * 2
    v = u + 1
    source, result = weakref.ref(np.asarray(t)), weakref.ref(np.asarray(u))
    del t, u
    assert alive(result)
    last = weakref.ref(np.asarray(v))
    assert not alive(source)
    assert not alive(result)
    assert alive(last)
    del v
    assert not alive(last)


@pytest.mark.usefixtures("new_objects_only")
def test_a_tensor_that_was_computed_lets_go_of_what_it_was_made_of() -> None:
    t = enp.asarray(np.random.default_rng(0).random((3, 4)))
    u = t * 2
    source = weakref.ref(np.asarray(t))
    del t
    assert alive(source)
    np.asarray(u)
    assert not alive(source)


@pytest.mark.usefixtures("new_objects_only")
def test_a_loop_of_realized_steps_keeps_only_the_last() -> None:
    array = np.random.default_rng(0).random((3, 4))
    x = enp.asarray(array)
    kept: list[weakref.ref[Any]] = []
    for _ in range(5):
        x = x * 0.5 + 1
        kept.append(weakref.ref(np.asarray(x)))
    assert [alive(reference) for reference in kept] == [False] * 4 + [True]
    del x
    assert not alive(kept[-1])


@pytest.mark.usefixtures("new_objects_only")
def test_an_array_that_numpy_has_outlives_its_tensors() -> None:
    found = np.asarray(enp.asarray(F) + 1)
    gc.collect()
    assert np.array_equal(found, F + 1)
    assert enp.asarray(found).tensor is enp.asarray(found).tensor


# traces and threads --------------------------------------------------------------------------------------------------
def test_a_lazy_tensor_in_a_trace_is_a_constant() -> None:
    t = enp.asarray(F) * 2
    program = eqsat.trace(lambda x: (x + t, t), F)
    constants = [tensor.data for tensor in tensors(*program.outputs) if isinstance(tensor, Constant)]
    assert len(constants) == 1
    assert np.array_equal(constants[0], F * 2)
    assert len(program.inputs) == 1


def test_threads_share_lazy_tensors(compiled: Results) -> None:
    t = enp.asarray(np.random.default_rng(0).random((40, 40)))
    u = (t @ t).sum(axis=0)
    expected = (np.asarray(t) @ np.asarray(t)).sum(axis=0)
    barrier = threading.Barrier(6)

    def ask(k: int) -> Any:
        barrier.wait()
        return np.asarray(u if k % 2 else u * 1.0 + k)

    with ThreadPoolExecutor(6) as pool:
        for k, found in enumerate(pool.map(ask, range(6))):
            np.testing.assert_allclose(found, expected if k % 2 else expected + k, rtol=1e-12)
    programs_seen = [result.original for result in compiled]
    assert len(programs_seen) == len(set(programs_seen))


@pytest.mark.parametrize("requirements", [None, [], "C", "caw", ["C_CONTIGUOUS", "aligned"], ("W", "O", "E"), ["ENSUREARRAY"]])
def test_arrays_are_what_is_required_of_them(requirements: Any) -> None:
    assert enp.require(a=F, requirements=requirements).tolist() == np.require(F, requirements=requirements).tolist()
    assert enp.asarray(a=F).tolist() == F.tolist()


@pytest.mark.parametrize("requirements", ["F", ["F_CONTIGUOUS"], ["fortran", "A"]])
def test_the_order_of_fortran_is_no_requirement_that_can_be_met(requirements: Any) -> None:
    with pytest.raises(UnsupportedError, match="lies in C order"):
        enp.require(F, requirements=requirements)


@pytest.mark.parametrize("requirements", ["X", ["C", "sorted"], [3], "C_CONTIGUOUS"])
def test_what_numpy_does_not_require_is_an_error(requirements: Any) -> None:
    with pytest.raises(UsageError, match="found the requirement"):
        enp.require(F, requirements=requirements)
