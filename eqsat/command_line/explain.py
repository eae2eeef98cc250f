"""`python -m eqsat explain`: what an expression or a program became, by which rules, and what that bought."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from eqsat.command_line.answer import Answer, Facts, Part, Table, Text
from eqsat.command_line.beside_numpy import duration
from eqsat.command_line.settings import options_of
from eqsat.command_line.subject import Subject, add_subject, load_subject
from eqsat.explaining.explanation import Step
from eqsat.explaining.guards import Missing
from eqsat.explaining.program_steps import ProgramStep
from eqsat.ir.errors import UsageError
from eqsat.report import Report
from eqsat.result import IndexResult, Result
from eqsat.rules import rows

EXAMPLE = """examples:
  python -m eqsat explain "(x // 8) * 8 + x % 8" --var x=0:31
  python -m eqsat explain my_module.py:softmax --spec float32[1024,64] --loops"""


# the texts of a program's later stages, by the options that ask for them
STAGES: dict[str, Callable[[Any], str]] = {
    "loops": lambda result: "\n\n".join(map(str, result.loops)),
    "llvm": lambda result: result.llvm_ir,
    "asm": lambda result: result.assembly,
}


def add_parser(parser: argparse.ArgumentParser) -> None:
    add_subject(parser)
    parser.add_argument("--loops", action="store_true", help="the loop nests of a function")
    parser.add_argument("--llvm", action="store_true", help="the LLVM IR of a function, as it is handed to LLVM")
    parser.add_argument("--asm", action="store_true", help="the assembly of a function, for this machine")


def run(arguments: argparse.Namespace) -> Answer:
    subject = load_subject(arguments.subject, arguments, options_of(arguments))
    stages = [name for name in STAGES if getattr(arguments, name)]
    data = {**subject.data, "before": subject.before.data, "after": subject.after.data, "report": _report_data(subject.report)}
    result = subject.result
    parts, more = _of_index(result, stages) if isinstance(result, IndexResult) else _of_program(subject, result, stages)
    return Answer((_summary(subject), *parts), {**data, **more})


def _summary(subject: Subject) -> Facts:
    report, before, after = subject.report, subject.before, subject.after
    cost = f"{duration(before.ns * 1e-9)} -> {duration(after.ns * 1e-9)} ({subject.estimated})"
    steps = "1 step" if report.iterations == 1 else f"{report.iterations} steps"
    graph = f"{steps}, {report.nodes} nodes in {report.classes} classes, {duration(report.seconds)}"
    first = ("result", after.text) if subject.kind == "index" else ("kernels", f"{len(before.kernels)} -> {len(after.kernels)}")
    return Facts(subject.title, (first, ("cost", cost), ("saturation", f"{report.stop_reason.value}: {graph}")))


def _of_program(subject: Subject, result: Result, stages: list[str]) -> tuple[tuple[Part, ...], dict[str, Any]]:
    """Kernels, the steps from one program to the other, rules, the program and the stages that are asked for."""
    texts = {name: STAGES[name](result) for name in stages}
    kernels = (subject.before.table("kernels as written"), subject.after.table("kernels that were chosen"))
    found = result.steps
    steps = Text("steps from the program as written", "\n".join([str(result.original), *map(str, found)])) if found else None
    shown = {"program": subject.after.text, **texts}
    parts = (*kernels, steps, _rule_table(subject.report), *(Text(name, text.rstrip()) for name, text in shown.items()))
    return tuple(part for part in parts if part is not None), {**texts, "steps": [_change_data(step) for step in found]}


def _of_index(result: IndexResult, stages: list[str]) -> tuple[tuple[Part, ...], dict[str, Any]]:
    """Steps from the original to the result, and what is missing for more, where there are any."""
    if stages:
        raise UsageError(f"--{stages[0]}: found an index expression, expected MODULE:FUNCTION")
    nearest = {miss.term: miss for miss in reversed(result.missing)}
    steps, missing = "\n".join(map(str, result.steps)), "\n".join(map(str, reversed(nearest.values())))
    texts = (Text("steps", steps), Text("missing for the divisions that are left", missing))
    data = {"steps": [_step_data(step) for step in result.steps], "missing": [_missing_data(miss) for miss in result.missing]}
    return (*(text for text in texts if text.body), _rule_table(result.report)), data


def _change_data(step: ProgramStep) -> dict[str, Any]:
    changes = [{"tensor": change.name, "before": change.before, "after": change.after} for change in step.changes]
    return {"rules": list(step.rows), "tensors": list(step.tensors), "changes": changes}


def _tables() -> dict[str, str]:
    """The table of each row."""
    return {row.name: table.name for table, row in rows()}


def _rule_table(report: Report) -> Table:
    tables = _tables()
    fired = [(name, tables.get(name, ""), str(count)) for name, count in report.fired.items()]
    if not report.rested:
        return Table("rules", ("rule", "table", "matches"), tuple(fired), frozenset({"matches"}))
    rested = tuple((*row, "rested" if row[0] in report.rested else "") for row in fired)
    return Table("rules", ("rule", "table", "matches", "matched too often"), rested, frozenset({"matches"}))


def _report_data(report: Report) -> dict[str, Any]:
    tables = _tables()
    return {
        "stop_reason": report.stop_reason.value,
        "iterations": report.iterations,
        "nodes": report.nodes,
        "classes": report.classes,
        "seconds": report.seconds,
        "rules": [{"name": name, "table": tables.get(name), "matches": count} for name, count in report.fired.items()],
        "rested": sorted(report.rested),
    }


def _step_data(step: Step) -> dict[str, Any]:
    return {"before": str(step.before), "after": str(step.after), "rules": list(step.rows), "whole": str(step.whole)}


def _missing_data(miss: Missing) -> dict[str, Any]:
    return {"term": str(miss.term), "rule": miss.row, "guard": str(miss.guard), "needed": str(miss.needed), "short_by": miss.short_by}
