"""What loops over blocks have in common: scratch memory, loops in each other, where a block begins, a body over other indices."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

from eqsat.ir.index import Apply, Const, Index, Var, apply, substitute, variables, walk
from eqsat.ir.loops import Bind, Buffer, Fold, For, LoopKind, Stmt, Temp, with_offsets
from eqsat.ir.tensor import Scalar, is_size
from eqsat.lowering.affine import Affine, Forms, rebuilt as written
from eqsat.lowering.place import Placer, Scope

# statements, and the scratch memory that they use
Body = tuple[tuple[Stmt, ...], tuple[Buffer, ...]]


class BlockPlacer(Placer):
    """Places statements that use scratch memory."""

    def __init__(self, buffers: frozenset[str]) -> None:
        super().__init__(buffers)
        self.scratch: list[Buffer] = []

    @property
    def taken(self) -> frozenset[str]:
        """The names of buffers and of scratch memory."""
        return frozenset((*self.buffers, *(buffer.name for buffer in self.scratch)))

    def memory(self, size: int, dtype: str) -> str:
        """The name of new scratch memory."""
        taken = self.taken
        name = next(name for k in itertools.count() if (name := f"scratch{k}") not in taken)
        self.scratch.append(Buffer(name, dtype, size, "scratch"))
        return name

    def nest(self, scope: Scope, *variables: Var) -> list[Scope]:
        """Loops in each other, the scope first; none of one iteration."""
        opened = [scope]
        for variable in variables:
            if variable.extent > 1:
                opened.append(self.open(variable, opened[-1]))
        return opened

    def bound(self, name: str, value: Index) -> Index:
        """An index as a variable of its own, bound in the innermost loop that it depends on, unless it is linear: so places that differ by
        constants stay that, whatever becomes of them."""
        if not any(isinstance(term, Apply) and term.op == "min" for term in walk(value)):
            return value
        home = max((self.scopes[loop] for loop in variables(value) if not is_size(loop)), key=lambda scope: scope.depth)
        variable = Var(name, *value.bounds)
        self.scopes[variable] = home
        home.body.append(Bind(variable, value))
        return variable

    def close_all(self, opened: Iterable[Scope], innermost: LoopKind = "parallel") -> None:
        """Close what `nest` opened."""
        scopes = tuple(opened)
        for scope in scopes[:0:-1]:
            self.close(scope, innermost if scope is scopes[-1] else "parallel")


def over_forms(root: Scalar, env: Mapping[Var, Index], forms: Forms) -> Scalar:
    """An element over other indices, linear ones all written in one way: so equal ones are one term."""

    def change(index: Index) -> Index:
        found = substitute(index, env)
        if found.kind == "bool":
            return found
        form = forms(found)
        loops = sorted((atom for atom in form.terms if isinstance(atom, Var)), key=lambda loop: loop.name)
        in_order = Affine(form.constant, {loop: form.terms[loop] for loop in loops})
        return written(in_order) if len(loops) == len(form.terms) else found

    return with_offsets(root, change)


def folds_over(loops: Sequence[Index], names: Iterable[str], op: str, value: Scalar) -> tuple[tuple[Stmt, ...], Scalar]:
    """Folds of a value in each other, the innermost loop first, and what they result in; an index that is no variable is no loop."""
    body: tuple[Stmt, ...] = ()
    for loop, name in zip((loop for loop in loops if isinstance(loop, Var)), names, strict=False):
        body = (Fold(name, op, value.dtype, loop, body, value),)
        value = Temp(name, value.dtype)
    return body, value


def tile_over(outer: Var, inner: Var, *body: Stmt) -> For:
    """Two loops whose iterations run together."""
    return For(outer, "tile", (For(inner, "tile", body),))


def blocks_of(sizes: Mapping[Var, int], name: str = "block") -> tuple[tuple[Var, ...], dict[Var, Index]]:
    """Loops over blocks of so many iterations of some loops, and where the block of each begins."""
    numbers = {loop: Var(f"{loop.name}_{name}", 0, -(-loop.extent // size) - 1) for loop, size in sizes.items()}
    first = {loop: first_of(number, number.extent, sizes[loop], loop.extent) for loop, number in numbers.items()}
    return tuple(numbers.values()), first


def first_of(number: Index, count: int, size: int, extent: int) -> Index:
    """Where a block begins: the last one ends where the axis ends, and so does what is numbered behind it."""
    if count == 1:
        return Const(0)
    return number * size if number.bounds[1] * size <= extent - size else apply("min", number * size, extent - size)
