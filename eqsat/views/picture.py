"""Pictures of views: a grid of elements, each with the number of the memory cell that it reads, as SVG and as text.

Elements that read one cell have one colour; colours follow the cells in memory, so that strides can be seen.  Padding is hatched.
Three and four axes are a grid of grids; of more, and of large shapes, a corner is drawn, and the caption says so.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eqsat.ir.shown import Shown
from eqsat.ir.tensor import Shape

Array = np.ndarray[Any, Any]
# the positions that the elements at a grid of coordinates, one array for each axis, read, and whether they are no padding
Reads = Callable[[Sequence[Array]], tuple[Array, Array]]

# elements that are drawn along each axis, by the number of axes
MOST = {0: (), 1: (24,), 2: (16, 20), 3: (4, 10, 10), 4: (4, 4, 8, 8)}
DRAWN_AXES = 4
HEIGHT, GAP, MARGIN, LINE = 24, 12, 10, 16
# the width of a letter of captions
LETTER = 6.4
FIRST_HUE, HUES = 210, -230


@dataclass(frozen=True)
class Picture(Shown):
    """A drawing: `svg` to be stored in a file or shown by Jupyter, `text` for terminals."""

    svg: str
    text: str

    def _repr_svg_(self) -> str:
        return self.svg

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class _Corner:
    """What is drawn of a view: the positions of its first elements, those of padding -1, with the shape of the whole."""

    positions: Array
    shape: Shape

    @property
    def hidden(self) -> int:
        """How many axes are left out, the first ones, of which the place 0 is drawn."""
        return len(self.shape) - self.positions.ndim

    @property
    def note(self) -> str:
        """What is left out, if anything is."""
        drawn = (*(1 for _ in range(self.hidden)), *self.positions.shape)
        return "" if drawn == self.shape else f"drawn: [{', '.join(f':{n}' for n in drawn)}] of {self.shape}"

    def title(self, place: Sequence[int]) -> str:
        """An inner grid as NumPy would select it."""
        return f"[{', '.join([*('0' * self.hidden), *map(str, place), ':', ':'])}]"


def draw(shape: Shape, reads: Reads, captions: Sequence[str]) -> Picture:
    """The picture of a view of this shape; `captions` are lines below it."""
    corner = _corner(shape, reads)
    padding = "hatched: padding, which is 0" if (corner.positions < 0).any() else ""
    empty = "" if corner.positions.size else "no elements"
    below = [*captions, *filter(None, (padding, empty, corner.note))]
    return Picture(_svg(corner, below), "\n".join([*_text(corner), *below]))


def _corner(shape: Shape, reads: Reads) -> _Corner:
    hidden = max(len(shape) - DRAWN_AXES, 0)
    counts = [1] * hidden + [min(n, most) for n, most in zip(shape[hidden:], MOST[len(shape) - hidden], strict=True)]
    positions, valid = reads([np.arange(n if k >= hidden else min(1, shape[k])) for k, n in enumerate(counts)])
    found = np.where(valid, positions, -1)
    return _Corner(found.reshape(found.shape[hidden:]), shape)


# text -----------------------------------------------------------------------------------------------------------
def _text(corner: _Corner) -> list[str]:
    """The grid as lines, padding as dots; inner grids below each other."""
    width = len(str(corner.positions.max(initial=0)))
    lines: list[str] = []
    for place in np.ndindex(corner.positions.shape[:-2]):
        lines += [corner.title(place)] if place else []
        rows = np.atleast_2d(corner.positions[place])
        lines += [" ".join((str(cell) if cell >= 0 else ".").rjust(width) for cell in row) for row in rows if row.size]
    return lines


# SVG ------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Layout:
    """Where the cells of a corner stand, in pixels; `grids` has four axes."""

    corner: _Corner
    grids: Array
    cell: int
    titled: bool

    @property
    def pitch(self) -> tuple[int, int]:
        """From an inner grid to the next one: down and to the right."""
        rows, columns = self.grids.shape[2:]
        title = round(LETTER * len(self.corner.title((0,) * (self.corner.positions.ndim - 2)))) if self.titled else 0
        return rows * HEIGHT + GAP + (LINE if self.titled else 0), max(columns * self.cell, title) + GAP

    def at(self, row: int, column: int) -> tuple[int, int]:
        """The left upper corner of an inner grid: x and y."""
        down, right = self.pitch
        return MARGIN + column * right, MARGIN + row * down + (LINE if self.titled else 0)

    @property
    def size(self) -> tuple[int, int]:
        """Of all grids with the margin around them: width and height."""
        (down, right), (rows, columns) = self.pitch, self.grids.shape[:2]
        return 2 * MARGIN + columns * right - GAP, 2 * MARGIN + rows * down - GAP


def _svg(corner: _Corner, captions: Sequence[str]) -> str:
    positions = corner.positions
    grids = positions.reshape((1,) * (4 - positions.ndim) + positions.shape)
    cell = max(26, 9 + 7 * len(str(positions.max(initial=0))))
    layout = _Layout(corner, grids, cell, positions.ndim > 2)
    body = (part for row, column in np.ndindex(grids.shape[:2]) for part in _grid(layout, row, column))
    width, height = layout.size if positions.size else (0, MARGIN)
    lines = [_caption(MARGIN, height + LINE * (k + 1) - 4, text) for k, text in enumerate(captions)]
    width = max(width, 2 * MARGIN + max((round(LETTER * len(text)) for text in captions), default=0))
    height += LINE * len(captions) + (MARGIN if captions else 0)
    return f"{_head(width, height)}{''.join(body)}{''.join(lines)}</svg>"


def _head(width: int, height: int) -> str:
    style = (
        "text{font:11px ui-monospace,monospace;text-anchor:middle;fill:#1b1b1b}text.c{font-size:10.5px;text-anchor:start;fill:#444}"
        "path{stroke:#fff}"
    )
    hatch = (
        '<pattern id="eqsat-pad" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        '<rect width="6" height="6" fill="#f4f4f4"/><rect width="1.6" height="6" fill="#a8a8a8"/></pattern>'
    )
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    paper = f'<rect x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="6" fill="#fff" stroke="#ccc"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{style}</style><defs>{hatch}</defs>{paper}'


def _caption(x: int, y: int, text: str) -> str:
    return f'<text class="c" x="{x}" y="{y}">{html.escape(text)}</text>'


def _grid(layout: _Layout, row: int, column: int) -> Iterator[str]:
    """An inner grid with its title."""
    left, top = layout.at(row, column)
    if layout.titled:
        yield _caption(left, top - 5, layout.corner.title((row, column)[4 - layout.corner.positions.ndim :]))
    least, most = int(np.min(layout.grids, where=layout.grids >= 0, initial=2**62)), int(layout.grids.max(initial=0))
    for (i, j), cell in np.ndenumerate(layout.grids[row, column]):
        x, y = left + j * layout.cell, top + i * HEIGHT
        fill = "url(#eqsat-pad)" if cell < 0 else _colour(int(cell), least, most)
        yield f'<path d="M{x} {y}h{layout.cell}v{HEIGHT}h-{layout.cell}z" fill="{fill}"/>'
        if cell >= 0:
            yield f'<text x="{x + layout.cell / 2:g}" y="{y + 16}">{cell}</text>'


def _colour(cell: int, least: int, most: int) -> str:
    """From blue for the first cell in memory to red for the last."""
    share = (cell - least) / (most - least) if most > least else 0.0
    return f"hsl({(FIRST_HUE + HUES * share) % 360:.0f} 70% 80%)"
