"""Affine structure of index terms: how a term moves when one variable does."""

from __future__ import annotations

import functools
from typing import TypeGuard

from eqsat.ir.index import Apply, Const, Index, Var, apply, variables, walk


@functools.lru_cache(maxsize=1 << 15)
def coefficient(term: Index, variable: Var) -> int | None:
    """k where term = k*variable + rest and rest does not contain the variable; None where it is not of that form."""
    if not any(v is variable for v in variables(term)):
        return 0
    found: dict[Index, int | None] = {}
    for sub in walk(term):
        found[sub] = _coefficient(sub, variable, found)
    return found[term]


def distance(one: Index, other: Index) -> int | None:
    """one - other, where sums with the same terms differ by a constant; None for others."""
    (first, terms), (second, others) = as_sum(one), as_sum(other)
    return first - second if terms == others else None


def as_sum(term: Index) -> tuple[int, dict[Index, int]]:
    """The constant of a sum, and how often it has each of its other terms, as far as additions and products with constants go."""
    constant, terms, stack = 0, dict[Index, int](), [(term, 1)]
    while stack:
        sub, times = stack.pop()
        if isinstance(sub, Const):
            constant += times * int(sub.value)
        elif isinstance(sub, Apply) and sub.op in ("add", "sub", "neg"):
            signs = (-times,) if sub.op == "neg" else (times, times if sub.op == "add" else -times)
            stack += zip(sub.args, signs, strict=True)
        elif isinstance(sub, Apply) and sub.op == "mul" and any(isinstance(arg, Const) for arg in sub.args):
            factor, other = sub.args if isinstance(sub.args[0], Const) else sub.args[::-1]
            assert isinstance(factor, Const)
            stack.append((other, times * int(factor.value)))
        else:
            terms[sub] = terms.get(sub, 0) + times
    return constant, {sub: times for sub, times in terms.items() if times}


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
    known = [k for k in below if k is not None]
    if len(known) < len(below):
        return None
    if term.op in ("add", "sub"):
        return known[0] + known[1] if term.op == "add" else known[0] - known[1]
    if term.op == "neg":
        return -known[0]
    if term.op == "where" and known[0] == 0 and known[1] == known[2]:
        return known[1]
    if term.op == "mul":
        for arg, k in zip(term.args, reversed(known), strict=True):
            if isinstance(arg, Const):
                return int(arg.value) * k
    return None


def joined(indices: tuple[Index, ...], shape: tuple[int, ...]) -> tuple[tuple[Index, ...], tuple[int, ...]]:
    """Indices into an array in C order, and its shape, with neighbouring digits of one term joined: x[t // 8, t % 8] is y[t], of y the
    same elements in one row."""
    found: list[tuple[Index, int]] = []
    for index, extent in zip(indices, shape, strict=True):
        found.append((index, extent))
        while len(found) > 1 and (both := _digits(*found[-2], *found[-1])) is not None:
            found[-2:] = [both]
    return tuple(index for index, _ in found), tuple(extent for _, extent in found)


def _digits(high: Index, rows: int, low: Index, columns: int) -> tuple[Index, int] | None:
    """t for the indices t // columns and t % columns, t % (n * columns) for t // columns % n and t % columns."""
    if not _is_by(low, "mod", columns):
        return None
    term = low.args[0]
    if _is_by(high, "floordiv", columns) and high.args[0] is term:
        return term, rows * columns
    if isinstance(high, Apply) and high.op == "mod" and isinstance(high.args[1], Const):
        inner, size = high.args[0], int(high.args[1].value)
        if _is_by(inner, "floordiv", columns) and inner.args[0] is term:
            return apply("mod", term, size * columns), rows * columns
    return None


def _is_by(term: Index, op: str, divisor: int) -> TypeGuard[Apply]:
    """Whether a term is a division by this constant."""
    return isinstance(term, Apply) and term.op == op and isinstance(term.args[1], Const) and term.args[1].value == divisor


def strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Element strides of a C-contiguous array."""
    result, step = [], 1
    for extent in reversed(shape):
        result.append(step)
        step *= extent
    return tuple(reversed(result))


def step_in_memory(indices: tuple[Index, ...], shape: tuple[int, ...], variable: Var) -> int | None:
    """How many elements further an element in C order is for the next value of a variable; None where that differs."""
    steps = [coefficient(index, variable) for index in indices]
    return None if None in steps else sum((step or 0) * stride for step, stride in zip(steps, strides(shape), strict=True))
