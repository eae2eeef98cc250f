"""Sums over elements that are the same again and again: each of them once, as often as it is repeated.

sum r < 2000 of x[r % 500]   =   4 * sum r < 500 of x[r]        sums of tiles
sum r < 2000 of x[r // 4]    =   4 * sum r < 500 of x[r]        of repeated elements
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from eqsat.algebra.products import Product
from eqsat.ir.index import Apply, Const, Index, Var, apply, walk
from eqsat.ir.tensor import Scalar, index_terms, scalars, with_indices

DIGITS = ("mod", "floordiv")


def without_repeats(product: Product, fresh: Callable[[Var], Var]) -> Product:
    """A product whose bound variables count different elements only; `fresh` makes variables."""
    for variable in product.bound:
        digit = _only_digit(variable, product.factors)
        if digit is not None:
            term, count = digit
            one = fresh(Var(variable.name, 0, count - 1))
            factors = tuple(with_indices(factor, functools.partial(_replaced, digit=term, variable=one)) for factor in product.factors)
            bound = tuple(one if v is variable else v for v in product.bound)
            return without_repeats(Product(product.coefficient * (variable.extent // count), bound, factors), fresh)
    return product


def _only_digit(variable: Var, factors: Sequence[Scalar]) -> tuple[Apply, int] | None:
    """The remainder or quotient that is all that factors read of a variable, and how many values it has, each equally often."""
    read = {index for factor in factors for scalar in scalars(factor) for index in index_terms(scalar)}
    above = {term for term in walk(*read) if isinstance(term, Apply) and variable in term.args}
    if len(above) != 1 or variable in read:
        return None
    (digit,) = above
    by = digit.args[1] if digit.op in DIGITS and digit.args[0] is variable else None
    if not isinstance(by, Const) or by.value < 2 or variable.lo or variable.extent % by.value or variable.extent == by.value:
        return None
    return digit, int(by.value) if digit.op == "mod" else variable.extent // int(by.value)


def _replaced(index: Index, digit: Apply, variable: Var) -> Index:
    done: dict[Index, Index] = {digit: variable}
    for term in walk(index):
        if term not in done:
            done[term] = apply(term.op, *(done[arg] for arg in term.args)) if isinstance(term, Apply) else term
    return done[index]
