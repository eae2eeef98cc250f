"""What the code of a block can use."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping

from eqsat.codegen.builder import Value
from eqsat.codegen.elements.known_divisors import Divisor
from eqsat.ir.tensor import Scalar
from eqsat.ir.typed import Typed


class Scope:
    """What a block can use: index terms and temporaries of the blocks around it, elements of its own; of a loop the parts of what it
    divides by."""

    def __init__(self, indices: ChainMap[Typed, Value], temps: ChainMap[str, Value]) -> None:
        self.indices = indices
        self.temps = temps
        self.elements: dict[Scalar, Value] = {}
        self.divisors: Mapping[str, Divisor] = {}

    def inner(self, divisors: Mapping[str, Divisor] | None = None) -> Scope:
        inner = Scope(self.indices.new_child(), self.temps.new_child())
        inner.divisors = {**self.divisors, **(divisors or {})}
        return inner
