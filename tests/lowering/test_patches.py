"""Short runs that change places, in patches: the same values as the build, by the interpreter and as machine code."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from eqsat.codegen import compile_kernels
from eqsat.ir.index import Index
from eqsat.ir.loops import Kernel
from eqsat.ir.loops_check import check_kernel
from eqsat.ir.tensor import Build, Call, Input, Read, Tensor, axes, tensors
from eqsat.lowering import hoist, type_indices
from eqsat.lowering.candidates import Schedules
from eqsat.lowering.patches import PATCH_BYTES, PATCH_ROWS
from tests.lowering.builds import inputs_of, reference, run


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


def in_patches(build: Build) -> list[Kernel]:
    names: dict[Tensor, str] = {tensor: tensor.name for tensor in tensors(build) if isinstance(tensor, Input)}
    schedules = Schedules((build,), "k", {**names, build: "out"})
    return [kernel for schedule, kernel in schedules.kernels() if schedule.way == "patches"]


def check(build: Build) -> None:
    (expected,) = reference(build)
    found = in_patches(build)
    assert found
    for kernel in found:
        for form in (kernel, hoist(kernel)):
            check_kernel(form)
            np.testing.assert_array_equal(run(form, build)[0], expected)
        routine = compile_kernels([type_indices(hoist(kernel))]).routine("k")
        values = {tensor.name: array.ravel() for tensor, array in inputs_of(build).items()}
        out = np.zeros(build.size, build.dtype)
        routine([*(values[buffer.name] for buffer in kernel.buffers[:-1]), out])
        np.testing.assert_array_equal(out.reshape(build.shape), expected)


@pytest.mark.parametrize("name", CASES)
def test_patches_hold_what_the_build_does(name: str) -> None:
    check(CASES[name])


@settings(max_examples=8, deadline=None, derandomize=True)
@given(st.integers(2, 4 * PATCH_ROWS), st.integers(2, 100), st.integers(2, 9), st.sampled_from([changed, rotated]))
def test_any_extents(h: int, w: int, c: int, form: object) -> None:
    check((changed if form is changed else rotated)(h, w, c))


def test_long_runs_and_runs_that_stay_have_no_patches() -> None:
    i, j, k = axes((40, 40, 4))
    assert not in_patches(Build((40, 40, 4), Call("negative", (read("a", (40, 40, 4), i, j, k),), "float32")))
    assert not in_patches(changed(40, 40, PATCH_BYTES // 4))
