"""Folds that elements share come first: the same values, each in a kernel that threads share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import eqsat
import eqsat.kernels.divided
import eqsat.numpy as enp
from eqsat.ir.evaluate import evaluate_tensor
from eqsat.ir.tensor import Build, Call, Input, Literal, Read, Reduce, Scalar, axes, axis, reduction, scalars
from eqsat.lowering.folds import parted
from eqsat.lowering.sharing import folds_first as module
from eqsat.lowering.sharing.folds_first import folds_across, folds_apart, folds_first
from tests.effort import examples, some
from tests.eqsat.programs import RandomProgram, programs
from tests.eqsat.test_programs import check_stages
from tests.lowering.builds import count_few_terms_as_many, inputs_of, reference

Function = Callable[..., Any]
SHAPE = (6, 4, 5)
X = Input("x", SHAPE, "int64")
ROW, LINE, COLUMN = axes(SHAPE)
PLACE = Read(X, (ROW, LINE, COLUMN))


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Folds of few terms count as long."""
    monkeypatch.setattr(module, "LEAST_TERMS", 4)
    count_few_terms_as_many(monkeypatch)


def down(element: Callable[..., Scalar], op: str = "sum") -> Reduce:
    """A fold over all rows, of each column."""
    r0, r1 = reduction(0, SHAPE[0]), reduction(1, SHAPE[1])
    return Reduce(op, r0, Reduce(op, r1, element(r0, r1)))


def call(op: str, *args: Scalar) -> Call:
    return Call(op, args, "int64")


def column(r0: Any, r1: Any) -> Scalar:
    return Read(X, (r0, r1, COLUMN))


def half(total: Scalar) -> Scalar:
    return call("subtract", total, Literal(7, "int64"))


MEAN = half(down(column))
SQUARES = down(lambda r0, r1: (lambda d: call("multiply", d, d))(call("subtract", column(r0, r1), MEAN)))
BUILDS: dict[str, tuple[Build, int]] = {
    "a sum of each column": (Build(SHAPE, call("subtract", PLACE, MEAN)), 1),
    "one of another": (Build(SHAPE, call("multiply", call("subtract", PLACE, MEAN), half(SQUARES))), 2),
    "two beside each other": (Build(SHAPE, call("subtract", PLACE, call("subtract", down(column, "max"), down(column, "min")))), 1),
    "within a fold": (Build((1, 1, 5), half(SQUARES)), 1),
}


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("name", BUILDS)
def test_what_comes_first_holds_what_the_build_does(name: str) -> None:
    build, rounds = BUILDS[name]
    divided = folds_first(build)
    assert divided is not None
    stages, whole = divided
    np.testing.assert_array_equal(evaluate_tensor(whole, inputs_of(build)), reference(build)[0])
    assert len(stages) >= 2 * rounds  # the parts, and what is made of them
    largest = max((term.variable.extent for term in scalars(whole.body) if isinstance(term, Reduce)), default=1)
    assert largest <= parted.ROW_PARTS


@pytest.mark.usefixtures("short")
def test_folds_of_one_shape_are_computed_together() -> None:
    divided = folds_first(BUILDS["two beside each other"][0])
    assert divided is not None
    assert [len(stage) for stage in divided[0]] == [2, 1]


@pytest.mark.usefixtures("short")
def test_folds_of_rows_and_of_single_elements_stay_where_they_are() -> None:
    r = reduction(0, 5)
    of_row = Reduce("sum", r, Read(X, (ROW, LINE, r)))
    assert folds_first(Build(SHAPE, call("subtract", PLACE, of_row))) is None
    assert folds_first(Build((5,), down(lambda r0, r1: Read(X, (r0, r1, axis(0, 5)))))) is None
    assert folds_first(Build(SHAPE, PLACE)) is None


def test_short_folds_stay_where_they_are() -> None:
    assert folds_first(BUILDS["one of another"][0]) is None


@pytest.mark.usefixtures("short")
def test_random_programs_equal_numpy_at_every_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    """With all that can come first before, whatever it costs."""
    priced, divided = eqsat.kernels.divided._priced, 0
    monkeypatch.setattr(eqsat.kernels.divided, "_priced", lambda *given: (0.0, priced(*given)[1]))

    @settings(max_examples=examples(60), deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(programs())
    def check(program: RandomProgram) -> None:
        nonlocal divided
        check_stages(program)
        divided += sum(nest.part_of != () for nest in eqsat.optimize(program, *program.arrays).nests)

    check()
    assert divided > examples(20, least=0)


STANDARD: dict[str, tuple[Function, tuple[int, ...]]] = {
    "standardized": (lambda x: (x - enp.mean(x)) / enp.std(x), (800, 1000)),
    "least and greatest": (lambda x: (x - enp.min(x)) / (enp.max(x) - enp.min(x)), (800, 1000)),
    "channels last": (lambda x: (x - enp.mean(x, (0, 1))) / enp.sqrt(enp.var(x, (0, 1)) + 1e-5), (160, 100, 24)),
    "a deviation": (enp.std, (800, 1000)),
    "deviations of few columns": (lambda x: enp.var(x, 0), (200000, 8)),
}


@pytest.mark.parametrize("name", STANDARD)
def test_threads_share_every_kernel_that_takes_long_and_agree(name: str) -> None:
    function, shape = STANDARD[name]
    x = np.random.default_rng(3).standard_normal(shape).astype(np.float32)
    result = eqsat.optimize(function, x)
    long = [kernel for kernel in result.compile().kernels if kernel.estimated_ns > 25_000]
    assert long
    assert all((kernel.parallel_extent or 0) > 1 for kernel in long)
    before, found = eqsat.num_threads(), []
    try:
        for threads in (1, 2, 8):
            eqsat.set_num_threads(threads)
            found.append(result(x))
    finally:
        eqsat.set_num_threads(before)
    assert all(np.array_equal(found[0], other) for other in found[1:])
    exact = eqsat.optimize(function, x.astype(np.float64), options=eqsat.Options(numerics="exact"))
    np.testing.assert_allclose(found[0], exact(x.astype(np.float64)), rtol=1e-4, atol=1e-5)
    assert len(exact.nests) == 1


def normalized(np: Any, x: Any, axis: int) -> Any:
    return x - np.mean(x, axis=axis, keepdims=True)


APART: dict[str, Callable[[Any, Any], Any]] = {
    "of the middle": lambda np, x: normalized(np, x, 1),
    "of the first two": lambda np, x: np.exp(x - np.max(x, axis=(0, 1), keepdims=True)),
    "wrapped around": lambda np, x: np.pad(normalized(np, x, 1), [(0, 0), (1, 2), (0, 2)], mode="wrap"),
    "repeated": lambda np, x: np.repeat(normalized(np, x, 1), 2, axis=2),
    "at edges": lambda np, x: np.pad(normalized(np, x, 0), [(1, 1), (2, 0), (1, 3)], mode="edge"),
    "turned round": lambda np, x: np.flip(normalized(np, x, 1), axis=2) * 2,
    "joined": lambda np, x: np.reshape(normalized(np, x, 1), (x.shape[0] * x.shape[1], x.shape[2]))[::3],
    "with itself moved": lambda np, x: normalized(np, x, 0) + np.roll(normalized(np, x, 0), 1, axis=2),
    "a deviation": lambda np, x: (x - np.mean(x, axis=1, keepdims=True)) / (np.std(x, axis=1, keepdims=True) + 1),
}


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("name", APART)
@pytest.mark.parametrize("shape", some([(6, 7, 9), (3, 1, 17), (5, 40, 2), (2, 2, 3)], 2))
def test_folds_that_elements_along_an_axis_share_are_computed_apart(
    name: str, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it costs."""
    monkeypatch.setattr(eqsat.kernels.divided, "_ways", lambda build, ns, options: [(way, 1.0) for way in [folds_apart(build)] if way])
    priced = eqsat.kernels.divided._priced
    monkeypatch.setattr(eqsat.kernels.divided, "_priced", lambda *given: (0.0, priced(*given)[1]))
    x = np.random.default_rng(len(name)).integers(-9, 10, shape).astype(np.float64)
    result = eqsat.optimize(lambda a: APART[name](enp, a), x)
    stored = name in ("at edges", "repeated", "joined", "with itself moved")  # what they are made of is cheaper when it is stored
    assert stored or shape != (6, 7, 9) or any(nest.part_of for nest in result.nests)
    np.testing.assert_allclose(result(x), APART[name](np, x), rtol=1e-12, atol=1e-12)


def test_what_depends_on_a_term_of_an_axis_is_stored_by_that_term() -> None:
    """Nine columns, of which eleven are made."""
    x = Input("x", (6, 7000, 9), "float64")
    i, j, k = axes((6, 7000, 11))  # 4 MB
    r = reduction(0, 7000)
    mean = Reduce("sum", r, Read(x, (i, r, (k + 4) % 9)))
    divided = folds_apart(Build((6, 7000, 11), Call("subtract", (Read(x, (i, j, k % 9)), mean), "float64")))
    assert divided is not None
    assert all(build.shape[-2:] == (6, 9) for stage in divided[0] for build in stage)
    several = Reduce("sum", r, Call("add", (Read(x, (i, r, k % 9)), Read(x, (i, r, (k + 4) % 9))), "float64"))
    divided = folds_apart(Build((6, 7000, 11), Call("subtract", (Read(x, (i, j, k % 9)), several), "float64")))
    assert divided is not None
    assert all(build.shape[-2:] == (6, 11) for stage in divided[0] for build in stage)


def test_folds_of_the_outer_axes_stay_where_they_are() -> None:
    x = Input("x", (60, 70, 90), "float64")
    i, j, k = axes((60, 70, 90))
    r = reduction(0, 90)
    for places in ((i, j, r), (i, r, r)):
        assert (
            folds_apart(Build((60, 70, 90), Call("subtract", (Read(x, (i, j, k)), Reduce("sum", r, Read(x, places))), "float64"))) is None
        )


def test_folds_of_columns_that_rows_share_are_computed_before() -> None:
    x = Input("x", (600, 500), "float32")
    (i, j), r = axes((500, 600)), reduction(0, 600)

    def less_its_mean(upright: bool) -> Build:
        total = Reduce("sum", r, Read(x, (r, i)))
        own = Read(x, (j, i)) if upright else Read(Input("y", (500, 600), "float32"), (i, j))
        return Build((500, 600), Call("subtract", (own, total), "float32"))

    for upright in (True, False):
        divided = folds_across(less_its_mean(upright))
        assert divided is not None
        assert not any(isinstance(term, Reduce) and term.variable.extent > 100 for term in scalars(divided[1].body))
    along = Build((600, 500), Call("subtract", (Read(x, axes((600, 500))), Reduce("sum", reduction(0, 500), Read(x, (i, r)))), "float32"))
    assert folds_across(along) is None  # which goes along memory


@pytest.mark.parametrize("shape", [(600, 500), (301, 1000), (3, 300, 400)])
def test_rows_of_a_transpose_less_their_means_equal_numpy(shape: tuple[int, ...]) -> None:
    def centred(xp: Any, x: Any) -> Any:
        y = xp.swapaxes(x, -1, -2)
        return (y - xp.mean(y, axis=-1, keepdims=True)) / (1 + xp.std(y, axis=-1, keepdims=True))

    x = np.random.default_rng(0).random(shape)
    np.testing.assert_allclose(eqsat.jit(lambda x: centred(enp, x))(x), centred(np, x), rtol=1e-12, atol=1e-13)
