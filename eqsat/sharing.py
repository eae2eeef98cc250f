"""Traced arrays that are changed in place, and those that share memory with them in NumPy.

    y[1:-1] = x          y is from here on the tensor with those elements in it
    v = y[0]; v += 1     v is a view: it reads what y is by now, and what is put into it goes into y
    r = y.reshape(-1)    a view or a copy, by how y lies in memory: neither is changed while both are referred to

Nothing is ever changed in a program; an array of the trace stands for another tensor afterwards.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import EllipsisType
from typing import Any, Protocol

import numpy as np

from eqsat.ir.errors import UnsupportedError
from eqsat.ir.tensor import Input, Tensor
from eqsat.operations.assignment import setitem
from eqsat.operations.movement import flip, moveaxis, reshape, swapaxes, transpose
from eqsat.operations.table import run

# what NumPy makes as a view of its argument, as a rule or where that lies in memory as it should: such a view is not written to
REARRANGED = ("reshape", "ravel", "rot90", "fliplr", "flipud", "rollaxis", "atleast_1d", "atleast_2d", "atleast_3d")
TAKEN_OUT = ("diag", "diagonal", "linalg.diagonal", "real", "imag", "split", "array_split", "hsplit", "vsplit", "dsplit", "unstack")
REPEATED = ("broadcast_to", "broadcast_arrays", "lib.stride_tricks.sliding_window_view")
SHARING = frozenset((*REARRANGED, *TAKEN_OUT, *REPEATED))
Inverse = Callable[..., Tensor]


def _permuted_back(base: Tensor, part: Tensor, axes: Any = None) -> Tensor:
    return transpose(part, None if axes is None else tuple(int(k) for k in np.argsort([axis % len(base.shape) for axis in axes])))


# of views that are always such: the base with the elements of a view in it
INVERSES: Mapping[str, Inverse] = {
    "getitem": lambda base, part, key: setitem(base, key, part),
    "transpose": _permuted_back,
    "permute_dims": _permuted_back,
    "matrix_transpose": lambda base, part: swapaxes(part, -1, -2),
    "linalg.matrix_transpose": lambda base, part: swapaxes(part, -1, -2),
    "swapaxes": lambda base, part, axis1, axis2: swapaxes(part, axis1, axis2),
    "moveaxis": lambda base, part, source, destination: moveaxis(part, destination, source),
    "flip": lambda base, part, axis=None: flip(part, axis),
    "squeeze": lambda base, part, axis=None: reshape(part, base.shape),
    "expand_dims": lambda base, part, axis: reshape(part, base.shape),
}


class Handle(Protocol):
    """An array of a trace, as this module sees it."""

    owner: Any
    memory: Memory

    @property
    def tensor(self) -> Tensor: ...


@dataclass(slots=True)
class View:
    """What a view shows: the operation `name` on its base, which was the tensor `of` when it was looked at."""

    base: Handle
    name: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    of: Tensor


class Memory:
    """What an array stands for, and what it shares with others.

    view    what it shows of another one; None for one that stands for itself
    lent    arrays that may share its memory
    taken   those whose memory it may share
    """

    __slots__ = ("lent", "taken", "tensor", "view")

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self.view: View | None = None
        self.lent: list[Callable[[], Handle | None]] = []
        self.taken: list[Callable[[], Handle | None]] = []

    def current(self) -> Tensor:
        """The tensor that the array stands for by now."""
        if self.view is not None and (now := self.view.base.tensor) is not self.view.of:
            self.tensor = run(self.view.name, (now, *self.view.args), dict(self.view.kwargs))
            self.view.of = now
        return self.tensor


def note(made: Any, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Remember that what an operation made of arrays shares their memory, if it does."""
    if name not in INVERSES and name not in SHARING and (name != "astype" or kwargs.get("copy", True)):
        return
    given = [value for value in (*args, *kwargs.values()) if hasattr(value, "memory")]
    if name in INVERSES and args and args[0] is given[0]:
        if name != "getitem" or _is_view(made, args[1]):
            made.memory.view = View(args[0], name, tuple(args[1:]), kwargs, args[0].tensor)
    else:
        roots = [_root(array) for array in given]
        for one in made if isinstance(made, tuple | list) else (made,):
            for root in roots:
                _lend(root, one)


def _lend(root: Handle, made: Handle) -> None:
    kept: Callable[[], Handle | None] = (lambda: root) if isinstance(root.memory.tensor, Input) else weakref.ref(root)
    made.memory.taken += [*root.memory.taken, kept]
    for lender in (root, *(found for taken in root.memory.taken if (found := taken()) is not None)):
        lender.memory.lent = [*(lent for lent in lender.memory.lent if lent() is not None), weakref.ref(made)]


def _is_view(made: Handle, key: Any) -> bool:
    """Whether NumPy gives a view for a key, and no copy: one of slices, and no number."""
    return _is_basic(key) and (bool(made.tensor.shape) or any(part is Ellipsis for part in _parts(key)))


def is_part(array: Any, of: Handle, key: Any) -> bool:
    """Whether an array is the view of another one by this key: `y[key] += 1` puts it there again."""
    view = getattr(array, "memory", None) and array.memory.view
    if view is None or view.base is not of or view.name != "getitem" or type(view.args[0]) is not type(key):
        return False
    return view.args[0] is key or bool(_is_basic(key) and view.args[0] == key)


def _is_basic(key: Any) -> bool:
    """Whether there is no array in a key."""
    return all(part is None or isinstance(part, int | np.integer | slice | EllipsisType) for part in _parts(key))


def _parts(key: Any) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)


def change(array: Handle, tensor: Tensor, what: str, instead: str) -> None:
    """Let an array, and the one that it is a view of, stand for other elements.

    UnsupportedError for arguments, which belong to the caller, where another array may share memory, and in loops that the array is
    outside of.
    """
    view = array.memory.view
    if view is None:
        _check(array, what, instead)
        array.memory.tensor = tensor
        return
    base = view.base.tensor
    change(view.base, INVERSES[view.name](base, tensor, *view.args, **view.kwargs), what, instead)


def _check(root: Handle, what: str, instead: str) -> None:
    if root.owner.lazy:
        raise UnsupportedError(f"{what}: lazy tensors cannot be changed in place; write {instead}")
    if isinstance(root.memory.tensor, Input) and not root.owner.of_loop:
        raise UnsupportedError(
            f"{what}: found an argument, or a part of one, which belongs to the caller; begin with x = x.copy(), or write {instead}"
        )
    if root.owner.in_loop:
        raise UnsupportedError(f"{what}: found an array from outside of the loop; let the loop carry it")
    if any(other() is not None for other in (*root.memory.taken, *root.memory.lent)):
        raise UnsupportedError(f"{what}: found an array that may share memory with one made by reshape or the like; copy one of them")


def _root(array: Handle) -> Handle:
    """The array that a view, or a view of one, shows."""
    while array.memory.view is not None:
        array = array.memory.view.base
    return array
