"""Pages of what happened: costs, reports of saturation, certificates."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from eqsat.certificate import Certificate
from eqsat.costs import Cost
from eqsat.report import Report, StopReason
from eqsat.rules import rows
from eqsat.showing.html import Bar, bars, block, code, details, dim, escape, head, number, table


def cost_body(cost: Cost) -> str:
    """The total, and a bar for each kernel."""
    chart = bars([Bar(name, [("estimate", ns)]) for name, ns in cost.breakdown()], "ns")
    return head(str(cost), dim(f"estimated, {len(cost.breakdown())} kernels" if len(cost.breakdown()) != 1 else "estimated")) + chart


def report_body(report: Report) -> str:
    """Why saturation stopped, its sizes, and the rules that took part."""
    phases = table(
        ("phase", "iterations", "e-nodes"), ((escape(name), str(steps), number(nodes)) for name, steps, nodes in report.phases), "tnn"
    )
    return head("Saturation", *report_facts(report)) + rule_table(report) + details("Phases", phases, f"{len(report.phases)}")


def report_facts(report: Report) -> tuple[str, ...]:
    """The stop reason and the sizes of the e-graph, as HTML."""
    tone = "ok" if report.stop_reason is StopReason.SATURATED else "warn"
    return (
        f'<span class="{tone}">{escape(report.stop_reason.value)}</span>',
        f"{number(report.nodes)} e-nodes in {number(report.classes)} e-classes",
        f"{report.iterations} iterations",
        f"{number(1e3 * report.seconds)} ms",
    )


def rule_table(report: Report, bought: Mapping[str, float] | None = None) -> str:
    """Every rule that matched, the most frequent first: its table, how often, its equation; seconds where the report has them.

    bought  nanoseconds that the program costs more without a table, by the table's name (`eqsat.leave_one_out`)
    """
    fired = sorted(((name, count) for name, count in report.matches.items() if count), key=lambda item: (-item[1], item[0]))
    if not fired:
        return f"<div>{dim('no rule matched')}</div>"
    known, seconds, gains = _known_rows(), report.rule_seconds, bought or {}
    header, kinds = ["rule", "table", "matches", "equation"], "ttnb"
    lines = [[code(name), dim(known.get(name, ("", ""))[0]), number(count), code(known.get(name, ("", ""))[1])] for name, count in fired]
    if seconds:
        header, kinds = [*header[:3], "ms", *header[3:]], "ttnnb"
        for line, (name, _) in zip(lines, fired, strict=True):
            line.insert(3, number(1e3 * seconds[name]) if name in seconds else "")
    if gains:
        header, kinds = [*header[:-1], "bought by its table", header[-1]], kinds[:-1] + "nb"
        for line, (name, _) in zip(lines, fired, strict=True):
            table_name = known.get(name, ("", ""))[0]
            line.insert(-1, f"{number(gains[table_name])} ns" if table_name in gains else "")
    return table(header, lines, kinds)


@cache
def _known_rows() -> dict[str, tuple[str, str]]:
    """The table and the equation of each row."""
    return {row.name: (table.name, row.equation) for table, row in rows()}


def certificate_body(certificate: Certificate) -> str:
    """Whether everything was proved and compared, and by what."""
    verdict = '<span class="ok">everything proved and compared</span>' if certificate else '<span class="warn">not all of it decided</span>'
    return head("Certificate", verdict) + block(certificate)
