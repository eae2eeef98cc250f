"""An optimized program beside plain NumPy: cost, kernels, rules, deviation and time, measured and put in a table."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import eqsat
from eqsat.ir.tensor import Constant, Input, Program, tensors
from eqsat.proving.deviation import deviation
from eqsat.proving.values import TOLERANCE, tolerance_of

RULES_SHOWN = 6


@dataclass(frozen=True)
class Comparison:
    """What `beside_numpy` found; costs are estimated nanoseconds, times medians in seconds per call, by name."""

    title: str
    cost: tuple[float, float]
    kernels: tuple[int, int]
    matches: Mapping[str, int]
    stop_reason: str
    deviation: float
    allowed: float
    seconds: Mapping[str, float]
    value: Any

    @property
    def agrees(self) -> bool:
        """Whether every output equals NumPy's within TOLERANCE."""
        return self.deviation <= self.allowed

    def __str__(self) -> str:
        return table(self)


def beside_numpy(
    title: str,
    function: Callable[..., Any],
    arrays: tuple[np.ndarray[Any, Any], ...],
    peers: Mapping[str, Callable[..., Any]],
    options: eqsat.Options | None = None,
    budget: float = 1.0,
) -> Comparison:
    """Optimizes `function(*arrays)`, checks it against the first of `peers` and times it beside all of them.

    `peers` maps names to functions of the same arrays; the first is the reference.  `budget`: seconds spent on timing.
    Raises what `eqsat.trace` and `eqsat.optimize` raise.
    """
    program = eqsat.trace(function, *arrays)
    result = eqsat.optimize(program, options=options or eqsat.Options())
    value = result(*arrays)
    reference = next(iter(peers.values()))(*arrays)
    found, allowed = max_deviation(value, reference, tolerance_of(program))
    calls = {"eqsat": partial(result, *arrays)} | {name: partial(peer, *arrays) for name, peer in peers.items()}
    return Comparison(
        title=title,
        cost=(float(result.original_cost), float(result.cost)),
        kernels=(kernel_count(program), kernel_count(result.program)),
        matches=result.report.fired,
        stop_reason=result.report.stop_reason.value,
        deviation=found,
        allowed=allowed,
        seconds=interleaved_medians(calls, budget),
        value=value,
    )


def kernel_count(program: Program) -> int:
    """How many arrays the program computes, each by a kernel of its own."""
    return sum(not isinstance(tensor, Input | Constant) for tensor in tensors(*program.outputs))


def leaves(value: Any) -> Iterator[np.ndarray[Any, Any]]:
    """The arrays in nested tuples, lists and dicts."""
    if isinstance(value, Mapping):
        value = tuple(value.values())
    if isinstance(value, tuple | list):
        for part in value:
            yield from leaves(part)
    else:
        yield np.asarray(value)


def max_deviation(value: Any, reference: Any, coarsest: float = 0.0) -> tuple[float, float]:
    """The largest deviation among the outputs and its tolerance; one beyond its tolerance comes before one within.

    coarsest  what the coarsest dtype between inputs and outputs allows: floats may deviate as much
    """
    got, expected = list(leaves(value)), list(leaves(reference))
    if len(got) != len(expected):
        return float("inf"), 0.0
    pairs = [
        (deviation(a, b), max(TOLERANCE[b.dtype.name], coarsest) if b.dtype.name in TOLERANCE else 0.0)
        for a, b in zip(got, expected, strict=True)
    ]
    return max(pairs, key=lambda pair: (pair[0] > pair[1], pair[0]), default=(0.0, 0.0))


def interleaved_medians(calls: Mapping[str, Callable[[], object]], budget: float = 1.0, least: int = 5) -> dict[str, float]:
    """Median seconds of each call, all called in turn so that noise hits them alike; at least `least` rounds."""
    samples: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    end = time.perf_counter() + budget
    while len(next(iter(samples.values()))) < least or time.perf_counter() < end:
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            samples[name].append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in samples.items()}


def table(found: Comparison) -> str:
    """The comparison as lines of text."""
    ours = found.seconds["eqsat"]
    others = "".join(f" | {name} {duration(t)} ({t / ours:.1f}x)" for name, t in found.seconds.items() if name != "eqsat")
    verdict = "" if found.agrees else "  MISMATCH"
    lines = [
        found.title,
        f"  cost       {duration(found.cost[0] * 1e-9)} -> {duration(found.cost[1] * 1e-9)} (estimated)",
        f"  kernels    {found.kernels[0]} -> {found.kernels[1]}",
        f"  rules      {_rules(found.matches)}; stopped: {found.stop_reason}",
        f"  deviation  {found.deviation:.1e} of the scale, {found.allowed:.0e} allowed{verdict}",
        f"  time       eqsat {duration(ours)}{others}",
    ]
    return "\n".join(lines)


def _rules(matches: Mapping[str, int]) -> str:
    shown = ", ".join(f"{name} {count}" for name, count in list(matches.items())[:RULES_SHOWN])
    more = ", ..." if len(matches) > RULES_SHOWN else ""
    return f"{len(matches)} fired {sum(matches.values())} times: {shown}{more}" if matches else "none fired"


def duration(seconds: float) -> str:
    """12.3 us."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
