"""Instructions of AVX-512 that take floats apart and put them together, in loops that LLVM vectorizes.

LLVM has no intrinsics of its own for them that it makes vectors of.  `native.NAME` is therefore a function of one number, with variants
on vectors that the loop vectorizer finds by their names, each the one instruction; `machine.optimize` puts them in place afterwards.
"""

from __future__ import annotations

from eqsat.codegen.math.number import Number
from eqsat.codegen.math.rare import LANES, SUFFIXES, TRAITS

# the bits of a vector register
WIDTHS = (128, 256, 512)
BITS = {"float": 32, "double": 64}
# vgetmant: between 3/4 and 3/2, NaN of what is below zero
FROM_THREE_QUARTERS = "i32 15"


def mantissa(x: Number) -> Number:
    """m of |x| = m 2^e, 3/4 <= m < 3/2; one of zero and infinity, NaN of NaN and of negative numbers."""
    return _call("getmant", FROM_THREE_QUARTERS, x)


def exponent(x: Number) -> Number:
    """The greatest e with 2^e <= |x|; -infinity of zero, infinity of infinity."""
    return _call("getexp", "", x)


def scale(x: Number, power: Number) -> Number:
    """x * 2^power of a whole power, rounded once."""
    return _call("scalef", "", x, power)


def reciprocal(x: Number) -> Number:
    """1 / x to 14 bits."""
    return _call("rcp14", "", x)


def _call(instruction: str, immediate: str, *values: Number) -> Number:
    b, type = values[0].b, values[0].type
    name, args = f"native.{instruction}.{SUFFIXES[type][1]}", tuple("xy"[: len(values)])
    least = LANES[type][0]
    b.declarations |= {_on_one(name, type, args, least)}
    b.declarations |= {text for lanes in LANES[type] for text in _on_vectors(name, instruction, immediate, type, args, lanes)}
    variants = ",".join(f"_ZGV_LLVM_N{lanes}{'v' * len(args)}_{name}({name}.{lanes})" for lanes in LANES[type])
    given = ", ".join(f"{value.value}" for value in values)
    return Number(b, b.emit(type, f'call {type} @{name}({given}) {TRAITS} "vector-function-abi-variant"="{variants}"'))


def _on_one(name: str, type: str, args: tuple[str, ...], lanes: int) -> str:
    """On the first lane of the smallest vector; weak, for LLVM would else put it in place before it makes vectors."""
    vector = f"<{lanes} x {type}>"
    placed = "\n".join(f"  %v{arg} = insertelement {vector} splat ({type} 1.0), {type} %{arg}, i64 0" for arg in args)
    return f"""define weak hidden {type} @{name}({", ".join(f"{type} %{arg}" for arg in args)}) {TRAITS} {{
{placed}
  %all = call {vector} @{name}.{lanes}({", ".join(f"{vector} %v{arg}" for arg in args)})
  %one = extractelement {vector} %all, i64 0
  ret {type} %one
}}"""


def _on_vectors(name: str, instruction: str, immediate: str, type: str, args: tuple[str, ...], lanes: int) -> tuple[str, ...]:
    """The variant on vectors of so many lanes, and the intrinsic that it calls; two halves where that is more than a register."""
    vector, width = f"<{lanes} x {type}>", lanes * BITS[type]
    head = f"define hidden {vector} @{name}.{lanes}({', '.join(f'{vector} %{arg}' for arg in args)}) alwaysinline {TRAITS} {{"
    if width > WIDTHS[-1]:
        half = lanes // 2
        part, of_part = f"<{half} x {type}>", [f"  ; {lanes} lanes"]
        for place in range(2):
            mask = f"<{half} x i32> <{', '.join(f'i32 {place * half + lane}' for lane in range(half))}>"
            of_part += [f"  %{arg}{place} = shufflevector {vector} %{arg}, {vector} poison, {mask}" for arg in args]
            of_part.append(f"  %r{place} = call {part} @{name}.{half}({', '.join(f'{part} %{arg}{place}' for arg in args)})")
        both = f"<{lanes} x i32> <{', '.join(f'i32 {lane}' for lane in range(lanes))}>"
        of_part.append(f"  %all = shufflevector {part} %r0, {part} %r1, {both}")
        return ("\n".join([head, *of_part, f"  ret {vector} %all", "}"]),)
    masked = "" if instruction == "rcp14" else "mask."
    intrinsic = f"@llvm.x86.avx512.{masked}{instruction}.{'ps' if type == 'float' else 'pd'}.{width}"
    mask = "i16" if lanes == 16 else "i8"
    rounding = ["i32 4"] if masked and width == WIDTHS[-1] else []
    given = [*(f"{vector} %{arg}" for arg in args), *filter(None, [immediate]), f"{vector} zeroinitializer", f"{mask} -1", *rounding]
    kinds = [*(vector for _ in args), *(["i32"] if immediate else []), vector, mask, *("i32" for _ in rounding)]
    body = f"  %all = call {vector} {intrinsic}({', '.join(given)})\n  ret {vector} %all\n}}"
    return f"{head}\n{body}", f"declare {vector} {intrinsic}({', '.join(kinds)})"
