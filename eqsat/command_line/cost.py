"""`python -m eqsat cost`: what an expression or a program is estimated to cost, as written and optimized, and beside another."""

from __future__ import annotations

import argparse
from typing import Any

from eqsat.command_line.answer import Answer, Part, Table, finite
from eqsat.command_line.beside_numpy import duration
from eqsat.command_line.settings import options_of
from eqsat.command_line.subject import Subject, add_subject, load_subject

EXAMPLE = """examples:
  python -m eqsat cost my_module.py:softmax --spec float32[1024,64] --target default
  python -m eqsat cost "x // 8 * 8 + x % 8" --against "x + 0 * x" --var x=0:31"""


def add_parser(parser: argparse.ArgumentParser) -> None:
    add_subject(parser)
    text = "another one, on the same arguments or variables"
    parser.add_argument("--against", metavar="EXPRESSION|MODULE:FUNCTION", help=text)


def run(arguments: argparse.Namespace) -> Answer:
    options = options_of(arguments)
    subjects = [load_subject(text, arguments, options) for text in (arguments.subject, arguments.against) if text is not None]
    data = _data(subjects[0])
    parts: list[Part] = [_totals(subjects)]
    for subject in subjects:
        kernels = (subject.before.table(f"{subject.title}, as written"), subject.after.table(f"{subject.title}, optimized"))
        parts += [table for table in kernels if table.rows]
    if len(subjects) > 1:
        first, second = subjects
        pairs = {"as_written": (first.before.ns, second.before.ns), "optimized": (first.after.ns, second.after.ns)}
        data |= {"against": _data(second), "ratio": {name: _ratio(*pair) for name, pair in pairs.items()}}
    return Answer(tuple(parts), data)


def _data(subject: Subject) -> dict[str, Any]:
    return {**subject.data, "as_written": subject.before.data, "optimized": subject.after.data}


def _totals(subjects: list[Subject]) -> Table:
    rows = [(one.title, duration(one.before.ns * 1e-9), duration(one.after.ns * 1e-9)) for one in subjects]
    if len(subjects) > 1:
        first, second = subjects
        rows.append(("ratio", _ratio_text(first.before.ns, second.before.ns), _ratio_text(first.after.ns, second.after.ns)))
    columns = ("", "as written", "optimized")
    return Table(f"cost, {subjects[0].estimated}", columns, tuple(rows), frozenset(columns[1:]))


def _ratio(first: float, second: float) -> float | None:
    """None where there is nothing to compare with."""
    return finite(first / second) if second else None


def _ratio_text(first: float, second: float) -> str:
    ratio = _ratio(first, second)
    return "-" if ratio is None else f"{ratio:.3g}"
