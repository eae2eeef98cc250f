"""What is computed from sizes that are known at run time: slices, frames, flips, flat axes; one plan for all of them, equal to NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import eqsat
import eqsat.numpy as enp
from eqsat.capture.sized_trace import with_sizes_known
from eqsat.ir.errors import BoundsError, EqsatError, ShapeError, TraceError, UnsupportedError, UsageError
from eqsat.ir.evaluate import evaluate, evaluate_index
from eqsat.ir.index import Index, Var
from eqsat.running.sized_plan import SizedPlan
from tests.effort import examples, some

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]
N, M = eqsat.dim("n", 4, 300), eqsat.dim("m", 1, 60)
SIZES = [(4, 1), (5, 2), (6, 7), (9, 4), (17, 5), (64, 60), (65, 33), (300, 60), (4, 60)]

PROGRAMS: dict[str, tuple[Function, list[tuple[int | Index, ...]]]] = {
    "differences": (lambda x: x[1:] - x[:-1], [(N, 3)]),
    "the inner part": (lambda x: x[1 : x.shape[0] - 1], [(N, 3)]),
    "the last row": (lambda x: x[-1], [(N, 3)]),
    "the last rows": (lambda x: x[-3:] * 2, [(N, 3)]),
    "a row from the end": (lambda x: x[x.shape[0] - 2], [(N, 3)]),
    "windows": (lambda x: sum(x[k : x.shape[0] - 2 + k] for k in range(3)), [(N,)]),
    "sliding windows": (lambda x: enp.lib.stride_tricks.sliding_window_view(x, 3).mean(axis=1), [(N,)]),
    "a stencil": (lambda x: (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]) / 4, [(N, N)]),
    "reversed": (lambda x: x[::-1] * 2, [(N, 3)]),
    "reversed twice": (lambda x: x[::-1][::-1] + 1, [(N, 3)]),
    "a product of what is reversed": (lambda x, y: x[::-1] @ y, [(N, 8), (8, M)]),
    "a frame of zeros": (lambda x: enp.pad(x, ((1, 2), (0, 0))), [(N, 3)]),
    "a frame on all sides": (lambda x: enp.pad(x, 1).sum(axis=0), [(N, M)]),
    "edges again": (lambda x: enp.pad(x, ((2, 1), (0, 0)), mode="edge"), [(N, 3)]),
    "mirrored": (lambda x: enp.pad(x, ((2, 1), (0, 0)), mode="reflect"), [(N, 3)]),
    "wrapped": (lambda x: enp.pad(x, ((2, 1), (0, 0)), mode="wrap"), [(N, 3)]),
    "blurred": (lambda x: enp.pad(x, 1)[2:] + enp.pad(x, 1)[1:-1] + enp.pad(x, 1)[:-2], [(N,)]),
    "rolled": (lambda x: enp.roll(x, 1, axis=0) + x, [(N, 3)]),
    "rolled back": (lambda x: enp.roll(x, -2, axis=0) - x, [(N,)]),
    "a stencil that wraps round": (lambda x: enp.roll(x, 1, 0) + enp.roll(x, -1, 0) + enp.roll(x, 1, 1) - 3 * x, [(N, M)]),
    "behind each other": (lambda x, y: enp.concatenate([x, y]), [(N, 3), (M, 3)]),
    "one behind itself": (lambda x: enp.concatenate([x[::-1], x, x[1:]]), [(N, 3)]),
    "beside each other": (lambda x, y: enp.concatenate([x, y], axis=1).sum(axis=1), [(M, N), (M, 5)]),
    "stacked": (lambda x: enp.stack([x, x + 1], axis=1).reshape(-1, 3), [(N, 3)]),
    "tiled": (lambda x: enp.tile(x, (2, 1)), [(N, 3)]),
    "repeated": (lambda x: enp.repeat(x, 2, axis=0), [(N, 3)]),
    "flat": (lambda x: x.reshape(-1) * 2, [(N, 3)]),
    "a flat outer product": (lambda x, y: (x[:, None] * y[None, :]).ravel(), [(N,), (M,)]),
    "a Kronecker product": (lambda x, y: enp.kron(x, y), [(N,), (M,)]),
    "split": (lambda x: x.reshape(x.shape[0] * 2, 2), [(N, 4)]),
    "pairs": (lambda x: x.reshape(-1, 2).max(axis=1), [(2 * N,)]),
    "pooled": (lambda x: x.reshape(x.shape[0] // 2, 2, -1).max(axis=1), [(2 * N, 3 * M)]),
    "a sum by rows": (lambda x, y: x[1:] * y, [(N + 1, M), (N, M)]),
    "a mean by hand": (lambda x: x.sum(axis=0) / x.shape[0], [(N, 3)]),
    "a deviation by hand": (lambda x: ((x - x.mean(axis=0)) ** 2).sum(axis=0) / (x.shape[0] - 1), [(N, 3)]),
    "standardized": (lambda x: (x - x.mean(0)) / x.std(0, ddof=1), [(N, 3)]),
    "covariances": (lambda x: enp.cov(x), [(3, N)]),
    "correlations": (lambda x: enp.corrcoef(x), [(3, N)]),
    "a mean of differences": (lambda x: (x[1:] - x[:-1]).mean(axis=0), [(N, 3)]),
    "a gradient": (lambda x: enp.gradient(x), [(N,)]),
    "a trapezoid": (lambda x: enp.trapezoid(x), [(N,)]),
    "convolved": (lambda x, k: enp.convolve(x, k), [(N,), (3,)]),
    "convolved inside": (lambda x, k: enp.convolve(x, k, mode="valid"), [(N,), (3,)]),
    "convolved, of the same length": (lambda x, k: enp.convolve(x, k, mode="same"), [(N,), (3,)]),
    "a trace": (lambda x: enp.trace(x), [(N, N)]),
    "a diagonal": (lambda x: enp.diagonal(x) * 2, [(N, N)]),
    "a triangle": (lambda x: enp.triu(x, 1).sum(), [(N, N)]),
    "the identity": (lambda x: enp.eye(x.shape[0], dtype="float32") @ x, [(N, 3)]),
    "places": (lambda x: x[:-1] * enp.arange(1, x.shape[0]), [(N,)]),
    "a mask by place": (lambda x: enp.where(enp.arange(x.shape[0]) < x.shape[0] - 2, x, 0), [(N,)]),
    "filled": (lambda x: x * enp.full(x.shape, 2.5, dtype="float32") + enp.zeros((x.shape[0], 1)), [(N, 3)]),
    "gathered": (lambda x, y: x[(y[:, 0] > 0).astype(int) - 1], [(N, 3), (M, 3)]),
    "sorted by a column": (lambda x: x[enp.argsort(x[:, 0])], [(N, 3)]),
    "sorted, without the first": (lambda x: enp.sort(x[1:], axis=0), [(N, 3)]),
    "the place of the greatest": (lambda x: enp.argmax(x, axis=0), [(N, 3)]),
    "cumulated differences": (lambda x: enp.diff(enp.cumsum(x)), [(N,)]),
    "distances": (lambda x: (x[:, None] - x[None, :]).reshape(-1).max(), [(N,)]),
    "softmax of a part": (lambda x: enp.exp(x[1:] - x[1:].max()) / enp.exp(x[1:] - x[1:].max()).sum(), [(N,)]),
}


def shape_at(shape: tuple[int | Index, ...], n: int, m: int) -> tuple[int, ...]:
    return tuple(int(evaluate_index(extent, {N: n, M: m})) if isinstance(extent, Index) else extent for extent in shape)


def arrays(shapes: list[tuple[int | Index, ...]], n: int, m: int) -> list[Array]:
    rng = np.random.default_rng(n * 1000 + m)
    return [rng.uniform(-1, 1, shape_at(shape, n, m)).astype("float32") for shape in shapes]


@pytest.mark.parametrize("name", some(PROGRAMS))
def test_one_plan_serves_all_sizes(name: str) -> None:
    function, shapes = PROGRAMS[name]
    plan = eqsat.optimize(function, *(eqsat.spec(shape, "float32") for shape in shapes)).compile()
    assert isinstance(plan, SizedPlan)
    for n, m in SIZES:
        given = arrays(shapes, n, m)
        found, expected = plan(*given), function(*given)
        assert found.shape == np.shape(expected)
        assert found.dtype == np.asarray(expected).dtype
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-4, err_msg=f"n = {n}, m = {m}")


# of arrays of n + a rows: what makes another one, and how many rows that takes and adds
STEPS: dict[str, tuple[Function, int, int]] = {
    "differences": (lambda x: x[1:] - x[:-1], 2, -1),
    "without ends": (lambda x: x[1:-1] + x[:-2], 3, -2),
    "reversed": (lambda x: x[::-1] - x, 1, 0),
    "a frame": (lambda x: enp.pad(x, ((1, 1), (0, 0)), constant_values=0.5), 1, 2),
    "edges": (lambda x: enp.pad(x, ((0, 2), (0, 0)), mode="edge"), 1, 2),
    "rolled": (lambda x: enp.roll(x, 1, axis=0) * x, 1, 0),
    "rolled back": (lambda x: enp.roll(x, -1, axis=0), 1, 0),
    "without the mean": (lambda x: x - x.mean(axis=0), 1, 0),
    "one row more": (lambda x: enp.concatenate([x, x[-1:]]), 1, 1),
    "turned round": (lambda x: enp.concatenate([x[1:], x[:1]]), 2, 0),
    "flat and back": (lambda x: (x.reshape(-1) + 1).reshape(x.shape), 1, 0),
    "times the place": (lambda x: x * enp.arange(x.shape[0], dtype="float32")[:, None] / x.shape[0], 1, 0),
    "the upper half": (lambda x: enp.where(enp.arange(x.shape[0])[:, None] * 2 < x.shape[0], x, -x), 1, 0),
}


@given(st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=5), st.data())
@settings(max_examples=examples(60, 8), deadline=None)
def test_chains_of_steps_are_what_numpy_makes_of_them(names: list[str], data: st.DataObject) -> None:
    less, needed = 0, 1
    for name in names:
        _, takes, adds = STEPS[name]
        needed, less = max(needed, takes - less), less + adds
    needed = max(needed, 1 - less)
    size = eqsat.dim("n", needed, needed + 40)

    def function(x: Any) -> Any:
        for name in names:
            x = STEPS[name][0](x)
        return x

    result = eqsat.optimize(function, eqsat.spec((size, 2), "float64"))
    for n in {needed, needed + 1, data.draw(st.integers(needed, needed + 40))}:
        x = np.random.default_rng(n).uniform(-1, 1, (n, 2))
        expected = function(x)
        assert expected.shape == (n + less, 2)
        np.testing.assert_allclose(result(x), expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(evaluate(with_sizes_known(result.program, {"n": n}), [x])[0], expected, rtol=1e-9, atol=1e-12)


# programs that hold for all sizes, of which some are as small as may be, or one value
RANGES: dict[str, Function] = {
    "differences of all": lambda x: (x[:, None] - x).max(),
    "a mean of pairs": lambda x: x.sum() / (x.shape[0] * x.shape[0]),
    "twice": lambda x: enp.concatenate([x, x * 2]),
    "rolled far": lambda x: enp.roll(x, 100, 0),
    "powers": lambda x: x ** x.shape[0],
    "a quotient": lambda x: x.shape[0] / (x + 2),
}


@pytest.mark.parametrize(
    ("low", "high", "name"),
    some([(*ends, name) for ends in [(1, 1), (3, 3), (3, 4), (1, 12), (1, 40), (200, 220)] for name in RANGES], 5),
)
def test_every_size_of_small_ranges(name: str, low: int, high: int) -> None:
    function = RANGES[name]
    plan = eqsat.optimize(function, eqsat.spec((eqsat.dim("n", low, high),), "float32")).compile()
    for n in range(low, high + 1):
        x = np.random.default_rng(n).uniform(-1, 1, n).astype("float32")
        np.testing.assert_allclose(plan(x), function(x), rtol=2e-4, atol=1e-6)
    for n in (low - 1, high + 1):
        with pytest.raises(ShapeError, match="found n ="):
            plan(np.ones(n, "float32"))


def test_gathers_at_sizes_that_are_smaller_than_their_indices() -> None:
    plan = eqsat.optimize(lambda x: x[abs(x).astype(int)], eqsat.spec((eqsat.dim("n", 1, 300),), "int8")).compile()
    np.testing.assert_array_equal(plan(np.array([0, -2, 1], "int8")), np.array([0, 1, -2], "int8"))
    with pytest.raises(BoundsError, match="found index 2"):
        plan(np.array([0, -2], "int8"))


def test_numbers_of_any_size_are_numbers() -> None:
    weights = np.random.default_rng(0).uniform(-1, 1, 5000).astype("float32")

    def function(x: Any) -> Any:
        hashed = (x.astype("int64") * 2654435761 + 12345678901) & 0xFFFF
        return hashed % 1000 + x[100:].sum() + (x[:1] * weights)[4000:].sum()

    plan = eqsat.optimize(function, eqsat.spec((eqsat.dim("n", 120, 300),), "float32")).compile()
    for n in (120, 121, 300):
        x = np.random.default_rng(n).uniform(0, 99, n).astype("float32")
        np.testing.assert_allclose(plan(x), function(x), rtol=1e-4)


def test_sizes_that_bounds_put_in_order_are_compared_so() -> None:
    plan = eqsat.optimize(
        lambda x, y: x[: y.shape[0]] + y, eqsat.spec((eqsat.dim("n", 9, 90),), "float32"), eqsat.spec((eqsat.dim("m", 1, 4),), "float32")
    ).compile()
    for n, m in ((9, 1), (9, 4), (90, 2)):
        np.testing.assert_array_equal(plan(np.ones(n, "float32"), np.ones(m, "float32")), np.full(m, 2.0))


def test_no_element_behind_the_last_is_written() -> None:
    plan = eqsat.optimize(lambda x: enp.pad(x[1:], ((1, 2), (0, 0))), eqsat.spec((N, 3), "float32")).compile()
    for n in range(4, 40):
        memory = np.full((n + 6, 3), 7.0, "float32")
        plan(np.ones((n, 3), "float32"), out=memory[: n + 2])
        np.testing.assert_array_equal(memory[n + 2 :], 7.0)


def test_programs_show_what_is_computed_by_name() -> None:
    result = eqsat.optimize(lambda x: enp.pad(x[::-1], 1), eqsat.spec((N,), "float32"))
    assert "float32[n + 2]" in str(result.original)
    assert "$n - 1 - i0" in str(result.original)
    assert result.program.sizes[1].variable.bounds == (6, 302)


def test_plans_read_sizes_off_what_is_made_of_them() -> None:
    plan = eqsat.optimize(lambda x: x.reshape(-1, 2).sum(axis=1), eqsat.spec((2 * N,), "float32")).compile()
    np.testing.assert_array_equal(plan(np.arange(10, dtype="float32")), [1, 5, 9, 13, 17])
    np.testing.assert_array_equal(plan.execute_with_vars(np.arange(10, dtype="float32"), n=5), [1, 5, 9, 13, 17])
    with pytest.raises(ShapeError, match=r"x: found an axis of 11 elements, expected n \* 2 for some n"):
        plan(np.arange(11, dtype="float32"))
    with pytest.raises(ShapeError, match="x: found n = 2, expected 4 to 300"):
        plan(np.arange(4, dtype="float32"))
    both = eqsat.optimize(lambda x, y: x[1:] * y, eqsat.spec((N + 1,), "float32"), eqsat.spec((N,), "float32")).compile()
    with pytest.raises(ShapeError, match=r"x: found n \+ 1 = 6, expected 7"):
        both(np.ones(6, "float32"), np.ones(6, "float32"))


def test_indices_are_checked_against_the_size_of_the_call() -> None:
    plan = eqsat.optimize(lambda x, i: x[i], eqsat.spec((N, 2), "float32"), eqsat.spec((M,), "int64")).compile()
    x = np.arange(20, dtype="float32").reshape(10, 2)
    np.testing.assert_array_equal(plan(x, np.array([0, 9, -1, -10])), x[[0, 9, -1, -10]])
    for outside in (10, -11, 250):
        with pytest.raises(BoundsError, match=rf"found index {outside} in dimension 0 of an array, expected -10\.\.9"):
            plan(x, np.array([0, outside]))
    known = eqsat.optimize(lambda x, i: x[i % 100], eqsat.spec((N, 2), "float32"), eqsat.spec((M,), "int64")).compile()
    with pytest.raises(BoundsError, match="found index 50"):
        known(x, np.array([50]))


SMALL = eqsat.dim("n", 1, 300)
REFUSED: dict[str, tuple[Function, list[tuple[int | Index, ...]], type[Exception], str]] = {
    "rows that are all or some": (lambda x: x[: 2 * x.shape[0] - 5], [(SMALL, 5)], UnsupportedError, "another program for n = 1"),
    "none or one": (lambda x: x[x.shape[0] - 1 : 3], [(SMALL, 5)], UnsupportedError, "another program for n = 1"),
    "columns by the rows": (lambda x: x[:, : x.shape[0]], [(SMALL, 5)], UnsupportedError, "another program for n = 1"),
    "sums of them": (lambda x: x[:, : 2 * x.shape[0]].sum(0), [(SMALL, 5)], UnsupportedError, "another program for n = 1"),
    "rows by another size": (lambda x, y: x[: y.shape[0]], [(N,), (M,)], UnsupportedError, "read at i0"),
    "rows by the columns": (lambda x: x[: x.shape[1]], [(N, M)], UnsupportedError, "read at i0"),
    "the shorter side": (lambda x: enp.linalg.qr(x)[1], [(N, M)], UnsupportedError, "another program for n = "),
    "a number that a dtype does not hold": (lambda x: x.astype("int8") // x.shape[0], [(N,)], UnsupportedError, "does not fit int8"),
    "a size that may be zero": (lambda x: x[4:], [(N,)], UnsupportedError, r"found the size n - 4 in 0\.\.296, expected 1 or more"),
    "a row that some sizes lack": (lambda x: x[4], [(N,)], UnsupportedError, "read at 4, expected a place that every size"),
    "a row from the end that some lack": (lambda x: x[-5], [(N,)], UnsupportedError, "read at n - 5"),
    "a frame too wide to be mirrored": (lambda x: enp.pad(x, 9, mode="reflect"), [(N,)], UnsupportedError, "a larger least size"),
    "one of which little is seen": (
        lambda x: enp.maximum(enp.pad(x, 9, mode="reflect"), 3),
        [(N,)],
        UnsupportedError,
        "a larger least size",
    ),
    "one that is compared": (lambda x: enp.pad(x, 9, mode="symmetric") > 700, [(N,)], UnsupportedError, "a larger least size"),
    "a part of an odd size": (lambda x: x[::2], [(N,)], UnsupportedError, "another program for other values of n"),
    "half of it": (lambda x: x.reshape(x.shape[0] // 2, -1), [(N,)], UnsupportedError, "arithmetic with the size n"),
    "a remainder": (lambda x: x[: x.shape[0] % 3 + 1], [(N,)], UnsupportedError, "arithmetic with the size n"),
    "a decision": (lambda x: x if x.shape[0] - 1 > 10 else -x, [(N,)], TraceError, r"decision by the size n - 1 in 3\.\.299"),
    "an array of NumPy's": (lambda x: x + np.ones(x.shape), [(N,)], UnsupportedError, "made by NumPy; use eqsat.numpy.zeros, ones"),
    "a large array of NumPy's": (lambda x: x @ np.eye(x.shape[0] * x.shape[0]), [(N,)], UnsupportedError, "use eqsat.numpy.zeros"),
    "steps of a range": (lambda x: x * enp.arange(0, 2 * x.shape[0], 2), [(N,)], UnsupportedError, "found the step 2"),
    "shapes that do not fit": (lambda x, y: enp.stack([x, y]), [(N, 3), (M, 3)], ShapeError, r"\(n, 3\) and \(m, 3\), expected one shape"),
    "elements that do not fit": (lambda x: x.reshape(7, -1), [(N, 3)], ShapeError, r"found n \* 3 elements of shape \(n, 3\)"),
    "a row behind all": (lambda x: x[4000], [(N, 3)], BoundsError, r"expected -n\.\.n - 1"),
    "sizes that do not fit": (lambda x, y: x[1:] + y, [(N,), (N,)], ShapeError, "which do not broadcast"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_does_not_hold_for_all_sizes_is_refused(what: str) -> None:
    function, shapes, error, message = REFUSED[what]
    with pytest.raises(EqsatError, match=message) as caught:
        eqsat.optimize(function, *(eqsat.spec(shape, "float32") for shape in shapes))
    assert isinstance(caught.value, error)


@pytest.mark.parametrize(
    ("extent", "message"),
    [(N // 2, "found the extent n // 2, expected a sum of products"), (M - 1, r"found the size m - 1 in 0\.\.59"), (M - N, "-299")],
)
def test_specs_of_computed_sizes_are_checked(extent: Index, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        eqsat.spec((extent,), "float32")


def test_decisions_that_bounds_decide_are_fine() -> None:
    def function(x: Any) -> Any:
        rows = x.shape[0]
        known = (rows + 1 > rows, 2 * rows >= 8, rows - 5 < rows, rows == rows * 1, rows - rows == 0, -rows < 0, rows != rows + 1)
        return x * (2.0 if all(known) else 3.0)

    x = np.ones(7, "float32")
    np.testing.assert_array_equal(eqsat.optimize(function, eqsat.spec((N,), "float32"))(x), 2 * x)


def test_variables_of_sizes_are_those_of_specs() -> None:
    result = eqsat.optimize(lambda x, y: x.sum() + y.sum(), eqsat.spec((N, 2 * N), "float32"), eqsat.spec((N * M,), "float32"))
    assert [size.variable.name for size in result.program.sizes] == ["$n", "$m", "$m * n", "$n * 2"]
    assert isinstance(result.program.sizes[0].variable, Var)


@pytest.mark.parametrize("times", some([5, 6]))
def test_rows_put_behind_rows_do_not_flood_the_e_graph(times: int) -> None:
    """Minima of choices of one condition made 2.9 million nodes in one step before they rested."""

    def function(x: Any) -> Any:
        for _ in range(times):
            x = enp.concatenate([x, x[-1:]])
        return x

    result = eqsat.optimize(function, eqsat.spec((eqsat.dim("n", 1, 41), 2), "float64"), options=eqsat.Options(cache=False))
    assert "min-of-wheres" in result.report.rested
    assert result.report.nodes < 200_000
    for rows in (1, 2, 41):
        x = np.random.default_rng(rows).normal(size=(rows, 2))
        np.testing.assert_array_equal(result(x), np.concatenate([x, *[x[-1:]] * times]))
