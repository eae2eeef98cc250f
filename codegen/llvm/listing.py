"""Which lines of LLVM IR and of assembly belong to which statement of a loop nest.

The writer of LLVM IR notes the statement that it writes for (`Builder.write_for`).  For the assembly these notes become line numbers of
debug information, which LLVM carries through its optimizations and writes between instructions.  They should change no instruction: whether
that is so can be told by comparing with the assembly made without them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from eqsat.codegen.builder import symbol
from eqsat.codegen.emit import write_module
from eqsat.codegen.folds.accumulator import Numerics
from eqsat.codegen.kernel_code import KernelEmitter
from eqsat.codegen.llvm.machine import assembly_text, host
from eqsat.ir.loops_text import statement_lines
from eqsat.ir.typed_kernel import TypedKernel

# labels that nothing jumps to
_MARK = re.compile(r"\.L(tmp|func_|cfi|debug|info|line|sec|str|names|cu)")
_PLACE = re.compile(r"\t\.loc\t\d+ (\d+)")


class Line(NamedTuple):
    """A line of LLVM IR or of assembly, and the line of the loop nest's text that it belongs to, counted from 1; 0: none, for LLVM
    added it, or put together what belonged to several."""

    text: str
    source: int


class Listing(NamedTuple):
    """The function of one kernel, which is named `function`: its lines in LLVM IR, as emitted, and in assembly, without directives."""

    name: str
    function: str
    llvm_ir: tuple[Line, ...]
    assembly: tuple[Line, ...]


def listings(typed_kernels: Sequence[TypedKernel], numerics: Numerics) -> tuple[Listing, ...]:
    """The listing of every kernel, by the assembly of the host."""
    module = write_module(typed_kernels, numerics, host().abilities, host().registers)
    lines, code = module.text.split("\n"), module.code
    functions: dict[str, range] = {}
    sources: dict[int, int] = {}
    for emitter in (emitter for emitter in module.emitters if code[emitter.kernel.name] == emitter.kernel.name):
        found = list(_sources(emitter))
        first = next(k for k, line in enumerate(lines) if line.startswith(f"define void {symbol(emitter.kernel.name)}("))
        functions[emitter.kernel.name] = range(first, first + len(found))
        sources.update(enumerate(found, start=first))
    made = instructions(assembly_text(_with_places(lines, sources)))
    return tuple(
        Listing(name, same, tuple(Line(lines[k], sources[k]) for k in functions[same]), made.get(same, ())) for name, same in code.items()
    )


def instructions(assembly: str) -> dict[str, tuple[Line, ...]]:
    """The instructions and labels of each function of an assembly text, by its name."""
    found: dict[str, list[Line]] = {}
    lines: list[Line] = []
    source = 0
    for text in assembly.splitlines():
        code = text.split("#", 1)[0].rstrip()
        place = _PLACE.match(text)
        if place:
            source = int(place[1])
        elif not code or _MARK.match(code) or code.startswith("\t."):
            continue
        elif code[0] == "\t":
            lines.append(Line(code, source))
        elif code.startswith(".L"):
            lines.append(Line(code, 0))
        else:
            lines, source = found.setdefault(code.rstrip(":").strip('"'), []), 0
    return {name: tuple(lines) for name, lines in found.items()}


def _sources(emitter: KernelEmitter) -> Iterator[int]:
    """For every line of a kernel's function the line of the loop nest; what is written for no statement belongs to the kernel, line 1."""
    number = statement_lines(emitter.kernel)
    yield 1
    for (first, stmt), (end, _) in pairwise([*emitter.b.sources, (len(emitter.b.lines), None)]):
        for entry in emitter.b.lines[first:end]:
            yield from [1 if stmt is None else number[stmt]] * (entry.count("\n") + 1)
    yield from (1, 1)


def _with_places(module: Sequence[str], sources: Mapping[int, int]) -> str:
    """The module with debug information: every instruction of a kernel has the line that it belongs to, and those that only call one have
    line 0."""
    nodes = _Nodes(1 + max((int(line[1 : line.index(" ")]) for line in module if line.startswith("!")), default=-1))
    function: int | None = None
    lines = []
    for k, text in enumerate(module):
        if text.startswith("define void "):
            function = nodes.function()
            text = f"{text[:-1]}!dbg !{function} {{"
        elif text.startswith("  ") and function is not None:
            text = f"{text}, !dbg !{nodes.place(sources.get(k, 0), function)}"
        elif text == "}":
            function = None
        lines.append(text)
    return "\n".join([*lines, *nodes.lines])


class _Nodes:
    """Numbered nodes of debug information."""

    def __init__(self, first: int) -> None:
        self._unit, self._file, self._flag, self._type = (f"!{k}" for k in range(first, first + 4))
        self._next = first + 4
        self._places: dict[tuple[int, int], int] = {}
        self.lines = [
            f"!llvm.dbg.cu = !{{{self._unit}}}",
            f"!llvm.module.flags = !{{{self._flag}}}",
            f"{self._unit} = distinct !DICompileUnit(language: DW_LANG_C99, file: {self._file}, emissionKind: LineTablesOnly)",
            f'{self._file} = !DIFile(filename: "loops", directory: "/")',
            f'{self._flag} = !{{i32 2, !"Debug Info Version", i32 3}}',
            f"{self._type} = !DISubroutineType(types: !{{}})",
        ]

    def function(self) -> int:
        where = f"scope: {self._file}, file: {self._file}, type: {self._type}, unit: {self._unit}"
        return self._add(f"distinct !DISubprogram({where}, spFlags: DISPFlagDefinition | DISPFlagOptimized)")

    def place(self, line: int, function: int) -> int:
        key = line, function
        if key not in self._places:
            self._places[key] = self._add(f"!DILocation(line: {line}, scope: !{function})")
        return self._places[key]

    def _add(self, node: str) -> int:
        self.lines.append(f"!{self._next} = {node}")
        self._next += 1
        return self._next - 1
