"""Colours for code by pygments, which comes with IPython; without it code is shown as it stands."""

from __future__ import annotations

import functools
from typing import Any, Literal

from eqsat.showing.html import escape

Language = Literal["python", "llvm", "gas"]
# what is coloured: few kinds, for every colour is a tag
CLASSES = (("Keyword", "k"), ("Comment", "c"), ("Literal.Number", "n"), ("Name.Label", "l"))
# instructions of assembly are functions to pygments
MORE = {"gas": (("Name.Function", "k"), ("Name.Constant", "n")), "llvm": (), "python": (("Operator.Word", "k"),)}


def highlight(text: str, language: Language) -> list[str]:
    """The lines of a text as HTML."""
    lexers, classes = _lexers(), dict((*CLASSES, *MORE[language]))
    if lexers is None:
        return [escape(line) for line in text.split("\n")]
    lexer = lexers.get_lexer_by_name(language, stripnl=False, ensurenl=False)
    shown = "".join(_piece(str(kind).removeprefix("Token."), piece, classes) for kind, piece in lexer.get_tokens(text))
    return shown.split("\n")


def _piece(kind: str, text: str, classes: dict[str, str]) -> str:
    name = next((name for start, name in classes.items() if kind.startswith(start)), "")
    if not name or not text.strip():
        return escape(text)
    return "\n".join(f'<i class="{name}">{escape(line)}</i>' if line else "" for line in text.split("\n"))


@functools.cache
def _lexers() -> Any:
    try:
        import pygments.lexers
    except ImportError:
        return None
    return pygments.lexers
