"""What short rows share, repeated along them in scratch memory, so that blocks of rows are one loop of whole vectors.

    out[i, j] = g(x[i, j], s[i])   ->   for blocks of rows: t[i, j] = s[i], and then out[ij] = g(x[ij], t[ij])

A row of 5 or 17 elements fills a part of its vectors, each of which takes as long as a whole one.  Where g is a function of many
instructions, that is more than what it takes to write the same number several times.
"""

from __future__ import annotations

from collections.abc import Iterator

from eqsat.ir.dtypes import itemsize
from eqsat.ir.index import Index, Var, substitute
from eqsat.ir.loops import Load, over
from eqsat.ir.tensor import Call, Scalar, operands, scalars
from eqsat.ir.vectorizable import JOINT_OPS, LANES
from eqsat.lowering.affine import Forms
from eqsat.lowering.blocks import BlockPlacer, Body, blocks_of
from eqsat.lowering.joining.renaming import Renaming
from eqsat.lowering.nest import Free, Nest, Several, free_variables
from eqsat.lowering.place import nested
from eqsat.lowering.products.product import VECTOR_BYTES

# elements of a row, rows that fill whole vectors together, and elements of a block of them
SHORTEST, LONGEST, ROWS, ELEMENTS = 5, 48, 16, 512
# what is repeated: each is another row that is written
MOST_REPEATED = 3
# operations of few instructions; sqrt takes as long as many
CHEAP = (JOINT_OPS - {"sqrt"}) | {"where", "astype", "floor", "ceil", "rint", "trunc", "sign", "fmax", "fmin"}


def repeated(nest: Nest, outputs: tuple[str, ...], buffers: frozenset[str]) -> Body | None:
    """The statements and their scratch memory; None where rows are long, fill whole vectors or share nothing."""
    if len(nest.loops) < 2 or not nest.loads:
        return None
    *others, row, place = nest.loops
    forms, extent = Forms(), place.extent
    if row.lo or place.lo or not SHORTEST <= extent <= LONGEST or row.extent < ROWS or not _goes_on(nest.index, row, place, forms):
        return None
    if extent * min(itemsize(load.dtype) for load in nest.loads) % VECTOR_BYTES == 0:
        return None
    free = free_variables(nest.body)
    flat = set(_flat(nest, free, forms))
    found = [term for term in _largest(nest.body, flat) if not free[term].isdisjoint((row, place))]
    if not 0 < len(found) <= MOST_REPEATED or any(term.dtype not in LANES for term in found):
        return None
    if not any(_is_dear(term, flat) for term in flat):
        return None
    rows = min(row.extent, max(1, ELEMENTS // extent // ROWS) * ROWS)
    (block,), first = blocks_of({row: rows})
    placer, known = BlockPlacer(buffers), dict[Scalar, Scalar]()
    opened = placer.nest(placer.top, *others, block)
    line, element = Var(f"{row.name}_row", 0, rows - 1), Var(f"{row.name}{place.name}", 0, rows * extent - 1)
    for term in found:
        name = placer.memory(rows * extent, term.dtype)
        below = Nest((line, place), over(term, {row: first[row] + line}), line * extent + place)
        opened[-1].body += Renaming(f"_{name}", {}, {}).block(nested(below, (name,), placer.taken))
        known[term] = Load(name, element, term.dtype)
    here: dict[Var, Index] = {row: first[row], place: element}
    whole = Nest((element,), over(nest.body, here, known), substitute(nest.index, here))
    opened[-1].body += nested(whole, outputs, placer.taken)
    placer.close_all(opened)
    return tuple(placer.top.body), tuple(placer.scratch)


def _goes_on(index: Index, row: Var, place: Var, forms: Forms) -> bool:
    """Whether a row begins where the one before it ends."""
    form = forms(index)
    return form.stride(place) == 1 and form.stride(row) == place.extent


def _flat(nest: Nest, free: Free, forms: Forms) -> Iterator[Scalar]:
    """The terms that one loop over all elements of rows computes, made of what lies in memory as they do; none within a fold."""
    *_, row, place = nest.loops
    flat = set[Scalar]()
    for term in scalars(nest.body):
        if not free[term].issubset(nest.loops):
            continue
        if isinstance(term, Load):
            known = _goes_on(term.index, row, place, forms)
        else:
            # truth values are computed again, of what they compare
            known = isinstance(term, Call | Several) and (term.dtype == "bool" or any(arg in flat for arg in operands(term)))
        if known:
            flat.add(term)
            yield term


def _is_dear(term: Scalar, flat: set[Scalar]) -> bool:
    """Whether an operation takes as long as several others; divisions by what a row shares are products."""
    if not isinstance(term, Call) or term.dtype == "bool":
        return False
    return term.op not in CHEAP or (term.op == "divide" and term.args[1] in flat)


def _largest(body: Scalar, flat: set[Scalar]) -> list[Scalar]:
    """The largest terms that are not flat."""
    found = dict.fromkeys(arg for term in flat for arg in operands(term) if arg not in flat)
    return list(found) if body in flat else []
