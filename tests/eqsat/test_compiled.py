"""Calls without Python in between give what calls through Python give, and hand on what they do not know."""

from __future__ import annotations

import gc
import inspect
import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import eqsat
import eqsat.numpy as enp
from eqsat.codegen.calls.pool import supported as pools_are_supported
from eqsat.ir.errors import DTypeError, ShapeError, UsageError
from eqsat.running import plan as plans
from eqsat.running.direct_call import MOST_PLANS
from eqsat.threads import TEAM
from tests.effort import examples

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(11)
A, B = (RNG.standard_normal((6, 5)).astype(np.float32) for _ in range(2))

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "one result": lambda a, b: a * b + 1,
    "two results": lambda a, b: (a - b, (a @ b.T).sum()),
    "one result in a tuple": lambda a, b: (enp.maximum(a, b),),
    "no dimensions": lambda a, b: (a * b).sum(),
    "kernels with memory between": lambda a, b: (a @ b.T) @ (a @ b.T).T / (1 + enp.abs(a).sum()),
    "constants": lambda a, b: a @ np.linspace(0, 1, 5, dtype=np.float32) + b[:, 0],
    "another dtype": lambda a, b: (a > b).sum(axis=0),
}


def is_direct(function: Any) -> bool:
    return type(function.func) is type(len)


def twice(function: Any, *arguments: Any) -> Any:
    function(*arguments)
    return function(*arguments)


@pytest.fixture
def without_direct(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "supported", lambda: False)


def same(found: Any, expected: Any) -> None:
    found, expected = (value if isinstance(value, tuple) else (value,) for value in (found, expected))
    for one, other in zip(found, expected, strict=True):
        assert type(one) is np.ndarray
        assert (one.dtype, one.shape, one.flags.carray) == (other.dtype, other.shape, True)
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_those_of_calls_through_python(name: str) -> None:
    fast, slow = eqsat.jit(FUNCTIONS[name]), eqsat.jit(FUNCTIONS[name])
    expected = slow(A, B)
    assert not is_direct(slow)
    for _ in range(4):
        same(fast(A, B), expected)
    assert is_direct(fast)
    same(fast(B, A), slow(B, A))


@pytest.mark.usefixtures("without_direct")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_where_objects_are_laid_out_in_another_way_python_calls(name: str) -> None:
    function = eqsat.jit(FUNCTIONS[name])
    expected = function(A, B)
    for _ in range(3):
        same(function(A, B), expected)
    assert not is_direct(function)


NAMED = {"dict": lambda a: {"x": a + 1}, "twice": lambda a: [a * 2], "same twice": lambda a: (-a, -a)}


@pytest.mark.parametrize("name", NAMED)
def test_results_that_are_more_than_new_arrays_need_python(name: str) -> None:
    function = eqsat.jit(NAMED[name])
    for _ in range(3):
        function(A)
    assert not is_direct(function)


def test_results_are_new_and_go_where_the_caller_says() -> None:
    function = eqsat.jit(FUNCTIONS["one result"])
    first, second = twice(function, A, B), function(A, B)
    assert not np.may_share_memory(first, second)
    out = np.full_like(A, np.nan)
    assert function(A, B, out=out) is out
    np.testing.assert_array_equal(out, first)
    assert is_direct(function)


@pytest.mark.parametrize("shift", [0, 1, 30])
def test_out_may_overlap_the_arguments(shift: int) -> None:
    function = eqsat.jit(lambda a, b: a[::-1] + b)
    memory = np.concatenate([A.ravel(), B.ravel()])
    a, b, out = (memory[start : start + 30].reshape(6, 5) for start in (0, 30, shift))
    expected = twice(function, a.copy(), b.copy())
    assert function(a, b, out=out) is out
    np.testing.assert_array_equal(out, expected)


WRONG: dict[str, tuple[Callable[[Any], Any], type[Exception]]] = {
    "too few": (lambda f: f(A), UsageError),
    "too many": (lambda f: f(A, B, A), UsageError),
    "another keyword": (lambda f: f(A, B, away=A), UsageError),
    "two keywords": (lambda f: f(A, B, out=A.copy(), away=A), UsageError),
    "a set": (lambda f: f(A, {1, 2}), UsageError),
    "shapes that do not fit": (lambda f: f(A, B[:2]), ShapeError),
    "out of another shape": (lambda f: f(A, B, out=np.empty(30, np.float32)), ShapeError),
    "out of another dtype": (lambda f: f(A, B, out=np.empty((6, 5))), DTypeError),
    "out that is read-only": (lambda f: f(A, B, out=np.broadcast_to(np.float32(0), (6, 5))), UsageError),
    "out that is a list of nothing": (lambda f: f(A, B, out=[]), UsageError),
    "out that is a number": (lambda f: f(A, B, out=3), UsageError),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said_as_before(name: str) -> None:
    call, error = WRONG[name]
    slow, fast = eqsat.jit(FUNCTIONS["one result"]), eqsat.jit(FUNCTIONS["one result"])
    twice(fast, A, B)
    assert is_direct(fast)
    with pytest.raises(error) as first:
        call(slow)
    with pytest.raises(error) as second:
        call(fast)
    assert str(first.value) == str(second.value)


class Subclass(np.ndarray[Any, Any]):
    """No plain array."""


OTHERS: dict[str, Callable[[], Array]] = {
    "strided": lambda: np.repeat(A, 2, axis=1)[:, ::2],
    "backwards": lambda: A[::-1].copy()[::-1],
    "in the other order": lambda: np.asfortranarray(A),
    "misaligned": lambda: np.frombuffer(b"x" + A.tobytes(), np.float32, offset=1).reshape(6, 5),
    "read-only": lambda: np.frombuffer(A.tobytes(), np.float32).reshape(6, 5),
    "of another shape": lambda: A[:3].copy(),
    "of another rank": lambda: A[0].copy(),
    "of another dtype": lambda: A.astype(np.float64),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_arrays_are_taken_as_before(name: str) -> None:
    function = eqsat.jit(lambda a: a * 2 + 1)
    twice(function, A)
    assert is_direct(function)
    array = OTHERS[name]()
    for _ in range(3):
        np.testing.assert_allclose(function(array), array * 2 + 1, rtol=1e-6)
    np.testing.assert_allclose(function(A), A * 2 + 1, rtol=1e-6)


def test_subclasses_and_numbers_go_through_python() -> None:
    function = eqsat.jit(lambda a, n: a * n)
    twice(function, A, np.array(2.0, np.float32))
    np.testing.assert_array_equal(function(A, 3), A * 3)
    np.testing.assert_array_equal(function(A, np.float32(3)), A * 3)
    with pytest.raises(UsageError):
        function(A.view(Subclass), 3)


def test_many_shapes_are_each_their_own_plan() -> None:
    function = eqsat.jit(lambda a: a * 2)
    for _ in range(3):
        for n in range(MOST_PLANS + 3):
            np.testing.assert_array_equal(function(np.arange(n)), np.arange(n) * 2)


def test_nothing_leaks() -> None:
    function = eqsat.jit(FUNCTIONS["two results"])
    twice(function, A, B)
    counted = [A, B, A.dtype, function]
    before = [sys.getrefcount(one) for one in counted]
    for _ in range(100):
        results = function(A, B)
    assert [sys.getrefcount(one) for one in results] == [3, 3]
    del results
    assert [sys.getrefcount(one) for one in counted] == before
    single, out = eqsat.jit(FUNCTIONS["one result"]), np.empty_like(A)
    twice(single, A, B)
    for _ in range(100):
        single(A, B, out=out)
    assert sys.getrefcount(out) == 2
    gone = weakref.ref(single)
    del single
    gc.collect()
    assert gone() is None


def test_it_still_looks_like_the_function() -> None:
    @eqsat.jit
    def doubled(a: Array, scale: int = 2) -> Array:
        """Twice as much."""
        return a * scale

    twice(doubled, A)
    assert is_direct(doubled)
    assert (doubled.__name__, doubled.__doc__) == ("doubled", "Twice as much.")
    assert list(inspect.signature(doubled).parameters) == ["a", "scale"]
    assert "doubled" in repr(doubled)
    np.testing.assert_array_equal(doubled(A, scale=3), A * 3)
    np.testing.assert_array_equal(doubled.__wrapped__(A), A * 2)  # type: ignore[attr-defined]


def test_what_is_called_need_not_have_a_name() -> None:
    class Twice:
        def __call__(self, a: Array) -> Array:
            return a * 2

    function = eqsat.jit(Twice())
    np.testing.assert_array_equal(twice(function, A), A * 2)
    assert is_direct(function)
    assert "Twice" in repr(function)


def test_a_parameter_called_out_is_an_argument() -> None:
    function = eqsat.jit(lambda a, out: a + out)
    twice(function, A, B)
    np.testing.assert_array_equal(function(A, out=B), A + B)
    np.testing.assert_array_equal(function(A, B), A + B)


def test_methods_are_bound() -> None:
    class Model:
        @eqsat.jit(static="self")
        def run(self, a: Array) -> Array:
            return a + 1

    model = Model()
    for _ in range(3):
        np.testing.assert_array_equal(model.run(A), A + 1)
    np.testing.assert_array_equal(Model.run(model, A), A + 1)


def test_compiled_functions_call_each_other() -> None:
    inner = eqsat.jit(lambda a: a * 2)
    twice(inner, A)
    np.testing.assert_array_equal(twice(eqsat.jit(lambda a: inner(a) + 1), A), A * 2 + 1)
    np.testing.assert_array_equal(np.asarray(inner(enp.asarray(A))), A * 2)


def test_threads_learn_and_call_at_once() -> None:
    function = eqsat.jit(FUNCTIONS["kernels with memory between"])
    pairs = [tuple(RNG.standard_normal((n, 5)).astype(np.float32) for _ in range(2)) for n in (3, 4, 5)]
    expected = [eqsat.jit(FUNCTIONS["kernels with memory between"])(*pair) for pair in pairs]
    wrong: list[int] = []

    def work(seed: int) -> None:
        for k in np.random.default_rng(seed).integers(0, 3, 200):
            if not np.array_equal(function(*pairs[k]), expected[k]):
                wrong.append(int(k))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from(["float32", "int64", "bool"]), st.booleans()),
        min_size=4,
        max_size=12,
    )
)
def test_any_order_of_signatures(calls: list[tuple[int, int, str, bool]]) -> None:
    function = eqsat.jit(lambda a: enp.where(a > 0, a, -a) if a.dtype != bool else ~a)
    for rows, columns, dtype, strided in calls:
        array = (np.arange(2 * rows * columns).reshape(rows, 2 * columns) % 3 - 1).astype(dtype)
        array = array[:, ::2] if strided else np.ascontiguousarray(array[:, ::2])
        expected = ~array if dtype == "bool" else np.abs(array)
        np.testing.assert_array_equal(function(array), expected)


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    before = eqsat.num_threads()
    yield eqsat.set_num_threads
    eqsat.set_num_threads(before)


LARGE = RNG.standard_normal((512, 600)).astype(np.float32)


def rows(x: Any) -> Any:
    """Some 200 us: worth splitting, and still without Python."""
    return enp.exp(x) + enp.tanh(x)


def test_calls_without_python_are_split_over_threads(threads: Callable[[int], None]) -> None:
    function, expected = eqsat.jit(rows), eqsat.optimize(rows, LARGE)(LARGE)
    for _ in range(3):
        same(function(LARGE), expected)
    assert is_direct(function)
    (launch,) = eqsat.optimize(rows, LARGE).compile()._launches
    assert launch.splits
    for count in (1, 2, 8, 3, 1, 2):
        threads(count)
        for _ in range(5):
            same(function(LARGE), expected)
        assert bool(TEAM[0]) == (count > 1 and pools_are_supported())


class Again:
    """Garbage that calls a function when it is collected."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.call, self.itself = call, self

    def __del__(self) -> None:
        self.call()


def test_collections_that_call_the_same_function_do_no_harm() -> None:
    """Allocating a large result may collect garbage, and that may run the plan which is about to run; also while NumPy's memory handler, a
    context variable, is being set, which CPython does not survive (codegen/memory/results.py)."""
    function, one, other = eqsat.jit(lambda a: a + 1), np.full(1 << 18, 10, np.float32), np.full(1 << 18, 500, np.float32)
    for _ in range(3):
        function(one)
    assert is_direct(function)
    before = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for _ in range(400):
            Again(lambda: function(other))
            assert (function(one) == 11).all()
    finally:
        gc.set_threshold(*before)


def test_indices_are_checked_without_python() -> None:
    table, places = RNG.standard_normal((50, 3)), np.array([4, -50, 49, 0])
    function = eqsat.jit(lambda t, i: (t[i], t.sum()))
    for _ in range(3):
        np.testing.assert_array_equal(function(table, places)[0], table[places])
    assert is_direct(function)
    for wrong in (50, -51, 2**40, -(2**62)):
        with pytest.raises(IndexError, match=r"expected -50\.\.49"):
            function(table, np.array([4, wrong, 49, 0]))
    np.testing.assert_array_equal(function(table, places)[0], table[places])


@pytest.fixture
def all_are_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "LONG_NS", 0.0)


@pytest.mark.usefixtures("all_are_long")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_calls_without_the_lock_give_the_same(name: str) -> None:
    function, inputs = eqsat.jit(FUNCTIONS[name]), [RNG.standard_normal((2, 6, 5)).astype(np.float32) for _ in range(8)]
    expected = [twice(function, *pair) for pair in inputs]
    assert is_direct(function)
    wrong: list[int] = []

    def work(number: int) -> None:
        for _ in range(200):
            found = function(*inputs[number])
            pairs = zip(found, expected[number], strict=True) if isinstance(found, tuple) else [(found, expected[number])]
            if not all(np.array_equal(one, other) for one, other in pairs):
                wrong.append(number)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_the_lock_is_free_while_a_long_plan_runs(threads: Callable[[int], None]) -> None:
    threads(1)
    function, x = eqsat.jit(lambda x: enp.exp(enp.tanh(enp.sin(x))) + enp.cos(x)), np.tile(LARGE, (30, 1))
    twice(function, x)
    assert is_direct(function)
    counted, done = [0], threading.Event()

    def count() -> None:
        while not done.is_set():
            counted[0] += 1

    counter = threading.Thread(target=count)
    counter.start()
    try:
        before = counted[0]
        function(x)
        during = counted[0] - before
    finally:
        done.set()
        counter.join()
    assert during > 10_000


def test_threads_of_python_that_call_at_once_share_the_pool(threads: Callable[[int], None]) -> None:
    """Some calls find it at work and do all of their kernel; large ones let go of the GIL."""
    threads(2)
    function, larger = eqsat.jit(rows), np.tile(LARGE, (16, 1))
    expected, expected_larger = eqsat.optimize(rows, LARGE)(LARGE), eqsat.optimize(rows, larger)(larger)
    wrong: list[int] = []

    def work(number: int) -> None:
        for k in range(30):
            some = (number + k) % 5 == 0
            found, right = (function(larger), expected_larger) if some else (function(LARGE), expected)
            if not np.array_equal(found, right):
                wrong.append(number)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong
    assert is_direct(function)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_child_has_no_pool_of_its_parent(threads: Callable[[int], None]) -> None:
    threads(2)
    function, expected = eqsat.jit(rows), eqsat.optimize(rows, LARGE)(LARGE)
    for _ in range(3):
        same(function(LARGE), expected)
    child = os.fork()
    if child == 0:
        right = not TEAM[0] and np.array_equal(function(LARGE), expected)
        eqsat.set_num_threads(3)
        right = right and np.array_equal(function(LARGE), expected)
        os._exit(0 if right else 1)
    assert os.waitpid(child, 0)[1] == 0
    same(function(LARGE), expected)
