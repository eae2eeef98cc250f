"""One value of each class that displays itself, made when it is asked for."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import eqsat
from eqsat.ir.shown import Shown

HOSTILE = "<script>alert('x')</script> & \"quoted\""
X, Y = eqsat.var("x", 0, 63), eqsat.var("y", 0, 5)
TERM = (X * 6 + Y) // 6 * 6 + (X * 6 + Y) % 6 + X // 7 % 100
SMALL = eqsat.spec((8, 8), "float32")
STACK = eqsat.ViewStack.from_shape((4, 6)).permute((1, 0)).pad(((1, 1), (0, 2)))
CERTIFIED, TIMED = eqsat.Options(certify=True), eqsat.Options(time_rules=True)


def attention(q: Any, k: Any, v: Any) -> Any:
    scores = q @ k.T / 4.0
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ v


def repeated(a: Any) -> Any:
    return eqsat.fori(3, lambda _, x: x * 2 + 1, a)


def optimized(options: eqsat.Options | None = None) -> eqsat.Result:
    """A program of several kernels."""
    return eqsat.optimize(attention, SMALL, SMALL, SMALL, options=options)


def listed() -> eqsat.Result:
    """One whose listing was made."""
    result = optimized()
    assert result.listing.kernels
    return result


def sized() -> eqsat.Result:
    return eqsat.optimize(lambda a: np.exp(a).sum(axis=1), eqsat.spec((eqsat.dim("rows", 1, 100), 16), "float32"))


def certificate() -> eqsat.Certificate:
    found = optimized(CERTIFIED).certificate
    assert found is not None
    return found


MAKERS: dict[str, Callable[[], Shown]] = {
    "Ablation": lambda: eqsat.leave_one_out(TERM),
    "Certificate": certificate,
    "Cost": lambda: optimized().cost,
    "Index": lambda: X // 8 + Y,
    "IndexResult": lambda: eqsat.optimize(TERM, options=CERTIFIED),
    "IndexResult unchanged": lambda: eqsat.optimize(X),
    "Kernel": lambda: optimized().loops[0],
    "KernelListing": lambda: optimized().listing.kernels[0],
    "Listing": lambda: optimized().listing,
    "Picture": STACK.picture,
    "Plan": lambda: optimized().compile(),
    "Plan with a size": lambda: sized().compile(),
    "Program": lambda: optimized().original,
    "Proof": lambda: eqsat.prove_equal(X // 8 * 8 + X % 8, X),
    "Proof of a difference": lambda: eqsat.prove_equal(X // 8 * 8, X),
    "Report": lambda: optimized().report,
    "Report with times": lambda: optimized(TIMED).report,
    "Result": optimized,
    "Result with a call": lambda: eqsat.optimize(lambda a: np.sort(a, axis=1) + 1, SMALL),
    "Result with a certificate": lambda: optimized(CERTIFIED),
    "Result with a listing": listed,
    "Result with a loop": lambda: eqsat.optimize(repeated, SMALL),
    "Result with a size": sized,
    "View": lambda: STACK.views[0],
    "ViewStack": lambda: STACK,
    "ViewStack of several": lambda: eqsat.ViewStack.from_shape((4, 6)).permute((1, 0)).reshape((3, 8)),
    "ViewStack without elements": lambda: eqsat.ViewStack.from_shape((0, 6)),
}


@functools.cache
def value(name: str) -> Shown:
    """The value of that name, made once."""
    return MAKERS[name]()
