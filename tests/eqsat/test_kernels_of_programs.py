"""What is fused: named programs take no more kernels than derived by hand, and cost decides between storing and computing again."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.result import Result
from tests.eqsat.kernel_programs import PROGRAMS, arrays


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_takes_as_many_kernels_as_it_needs(name: str) -> None:
    named = PROGRAMS[name]
    given = arrays(named)
    result = eqsat.optimize(named.function, *given)
    assert len(result.nests) <= named.most, named.why
    assert result.cost <= result.original_cost
    exactly = [array.astype(np.float64) if array.dtype == np.float32 else array for array in given]
    np.testing.assert_allclose(result(*given), named.function(*exactly), rtol=2e-4, atol=2e-5)


def shapes_stored(function: Any, *shapes: tuple[int, ...]) -> tuple[Result, list[tuple[int, ...]]]:
    result = eqsat.optimize(function, *(eqsat.spec(shape, "float32") for shape in shapes))
    return result, [build.shape for nest in result.nests for build in (*nest.within, *nest.builds)]


def test_what_is_cheap_is_computed_again() -> None:
    """x + 1 is read by two sums over other axes: storing 4 MB costs more than adding twice."""
    _, stored = shapes_stored(lambda x: ((x + 1.0).sum(axis=0), (x + 1.0).max(axis=1)), (1024, 1024))
    assert stored == [(1024,), (8, 1024), (1024,)]  # the sums in eight parts, for threads, in one kernel with the maxima


def test_what_is_dear_is_stored() -> None:
    """tanh(x) enters a product, where every element is read 256 times."""
    _, stored = shapes_stored(lambda x, w: enp.tanh(x) @ w, (256, 256), (256, 256))
    assert stored == [(256, 256), (256, 256)]


def test_what_is_dear_and_read_once_is_not_stored() -> None:
    _, stored = shapes_stored(lambda x: enp.tanh(x).sum(axis=1), (256, 256))
    assert stored == [(256,)]


def test_the_same_expression_is_stored_or_not_by_its_size() -> None:
    """exp(x) @ v: a vector reads each element once, a matrix often."""
    assert shapes_stored(lambda x, v: enp.exp(x) @ v, (256, 256), (256,))[1] == [(256,)]
    assert shapes_stored(lambda x, v: enp.exp(x) @ v, (256, 256), (256, 64))[1] == [(256, 256), (256, 64)]


def test_two_names_of_the_same_elements_are_not_stored_for_each_other() -> None:
    result, stored = shapes_stored(
        lambda x: enp.log(enp.exp(x - x.max(axis=1, keepdims=True)).sum(axis=1)) + x.max(axis=1),
        (256, 512),
    )
    # the sums and the maxima, in one kernel, for logarithms in vectors
    assert [[build.shape for build in nest.builds] for nest in result.nests] == [[(256,), (256,)], [(256,)]]
    assert len(stored) == 3
    assert result.cost < result.original_cost


def test_facts_about_variables_do_not_reach_the_loops_of_programs() -> None:
    def transposed(x: Any) -> Any:
        return x.reshape(8, 8).transpose(1, 0).reshape(64) * 2.0

    x = np.arange(64.0)
    with eqsat.assume(eqsat.var("i0", 0, 63) < 8):
        np.testing.assert_array_equal(eqsat.optimize(transposed, x)(x), transposed(x))


def test_elements_that_depend_on_no_loop_are_read_under_any() -> None:
    """Zeros of one shape are equal to those of another, whatever loops they are read at."""

    def function(x: Any) -> Any:
        return enp.expand_dims(enp.abs(enp.sum(enp.zeros_like(x), axis=())), 0)

    x = np.array([True, False, True])
    np.testing.assert_array_equal(eqsat.optimize(function, x)(x), function(x))


def test_sums_of_products_stay_in_registers_beside_the_numbers_of_a_function_behind_them() -> None:
    """LLVM would keep those of the tanh in registers over the fold, and the sums in memory."""

    def program(x: Any, w: Any, b: Any) -> Any:
        y = enp.conv2d(x, w, 1, 1) + b[None, :, None, None]
        return 0.5 * y * (1.0 + enp.tanh(0.8 * (y + 0.045 * y * y * y)))

    result, _ = shapes_stored(program, (1, 32, 32, 32), (64, 32, 3, 3), (64,))
    blocks = re.split(r"^\S+:", result.assembly, flags=re.MULTILINE)
    fold = max(blocks, key=lambda block: block.count("fma")).partition("\tj")[0]
    assert not re.findall(r"mov\w+\s+%[xyz]mm\d+, \S*\(%rsp\)", fold)
