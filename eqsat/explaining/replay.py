"""Saturation once more, slowly: what every row found is written down with the terms that it read.

Egglog rules write down their matches (matches.py).  Sum rows run one by one: an equality or a view that one states is entered
with the form of the class that it was looking at.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from eqsat.egraph.definitions import definitions_of
from eqsat.egraph.encode import NUMBER_LIMIT, Encoder
from eqsat.egraph.engine import Row
from eqsat.egraph.forms import cheapest_forms, index_children, read
from eqsat.egraph.index_cost import DEFAULT_WEIGHTS, IndexWeights
from eqsat.egraph.linear import Linear
from eqsat.egraph.schema import FACTS, SUM_OPS, VIEWS
from eqsat.egraph.snapshot import ENode, Snapshot, take_snapshot
from eqsat.explaining.ledger import Ledger, Reason, with_children
from eqsat.explaining.matches import FINDS, FLATTEN, SORTS, Match, Rule, engine_for, rules_of, views_of
from eqsat.ir.index import Apply, Const, Index, walk
from eqsat.options import Limits
from eqsat.rules import TABLES, Rule as OwnRule, own_table
from eqsat.rules.bounds import BOUNDS_TABLE
from eqsat.rules.row import SumRow
from eqsat.rules.visit import Visit

VIEWS_AND_FACTS = {**VIEWS, **FACTS}


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
        if self.concerns(row):
            self.run(row)
        return self.statements

    def alternatives(self, name: int) -> list[Linear]:
        return _Reading(self, name, super().alternatives(name))

    def nodes(self, *ops: str) -> Iterator[tuple[int, ENode]]:
        for name, node in super().nodes(*ops):
            self.read[name] = node
            yield name, node

    def reads(self, forms: Mapping[int, Linear | ENode]) -> None:
        self.read = dict(forms)

    def first(self, row: str, *key: Any) -> bool:
        found = super().first(row, *key)
        if row == FLATTEN.row:
            self.read = {key[0]: key[1]}
        return found

    def state(self, relation: str, *operands: int) -> None:
        super().state(relation, *operands)
        if all(abs(operand) < NUMBER_LIMIT for operand in operands):
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
    """One term's saturation; `ledger` holds every equality that a row found.  The budget counts the ledger's nodes."""

    def __init__(
        self, tables: tuple[str, ...], limits: Limits, weights: IndexWeights = DEFAULT_WEIGHTS, own: tuple[OwnRule, ...] = ()
    ) -> None:
        self.ledger, self.weights = Ledger(), weights
        self.limits, self.saturated = limits, False
        self._rules = rules_of(tables)
        used = (*(table for table in TABLES if table.name in tables and table.phase == "index"), *own_table(own))
        self._sum_rows = [row for table in used for row in table.rows if isinstance(row, SumRow)]
        self._engine = engine_for(tables)
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
        definitions = definitions_of(encoder.take(), encoder.names)
        numbers: dict[int, int] = {}
        for name in sorted(definitions):
            numbers[name] = self.ledger.add(over_classes(definitions[name], numbers.__getitem__))
        return numbers[handle]

    def state_grouping(self, root: Index) -> None:
        """State that sums with products of sums, as they are written in a term, equal their n-ary form."""
        for term in walk(root):
            if isinstance(term, Apply) and term.op in ("add", "sub", "mul", "neg"):
                parts = [(self.node_of(part), k) for part, k in _parts(term, 1) if not isinstance(part, Const)]
                constant = sum(int(part.value) * k for part, k in _parts(term, 1) if isinstance(part, Const))
                if parts and (len(parts) > 1 or constant or parts[0][1] != 1):
                    self.ledger.state(self.ledger.add(ENode("Sum", (constant, *parts))), self.node_of(term), FLATTEN)

    def run(self, terms: Sequence[Index], equal: tuple[int, int]) -> bool:
        """Saturate these terms until two nodes of the ledger are equal, or until the cheapest form of the first term is written like
        the second node: members of a class may be alike without being one.  False if that never happens."""
        with self._engine.session():
            roots = [self._encoder.index(term) for term in terms]
            self._collect()
            for _ in range(self.limits.iterations):
                if self.ledger.equal(*equal):
                    return True
                before = len(self.ledger.stated)
                changed = self._step()
                if len(self.ledger.nodes) > self.limits.nodes:
                    return self.ledger.equal(*equal)
                if not changed and len(self.ledger.stated) == before:
                    self.saturated = True
                    break
            best = self._cheapest(roots[0])
            if not self.ledger.equal(*equal) and str(self.ledger.term(best)) == str(self.ledger.term(equal[1])):
                self.ledger.state(best, equal[1], FLATTEN)
            return self.ledger.equal(*equal)

    def _cheapest(self, root: int) -> int:
        """The ledger's number of the cheapest form of a class."""
        self._load()
        snapshot = take_snapshot(self._engine, self._encoder, SORTS)
        self._collect(snapshot)
        forms = cheapest_forms(snapshot, self.weights)

        def number(name: int) -> int:
            return self.ledger.add(over_classes(forms[name], number))

        return number(snapshot.name(root))

    def _step(self) -> bool:
        """Bounds, sum rows, egglog rows: one round -> whether sum rows found something."""
        self._load()
        self._run(BOUNDS_TABLE)
        snapshot = take_snapshot(self._engine, self._encoder, SORTS)
        self._present |= snapshot.ops
        self._collect(snapshot)
        visit = _Visit(read(snapshot, self.weights), self._encoder, self._seen)
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
        return changed

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
        return self.ledger.add(
            ENode("Sum", (form.constant, *((atom(a), k) for a, k in form.terms))) if form.terms else ENode("Num", (form.constant,))
        )

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
                values = dict(zip(rule.variables, row.inputs, strict=True))
                # egglog leaves a variable of a node that it matched though it is subsumed unset
                if all(v[0] not in "xr" or value in names for v, value in values.items()):
                    bound = {v: self._numbers[names[value]] if v[0] in "xr" else self._engine.integer(value) for v, value in values.items()}
                    self._enter_match(rule, bound)
        self._engine.run(f"(seq {' '.join(f'(run do-{rule.name})' for rule in rules)})")

    def _enter_match(self, rule: Rule, bound: dict[str, int]) -> None:
        """Left side as matched = right side."""
        match = Match(self.ledger, rule, bound, self._stating)
        left = match.term("root")
        self.ledger.state(left, bound["root"], Reason(rule.row))
        self.ledger.state(left, match.make(rule.built), Reason(rule.row))


def _parts(term: Index, k: int) -> Iterator[tuple[Index, int]]:
    """The parts of a sum as it is written, with their coefficients."""
    if isinstance(term, Apply) and term.op in ("add", "sub"):
        yield from _parts(term.args[0], k)
        yield from _parts(term.args[1], k if term.op == "add" else -k)
    elif isinstance(term, Apply) and term.op == "neg":
        yield from _parts(term.args[0], -k)
    elif isinstance(term, Apply) and term.op == "mul" and isinstance(term.args[1], Const):
        yield term.args[0], k * int(term.args[1].value)
    else:
        yield term, k


def over_classes(node: ENode, number: Callable[[int], int]) -> ENode:
    """An e-node over classes as a node over numbers of the ledger."""
    return with_children(node, [number(child) for child in index_children(node)])
