"""Modules of LLVM IR: the functions of kernels, and the ways in which they are called."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from eqsat.codegen.builder import NO_ABILITIES, Abilities, Builder, Registers, symbol
from eqsat.codegen.folds.accumulator import Numerics
from eqsat.codegen.kernel_code import REGISTERS, KernelEmitter
from eqsat.codegen.moved import as_integers
from eqsat.ir.errors import InternalError
from eqsat.ir.loops import Kernel
from eqsat.ir.typed_kernel import TypedKernel

_NUMBER = re.compile(r"!\d+")
FUNCTION = "nounwind willreturn mustprogress nosync noinline"
ATTRIBUTES = f'attributes #0 = {{ {FUNCTION} "prefer-vector-width"="512" }}'
# told before each kernel how many of how many are written, and when all are
Progress = Callable[[int, int], None]


class Function(NamedTuple):
    """The functions of one kernel and the other names that they have: their texts, what they call, and their notes, by number."""

    texts: list[str]
    declarations: list[str]
    notes: dict[int, str]


class Module(NamedTuple):
    """The LLVM IR of some kernels, and what wrote each of them; `code` names the kernel whose function is that of each kernel, for those
    that do the same on other buffers have one between them."""

    functions: tuple[Function, ...]
    emitters: tuple[KernelEmitter, ...]
    code: dict[str, str]

    @property
    def text(self) -> str:
        return _text(self.functions)

    @property
    def parts(self) -> tuple[str, ...]:
        """The same in modules of one function each."""
        return tuple(_text([function]) for function in self.functions)


def _text(functions: Sequence[Function]) -> str:
    texts = [text for function in functions for text in function.texts]
    declarations = dict.fromkeys(text for function in functions for text in function.declarations)
    notes = [f"!{k} = distinct {node}" for function in functions for k, node in function.notes.items()]
    return "\n\n".join([*texts, "\n".join(declarations), ATTRIBUTES, "\n".join(notes)]) + "\n"


def write_module(
    typed_kernels: Sequence[TypedKernel],
    numerics: Numerics,
    abilities: Abilities = NO_ABILITIES,
    registers: Registers = REGISTERS,
    progress: Progress = lambda done, total: None,
) -> Module:
    """The LLVM IR of kernels with distinct names, and what its lines were written for; `abilities` and `registers`: of the machine.

    Each becomes `void NAME(ptr buffer, ..., i64 begin, i64 end, i64 size, ...)` and `void NAME.arrays(ptr array, ..., the same)`, which
    takes numpy.ndarray objects instead of their data, and `void NAME.slots(ptr values, ptr slots, i64 begin, i64 end)`, which takes the
    data of its buffers from a table, each at the position that `slots` has for it; before them that of an array of its sizes, if it has
    some.  Raises InternalError for a nest that breaks the rules of ir.loops.
    """
    kernels = [typed.kernel for typed in typed_kernels]
    if len({kernel.name for kernel in kernels}) != len(kernels):
        raise InternalError(f"codegen: found the kernels {', '.join(k.name for k in kernels)}, expected distinct names")
    metadata: list[str] = []
    code: dict[str, str] = {}
    functions: dict[str, Function] = {}
    written: dict[tuple[str, ...], str] = {}
    moved = (replace(typed, kernel=as_integers(typed.kernel)) for typed in typed_kernels)
    emitters = tuple(KernelEmitter(typed, numerics, Builder(metadata, abilities), registers) for typed in moved)
    for done, (kernel, emitter) in enumerate(zip(kernels, emitters, strict=True)):
        progress(done, len(kernels))
        noted = len(metadata)
        function = emitter.function()
        key = (_unnumbered(function.removeprefix(f"define void {symbol(kernel.name)}")), *map(_unnumbered, metadata[noted:]))
        code[kernel.name] = same = written.setdefault(key, kernel.name)
        if same == kernel.name:
            texts, notes = [function, array_entry(kernel), slot_entry(kernel)], dict(enumerate(metadata[noted:], noted))
            functions[same] = Function(texts, sorted(emitter.b.declarations), notes)
        else:
            del metadata[noted:]
            functions[same].texts.extend(_alias(kernel.name + end, same + end) for end in ("", ".arrays", ".slots"))
    progress(len(kernels), len(kernels))
    return Module(tuple(functions.values()), emitters, code)


def _unnumbered(text: str) -> str:
    """Text without the numbers of its metadata, which are those of the module."""
    return _NUMBER.sub("!", text)


def _alias(name: str, function: str) -> str:
    return f"{symbol(name)} = alias void (), ptr {symbol(function)}"


def array_entry(kernel: Kernel) -> str:
    """A function that reads the data pointers of ndarray objects, which follow the header of every Python object."""
    head = object.__basicsize__
    names = [f"a{k}" for k in range(len(kernel.buffers))]
    lines = [f"  %p_{name} = getelementptr i8, ptr %{name}, i64 {head}\n  %d_{name} = load ptr, ptr %p_{name}" for name in names]
    numbers = ["i64 %begin", "i64 %end", *(f"i64 %s{k}" for k in range(len(kernel.sizes)))]
    taken = ", ".join([*(f"ptr %{name}" for name in names), *numbers])
    passed = ", ".join([*(f"ptr %d_{name}" for name in names), *numbers])
    call = f"  call void {symbol(kernel.name)}({passed})\n  ret void"
    return "\n".join([f"define void {symbol(kernel.name + '.arrays')}({taken}) nounwind {{", *lines, call, "}"])


def slot_entry(kernel: Kernel) -> str:
    """A function that reads the data pointers of a table, and its sizes from the first of them."""
    names = [*(["sizes"] if kernel.sizes else []), *(f"d{k}" for k in range(len(kernel.buffers)))]
    lines = []
    for k, name in enumerate(names):
        lines.append(f"  %p{k} = getelementptr i64, ptr %slots, i64 {k}\n  %slot{k} = load i64, ptr %p{k}")
        lines.append(f"  %q{k} = getelementptr ptr, ptr %values, i64 %slot{k}\n  %{name} = load ptr, ptr %q{k}")
    for k in range(len(kernel.sizes)):
        lines.append(f"  %r{k} = getelementptr i64, ptr %sizes, i64 {k}\n  %s{k} = load i64, ptr %r{k}")
    buffers, sizes = (f"ptr %d{k}" for k in range(len(kernel.buffers))), (f"i64 %s{k}" for k in range(len(kernel.sizes)))
    call = f"  call void {symbol(kernel.name)}({', '.join([*buffers, 'i64 %begin', 'i64 %end', *sizes])})\n  ret void"
    taken = "ptr %values, ptr %slots, i64 %begin, i64 %end"
    return "\n".join([f"define void {symbol(kernel.name + '.slots')}({taken}) nounwind {{", *lines, call, "}"])
