"""An answer on standard output: as JSON, in colour, or as plain aligned text.

Colour is for those who look: with the extra `cli`, on a terminal.  What goes to a file or a pipe is the same text with and without it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

from eqsat.command_line.answer import Answer, Facts, Part, Table

INDENT, GAP = "  ", "  "


def write(answer: Answer, as_json: bool) -> None:
    """Print an answer on standard output; tables without rows are left out."""
    stream = sys.stdout
    parts = [part for part in answer.parts if not isinstance(part, Table) or part.rows]
    if as_json:
        print(json.dumps(answer.data, indent=2, allow_nan=False), file=stream)
    elif not stream.isatty() or not _write_in_colour(parts, stream):
        print("\n\n".join("\n".join(_lines(part)) for part in parts), file=stream)


def _lines(part: Part) -> Iterator[str]:
    """A part as plain text."""
    if part.title:
        yield part.title
    if isinstance(part, Facts):
        yield from _aligned(part.pairs, [False, False])
    elif isinstance(part, Table):
        yield from _aligned([part.columns, *part.rows], [column in part.right for column in part.columns])
    else:
        yield part.body


def _aligned(rows: Any, right: list[bool]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.rjust(width) if at_right else cell.ljust(width) for cell, width, at_right in zip(row, widths, right, strict=True))
        yield (INDENT + GAP.join(cells)).rstrip()


def _write_in_colour(parts: Sequence[Part], stream: TextIO) -> bool:
    """Whether rich is there to do it."""
    try:
        from rich.console import Console
        from rich.padding import Padding
        from rich.table import Table as Grid
        from rich.text import Text as Styled
    except ImportError:
        return False
    console = Console(file=stream, highlight=False, markup=False, emoji=False)
    for part in parts:
        if part is not parts[0]:
            console.print()
        if part.title:
            console.print(Styled(part.title, "bold"))
        if isinstance(part, Facts | Table):
            grid = Grid(box=None, pad_edge=False, padding=(0, 1), show_header=isinstance(part, Table))
            console.print(Padding(_filled(grid, part), (0, 0, 0, len(INDENT)), expand=False))
        else:
            console.print(part.body, soft_wrap=True)
    return True


def _filled(grid: Any, part: Facts | Table) -> Any:
    """A table of rich with the rows of a part; nothing is cut off: what is too wide is folded."""
    columns, rows = (part.columns, part.rows) if isinstance(part, Table) else (("", ""), part.pairs)
    right = part.right if isinstance(part, Table) else frozenset()
    for k, name in enumerate(columns):
        grid.add_column(name, justify="right" if name in right else "left", style="cyan" if k == 0 else None, overflow="fold")
    for row in rows:
        grid.add_row(*row)
    return grid
