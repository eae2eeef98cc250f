"""One value of each class that displays itself."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import eqsat
from eqsat.ir.shown import Shown

HOSTILE = "<script>alert('x')</script> & \"quoted\""


def attention(q: Any, k: Any, v: Any) -> Any:
    scores = q @ k.T / 4.0
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ v


def optimized(options: eqsat.Options | None = None) -> eqsat.Result:
    """A program of several kernels."""
    return eqsat.optimize(attention, *[eqsat.spec((12, 16), "float32")] * 3, options=options)


@functools.cache
def values() -> dict[str, Shown]:
    """By the names of their classes, or what is special about them."""
    x, y = eqsat.var("x", 0, 63), eqsat.var("y", 0, 5)
    result, certified = optimized(), optimized(eqsat.Options(certify=True))
    index = eqsat.optimize((x * 6 + y) // 6 * 6 + (x * 6 + y) % 6 + x // 7 % 100, options=eqsat.Options(certify=True))
    stack = eqsat.ViewStack.from_shape((4, 6)).permute((1, 0)).pad(((1, 1), (0, 2)))
    assert certified.certificate is not None
    listed = optimized()
    return {
        "Certificate": certified.certificate,
        "Cost": result.cost,
        "Index": x // 8 + y,
        "IndexResult": index,
        "IndexResult unchanged": eqsat.optimize(x),
        "KernelListing": listed.listing.kernels[0],
        "Listing": listed.listing,
        "Picture": stack.picture(),
        "Plan": listed.compile(),
        "Program": result.original,
        "Proof": eqsat.prove_equal(x // 8 * 8 + x % 8, x),
        "Proof of a difference": eqsat.prove_equal(x // 8 * 8, x),
        "Report": result.report,
        "Report with times": optimized(eqsat.Options(time_rules=True)).report,
        "Result": result,
        "Result with a certificate": certified,
        "Result with a listing": listed,
        "View": stack.views[0],
        "ViewStack": stack,
        "ViewStack of several": eqsat.ViewStack.from_shape((4, 6)).permute((1, 0)).reshape((3, 8)),
        "ViewStack without elements": eqsat.ViewStack.from_shape((0, 6)),
    }
