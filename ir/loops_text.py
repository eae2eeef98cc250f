"""The text form of loop nests: indented, one statement a line, for people to read.

    kernel row_sums(x: in float32[12], out: out float32[3])
        for i0 in 0..2 parallel:
            b0 = i0 * 4
            t0 = sum for r0 in 0..3: x[b0 + r0]
            out[i0] = t0

A Fold with statements of its own shows them below, its value last as `yield`; `out[i] sum= v` is a Store with a combine.
"""

from __future__ import annotations

from collections.abc import Iterator

from eqsat.ir.index import Var
from eqsat.ir.loops import Bind, Clip, Fold, For, Kernel, Let, Load, Pick, Stmt, Temp
from eqsat.ir.node import to_text
from eqsat.ir.text import body_text


@to_text.register
def _load(load: Load) -> str:
    return f"{load.buffer}[{load.index}]"


@to_text.register
def _pick(pick: Pick) -> str:
    return body_text(pick, {})


@to_text.register
def _temp(temp: Temp) -> str:
    return temp.name


@to_text.register
def _kernel(kernel: Kernel) -> str:
    buffers = ", ".join(f"{b.name}: {b.role} {b.dtype}[{b.size}]" for b in kernel.buffers)
    scratch = [f"    {b.name}: {b.role} {b.dtype}[{b.size}]" for b in kernel.scratch]
    return "\n".join((f"kernel {kernel.name}({buffers})", *scratch, *(text for text, _ in _block(kernel.body, 1))))


def statement_lines(kernel: Kernel) -> dict[Stmt, int]:
    """The line of the kernel's text, counted from 1, in which each statement begins."""
    above = 1 + len(kernel.scratch)
    lines: dict[Stmt, int] = {}
    for number, (_, stmt) in enumerate(_block(kernel.body, 1), start=above + 1):
        lines.setdefault(stmt, number)
    return lines


def _block(body: tuple[Stmt, ...], depth: int) -> Iterator[tuple[str, Stmt]]:
    """Lines, each with the statement that it belongs to."""
    for stmt in body:
        inside = _block(stmt.body, depth + 1) if isinstance(stmt, For | Fold) else ()
        first, *rest = _own_lines(stmt, "    " * depth)
        yield first, stmt
        yield from inside
        yield from ((text, stmt) for text in rest)


def _own_lines(stmt: Stmt, margin: str) -> Iterator[str]:
    """The line of a statement above its body, and the line below it, where there is one."""
    if isinstance(stmt, For):
        yield f"{margin}for {_range(stmt.variable)} {stmt.kind}:"
    elif isinstance(stmt, Bind):
        yield f"{margin}{stmt.variable.name} = {stmt.value}"
    elif isinstance(stmt, Clip):
        variable = stmt.variable
        yield f"{margin}{variable.name} = {body_text(stmt.value, {})} in {variable.lo}..{variable.hi}"
    elif isinstance(stmt, Let):
        yield f"{margin}{stmt.name} = {body_text(stmt.value, {})}"
    elif isinstance(stmt, Fold):
        head = f"{margin}{stmt.name} = {stmt.op} for {_range(stmt.variable)}:"
        if stmt.body:
            yield head
            yield f"{margin}    yield {body_text(stmt.value, {})}"
        else:
            yield f"{head} {body_text(stmt.value, {})}"
    else:
        yield f"{margin}{stmt.buffer}[{stmt.index}] {stmt.combine or ''}= {body_text(stmt.value, {})}"


def _range(variable: Var) -> str:
    return f"{variable.name} in {variable.lo}..{variable.hi}"
