"""The rule tables: `all_tables()`, `without("identities")`, and the egglog program made of them."""

from __future__ import annotations

import functools

from eqsat.egraph.schema import CLASS_SORTS, declarations
from eqsat.ir.errors import UsageError
from eqsat.rules.bounds import bounds_program
from eqsat.rules.compile import compile_pattern, compile_tensor_rule, requirements
from eqsat.rules.index_rules import DIVISION_TABLES
from eqsat.rules.logic_rules import LOGIC_TABLES
from eqsat.rules.orders import ORDERS
from eqsat.rules.row import Pattern, Row, SumRow, Table, TensorRule
from eqsat.rules.sums import SUMS
from eqsat.rules.tensor_rules import TENSOR_TABLES

TABLES: tuple[Table, ...] = (*DIVISION_TABLES, *LOGIC_TABLES, SUMS, ORDERS, *TENSOR_TABLES)


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
def needs(table: Table) -> tuple[frozenset[str], ...]:
    """For each egglog rule of a table the nodes and views without which it has nothing to match."""
    found: dict[frozenset[str], None] = {}
    for row in table.rows:
        if isinstance(row, Pattern):
            found.update(dict.fromkeys(requirements(row)))
        elif isinstance(row, TensorRule):
            found[frozenset()] = None
    return tuple(found)


def egglog_program(tables: tuple[Table, ...] = TABLES, sorts: tuple[str, ...] = CLASS_SORTS) -> str:
    """Schema, analyses and one ruleset a table, for classes of these sorts."""
    lines = [declarations(sorts), bounds_program()]
    for table in tables:
        lines.append(f"(ruleset {table.name})")
        for row in table.rows:
            if isinstance(row, Pattern):
                lines.append(compile_pattern(row, table.name))
            elif isinstance(row, TensorRule):
                lines.append(compile_tensor_rule(row, table.name))
    return "\n".join(lines)


__all__ = ["TABLES", "Pattern", "Row", "SumRow", "Table", "TensorRule", "all_tables", "egglog_program", "needs", "rows", "without"]
