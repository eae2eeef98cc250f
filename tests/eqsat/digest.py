"""Prints what optimizing gives, line by line: run in two processes with different hash seeds, the texts must be the same."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

import eqsat
import eqsat.numpy as enp
from eqsat.ir.index import Index
from eqsat.report import Report
from tests.effort import examples

TERMS = examples(24)


def image(x: Any, mean: Any) -> Any:
    """Layout changes, a blur by slices, a round trip through blocks."""
    y = (x.transpose(2, 0, 1).reshape(3, 64) - mean[:, None]).reshape(3, 8, 8)
    y = (y[:, :-2, 1:-1] + y[:, 1:-1, 1:-1] + y[:, 2:, 1:-1]) / 3
    blocks = y.reshape(3, 3, 2, 3, 2).transpose(0, 2, 4, 1, 3)
    return blocks.transpose(0, 3, 1, 4, 2).reshape(3, 6, 6)


def classifier(x: Any, weights: Any, bias: Any) -> Any:
    """A layer with a softmax."""
    scores = enp.exp(enp.tanh(x @ weights + bias))
    return {"p": scores / scores.sum(axis=-1, keepdims=True), "best": scores.max(axis=-1)}


def centred(x: Any) -> Any:
    """A value that several results share."""
    shifted = x - x.mean(axis=0)
    return shifted, (shifted * shifted).sum(axis=0), enp.flip(shifted, 1) @ shifted.T


def chain(x: Any) -> Any:
    """Views of views."""
    for shape in ((4, 6), (2, 12), (3, 8), (6, 4)):
        x = enp.flip(x.reshape(shape).T, 0)
    return x.reshape(-1)[::-2]


def choices(x: Any, y: Any) -> Any:
    """Comparisons and integers."""
    return enp.where(x > y, x // 3, y % 5), enp.logical_and(x == y, x != 2).sum(axis=1)


def folds(x: Any) -> Any:
    """Reductions of reductions."""
    return x.max(axis=1).sum() + x.min(axis=0).max(), x.sum(axis=(0, 1), keepdims=True)


PROGRAMS: tuple[tuple[Callable[..., Any], tuple[eqsat.Spec, ...]], ...] = (
    (image, (eqsat.spec((8, 8, 3), "float32"), eqsat.spec(3, "float32"))),
    (classifier, (eqsat.spec((5, 8), "float32"), eqsat.spec((8, 3), "float32"), eqsat.spec(3, "float32"))),
    (centred, (eqsat.spec((6, 4), "float64"),)),
    (chain, (eqsat.spec((24,), "int64"),)),
    (choices, (eqsat.spec((3, 4), "int32"), eqsat.spec((3, 4), "int32"))),
    (folds, (eqsat.spec((5, 7), "float64"),)),
)


def index_terms() -> list[Index]:
    """Sums of quotients and remainders, as reshapes make them."""
    rng = random.Random(7)
    names = [eqsat.var(name, 0, hi) for name, hi in (("a", 6), ("b", 11), ("c", 250), ("d", 3))]
    terms = []
    for _ in range(TERMS):
        flat: Index = rng.choice(names) * rng.randint(1, 12) + rng.choice(names)
        for _ in range(3):
            n = rng.randint(2, 12)
            flat = flat // n * rng.choice([n, 3]) + (flat + rng.choice(names)) % rng.choice([n, 6])
        terms.append(eqsat.where(flat < rng.randint(5, 60), flat, eqsat.minimum(flat, rng.choice(names))))
    return terms


def counts(report: Report, matches: bool) -> str:
    """What a report counts; seconds left out, and without `matches` all but why it ended."""
    if not matches:
        return report.stop_reason.value
    found = sorted(report.fired.items())
    return f"{report.stop_reason.value} {report.iterations} {report.nodes} {report.classes} {report.phases} {found}"


def lines(matches: bool = True) -> Iterator[str]:
    """The text; `matches` False leaves out how often rows matched, and what they made on the way."""
    for function, specs in PROGRAMS:
        result = eqsat.optimize(function, *specs)
        yield f"== {function.__name__}"
        yield str(result.program)
        yield f"{float(result.cost)!r} {float(result.original_cost)!r}"
        yield counts(result.report, matches)
        yield from map(str, result.loops)
        yield result.llvm_ir
    yield "== index terms"
    terms = index_terms()
    yield from map(str, eqsat.simplify_many(terms))
    for term in terms:
        found = eqsat.optimize(term)
        yield f"{found.expr}  {counts(found.report, matches)}"


if __name__ == "__main__":
    sys.stdout.write("\n".join(lines()))
