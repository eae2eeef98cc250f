"""What the code of some loops needs of the code around it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from eqsat.codegen.builder import Builder, Registers, Value
from eqsat.codegen.folds.accumulator import Carried, Flags
from eqsat.codegen.scope import Scope
from eqsat.ir.index import Index, Var
from eqsat.ir.loops import Buffer, Kernel, Pick, Stmt, Store
from eqsat.ir.tensor import Scalar
from eqsat.ir.typed import Typed


class Emitter(Protocol):
    """What the code of some loops needs of the code around it."""

    b: Builder
    kernel: Kernel
    exact: bool
    flags: Flags
    registers: Registers
    typed: Mapping[Index, Typed]
    sizes: Mapping[int, Var]
    loaded: set[str]
    stored: set[str]
    written_ahead: dict[Store, int]

    def flags_of(self, term: Scalar) -> str: ...

    def block(self, body: tuple[Stmt, ...], scope: Scope) -> None: ...
    def index(self, term: Index, scope: Scope) -> Value: ...
    def range(self, variable: Var, scope: Scope) -> tuple[Value, Value]: ...
    def loop(
        self, first: Value, end: Value, initial: Carried, step: Callable[[Value, Carried], Carried], note: Callable[[], str] = str
    ) -> Carried: ...
    def size(self, size: Var, type: str, scope: Scope) -> Value: ...
    def element(self, term: Scalar, scope: Scope) -> Value: ...
    def value(self, root: Scalar, scope: Scope) -> Value: ...
    def ask_ahead(self, variable: Var, counter: Value, end: Value, scope: Scope) -> None: ...
    def buffer(self, name: str, dtype: str) -> Buffer: ...
    def address(self, buffer: Buffer, index: Index, scope: Scope) -> Value: ...
    def read(self, buffer: Buffer, place: Value) -> Value: ...
    def picked(self, term: Pick, places: tuple[Value, ...], scope: Scope) -> Value: ...
    def write_element(self, buffer: Buffer, place: Value, value: Value) -> None: ...
