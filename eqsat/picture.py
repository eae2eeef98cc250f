"""Pictures of views: a grid of elements, each with the number of the memory cell that it reads, as SVG and as text.

Elements that read one cell have one colour; colours follow the cells in memory, so that strides can be seen.  Padding is hatched.
Three and four axes are a grid of grids; of more, and of large shapes, a corner is drawn, and the caption says so.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
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
HEIGHT, GAP, MARGIN, LINE = 24, 26, 10, 16
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
    def note(self) -> str:
        """What is left out."""
        drawn = self.positions.shape
        left_out = [axis for axis in range(len(self.shape) - len(drawn))]
        cut = any(n < whole for n, whole in zip(drawn, self.shape[len(left_out) :], strict=True))
        at = f"at {', '.join(f'idx{axis} = 0' for axis in left_out)}" if left_out else ""
        first = f"the first {' x '.join(map(str, drawn))} of {' x '.join(map(str, self.shape))}" if cut else ""
        return f"drawn: {' '.join(filter(None, (first or 'the elements', at)))}" if cut or left_out else ""


def draw(shape: Shape, reads: Reads, captions: Sequence[str]) -> Picture:
    """The picture of a view of this shape; `captions` are lines below it."""
    corner = _corner(shape, reads)
    below = [*captions, *([corner.note] if corner.note else [])]
    return Picture(_svg(corner, below), "\n".join([*_text(corner.positions), *below]))


def _corner(shape: Shape, reads: Reads) -> _Corner:
    hidden = max(len(shape) - DRAWN_AXES, 0)
    counts = [1] * hidden + [min(n, most) for n, most in zip(shape[hidden:], MOST[len(shape) - hidden], strict=True)]
    positions, valid = reads([np.arange(n if k >= hidden else min(1, shape[k])) for k, n in enumerate(counts)])
    found = np.where(valid, positions, -1)
    return _Corner(found.reshape(found.shape[hidden:]), shape)


# text -----------------------------------------------------------------------------------------------------------
def _text(positions: Array) -> list[str]:
    """The grid as lines, padding as dots; inner grids below each other."""
    width = max(len(str(positions.max(initial=0))), 1)
    lines: list[str] = []
    for place in np.ndindex(positions.shape[:-2]):
        if place:
            lines.append(_place(place))
        rows = np.atleast_2d(positions[place])
        lines += [" ".join((str(cell) if cell >= 0 else ".").rjust(width) for cell in row) for row in rows]
    return lines


def _place(place: Sequence[int]) -> str:
    return ", ".join(f"idx{axis} = {k}" for axis, k in enumerate(place))


# SVG ------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Layout:
    """Where the cells of a corner stand, in pixels."""

    outer: tuple[int, int]
    inner: tuple[int, int]
    width: int

    @property
    def block(self) -> tuple[int, int]:
        """The height and the width of an inner grid, with the room around it."""
        return self.inner[0] * HEIGHT + GAP, self.inner[1] * self.width + GAP

    def at(self, row: int, column: int) -> tuple[int, int]:
        """The left upper corner of an inner grid: x and y."""
        height, width = self.block
        return MARGIN + column * width, MARGIN + row * height + (LINE if self.outer != (1, 1) else 0)


def _svg(corner: _Corner, captions: Sequence[str]) -> str:
    positions = corner.positions
    grids = positions.reshape((1,) * max(4 - positions.ndim, 0) + positions.shape)
    digits = len(str(positions.max(initial=0)))
    layout = _Layout((grids.shape[0], grids.shape[1]), (grids.shape[2], grids.shape[3]), max(26, 9 + 7 * digits))
    body = [part for row, column in product(*map(range, layout.outer)) for part in _grid(corner, layout, grids, row, column)]
    right, bottom = layout.at(*layout.outer)
    bottom += -GAP - (LINE if layout.outer != (1, 1) else 0) + MARGIN
    lines = [f'<text class="c" x="{MARGIN}" y="{bottom + LINE * (k + 1)}">{html.escape(text)}</text>' for k, text in enumerate(captions)]
    width = max(right - GAP + MARGIN, 2 * MARGIN + max((round(6.3 * len(text)) for text in captions), default=0))
    height = bottom + LINE * len(captions) + MARGIN
    return f"{_head(width, height)}{''.join(body)}{''.join(lines)}</svg>"


def _head(width: int, height: int) -> str:
    style = (
        "text{font:11px ui-monospace,monospace;text-anchor:middle;fill:#1b1b1b}text.c{font-size:10.5px;text-anchor:start;fill:#444}"
        "path{stroke:#fff}"
    )
    hatch = '<pattern id="eqsat-pad" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    hatch += '<rect width="6" height="6" fill="#f4f4f4"/><rect width="1.6" height="6" fill="#a8a8a8"/></pattern>'
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    paper = f'<rect x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="6" fill="#fff" stroke="#ccc"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{style}</style><defs>{hatch}</defs>{paper}'


def _grid(corner: _Corner, layout: _Layout, grids: Array, row: int, column: int) -> Iterator[str]:
    """An inner grid with its title."""
    left, top = layout.at(row, column)
    outer = corner.positions.ndim - 2
    if outer > 0:
        hidden = len(corner.shape) - corner.positions.ndim
        names = [f"idx{hidden + axis} = {k}" for axis, k in enumerate((row, column)[2 - outer :])]
        yield f'<text class="c" x="{left}" y="{top - 5}">{", ".join(names)}</text>'
    cells = grids[row, column]
    least, most = (int(bound) for bound in (np.min(grids, where=grids >= 0, initial=2**62), np.max(grids, initial=0)))
    for (i, j), cell in np.ndenumerate(cells):
        x, y = left + j * layout.width, top + i * HEIGHT
        fill = "url(#eqsat-pad)" if cell < 0 else _colour(int(cell), least, most)
        yield f'<path d="M{x} {y}h{layout.width}v{HEIGHT}h-{layout.width}z" fill="{fill}"/>'
        if cell >= 0:
            yield f'<text x="{x + layout.width / 2:g}" y="{y + 16}">{cell}</text>'


def _colour(cell: int, least: int, most: int) -> str:
    """From blue for the first cell in memory to red for the last."""
    share = (cell - least) / (most - least) if most > least else 0.0
    return f"hsl({(FIRST_HUE + HUES * share) % 360:.0f} 70% 80%)"
