"""docs/rules.md from the tables: `python -m eqsat.rules.document` rewrites it."""

from __future__ import annotations

from pathlib import Path

from eqsat.rules import TABLES, Pattern, Row, Table, TensorRule

PAGE = Path(__file__).parents[2] / "docs" / "rules.md"

_HEAD = """# Rules

Written by `python -m eqsat.rules.document` from the tables in `eqsat/rules/`; do not edit.

Letters a to n stand for integer constants, p to z for any terms; `//` and `%` are floor division.  A guard between terms must
follow from the bounds of their e-classes.  A *pattern* is proved exhaustively and compiled to egglog; a *tensor rule* is written in
egglog's words; a *sum row* is a Python function over n-ary nodes.
"""


def page() -> str:
    """The text of docs/rules.md: one section a table, one line a row."""
    return "\n".join([_HEAD, *(_section(table) for table in TABLES)])


def _section(table: Table) -> str:
    lines = [f"## {table.name}", "", f"{table.why} (phase: {table.phase})", ""]
    lines += ["| name | equation | guard | why | kind |", "|---|---|---|---|---|"]
    return "\n".join([*lines, *map(_line, table.rows), ""])


def _line(row: Row) -> str:
    if isinstance(row, Pattern):
        kind, equation = "pattern", f"{row.lhs} = {row.rhs}"
        read_off = [f"{name} read off the lower bound of {value}" for name, value in row.define]
        guard = ", ".join([*(f"`{condition}`" for condition in row.when), *read_off])
    else:
        kind, equation, guard = "tensor rule" if isinstance(row, TensorRule) else "sum row", row.equation, ""
    return f"| {row.name} | `{_cell(equation)}` | {_cell(guard)} | {_cell(row.why)} | {kind} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> None:
    """Write the page."""
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
