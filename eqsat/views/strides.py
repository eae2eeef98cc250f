"""Two views merged by their strides: the position in the upper view, split into the digits of the lower one.

    position = digit_0 + extent_0 * (digit_1 + extent_1 * (...))         digit_0 the index of the innermost axis, and so on

The merged view is affine where every digit is an affine function of the place, on the box inside of which both have elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eqsat.views.strided import Box, View, padding


@dataclass(frozen=True)
class Digit:
    """An axis of the view below: digits of 0 .. extent-1 that lie in lo .. hi-1, each step of which is `stride` positions."""

    extent: int
    stride: int
    lo: int
    hi: int


@dataclass(frozen=True)
class Line:
    """An affine function on places: constant + sum of slopes[k] * i_k."""

    constant: int
    slopes: tuple[int, ...]

    def range(self, box: Box) -> tuple[int, int]:
        """Its least and its largest value on a box that is not empty."""
        ends = [sorted((slope * lo, slope * (hi - 1))) for slope, (lo, hi) in zip(self.slopes, box, strict=True)]
        return self.constant + sum(low for low, _ in ends), self.constant + sum(high for _, high in ends)

    def divided(self, n: int, box: Box) -> tuple[Line, Line] | None:
        """(line // n, line % n) if both are affine on the box.

        The remainder at the first place of the box and at its neighbours says which function it is, if it is one; it is one if
        that stays in 0 .. n-1, since quotient and remainder are unique.
        """
        first = self.constant + sum(slope * lo for slope, (lo, _) in zip(self.slopes, box, strict=True))
        moves = [slope if hi - lo > 1 else 0 for slope, (lo, hi) in zip(self.slopes, box, strict=True)]
        rest = _line_through(first % n, [(first + move) % n - first % n for move in moves], box)
        least, most = rest.range(box)
        if least < 0 or most >= n:
            return None
        quotient = [(move - slope) // n for move, slope in zip(moves, rest.slopes, strict=True)]
        return _line_through(first // n, quotient, box), rest


def _line_through(value: int, slopes: Sequence[int], box: Box) -> Line:
    """The line that has this value at the first place of the box."""
    return Line(value - sum(slope * lo for slope, (lo, _) in zip(slopes, box, strict=True)), tuple(slopes))


def merge_by_strides(lower: View, upper: View) -> View | None:
    """The view that reads `upper` of `lower`, if the digits of its positions in `lower` are affine; the shape is that of `upper`."""
    if lower.reads_nothing or upper.reads_nothing:
        return upper if upper.size == 0 else padding(upper.shape)
    digits, offset = _digits(lower)
    box, lines = _common_box(digits, Line(upper.offset, upper.strides), upper.box)
    if any(lo >= hi for lo, hi in box):
        return padding(upper.shape)
    if lines is None or not all(_inside(line, digit, box) for line, digit in zip(lines, digits, strict=True)):
        return None
    strides = tuple(sum(digit.stride * line.slopes[k] for digit, line in zip(digits, lines, strict=True)) for k in range(len(box)))
    offset += sum(digit.stride * line.constant for digit, line in zip(digits, lines, strict=True))
    return View(upper.shape, strides, offset, box)


def _inside(line: Line, digit: Digit, box: Box) -> bool:
    least, most = line.range(box)
    return digit.lo <= least and most < digit.hi


def _digits(view: View) -> tuple[list[Digit], int]:
    """The axes, the innermost first, and the offset; axes merged where the digits of both together are affine too.

    digit * n + inner with the stride of the inner axis: outer strides are n inner ones and the inner axis has no mask, or one
    outer digit is left.
    """
    axes = list(zip(view.shape, view.strides, view.box, strict=True))
    merged: list[Digit] = []
    offset = view.offset
    for n, stride, (lo, hi) in reversed(axes):
        inner = merged[-1] if merged else Digit(1, stride, 0, 1)
        if hi - lo == 1:
            merged[-1:] = [Digit(n * inner.extent, inner.stride, lo * inner.extent + inner.lo, lo * inner.extent + inner.hi)]
            offset -= lo * inner.extent * inner.stride
        elif (inner.lo, inner.hi) == (0, inner.extent) and (inner.extent == 1 or stride == inner.extent * inner.stride):
            inner_stride = stride if inner.extent == 1 else inner.stride
            merged[-1:] = [Digit(n * inner.extent, inner_stride, lo * inner.extent, hi * inner.extent)]
        else:
            merged.append(Digit(n, stride, lo, hi))
    return merged, offset


def _common_box(digits: list[Digit], line: Line, box: Box) -> tuple[Box, list[Line] | None]:
    """The box inside of which the digits of a line can be within their limits, and the digits if they are affine on it.

    What narrows the box are necessary conditions only; so an empty one says that there is no element.
    """
    while True:
        narrowed, lines = _digits_on(digits, line, box)
        if narrowed == box or any(lo >= hi for lo, hi in narrowed):
            return narrowed, lines
        box = narrowed


def _digits_on(digits: list[Digit], line: Line, box: Box) -> tuple[Box, list[Line] | None]:
    """One round: digits by division, from the innermost on, as long as they are affine on the box; the box narrowed by all of them."""
    lines: list[Line] = []
    narrowed = _narrowed(box, line, *_limits(digits))
    for position, digit in enumerate(digits[:-1]):
        parts = line.divided(digit.extent, box)
        if parts is None:
            return narrowed, None
        line, rest = parts
        lines.append(rest)
        narrowed = _narrowed(narrowed, rest, digit.lo, digit.hi - 1)
        narrowed = _narrowed(narrowed, line, *_limits(digits[position + 1 :]))
    return narrowed, [*lines, line][: len(digits)]


def _limits(digits: list[Digit]) -> tuple[int, int]:
    """The least and the largest number with digits within their limits."""
    least, most = 0, 0
    for digit in reversed(digits):
        least, most = least * digit.extent + digit.lo, most * digit.extent + digit.hi - 1
    return least, most


def _narrowed(box: Box, line: Line, least: int, most: int) -> Box:
    """The box without the ends of axes at which a line cannot lie in least .. most, whatever the other axes are."""
    if any(lo >= hi for lo, hi in box):
        return box
    low, high = line.range(box)
    found = []
    for slope, (lo, hi) in zip(line.slopes, box, strict=True):
        if slope:
            ends = sorted((slope * lo, slope * (hi - 1)))
            # least - (high - own high) <= slope * i <= most - (low - own low)
            a, b = least - high + ends[1], most - low + ends[0]
            first, last = (-(-a // slope), b // slope) if slope > 0 else (-(b // -slope), -a // -slope)
            lo, hi = max(lo, first), min(hi, last + 1)
        found.append((lo, hi))
    return tuple(found)
