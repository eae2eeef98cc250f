"""Rules of users: equalities between index terms over pattern variables, handed over by `Options(rules=...)`.

A rule is found in Python (rules/matching.py), among the sum rows, so its left side may be a part of a longer sum, in any order.
It is checked before it is used (rule_check.py): one that is refuted is not accepted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from eqsat.ir.errors import UsageError
from eqsat.ir.index import Apply, Index, as_index, variables
from eqsat.rules.matching import Matcher
from eqsat.rules.row import SumRow, equation_of
from eqsat.rules.variables import PatternVariable

_NAME = re.compile(r"\w([\w .'-]*\w)?")


@dataclass(frozen=True)
class Rule:
    """An equality of index terms: `lhs` equals `rhs` wherever every condition of `when` holds.

    name      words; steps and reports call the rule by it, and one with the name of a built-in row own-NAME
    lhs, rhs  index terms over `eqsat.pattern` variables.  A sum as `lhs` may be a part of a longer sum; operands of +, *, min, max,
              and, or and bit operations match in any order.  `//` and `%` are floor division, as everywhere
    when      conditions, or one condition.  In the e-graph each must follow from the bounds of what the variables stand for
    why       the reason, for readers

        x, n = eqsat.pattern("x"), eqsat.pattern("n")
        rule = eqsat.Rule("mod-in-range", x % n, x, when=(x >= 0, x < n), why="nothing wraps")
        assert eqsat.check_rule(rule)
        eqsat.optimize(expression, options=eqsat.Options(rules=[rule]))

    What the e-graph holds as one term anyhow, such as `x + y` and `y + x`, needs no rule; such a rule finds nothing.
    Raises UsageError for sides that are no index terms over pattern variables, for a left side that is a variable or a constant alone, and
    for variables of the right side or the conditions that the left side lacks.
    """

    name: str
    lhs: Index
    rhs: Index
    when: tuple[Index, ...] = ()
    why: str = ""

    def __init__(
        self, name: str, lhs: Index | int, rhs: Index | int, when: Iterable[Index | bool] | Index | bool = (), why: str = ""
    ) -> None:
        if isinstance(when, str) or not isinstance(when, Index | bool | Iterable):
            raise UsageError(f"Rule {name}: found {when!r} as conditions, expected comparisons such as (x >= 0, x < n)")
        conditions = (when,) if isinstance(when, Index | bool) else tuple(when)
        for label, value in (("name", name), ("lhs", as_index(lhs)), ("rhs", as_index(rhs)), ("when", tuple(map(as_index, conditions)))):
            object.__setattr__(self, label, value)
        object.__setattr__(self, "why", why)
        self._check()

    def _check(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise UsageError(f"Rule: found name {self.name!r}, expected words, such as 'mod-of-multiple'")
        if not isinstance(self.lhs, Apply):
            raise UsageError(f"Rule {self.name}: found {self.lhs} as the left side, expected an operation")
        known = variables(self.lhs)
        for v in variables(self.lhs, self.rhs, *self.when):
            if not isinstance(v, PatternVariable):
                raise UsageError(f"Rule {self.name}: found the variable {v}, expected variables of eqsat.pattern")
            if any(other.name == v.name and other is not v for other in known):
                raise UsageError(f"Rule {self.name}: found {v} standing for two kinds of terms, expected one")
            if v not in known:
                raise UsageError(f"Rule {self.name}: found {v} in the right side or a condition only, expected it in the left side")
        for condition in self.when:
            if condition.kind != "bool":
                raise UsageError(f"Rule {self.name}: found `{condition}` as a condition, expected a comparison")

    @property
    def equation(self) -> str:
        """The rule as one line: both sides and the conditions."""
        return equation_of(self.lhs, self.rhs, self.when)

    def row(self, name: str) -> SumRow:
        """The rule as a row beside the built-in ones."""
        matcher = Matcher(name, self.lhs, self.rhs, self.when)
        return SumRow(name, self.equation, self.why, matcher, matcher.needs)

    def __str__(self) -> str:
        return f"{self.name}: {self.equation}"


def flattened(rules: Iterable[object]) -> Iterable[object]:
    """Names of tables and rules; sequences of rules among them opened."""
    for entry in rules:
        if isinstance(entry, str | Rule):
            yield entry
        elif isinstance(entry, Iterable):
            yield from flattened(entry)
        else:
            raise UsageError(f"Options.rules: found {entry!r}, expected names of rule tables and eqsat.Rule")
