"""Acceptance row i of generated code: threads under stress, printed: `python -m tests.bench.bench_threads`.

Results for 1, 2 and 8 threads; 10,000 mixed calls from 8 threads of Python; a fork in the middle; the longest call over the median while
other processes load all processors; how often a thread that counts gets its turn while kernels run.
"""

from __future__ import annotations

import multiprocessing
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when NumPy is loaded
import statistics
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import eqsat
import eqsat.numpy as enp

RNG = np.random.default_rng(0)
CALLS, CALLERS = 10_000, 8


def softmax(x: Any) -> Any:
    shifted = enp.exp(x - x.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


# small ones, ones that threads share without Python, and ones that take longer than a millisecond
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "sum of a row": (lambda x: x.sum(axis=1), (RNG.standard_normal((8, 16)),)),
    "elementwise": (lambda x: enp.tanh(x) * x, (RNG.standard_normal((300, 500)).astype("f4"),)),
    "product": (lambda a, b: a @ b, tuple(RNG.standard_normal((2, 160, 160)).astype("f4"))),
    "softmax": (softmax, (RNG.standard_normal((400, 300)).astype("f4"),)),
    "long sum": (lambda x: (x * x).sum(), (RNG.standard_normal(1 << 18).astype("f4"),)),
    "longer": (lambda x: enp.exp(enp.tanh(x)) + enp.sin(x), (RNG.standard_normal(1 << 21).astype("f4"),)),
}


def same_for_all_counts() -> bool:
    found = {}
    for count in (1, 2, 8):
        eqsat.set_num_threads(count)
        found[count] = {name: [eqsat.jit(f)(*given) for _ in range(3)][-1] for name, (f, given) in PROGRAMS.items()}
    return all(np.array_equal(found[1][name], found[count][name]) for name in PROGRAMS for count in (2, 8))


def mixed_calls() -> tuple[int, float]:
    """Wrong results, and seconds."""
    functions = {name: eqsat.jit(function) for name, (function, _) in PROGRAMS.items()}
    expected = {name: functions[name](*given) for name, (_, given) in PROGRAMS.items()}
    wrong = [0] * CALLERS

    def work(number: int) -> None:
        draw = np.random.default_rng(number)
        names = list(PROGRAMS)
        for k in range(CALLS // CALLERS):
            name = names[int(draw.choice(6, p=(0.4, 0.2, 0.15, 0.1, 0.1, 0.05)))]
            wrong[number] += not np.array_equal(functions[name](*PROGRAMS[name][1]), expected[name])
            if number == 0 and k == CALLS // CALLERS // 2 and hasattr(os, "fork"):
                child = os.fork()
                if child == 0:
                    os._exit(int(not np.array_equal(functions["elementwise"](*PROGRAMS["elementwise"][1]), expected["elementwise"])))
                wrong[number] += os.waitpid(child, 0)[1]

    start = time.perf_counter()
    workers = [threading.Thread(target=work, args=(number,)) for number in range(CALLERS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(wrong), time.perf_counter() - start


def spin(stop: Any) -> None:
    while not stop.is_set():
        sum(range(1000))


def longest_over_median(load: bool, numpys: bool = False) -> dict[str, float]:
    """Of calls of every program; `numpys`: of NumPy, on the thread that calls, which the system stops just as well."""
    stop = multiprocessing.Event()
    others = [multiprocessing.Process(target=spin, args=(stop,)) for _ in range(os.cpu_count() or 1)] if load else []
    for other in others:
        other.start()
    found = {}
    for name, (function, given) in PROGRAMS.items():
        compiled = function if numpys else eqsat.jit(function)
        for _ in range(5):
            compiled(*given)
        times = []
        for _ in range(300):
            start = time.perf_counter()
            compiled(*given)
            times.append(time.perf_counter() - start)
        found[name] = max(times) / statistics.median(times)
    stop.set()
    for other in others:
        other.join()
    return found


def counted_during_kernels() -> tuple[float, float]:
    """Turns of a counting thread in a second beside a sleeping one, and beside calls of the longest program."""
    function, given = PROGRAMS["longer"]
    compiled = eqsat.jit(function)
    compiled(*given)
    rates = []
    for run in (lambda: time.sleep(0.001), lambda: compiled(*given)):
        count, done = [0], threading.Event()

        def turn(count: list[int] = count, done: threading.Event = done) -> None:
            while not done.is_set():
                count[0] += 1

        counter = threading.Thread(target=turn)
        counter.start()
        end = time.perf_counter() + 1
        while time.perf_counter() < end:
            run()
        done.set()
        counter.join()
        rates.append(float(count[0]))
    return rates[0], rates[1]


def main() -> None:
    print(f"results of 1, 2 and 8 threads are {'the same' if same_for_all_counts() else 'DIFFERENT'} bit by bit")
    eqsat.set_num_threads(2)
    wrong, seconds = mixed_calls()
    print(f"{CALLS} mixed calls from {CALLERS} threads of Python, a fork among them: {wrong} wrong, {seconds:.1f} s")
    for load, threads in ((False, 2), (True, 2), (True, 1), (True, None)):
        eqsat.set_num_threads(threads or 1)
        text = ", ".join(f"{name} {ratio:.1f}" for name, ratio in longest_over_median(load, threads is None).items())
        who = "NumPy" if threads is None else f"{threads} thread{'s'[: threads - 1]}"
        print(f"longest of 300 calls over the median, {who}, {'all processors loaded' if load else 'by itself'}: {text}")
    eqsat.set_num_threads(1)
    alone, beside = counted_during_kernels()
    print(f"a thread that counts: {alone:.0f} turns a second beside one that sleeps, {beside:.0f} beside kernels of several milliseconds")


if __name__ == "__main__":
    main()
