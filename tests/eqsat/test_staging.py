"""Kernels in strips: the same values whatever the windows, the rows left over and the kernels in them; made where that is cheaper."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import eqsat
import eqsat.numpy as enp
from eqsat.ir.loops import For, statements
from eqsat.ir.loops_check import check_kernel
from eqsat.ir.tensor import Build, Call, Input, Read, Scalar, axes
from eqsat.kernels import staging
from eqsat.lowering.joining import staged
from eqsat.lowering.joining.staged import Window, windows
from eqsat.testing import assert_close
from tests.effort import examples, some
from tests.eqsat.programs import RandomProgram, programs
from tests.eqsat.test_programs import check_stages, returned, run_loops

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(3)


@pytest.fixture
def everywhere() -> Iterator[None]:
    """Every chain there is, in many strips."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(staging, "LEAST_BYTES", 0)
        patch.setattr(staging, "nest_ns", lambda kernel, target, costs: 0.0)
        patch.setattr(staged, "STRIP_BYTES", 600)
        patch.setattr(staging, "WHOLE_BYTES", 1 << 20)
        yield


def blurred_gradient(xp: Any, x: Any) -> Any:
    h = (x[:, :-2] + x[:, 1:-1] + x[:, 2:]) / 3
    v = (h[:-2] + h[1:-1] + h[2:]) / 3
    return xp.sqrt((v[1:-1, 2:] - v[1:-1, :-2]) ** 2 + (v[2:, 1:-1] - v[:-2, 1:-1]) ** 2)


def pooled(xp: Any, x: Any) -> Any:
    """Windows that go on by two rows of what goes on by one."""
    y = xp.tanh(x[:-1] * x[1:])
    return y[0:-1:2] + y[1::2]


def rows_of_a_product(xp: Any, x: Any) -> Any:
    return xp.tanh(x @ x.T) @ x


def two_results(xp: Any, x: Any) -> Any:
    y = xp.sin(x)
    z = y[1:] - y[:-1]
    return z * 2, z.sum(axis=1)


def by_columns(xp: Any, x: Any) -> Any:
    """What is transposed between two kernels has its rows along another dimension."""
    y = xp.exp(x).T
    return y[1:] / y[:-1]


def between_extremes(xp: Any, x: Any) -> Any:
    """The least and the greatest of three rows, which one kernel makes, and of these in three columns."""
    least, most = (f(f(x[:-2], x[1:-1]), x[2:]) for f in (xp.minimum, xp.maximum))
    least, most = (f(f(y[:, :-2], y[:, 1:-1]), y[:, 2:]) for f, y in ((xp.maximum, least), (xp.minimum, most)))
    return most - least


def of_two_kinds(xp: Any, x: Any) -> Any:
    """Short rows of which some are folded, beside others that one kernel makes with them."""
    y = xp.sin(x[:, :3])
    return xp.exp(x[:, :3]) @ x[:3, :3] + y * y[:, :1]


FUNCTIONS = (between_extremes, of_two_kinds, blurred_gradient, pooled, rows_of_a_product, two_results, by_columns)


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize(("shape", "function"), some(itertools.product([(34, 21), (24, 18), (7, 9), (41, 8)], FUNCTIONS), 3))
def test_strips_compute_what_the_program_says(function: Callable[..., Any], shape: tuple[int, int]) -> None:
    x = RNG.standard_normal(shape)
    expected = function(np, x)
    result = eqsat.optimize(lambda y: function(enp, y), x)
    for nest in result.nests:
        check_kernel(nest.kernel)
    some = expected if isinstance(expected, tuple) else (expected,)
    for found in (run_loops(result, [x]), result(x) if isinstance(expected, tuple) else (result(x),)):
        for one, right in zip(found, some, strict=True):
            assert_close(one, right)


@pytest.mark.usefixtures("everywhere")
def test_random_programs_in_strips_equal_numpy_at_every_stage() -> None:
    inside = 0

    @settings(max_examples=examples(90), deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(programs())
    def check(program: RandomProgram) -> None:
        nonlocal inside
        check_stages(program)
        written = eqsat.optimize(program, *program.arrays, options=eqsat.Options(rules=()))  # more kernels, so more chains
        program.check(returned(written.program, run_loops(written, program.arrays)), "loop nests")
        program.check(written(*program.arrays), "compiled")
        inside += sum(bool(nest.within) for nest in written.nests)

    check()
    assert inside > 10


@pytest.mark.usefixtures("everywhere")
def test_running_sums_of_what_is_made_in_strips_read_the_kernel_that_there_is() -> None:
    """The kernel of strips reads other tensors than what it makes, and so no running sum is computed of those."""

    def running(x: Any) -> Any:
        y = np.take(x, [0, 0], axis=0)
        return np.cumprod(np.sort(np.abs(y + y), axis=1), axis=0)

    x = RNG.integers(-6, 7, (4, 6)).astype(np.int8)
    result = eqsat.optimize(running, x, options=eqsat.Options(rules=()))
    for found in (*run_loops(result, [x]), result(x)):
        assert_close(found, running(x))


@pytest.mark.usefixtures("everywhere")
def test_arrays_of_no_axes_between_strips() -> None:
    x, six = RNG.standard_normal((4, 6)), np.array(6, np.int8)
    result = eqsat.optimize(lambda x, i: enp.abs(enp.take(x, i, axis=0, mode="wrap")), x, six, options=eqsat.Options(rules=()))
    assert_close(result(x, six), np.abs(x[2]))


def test_a_kernel_in_strips_is_made_of_a_dozen_at_most() -> None:
    def normalized(x: Any) -> Any:
        for _ in range(14):
            x = (x - x.mean(axis=1, keepdims=True)) / (1 + x.std(axis=1, keepdims=True))
        return x

    x = RNG.standard_normal((256, 128))
    result = eqsat.optimize(normalized, x)
    assert 2 <= len(result.nests) <= 4
    assert all(len(nest.within) < 12 for nest in result.nests)
    assert_close(result(x), normalized(x))


def test_chains_of_steps_that_do_the_same_are_given_up_once_two_have_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    priced: list[int] = []
    in_strips = staging._Chains.in_strips

    def counted(chains: staging._Chains, groups: Any) -> Any:
        priced.append(len(groups))
        return in_strips(chains, groups)

    monkeypatch.setattr(staging._Chains, "in_strips", counted)
    monkeypatch.setattr(staging, "nest_ns", lambda kernel, target, costs: 1e9)

    def tree(x: Any) -> Any:
        for _ in range(24):
            x = 0.49 * x[:-1] + 0.51 * x[1:]
        return x

    x = RNG.standard_normal((60, 501))
    counts = []
    for lost in (staging.MOST_LOST, 1000):
        monkeypatch.setattr(staging, "MOST_LOST", lost)
        priced.clear()
        result = eqsat.optimize(tree, x, options=eqsat.Options(cache=False))
        assert_close(result(x), tree(x))
        counts.append(len(priced))
    assert counts[0] <= 12 < 2 * counts[0] < counts[1]


def test_what_one_kernel_makes_together_is_in_strips_of_the_next() -> None:
    x = RNG.integers(0, 256, (722, 1282)).astype(np.uint8)
    result = eqsat.optimize(lambda y: between_extremes(enp, y), x)
    (nest,) = result.nests
    assert len(nest.within) == 2
    assert_close(result(x), between_extremes(np, x))


@pytest.mark.parametrize(("rows", "dtype"), [(9000, "float64"), (40_000, "float32")])
def test_short_rows_are_columns_only_where_all_are_that_a_kernel_makes(rows: int, dtype: str) -> None:
    x = RNG.random((rows, 3)).astype(dtype)
    assert_close(eqsat.jit(lambda y: of_two_kinds(enp, y))(x), of_two_kinds(np, x))


def test_a_stencil_of_stencils_is_one_kernel_where_memory_is_what_it_costs() -> None:
    x = RNG.standard_normal((1028, 1028)).astype(np.float32)
    result = eqsat.optimize(lambda y: blurred_gradient(enp, y), x)
    (nest,) = result.nests
    assert 1 <= len(nest.within) <= 2  # sums along rows may be computed for each of three rows
    assert isinstance(nest.kernel.body[0], For)
    assert nest.kernel.body[0].variable.name.startswith("strip")
    assert_close(result(x), blurred_gradient(np, x))
    assert len(eqsat.optimize(lambda y: blurred_gradient(enp, y), x[:20, :20]).nests) <= 3


def test_what_every_strip_would_read_whole_stays_outside() -> None:
    x, a, b = (RNG.standard_normal((512, 512)).astype(np.float32) for _ in range(3))
    assert not any(nest.within for nest in eqsat.optimize(lambda x, a, b: enp.tanh(x @ a) @ b, x, a, b).nests)


def attention(xp: Any, q: Any, k: Any, v: Any) -> Any:
    scores = q @ xp.swapaxes(k, -1, -2) / 8
    weights = xp.exp(scores - scores.max(axis=-1, keepdims=True))
    return (weights / weights.sum(axis=-1, keepdims=True)) @ v


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize(("batch", "rows", "width"), some([(2, 24, 4), (3, 17, 5), (1, 30, 7), (4, 9, 3)]))
def test_strips_of_a_batch_in_strips_of_rows_compute_what_the_program_says(batch: int, rows: int, width: int) -> None:
    q, k, v = (RNG.standard_normal((batch, rows, width)).astype(np.float32) for _ in range(3))
    result = eqsat.optimize(lambda *a: attention(enp, *a), q, k, v)
    for nest in result.nests:
        check_kernel(nest.kernel)
    for found in (*run_loops(result, [q, k, v]), result(q, k, v)):
        assert_close(found, attention(np, q, k, v))


def test_attention_with_heads_is_one_kernel_that_keeps_few_rows_of_scores() -> None:
    q, k, v = (RNG.standard_normal((2, 1024, 64)).astype(np.float32) for _ in range(3))
    result = eqsat.optimize(lambda *a: attention(enp, *a), q, k, v)
    (nest,) = result.nests
    loops = [stmt.variable.name for stmt in statements(nest.kernel.body) if isinstance(stmt, For)]
    assert sum(name.startswith("strip") for name in loops) == 2
    assert max(buffer.size for buffer in nest.kernel.scratch) < 512 * 1024
    assert_close(result(q, k, v), attention(np, q, k, v))


def nearest(xp: Any, x: Any, c: Any) -> Any:
    return xp.argmin(xp.sum((x[:, None, :] - c[None, :, :]) ** 2, axis=2), axis=1)


@pytest.mark.parametrize(("points", "centres", "width"), some([(20_000, 16, 2), (9_999, 12, 3), (5_001, 24, 1)], 2))
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_that_are_folded_lie_beside_each_other_in_strips(points: int, centres: int, width: int, dtype: str) -> None:
    x, c = (RNG.standard_normal((n, width)).astype(dtype) for n in (points, centres))
    x[::1000] = np.nan
    result = eqsat.optimize(lambda *a: nearest(enp, *a), x, c)
    (nest,) = result.nests
    check_kernel(nest.kernel)
    assert len(nest.within) == 1
    assert not any(isinstance(stmt, For) and stmt.kind == "tile" for stmt in statements(nest.kernel.body))  # nothing is turned
    np.testing.assert_array_equal(result(x, c), nearest(np, x, c))


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize(("points", "centres"), some([(40, 5), (33, 17), (57, 64), (18, 2)], 2))
def test_strips_that_are_turned_compute_what_the_program_says(points: int, centres: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def only_turned(chains: staging._Chains, groups: Any, parts: staged.Strips) -> Any:
        found.append(parts)
        turned = staged.turned(parts)
        return composed(chains, groups, parts if turned is None else turned)

    found: list[staged.Strips] = []
    composed = staging._Chains.composed
    monkeypatch.setattr(staging._Chains, "composed", only_turned)
    x, c = RNG.standard_normal((points, 3)), RNG.standard_normal((centres, 3))
    result = eqsat.optimize(lambda *a: (nearest(enp, *a), enp.max(enp.exp(a[0] @ a[1].T), axis=1)), x, c)
    for outputs in (run_loops(result, [x, c]), result(x, c)):
        np.testing.assert_array_equal(outputs[0], nearest(np, x, c))
        assert_close(outputs[1], np.exp(x @ c.T).max(axis=1))
    assert found


def build(shape: tuple[int, ...], *reads: Read) -> Build:
    total: Scalar = reads[0]
    for read in reads[1:]:
        total = Call("add", (total, read), "float64")
    return Build(shape, total)


def test_windows() -> None:
    x = Input("x", (40, 6), "float64")
    i, j = axes((40, 6))
    t = Build((40, 6), Read(x, (i, j)))
    k, m = axes((10, 6))
    near = build((10, 6), Read(t, (k + 1, m)), Read(t, (k + 4, 5 - m)))
    assert windows((near,), [t]) == {t: Window(0, 1, 1, 4)}
    twice = build((10, 6), Read(t, (k * 3 + 2, m)), Read(t, (k * 3 + 4, m)))
    assert windows((twice,), [t]) == {t: Window(0, 3, 2, 4)}
    assert windows((build((10, 6), Read(t, (9 - k, m))),), [t]) is None  # backwards
    assert windows((build((10, 6), Read(t, (k * 3, m)), Read(t, (k, m))),), [t]) is None  # at two speeds
    assert windows((build((10, 6), Read(t, (m, m))),), [t]) is None  # the rows of all


@pytest.mark.parametrize("shape", [(256, 256), (64, 48)])
def test_rows_that_a_strip_finds_by_remainders_are_those_of_the_program(shape: tuple[int, int], everywhere: None) -> None:
    def repeated(xp: Any, x: Any) -> Any:
        return xp.tile(xp.repeat(x * 2, 4, axis=1), (4, 1)) + 1

    alone = eqsat.Options(rules=eqsat.rules.without("generic-build"))
    x = RNG.standard_normal(shape).astype("float32")
    result = eqsat.optimize(lambda x: repeated(enp, x), x, options=alone)
    np.testing.assert_array_equal(result(x), repeated(np, x))
