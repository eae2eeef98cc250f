"""Small blocks of elements that change places in registers: the same values as the build, by the interpreter and as machine code."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import eqsat
import eqsat.numpy as enp
from eqsat import Options
from eqsat.ir.index import Index, Var
from eqsat.ir.loops import Load, Store
from eqsat.ir.shuffle import LEAST_SQUARE, MOST, MOST_LANES, shuffle_of
from eqsat.ir.tensor import Build, Call, Input, Literal, Read, axes
from tests.effort import examples, some
from tests.lowering.builds import check_offered, offered


def read(name: str, shape: tuple[int, ...], *indices: Index, dtype: str = "float32") -> Read:
    return Read(Input(name, shape, dtype), indices)


def turned(shape: tuple[int, ...], order: tuple[int, ...], dtype: str = "float32") -> Build:
    """An array with its axes in another order, and a number added."""
    made = tuple(shape[k] for k in order)
    loops = axes(made)
    value = read("a", shape, *(loops[order.index(k)] for k in range(len(shape))), dtype=dtype)
    return Build(made, Call("add", (value, Literal(1.0 if dtype.startswith("float") else 1, dtype)), dtype))


def repeated(rows: int, times: int) -> Build:
    i, _ = axes((rows, times))
    return Build((rows, times), Call("multiply", (read("a", (rows,), i), read("a", (rows,), i)), "float32"))


def backwards(shape: tuple[int, int, int]) -> Build:
    n, i, j = axes((shape[0], shape[2], shape[1]))
    return Build((shape[0], shape[2], shape[1]), Call("negative", (read("a", shape, n, j, shape[2] - 1 - i),), "float32"))


def two_ways(count: int, side: int) -> Build:
    shape = (count, side, side)
    n, i, j = axes(shape)
    return Build(shape, Call("subtract", (read("a", shape, n, i, j), read("a", shape, n, j, i)), "float32"))


def windows(rows: int, columns: int) -> Build:
    """Blocks of 2 x 2 of an image, each as four numbers in a row."""
    i, j, k, m = axes((rows, columns, 2, 2))
    return Build((rows, columns, 2, 2), read("a", (2 * rows, 2 * columns), i * 2 + k, j * 2 + m))


def flipped(rows: int, columns: int, channels: int, dtype: str = "uint8") -> Build:
    """Pixels from right to left."""
    i, j, c = axes((rows, columns, channels))
    return Build((rows, columns, channels), read("a", (rows, columns, channels), i, columns - 1 - j, c, dtype=dtype))


def some_channels(rows: int, columns: int, channels: int, first: int, kept: int, dtype: str = "uint8") -> Build:
    i, j, c = axes((rows, columns, kept))
    return Build((rows, columns, kept), read("a", (rows, columns, channels), i, j, c + first, dtype=dtype))


def by_columns(rows: int, columns: int) -> Build:
    """Short rows times a row of numbers: of those a block has vectors that repeat."""
    i, j = axes((rows, columns))
    return Build((rows, columns), Call("multiply", (read("a", (rows, columns), i, j), read("w", (columns,), j)), "float32"))


def weighted_channels(rows: int, columns: int) -> Build:
    """Three channels times a fourth, which lies in the same vectors."""
    i, j, c = axes((rows, columns, 3))
    pixel = [read("a", (rows, columns, 4), i, j, place) for place in (c, c - c + 3)]
    return Build((rows, columns, 3), Call("multiply", tuple(pixel), "float32"))


CASES = {
    "rows of three by columns": by_columns(100, 3),
    "rows of seventeen by columns": by_columns(40, 17),
    "weighted channels": weighted_channels(6, 35),
    "pixels flipped": flipped(5, 37, 3),
    "pixels of floats flipped": flipped(4, 19, 3, "float32"),
    "pixels of seven bytes flipped": flipped(6, 33, 7),
    "few pixels flipped": flipped(7, 3, 5),
    "three of four channels": some_channels(5, 37, 4, 0, 3),
    "the last three of four channels": some_channels(5, 37, 4, 1, 3),
    "three of four channels of doubles": some_channels(4, 19, 4, 0, 3, "float64"),
    "three of five channels": some_channels(4, 19, 5, 1, 3),
    "small matrices": turned((30, 7, 9), (0, 2, 1)),
    "tiny matrices": turned((50, 3, 3), (0, 2, 1)),
    "fewer than a block": turned((3, 3, 3), (0, 2, 1)),
    "doubles": turned((20, 5, 6), (0, 2, 1), "float64"),
    "bytes": turned((40, 3, 8), (0, 2, 1), "uint8"),
    "wide integers": turned((20, 5, 5), (0, 2, 1), "int64"),
    "six axes": turned((3, 5, 2, 4, 4, 6), (5, 3, 0, 2, 4, 1)),
    "one element more than a vector": turned((9, 5, 13), (0, 2, 1)),
    "short rows of long ones": turned((6, 4, 7, 10), (0, 3, 2, 1)),
    "repeated": repeated(100, 5),
    "repeated pairs": repeated(37, 2),
    "backwards": backwards((20, 6, 7)),
    "less its transpose": two_ways(20, 5),
    "windows": windows(5, 24),
}


@pytest.mark.parametrize("name", CASES)
def test_blocks_hold_what_the_build_does(name: str) -> None:
    check_offered(CASES[name], "shuffled")


@settings(max_examples=examples(40), deadline=None, derandomize=True)
@given(st.lists(st.integers(1, 7), min_size=2, max_size=5), st.data())
def test_any_order_of_any_axes(shape: list[int], data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(shape))))
    dtype = data.draw(st.sampled_from(["float32", "float64", "int16"]))
    build = turned(tuple(shape), tuple(order), dtype)
    if offered(build, "shuffled"):
        check_offered(build, "shuffled")


def test_what_has_no_blocks() -> None:
    large = turned((4, 200, 300), (0, 2, 1))
    alone = turned((40, 3, 50), (2, 0, 1))  # three elements side by side where they are read, one where they are written
    as_it_is = turned((10, 3, 4), (0, 1, 2))
    assert not any(offered(build, "shuffled") for build in (large, alone, as_it_is))


def test_a_block_is_vectors_and_each_element_is_in_one() -> None:
    i, j = Var("i", 0, 8), Var("j", 0, 6)
    load = Load("a", j * 9 + i, "float32")
    shuffle = shuffle_of((i, j), Store("out", i * 7 + j, load), 16)
    assert shuffle is not None
    assert [part.width for part in shuffle.results] == [16, 16, 16, 16]  # the last one begins with an element of the one before
    base, found = shuffle.found[load]
    for (row, column), (number, lane) in found.items():
        assert shuffle.sources[base][number].begin + lane == column * 9 + row
    assert {point for lanes in shuffle.order for point in lanes} == set(found)


def test_bytes_are_put_in_order_by_sixteen() -> None:
    """LLVM did not come to an end over this one, with vectors of 64."""
    i, j = Var("i", 0, 7), Var("j", 0, 11)
    shuffle = shuffle_of((i, j), Store("out", i * 12 + j, Load("a", j * 8 + i, "uint8")), 64)
    assert shuffle is not None
    assert max(part.width for part in shuffle.results) == MOST_LANES

    def program(xp: Any, x: Any) -> Any:
        return xp.transpose(xp.reshape(xp.repeat(x, 3, 1) * 2 + 1, (21, 8)), (1, 0))

    x = np.arange(56, dtype=np.uint8).reshape(7, 8)
    np.testing.assert_array_equal(eqsat.optimize(lambda x: program(enp, x), x)(x), program(np, x))


def test_what_lies_between_is_loaded_where_it_is_less() -> None:
    i, j = Var("i", 0, 15), Var("j", 0, 2)
    found = shuffle_of((i, j), Store("out", i * 3 + j, Load("a", i * 4 + j, "uint8")), 16)
    assert found is not None
    (parts,) = found.sources.values()
    assert [(part.begin, part.width) for part in parts] == [(0, 16), (16, 16), (32, 16), (47, 16)]  # it ends with the last element
    assert sum(part.width for part in found.results) == 48
    alone = Var("k", 0, 15)
    assert shuffle_of((alone,), Store("out", alone, Load("a", alone * 2, "float32")), 16) is None


def test_loads_that_lie_in_the_same_vectors_share_them() -> None:
    block, i, j = Var("n", 0, 9), Var("i", 0, 15), Var("j", 0, 2)
    color, alpha = (Load("a", block * 64 + i * 4 + place, "float32") for place in (j, 3))
    other = Load("b", block * 48 + i * 3 + j, "float32")
    value = Call("add", (Call("multiply", (color, alpha), "float32"), other), "float32")
    found = shuffle_of((i, j), Store("out", block * 48 + i * 3 + j, value), 16)
    assert found is not None
    assert {load.buffer: len(parts) for load, parts in found.sources.items()} == {"a": 4, "b": 3}
    assert {base.buffer for base, _ in found.found.values()} == {"a", "b"}
    for load in (color, alpha):
        base, places = found.found[load]
        for (row, column), (number, lane) in places.items():
            at = found.sources[base][number].begin + lane + (3 if base is alpha else 0)
            assert at == 4 * row + (column if load is color else 3)


def test_blocks_that_are_squares_are_turned_by_halves() -> None:
    for side, is_shuffled in ((LEAST_SQUARE, False), (LEAST_SQUARE - 1, True)):
        i, j = Var("i", 0, side - 1), Var("j", 0, side - 1)
        found = shuffle_of((i, j), Store("out", i * side + j, Load("a", j * side + i, "float32")), 16)
        assert (found is not None) is is_shuffled
    assert MOST < 16 * 16


@pytest.mark.parametrize("numerics", ["exact", "default", "fast"])
def test_nothing_is_gathered(numerics: Any) -> None:
    x = np.random.default_rng(0).random((200, 7, 9), np.float32)
    result = eqsat.optimize(lambda x: enp.transpose(x, (0, 2, 1)) * 2, x, options=Options(numerics=numerics))
    kernel = re.search(r"^kernel_0:\n(.*?)^\.Lfunc_end", result.assembly, re.DOTALL | re.MULTILINE)
    assert kernel
    assert not re.search(r"gather|vinsertps|\tvmovss", kernel[1])
    np.testing.assert_array_equal(result(x), x.transpose(0, 2, 1) * 2)


@pytest.mark.parametrize(
    "program",
    [
        lambda xp, x: xp.flip(x, axis=1),
        lambda xp, x: x[:, :, :3],
        lambda xp, x: x[:, ::-1, 1:],
    ],
)
@pytest.mark.parametrize("shape", [(48, 64, 4), (20, 33, 5)])
def test_small_elements_are_not_moved_one_by_one(program: Callable[[Any, Any], Any], shape: tuple[int, ...]) -> None:
    """LLVM puts bytes of pixels in their places one by one; what it does is priced as that."""
    x = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    result = eqsat.optimize(lambda x: program(enp, x), x)
    assert "tile" in str(result.nests[0])
    np.testing.assert_array_equal(result(x), program(np, x))


PROGRAMS: dict[str, tuple[Callable[[Any, Any], Any], tuple[int, ...]]] = {
    "pixels": (lambda xp, x: x.reshape(4, 6, 8, 2, 2).transpose(0, 1, 3, 2, 4).reshape(4, 12, 16), (4, 6, 8, 4)),
    "into channels": (lambda xp, x: x.reshape(3, 5, 2, 8, 2).transpose(0, 1, 3, 2, 4).reshape(3, 5, 8, 4) - 1, (3, 10, 16)),
    "groups": (lambda xp, x: x.reshape(-1, 4, 8).swapaxes(1, 2).reshape(x.shape) * 1.5, (50, 32)),
    "part": (lambda xp, x: x[:, :, 1:6].swapaxes(1, 2) + 1, (70, 7, 9)),
    "repeated": (lambda xp, x: xp.repeat(x, 5, axis=1) * 2, (30, 20)),
    "symmetric": (lambda xp, x: (x + x.swapaxes(1, 2)) / 2, (60, 6, 6)),
    "products": (lambda xp, x: xp.einsum("bij->bji", x) @ x, (20, 5, 3)),
    "normalized": (lambda xp, x: x.swapaxes(1, 2) / x.sum(axis=0).T, (60, 3, 5)),
    "parts repeated": (lambda xp, x: xp.repeat(x.real + x.imag, 2, axis=1), (30, 20)),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "complex64", "float16"])
def test_programs_equal_numpy(name: str, dtype: str) -> None:
    program, shape = PROGRAMS[name]
    x = np.random.default_rng(len(name)).integers(1, 20, shape).astype(dtype)
    expected = program(np, x)
    np.testing.assert_allclose(eqsat.jit(lambda x: program(enp, x))(x), expected, rtol=1e-2 if dtype == "float16" else 1e-6)


@pytest.mark.parametrize("order", some(list(permutations(range(4))), 5))
def test_all_orders_of_four_axes(order: tuple[int, ...]) -> None:
    x = np.arange(6 * 5 * 7 * 4, dtype=np.float32).reshape(6, 5, 7, 4)
    np.testing.assert_array_equal(eqsat.jit(lambda x: enp.transpose(x, order) + 1)(x), x.transpose(order) + 1)
