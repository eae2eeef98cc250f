"""Residues: what all values of an index expression leave when divided by a number, from its operands alone.

A residue is a pair (m, r): every value is r modulo m.  m is 0 for a constant, which is r, and 1 where nothing is known.
Philippe Granger, "Static analysis of arithmetical congruences" (1989).
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd

Residue = tuple[int, int]
ANY: Residue = (1, 0)


def constant(value: int) -> Residue:
    return 0, value


def tightened(bounds: tuple[int, int], residue: Residue) -> tuple[int, int]:
    """Bounds without values at their ends that have another residue."""
    (lo, hi), (m, r) = bounds, residue
    found = (lo + (r - lo) % m, hi - (hi - r) % m) if m > 1 else bounds
    return found if found[0] <= found[1] else bounds


def _modulo(m: int, r: int) -> Residue:
    return (m, r % m) if m else (0, r)


def _add(a: Residue, b: Residue) -> Residue:
    return _modulo(gcd(a[0], b[0]), a[1] + b[1])


def _sub(a: Residue, b: Residue) -> Residue:
    return _modulo(gcd(a[0], b[0]), a[1] - b[1])


def _neg(a: Residue) -> Residue:
    return _modulo(a[0], -a[1])


def _mul(a: Residue, b: Residue) -> Residue:
    return _modulo(gcd(a[0] * b[0], a[0] * b[1], b[0] * a[1]), a[1] * b[1])


def _floordiv(a: Residue, b: Residue) -> Residue:
    (m, r), (n, d) = a, b
    return _modulo(m // abs(d), r // d) if not n and d and m % d == 0 else ANY


def _mod(a: Residue, b: Residue) -> Residue:
    """x % y is x less a multiple of y."""
    return _modulo(gcd(a[0], b[0], b[1]), a[1])


def _either(a: Residue, b: Residue) -> Residue:
    return _modulo(gcd(a[0], b[0], a[1] - b[1]), a[1])


def _where(_: Residue, a: Residue, b: Residue) -> Residue:
    return _either(a, b)


def _shl(a: Residue, b: Residue) -> Residue:
    return _mul(a, (0, 1 << b[1])) if not b[0] and 0 <= b[1] < 63 else ANY


def _same(a: Residue) -> Residue:
    return a


RESIDUES: dict[str, Callable[..., Residue]] = {
    "add": _add,
    "sub": _sub,
    "neg": _neg,
    "mul": _mul,
    "floordiv": _floordiv,
    "mod": _mod,
    "min": _either,
    "max": _either,
    "where": _where,
    "shl": _shl,
    "int": _same,
}


def of_operation(op: str, operands: list[Residue]) -> Residue:
    """The residue of an operation on operands with these residues."""
    found = RESIDUES[op](*operands) if op in RESIDUES else ANY
    return found if found[0] != 1 else ANY
