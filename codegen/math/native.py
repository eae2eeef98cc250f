"""Instructions of AVX-512 that take floats apart, put them together and look them up, in loops that LLVM vectorizes.

LLVM has no intrinsics of its own for them that it makes vectors of.  `native.NAME` is therefore a function of numbers, with variants on
vectors that the loop vectorizer finds by their names, each the one instruction; `machine.optimize` puts them in place afterwards.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable

from eqsat.codegen.builder import Value, bits_of, real
from eqsat.codegen.math.number import Number
from eqsat.codegen.math.rare import SUFFIXES, TRAITS, VECTOR_LANES

# the bits of the widest vector register
WIDEST = 512
BITS = {"float": 32, "double": 64}
# vgetmant: between 3/4 and 3/2, NaN of what is below zero
FROM_THREE_QUARTERS = "i32 15"
# how many float32 a register holds
TABLE = 16

# the lines of a variant that leave in %all what an instruction makes of %x (and %y), and the declarations that they need
Body = Callable[[int], tuple[list[str], str]]


def mantissa(x: Number) -> Number:
    """m of |x| = m 2^e, 3/4 <= m < 3/2; one of zero and infinity, NaN of NaN and of negative numbers."""
    return _instruction("getmant", FROM_THREE_QUARTERS, x)


def exponent(x: Number) -> Number:
    """The greatest e with 2^e <= |x|; -infinity of zero, infinity of infinity."""
    return _instruction("getexp", "", x)


def scale(x: Number, power: Number) -> Number:
    """x * 2^power of a whole power, rounded once."""
    return _instruction("scalef", "", x, power)


def reciprocal(x: Number) -> Number:
    """1 / x to 14 bits."""
    return _instruction("rcp14", "", x)


def looked_up(index: Number, table: tuple[float, ...]) -> Number:
    """The float32 that a table of 16 has at the lowest four bits of an int32."""
    entries = ", ".join(str(real(value, "float")) for value in table)

    def body(lanes: int) -> tuple[list[str], str]:
        all, vector = f"<{TABLE} x i32>", f"<{TABLE} x float>"
        intrinsic = f"{vector} @llvm.x86.avx512.permvar.sf.{WIDEST}"
        return [
            f"  %wide = shufflevector <{lanes} x i32> %x, <{lanes} x i32> poison, {lanes_at(range(TABLE), lanes)}",
            f"  %found = call {intrinsic}({vector} <{entries}>, {all} %wide)",
            f"  %all = shufflevector {vector} %found, {vector} poison, {lanes_at(range(lanes), lanes)}",
        ], f"declare {intrinsic}({vector}, {all})"

    return _function(f"table{zlib.crc32(entries.encode()):08x}", "float", (index,), body)


def lanes_at(lanes: range, most: int) -> str:
    """The lanes of a shuffle, of which those that are not there may be anything."""
    return f"<{len(lanes)} x i32> <{', '.join(f'i32 {lane}' if lane < most else 'i32 poison' for lane in lanes)}>"


def _instruction(instruction: str, immediate: str, *values: Number) -> Number:
    type, masked = values[0].type, "" if instruction == "rcp14" else "mask."

    def body(lanes: int) -> tuple[list[str], str]:
        vector, width, mask = f"<{lanes} x {type}>", lanes * BITS[type], f"i{max(8, lanes)}"
        intrinsic = f"{vector} @llvm.x86.avx512.{masked}{instruction}.{'ps' if type == 'float' else 'pd'}.{width}"
        rounding = ["i32 4"] if masked and width == WIDEST else []
        given = [*(f"{vector} %{arg}" for arg in "xy"[: len(values)]), *filter(None, [immediate])]
        given += [f"{vector} zeroinitializer", f"{mask} -1", *rounding]
        kinds = [arg.rsplit(" ", 1)[0] for arg in given]
        return [f"  %all = call {intrinsic}({', '.join(given)})"], f"declare {intrinsic}({', '.join(kinds)})"

    return _function(instruction, type, values, body)


def _function(kind: str, result: str, values: tuple[Number, ...], body: Body) -> Number:
    """A call of the function of this kind, which is declared with all its variants."""
    b, name = values[0].b, f"native.{kind}.{SUFFIXES[result][1]}"
    args = [Value(f"%{arg}", value.type) for arg, value in zip("xy", values, strict=False)]
    b.declarations.add(_on_one(name, result, args, VECTOR_LANES[result][0]))
    for lanes in VECTOR_LANES[result]:
        b.declarations |= set(_on_vectors(name, result, args, lanes, body))
    variants = ",".join(f"_ZGV_LLVM_N{lanes}{'v' * len(args)}_{name}({name}.{lanes})" for lanes in VECTOR_LANES[result])
    given = ", ".join(f"{value.value}" for value in values)
    return Number(b, b.emit(result, f'call {result} @{name}({given}) {TRAITS} "vector-function-abi-variant"="{variants}"'))


def _vectors(args: list[Value], lanes: int) -> str:
    return ", ".join(f"<{lanes} x {arg.type}> {arg.text}" for arg in args)


def _on_one(name: str, result: str, args: list[Value], lanes: int) -> str:
    """On the first lane of the smallest vector; weak, for LLVM would else put it in place before it makes vectors."""
    lines = [f"define weak hidden {result} @{name}({', '.join(map(str, args))}) {TRAITS} {{"]
    vectors = [Value(f"%v{arg.text[1:]}", arg.type) for arg in args]
    for arg, vector in zip(args, vectors, strict=True):
        others = f"<{lanes} x {arg.type}> splat ({arg.type} {'0' if arg.type == bits_of('float') else '1.0'})"
        lines.append(f"  {vector.text} = insertelement {others}, {arg}, i64 0")
    lines.append(f"  %all = call <{lanes} x {result}> @{name}.{lanes}({_vectors(vectors, lanes)})")
    return "\n".join([*lines, f"  %one = extractelement <{lanes} x {result}> %all, i64 0", f"  ret {result} %one", "}"])


def _on_vectors(name: str, result: str, args: list[Value], lanes: int, body: Body) -> tuple[str, ...]:
    """The variant on vectors of so many lanes, and the intrinsic that it calls; two halves where that is more than a register."""
    head = f"define hidden <{lanes} x {result}> @{name}.{lanes}({_vectors(args, lanes)}) alwaysinline {TRAITS} {{"
    end = f"  ret <{lanes} x {result}> %all\n}}"
    if lanes * BITS[result] <= WIDEST:
        lines, declaration = body(lanes)
        return "\n".join([head, *lines, end]), declaration
    half, lines = lanes // 2, []
    for part in range(2):
        taken = lanes_at(range(part * half, part * half + half), lanes)
        halves = [Value(f"{arg.text}{part}", arg.type) for arg in args]
        for arg, one in zip(args, halves, strict=True):
            lines.append(f"  {one.text} = shufflevector {_vectors([arg], lanes)}, <{lanes} x {arg.type}> poison, {taken}")
        lines.append(f"  %r{part} = call <{half} x {result}> @{name}.{half}({_vectors(halves, half)})")
    lines.append(f"  %all = shufflevector <{half} x {result}> %r0, <{half} x {result}> %r1, {lanes_at(range(lanes), lanes)}")
    return ("\n".join([head, *lines, end]),)
