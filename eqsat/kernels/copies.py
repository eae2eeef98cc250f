"""Kernels that copy an array as it is, as of a stored tensor in another shape: where nothing else reads it, it is made as the copy."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from math import prod

from eqsat.ir.loops import Bind, For, Kernel, Load, Store, renamed, statements
from eqsat.ir.tensor import Tensor
from eqsat.kernels.joined import Made, readers_of


def copies(kernels: Mapping[Made, Kernel], stay: Collection[Tensor], names: Mapping[Tensor, str]) -> Iterator[tuple[Made, Made, Kernel]]:
    """What is made, the copy of it, which alone reads it, and the kernel that makes the copy at once.  Some tensors stay, for others than
    kernels read them."""
    readers, makers = readers_of(kernels), {names[made[0]]: made for made in kernels if len(made) == 1}
    for copy, kernel in kernels.items():
        source = copied(kernel)
        made = makers.get(source) if source is not None else None
        if source is None or made is None or made[0] in stay or readers[source] != {copy}:
            continue
        again = renamed(kernels[made], {source: names[copy[0]]})
        if again is not None:
            yield made, copy, again


def copied(kernel: Kernel) -> str | None:
    """The array that a kernel copies, each element to where it is in it; None for any other kernel."""
    sizes = {buffer.size for buffer in kernel.buffers}
    if len(kernel.buffers) != 2 or len(sizes) > 1 or kernel.sizes:
        return None
    *loops, store = [stmt for stmt in statements(kernel.body) if not isinstance(stmt, Bind)]
    if (
        not isinstance(store, Store)
        or store.combine is not None
        or not isinstance(store.value, Load)
        or store.value.index is not store.index
    ):
        return None
    counted = prod(loop.variable.extent for loop in loops if isinstance(loop, For))
    return store.value.buffer if all(isinstance(loop, For) for loop in loops) and {counted} == sizes else None
