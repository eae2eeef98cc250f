"""Products of a factor that lies across memory, turned before: the same values, and nothing else touched."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import eqsat
from eqsat.ir.evaluate import evaluate_tensor
from eqsat.ir.tensor import Build, Call, Input, Literal, Read, Reduce, axes, reduction
from eqsat.lowering.products import across
from eqsat.lowering.products.across import left_turned
from tests.effort import examples
from tests.eqsat.programs import RandomProgram, programs
from tests.eqsat.test_programs import check_stages
from tests.lowering.builds import inputs_of, reference

TERMS, ROWS, COLUMNS = 5, 4, 6
K = reduction(0, TERMS)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small products count as large."""
    monkeypatch.setattr(across, "LEAST_JUMP", 1)
    monkeypatch.setattr(across, "LEAST_COLUMNS", 2)


def product(upright: bool, batch: int = 0) -> Build:
    """A product with an epilogue; of a factor that is stored as it is read, or across memory."""
    shape = (*((batch,) if batch else ()), ROWS, COLUMNS)
    *outer, i, j = axes(shape)
    around = tuple(v.extent for v in outer)
    left = (*around, ROWS, TERMS) if upright else (*around, TERMS, ROWS)
    a = Read(Input("a", left, "int64"), (*outer, i, K) if upright else (*outer, K, i))
    b = Read(Input("b", (TERMS, COLUMNS), "int64"), (K, j))
    total = Reduce("sum", K, Call("multiply", (a, b), "int64"))
    return Build(shape, Call("maximum", (total, Literal(0, "int64")), "int64"))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("batch", [0, 3])
def test_the_factor_is_stored_with_its_terms_side_by_side(batch: int) -> None:
    build = product(upright=False, batch=batch)
    divided = left_turned(build)
    assert divided is not None
    ((turned,),), whole = divided
    assert turned.shape == (*((batch,) if batch else ()), ROWS, TERMS)
    np.testing.assert_array_equal(evaluate_tensor(whole, inputs_of(build)), reference(build)[0])


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("filters", "turned"), [((0, 1, 2), False), ((1, 0, 2), True), ((1, 2, 0), True), ((0, 2, 1), True)])
def test_filters_are_stored_with_all_their_terms_behind_each_other(filters: tuple[int, ...], turned: bool) -> None:
    """Of rows, channels and taps in any order."""
    (i, j), channel, tap = axes((ROWS, COLUMNS)), reduction(1, TERMS), reduction(0, 3)
    order = [(i, channel, tap)[k] for k in filters]
    w = Read(Input("w", tuple(v.extent for v in order), "int64"), tuple(order))
    x = Read(Input("x", (TERMS, COLUMNS + 2), "int64"), (channel, j + tap))
    build = Build((ROWS, COLUMNS), Reduce("sum", channel, Reduce("sum", tap, Call("multiply", (w, x), "int64"))))
    divided = left_turned(build)
    assert (divided is not None) == turned
    if divided is not None:
        ((stored,),), whole = divided
        assert stored.shape == (ROWS, TERMS, 3)
        np.testing.assert_array_equal(evaluate_tensor(whole, inputs_of(build)), reference(build)[0])


@pytest.mark.usefixtures("small")
def test_what_lies_along_memory_and_small_products_stay() -> None:
    assert left_turned(product(upright=True)) is None
    total = Reduce("max", K, Read(Input("a", (TERMS, ROWS), "int64"), (K, axes((ROWS, COLUMNS))[0])))
    assert left_turned(Build((ROWS, COLUMNS), total)) is None
    alone = Reduce("sum", K, Read(Input("a", (TERMS, ROWS), "int64"), (K, axes((ROWS, COLUMNS))[0])))
    assert left_turned(Build((ROWS, COLUMNS), alone)) is None  # columns share the sum


def test_small_products_are_not_worth_it() -> None:
    assert left_turned(product(upright=False)) is None


@pytest.mark.parametrize("numerics", ["exact", "default"])
def test_a_large_product_turns_its_left_factor_first(numerics: Any) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, shape).astype(np.float32) for shape in ((512, 512), (512, 96)))
    result = eqsat.optimize(lambda a, b: a.T @ b, a, b, options=eqsat.Options(numerics=numerics))
    np.testing.assert_array_equal(result(a, b), a.T @ b)
    if numerics == "default":
        assert len(result.compile().kernels) == 2
        assert len(eqsat.optimize(lambda a, b: a @ b, a, b).compile().kernels) == 1


@pytest.mark.usefixtures("small")
def test_random_programs_equal_numpy_at_every_stage() -> None:
    @settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
    @given(programs())
    def check(program: RandomProgram) -> None:
        check_stages(program)

    check()
