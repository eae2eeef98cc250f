"""x[mask] where the values of a program decide the mask: how many elements there are is known only when it runs.

It stays what it is made of, the whole array and the mask.  Functions of elements go to every element, sums and the like leave out the
others, and what is put where the same mask is true is chosen there: `y[m] = x[m] * 2` is `y = where(m, x * 2, y)`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from eqsat.ir.errors import DTypeError, UnsupportedError
from eqsat.operations.indexing import MASKS

# what may be asked of some elements, and has an answer for none
FOLDS = ("sum", "prod", "any", "all", "mean", "std", "var")


class Masked(NDArrayOperatorsMixin):
    """The elements of `whole`, an array of a trace, where `mask` is true, an array of bool of its first axes."""

    __slots__ = ("mask", "whole")

    def __init__(self, whole: Any, mask: Any) -> None:
        self.whole, self.mask = whole, mask

    def __repr__(self) -> str:
        return f"{self.whole!r}[mask]"

    @property
    def dtype(self) -> np.dtype[Any]:
        found: np.dtype[Any] = self.whole.dtype
        return found

    @property
    def size(self) -> Any:
        """How many elements there are, a number of the program."""
        return self.mask.sum() * int(np.prod(self.whole.shape[self.mask.ndim :], dtype=np.int64))

    def has_mask(self, mask: Any) -> bool:
        """Whether these are the elements where another mask is true as well."""
        return getattr(mask, "tensor", None) is self.mask.tensor

    def chosen(self, others: Any) -> Any:
        """The whole array, with the elements of another one where the mask is not true."""
        return np.where(self._wide(), self.whole, others)

    def _wide(self) -> Any:
        """The mask over all axes."""
        return self.mask.reshape(*self.mask.shape, *(1,) * (self.whole.ndim - self.mask.ndim))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Masked:
        out = kwargs.pop("out", None)
        if method != "__call__" or kwargs or ufunc.nout != 1 or ufunc.signature is not None or out not in (None, (self,)):
            self._refuse(ufunc.__name__)
        found = ufunc(*(self._beside(one, ufunc.__name__) for one in inputs))
        if out is None:
            return Masked(found, self.mask)
        if not np.can_cast(found.dtype, self.dtype, "same_kind"):
            raise DTypeError(f"{ufunc.__name__}: found {found.dtype}, which is not cast to {self.dtype}, which stays; use astype first")
        self.whole = found.astype(self.dtype)
        return self

    def _beside(self, one: Any, what: str) -> Any:
        """An operand for whole arrays: elements of the same mask, or a number."""
        if isinstance(one, Masked) and one.has_mask(self.mask) and one.whole.shape == self.whole.shape:
            return one.whole
        return one if not isinstance(one, Masked) and np.ndim(one) == 0 else self._refuse(what)

    def __array_function__(self, func: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        name = func.__name__
        return getattr(self, name)(*args[1:], **kwargs) if name in FOLDS and args[0] is self else self._refuse(name)

    def astype(self, dtype: Any) -> Masked:
        return Masked(self.whole.astype(dtype), self.mask)

    def copy(self) -> Masked:
        return Masked(self.whole, self.mask)

    def _fold(self, name: str, axis: Any = None, **kwargs: Any) -> Any:
        """A fold of all elements, or of those along the first axis, which the mask has left; or along another one, for each of them."""
        first = self.mask.ndim
        if axis is not None and not -(self.whole.ndim - first + 1) <= axis <= self.whole.ndim - first:
            self._refuse(f"{name}(axis={axis})")
        along = axis if axis is None or axis >= 0 else axis + self.whole.ndim - first + 1
        if along:
            return Masked(getattr(np, name)(self.whole, axis=first - 1 + along, **kwargs), self.mask)
        axes = None if along is None else tuple(range(first))
        return getattr(np, name)(self.whole, axis=axes, where=np.broadcast_to(self._wide(), self.whole.shape), **kwargs)

    def _refuse(self, what: str, instead: str = MASKS) -> NoReturn:
        raise UnsupportedError(f"{what}: found x[mask] with a mask of the shape {self.mask.shape}; {instead}")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return functools.partial(self._fold, name) if name in FOLDS else self._refuse(name)

    def __len__(self) -> int:
        self._refuse("len", "use np.count_nonzero(mask)")

    def __getitem__(self, key: Any) -> Any:
        self._refuse("getitem")

    def __iter__(self) -> Any:
        self._refuse("iter")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        self._refuse("numpy.asarray()")

    def __bool__(self) -> bool:
        self._refuse("bool()")
