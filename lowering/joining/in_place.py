"""Kernels that write over what they read: where every element is read before it is written, by whichever thread."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from eqsat.ir.index import Const, Index, Var, variables
from eqsat.ir.loops import Fold, For, Kernel, Load, Pick, Stmt, Store, map_loads, statements, value_of
from eqsat.ir.tensor import scalars
from eqsat.lowering.affine import Affine, Forms, bounds


def in_place(kernel: Kernel, source: str, target: str) -> Kernel | None:
    """The kernel with the elements of `source` in the memory of `target`; None where one might be read after it is written."""
    buffers = {buffer.name: buffer for buffer in kernel.buffers}
    if (buffers[source].dtype, buffers[source].size) != (buffers[target].dtype, buffers[target].size):
        return None
    order = list(_placed(kernel.body))
    stores = [k for k, place in enumerate(order) if isinstance(place.stmt, Store) and place.stmt.buffer == target]
    reads = [(k, term) for k, place in enumerate(order) for term in _reads(place.stmt, source)]
    if len(stores) != 1 or any(k > stores[0] for k, _ in reads):
        return None
    store, forms = order[stores[0]], Forms()
    shared = next((variable for variable in store.around if variable in _shared(kernel.body)), None)
    if any(not _before(order[k], term, store, forms, shared) for k, term in reads):
        return None
    moved = map_loads(kernel, lambda load: Load(target, load.index, load.dtype) if load.buffer == source else load)
    return replace(moved, buffers=tuple(buffer for buffer in kernel.buffers if buffer.name != source))


@dataclass(frozen=True)
class _Place:
    """A statement, and the variables of the loops around it, outermost first."""

    stmt: Stmt
    around: tuple[Var, ...]


def _placed(body: tuple[Stmt, ...], around: tuple[Var, ...] = ()) -> Iterator[_Place]:
    """Statements in the order in which one iteration of the loops around them begins them."""
    for stmt in body:
        yield _Place(stmt, around)
        if isinstance(stmt, For | Fold):
            yield from _placed(stmt.body, (*around, stmt.variable))


def _reads(stmt: Stmt, buffer: str) -> list[Load | Pick]:
    value = value_of(stmt)
    return [term for term in scalars(value) if isinstance(term, Load | Pick) and term.buffer == buffer] if value is not None else []


def _shared(body: tuple[Stmt, ...]) -> set[Var]:
    """The variables of loops that threads may share: each does what stands before them, while others are in them already."""
    return {stmt.variable for stmt in statements(body) if isinstance(stmt, For) and stmt.kind != "serial"}


def _before(place: _Place, term: Load | Pick, store: _Place, forms: Forms, shared: Var | None) -> bool:
    """Whether an element is read before it is written: by an earlier statement of iterations that have their elements to themselves.
    Variables are bound by one loop each, so what is read at the index of the store is read by the iterations that write there.  What is
    read outside of a loop that threads share must not be written at all."""
    assert isinstance(store.stmt, Store)
    if isinstance(term, Pick) or store.stmt.combine is not None:
        return False
    inside = (*place.around, place.stmt.variable) if isinstance(place.stmt, Fold) else place.around
    if shared is not None and not any(variable is shared for variable in inside):
        (low, high), (least, greatest) = (bounds(forms(index)) for index in (term.index, store.stmt.index))
        return high < least or greatest < low
    common = [mine for mine, other in zip(inside, store.around, strict=False) if mine is other]
    if term.index == store.stmt.index:
        common = list(store.around)
    return _apart(forms(term.index), forms(store.stmt.index), common)


def _apart(read: Affine, written: Affine, loops: list[Var]) -> bool:
    """Whether two iterations of the loops touch no element in common: each step of a loop goes further than everything inside it."""
    strides = {variable: written.terms.get(variable, 0) for variable in loops}
    if any(read.terms.get(variable, 0) != stride for variable, stride in strides.items()):
        return False
    rests = [Affine(form.constant, {atom: c for atom, c in form.terms.items() if atom not in strides}) for form in (read, written)]
    if any(_depends(atom, loops) for rest in rests for atom in rest.terms):
        return False
    (low, high), (least, greatest) = (bounds(rest) for rest in rests)
    reach = max(greatest - low, high - least)
    for stride, extent in sorted((abs(stride), variable.extent) for variable, stride in strides.items()):
        if stride <= reach and extent > 1:
            return False
        reach += stride * (extent - 1)
    return True


def _depends(atom: Index, loops: list[Var]) -> bool:
    return not isinstance(atom, Const) and any(variable in loops for variable in variables(atom))
