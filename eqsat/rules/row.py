"""Rules are rows.  From a row come its e-graph rule, its proof, its "it fires" test, its line in docs/rules.md and its count.

Three kinds share name, equation and reason:
  Pattern      an equality between index terms of fixed shape, with a guard; compiled to egglog (compile.py)
  TensorRule   an equality between tensor terms, in egglog's own words (their sorts are those of egraph/schema.py)
  SumRow       a Python function over n-ary nodes; it hands the e-graph views or equal nodes (in the module of its table)
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from eqsat.ir.index import Index, Var

TERM_RANGE = (-12, 12)
LITERAL_RANGE = (-4, 4)


def term(name: str) -> Var:
    """A pattern variable that stands for any index term: a letter from p to z."""
    assert name[0] > "n", name
    return Var(name, *TERM_RANGE)


def literal(name: str) -> Var:
    """A pattern variable that stands for an integer constant: a letter from a to n."""
    assert name[0] <= "n", name
    return Var(name, *LITERAL_RANGE)


def is_literal(variable: Var) -> bool:
    return variable.name[0] <= "n"


def equation_of(lhs: Index, rhs: Index, when: tuple[Index, ...]) -> str:
    """An equality with its conditions, as text."""
    guard = f"  when {' and '.join(map(str, when))}" if when else ""
    return f"{lhs} = {rhs}{guard}"


@dataclass(frozen=True)
class Pattern:
    """lhs = rhs wherever every condition of `when` holds; `define` names constants read off bounds (a term means its lower one).

    In a guard a comparison of terms is decided by the bounds of their e-classes.
    """

    name: str
    lhs: Index
    rhs: Index
    when: tuple[Index, ...] = ()
    why: str = ""
    define: tuple[tuple[Var, Index], ...] = ()

    @property
    def equation(self) -> str:
        return equation_of(self.lhs, self.rhs, self.when)


@dataclass(frozen=True)
class TensorRule:
    """`body` and `head` are egglog facts and actions; `equation` is what they state."""

    name: str
    equation: str
    body: str
    head: str
    why: str = ""


# kinds of nodes that rows need
PRODUCTS = ("Prod", "Mul")
BOUNDED = ("Min", "Max")
CHOICES = ("Min", "Max", "Where")


@dataclass(frozen=True)
class SumRow:
    """A row whose code is a function over the n-ary nodes of a snapshot; None if another stage carries it out.

    needs  kinds of nodes of which there must be some for the row to find anything; none: any
    """

    name: str
    equation: str
    why: str = ""
    visit: Callable[[Any], None] | None = None
    needs: tuple[str, ...] = ()


Row = Pattern | TensorRule | SumRow


@dataclass(frozen=True)
class Table:
    """Rows that are switched on and off together; `phase` says when they run: index, fusion or bounds.

    needs  nodes and views without which its tensor rules have nothing to match
    """

    name: str
    phase: str
    why: str
    rows: tuple[Row, ...]
    needs: frozenset[str] = frozenset()

    @functools.cached_property
    def names(self) -> frozenset[str]:
        """The names of its rows."""
        return frozenset(row.name for row in self.rows)
