"""Memory of large results: aligned, kept once, and otherwise as NumPy's own."""

from __future__ import annotations

import gc
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import eqsat
from eqsat.codegen.calls.direct_code import LEAST_BYTES
from eqsat.codegen.memory.results import KEPT_MOST, supported
from eqsat.running.results import large_memory, new_array

F4, F8 = np.dtype("float32"), np.dtype("float64")

needs_memory = pytest.mark.skipif(not supported(), reason="only NumPy allocates on this system")


@needs_memory
@pytest.mark.parametrize("size", [LEAST_BYTES, LEAST_BYTES + 1, 1 << 20, 5 << 20])
def test_large_arrays_are_aligned_and_own_their_data(size: int) -> None:
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
def test_a_block_serves_again_and_only_one_is_kept() -> None:
    memory = large_memory()
    assert memory is not None
    memory.clear()
    shape = (LEAST_BYTES // 4 + 1000,)
    first, second = new_array(shape, F4), new_array(shape, F4)
    places = first.ctypes.data, second.ctypes.data
    assert places[0] != places[1]
    del first
    again = new_array(shape, F4)
    assert again.ctypes.data == places[0]
    other = new_array((shape[0] + 1,), F4)
    assert other.ctypes.data not in places
    place = other.ctypes.data
    del again, second, other  # the latest is kept, the ones before it are not
    assert new_array((shape[0] + 1,), F4).ctypes.data == place
    gc.collect()
    memory.clear()


@needs_memory
def test_arrays_that_are_too_large_are_not_kept() -> None:
    memory = large_memory()
    assert memory is not None
    memory.clear()
    del_me = new_array((KEPT_MOST + 64,), np.dtype("uint8"))
    del del_me
    kept = memory._kept[1]
    assert kept == 0


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
