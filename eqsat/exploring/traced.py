"""An engine whose rules write down the nodes that they make: each row of relation made-KIND is (rule, class, operands).

The rules are those of `eqsat.rules`, in the same rulesets and under the same names; only their actions are longer.  egglog keeps the
classes in these rows up to date like all others, so after a pass they name the nodes as the tables have them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from eqsat.egraph.engine import Engine, PerThread
from eqsat.egraph.schema import CONSTRUCTORS, Constructor, nodes_of
from eqsat.explaining.matches import Expression, parse, unparsed
from eqsat.rules import Table, egglog_program
from eqsat.saturate import tables_for

FORGET = "forget"


@dataclass(frozen=True)
class Traced:
    """The engine, and the row of each number that a relation made-KIND has."""

    engine: Engine
    rows: tuple[str, ...]


# by the identity of tables, which the entries keep alive, as in saturate.py
_ENGINES = PerThread[tuple[Traced, tuple[Table, ...]]]()


def traced_engine(tables: tuple[Table, ...], sorts: tuple[str, ...]) -> Traced:
    """The engine of this thread for these tables over classes of these sorts."""
    tables = tables_for(sorts, tables)

    def made() -> tuple[Traced, tuple[Table, ...]]:
        program, rulesets = egglog_program(tables, sorts)
        rows = tuple(dict.fromkeys(row.name for table in tables for row in table.rows))
        numbers = {name: number for number, name in enumerate(rows)}
        lines = program.splitlines()
        # declarations of sorts come before the first rule, which is one of the loaders
        first = next(k for k, line in enumerate(lines) if line.startswith("(ruleset "))
        text = [*lines[:first], *_relations(sorts), *(_traced(line, numbers) for line in lines[first:])]
        return Traced(Engine("\n".join(text), sorts, rulesets), rows), tables

    return _ENGINES.get((sorts, *map(id, tables)), made)[0]


def relation_of(kind: str) -> str:
    """The relation that says which rule made a node of a kind."""
    return f"made-{kind}"


def _relations(sorts: tuple[str, ...]) -> Iterator[str]:
    """Declarations, and rules that empty the relations: between passes, and at the end of a session."""
    yield f"(ruleset {FORGET})"
    for node in nodes_of(sorts):
        row = f"({relation_of(node.name)} rule class {' '.join(f'a{k}' for k in range(len(node.operands)))})"
        yield f"(relation {relation_of(node.name)} (i64 {node.sort} {' '.join(_columns(node))}))"
        yield f'(rule ({row}) ((delete {row})) :ruleset {FORGET} :name "forget {node.name}")'


def _columns(node: Constructor) -> Iterable[str]:
    return ("i64" if sort == "Name" else sort for sort in node.operands)


def _traced(line: str, numbers: dict[str, int]) -> str:
    """The text of a rule that also writes down what it makes; any other line as it is."""
    if not line.startswith("(rule "):
        return line
    _, facts, actions, *options = parse(line)
    row = options[options.index(":name") + 1].strip('"').partition("~")[0]
    if row not in numbers:
        return line
    actions = [part for action in actions for part in _written_down(action, numbers[row])]
    return f"(rule {unparsed(facts)} {unparsed(actions)} {' '.join(options)})"


def _written_down(action: Expression, number: int) -> list[Expression]:
    """An action with a name for every node that it makes, and a row about it."""
    if action[0] != "union":
        return [action]
    made: list[Expression] = []
    names = [_named(side, f"made_{k}", number, made) for k, side in enumerate(action[1:])]
    return [*made, ["union", *names]]


def _named(expression: Expression, name: str, number: int, made: list[Expression]) -> str:
    """The name of what an expression makes; it goes to `made` with all that it is made of."""
    if isinstance(expression, str):
        return expression
    kind, *args = expression
    operands = [_named(arg, f"{name}_{k}", number, made) for k, arg in enumerate(args)]
    made.append(["let", name, [kind, *operands]])
    if kind in CONSTRUCTORS:
        made.append([relation_of(kind), str(number), name, *operands])
    return name
