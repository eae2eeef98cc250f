"""Sum row for bit operations: digit by digit, where a power of two parts the bits of both sides."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator

from eqsat.egraph.linear import Linear
from eqsat.rules.row import SumRow
from eqsat.rules.sums import by_factor
from eqsat.rules.visit import Visit

OPERATIONS: dict[str, Callable[[int, int], int]] = {"Bitand": operator.and_, "Bitor": operator.or_, "Bitxor": operator.xor}
MOST_BITS = 60


def bits_by_digit(v: Visit) -> None:
    """(n*p + r) & (n*q + s) = n*(p & q) + (r & s) for r and s below n, a power of two; so with | and ^."""
    for name, node in v.nodes(*OPERATIONS):
        for one in v.alternatives(node.args[0]):
            for other in v.alternatives(node.args[1]):
                for n in _parts(v, one, other):
                    found = _by_digit(v, node.op, n, one, other)
                    if found is not None and v.first("bits-by-digit", name, node.op, n, one, other):
                        v.encoder.same(name, v.sum(found))


def _parts(v: Visit, *sides: Linear) -> Iterator[int]:
    """The powers of two that divide terms of these sums, or lie above all that a side can be."""
    found: dict[int, None] = {}
    for form in sides:
        found |= dict.fromkeys(k & -k for _, k in form.terms)
        lo, hi = v.bounds_of(form)
        if lo >= 0 and form.terms:
            found[1 << hi.bit_length()] = None
    return (n for n in found if 1 < n < 1 << MOST_BITS)


def _by_digit(v: Visit, op: str, n: int, one: Linear, other: Linear) -> Linear | None:
    """An operation on two sums as two, if of either digit one side is zero, or a lower one of both."""
    (p, r), (q, s) = by_factor(one, n), by_factor(other, n)
    if any(lo < 0 or hi >= n for lo, hi in map(v.bounds_of, (r, s))) or Linear(0) not in (r, s) or p == q == Linear(0):
        return None
    if Linear(0) not in (p, q) and r != s and p.terms and q.terms:
        return None
    return _operation(v, op, p, q).times(n).plus(_operation(v, op, r, s))


def _operation(v: Visit, op: str, one: Linear, other: Linear) -> Linear:
    if not one.terms and not other.terms:
        return Linear(OPERATIONS[op](one.constant, other.constant))
    if Linear(0) in (one, other):
        return Linear(0) if op == "Bitand" else one.plus(other)
    return Linear(0, ((v.encoder.node(op, *sorted((v.sum(one), v.sum(other)))), 1),))


BITS_BY_DIGIT = SumRow(
    "bits-by-digit",
    "(n*p + r) & (n*q + s) = n*(p & q) + (r & s)",
    "also of | and ^; for r and s from 0 to n - 1, n a power of two, where one of them is zero",
    bits_by_digit,
    tuple(OPERATIONS),
)
