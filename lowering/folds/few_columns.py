"""Folds down a few columns, several rows side by side in registers.

    t[j] = fold over k of f(k, j)     ->     p[q, j] = fold over k of f(Q * k + q, j) for Q rows at once, t[j] = fold over q of p[q, j]

In memory every step down a column waits for the store of the step before it; neighbours of a narrow row are too few to hide that.
Rows that are no multiple follow in sections of their own.  Where rows lie one behind the other, Q of them are one row of whole vectors, and
what is the same for all rows is written Q times side by side before.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from math import gcd

from eqsat.ir.affine import coefficient
from eqsat.ir.dtypes import itemsize
from eqsat.ir.index import Const, Index, Var, depends, substitute
from eqsat.ir.loops import Fold, For, Load, Stmt, Store, Temp, loads, over
from eqsat.ir.tensor import Scalar
from eqsat.ir.vectorizable import is_joint_value
from eqsat.lowering.affine import Forms
from eqsat.lowering.blocks import folds_over
from eqsat.lowering.products.product import LONGEST_RUN, VECTOR_BYTES

# wider rows hide the time of a store by themselves
MOST_VECTORS = 4
# vectors whose folds are carried at the same time: an addition takes four cycles, and two begin in each
SIDE_BY_SIDE = 8
# fewer rows than these are not worth the sums of the sides
FEWEST_ROWS = 16

# an element over these indices, where the number of the column within its block is given
Over = Callable[[dict[Var, Index], Var], Scalar]
# the name of more memory, of so many elements of a dtype
NewMemory = Callable[[int, str], str]


@dataclass(frozen=True)
class Section:
    """Rows from `first` on, `sides` at once, in `runs` of `together` steps: a run is added up before it is added to others."""

    first: int
    runs: int
    together: int
    sides: int

    @property
    def rows(self) -> int:
        return self.runs * self.together * self.sides

    def row(self, run: Index, step: Index, side: Index) -> Index:
        return (run * self.together + step) * self.sides + (side + self.first)


def is_narrow(size: int, value: Scalar, rows: int) -> bool:
    """Whether folds of so many columns and rows are worth keeping in registers, and can be."""
    return size > 1 and size * itemsize(value.dtype) <= MOST_VECTORS * VECTOR_BYTES and rows >= FEWEST_ROWS and is_joint_value(value)


def sections(rows: int, sides: int) -> Iterator[Section]:
    """How rows are divided: runs of full length, one of what is left, and the last rows all side by side."""
    first = 0
    for make in (_runs, _steps, _last):
        section = make(first, rows - first, sides)
        if section.rows:
            yield section
            first += section.rows


def _runs(first: int, rows: int, sides: int) -> Section:
    return Section(first, rows // (LONGEST_RUN * sides), LONGEST_RUN, sides)


def _steps(first: int, rows: int, sides: int) -> Section:
    return Section(first, 1, rows // sides, sides)


def _last(first: int, rows: int, sides: int) -> Section:
    return Section(first, 1, 1, rows)


def _sides(rows: int, size: int, dtype: str, in_one_row: bool) -> int:
    """How many rows of `size` elements are folded at the same time; where they are one row, so many that they fill whole vectors, if these
    are few enough."""
    lanes = VECTOR_BYTES // itemsize(dtype)
    least = lanes // gcd(size, lanes)
    whole = SIDE_BY_SIDE // (least * size // lanes) * least
    if in_one_row and 0 < whole <= rows // FEWEST_ROWS:
        return whole
    return max(1, min(SIDE_BY_SIDE // -(-size // lanes), rows // FEWEST_ROWS * 2))


class NarrowFold:
    """A fold of `value`, over variables from the outermost on, for each of the columns of a block; the longest is cut into sections."""

    def __init__(
        self, name: str, op: str, dtype: str, variables: tuple[Var, ...], value: Scalar, size: int, column: Var, memory: NewMemory
    ) -> None:
        self.name, self.op, self.dtype, self.variables, self.value, self.size = name, op, dtype, variables, value, size
        self.rows, self.memory = max(variables, key=lambda v: v.extent), memory
        self.in_one_row = self._lies_in_one_row(column)
        self.sections = tuple(sections(self.rows.extent, _sides(self.rows.extent, size, dtype, self.in_one_row)))
        self.sides = sum(section.sides for section in self.sections)

    def _lies_in_one_row(self, column: Var) -> bool:
        """Whether what is read lies one row behind the other, or is the same for all rows or all of a row."""
        forms = Forms()
        read = [(forms(load.index).stride(self.rows), forms(load.index).stride(column), load) for load in loads(self.value)]
        fixed = all(down or all(not depends(load.index, v) for v in self.variables) for down, _, load in read)
        written = all(coefficient(load.index, column) is not None for _, _, load in read)  # not as a remainder, which ends with the row
        return fixed and written and {(down, along) for down, along, _ in read} <= {(self.size, 1), (0, 1), (0, 0)}

    def statements(self, element: Over, sums: str, kept: str) -> tuple[Stmt, ...]:
        """What folds into memory `sums` of all sides, and those into `kept`; into the latter at once if there is one side."""
        found, before = list[Stmt](), 0
        for number, section in enumerate(self.sections):
            found += self._section(element, section, f"{self.name}_{number}", sums if self.sides > 1 else kept, before)
            before += section.sides
        if self.sides > 1:
            side, lane = Var(f"{self.name}_side", 0, self.sides - 1), Var(f"{self.name}_column", 0, self.size - 1)
            total = Fold(f"{self.name}_all", self.op, self.dtype, side, (), Load(sums, side * self.size + lane, self.dtype))
            found.append(For(lane, "parallel", (total, Store(kept, lane, Temp(total.name, self.dtype)))))
        return tuple(found)

    def _section(self, element: Over, section: Section, tag: str, sums: str, before: int) -> Iterator[Stmt]:
        def variable(what: str, extent: int) -> Index:
            return Var(f"{tag}_{what}", 0, extent - 1) if extent > 1 else Const(0)

        run, step, side = variable("run", section.runs), variable("step", section.together), variable("sides", section.sides)
        lane = Var(f"{tag}_lane", 0, self.size - 1)
        env: dict[Var, Index] = {self.rows: section.row(run, step, side)}
        loops: list[Index] = []
        for v in self.variables:
            if v is not self.rows:
                env[v] = variable(v.name, v.extent)
            loops += [run, step] if v is self.rows else [env[v]]
        names = (f"{tag}_fold{depth}" for depth in itertools.count())
        value = element(env, lane)
        if isinstance(side, Var) and self.in_one_row:
            row = Var(f"{tag}_row", 0, side.extent * self.size - 1)
            value = yield from self._in_one_row(value, side, lane, row)
            side, lane = Const(0), row
        body, value = folds_over(loops[::-1], names, self.op, value)
        tile = For(lane, "tile", (*body, Store(sums, (side + before) * self.size + lane, value)))
        yield For(side, "tile", (tile,)) if isinstance(side, Var) else tile

    def _in_one_row(self, value: Scalar, side: Var, lane: Var, row: Var) -> Generator[Stmt, None, Scalar]:
        """An element over the row that all sides are; before it what is the same for all of them, written as often."""
        known: dict[Scalar, Scalar] = {}
        for number, load in enumerate(dict.fromkeys(loads(value))):
            if depends(load.index, side):
                known[load] = Load(load.buffer, substitute(load.index, {side: Const(0), lane: row}), load.dtype)
            elif depends(load.index, lane):
                name = self.memory(row.extent, load.dtype)
                known[load] = Load(name, row, load.dtype)
                own = {v: Var(f"{v.name}_{number}", v.lo, v.hi) for v in (side, lane)}
                given = Load(load.buffer, substitute(load.index, own), load.dtype)
                again = For(own[lane], "parallel", (Store(name, own[side] * self.size + own[lane], given),))
                yield For(own[side], "parallel", (again,))
        return over(value, {}, known)


def inlined(root: Scalar, lets: Mapping[str, Scalar]) -> Scalar:
    """An element with the values of Lets in place of their names; each may use those before it."""
    known: dict[Scalar, Scalar] = {}
    for name, value in lets.items():
        known[Temp(name, value.dtype)] = over(value, {}, known)
    return over(root, {}, known)
