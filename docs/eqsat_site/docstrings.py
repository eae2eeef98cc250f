"""Docstrings as eqsat writes them (prose, `code` in single backticks, aligned lines of names and meanings), as reStructuredText."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import eqsat
from eqsat.ir import errors

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.addnodes import pending_xref
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

# "name, other   what they mean"; a second line of the meaning is indented
_ROW = re.compile(r"(?P<names>\w+(?:, \w+)*) {2,}(?P<meaning>\S.*)")
_MOST_NAME = 40
_CODE = re.compile(r"`([^`]+)`")
_SPECIAL = re.compile(r"[\\*|]|_\b")
_PAGE = re.compile(r"docs/([\w/-]+)\.md")
_ERRORS = tuple(name for name in vars(errors) if name.endswith("Error"))
_ERROR = re.compile(rf"\b({'|'.join(_ERRORS)})\b")


def setup(app: Sphinx) -> None:
    """Rewrite every docstring when autodoc has read it."""
    app.connect("missing-reference", _public)
    app.connect("autodoc-process-docstring", lambda app, what, name, obj, options, lines: lines.__setitem__(slice(None), rest(lines)))


def _public(app: Sphinx, environment: BuildEnvironment, node: pending_xref, text: nodes.Element) -> nodes.Element | None:
    """The place of a type that is named after the module it is made in, and documented as `eqsat.NAME`."""
    name = node["reftarget"].rpartition(".")[2]
    if node["refdomain"] != "py" or name not in eqsat.__all__ or not node["reftarget"].startswith("eqsat."):
        return None
    return environment.domains.python_domain.resolve_xref(environment, node["refdoc"], app.builder, "obj", f"eqsat.{name}", node, text)


def rest(lines: Iterable[str]) -> list[str]:
    """The lines of a docstring as reStructuredText: rows become a definition list, drawings and indented lines literal blocks."""
    return [line for block in _blocks(lines) for line in [*_block(block), ""]]


def _blocks(lines: Iterable[str]) -> Iterator[list[str]]:
    """Paragraphs; a row, the line behind the last row, and what is raised begin one."""
    block: list[str] = []
    for line in lines:
        turns = block and not line.startswith(" ") and _is_row(line) != _is_row(block[0])
        if not line.strip() or turns or line.startswith("Raises "):
            if block:
                yield block
            block = []
        if line.strip():
            block.append(line)
    if block:
        yield block


def _is_row(line: str) -> bool:
    found = _ROW.fullmatch(line)
    return found is not None and len(found["names"]) < _MOST_NAME


def _block(block: list[str]) -> list[str]:
    if any(line.startswith(("|", "`-")) for line in block) or block[0].startswith(" "):
        return ["::", "", *(f"    {line}" for line in block)]
    if not _is_row(block[0]):
        return list(_paragraph(block))
    return [".. rst-class:: aligned", "", *_rows(block)]


def _paragraph(block: list[str]) -> Iterator[str]:
    yield from inline("\n".join(line.rstrip() for line in block)).split("\n")


def _rows(block: list[str]) -> Iterator[str]:
    for row in re.split(r"\n(?=\S)", "\n".join(block)):
        first, *more = row.split("\n")
        found = _ROW.fullmatch(first)
        if found is None:
            raise ValueError(f"docstring: found {first!r} among aligned lines, expected names, two spaces and a meaning")
        yield ", ".join(f"``{name}``" for name in found["names"].split(", "))
        meaning = inline(" ".join([found["meaning"], *(line.strip() for line in more)]))
        yield from (f"    {meaning}", "")


def inline(text: str) -> str:
    """Text with its code as literals, or as links where it names what is public; errors and pages of docs/ are links."""
    parts = _CODE.split(text)
    return "".join(_code(part) if k % 2 else _plain(part) for k, part in enumerate(parts))


def _code(text: str) -> str:
    name = re.fullmatch(r"@?eqsat\.(\w+)(?:\(.*\))?", text)
    if name is not None and name[1] in eqsat.__all__:
        return f":py:obj:`{text} <eqsat.{name[1]}>`"
    return f"``{text.strip()}``"


def _plain(text: str) -> str:
    escaped = _SPECIAL.sub(lambda match: "\\" + match[0], text.replace(" .. ", " … "))
    linked = _PAGE.sub(lambda match: f":doc:`/{match[1]}`", escaped)
    return _ERROR.sub(lambda match: f":py:exc:`~eqsat.{match[1]}`", linked)
