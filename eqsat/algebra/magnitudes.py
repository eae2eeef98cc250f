"""Magnitudes that are written as the greater of two opposites: max(x, -x) and max(x - y, y - x) are abs(x) and abs(x - y).

They are equal but for the sign of zero: which zero the greater of both is, NumPy leaves open.

Squares of the magnitudes of complex numbers need no magnitudes: abs(z)*abs(z) is z.real*z.real + z.imag*z.imag, rounded less often, and
infinity where one part is, whatever the other one is.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from eqsat.algebra.products import elementwise, is_call, opened
from eqsat.ir.dtypes import integer_range, is_complex, is_inexact, is_integer
from eqsat.ir.tensor import Build, Call, Literal, Read, Scalar, scalars

# of an element; through so many tensors
MOST_ELEMENTS, DEPTH = 200, 3


def with_magnitudes(tensor: Build) -> Build | None:
    """A build with magnitudes in the place of the greater of two opposites, in elementwise tensors that it reads too; None where there are
    none."""
    return _rewritten(tensor, _magnitude)


def with_squared_parts(tensor: Build) -> Build | None:
    """A build with the squares of both parts in the place of the squared magnitudes of complex numbers, in elementwise tensors that it
    reads too; None where there are none."""
    return _rewritten(tensor, _squared_parts)


def _rewritten(tensor: Build, rewritten: Callable[[Scalar], Scalar | None]) -> Build | None:
    body = elementwise(tensor, DEPTH, lambda term: rewritten(term) or term)
    return Build(tensor.shape, body) if body is not tensor.body and sum(1 for _ in scalars(body)) <= MOST_ELEMENTS else None


def _squared_parts(term: Scalar) -> Scalar | None:
    if not (is_call(term, "multiply") and isinstance(term, Call) and len(set(term.args)) == 1):
        return None
    modulus = opened(term.args[0], lambda body: is_call(body, "absolute"))
    if not (is_call(modulus, "absolute") and isinstance(modulus, Call) and is_complex(modulus.args[0].dtype)):
        return None
    parts = [Call(part, modulus.args, term.dtype) for part in ("real", "imag")]
    total = Call("add", tuple(Call("multiply", (part, part), term.dtype) for part in parts), term.dtype)
    beyond = Call("logical_or", tuple(Call("isinf", (part,), "bool") for part in parts), "bool")
    return Call("where", (beyond, Literal(inf, term.dtype), total), term.dtype)


def _magnitude(term: Scalar) -> Scalar | None:
    signed = is_inexact(term.dtype) or (is_integer(term.dtype) and integer_range(term.dtype)[0] < 0)
    if not isinstance(term, Call) or term.op != "maximum" or not signed or is_complex(term.dtype):
        return None
    left, right = map(_opened, term.args)
    if _is_negative(left, right):
        return Call("absolute", (right,), term.dtype)
    if _is_negative(right, left) or _is_opposite(left, right):
        return Call("absolute", (left,), term.dtype)
    return None


def _is_negative(term: Scalar, of: Scalar) -> bool:
    return isinstance(term, Call) and term.op == "negative" and _opened(term.args[0]) is of


def _is_opposite(left: Scalar, right: Scalar) -> bool:
    """Whether two elements are differences of the same, the other way round."""
    if not (isinstance(left, Call) and isinstance(right, Call) and left.op == right.op == "subtract"):
        return False
    return tuple(map(_opened, left.args)) == tuple(map(_opened, right.args[::-1]))


def _opened(term: Scalar) -> Scalar:
    """What an element is that is read of a negated tensor, a difference or a movement."""
    return opened(term, lambda body: isinstance(body, Read) or is_call(body, "negative", "subtract"))
