"""Every schedule that a search may come across computes what the build says."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings

from eqsat.ir.index import Var
from eqsat.ir.loops import Kernel
from eqsat.ir.loops_check import check_kernel
from eqsat.ir.tensor import Build, Input, Read, Reduce
from eqsat.lowering import hoist
from eqsat.lowering.candidates import Schedules
from eqsat.lowering.schedule import TILES, Schedule
from tests.effort import examples, some
from tests.lowering.builds import builds, machine, names_of, reference, run
from tests.lowering.test_tiles import CASES


def around(schedules: Schedules, steps: int, seed: int) -> list[Kernel]:
    """The loop nests of the start, and of one random walk from each of its schedules."""
    chance, found = random.Random(seed), []
    for schedule, kernel in schedules.kernels():
        found.append(kernel)
        here = schedule
        for _ in range(steps):
            here = chance.choice([here, *here.neighbours()])
            walked = schedules.kernel(here)
            found += [walked] if walked is not None else []
    return list(dict.fromkeys(found))


@settings(max_examples=examples(60), deadline=None)
@given(builds())
def test_schedules_of_random_builds(build: Build) -> None:
    for kernel in around(Schedules((build,), "k", names_of(build)), 2, build.size):
        hoisted = hoist(kernel)
        check_kernel(hoisted)
        np.testing.assert_array_equal(run(hoisted, build)[0], reference(build)[0])


@pytest.mark.parametrize("name", some(CASES, 5))
def test_schedules_of_products(name: str) -> None:
    build = CASES[name]
    kernels = around(Schedules((build,), "k", names_of(build)), 3, 7)
    for kernel in random.Random(1).sample(kernels, min(6, len(kernels))):
        check_kernel(hoist(kernel))
        np.testing.assert_array_equal(machine(kernel, build), reference(build)[0])


@pytest.mark.parametrize("tile", some(TILES, 2))
def test_tiles_of_every_shape(tile: tuple[int, int]) -> None:
    for name in ("both left over", "single precision", "with an epilogue and a factor of rows", "an epilogue after several parts"):
        schedules = Schedules((CASES[name],), "k", names_of(CASES[name]))
        kernel = schedules.kernel(Schedule(schedules.written, "tiled", tile))
        assert kernel is not None
        np.testing.assert_array_equal(machine(kernel, CASES[name]), reference(CASES[name])[0])


def test_no_schedule_reorders_sums_where_that_is_not_allowed() -> None:
    build = CASES["one tile"]
    exact = Schedules((build,), "k", names_of(build), tiles=False)
    assert exact.kernel(Schedule(exact.written, "tiled")) is None
    assert all(schedule.way != "tiled" for schedule, _ in exact.kernels())


def test_blocks_of_columns_that_threads_share_are_blocks_again() -> None:
    """A block of a block has a name of its own."""
    x = Input("x", (90, 700), "float32")
    row, column = Var("r0", 0, 89), Var("i0", 0, 699)
    build = Build((700,), Reduce("sum", row, Read(x, (row, column))))
    schedules = Schedules((build,), "k", names_of(build))
    shared = [schedule for schedule, _ in schedules.kernels() if any(v.name.endswith("_share") for v in schedule.nest.loops)]
    assert shared
    for schedule in shared:
        for other in (schedule, *schedule.neighbours()):
            kernel = schedules.kernel(other)
            if kernel is not None:
                check_kernel(hoist(kernel))
                np.testing.assert_allclose(machine(kernel, build), reference(build)[0], rtol=1e-5)
