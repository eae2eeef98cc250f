"""Code for index terms: 64-bit integers and truth values, with floor division.

`Term.bounds` decides how little code an operation needs: flags against overflow, unsigned division, masks.  An operation
outside its domain (division by zero, a negative shift) yields some value, as it may stand in the unused arm of a `where`.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping

from eqsat.codegen.builder import Builder, Value, integer, truth
from eqsat.ir.errors import InternalError
from eqsat.ir.index import Apply, Const, Index, Var
from eqsat.ir.interval import Interval

Known = MutableMapping[Index, Value]
Code = Callable[[Builder, Apply, tuple[Value, ...]], Value]
LEAST, GREATEST = -(1 << 63), (1 << 63) - 1
ZERO, ONE = integer(0), integer(1)


def emit_index(b: Builder, root: Index, known: Known) -> Value:
    """The value of `root` as i64 (i1 if its kind is bool); `known` holds the variables and what the block has computed.

    Raises InternalError for a variable that no statement has bound.
    """
    stack = [root]
    while stack:
        term = stack[-1]
        if term in known:
            stack.pop()
        elif isinstance(term, Apply):
            missing = [arg for arg in term.args if arg not in known]
            stack.extend(reversed(missing))
            if not missing:
                known[term] = CODE[term.op](b, term, tuple(known[arg] for arg in term.args))
        else:
            known[term] = _leaf(term)
    return known[root]


def _leaf(term: Index) -> Value:
    if isinstance(term, Const):
        return truth(bool(term.value)) if term.kind == "bool" else integer(term.value)
    bound = term.bounds if isinstance(term, Var) else None
    raise InternalError(f"codegen: found the index variable {term} in {bound}, expected it to be bound by an enclosing statement")


def as_integer(b: Builder, value: Value) -> Value:
    """A truth value as 0 or 1."""
    return b.cast("zext", value, "i64") if value.type == "i1" else value


def as_truth(b: Builder, value: Value) -> Value:
    """Whether an integer is not zero."""
    return value if value.type == "i1" else b.compare("ne", value, ZERO)


def fits(*bounds: Interval) -> bool:
    """Whether all values of these intervals are 64-bit signed integers."""
    return all(lo >= LEAST and hi <= GREATEST for lo, hi in bounds)


def overflow_flags(term: Apply) -> str:
    """nsw where neither operands nor result leave i64, nuw where besides none is negative."""
    bounds = (term.bounds, *(arg.bounds for arg in term.args))
    if not fits(*bounds):
        return ""
    return "nuw nsw" if all(lo >= 0 for lo, _ in bounds) else "nsw"


def _integers(code: Code) -> Code:
    return lambda b, term, args: code(b, term, tuple(as_integer(b, arg) for arg in args))


def _truths(op: str) -> Code:
    return lambda b, term, args: b.binary(op, as_truth(b, args[0]), as_truth(b, args[1]))


def _exact(op: str) -> Code:
    """An operation that cannot overflow where its bounds fit."""
    return _integers(lambda b, term, args: b.binary(op, args[0], args[1], overflow_flags(term)))


def _plain(op: str) -> Code:
    return _integers(lambda b, term, args: b.binary(op, args[0], args[1]))


def _compare(predicate: str) -> Code:
    return _integers(lambda b, term, args: b.compare(predicate, *args))


def _choose(intrinsic: str) -> Code:
    return _integers(lambda b, term, args: b.intrinsic(intrinsic, *args))


def _negate(b: Builder, term: Apply, args: tuple[Value, ...]) -> Value:
    return b.binary("sub", ZERO, args[0], "nsw" if fits(term.bounds, term.args[0].bounds) else "")


def _absolute(b: Builder, term: Apply, args: tuple[Value, ...]) -> Value:
    return args[0] if term.args[0].bounds[0] >= 0 else b.intrinsic("abs", args[0], truth(False))


def _where(b: Builder, term: Apply, args: tuple[Value, ...]) -> Value:
    condition, then, otherwise = args
    arms = (then, otherwise) if then.type == otherwise.type else (as_integer(b, then), as_integer(b, otherwise))
    chosen = b.select(as_truth(b, condition), *arms)
    return as_truth(b, chosen) if term.kind == "bool" else chosen


def _shift_left(b: Builder, term: Apply, args: tuple[Value, ...]) -> Value:
    """Multiplication by 2^count; zero bits for counts of 64 and more."""
    low, high = term.args[1].bounds
    if low >= 0 and high <= 63:
        return b.binary("shl", args[0], args[1], overflow_flags(term))
    shifted = b.binary("shl", args[0], b.binary("and", args[1], integer(63)))
    return b.select(b.compare("ult", args[1], integer(64)), shifted, ZERO)


def _shift_right(b: Builder, term: Apply, args: tuple[Value, ...]) -> Value:
    """Floor division by 2^count; counts above 63 leave the sign."""
    low, high = term.args[1].bounds
    count = args[1] if low >= 0 and high <= 63 else b.intrinsic("umin", args[1], integer(63))
    return b.binary("ashr", args[0], count)


def _floordiv(b: Builder, term: Apply, args: tuple[Value, ...]) -> Value:
    return _divide(b, term, args)[0]


def _mod(b: Builder, term: Apply, args: tuple[Value, ...]) -> Value:
    return _divide(b, term, args)[1]


def _divide(b: Builder, term: Apply, args: tuple[Value, ...]) -> tuple[Value, Value]:
    """Floor quotient and remainder; LLVM drops the one that is not used."""
    a, d = args
    dividend, divisor = (arg.bounds for arg in term.args)
    if divisor[0] == divisor[1] and divisor[0] != 0:
        return _divide_by_constant(b, a, dividend, divisor[0])
    if divisor[0] > 0 and dividend[0] >= 0:
        return b.binary("udiv", a, d), b.binary("urem", a, d)
    if divisor[0] > 0:
        return _divide_signed(b, a, d)
    return _divide_any(b, a, d, overflows=dividend[0] <= LEAST)


def _divide_by_constant(b: Builder, a: Value, bounds: Interval, d: int) -> tuple[Value, Value]:
    """Shift and mask for 2^k; else unsigned, after adding a multiple m d that makes the dividend non-negative.

    floor(a/d) = floor((a + m d)/d) - m;  a mod d = (a + m d) mod d;  a/d = -a/-d and a mod d = -(-a mod -d) for d < 0.
    """
    if not LEAST < d <= GREATEST:
        return _divide_any(b, a, integer(d), overflows=True)
    if d < 0:
        flags = "nsw" if fits(bounds, (-bounds[1], -bounds[0])) else ""
        quotient, remainder = _divide_by_constant(b, b.binary("sub", ZERO, a, flags), (-bounds[1], -bounds[0]), -d)
        return quotient, b.binary("sub", ZERO, remainder, "nsw")
    if d & (d - 1) == 0:
        return b.binary("ashr", a, integer(d.bit_length() - 1)), b.binary("and", a, integer(d - 1))
    multiple = max(-(bounds[0] // d), 0)
    if not fits(bounds, (bounds[0], bounds[1] + multiple * d)):
        return _divide_signed(b, a, integer(d))
    if multiple:
        a = b.binary("add", a, integer(multiple * d), "nsw")
    quotient = b.binary("udiv", a, integer(d))
    return b.binary("sub", quotient, integer(multiple), "nsw") if multiple else quotient, b.binary("urem", a, integer(d))


def _divide_signed(b: Builder, a: Value, d: Value) -> tuple[Value, Value]:
    """d > 0, a of any sign: floor(a/d) = ~(~a / d) for a < 0, and ~a is non-negative there."""
    sign = b.binary("ashr", a, integer(63))
    quotient = b.binary("xor", b.binary("udiv", b.binary("xor", a, sign), d), sign)
    return quotient, b.binary("sub", a, b.binary("mul", quotient, d))


def _divide_any(b: Builder, a: Value, d: Value, overflows: bool) -> tuple[Value, Value]:
    """Any signs: the truncated quotient, less one where the remainder is not zero and has not the sign of the divisor.

    Zero divisors count as one, and so do those of -1 where LEAST // -1 could occur (its quotient is then negated).
    """
    replaced = b.compare("eq", d, ZERO)
    if overflows:
        replaced = b.binary("or", replaced, b.compare("eq", d, integer(-1)))
    safe = b.select(replaced, ONE, d)
    quotient, remainder = b.binary("sdiv", a, safe), b.binary("srem", a, safe)
    lower = b.compare("slt", b.binary("xor", remainder, safe), ZERO)
    lower = b.binary("and", lower, b.compare("ne", remainder, ZERO))
    quotient = b.binary("add", quotient, b.cast("sext", lower, "i64"))
    remainder = b.binary("add", remainder, b.select(lower, safe, ZERO))
    if overflows:
        quotient = b.select(b.compare("eq", d, integer(-1)), b.binary("sub", ZERO, quotient), quotient)
    return quotient, remainder


CODE: dict[str, Code] = {
    "add": _exact("add"),
    "sub": _exact("sub"),
    "neg": _integers(_negate),
    "mul": _exact("mul"),
    "floordiv": _integers(_floordiv),
    "mod": _integers(_mod),
    "min": _choose("smin"),
    "max": _choose("smax"),
    "abs": _integers(_absolute),
    "where": _where,
    "lt": _compare("slt"),
    "le": _compare("sle"),
    "gt": _compare("sgt"),
    "ge": _compare("sge"),
    "eq": _compare("eq"),
    "ne": _compare("ne"),
    "and": _truths("and"),
    "or": _truths("or"),
    "not": lambda b, term, args: b.binary("xor", as_truth(b, args[0]), truth(True)),
    "bitand": _plain("and"),
    "bitor": _plain("or"),
    "bitxor": _plain("xor"),
    "shl": _integers(_shift_left),
    "shr": _integers(_shift_right),
    "int": lambda b, term, args: as_integer(b, args[0]),
    "bool": lambda b, term, args: as_truth(b, args[0]),
}
