"""ViewStack: movements of an array as data.  Movements compose strided views; no element is ever copied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from eqsat.indices.simplifier import simplify_gated
from eqsat.ir.errors import ShapeError, UsageError
from eqsat.ir.index import Index
from eqsat.ir.shown import Shown
from eqsat.ir.tensor import Shape
from eqsat.operations.generic import integer, integers, normalize_axes
from eqsat.operations.movement import filled_shape
from eqsat.views.merging import FEW_PLACES, fewest_views
from eqsat.views.picture import Picture, draw
from eqsat.views.reading import largest_stride_first, read_at, reading
from eqsat.views.strided import Box, View, contiguous_view
from eqsat.views.strides import merge_by_strides

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class ViewStack(Shown):
    """An array of `source` elements seen through strided views, the first one on the elements, each other one on the view before.

    Made by `from_shape` and by movements, each of which returns a new stack.  A view that lies on another numbers the elements of that
    in C order.  A view is added only where the strides and the mask of the last one cannot express a movement, which only `reshape`
    can ask for; `simplify` merges what can be merged.
    """

    views: tuple[View, ...]
    source: int

    @classmethod
    def from_shape(cls, shape: int | Sequence[int]) -> ViewStack:
        """An array in C order.  Raises ShapeError for a negative extent, UsageError for what is no integer."""
        extents = _extents("from_shape", shape)
        return cls((contiguous_view(extents),), prod(extents))

    @property
    def shape(self) -> Shape:
        """The shape of the last view."""
        return self.views[-1].shape

    @property
    def size(self) -> int:
        """How many elements the last view has, padding included."""
        return self.views[-1].size

    @property
    def strides(self) -> tuple[int, ...]:
        """The strides of the last view: in elements of the source if it is the only one, else of the view before it."""
        return self.views[-1].strides

    @property
    def mask(self) -> Box | None:
        """The mask of the last view; views before it may have masks of their own."""
        return self.views[-1].mask

    @property
    def contiguous(self) -> bool:
        """Whether there is one view and it reads elements in C order, from the first on, without padding."""
        return len(self.views) == 1 and self.views[0].contiguous

    def _with(self, last: View) -> ViewStack:
        return ViewStack((*self.views[:-1], last), self.source)

    # movements -----------------------------------------------------------------------------------------------------
    def reshape(self, shape: int | Sequence[int]) -> ViewStack:
        """The elements in C order under another shape; one extent may be -1.  Raises ShapeError if the sizes differ."""
        target = filled_shape(self.shape, integers("reshape", "extent", shape))
        added = contiguous_view(target)
        merged = merge_by_strides(self.views[-1], added)
        return ViewStack((*self.views, added), self.source) if merged is None else self._with(merged)

    def permute(self, order: Sequence[int]) -> ViewStack:
        """Axis k becomes what axis order[k] was.  Raises ShapeError unless every axis is named once; negative ones count from the end."""
        axes = normalize_axes("permute", order, len(self.shape))
        if len(axes) != len(self.shape):
            raise ShapeError(f"permute: found {len(axes)} axes {axes}, expected {len(self.shape)} for the shape {self.shape}")
        return self._with(self.views[-1].permuted(axes))

    def expand(self, shape: int | Sequence[int]) -> ViewStack:
        """Axes of one element repeated to the extents of `shape`.  Raises ShapeError where another axis would change."""
        target = _extents("expand", shape)
        self._one_each("expand", "extents", target)
        if any(n not in (1, wanted) for n, wanted in zip(self.shape, target, strict=True)):
            raise ShapeError(f"expand: found the shape {self.shape} to become {target}, expected only axes of one element to change")
        steps = [1 if n == wanted else 0 for n, wanted in zip(self.shape, target, strict=True)]
        return self._with(self.views[-1].remapped(target, steps, [0] * len(target)))

    def pad(self, widths: Sequence[Sequence[int]]) -> ViewStack:
        """(before, after) elements of padding, which are 0, on each axis.  Raises UsageError for negative widths."""
        pairs = self._pairs("pad", widths)
        if any(width < 0 for pair in pairs for width in pair):
            raise UsageError(f"pad: found the widths {pairs}, expected none below 0; use shrink to remove elements")
        shape = tuple(before + n + after for n, (before, after) in zip(self.shape, pairs, strict=True))
        return self._with(self.views[-1].remapped(shape, [1] * len(shape), [-before for before, _ in pairs]))

    def shrink(self, limits: Sequence[Sequence[int]]) -> ViewStack:
        """The elements begin .. end-1 of each axis, given as (begin, end).  Raises ShapeError where that leaves the shape."""
        pairs = self._pairs("shrink", limits)
        if any(not 0 <= begin <= end <= n for n, (begin, end) in zip(self.shape, pairs, strict=True)):
            raise ShapeError(f"shrink: found the limits {pairs}, expected 0 <= begin <= end <= extent in the shape {self.shape}")
        shape = tuple(end - begin for begin, end in pairs)
        return self._with(self.views[-1].remapped(shape, [1] * len(shape), [begin for begin, _ in pairs]))

    def flip(self, axes: int | Sequence[int] | Sequence[bool]) -> ViewStack:
        """The elements of some axes in reverse: their numbers, as for `numpy.flip`, or for each axis whether it is one of them."""
        rank = len(self.shape)
        if isinstance(axes, tuple | list) and len(axes) == rank and all(isinstance(chosen, bool) for chosen in axes):
            axes = [axis for axis, chosen in enumerate(axes) if chosen]
        reverse = normalize_axes("flip", axes, rank)
        return self.stride([-1 if axis in reverse else 1 for axis in range(rank)])

    def stride(self, steps: int | Sequence[int]) -> ViewStack:
        """`array[::step]` on each axis: every step-th element from the first, or, for a negative step, from the last.

        Raises UsageError for a step of 0, ShapeError unless there is one step for each axis.
        """
        chosen = integers("stride", "step", steps)
        self._one_each("stride", "steps", chosen)
        if 0 in chosen:
            raise UsageError(f"stride: found the steps {chosen}, expected none to be 0")
        shape = tuple(-(-n // abs(step)) for n, step in zip(self.shape, chosen, strict=True))
        starts = [0 if step > 0 else n - 1 for n, step in zip(self.shape, chosen, strict=True)]
        return self._with(self.views[-1].remapped(shape, chosen, starts))

    def _one_each(self, name: str, what: str, found: Sequence[object]) -> None:
        if len(found) != len(self.shape):
            raise ShapeError(f"{name}: found {len(found)} {what} {tuple(found)}, expected {len(self.shape)} for the shape {self.shape}")

    def _pairs(self, name: str, value: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
        if not isinstance(value, tuple | list) or any(not isinstance(pair, tuple | list) or len(pair) != 2 for pair in value):
            raise UsageError(f"{name}: found {value!r}, expected a pair of integers for each axis")
        self._one_each(name, "pairs", value)
        return [(integer(name, "width", first), integer(name, "width", second)) for first, second in value]

    # meaning -------------------------------------------------------------------------------------------------------
    @cached_property
    def _simplified(self) -> tuple[Index, Index]:
        # looking at all of few places is quicker than rules for every view
        views = fewest_views(self.views) if self.size <= FEW_PLACES else self.views
        position, valid = simplify_gated(*reading(views))
        return largest_stride_first(position), valid

    def index_expr(self) -> Index:
        """The position in the source of the element at (idx0, idx1, ...), simplified.  Where `valid_expr` does not hold it means nothing,
        and the expression makes use of that; it is 0 if there are no elements."""
        return self._simplified[0]

    def valid_expr(self) -> Index:
        """Where there is an element, simplified: True if there is no padding, a condition on idx0, idx1, ..., or False."""
        return self._simplified[1]

    def picture(self) -> Picture:
        """The number of the element of the source that every element reads, in a grid; of more than four axes, and of large shapes, a
        corner."""
        *below, last = self.views
        under = (f"on {len(below)} more view{'s' if len(below) > 1 else ''}, of {self.source} elements",) if below else ()
        return draw(self.shape, lambda coordinates: read_at(self.views, coordinates), (*last.captions, *under))

    def simplify(self) -> ViewStack:
        """An equal stack of fewer views: of one, wherever one strided and masked view is equal.

        Of the runs of views that equal a single view the longest are replaced first.  What the rules do not show is decided by looking
        at all places, if no more than 2^22 lie inside of the last mask.
        """
        return ViewStack(fewest_views(self.views), self.source)

    def apply(self, array: Any) -> Array:
        """The elements of an array, read in C order through the views: a new array of this shape and its dtype, 0 where padding is.

        This is the meaning of a stack, for tests and inspection.  Raises ShapeError if the array has not `source` elements.
        """
        elements = np.asarray(array).reshape(-1)
        if elements.size != self.source:
            raise ShapeError(f"apply: found an array of {elements.size} elements, expected {self.source}")
        result = np.zeros(self.shape, elements.dtype)
        position, valid = read_at(self.views, [np.arange(n) for n in self.shape])
        result[valid] = elements[position[valid]]
        return result


def _extents(name: str, shape: int | Sequence[int]) -> Shape:
    extents = integers(name, "extent", shape)
    if any(n < 0 for n in extents):
        raise ShapeError(f"{name}: found the shape {extents}, expected no extent below 0")
    return extents
