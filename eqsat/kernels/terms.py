"""What the searches for kernels speak of: builds of one kernel, what a kernel costs, and who lowers and prices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from eqsat.ir.loops import Kernel
from eqsat.ir.tensor import Build, Tensor
from eqsat.options import Options

# builds that one kernel computes
Group = tuple[Build, ...]
# what a kernel costs, and the kernel
Priced = tuple[float, Kernel]


class Lowering(Protocol):
    """`cheapest`: the cheapest kernel of every group and what it costs, given the names of their tensors."""

    options: Options

    def cheapest(self, groups: Sequence[Group], names: Mapping[Tensor, str]) -> Mapping[Group, Priced]: ...
