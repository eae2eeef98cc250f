"""Small blocks of elements that change places, computed as tiles: whole vectors are loaded, put in another order, and stored.

    for n: for j < 9: for i < 7: out[63*n + 7*j + i] = f(a[63*n + 9*i + j])
    for a: .. for e: for b: out[.. + 20*c + 5*e + b] = f(a[.. + 24*c + 6*e + a])       with few a, b and e

The block is made of the loops along which memory goes on in what is written, and in what is read.  LLVM gathers such elements one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from eqsat.ir.index import Index, Var, substitute
from eqsat.ir.loops import For, Stmt, Store, with_offsets
from eqsat.ir.shuffle import FARTHEST, FEWEST, MOST, shuffle_of
from eqsat.ir.tensor import has_fold
from eqsat.lowering.affine import Affine, Forms, rebuilt
from eqsat.lowering.blocks import BlockPlacer, blocks_of
from eqsat.lowering.nest import Nest, Several

# of small blocks so many are one, where they lie side by side
SEVERAL = (16, 8, 4, 2)


def in_shuffles(nest: Nest, outputs: tuple[str, ...], buffers: frozenset[str]) -> tuple[Stmt, ...] | None:
    """The statements; None where no small block of elements changes places."""
    if len(nest.loops) < 2 or has_fold(nest.body) or isinstance(nest.body, Several) or not nest.is_joint:
        return None
    sizes = _block(nest)
    if sizes is None:
        return None
    blocks, first = blocks_of({v: size for v, size in sizes.items() if size < v.extent}, "shuffle")
    inner = {v: v if size == v.extent else Var(f"{v.name}_inner", 0, size - 1) for v, size in sizes.items()}
    here: dict[Var, Index] = {v: first[v] + inner[v] for v in first}
    forms = Forms()

    def place(index: Index) -> Index:
        return rebuilt(forms(substitute(index, here)))

    store = Store(outputs[0], place(nest.index), with_offsets(nest.body, place))
    loops = tuple(inner[v] for v in nest.loops if v in sizes)
    shuffle = shuffle_of(loops, store, MOST)
    if shuffle is None:
        return None
    body: Stmt = store
    for loop in reversed(loops):
        body = For(loop, "tile", (body,))
    placer = BlockPlacer(buffers)
    opened = placer.nest(placer.top, *(v for v in nest.loops if v not in sizes), *blocks)
    opened[-1].body.append(body)
    placer.close_all(opened)
    return tuple(placer.top.body)


def _block(nest: Nest) -> Mapping[Var, int] | None:
    """The loops of a block, each with how many of its iterations are in it."""
    forms = Forms()
    every = [forms(index) for index in nest.offsets]
    if any(form.stride(v) is None for form in every for v in nest.loops):
        return None
    sizes: dict[Var, int] = {}
    while prod(sizes.values()) <= MOST:
        found = [_next_loop(form, sizes, nest.loops, FARTHEST if form is not every[0] else 1) for form in every]
        runs = [(run, loop) for run, loop in found if loop is not None]
        free = [(run, loop) for run, loop in runs if loop not in sizes and prod(sizes.values()) * loop.extent <= MOST]
        if not free:
            shared = {loop for _, loop in runs if loop not in sizes}
            count = next((count for count in SEVERAL if count * prod(sizes.values()) <= MOST), 1)
            if count > 1 and len(shared) == 1:
                (loop,) = shared
                sizes[loop] = min(count, loop.extent)
            break
        _, loop = min(free, key=lambda pair: pair[0])
        sizes[loop] = loop.extent
    return sizes if FEWEST <= prod(sizes.values()) <= MOST else None


def _next_loop(form: Affine, sizes: Mapping[Var, int], loops: Sequence[Var], farthest: int) -> tuple[int, Var | None]:
    """How far an access goes in memory along the whole loops of a block, forwards or backwards, and the loop along which it goes on; it may
    leave out less elements than it reads."""
    run, strides = 1, {abs(stride): v for v in loops if (stride := form.stride(v))}
    while True:
        step = next((step for step in range(run, min(2 * run, run + farthest)) if step in strides), None)
        if step is None:
            return run, None
        if sizes.get(strides[step]) != strides[step].extent:
            return run, strides[step]
        run = step * strides[step].extent
