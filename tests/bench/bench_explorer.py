"""How fast the e-graph explorer is in the browser: `python -m tests.bench.bench_explorer`.

An e-graph of more than 10,000 nodes, of 60 chained reshapes and sines, is opened in Chromium without a window; then a pan and a zoom
step are timed, from the call until the picture is on the screen: with the boxes that are shown at first, and with the most that are shown
at a time, seen from afar and from near.
"""

from __future__ import annotations

import statistics
import time

import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.exploring import EGraph
from eqsat.exploring.widget import packed
from tests.notebooks.browser import Shown, explorer_page, needs_browser

OPEN_MS, STEP_MS = 2000.0, 60.0
STEPS = 40
_TIMED = """
const times = [];
for (let k = 0; k < STEPS; k++) {
  await new Promise(requestAnimationFrame);
  const start = performance.now();
  ACT;
  await new Promise((done) => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = done;
    channel.port2.postMessage(0);
  }));
  times.push(performance.now() - start);
}
return times;"""
_PAN = "e.picture.moveBy(k % 2 ? 37 : -31, k % 3 ? 11 : -23)"
_ZOOM = "e.picture.zoomBy(k % 2 ? 1.25 : 0.8)"


def large_egraph() -> EGraph:
    def chained(x: eqsat.Program) -> object:
        for k in range(60):
            x = enp.sin(x.reshape(8, 8).T.reshape(64) * 2 + k)  # type: ignore[attr-defined]
        return x

    return eqsat.explore(chained, eqsat.spec((64,), "float32"))


def step_times(shown: Shown, act: str) -> list[float]:
    return [float(ms) for ms in shown.run(_TIMED.replace("STEPS", str(STEPS)).replace("ACT", act))]


def measure() -> dict[str, float]:
    """Milliseconds of everything that has a limit, and how large the e-graph was."""
    start = time.perf_counter()
    graph = large_egraph()
    found = {"explore s": time.perf_counter() - start, "nodes": float(len(graph.nodes)), "classes": float(len(graph.classes))}
    data = packed(graph)
    found["sent bytes"] = float(len(data))
    with explorer_page(data) as shown:
        found["open ms"] = shown.opened_ms
        assert f"of {len(graph.classes)} classes shown, {len(graph.nodes)} nodes" in shown.count
        for name in ("first", "afar", "near"):
            for kind, act in (("pan", _PAN), ("zoom", _ZOOM)):
                times = step_times(shown, act)
                found[f"{kind} {name} median ms"], found[f"{kind} {name} worst ms"] = statistics.median(times), max(times)
            found[f"{name} boxes"] = float(shown.page.locator(".box").count())
            if name == "first":
                start = time.perf_counter()
                shown.run("for (let k = 0; k < 12; k++) e.grow();")
                found["grow s"] = time.perf_counter() - start
            elif name == "afar":
                shown.run("e.picture.selection.call(e.picture.zoom.scaleTo, 0.7); e.picture.centre([...e.shown()][60]);")
        found["step ms"] = float(shown.run("const start = performance.now(); e.go(10); return performance.now() - start"))
    return found


@pytest.mark.bench
@needs_browser
def test_a_large_egraph_opens_and_moves_in_time() -> None:
    found = measure()
    assert found["nodes"] >= 10_000
    assert found["open ms"] < OPEN_MS
    assert all(ms < STEP_MS for name, ms in found.items() if name.endswith("median ms"))


if __name__ == "__main__":
    for name, value in measure().items():
        print(f"{name:24} {value:12,.1f}")
