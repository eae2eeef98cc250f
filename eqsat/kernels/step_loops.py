"""Loops for steps: running sums, and values put or added at places.  Others are calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from eqsat.ir.dtypes import carrier
from eqsat.ir.host import keywords
from eqsat.ir.loops import Buffer, Kernel
from eqsat.ir.ops import BOOL_FOLD, FOLD_OF
from eqsat.ir.steps import HostCall, PlacedStep
from eqsat.ir.tensor import Size, Tensor
from eqsat.lowering.scan import is_ahead, is_of_rows, scan
from eqsat.lowering.scatter import scattered

# functions of NumPy that loops compute as well
SCANS = {"cumulative_sum": "sum", "cumulative_prod": "prod", "cumulative_max": "max", "cumulative_min": "min"}
SCATTERS = {"scatter": None, **{f"scatter_{op}": fold for op, fold in FOLD_OF.items()}}


def step_kernel(placed: PlacedStep, names: Mapping[Tensor, str], sizes: tuple[Size, ...]) -> Kernel | None:
    """Loops for a step, where there are some."""
    step = placed.step
    if not isinstance(step, HostCall):
        return None
    if (found := scan_of(placed)) is not None:
        return _scan(placed, found, names, sizes)
    if step.invocation.function in SCATTERS:
        return _scatter(placed, step, names, sizes)
    return None


@dataclass(frozen=True)
class Running:
    """A running fold along an axis; `initial`: whether the value that an empty one has stands in front."""

    op: str
    axis: int
    initial: bool


def scan_of(placed: PlacedStep) -> Running | None:
    """The running fold that a step is, where it is one."""
    step = placed.step
    if not isinstance(step, HostCall) or step.invocation.function not in SCANS:
        return None
    named, (made,) = keywords(step.invocation, 1), placed.results
    op = SCANS[step.invocation.function]
    return Running(BOOL_FOLD.get(op, op) if made.dtype == "bool" else op, int(named["axis"]), bool(named.get("include_initial", False)))


def _scan(placed: PlacedStep, found: Running, names: Mapping[Tensor, str], sizes: tuple[Size, ...]) -> Kernel | None:
    (given,), (made,), axis = placed.given, placed.results, found.axis
    if not given.size or not is_of_rows(given.shape, axis, sizes) or not is_ahead(found.op, made.dtype, prod(given.shape[axis + 1 :])):
        return None
    source, result = Buffer(names[given], given.dtype, given.size, "in"), Buffer(names[made], made.dtype, made.size, "out")
    return scan(found.op, given.shape, axis, found.initial, source, result, placed.name, sizes)


def _scatter(placed: PlacedStep, step: HostCall, names: Mapping[Tensor, str], sizes: tuple[Size, ...]) -> Kernel | None:
    (first, places, values), (made,) = placed.given, placed.results
    if carrier(made.dtype) != made.dtype:  # NumPy rounds sums of 16 bits at every step
        return None
    if any(size.marker in tensor.shape for size in sizes for tensor in placed.given):
        return None
    given = tuple(Buffer(names[one], one.dtype, one.size, "in") for one in (first, places, values))
    combine = SCATTERS[step.invocation.function]
    combine = BOOL_FOLD.get(combine, combine) if combine is not None and made.dtype == "bool" else combine
    result = Buffer(names[made], made.dtype, made.size, "out")
    axis = int(keywords(step.invocation, 3).get("axis", 0))
    return scattered(first.shape, axis, (given[0], given[1], given[2]), result, combine, placed.name, sizes)
