"""Sums of products in tiles: the same values as the build, whatever the extents leave over, by the interpreter and as machine code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import eqsat
from eqsat.codegen import parallel_extent
from eqsat.codegen.builder import Registers
from eqsat.codegen.llvm.machine import assembly_text
from eqsat.ir.index import Index
from eqsat.ir.loops import For, Kernel, Load, Store, statements
from eqsat.ir.loops_check import check_kernel
from eqsat.ir.tensor import Build, Call, Input, Literal, Read, Reduce, Scalar, axes, reduction
from eqsat.lowering import hoist, type_indices
from eqsat.lowering.candidates import Schedules
from eqsat.lowering.movements.turned import SIDE
from eqsat.lowering.products import product
from eqsat.lowering.products.product import MOST_VECTORS, STRIP_VECTORS, VECTORS, VECTORS_MADE, products_of, strip_shape
from tests.codegen.modules import emit_module
from tests.effort import THOROUGH, examples, some
from tests.lowering.builds import lowered, machine, machines, names_of, offered, reference, run


def times(*factors: Scalar) -> Scalar:
    total = factors[0]
    for factor in factors[1:]:
        total = Call("multiply", (total, factor), total.dtype)
    return total


def read(name: str, shape: tuple[int, ...], *indices: Index, dtype: str = "float64") -> Read:
    return Read(Input(name, shape, dtype), indices)


def matmul(m: int, k: int, n: int, dtype: str = "float64") -> Build:
    (i, j), r = axes((m, n)), reduction(0, k)
    return Build((m, n), Reduce("sum", r, times(read("a", (m, k), i, r, dtype=dtype), read("b", (k, n), r, j, dtype=dtype))))


def transposed(m: int, k: int, n: int, dtype: str = "float64") -> Build:
    (i, j), r = axes((m, n)), reduction(0, k)
    return Build((m, n), Reduce("sum", r, times(read("a", (k, m), r, i, dtype=dtype), read("b", (n, k), j, r, dtype=dtype))))


def batched(b: int, m: int, k: int, n: int) -> Build:
    (h, i, j), r = axes((b, m, n)), reduction(0, k)
    return Build((b, m, n), Reduce("sum", r, times(read("a", (b, m, k), h, i, r), read("b", (b, k, n), h, r, j))))


def finished(m: int, k: int, n: int) -> Build:
    """maximum(2 * a @ b + bias, 0), with a factor of the rows."""
    (i, j), r = axes((m, n)), reduction(0, k)
    body = times(Literal(2.0, "float64"), read("a", (m, k), i, r), read("d", (m,), i), read("b", (k, n), r, j))
    total = Call("add", (Reduce("sum", r, body), read("bias", (n,), j)), "float64")
    return Build((m, n), Call("maximum", (total, Literal(0.0, "float64")), "float64"))


def convolution(channels: int, height: int, width: int, filters: int, step: int = 1, positive: bool = False) -> Build:
    """Of 3 x 3, at every `step`-th place; `positive`: what is negative is 0, and something is added."""
    shape = (filters, (height - 3) // step + 1, (width - 3) // step + 1)
    (o, y, x), (c, p, q) = axes(shape), (reduction(0, channels), reduction(1, 3), reduction(2, 3))
    place = read("x", (channels, height, width), c, y * step + p, x * step + q)
    total: Scalar = Reduce("sum", c, Reduce("sum", p, Reduce("sum", q, times(read("w", (filters, channels, 3, 3), o, c, p, q), place))))
    if positive:
        total = Call("maximum", (Call("add", (total, read("d", shape, o, y, x)), "float64"), Literal(0.0, "float64")), "float64")
    return Build(shape, total)


def contracted(rows: int, outer: int, inner: int, columns: int) -> Build:
    """sum of a[i, p, q] * b[q, p, j]: two folds that no single stride serves."""
    (i, j), p, q = axes((rows, columns)), reduction(0, outer), reduction(1, inner)
    factors = read("a", (rows, outer, inner), i, p, q), read("b", (inner, outer, columns), q, p, j)
    return Build((rows, columns), Reduce("sum", p, Reduce("sum", q, times(*factors))))


def gated(m: int, k: int, terms: int, n: int) -> Build:
    """(a @ b) * (1 + c @ d) - the sum of a row of a: two products with different numbers of terms, and a fold that no column changes."""
    (i, j), r, p, q = axes((m, n)), reduction(0, k), reduction(0, terms), reduction(0, k)
    one = Reduce("sum", r, times(read("a", (m, k), i, r), read("b", (k, n), r, j)))
    other = Reduce("sum", p, times(read("c", (m, terms), i, p), read("d", (terms, n), p, j)))
    gate = times(one, Call("add", (Literal(1.0, "float64"), other), "float64"))
    return Build((m, n), Call("subtract", (gate, Reduce("sum", q, read("a", (m, k), i, q))), "float64"))


def apart(a: Scalar, b: Scalar, op: str = "multiply") -> Scalar:
    """The square of a difference, or another function of it."""
    difference = Call("subtract", (a, b), a.dtype)
    return times(difference, difference) if op == "multiply" else Call(op, (difference,), a.dtype)


def distances(m: int, k: int, n: int, dtype: str = "float64") -> Build:
    """The roots of summed squares of the differences between rows of a and rows of b."""
    (i, j), r = axes((m, n)), reduction(0, k)
    total = Reduce("sum", r, apart(read("a", (m, k), i, r, dtype=dtype), read("b", (n, k), j, r, dtype=dtype)))
    return Build((m, n), Call("sqrt", (total,), dtype))


def differences(m: int, k: int, n: int, dtype: str = "float64") -> Build:
    """Summed differences between rows of a, twice, and columns of b, the least of which is 1."""
    (i, j), r = axes((m, n)), reduction(0, k)
    twice = times(Literal(2.0, dtype), read("a", (m, k), i, r, dtype=dtype))
    between = apart(twice, read("b", (k, n), r, j, dtype=dtype), "absolute")
    return Build((m, n), Reduce("sum", r, Call("maximum", (between, Literal(1.0, dtype)), dtype)))


def matched(channels: int, height: int, width: int, filters: int) -> Build:
    """Summed absolute differences between an image and filters of 3 x 3 at every place."""
    (o, y, x), (c, p, q) = axes((filters, height - 2, width - 2)), (reduction(0, channels), reduction(1, 3), reduction(2, 3))
    place = read("x", (channels, height, width), c, y + p, x + q)
    inside = apart(place, read("w", (filters, channels, 3, 3), o, c, p, q), "absolute")
    return Build((filters, height - 2, width - 2), Reduce("sum", c, Reduce("sum", p, Reduce("sum", q, inside))))


CASES = {
    "one tile": matmul(4, 8, 16),
    "rows left over": matmul(29, 8, 16),
    "columns left over": matmul(8, 5, 37),
    "both left over": matmul(31, 7, 53),
    "short rows": matmul(9, 6, 5),
    "single precision": matmul(19, 12, 70, "float32"),
    "strips and blocks": matmul(40, 6, 96),
    "more terms than one run": matmul(3, 1280, 5),
    "both transposed": transposed(23, 9, 34),
    "a batch": batched(3, 11, 6, 20),
    "with an epilogue and a factor of rows": finished(17, 8, 33),
    "convolution": convolution(2, 8, 19, 5),
    "a convolution in parts": convolution(130, 3, 8, 5),
    "two lines of a small image": convolution(3, 6, 10, 5),
    "lines left over": convolution(2, 13, 9, 7),
    "lines that end as vectors do": convolution(2, 8, 10, 6),
    "every second place": convolution(3, 15, 19, 9, step=2),
    "lines of every third place with an epilogue": convolution(2, 20, 20, 5, step=3, positive=True),
    "lines in parts": convolution(120, 7, 8, 5),
    "lines in parts with an epilogue": convolution(115, 8, 9, 3, positive=True),
    "columns left over in parts": matmul(5, 1100, 21),
    "parts of one iteration": contracted(4, 3, 600, 5),
    "a last part of one iteration": contracted(3, 7, 170, 6),
    "an epilogue after several parts": finished(7, 1100, 9),
    "two products": gated(13, 6, 9, 37),
    "two products, one in parts of fewer terms than the other": gated(5, 1030, 1000, 7),
    "two products in strips and blocks": gated(40, 6, 4, 96),
    "two tiles side by side": matmul(19, 7, 56),
    "two tiles side by side, a part of a vector left over": finished(25, 9, 39),
    "two tiles side by side that are one row high": matmul(2, 9, 54),
    "two lines side by side": convolution(2, 6, 30, 9),
    "lines side by side with an epilogue, the tiles end within lines": convolution(2, 9, 30, 13, positive=True),
    "short lines side by side with an epilogue": convolution(3, 20, 15, 13, positive=True),
    "lines side by side in parts with an epilogue": convolution(120, 6, 30, 9, positive=True),
    "two products side by side, in parts": gated(9, 1030, 1000, 54),
    "distances": distances(19, 7, 37),
    "distances in parts": distances(5, 1100, 21),
    "differences of what is computed": differences(13, 9, 70, "float32"),
    "differences at places": matched(3, 8, 19, 5),
    "differences in two lines": matched(2, 6, 30, 9),
}


def in_tiles(*builds: Build) -> list[Kernel]:
    found = [kernel for kernel in lowered(*builds) if any(isinstance(s, For) and s.kind == "tile" for s in statements(kernel.body))]
    for kernel in found:
        check_kernel(kernel)
        check_kernel(hoist(kernel))
    return found


@pytest.mark.parametrize("name", some(CASES))
def test_tiles_compute_what_the_build_says(name: str) -> None:
    build = CASES[name]
    kernels, expected = in_tiles(build), reference(build)[0]
    assert kernels
    for kernel in kernels:
        np.testing.assert_array_equal(machine(kernel, build), expected)
    many_terms = "part" in name or "terms" in name
    for kernel in kernels[:THOROUGH] if many_terms else kernels:  # in Python this takes half a minute
        for one in (hoist(kernel),) if build.size > 500 or many_terms else (kernel, hoist(kernel)):
            np.testing.assert_array_equal(run(one, build)[0], expected)


@pytest.mark.parametrize(
    ("m", "k", "n"),
    some(
        [
            *((300, 256, 200), (300, 256, 4), (156, 300, 96), (1500, 20, 150), (40, 1100, 700), (700, 1031, 40), (130, 2049, 530)),
            *((9, 9001, 11), (130, 130, 130), (33, 500, 77), (192, 96, 192)),
        ],
        4,
    ),
)
def test_blocks_end_where_their_axes_end(m: int, k: int, n: int) -> None:
    """The last block, group and tile of an axis compute once more what others computed; many terms are added up in parts."""
    for form in (matmul, transposed):
        expected = reference(form(m, k, n))[0]
        for kernel in in_tiles(form(m, k, n)):
            np.testing.assert_array_equal(machine(kernel, form(m, k, n)), expected)


@pytest.mark.parametrize(
    "shape", [(130, 130, 130), (192, 192, 192), (320, 320, 320), (8192, 64, 64), (40, 300, 500), (1000, 1000, 3), (64, 2000, 8)]
)
def test_two_threads_share_products_evenly(shape: tuple[int, int, int]) -> None:
    (rows, terms, columns), blocks = shape, 1
    result = eqsat.optimize(lambda a, b: a @ b, eqsat.spec((rows, terms), "float32"), eqsat.spec((terms, columns), "float32"))
    for kernel in result.loops:
        blocks = parallel_extent(kernel) or 0
        assert blocks % 2 == 0 or blocks > 16


@settings(max_examples=examples(40), deadline=None)
@given(
    st.sampled_from([matmul, transposed, distances, differences]),
    st.integers(2, 40),
    st.integers(4, 40),
    st.integers(4, 80),
    st.sampled_from(["float32", "float64"]),
    st.booleans(),
)
def test_products_of_any_shape(form: Callable[..., Build], m: int, k: int, n: int, dtype: str, exact: bool) -> None:
    build = form(m, k, n, dtype)
    for kernel in in_tiles(build)[:1]:
        made = machine(kernel, build, "exact" if exact else "default")
        np.testing.assert_allclose(made, reference(build)[0], rtol=1e-6 if form is distances else 0)  # of roots alone one is rounded


def test_columns_that_lie_across_memory_are_copied_in_squares() -> None:
    (kernel,) = offered(transposed(30, 40, 50), "tiled")
    tiles = [stmt for stmt in statements(kernel.body) if isinstance(stmt, For) and stmt.kind == "tile" and isinstance(stmt.body[0], Store)]
    copies = [
        tile for tile in tiles if isinstance(store := tile.body[0], Store) and isinstance(store.value, Load) and store.value.buffer == "b"
    ]
    assert [tile.variable.extent for tile in copies] == [SIDE]


@pytest.mark.parametrize(("m", "k", "n"), [(13, 6, 37), (7, 1100, 9), (300, 64, 200)])
def test_a_kernel_of_several_results_with_products(m: int, k: int, n: int) -> None:
    """Three products of one matrix, as for queries, keys and values."""
    (i, j), r = axes((m, n)), reduction(0, k)
    builds = tuple(Build((m, n), Reduce("sum", r, times(read("a", (m, k), i, r), read(name, (k, n), r, j)))) for name in "bcd")
    kernels = in_tiles(*builds)
    assert kernels
    for kernel in kernels:
        for found, expected in zip(machines(kernel, builds), reference(*builds), strict=True):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("registers", some([Registers(64, 24), Registers(32, 12), Registers(16, 12), Registers(16, 24)], 2))
def test_every_width_of_registers_is_legal_code(registers: Registers) -> None:
    for name in ("both left over", "convolution", "with an epilogue and a factor of rows"):
        for kernel in in_tiles(CASES[name]):
            text = emit_module([type_indices(hoist(kernel))], "default", registers=registers)
            assert f"<{registers.bytes // 8} x double>" in text
            assert assembly_text(text)


@given(st.integers(1, 3000), st.integers(4, 3000), st.sampled_from([4, 8, 16]), st.sampled_from([VECTORS, VECTORS_MADE]))
def test_the_sums_of_a_tile_fit_the_registers(rows: int, columns: int, lanes: int, sums: int) -> None:
    tiles = strip_shape(rows, columns, lanes, most_sums=sums)
    assert sum(wide for _, wide in tiles) <= min(columns, STRIP_VECTORS * lanes)
    for high, wide in tiles:
        vectors = -(-wide // lanes)
        assert 1 <= high <= rows
        assert 1 <= vectors <= MOST_VECTORS
        assert high * vectors + vectors + 1 <= VECTORS
        assert high * vectors <= sums


def test_seven_vectors_are_four_and_three_each_as_high_as_its_registers_allow() -> None:
    assert strip_shape(64, 112, 16) == ((6, 64), (8, 48))
    assert strip_shape(64, 56 * 56, 16, unit=56) == ((6, 64), (8, 48))
    assert strip_shape(64, 78, 16) == ((8, 48), (8, 30))
    assert strip_shape(33, 78, 16) == ((7, 48), (11, 30))
    assert strip_shape(64, 1024, 16) == ((6, 64),)


@settings(max_examples=examples(20), deadline=None)
@given(st.integers(1, 4), st.integers(5, 20), st.integers(7, 24), st.integers(2, 14), st.integers(1, 3), st.booleans())
def test_convolutions_of_any_shape(channels: int, height: int, width: int, filters: int, step: int, positive: bool) -> None:
    build = convolution(channels, height, width, filters, step, positive)
    for kernel in in_tiles(build)[:1]:
        np.testing.assert_array_equal(machine(kernel, build), reference(build)[0])


def test_a_tile_is_as_wide_as_several_lines_of_a_small_image() -> None:
    build = convolution(4, 9, 9, 32)
    found = products_of(Schedules((build,), "k", names_of(build)).written)
    assert found is not None
    assert (found.columns.extent, found.columns.unit) == (49, 7)
    widths = [wide for _, wide in strip_shape(32, 49, 8, unit=7)]
    assert sum(widths) % 7 == 0
    (kernel, *_) = in_tiles(build)
    lanes = [
        stmt.variable for stmt in statements(kernel.body) if isinstance(stmt, For) and "_lane" in stmt.variable.name and stmt.kind == "tile"
    ]
    assert [lane.extent for lane in lanes] == widths


def test_lines_are_no_columns_where_one_fills_a_tile_or_weights_change_with_them() -> None:
    wide = products_of(Schedules((convolution(4, 10, 34, 32),), "k", names_of(convolution(4, 10, 34, 32))).written)
    assert wide is not None
    assert wide.columns.lines is None
    (o, y, x), r = axes((8, 6, 7)), reduction(0, 9)
    build = Build((8, 6, 7), Reduce("sum", r, times(read("a", (8, 6, 9), o, y, r), read("b", (9, 6, 7), r, y, x))))
    found = products_of(Schedules((build,), "k", names_of(build)).written)
    assert found is not None
    assert found.columns.lines is None


def test_what_is_no_sum_of_products_has_no_tiles() -> None:
    i, j = axes((8, 16))
    r = reduction(0, 8)
    a, b = read("a", (8, 8), i, r), read("b", (8, 16), r, j)
    for body in (
        Reduce("max", r, times(a, b)),
        Reduce("sum", r, Call("exp", (Call("add", (a, b), "float64"),), "float64")),
        Reduce("sum", r, times(Call("add", (a, b), "float64"), read("e", (8,), r))),
        Reduce("max", r, apart(a, b)),
        Reduce("sum", r, apart(read("a", (16, 8), j, r), b)),
        Reduce("sum", r, times(a, read("c", (8, 16, 8), i, j, r))),
        Reduce("sum", r, times(b, b)),
        Call("add", (Reduce("sum", r, times(a, b)), Reduce("max", r, b)), "float64"),
    ):
        assert not offered(Build((8, 16), body), "tiled")


@pytest.mark.parametrize("shape", [(1, 40, 70), (3, 50, 66), (14, 40, 72)])
def test_a_large_factor_that_stays_in_its_place_is_read_in_small_parts(shape: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every part reads some of its rows from end to end; the sums are kept meanwhile."""
    monkeypatch.setattr(product, "FAR_BYTES", 0)
    build = matmul(*shape)
    schedules = Schedules((build,), "k", names_of(build))
    kernels = [kernel for schedule, kernel in schedules.kernels() if schedule.way == "tiled"]
    assert kernels or shape[0] == 1
    for kernel in kernels:
        assert any(isinstance(stmt, For) and stmt.variable.name.endswith("_part") for stmt in statements(kernel.body))
        check_kernel(hoist(kernel))
        np.testing.assert_array_equal(run(hoist(kernel), build)[0], reference(build)[0])


@pytest.mark.parametrize(("stride", "groups"), [(1, 4), (2, 4), (2, 2)])
def test_convolutions_of_groups_are_in_tiles(stride: int, groups: int) -> None:
    """Channels are divided by how many a group has: where they are split so, what is read does not depend on the one within."""
    rng = np.random.default_rng(0)
    x, w = (rng.uniform(-1, 1, shape).astype("float32") for shape in ((1, 32, 17, 17), (32, 32 // groups, 3, 3)))
    result = eqsat.optimize(lambda x, w: eqsat.numpy.conv2d(x, w, stride=stride, groups=groups), x, w)
    assert any(isinstance(stmt, For) and stmt.kind == "tile" for kernel in result.loops for stmt in statements(kernel.body))
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))[:, :, ::stride, ::stride]
    parts = zip(np.split(windows, groups, axis=1), np.split(w, groups, axis=0), strict=True)
    expected = np.concatenate([np.einsum("bchwij,ocij->bohw", part, filters) for part, filters in parts], axis=1)
    np.testing.assert_allclose(result(x, w), expected, rtol=1e-4, atol=1e-4)
