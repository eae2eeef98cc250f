"""`python -m eqsat bench`: a function under `eqsat.jit` beside the same under NumPy, checked first, then timed in turns."""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from eqsat.calling.jitting import jit
from eqsat.capture.tracing import trace
from eqsat.command_line.answer import Answer, Facts, Table, finite
from eqsat.command_line.arrays import add_arguments, call_text, filled, load_arguments
from eqsat.command_line.beside_numpy import duration, interleaved_medians, max_deviation
from eqsat.command_line.functions import Function, blamed, load_function
from eqsat.command_line.settings import add_options, options_of
from eqsat.ir.errors import UsageError
from eqsat.progress import tell
from eqsat.proving.values import tolerance_of
from eqsat.threads import num_threads, set_num_threads

EXAMPLE = """example:
  python -m eqsat bench my_module.py:softmax --spec float32[1024,64] --threads 1,2 --seconds 2"""
MOST_THREADS = 1024


def add_parser(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("function", metavar="MODULE:FUNCTION", help="a module's dotted name or the path of a .py file")
    add_arguments(parser, "a size that a --spec names, such as n=512")
    text = "another function of the same arguments, such as one by hand; repeat for more"
    parser.add_argument("--against", metavar="MODULE:FUNCTION", action="append", default=[], help=text)
    text = "of eqsat's kernels, several with commas; as many as there are processors, if nothing is said"
    parser.add_argument("--threads", metavar="N,N", help=text)
    text = "for timing, with each number of threads; 1 if nothing is said"
    parser.add_argument("--seconds", type=float, default=1.0, help=text)
    parser.add_argument("--seed", type=int, default=0, help="of the random arrays that specs become; 0 if nothing is said")
    add_options(parser)


def run(arguments: argparse.Namespace) -> Answer:
    threads = _thread_counts(arguments.threads)
    for option, value in (("--seconds", arguments.seconds), ("--seed", arguments.seed)):
        if not 0 <= value < float("inf"):
            raise UsageError(f"{option}: found {value}, expected 0 or more")
    name, options = arguments.function, options_of(arguments)
    function, others = load_function(name), {text: load_function(text) for text in arguments.against}
    given = load_arguments(arguments, ranges=False)
    arrays = filled(given, arguments.seed)
    compiled = jit(function, options=options)
    start = time.perf_counter()
    value = blamed(name, function, lambda: arrays, lambda: compiled(*arrays))
    first = time.perf_counter() - start
    with np.errstate(all="ignore"):
        tell("checking")
        references = {"NumPy": function(*arrays), **{text: _called(text, other, arrays) for text, other in others.items()}}
        coarsest = tolerance_of(trace(function, *arrays, fallback=options.fallback))
        deviations = {text: max_deviation(value, reference, coarsest) for text, reference in references.items()}
        agree = all(found <= allowed for found, allowed in deviations.values())
        times = _timed({"eqsat": compiled, "NumPy": function, **others}, arrays, threads, arguments.seconds) if agree else []
    return _answer(call_text(name, given), first, deviations, times)


def _called(name: str, function: Function, arrays: tuple[Any, ...]) -> Any:
    return blamed(name, function, lambda: arrays, lambda: function(*arrays))


def _timed(
    functions: Mapping[str, Function], arrays: tuple[Any, ...], threads: Iterable[int], seconds: float
) -> list[tuple[int, dict[str, float]]]:
    """(threads, median seconds of a call by name), the functions called in turns."""
    calls: dict[str, Callable[[], Any]] = {name: partial(function, *arrays) for name, function in functions.items()}
    before, found = num_threads(), []
    try:
        for count in threads:
            tell(f"timing, threads: {count}")
            set_num_threads(count)
            found.append((count, interleaved_medians(calls, seconds)))
    finally:
        set_num_threads(before)
    return found


def _answer(title: str, first: float, deviations: Mapping[str, tuple[float, float]], times: list[tuple[int, dict[str, float]]]) -> Answer:
    agree = all(found <= allowed for found, allowed in deviations.values())
    facts = [("first call", f"{duration(first)}, optimizing and compiling included")]
    for name, (found, allowed) in deviations.items():
        verdict = "" if found <= allowed else ": MISMATCH, nothing is timed"
        facts.append(("deviation", f"{found:.1e} of the scale of {name}, {allowed:.0e} allowed{verdict}"))
    rows = tuple(
        (str(count), name, duration(seconds), f"{seconds / medians['eqsat']:.2f}x")
        for count, medians in times
        for name, seconds in medians.items()
    )
    table = Table("times", ("threads", "function", "median", "by eqsat's"), rows, frozenset({"threads", "median", "by eqsat's"}))
    data = {
        "function": title,
        "first_call_seconds": first,
        "agrees": agree,
        "deviations": {name: {"found": finite(found), "allowed": allowed} for name, (found, allowed) in deviations.items()},
        "times": [{"threads": count, "median_seconds": medians} for count, medians in times],
    }
    return Answer((Facts(title, tuple(facts)), table), data, 0 if agree else 1)


def _thread_counts(text: str | None) -> tuple[int, ...]:
    """The numbers of `--threads`; UsageError where one is none."""
    if text is None:
        return (num_threads(),)
    counts = tuple(int(word) for word in text.split(",") if re.fullmatch(r"\d{1,4}", word))
    if len(counts) != text.count(",") + 1 or not all(1 <= count <= MOST_THREADS for count in counts):
        raise UsageError(f"--threads: found {text!r}, expected numbers from 1 to {MOST_THREADS} with commas")
    return counts
