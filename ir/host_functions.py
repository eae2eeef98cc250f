"""The functions of the host with a name of their own: what each means, in NumPy, and which shapes and dtypes it makes.

A rule gets the arguments of the call, with anything that has a shape and a dtype in the place of arrays, axes counted from the front.
Without a rule the function is tried on examples when a program is recorded (host.py), which is right for what costs no more than a sort.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from eqsat.ir.dtypes import part_of
from eqsat.ir.errors import DTypeError, ShapeError, UnsupportedError, UsageError

Shape = tuple[int, ...]
Rule = Callable[..., Any]
VALUES_DECIDE = "what values decide is computed outside of programs: on NumPy arrays, numpy.asarray of lazy tensors"


class Made(NamedTuple):
    """An array that a function makes."""

    shape: Shape
    dtype: str


@dataclass(frozen=True)
class HostFunction:
    """`call` is NumPy's meaning; `made` its rule; `shape_hint`: what to do where results turn out to be of other shapes; `inside`: does the
    same to an array in its place."""

    name: str
    call: Callable[..., Any]
    made: Rule | None = None
    shape_hint: str = VALUES_DECIDE
    inside: Callable[..., None] | None = None


# elements of a row that takes no longer to be sorted than to be parted
SORTED_WHOLE = 2048
# of the elements of a row, a part that is found without putting all in order
FEW_RANKS = 4


# sorting ------------------------------------------------------------------------------------------------------------
def _sort(a: Any, axis: int, descending: bool = False, **how: Any) -> Any:
    found = np.sort(a, axis=axis, **how)
    return np.flip(found, axis) if descending else found


def _sort_inside(a: Any, axis: int, descending: bool = False, **how: Any) -> None:
    a.sort(axis=axis, **how)
    if descending:
        a[...] = np.flip(a, axis)


def _argsort(a: Any, axis: int, descending: bool = False, **how: Any) -> Any:
    """Descending: the reverse of the order of the reversed array, so that equal elements stay in order where the sort is stable."""
    if not descending:
        return np.argsort(a, axis=axis, **how)
    return a.shape[axis] - 1 - np.flip(np.argsort(np.flip(a, axis), axis=axis, **how), axis)


def _sorted_part(a: Any, low: int, high: int, axis: int, descending: bool) -> Any:
    """What is at the places low .. high of a sorted axis: rows that vectors sort at once are sorted, of others the part is found first."""
    extent = a.shape[axis]
    first, last = (extent - 1 - high, extent - 1 - low) if descending else (low, high)
    part = (*(slice(None),) * axis, slice(first, last + 1))
    if extent < SORTED_WHOLE and a.dtype.itemsize > 1:
        found = np.sort(a, axis)[part]
    else:
        found = np.sort(np.partition(a, sorted({first, last}), axis)[part], axis)
    return np.flip(found, axis) if descending else found


def _sorted_part_made(a: Any, low: int, high: int, axis: int, _descending: bool) -> Made:
    return Made((*a.shape[:axis], high - low + 1, *a.shape[axis + 1 :]), a.dtype)


def _topk(x: Any, k: int, axis: int, largest: bool) -> Any:
    """Equal elements in order of their places; NaN is the greatest, as in NumPy's sort."""
    extent = x.shape[axis]
    if 0 < k <= extent // FEW_RANKS and x.dtype.kind in "iuf" and not np.isnan(x).any():
        rows = np.moveaxis(x, axis, -1)
        places = _places_of_first(rows, k, largest)
        order = _argsort(np.take_along_axis(rows, places, -1), rows.ndim - 1, largest, kind="stable")
        order = np.moveaxis(np.take_along_axis(places, order, -1), -1, axis)
    else:
        order = np.take(_argsort(x, axis, largest, kind="stable"), range(k), axis)
    return np.take_along_axis(x, order, axis), order


def _places_of_first(rows: Any, k: int, largest: bool) -> Any:
    """The places of the k most extreme elements of rows of numbers, of equal ones the first, in no order but theirs."""
    rank = rows.shape[-1] - k if largest else k - 1
    last = np.partition(rows, rank)[..., rank, None]
    before, last = rows > last if largest else rows < last, rows == last
    room = k - before.sum(-1, keepdims=True)
    if (last.sum(-1, keepdims=True) > room).any():
        last &= np.cumsum(last, -1) <= room
    return np.nonzero(before | last)[-1].reshape(*rows.shape[:-1], k)


def _scattered(op: np.ufunc) -> Callable[..., Any]:
    """Rows combined with what is at places of an axis, one after the other."""

    def scattered(x: Any, places: Any, rows: Any, axis: int) -> Any:
        found = np.moveaxis(x.copy(), axis, 0)
        op.at(found, places, np.moveaxis(rows, axis, 0))
        return np.moveaxis(found, 0, axis)

    return scattered


def _scatter(x: Any, places: Any, rows: Any) -> Any:
    found = x.copy()
    found[places] = rows
    return found


def _lexsort(keys: Any, axis: int = -1) -> Any:
    return np.lexsort(keys, axis)


def _of_two(op: np.ufunc) -> Callable[..., Any]:
    """A ufunc without what it takes besides its operands."""

    def call(x1: Any, x2: Any, /) -> Any:
        return op(x1, x2)

    return call


def _frexp(x: Any, /) -> Any:
    return np.frexp(x)


def _reduceat(op: np.ufunc) -> Callable[..., Any]:
    def call(array: Any, indices: Any, axis: int = 0, dtype: Any = None) -> Any:
        return op.reduceat(array, indices, axis, dtype)

    return call


def _accumulated(op: np.ufunc) -> Callable[..., Any]:
    def call(array: Any, axis: int = 0, dtype: Any = None) -> Any:
        return op.accumulate(array, axis, dtype)

    return call


# ufuncs of whose running folds NumPy has no function, and those of which it folds what is between places
ACCUMULATED = (np.logical_and, np.logical_or, np.logical_xor, np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.logaddexp, np.subtract)
REDUCED_AT = (np.add, np.multiply, np.maximum, np.minimum, *ACCUMULATED)


def _lexsort_made(keys: Any, axis: int = -1) -> Made:
    """The last key is the first to decide; all have one shape."""
    shapes = [tuple(key.shape) for key in keys] if isinstance(keys, tuple | list) else [tuple(keys.shape[1:])] * keys.shape[0]
    if not shapes or len(set(shapes)) > 1:
        raise ShapeError(f"lexsort: found keys of the shapes {shapes}, expected one or more of one shape")
    if not -len(shapes[0]) <= axis < max(len(shapes[0]), 1):
        raise ShapeError(f"lexsort: found axis {axis}, expected one of keys of {len(shapes[0])} dimensions")
    return Made(shapes[0], "int64")


def _same(a: Any, *_args: Any, **_kwargs: Any) -> Made:
    return Made(a.shape, a.dtype)


def _places(a: Any, *_args: Any, **_kwargs: Any) -> Made:
    return Made(a.shape, "int64")


def _scanned(x: Any, axis: int, dtype: str, include_initial: bool = False) -> Made:
    return Made(tuple(n + (include_initial and k == axis) for k, n in enumerate(x.shape)), dtype)


def _found(_a: Any, v: Any, *_args: Any, **_kwargs: Any) -> Made:
    return Made(v.shape if hasattr(v, "shape") else (), "int64")


def _topk_made(x: Any, k: int, axis: int, largest: bool) -> tuple[Made, Made]:
    shape = (*x.shape[:axis], k, *x.shape[axis + 1 :])
    return Made(shape, x.dtype), Made(shape, "int64")


# linear algebra -----------------------------------------------------------------------------------------------------
def inexact(name: str, *arrays: Any) -> str:
    """The dtype that NumPy's linear algebra computes in: single precision where all operands have it, else double."""
    dtypes = [np.dtype(array.dtype) for array in arrays]
    for dtype in dtypes:
        if dtype == np.float16:
            raise DTypeError(f"{name}: found float16, expected float32 or float64; use astype first")
    complex_ = any(dtype.kind == "c" for dtype in dtypes)
    single = all(dtype in (np.float32, np.complex64) for dtype in dtypes)
    return ("complex64" if single else "complex128") if complex_ else ("float32" if single else "float64")


def _real(name: str, a: Any) -> str:
    return part_of(inexact(name, a))


def _matrices(name: str, a: Any, square: bool = True) -> tuple[Shape, int, int]:
    """The dimensions of a stack of matrices, their rows and columns."""
    if len(a.shape) < 2 or (square and a.shape[-1] != a.shape[-2]):
        raise ShapeError(f"{name}: found the shape {a.shape}, expected {'square ' if square else ''}matrices in the last two dimensions")
    return tuple(a.shape[:-2]), a.shape[-2], a.shape[-1]


def _inv(a: Any) -> Made:
    _matrices("linalg.inv", a)
    return Made(a.shape, inexact("linalg.inv", a))


def _cholesky(a: Any, upper: bool = False) -> Made:
    _matrices("linalg.cholesky", a)
    return Made(a.shape, inexact("linalg.cholesky", a))


def _det(a: Any) -> Made:
    return Made(_matrices("linalg.det", a)[0], inexact("linalg.det", a))


def _slogdet(a: Any) -> Any:
    stack, _, _ = _matrices("linalg.slogdet", a)
    return SlogdetResult(Made(stack, inexact("linalg.slogdet", a)), Made(stack, _real("linalg.slogdet", a)))


def _solve(a: Any, b: Any) -> Made:
    """b of one dimension is a vector, else a stack of matrices."""
    stack, n, _ = _matrices("linalg.solve", a)
    if len(b.shape) < 1 or b.shape[-2:][0] != n:
        raise ShapeError(f"linalg.solve: found the shapes {a.shape} and {b.shape}, expected {n} rows in the second")
    if len(b.shape) == 1:
        return Made((*stack, n), inexact("linalg.solve", a, b))
    try:
        both = np.broadcast_shapes(stack, b.shape[:-2])
    except ValueError:
        raise ShapeError(f"linalg.solve: found the shapes {a.shape} and {b.shape}, whose stacks do not broadcast") from None
    return Made((*both, n, b.shape[-1]), inexact("linalg.solve", a, b))


def _qr(a: Any, mode: str = "reduced") -> Any:
    stack, m, n = _matrices("linalg.qr", a, square=False)
    dtype, k = inexact("linalg.qr", a), min(m, n)
    if mode == "r":
        return Made((*stack, k, n), dtype)
    if mode == "raw":
        return Made((*stack, n, m), dtype), Made((*stack, k), dtype)
    inner = m if mode == "complete" else k
    return QRResult(Made((*stack, m, inner), dtype), Made((*stack, inner, n), dtype))


def _svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    stack, m, n = _matrices("linalg.svd", a, square=hermitian)
    dtype, k = inexact("linalg.svd", a), min(m, n)
    singular = Made((*stack, k), _real("linalg.svd", a))
    if not compute_uv:
        return singular
    rows, columns = (m, n) if full_matrices else (k, k)
    return SVDResult(Made((*stack, m, rows), dtype), singular, Made((*stack, columns, n), dtype))


def _svdvals(x: Any) -> Made:
    stack, m, n = _matrices("linalg.svdvals", x, square=False)
    return Made((*stack, min(m, n)), _real("linalg.svdvals", x))


def _eigh(a: Any, UPLO: str = "L") -> Any:
    stack, n, _ = _matrices("linalg.eigh", a)
    return EighResult(Made((*stack, n), _real("linalg.eigh", a)), Made(a.shape, inexact("linalg.eigh", a)))


def _eigvalsh(a: Any, UPLO: str = "L") -> Made:
    stack, n, _ = _matrices("linalg.eigvalsh", a)
    return Made((*stack, n), _real("linalg.eigvalsh", a))


def _pinv(a: Any, **_kwargs: Any) -> Made:
    stack, m, n = _matrices("linalg.pinv", a, square=False)
    return Made((*stack, n, m), inexact("linalg.pinv", a))


def _lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """As of columns that are independent, and more rows than these for sums of residuals."""
    if len(a.shape) != 2 or len(b.shape) not in (1, 2):
        raise ShapeError(f"linalg.lstsq: found the shapes {a.shape} and {b.shape}, expected a matrix and a vector or a matrix")
    (rows, columns), rest = a.shape, b.shape[1:]
    if b.shape[0] != rows:
        raise ShapeError(f"linalg.lstsq: found {b.shape[0]} rows on the right, expected {rows}")
    dtype = inexact("linalg.lstsq", a, b)
    residuals = Made((rest or (1,)) if rows > columns else (0,), part_of(dtype))
    return Made((columns, *rest), dtype), residuals, Made((), "int32"), Made((min(rows, columns),), part_of(dtype))


def _polyfit(x: Any, y: Any, deg: Any, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False) -> Made:
    if full or cov is not False:
        raise UnsupportedError("polyfit: found full or cov, supported are the coefficients alone; use linalg.lstsq of vander(x, deg + 1)")
    if type(deg) is not int or deg < 0:
        raise UsageError(f"polyfit: found deg = {deg!r}, expected 0 or more")
    if len(x.shape) != 1 or len(y.shape) not in (1, 2) or x.shape != y.shape[:1] or (w is not None and w.shape != x.shape):
        raise ShapeError(f"polyfit: found places and values of the shapes {x.shape} and {y.shape}, expected as many, and weights alike")
    if not x.shape[0]:
        raise ShapeError("polyfit: found no places, expected one or more")
    is_complex = np.dtype(inexact("polyfit", x, y, *([] if w is None else [w]))).kind == "c"
    return Made((deg + 1, *y.shape[1:]), "complex128" if is_complex else "float64")


def _matrix_rank(a: Any, **_kwargs: Any) -> Made:
    stack, _, _ = _matrices("linalg.matrix_rank", a, square=False)
    inexact("linalg.matrix_rank", a)
    return Made(stack, "int64")


def _matrix_power(a: Any, n: int) -> Made:
    _matrices("linalg.matrix_power", a)
    if n < 0:
        return Made(a.shape, inexact("linalg.matrix_power", a))
    dtype = np.dtype(a.dtype)
    return Made(a.shape, a.dtype if n < 2 else np.matmul.resolve_dtypes((dtype, dtype, None))[-1].name)


def _cond(x: Any, p: Any = None) -> Made:
    return Made(_matrices("linalg.cond", x, square=p not in (None, 2, -2))[0], _real("linalg.cond", x))


def _norm(x: Any, ord: Any, axis: tuple[int, ...], keepdims: bool) -> Made:
    kept = ((1 if k in axis else n) for k, n in enumerate(x.shape) if keepdims or k not in axis)
    singular = len(axis) == 2 and ord in ("nuc", 2, -2)  # by the SVD, which others do without
    return Made(tuple(kept), _real("linalg.norm", x) if singular or x.dtype != "float16" else "float16")


# NumPy's own tuples with names, which have no public name
_ONE = np.eye(1)
SlogdetResult: Any = type(np.linalg.slogdet(_ONE))
QRResult: Any = type(np.linalg.qr(_ONE))
SVDResult: Any = type(np.linalg.svd(_ONE))
EighResult: Any = type(np.linalg.eigh(_ONE))

FUNCTIONS = {
    row.name: row
    for row in (
        HostFunction("sort", _sort, _same, inside=_sort_inside),
        HostFunction("argsort", _argsort, _places),
        HostFunction("topk", _topk, _topk_made),
        HostFunction("sorted_part", _sorted_part, _sorted_part_made),
        *(HostFunction(f"scatter_{op.__name__}", _scattered(op), _same) for op in (np.add, np.multiply, np.maximum, np.minimum)),
        HostFunction("scatter", _scatter, _same),
        HostFunction("partition", np.partition, _same, inside=np.ndarray.partition),
        HostFunction("argpartition", np.argpartition, _places),
        HostFunction("cumulative_sum", np.cumulative_sum, _scanned),
        HostFunction("cumulative_prod", np.cumulative_prod, _scanned),
        HostFunction("cumulative_max", np.maximum.accumulate, _same),
        HostFunction("cumulative_min", np.minimum.accumulate, _same),
        HostFunction("searchsorted", np.searchsorted, _found),
        HostFunction("lexsort", _lexsort, _lexsort_made),
        HostFunction("sort_complex", np.sort_complex),
        HostFunction("histogram", np.histogram),
        HostFunction("histogram2d", np.histogram2d),
        HostFunction("histogram_bin_edges", np.histogram_bin_edges),
        HostFunction("polyfit", np.polyfit, _polyfit),
        HostFunction("i0", np.i0),
        HostFunction("gcd", _of_two(np.gcd)),
        HostFunction("lcm", _of_two(np.lcm)),
        HostFunction("ldexp", _of_two(np.ldexp)),
        HostFunction("frexp", _frexp),
        *(HostFunction(f"{op.__name__}.reduceat", _reduceat(op)) for op in REDUCED_AT),
        *(HostFunction(f"{op.__name__}.accumulate", _accumulated(op)) for op in ACCUMULATED),
        HostFunction("median", np.median),
        HostFunction("percentile", np.percentile),
        HostFunction("quantile", np.quantile),
        HostFunction("nanmedian", np.nanmedian),
        HostFunction("nanpercentile", np.nanpercentile),
        HostFunction("nanquantile", np.nanquantile),
        HostFunction("linalg.inv", np.linalg.inv, _inv),
        HostFunction("linalg.solve", np.linalg.solve, _solve),
        HostFunction("linalg.det", np.linalg.det, _det),
        HostFunction("linalg.slogdet", np.linalg.slogdet, _slogdet),
        HostFunction("linalg.cholesky", np.linalg.cholesky, _cholesky),
        HostFunction("linalg.qr", np.linalg.qr, _qr),
        HostFunction("linalg.svd", np.linalg.svd, _svd),
        HostFunction("linalg.svdvals", np.linalg.svdvals, _svdvals),
        HostFunction("linalg.eigh", np.linalg.eigh, _eigh),
        HostFunction("linalg.eigvalsh", np.linalg.eigvalsh, _eigvalsh),
        HostFunction("linalg.pinv", np.linalg.pinv, _pinv),
        HostFunction("linalg.lstsq", np.linalg.lstsq, _lstsq, "columns have to be independent; use linalg.pinv(a) @ b for others"),
        HostFunction("linalg.matrix_rank", np.linalg.matrix_rank, _matrix_rank),
        HostFunction("linalg.matrix_power", np.linalg.matrix_power, _matrix_power),
        HostFunction("linalg.cond", np.linalg.cond, _cond),
        HostFunction("linalg.norm", np.linalg.norm, _norm),
        HostFunction("fft.fft", np.fft.fft),
        HostFunction("fft.ifft", np.fft.ifft),
        HostFunction("fft.rfft", np.fft.rfft),
        HostFunction("fft.irfft", np.fft.irfft),
        HostFunction("fft.fft2", np.fft.fft2),
        HostFunction("fft.ifft2", np.fft.ifft2),
        HostFunction("fft.rfft2", np.fft.rfft2),
        HostFunction("fft.irfft2", np.fft.irfft2),
        HostFunction("fft.fftn", np.fft.fftn),
        HostFunction("fft.ifftn", np.fft.ifftn),
        HostFunction("fft.rfftn", np.fft.rfftn),
        HostFunction("fft.irfftn", np.fft.irfftn),
        HostFunction("fft.hfft", np.fft.hfft),
        HostFunction("fft.ihfft", np.fft.ihfft),
        HostFunction("fft.fftshift", np.fft.fftshift),
        HostFunction("fft.ifftshift", np.fft.ifftshift),
    )
}
