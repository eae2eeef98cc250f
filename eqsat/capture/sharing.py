"""Traced arrays that are changed in place, and those that share memory with them in NumPy.

    y[1:-1] = x          y is from here on the tensor with those elements in it
    v = y[0]; v += 1     v is a view: it reads what y is by now, and what is put into it goes into y
    r = y.reshape(-1)    a view or a copy, by how y lies in memory: when one of them was changed, the other cannot be used any more

Nothing is ever changed in a program; an array of the trace stands for another tensor afterwards.
"""

from __future__ import annotations

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
REARRANGED = ("reshape", "view", "ravel", "rot90", "fliplr", "flipud", "rollaxis", "atleast_1d", "atleast_2d", "atleast_3d")
TAKEN_OUT = ("diag", "diagonal", "linalg.diagonal", "real", "imag", "split", "array_split", "hsplit", "vsplit", "dsplit", "unstack")
REPEATED = ("broadcast_to", "broadcast_arrays", "lib.stride_tricks.sliding_window_view")
SHARING = frozenset((*REARRANGED, *TAKEN_OUT, *REPEATED))
# what makes views, or hands its argument on, for some arguments only
SOMETIMES: Mapping[str, Callable[[tuple[Any, ...], Mapping[str, Any]], bool]] = {
    "astype": lambda args, kwargs: not kwargs.get("copy", True),
    "meshgrid": lambda args, kwargs: not kwargs.get("copy", True),
    "einsum": lambda args, kwargs: sum(1 for value in args if hasattr(value, "memory")) == 1,
    "linalg.matrix_power": lambda args, kwargs: True,
    "diff": lambda args, kwargs: (*args[1:], kwargs.get("n"))[0] == 0,
    "histogram": lambda args, kwargs: True,
    "real_if_close": lambda args, kwargs: True,
}
# of whose results without dimensions NumPy makes arrays, not numbers; of others where they are given no numbers
ARRAYS = frozenset(("where", "reshape", "zeros_like", "ones_like", "full_like", "empty_like", "zeros", "ones", "full", "empty", "asarray"))
KEPT_ARRAYS = frozenset(("copy", "astype", "squeeze", "transpose", "permute_dims"))
Inverse = Callable[..., Tensor]


def _permuted_back(base: Tensor, part: Tensor, axes: Any = None) -> Tensor:
    return transpose(part, None if axes is None else tuple(int(k) for k in np.argsort([axis % len(base.shape) for axis in axes])))


SHARED = "found an array that may share memory with one made by reshape or the like"
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
    "reshape": lambda base, part, shape: reshape(part, base.shape),  # of what lies in order
}


class Handle(Protocol):
    """An array of a trace, as this module sees it."""

    owner: Any
    memory: Memory

    @property
    def tensor(self) -> Tensor: ...


@dataclass(slots=True)
class View:
    """What a view shows: the operation `name` on its base, which was the tensor `of` when it was looked at; `key`: its argument."""

    base: Handle
    name: str
    key: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    of: Tensor


class Sharers:
    """Arrays that may lie in one memory, and which of them were changed, in order; `is_given`: an argument is one, which belongs to the
    caller."""

    __slots__ = ("changed", "is_given")

    def __init__(self, is_given: bool) -> None:
        self.changed: list[Memory] = []
        self.is_given = is_given

    @property
    def changes(self) -> int:
        """How often one of them was changed."""
        return len(self.changed)


class Memory:
    """What an array stands for, and what it shares with others.

    view       what it shows of another one; None for one that stands for itself
    sharers    those that may lie in one memory with it, for each memory that it may lie in, and how many changes of them it knows: where
               another one was changed since, nobody knows what it is
    taken      which array it is a view or a copy of, by what key, where that is the caller's affair
    is_whole   whether NumPy has its elements one behind the other in memory, so that reshapes are views
    is_number  whether NumPy has a number for it, where it has no dimensions; None where that is the caller's affair
    """

    __slots__ = ("is_number", "is_whole", "sharers", "taken", "tensor", "view")

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self.view: View | None = None
        self.sharers: dict[Sharers, int] = {}
        self.taken: tuple[Handle, Any, tuple[Tensor, ...]] | None = None
        self.is_whole = False
        self.is_number: bool | None = None if isinstance(tensor, Input) else True

    def current(self) -> Tensor:
        """The tensor that the array stands for by now."""
        views: list[tuple[Memory, View]] = []
        memory = self
        while memory.view is not None:
            views.append((memory, memory.view))
            memory = memory.view.base.memory
        if any(sharers.changes > known for sharers, known in memory.sharers.items()):
            raise UnsupportedError(f"{SHARED}, and one of them was changed; copy one of them before")
        now = memory.tensor
        for shown, view in reversed(views):
            if view.of is not now:
                shown.tensor = run(view.name, (now, *view.args), dict(view.kwargs))
                view.of = now
            now = shown.tensor
        return now


def note(made: Any, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], terms: Sequence[Any], named: Mapping[str, Any]) -> None:
    """Remember that what an operation made of arrays shares their memory, if it does, and whether it is a number; `terms` and `named`: its
    arguments with terms in the place of arrays."""
    given = [value for value in (*args, *kwargs.values()) if hasattr(value, "memory") and not _is_number(value)]
    if hasattr(made, "memory") and not made.memory.tensor.shape:
        made.memory.is_number = not _is_array(name, args, given)
    if (
        name in ("reshape", "ravel")
        and len(given) == 1
        and given[0].memory.is_whole
        and is_in_order(args, kwargs)
        and not kwargs.get("copy")
    ):
        made.memory.view = View(given[0], "reshape", None, (made.tensor.shape,), {}, given[0].tensor)
        made.memory.is_whole = True
    elif name in INVERSES and name not in SHARING and args and any(args[0] is array for array in given):
        kind = _is_view(made, args[1]) if name == "getitem" else True
        if kind:
            key = args[1] if len(args) > 1 else None
            made.memory.view = View(
                args[0], name, key, tuple(map(_kept, terms[1:])), {k: _kept(v) for k, v in named.items()}, args[0].tensor
            )
        elif kind is None:
            _lend(_root(args[0]), made)
            made.memory.taken = args[0], args[1], _indices(args[1])
    elif name in SHARING or (name in INVERSES and not args) or (name in SOMETIMES and SOMETIMES[name](tuple(args), kwargs)):
        roots = [_root(array) for array in given]
        for one in made if isinstance(made, tuple | list) else (made,):
            for root in roots if hasattr(one, "memory") else ():
                _lend(root, one)


def is_in_order(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether no other order of elements than that of C is asked for, by name or among the arguments."""
    asked = (kwargs.get("order") or "C", *(value for value in args if isinstance(value, str)))
    return {order.upper() for order in asked}.isdisjoint(("F", "A", "K"))


def _is_array(name: str, args: Sequence[Any], given: Sequence[Handle]) -> bool:
    """Whether NumPy has an array, without dimensions, for what an operation made."""
    if name in ARRAYS or (name == "getitem" and any(part is Ellipsis for part in _parts(args[1]))):
        return True
    return name in KEPT_ARRAYS and bool(given)


def _is_number(array: Handle) -> bool:
    """Whether NumPy has a number for an array, which shares memory with none and is not changed."""
    return array.memory.is_number is True and not array.memory.tensor.shape


def _kept(value: Any) -> Any:
    """An argument as it is now: lists may change."""
    return [_kept(part) for part in value] if isinstance(value, list) else value


def _lend(root: Handle, made: Handle) -> None:
    if not root.memory.sharers:
        root.memory.sharers[Sharers(isinstance(root.memory.tensor, Input) and not root.owner.of_loop)] = 0
    made.memory.sharers |= root.memory.sharers


def _is_view(made: Handle, key: Any) -> bool | None:
    """Whether NumPy gives a view for a key, and no copy: one of slices, and no number; None where that depends on the caller, who may give
    a number or an array without dimensions."""
    indices = [part for part in _parts(key) if hasattr(part, "memory")]
    if not _is_basic(tuple(part for part in _parts(key) if not hasattr(part, "memory"))):
        return False
    if not (made.tensor.shape or any(part is Ellipsis for part in _parts(key))):
        return False
    if any(index.tensor.shape or index.tensor.dtype == "bool" for index in indices):
        return False
    numbers = [True if index.owner.of_loop and isinstance(index.tensor, Input) else index.memory.is_number for index in indices]
    return all(numbers) if None not in numbers else None


def is_part(array: Any, of: Handle, key: Any) -> bool:
    """Whether an array is the view of another one by this key: `y[key] += 1` puts it there again."""
    view = getattr(array, "memory", None) and array.memory.view
    if view is None or view.base is not of or view.name != "getitem" or type(view.key) is not type(key):
        return False
    return view.key is key or bool(_is_basic(key) and _is_basic(view.key) and view.key == key)


def put_back(array: Any, of: Handle, key: Any) -> None:
    """Where an array was taken from another one by this key, and nothing else changed since that may share their memory, the other one may
    be used again, with the array put there: then it is the same, view or copy."""
    memory = getattr(array, "memory", None)
    if memory is None or memory.taken is None or of.memory.view is not None:
        return
    base, taken, indices = memory.taken
    if base is not of or taken is not key or indices != _indices(key):
        return
    if all(other is memory for sharers, known in of.memory.sharers.items() for other in sharers.changed[known:]):
        of.memory.sharers |= {sharers: sharers.changes for sharers in of.memory.sharers}


def _indices(key: Any) -> tuple[Tensor, ...]:
    """The arrays in a key, as they are by now."""
    return tuple(part.tensor for part in _parts(key) if hasattr(part, "memory"))


def _is_basic(key: Any) -> bool:
    """Whether there is no array in a key."""
    return all(part is None or isinstance(part, int | np.integer | slice | EllipsisType) for part in _parts(key))


def _parts(key: Any) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)


def change(array: Handle, tensor: Tensor, what: str, instead: str) -> None:
    """Let an array, and the one that it is a view of, stand for other elements.

    UnsupportedError for arguments, which belong to the caller, and what may share memory with them, and in loops that the array is outside
    of.
    """
    while (view := array.memory.view) is not None:
        tensor = INVERSES[view.name](view.base.tensor, tensor, *view.args, **view.kwargs)
        array = view.base
    _check(array, what, instead)
    array.memory.tensor = tensor
    for sharers in array.memory.sharers:
        sharers.changed.append(array.memory)
        array.memory.sharers[sharers] = sharers.changes


def _check(root: Handle, what: str, instead: str) -> None:
    if _is_number(root):
        raise UnsupportedError(f"{what}: found a number, which stays what it is; write {instead}")
    if root.owner.lazy:
        raise UnsupportedError(f"{what}: lazy tensors cannot be changed in place; write {instead}")
    if isinstance(root.memory.tensor, Input) and not root.owner.of_loop:
        raise UnsupportedError(
            f"{what}: found an argument, or a part of one, which belongs to the caller; begin with x = x.copy(), or write {instead}"
        )
    if root.owner.in_loop is not None:
        raise UnsupportedError(f"{what}: found an array from outside of the loop; let the loop carry it")
    if any(sharers.is_given for sharers in root.memory.sharers):
        raise UnsupportedError(f"{what}: {SHARED}, an argument; begin with x = x.copy(), or write {instead}")


def _root(array: Handle) -> Handle:
    """The array that a view, or a view of one, shows."""
    while array.memory.view is not None:
        array = array.memory.view.base
    return array
