"""Egglog rules that write down what they match, and their matches as ground terms of a ledger.

Each egglog rule is split in two: one that writes down what it matches (relation found-NAME), one that carries it out.  In between
Python reads the matches, while classes are still those that were matched.  A match names all classes and constants of the rule's
own text, so the left side as it was matched, and the right side that it made, are ground terms.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from eqsat.egraph.engine import Engine, PerThread
from eqsat.egraph.schema import CONSTRUCTORS, VIEWS, declarations
from eqsat.egraph.snapshot import ENode
from eqsat.explaining.ledger import Ledger, Reason
from eqsat.rules import TABLES
from eqsat.rules.bounds import BOUNDS_RULESETS, BOUNDS_TABLE, bounds_program
from eqsat.rules.compile import compile_pattern
from eqsat.rules.row import Pattern

SORTS = ("Ix",)
FINDS = "finds"
FLATTEN = Reason("flatten-sum", quiet=True)
Expression = Any  # an s-expression of egglog: a text, or a list of them
_TOKEN = re.compile(r'[()]|"[^"]*"|[^\s()]+')
_VARIABLE = re.compile(r"^(root|(x|v|lo|hi)_\d+)$")


def parse(text: str) -> Expression:
    """The first s-expression of an egglog text."""
    stack: list[list[Expression]] = [[]]
    for token in _TOKEN.findall(text):
        if token == "(":
            stack.append([])
        elif token == ")":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(token)
    return stack[0][0]


class Rule(NamedTuple):
    """One egglog rule of a row: its facts, what it makes, and the variables that a match binds."""

    row: str
    name: str
    needs: frozenset[str]
    facts: list[Expression]
    built: Expression
    variables: tuple[str, ...]
    texts: tuple[str, str]

    def program(self) -> str:
        """The two rules that it is split into."""
        facts, action = self.texts
        found = f"(found-{self.name} {' '.join(self.variables)})"
        columns = " ".join("Ix" if v[0] in "xr" else "i64" for v in self.variables)
        return f"""(ruleset find-{self.name}) (ruleset do-{self.name}) (relation found-{self.name} ({columns}))
(rule {facts} ({found}) :ruleset find-{self.name} :name "{self.name}")
(rule ({found}) ({action} (delete {found})) :ruleset do-{self.name} :name "do {self.name}")
(rule ({found}) ((delete {found})) :ruleset clear :name "clear found-{self.name}")"""


@functools.cache
def rules_of(tables: tuple[str, ...]) -> tuple[Rule, ...]:
    """The egglog rules of the rows of these tables."""
    found = []
    for table in TABLES:
        if table.phase == "index" and table.name in tables:
            for row in table.rows:
                if isinstance(row, Pattern):
                    found += [_rule(row.name, needs, text) for _, needs, text in compile_pattern(row)]
    return tuple(found)


def _rule(row: str, needs: frozenset[str], text: str) -> Rule:
    line = text[text.index("(rule ") :]
    _, facts, (action,), *options = parse(line)
    name = options[-1].strip('"').replace("~", "-order-")
    names = {token: None for token in _TOKEN.findall(line) if _VARIABLE.match(token)}
    return Rule(row, name, needs, facts, action[2], tuple(names), (unparsed(facts), unparsed(action)))


def unparsed(expression: Expression) -> str:
    """An expression in egglog's words."""
    return expression if isinstance(expression, str) else f"({' '.join(map(unparsed, expression))})"


_ENGINES = PerThread[Engine]()


def engine_for(tables: tuple[str, ...]) -> Engine:
    """The engine of this thread that finds matches of the rules of these tables."""

    def made() -> Engine:
        rules = rules_of(tables)
        program = [declarations(SORTS), bounds_program(), *(rule.program() for rule in rules)]
        finds = tuple((f"find-{rule.name}", rule.needs) for rule in rules)
        return Engine("\n".join(program), SORTS, {FINDS: finds, BOUNDS_TABLE: BOUNDS_RULESETS})

    return _ENGINES.get(tables, made)


class Match:
    """A match of a rule as ground terms of the ledger."""

    def __init__(self, ledger: Ledger, rule: Rule, bound: dict[str, int], stating: dict[str, Reason]) -> None:
        self.ledger, self.bound, self.stating = ledger, bound, stating
        self._defined: dict[str, Expression] = {}
        for fact in rule.facts:
            if fact[0] == "=" and isinstance(fact[2], list) and fact[2][0] in CONSTRUCTORS:
                self._defined.setdefault(fact[1], fact[2])
            elif fact[0] in VIEWS:
                self._defined.setdefault(fact[1], fact)
                if fact[0] == "as-common-of":
                    self._defined.setdefault(fact[2], ["as-product", fact[2], fact[3], fact[5]])
        self._terms: dict[str, int] = {}

    def term(self, variable: str) -> int:
        """The term that a variable of the rule matched, as far as the rule looked into it."""
        if variable not in self._terms:
            fact = self._defined.get(variable)
            if fact is None:
                return self.bound[variable]
            self._terms[variable] = self.make(fact) if fact[0] in CONSTRUCTORS else self._viewed(fact)
        return self._terms[variable]

    def _viewed(self, fact: Expression) -> int:
        relation, name, *operands = fact
        here = self.bound[name]
        sorts = VIEWS[relation][1:]
        values = [self.term(v) if sort == "Ix" else self.number(v) for sort, v in zip(sorts, operands, strict=True)]
        plain = [self.bound[v] if sort == "Ix" else self.number(v) for sort, v in zip(sorts, operands, strict=True)]
        for _, seen in views_of(self.ledger, relation, here, plain)[:1]:
            self.ledger.state(here, seen, self.stating.get(relation, FLATTEN))
        found = views_of(self.ledger, relation, here, values)
        return found[0][1] if found else here

    def number(self, text: str) -> int:
        return self.bound[text] if text in self.bound else int(text)

    def make(self, expression: Expression) -> int:
        if isinstance(expression, str):
            return self.term(expression)
        op, *args = expression
        sorts = CONSTRUCTORS[op].operands
        return self.ledger.add(ENode(op, tuple(self.make(a) if s == "Ix" else self.number(a) for s, a in zip(sorts, args, strict=True))))


def views_of(ledger: Ledger, relation: str, viewed: int, values: Sequence[int]) -> list[tuple[int, int]]:
    """What a view states (rules/compile.py): (first operand, its term as it is seen), and for `as-common-of` the divisor's too."""

    def add(constant: int, *terms: tuple[int, int]) -> int:
        numbers = [k * ledger.nodes[t].args[0] for t, k in terms if ledger.nodes[t].op == "Num"]
        kept = [(t, k) for t, k in terms if ledger.nodes[t].op != "Num"]
        total = constant + sum(numbers)
        if not kept:
            return ledger.add(ENode("Num", (total,)))
        return kept[0][0] if kept == [(kept[0][0], 1)] and not total else ledger.add(ENode("Sum", (total, *kept)))

    def node(op: str, *args: int) -> int:
        return ledger.add(ENode(op, args))

    match relation, values:
        case "as-multiple", (d, q, r):
            return [(viewed, add(0, (q, d), (r, 1)))]
        case "as-common", (_, g, q, r):
            return [(viewed, add(0, (q, g), (r, 1)))]
        case "as-offset", (x, c):
            return [(viewed, add(c, (x, 1)))]
        case (("as-inner" | "as-quotient"), (k, x, m, r)):
            inner = node("Mod" if relation == "as-inner" else "Floordiv", x, node("Num", m))
            return [(viewed, add(0, (inner, k), (r, 1)))]
        case "as-scaled", (g, q, r):
            return [(viewed, add(0, (q, g), (r, 1)))]
        case "as-step", (k, x, c):
            return [(viewed, add(c, (x, k)))]
        case "as-pair", (a, x, b, y, r):
            return [(viewed, add(0, (x, a), (y, b), (r, 1)))]
        case "as-multiple-of", (z, q, r):
            return [(viewed, add(0, (node("Mul", z, q), 1), (r, 1)))]
        case "as-common-of", (d, z, q, w, r):
            return [(viewed, add(0, (node("Mul", z, q), 1), (r, 1))), (d, node("Mul", z, w))]
        case "as-product", (z, w):
            return [(viewed, node("Mul", z, w))]
        case (("quotient" | "remainder"), (x, n)):
            return [(viewed, node("Floordiv" if relation == "quotient" else "Mod", x, node("Num", n)))]
        case (("quotient-of" | "remainder-of"), (x, z)):
            return [(viewed, node("Floordiv" if relation == "quotient-of" else "Mod", x, z))]
    return []
