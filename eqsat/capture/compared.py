"""Tensors that a program compares with what it makes of them, as `y == y.max()` does, and argmax: they are computed once.

Fusion computes a tensor again in every kernel that reads it.  Below "exact" its last bits may differ then, for multiplications are
contracted with additions in one loop and not in the other, and sums are added up in another order: the greatest element would not be
found among the elements.  A program is taken apart at such tensors, so that all that reads them reads what was stored.
"""

from __future__ import annotations

from collections.abc import Iterator

from eqsat.capture.parts_of_orders import only_parts_of_orders
from eqsat.ir.dtypes import is_inexact
from eqsat.ir.generics import as_build
from eqsat.ir.ops import COMPARISONS
from eqsat.ir.steps import Parts, take_apart
from eqsat.ir.tensor import Build, Call, Gather, Generic, Program, Read, Reduce, Scalar, Tensor, scalars, sources, tensors
from eqsat.options import Numerics, Options

# they give one of their operands, or what follows from one without rounding
SELECTIONS = ("maximum", "minimum", "fmax", "fmin", "where", "negative", "absolute", "astype", "real", "imag", "conjugate")
# one operation gives the same whatever is around it: several may be contracted
STEADY = ("add", "subtract", "multiply", "divide", "sqrt")


def taken_apart(program: Program, options: Options) -> Parts:
    """The parts of a program between its steps, and between tensors that are compared with what is made of them."""
    program = only_parts_of_orders(program)
    return take_apart(program, compared_with_itself(program, options.numerics))


def compared_with_itself(program: Program, numerics: Numerics) -> tuple[Tensor, ...]:
    """The tensors of floats that both sides of a comparison go back to, sources first, unless computing them again gives the same bits."""
    if numerics == "exact":
        return ()
    origins = _Origins(program)
    both: set[Tensor] = set()
    for body in origins.bodies.values():
        for left, right in _comparisons(body):
            both |= origins.of(left) & origins.of(right)
    roundings = _roundings(origins.bodies, 2)
    least = 1 if numerics == "fast" else 2  # a division may become a product, or not
    return tuple(tensor for tensor in origins.bodies if tensor in both and roundings[tensor] >= least)


def _comparisons(body: Scalar) -> Iterator[tuple[Scalar, Scalar]]:
    """The operands of the comparisons of floats in an element; an element beside itself is a question for NaN."""
    for term in scalars(body):
        if isinstance(term, Call) and term.op in COMPARISONS and all(is_inexact(arg.dtype) for arg in term.args):
            left, right = term.args
            if left is not right:
                yield left, right


class _Origins:
    """The tensors in which values are computed that others only select.

    bodies  the elements of the tensors that a program makes itself, sources first
    """

    def __init__(self, program: Program) -> None:
        self.bodies: dict[Tensor, Scalar] = {}
        self._known: dict[Tensor, frozenset[Tensor]] = {}
        for tensor in tensors(*program.outputs):
            if isinstance(tensor, Build | Generic):
                body = (as_build(tensor) if isinstance(tensor, Generic) else tensor).body
                selected = self.of(body)
                self.bodies[tensor] = body
                self._known[tensor] = selected | {tensor} if _computes(body) else selected

    def of(self, term: Scalar) -> frozenset[Tensor]:
        """The tensors that the values of an element are those of."""
        found: set[Tensor] = set()
        for sub in _selected(term):
            if isinstance(sub, Read | Gather) and is_inexact(sub.dtype):
                found |= self._known.get(sub.tensor, frozenset())
        return frozenset(found)


def _selected(body: Scalar) -> Iterator[Scalar]:
    """What an element may be, itself first: operands of selections and of extrema, but not of what computes."""
    stack, seen = [body], set[Scalar]()
    while stack:
        term = stack.pop()
        if term in seen:
            continue
        seen.add(term)
        yield term
        if isinstance(term, Reduce) and term.op in ("max", "min"):
            stack.append(term.body)
        elif isinstance(term, Call) and term.op in SELECTIONS:
            stack += [arg for arg in term.args if is_inexact(arg.dtype)]


def _computes(body: Scalar) -> bool:
    """Whether an element may be the result of an operation that rounds."""
    return any(_rounds(term) for term in _selected(body))


def _rounds(term: Scalar) -> int:
    """How many roundings an operation stands for: 2 for those that are written out, and for sums."""
    if not is_inexact(term.dtype):
        return 0
    if isinstance(term, Reduce):
        return 0 if term.op in ("max", "min") else 2
    if not isinstance(term, Call) or term.op in SELECTIONS:
        return 0
    return 1 if term.op in STEADY else 2


def _roundings(bodies: dict[Tensor, Scalar], most: int) -> dict[Tensor, int]:
    """How many roundings lead from arrays that are there to a tensor, counted up to `most`."""
    found: dict[Tensor, int] = {}
    for tensor, body in bodies.items():
        below = sum(found.get(source, 0) for source in sources(tensor))
        found[tensor] = min(most, below + sum(map(_rounds, scalars(body))))
    return found
