"""Index work moved out of loops: each part of an offset is computed at the outermost loop that knows its variables.

Sums are regrouped by loop level first, outer parts first and the constant last, so that `i1 + i0 * 64` under i0 and i1
becomes b0 + i1 with b0 = i0 * 64 bound under i0.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from eqsat.ir.index import Apply, Const, Index, Var, apply, variables, walk
from eqsat.ir.loops import Bind, Clip, Fold, For, Kernel, Let, Load, Stmt, Store, index_terms, map_indices, rebuilt, statements, value_of
from eqsat.ir.tensor import Position, Scalar, operands, scalars

_SUMS = ("add", "sub", "neg")
Signed = tuple[int, Index]


def hoist(kernel: Kernel) -> Kernel:
    """The kernel with loop-invariant and repeated index terms computed once, by Binds at the head of a loop's body.

    Bound are terms worth a name: no variable, no constant, no `variable + constant`, no truth value, nothing that differs in a tile.
    Values stay equal, and so do the bounds of every offset.
    """
    levels: dict[Var, Level] = {}
    top = Level(0)
    _find_levels(kernel.body, top, levels)
    regrouped = map_indices(kernel, _Regroup(levels, _uses(kernel)))
    return replace(kernel, body=_Hoist(regrouped, levels).block(regrouped.body, top))


@dataclass(eq=False)
class Level:
    """The body of a loop or fold: its depth in the nest, and the Binds at its head."""

    depth: int
    binds: list[Stmt] = field(default_factory=list)


Levels = dict[Var, Level]


def _find_levels(body: tuple[Stmt, ...], level: Level, levels: Levels) -> None:
    """The level at which every variable is bound."""
    for stmt in body:
        if isinstance(stmt, For | Fold):
            levels[stmt.variable] = Level(level.depth + 1)
            _find_levels(stmt.body, levels[stmt.variable], levels)
        elif isinstance(stmt, Bind):
            levels[stmt.variable] = level
        elif isinstance(stmt, Clip):  # what follows may depend on it
            level = levels[stmt.variable] = Level(level.depth + 1)


def _uses(kernel: Kernel) -> dict[Index, int]:
    """How often every index term is an operand of another, an offset, a position or a bound value."""
    uses: dict[Index, int] = {}
    roots: list[Index] = []
    for stmt in statements(kernel.body):
        value = value_of(stmt)
        roots.extend(term.index for term in scalars(value) if isinstance(term, Load | Position)) if value is not None else None
        if isinstance(stmt, Bind | Store):
            roots.append(stmt.value if isinstance(stmt, Bind) else stmt.index)
    below = [arg for term in walk(*index_terms(kernel)) if isinstance(term, Apply) for arg in term.args]
    for term in (*roots, *below):
        uses[term] = uses.get(term, 0) + 1
    return uses


def _homes(order: tuple[Index, ...], levels: Levels, homes: dict[Index, Level | None]) -> None:
    """The innermost level among the variables of every term; None where it has none."""
    for term in order:
        if isinstance(term, Var):
            homes[term] = levels.get(term)  # a size is known everywhere
        elif isinstance(term, Apply):
            found = [home for arg in term.args if (home := homes[arg]) is not None]
            homes[term] = max(found, key=lambda level: level.depth, default=None)
        else:
            homes[term] = None


class _Regroup:
    """Rewrites sums so that what outer loops know comes first; a sum that is used twice stays one operand."""

    def __init__(self, levels: Levels, uses: dict[Index, int]) -> None:
        self.levels = levels
        self.uses = uses
        self.homes: dict[Index, Level | None] = {}
        self.done: dict[Index, Index] = {}

    def __call__(self, root: Index) -> Index:
        order = tuple(walk(root))
        _homes(order, self.levels, self.homes)
        for term in order:
            if term not in self.done:
                self.done[term] = self.rewrite(term)
        return self.done[root]

    def rewrite(self, term: Index) -> Index:
        if not isinstance(term, Apply):
            return term
        if term.op not in _SUMS:
            return Apply(term.op, tuple(self.done[arg] for arg in term.args))
        operands_ = self.flattened(term)
        operands_.sort(key=self.depth)
        return _sum([(sign, self.done[atom]) for sign, atom in operands_])

    def depth(self, operand: Signed) -> float:
        home = self.homes[operand[1]]
        return float("inf") if home is None else home.depth

    def flattened(self, root: Apply) -> list[Signed]:
        """The signed operands of a sum, through sums that nothing else uses."""
        found: list[Signed] = []
        stack: list[Signed] = [(1, root)]
        while stack:
            sign, term = stack.pop()
            if isinstance(term, Apply) and term.op in _SUMS and (term is root or self.uses[term] == 1):
                signs = {"add": (sign, sign), "sub": (sign, -sign), "neg": (-sign,)}[term.op]
                stack.extend(reversed(tuple(zip(signs, term.args, strict=True))))
            else:
                found.append((sign, term))
        return found


def _sum(parts: list[Signed]) -> Index:
    """The signed sum from left to right; a constant leads where the first operand is subtracted."""
    if parts[0][0] < 0 and parts[-1][0] > 0 and isinstance(parts[-1][1], Const):
        parts = [parts[-1], *parts[:-1]]
    sign, total = parts[0]
    total = total if sign > 0 else apply("neg", total)
    for sign, term in parts[1:]:
        total = apply("add" if sign > 0 else "sub", total, term)
    return total


class _Hoist:
    """Rewrites the statements of one kernel and collects Binds at their levels."""

    def __init__(self, kernel: Kernel, levels: Levels) -> None:
        self.taken = {buffer.name for buffer in kernel.buffers} | {v.name for v in levels}
        self.taken |= {stmt.name for stmt in statements(kernel.body) if isinstance(stmt, Let | Fold)}
        self.levels = levels
        self.tiles = {stmt.variable for stmt in statements(kernel.body) if isinstance(stmt, For) and stmt.kind == "tile"}
        self.uses = _uses(kernel)
        self.homes: dict[Index, Level | None] = {}
        _homes(tuple(walk(*index_terms(kernel))), levels, self.homes)
        self.bound: dict[Index, Index] = {}
        self.count = 0

    def block(self, body: tuple[Stmt, ...], level: Level) -> tuple[Stmt, ...]:
        """The statements of a loop body, Binds first."""
        kept = self.statements(body, level)
        return (*level.binds, *kept)

    def statements(self, body: tuple[Stmt, ...], level: Level) -> list[Stmt]:
        """The statements below the Binds of a level."""
        kept: list[Stmt] = []
        for k, stmt in enumerate(body):
            if isinstance(stmt, Bind):
                level.binds.append(replace(stmt, value=self.index(stmt.value, level)))
            elif isinstance(stmt, Clip):
                behind = self.levels[stmt.variable]
                rest = self.statements(body[k + 1 :], behind)
                return [*kept, replace(stmt, value=self.scalar(stmt.value, level)), *behind.binds, *rest]
            else:
                kept.append(self.statement(stmt, level))
        return kept

    def statement(self, stmt: Stmt, level: Level) -> Stmt:
        if isinstance(stmt, For):
            return replace(stmt, body=self.block(stmt.body, self.levels[stmt.variable]))
        if isinstance(stmt, Let):
            return replace(stmt, value=self.scalar(stmt.value, level))
        if isinstance(stmt, Fold):
            inner = self.levels[stmt.variable]
            kept = self.statements(stmt.body, inner)
            value = self.scalar(stmt.value, inner)
            return replace(stmt, body=(*inner.binds, *kept), value=value)
        assert isinstance(stmt, Store)
        return replace(stmt, index=self.index(stmt.index, level), value=self.scalar(stmt.value, level))

    def scalar(self, root: Scalar, level: Level) -> Scalar:
        done: dict[Scalar, Scalar] = {}
        for term in scalars(root):
            done[term] = rebuilt(term, tuple(done[arg] for arg in operands(term)), lambda index: self.index(index, level))
        return done[root]

    def index(self, term: Index, level: Level) -> Index:
        """The term as it is written at a level."""
        if not isinstance(term, Apply):
            return term
        home = self.homes[term]
        inside = bool(self.tiles) and not self.tiles.isdisjoint(variables(term))
        if home is None or term.kind == "bool" or inside or (home is level and self.uses[term] == 1):
            return Apply(term.op, tuple(self.index(arg, level) for arg in term.args))
        if term not in self.bound:
            value = Apply(term.op, tuple(self.index(arg, home) for arg in term.args))
            self.bound[term] = self.bind(value, home) if _worth(value) else value
        return self.bound[term]

    def bind(self, value: Index, home: Level) -> Var:
        while (name := f"b{self.count}") in self.taken:
            self.count += 1
        self.count += 1
        variable = Var(name, *value.bounds)
        home.binds.append(Bind(variable, value))
        return variable


def _worth(value: Apply) -> bool:
    """Whether a name saves work: `variable + constant` is free where memory is addressed."""
    a, b = value.args[0], value.args[-1]
    if value.op in ("add", "sub") and not (isinstance(a, Apply) or isinstance(b, Apply)):
        return not (isinstance(a, Const) or isinstance(b, Const))
    return True
