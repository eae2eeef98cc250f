"""Acceptance rows c and e of the main job, printed: `python -m tests.bench.bench_main_job`.  Nothing gates on these figures.

Row c: the image pipeline beside NumPy, calls interleaved, medians, on one thread and on two; jax beside it where installed.
Row e: warm `simplify` of one index expression, warm `optimize` of the image pipeline (no result caches exist, inputs are
distinct), `import eqsat` in a fresh process.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import eqsat
import eqsat.numpy as enp
from eqsat.command_line.beside_numpy import interleaved_medians
from eqsat.demo import image_pipeline, image_pipeline_by_hand, photographs
from eqsat.ir.index import Index


def milliseconds(calls: list[Callable[[], object]]) -> tuple[float, float]:
    """Median wall and processor time of the calls, the first left out as a warm-up."""
    wall, processor = [], []
    for call in calls:
        start, used = time.perf_counter(), time.process_time()
        call()
        wall.append((time.perf_counter() - start) * 1e3)
        processor.append((time.process_time() - used) * 1e3)
    return statistics.median(wall[1:]), statistics.median(processor[1:])


def image_times() -> None:
    image = photographs()["china.jpg"]
    compiled = eqsat.optimize(lambda x: image_pipeline(enp, x), image)
    for threads in (1, 2):
        eqsat.set_num_threads(threads)
        found = interleaved_medians({"eqsat": lambda: compiled(image), "NumPy by hand": lambda: image_pipeline_by_hand(image)}, budget=4.0)
        ratio = found["NumPy by hand"] / found["eqsat"]
        times = ", ".join(f"{name} {seconds * 1e3:.2f} ms" for name, seconds in found.items())
        print(f"row c, {threads} thread(s): {times}, ratio {ratio:.2f}")


def expression(k: int) -> Index:
    r, q = eqsat.var(f"r{k}", 0, 31 + k), eqsat.var(f"q{k}", 0, 5 + k % 3)
    return (r // 8) * 8 + r % 8 + (q * 8 + r) // 4


def optimizer_times() -> None:
    plain = [eqsat.var(f"r{k}", 0, 31 + k) for k in range(100)]
    wall, processor = milliseconds([lambda r=r: eqsat.simplify((r // 8) * 8 + r % 8) for r in plain])  # type: ignore[misc]
    print(f"row e, simplify of (r//8)*8 + r%8: {wall:.2f} ms, processor {processor:.2f} ms")
    terms = [expression(k) for k in range(100)]
    wall, processor = milliseconds([lambda t=t: eqsat.simplify(t) for t in terms])  # type: ignore[misc]
    print(f"row e, simplify of (r//8)*8 + r%8 + (q*8 + r)//4: {wall:.2f} ms, processor {processor:.2f} ms")
    programs = [eqsat.trace(lambda x: image_pipeline(enp, x), eqsat.spec((400 + 2 * k, 640, 3), "float32")) for k in range(16)]
    wall, processor = milliseconds([lambda p=p: eqsat.optimize(p) for p in programs])  # type: ignore[misc]
    print(f"row e, optimize of the image pipeline: {wall:.1f} ms, processor {processor:.1f} ms")


def import_time() -> None:
    script = "import time; t = time.perf_counter(); import eqsat; print(time.perf_counter() - t)"
    runs = [float(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout) for _ in range(5)]
    print(f"row e, import eqsat: median {statistics.median(runs):.3f} s of {len(runs)} processes")


if __name__ == "__main__":
    image_times()
    optimizer_times()
    import_time()
