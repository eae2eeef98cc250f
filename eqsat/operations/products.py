"""Products of vectors and matrices with NumPy's names, and diagonals."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from eqsat.ir.dtypes import is_complex
from eqsat.ir.errors import ShapeError, UsageError
from eqsat.ir.index import apply
from eqsat.ir.tensor import Arg, Call, Position, Tensor, axes
from eqsat.operations.contraction import Labels, contract
from eqsat.operations.elementwise import cast, scalar_operation
from eqsat.operations.generic import integer, literal, make_generic, normalize_axes, tensor_of, view
from eqsat.operations.movement import expand_dims, moveaxis, ravel, reshape
from eqsat.operations.reductions import sum as total
from eqsat.sizes.markers import shape_text

_multiply, _subtract, _conjugate = (scalar_operation(op) for op in ("multiply", "subtract", "conjugate"))
ROW, COLUMN, INNER = "row", "column", "inner"


def _batch(rank: int) -> Labels:
    """Labels of leading axes that broadcast: counted from the last."""
    return tuple(("batch", k - rank) for k in range(rank))


def _inner(name: str, a: Tensor, b: Tensor, left: Labels, right: Labels) -> Tensor:
    """The product of stacks of vectors and matrices, whose last axes have these labels."""
    for tensor, labels in ((a, left), (b, right)):
        if len(tensor.shape) < len(labels):
            raise ShapeError(
                f"{name}: found the shapes {shape_text(a.shape)} and {shape_text(b.shape)}, expected {len(labels)} dimensions or more"
                f"{'; use * for 0-d arrays' if len(labels) == 1 else ''}"
            )
    ranks = len(a.shape) - len(left), len(b.shape) - len(right)
    mine, other = a.shape[ranks[0] + left.index(INNER)], b.shape[ranks[1] + right.index(INNER)]
    if mine != other:
        expected = f"{mine} rows in the second" if right[0] == INNER and len(right) == 2 else f"{mine} elements in the second"
        raise ShapeError(f"{name}: found the shapes {shape_text(a.shape)} and {shape_text(b.shape)}, expected {expected}")
    result = (*_batch(max(ranks)), *(label for label in (*left, *right) if label != INNER))
    return contract(name, (a, b), ((*_batch(ranks[0]), *left), (*_batch(ranks[1]), *right)), result)


def matmul(x1: Any, x2: Any, /) -> Tensor:
    """NumPy's matrix product: the last axis of x1 with the last but one of x2 (the only one, if 1-D), the others broadcast."""
    a, b = tensor_of("matmul", x1), tensor_of("matmul", x2)
    left: Labels = (INNER,) if len(a.shape) < 2 else (ROW, INNER)
    return _inner("matmul", a, b, left, (INNER,) if len(b.shape) < 2 else (INNER, COLUMN))


def matvec(x1: Any, x2: Any, /) -> Tensor:
    """Matrices times vectors: the last axes are summed, the axes before those of matrices broadcast."""
    return _inner("matvec", tensor_of("matvec", x1), tensor_of("matvec", x2), (ROW, INNER), (INNER,))


def vecmat(x1: Any, x2: Any, /) -> Tensor:
    """Vectors (of complex numbers: conjugated) times matrices."""
    return _inner("vecmat", _conjugated(tensor_of("vecmat", x1)), tensor_of("vecmat", x2), (INNER,), (INNER, COLUMN))


def vecdot(x1: Any, x2: Any, /, *, axis: Any = -1) -> Tensor:
    """Sums of products along an axis, the first array conjugated; the others broadcast."""
    a, b = (moveaxis(tensor_of("vecdot", x), axis, -1) for x in (x1, x2))
    return _inner("vecdot", _conjugated(a), b, (INNER,), (INNER,))


def _conjugated(a: Tensor) -> Tensor:
    return _conjugate(a) if is_complex(a.dtype) else a


def dot(a: Any, b: Any, out: None = None) -> Tensor:
    """The last axis of a with the last but one of b (the only one, if 1-D); a product if one of them is 0-d."""
    left, right = tensor_of("dot", a), tensor_of("dot", b)
    if not left.shape or not right.shape:
        return _multiply(left, right)
    return tensordot(left, right, ((-1,), (-2 if len(right.shape) > 1 else -1,)), name="dot")


def vdot(a: Any, b: Any, /) -> Tensor:
    """The sum of products of the elements of two arrays, flattened, the first conjugated."""
    return _inner("vdot", _conjugated(ravel(tensor_of("vdot", a))), ravel(tensor_of("vdot", b)), (INNER,), (INNER,))


def inner(a: Any, b: Any, /) -> Tensor:
    """Sums of products along the last axes of both."""
    left, right = tensor_of("inner", a), tensor_of("inner", b)
    return _multiply(left, right) if not left.shape or not right.shape else tensordot(left, right, ((-1,), (-1,)), name="inner")


def outer(a: Any, b: Any, out: None = None) -> Tensor:
    """All products of an element of one with an element of the other."""
    left, right = (ravel(tensor_of("outer", x)) for x in (a, b))
    return _multiply(expand_dims(left, 1), right)


def tensordot(a: Any, b: Any, axes: Any = 2, *, name: str = "tensordot") -> Tensor:
    """Sums of products along axes of both: the last of a and the first of b, so many, or two lists of them."""
    left, right = tensor_of(name, a), tensor_of(name, b)
    mine, other = _summed_axes(name, axes, len(left.shape), len(right.shape))
    found = [left.shape[k] for k in mine], [right.shape[k] for k in other]
    if found[0] != found[1]:
        raise ShapeError(
            f"{name}: found the shapes {shape_text(left.shape)} and {shape_text(right.shape)}, expected one extent for each pair"
        )
    pairs: dict[int, Hashable] = {k: ("pair", place) for place, k in enumerate(mine)}
    rest: dict[int, Hashable] = {k: ("pair", place) for place, k in enumerate(other)}
    first: Labels = tuple(pairs.get(k, ("a", k)) for k in range(len(left.shape)))
    second: Labels = tuple(rest.get(k, ("b", k)) for k in range(len(right.shape)))
    return contract(name, (left, right), (first, second), tuple(label for label in (*first, *second) if label not in pairs.values()))


def _summed_axes(name: str, axes: Any, rank: int, other: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if isinstance(axes, tuple | list):
        if len(axes) != 2:
            raise UsageError(f"{name}: found {len(axes)} lists of axes, expected two")
        found = normalize_axes(name, axes[0], rank), normalize_axes(name, axes[1], other)
        if len(found[0]) != len(found[1]):
            raise ShapeError(f"{name}: found {len(found[0])} and {len(found[1])} axes, expected equally many")
        return found
    count = integer(name, "axes", axes)
    if not 0 <= count <= min(rank, other):
        raise ShapeError(f"{name}: found axes={count} for arrays of {rank} and {other} dimensions, expected no more than they have")
    return tuple(range(rank - count, rank)), tuple(range(count))


def kron(a: Any, b: Any) -> Tensor:
    """Blocks of b, one for each element of a, times that element."""
    left, right = tensor_of("kron", a), tensor_of("kron", b)
    rank = max(len(left.shape), len(right.shape))
    first, second = ((1,) * (rank - len(x.shape)) + x.shape for x in (left, right))
    spread = reshape(left, tuple(extent for n in first for extent in (n, 1)))
    blocks = reshape(right, tuple(extent for n in second for extent in (1, n)))
    return reshape(_multiply(spread, blocks), tuple(m * n for m, n in zip(first, second, strict=True)))


def cross(a: Any, b: Any, axisa: Any = -1, axisb: Any = -1, axisc: Any = -1, axis: Any = None) -> Tensor:
    """Cross products of vectors of three elements along an axis; the others broadcast."""
    if axis is not None:
        axisa = axisb = axisc = axis
    left, right = moveaxis(tensor_of("cross", a), axisa, -1), moveaxis(tensor_of("cross", b), axisb, -1)
    if left.shape[-1] != 3 or right.shape[-1] != 3:
        raise ShapeError(f"cross: found vectors of {left.shape[-1]} and {right.shape[-1]} elements, expected three; append zeros")

    def turned(x: Tensor, by: int) -> Tensor:
        return view(x, x.shape, lambda loops: (*loops[:-1], (loops[-1] + by) % 3))

    found = _subtract(_multiply(turned(left, 1), turned(right, 2)), _multiply(turned(left, 2), turned(right, 1)))
    return moveaxis(found, -1, axisc)


def diagonal(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, *, name: str = "diagonal") -> Tensor:
    """The elements whose place along axis2 is `offset` more than along axis1, as a last axis."""
    source = tensor_of(name, a)
    rank = len(source.shape)
    if rank < 2:
        raise ShapeError(f"{name}: found the shape {source.shape}, expected two dimensions or more")
    (first, second), by = normalize_axes(name, (axis1, axis2), rank), integer(name, "offset", offset)
    rows, columns = source.shape[first], source.shape[second]
    length = max(min(rows + min(by, 0), columns - max(by, 0)), 0)
    shape = (*(n for k, n in enumerate(source.shape) if k not in (first, second)), length)

    def index(loops: Any) -> Any:
        rest = iter(loops[:-1])
        place = {first: loops[-1] - by if by < 0 else loops[-1], second: loops[-1] + by if by > 0 else loops[-1]}
        return tuple(place[k] if k in place else next(rest) for k in range(rank))

    return view(source, shape, index)


def trace(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, dtype: Any = None, out: None = None) -> Tensor:
    """The sum of a diagonal."""
    return total(diagonal(a, offset, axis1, axis2, name="trace"), -1, dtype)


def linalg_cross(x1: Any, x2: Any, /, *, axis: Any = -1) -> Tensor:
    """Cross products of vectors of three elements along an axis."""
    return cross(x1, x2, axis=axis)


def linalg_diagonal(x: Any, /, *, offset: Any = 0) -> Tensor:
    """`diagonal` of the last two axes."""
    return diagonal(x, offset, -2, -1, name="linalg.diagonal")


def linalg_trace(x: Any, /, *, offset: Any = 0, dtype: Any = None) -> Tensor:
    """`trace` of the last two axes."""
    return trace(x, offset, -2, -1, dtype)


def linalg_outer(x1: Any, x2: Any, /) -> Tensor:
    """All products of an element of one vector with an element of the other."""
    left, right = tensor_of("linalg.outer", x1), tensor_of("linalg.outer", x2)
    if len(left.shape) != 1 or len(right.shape) != 1:
        raise ShapeError(f"linalg.outer: found the shapes {left.shape} and {right.shape}, expected one dimension")
    return outer(left, right)


def linalg_tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Tensor:
    """`tensordot`."""
    return tensordot(x1, x2, axes, name="linalg.tensordot")


def linalg_vecdot(x1: Any, x2: Any, /, *, axis: Any = -1) -> Tensor:
    """Sums of products along an axis, the first array conjugated; the others broadcast."""
    return vecdot(x1, x2, axis=axis)


def diag(v: Any, k: Any = 0) -> Tensor:
    """A matrix with the elements of a vector on its k-th diagonal and zeros elsewhere; of a matrix that diagonal."""
    source, by = tensor_of("diag", v), integer("diag", "k", k)
    if len(source.shape) != 1:
        if len(source.shape) != 2:
            raise ShapeError(f"diag: found the shape {source.shape}, expected one or two dimensions")
        return diagonal(source, by)
    length = source.shape[0]
    row, column = axes((length + abs(by),) * 2)
    place = apply("min", apply("max", row + by if by < 0 else row, 0), length - 1) if by else row
    if not length:
        return make_generic((abs(by), abs(by)), (), (), (), literal(0, source.dtype))
    on = Position(apply("eq", column - row, by), "bool")
    block = Call("where", (on, Arg(0, source.dtype), cast(literal(0, "int64"), source.dtype)), source.dtype)
    return make_generic((length + abs(by),) * 2, (), (source,), ((place,),), block)


def diagflat(v: Any, k: Any = 0) -> Tensor:
    """`diag` of the flattened array."""
    return diag(ravel(tensor_of("diagflat", v)), k)
