"""Code for the element operations of ir.ops: NumPy 2's results, without traps and without undefined values.

Every function takes the builder, its operands and the fast-math flags of the surrounding statement.  Operands of one call
have one LLVM type, except the condition of `where`; bool is i1 in registers.
"""

from __future__ import annotations

from collections.abc import Callable

from eqsat.codegen.builder import LLVM_TYPES, Builder, Value, bits_of, integer, is_real, real, truth
from eqsat.codegen.integers import power as integer_power
from eqsat.codegen.math import FUNCTIONS
from eqsat.ir.dtypes import is_float
from eqsat.ir.errors import InternalError
from eqsat.ir.ops import REDUCE_OPS, SCALAR_OPS
from eqsat.ir.tensor import Call, Literal

Code = Callable[[Builder, tuple[Value, ...], str], Value]


def literal(term: Literal) -> Value:
    """A constant element."""
    if term.dtype == "bool":
        return truth(bool(term.value))
    type = LLVM_TYPES[term.dtype]
    return real(float(term.value), type) if is_float(term.dtype) else integer(int(term.value), type)


def call(b: Builder, term: Call, args: tuple[Value, ...], flags: str) -> Value:
    """The value of a Call; InternalError if its operands have not the dtype that the operation computes in."""
    check(term)
    if term.op == "astype":
        return convert(b, args[0], term.args[0].dtype, term.dtype)
    return CODE[term.op](b, args, flags)


def combine(b: Builder, op: str, a: Value, c: Value, flags: str) -> Value:
    """a op c for a fold of REDUCE_OPS or an operation of SCALAR_OPS that gives the dtype of its two operands."""
    step = REDUCE_OPS[op].step if op in REDUCE_OPS else op
    row = SCALAR_OPS.get(step)
    if row is None or row.arity != 2 or row.rule != "same" or (a.type == "i1" and not row.takes_bool):
        raise InternalError(f"codegen: found a store that combines {a.type} by {op}, expected one of {', '.join(REDUCE_OPS)}")
    return CODE[step](b, (a, c), flags)


def check(term: Call) -> None:
    """Casts are explicit: the operands of a call have one common dtype, and it is the result's where the rule says so."""
    row = SCALAR_OPS.get(term.op)
    if row is None or len(term.args) != row.arity:
        raise InternalError(f"codegen: found {term.op} of {len(term.args)} operands, expected a row of SCALAR_OPS")
    if row.rule == "cast":
        return
    values = term.args[1:] if row.rule == "select" else term.args
    found = {arg.dtype for arg in values}
    expected = found if row.rule == "compare" else {"bool"} if row.rule == "logic" else {term.dtype}
    if len(found) != 1 or found != expected or (row.rule == "select" and term.args[0].dtype != "bool"):
        dtypes = ", ".join(arg.dtype for arg in term.args)
        raise InternalError(f"codegen: found {term.op} of {dtypes} giving {term.dtype}, expected operands cast to one dtype")


def convert(b: Builder, a: Value, source: str, target: str) -> Value:
    """astype.  Floats outside the integer's range, and NaN, give its least value, as NumPy does on x86."""
    type = LLVM_TYPES[target]
    if source == target:
        return a
    if target == "bool":
        return b.compare("une", a, real(0.0, a.type)) if is_float(source) else b.compare("ne", a, integer(0, a.type))
    if is_float(source) and is_float(target):
        return b.cast("fpext" if target == "float64" else "fptrunc", a, type)
    if is_float(source):
        return _truncate(b, a, type)
    if is_float(target):
        return b.cast("uitofp" if source == "bool" else "sitofp", a, type)
    return b.cast("zext" if source == "bool" else "sext" if target == "int64" else "trunc", a, type)


def _truncate(b: Builder, a: Value, type: str) -> Value:
    """What lies at or below the least value truncates to it, so that one strict comparison does for every pair of types."""
    least = -(2.0 ** (int(type[1:]) - 1))
    inside = b.binary("and", b.compare("ogt", a, real(least, a.type)), b.compare("olt", a, real(-least, a.type)))
    safe = b.select(inside, a, real(0.0, a.type))
    return b.select(inside, b.cast("fptosi", safe, type), integer(int(least), type))


def _arithmetic(on_reals: str, on_integers: str) -> Code:
    def code(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
        a, c = args
        return b.binary(on_reals, a, c, flags) if is_real(a.type) else b.binary(on_integers, a, c)

    return code


def _extremum(on_reals: str, on_integers: str, on_bools: str) -> Code:
    """The second operand where either is NaN, which is NaN unless the first one is: then the first."""

    def code(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
        a, c = args
        if a.type == "i1":
            return b.binary(on_bools, a, c)
        if not is_real(a.type):
            return b.intrinsic(on_integers, a, c)
        return b.select(b.compare("uno", a, a), a, b.select(b.compare(on_reals, a, c), a, c))

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
    return b.binary("sdiv", a, safe), b.binary("srem", a, safe), zero, special


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
    _, remainder, _, special = _safe_division(b, a, d)
    shifted = b.select(_borrow(b, remainder, d), b.binary("add", remainder, d), remainder)
    return b.select(special, integer(0, a.type), shifted)


def _remainder_reals(b: Builder, a: Value, d: Value) -> tuple[Value, Value, Value]:
    """fmod, the remainder with the sign of the divisor, and whether the two differ; nan for a divisor of zero."""
    zero = real(0.0, a.type)
    truncated = b.binary("frem", a, d)
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
        return b.binary("frem", a, d)
    _, remainder, _, special = _safe_division(b, a, d)
    return b.select(special, integer(0, a.type), remainder)


def _power(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
    return FUNCTIONS["power"](b, *args) if is_real(args[0].type) else integer_power(b, *args)


def _sign(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
    """-1, 0 or 1; NaN stays."""
    a = args[0]
    if not is_real(a.type):
        zero = integer(0, a.type)
        above, below = (b.cast("zext", b.compare(predicate, a, zero), a.type) for predicate in ("sgt", "slt"))
        return b.binary("sub", above, below)
    zero = real(0.0, a.type)
    sign = b.select(b.compare("oeq", a, zero), zero, b.intrinsic("copysign", real(1.0, a.type), a))
    return b.select(b.compare("uno", a, a), a, sign)


def _rounding(name: str) -> Code:
    return lambda b, args, flags: b.intrinsic(name, args[0]) if is_real(args[0].type) else args[0]


def _signbit(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
    a = args[0]
    if a.type == "i1":
        return truth(False)
    bits = b.cast("bitcast", a, bits_of(a.type)) if is_real(a.type) else a
    return b.compare("slt", bits, integer(0, bits.type))


def _by_size(predicate: str, of_integers: bool) -> Code:
    """How the magnitude compares with infinity; every integer is finite."""

    def code(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
        a = args[0]
        if not is_real(a.type):
            return truth(of_integers)
        return b.compare(predicate, b.intrinsic("fabs", a), real(float("inf"), a.type))

    return code


def _nextafter(b: Builder, args: tuple[Value, ...], flags: str) -> Value:
    """The neighbour of a towards c: bit patterns of one sign are ordered as their magnitudes; NaN if either is."""
    a, c = args
    bits, zero = bits_of(a.type), real(0.0, a.type)
    pattern = b.cast("bitcast", a, bits)
    outward = b.binary("xor", b.compare("olt", a, c), b.compare("olt", a, zero))
    moved = b.binary("add", pattern, b.select(outward, integer(1, bits), integer(-1, bits)))
    least = b.intrinsic("copysign", b.cast("bitcast", integer(1, bits), a.type), c)
    moved = b.select(b.compare("oeq", a, zero), least, b.cast("bitcast", moved, a.type))
    moved = b.select(b.compare("oeq", a, c), c, moved)
    return b.select(b.compare("uno", a, c), b.binary("fadd", a, c), moved)


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


# astype, which needs the dtype that it comes from, is `convert`.
CODE: dict[str, Code] = {
    "add": _arithmetic("fadd", "add"),
    "subtract": _arithmetic("fsub", "sub"),
    "multiply": _arithmetic("fmul", "mul"),
    "divide": lambda b, args, flags: b.binary("fdiv", args[0], args[1], flags),
    "floor_divide": _floor_divide,
    "remainder": _remainder,
    "negative": lambda b, args, flags: b.negate(args[0], flags),
    "absolute": _absolute,
    "sign": _sign,
    "floor": _rounding("floor"),
    "ceil": _rounding("ceil"),
    "trunc": _rounding("trunc"),
    "rint": _unary("rint"),
    "fmod": _fmod,
    "power": _power,
    "sqrt": _unary("sqrt"),
    "copysign": lambda b, args, flags: b.intrinsic("copysign", *args),
    "nextafter": _nextafter,
    "signbit": _signbit,
    "isnan": lambda b, args, flags: b.compare("uno", args[0], args[0]) if is_real(args[0].type) else truth(False),
    "isinf": _by_size("oeq", False),
    "isfinite": _by_size("one", True),
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
}
