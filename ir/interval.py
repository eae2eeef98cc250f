"""Intervals of integers: the bounds of every index operation, as functions from the bounds of its operands.

An interval is a pair (lo, hi), both inclusive.  Every function is exact on independent operands unless it says otherwise.
"""

from __future__ import annotations

Interval = tuple[int, int]
BOOL: Interval = (0, 1)


def within(a: Interval, b: Interval) -> bool:
    """Whether every value of a is one of b."""
    return b[0] <= a[0] and a[1] <= b[1]


def _hull(values: list[int]) -> Interval:
    return min(values), max(values)


def add(a: Interval, b: Interval) -> Interval:
    return a[0] + b[0], a[1] + b[1]


def sub(a: Interval, b: Interval) -> Interval:
    return a[0] - b[1], a[1] - b[0]


def neg(a: Interval) -> Interval:
    return -a[1], -a[0]


def mul(a: Interval, b: Interval) -> Interval:
    return _hull([p * q for p in a for q in b])


def _nonzero(b: Interval) -> list[Interval]:
    """The negative and the positive part of a divisor."""
    parts = [(b[0], min(b[1], -1)), (max(b[0], 1), b[1])]
    return [part for part in parts if part[0] <= part[1]]


def floordiv(a: Interval, b: Interval) -> Interval:
    """Where the divisor is zero there is no value, so zero is left out of b."""
    return _hull([p // q for part in _nonzero(b) for p in a for q in part] or [0])


def mod(a: Interval, b: Interval) -> Interval:
    """Exact for a constant divisor; otherwise bounded by the divisor and, where nothing wraps, by the dividend."""
    if b[0] == b[1] != 0 and a[0] // b[0] == a[1] // b[0]:
        return a[0] % b[0], a[1] % b[0]
    ends: list[Interval] = []
    for lo, hi in _nonzero(b):
        if lo > 0:
            if a[0] >= 0:
                ends.append(a if a[1] < lo else (0, min(a[1], hi - 1)))
            else:
                ends.append((0, hi - 1))
        elif a[1] <= 0:
            ends.append(a if a[0] > hi else (max(a[0], lo + 1), 0))
        else:
            ends.append((lo + 1, 0))
    return (min(lo for lo, _ in ends), max(hi for _, hi in ends)) if ends else (0, 0)


def minimum(a: Interval, b: Interval) -> Interval:
    return min(a[0], b[0]), min(a[1], b[1])


def maximum(a: Interval, b: Interval) -> Interval:
    return max(a[0], b[0]), max(a[1], b[1])


def absolute(a: Interval) -> Interval:
    return (0 if a[0] <= 0 <= a[1] else min(abs(a[0]), abs(a[1]))), max(abs(a[0]), abs(a[1]))


def where(c: Interval, a: Interval, b: Interval) -> Interval:
    if c == (1, 1):
        return a
    if c == (0, 0):
        return b
    return min(a[0], b[0]), max(a[1], b[1])


def lt(a: Interval, b: Interval) -> Interval:
    return int(a[1] < b[0]), int(a[0] < b[1])


def le(a: Interval, b: Interval) -> Interval:
    return int(a[1] <= b[0]), int(a[0] <= b[1])


def eq(a: Interval, b: Interval) -> Interval:
    return int(a[0] == a[1] == b[0] == b[1]), int(a[0] <= b[1] and b[0] <= a[1])


def ne(a: Interval, b: Interval) -> Interval:
    return logical_not(eq(a, b))


def logical_not(a: Interval) -> Interval:
    lo, hi = boolean(a)
    return 1 - hi, 1 - lo


def logical_and(a: Interval, b: Interval) -> Interval:
    return minimum(boolean(a), boolean(b))


def logical_or(a: Interval, b: Interval) -> Interval:
    return maximum(boolean(a), boolean(b))


def boolean(a: Interval) -> Interval:
    """Whether a value is not zero."""
    return int(a[0] > 0 or a[1] < 0), int(a != (0, 0))


def _span(a: Interval, b: Interval) -> int:
    """All bits that either operand can set, as a mask (non-negative operands)."""
    return (1 << max(a[1].bit_length(), b[1].bit_length())) - 1


def bitand(a: Interval, b: Interval) -> Interval:
    """Not exact: a non-negative operand bounds the result, whatever the other is."""
    if a[0] == a[1] and b[0] == b[1]:
        return a[0] & b[0], a[0] & b[0]
    tops = [x[1] for x in (a, b) if x[0] >= 0]
    if tops:
        return 0, min(tops)
    low = max((-min(a[0], b[0]) - 1).bit_length(), 0)
    return -(1 << low), max(a[1], b[1])


def bitor(a: Interval, b: Interval) -> Interval:
    """Not exact: ~(~a & ~b)."""
    lo, hi = bitand((~a[1], ~a[0]), (~b[1], ~b[0]))
    hull = ~hi, ~lo
    if a[0] >= 0 and b[0] >= 0:
        return max(a[0], b[0], hull[0]), min(hull[1], _span(a, b))
    return hull


def bitxor(a: Interval, b: Interval) -> Interval:
    """Not exact: bounded by the bits in use; with -1 it is the complement."""
    if a[0] == a[1] and b[0] == b[1]:
        return a[0] ^ b[0], a[0] ^ b[0]
    for x, y in ((a, b), (b, a)):
        if y == (-1, -1):
            return ~x[1], ~x[0]
    if a[0] >= 0 and b[0] >= 0:
        return 0, _span(a, b)
    bits = max(value.bit_length() for value in (*a, *b))
    return -(1 << bits), (1 << bits) - 1


def shl(a: Interval, b: Interval) -> Interval:
    return mul(a, (1 << max(b[0], 0), 1 << max(b[1], 0)))


def shr(a: Interval, b: Interval) -> Interval:
    return floordiv(a, (1 << max(b[0], 0), 1 << max(b[1], 0)))
