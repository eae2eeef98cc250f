"""A writer of LLVM IR text: one function at a time, typed values, no other state.

Text instead of llvmlite.ir: nothing to import, about ten times as fast, and every flag of LLVM at hand.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from eqsat.ir.loops import Stmt

# integers have no sign in LLVM: operations do (codegen/elements/integers.py)
LLVM_TYPES = {
    "bool": "i1",
    **{f"{sign}int{bits}": f"i{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "bfloat16": "bfloat",
    "float16": "half",
    "float32": "float",
    "float64": "double",
    "complex64": "{ float, float }",
    "complex128": "{ double, double }",
}
REALS = {"bfloat": "bf16", "half": "f16", "float": "f32", "double": "f64"}
# of a loop with so many loads and stores LLVM does not find out that they are independent: in its sets of aliases are 250 at the most
MANY_ACCESSES = 200
MEMORY_TYPES = {**LLVM_TYPES, "bool": "i8"}


class Value(NamedTuple):
    """An SSA name or a constant, with its LLVM type."""

    text: str
    type: str

    def __str__(self) -> str:
        return f"{self.type} {self.text}"


class Registers(NamedTuple):
    """Bytes of a vector register, how many may hold sums while operands are loaded, whether stores can go past the caches, and what all
    vector registers are called (none where that is not known)."""

    bytes: int
    sums: int
    streams: bool = False
    names: tuple[str, ...] = ()


class Abilities(NamedTuple):
    """What a machine does in one instruction, also on vectors: take floats apart and scale them by powers of two (codegen/math/native.py),
    a * b + c rounded once (llvm.fma);
    `chooses`: bits of the elements that it chooses from registers (codegen/elements/small_tables.py);
    `masks`: it keeps the truth values of vectors in registers of their own, not as numbers as wide as what was compared;
    `floats`: what inline assembly calls registers of floats, nothing where that is not known;
    `looks_ahead`: it brings what is read next of several rows and lines without being asked, but not what is written next
    (codegen/memory/ahead.py)."""

    scales: bool = False
    fuses: bool = False
    masks: bool = False
    floats: str = ""
    chooses: frozenset[int] = frozenset()
    looks_ahead: bool = False


NO_ABILITIES = Abilities()


def symbol(name: str) -> str:
    """The name of a function, quoted as LLVM wants it."""
    return '@"' + "".join(c if c.isalnum() or c in "_.-$" else "".join(f"\\{byte:02X}" for byte in c.encode()) for c in name) + '"'


def element_type(type: str) -> str:
    """The type of the lanes of a vector type "<4 x i32>"; other types as they are."""
    return type.split()[-1].rstrip(">")


def integer(value: int, type: str = "i64") -> Value:
    """A constant of an integer type, wrapped into its range; of a vector of integers, the same in all lanes."""
    scalar = element_type(type)
    half = 1 << int(scalar[1:]) - 1
    text = str((value + half) % (2 * half) - half) if scalar != "i1" else truth(bool(value)).text
    return Value(text if type == scalar else f"splat ({scalar} {text})", type)


def truth(value: bool) -> Value:
    return Value("true" if value else "false", "i1")


def real(value: float, type: str) -> Value:
    """A constant of a floating-point type, rounded to it and written bit by bit; of a vector of them, the same in all lanes."""
    scalar = element_type(type)
    if scalar != type:
        return Value(f"splat ({real(value, scalar)})", type)
    if type == "bfloat":
        return Value(f"0xR{np.array(value).astype('bfloat16').view(np.uint16) if value == value else 0x7FC0:04X}", type)
    if type == "half":
        with np.errstate(over="ignore"):
            return Value(f"0xH{np.float16(value).view(np.uint16) if value == value else 0x7E00:04X}", type)
    rounded = float(np.float32(value)) if type == "float" else float(value)
    bits = 0x7FF8000000000000 if rounded != rounded else struct.unpack("<Q", struct.pack("<d", rounded))[0]
    return Value(f"0x{bits:016X}", type)


def bits_of(type: str) -> str:
    """The integer type as wide as a floating-point type."""
    return {"double": "i64", "float": "i32"}.get(type, "i16")


def floats_of(type: str) -> str:
    """The floating-point type as wide as an integer type."""
    return {"i64": "double", "i32": "float", "i16": "half"}[type]


def is_real(type: str) -> bool:
    return element_type(type) in REALS


def pair(real: Value, imag: Value) -> Value:
    """A complex constant of two constants."""
    return Value(f"{{ {real}, {imag} }}", f"{{ {real.type}, {imag.type} }}")


class Builder:
    """Appends instructions to the blocks of one function.

    `declarations` collects what it calls, `metadata` the notes on loops of the whole module, `abilities` are the host's.  `sources`:
    (line, the statement that lines from there on are written for).  `zero`: an i64 that is zero, which LLVM does not know, if the
    function has one.  `extrema`: of values that are extrema of several floats, by name, that of numbers alone, and these floats.
    """

    def __init__(self, metadata: list[str] | None = None, abilities: Abilities = NO_ABILITIES) -> None:
        self.metadata = metadata if metadata is not None else []
        self.abilities = abilities
        self.lines: list[str] = ["entry:"]
        self.block = "entry"
        self.declarations: set[str] = set()
        self.sources: list[tuple[int, Stmt | None]] = [(0, None)]
        self.zero: Value | None = None
        self.extrema: dict[str, tuple[Value, tuple[Value, ...]]] = {}
        self._count = 0

    def fresh(self, stem: str) -> str:
        """A name that this function has not used."""
        self._count += 1
        return f"{stem}{self._count}"

    def write_for(self, source: Stmt | None) -> Stmt | None:
        """What follows is written for this statement; returns the one before."""
        before = self.sources[-1][1]
        self.sources.append((len(self.lines), source))
        return before

    def emit(self, type: str, instruction: str, stem: str = "v") -> Value:
        """`%name = instruction`."""
        name = f"%{self.fresh(stem)}"
        self.lines.append(f"  {name} = {instruction}")
        return Value(name, type)

    def binary(self, op: str, a: Value, b: Value, flags: str = "") -> Value:
        return self.emit(a.type, f"{op} {flags + ' ' if flags else ''}{a}, {b.text}")

    def compare(self, predicate: str, a: Value, b: Value) -> Value:
        type = a.type.replace(element_type(a.type), "i1")
        return self.emit(type, f"{'fcmp' if is_real(a.type) else 'icmp'} {predicate} {a}, {b.text}")

    def pair(self, real: Value, imag: Value) -> Value:
        """A complex number of its parts."""
        type = f"{{ {real.type}, {imag.type} }}"
        half = self.emit(type, f"insertvalue {type} poison, {real}, 0")
        return self.emit(type, f"insertvalue {half}, {imag}, 1")

    def parts(self, a: Value) -> tuple[Value, ...]:
        """The real and the imaginary part of a complex number; any other value alone."""
        if not a.type.startswith("{"):
            return (a,)
        type = a.type.split()[1].rstrip(",")
        return tuple(self.emit(type, f"extractvalue {a}, {k}") for k in range(2))

    def joined(self, parts: Sequence[Value]) -> Value:
        """The value that has these parts."""
        return self.pair(*parts) if len(parts) == 2 else parts[0]

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        return self.emit(a.type, f"select {condition}, {a}, {b}")

    def insert(self, vector: Value, element: Value, lane: int) -> Value:
        return self.emit(vector.type, f"insertelement {vector}, {element}, i64 {lane}")

    def cast(self, op: str, a: Value, type: str) -> Value:
        return self.emit(type, f"{op} {a} to {type}")

    def negate(self, a: Value, flags: str = "") -> Value:
        if is_real(a.type):
            return self.emit(a.type, f"fneg {flags + ' ' if flags else ''}{a}")
        return self.binary("sub", integer(0, a.type), a)

    def intrinsic(self, name: str, *args: Value, flags: str = "") -> Value:
        """llvm.NAME on operands of one type (an i1 operand is a flag of the intrinsic)."""
        type, scalar = args[0].type, element_type(args[0].type)
        lanes = "" if type == scalar else f"v{type.split()[0][1:]}"
        symbol = f"@llvm.{name}.{lanes}{REALS.get(scalar, scalar)}"
        self.declarations.add(f"declare {type} {symbol}({', '.join(arg.type for arg in args)})")
        return self.emit(type, f"call {flags + ' ' if flags else ''}{type} {symbol}({', '.join(map(str, args))})")

    def opaque(self, a: Value) -> Value:
        """A number that LLVM knows nothing about."""
        if self.abilities.floats and a.type in ("float", "double"):
            return self.emit(a.type, f'call {a.type} asm "", "={self.abilities.floats},0"({a})')
        bits = bits_of(a.type) if is_real(a.type) else a.type
        return self.cast("bitcast", self.emit(bits, f'call {bits} asm "", "=r,0"({self.cast("bitcast", a, bits)}) memory(none)'), a.type)

    def load(self, type: str, pointer: Value) -> Value:
        """The value at an address; the parts of a complex number lie one behind the other."""
        if not type.startswith("{"):
            return self.emit(type, f"load {type}, {pointer}")
        part = type.split()[1].rstrip(",")
        return self.pair(*(self.load(part, self.element(part, pointer.text, integer(k), "inbounds")) for k in range(2)))

    def store(self, value: Value, pointer: Value) -> None:
        parts = self.parts(value)
        for k, part in enumerate(parts):
            place = self.element(part.type, pointer.text, integer(k), "inbounds") if len(parts) > 1 else pointer
            self.lines.append(f"  store {part}, {place}")

    def element(self, type: str, base: str, index: Value, flags: str) -> Value:
        """The address of element `index` of the array at `base`."""
        return self.emit("ptr", f"getelementptr {flags} {type}, ptr {base}, {index}", "p")

    def start(self, label: str) -> None:
        """Begin the block `label`; the block before it must have ended."""
        self.lines.append(f"{label}:")
        self.block = label

    def jump(self, label: str) -> None:
        self.lines.append(f"  br label %{label}")

    def branch(self, condition: Value, then: str, otherwise: str, note: str = "") -> None:
        """`note`: metadata, ", !llvm.loop !n" on the back edge of a loop."""
        self.lines.append(f"  br {condition}, label %{then}, label %{otherwise}{note}")

    def keep_rolled(self, vectors: int = 1) -> str:
        """The note that forbids unrolling a loop; `vectors`: how many the loop takes side by side where LLVM makes vectors of it."""
        joined = f', !{{!"llvm.loop.interleave.count", i32 {vectors}}}' if vectors > 1 else ""
        return self.note(f'!{{!"llvm.loop.unroll.disable"}}{joined}')

    def keep_for_vectors(self) -> str:
        """The note that forbids unrolling a loop before LLVM makes vectors of it."""
        vectors = '!{!"llvm.loop.vectorize.followup_vectorized", !{!"llvm.loop.isvectorized"}}'
        return self.note(f'!{{!"llvm.loop.unroll.disable"}}, {vectors}')

    def keep_masked(self, vectors: int) -> str:
        """The note on a loop that LLVM makes so many vectors of, side by side, the last of them under a mask."""
        hints = (f'interleave.count", i32 {vectors}', 'vectorize.predicate.enable", i1 true', 'vectorize.enable", i1 true')
        return self.note(", ".join(('!{!"llvm.loop.unroll.disable"}', *(f'!{{!"llvm.loop.{hint}}}' for hint in hints))))

    def keep_together(self, vectors: int, besides: str = "") -> str:
        """The note that says how many vectors a loop computes side by side where LLVM makes vectors of it, and what it says besides; none
        for a single one."""
        said = [f'!{{!"llvm.loop.interleave.count", i32 {vectors}}}'] if vectors > 1 else []
        said += [besides] if besides else []
        return self.note(", ".join(said)) if said else ""

    def independent(self, begin: int) -> str:
        """What a note says of a loop whose lines begin there: that its accesses are independent; nothing where they are few, for then
        LLVM finds that out."""
        accesses = [at for at in range(begin, len(self.lines)) if self.lines[at].startswith("  store ") or " = load " in self.lines[at]]
        if len(accesses) < MANY_ACCESSES:
            return ""
        group = self.mark("!{}")
        for at in accesses:
            self.lines[at] += f", !llvm.access.group !{group}"
        return f'!{{!"llvm.loop.parallel_accesses", !{group}}}'

    def keep_vectors_rolled(self) -> str:
        """The note that forbids unrolling the loop over vectors that LLVM makes of a loop."""
        return self.note('!{!"llvm.loop.vectorize.followup_vectorized", !{!"llvm.loop.isvectorized"}, !{!"llvm.loop.unroll.disable"}}')

    def note(self, what: str) -> str:
        """A note on a loop, to be written behind the branch that goes back."""
        return f", !llvm.loop !{self.mark(f'!{{!{len(self.metadata)}, {what}}}')}"

    def mark(self, node: str) -> int:
        """The number of a new node of metadata."""
        self.metadata.append(node)
        return len(self.metadata) - 1

    def phi(self, type: str, first: Value, source: str, name: str, back: str) -> tuple[Value, int]:
        """A value that is `first` on entry from block `source` and %NAME when control returns from block BACK.

        Returns the value and the line to complete with `complete` once NAME and BACK are known.
        """
        value = self.emit(type, "", name)
        self.lines[-1] += f"phi {type} [ {first.text}, %{source} ], [ {{}}, %{back} ]"
        return value, len(self.lines) - 1

    def complete(self, line: int, value: Value) -> None:
        """Give the phi at `line` its value on the way back."""
        self.lines[line] = self.lines[line].replace("{}", value.text)

    def finish(self) -> str:
        """The body, ended by a return."""
        return "\n".join([*self.lines, "  ret void"])


# an operation on elements: of values, with flags for floats
Code = Callable[[Builder, tuple[Value, ...], str], Value]
