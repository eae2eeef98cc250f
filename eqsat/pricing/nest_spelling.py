"""A loop nest as its price is read off it: index variables that it computes in their places, one variable for folds that are one loop."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from eqsat.codegen.folds.loops import in_one_loop, kept_apart
from eqsat.codegen.folds.rolled import rolled_loops
from eqsat.codegen.folds.search import remembered
from eqsat.ir.index import Apply, Const, Index, Var, apply, substitute, walk
from eqsat.ir.loops import Fold, For, Kernel, Let, Stmt, bound_in, map_indices, over, statements


def spelled_out(kernel: Kernel) -> Kernel:
    """The kernel with the values of index variables that it computes in their places, so that strides show, and one variable for folds that
    are one loop."""
    values = bound_in(statements(kernel.body))
    found = map_indices(kernel, lambda index: substitute(index, values)) if values else kernel
    if sum(isinstance(stmt, Fold) for stmt in statements(found.body)) > 1:
        apart = kept_apart(found, rolled_loops(found), remembered(found))
        found = replace(found, body=tuple(_by_one_variable(found.body, apart)))
    tiles = any(isinstance(stmt, For) and stmt.kind == "tile" for stmt in statements(found.body))
    return map_indices(found, _as_all_begin) if tiles else found


def _as_all_begin(root: Index) -> Index:
    """An index without that the last block of an axis ends where the axis ends."""
    done: dict[Index, Index] = {}
    for term in walk(root):
        if isinstance(term, Apply):
            args = tuple(done.get(arg, arg) for arg in term.args)
            done[term] = args[0] if term.op == "min" and isinstance(args[1], Const) else apply(term.op, *args)
    return done.get(root, root)


def _by_one_variable(body: tuple[Stmt, ...], apart: Collection[Stmt]) -> Iterator[Stmt]:
    """Statements with one variable for all folds that are one loop."""
    for stmt, *others in in_one_loop(body, apart):
        yield replace(stmt, body=tuple(_by_one_variable(stmt.body, apart))) if isinstance(stmt, For | Fold) else stmt
        yield from (_along(fold, stmt, {}) for fold in others if isinstance(fold, Fold) and isinstance(stmt, Fold))


def _along(fold: Fold, other: Fold, outer: Mapping[Var, Index]) -> Fold:
    """A fold by the variables of another one and of the fold in it; `outer`: those of the folds around."""
    env, inner = {**outer, fold.variable: other.variable}, next((stmt for stmt in other.body if isinstance(stmt, Fold)), None)
    body = [
        replace(stmt, value=over(stmt.value, env))
        if isinstance(stmt, Let)
        else _along(stmt, inner, env)
        if isinstance(stmt, Fold) and inner is not None
        else stmt
        for stmt in fold.body
    ]
    return replace(fold, variable=other.variable, body=tuple(body), value=over(fold.value, env))
