"""Makes docs/performance.md of the results of a run of ../shared/bench/bench.py.

    python -m tests.bench.performance_page RESULTS.json DATE MACHINE

A ratio is the time of the fastest peer over ours.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

US = "eqsat"
PAGE = Path(__file__).parents[2] / "docs" / "performance.md"
# kinds of peers: what they make of the same program, and what people wrote and scheduled by hand for each workload
BY_HAND = ("halide", "numba_loops")

Times = dict[str, dict[str, float]]


def times_of(records: list[dict[str, Any]], threads: int) -> Times:
    """Seconds by workload and peer, of right results alone."""
    found: Times = {}
    for record in records:
        if record["kind"] == "result" and record["ok"] and record["threads"] == threads:
            found.setdefault(record["wl"], {})[record["peer"]] = record["median_s"]
    return {name: times for name, times in found.items() if US in times and len(times) > 1}


def best(times: dict[str, float], without: tuple[str, ...] = ()) -> tuple[str, float]:
    """The fastest peer, and its time over ours; ("", nan) where there is none."""
    peers = {peer: seconds for peer, seconds in times.items() if peer != US and peer not in without}
    if not peers:
        return "", math.nan
    name = min(peers, key=lambda peer: peers[peer])
    return name, peers[name] / times[US]


def geometric_mean(ratios: list[float]) -> float:
    known = [ratio for ratio in ratios if ratio == ratio]
    return math.exp(sum(map(math.log, known)) / len(known))


def text(seconds: float) -> str:
    return f"{seconds * 1e6:.1f} us" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"


def table(times: Times) -> list[str]:
    lines = ["| program | eqsat | fastest compiler or library | ratio | fastest of all | ratio |", "|---|---|---|---|---|---|"]
    for name, row in times.items():
        compiled, every = best(row, BY_HAND), best(row)
        cells = (name, text(row[US]), compiled[0], f"{compiled[1]:.2f}", every[0], f"{every[1]:.2f}")
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def summary(times: Times) -> str:
    compiled, every = ([best(row, without)[1] for row in times.values()] for without in (BY_HAND, ()))
    low = sorted((best(row)[1], name) for name, row in times.items())[:6]
    lowest = ", ".join(f"{name} {ratio:.2f}" for ratio, name in low)
    return (
        f"Geometric mean of the ratio to the fastest compiler or library {geometric_mean(compiled):.2f}, to the fastest of all, loops and "
        f"Halide schedules written by hand for each program included, {geometric_mean(every):.2f}.  Lowest: {lowest}."
    )


def page(records: list[dict[str, Any]], date: str, machine: str) -> str:
    versions = {r["peer"]: r["version"] for r in records if r["kind"] == "setup" and r["version"]}
    peers = ", ".join(f"{peer} {version}" for peer, version in sorted(versions.items()) if peer != US)
    lines = [
        "# Performance",
        "",
        f"Made by `python -m tests.bench.performance_page` of a run of the side-by-side benchmark, {date}, {machine}.",
        "Steady state, native arrays in and out, results checked against NumPy, rounds interleaved, medians.  A ratio above 1 says that",
        f"eqsat is faster; between 0.9 and 1.1 is a tie on this machine.  Peers: {peers}.",
        "",
    ]
    for threads in sorted({record["threads"] for record in records}):
        times = times_of(records, threads)
        lines += [f"## {threads} thread{'s' if threads > 1 else ''}", "", summary(times), "", *table(times), ""]
    return "\n".join(lines)


def main() -> None:
    path, date, machine = sys.argv[1:]
    PAGE.write_text(page(json.loads(Path(path).read_text())["records"], date, machine))


if __name__ == "__main__":
    main()
