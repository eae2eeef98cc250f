"""`python -m eqsat calibrate`: the parameters of the cost model, measured on this machine, shown or forgotten."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from eqsat.command_line.answer import Answer, Table, Text
from eqsat.pricing.calibration import measure
from eqsat.pricing.local_target import forget_target, local_target, store_target
from eqsat.pricing.target import DEFAULT_TARGET, Target
from eqsat.progress import tell

EXAMPLE = """examples:
  python -m eqsat calibrate
  python -m eqsat calibrate --show --json"""


def add_parser(parser: argparse.ArgumentParser) -> None:
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--show", action="store_true", help="measure nothing: what is used now")
    how.add_argument("--forget", action="store_true", help="remove what is stored: the named default is used again")


def run(arguments: argparse.Namespace) -> Answer:
    target, done = _target(arguments)
    found, default = asdict(target), asdict(DEFAULT_TARGET)
    rows = tuple((name, _spelled(value), _spelled(default[name])) for name, value in found.items())
    return Answer((Table("", ("parameter", "value", "default"), rows), Text("", done)), found)


def _target(arguments: argparse.Namespace) -> tuple[Target, str]:
    """The target that is in force afterwards, and what was done."""
    if arguments.show:
        return local_target(), "used now"
    if arguments.forget:
        removed = forget_target()
        return DEFAULT_TARGET, f"removed {removed}" if removed else "nothing was stored"
    target = measure(lambda what: tell(f"measuring {what}"))
    return target, f"stored in {store_target(target)}"


def _spelled(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
