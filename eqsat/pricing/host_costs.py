"""What a call of a library function is estimated to cost: its unit of work, counted by shapes, times cycles taken from measurements."""

from __future__ import annotations

from collections.abc import Callable
from math import log2, prod

from eqsat.ir.steps import HostCall
from eqsat.ir.tensor import Shape
from eqsat.pricing.target import Target

# finding the function, checking its arguments, copying its results
CALL_CYCLES = 22_000.0
Work = Callable[[HostCall], float]


def elements(step: HostCall) -> float:
    """Elements read and made."""
    return float(sum(tensor.size for tensor in step.given) + sum(prod(shape) for shape, _ in step.made))


def sorted_elements(step: HostCall) -> float:
    """n log n, summed over the axes that are sorted, which may be the longest ones."""
    shape = _first(step)
    return prod(shape) * log2(max(2, *shape, 2))


def lookups(step: HostCall) -> float:
    """One binary search an element made."""
    return prod(step.made[0][0]) * log2(max(2, prod(_first(step))))


def factored(step: HostCall) -> float:
    """m n min(m, n) for every matrix."""
    shape = _first(step)
    return float(prod(shape) * min(shape[-2:])) if len(shape) > 1 else float(prod(shape))


def _first(step: HostCall) -> Shape:
    return step.given[0].shape if step.given else ()


# cycles of one unit of work of NumPy 2.4 with OpenBLAS on one core, float64, at sizes around a hundred thousand elements
HOST_CYCLES: dict[str, tuple[Work, float]] = {
    "sort": (sorted_elements, 1.0),
    "argsort": (sorted_elements, 3.0),
    "scatter": (elements, 2.0),
    "scatter_add": (elements, 13.0),
    "topk": (sorted_elements, 13.0),
    "sorted_part": (elements, 5.0),
    "partition": (elements, 2.5),
    "argpartition": (elements, 5.0),
    "cumulative_sum": (elements, 3.6),
    "cumulative_prod": (elements, 3.6),
    "cumulative_max": (elements, 3.6),
    "cumulative_min": (elements, 3.6),
    "searchsorted": (lookups, 24.0),
    "histogram": (elements, 30.0),
    "linalg.inv": (factored, 0.4),
    "linalg.solve": (factored, 0.2),
    "linalg.det": (factored, 0.15),
    "linalg.slogdet": (factored, 0.15),
    "linalg.cholesky": (factored, 0.15),
    "linalg.qr": (factored, 1.0),
    "linalg.svd": (factored, 3.0),
    "linalg.svdvals": (factored, 1.0),
    "linalg.eigh": (factored, 1.5),
    "linalg.eigvalsh": (factored, 0.6),
    "linalg.pinv": (factored, 3.5),
    "linalg.matrix_rank": (factored, 1.0),
    "linalg.matrix_power": (factored, 1.0),
    "linalg.cond": (factored, 1.0),
}
FFT = (sorted_elements, 4.5)
OTHER = (elements, 15.0)


def host_ns(step: HostCall, target: Target) -> float:
    """Nanoseconds of a call."""
    name = step.invocation.function
    work, cycles = HOST_CYCLES.get(name, FFT if name.startswith("fft.") else OTHER)
    return (CALL_CYCLES + cycles * work(step)) / target.ghz
