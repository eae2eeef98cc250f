"""Kernels on several threads: every iteration runs once, whoever runs it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import eqsat
from eqsat import threads
from eqsat.codegen import compile_kernels, load_kernels
from eqsat.codegen.calls.pool import LOOKS, MOST_PIECES, Pool, supported
from eqsat.ir.index import Var
from eqsat.ir.loops import Buffer, For, Kernel, Load, Store
from eqsat.ir.tensor import Call, Literal
from eqsat.lowering import type_indices

Array = np.ndarray[Any, Any]
ROWS = 1000
ROOT = Path(__file__).parents[2]
ROW = Var("i", 0, ROWS - 1)

pytestmark = pytest.mark.skipif(not supported(), reason="threads of machine code need Linux on x86-64 or AArch64")


def counting_code() -> tuple[Any, int]:
    """x[i] = x[i] + 1, and the address of it; the code lives as long as the first."""
    add = Store("x", ROW, Call("add", (Load("x", ROW, "int64"), Literal(1, "int64")), "int64"))
    kernel = Kernel("count", (Buffer("x", "int64", ROWS, "out"),), (For(ROW, "parallel", (add,)),))
    code, _ = load_kernels(compile_kernels([type_indices(kernel)]).object_code, {"count": 1})
    return code, code.address("count.slots")


@pytest.fixture(scope="module")
def counting() -> tuple[Any, int]:
    return counting_code()


@pytest.mark.parametrize("workers", [0, 1, 3, 8])
def test_every_iteration_runs_once(counting: tuple[Any, int], workers: int) -> None:
    pool, x = Pool(workers), np.zeros(ROWS, np.int64)
    assert pool.workers == workers
    done = 0
    for pieces in (1, 2, 7, 64, ROWS, MOST_PIECES + 5):
        for _ in range(20):
            pool.run(counting[1], [x], ROWS, pieces)
            done += 1
            assert np.all(x == done)


def test_workers_that_fell_asleep_wake_up(counting: tuple[Any, int]) -> None:
    pool, x = Pool(2), np.zeros(ROWS, np.int64)
    assert LOOKS < 1e5
    for k in range(20):
        time.sleep(0.005)
        pool.run(counting[1], [x], ROWS, 8)
        assert np.all(x == k + 1)


def test_a_range_without_iterations(counting: tuple[Any, int]) -> None:
    x = np.zeros(ROWS, np.int64)
    Pool(1).run(counting[1], [x], 0, 4)
    assert not x.any()


@pytest.fixture
def split_everything(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("eqsat.running.plan.SPLIT_NS", 0.0)
    before = eqsat.num_threads()
    eqsat.set_num_threads(4)
    yield
    eqsat.set_num_threads(before)


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@pytest.mark.usefixtures("split_everything")
def test_threads_of_python_and_of_machine_code_compute_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(0).standard_normal((61, 33)).astype(np.float32)
    plan = eqsat.optimize(softmax, x).compile()
    found = plan(x)
    monkeypatch.setattr(threads, "supported", lambda: False)
    np.testing.assert_array_equal(plan(x), found)
    np.testing.assert_allclose(found, softmax(x), rtol=1e-5)


@pytest.mark.usefixtures("split_everything")
def test_calls_from_many_threads() -> None:
    x = np.random.default_rng(0).standard_normal((61, 33)).astype(np.float32)
    function = eqsat.jit(softmax)
    expected, wrong = function(x), []

    def work() -> None:
        for _ in range(100):
            if not np.array_equal(function(x), expected):
                wrong.append(1)

    callers = [threading.Thread(target=work) for _ in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not wrong


PROGRAM = """
import os, sys
import numpy as np
import eqsat, eqsat.running.plan
eqsat.running.plan.SPLIT_NS = 0.0
eqsat.set_num_threads(3)
x = np.arange(6000.0).reshape(60, 100)
function = eqsat.jit(lambda x: np.exp(x / 6000).sum(axis=1))
first = function(x)
if sys.argv[1] == "fork":
    child = os.fork()
    same = bool(np.array_equal(function(x), first))
    if child == 0:
        os._exit(0 if same else 1)
    assert same and os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
print("done")
"""


@pytest.mark.parametrize("how", ["exit", "fork"])
def test_processes_end_and_fork_while_threads_wait(how: str) -> None:
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", PROGRAM, how]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, env=os.environ, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


APART = """
import os, sys, time
import numpy as np
from eqsat.codegen.calls.pool import Pool
from tests.codegen.test_pool import counting_code

processors = sorted(os.sched_getaffinity(0))
code, address = counting_code()
before = set(os.listdir("/proc/self/task"))
pool, x = Pool(1), np.zeros(1000, np.int64)
(worker,) = set(os.listdir("/proc/self/task")) - before
main, may = processors[0], processors[: 1 if sys.argv[1] == "one" else len(processors)]
os.sched_setaffinity(0, {main})
os.sched_setaffinity(int(worker), {main})
for k in range(50):
    pool.run(address, [x], 1000, 8)
    time.sleep(0.001)
os.sched_setaffinity(int(worker), set(may))
for k in range(200):
    pool.run(address, [x], 1000, 8)
    time.sleep(0.001)
with open(f"/proc/self/task/{worker}/stat") as stat:
    here = int(stat.read().rsplit(")", 1)[1].split()[36])
assert (x == 250).all()
assert os.sched_getaffinity(int(worker)) == set(may)
assert (here == main) == (len(may) == 1), (here, main)
print("done")
"""


@pytest.mark.parametrize("may", ["one", "all"])
def test_a_worker_leaves_the_processor_of_who_calls_if_it_may(may: str) -> None:
    if may == "all" and len(os.sched_getaffinity(0)) < 2:
        pytest.skip("there is one processor only")
    done = subprocess.run([sys.executable, "-c", APART, may], capture_output=True, text=True, timeout=100, cwd=ROOT, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
