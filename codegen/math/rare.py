"""The C library's functions for arguments that are rare, in loops that vectorize all the same.

`rare.NAME` gives the value it is handed, unless the arguments are rare: then it calls the library.  Variants of it on vectors, which LLVM's
loop vectorizer finds by their names, ask whether any lane is rare; `machine.optimize` inlines them after the vectorizer.
"""

from __future__ import annotations

from collections.abc import Mapping

from eqsat.codegen.builder import real
from eqsat.codegen.math.number import Number

VECTOR_LANES = {"float": (4, 8, 16), "double": (2, 4, 8, 16)}
SUFFIXES = {"float": ("f", "f32"), "double": ("", "f64")}
TRAITS = "nounwind willreturn memory(none)"


def unless_huge(
    name: str, args: tuple[Number, ...], size: Number, huge: Mapping[str, float], common: Number, code: str | None = None
) -> Number:
    """`common`, or the C function NAME of some arguments where the magnitude of `size` is above `huge`, which is of a function and a type
    always the same.  `code`: that of the function, where it is none of C."""
    b, type = size.b, size.type
    symbol = name + SUFFIXES[type][0]
    most = real(huge[type], type).text
    b.declarations |= {_on_one(symbol, type, len(args), most)}
    b.declarations |= {text for lanes in VECTOR_LANES[type] for text in _on_vectors(symbol, type, lanes, len(args), most)}
    given = ", ".join([type] * len(args))
    b.declarations |= {code or f"declare {type} @{symbol}({given}) {TRAITS}", f"declare {type} @llvm.fabs.{SUFFIXES[type][1]}({type})"}
    places = "v" * (len(args) + 2)
    names = ",".join(f"_ZGV_LLVM_N{lanes}{places}_rare.{symbol}(rare.{symbol}.{lanes})" for lanes in VECTOR_LANES[type])
    values = ", ".join(f"{type} {value.value.text}" for value in (size, common, *args))
    return Number(b, b.emit(type, f'call {type} @rare.{symbol}({values}) {TRAITS} "vector-function-abi-variant"="{names}"'))


def _on_one(symbol: str, type: str, count: int, huge: str) -> str:
    args = ", ".join(f"{type} %x{k}" for k in range(count))
    return f"""define hidden {type} @rare.{symbol}({type} %size, {type} %common, {args}) noinline {TRAITS} {{
  %magnitude = call {type} @llvm.fabs.{SUFFIXES[type][1]}({type} %size)
  %huge = fcmp ogt {type} %magnitude, {huge}
  br i1 %huge, label %slow, label %done
slow:
  %value = call {type} @{symbol}({args})
  ret {type} %value
done:
  ret {type} %common
}}"""


def _on_vectors(symbol: str, type: str, lanes: int, count: int, huge: str) -> tuple[str, ...]:
    """The variant on vectors, and the intrinsics that it calls."""
    vector, mask, suffix = f"<{lanes} x {type}>", f"<{lanes} x i1>", f"v{lanes}{SUFFIXES[type][1]}"
    given = ("size", "common", *(f"x{k}" for k in range(count)))
    args = ", ".join(f"{vector} %{name}" for name in given)
    taken = "\n".join(f"  %{name}.k = extractelement {vector} %{name}, i64 %k" for name in given)
    function = f"""define hidden {vector} @rare.{symbol}.{lanes}({args}) alwaysinline {TRAITS} {{
entry:
  %magnitude = call {vector} @llvm.fabs.{suffix}({vector} %size)
  %huge = fcmp ogt {vector} %magnitude, splat ({type} {huge})
  %any = call i1 @llvm.vector.reduce.or.v{lanes}i1({mask} %huge)
  br i1 %any, label %slow, label %done
slow:
  %k = phi i64 [ 0, %entry ], [ %next, %slow ]
  %values = phi {vector} [ %common, %entry ], [ %more, %slow ]
{taken}
  %value = call {type} @rare.{symbol}({", ".join(f"{type} %{name}.k" for name in given)})
  %more = insertelement {vector} %values, {type} %value, i64 %k
  %next = add i64 %k, 1
  %again = icmp ult i64 %next, {lanes}
  br i1 %again, label %slow, label %done
done:
  %result = phi {vector} [ %common, %entry ], [ %more, %slow ]
  ret {vector} %result
}}"""
    return function, f"declare {vector} @llvm.fabs.{suffix}({vector})", f"declare i1 @llvm.vector.reduce.or.v{lanes}i1({mask})"
