"""Conversions of numbers of 16 bits as functions: what LLVM calls where the processor has no instruction for one.

Processors before F16C have none at all, and others none from double to half, which LLVM writes by itself where it moves a sign through two
roundings; of bfloat16 only some with AVX-512 have one.  The C library's runtime has these functions only since GCC 12, so here they are, in
integers; the names are LLVM's.
"""

from __future__ import annotations

# a half that is denormal is an integer times 2^-24; a float that becomes one is added to 0.5, whose last bit is 2^-24
CODE = """
define float @__extendhfsf2(half %x) {
  %narrow = bitcast half %x to i16
  %bits = zext i16 %narrow to i32
  %sign.low = and i32 %bits, 32768
  %sign = shl i32 %sign.low, 16
  %rest = and i32 %bits, 32767
  %shifted = shl i32 %rest, 13
  %normal = add i32 %shifted, 939524096
  %infinite = or i32 %shifted, 2139095040
  %quiet = or i32 %infinite, 4194304
  %is.nan = icmp ugt i32 %rest, 31744
  %is.infinite = icmp eq i32 %rest, 31744
  %units = uitofp i32 %rest to float
  %small = fmul float %units, 0x3E70000000000000
  %denormal = bitcast float %small to i32
  %is.denormal = icmp ult i32 %rest, 1024
  %a = select i1 %is.denormal, i32 %denormal, i32 %normal
  %b = select i1 %is.infinite, i32 %infinite, i32 %a
  %c = select i1 %is.nan, i32 %quiet, i32 %b
  %d = or i32 %c, %sign
  %result = bitcast i32 %d to float
  ret float %result
}

define half @__truncsfhf2(float %x) {
  %bits = bitcast float %x to i32
  %sign.high = lshr i32 %bits, 16
  %sign = and i32 %sign.high, 32768
  %rest = and i32 %bits, 2147483647
  %last.bits = lshr i32 %rest, 13
  %last = and i32 %last.bits, 1
  %rebased = sub i32 %rest, 939524096
  %below = add i32 %rebased, 4095
  %rounded = add i32 %below, %last
  %normal = lshr i32 %rounded, 13
  %magnitude = bitcast i32 %rest to float
  %placed = fadd float %magnitude, 5.0e-01
  %placed.bits = bitcast float %placed to i32
  %denormal = sub i32 %placed.bits, 1056964608
  %payload = and i32 %last.bits, 1023
  %quiet = or i32 %payload, 32256
  %is.denormal = icmp ult i32 %rest, 947912704
  %is.infinite = icmp uge i32 %rest, 1199570944
  %is.nan = icmp ugt i32 %rest, 2139095040
  %a = select i1 %is.denormal, i32 %denormal, i32 %normal
  %b = select i1 %is.infinite, i32 31744, i32 %a
  %c = select i1 %is.nan, i32 %quiet, i32 %b
  %d = or i32 %c, %sign
  %narrow = trunc i32 %d to i16
  %result = bitcast i16 %narrow to half
  ret half %result
}

; by way of a float that is rounded to odd, for rounding twice to nearest is not rounding once
define half @__truncdfhf2(double %x) {
  %near = fptrunc double %x to float
  %back = fpext float %near to double
  %bits = bitcast float %near to i32
  %size = call double @llvm.fabs.f64(double %x)
  %back.size = call double @llvm.fabs.f64(double %back)
  %is.beyond = fcmp ogt double %back.size, %size
  %step = zext i1 %is.beyond to i32
  %towards = sub i32 %bits, %step
  %is.inexact = fcmp one double %back, %x
  %odd.bit = zext i1 %is.inexact to i32
  %odd.bits = or i32 %towards, %odd.bit
  %odd = bitcast i32 %odd.bits to float
  %result = call half @__truncsfhf2(float %odd)
  ret half %result
}

; the upper half of a float, rounded to even
define bfloat @__truncsfbf2(float %x) {
  %bits = bitcast float %x to i32
  %last.bits = lshr i32 %bits, 16
  %last = and i32 %last.bits, 1
  %below = add i32 %bits, 32767
  %sum = add i32 %below, %last
  %rounded = lshr i32 %sum, 16
  %quiet = or i32 %last.bits, 64
  %is.nan = fcmp uno float %x, %x
  %upper = select i1 %is.nan, i32 %quiet, i32 %rounded
  %narrow = trunc i32 %upper to i16
  %result = bitcast i16 %narrow to bfloat
  ret bfloat %result
}

declare double @llvm.fabs.f64(double)
"""

FUNCTIONS = ("__extendhfsf2", "__truncsfhf2", "__truncdfhf2", "__truncsfbf2")


def called(code: bytes) -> tuple[str, ...]:
    """Those of the functions that an object names."""
    return tuple(name for name in FUNCTIONS if name.encode() in code)
