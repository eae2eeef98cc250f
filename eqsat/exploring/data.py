"""An e-graph as plain data: its classes and nodes, what was extracted, and what every step of saturation did."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from eqsat.ir.errors import UsageError
from eqsat.ir.interval import Interval


@dataclass(frozen=True)
class Node:
    """An e-node.

    operation   what it does: `floordiv`, `sum`, `exp`, `read`, ...
    operands    the classes below it, by id
    template    its text, in which {0}, {1}, ... stand for the operands
    cost        estimated nanoseconds of the operation itself, its operands at hand; None: no program is made of it
    step        the step of saturation in which it appeared, 0 for what is there before rules run
    rules       names of the rows that made it in that step; none: it is part of the term or program as it is written; `name of a class`: no
                row made it, it was needed to give a class a name
    chosen      whether what was extracted is made of it
    home, gone  the class in which it appeared; the step in which it was dropped, or became another node; None: it is there at the end
    """

    operation: str
    operands: tuple[int, ...]
    template: str
    cost: float | None
    step: int
    rules: tuple[str, ...]
    chosen: bool
    home: int
    gone: int | None = None

    def __str__(self) -> str:
        return self.template.format(*(f"c{operand}" for operand in self.operands))


@dataclass(frozen=True)
class EClass:
    """Terms that are equal.

    kind        index, element, tensor, index list, or function as written
    type        kind with dtype and shape where there are such
    term        the smallest term in it, shortened
    bounds      least and greatest value, where the analysis knows them
    divisor     (m, r): every value is m*k + r
    """

    id: int
    kind: str
    type: str
    nodes: tuple[Node, ...]
    term: str = ""
    bounds: Interval | None = None
    divisor: tuple[int, int] | None = None

    @property
    def chosen(self) -> bool:
        """Whether what was extracted is made of one of its nodes."""
        return any(node.chosen for node in self.nodes)

    def __str__(self) -> str:
        facts = [f"{self.bounds[0]}..{self.bounds[1]}"] if self.bounds is not None else []
        facts += [f"{self.divisor[0]}*k + {self.divisor[1]}" if self.divisor[1] else f"{self.divisor[0]}*k"] if self.divisor else []
        return f"c{self.id}: {self.type}{''.join(', ' + fact for fact in facts)}  {self.term}"


@dataclass(frozen=True)
class Step:
    """What one step of saturation did.

    title     what ran: `as written`, `sum rows`, `rules (phase index)`, or both; with the number of passes, if it is several
    matches   how often each row matched
    added     new nodes by the row that made them first; "" for what is written
    merged    (class, the older class that it became one with)
    gone      nodes that were dropped, or became another node
    nodes, classes  how many there are after the step
    """

    title: str
    matches: Mapping[str, int]
    added: Mapping[str, int]
    merged: tuple[tuple[int, int], ...]
    gone: int
    nodes: int
    classes: int

    def __str__(self) -> str:
        by = ", ".join(f"{row or 'as written'} {count}" for row, count in list(self.added.items())[:4])
        more = f", {len(self.added) - 4} more rules" if len(self.added) > 4 else ""
        return (
            f"{self.title}: +{sum(self.added.values())} nodes{f' ({by}{more})' if by else ''}, -{self.gone}, "
            f"{len(self.merged)} classes merged -> {self.nodes} nodes in {self.classes} classes"
        )


@dataclass(frozen=True)
class Graph:
    """The data of an `EGraph` (graph.py), which says what its parts are."""

    what: str
    classes: tuple[EClass, ...]
    roots: tuple[int, ...]
    steps: tuple[Step, ...]
    stopped: str
    costs: tuple[float, float] | None = None
    history: tuple[Node, ...] = field(default=(), repr=False)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All e-nodes, class by class."""
        return tuple(node for eclass in self.classes for node in eclass.nodes)

    def __getitem__(self, id: int) -> EClass:
        """The class with this id, or that which it became part of; UsageError if there never was one."""
        found = self._by_id.get(self._leaders.get(id, id))
        if found is None:
            raise UsageError(f"e-graph: found class {id}, expected one of {len(self.classes)} ids such as {self.classes[0].id}")
        return found

    def find(self, text: str) -> tuple[EClass, ...]:
        """The classes whose id, term or type hold a text, or one of whose nodes is of an operation, text or rule that does.

        A node has a text with the ids of its operands (`c2 // c1`) and one with their terms (`x // 8`).  Blanks and case do not count.
        Classes whose term it is come first.
        """
        wanted = _packed(text)
        found = [eclass for eclass in self.classes if any(wanted in _packed(part) for part in self._texts(eclass))]
        return tuple(sorted(found, key=lambda eclass: _packed(eclass.term) != wanted))

    def at(self, step: int) -> Self:
        """The e-graph as it was after a step; bounds, types and terms are those that were known at the end."""
        if not 0 <= step < len(self.steps):
            raise UsageError(f"e-graph: found step {step}, expected 0 to {len(self.steps) - 1}")
        into: dict[int, int] = {}
        for earlier in self.steps[: step + 1]:
            into |= dict(earlier.merged)
        leaders = _followed(into)
        groups: dict[int, list[Node]] = {}
        for node in self.history:
            if node.step <= step and (node.gone is None or node.gone > step):
                groups.setdefault(leaders.get(node.home, node.home), []).append(_over(node, leaders))
        classes = tuple(self._was(id, tuple(nodes)) for id, nodes in sorted(groups.items()))
        roots = tuple(dict.fromkeys(leaders.get(root, root) for root in self.roots if root in groups or root in leaders))
        return replace(self, classes=classes, roots=roots, steps=self.steps[: step + 1], stopped=f"looked at after step {step}")

    def _was(self, id: int, nodes: tuple[Node, ...]) -> EClass:
        now = self._by_id.get(self._leaders.get(id, id))
        if now is None:
            return EClass(id, "", "", nodes)
        return replace(now, id=id, nodes=nodes)

    def _texts(self, eclass: EClass) -> Iterator[str]:
        yield from (f"c{eclass.id}", eclass.term, eclass.type)
        for node in eclass.nodes:
            terms = (self._by_id[operand].term if operand in self._by_id else f"c{operand}" for operand in node.operands)
            yield from (node.operation, str(node), node.template.format(*map(_bracketed, terms)), *node.rules)

    @functools.cached_property
    def _by_id(self) -> dict[int, EClass]:
        return {eclass.id: eclass for eclass in self.classes}

    @functools.cached_property
    def _leaders(self) -> dict[int, int]:
        return _followed({absorbed: into for step in self.steps for absorbed, into in step.merged})

    def summary(self, most: int = 12) -> str:
        """What it is, how large, and its steps, at most so many."""
        lines = [f"{self.what}: {len(self.nodes)} nodes in {len(self.classes)} classes, {self.stopped}"]
        lines += [f"  step {number}: {step}" for number, step in enumerate(self.steps[:most])]
        return "\n".join(lines + ([f"  and {len(self.steps) - most} more steps"] if len(self.steps) > most else []))

    def __str__(self) -> str:
        lines = [f"{self.what}: {len(self.nodes)} nodes in {len(self.classes)} classes, {self.stopped}"]
        lines += [f"  step {number}: {step}" for number, step in enumerate(self.steps)]
        for eclass in self.classes:
            lines.append(f"{eclass}{'  <- root' if eclass.id in self.roots else ''}")
            for node in eclass.nodes:
                cost = "" if node.cost is None else f"  {node.cost:.4g} ns"
                lines.append(f"  {'*' if node.chosen else ' '} {node}{cost}  {', '.join(node.rules) or 'as written'}, step {node.step}")
        return "\n".join(lines)

    def to_json(self) -> str:
        """All of it as JSON for the browser (js/README.md): columns, with texts by number."""
        return json.dumps(_columns(self), separators=(",", ":"))


def _packed(text: str) -> str:
    return "".join(text.split()).lower()


def _bracketed(term: str) -> str:
    return f"({term})" if " " in term else term


def _over(node: Node, leaders: Mapping[int, int]) -> Node:
    operands = tuple(leaders.get(operand, operand) for operand in node.operands)
    return node if operands == node.operands else replace(node, operands=operands)


def _followed(into: Mapping[int, int]) -> dict[int, int]:
    """For every class that became part of another the one that it is part of in the end."""
    found: dict[int, int] = {}
    for absorbed in sorted(into):  # always into an older one, with a smaller id
        older = into[absorbed]
        found[absorbed] = found.get(older, older)
    return found


def _columns(graph: Graph) -> dict[str, Any]:
    """The history with the facts of classes; texts that occur often are numbers of a list."""
    texts: dict[str, int] = {}

    def number(text: str) -> int:
        return texts.setdefault(text, len(texts))

    history, classes = graph.history, graph.classes
    return {
        "what": graph.what,
        "stopped": graph.stopped,
        "costs": graph.costs,
        "roots": graph.roots,
        "counts": [len(graph.nodes), len(classes)],
        "classes": {
            "id": [c.id for c in classes],
            "kind": [number(c.kind) for c in classes],
            "type": [number(c.type) for c in classes],
            "term": [number(c.term) for c in classes],
            "bounds": [c.bounds for c in classes],
            "divisor": [c.divisor for c in classes],
        },
        "nodes": {
            "home": [node.home for node in history],
            "operation": [number(node.operation) for node in history],
            "template": [number(node.template) for node in history],
            "operands": [node.operands for node in history],
            "cost": [None if node.cost is None else float(f"{node.cost:.4g}") for node in history],
            "step": [node.step for node in history],
            "gone": [-1 if node.gone is None else node.gone for node in history],
            "rules": [[number(rule) for rule in node.rules] for node in history],
            "chosen": [int(node.chosen) for node in history],
        },
        "steps": [
            {
                "title": step.title,
                "matches": list(step.matches.items()),
                "added": list(step.added.items()),
                "merged": step.merged,
                "gone": step.gone,
                "nodes": step.nodes,
                "classes": step.classes,
            }
            for step in graph.steps
        ],
        "texts": list(texts),
    }
