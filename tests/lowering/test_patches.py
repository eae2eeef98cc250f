"""Short runs that change places, in patches: the same values as the build, by the interpreter and as machine code."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from eqsat.ir.index import Index
from eqsat.ir.tensor import Build, Call, Input, Read, axes
from eqsat.lowering.movements.patches import LEAST_ROWS, PATCH_BYTES
from tests.effort import examples
from tests.lowering.builds import check_offered, offered


def read(name: str, shape: tuple[int, ...], *indices: Index, dtype: str = "float32") -> Read:
    return Read(Input(name, shape, dtype), indices)


def changed(h: int, w: int, c: int, dtype: str = "float32") -> Build:
    """The axes of an image change places, its channels stay."""
    i, j, k = axes((w, h, c))
    return Build((w, h, c), read("a", (h, w, c), j, i, k, dtype=dtype))


def rotated(h: int, w: int, c: int) -> Build:
    """A quarter turn of an image, with its channels in reverse."""
    i, j, k = axes((w, h, c))
    return Build((w, h, c), read("a", (h, w, c), j, w - 1 - i, c - 1 - k))


def heads(b: int, h: int, t: int, d: int) -> Build:
    """Rows for each head, and something added where it is written."""
    axis = n, i, j, k = axes((b, t, h, d))
    shape = (b, t, h, d)
    return Build(shape, Call("add", (read("a", (b, h, t, d), n, j, i, k), read("c", shape, *axis)), "float32"))


CASES = {
    "whole patches": changed(64, 64, 4),
    "what is left over": changed(37, 83, 3),
    "bytes": changed(20, 130, 3, "uint8"),
    "numbers of two parts": changed(19, 23, 2, "complex64"),
    "short sides": changed(3, 5, 6),
    "backwards": rotated(21, 40, 3),
    "heads": heads(2, 5, 11, 16),
}


@pytest.mark.parametrize("name", CASES)
def test_patches_hold_what_the_build_does(name: str) -> None:
    check_offered(CASES[name], "patches")


@settings(max_examples=examples(8, least=3), deadline=None, derandomize=True)
@given(st.integers(2, 4 * LEAST_ROWS), st.integers(2, 100), st.integers(2, 9), st.sampled_from([changed, rotated]))
def test_any_extents(h: int, w: int, c: int, form: object) -> None:
    check_offered((changed if form is changed else rotated)(h, w, c), "patches")


def test_long_runs_and_runs_that_stay_have_no_patches() -> None:
    i, j, k = axes((40, 40, 4))
    assert not offered(Build((40, 40, 4), Call("negative", (read("a", (40, 40, 4), i, j, k),), "float32")), "patches")
    assert not offered(changed(40, 40, PATCH_BYTES // 4), "patches")
