"""Affine structure of index terms: how a term moves when one variable does."""

from __future__ import annotations

from eqsat.ir.index import Apply, Const, Index, Var, variables, walk


def coefficient(term: Index, variable: Var) -> int | None:
    """k where term = k*variable + rest and rest does not contain the variable; None where it is not of that form."""
    if not any(v is variable for v in variables(term)):
        return 0
    found: dict[Index, int | None] = {}
    for sub in walk(term):
        found[sub] = _coefficient(sub, variable, found)
    return found[term]


def is_affine(term: Index) -> bool:
    """Whether a term is made of additions and of products with constants only."""
    return all(
        sub.op in ("add", "sub", "neg") or (sub.op == "mul" and any(isinstance(arg, Const) for arg in sub.args))
        for sub in walk(term)
        if isinstance(sub, Apply)
    )


def _coefficient(term: Index, variable: Var, found: dict[Index, int | None]) -> int | None:
    if not isinstance(term, Apply):
        return int(term is variable)
    below = [found[arg] for arg in term.args]
    if all(k == 0 for k in below):
        return 0
    if any(k is None for k in below):
        return None
    known = [k for k in below if k is not None]
    if term.op in ("add", "sub"):
        return known[0] + known[1] if term.op == "add" else known[0] - known[1]
    if term.op == "neg":
        return -known[0]
    if term.op == "mul":
        for arg, k in zip(term.args, reversed(known), strict=True):
            if isinstance(arg, Const):
                return int(arg.value) * k
    return None


def strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Element strides of a C-contiguous array."""
    result, step = [], 1
    for extent in reversed(shape):
        result.append(step)
        step *= extent
    return tuple(reversed(result))
