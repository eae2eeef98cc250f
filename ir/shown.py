"""Values that notebooks display: as text everywhere, as HTML where a writer of pages is there.

The classes of this folder know no HTML; `eqsat` hands over what writes it.
"""

from __future__ import annotations

from collections.abc import Callable

MOST_CHARACTERS = 20_000
Writer = Callable[[object], str]
_writers: list[Writer] = []


def write_pages_with(writer: Writer) -> None:
    """Values are displayed as the HTML that `writer` makes of them."""
    _writers[:] = [writer]


def shortened(text: str) -> str:
    """A text as notebooks keep it: of a long one the beginning, and how much is left out."""
    left_out = len(text) - MOST_CHARACTERS
    return text if left_out <= 0 else f"{text[:MOST_CHARACTERS]}\n... {left_out:,} characters more: print(...) shows all"


class Shown:
    """What Jupyter displays by itself; `str` is its text form, which prompts show."""

    def __repr__(self) -> str:
        return str(self)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """The forms by MIME type; which of them are wanted is left to the caller, as IPython allows."""
        del include, exclude
        text = {"text/plain": shortened(str(self))}
        return {**text, "text/html": _writers[0](self)} if _writers else text
