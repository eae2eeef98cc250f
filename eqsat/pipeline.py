"""The pipeline as results see it: what they ask of the driver afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from eqsat.extraction.cheapest import Extracted
from eqsat.ir.tensor import Program
from eqsat.kernels.picking import PlacedKernel
from eqsat.options import Options
from eqsat.pricing.costs import Cost
from eqsat.running.plan import Plan


class Finished(Protocol):
    """A program that went through the whole pipeline: an `eqsat.Result`."""

    @property
    def program(self) -> Program: ...

    @property
    def cost(self) -> Cost: ...

    @property
    def nests(self) -> tuple[PlacedKernel, ...]: ...

    def compile(self) -> Plan:
        """The plan of kernels."""

    def __call__(self, *arrays: Any) -> Any:
        """Compute."""


@dataclass(frozen=True)
class Pipeline:
    """finish    lowers and prices other outputs of the same program
    optimize  takes another program, from the beginning
    """

    finish: Callable[[Extracted], Finished]
    optimize: Callable[[Program, Options], Finished]
