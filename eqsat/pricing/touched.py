"""What the accesses of a kernel bring near, each line of memory counted once: of accesses beside each other, which differ by constants, and
of loops one behind the other, where what the first of them brought may be near still (see eqsat.pricing.locality)."""

from __future__ import annotations

from eqsat.ir.dtypes import itemsize
from eqsat.ir.index import Index, Var
from eqsat.ir.loops import Kernel, statements
from eqsat.lowering.affine import Forms
from eqsat.pricing.locality import LINE_BYTES, moved_ns, taps
from eqsat.pricing.nest_places import Terms, accesses_of
from eqsat.pricing.target import Target

# loops around an access, and how far it goes with each of their iterations
Strides = tuple[tuple[Var, int | None], ...]


class Touched:
    def __init__(self, kernel: Kernel, target: Target, forms: Forms) -> None:
        self.target, self.forms = target, forms
        self.bytes = kernel.bytes
        self.places = _places(kernel, forms)
        self.counted: set[tuple[str, Terms, tuple[Var, ...]]] = set()
        self.before: dict[str, dict[Strides, int]] = {}

    def moved_ns(self, buffer: str, offset: Index, dtype: str, loops: tuple[Var, ...], stores: bool = False) -> float:
        """Bringing near what an access touches and others that differ from it by constants, at the first of them."""
        form = self.forms(offset)
        terms, places, width = frozenset(form.terms.items()), self.places[buffer], itemsize(dtype)
        if (buffer, terms, loops) in self.counted:
            return 0.0
        self.counted.add((buffer, terms, loops))
        runs = [(_along(run, terms), others) for run, others in places.items()]
        line = LINE_BYTES // width
        alone = [place for place in places[terms] if not any(v is not None and _is_beside(place, others, v, line) for v, others in runs)]
        if not alone:
            return 0.0
        strides = tuple((v, form.stride(v)) for v in loops)
        before = self.before.setdefault(buffer, {})
        again = [_touched_again(one, strides, abs(alone[0] - place) - line) for one, place in before.items()]
        before[strides] = alone[0]
        steps = [*((v.extent, stride) for v, stride in strides), *taps(alone, width)]
        near = max((k for k in again if k is not None), default=None)
        return moved_ns(self.target, self.bytes[buffer], width, steps, near, stores)


def _places(kernel: Kernel, forms: Forms) -> dict[str, dict[Terms, set[int]]]:
    """For each buffer how accesses go with the loops, and the constants by which those differ that go alike."""
    found: dict[str, dict[Terms, set[int]]] = {}
    for stmt in statements(kernel.body):
        for buffer, offset in accesses_of(stmt):
            form = forms(offset)
            found.setdefault(buffer, {}).setdefault(frozenset(form.terms.items()), set()).add(form.constant)
    return found


def _along(run: Terms, terms: Terms) -> Var | None:
    """The variable by which accesses go along memory, inside of loops with which others go alike."""
    more = run - terms if terms < run else frozenset()
    return next((v for v, stride in more if stride == 1 and isinstance(v, Var)), None) if len(more) == 1 else None


def _is_beside(place: int, others: set[int], along: Var, line: int) -> bool:
    """Whether a place is in a line of runs that begin at others."""
    return any(other + along.lo - line < place < other + along.hi + line for other in others)


def _touched_again(before: Strides, loops: Strides, apart: int) -> int | None:
    """How many loops are around both of two accesses in each of whose iterations the second one touches mostly what the first did.

    apart  from which place to which they are, for the same iterations
    """
    shared = next((k for k, (one, other) in enumerate(zip(before, loops, strict=False)) if one != other), min(len(before), len(loops)))
    extents = {stride: v.extent for v, stride in before[shared:]}
    inner = [(v.extent, stride) for v, stride in loops[shared:] if stride != 0]
    if not all(stride is not None and extent <= 2 * extents.get(stride, 0) for extent, stride in inner):
        return None
    return shared if apart <= sum(abs(stride or 0) * (extent - 1) for stride, extent in extents.items()) / 2 else None
