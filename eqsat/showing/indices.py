"""Pages of index expressions: terms, what became of them, proofs."""

from __future__ import annotations

from eqsat.egraph.index_cost import index_cycles
from eqsat.explaining.explanation import Step
from eqsat.ir.index import Index, variables
from eqsat.proving.proof import Proof
from eqsat.result import IndexResult
from eqsat.rules import rows
from eqsat.showing.html import Bar, bars, block, code, details, dim, escape, head, number, rows_of, table
from eqsat.showing.reports import report_facts, rule_table


def index_body(term: Index) -> str:
    """The term, its bounds and those of its variables, in one line."""
    lo, hi = term.bounds
    where = ", ".join(f"{v.name} in {v.lo}..{v.hi}" for v in variables(term) if v is not term)
    return head("", code(term), dim(f"{lo} to {hi}"), dim(where), dim(f"{index_cycles(term):g} cycles"))


def index_result_body(result: IndexResult) -> str:
    """The term before and after, what it cost, and the steps from the one to the other."""
    before, after = result.original_cost, result.cost
    title = "Simplified" if result.expr is not result.original else "Unchanged"
    terms = rows_of(
        [[dim("from"), code(result.original), _range(result.original)], [dim("to"), code(result.expr), _range(result.expr)]], "tbt"
    )
    chart = bars([Bar("before", [("estimate", float(before))]), Bar("after", [("estimate", float(after))])], "ns")
    steps = details("Steps", steps_table(result.steps), f"{len(result.steps)} equalities, each by named rules", opened=True)
    costs = f"{number(float(before))} &#8594; {number(float(after))} ns"
    parts = [head(title, costs, dim("estimated")), terms, chart, steps if result.steps else ""]
    if result.missing:
        misses = [[code(miss.term), code(miss.row), code(miss.needed), str(miss.short_by)] for miss in result.missing]
        parts.append(
            details("What is missing", table(("division kept", "rule", "holds only if", "short by"), misses, "tttn"), f"{len(misses)}")
        )
    if result.certificate is not None:
        parts.append(details("Certificate", proof_body(result.certificate), result.certificate.method))
    facts = head("", *report_facts(result.report))
    parts.append(details("Rules and e-graph", facts + rule_table(result.report), result.report.stop_reason.value))
    return "".join(parts)


def _range(term: Index) -> str:
    return dim("{} to {}".format(*term.bounds))


def steps_table(steps: tuple[Step, ...]) -> str:
    """A line for each equality: the term that changes, what it becomes, and the rules with their equations."""
    equations = {row.name: row.equation for _, row in rows()}
    return table(
        ("", "this", "becomes", "by"),
        (
            [str(k), code(step.before), code(step.after), "<br>".join(_rule(name, equations.get(name, "")) for name in step.rows)]
            for k, step in enumerate(steps, start=1)
        ),
        "nbbb",
    )


def _rule(name: str, equation: str) -> str:
    return escape(name) + (f" {dim(equation)}" if equation else "")


def proof_body(proof: Proof) -> str:
    """The verdict, the two sides, and where they differ."""
    tone, verdict = ("ok", "proved") if proof.proved else ("bad", "refuted") if proof.refuted else ("warn", "undecided")
    points = f"{proof.points:,} points" if proof.points > 1 else ""
    title = head("", f'<b class="{tone}">{verdict}</b>', escape(proof.method if proof.proved else ""), dim(points))
    sides = rows_of(
        [[code(proof.left)], [f"{'=' if proof.proved else '&#8800;' if proof.refuted else '&#8799;'} {code(proof.right)}"]], "b"
    )
    if proof.counterexample is None:
        return title + sides + (block(proof.note) if proof.note else "")
    values = [[code(name), str(value)] for name, value in proof.counterexample.items()]
    return title + sides + table(("at", ""), [*values, [dim("the sides are"), escape(proof.note)]], "tb")
