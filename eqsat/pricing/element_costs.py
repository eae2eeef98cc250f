"""Estimated nanoseconds of the elements of kernels, part by part: what each part is, how much it takes, and with which loops it varies.

What a reduction repeats is counted as often as that, and equal subterms of a kernel are counted once.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, prod

from eqsat.codegen.elements.known_divisors import FORMATS, divides_by
from eqsat.codegen.folds.loops import LEAST_TOGETHER
from eqsat.ir.affine import coefficient, is_affine, joined, step_in_memory, strides
from eqsat.ir.dtypes import is_inexact, is_integer, itemsize
from eqsat.ir.index import Apply, Const, Index, Var, apply, variables, walk
from eqsat.ir.ops import identity_of
from eqsat.ir.tensor import Call, Gather, Literal, Position, Read, Reduce, Scalar, level_of, operands, position_of, scalars
from eqsat.lowering.affine import DIVISIONS, Forms, rebuilt, recombined, sum_of
from eqsat.lowering.ranges.seams import MOST_BRANCHES
from eqsat.lowering.ranges.unroll import MOST_TERMS
from eqsat.pricing.cost_model import (
    INTERLEAVED,
    NO_DIGITS,
    NO_LOOPS,
    SHORT_LOOP,
    CostModel,
    Digits,
    Part,
    Parts,
    Variables,
    load_steps,
    loops_of,
    trips,
    values,
    whole,
)
from eqsat.pricing.cycles import priced_as
from eqsat.pricing.locality import LINE_BYTES
from eqsat.pricing.pieces import Box, box_of

# folding the lanes of one vector, where a fold runs along its own variable because no axis has all loads side by side
ACROSS_CYCLES = 2.0
# how many sums one load serves, where sums are kept in tiles
SERVED = 8
# a loop more
BOX_CYCLES = 20.0
# adding a number to a place that has to be looked up, and a vector to such a row
PLACED_CYCLES, VECTOR_ADDED_CYCLES = 2.5, 2.0
# a long reduction within another is no loop around vectors: nothing but its own variable can run in them
ENCLOSED = 6.0


@dataclass(frozen=True, eq=False)
class Priced:
    """An element with the parts of its cost, the loop variables that it depends on, and those among them along which some load neither
    stays nor goes on by one.

    own       the parts that are its own
    operands  what else it is made of; parts that several of them share count once
    sides     of a choice that loops in boxes decide: where each side is chosen, and what is computed there
    apart     the loop variables along which a load of its own, which varies with results, is apart in memory
    digits    the digits of loops that it depends on: a mean of groups of channels varies with c // 8 only
    number    what it is, where that is a number
    along     the loop of a kernel whose places it is, as they are or some further on
    spikes    loops of a kernel at one place of which only it is not the number beside them
    """

    own: Mapping[Hashable, Part] = field(default_factory=dict)
    loops: Variables = NO_LOOPS
    awkward: Variables = NO_LOOPS
    operands: tuple[Priced, ...] = ()
    sides: Sides = ()
    apart: Variables = NO_LOOPS
    digits: Digits = NO_DIGITS
    number: complex | None = None
    along: Var | None = None
    spikes: Spikes = frozenset()

    def is_apart(self, variable: Var) -> bool:
        """Whether some load that varies with results is apart in memory along a loop."""
        stack, seen = [self], set[Priced]()
        while stack:
            one = stack.pop()
            if one not in seen:
                seen.add(one)
                stack += (*one.operands, *(priced for _, priced in one.sides))
                if variable in one.apart:
                    return True
        return False

    @functools.cached_property
    def branches(self) -> int:
        """How many boxes there are, with those of choices within choices."""
        return sum(priced.branches for _, priced in self.sides) or 1

    @functools.cached_property
    def parts(self) -> Mapping[Hashable, Part]:
        """Its own parts and those of everything below, put together when asked for: most elements are never compared."""
        found = dict(self.own)
        stack, seen = list(self.operands), set[Priced]()
        while stack:
            below = stack.pop()
            if below in seen:
                continue
            seen.add(below)
            if "parts" in below.__dict__:
                found.update(below.parts)
            else:
                found.update(below.own)
                stack += below.operands
        return found

    @functools.cached_property
    def folds(self) -> bool:
        """Whether there is a reduction in it; in none that boxes decide."""
        return not self.sides and any(isinstance(name, FoldPart) for name in self.parts)


Sides = tuple[tuple[Box, Priced], ...]
Spikes = frozenset[tuple[Var, complex]]


@dataclass(frozen=True)
class Access:
    """A load of any array of one shape and dtype at some indices."""

    load: Part
    move: Part
    indices: Parts
    awkward: Variables
    digits: Digits


def price_access(model: CostModel, shape: tuple[int, ...], dtype: str, indices: tuple[Index, ...], folded: Sequence[Var]) -> Access:
    """What a load costs; `folded`: the variables of the reductions around it, the innermost first.  One along memory goes innermost, since
    reductions in each other are put in the order of memory (`lowering/ranges/fold_order.py`)."""
    move_ns = model.move_ns(shape, dtype)
    indices, shape = _in_one_row(*joined(indices, shape))
    parts: Parts = {}
    for index in indices:
        parts.update(model.index_parts(index))
    steps = {v: abs(step) for v in folded if v.extent >= SHORT_LOOP and (step := step_in_memory(indices, shape, v))}
    near = {v: step for v, step in steps.items() if step <= INTERLEAVED}
    innermost = min(near, key=lambda v: near[v], default=folded[0] if folded else None)
    load = model.read_ns(shape, dtype, indices, innermost), loops_of(*indices)
    pieces = model.pieces.longest(*indices)
    awkward = frozenset(v for v in loops_of(*indices) if load_steps(pieces, shape, v).isdisjoint(range(INTERLEAVED + 1)))
    return Access(load, (move_ns, NO_LOOPS), parts, awkward, model.digits(*indices))


def _in_one_row(indices: tuple[Index, ...], shape: tuple[int, ...]) -> tuple[tuple[Index, ...], tuple[int, ...]]:
    """Indices that divide, as one into the same elements in a row, where that divides nothing: x[i // 2, i % 2 * 256 + j] of 512 columns is
    y[i * 256 + j]."""
    if len(indices) < 2 or all(map(is_affine, indices)):
        return indices, shape
    forms = Forms()
    offset = sum_of((forms(index), stride) for index, stride in zip(indices, strides(shape), strict=True))
    whole = rebuilt(recombined(offset))
    return ((whole,), (prod(shape),)) if is_affine(whole) else (indices, shape)


def price_read(key: Hashable, tensor: Hashable, access: Access) -> Priced:
    """A load; `key` names it, `tensor` what has to be moved for it."""
    parts: Parts = {("load", key): access.load, ("move", tensor): access.move, **access.indices}
    varies = any(position_of(v) is not None for v in access.load[1])
    return Priced(parts, access.load[1], access.awkward, apart=access.awkward if varies else NO_LOOPS, digits=access.digits)


def price_gather(model: CostModel, key: Hashable, places: Sequence[Priced], tensor: Hashable, shape: tuple[int, ...], dtype: str) -> Priced:
    """A load at computed places, as often as they vary; what is read of the tensor is moved, a line for each element at the most."""
    loops = NO_LOOPS.union(*(place.loops for place in places))
    parts: Parts = {}
    cycles = model.target.choosing_cycles(dtype, shape)
    parts["load", key] = model.cycles_ns(cycles * len(places)) * trips(loops), loops
    parts["move", tensor] = (
        min(model.move_ns(shape, dtype), model.target.byte_ns_of(prod(shape) * itemsize(dtype)) * LINE_BYTES * trips(loops)),
        NO_LOOPS,
    )
    awkward, digits = NO_LOOPS.union(*(place.awkward for place in places)), NO_DIGITS.union(*(place.digits for place in places))
    return Priced(parts, loops, awkward, tuple(places), digits=digits)


def price_position(model: CostModel, index: Index) -> Priced:
    """The value of an index term."""
    loops = [v for v in variables(index) if level_of(v) is None and coefficient(index, v) == 1]
    return Priced(model.index_parts(index), loops_of(index), digits=model.digits(index), along=loops[0] if len(loops) == 1 else None)


@dataclass(frozen=True)
class FoldPart:
    """The name of the part of a reduction: how many terms it has, with those of reductions within it that are computed for each, how many
    times it is computed, and whether for neighbours along an axis at once.

    inside  the parts of what it folds, but for those of one with reductions in it: others in one loop with it do not compute them again
    width   the bytes of what it folds to: those of one loop have the same
    across  whether vectors are of neighbours only, for its own terms are apart in memory
    """

    key: Hashable
    op: str
    terms: int
    times: int
    side_by_side: bool
    inside: Mapping[Hashable, float] = field(default_factory=dict, compare=False)
    width: int = 0
    across: bool = field(default=False, compare=False)


def price_fold(model: CostModel, key: Hashable, op: str, body: Priced, variable: Var, dtype: str) -> Priced:
    """A reduction: what depends on its variable is done in its loop, for every iteration of the loops around it, or of the parts of them
    that it depends on."""
    inside, digits = body.loops | {variable}, body.digits | whole((variable,))
    iterations, around = values(digits), _without(digits, variable)
    own = model.call_ns("add", dtype, iterations)
    side_by_side = any(position_of(v) is not None and v.extent >= SHORT_LOOP for v in body.loops - body.awkward)
    if not side_by_side and variable.extent >= SHORT_LOOP:
        own += model.cycles_ns(ACROSS_CYCLES) * values(around)
    # where no loop has all loads side by side they are made one by one
    along = any(position_of(v) is not None or (v.extent >= SHORT_LOOP and v not in body.awkward) for v in body.loops)
    one_by_one = not side_by_side and variable.extent >= SHORT_LOOP and variable in body.awkward
    one_by_one = one_by_one and (body.is_apart(variable) or not along)
    parts: Parts = {}
    folded: dict[Hashable, float] = {}
    terms = 1
    for name, (ns, loops) in body.parts.items():
        if variable in loops:
            times = name.times if isinstance(name, FoldPart) else trips(loops)
            repeated = 1.0 if _counts_only(name, variable) else iterations / times
            if isinstance(name, Apply):  # what is added to places is shared as loads are
                in_vectors = side_by_side and _is_simple(name)
                together = model.lanes("int32") if in_vectors else 1.0
                decided = in_vectors and variable.extent < SHORT_LOOP and len([v for v in loops if level_of(v) is None]) == 1
                folded[name] = ns if decided else ns / together * max(1.0, repeated / SERVED)
            elif isinstance(name, tuple) and name[0] == "load":  # the same element for other iterations is there, or one load of a vector
                needed = values(digit for digit in digits if digit[0] in loops)
                whole_ns = model.cycles_ns(model.target.load_cycles) / model.lanes(dtype) * needed
                ns *= needed / times
                folded[name] = max(ns, min(ns, whole_ns) * iterations / needed / SERVED)
                if one_by_one:
                    folded[name] = max(folded[name], model.cycles_ns(model.target.gather_cycles) * needed)
            else:
                if isinstance(name, FoldPart):
                    terms = max(terms, name.terms)
                    chained = name in body.own and name.op == op
                    repeated *= 1.0 if chained or not name.side_by_side or name.terms <= MOST_TERMS else ENCLOSED
                folded[name] = ns * repeated
        else:
            parts[name] = ns, loops
    alone = variable.extent >= LEAST_TOGETHER and not any(isinstance(name, FoldPart) for name in body.parts)
    across = side_by_side and variable in body.awkward
    part = FoldPart(key, op, terms * variable.extent, values(around), side_by_side, folded if alone else {}, itemsize(dtype), across)
    added = _added_at_places(model, body, op, variable, dtype)
    parts[part] = min(own + sum(folded.values()), added), inside - {variable}
    return Priced(parts, inside - {variable}, body.awkward - {variable}, digits=around)


def _added_at_places(model: CostModel, body: Priced, op: str, variable: Var, dtype: str) -> float:
    """What a fold costs of which a term counts at one place of some loops only, and is added there (`lowering/folds/at_places.py`): along
    other loops that are neighbours in memory in vectors."""
    zero = identity_of(op, dtype).item()
    alone = {loop for loop, number in body.spikes if number == zero}
    if not alone:
        return inf
    added = [digit for digit in body.digits | whole((variable,)) if digit[0] not in alone]
    beside = {digit[0] for digit in added if level_of(digit[0]) is None and digit[0] not in body.awkward}
    steps = values(digit for digit in added if digit[0] not in beside)
    vectors = steps * -(-trips(frozenset(beside)) // int(model.lanes(dtype))) if beside else 0
    return model.cycles_ns(PLACED_CYCLES) * steps + model.cycles_ns(VECTOR_ADDED_CYCLES) * vectors


def _without(digits: Digits, loop: Var) -> Digits:
    return frozenset(digit for digit in digits if digit[0] is not loop)


def _is_simple(term: Apply) -> bool:
    """Whether an index term, as conditions and clamps of windows are, divides nothing: neighbours compute it at once."""
    return not any(isinstance(below, Apply) and below.op in (*DIVISIONS, "mul") and not is_affine(below) for below in walk(term))


def _counts_only(part: Hashable, variable: Var) -> bool:
    """Whether a part is an index term of the variable of a fold alone, which is short, and written out, or split where it is divided."""
    if not isinstance(part, Apply) or any(v is not variable for v in variables(part)):
        return False
    divisors = (term.args[1] for term in walk(part) if isinstance(term, Apply) and term.op in DIVISIONS)
    evenly = all(isinstance(divisor, Const) and divisor.value and variable.extent % divisor.value == 0 for divisor in divisors)
    return evenly or variable.extent <= MOST_TERMS


def price_body(model: CostModel, body: Scalar) -> Priced:
    """Every part of an element expression."""
    done: dict[Scalar, Priced] = {}
    for term in scalars(body):
        if isinstance(term, Read):
            folded = sorted((v for v in variables(*term.indices) if level_of(v) is not None), key=lambda v: v.name, reverse=True)
            done[term] = price_read(term, term.tensor, price_access(model, term.tensor.shape, term.dtype, term.indices, folded))
        elif isinstance(term, Gather):
            done[term] = price_gather(model, term, [done[arg] for arg in term.args], term.tensor, term.tensor.shape, term.dtype)
        elif isinstance(term, Position):
            done[term] = price_position(model, term.index)
        elif isinstance(term, Literal):
            done[term] = Priced(number=term.value)
        elif isinstance(term, Reduce):
            done[term] = price_fold(model, term, term.op, done[term.body], term.variable, term.dtype)
        else:
            op = priced_as(term.op, term.args[0].dtype) if isinstance(term, Call) else ""
            done[term] = price_call(model, term, [done[arg] for arg in operands(term)], op, term.dtype, _condition(term))
    return done[body]


def _condition(term: Scalar) -> Index | None:
    """The index term that chooses between elements."""
    chooser = term.args[0] if isinstance(term, Call) and term.op == "where" else None
    return chooser.index if isinstance(chooser, Position) else None


def price_call(model: CostModel, key: Hashable, below: Sequence[Priced], op: str, dtype: str, condition: Index | None = None) -> Priced:
    """An elementwise operation on priced operands; "" is no operation.  `condition`: the index term that chooses between elements."""
    loops = NO_LOOPS.union(*(priced.loops for priced in below))
    if condition is not None and (boxes := _price_boxes(model, condition, below, loops)) is not None:
        return boxes
    decided = condition is not None and _is_decided(model, condition, loops)
    each = sum(model.call_ns(one, dtype, trips(loops)) for one in _made_of(model, op, dtype, below))
    parts: Parts = {key: (each, loops)} if op and not decided else {}
    awkward, digits = NO_LOOPS.union(*(priced.awkward for priced in below)), NO_DIGITS.union(*(priced.digits for priced in below))
    along = below[0].along if op == "astype" and is_integer(dtype) else None
    return Priced(parts, loops, awkward, tuple(below), digits=digits, along=along, spikes=_spikes(op, below, dtype))


def _made_of(model: CostModel, op: str, dtype: str, below: Sequence[Priced]) -> tuple[str, ...]:
    """The operations that one is: a division by a known number is others, unless it has a price of its own."""
    by = below[1].number if op == "divide" and len(below) == 2 else None
    if not isinstance(by, float) or op in model.costs.element_cycles or dtype not in FORMATS:
        return (op,)
    return divides_by(by, dtype)


def _spikes(op: str, below: Sequence[Priced], dtype: str) -> Spikes:
    """Loops at one place of which only an operation is not a number: comparisons with places, and what they choose."""
    if op == "equal":
        sides = zip(below, below[::-1], strict=True)
        return frozenset((one.along, 0) for one, other in sides if one.along is not None and one.along not in other.loops)
    if op == "where" and below[2].number is not None:
        zero = below[2].number
        chosen = frozenset((loop, zero) for loop, number in below[0].spikes if number == 0)
        return chosen | frozenset(spike for spike in below[1].spikes if spike[1] == zero)
    if op == "astype" or (op in ("multiply", "logical_and", "bitwise_and") and not is_inexact(dtype)):
        return frozenset(spike for one in below for spike in one.spikes if spike[1] == 0)
    return frozenset()


def _is_decided(model: CostModel, condition: Index, loops: Variables) -> bool:
    """Whether pieces of loops decide a condition on terms of a fold that is written out."""
    terms = prod(v.extent for v in loops if level_of(v) is not None)
    return 1 < terms <= MOST_TERMS and isinstance(condition, Apply) and model.pieces.are_decided(condition)


def _price_boxes(model: CostModel, condition: Index, below: Sequence[Priced], loops: Variables) -> Priced | None:
    """A choice between elements that loops in boxes decide: each part is computed in the boxes that it is in, for what these hold of the
    loops that it depends on.  None where a fold is in one, or around both, or the boxes are too many."""
    then, otherwise = box_of(condition), box_of(apply("not", condition))
    if then is None or otherwise is None or sum(priced.branches for priced in below[1:]) > MOST_BRANCHES:
        return None
    if any(level_of(v) is not None for v in loops) or any(priced.folds for priced in below[1:]):
        return None
    sides = tuple(zip((then, otherwise), below[1:], strict=True))
    awkward = NO_LOOPS.union(*(priced.awkward for priced in below[1:]))
    return Priced(_Decided(model, condition, sides), loops, awkward, sides=sides, digits=whole(loops))


class _Decided(Mapping[Hashable, Part]):
    """The parts of a choice that boxes decide, put together when asked for: nobody asks for those of a choice within another one."""

    def __init__(self, model: CostModel, condition: Index, sides: Sides) -> None:
        self.model, self.condition, self.sides = model, condition, sides

    @functools.cached_property
    def _parts(self) -> Mapping[Hashable, Part]:
        boxes = list(_boxes(self.sides))
        decide = NO_LOOPS.union(*(box.loops for box, _ in boxes))  # so no loop over what decides computes it again
        own: dict[Hashable, Part] = {self.condition: (self.model.cycles_ns(BOX_CYCLES) * (len(boxes) - 1), NO_LOOPS)}
        computed: dict[Hashable, float] = {}
        for box, priced in boxes:
            shares: dict[Variables, tuple[float, Variables]] = {}
            for name, (ns, around) in priced.parts.items():
                if around not in shares:
                    shares[around] = box.share(around), around | decide
                share, with_these = shares[around]
                computed[name] = total = computed.get(name, 0.0) + share
                own[name] = ns * min(1.0, total), with_these
        return own

    def __getitem__(self, name: Hashable) -> Part:
        return self._parts[name]

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)


def _boxes(sides: Sides) -> Iterator[tuple[Box, Priced]]:
    """Each box, and what is computed in it."""
    stack = list(reversed(sides))
    while stack:
        box, priced = stack.pop()
        if priced.sides:
            stack += [(box.meet(side), inside) for side, inside in reversed(priced.sides)]
        else:
            yield box, priced


def total_ns(parts: Mapping[Hashable, Part]) -> float:
    """The sum of all parts."""
    return sum(ns for ns, _ in parts.values())
