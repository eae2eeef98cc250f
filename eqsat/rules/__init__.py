"""The rule tables: `all_tables()`, `without("identities")`, and the egglog program made of them."""

from __future__ import annotations

import functools

from eqsat.egraph.schema import CLASS_SORTS, declarations
from eqsat.ir.errors import UsageError
from eqsat.rules.assumptions import CONDITIONS
from eqsat.rules.bounds import BOUNDS_RULESETS, BOUNDS_TABLE, bounds_program
from eqsat.rules.clamps import CLAMPS
from eqsat.rules.compile import compile_pattern, compile_tensor_rule
from eqsat.rules.elements import ELEMENTS
from eqsat.rules.index_rules import DIVISION_TABLES
from eqsat.rules.logic_rules import LOGIC_TABLES
from eqsat.rules.orders import ORDERS
from eqsat.rules.own import Rule, flattened
from eqsat.rules.points import POINTS
from eqsat.rules.quotients import QUOTIENTS
from eqsat.rules.row import Pattern, Row, SumRow, Table, TensorRule
from eqsat.rules.sums import SUMS
from eqsat.rules.tensor_rules import TENSOR_TABLES

OWN = "own"
TABLES: tuple[Table, ...] = (*DIVISION_TABLES, *LOGIC_TABLES, SUMS, QUOTIENTS, POINTS, ORDERS, CLAMPS, CONDITIONS, *TENSOR_TABLES, ELEMENTS)


def all_tables() -> tuple[str, ...]:
    """The names of all rule tables."""
    return tuple(table.name for table in TABLES)


def without(*names: str) -> tuple[str, ...]:
    """The names of all tables but these; UsageError for a name that is no table."""
    unknown = [name for name in names if name not in all_tables()]
    if unknown:
        raise UsageError(f"rule tables: found {unknown[0]!r}, expected one of {', '.join(all_tables())}")
    return tuple(name for name in all_tables() if name not in names)


def rows(tables: tuple[Table, ...] = TABLES) -> tuple[tuple[Table, Row], ...]:
    """Every row with its table."""
    return tuple((table, row) for table in tables for row in table.rows)


@functools.cache
def own_table(rules: tuple[Rule, ...]) -> tuple[Table, ...]:
    """The table of the user's own rules; none of none.  A rule that is called like a built-in row is counted as own-NAME."""
    taken = {row.name for _, row in rows()} if rules else set()
    own = tuple(rule.row(f"{OWN}-{rule.name}" if rule.name in taken else rule.name) for rule in rules)
    return (Table(OWN, "index", "rules of Options", own),) if rules else ()


Needs = tuple[tuple[str, frozenset[str]], ...]


def egglog_program(tables: tuple[Table, ...] = TABLES, sorts: tuple[str, ...] = CLASS_SORTS) -> tuple[str, dict[str, Needs]]:
    """Schema, analyses and rules for classes of these sorts; and the rulesets of each table, each with the nodes and views without
    which it has nothing to match."""
    lines = [declarations(sorts), bounds_program()]
    rulesets: dict[str, Needs] = {BOUNDS_TABLE: BOUNDS_RULESETS}
    for table in tables:
        patterns = [rule for row in table.rows if isinstance(row, Pattern) for rule in compile_pattern(row)]
        others = [compile_tensor_rule(row, table.name) for row in table.rows if isinstance(row, TensorRule)]
        lines += [text for _, _, text in patterns]
        rulesets[table.name] = tuple((name, needed) for name, needed, _ in patterns)
        if others:
            lines += [f"(ruleset {table.name})", *others]
            rulesets[table.name] += ((table.name, table.needs),)
    return "\n".join(lines), rulesets


__all__ = [
    "TABLES",
    "Pattern",
    "Row",
    "Rule",
    "SumRow",
    "Table",
    "TensorRule",
    "all_tables",
    "egglog_program",
    "flattened",
    "own_table",
    "rows",
    "without",
]
