"""Memory of results: aligned, kept for the next ones, and otherwise as NumPy's own."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
import tracemalloc

import numpy as np
import pytest

import eqsat
from eqsat.codegen.calls.direct_code import LEAST_BYTES
from eqsat.codegen.memory.results import KEPT_MOST, SLOTS, supported
from eqsat.running.results import new_array, results_memory

F4, F8 = np.dtype("float32"), np.dtype("float64")

needs_memory = pytest.mark.skipif(not supported(), reason="only NumPy allocates on this system")


@needs_memory
@pytest.mark.parametrize("size", [LEAST_BYTES, LEAST_BYTES + 1, 70_001, 1 << 20, 5 << 20])
def test_arrays_are_aligned_and_own_their_data(size: int) -> None:
    array = new_array((size,), np.dtype("uint8"))
    assert array.ctypes.data % 64 == 0
    assert array.flags.owndata
    assert array.base is None
    array[:] = 7
    assert int(array.sum()) == 7 * size


def test_small_arrays_are_numpys() -> None:
    assert new_array((3, 0, 5), F4).shape == (3, 0, 5)
    assert new_array((), F8).shape == ()
    assert new_array((3, 5), F4).flags.owndata


@needs_memory
@pytest.mark.parametrize("count", [LEAST_BYTES // 4, 100_000])
def test_blocks_serve_again_the_latest_first(count: int) -> None:
    memory = results_memory()
    assert memory is not None
    memory.clear()
    first, second, other = new_array((count,), F4), new_array((count,), F4), new_array((count + 1,), F4)
    places = [array.ctypes.data for array in (first, second, other)]
    assert len(set(places)) == 3
    del first, other, second
    assert memory.kept_bytes == 4 * (3 * count + 1)
    assert [new_array((n,), F4).ctypes.data for n in (count, count + 1)] == [places[1], places[2]]
    again = [new_array((count,), F4) for _ in range(3)]
    assert [array.ctypes.data for array in again[:2]] == [places[1], places[0]]
    assert again[2].ctypes.data not in places
    del again
    memory.clear()
    assert memory.kept_bytes == 0


@needs_memory
def test_so_many_blocks_are_kept_and_no_more() -> None:
    memory = results_memory()
    assert memory is not None
    memory.clear()
    arrays = [new_array((LEAST_BYTES + k,), np.dtype("uint8")) for k in range(SLOTS + 5)]
    while arrays:
        del arrays[0]
    assert memory.kept_bytes == sum(LEAST_BYTES + k for k in range(5, SLOTS + 5))
    memory.clear()


@needs_memory
def test_so_many_bytes_are_kept_and_no_more() -> None:
    memory = results_memory()
    assert memory is not None
    memory.clear()
    kind = np.dtype("uint8")
    first, second, too_large = (new_array((n,), kind) for n in (KEPT_MOST - 5000, 5001, KEPT_MOST + 1))
    del too_large
    assert memory.kept_bytes == 0
    del first
    assert memory.kept_bytes == KEPT_MOST - 5000
    del second
    assert memory.kept_bytes == 5001
    memory.clear()


@needs_memory
def test_they_leave_no_references() -> None:
    kind = np.dtype([("a", "f8")])
    before = sys.getrefcount(kind)
    arrays = [new_array((1000,), kind) for _ in range(5)]
    assert sys.getrefcount(kind) == before + 5
    del arrays
    assert sys.getrefcount(kind) == before
    with pytest.raises(MemoryError):
        new_array((1 << 60,), F8)
    assert sys.getrefcount(kind) == before


@needs_memory
def test_tracemalloc_sees_them() -> None:
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        arrays = [new_array((10_000,), F4) for _ in range(20)]
        during, _ = tracemalloc.get_traced_memory()
        del arrays
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert during - before > 800_000
    assert after - before < 40_000


def test_they_are_arrays_as_any_other() -> None:
    array = new_array((512, 512), F8)
    array[...] = np.arange(512 * 512).reshape(512, 512)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(array)), array)
    view = array[3:7]
    expected = np.arange(512 * 512).reshape(512, 512)[3:7]
    del array
    np.testing.assert_array_equal(view, expected)
    grown = new_array((512, 512), F8)
    grown[...] = 1.0
    grown.resize((600, 512), refcheck=False)
    assert grown[:512].sum() == 512 * 512
    assert not grown[512:].any()


def test_results_of_calls_are_independent() -> None:
    function = eqsat.jit(lambda x: x + 1.0)
    x = np.zeros(LEAST_BYTES // 4, np.float32)
    results = [function(x) for _ in range(3)]
    results[0][:] = 5.0
    assert {float(result[0]) for result in results[1:]} == {1.0}
    assert len({result.ctypes.data for result in results}) == 3


def test_threads_allocate_and_drop_at_once() -> None:
    wrong: list[int] = []

    def work(number: int) -> None:
        for _ in range(40):
            array = new_array((LEAST_BYTES // 4 + 16,), F4)
            array[::4096] = number
            if not (array[::4096] == number).all():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_process_ends_with_results_alive() -> None:
    code = "import numpy as np, eqsat; f = eqsat.jit(lambda x: x * 2); x = np.ones(1 << 23, 'f4'); keep = [f(x), f(x)]; print(keep[1][-1])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "2.0"), done.stderr
