"""How index terms are scored and checked: operations by weight, divisions, and agreement on points.

The weights are those that published simplifiers are compared with: // and % by a power of two 2 and 1, by anything else 10, a
product 2 (by -1: 1), negation of a truth value nothing, every other operation 1; equal subterms count once.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from eqsat.egraph.index_cost import is_power_of_two
from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import Apply, Const, Index, Var, variables, walk
from eqsat.testing import index_points

FREE = frozenset({"not", "int", "bool"})


def score(*terms: Index) -> int:
    """The weight of all operations in the terms."""
    return sum(_weight(sub) for sub in walk(*terms) if isinstance(sub, Apply))


def _weight(term: Apply) -> int:
    values = [arg.value if isinstance(arg, Const) else None for arg in term.args]
    if term.op in ("floordiv", "mod"):
        power = values[1] is not None and is_power_of_two(values[1])
        return (2 if term.op == "floordiv" else 1) if power else 10
    if term.op == "mul":
        return 1 if -1 in values else 2
    return 2 if term.op in ("shl", "shr") else 0 if term.op in FREE else 1


def divisions(*terms: Index) -> int:
    """How many different // and % the terms hold."""
    return sum(isinstance(sub, Apply) and sub.op in ("floordiv", "mod") for sub in walk(*terms))


def tree_size(term: Index) -> int:
    """Operations of the term written out, shared ones as often as they are written."""
    sizes: dict[Index, int] = {}
    for sub in walk(term):
        sizes[sub] = 1 + sum(sizes[arg] for arg in sub.args) if isinstance(sub, Apply) else 0
    return sizes[term]


@cache
def grid(names: tuple[Var, ...]) -> dict[Var, Any]:
    """All points of the variables' ranges where they are few, else some thousand random ones: one array for each variable."""
    columns = np.array(list(index_points(names)), np.int64).T if names else ()
    return dict(zip(names, columns, strict=True))


def counterexample(original: Index, result: Index, given: Index | None = None, beside: Index | None = None) -> str | None:
    """A point, as text, where `given` holds and the values differ; None where there is none among the points of `grid`.

    beside  a term that is known where the result is: its variables may be read
    """
    names = variables(original, *(term for term in (given, beside) if term is not None))
    foreign = set(variables(result)) - set(names)
    if foreign:
        return f"variables {sorted(v.name for v in foreign)} from nowhere"
    env = grid(names)
    wrong = np.asarray(evaluate_index(original, env)) != np.asarray(evaluate_index(result, env))
    if given is not None:
        wrong = wrong & np.asarray(evaluate_index(given, env), bool)
    if not np.any(wrong):
        return None
    at = int(np.argmax(wrong)) if wrong.shape else 0
    return str({v.name: int(env[v][at]) for v in names})
