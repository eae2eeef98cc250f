"""Short rows side by side: rows of memory that are folded, or that a result goes along, become columns of scratch memory.

    for i: t = fold over k of f(a[c*i + k]); out[i] = g(t)         with few k, and many i

Alone a short row fills a part of a vector, and its fold ends with steps across that vector.  So blocks of rows are turned in
registers first, and what is computed for one row is computed for all of a block, one in each lane.  Where out has rows too,
out[n*i + j], a block of them is computed in scratch memory and turned back.  Functions of the elements of a row that are needed for
several loops along it, as the exponentials of softmax for their sum and for the result, are computed once, in scratch memory.  Records,
of which fields that lie apart are computed with, are short rows as well:

    for i: out[i] = x[9*i] * x[9*i + 4] - x[9*i + 1] * x[9*i + 3]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from eqsat.ir.dtypes import itemsize
from eqsat.ir.index import Const, Index, Var, depends, substitute, variables
from eqsat.ir.loops import Load, Store, over
from eqsat.ir.tensor import Call, Reduce, Scalar, is_size, scalars
from eqsat.ir.vectorizable import JOINT_OPS as CHEAP, LANES
from eqsat.lowering.affine import Forms, rebuilt
from eqsat.lowering.blocks import BlockPlacer, Body, first_of, over_forms, tile_over
from eqsat.lowering.folds.columns import one_by_one
from eqsat.lowering.joining.renaming import Renaming
from eqsat.lowering.nest import Nest, Several, free_variables
from eqsat.lowering.place import Scope
from eqsat.lowering.ranges.order import ENOUGH
from eqsat.lowering.ranges.unroll import unrolled

# rows of a block, and elements of a row
UPRIGHT_ROWS = 16
LONGEST_UPRIGHT = 64
# fields of records that are worth turning, and elements of records out of which LLVM picks no vectors
LEAST_FIELDS, LEAST_STEP = 4, 8
# bytes of results that are near whatever the order in which they are written, and elements of rows that take longer to fold than to write
NEAR_BYTES, LONG = 1 << 20, 8


def upright(nest: Nest, outputs: tuple[str, ...], buffers: frozenset[str]) -> Body | None:
    """The statements and their scratch memory; None where no short rows are folded."""
    folds = [term.variable for term in scalars(nest.body) if isinstance(term, Reduce)]
    if isinstance(nest.body, Several):
        return None
    forms = Forms()
    if not folds:
        return _of_records(nest, outputs, buffers, forms)
    for lane in (v for v in nest.loops if v.extent >= UPRIGHT_ROWS and not v.lo):
        along = [v for v in nest.loops if v is not lane and forms(nest.index).stride(v) == 1]
        if forms(nest.index).stride(lane) == 1:
            along = []
        elif len(along) != 1 or not _is_row(along[0]) or nest.body.dtype not in LANES:
            continue
        rows = _rows(nest, lane, [v for v in (*folds, *along) if _is_row(v)], forms)
        if any(row.which in folds for row in rows.values()):
            return _Upright(nest, outputs, buffers, lane, along[0] if along else None).result(rows)
    return None


def _of_records(nest: Nest, outputs: tuple[str, ...], buffers: frozenset[str], forms: Forms) -> Body | None:
    """The statements for results beside each other, each made of the fields of a record."""
    for lane in (v for v in nest.loops if v.extent >= UPRIGHT_ROWS and not v.lo and forms(nest.index).stride(v) == 1):
        rows = _fields(nest, lane, forms)
        if rows and len({load.index for load in rows}) >= LEAST_FIELDS:
            return _Upright(nest, outputs, buffers, lane, None).result(rows)
    return None


@dataclass(frozen=True)
class _Row:
    """What a load reads along a row: which element, a variable or a number, of how many, and where they are in memory, by ELEMENT."""

    which: Index
    extent: int
    place: Index


ELEMENT = Var("element", 0, LONGEST_UPRIGHT - 1)


def _is_row(variable: Var) -> bool:
    return not variable.lo and variable.extent <= LONGEST_UPRIGHT


def _rows(nest: Nest, lane: Var, along: Sequence[Var], forms: Forms) -> dict[Load, _Row]:
    """The loads along rows, each with the variable that goes along its row, the only one that does not go on around a block."""
    around = {v for v in nest.loops if v not in along}
    found: dict[Load, _Row] = {}
    for load in nest.loads:
        form = forms(load.index)
        inside = [v for v in variables(load.index) if v not in around and not is_size(v)]
        across = form.stride(lane) not in (0, 1, None)
        if across and len(inside) == 1 and inside[0] in along and form.stride(inside[0]) == 1 and load.dtype in LANES:
            found[load] = _Row(inside[0], inside[0].extent, substitute(load.index, {inside[0]: ELEMENT}))
    return found


def _fields(nest: Nest, lane: Var, forms: Forms) -> dict[Load, _Row]:
    """The loads of fields of records, as elements of rows from the first to the last of them."""
    records: dict[object, list[tuple[int, Load]]] = {}
    for load in nest.loads:
        form = forms(load.index)
        step = form.stride(lane)
        if step is not None and step >= LEAST_STEP and load.dtype in LANES:
            records.setdefault((load.buffer, frozenset(form.terms.items())), []).append((form.constant, load))
    found: dict[Load, _Row] = {}
    for fields in records.values():
        first, last = min(place for place, _ in fields), max(place for place, _ in fields)
        if len(fields) > 1 and last - first < min(LONGEST_UPRIGHT, forms(fields[0][1].index).stride(lane) or 0):
            for place, load in fields:
                found[load] = _Row(Const(place - first), last - first + 1, load.index + (ELEMENT - (place - first)))
    return found


class _Upright:
    """The statements of one nest."""

    def __init__(self, nest: Nest, outputs: tuple[str, ...], buffers: frozenset[str], lane: Var, along: Var | None) -> None:
        self.nest, self.outputs = nest, outputs
        self.lane, self.along = lane, along
        self.placer = BlockPlacer(buffers)

    def result(self, rows: Mapping[Load, _Row]) -> Body | None:
        nest, lane, along, placer = self.nest, self.lane, self.along, self.placer
        count = -(-lane.extent // UPRIGHT_ROWS)
        block, row = Var(f"{lane.name}_block", 0, count - 1), Var(f"{lane.name}_row", 0, UPRIGHT_ROWS - 1)
        inside = self.sharing(rows, count)
        opened = placer.nest(placer.top, *(v for v in nest.loops if v not in (lane, along, *inside)), block)
        first = first_of(block, count, UPRIGHT_ROWS, lane.extent)
        known = self.copied(rows, row, first, opened[-1])
        opened += placer.nest(opened[-1], *inside)[1:]
        value = over(nest.body, {lane: first + row}, known)
        for function in self.needed_often(value):
            stored = self.stored(function, row, opened[-1])
            if stored is None:
                return None
            value = over(value, {}, stored)
        if along is None:
            outputs, below = self.outputs, Nest((row,), value, substitute(nest.index, {lane: first + row}))
        else:
            outputs, below = (
                (placer.memory(along.extent * UPRIGHT_ROWS, value.dtype),),
                Nest((row, along), value, along * UPRIGHT_ROWS + row),
            )
        found = one_by_one(unrolled(below), row, outputs, placer.taken)
        if found is None:
            return None
        opened[-1].body += found[0]
        if along is not None:
            back, element = Var(f"{lane.name}_back", 0, UPRIGHT_ROWS - 1), Var(f"{along.name}_back", 0, along.extent - 1)
            place = substitute(nest.index, {lane: first + back, along: element})
            turned = Load(outputs[0], element * UPRIGHT_ROWS + back, value.dtype)
            opened[-1].body.append(tile_over(back, element, Store(self.outputs[0], place, turned)))
        placer.close_all(opened)
        return tuple(placer.top.body), (*placer.scratch, *found[1])

    def sharing(self, rows: Mapping[Load, _Row], count: int) -> list[Var]:
        """The loops that share a block of rows, each of which is turned once, around them; none where there is less than threads can share.
        Short rows of large results wait for memory, which is then written a line here and a line there."""
        around = [v for v in self.nest.loops if v not in (self.lane, self.along)]
        inside = [v for v in around if not any(depends(load.index, v) for load in rows)]
        longest = max(along.extent for along in rows.values())
        size = prod(v.extent for v in self.nest.loops) * itemsize(self.nest.body.dtype)
        few = count * prod(v.extent for v in around if v not in inside) < ENOUGH
        return [] if few or (size > NEAR_BYTES and longest < LONG) else inside

    def needed_often(self, value: Scalar) -> list[dict[Scalar, Var]]:
        """Functions of elements of rows that are needed for several loops along them: each as terms by the variables that they are of."""
        forms, free = Forms(), free_variables(value)
        loops = {self.along, *(term.variable for term in scalars(value) if isinstance(term, Reduce))}
        found: dict[Scalar, dict[Scalar, Var]] = {}
        for term in scalars(value):
            inside = [variable for variable in free[term] if variable in loops]
            if len(inside) == 1 and _is_row(inside[0]) and isinstance(term, Call) and term.dtype in LANES:
                element = Var("element", 0, inside[0].hi)
                found.setdefault(over_forms(term, {inside[0]: element}, forms), {})[term] = inside[0]
        chosen: list[dict[Scalar, Var]] = []
        within = set[Scalar]()
        for function, terms in reversed(found.items()):
            dear = any(isinstance(term, Call) and term.op not in CHEAP for term in scalars(function))
            if dear and function not in within and len(set(terms.values())) > 1:
                chosen.append(terms)
                within.update(scalars(function))
        return chosen

    def stored(self, terms: dict[Scalar, Var], row: Var, scope: Scope) -> dict[Scalar, Scalar] | None:
        """A function of the elements of rows, computed in scratch memory, and what is read there in place of each of its terms."""
        term, variable = next(iter(terms.items()))
        name = self.placer.memory(variable.extent * UPRIGHT_ROWS, term.dtype)
        below = Nest((row, variable), term, variable * UPRIGHT_ROWS + row)
        found = one_by_one(unrolled(below), row, (name,), self.placer.taken)
        if found is None:
            return None
        scope.body += Renaming(f"_{name}", {}, {}).block(found[0])
        self.placer.scratch += found[1]
        return {term: Load(name, variable * UPRIGHT_ROWS + row, term.dtype) for term, variable in terms.items()}

    def copied(self, rows: Mapping[Load, _Row], row: Var, first: Index, scope: Scope) -> dict[Scalar, Scalar]:
        """Blocks of rows as columns of scratch memory, each once, and what is read of them in place of memory."""
        forms = Forms()
        together: dict[tuple[str, Index], dict[Load, _Row]] = {}
        for load, along in rows.items():
            together.setdefault((load.buffer, rebuilt(forms(along.place))), {})[load] = along
        known: dict[Scalar, Scalar] = {}
        for (buffer, _), readers in together.items():
            longest, dtype = max(readers.values(), key=lambda along: along.extent), next(iter(readers)).dtype
            name = self.placer.memory(longest.extent * UPRIGHT_ROWS, dtype)
            element, column = Var(f"{name}_element", 0, longest.extent - 1), Var(f"{name}_row", 0, UPRIGHT_ROWS - 1)
            place = substitute(longest.place, {ELEMENT: element, self.lane: first + column})
            scope.body.append(tile_over(element, column, Store(name, element * UPRIGHT_ROWS + column, Load(buffer, place, dtype))))
            known |= {load: Load(name, along.which * UPRIGHT_ROWS + row, dtype) for load, along in readers.items()}
        return known
