"""Code for typed index terms: 32-bit and 64-bit integers and truth values, scalars and vectors, with floor division.

`Typed.bounds` decides how little code an operation needs: flags against overflow, unsigned division, masks.  An operation
outside its domain (division by zero, a negative shift) yields some value, as it may stand in the unused arm of a `where`.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping

from eqsat.codegen.builder import LLVM_TYPES, Builder, Value, element_type, integer
from eqsat.ir.errors import InternalError
from eqsat.ir.interval import Interval
from eqsat.ir.typed import BITS, Bound, Cast, Number, Numbers, Operation, Typed, Vector, fits, limits

Known = MutableMapping[Typed, Value]
Code = Callable[[Builder, Operation, tuple[Value, ...]], Value]


def llvm_type(term: Typed) -> str:
    scalar = LLVM_TYPES[term.dtype]
    return scalar if term.lanes == 1 else f"<{term.lanes} x {scalar}>"


def emit_index(b: Builder, root: Typed, known: Known) -> Value:
    """The value of `root` in its type; `known` holds counters, launch indices, names and what the block has computed.

    Raises InternalError for a variable that no statement has bound.
    """
    stack = [root]
    while stack:
        term = stack[-1]
        if term in known:
            stack.pop()
            continue
        missing = [arg for arg in _computed(term) if arg not in known]
        stack.extend(reversed(missing))
        if not missing:
            known[term] = _node(b, term, tuple(known[arg] for arg in _computed(term)), known)
    return known[root]


def _computed(term: Typed) -> tuple[Typed, ...]:
    """The operands that have to be known first; a name gets its value from its Bound."""
    if isinstance(term, Bound):
        return (term.value,)
    return term.operands if isinstance(term, Operation | Cast | Vector) else ()


def _node(b: Builder, term: Typed, args: tuple[Value, ...], known: Known) -> Value:
    if isinstance(term, Operation):
        return CODE[term.op](b, term, args)
    if isinstance(term, Cast):
        return resized(b, args[0], llvm_type(term), term.bounds)
    if isinstance(term, Number):
        return integer(int(term.value), llvm_type(term))
    if isinstance(term, Numbers):
        scalar = LLVM_TYPES[term.dtype]
        return Value(f"<{', '.join(str(integer(value, scalar)) for value in term.values)}>", llvm_type(term))
    if isinstance(term, Vector):
        vector = Value("poison", llvm_type(term))
        for lane, arg in enumerate(args):
            vector = b.insert(vector, arg, lane)
        return vector
    if isinstance(term, Bound):
        known[term.leaf] = resized(b, args[0], llvm_type(term.leaf), term.bounds)
        return args[0]
    raise InternalError(f"codegen: found the index variable {term} in {term.bounds}, expected it to be bound by an enclosing statement")


def resized(b: Builder, value: Value, type: str, bounds: Interval) -> Value:
    """The same value in another integer type that holds its bounds."""
    if value.type == type:
        return value
    old, new = (int(element_type(name)[1:]) for name in (value.type, type))
    if new < old:
        return b.cast("trunc nuw nsw" if bounds[0] >= 0 else "trunc nsw", value, type)
    return b.cast("zext" if old == 1 else "zext nneg" if bounds[0] >= 0 else "sext", value, type)


def overflow_flags(term: Operation) -> str:
    """nsw where neither operands nor result leave the dtype, nuw where besides none is negative."""
    bounds = (term.bounds, *(arg.bounds for arg in term.args))
    if not fits(term.dtype, *bounds):
        return ""
    return "nuw nsw" if all(lo >= 0 for lo, _ in bounds) else "nsw"


def _exact(op: str) -> Code:
    """An operation that cannot overflow where its bounds fit."""
    return lambda b, term, args: b.binary(op, args[0], args[1], overflow_flags(term))


def _plain(op: str) -> Code:
    return lambda b, term, args: b.binary(op, args[0], args[1])


def _compare(predicate: str) -> Code:
    return lambda b, term, args: b.compare(predicate, *args)


def _choose(intrinsic: str) -> Code:
    return lambda b, term, args: b.intrinsic(intrinsic, *args)


def _negate(b: Builder, term: Operation, args: tuple[Value, ...]) -> Value:
    return b.binary("sub", integer(0, args[0].type), args[0], overflow_flags(term).removeprefix("nuw "))


def _absolute(b: Builder, term: Operation, args: tuple[Value, ...]) -> Value:
    return args[0] if term.args[0].bounds[0] >= 0 else b.intrinsic("abs", args[0], integer(0, "i1"))


def _shift_left(b: Builder, term: Operation, args: tuple[Value, ...]) -> Value:
    """Multiplication by 2^count; zero bits for counts as wide as the type."""
    (low, high), bits, type = term.args[1].bounds, BITS[term.dtype], args[0].type
    if low >= 0 and high < bits:
        return b.binary("shl", args[0], args[1], overflow_flags(term))
    shifted = b.binary("shl", args[0], b.binary("and", args[1], integer(bits - 1, type)))
    return b.select(b.compare("ult", args[1], integer(bits, type)), shifted, integer(0, type))


def _shift_right(b: Builder, term: Operation, args: tuple[Value, ...]) -> Value:
    """Floor division by 2^count; counts as wide as the type leave the sign."""
    (low, high), bits = term.args[1].bounds, BITS[term.dtype]
    count = args[1] if low >= 0 and high < bits else b.intrinsic("umin", args[1], integer(bits - 1, args[1].type))
    return b.binary("ashr", args[0], count)


def _divide(b: Builder, term: Operation, args: tuple[Value, ...]) -> tuple[Value, Value]:
    """Floor quotient and remainder; LLVM drops the one that is not used."""
    a, d = args
    dividend, divisor = (arg.bounds for arg in term.args)
    least = limits(term.dtype)[0]
    if divisor[0] == divisor[1] and divisor[0] not in (0, least):
        return _divide_by_constant(b, term, a, dividend, divisor[0])
    if divisor[0] > 0 and dividend[0] >= 0:
        return b.binary("udiv", a, d), b.binary("urem", a, d)
    if divisor[0] > 0:
        return _divide_signed(b, a, d)
    return _divide_any(b, a, d, overflows=dividend[0] == least)


def _divide_by_constant(b: Builder, term: Operation, a: Value, bounds: Interval, d: int) -> tuple[Value, Value]:
    """Shift and mask for 2^k; else unsigned, after adding a multiple m d that makes the dividend non-negative.

    floor(a/d) = floor((a + m d)/d) - m;  a mod d = (a + m d) mod d;  a/d = -a/-d and a mod d = -(-a mod -d) for d < 0.
    """
    zero = integer(0, a.type)
    if d < 0:
        negated = -bounds[1], -bounds[0]
        if not fits(term.dtype, negated):
            return _divide_any(b, a, integer(d, a.type), overflows=True)
        opposite = b.binary("sub", zero, a, "nsw")
        quotient, remainder = _divide_by_constant(b, term, opposite, negated, -d)
        return quotient, b.binary("sub", zero, remainder, "nsw")
    if d & (d - 1) == 0:
        remainder = b.binary("and", a, integer(d - 1, a.type))
        wraps = bounds[0] < 0 or bounds[1] >= d
        return b.binary("ashr", a, integer(d.bit_length() - 1, a.type)), _opaque(b, remainder) if wraps else remainder
    multiple = max(-(bounds[0] // d), 0)
    if not fits(term.dtype, (bounds[0], bounds[1] + multiple * d)):
        return _divide_signed(b, a, integer(d, a.type))
    if multiple:
        # where the multiple itself leaves the type the sum, which does not, is right modulo 2^bits
        a = b.binary("add", a, integer(multiple * d, a.type), "nsw" if fits(term.dtype, (0, multiple * d)) else "")
    quotient = b.binary("udiv", a, integer(d, a.type))
    whole = b.binary("sub", quotient, integer(multiple, a.type), "nsw") if multiple else quotient
    return whole, b.binary("urem", a, integer(d, a.type))


def _opaque(b: Builder, remainder: Value) -> Value:
    """The same number in a form that LLVM does not take for a counter.  What is left of a counter by a power of two is one of few bits to
    LLVM 22, and its loop vectorizer forgets that these wrap around: for (i + 63) & 63 it loaded what lies behind 63 instead of 0."""
    if b.zero is None or element_type(remainder.type) != remainder.type:
        return remainder
    return b.binary("xor", remainder, resized(b, b.zero, remainder.type, (0, 0)))


def _bits_in_both(b: Builder, term: Operation, args: tuple[Value, ...]) -> Value:
    return _opaque(b, b.binary("and", args[0], args[1]))


def _divide_signed(b: Builder, a: Value, d: Value) -> tuple[Value, Value]:
    """d > 0, a of any sign: floor(a/d) = ~(~a / d) for a < 0, and ~a is non-negative there."""
    sign = b.binary("ashr", a, integer(int(element_type(a.type)[1:]) - 1, a.type))
    quotient = b.binary("xor", b.binary("udiv", b.binary("xor", a, sign), d), sign)
    return quotient, b.binary("sub", a, b.binary("mul", quotient, d))


def _divide_any(b: Builder, a: Value, d: Value, overflows: bool) -> tuple[Value, Value]:
    """Any signs: the truncated quotient, less one where the remainder is not zero and has not the sign of the divisor.

    Zero divisors count as one, and so do those of -1 where the least integer // -1 could occur (its quotient is then negated).
    """
    zero, one, minus = (integer(value, a.type) for value in (0, 1, -1))
    replaced = b.compare("eq", d, zero)
    if overflows:
        replaced = b.binary("or", replaced, b.compare("eq", d, minus))
    safe = b.select(replaced, one, d)
    quotient, remainder = b.binary("sdiv", a, safe), b.binary("srem", a, safe)
    lower = b.compare("slt", b.binary("xor", remainder, safe), zero)
    lower = b.binary("and", lower, b.compare("ne", remainder, zero))
    quotient = b.binary("add", quotient, b.cast("sext", lower, a.type))
    remainder = b.binary("add", remainder, b.select(lower, safe, zero))
    if overflows:
        quotient = b.select(b.compare("eq", d, minus), b.binary("sub", zero, quotient), quotient)
    return quotient, remainder


CODE: dict[str, Code] = {
    "add": _exact("add"),
    "sub": _exact("sub"),
    "neg": _negate,
    "mul": _exact("mul"),
    "floordiv": lambda b, term, args: _divide(b, term, args)[0],
    "mod": lambda b, term, args: _divide(b, term, args)[1],
    "min": _choose("smin"),
    "max": _choose("smax"),
    "abs": _absolute,
    "where": lambda b, term, args: b.select(*args),
    "lt": _compare("slt"),
    "le": _compare("sle"),
    "gt": _compare("sgt"),
    "ge": _compare("sge"),
    "eq": _compare("eq"),
    "ne": _compare("ne"),
    "and": _plain("and"),
    "or": _plain("or"),
    "not": lambda b, term, args: b.binary("xor", args[0], integer(1, args[0].type)),
    "bitand": _bits_in_both,
    "bitor": _plain("or"),
    "bitxor": _plain("xor"),
    "shl": _shift_left,
    "shr": _shift_right,
}
"""The code of every index operation that types leave; `int` and `bool` have become casts and comparisons."""
