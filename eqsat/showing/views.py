"""Pages of views: the picture, and what each view of a stack is."""

from __future__ import annotations

import base64
from collections.abc import Sequence

from eqsat.showing.html import code, counted, dim, escape, head, table
from eqsat.views.picture import Picture
from eqsat.views.stack import ViewStack
from eqsat.views.strided import View


def picture_body(picture: Picture) -> str:
    """A picture as an image of its own: notebooks that are not trusted keep images, and drop drawings."""
    data = base64.b64encode(picture.svg.encode()).decode()
    return f'<img alt="{escape(picture.text)}" src="data:image/svg+xml;base64,{data}">'


def view_body(view: View) -> str:
    """Its numbers and its picture."""
    return head("View", *_facts([view])) + picture_body(view.picture())


def stack_body(stack: ViewStack) -> str:
    """The position that it reads, where it has elements, its picture, and its views if there are several."""
    valid = stack.valid_expr()
    reads = (f"reads {code(stack.index_expr())}", f"where {code(valid)}" if str(valid) != "True" else "")
    several = "" if len(stack.views) == 1 else _views(stack.views)
    kind = f"{counted(len(stack.views), 'view')} of {counted(stack.source, 'element')}"
    return head("View stack", dim(kind), *reads) + picture_body(stack.picture()) + several


def _views(views: Sequence[View]) -> str:
    """The views of a stack, the first one on the elements."""
    rows = ([str(k), *map(code, (view.shape, view.strides, view.offset, view.mask or "none"))] for k, view in enumerate(views))
    return table(("view", "shape", "strides", "offset", "mask"), rows, "nttnt")


def _facts(views: Sequence[View]) -> tuple[str, ...]:
    (view,) = views
    named = (("shape", view.shape), ("strides", view.strides), ("offset", view.offset), ("mask", view.mask or "none"))
    return tuple(f"{dim(name)} {code(value)}" for name, value in named)
