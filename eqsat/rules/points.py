"""Sum rows for what depends on one variable of few values: a table of values says what it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from math import prod
from typing import Any, NamedTuple

from eqsat.egraph.forms import SIGNS, index_children
from eqsat.egraph.linear import Linear
from eqsat.egraph.schema import DIVISIONS, OP_OF_NODE, VARIABLES
from eqsat.egraph.snapshot import ENode
from eqsat.ir.index import OPS
from eqsat.rules.digits import digit
from eqsat.rules.row import CHOICES, SumRow, Table
from eqsat.rules.visit import Visit

# as many values of a variable are tried one by one; as many of a term that choices between constants depend on
MOST_VALUES = 4
MOST_CHOICES = 64
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
    known: dict[int, Values | None] = {}
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


def _values(v: Visit, name: int, node: ENode, few: set[int], known: Mapping[int, Values | None]) -> Values | None:
    """The values of a node whose operands are known; None where they depend on other variables, or there are none."""
    if name in few:
        lo, hi = v.bounds(name)
        return Values(name, tuple(range(lo, hi + 1)))
    if node.op == "Num":
        return Values(None, node.args)
    children = index_children(node)
    found = [known.get(child) for child in children]
    below = [values for values in found if values is not None]
    variables = {values.variable for values in below if values.variable is not None}
    if not children or len(below) < len(found) or len(variables) != 1 or (node.op not in MEANINGS and node.op not in ("Sum", "Scale")):
        return None
    (variable,) = variables
    count = max(len(values.at) for values in below)
    columns = [values.at if values.variable is not None else values.at * count for values in below]
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


def choices_as_digits(v: Visit) -> None:
    """where(x < 3, r, where(x < 6, r + 1, r + 2)) = r + x // 3: sums that differ in their constants, among which one term chooses, as one
    sum with digits of that term."""
    known: dict[int, dict[int, Values | None]] = {}
    for name, node in v.nodes("Where"):
        x = _decides(v, node.args[0]) if any(v.node(branch).op == "Where" for branch in node.args[1:]) else None
        if x is None or v.bounds(x)[1] - v.bounds(x)[0] >= MOST_CHOICES:
            continue
        low, high = v.bounds(x)
        found = _chosen(v, node, range(high - low + 1), x, known.setdefault(x, {}))
        forms = [found[place] for place in sorted(found)]
        if len(forms) <= high - low or any(form.terms != forms[0].terms for form in forms):
            continue
        digits = _digits(tuple(form.constant for form in forms))
        if digits is not None and v.first("choices-as-digits", name, x, tuple(forms)):
            place = v.sum(v.form(x).plus(Linear(-low)))
            terms = [(digit(v, place, (0, high - low), size, end), k) for k, size, end in digits]
            v.encoder.same(name, v.sum(Linear.of(forms[0].constant, [*forms[0].terms, *terms])))


def _chosen(v: Visit, node: ENode, places: Iterable[int], x: int, known: dict[int, Values | None]) -> dict[int, Linear]:
    """What choices choose at the values of a class, counted from its least one, as far as it decides."""
    found: dict[int, Linear] = {}
    stack = [(node, list(places))]
    while stack:
        here, left = stack.pop()
        condition, *branches = here.args
        _tabulate(v, condition, x, known)
        values = known[condition]
        if values is None or values.variable is None:
            continue
        for holds, branch in zip((True, False), branches, strict=True):
            chosen = [place for place in left if bool(values.at[place]) == holds]
            below = v.node(branch)
            if chosen and below.op == "Where":
                stack.append((below, chosen))
            else:
                found.update(dict.fromkeys(chosen, v.form(branch)))
    return found


def _decides(v: Visit, condition: int) -> int | None:
    """The term that a condition is about, if it is one."""
    node = v.node(condition)
    if node.op in SIGNS:
        atoms = {atom for atom, _ in v.form(node.args[0]).terms}
    else:
        atoms = {atom for child in node.args if (atom := _decides(v, child)) is not None} if node.op in ("Min", "Max", "Not") else set()
    return atoms.pop() if len(atoms) == 1 else None


def _tabulate(v: Visit, name: int, x: int, known: dict[int, Values | None]) -> None:
    """Note the values of a class, and of what it is made of, at all values of one of them."""
    if name not in known:
        known[name] = None
        node = v.node(name)
        for child in index_children(node) if name != x else ():
            _tabulate(v, child, x, known)
        known[name] = _values(v, name, node, {x}, known)


def _digits(values: tuple[int, ...]) -> list[tuple[int, int, int | None]] | None:
    """(k, low, high) of digits x // low % (high // low) of which, k times each, the values less the first are the sum."""
    found: list[tuple[int, int, int | None]] = []
    low = 1
    while len(values) > 1:
        k = values[1] - values[0]
        size = next((n for n in range(2, len(values)) if values[n] - values[n - 1] != k), len(values))
        if any(value - values[n - n % size] != n % size * k for n, value in enumerate(values)):
            return None
        found += [(k, low, low * size if size < len(values) else None)] if k else []
        low, values = low * size, values[::size]
    return found


POINTS = Table(
    "points",
    "index",
    "what depends on one variable, or one term, of few values",
    (
        SumRow("few-values", "f(x) = a + b*x", "or another f; by all values of an x that has four at most", few_values, TOLD),
        SumRow(
            "choices-as-digits",
            "where(x < 3, r, where(x < 6, r + 1, r + 2)) = r + x // 3",
            "sums that differ in constants, among which a term of 64 values at most chooses, where these are a sum of its digits",
            choices_as_digits,
            ("Where",),
        ),
    ),
)
