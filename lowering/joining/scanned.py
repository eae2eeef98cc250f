"""Running sums in one pass with what they are of and what is made of them, element by element.

    t[k, q] = f(k, q);   s[k, q] = s[k - 1, q] + t[k, q];   out[k, q] = g(s[k, q], k, q)

    ->  for k serial: for q: { carry[q] = carry[q] + f(k, q);  out[k, q] = g(carry[q], k, q) }

What is made of them may stand the other way round along axes: out[n - 1 - k, q].  Or it is made of folds along the axis, and of the last of
the sums:

    out[q] = h(max over k of g(s[k, q], k, q), s[n - 1, q])

    ->  for k serial: for q: { carry[q] = carry[q] + f(k, q);  most[q] = max(most[q], g(carry[q], k, q)) }
        for q: out[q] = h(most[q], carry[q])

Nothing between is stored.  Sums along the last axis are kernels row by row instead (row_by_row.py), whose rows stay in the first cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from eqsat.ir.dtypes import carrier
from eqsat.ir.index import Const, Index, Var
from eqsat.ir.loops import Buffer, Kernel, Load, Store, over
from eqsat.ir.ops import REDUCE_OPS
from eqsat.ir.tensor import Build, Call, Gather, Read, Reduce, Scalar, Shape, Tensor, as_dtype, axes, scalars, sources
from eqsat.lowering.affine import Forms
from eqsat.lowering.blocks import BlockPlacer
from eqsat.lowering.nest import Names, elements, flat, largest, nest_of
from eqsat.lowering.place import Scope, used_by_several
from eqsat.lowering.scan import is_shared, strips_of

# larger elements are kernels of their own
MOST_TERMS = 64


@dataclass(frozen=True)
class Scan:
    """A running fold along an axis: of the elements that `computed` has, or of a stored tensor; and the builds of one shape that are made
    of the result at one place for each element, or of folds of it along the axis; none where the result is stored."""

    op: str
    axis: int
    source: Tensor
    result: Tensor
    computed: Build | None = None
    made: tuple[Build, ...] = ()

    @property
    def shape(self) -> Shape:
        return self.source.shape

    @property
    def stored(self) -> tuple[Tensor, ...]:
        return self.made or (self.result,)

    @property
    def read(self) -> tuple[Tensor, ...]:
        """The tensors that it reads."""
        given = (self.source,) if self.computed is None else sources(self.computed)
        more = (tensor for build in self.made for tensor in sources(build))
        return tuple(dict.fromkeys(tensor for tensor in (*given, *more) if tensor is not self.result))


def scanned(scan: Scan, name: str, names: Names) -> Kernel | None:
    """One kernel for all of it; None where its elements are large, or folds, or where threads could not share it."""
    rows, lanes = scan.shape[: scan.axis], scan.shape[scan.axis + 1 :]
    if prod(lanes) < 2 or scan.shape[scan.axis] < 2 or not (len(lanes) == 1 or is_shared(prod(rows))):
        return None  # one lane alone is no loop, which would know that a carry of it changes
    if scan.computed is not None and not _is_simple(scan.computed.body):
        return None
    turned = {_turned(scan, made) for made in scan.made} or {()}
    if len(turned) > 1 or (None in turned and not _are_folded(scan)):
        return None
    return _ScanWriting(scan, turned.pop(), names).kernel(name)


def _is_simple(body: Scalar) -> bool:
    terms = list(scalars(body))
    return len(terms) <= MOST_TERMS and not any(isinstance(term, Reduce) for term in terms)


def _are_folded(scan: Scan) -> bool:
    """Whether builds are made of folds of the result along the axis, place by place, and of the last of it."""
    if len({made.shape for made in scan.made}) > 1 or not any(folds_of(made.body) for made in scan.made):
        return False
    return all(_is_of_folds(scan, made) for made in scan.made)


def _is_of_folds(scan: Scan, made: Build) -> bool:
    outer, inner = scan.shape[: scan.axis], scan.shape[scan.axis + 1 :]
    if made.shape not in ((*outer, *inner), (*outer, 1, *inner)):
        return False
    own, last = axes(made.shape), scan.shape[scan.axis] - 1
    folds, whole = folds_of(made.body), list(scalars(made.body))
    within = {fold: list(scalars(fold.body)) for fold in folds}
    if len(whole) > MOST_TERMS or any(isinstance(term, Reduce) for body in within.values() for term in body):
        return False
    if any(isinstance(term, Gather) and term.tensor is scan.result for term in whole):
        return False
    if any((fold.variable.lo, fold.variable.hi) != (0, last) or carrier(fold.dtype) != fold.dtype for fold in folds):
        return False

    def are_read(terms: Iterable[Scalar], along: Index) -> bool:
        """Whether nothing but the element along the axis is read of the result."""
        places = (*own[: scan.axis], along, *own[len(own) - len(inner) :])
        reads = [term for term in terms if isinstance(term, Read) and term.tensor is scan.result]
        pairs = (pair for read in reads for pair in zip(read.indices, places, scan.shape, strict=True))
        return all(extent == 1 or index is place for index, place, extent in pairs)

    inside = {term for body in within.values() for term in body}
    return are_read((term for term in whole if term not in inside), Const(last)) and all(
        are_read(body, fold.variable) for fold, body in within.items()
    )


def folds_of(body: Scalar) -> list[Reduce]:
    """The folds of an element that are in no other."""
    found = {term for term in scalars(body) if isinstance(term, Reduce)}
    return [term for term in largest(body, found) if isinstance(term, Reduce)]


def _turned(scan: Scan, made: Build) -> tuple[bool, ...] | None:
    """For each axis whether the build reads the result backwards along it; None unless it reads one place for each of its own."""
    forms = Forms()
    places = {term.indices for term in scalars(made.body) if isinstance(term, Read) and term.tensor is scan.result}
    gathered = any(isinstance(term, Gather) and term.tensor is scan.result for term in scalars(made.body))
    if len(places) != 1 or gathered or made.shape != scan.shape or not _is_simple(made.body):
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
    """The statements of one scan; `turned` as in `_turned`, None where folds of it are stored."""

    def __init__(self, scan: Scan, turned: Sequence[bool] | None, names: Names) -> None:
        self.scan, self.turned, self.names = scan, turned, names
        self.before = None if scan.computed is None else nest_of((scan.computed,), names, {})
        self.after = elements(nest_of(scan.made, names, {}).body) if scan.made else ()
        self.placer = BlockPlacer(frozenset(names[tensor] for tensor in (*scan.read, scan.result, *scan.stored)))
        self.carry, self.kept = "", dict[Reduce, str]()

    def kernel(self, name: str) -> Kernel:
        shape, axis = self.scan.shape, self.scan.axis
        outer = [Var(f"i{k}", 0, n - 1) for k, n in enumerate(shape[:axis])]
        lanes = shape[axis + 1 :]
        strips = strips_of(prod(shape[:axis]), lanes[0]) if len(lanes) == 1 else 1
        strip = Var("strip", 0, strips - 1)
        inner = [Var(f"i{axis + 1 + k}", 0, n // strips - 1) for k, n in enumerate(lanes)]
        first, last = ([Var(f"{v.name}_{which}", v.lo, v.hi) for v in inner] for which in ("first", "last"))
        step = Var(f"i{axis}", 1, shape[axis] - 1)
        count = prod(v.extent for v in inner)
        self.carry = self.placer.memory(count, self.scan.result.dtype)
        if self.turned is None:
            self.kept = {fold: self.placer.memory(count, fold.dtype) for body in self.after for fold in folds_of(body)}
        opened = self.placer.nest(self.placer.top, *((*outer, strip) if is_shared(prod(shape[:axis])) else (strip, *outer)))

        def places(along: Index, variables: Sequence[Var]) -> tuple[Index, ...]:
            moved = [strip * v.extent + v if strips > 1 else v for v in variables]
            return tuple(Const(0) if index.bounds == (0, 0) else index for index in (*outer, along, *moved))

        ahead = self.placer.nest(opened[-1], *first)
        at = places(Const(0), first)
        self._write(ahead[-1], first, self._element(at), at, is_first=True)
        self.placer.close_all(ahead)
        along = self.placer.open(step, opened[-1])
        below = self.placer.nest(along, *inner)
        at = places(step, inner)
        self._write(below[-1], inner, _step(self.scan.op, self._at(self.carry, inner, self.scan.result.dtype), self._element(at)), at)
        self.placer.close_all(below)
        self.placer.close(along, "serial")
        if self.kept:
            behind = self.placer.nest(opened[-1], *last)
            self._write_folded(behind[-1], last, places(Const(shape[axis] - 1), last))
            self.placer.close_all(behind)
        self.placer.close_all(opened)
        read = (Buffer(self.names[tensor], tensor.dtype, tensor.size, "in") for tensor in self.scan.read)
        stored = (Buffer(self.names[tensor], tensor.dtype, tensor.size, "out") for tensor in self.scan.stored)
        return Kernel(name, (*read, *stored), tuple(self.placer.top.body), scratch=tuple(self.placer.scratch))

    def _at(self, memory: str, variables: Sequence[Var], dtype: str) -> Load:
        return Load(memory, self._lane(variables), dtype)

    def _lane(self, variables: Sequence[Var]) -> Index:
        return flat(tuple(variables), tuple(v.extent for v in variables), {})

    def _element(self, places: tuple[Index, ...]) -> Scalar:
        """What is added at a place of the source."""
        source, dtype = self.scan.source, self.scan.result.dtype
        if self.before is None:
            return as_dtype(Load(self.names[source], flat(places, source.shape, {}), source.dtype), dtype)
        return as_dtype(over(self.before.body, dict(zip(axes(source.shape), places, strict=True))), dtype)

    def _write(self, scope: Scope, lanes: Sequence[Var], total: Scalar, places: tuple[Index, ...], is_first: bool = False) -> None:
        """Keep a sum, and store what is made of it, or fold that."""
        values: dict[tuple[str, Index], Scalar] = {}
        for fold, memory in self.kept.items():
            env = {**self._own(places), fold.variable: places[self.scan.axis]}
            one = over(fold.body, env, self._known(fold.body, total))
            values[memory, self._lane(lanes)] = one if is_first else _step(fold.op, self._at(memory, lanes, fold.dtype), one)
        if not self.kept:
            target, made = self._made(total, places)
            values |= {(self.names[tensor], target): value for tensor, value in zip(self.scan.stored, made, strict=True)}
        several = {total, *used_by_several(*values.values())}
        done = [self.placer.place(value, scope, several) for value in values.values()]  # before what these are made of is changed
        scope.body.append(Store(self.carry, self._lane(lanes), self.placer.placed[total]))
        scope.body += [Store(memory, index, value) for (memory, index), value in zip(values, done, strict=True)]

    def _made(self, total: Scalar, places: tuple[Index, ...]) -> tuple[Index, list[Scalar]]:
        """Where what is made of a sum at a place is stored, and what that is."""
        if not self.after:
            return flat(places, self.scan.shape, {}), [total]
        turned = self.turned or ()
        at = tuple(n - 1 - index if back else index for index, n, back in zip(places, self.scan.shape, turned, strict=True))
        env = dict(zip(axes(self.scan.shape), at, strict=True))
        return flat(at, self.scan.shape, {}), [over(body, env, self._known(body, total)) for body in self.after]

    def _known(self, body: Scalar, total: Scalar) -> dict[Scalar, Scalar]:
        """The sum in the place of each load of the result."""
        result = self.names[self.scan.result]
        return {load: total for load in scalars(body) if isinstance(load, Load) and load.buffer == result}

    def _own(self, places: tuple[Index, ...]) -> dict[Var, Index]:
        """The places of what is made of folds along the axis."""
        made, axis = self.scan.stored[0].shape, self.scan.axis
        between = (Const(0),) if len(made) == len(places) else ()
        return dict(zip(axes(made), (*places[:axis], *between, *places[axis + 1 :]), strict=True))

    def _write_folded(self, scope: Scope, lanes: Sequence[Var], places: tuple[Index, ...]) -> None:
        """Store what is made of folds, and of the last of the sums."""
        own = self._own(places)
        folds: dict[Scalar, Scalar] = {fold: self._at(memory, lanes, fold.dtype) for fold, memory in self.kept.items()}
        last = self._at(self.carry, lanes, self.scan.result.dtype)
        values = [over(body, own, self._known(body, last) | folds) for body in self.after]
        several = used_by_several(*values)
        done = [self.placer.place(value, scope, several) for value in values]
        target = flat(tuple(own.values()), self.scan.stored[0].shape, {})
        scope.body += [Store(self.names[tensor], target, value) for tensor, value in zip(self.scan.stored, done, strict=True)]


def _step(op: str, one: Scalar, other: Scalar) -> Scalar:
    return Call(REDUCE_OPS[op].step, (one, other), one.dtype)
