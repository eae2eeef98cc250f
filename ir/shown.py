"""Values that notebooks display: as text everywhere, as HTML where a writer of pages is there.

The classes of this folder know no HTML; `eqsat` hands over what writes it.
"""

from __future__ import annotations

from collections.abc import Callable

Writer = Callable[[object], str]
_writers: list[Writer] = []


def write_pages_with(writer: Writer) -> None:
    """Values are displayed as the HTML that `writer` makes of them."""
    _writers[:] = [writer]


class Shown:
    """What Jupyter displays by itself; `str` is its text form."""

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """The forms by MIME type; which of them are wanted is left to the caller, as IPython allows."""
        del include, exclude
        text = {"text/plain": str(self)}
        return {**text, "text/html": _writers[0](self)} if _writers else text
