"""Windows that step along lines, folded line by line: down first, for all places of a line, and then along it.

    out[y, z] = g(fold over i, j of f(y, i, b*z + j))   ->   t[k] = fold over i of f(y, i, k);  out[y, z] = g(fold over j of t[b*z + j])

Every second or fourth element of a line is picked out of vectors step by step.  Here that is done once for what a window has in all of
its lines, which are read from end to end.  Several lines of results are folded behind each other, as they lie in scratch memory: where
windows lie side by side, those of short lines fill whole vectors there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from eqsat.ir.dtypes import carrier
from eqsat.ir.index import Apply, Const, Index, Var, apply, substitute
from eqsat.ir.loops import Load, over, with_offsets
from eqsat.ir.tensor import Position, Reduce, Scalar, has_fold, scalars
from eqsat.lowering.affine import Forms, rebuilt as written
from eqsat.lowering.blocks import BlockPlacer, Body, blocks_of
from eqsat.lowering.joining.renaming import Renaming
from eqsat.lowering.movements.stepped import in_tiles
from eqsat.lowering.nest import Nest, Several, chains, free_variables
from eqsat.lowering.place import nested
from eqsat.lowering.ranges.order import merge
from eqsat.lowering.ranges.unroll import unrolled

# windows step by so many elements at the most: what lies further apart is loaded one by one
LONGEST_STEP = 8
# elements of a window along a line
LONGEST = 64
# elements of the lines in scratch memory: few, so that the processor reads the next lines while it folds along these; longer lines are
# divided
ELEMENTS = 512


@dataclass(frozen=True)
class Windows:
    """A fold over windows.

    chain  the folds of it, outermost first
    along  the variable of the one that goes along a line
    step   how many steps of that one window is from the next
    """

    chain: tuple[Reduce, ...]
    along: Var
    step: int

    @property
    def overlap(self) -> bool:
        """Whether windows of a line have elements in common."""
        return self.step < self.along.extent

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
    across = -(-lane.extent // max(1, longest.windows_in(ELEMENTS)))
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
        opened[-1].body += Renaming(f"_{name}", {}, {}).block(nested(lines, (name,), placer.taken))
        read = Load(name, line * element.extent + place * windows.step + windows.along, value.dtype)
        known[windows.chain[0]] = Reduce(windows.chain[0].op, windows.along, read)
    results = merge(_nest((line, place), over(nest.body, here, known), substitute(nest.index, here)))
    picked = in_tiles(results, outputs, placer.taken) if any(windows.overlap for windows in found) else None
    opened[-1].body += picked or nested(results, outputs, placer.taken)
    placer.close_all(opened)
    return tuple(placer.top.body), tuple(placer.scratch)


def _in_order(nest: Nest) -> tuple[Var, ...]:
    """The loops, that over lines last but one, that along the memory of the result last; none where there is none."""
    lane = next((v for v in nest.loops if Forms()(nest.index).stride(v) == 1), None)
    if lane is None or any(v.lo for v in nest.loops):
        return ()
    return (*([v for v in nest.loops if v is not lane] or [Var("line", 0, 0)]), lane)


def _down(windows: Windows) -> Scalar:
    """What a window has in all of its lines, for one place of a line."""
    value = _linear(windows.chain[-1].body)
    for fold in reversed(windows.chain):
        value = value if fold.variable is windows.along else Reduce(fold.op, fold.variable, value)
    return value


def _linear(root: Scalar) -> Scalar:
    """An element whose index terms are sums where they are linear: divisions that come out only because a place in a window goes no further
    than that are gone, before it becomes a place in a line."""
    forms = Forms()

    def change(index: Index) -> Index:
        if index.kind == "bool":
            return apply(index.op, *map(change, index.args)) if isinstance(index, Apply) else index
        return written(forms(index))

    return with_offsets(root, change)


def _nest(loops: tuple[Var, ...], body: Scalar, index: Index) -> Nest:
    """A nest with short folds written out, in which no loop has one iteration."""
    unit: dict[Var, Index] = {v: Const(0) for v in loops if v.extent == 1}
    return unrolled(Nest(tuple(v for v in loops if v not in unit), over(body, unit), substitute(index, unit)))


def _windows(chain: tuple[Reduce, ...], lane: Var) -> Windows | None:
    """A fold over windows of several lines that step along these; None where it is none."""
    value = chain[-1].body
    if len(chain) < 2 or carrier(chain[0].dtype) != chain[0].dtype or has_fold(value):
        return None
    for fold in reversed(chain):
        step = _step(value, fold.variable, lane)
        if step is not None and not fold.variable.lo and fold.variable.extent <= LONGEST:
            return Windows(chain, fold.variable, step)
    return None


def _step(value: Scalar, along: Var, lane: Var) -> int | None:
    """How many steps of a fold, each to a neighbour, one of a loop is, in all that a value depends on; None where it is not so many."""
    forms, steps = Forms(), set[int | None]()
    for index in _places(value):
        near, far = forms(index).stride(along), forms(index).stride(lane)
        if near in (1, -1) and far is not None:
            steps.add(far * near if 1 < far * near <= LONGEST_STEP else None)
        elif near != 0 or far != 0:
            return None
    return steps.pop() if len(steps) == 1 else None


def _places(value: Scalar) -> Iterator[Index]:
    """The integers that a value depends on: where it loads, and what conditions compare."""
    stack: list[Index] = [term.index for term in scalars(value) if isinstance(term, Load | Position)]
    while stack:
        index = stack.pop()
        if isinstance(index, Apply) and index.kind == "bool":
            stack += index.args
        else:
            yield index
