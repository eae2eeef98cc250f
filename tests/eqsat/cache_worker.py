"""What the tests of the shared cache run in processes of their own: `python -m tests.eqsat.cache_worker ACTION`.

share THREADS CALLS   threads call, compile and share functions, each so often, and now and then clear the cache; the last line says
                      how many calls were right
once                  one call; the last line says whether egglog was loaded
write                 entries without an end, until somebody kills the process
"""

from __future__ import annotations

import os
import random
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import eqsat
import eqsat.numpy as enp
from eqsat.egraph.engine import bindings
from eqsat.keeping.disk import Store

FUNCTIONS = 6
WHOLE, ENTRY_BYTES = 3, 16 << 20


def stated(k: int, x: Any) -> Any:
    return enp.exp(x * (k % 4 + 1)) @ x.T + k


def by_jit(k: int, x: Any) -> Any:
    return eqsat.jit(stated, static="k")(k, x)


def by_lazy(k: int, x: Any) -> Any:
    return np.asarray(stated(k, enp.asarray(x)))


def by_result(k: int, x: Any) -> Any:
    return eqsat.optimize(stated, k, x)(x)


def work(seed: int, calls: int, right: list[int]) -> None:
    chosen = random.Random(seed)
    for _ in range(calls):
        k, rows = chosen.randrange(FUNCTIONS), chosen.choice((3, 40))
        x = np.linspace(-1, 1, rows * 5).reshape(rows, 5)
        found = chosen.choice((by_jit, by_jit, by_lazy, by_result))(k, x)
        right.append(int(np.allclose(found, np.exp(x * (k % 4 + 1)) @ x.T + k, rtol=1e-12)))
        if chosen.random() < 0.02:
            eqsat.cache.clear()


def share(count: str, calls: str) -> None:
    right: list[int] = []
    threads = [threading.Thread(target=work, args=(os.getpid() * 100 + k, int(calls), right)) for k in range(int(count))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(sum(right), "of", len(right))


def once() -> None:
    x = np.ones((4, 4))
    by_jit(1, x)
    by_lazy(1, x)
    print(bindings.cache_info().currsize > 0)


def write() -> None:
    store = Store(Path(os.environ["EQSAT_CACHE_DIR"]))
    for k in range(WHOLE):
        store.put(f"whole {k}", bytes(ENTRY_BYTES))
    print("ready", flush=True)
    while True:
        store.put("more", bytes(ENTRY_BYTES))


ACTIONS: dict[str, Callable[..., None]] = {"share": share, "once": once, "write": write}

if __name__ == "__main__":
    ACTIONS[sys.argv[1]](*sys.argv[2:])
