"""Statements of a nest: every value is computed at the outermost loop that knows what it needs.

The home of a term is the innermost loop or fold that binds one of its variables.  A reduction becomes a Fold at its home.
A call that is used twice becomes a Let at its home; so does a call or load that is used further inside than its home.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from eqsat.ir.affine import is_affine
from eqsat.ir.index import Index, Var
from eqsat.ir.loops import Fold, For, Let, Load, LoopKind, Pick, Stmt, Store, Temp
from eqsat.ir.tensor import Call, Position, Reduce, Scalar, operands, rebuild, scalars
from eqsat.lowering.nest import Free, Nest, elements, free_variables


@dataclass(eq=False)
class Scope:
    """The body of a loop or fold while it is filled; `depth` 0 is the kernel itself."""

    parent: Scope | None = None
    variable: Var | None = None
    body: list[Stmt] = field(default_factory=list)
    depth: int = field(init=False)

    def __post_init__(self) -> None:
        self.depth = 0 if self.parent is None else self.parent.depth + 1


class Placer:
    """Places the statements of one kernel; Temps get names that are no buffer's."""

    def __init__(self, buffers: frozenset[str]) -> None:
        self.buffers = buffers
        self.top = Scope()
        self.scopes: dict[Var, Scope] = {}
        self.placed: dict[Scalar, Scalar] = {}
        self.count = 0

    def open(self, variable: Var, parent: Scope) -> Scope:
        """A loop whose statements follow; `close` puts it into its parent."""
        scope = self.scopes[variable] = Scope(parent, variable)
        return scope

    def close(self, scope: Scope, kind: LoopKind) -> None:
        assert scope.parent is not None
        assert scope.variable is not None
        scope.parent.body.append(For(scope.variable, kind, tuple(scope.body)))

    def name(self) -> str:
        while True:
            name = f"t{self.count}"
            self.count += 1
            if name not in self.buffers:
                return name

    def place(self, root: Scalar, here: Scope, several: Collection[Scalar] = ()) -> Scalar:
        """Place what root needs and return the expression that gives its value in scope `here`; `several`: what other roots need too."""
        free = free_variables(root)
        order = tuple(free)
        for term in reversed(order):
            if isinstance(term, Reduce) and term.variable not in self.scopes:
                self.scopes[term.variable] = Scope(self.home(term, free), term.variable)
        homes = {term: self.home(term, free) for term in order}
        kept = self.kept(root, here, homes).union(several)
        for term in order:
            if term not in self.placed:
                self.placed[term] = self.statement(term, term in kept, homes[term])
        return self.placed[root]

    def home(self, term: Scalar, free: Free) -> Scope:
        """The innermost scope of a variable of a term; variables of no loop of this kernel are known around it."""
        return max((self.scopes.get(v, self.top) for v in free[term]), key=lambda scope: scope.depth, default=self.top)

    def kept(self, root: Scalar, here: Scope, homes: Mapping[Scalar, Scope]) -> set[Scalar]:
        """The calls and loads that become a Let."""
        uses: dict[Scalar, list[Scope]] = {root: [here]}
        for term, home in homes.items():
            scope = self.scopes[term.variable] if isinstance(term, Reduce) else home
            for arg in operands(term):
                uses.setdefault(arg, []).append(scope)
        outside = {term for term, home in homes.items() if any(scope is not home for scope in uses[term])}
        dear = (term for term in homes if isinstance(term, Call | Load | Position | Pick) and not _is_index(term))
        return {term for term in dear if term in outside or (isinstance(term, Call | Pick) and len(uses[term]) > 1)}

    def statement(self, term: Scalar, keep: bool, home: Scope) -> Scalar:
        if isinstance(term, Reduce):
            inner = self.scopes[term.variable]
            name = self.name()
            home.body.append(Fold(name, term.op, term.dtype, term.variable, tuple(inner.body), self.placed[term.body]))
            return Temp(name, term.dtype)
        value = rebuild(term, tuple(self.placed[arg] for arg in operands(term)))
        if not keep:
            return value
        name = self.name()
        home.body.append(Let(name, value))
        return Temp(name, term.dtype)


def _is_index(term: Scalar) -> bool:
    """Whether an element is an index as it is, which nothing has to compute."""
    return isinstance(term, Position) and term.dtype == "int64" and is_affine(term.index)


def used_by_several(*roots: Scalar) -> set[Scalar]:
    """The calls that several values need, or one of them more than once."""
    uses = Counter(roots)
    for term in scalars(*roots):
        uses.update(set(operands(term)))
    return {term for term, count in uses.items() if count > 1 and isinstance(term, Call)}


def stores(outputs: tuple[str, ...], index: Index, value: Scalar) -> tuple[Store, ...]:
    """What one iteration writes: an element of each output."""
    values = elements(value)
    return tuple(Store(output, index, one) for output, one in zip(outputs, values, strict=True))


def nested(nest: Nest, outputs: tuple[str, ...], buffers: frozenset[str]) -> tuple[Stmt, ...]:
    """The loops of a nest in their order, all parallel, folds where their variables are known."""
    placer = Placer(buffers)
    scope = placer.top
    opened: list[Scope] = []
    for variable in nest.loops:
        scope = placer.open(variable, scope)
        opened.append(scope)
    scope.body += stores(outputs, nest.index, placer.place(nest.body, scope))
    for scope in reversed(opened):
        placer.close(scope, "parallel")
    return tuple(placer.top.body)
