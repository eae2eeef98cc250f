"""Statements that stand beside others in one kernel: under names of their own."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from eqsat.ir.index import Index, Var, substitute
from eqsat.ir.loops import Bind, Clip, Fold, For, Let, Load, Pick, Stmt, Store, Temp, bound, rebuilt
from eqsat.ir.tensor import Scalar, operands, scalars


class Renaming:
    """Statements with names of their own, which end with a suffix, for all that they bind; buffers have other names, and what is `moved` is
    at an index so much further on."""

    def __init__(self, suffix: str, buffers: Mapping[str, str], moved: Mapping[str, Index]) -> None:
        self.suffix, self.buffers, self.moved = suffix, buffers, moved
        self.variables: dict[Var, Index] = {}

    def block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(self.statement(stmt) for stmt in body)

    def statement(self, stmt: Stmt) -> Stmt:
        if isinstance(stmt, For):
            return For(self.variable(stmt.variable), stmt.kind, self.block(stmt.body))
        if isinstance(stmt, Bind):
            value = self.index(stmt.value)
            return Bind(self.variable(stmt.variable), value)
        if isinstance(stmt, Clip):
            element = self.scalar(stmt.value)
            return Clip(self.variable(stmt.variable), element)
        if isinstance(stmt, Let):
            return Let(stmt.name + self.suffix, self.scalar(stmt.value))
        if isinstance(stmt, Fold):
            variable = self.variable(stmt.variable)
            return Fold(stmt.name + self.suffix, stmt.op, stmt.dtype, variable, self.block(stmt.body), self.scalar(stmt.value))
        return Store(*self.element(stmt.buffer, stmt.index), self.scalar(stmt.value), stmt.combine)

    def element(self, buffer: str, index: Index) -> tuple[str, Index]:
        here = self.index(index)
        return self.buffers.get(buffer, buffer), here + self.moved[buffer] if buffer in self.moved else here

    def variable(self, variable: Var) -> Var:
        found = Var(variable.name + self.suffix, variable.lo, variable.hi)
        self.variables[variable] = found
        return found

    def index(self, index: Index) -> Index:
        return substitute(index, self.variables)

    def scalar(self, root: Scalar) -> Scalar:
        done: dict[Scalar, Scalar] = {}
        for term in scalars(root):
            args = tuple(done[arg] for arg in operands(term))
            if isinstance(term, Load):
                done[term] = Load(*self.element(term.buffer, term.index), term.dtype)
            elif isinstance(term, Pick):
                done[term] = Pick(self.buffers.get(term.buffer, term.buffer), term.shape, args, term.dtype)
            elif isinstance(term, Temp):
                done[term] = Temp(term.name + self.suffix, term.dtype)
            else:
                done[term] = rebuilt(term, args, self.index)
        return done[root]


def unused_end(end: str, beside: tuple[Stmt, ...]) -> str:
    """An end of names that no name in some statements has."""
    known = bound(beside)
    ends = (f"{end}{number or ''}" for number in itertools.count())
    return next(one for one in ends if not any(name.endswith(one) for name in known))
