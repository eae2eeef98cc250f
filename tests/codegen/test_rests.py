"""Folds along rows that fill no whole vectors: where they are cut, and that the result does not depend on it."""

from __future__ import annotations

import re

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.codegen.builder import Abilities
from eqsat.codegen.llvm.machine import Machine, host
from eqsat.ir.index import Var
from eqsat.ir.loops import Buffer, Fold, For, Kernel, Load, Store, Temp
from eqsat.ir.tensor import Call
from eqsat.lowering import type_indices
from tests.codegen.modules import emit_module
from tests.effort import some

ENDS = re.compile(r"icmp slt i\d+ %v\d+, (\d+)")
MASKED = "vectorize.predicate.enable"


def folded(extent: int, op: str = "sum", dtype: str = "float32", step: int = 1, function: bool = False) -> Kernel:
    """Folds of rows."""
    row, term = Var("i", 0, 15), Var("r", 0, extent - 1)
    element = Load("x", row * (extent * step) + term * step, dtype)
    value = Call("exp", (element,), dtype) if function else element
    body = (Fold("t", op, dtype, term, (), value), Store("out", row, Temp("t", dtype)))
    buffers = Buffer("x", dtype, 16 * extent * step, "in"), Buffer("out", dtype, 16, "out")
    return Kernel("folded", buffers, (For(row, "parallel", body),))


@pytest.mark.parametrize(
    ("kernel", "ends"),
    [
        (folded(300), [256, 300]),
        (folded(300, function=True), [288, 300]),
        (folded(50), [48, 50]),
        (folded(100, dtype="float64"), [96, 100]),
        (folded(300, dtype="int32"), [256, 300]),
        (folded(320), [320]),
        (folded(32), [32]),
        (folded(9), [9]),
        (folded(300, op="max"), [300]),  # across a vector it takes as long as several vectors
        (folded(300, dtype="int16"), [300]),
        (folded(300, step=2), [300]),
        (folded(300, dtype="complex64"), [300]),
    ],
)
def test_where_rows_are_cut(kernel: Kernel, ends: list[int]) -> None:
    text = emit_module([type_indices(kernel)], "default", Abilities(masks=True))
    assert [int(end) for end in ENDS.findall(text)] == ends
    assert text.count(MASKED) == len(ends) - 1


def test_rows_are_whole_where_vectors_have_no_masks_and_sums_an_order() -> None:
    assert MASKED not in emit_module([type_indices(folded(300))], "default", Abilities(masks=False))
    assert MASKED not in emit_module([type_indices(folded(300))], "exact", Abilities(masks=True))


@pytest.mark.parametrize("length", some([*range(15, 140), 190, 300, 511, 1000, 2047, 4099], 24))
def test_folds_of_any_length_equal_numpy(length: int) -> None:
    rng = np.random.default_rng(length)
    x, k = rng.uniform(-1, 1, (7, length)), rng.integers(-9, 9, (7, length))
    for dtype, tolerance in (("float32", 3e-5), ("float64", 1e-13)):
        a = x.astype(dtype)
        found = eqsat.jit(lambda a: (enp.sum(a, 1), enp.sum(a * a, 1), enp.sum(enp.exp(a), 1), enp.prod(1 + a / 100, 1)))(a)
        expected = (a.sum(1), (a * a).sum(1), np.exp(a).sum(1), (1 + a / 100).prod(1))
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance * length)
    for integers in ("int32", "int64"):
        b = k.astype(integers)
        found = eqsat.jit(lambda b: (enp.sum(b, 1), enp.sum(b * b, 1), enp.max(b, 1), enp.any(b > 8, 1)))(b)
        for one, other in zip(found, (b.sum(1), (b * b).sum(1), b.max(1), (b > 8).any(1)), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("length", [33, 90, 300])
def test_infinities_and_nan_are_found_behind_the_last_whole_vector(length: int) -> None:
    for what in (np.inf, -np.inf, np.nan):
        for place in (0, length - 1, length // 16 * 16):
            x = np.zeros((3, length), np.float32)
            x[1, place] = what
            np.testing.assert_array_equal(eqsat.jit(lambda x: enp.sum(x, 1))(x), x.sum(1))


@pytest.mark.parametrize("length", [50, 100, 197])
def test_normalized_rows_equal_numpy_with_and_without_masks(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(length).normal(size=(9, length))
    centred = x - x.mean(1, keepdims=True)
    expected = centred / np.sqrt((centred * centred).mean(1, keepdims=True) + 1e-5)
    for masks in (True, False):
        monkeypatch.setattr(Machine, "abilities", host().abilities._replace(masks=masks))

        def normalized(x: enp.Array) -> enp.Array:
            c = x - enp.mean(x, axis=1, keepdims=True)
            return c / enp.sqrt(enp.mean(c * c, axis=1, keepdims=True) + 1e-5)

        np.testing.assert_allclose(eqsat.jit(normalized)(x), expected, rtol=1e-12, atol=1e-13)
