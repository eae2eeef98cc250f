"""The candidates: ranges split or not, axes in several orders, ranges merged, reductions inside or outside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from eqsat.ir.loops import Buffer, Kernel, Stmt
from eqsat.ir.tensor import Build, Tensor, sources
from eqsat.lowering.nest import Nest, nest_of
from eqsat.lowering.order import merge, orders, unit_folds_innermost, widened
from eqsat.lowering.outward import outward
from eqsat.lowering.place import nested
from eqsat.lowering.split import split

MOST = 12


def candidates(build: Build, name: str, names: Mapping[Tensor, str]) -> tuple[Kernel, ...]:
    """Loop nests that compute a Build, at most MOST, the one as written first; they differ in speed only.

    `names` gives the buffer of the Build itself and of every tensor that its body reads.  Buffers are C-ordered; the
    kernel's are those read, in order of first read, and the output last.  Offsets are left for the caller to simplify.
    Sums may be added in another order; all else is equal bit for bit.
    """
    buffers = tuple(Buffer(names[t], t.dtype, t.size, "in") for t in sources(build))
    output = Buffer(names[build], build.dtype, build.size, "out")
    bodies = dict.fromkeys(_bodies(nest_of(build, names), output.name, frozenset(b.name for b in (*buffers, output))))
    return tuple(Kernel(name, (*buffers, output), body) for body in tuple(bodies)[:MOST])


def _bodies(written: Nest, output: str, buffers: frozenset[str]) -> Iterator[tuple[Stmt, ...]]:
    cut = split(written)
    yield nested(written, output, buffers)
    yield nested(cut, output, buffers)
    arranged = orders(merge(unit_folds_innermost(cut)))
    wide = [widened(nest) for nest in orders(unit_folds_innermost(cut))]
    for nest in dict.fromkeys((*(merge(nest) for nest in arranged), merge(written), *wide)):
        yield nested(nest, output, buffers)
        moved = outward(nest, output, buffers)
        if moved is not None:
            yield moved
