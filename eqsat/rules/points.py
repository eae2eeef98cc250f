"""Sum rows for what depends on one variable of few values: a table of values says what it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import Any, NamedTuple

from eqsat.egraph.forms import index_children
from eqsat.egraph.linear import Linear
from eqsat.egraph.schema import OP_OF_NODE
from eqsat.egraph.snapshot import ENode
from eqsat.ir.index import OPS
from eqsat.rules.row import CHOICES, DIVISIONS, SumRow, Table
from eqsat.rules.visit import Visit

# as many values of a variable are tried one by one
MOST_VALUES = 4
VARIABLES = ("Var", "Axis", "RAxis")
TOLD = (*DIVISIONS, *CHOICES, "Nonneg", "Zero", "Abs")
MEANINGS: dict[str, Callable[..., Any]] = {
    **{node: OPS[OP_OF_NODE[node]].evaluate for node in (*DIVISIONS, *CHOICES, "Abs", "Not")},
    "Add": OPS["add"].evaluate,
    "Mul": OPS["mul"].evaluate,
    "Nonneg": lambda x: x >= 0,
    "Zero": lambda x: x == 0,
    "Prod": lambda *factors: prod(factors),
}


class Values(NamedTuple):
    """What a class is at every value of a variable, from the least on; a constant, which has no variable, at any."""

    variable: int | None
    at: tuple[int, ...]


def few_values(v: Visit) -> None:
    """f(x) is a constant, a + b*x, or another term g(x) that costs less, if it has these values wherever x is."""
    few = set(_few(v))
    if not few or not any(v.nodes(*TOLD)):
        return
    known: dict[int, Values] = {}
    least: dict[Values, int] = {}
    for name in sorted(v.reading.cost, key=v.reading.cost.__getitem__):  # operands cost less
        values = _values(v, name, v.node(name), few, known)
        if values is None:
            continue
        known[name] = values
        other = least.setdefault(values, name)
        if name in v.fresh and values.variable is not None and v.node(name).op in TOLD:
            form = _line(v, values) or (Linear(0, ((other, 1),)) if other != name else None)
            if form is not None and v.first("few-values", name, form):
                v.encoder.same(name, v.sum(form))


def _few(v: Visit) -> Iterator[int]:
    """The variables of few values."""
    for op in VARIABLES:
        for name, _ in v.by_op.get(op, ()):
            lo, hi = v.bounds(name)
            if lo < hi < lo + MOST_VALUES:
                yield name


def _values(v: Visit, name: int, node: ENode, few: set[int], known: dict[int, Values]) -> Values | None:
    """The values of a node whose operands are known; None where they depend on other variables, or there are none."""
    if name in few:
        lo, hi = v.bounds(name)
        return Values(name, tuple(range(lo, hi + 1)))
    if node.op == "Num":
        return Values(None, node.args)
    children = index_children(node)
    below = [known.get(child) for child in children]
    variables = {values.variable for values in below if values is not None and values.variable is not None}
    if not children or None in below or len(variables) != 1 or (node.op not in MEANINGS and node.op not in ("Sum", "Scale")):
        return None
    (variable,) = variables
    count = len(known[variable].at)
    columns = [values.at if values.variable is not None else values.at * count for values in below if values is not None]
    try:
        return Values(variable, tuple(_value(node, row) for row in zip(*columns, strict=True)))
    except ZeroDivisionError:
        return None


def _value(node: ENode, operands: tuple[int, ...]) -> int:
    if node.op == "Sum":
        constant, *terms = node.args
        return int(constant + sum(k * x for (_, k), x in zip(terms, operands, strict=True)))
    return int(node.args[0]) * operands[0] if node.op == "Scale" else int(MEANINGS[node.op](*operands))


def _line(v: Visit, values: Values) -> Linear | None:
    """The values as a constant or a multiple of the variable, if they are that."""
    assert values.variable is not None
    first, step = values.at[0], values.at[1] - values.at[0]
    if any(value != first + k * step for k, value in enumerate(values.at)):
        return None
    low = v.bounds(values.variable)[0]
    return Linear(first - step * low, ((values.variable, step),) if step else ())


POINTS = Table(
    "points",
    "index",
    "what depends on one variable of few values",
    (SumRow("few-values", "f(x) = a + b*x", "or another f; by all values of an x that has four at most", few_values, TOLD),),
)
