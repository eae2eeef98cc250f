"""Pages of what happened: costs, reports of saturation, certificates."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from eqsat.explaining.ablation import Ablation
from eqsat.pricing.costs import Cost
from eqsat.proving.certificate import Certificate
from eqsat.report import Report, StopReason
from eqsat.rules import rows
from eqsat.showing.html import Bar, bars, block, code, counted, details, dim, escape, head, number, table


def cost_body(cost: Cost) -> str:
    """The total, and a bar for each kernel."""
    chart = bars([Bar(name, [("estimate", ns)]) for name, ns in cost.breakdown()], "ns")
    return head(str(cost), dim(f"estimated, {counted(len(cost.breakdown()), 'kernel')}")) + chart


def report_body(report: Report) -> str:
    """Why saturation stopped, its sizes, and the rules that took part."""
    phases = table(
        ("phase", "iterations", "e-nodes"), ((escape(name), str(steps), number(nodes)) for name, steps, nodes in report.phases), "tnn"
    )
    return head("Saturation", *report_facts(report)) + rule_table(report) + details("Phases", phases, f"{len(report.phases)}")


def ablation_body(ablation: Ablation) -> str:
    """The cost without each table that counts, and the rules with what their tables buy."""
    whole = ablation.cost.total
    counting = [one for one in ablation.tables if one.changes]
    costs = [
        ("as written", ablation.original_cost),
        ("all tables", ablation.cost),
        *((f"without {one.table}", one.cost) for one in counting),
    ]
    chart = bars([Bar(name, [("estimate", cost.total)]) for name, cost in costs], "ns")
    idle = f"<div>{dim('no difference: ' + ', '.join(ablation.idle))}</div>" if ablation.idle else ""
    table_of_rules = rule_table(ablation.report, {one.table: one.cost.total - whole for one in counting})
    facts = report_facts(ablation.report)
    return head("What each table buys", dim("estimated")) + chart + idle + details("Rules", head("", *facts) + table_of_rules)


def report_facts(report: Report) -> tuple[str, ...]:
    """The stop reason and the sizes of the e-graph, as HTML."""
    tone = "ok" if report.stop_reason is StopReason.SATURATED else "warn"
    return (
        f'<span class="{tone}">{escape(report.stop_reason.value)}</span>',
        f"{number(report.nodes)} e-nodes in {number(report.classes)} e-classes",
        counted(report.iterations, "iteration"),
        f"{number(1e3 * report.seconds)} ms",
    )


def rule_table(report: Report, bought: Mapping[str, float] | None = None) -> str:
    """Every rule that matched, the most frequent first: its table, how often, its equation; milliseconds where they were measured,
    and which of them rested, where some did.

    bought  nanoseconds that the program costs more without a table, by the table's name (`eqsat.leave_one_out`)
    """
    if not report.fired:
        return f"<div>{dim('no rule matched')}</div>"
    known, gains = _known_rows(), bought or {}
    columns = [
        ("rule", "t"),
        ("table", "t"),
        ("matches", "n"),
        ("matched too often", "t"),
        ("ms", "n"),
        ("its table buys", "n"),
        ("equation", "b"),
    ]
    lines = []
    for name, count in report.fired.items():
        table_name, equation = known.get(name, ("", ""))
        gain = f"{number(gains[table_name])} ns" if table_name in gains else ""
        rested = dim("rested") if name in report.rested else ""
        lines.append([code(name), dim(table_name), number(count), rested, _ms(report, name), gain, code(equation)])
    lines += [[dim(label), "", "", "", ms, "", ""] for label, ms in _others(report)]
    used = [k for k, _ in enumerate(columns) if any(line[k] for line in lines)]
    return table([columns[k][0] for k in used], ([line[k] for k in used] for line in lines), "".join(columns[k][1] for k in used))


def _ms(report: Report, name: str) -> str:
    return f"{1e3 * report.rule_seconds[name]:.2f}" if name in report.rule_seconds else ""


def _others(report: Report) -> list[tuple[str, str]]:
    """Times that are of no row that matched: of tables whose rules run together, and of all that searched in vain."""
    rest = {name: seconds for name, seconds in report.rule_seconds.items() if not report.matches.get(name)}
    known = _known_rows()
    vain = [seconds for name, seconds in rest.items() if name in known]
    found = [(f"all of table {name}", _ms(report, name)) for name in sorted(rest) if name not in known]
    return [*found, (f"{len(vain)} rules that did not match", f"{1e3 * sum(vain):.2f}")] if vain else found


@cache
def _known_rows() -> dict[str, tuple[str, str]]:
    """The table and the equation of each row."""
    return {row.name: (table.name, row.equation) for table, row in rows()}


def certificate_body(certificate: Certificate) -> str:
    """Whether everything was proved and compared, and by what."""
    tone, verdict = ("ok", "everything") if certificate else ("warn", "not everything")
    return head("Certificate", f'<span class="{tone}">{verdict} proved and compared</span>') + block(certificate)
