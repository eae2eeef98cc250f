"""Kernels that copy an array as it is, as of a stored tensor in another shape: where nothing else reads it, it is made as the copy.  What
a kernel copies whole into a part of its result, as a concatenation does, is made there, and whatever reads it reads it there."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from math import prod

from eqsat.codegen import parallel_extent
from eqsat.ir.loops import Bind, For, Kernel, Load, Store, renamed, statements
from eqsat.ir.tensor import Tensor
from eqsat.kernels.joined import Made, readers_of
from eqsat.lowering.joining.put_together import made_in_place, parts_of, read_in_place


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


@dataclass(frozen=True)
class PutTogether:
    """A kernel that makes what is copied in the copy, by what two made before, and those that read it there."""

    maker: Made
    whole: Made
    kernel: Kernel
    readers: Mapping[Made, Kernel]


def put_together(
    kernels: Mapping[Made, Kernel], levels: Mapping[Tensor, float], stay: Collection[Tensor], names: Mapping[Tensor, str]
) -> Iterator[PutTogether]:
    """Kernels that could make a part of the result of another one in place.  What that one reads for other parts has to be there before;
    and no work is taken from threads that share it."""
    makers = {names[tensor]: (made, tensor) for made in kernels for tensor in made}
    readers = readers_of(kernels)
    for whole, kernel in kernels.items():
        for part in parts_of(kernel):
            maker, tensor = makers.get(part.source, (whole, whole[0]))
            if maker == whole or tensor in stay:
                continue
            others = {made: read_in_place(kernels[made], part) for made in readers[part.source] if made != whole}
            before = [makers[buffer.name] for buffer in kernel.buffers if buffer.role == "in" and buffer.name in makers]
            together = made_in_place(kernels[maker], kernel, part)
            if together is None or any(levels[one] >= levels[maker[0]] for made, one in before if made != maker):
                continue
            if parallel_extent(kernels[maker]) is not None and parallel_extent(together) is None:
                continue
            found = {made: other for made, other in others.items() if other is not None}
            if len(found) == len(others):
                yield PutTogether(maker, whole, together, found)


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
