"""Windows that step along lines, folded line by line: down first, for all places of a line, and then along it.

    out[y, z] = g(fold over i, j of f(y, i, b*z + j))   ->   t[k] = fold over i of f(y, i, k);  out[y, z] = g(fold over j of t[b*z + j])

Every second or fourth element of a line is picked out of vectors step by step.  Here that is done once for what a window has in all of
its lines, which are read from end to end.  Several lines of results are folded behind each other, as they lie in scratch memory: where
windows lie side by side, those of short lines fill whole vectors there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeGuard

from eqsat.ir.dtypes import carrier
from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import Apply, Const, Index, Var, apply, substitute, variables, walk
from eqsat.ir.loops import Load, Stmt, loads, over, with_offsets
from eqsat.ir.tensor import Position, Reduce, Scalar, has_fold, scalars
from eqsat.lowering.affine import Affine, Forms, rebuilt as written
from eqsat.lowering.blocks import BlockPlacer, Body, blocks_of
from eqsat.lowering.joining.renaming import Renaming
from eqsat.lowering.movements.stepped import in_tiles
from eqsat.lowering.nest import Nest, Several, chains, free_variables
from eqsat.lowering.place import nested
from eqsat.lowering.ranges.order import merge
from eqsat.lowering.ranges.seams import SEAM_MARKS, begins, in_pieces
from eqsat.lowering.ranges.unroll import unrolled

# windows step by so many elements at the most: what lies further apart is loaded one by one
LONGEST_STEP = 8
# elements of a window along a line
LONGEST = 64
# elements of the lines in scratch memory: few, so that the processor reads the next lines while it folds along these; longer lines are
# divided, those with seams if they are longer than this
ELEMENTS, MOST_ELEMENTS = 512, 8192


@dataclass(frozen=True)
class Windows:
    """A fold over windows.

    chain    the folds of it, outermost first
    element  what they fold, by its place in a line
    along    the variable of the one that goes along a line
    step     how many steps of that one window is from the next
    """

    chain: tuple[Reduce, ...]
    element: Scalar
    along: Var
    step: int

    @property
    def overlap(self) -> bool:
        """Whether windows of a line have elements in common."""
        return self.step < self.along.extent

    @property
    def is_cut(self) -> bool:
        """Whether something changes along a line."""
        changes = (term for term in walk(*_indices(self.element)) if isinstance(term, Apply) and (term.op in SEAM_MARKS or _is_clamp(term)))
        return any(self.along in variables(term) for term in changes)

    def line(self, count: int) -> int:
        """How many elements so many windows of a line have."""
        return self.step * (count - 1) + self.along.extent

    def windows_in(self, elements: int) -> int:
        """How many windows of a line so many elements are."""
        return (elements - self.along.extent) // self.step + 1


def pooled(nest: Nest, outputs: tuple[str, ...], buffers: frozenset[str]) -> Body | None:
    """The statements and their scratch memory; None where nothing is folded over windows that step along a line."""
    *others, row, lane = _in_order(nest) or (None, None)
    if lane is None or row is None or isinstance(nest.body, Several):
        return None
    free = free_variables(nest.body)
    alone = (chain for chain in chains(nest.body) if free[chain[0]] <= frozenset(nest.loops))  # not those that other folds are of
    found = [windows for chain in alone if (windows := _windows(chain, lane)) is not None]
    if not found:
        return None
    longest = max(found, key=lambda windows: windows.line(lane.extent))
    most = MOST_ELEMENTS if any(windows.is_cut for windows in found) else ELEMENTS
    across = -(-lane.extent // max(1, longest.windows_in(most)))
    wide = -(-lane.extent // across)
    high = min(row.extent, max(1, ELEMENTS // longest.line(wide)))
    blocks, begins = blocks_of({row: high, lane: wide})
    line, place = Var(f"{row.name}_line", 0, high - 1), Var(f"{lane.name}_window", 0, wide - 1)
    first: dict[Var, Index] = {**begins, row: begins[row] + line}
    here: dict[Var, Index] = {**first, lane: first[lane] + place}
    placer, known = BlockPlacer(buffers), dict[Scalar, Scalar]()
    opened = placer.nest(placer.top, *others, *blocks)
    for windows in found:
        name = placer.memory(high * windows.line(wide), windows.chain[0].dtype)
        element = Var(f"{lane.name}_element", 0, windows.line(wide) - 1)
        value = over(_down(windows), {**first, windows.along: element})
        lines = _nest((line, element), value, line * element.extent + element)
        opened[-1].body += Renaming(f"_{name}", {}, {}).block(_line_by_line(lines, name, placer.taken))
        read = Load(name, line * element.extent + place * windows.step + windows.along, value.dtype)
        known[windows.chain[0]] = Reduce(windows.chain[0].op, windows.along, read)
    results = merge(_nest((line, place), over(nest.body, here, known), substitute(nest.index, here)))
    picked = in_tiles(results, outputs, placer.taken) if any(windows.overlap for windows in found) else None
    opened[-1].body += picked or nested(results, outputs, placer.taken)
    placer.close_all(opened)
    return tuple(placer.top.body), tuple(placer.scratch)


def _line_by_line(lines: Nest, name: str, taken: frozenset[str]) -> tuple[Stmt, ...]:
    """What a window has in all of its lines, in pieces where what is around an array begins."""
    cut = in_pieces(lines, (name,), taken)
    return cut[0] if cut is not None and not cut[1] else nested(lines, (name,), taken)


def _in_order(nest: Nest) -> tuple[Var, ...]:
    """The loops, that over lines last but one, that along the memory of the result last; none where there is none."""
    lane = next((v for v in nest.loops if Forms()(nest.index).stride(v) == 1), None)
    if lane is None or any(v.lo for v in nest.loops):
        return ()
    return (*([v for v in nest.loops if v is not lane] or [Var("line", 0, 0)]), lane)


def _down(windows: Windows) -> Scalar:
    """What a window has in all of its lines, for one place of a line."""
    value = windows.element
    for fold in reversed(windows.chain):
        value = value if fold.variable is windows.along else Reduce(fold.op, fold.variable, value)
    return value


def _linear(root: Scalar) -> Scalar:
    """An element whose index terms are sums where they are linear: divisions that come out only because a place in a window goes no further
    than that are gone, before it becomes a place in a line."""
    forms = Forms()

    def change(index: Index) -> Index:
        if isinstance(index, Apply) and (index.kind == "bool" or _is_clamp(index)):
            return apply(index.op, *map(change, index.args))
        if index.kind == "bool":
            return index
        form = forms(index)
        terms = Counter[Index]()
        for atom, k in form.terms.items():
            terms[change(atom) if _is_clamp(atom) else atom] += k
        return written(Affine(form.constant, {atom: k for atom, k in terms.items() if k}))

    return with_offsets(root, change)


def _nest(loops: tuple[Var, ...], body: Scalar, index: Index) -> Nest:
    """A nest with short folds written out, in which no loop has one iteration."""
    unit: dict[Var, Index] = {v: Const(0) for v in loops if v.extent == 1}
    return unrolled(Nest(tuple(v for v in loops if v not in unit), over(body, unit), substitute(index, unit)))


def _windows(chain: tuple[Reduce, ...], lane: Var) -> Windows | None:
    """A fold over windows of several lines that step along these; None where it is none."""
    value = _linear(chain[-1].body)
    if len(chain) < 2 or carrier(chain[0].dtype) != chain[0].dtype or has_fold(value):
        return None
    for fold in reversed(chain):
        if fold.variable.lo or fold.variable.extent > LONGEST:
            continue
        step = _step(_places(load.index for load in loads(value)), fold.variable, lane)
        if step is None:
            continue
        element = _by_place(value, fold.variable, lane, step)
        if _step(_places(_indices(element)), fold.variable, lane) == step:
            return Windows(chain, element, fold.variable, step)
    return None


def _by_place(value: Scalar, along: Var, lane: Var, step: int) -> Scalar:
    """An element with conditions on the place in a line, where some say the same of window and place in it.

    z + j >= 1, of windows that step by 2   ->   2*z + j >= 1
    """

    forms = Forms()

    def change(index: Index) -> Index:
        if not isinstance(index, Apply) or index.kind != "bool":
            return index
        if index.op not in SEAM_MARKS:
            return apply(index.op, *map(change, index.args))
        if not forms(index.args[0] - index.args[1]).terms.keys() <= {along, lane} or _step(_places((index,)), along, lane) == step:
            return index
        held = [range(z * step + j, end * step + j, step) for j in range(along.extent) for z, end in _where_it_holds(index, along, j, lane)]
        if not held:
            return Const(False)
        first, last = min(places[0] for places in held), max(places[-1] for places in held)
        between = (range(max(j, first + (j - first) % step), min(last + 1, j + step * lane.extent), step) for j in range(along.extent))
        place = lane * step + along
        return apply("and", apply("ge", place, first), apply("le", place, last)) if sum(map(len, held)) == sum(map(len, between)) else index

    return with_offsets(value, change)


def _where_it_holds(condition: Index, along: Var, j: int, lane: Var) -> Iterator[tuple[int, int]]:
    """From which window to before which one a condition holds of their elements of this number."""
    here = substitute(condition, {along: Const(j)})
    starts = begins((here,), lane) or [0]
    for start, end in zip(starts, [*starts[1:], lane.extent], strict=True):
        if evaluate_index(here, {lane: start}):
            yield start, end


def _step(places: Iterable[Affine], along: Var, lane: Var) -> int | None:
    """How many steps of a fold, each to a neighbour, one of a loop is, in all of these places; None where it is not so many."""
    steps = set[int | None]()
    for place in places:
        near, far = place.stride(along), place.stride(lane)
        if near in (1, -1) and far is not None:
            steps.add(far * near if 1 < far * near <= LONGEST_STEP else None)
        elif near != 0 or far != 0:
            return None
    return steps.pop() if len(steps) == 1 else None


def _places(indices: Iterable[Index]) -> Iterator[Affine]:
    """The integers that a value depends on, by the indices of it: where it loads, what is clamped for that, and what conditions compare."""
    forms, stack = Forms(), list(indices)
    while stack:
        index = stack.pop()
        if isinstance(index, Apply) and index.kind == "bool":
            stack += index.args
            continue
        form = forms(index)
        clamps = list(filter(_is_clamp, form.terms))
        stack += (arg for clamp in clamps for arg in clamp.args)
        yield Affine(form.constant, {atom: k for atom, k in form.terms.items() if atom not in clamps})


def _indices(value: Scalar) -> Iterator[Index]:
    """The index terms of an element: where it loads, and its positions."""
    return (term.index for term in scalars(value) if isinstance(term, Load | Position))


def _is_clamp(index: Index) -> TypeGuard[Apply]:
    return isinstance(index, Apply) and index.op in ("min", "max")
