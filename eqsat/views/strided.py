"""A strided view with a mask: one affine function from places to positions, and a box of the places that have one.

    position(i0, i1, ...) = offset + sum of strides[k] * i_k        where lo_k <= i_k < hi_k for every axis k
    padding (the value 0)                                           elsewhere

Source of the idea: NumPy's strides, and the views of references/shapetracker.txt.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from math import prod
from typing import Any

import numpy as np

from eqsat.ir.errors import ShapeError
from eqsat.ir.shown import Shown
from eqsat.ir.tensor import Shape
from eqsat.views.picture import Picture, draw

Array = np.ndarray[Any, Any]
Box = tuple[tuple[int, int], ...]


def row_major(shape: Shape) -> tuple[int, ...]:
    """Strides of elements that lie in C order, 0 for axes of one element; all 0 where there are no elements."""
    if 0 in shape:
        return (0,) * len(shape)
    return tuple(prod(shape[axis + 1 :]) if n > 1 else 0 for axis, n in enumerate(shape))


@dataclass(frozen=True)
class View(Shown):
    """A strided view of a row of elements.

    shape       extents, 0 and the empty tuple (one element) included
    strides     elements between neighbours along each axis; 0 repeats (expand), negative ones run backwards (flip)
    offset      position of place (0, 0, ...), which the mask may exclude: then it can be outside of the source
    mask        one half-open (lo, hi) for each axis: places outside are padding, which is 0; None: no padding
    contiguous  whether position is place, in C order, without padding

    Equal views are equal functions: on construction a view gets its one canonical form.  A stride is 0 on an axis of which the mask
    leaves one element or none, and the offset takes what it contributed.  A mask that excludes nothing is None; one that excludes
    everything is (0, 0) on every axis, with strides and offset 0.  Without elements strides and offset are 0, the mask None.

    Raises ShapeError where strides or mask have not one entry for each axis, an extent is negative, or the mask leaves the shape.
    """

    shape: Shape
    strides: tuple[int, ...]
    offset: int = 0
    mask: Box | None = None
    contiguous: bool = field(init=False)

    def __post_init__(self) -> None:
        self._check()
        box, nothing = self.box, (0,) * len(self.shape)
        if any(lo >= hi for lo, hi in box):
            self._set(nothing, 0, None if 0 in self.shape else ((0, 0),) * len(self.shape))
        else:
            single = [hi - lo == 1 for lo, hi in box]
            offset = self.offset + sum(stride * lo for stride, (lo, _), one in zip(self.strides, box, single, strict=True) if one)
            strides = tuple(0 if one else stride for stride, one in zip(self.strides, single, strict=True))
            full = all((lo, hi) == (0, n) for (lo, hi), n in zip(box, self.shape, strict=True))
            self._set(strides, offset, None if full else box)
        plain = self.offset == 0 and self.mask is None and self.strides == row_major(self.shape)
        object.__setattr__(self, "contiguous", plain)

    def _check(self) -> None:
        rank = len(self.shape)
        if len(self.strides) != rank or (self.mask is not None and len(self.mask) != rank):
            raise ShapeError(f"View: found strides {self.strides} and mask {self.mask}, expected {rank} entries for the shape {self.shape}")
        inside = all(0 <= lo <= n and 0 <= hi <= n for (lo, hi), n in zip(self.box, self.shape, strict=True))
        if not inside or any(n < 0 for n in self.shape):
            raise ShapeError(f"View: found mask {self.mask}, expected 0 <= lo, hi <= extent in the shape {self.shape}")

    def _set(self, strides: tuple[int, ...], offset: int, mask: Box | None) -> None:
        for name, value in (("strides", strides), ("offset", offset), ("mask", mask)):
            object.__setattr__(self, name, value)

    @property
    def size(self) -> int:
        """How many elements it has, padding included."""
        return prod(self.shape)

    @property
    def box(self) -> Box:
        """The mask, with an entry for each axis even where there is none."""
        return tuple((0, n) for n in self.shape) if self.mask is None else self.mask

    @property
    def reads_nothing(self) -> bool:
        """Whether every element is padding, or there is none."""
        return any(lo >= hi for lo, hi in self.box)

    def read_at(self, coordinates: Sequence[Array]) -> tuple[Array, Array]:
        """The positions at a grid of coordinates, one integer array for each axis, and whether there is an element and no padding."""
        grid = np.ix_(*coordinates) if coordinates else ()
        shape = tuple(len(values) for values in coordinates)
        terms = (stride * place for stride, place in zip(self.strides, grid, strict=True))
        inside = ((lo <= place) & (place < hi) for (lo, hi), place in zip(self.box, grid, strict=True))
        position, valid = sum(terms, np.array(self.offset)), reduce(operator.and_, inside, np.array(True))
        return np.broadcast_to(position, shape), np.broadcast_to(valid, shape)

    def picture(self) -> Picture:
        """The position that every element reads, in a grid; of more than four axes, and of large shapes, a corner."""
        return draw(self.shape, self.read_at, self.captions)

    @property
    def captions(self) -> tuple[str, ...]:
        """Shape, strides, offset and mask in words."""
        mask = () if self.mask is None else (f"mask {self.mask}",)
        return f"shape {self.shape}, strides {self.strides}, offset {self.offset}", *mask

    def permuted(self, order: Sequence[int]) -> View:
        """Axis k is axis order[k] of this view."""
        pick = tuple(order)
        mask = None if self.mask is None else tuple(self.mask[axis] for axis in pick)
        return View(tuple(self.shape[axis] for axis in pick), tuple(self.strides[axis] for axis in pick), self.offset, mask)

    def remapped(self, shape: Shape, steps: Sequence[int], starts: Sequence[int]) -> View:
        """The view at i = step * j + start on every axis, for j in the new shape; where i leaves the shape there is padding.

        Every movement of axes one by one is of this kind: expand (step 0), flip and stride (step < 0), pad (start < 0), shrink.
        """
        offset = self.offset + sum(stride * start for stride, start in zip(self.strides, starts, strict=True))
        strides = tuple(stride * step for stride, step in zip(self.strides, steps, strict=True))
        axes = zip(self.box, shape, steps, starts, strict=True)
        return View(shape, strides, offset, tuple(_preimage(inside, n, step, start) for inside, n, step, start in axes))


def _preimage(inside: tuple[int, int], n: int, step: int, start: int) -> tuple[int, int]:
    """The j of 0..n-1 for which lo <= step * j + start < hi."""
    lo, hi = inside
    if step == 0:
        return (0, n) if lo <= start < hi else (0, 0)
    # lo <= step * j + start <= hi - 1, with the ends exchanged where the step is negative
    first, last = (lo - start, hi - 1 - start) if step > 0 else (start - hi + 1, start - lo)
    begin, end = max(-(-first // abs(step)), 0), min(last // abs(step) + 1, n)
    return (begin, end) if begin < end else (0, 0)


def contiguous_view(shape: Shape) -> View:
    """The view of elements in C order."""
    return View(shape, row_major(shape))


def padding(shape: Shape) -> View | None:
    """The view of which every element is padding; None for the shape (), which has no axis to exclude."""
    return View(shape, (0,) * len(shape), 0, ((0, 0),) * len(shape)) if shape else None
