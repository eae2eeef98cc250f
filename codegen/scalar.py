"""Code for the element operations of ir.ops: NumPy 2's results, without traps and without undefined values.

Every function takes the builder, its operands and the fast-math flags of the surrounding statement.  Operands of one call
have one LLVM type, except the condition of `where`; bool is i1 in registers.
"""

from __future__ import annotations

import functools
import math
import struct
from collections.abc import Callable

from eqsat.codegen.builder import LLVM_TYPES, Builder, Code, Value, bits_of, floats_of, integer, is_real, pair, real, truth
from eqsat.codegen.elements.casts import convert
from eqsat.codegen.elements.complex_numbers import COMPLEX
from eqsat.codegen.elements.integer_power import power as integer_power
from eqsat.codegen.elements.integers import UNSIGNED, constant_divisor, floor_quotient, left_shift, quotient, right_shift, threefry
from eqsat.codegen.elements.known_divisors import divided, rest_of
from eqsat.codegen.elements.numbers import NUMBERS, nextafter_of_halves
from eqsat.codegen.math import FUNCTIONS
from eqsat.codegen.math.number import Number
from eqsat.codegen.math.remainder import fmod
from eqsat.ir.dtypes import COMPLEX as COMPLEX_DTYPES, DTYPES, UNSIGNED as UNSIGNED_DTYPES, carrier, is_float, part_of
from eqsat.ir.errors import DTypeError, InternalError
from eqsat.ir.ops import REDUCE_OPS, SCALAR_OPS, loop_dtypes
from eqsat.ir.tensor import Arg, Call, Literal, Scalar, scalars


def literal(term: Literal) -> Value:
    """A constant element."""
    if term.dtype == "bool":
        return truth(bool(term.value))
    type, value = LLVM_TYPES[term.dtype], term.value
    if isinstance(value, complex):
        return pair(*(real(part, LLVM_TYPES[part_of(term.dtype)]) for part in (value.real, value.imag)))
    return real(float(value), type) if is_float(term.dtype) else integer(int(value), type)


def call(b: Builder, term: Call, args: tuple[Value, ...], flags: str) -> Value:
    """The value of a Call; InternalError if its operands have not the dtype that the operation computes in."""
    check(term)
    if term.op == "astype":
        return convert(b, args[0], term.args[0].dtype, term.dtype)
    found = divided(b, term, args[0], flags) if term.op == "divide" else rest_of(b, term, args[0]) if term.op == "remainder" else None
    if found is not None:
        return found
    return code_of(term.op, term.args[-1].dtype)(b, args, flags)


def code_of(op: str, dtype: str) -> Code:
    """The code of an operation on operands of this dtype; InternalError if there is none."""
    table = TABLES[dtype]
    if op not in table:
        raise InternalError(f"codegen: found {op} of {dtype}, which has no code")
    return table[op] if carrier(dtype) == dtype or op in UNCARRIED else _carried(table[op], dtype)


def _carried(code: Code, dtype: str) -> Code:
    """Floats of 16 bits are computed in float32, and the result of each operation is rounded."""
    inside = carrier(dtype)

    def wide(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
        result = code(b, tuple(convert(b, arg, dtype, inside) for arg in args), flags)
        return convert(b, result, inside, dtype) if is_real(result.type) else result

    return wide


def inlined(body: Scalar) -> Code:
    """Code that computes this term of Args, literals and calls."""

    def code(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
        done: dict[Scalar, Value] = {}
        for term in scalars(body):
            if isinstance(term, Arg):
                done[term] = args[term.position]
            elif isinstance(term, Literal):
                done[term] = literal(term)
            else:
                assert isinstance(term, Call)
                done[term] = call(b, term, tuple(done[arg] for arg in term.args), flags)
        return done[body]

    return code


def combine(b: Builder, op: str, dtype: str, a: Value, c: Value, flags: str) -> Value:
    """a op c for a fold of REDUCE_OPS or an operation of SCALAR_OPS that gives the dtype of its two operands."""
    step = REDUCE_OPS[op].step if op in REDUCE_OPS else op
    row = SCALAR_OPS.get(step)
    if row is None or row.arity != 2 or row.rule != "same" or (dtype == "bool" and not row.takes_bool):
        raise InternalError(f"codegen: found a store that combines {dtype} by {op}, expected one of {', '.join(REDUCE_OPS)}")
    return code_of(step, dtype)(b, (a, c), flags)


def check(term: Call) -> None:
    """Casts are explicit: operands have the dtype that an operation is computed in, and the call has that of its result."""
    row = SCALAR_OPS.get(term.op)
    if row is None or len(term.args) != row.arity:
        raise InternalError(f"codegen: found {term.op} of {len(term.args)} operands, expected a row of SCALAR_OPS")
    if row.rule == "cast":
        return
    dtypes = tuple(arg.dtype for arg in term.args)
    try:
        expected = loop_dtypes(term.op, *dtypes)
    except DTypeError as error:
        raise InternalError(f"codegen: found a call that NumPy does not have: {error}") from error
    if (*dtypes, term.dtype) != expected or len(set(dtypes[row.rule == "select" :])) > 1:
        raise InternalError(f"codegen: found {term.op} of {', '.join(dtypes)} giving {term.dtype}, expected operands cast to one dtype")


def _arithmetic(on_reals: str, on_integers: str) -> Code:
    def code(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
        a, c = args
        return b.binary(on_reals, a, c, flags) if is_real(a.type) else b.binary(on_integers, a, c)

    return code


# of floats among which an extremum of extrema chooses, the most that are looked at for NaN by themselves
MOST_COMPARED = 16


def _extremum(on_reals: str, on_integers: str, on_bools: str) -> Code:
    """NaN where either operand is, else the first one where it is better: that LLVM makes one instruction, and another one with a mask of
    the choice of a constant NaN; of the first operand instead it would make two comparisons.  Extrema of extrema choose among numbers, and
    are NaN where any of what they choose among is, of which one comparison looks at two.  Beside a constant that instruction is enough: it
    gives the second operand where either is NaN.  Not beside zero, which it would give with another sign."""

    def code(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
        a, c = args
        if a.type == "i1":
            return b.binary(on_bools, a, c)
        if not is_real(a.type):
            return b.intrinsic(on_integers, a, c)
        constant = next((arg for arg in args if _number(arg) not in (None, 0.0)), None)
        if constant is not None:
            other = c if constant is a else a
            return b.select(b.compare(on_reals, constant, other), constant, other)
        known = [b.extrema.get(arg.text, (arg, (arg,))) for arg in args]
        among = tuple(dict.fromkeys(value for _, values in known for value in values))
        if len(among) > MOST_COMPARED:
            known, among = [(a, ()), (c, ())], args
        (x, _), (y, _) = known
        chosen = b.select(b.compare(on_reals, x, y), x, y)
        found = b.select(_unordered(b, among), real(float("nan"), a.type), chosen)
        b.extrema[found.text] = chosen, among
        return found

    return code


def _number(value: Value) -> float | None:
    """The float that a constant is; None of NaN, of halves, and of what is no constant."""
    text = value.text
    if text.startswith("0x") and text[2:3] not in ("H", "R"):
        found = struct.unpack(">d", int(text, 16).to_bytes(8, "big"))[0]
        return None if math.isnan(found) else found
    return float(text) if text[:1].isdigit() or (text[:1] == "-" and text[1:2].isdigit()) else None


def _unordered(b: Builder, values: tuple[Value, ...]) -> Value:
    """Whether any of some floats is NaN."""
    unknown = [value for value in values if _number(value) is None] or list(values[:1])
    pairs = zip(unknown[::2], (*unknown[1::2], *unknown[-1:]), strict=False)
    return functools.reduce(lambda x, y: b.binary("or", x, y), (b.compare("uno", *pair) for pair in pairs))


def _extremum_of_halves(better: str) -> Code:
    """The first operand where it is NaN or better than the second, which is NaN where it may be."""

    def code(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
        a, c = args
        return b.select(b.compare("uno", a, a), a, b.select(b.compare(better, a, c), a, c))

    return code


def _comparison(on_reals: str, on_integers: str) -> Code:
    def code(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
        a, c = args
        if is_real(a.type):
            return b.compare(on_reals, a, c)
        return b.compare(on_integers.replace("s", "u", 1) if a.type == "i1" else on_integers, a, c)

    return code


def _unary(name: str) -> Code:
    return lambda b, args, flags: b.intrinsic(name, args[0], flags=flags)


def _absolute(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
    a = args[0]
    if a.type == "i1":
        return a
    return b.intrinsic("fabs", a) if is_real(a.type) else b.intrinsic("abs", a, truth(False))


def _safe_division(b: Builder, a: Value, d: Value) -> tuple[Value, Value, Value, Value]:
    """Truncated quotient and remainder of integers, where the divisor is 0, and where it is 0 or -1 (there divided by 1)."""
    zero = b.compare("eq", d, integer(0, d.type))
    special = b.binary("or", zero, b.compare("eq", d, integer(-1, d.type)))
    safe = b.select(special, integer(1, d.type), d)
    found = quotient(b, a, d, safe)
    return found, b.binary("sub", a, b.binary("mul", found, safe)), zero, special


def _borrow(b: Builder, remainder: Value, d: Value) -> Value:
    """Whether floor and truncation differ: the remainder is not zero and has not the sign of the divisor."""
    zero = integer(0, d.type)
    return b.binary("and", b.compare("ne", remainder, zero), b.compare("slt", b.binary("xor", remainder, d), zero))


def _shift(d: Value) -> int | None:
    """k if the divisor is the constant 2^k."""
    value = int(d.text) if d.text.lstrip("-").isdigit() else 0
    return value.bit_length() - 1 if value > 0 and value & (value - 1) == 0 else None


def _floor_divide(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
    """Integers: x // 0 = 0 and least // -1 = least; floats as NumPy's npy_divmod."""
    a, d = args
    if is_real(a.type):
        return _floor_divide_reals(b, a, d)
    if (shift := _shift(d)) is not None:
        return b.binary("ashr", a, integer(shift, a.type))
    if (divisor := constant_divisor(d)) is not None and divisor < 1 << 63:
        return floor_quotient(b, a, divisor)
    quotient, remainder, zero, special = _safe_division(b, a, d)
    lower = b.binary("add", quotient, b.cast("sext", _borrow(b, remainder, d), a.type))
    exceptional = b.select(zero, integer(0, a.type), b.negate(a))
    return b.select(special, exceptional, lower)


def _remainder(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
    """Integers: x % 0 = 0; floats as NumPy's npy_remainder."""
    a, d = args
    if is_real(a.type):
        return _remainder_reals(b, a, d)[1]
    if _shift(d) is not None:
        return b.binary("and", a, integer(int(d.text) - 1, a.type))
    if (divisor := constant_divisor(d)) is not None and divisor < 1 << 63:
        return b.binary("sub", a, b.binary("mul", floor_quotient(b, a, divisor), d))
    _, remainder, _, special = _safe_division(b, a, d)
    shifted = b.select(_borrow(b, remainder, d), b.binary("add", remainder, d), remainder)
    return b.select(special, integer(0, a.type), shifted)


def _remainder_reals(b: Builder, a: Value, d: Value) -> tuple[Value, Value, Value]:
    """fmod, the remainder with the sign of the divisor, and whether the two differ; nan for a divisor of zero."""
    zero = real(0.0, a.type)
    truncated = fmod(Number(b, a), Number(b, d)).value
    nonzero = b.compare("une", truncated, zero)
    opposite = b.binary("xor", b.compare("olt", d, zero), b.compare("olt", truncated, zero))
    differs = b.binary("and", b.binary("and", nonzero, opposite), b.compare("one", d, zero))
    shifted = b.select(differs, b.binary("fadd", truncated, d), truncated)
    return truncated, b.select(nonzero, shifted, b.intrinsic("copysign", zero, d)), differs


def _floor_divide_reals(b: Builder, a: Value, d: Value) -> Value:
    """((a - fmod(a, d)) / d, less one if the signs ask for it) to the nearest integer; a / d for a divisor of zero."""
    zero, one = real(0.0, a.type), real(1.0, a.type)
    truncated, _, differs = _remainder_reals(b, a, d)
    ratio = b.binary("fdiv", a, d)
    quotient = b.binary("fdiv", b.binary("fsub", a, truncated), d)
    quotient = b.select(differs, b.binary("fsub", quotient, one), quotient)
    floor = b.intrinsic("floor", quotient)
    above = b.compare("ogt", b.binary("fsub", quotient, floor), real(0.5, a.type))
    floor = b.select(above, b.binary("fadd", floor, one), floor)
    floor = b.select(b.compare("une", quotient, zero), floor, b.intrinsic("copysign", zero, ratio))
    return b.select(b.compare("oeq", d, zero), ratio, floor)


def _fmod(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
    """The remainder with the sign of the dividend; integers: fmod(x, 0) = 0."""
    a, d = args
    if is_real(a.type):
        return fmod(Number(b, a), Number(b, d)).value
    _, remainder, _, special = _safe_division(b, a, d)
    return b.select(special, integer(0, a.type), remainder)


def _power(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
    return FUNCTIONS["power"](b, *args) if is_real(args[0].type) else integer_power(b, *args)


def _known_extremum(on_reals: str, on_others: str) -> Code:
    """The greater (less) of two, the one that is no NaN where the other is."""

    def code(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
        a, c = args
        if not is_real(a.type):
            return CODE[on_others](b, args, flags)
        better = b.binary("or", b.compare(on_reals, a, c), b.compare("uno", c, c))
        return b.select(better, a, c)

    return code


def _approximation(function: Callable[..., Value]) -> Code:
    return lambda b, args, flags: function(b, *args)


# astype, which needs the dtype that it comes from, is `convert`
CODE: dict[str, Code] = {
    "add": _arithmetic("fadd", "add"),
    "subtract": _arithmetic("fsub", "sub"),
    "multiply": _arithmetic("fmul", "mul"),
    "divide": lambda b, args, flags: b.binary("fdiv", args[0], args[1], flags),
    "floor_divide": _floor_divide,
    "remainder": _remainder,
    "negative": lambda b, args, flags: b.negate(args[0], flags),
    "absolute": _absolute,
    "fmod": _fmod,
    "power": _power,
    "sqrt": _unary("sqrt"),
    **NUMBERS,
    "maximum": _extremum("ogt", "smax", "or"),
    "minimum": _extremum("olt", "smin", "and"),
    "fmax": _known_extremum("ogt", "maximum"),
    "fmin": _known_extremum("olt", "minimum"),
    "less": _comparison("olt", "slt"),
    "less_equal": _comparison("ole", "sle"),
    "greater": _comparison("ogt", "sgt"),
    "greater_equal": _comparison("oge", "sge"),
    "equal": _comparison("oeq", "eq"),
    "not_equal": _comparison("une", "ne"),
    "logical_and": lambda b, args, flags: b.binary("and", args[0], args[1]),
    "logical_or": lambda b, args, flags: b.binary("or", args[0], args[1]),
    "logical_xor": lambda b, args, flags: b.binary("xor", args[0], args[1]),
    "logical_not": lambda b, args, flags: b.binary("xor", args[0], truth(True)),
    "where": lambda b, args, flags: b.select(args[0], args[1], args[2]),
    **{name: _approximation(function) for name, function in FUNCTIONS.items() if name != "power"},
    "bitwise_and": lambda b, args, flags: b.binary("and", args[0], args[1]),
    "bitwise_or": lambda b, args, flags: b.binary("or", args[0], args[1]),
    "bitwise_xor": lambda b, args, flags: b.binary("xor", args[0], args[1]),
    "invert": lambda b, args, flags: b.binary("xor", args[0], integer(-1, args[0].type)),
    "left_shift": left_shift,
    "right_shift": right_shift,
    "bits": lambda b, args, flags: b.cast("bitcast", args[0], bits_of(args[0].type)),
    "of_bits": lambda b, args, flags: b.cast("bitcast", args[0], floats_of(args[0].type)),
    "threefry": threefry,
    "complex": lambda b, args, flags: b.pair(*args),
    "conjugate": lambda b, args, flags: args[0],
}
# of equal numbers, which may be zeros of two signs, NumPy takes the first in float16 and the second in others
HALF: dict[str, Code] = {
    "maximum": _extremum_of_halves("oge"),
    "minimum": _extremum_of_halves("ole"),
    "nextafter": nextafter_of_halves,
    "fmax": _known_extremum("oge", "maximum"),
    "fmin": _known_extremum("ole", "minimum"),
}
TABLES: dict[str, dict[str, Code]] = {
    **{dtype: {**CODE} for dtype in DTYPES},
    **{dtype: {**CODE, **UNSIGNED} for dtype in UNSIGNED_DTYPES},
    **{dtype: {**COMPLEX} for dtype in COMPLEX_DTYPES},
    "float16": {**CODE, **HALF},
}
# what floats of 16 bits are not widened for
UNCARRIED = {"where", "nextafter", "bits"}
