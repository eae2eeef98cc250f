"""Running sums in one pass with what they are of and what is made of them, element by element.

    t[k, q] = f(k, q);   s[k, q] = s[k - 1, q] + t[k, q];   out[k, q] = g(s[k, q], k, q)

    ->  for k serial: for q: { carry[q] = carry[q] + f(k, q);  out[k, q] = g(carry[q], k, q) }

What is made of them may stand the other way round along axes: out[n - 1 - k, q].  Nothing between is stored.  Sums along the last axis
are kernels row by row instead (row_by_row.py), whose rows stay in the first cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from eqsat.ir.index import Const, Index, Var
from eqsat.ir.loops import Buffer, Kernel, Load, Store, over
from eqsat.ir.ops import REDUCE_OPS
from eqsat.ir.tensor import Build, Call, Gather, Read, Reduce, Scalar, Shape, Tensor, as_dtype, axes, scalars, sources
from eqsat.lowering.affine import Forms
from eqsat.lowering.blocks import BlockPlacer
from eqsat.lowering.nest import Names, flat, nest_of
from eqsat.lowering.place import Scope
from eqsat.lowering.scan import is_shared, strips_of

# larger elements are kernels of their own
MOST_TERMS = 64


@dataclass(frozen=True)
class Scan:
    """A running fold along an axis: of the elements that `computed` has, or of a stored tensor; and the build that is made of the result at
    one place for each element, or None where the result is stored."""

    op: str
    axis: int
    source: Tensor
    result: Tensor
    computed: Build | None = None
    made: Build | None = None

    @property
    def shape(self) -> Shape:
        return self.source.shape

    @property
    def stored(self) -> Tensor:
        return self.result if self.made is None else self.made

    @property
    def read(self) -> tuple[Tensor, ...]:
        """The tensors that it reads."""
        given = (self.source,) if self.computed is None else sources(self.computed)
        more = () if self.made is None else sources(self.made)
        return tuple(dict.fromkeys(tensor for tensor in (*given, *more) if tensor is not self.result))


def scanned(scan: Scan, name: str, names: Names) -> Kernel | None:
    """One kernel for all of it; None where its elements are large, or folds, or where threads could not share it."""
    rows, lanes = scan.shape[: scan.axis], scan.shape[scan.axis + 1 :]
    if prod(lanes) < 2 or scan.shape[scan.axis] < 2 or not (len(lanes) == 1 or is_shared(prod(rows))):
        return None  # one lane alone is no loop, which would know that a carry of it changes
    if not all(build is None or _is_simple(build.body) for build in (scan.computed, scan.made)):
        return None
    turned = () if scan.made is None else _turned(scan, scan.made)
    return None if turned is None else _ScanWriting(scan, turned, names).kernel(name)


def _is_simple(body: Scalar) -> bool:
    terms = list(scalars(body))
    return len(terms) <= MOST_TERMS and not any(isinstance(term, Reduce) for term in terms)


def _turned(scan: Scan, made: Build) -> tuple[bool, ...] | None:
    """For each axis whether the build reads the result backwards along it; None unless it reads one place for each of its own."""
    forms = Forms()
    places = {term.indices for term in scalars(made.body) if isinstance(term, Read) and term.tensor is scan.result}
    gathered = any(isinstance(term, Gather) and term.tensor is scan.result for term in scalars(made.body))
    if len(places) != 1 or gathered or made.shape != scan.shape:
        return None
    turned = []
    for index, variable in zip(next(iter(places)), axes(made.shape), strict=True):
        form = forms(index)
        step = form.stride(variable) if variable.extent > 1 else 1
        if step not in (1, -1) or any(v is not variable for v in form.terms) or form.constant != (variable.extent - 1 if step == -1 else 0):
            return None
        turned.append(step == -1)
    return tuple(turned)


class _ScanWriting:
    """The statements of one scan."""

    def __init__(self, scan: Scan, turned: Sequence[bool], names: Names) -> None:
        self.scan, self.turned, self.names = scan, turned, names
        self.before = None if scan.computed is None else nest_of((scan.computed,), names, {})
        self.after = None if scan.made is None else nest_of((scan.made,), names, {})
        self.placer = BlockPlacer(frozenset(names[tensor] for tensor in (*scan.read, scan.result, scan.stored)))

    def kernel(self, name: str) -> Kernel:
        shape, axis = self.scan.shape, self.scan.axis
        outer = [Var(f"i{k}", 0, n - 1) for k, n in enumerate(shape[:axis])]
        lanes = shape[axis + 1 :]
        strips = strips_of(prod(shape[:axis]), lanes[0]) if len(lanes) == 1 else 1
        strip = Var("strip", 0, strips - 1)
        inner = [Var(f"i{axis + 1 + k}", 0, n // strips - 1) for k, n in enumerate(lanes)]
        first = [Var(f"{v.name}_first", v.lo, v.hi) for v in inner]
        step = Var(f"i{axis}", 1, shape[axis] - 1)
        carry = self.placer.memory(prod(v.extent for v in inner), self.scan.result.dtype)
        opened = self.placer.nest(self.placer.top, *((*outer, strip) if is_shared(prod(shape[:axis])) else (strip, *outer)))

        def places(along: Index, variables: Sequence[Var]) -> tuple[Index, ...]:
            moved = [strip * v.extent + v if strips > 1 else v for v in variables]
            return tuple(Const(0) if index.bounds == (0, 0) else index for index in (*outer, along, *moved))

        ahead = self.placer.nest(opened[-1], *first)
        at = places(Const(0), first)
        self._write(ahead[-1], carry, first, self._element(at), at)
        self.placer.close_all(ahead)
        along = self.placer.open(step, opened[-1])
        below = self.placer.nest(along, *inner)
        dtype = self.scan.result.dtype
        at = places(step, inner)
        total = Call(REDUCE_OPS[self.scan.op].step, (Load(carry, self._lane(inner), dtype), self._element(at)), dtype)
        self._write(below[-1], carry, inner, total, at)
        self.placer.close_all(below)
        self.placer.close(along, "serial")
        self.placer.close_all(opened)
        read = (Buffer(self.names[tensor], tensor.dtype, tensor.size, "in") for tensor in self.scan.read)
        stored = Buffer(self.names[self.scan.stored], self.scan.stored.dtype, self.scan.stored.size, "out")
        return Kernel(name, (*read, stored), tuple(self.placer.top.body), scratch=tuple(self.placer.scratch))

    def _lane(self, variables: Sequence[Var]) -> Index:
        return flat(tuple(variables), tuple(v.extent for v in variables), {})

    def _element(self, places: tuple[Index, ...]) -> Scalar:
        """What is added at a place of the source."""
        source, dtype = self.scan.source, self.scan.result.dtype
        if self.before is None:
            return as_dtype(Load(self.names[source], flat(places, source.shape, {}), source.dtype), dtype)
        return as_dtype(over(self.before.body, dict(zip(axes(source.shape), places, strict=True))), dtype)

    def _write(self, scope: Scope, carry: str, lanes: Sequence[Var], total: Scalar, places: tuple[Index, ...]) -> None:
        """Keep a sum, and store what is made of it."""
        value, target = total, flat(places, self.scan.shape, {})
        if self.after is not None:
            at = [n - 1 - index if turned else index for index, n, turned in zip(places, self.scan.shape, self.turned, strict=True)]
            env = dict(zip(axes(self.scan.shape), at, strict=True))
            known: dict[Scalar, Scalar] = {load: total for load in self.after.loads if load.buffer == self.names[self.scan.result]}
            value, target = over(self.after.body, env, known), flat(tuple(at), self.scan.shape, {})
        done = self.placer.place(value, scope, several=(total,))  # before it is kept, and what it is made of is changed
        scope.body.append(Store(carry, self._lane(lanes), self.placer.placed[total]))
        scope.body.append(Store(self.names[self.scan.stored], target, done))
