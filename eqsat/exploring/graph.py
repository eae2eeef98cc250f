"""The e-graph as users have it: data that shows itself in notebooks."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

from eqsat.exploring import widget
from eqsat.exploring.data import Graph
from eqsat.exploring.picture import as_image, picture


@dataclass(frozen=True)
class EGraph(Graph):
    """The e-graph from which something was extracted, with its history; a notebook shows it as a widget to walk through, or as a picture
    where widgets do not run.

    what      the term or program, in one line
    classes   e-classes, the oldest first, counted as egglog's tables hold them when the result is extracted
    roots     the classes of the term, or of the program's outputs, by id
    steps     what each step of saturation did; the first is what was there before
    stopped   why saturation ended
    costs     estimated nanoseconds before and after; None where nothing was extracted
    history   every node that ever was, as it was when it appeared
    """

    def widget(self, height: int = widget.HEIGHT) -> Any:
        """The explorer of this e-graph, `height` CSS pixels high; UsageError without the extra `notebook`."""
        return widget.explorer(self, height)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """Text always, a picture with pygraphviz, the widget with anywidget; pages that run no widgets take what is left."""
        still = picture(self)
        shown: dict[str, Any] = {"text/plain": self.summary()}
        shown["text/html"] = as_image(still, self.summary()) if still else f"<pre>{escape(self.summary())}</pre>"
        if not widget.is_available():
            return shown, {}
        live, metadata = self.widget()._repr_mimebundle_()
        return live | shown, metadata
