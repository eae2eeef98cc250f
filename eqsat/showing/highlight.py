"""Colours for code by pygments, which comes with IPython; without it code is shown as it stands."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, Literal

from eqsat.showing.html import escape

Language = Literal["python", "llvm", "gas"]
# what is coloured: few kinds, for every colour is a tag
CLASSES = (("Keyword", "k"), ("Comment", "c"), ("Literal.Number", "n"), ("Name.Label", "l"))
# instructions of assembly are functions to pygments
MORE = {"gas": (("Name.Function", "k"), ("Name.Constant", "n")), "llvm": (), "python": (("Operator.Word", "k"),)}


def highlight(text: str, language: Language) -> list[str]:
    """The lines of a text as HTML."""
    lexers, classes = _lexers(), (*CLASSES, *MORE[language])
    if lexers is None:
        return [escape(line) for line in text.split("\n")]
    lexer = lexers.get_lexer_by_name(language, stripnl=False, ensurenl=False)
    return "".join(_coloured(_classified(lexer.get_tokens(text), classes))).split("\n")


def _classified(tokens: Iterable[tuple[object, str]], classes: tuple[tuple[str, str], ...]) -> Iterator[tuple[str, str]]:
    """(class, text) of each token; blanks between words belong to the words before them, ends of lines to none."""
    before = ""
    for token, text in tokens:
        kind = str(token).removeprefix("Token.")
        blank = text.isspace() and "\n" not in text
        name = before if blank else next((name for start, name in classes if kind.startswith(start)), "")
        before = "" if "\n" in text else name
        yield before, text


def _coloured(pieces: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, group in groupby(pieces, key=lambda piece: piece[0]):
        text = "".join(text for _, text in group)
        yield f'<i class="{name}">{escape(text)}</i>' if name else escape(text)


@functools.cache
def _lexers() -> Any:
    try:
        import pygments.lexers
    except ImportError:
        return None
    return pygments.lexers
