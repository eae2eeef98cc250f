"""A still picture of an e-graph as SVG, without script: what was extracted and what is around it, and how much is left out.

Places of boxes and lines are Graphviz's, by pygraphviz (extra `notebook`), whose wheels bring it along; this is the only module that
imports it.  Boxes go to it without texts, so that it needs no fonts.
"""

from __future__ import annotations

import base64
import importlib.util
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from html import escape

from eqsat.exploring.data import EClass, Graph, Node

MOST_BOXES = 60
MOST_ROWS = 6
MOST_CHARACTERS = 40
ROW, HEADER, CHARACTER, MARGIN = 17, 34, 6.2, 12

_STYLE = """text{font:10.5px ui-monospace,Menlo,Consolas,monospace;fill:#1f2430}.f{fill:#667080;font-size:9.5px}
.b{fill:#fff;stroke:#b9c1cc}.h{fill:#e9edf2}.c .b{stroke:#1764c0;stroke-width:1.6}.c .h{fill:#e3effc}.m{fill:#1764c0}.w{font-weight:700}
.e{fill:none;stroke:#b9c1cc}.g{stroke:#1764c0;stroke-width:1.8}.p{fill:#fff}.l{fill:#1764c0}
@media(prefers-color-scheme:dark){.p{fill:#15181d}text{fill:#e3e7ee}.f{fill:#98a3b3}.b{fill:#15181d;stroke:#475160}.h{fill:#2a313b}
.c .b{stroke:#6cb0ff}.c .h{fill:#1d3350}.m,.l{fill:#6cb0ff}.e{stroke:#475160}.g{stroke:#6cb0ff}}"""


@dataclass(frozen=True)
class _Box:
    """A class as it is drawn: its first nodes, and how many more it has."""

    eclass: EClass
    nodes: tuple[Node, ...]
    more: int
    width: int

    @property
    def height(self) -> int:
        return HEADER + ROW * (len(self.nodes) + bool(self.more))


def is_available() -> bool:
    """Whether pygraphviz is installed."""
    return importlib.util.find_spec("pygraphviz") is not None


def picture(graph: Graph, most: int = MOST_BOXES) -> str:
    """SVG of at most so many classes; an empty text without pygraphviz."""
    if not is_available() or not graph.classes:
        return ""
    shown = {id: _box(graph[id]) for id in neighbourhood(graph, most)}
    users = _users(graph)
    places, lines, (width, height) = _arranged(shown)
    parts = [f'<path class="e{" g" if chosen else ""}" d="{path}"/>' for path, chosen in sorted(lines, key=lambda line: line[1])]
    for id, box in shown.items():
        x, y = places[id]
        hidden = len(users.get(id, set()) - shown.keys())
        inside = "".join(_drawn(box, shown, hidden, id in graph.roots))
        parts.append(f'<g{_chosen(box)} transform="translate({x:.0f},{y:.0f})">{inside}</g>')
    caption = (
        f"{len(shown)} of {len(graph.classes)} classes shown, {len(graph.nodes)} nodes; +n and ↑n: operands and users that are not shown"
    )
    whole_width, whole_height = max(width + 2 * MARGIN + 30, len(caption) * CHARACTER), height + 2 * MARGIN + 22
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole_width:.0f} {whole_height:.0f}" width="{whole_width:.0f}" '
        f'height="{whole_height:.0f}"><style>{_STYLE}</style><rect class="p" width="100%" height="100%"/>'
        f'<text class="f" x="{MARGIN}" y="15">{escape(caption)}</text>'
        f'<g transform="translate({MARGIN + 20},{MARGIN + 16})">{"".join(parts)}</g></svg>'
    )


def as_image(svg: str, text: str) -> str:
    """HTML with a picture: pages that take scripts and SVG out of what they do not trust leave images."""
    encoded = base64.b64encode(svg.encode()).decode()
    return f'<img alt="{escape(text)}" src="data:image/svg+xml;base64,{encoded}">'


def neighbourhood(graph: Graph, most: int) -> tuple[int, ...]:
    """The classes of what was extracted, then what is around them, up to so many."""
    found: dict[int, None] = {}
    users = _users(graph)
    _reach(graph.roots or tuple(eclass.id for eclass in graph.classes[:1]), found, most, lambda id: _operands(graph[id], chosen=True))
    _reach(tuple(found), found, most, lambda id: (*_operands(graph[id]), *sorted(users.get(id, ()))))
    for eclass in graph.classes:
        if len(found) < most:
            found[eclass.id] = None
    return tuple(found)


def _reach(start: Iterable[int], found: dict[int, None], most: int, after: Callable[[int], Iterable[int]]) -> None:
    queue = dict.fromkeys(start)
    order = list(queue)
    for id in order:
        if len(found) >= most and id not in found:
            return
        found[id] = None
        for other in after(id):
            if other not in queue:
                queue[other] = None
                order.append(other)


def _operands(eclass: EClass, chosen: bool = False) -> Iterator[int]:
    for node in eclass.nodes:
        if node.chosen or not chosen:
            yield from node.operands


def _users(graph: Graph) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {}
    for eclass in graph.classes:
        for operand in _operands(eclass):
            if operand != eclass.id:
                found.setdefault(operand, set()).add(eclass.id)
    return found


# boxes -------------------------------------------------------------------------------------------------------------
def _box(eclass: EClass) -> _Box:
    nodes = sorted(eclass.nodes, key=lambda node: (not node.chosen, node.step))
    kept = tuple(nodes if len(nodes) <= MOST_ROWS + 1 else nodes[:MOST_ROWS])
    texts = [len(_short(_row(node, eclass))) + len(_cost(node)) + 4 for node in kept]
    characters = max(16, len(_title(eclass)) + 4, int(len(_facts(eclass)) * 0.92) + 4, *texts)
    return _Box(eclass, kept, len(nodes) - len(kept), int(characters * CHARACTER) + 8)


def _drawn(box: _Box, shown: dict[int, _Box], hidden_users: int, root: bool) -> Iterator[str]:
    """A box at the origin."""
    width = box.width
    yield f'<rect class="b" width="{width}" height="{box.height + 3}" rx="4"/>'
    yield f'<rect class="h" x="1" y="1" width="{width - 2}" height="{HEADER - 3}" rx="3"/>'
    yield f'<text class="w" x="7" y="14">{escape(_title(box.eclass))}</text>'
    yield f'<text class="f" x="7" y="27">{escape(_facts(box.eclass))}</text>'
    if root:
        yield f'<text class="f l w" x="{width - 6}" y="27" text-anchor="end">root</text>'
    if hidden_users:
        yield f'<text class="f l" x="-3" y="12" text-anchor="end">↑{hidden_users}</text>'
    for row, node in enumerate(box.nodes):
        y = HEADER + ROW * row + 12
        mark = f'<rect class="m" x="1" y="{y - 10}" width="3" height="13"/>' if node.chosen else ""
        bold = ' class="w"' if node.chosen else ""
        yield f'{mark}<text{bold} x="8" y="{y}">{escape(_short(_row(node, box.eclass)))}</text>'
        if node.cost:
            yield f'<text class="f" x="{width - 6}" y="{y}" text-anchor="end">{_cost(node)}</text>'
        left_out = len(set(node.operands) - shown.keys())
        if left_out:
            yield f'<text class="f l" x="{width + 3}" y="{y}">+{left_out}</text>'
    if box.more:
        yield f'<text class="f" x="8" y="{HEADER + ROW * len(box.nodes) + 12}">… {box.more} more nodes</text>'


def _chosen(box: _Box) -> str:
    return ' class="c"' if box.eclass.chosen else ""


def _title(eclass: EClass) -> str:
    return f"c{eclass.id}  {_short(eclass.term, 30)}"


def _facts(eclass: EClass) -> str:
    bounds = f"  {eclass.bounds[0]}..{eclass.bounds[1]}" if eclass.bounds is not None else ""
    return _short(f"{eclass.type}{bounds}", 42)


def _row(node: Node, eclass: EClass) -> str:
    """The text of a node; those of one class that read alike, as a written sum and one of many terms, say what they are."""
    text = str(node)
    return f"{text}  ({node.operation})" if any(other is not node and str(other) == text for other in eclass.nodes) else text


def _cost(node: Node) -> str:
    return f"{node.cost:.4g} ns" if node.cost else ""


def _short(text: str, most: int = MOST_CHARACTERS) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


# places ------------------------------------------------------------------------------------------------------------
def _arranged(shown: dict[int, _Box]) -> tuple[dict[int, tuple[float, float]], list[tuple[str, bool]], tuple[float, float]]:
    """The upper left corner of every box; lines as SVG paths, and whether both ends are of what was extracted; width and height."""
    import pygraphviz

    drawn = pygraphviz.AGraph(directed=True, strict=False, rankdir="LR", nodesep="0.16", ranksep="0.5")
    for id, box in shown.items():
        drawn.add_node(id, shape="plain", label=_cells(box))
    chosen: dict[str, bool] = {}
    for id, box in shown.items():
        for row, node in enumerate(box.nodes):
            for operand in dict.fromkeys(node.operands):
                if operand in shown and operand != id:
                    key = f"{id}-{row}-{operand}"
                    chosen[key] = node.chosen and shown[operand].eclass.chosen
                    drawn.add_edge(id, operand, key=key, tailport=f"r{row}:_", headport="h:_", arrowhead="none")
    drawn.layout("dot")
    left, bottom, right, top = (float(v) for v in drawn.graph_attr["bb"].split(","))
    places = {}
    for id, box in shown.items():
        x, y = (float(v) for v in drawn.get_node(id).attr["pos"].split(","))
        places[id] = x - box.width / 2, top - y - box.height / 2
    lines = [(_path(drawn.get_edge(a, b, key).attr["pos"], top), chosen[key]) for a, b, key in drawn.edges(keys=True)]
    return places, lines, (right - left, top - bottom)


def _cells(box: _Box) -> str:
    """A box without texts, in Graphviz's words: a cell for the header and one for every row, to which lines go."""
    rows = [("h", HEADER), *((f"r{row}", ROW) for row in range(len(box.nodes))), *([("more", ROW)] if box.more else [])]
    cells = "".join(f'<TR><TD PORT="{port}" FIXEDSIZE="TRUE" WIDTH="{box.width}" HEIGHT="{height}"></TD></TR>' for port, height in rows)
    return f'<<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0">{cells}</TABLE>>'


def _path(spline: str, top: float) -> str:
    """A spline of Graphviz, whose axis goes up, as an SVG path."""
    points = [f"{float(x):.0f},{top - float(y):.0f}" for x, y in (point.split(",") for point in spline.split() if point[0] not in "es")]
    return f"M{points[0]}C{' '.join(points[1:])}"
