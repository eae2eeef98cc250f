"""Elements that are chosen from a small table, many at once: the table stands in registers, and instructions put its elements in order.

AVX-512 chooses among two registers (vpermi2b and its like), which hold 128 bytes, 64 numbers of 16 bits, 32 of 32 or 16 of 64.  Of a larger
table that is done for every pair, and what the place says is taken.  LLVM makes no such instructions of loads at computed places, so
`table.NAME` is a function of an address and a place, with variants on vectors that the loop vectorizer finds by their names;
`machine.optimize` puts them in place afterwards.  The address is a number, for LLVM vectorizes no call that is given a pointer, and the
function says that it reads no memory: nobody writes what is there while the kernel runs, every kernel is a module of its own, and no pass
that could move loads comes after the function is put in place.
"""

from __future__ import annotations

from eqsat.codegen.builder import MEMORY_TYPES, Builder, Value
from eqsat.codegen.math.native import WIDEST, lanes_at
from eqsat.codegen.math.rare import TRAITS
from eqsat.ir.dtypes import itemsize

# what instructions that choose among one register, and among two, are called for the types of elements
INSTRUCTIONS = {
    "i8": ("permvar.qi", "vpermi2var.qi"),
    "i16": ("permvar.hi", "vpermi2var.hi"),
    "i32": ("permvar.si", "vpermi2var.d"),
    "float": ("permvar.sf", "vpermi2var.ps"),
    "i64": ("permvar.di", "vpermi2var.q"),
    "double": ("permvar.df", "vpermi2var.pd"),
}
# of vectors: a loop has as many as its narrowest elements ask for
LANES = (2, 4, 8, 16, 32, 64)


def chooses(b: Builder, dtype: str) -> bool:
    """Whether the machine has instructions that choose such elements from registers."""
    return MEMORY_TYPES[dtype] in INSTRUCTIONS and 8 * itemsize(dtype) in b.abilities.chooses


def chosen(b: Builder, dtype: str, count: int, table: str, place: Value) -> Value:
    """The code of the element at a place of a table of so many elements, to which a pointer points; the place is in the table."""
    table_of = _Table(MEMORY_TYPES[dtype], 8 * itemsize(dtype), count)
    b.declarations |= {table_of.on_one(), *(text for lanes in LANES for text in table_of.on_vectors(lanes))}
    variants = ",".join(f"_ZGV_LLVM_N{lanes}uv_{table_of.name}({table_of.name}.{lanes})" for lanes in LANES)
    address = b.emit("i64", f"ptrtoint ptr {table} to i64")
    index = place if place.type == table_of.index else b.emit(table_of.index, f"trunc {place} to {table_of.index}")
    call = f"call {table_of.element} @{table_of.name}({address}, {index}) {TRAITS}"
    return b.emit(table_of.element, f'{call} "vector-function-abi-variant"="{variants}"')


class _Table:
    """The functions that choose from a table of so many elements of a type."""

    def __init__(self, element: str, bits: int, count: int) -> None:
        self.element, self.count = element, count
        self.index = f"i{bits}"
        self.held = WIDEST // bits
        self.registers = -(-count // self.held)
        self.name = f"table.{element}.{count}"

    def on_one(self) -> str:
        """A load; weak, for LLVM would else put it in place before it makes vectors."""
        wider = "add i64 %x, 0" if self.index == "i64" else f"zext {self.index} %x to i64"
        return f"""define weak hidden {self.element} @{self.name}(i64 %table, {self.index} %x) {TRAITS} {{
  %begin = inttoptr i64 %table to ptr
  %place = {wider}
  %there = getelementptr inbounds {self.element}, ptr %begin, i64 %place
  %one = load {self.element}, ptr %there
  ret {self.element} %one
}}"""

    def on_vectors(self, lanes: int) -> tuple[str, ...]:
        """The variant on vectors, and the instructions that it calls; two halves where that is more than a register."""
        vector, indices = f"<{lanes} x {self.element}>", f"<{lanes} x {self.index}>"
        lines = self._halves(lanes) if lanes > self.held else self._in_registers(lanes)
        head = f"define hidden {vector} @{self.name}.{lanes}(i64 %table, {indices} %x) alwaysinline {TRAITS} {{"
        return "\n".join([head, *lines, f"  ret {vector} %all", "}"]), *self._declarations()

    def _halves(self, lanes: int) -> list[str]:
        half, indices, lines = lanes // 2, f"<{lanes} x {self.index}>", []
        found = f"<{half} x {self.element}>"
        for part in range(2):
            own = lanes_at(range(part * half, (part + 1) * half), lanes)
            lines.append(f"  %x{part} = shufflevector {indices} %x, {indices} poison, {own}")
            lines.append(f"  %r{part} = call {found} @{self.name}.{half}(i64 %table, <{half} x {self.index}> %x{part})")
        return [*lines, f"  %all = shufflevector {found} %r0, {found} %r1, {lanes_at(range(lanes), lanes)}"]

    def _in_registers(self, lanes: int) -> list[str]:
        """What is chosen among every two registers, and of that what the place says."""
        vector, wide = f"<{self.held} x {self.element}>", f"<{self.held} x {self.index}>"
        indices = f"<{lanes} x {self.index}>"
        lines = ["  %begin = inttoptr i64 %table to ptr"]
        lines.append(f"  %wide = shufflevector {indices} %x, {indices} poison, {lanes_at(range(self.held), lanes)}")
        for register in range(self.registers):
            lines += self._register(register)
        found = "%f0"
        for pair in range(0, self.registers, 2):
            both = [f"{vector} %t{register}" for register in range(pair, min(pair + 2, self.registers))]
            given = f"{both[0]}, {wide} %wide" + "".join(f", {other}" for other in both[1:])
            lines.append(f"  %f{pair} = call {self._instruction(len(both))}({given})")
            if pair:
                lines.append(f"  %b{pair} = icmp ult {wide} %wide, splat ({self.index} {pair * self.held})")
                lines.append(f"  %s{pair} = select <{self.held} x i1> %b{pair}, {vector} {found}, {vector} %f{pair}")
                found = f"%s{pair}"
        return [*lines, f"  %all = shufflevector {vector} {found}, {vector} poison, {lanes_at(range(lanes), self.held)}"]

    def _register(self, register: int) -> list[str]:
        """Loads the part of the table that a register holds, and no byte behind the table."""
        begin = register * self.held
        there = min(self.held, self.count - begin)
        part = f"<{there} x {self.element}>"
        return [
            f"  %p{register} = getelementptr inbounds {self.element}, ptr %begin, i64 {begin}",
            f"  %l{register} = load {part}, ptr %p{register}, align {WIDEST // 8 // self.held}",
            f"  %t{register} = shufflevector {part} %l{register}, {part} poison, {lanes_at(range(self.held), there)}",
        ]

    def _instruction(self, registers: int) -> str:
        kind = INSTRUCTIONS[self.element][registers - 1]
        return f"<{self.held} x {self.element}> @llvm.x86.avx512.{kind}.{WIDEST}"

    def _declarations(self) -> list[str]:
        vector, wide = f"<{self.held} x {self.element}>", f"<{self.held} x {self.index}>"
        one, two = f"declare {self._instruction(1)}({vector}, {wide})", f"declare {self._instruction(2)}({vector}, {wide}, {vector})"
        return [*([one] if self.registers % 2 else []), *([two] if self.registers > 1 else [])]
