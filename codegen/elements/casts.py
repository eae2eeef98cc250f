"""astype: every dtype to every other, as NumPy does it on x86-64."""

from __future__ import annotations

from eqsat.codegen.builder import LLVM_TYPES, Builder, Value, integer, real
from eqsat.ir.dtypes import UNSIGNED, carrier, is_complex, is_float, part_of


def convert(b: Builder, a: Value, source: str, target: str) -> Value:
    """A value in another dtype.

    Integers wrap; to bool, what is not zero is true; of complex numbers real dtypes take the real part.  Floats that an integer does not
    hold: see `_truncate`.
    """
    if source == target:
        return a
    if is_complex(source) or is_complex(target):
        return _convert_parts(b, a, source, target)
    if target == "bool":
        return b.compare("une", a, real(0.0, a.type)) if is_float(source) else b.compare("ne", a, integer(0, a.type))
    if is_float(source):
        return _resize(b, a, target) if is_float(target) else _truncate(b, a, target)
    if is_float(target):
        wide = LLVM_TYPES[carrier(target)]
        if source == "bool":  # of vectors: one number under a mask, not three conversions
            return _resize(b, b.select(a, real(1.0, wide), real(0.0, wide)), target)
        return _resize(b, b.cast("uitofp" if _is_unsigned(source) else "sitofp", a, wide), target)
    return _extend(b, a, LLVM_TYPES[target], _is_unsigned(source))


def _is_unsigned(dtype: str) -> bool:
    return dtype == "bool" or dtype in UNSIGNED


def _convert_parts(b: Builder, a: Value, source: str, target: str) -> Value:
    parts = b.parts(a)
    if target == "bool":
        first, second = (convert(b, part, part_of(source), target) for part in parts)
        return b.binary("or", first, second)
    if not is_complex(target):
        return convert(b, parts[0], part_of(source), target)
    found = [convert(b, part, part_of(source), part_of(target)) for part in parts]
    return b.pair(found[0], found[1] if len(found) == 2 else real(0.0, found[0].type))


def _extend(b: Builder, a: Value, type: str, unsigned: bool) -> Value:
    """An integer in an integer type, wrapped if that is narrower."""
    old, new = int(a.type[1:]), int(type[1:])
    if old == new:
        return Value(a.text, type)
    return b.cast("trunc" if new < old else "zext" if unsigned else "sext", a, type)


def _resize(b: Builder, a: Value, target: str) -> Value:
    """A float in a float type, rounded to it; from double to half by way of a float that is rounded to odd, for LLVM may call a function
    for it, and rounding twice to nearest is not rounding once."""
    type = LLVM_TYPES[target]
    if a.type == type:
        return a
    if a.type in ("half", "bfloat"):
        return _resize(b, b.cast("fpext", a, "float"), target)
    if type == "bfloat":
        return _brain(b, a if a.type == "float" else b.cast("fptrunc", a, "float"))
    if type == "double":
        return b.cast("fpext", a, type)
    return b.cast("fptrunc", _odd_single(b, a) if (a.type, type) == ("double", "half") else a, type)


def _brain(b: Builder, a: Value) -> Value:
    """The upper half of a float, rounded to even, in integers: the processor's instruction for it makes zeros of denormal numbers."""
    bits, half = b.cast("bitcast", a, "i32"), integer(16, "i32")
    last = b.binary("and", b.binary("lshr", bits, half), integer(1, "i32"))
    rounded = b.binary("add", b.binary("add", bits, integer(0x7FFF, "i32")), last)
    upper = b.select(b.compare("uno", a, a), integer(0x7FC00000, "i32"), rounded)
    return b.cast("bitcast", b.cast("trunc", b.binary("lshr", upper, half), "i16"), "bfloat")


def _odd_single(b: Builder, a: Value) -> Value:
    """The float next to a double towards zero, with the last bit set where they differ: enough to round it once more."""
    near = b.cast("fptrunc", a, "float")
    back, bits = b.cast("fpext", near, "double"), b.cast("bitcast", near, "i32")
    beyond = b.compare("ogt", b.intrinsic("fabs", back), b.intrinsic("fabs", a))
    towards = b.binary("sub", bits, b.cast("zext", beyond, "i32"))
    odd = b.binary("or", towards, b.cast("zext", b.compare("one", back, a), "i32"))
    return b.cast("bitcast", odd, "float")


def _truncate(b: Builder, a: Value, target: str) -> Value:
    """A float in an integer type.  What that does not hold becomes what the processor's conversions give NumPy: those to 32 bits for
    narrower types and to 64 bits for uint32, of which the low bits are taken; they give the least value for NaN and what is out of range.
    uint64 subtracts 2^63 from what is not below."""
    a = b.cast("fpext", a, "float") if a.type in ("half", "bfloat") else a
    type = LLVM_TYPES[target]
    if target != "uint64":
        wide = "i64" if target in ("int64", "uint32") else "i32"
        return _extend(b, _to_signed(b, a, wide), type, False)
    half = real(2.0**63, a.type)
    large = b.compare("oge", a, half)
    value = _to_signed(b, b.select(large, b.binary("fsub", a, half), a), type)
    return b.binary("xor", value, b.select(large, integer(-(2**63)), integer(0)))


def _to_signed(b: Builder, a: Value, type: str) -> Value:
    """What lies at or below the least value truncates to it, so that one strict comparison does for every pair of types."""
    least = -(2.0 ** (int(type[1:]) - 1))
    inside = b.binary("and", b.compare("ogt", a, real(least, a.type)), b.compare("olt", a, real(-least, a.type)))
    safe = b.select(inside, a, real(0.0, a.type))
    return b.select(inside, b.cast("fptosi", safe, type), integer(int(least), type))
