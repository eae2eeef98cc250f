"""The text form of tensor programs: one line a tensor, every tensor named once, so shared work is printed once.

    program (x: float32[3, 4], y: float32[3, 1])
      t0: float32[3, 4] = generic (i0: 3, i1: 4) [a0 = x[i0, i1], a1 = y[i0, 0]] -> exp(a0) * a1
      t1: float32[3] = build (i0: 3) -> sum(r0: 4, t0[i0, r0] + 1.0f32)
      return t1

Literals are Python's, with the dtype appended where it is not the one that NumPy gives them: 1.0f32, 2i32.  A long operand that one
body uses several times is named: `-> s0 * s0 with s0 = ...`.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence

from eqsat.ir.containers import Container, Structure
from eqsat.ir.dtypes import DTYPES
from eqsat.ir.errors import InternalError
from eqsat.ir.host import Invocation
from eqsat.ir.index import Index
from eqsat.ir.node import to_text
from eqsat.ir.ops import SCALAR_OPS
from eqsat.ir.steps import HostCall, Loop
from eqsat.ir.tensor import (
    Arg,
    Build,
    Call,
    Constant,
    Gather,
    Gathered,
    Generic,
    Input,
    Literal,
    Position,
    Program,
    Read,
    Reduce,
    Scalar,
    Size,
    Step,
    StepResult,
    Tensor,
    operands,
    scalars,
    tensors,
)

Names = Mapping[Tensor, str]

ATOM, UNARY = 20, 11
PRECEDENCE = {"+": 9, "-": 9, "*": 10, "/": 10, "//": 10, "%": 10, "<<": 8, ">>": 8, "&": 7, "^": 6, "|": 5, "and": 2, "or": 1, "not": 3}
COMPARISON = 4
# none for what NumPy makes of Python's numbers
SUFFIX = {name: re.sub(r"^(\w)\D*", r"\1", name) for name in DTYPES if name not in ("bool", "int64", "float64", "complex128")}
SHARED_FROM = 24  # characters from which an operand that occurs again gets a name
SHOWN_ELEMENTS = 8


@to_text.register
def program_text(program: Program) -> str:
    """The listing of a program; sizes that are known at run time are shown by name."""
    names = tensor_names(*program.inputs, *program.outputs)
    inputs = ", ".join(f"{tensor.name}: {_type(tensor)}" for tensor in program.inputs)
    results = _structure(program.structure, tuple(names[output] for output in program.outputs))
    return with_sizes("\n".join([f"program ({inputs})", *_definitions(program.outputs, names), f"  return {results}"]), program.sizes)


def with_sizes(text: str, sizes: Sequence[Size]) -> str:
    """A text in which sizes that are known at run time are shown by name."""
    for size in sizes:
        text = re.sub(rf"(?<![\w.]){size.marker}(?![\w.])", size.name, text)
    return text


@to_text.register
def tensor_text(tensor: Tensor) -> str:
    """One tensor in terms of the tensors that it reads, below which their definitions follow."""
    names = tensor_names(tensor)
    if isinstance(tensor, Input):
        return f"{tensor.name}: {_type(tensor)}"
    if isinstance(tensor, StepResult):
        return "\n".join([f"{_type(tensor)} = {names[tensor]} of", *_definitions((tensor,), names)])
    read = [source for source in tensors(tensor) if source is not tensor]
    return "\n".join([f"{_type(tensor)} = {_definition(tensor, names)}", *_definitions(tuple(read), names)])


@to_text.register
def scalar_text(scalar: Scalar) -> str:
    """One element expression, below which follow the definitions of the tensors that it reads."""
    roots = tuple(dict.fromkeys(term.tensor for term in scalars(scalar) if isinstance(term, Read | Gather)))
    names = tensor_names(*roots)
    return "\n".join([body_text(scalar, names), *_definitions(roots, names)])


def body_text(root: Scalar, names: Names) -> str:
    """The text of an element expression where tensors have these names."""
    uses = Counter(arg for term in scalars(root) for arg in operands(term))
    shown: dict[Scalar, tuple[str, int]] = {}
    named: list[str] = []
    for term in scalars(root):
        written, precedence = _term(term, shown, names)
        if uses[term] > 1 and len(written) >= SHARED_FROM:
            named.append(f"s{len(named)} = {written}")
            written, precedence = f"s{len(named) - 1}", ATOM
        shown[term] = written, precedence
    return shown[root][0] + (f" with {', '.join(named)}" if named else "")


def _term(term: Scalar, shown: Mapping[Scalar, tuple[str, int]], names: Names) -> tuple[str, int]:
    """The text and the precedence of one scalar over the texts of its operands."""
    if isinstance(term, Literal):
        return _literal(term), UNARY if _literal(term).startswith("-") else ATOM
    if isinstance(term, Arg):
        return f"a{term.position}", ATOM
    if isinstance(term, Position):
        return f"{term.dtype}({term.index})", ATOM
    if isinstance(term, Read):
        return _read(term.tensor, term.indices, names), ATOM
    if isinstance(term, Gathered):
        name = names[term.tensor] if isinstance(term, Gather) else term.buffer  # type: ignore[attr-defined]  # a Pick of ir.loops
        kind = "check" if isinstance(term, Gather) and term.checked else "clip"
        return f"{name}[{kind} {', '.join(shown[arg][0] for arg in term.args)}]", ATOM
    if isinstance(term, Reduce):
        return f"{term.op}({term.variable.name}: {term.variable.extent}, {shown[term.body][0]})", ATOM
    if isinstance(term, Call):
        return _call(term, [shown[arg] for arg in term.args])
    return to_text(term), ATOM


def _call(term: Call, args: list[tuple[str, int]]) -> tuple[str, int]:
    symbol = SCALAR_OPS[term.op].symbol
    if not symbol:
        name = term.dtype if term.op == "astype" else term.op
        return f"{name}({', '.join(written for written, _ in args)})", ATOM
    if len(args) == 1:
        precedence = PRECEDENCE.get(symbol, UNARY) if symbol != "-" else UNARY
        return f"{symbol}{' ' if symbol.isalpha() else ''}{_bracketed(args[0], precedence)}", precedence
    precedence = PRECEDENCE.get(symbol, COMPARISON)
    left = precedence + (1 if precedence == COMPARISON else 0)
    return f"{_bracketed(args[0], left)} {symbol} {_bracketed(args[1], precedence + 1)}", precedence


def _bracketed(operand: tuple[str, int], least: int) -> str:
    written, precedence = operand
    return written if precedence >= least else f"({written})"


def _literal(term: Literal) -> str:
    return f"{term.value!r}{SUFFIX.get(term.dtype, '')}"


def _read(tensor: Tensor, indices: tuple[Index, ...], names: Names) -> str:
    return f"{names[tensor]}[{', '.join(str(index) for index in indices)}]"


def _definitions(roots: tuple[Tensor, ...], names: Names) -> list[str]:
    """A line for every tensor below the roots that is no input."""
    lines: list[str] = []
    steps: set[Step] = set()
    for tensor in tensors(*roots):
        if isinstance(tensor, StepResult):
            if tensor.step not in steps:
                lines += [f"  {line}" for line in _step(tensor.step, names)]
            steps.add(tensor.step)
        elif not isinstance(tensor, Input):
            lines.append(f"  {names[tensor]}: {_type(tensor)} = {_definition(tensor, names)}")
    return lines


def _step(step: Step, names: Names) -> list[str]:
    """The lines of a step: what it makes, results that nothing reads as _, and what it is."""
    made = ", ".join(f"{names.get(result, '_')}: {_type(result)}" for result in step.results)
    given = [names[tensor] for tensor in step.given]
    if isinstance(step, Loop):
        return [f"{made} = {step.count} times ({', '.join(given)})", *(f"  {line}" for line in program_text(step.body).splitlines())]
    if isinstance(step, HostCall):
        return [f"{made} = {step.name}({_arguments(step.invocation, given)})"]
    raise InternalError(f"text: found a {type(step).__name__}, expected a step of the grammar")


def _arguments(call: Invocation, given: Sequence[str]) -> str:
    """x, axis=-1."""
    texts = [*given, *map(repr, call.values)]
    positional, keyword = call.arguments.items  # type: ignore[union-attr]  # a tuple of both
    named = zip(keyword.keys, keyword.items, strict=True)  # type: ignore[union-attr]  # a dict
    shown = [_structure(item, texts) for item in positional.items]  # type: ignore[union-attr]  # a tuple
    return ", ".join([*shown, *(f"{key}={_structure(item, texts)}" for key, item in named)])


def definition_text(name: str, tensor: Tensor, names: Names) -> str:
    """The line of one tensor under this name, over tensors with these names; of the result of a step only what it is."""
    made = "" if isinstance(tensor, StepResult) else names[tensor] if isinstance(tensor, Input) else _definition(tensor, names)
    return f"{name}: {_type(tensor)} = {made}" if made else f"{name}: {_type(tensor)}"


def _definition(tensor: Tensor, names: Names) -> str:
    if isinstance(tensor, Build):
        loops = ", ".join(f"i{k}: {extent}" for k, extent in enumerate(tensor.shape))
        return f"build ({loops}) -> {body_text(tensor.body, names)}"
    if isinstance(tensor, Generic):
        reads = (_read(t, m, names) for t, m in zip(tensor.operands, tensor.maps, strict=True))
        args = ", ".join(f"a{position} = {read}" for position, read in enumerate(reads))
        return f"generic ({_iterators(tensor)}) [{args}] -> {body_text(tensor.block, names)}"
    if isinstance(tensor, Constant):
        if tensor.size <= SHOWN_ELEMENTS:
            return f"constant {tensor.data.tolist()}"
        return f"constant with checksum {zlib.crc32(tensor.data.tobytes()):08x}"
    raise InternalError(f"text: found a {type(tensor).__name__}, expected a tensor of the grammar")


def _iterators(generic: Generic) -> str:
    """i0: 3, sum r0: 4."""
    parallel = reductions = 0
    shown = []
    for kind, extent in generic.iterators:
        if kind == "parallel":
            shown.append(f"i{parallel}: {extent}")
            parallel += 1
        else:
            shown.append(f"{generic.combine} r{reductions}: {extent}")
            reductions += 1
    return ", ".join(shown)


def tensor_names(*roots: Tensor) -> dict[Tensor, str]:
    """Names of all tensors below the roots.  Inputs keep theirs; the others become t0, t1, ... without taking the name of an input."""
    found = list(tensors(*roots))
    taken = {tensor.name for tensor in found if isinstance(tensor, Input)}
    fresh = (name for k in range(2 * len(found)) if (name := f"t{k}") not in taken)
    return {tensor: tensor.name if isinstance(tensor, Input) else next(fresh) for tensor in found}


def _type(tensor: Tensor) -> str:
    return f"{tensor.dtype}[{', '.join(str(extent) for extent in tensor.shape)}]"


def _structure(structure: Structure, outputs: Sequence[str]) -> str:
    if not isinstance(structure, Container):
        return outputs[structure]
    items = [_structure(item, outputs) for item in structure.items]
    if structure.kind == "dict":
        return "{" + ", ".join(f"{key!r}: {item}" for key, item in zip(structure.keys, items, strict=True)) + "}"
    if structure.kind == "list":
        return f"[{', '.join(items)}]"
    if structure.keys:
        return f"({', '.join(f'{key}={item}' for key, item in zip(structure.keys, items, strict=True))})"
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
