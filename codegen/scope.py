"""What the code of a block can use."""

from __future__ import annotations

from collections import ChainMap

from eqsat.codegen.builder import Value
from eqsat.ir.tensor import Scalar
from eqsat.ir.typed import Typed


class Scope:
    """What a block can use: index terms and temporaries of the blocks around it, elements of its own."""

    def __init__(self, indices: ChainMap[Typed, Value], temps: ChainMap[str, Value]) -> None:
        self.indices = indices
        self.temps = temps
        self.elements: dict[Scalar, Value] = {}

    def inner(self) -> Scope:
        return Scope(self.indices.new_child(), self.temps.new_child())
