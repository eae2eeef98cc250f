"""`python -m eqsat optimize`: a function on arrays of files, optimized, checked against NumPy, timed, and its result written."""

from __future__ import annotations

import argparse
from pathlib import Path

from eqsat.command_line.answer import Answer, Text, finite
from eqsat.command_line.arrays import ArrayFile, call_text, load_array, save_array
from eqsat.command_line.beside_numpy import Comparison, beside_numpy, leaves
from eqsat.command_line.functions import blamed, load_function
from eqsat.command_line.settings import add_options, options_of
from eqsat.ir.errors import UsageError

EXAMPLE = """example:
  python -m eqsat optimize my_module.py:my_function --input a.npy --input b.npy --out y.npy"""


def add_parser(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("function", metavar="MODULE:FUNCTION", help="a module's dotted name or the path of a .py file")
    text = "an argument; repeat for more, in order"
    parser.add_argument("--input", metavar="A.npy", type=ArrayFile, action="append", required=True, help=text)
    parser.add_argument("--out", metavar="Y.npy", type=Path, help="where to write the result")
    parser.add_argument("--dump", metavar="DIR", type=Path, help="a folder for the program after every stage")
    add_options(parser)


def run(arguments: argparse.Namespace) -> Answer:
    out, name = arguments.out, arguments.function
    if out is not None and not out.parent.is_dir():
        raise UsageError(f"--out: found no folder {out.parent}, expected one that exists")
    arrays = tuple(load_array(one.path) for one in arguments.input)
    options, function = options_of(arguments, arguments.dump), load_function(name)
    found = blamed(
        name, function, lambda: arrays, lambda: beside_numpy(call_text(name, arrays), function, arrays, {"NumPy": function}, options)
    )
    outputs = list(leaves(found.value))
    if out is not None and len(outputs) != 1:
        raise UsageError(f"--out: found {len(outputs)} outputs of {name}, expected one")
    if out is not None and found.agrees:
        save_array(out, outputs[0])
    return _answer(found, out)


def _answer(found: Comparison, out: Path | None) -> Answer:
    data = {
        "function": found.title,
        "cost_ns": {"before": finite(found.cost[0]), "after": finite(found.cost[1])},
        "kernels": {"before": found.kernels[0], "after": found.kernels[1]},
        "rules": dict(found.matches),
        "stop_reason": found.stop_reason,
        "agrees": found.agrees,
        "deviation": {"found": finite(found.deviation), "allowed": found.allowed},
        "median_seconds": dict(found.seconds),
        "written": str(out) if out is not None and found.agrees else None,
    }
    return Answer((Text("", str(found)),), data, 0 if found.agrees else 1)
