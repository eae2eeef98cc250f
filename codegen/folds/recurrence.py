"""Recurrences: loops in which every iteration takes the element that the one before stored.

    for k serial: out[k] = out[k - 1] + f(k)

That element is carried in a register.  Where elements are neighbours in memory and sums may be reordered, whole vectors of f are added
up within themselves first, by shifts of one, two, four lanes, so that only their last lane waits for the vector before.  So are running
extrema, and sums of integers, which are the same in any order.  Products of floats are not, unless numbers are taken to be finite: what is
infinite or zero between them depends on the order.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass

from eqsat.codegen import scalar
from eqsat.codegen.builder import LLVM_TYPES, Value, integer, is_real, real
from eqsat.codegen.emitter import Emitter
from eqsat.codegen.folds.accumulator import Carried
from eqsat.codegen.folds.neighbours import of_neighbours, widens
from eqsat.codegen.index import llvm_type
from eqsat.codegen.scope import Scope
from eqsat.codegen.tiles.vectors import spread, vector_store, vector_type
from eqsat.ir import vectorizable
from eqsat.ir.affine import coefficient, is_affine
from eqsat.ir.dtypes import is_integer, itemsize
from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import Index, Var, substitute, variables
from eqsat.ir.loops import Bind, For, Load, Pick, Store
from eqsat.ir.ops import FOLD_OF, identity_of
from eqsat.ir.tensor import Call, Literal, Scalar, operands, scalars

# lanes of a vector, and iterations of a loop in vectors, at least
NARROWEST, SHORTEST = 4, 8


@dataclass(frozen=True)
class Recurrence:
    """The loop, what it stores, the element before it, and what is added; `indices`: of loads and store, over the loop's variable."""

    loop: For
    store: Store
    call: Call
    before: Load
    added: Scalar
    indices: dict[Index, Index]

    @property
    def variable(self) -> Var:
        return self.loop.variable

    @property
    def dtype(self) -> str:
        return self.call.dtype

    def step(self, index: Index) -> int | None:
        return coefficient(self.indices[index], self.variable)

    @property
    def in_vectors(self) -> bool:
        """Whether whole vectors of what is added can be computed, one behind the other."""
        if self.dtype not in vectorizable.LANES or self.step(self.store.index) != 1:
            return False
        widened = {call.args[0] for call in scalars(self.added) if isinstance(call, Call) and widens(call)}
        return all(self._is_vector(term) and (term.dtype == self.dtype or term in widened) for term in scalars(self.added))

    def _is_vector(self, term: Scalar) -> bool:
        if isinstance(term, Load):
            return self.step(term.index) in (0, 1)
        return isinstance(term, Literal) or (isinstance(term, Call) and (term.op in vectorizable.JOINT_OPS or widens(term)))

    @property
    def any_order(self) -> bool:
        """Whether the result is the same in whatever order."""
        return is_integer(self.dtype) or self.call.op in ("maximum", "minimum")

    def may_be_reordered(self, e: Emitter) -> bool:
        """Whether the numerics allow another order."""
        return self.any_order or e.flags.ignore_nan or not (e.exact or self.call.op == "multiply")

    @property
    def neutral(self) -> Value:
        """What changes nothing."""
        start = identity_of(FOLD_OF[self.call.op], self.dtype).item()
        type = LLVM_TYPES[self.dtype]
        return real(-0.0 if self.call.op == "add" else start, type) if is_real(type) else integer(start, type)


def emit_recurrence(e: Emitter, loop: For, scope: Scope) -> bool:
    """Write a loop that is a recurrence; False for any other."""
    found = recurrence_of(loop)
    if found is None or e.kernel.size_of(loop.variable) is not None:
        return False
    buffer, place = e.buffer(found.store.buffer, found.dtype), e.typed[loop.variable]
    type = llvm_type(place)
    code = scalar.code_of(found.call.op, found.dtype)

    def at(counter: Value) -> Scope:
        """The scope of the iteration of that number."""
        inner = scope.inner()
        inner.indices[place] = counter
        for stmt in loop.body[:-1]:
            assert isinstance(stmt, Bind)
            e.index(stmt.variable, inner)
        return inner

    def vectors(width: int, begin: int, counter: Value, carried: Carried) -> Carried:
        """The vector of that number behind the iteration in which vectors of this width begin; what is carried is in every lane."""
        first = e.b.binary("add", e.b.binary("mul", counter, integer(width, type), "nuw nsw"), integer(begin, type), "nsw")
        inner = at(first)
        neutral = e.b.insert(Value("poison", vector_type(found.dtype, width)), found.neutral, 0)
        total = of_neighbours(e, found.added, inner, width, lambda load: found.step(load.index))
        shift = 1
        while shift < width:
            moved = ", ".join(f"i32 {k - shift if k >= shift else width}" for k in range(width))
            other = e.b.emit(total.type, f"shufflevector {total}, {neutral}, <{width} x i32> <{moved}>")
            total = code(e.b, (total, other), e.flags.arithmetic)
            shift *= 2
        vector_store(e, found.store, inner, code(e.b, (carried[0], total), e.flags.arithmetic))
        every_last = ", ".join(width * [f"i32 {width - 1}"])
        last = e.b.emit(total.type, f"shufflevector {total}, {neutral}, <{width} x i32> <{every_last}>")
        return (code(e.b, (carried[0], last), e.flags.arithmetic),)

    def one(counter: Value, carried: Carried) -> Carried:
        inner = at(counter)
        total = code(e.b, (carried[0], e.value(found.added, inner)), e.flags.arithmetic)
        e.write_element(buffer, e.address(buffer, found.store.index, inner), total)
        return (total,)

    low, end = loop.variable.lo, loop.variable.hi + 1
    begin = at(integer(low, type))
    carried: Carried = (e.read(buffer, e.address(buffer, found.before.index, begin)),)
    for width in _widths(e, found):
        count = (end - low) // width
        if count:
            # in every lane: as a number of its own, LLVM would pair it with the counter
            before = (spread(e, carried[0], width),)
            (behind,) = e.loop(integer(0, type), integer(count, type), before, functools.partial(vectors, width, low))
            carried = (e.b.emit(LLVM_TYPES[found.dtype], f"extractelement {behind}, i64 0"),)
            low += count * width
    if low < end:
        e.loop(integer(low, type), integer(end, type), carried, one)
    return True


def _widths(e: Emitter, found: Recurrence) -> Iterator[int]:
    """The lanes of vectors, whole ones first, then parts of what is left; none for loops that LLVM writes out, several side by side."""
    width = e.registers.bytes // itemsize(found.dtype) if found.in_vectors and found.may_be_reordered(e) else 1
    while width >= NARROWEST and found.variable.extent >= SHORTEST:
        yield width
        width //= 2


def recurrence_of(loop: For) -> Recurrence | None:
    """The recurrence that a loop is; None where it is none."""
    *binds, store = loop.body
    if not isinstance(store, Store) or store.combine is not None or not all(isinstance(stmt, Bind) for stmt in binds):
        return None
    call = store.value
    if not isinstance(call, Call) or call.op not in FOLD_OF:
        return None
    before, added = call.args
    used = [term for term in scalars(added) if isinstance(term, Load | Pick)]
    if not isinstance(before, Load) or any(term.buffer == store.buffer for term in used) or before.buffer != store.buffer:
        return None
    if any(term.dtype != call.dtype for term in operands(call)):
        return None
    env: dict[Var, Index] = {}
    for stmt in binds:
        assert isinstance(stmt, Bind)
        env[stmt.variable] = substitute(stmt.value, env)
    written = (store.index, before.index, *(term.index for term in used if isinstance(term, Load)))
    indices = {index: substitute(index, env) for index in written}
    found = Recurrence(loop, store, call, before, added, indices)
    step = found.step(store.index)
    return found if step and difference(indices[store.index], indices[before.index]) == step else None


def difference(a: Index, b: Index) -> int | None:
    """What a is more than b everywhere; None where that is not known."""
    if not (is_affine(a) and is_affine(b)):
        return None
    known = {v: v.lo for v in variables(a, b)}
    if any(coefficient(a, v) != coefficient(b, v) for v in known):
        return None
    return int(evaluate_index(a, known)) - int(evaluate_index(b, known))
