"""From a recording to an EGraph: nodes get texts and costs, classes types, bounds and terms."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import gcd
from types import MappingProxyType

from eqsat.egraph.snapshot import ENode
from eqsat.exploring.chosen import Used
from eqsat.exploring.data import EClass, Node, Step
from eqsat.exploring.graph import EGraph
from eqsat.exploring.labels import SORTS, operands, operation, template
from eqsat.exploring.prices import PricedNode
from eqsat.exploring.recording import Appearance, RecordedStep, Recording, over
from eqsat.exploring.terms import class_terms
from eqsat.ir.tensor import Tensor
from eqsat.journal import WRITTEN

# a number that stands alone, and is no place for an operand
_NUMBER = re.compile(r"(?<![\w.{])\d+(?![\w.}])")
# a class of the recording, and a node over such classes
Place = tuple[int, ENode]


def assemble(
    what: str,
    recording: Recording,
    roots: tuple[int, ...],
    used: Iterable[Used] | None,
    prices: Iterable[PricedNode] = (),
    costs: tuple[float, float] | None = None,
    stopped: str = "",
    types: Mapping[tuple[str, int], str] | None = None,
    leaves: Sequence[Tensor] = (),
    sizes: Mapping[int, str] = MappingProxyType({}),
) -> EGraph:
    """The e-graph of a recording.

    used, prices, types  of nodes and classes by their names in the snapshot from which something was extracted; `used` is None where the
                         program stays as it is written
    sizes                the names of sizes that are known at run time, by the numbers that stand for them in shapes
    """

    def named(text: str) -> str:
        return _NUMBER.sub(lambda found: sizes.get(int(found[0]), found[0]), text) if sizes else text

    places = _Places(recording)
    chosen = places.written() if used is None else {places.of(sort, name, node) for sort, name, node in used}
    known = {places.of(sort, name, node): ns for sort, name, node, ns in prices}
    used_once = places.first_of(chosen)
    history = [_node(one, places.now(one), one in used_once, known, leaves) for one in recording.appearances]
    history = [replace(node, template=named(node.template)) for node in history] if sizes else history
    classes = _classes(recording, places, history, {key: named(text) for key, text in (types or {}).items()})
    return EGraph(named(what), classes, roots, _steps(recording.steps), stopped, costs, tuple(history))


class _Places:
    """Where nodes are at the end."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.leaders: dict[int, int] = {}
        for step in recording.steps:
            for absorbed, into in step.merged:
                self.leaders[absorbed] = into
        for absorbed in sorted(self.leaders):  # always into an older one, with a smaller number
            into = self.leaders[absorbed]
            self.leaders[absorbed] = self.leaders.get(into, into)

    def of(self, sort: str, name: int, node: ENode) -> Place:
        """The place of a node over the names of a snapshot."""
        return self.recording.number(sort, name), over(node, self.recording.number)

    def now(self, one: Appearance) -> Place | None:
        """Where a node is; None if it is gone."""
        if one.gone is not None:
            return None
        return self.leaders.get(one.home, one.home), over(one.node, lambda _, id: self.leaders.get(id, id))

    def first_of(self, places: set[Place]) -> set[Appearance]:
        """The nodes at these places, one each: sums whose terms have become alike are there as often as egglog has rows of them."""
        found: dict[Place, Appearance] = {}
        for one in sorted(self.recording.appearances, key=lambda one: len(operands(one.node))):
            place = self.now(one)
            if place is not None and place in places:
                found.setdefault(place, one)
        return set(found.values())

    def written(self) -> set[Place]:
        """The nodes of a program as it is written: its elements and maps, and the builds that its tensors are."""
        nodes = ((one, self.now(one)) for one in self.recording.appearances if one.sort != "Sy")
        written = {place for one, place in nodes if place is not None and one.rows == (WRITTEN,)}
        builds = ((one, self.now(one)) for one in self.recording.appearances if one.node.op == "Build")
        elements = {node.args[3] for _, node in written if node.op == "Generic"}
        written = {place for place in written if place[1].op != "Generic"}
        return written | {place for one, place in builds if place is not None and place[1].args[1] in elements}


def _node(one: Appearance, place: Place | None, chosen: bool, prices: Mapping[Place, float], leaves: Sequence[Tensor]) -> Node:
    node = one.node
    rules = tuple(row for row in one.rows if row != WRITTEN)
    cost = None if place is None else prices.get(place)
    return Node(operation(node), operands(node), template(node, leaves), cost, one.step, rules, chosen, one.home, one.gone)


def _classes(recording: Recording, places: _Places, history: list[Node], types: Mapping[tuple[str, int], str]) -> tuple[EClass, ...]:
    members: dict[int, list[Node]] = {}
    sorts: dict[int, str] = {}
    divisors: dict[int, tuple[int, int]] = {}
    for appeared, node in zip(recording.appearances, history, strict=True):
        place = places.now(appeared)
        if place is not None:
            id, now = place
            sorts[id] = appeared.sort
            members.setdefault(id, []).append(replace(node, operands=tuple(places.leaders.get(one, one) for one in node.operands)))
            divisors[id] = max(divisors.get(id, (1, 0)), _divisor(now))
    bounds = {recording.number("Ix", name): interval for name, interval in recording.snapshot.bounds.items()}
    typed = {recording.number(sort, name): text for (sort, name), text in types.items()}
    terms = class_terms(members)
    return tuple(
        EClass(
            id,
            SORTS[sorts[id]],
            typed.get(id, SORTS[sorts[id]]),
            tuple(members[id]),
            terms[id],
            bounds.get(id),
            divisors[id] if divisors[id][0] > 1 else None,
        )
        for id in sorted(members)
    )


def _divisor(node: ENode) -> tuple[int, int]:
    """(m, r) where a node is m*k + r, as its coefficients show."""
    if node.op == "Sum" and len(node.args) > 1:
        common = gcd(*(k for _, k in node.args[1:]))
        return common, node.args[0] % common
    return (abs(node.args[0]), 0) if node.op == "Scale" and node.args[0] else (1, 0)


def _steps(steps: Sequence[RecordedStep]) -> tuple[Step, ...]:
    return tuple(
        Step(_title(step, not number), _ordered(step.counts), _ordered(step.added), step.merged, step.gone, step.nodes, step.classes)
        for number, step in enumerate(steps)
    )


def _ordered(counts: Mapping[str, int]) -> dict[str, int]:
    """The largest first, in the same order in every process."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _title(step: RecordedStep, first: bool) -> str:
    phases = " and ".join(dict.fromkeys(step.phases))
    passes = f", {len(step.phases)} passes" if len(step.phases) > 1 else ""
    parts = ["as written"] if first else []
    parts += [f"rules of {phases}{passes}"] if phases else []
    return " and ".join(parts) or "sum rows"
