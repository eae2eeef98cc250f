"""Products whose results lie in another order than what they read: the same values, computed in the order of that."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import eqsat
from eqsat.ir.evaluate import evaluate_tensor
from eqsat.ir.tensor import Build, Call, Input, Literal, Read, Reduce, axes, reduction
from eqsat.lowering.products.operand_order import LEAST_BATCHES, LEAST_COLUMNS, MOST_LAST, MOST_SHARED, batches_last, in_operand_order
from tests.effort import some
from tests.lowering.builds import inputs_of, reference

TERMS, WIDE = 3, LEAST_COLUMNS
K = reduction(0, TERMS)


def magnified(last: int = 2, wide: int = WIDE, op: str = "sum") -> Build:
    """out[o, h, i, w, j] = max(sum over c of x[c, h, w] * f[c, o, i, j], 0)."""
    o, h, i, w, j = axes((2, 3, 2, wide, last))
    x, f = Read(Input("x", (TERMS, 3, wide), "int64"), (K, h, w)), Read(Input("f", (TERMS, 2, 2, last), "int64"), (K, o, i, j))
    total = Reduce(op, K, Call("multiply", (x, f), "int64"))
    return Build((2, 3, 2, wide, last), Call("maximum", (total, Literal(0, "int64")), "int64"))


def test_sums_have_the_axes_of_what_is_read_last() -> None:
    build = magnified()
    divided = in_operand_order(build)
    assert divided is not None
    ((made,),), whole = divided
    assert made.shape == (2, 2, 2, 3, WIDE)
    np.testing.assert_array_equal(evaluate_tensor(whole, inputs_of(build)), reference(build)[0])


@pytest.mark.parametrize("build", [magnified(last=MOST_LAST + 1), magnified(wide=WIDE - 1), magnified(op="max")])
def test_results_with_columns_short_rows_and_other_folds_stay(build: Build) -> None:
    assert in_operand_order(build) is None


def test_what_reads_no_second_factor_stays() -> None:
    row, lane, _ = axes((2, WIDE, 2))
    read = Read(Input("x", (TERMS, 2, WIDE), "int64"), (K, row, lane))
    assert in_operand_order(Build((2, WIDE, 2), Reduce("sum", K, read))) is None


@pytest.mark.parametrize("op", ["sum", "max"])
def test_what_has_all_axes_of_the_result_is_read_as_it_lies(op: str) -> None:
    """out[j, i] = fold over k of x[k, i, j] * y[k, i]"""
    j, i = axes((WIDE, 20))
    x, y = Read(Input("x", (TERMS, 20, WIDE), "int64"), (K, i, j)), Read(Input("y", (TERMS, 20), "int64"), (K, i))
    build = Build((WIDE, 20), Call("negative", (Reduce(op, K, Call("multiply", (x, y), "int64")),), "int64"))
    divided = in_operand_order(build)
    assert divided is not None
    ((made,),), whole = divided
    assert made.shape == (20, WIDE)
    np.testing.assert_array_equal(evaluate_tensor(whole, inputs_of(build)), reference(build)[0])


def test_products_of_matrices_have_columns_of_both() -> None:
    i, j = axes((WIDE, WIDE))
    a, b = Read(Input("a", (TERMS, WIDE), "int64"), (K, i)), Read(Input("b", (TERMS, WIDE), "int64"), (K, j))
    assert in_operand_order(Build((WIDE, WIDE), Reduce("sum", K, Call("multiply", (a, b), "int64")))) is None
    both = Read(Input("x", (TERMS, WIDE, WIDE), "int64"), (K, i, j))  # goes along the result already
    turned = Read(Input("y", (TERMS, WIDE, WIDE), "int64"), (K, j, i))
    assert in_operand_order(Build((WIDE, WIDE), Reduce("sum", K, Call("multiply", (both, turned), "int64")))) is None


@pytest.mark.parametrize("shape", some([(9, 30, 70), (3, 256, 17), (40, 20, 300)], 2))
@pytest.mark.parametrize("spelled", ["bac,ba->ca", "cab,ba->c", "bac,b->ca", "bac,ac->", "bac,c->"])
def test_sums_of_products_in_any_order_equal_numpy(spelled: str, shape: tuple[int, int, int]) -> None:
    sizes = dict(zip(spelled[:3], shape, strict=True))
    given = [np.random.default_rng(4).standard_normal([sizes[v] for v in part]) for part in spelled.split("->")[0].split(",")]
    found = eqsat.optimize(lambda *a: np.einsum(spelled, *a), *given)
    np.testing.assert_allclose(found(*given), np.einsum(spelled, *given), rtol=1e-10, atol=1e-9)


def test_a_magnified_image_is_a_product_in_tiles() -> None:
    def magnify(x: Any, w: Any, b: Any) -> Any:
        n, _, high, wide = x.shape
        found = np.einsum("nchw,coij->nohiwj", x, w).reshape(n, w.shape[1], 2 * high, 2 * wide)
        return np.maximum(found + b[:, None, None], 0)

    rng = np.random.default_rng(0)
    given = [rng.uniform(-1, 1, shape).astype("float32") for shape in ((1, 128, 56, 56), (128, 64, 2, 2), (64,))]
    result = eqsat.optimize(magnify, *given)
    assert " tile:" in str(result.loops[0])
    np.testing.assert_allclose(result(*given), magnify(*given), rtol=1e-4, atol=1e-4)


def shared_left(batches: tuple[int, ...], rows: int, last: int, dtype: str = "float32") -> Build:
    """out[b, i, j] = -(sum over k of w[i, k] * x[b, k, j])."""
    *b, i, j = axes((*batches, rows, last))
    w, x = Read(Input("w", (rows, TERMS), dtype), (i, K)), Read(Input("x", (*batches, TERMS, last), dtype), (*b, K, j))
    return Build((*batches, rows, last), Call("negative", (Reduce("sum", K, Call("multiply", (w, x), dtype)),), dtype))


@pytest.mark.parametrize("batches", [(LEAST_BATCHES,), (2, 3), (7,)])
@pytest.mark.parametrize("last", [2, 5, MOST_SHARED])
def test_few_columns_of_many_products_are_those_of_one(batches: tuple[int, ...], last: int) -> None:
    build = shared_left(batches, 4, last)
    divided = batches_last(build)
    assert divided is not None
    ((packed,), (total,)), whole = divided
    assert (packed.shape, total.shape) == ((TERMS, *batches, last), (4, *batches, last))
    np.testing.assert_allclose(evaluate_tensor(whole, inputs_of(build)), reference(build)[0], rtol=1e-6)


def test_other_products_have_their_columns_to_themselves() -> None:
    b, i, j = axes((6, 4, 5))
    own = Read(Input("w", (6, 4, TERMS), "float32"), (b, i, K)), Read(Input("x", (6, TERMS, 5), "float32"), (b, K, j))
    assert batches_last(Build((6, 4, 5), Reduce("sum", K, Call("multiply", own, "float32")))) is None
    assert batches_last(shared_left((LEAST_BATCHES - 1,), 4, 5)) is None
    assert batches_last(shared_left((6,), 4, 1)) is None
    assert batches_last(shared_left((6,), 4, MOST_SHARED + 1)) is None
    assert batches_last(shared_left((6,), 4, 5, "int64")) is None


@pytest.mark.parametrize("last", [3, 7, 12, 49])
def test_batches_of_few_columns_equal_numpy(last: int) -> None:
    """W @ x of 32 x with 5 columns, 256 x 1024: 1,600 us one by one, 800 of one product."""
    rng = np.random.default_rng(last)
    w, x, bias = rng.standard_normal((256, 256)), rng.standard_normal((32, 256, last)), rng.standard_normal((256, 1))

    def function(w: Any, x: Any, bias: Any) -> Any:
        return np.maximum(w @ x + bias, 0)

    result = eqsat.optimize(function, w, x, bias)
    assert len(result.loops) == 3
    np.testing.assert_allclose(result(w, x, bias), function(w, x, bias), rtol=1e-9, atol=1e-9)
