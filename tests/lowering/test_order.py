from __future__ import annotations

import pytest

from eqsat.lowering.ranges.order import ENOUGH, LEAST_ABREAST, LEAST_BLOCK, LEAST_HALF, block_size


def smallest_divisor(extent: int, others: int, smallest: int) -> int | None:
    """What `block_size` says of a loop that is not done often enough by itself, by trying every number."""
    long = extent >= 2 * smallest
    least = max(smallest, -(-extent * others // ENOUGH)) if long else max(LEAST_HALF, -(-extent // 2))
    return next((n for n in range(least, extent // 2 + 1) if extent % n == 0), None if long else extent)


@pytest.mark.parametrize("smallest", [LEAST_BLOCK, LEAST_ABREAST])
@pytest.mark.parametrize("others", range(1, ENOUGH))
def test_a_block_is_the_smallest_that_divides_the_loop_and_leaves_enough(others: int, smallest: int) -> None:
    extents = range(3000)
    found = [block_size(extent, others, smallest) for extent in extents]
    assert found == [smallest_divisor(extent, others, smallest) for extent in extents]


def test_a_loop_that_is_done_often_enough_is_one_block() -> None:
    assert block_size(1000, ENOUGH, LEAST_BLOCK) == 1000


def test_blocks_of_very_long_loops_are_found_at_once() -> None:
    assert block_size(10**15, 1, LEAST_BLOCK) == 10**15 // ENOUGH
    assert block_size(10**15 + 37, 1, LEAST_BLOCK) is None  # a prime
