"""The C library's functions for arguments that are rare, in loops that vectorize all the same.

`rare.NAME` gives the value it is handed, unless the argument is huge: then it calls the library.  Variants of it on vectors, which LLVM's
loop vectorizer finds by their names, ask whether any lane is huge; `machine.optimize` inlines them after the vectorizer.
"""

from __future__ import annotations

from eqsat.codegen.math.number import Number

HUGE = 2.0**30
LANES = (2, 4, 8, 16)
TRAITS = "nounwind willreturn memory(none)"


def unless_huge(name: str, x: Number, common: Number) -> Number:
    """`common`, or NAME(x) where |x| > HUGE is finite; both float64."""
    b = x.b
    b.declarations |= _texts(name)
    names = ",".join(f"_ZGV_LLVM_N{lanes}vv_rare.{name}(rare.{name}.{lanes})" for lanes in LANES)
    call = f'call double @rare.{name}({x.value}, {common.value}) {TRAITS} "vector-function-abi-variant"="{names}"'
    return Number(b, b.emit("double", call))


def _texts(name: str) -> set[str]:
    """The functions and what they call."""
    plain = f"""define hidden double @rare.{name}(double %x, double %common) noinline {TRAITS} {{
  %size = call double @llvm.fabs.f64(double %x)
  %large = fcmp ogt double %size, {HUGE}
  %finite = fcmp one double %size, 0x7FF0000000000000
  %huge = and i1 %large, %finite
  br i1 %huge, label %slow, label %done
slow:
  %value = call double @{name}(double %x)
  ret double %value
done:
  ret double %common
}}"""
    needed = {f"declare double @{name}(double) {TRAITS}", "declare double @llvm.fabs.f64(double)"}
    for lanes in LANES:
        type, mask = f"<{lanes} x double>", f"<{lanes} x i1>"
        needed |= {f"declare {type} @llvm.fabs.v{lanes}f64({type})", f"declare i1 @llvm.vector.reduce.or.v{lanes}i1({mask})"}
    return {plain, *needed, *(_on_vectors(name, lanes) for lanes in LANES)}


def _on_vectors(name: str, lanes: int) -> str:
    type, mask = f"<{lanes} x double>", f"<{lanes} x i1>"
    each, last = list[str](), "%common"
    for k in range(lanes):
        each += [
            f"  %x{k} = extractelement {type} %x, i64 {k}",
            f"  %c{k} = extractelement {type} %common, i64 {k}",
            f"  %r{k} = call double @rare.{name}(double %x{k}, double %c{k})",
            f"  %v{k} = insertelement {type} {last}, double %r{k}, i64 {k}",
        ]
        last = f"%v{k}"
    body = "\n".join(each)
    return f"""define hidden {type} @rare.{name}.{lanes}({type} %x, {type} %common) alwaysinline {TRAITS} {{
  %size = call {type} @llvm.fabs.v{lanes}f64({type} %x)
  %large = fcmp ogt {type} %size, splat (double {HUGE})
  %finite = fcmp one {type} %size, splat (double 0x7FF0000000000000)
  %huge = and {mask} %large, %finite
  %any = call i1 @llvm.vector.reduce.or.v{lanes}i1({mask} %huge)
  %expected = call i1 @llvm.expect.i1(i1 %any, i1 false)
  br i1 %expected, label %slow, label %done
slow:
{body}
  ret {type} {last}
done:
  ret {type} %common
}}"""
