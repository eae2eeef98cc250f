"""The C library's functions for arguments that are rare, in loops that vectorize all the same.

`rare.NAME` gives the value it is handed, unless the argument is huge: then it calls the library.  Variants of it on vectors, which LLVM's
loop vectorizer finds by their names, ask whether any lane is huge; `machine.optimize` inlines them after the vectorizer.
"""

from __future__ import annotations

import math

from eqsat.codegen.builder import real
from eqsat.codegen.math.number import Number

HUGE = {"float": 2.0**17, "double": 2.0**30}
LANES = {"float": (4, 8, 16), "double": (2, 4, 8, 16)}
SUFFIXES = {"float": ("f", "f32"), "double": ("", "f64")}
TRAITS = "nounwind willreturn memory(none)"


def unless_huge(name: str, x: Number, common: Number) -> Number:
    """`common`, or the C function NAME of x where that is finite and of a magnitude above HUGE."""
    b, type = x.b, x.type
    symbol = name + SUFFIXES[type][0]
    b.declarations |= {_on_one(symbol, type), *(text for lanes in LANES[type] for text in _on_vectors(symbol, type, lanes))}
    b.declarations |= {f"declare {type} @{symbol}({type}) {TRAITS}", f"declare {type} @llvm.fabs.{SUFFIXES[type][1]}({type})"}
    names = ",".join(f"_ZGV_LLVM_N{lanes}vv_rare.{symbol}(rare.{symbol}.{lanes})" for lanes in LANES[type])
    call = f'call {type} @rare.{symbol}({x.value}, {common.value}) {TRAITS} "vector-function-abi-variant"="{names}"'
    return Number(b, b.emit(type, call))


def _on_one(symbol: str, type: str) -> str:
    return f"""define hidden {type} @rare.{symbol}({type} %x, {type} %common) noinline {TRAITS} {{
  %size = call {type} @llvm.fabs.{SUFFIXES[type][1]}({type} %x)
  %large = fcmp ogt {type} %size, {real(HUGE[type], type).text}
  %finite = fcmp one {type} %size, {real(math.inf, type).text}
  %huge = and i1 %large, %finite
  br i1 %huge, label %slow, label %done
slow:
  %value = call {type} @{symbol}({type} %x)
  ret {type} %value
done:
  ret {type} %common
}}"""


def _on_vectors(symbol: str, type: str, lanes: int) -> tuple[str, ...]:
    """The variant on vectors, and the intrinsics that it calls."""
    vector, mask, suffix = f"<{lanes} x {type}>", f"<{lanes} x i1>", f"v{lanes}{SUFFIXES[type][1]}"
    function = f"""define hidden {vector} @rare.{symbol}.{lanes}({vector} %x, {vector} %common) alwaysinline {TRAITS} {{
entry:
  %size = call {vector} @llvm.fabs.{suffix}({vector} %x)
  %large = fcmp ogt {vector} %size, splat ({real(HUGE[type], type)})
  %finite = fcmp one {vector} %size, splat ({real(math.inf, type)})
  %huge = and {mask} %large, %finite
  %any = call i1 @llvm.vector.reduce.or.v{lanes}i1({mask} %huge)
  br i1 %any, label %slow, label %done
slow:
  %k = phi i64 [ 0, %entry ], [ %next, %slow ]
  %values = phi {vector} [ %common, %entry ], [ %more, %slow ]
  %one = extractelement {vector} %x, i64 %k
  %other = extractelement {vector} %common, i64 %k
  %value = call {type} @rare.{symbol}({type} %one, {type} %other)
  %more = insertelement {vector} %values, {type} %value, i64 %k
  %next = add i64 %k, 1
  %again = icmp ult i64 %next, {lanes}
  br i1 %again, label %slow, label %done
done:
  %result = phi {vector} [ %common, %entry ], [ %more, %slow ]
  ret {vector} %result
}}"""
    return function, f"declare {vector} @llvm.fabs.{suffix}({vector})", f"declare i1 @llvm.vector.reduce.or.v{lanes}i1({mask})"
