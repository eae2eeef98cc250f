"""The checker of loop nests: what a stage hands on is legal, or the stage is named in an InternalError."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from eqsat.ir.check import check_position
from eqsat.ir.dtypes import DTYPES, is_integer
from eqsat.ir.errors import DTypeError, InternalError
from eqsat.ir.index import Const, Index, Var, substitute, variables
from eqsat.ir.loops import Bind, Buffer, Clip, Fold, For, Kernel, Let, Load, Pick, Stmt, Store, Temp, bound_in, statements, value_of
from eqsat.ir.ops import REDUCE_OPS, SCALAR_OPS, loop_dtypes
from eqsat.ir.tensor import Call, Literal, Position, Scalar, scalars


def check_kernel(kernel: Kernel) -> None:
    """Raise InternalError, naming the kernel and the statement, unless the loop nest is legal:

    every variable and Temp is bound before its use and every name once; every load and store offset stays in its buffer
    by its `bounds`; a pick has the shape of its buffer; dtypes agree; operations exist; only outputs, the last buffers, are written.
    """
    known = (*(size.variable for size in kernel.sizes), *(blocks.variable for blocks in kernel.blocks))
    _Checker(kernel).block(kernel.body, known, {})


class _Checker:
    """State of one check: the buffers, and the names bound so far anywhere in the kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.bound: set[str] = set()
        self.sized = {size.variable for size in kernel.sizes}  # and what is computed from them
        self.buffers: dict[str, Buffer] = {}
        for buffer in (*kernel.buffers, *kernel.scratch):
            if buffer.name in self.buffers:
                self.fail(f"buffer {buffer.name}", "the name twice", "distinct buffer names")
            if buffer.dtype not in DTYPES or buffer.size < 1:
                self.fail(f"buffer {buffer.name}", f"{buffer.dtype}[{buffer.size}]", "a known dtype and at least one element")
            self.buffers[buffer.name] = buffer
        results = len(kernel.outputs)
        if not results or any(b.role != "in" for b in kernel.buffers[:-results]) or any(b.role != "scratch" for b in kernel.scratch):
            roles = ", ".join(b.role for b in (*kernel.buffers, *kernel.scratch))
            self.fail("buffers", f"roles {roles}", "inputs and then outputs, and scratch by itself")

    def fail(self, where: str, found: str, expected: str) -> None:
        raise InternalError(f"kernel {self.kernel.name}, {where}: found {found}, expected {expected}")

    def block(self, body: tuple[Stmt, ...], known: tuple[Var, ...], temps: dict[str, str]) -> tuple[tuple[Var, ...], dict[str, str]]:
        """Check statements in order; the variables and Temps that are visible after them."""
        temps = dict(temps)
        for stmt in body:
            if isinstance(stmt, For):
                self.loop(stmt, known, temps)
            elif isinstance(stmt, Bind):
                self.bind(stmt, known)
                known = (*known, stmt.variable)
            elif isinstance(stmt, Clip):
                self.clip(stmt, known, temps)
                known = (*known, stmt.variable)
            elif isinstance(stmt, Let):
                self.value(stmt, known, temps)
                self.name(stmt.name)
                temps[stmt.name] = stmt.value.dtype
            elif isinstance(stmt, Fold):
                self.fold(stmt, known, temps)
                temps[stmt.name] = stmt.dtype
            else:
                self.store(stmt, known, temps)
        return known, temps

    def name(self, name: str) -> None:
        if name in self.bound:
            self.fail(f"name {name}", "a second binding", "one binding a name")
        self.bound.add(name)

    def loop(self, stmt: For, known: tuple[Var, ...], temps: dict[str, str]) -> None:
        self.name(stmt.variable.name)
        if stmt.kind not in ("parallel", "serial", "tile"):
            self.fail(f"loop {stmt.variable}", f"kind {stmt.kind}", "parallel, serial or tile")
        if stmt.kind == "tile":
            self.tile(stmt)
        self.block(stmt.body, (*known, stmt.variable), temps)

    def tile(self, stmt: For) -> None:
        """A tile is one loop, or statements that may run for all iterations at once."""
        only = stmt.body[0] if len(stmt.body) == 1 else None
        if isinstance(only, For) and only.kind == "tile":
            return
        for below in statements(stmt.body):
            if isinstance(below, For | Clip) or (isinstance(below, Bind) and stmt.variable in variables(below.value)):
                self.fail(f"tile {stmt.variable}", f"a {type(below).__name__}", "Let, Fold and Store, or one more tile loop")

    def bind(self, stmt: Bind, known: tuple[Var, ...]) -> None:
        where = f"bind {stmt.variable}"
        self.index(where, stmt.value, known)
        self.name(stmt.variable.name)
        self.within(where, stmt.value, stmt.variable.lo, stmt.variable.hi)
        if not self.sized.isdisjoint(variables(stmt.value)):
            self.sized.add(stmt.variable)

    def clip(self, stmt: Clip, known: tuple[Var, ...], temps: dict[str, str]) -> None:
        self.value(stmt, known, temps)
        self.name(stmt.variable.name)
        if not is_integer(stmt.value.dtype) or stmt.value.dtype == "uint64":
            self.fail(f"clip {stmt.variable}", stmt.value.dtype, "an integer that int64 holds")

    def fold(self, stmt: Fold, known: tuple[Var, ...], temps: dict[str, str]) -> None:
        where = f"fold {stmt.name}"
        self.reduction(where, stmt.op)
        self.name(stmt.variable.name)
        if any(isinstance(below, Clip) for below in stmt.body):
            self.fail(where, "a Clip", "one in a loop around it, if at all")
        inner, inner_temps = self.block(stmt.body, (*known, stmt.variable), temps)
        self.value(stmt, inner, inner_temps)
        self.name(stmt.name)
        self.same(where, stmt.value.dtype, stmt.dtype)

    def store(self, stmt: Store, known: tuple[Var, ...], temps: dict[str, str]) -> None:
        where = f"store to {stmt.buffer}"
        if stmt.combine is not None:
            self.reduction(where, stmt.combine)
        buffer = self.access(where, stmt.buffer, stmt.index, known)
        if buffer.role == "in":
            self.fail(where, "an input", "an output buffer, or scratch")
        self.value(stmt, known, temps)
        self.same(where, stmt.value.dtype, buffer.dtype)

    def value(self, stmt: Clip | Let | Fold | Store, known: tuple[Var, ...], temps: dict[str, str]) -> None:
        root = value_of(stmt)
        assert root is not None
        for term in scalars(root):
            self.scalar(term, known, temps)

    def scalar(self, term: Scalar, known: tuple[Var, ...], temps: dict[str, str]) -> None:
        if isinstance(term, Load):
            buffer = self.access(f"load from {term.buffer}", term.buffer, term.index, known)
            self.same(f"load from {term.buffer}", term.dtype, buffer.dtype)
        elif isinstance(term, Temp):
            if term.name not in temps:
                self.fail(f"temp {term.name}", "no binding before its use", "a Let or Fold above")
            self.same(f"temp {term.name}", term.dtype, temps[term.name])
        elif isinstance(term, Call):
            self.call(term)
        elif isinstance(term, Pick):
            self.pick(term)
        elif isinstance(term, Position):
            self.position(term, known)
        elif not isinstance(term, Literal):
            self.fail("expression", type(term).__name__, "Literal, Position, Call, Load, Pick or Temp")
        elif term.dtype not in DTYPES:
            self.fail("literal", term.dtype, "a known dtype")

    def position(self, term: Position, known: tuple[Var, ...]) -> None:
        self.index("position", term.index, known)
        try:
            check_position(term)
        except InternalError as error:
            raise InternalError(f"kernel {self.kernel.name}, {error}") from error

    def pick(self, term: Pick) -> None:
        where = f"pick from {term.buffer}"
        if term.buffer not in self.buffers:
            self.fail(where, "an unknown buffer", f"one of {', '.join(self.buffers)}")
        buffer = self.buffers[term.buffer]
        if prod(term.shape) != buffer.size or not buffer.size or len(term.args) != len(term.shape):
            self.fail(where, f"{len(term.args)} places in the shape {term.shape}", f"one a dimension of {buffer.size} elements")
        self.same(where, term.dtype, buffer.dtype)
        for arg in term.args:
            self.same(where, arg.dtype, "int64")

    def call(self, term: Call) -> None:
        if term.op not in SCALAR_OPS:
            self.fail("expression", f"the unknown operation {term.op}", "an operation of SCALAR_OPS")
        try:
            *operands, expected = loop_dtypes(term.op, *(arg.dtype for arg in term.args))
        except DTypeError as error:
            raise InternalError(f"kernel {self.kernel.name}, expression {error}") from error
        if term.op == "astype":
            return
        shared = [arg.dtype for arg in term.args[SCALAR_OPS[term.op].rule == "select" :]]
        for dtype in shared[1:]:
            self.same(f"operand of {term.op}", dtype, shared[0])
        for arg, dtype in zip(term.args, operands, strict=True):
            self.same(f"operand of {term.op}", arg.dtype, dtype)
        self.same(f"operation {term.op}", term.dtype, expected)

    def access(self, where: str, name: str, index: Index, known: tuple[Var, ...]) -> Buffer:
        if name not in self.buffers:
            self.fail(where, f"the unknown buffer {name}", f"one of {', '.join(self.buffers)}")
        self.index(where, index, known)
        self.within(where, index, 0, self.buffers[name].size - 1)
        return self.buffers[name]

    def index(self, where: str, index: Index, known: tuple[Var, ...]) -> None:
        for variable in _unbound(index, known):
            self.fail(where, f"the unbound variable {variable.name} in {variable.lo}..{variable.hi}", "a loop or Bind around it")

    def within(self, where: str, index: Index, low: int, high: int) -> None:
        lo, hi = index.bounds
        if not low <= lo <= hi <= high:  # a variable that stands for an even number is any number between its bounds
            lo, hi = substitute(index, bound_in(statements(self.kernel.body))).bounds
        if not self.sized.isdisjoint(variables(index)):  # the program was looked at, which knows what sizes are
            lo, hi = max(lo, low), min(hi, high)
        if not low <= lo <= hi <= high:
            self.fail(where, f"{index} in {lo}..{hi}", f"a value in {low}..{high}")

    def reduction(self, where: str, op: str) -> None:
        if op not in REDUCE_OPS:
            self.fail(where, f"the unknown reduction {op}", f"one of {', '.join(REDUCE_OPS)}")

    def same(self, where: str, found: str, expected: str) -> None:
        if found != expected:
            self.fail(where, f"dtype {found}", expected)


def _unbound(index: Index, known: tuple[Var, ...]) -> Iterator[Var]:
    """Variables of other bounds are other variables, so the node itself has to be known."""
    if not isinstance(index, Const):
        seen = set(known)
        yield from (v for v in variables(index) if v not in seen)
