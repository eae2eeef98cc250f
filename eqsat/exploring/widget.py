"""The e-graph explorer as a Jupyter widget (anywidget; extra `notebook`): the only module that imports anywidget.

What a notebook is saved with is small: the code is compressed, graphs beyond MOST_SAVED bytes stay in the kernel and are sent when the page
asks for them.
"""

from __future__ import annotations

import base64
import functools
import importlib.util
import zlib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from eqsat.exploring.data import Graph
from eqsat.exploring.picture import picture
from eqsat.ir.errors import UsageError

# compressed; a notebook with some explorers stays below a megabyte
MOST_SAVED = 32_000
HEIGHT = 560

# the bundle as a module of its own, unpacked by the page
_LOADER = """const packed = "{packed}";
const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
const text = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
const url = URL.createObjectURL(new Blob([text], {{ type: "text/javascript" }}));
const bundle = await import(url);
URL.revokeObjectURL(url);
export default bundle.default;
"""


def is_available() -> bool:
    """Whether anywidget is installed."""
    return importlib.util.find_spec("anywidget") is not None


def explorer(graph: Graph, height: int = HEIGHT) -> Any:
    """The widget of an e-graph, `height` CSS pixels high; UsageError without the extra `notebook`."""
    if not is_available():
        raise UsageError("explorer: found no anywidget, expected it: pip install 'eqsat[notebook]'")
    return _widget_class()(graph, height)


def bundle(name: str) -> str:
    """A file that the page runs (explorer.js, explorer.css)."""
    return (files("eqsat.exploring") / "static" / name).read_text(encoding="utf-8")


def packed(graph: Graph) -> bytes:
    """What the page gets of a graph."""
    return zlib.compress(graph.to_json().encode(), 9)


@functools.cache
def _widget_class() -> type[Any]:
    import anywidget
    import traitlets

    code = base64.b64encode(zlib.compress(bundle("explorer.js").encode(), 9)).decode()

    class Explorer(anywidget.AnyWidget):
        """Synchronized are `graph` (empty where it is too large to be saved), and what is shown where no kernel answers."""

        _esm = _LOADER.format(packed=code)
        _css = bundle("explorer.css")
        graph = traitlets.Bytes().tag(sync=True)
        picture = traitlets.Unicode().tag(sync=True)
        summary = traitlets.Unicode().tag(sync=True)
        height = traitlets.Int(HEIGHT).tag(sync=True)

        def __init__(self, graph: Graph, height: int) -> None:
            self._data = packed(graph)
            small = len(self._data) <= MOST_SAVED
            still = "" if small else picture(graph)
            super().__init__(graph=self._data if small else b"", picture=still, summary=graph.summary(), height=height)
            self.on_msg(self._answer)

        def _answer(self, _: Any, message: Mapping[str, Any], __: Any) -> None:
            if message.get("kind") == "graph":
                self.send({"kind": "graph"}, [self._data])

    return Explorer
