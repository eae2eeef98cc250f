"""Saturation once more, slowly: every match of every row is written down with the terms that it matched.

Each egglog rule is split in two: one that writes down what it matches (relation found-NAME), one that carries it out.  In between
Python reads the matches, while classes are still those that were matched.  A match names all classes and constants of the rule's
own text, so the left side as it was matched, and the right side that it made, are ground terms for the ledger.
"""

from __future__ import annotations

import functools
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from eqsat.egraph.encode import LIMIT, Encoder
from eqsat.egraph.engine import Engine, Row
from eqsat.egraph.forms import SUM_OPS, index_children
from eqsat.egraph.linear import Linear
from eqsat.egraph.schema import CONSTRUCTORS, FACTS, VIEWS, declarations
from eqsat.egraph.snapshot import ENode, Snapshot, take_snapshot
from eqsat.ir.index import Index
from eqsat.ledger import Ledger, Reason, with_children
from eqsat.options import Limits
from eqsat.rules import TABLES
from eqsat.rules.bounds import BOUNDS_RULESETS, BOUNDS_TABLE, bounds_program
from eqsat.rules.compile import compile_pattern
from eqsat.rules.row import Pattern, SumRow
from eqsat.rules.visit import Visit

SORTS = ("Ix",)
FINDS = "finds"
FLATTEN = Reason("flatten-sum", quiet=True)
VIEWS_AND_FACTS = {**VIEWS, **FACTS}
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
    return Rule(row, name, needs, facts, action[2], tuple(names), (_text(facts), _text(action)))


def _text(expression: Expression) -> str:
    return expression if isinstance(expression, str) else f"({' '.join(map(_text, expression))})"


class _Engines(threading.local):
    def __init__(self) -> None:
        self.made: dict[tuple[str, ...], Engine] = {}


_ENGINES = _Engines()


def _engine(tables: tuple[str, ...]) -> Engine:
    if tables not in _ENGINES.made:
        rules = rules_of(tables)
        program = [declarations(SORTS), bounds_program(), *(rule.program() for rule in rules)]
        finds = tuple((f"find-{rule.name}", rule.needs) for rule in rules)
        _ENGINES.made[tables] = Engine("\n".join(program), SORTS, {FINDS: finds, BOUNDS_TABLE: BOUNDS_RULESETS})
    return _ENGINES.made[tables]


@dataclass
class Statement:
    """What a sum row stated: that class `name`, read as `read` tells, equals `other`; or a view of it."""

    row: str
    name: int
    read: dict[int, Linear | ENode]
    visit: Visit
    other: int | None = None
    view: tuple[str, tuple[int, ...]] | None = None


class _Encoder(Encoder):
    """An encoder that hands on equalities."""

    watch: _Visit | None = None

    def same(self, a: int, b: int) -> None:
        super().same(a, b)
        if self.watch is not None:
            self.watch.note(a, other=b)


class _Visit(Visit):
    """A visit that notes what each row read of a class when it stated something about it."""

    statements: list[Statement]
    row: str
    read: dict[int, Linear | ENode]

    def note(self, name: int, other: int | None = None, view: tuple[str, tuple[int, ...]] | None = None) -> None:
        self.statements.append(Statement(self.row, name, dict(self.read), self, other, view))

    def visit(self, row: SumRow) -> list[Statement]:
        """Run one row -> what it stated."""
        self.statements, self.row, self.read = [], row.name, {}
        self.run([row])
        return self.statements

    def alternatives(self, name: int) -> list[Linear]:
        return _Reading(self, name, super().alternatives(name))

    def nodes(self, *ops: str) -> Iterator[tuple[int, ENode]]:
        for name, node in super().nodes(*ops):
            self.read[name] = node
            yield name, node

    def first(self, row: str, *key: Any) -> bool:
        found = super().first(row, *key)
        if row == FLATTEN.row:
            self.read = {key[0]: key[1]}
        return found

    def state(self, relation: str, *operands: int) -> None:
        super().state(relation, *operands)
        if all(abs(operand) < LIMIT for operand in operands):
            self.note(operands[0], view=(relation, operands[1:]))


class _Reading(list[Linear]):
    """Linear forms of a class; the visit knows which one a row is looking at."""

    def __init__(self, visit: _Visit, name: int, forms: list[Linear]) -> None:
        super().__init__(forms)
        self._visit, self._name = visit, name

    def __iter__(self) -> Iterator[Linear]:
        for form in super().__iter__():
            self._visit.read[self._name] = form
            yield form


class Replay:
    """One term's saturation; `ledger` holds every equality that a row found."""

    def __init__(self, tables: tuple[str, ...], limits: Limits) -> None:
        self.ledger = Ledger()
        self.limits = limits
        self._rules = rules_of(tables)
        self._sum_rows = [row for t in TABLES if t.name in tables and t.phase == "index" for row in t.rows if isinstance(row, SumRow)]
        self._engine = _engine(tables)
        self._encoder = _Encoder()
        self._facts: defaultdict[str, list[Row]] = defaultdict(list)
        self._definitions: dict[int, list[ENode]] = {}
        self._numbers: dict[int, int] = {}
        self._seen: set[tuple[object, ...]] = set()
        self._stating: dict[str, Reason] = {}
        self._present: set[str] = set()

    def node_of(self, term: Index) -> int:
        """The ledger's number of a term in n-ary form."""
        encoder = Encoder()
        handle = encoder.index(term)
        return Replay._terms(encoder, handle, self.ledger)

    @staticmethod
    def _terms(encoder: Encoder, handle: int, ledger: Ledger) -> int:
        definitions = definitions_of(encoder.take(), encoder.names)
        numbers: dict[int, int] = {}
        for name in sorted(definitions):
            numbers[name] = ledger.add(over_classes(definitions[name], numbers.__getitem__))
        return numbers[handle]

    def run(self, terms: Sequence[Index], equal: tuple[int, int]) -> bool:
        """Saturate these terms until two nodes of the ledger are equal; False if that never happens."""
        with self._engine.session():
            for term in terms:
                self._encoder.index(term)
            self._collect()
            for _ in range(self.limits.iterations):
                if self.ledger.equal(*equal):
                    return True
                before = len(self.ledger.stated)
                nodes, changed = self._step()
                if nodes > self.limits.nodes or not (changed or len(self.ledger.stated) > before):
                    break
            return self.ledger.equal(*equal)

    def _step(self) -> tuple[int, bool]:
        """Bounds, sum rows, egglog rows: one round -> how many nodes there were, and whether sum rows found something."""
        self._load()
        self._run(BOUNDS_TABLE)
        snapshot = take_snapshot(self._engine, self._encoder, SORTS)
        self._present |= snapshot.ops
        self._collect(snapshot)
        visit = _Visit(snapshot, self._encoder, self._seen)
        self._encoder.watch = visit
        for row in self._sum_rows:
            statements = visit.visit(row)
            self._collect()
            for statement in statements:
                self._enter(statement)
        self._encoder.watch = None
        changed = bool(self._facts)
        self._load()
        self._match()
        return snapshot.nodes, changed

    # handles -------------------------------------------------------------------------------------------------------
    def _collect(self, snapshot: Snapshot | None = None) -> None:
        """Take what the encoder collected; its definitions of handles, or of a snapshot's new classes, enter the ledger."""
        facts = self._encoder.take()
        for kind, rows in facts.items():
            self._facts[kind] += rows
        found = {handle: [node] for handle, node in definitions_of(facts, self._encoder.names).items()}
        if snapshot is not None:
            found = {handle: snapshot.classes["Ix"][handle] for handle in found}
        self._definitions |= {handle: nodes for handle, nodes in found.items() if handle not in self._numbers}
        progress = True
        while self._definitions and progress:
            progress = False
            for handle in sorted(self._definitions):
                for node in self._definitions[handle]:
                    if all(child in self._numbers for child in index_children(node)):
                        self._numbers[handle] = self.ledger.add(over_classes(node, self._numbers.__getitem__))
                        del self._definitions[handle]
                        progress = True
                        break

    def _run(self, table: str) -> dict[str, int]:
        """Run the rulesets that can match something -> how often each rule did."""
        return self._engine.run(f"(run {self._engine.combined(self._engine.applicable(table, self._present))})")[1]

    def _load(self) -> None:
        self._present.update(self._facts)
        self._engine.load(self._facts)
        self._facts.clear()

    def _node(self, node: ENode) -> int:
        """The ledger's number of an e-node over classes."""
        return self.ledger.add(over_classes(node, self._numbers.__getitem__))

    # sum rows ------------------------------------------------------------------------------------------------------
    def _enter(self, statement: Statement) -> None:
        """A statement of a sum row into the ledger."""
        source = self._as_read(statement, statement.name)
        if statement.other is not None:
            self.ledger.state(source, self._numbers[statement.other], Reason(statement.row))
        if statement.view is not None:
            relation, operands = statement.view
            values = [self._numbers[v] if sort == "Ix" else v for sort, v in zip(VIEWS_AND_FACTS[relation][1:], operands, strict=False)]
            for viewed, seen in views_of(self.ledger, relation, source, values):
                self._stating[relation] = Reason(statement.row, quiet=True)
                self.ledger.state(viewed, seen, self._stating[relation])

    def _as_read(self, statement: Statement, name: int) -> int:
        """The term of a class as the row read it."""
        read = statement.read.get(name)
        if isinstance(read, Linear):
            return self._flattened(statement, name, read)
        if isinstance(read, ENode):
            others = {**statement.read}
            others.pop(name)
            below = replace(statement, read=others)
            return self.ledger.add(over_classes(read, lambda child: self._as_read(below, child)))
        return self._numbers[name]

    def _flattened(self, statement: Statement, name: int, form: Linear) -> int:
        """A linear form of a class, with the equality that flattening some node of the class states."""
        visit = statement.visit
        flat = self._sum(form, visit if statement.other is not None and statement.row != FLATTEN.row else None)
        for node in visit.classes.get(name, ()):
            if node.op in SUM_OPS and all(child in visit.forms for child in index_children(node)) and visit.open.of_node(node) == form:
                self.ledger.state(self._opened(visit, node), self._sum(form, None), FLATTEN)
                break
        return flat

    def _opened(self, visit: Visit, node: ENode) -> int:
        """A sum with the sums below it written out."""

        def below(child: int) -> int:
            inner = visit.forms.get(child)
            return self._opened(visit, inner) if inner is not None and inner.op in SUM_OPS else self._numbers[child]

        return self.ledger.add(over_classes(node, below))

    def _sum(self, form: Linear, visit: Visit | None) -> int:
        """A linear form over classes; over their cheapest nodes where a visit is given."""

        def atom(name: int) -> int:
            node = visit.forms.get(name) if visit is not None else None
            return self._numbers[name] if node is None else self._node(node)

        if form.single is not None:
            return atom(form.single)
        return self.ledger.add(ENode("Sum", (form.constant, *((atom(a), k) for a, k in form.terms))) if form.terms else ENode("Num", (form.constant,)))

    # egglog rows ---------------------------------------------------------------------------------------------------
    def _match(self) -> None:
        """Find the matches of all rules, write them down, carry them out."""
        matches = self._run(FINDS)
        rules = [rule for rule in self._rules if matches.get(rule.name)]
        if not rules:
            return
        tables = self._engine.freeze()
        names: dict[Any, int] = {}
        for row in tables["HIx"].rows:
            handle = self._engine.integer(row.inputs[0])
            names[row.output] = min(handle, names.get(row.output, handle))
        for rule in rules:
            for row in tables[f"found-{rule.name}"].rows:
                bound = {
                    v: self._numbers[names[value]] if v[0] in "xr" else self._engine.integer(value)
                    for v, value in zip(rule.variables, row.inputs, strict=True)
                }
                self._enter_match(rule, bound)
        self._engine.run(f"(seq {' '.join(f'(run do-{rule.name})' for rule in rules)})")

    def _enter_match(self, rule: Rule, bound: dict[str, int]) -> None:
        """Left side as matched = right side."""
        match = _Match(self.ledger, rule, bound, self._stating)
        left = match.term("root")
        self.ledger.state(left, bound["root"], Reason(rule.row))
        self.ledger.state(left, match.make(rule.built), Reason(rule.row))


class _Match:
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
        case ("as-inner" | "as-quotient"), (k, x, m, r):
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
        case ("quotient" | "remainder"), (x, n):
            return [(viewed, node("Floordiv" if relation == "quotient" else "Mod", x, node("Num", n)))]
        case ("quotient-of" | "remainder-of"), (x, z):
            return [(viewed, node("Floordiv" if relation == "quotient-of" else "Mod", x, z))]
    return []


def over_classes(node: ENode, number: Callable[[int], int]) -> ENode:
    """An e-node over classes as a node over numbers of the ledger."""
    return with_children(node, [number(child) for child in index_children(node)])


def definitions_of(facts: Mapping[str, Iterable[Row]], names: list[str]) -> dict[int, ENode]:
    """The nodes that rows for Engine.load define, by handle."""
    found: dict[int, ENode] = {}
    members: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for handle, k, atom in facts.get("term", ()):
        members[handle].append((atom, k))
    factors: defaultdict[int, list[int]] = defaultdict(list)
    for handle, atom, count in facts.get("factor", ()):
        factors[handle] += [atom] * count
    for kind, rows in facts.items():
        for handle, *operands in rows:
            if kind in CONSTRUCTORS:
                sorts = CONSTRUCTORS[kind].operands
                found[handle] = ENode(kind, tuple(names[v] if sort == "Name" else v for sort, v in zip(sorts, operands, strict=True)))
            elif kind == "Sum":
                found[handle] = ENode("Sum", (operands[0], *members[handle]))
            elif kind.startswith("Sum"):
                pairs = zip(operands[2::2], operands[1::2], strict=True)
                found[handle] = ENode("Sum", (operands[0], *pairs))
            elif kind == "Prod":
                found[handle] = ENode("Prod", tuple(factors[handle]))
    return found
