"""Loops of Python that were written out while a program was recorded, as loops again: their body is optimized and compiled once.

    u1 = f(u0, w);  u2 = f(u1, w);  ..;  u50 = f(u49, w)        is        u1 = f(u0, w);  u50 = 49 times (u1, w): f

Tensors stand in the order in which they are made.  Where what stands there repeats itself, each tensor the same function of tensors that
stand as far before it, or of tensors that are the same all the time, a part of it is the body of a loop; what reaches from one part into
later ones is carried.  What is read or put at places that go on by one step from part to part (`y[t] = x[t]`) is so at the counter, and
what of every part is joined behind them (`stack(states)`) is put into an array.  Parts whose tensors are made element by element stay as
they are as long as they are few: they become one kernel.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np

from eqsat.ir.copied import copied
from eqsat.ir.generics import as_build
from eqsat.ir.index import Const, Var
from eqsat.ir.steps import Loop
from eqsat.ir.tensor import (
    Build,
    Constant,
    Generic,
    Input,
    Literal,
    Program,
    Read,
    StepResult,
    Tensor,
    axes,
    has_fold,
    over,
    scalars,
    sources,
    tensors,
)
from eqsat.kernels.invariant import without_invariants
from eqsat.kernels.numbered import Row, at_step, function_of, reads_at, rows_of
from eqsat.operations.assignment import at_known_place
from eqsat.operations.joining import concatenate
from eqsat.operations.movement import flip, moveaxis, reshape
from eqsat.operations.placing import put_at

# parts that are worth a loop, and tensors in them: of parts that become a kernel each, and of such as become one together
LEAST_PARTS, LEAST_TENSORS, MANY_TENSORS = 8, 48, 600
# tensors of a part that are read of many parts one by one, for which all parts have to be kept
MOST_FAR = 4
# tensors of a part, how many lengths of parts are tried, parts across which something is carried, and what is carried
LONGEST_PART, MOST_LENGTHS, FARTHEST, MOST_CARRIED = 400, 8, 4, 16
# tensors of a part that are made alike
MOST_ALIKE = 4
# runs that are tried, the longest first
MOST_RUNS = 12


def rolled(program: Program) -> Program:
    """The program with loops in the places of what repeats itself; the same one where that is little or nothing."""
    if program.sizes:
        return program
    while (found := _with_one_loop(program)) is not None:
        program = found
    return program


def _with_one_loop(program: Program) -> Program | None:
    """The program with one loop more, in the place of the longest run that may be one; None where there is none."""
    order = [tensor for tensor in tensors(*program.outputs) if sources(tensor) or isinstance(tensor, Build | Generic)]
    if len(order) < LEAST_TENSORS:
        return None
    rows = rows_of(order)
    line = _Line(_in_order([tensor for tensor in order if tensor not in rows]), rows)
    runs = sorted((run for length in line.lengths() for run in line.runs(length)), key=lambda run: -run.covered)
    return next((found for run in runs[:MOST_RUNS] if (found := _with_loop(program, line, run)) is not None), None)


def _in_order(made: Sequence[Tensor]) -> list[Tensor]:
    """Tensors, sources first, as a loop makes them: what is made of those on the longest way through them at once, everything else when it
    is needed, as what is read of an array of all states."""
    inside = set(made)
    below = {tensor: [source for source in sources(tensor) if source in inside] for tensor in made}
    up: dict[Tensor, int] = {}
    for tensor in made:
        up[tensor] = 1 + max((up[source] for source in below[tensor]), default=0)
    down = dict.fromkeys(made, max(up.values()))
    for tensor in reversed(made):
        for source in below[tensor]:
            down[source] = min(down[source], down[tensor] - 1)
    key: dict[Tensor, tuple[int, int]] = {}
    early: set[Tensor] = set()
    for k, tensor in enumerate(made):
        is_row = any(isinstance(source, StepResult) for source in below[tensor]) and any(isinstance(at, Const) for at in reads_at(tensor))
        if not is_row and any(source in early or up[source] == down[source] for source in below[tensor]):
            early.add(tensor)
            place, further = max(key[source] for source in below[tensor])
            key[tensor] = place, further + 1
        else:
            key[tensor] = k, 0
    return sorted(made, key=key.__getitem__)


@dataclass(frozen=True)
class _Run:
    """Tensors from `start` to `end` of which each is made as the one `length` before it."""

    start: int
    end: int
    length: int

    @property
    def covered(self) -> int:
        return (self.end - self.start) // self.length * self.length


class _Line:
    """Tensors in the order in which they are made, each as a function of others and of rows, with the numbers among their places and among
    those of the rows."""

    def __init__(self, order: Sequence[Tensor], rows: Mapping[Tensor, Row]) -> None:
        self.order, self.rows = order, rows
        self.position = {tensor: k for k, tensor in enumerate(order)}
        known = [function_of(tensor) for tensor in order]
        self.function = [function for function, _ in known]
        self.own = [len(places) for _, places in known]
        read = [[rows[source].places for source in sources(tensor) if source in rows] for tensor in order]
        self.places = [tuple(chain(places, *others)) for (_, places), others in zip(known, read, strict=True)]

    def lengths(self) -> list[int]:
        """How far apart tensors stand that are made alike, the most frequent first.  A part may make several alike, as the two carried rows
        of a system of equations, so it is not always the last such that is as far before as a part is long."""
        last: dict[Tensor, deque[int]] = {}
        found: Counter[int] = Counter()
        for k, function in enumerate(self.function):
            before = last.setdefault(function, deque(maxlen=MOST_ALIKE))
            found.update(k - place for place in before)
            before.append(k)
        often = [length for length, times in found.most_common() if times >= LEAST_PARTS and length <= LONGEST_PART]
        return often[:MOST_LENGTHS]

    def runs(self, length: int) -> Iterator[_Run]:
        """The longest stretches that repeat themselves after so many tensors."""
        start = 0
        stays: dict[int, tuple[bool, ...] | None] = {}
        for k in range(length, len(self.order) + 1):
            stays[k] = self._again(k, length) if k < len(self.order) else None
            if stays[k] is not None and (k - length < start + length or stays[k] == stays[k - length]):
                continue
            if k - start >= (LEAST_PARTS + 1) * length:
                yield _Run(start, k, length)
            start = k - length + 1

    def _again(self, k: int, length: int) -> tuple[bool, ...] | None:
        """Per source of tensor k: is it the very source of tensor k - length?  None unless k is made by the same function, of the same
        sources or of sources `length` later."""
        if self.function[k] is not self.function[k - length]:
            return None
        pairs = list(zip(sources(self.order[k - length]), sources(self.order[k]), strict=True))
        made = all(one is other or self._is_shifted(one, other, length) or self._are_rows(one, other) for one, other in pairs)
        return tuple(one is other for one, other in pairs) if made else None

    def alone(self, parts: range) -> set[Tensor]:
        """The tensors of parts, which begin there, that are made of what is the same in all parts and of each other: rows of an input."""
        found: set[Tensor] = set()
        for k in range(parts.start, parts.stop):
            tensor = self.order[k]
            again = sources(self.order[k + parts.step if k + parts.step < parts.stop else k - parts.step])
            if all(source in found or source in self.rows or source is other for source, other in zip(sources(tensor), again, strict=True)):
                found.add(tensor)
        return found

    def _are_rows(self, one: Tensor, other: Tensor) -> bool:
        """Whether they are rows of one array, read alike."""
        if one not in self.rows or other not in self.rows:
            return False
        first, second = self.rows[one], self.rows[other]
        return first.of is second.of and first.functions == second.functions

    def _is_shifted(self, one: Tensor, other: Tensor, length: int) -> bool:
        return one in self.position and other in self.position and self.position[other] - self.position[one] == length


def _with_loop(program: Program, line: _Line, run: _Run) -> Program | None:
    """The program with a loop in the place of a run; None where that is not worth it, or not possible."""
    length = run.length
    first = min(range(run.start, run.start + length), key=lambda at: _crossing(line, run, at + length))
    parts = (run.end - first) // length
    after = first + parts * length
    carried = _carried(program, line, range(first, after, length)) if parts > LEAST_PARTS else None
    if not carried:
        return None
    peeled = max(far for _, far in carried)
    begin = first + peeled * length
    body = line.order[begin : begin + length]
    steps = _steps_of_places(line, range(begin, after, length))
    if steps is None or not _is_worth_it(body, parts - peeled):
        return None
    histories = _histories(line, range(begin, after, length))
    given = [line.order[begin - far * length + place] for place, far in carried]
    made = [line.order[after - far * length + place] for place, far in carried]
    alone = line.alone(range(begin, after, length))
    inside = _read_behind(program, line, after, histories)
    far = [tensor for tensor in line.order[begin:after] if tensor in inside and tensor not in made and tensor not in alone]
    if len({(line.position[tensor] - begin) % length for tensor in far}) > MOST_FAR:
        return None
    carries = [Input(f"carry[{k}]", tensor.shape, tensor.dtype) for k, tensor in enumerate(given)]
    counter = Input("i", (), "int64", parts - peeled - 1)
    in_a_step = _in_a_step(line, begin, steps, dict(zip(given, carries, strict=True)), counter)
    if in_a_step is None:
        return None
    known, stays = in_a_step
    following = [known[body[place]] if far == 1 else carries[carried.index((place, far - 1))] for place, far in carried]
    kept = list(dict.fromkeys([one.place for one in histories.values()] + [(line.position[one] - begin) % length for one in far]))
    for place in kept:
        every = Input(f"carry[{len(carries)}]", (parts - peeled, *body[place].shape), body[place].dtype)
        carries.append(every)
        given.append(Build(every.shape, Literal(0, every.dtype)))
        following.append(put_at(every, [counter, *[None] * len(body[place].shape)], (), known[body[place]]))
    step = Program((counter, *carries, *stays.values()), tuple(map(copied, following)))
    loop = without_invariants(Loop(parts - peeled, step, (*given, *stays)))
    done: dict[Tensor, Tensor] = dict(zip(made, loop.results, strict=False))
    states = dict(zip(kept, loop.results[len(made) :], strict=True))
    for tensor in far:  # one of all states
        part, place = divmod(line.position[tensor] - begin, length)
        done[tensor] = Build(tensor.shape, Read(states[place], (Const(part), *axes(tensor.shape))))
    for tensor in tensors(*program.outputs):
        if tensor in done or (begin <= line.position.get(tensor, -1) < after and tensor not in alone):
            continue
        if tensor in histories:
            done[tensor] = histories[tensor].joined(states, done)
        else:
            done[tensor] = over(tensor, done)
    return Program(program.inputs, tuple(done[output] for output in program.outputs), program.structure)


def _in_a_step(
    line: _Line, begin: int, steps: Sequence[tuple[int, ...]], carried: Mapping[Tensor, Tensor], counter: Input
) -> tuple[dict[Tensor, Tensor], dict[Tensor, Input]] | None:
    """What the tensors of the part at `begin` are in a step of a loop over the parts, with what is carried to it, and the tensors from
    outside that stay the same, by what they are called in it; None where one is made of others in the next part."""
    length, known = len(steps), dict(carried)
    stays: dict[Tensor, Input] = {}

    def captured(source: Tensor) -> Tensor:
        if isinstance(source, Constant):
            return source
        return stays.setdefault(source, Input(f"captured{len(stays)}", source.shape, source.dtype))

    for place, tensor in enumerate(line.order[begin : begin + length]):
        here: dict[Tensor, Tensor] = {}
        numbers = zip(line.places[begin + place], steps[place], strict=True)
        own = list(islice(numbers, line.own[begin + place]))
        for source, later in zip(sources(tensor), sources(line.order[begin + length + place]), strict=True):
            if (row := line.rows.get(source)) is not None:
                here[source] = row.at_step(captured(row.of), list(islice(numbers, len(row.places))), counter)
            elif isinstance(source, Constant) or (source is later and line.position.get(source, -1) < begin):
                here[source] = captured(source)  # which may be what is carried to the first part, too
            elif source is later or source not in known:
                return None
            else:
                here[source] = known[source]
        known[tensor] = at_step(tensor, here, own, counter)
    return known, stays


def _crossing(line: _Line, run: _Run, border: int) -> int:
    """How many tensors of a run are before a border in it and read behind that."""
    behind = line.order[border : min(border + FARTHEST * run.length, run.end)]
    before = {line.position.get(source, -1) for tensor in behind for source in sources(tensor)}
    return sum(run.start <= place < border for place in before)


def _carried(program: Program, line: _Line, begins: range) -> list[tuple[int, int]] | None:
    """What is carried: places in a part, and how many parts it is before the one that reads it, with all that is nearer; None where that
    is farther, or more, than a loop should carry.  `begins`: where parts begin."""
    first, after, length, parts = begins.start, begins.stop, begins.step, len(begins)
    found: set[tuple[int, int]] = set()

    def reached(source: Tensor, part: int) -> bool:
        """Note what a part reads of those before it; False where that is too far away."""
        before, place = divmod(line.position[source] - first, length)
        found.update((place, far) for far in range(1, part - before + 1))
        return part - before <= FARTHEST

    begin = first + FARTHEST * length
    for one, again in zip(line.order[begin : begin + length], line.order[begin + length : begin + 2 * length], strict=True):
        pairs = zip(sources(one), sources(again), strict=True)
        shifted = [source for source, later in pairs if source is not later and source not in line.rows]
        if not all(reached(source, FARTHEST) for source in shifted):
            return None
    last, alone = range(begins[min(FARTHEST, parts - 1)], after, length), line.alone(begins)
    for source in _read_behind(program, line, after, _histories(line, last)) - alone:
        if after - FARTHEST * length <= line.position.get(source, -1) < after:
            reached(source, parts)
    return sorted(found) if len(found) <= MOST_CARRIED else None


def _read_behind(program: Program, line: _Line, after: int, histories: Mapping[Tensor, _History]) -> set[Tensor]:
    """What is read by what stands behind a place, or handed out; of parts that are joined only what is not kept for that."""
    read = {source for tensor in line.order[after:] if tensor not in histories for source in sources(tensor)}
    return read | {source for one in histories.values() for source in one.others} | set(program.outputs)


@dataclass(frozen=True)
class _History:
    """A tensor that joins what is at one `place` of each part, its sources from `first` up to `end`, along an axis, with others;
    `backwards`: the last part first."""

    place: int
    axis: int
    first: int
    end: int
    backwards: bool
    operands: tuple[Tensor, ...]

    @property
    def others(self) -> tuple[Tensor, ...]:
        """What is joined beside the parts."""
        return (*self.operands[: self.first], *self.operands[self.end :])

    def joined(self, states: Mapping[int, Tensor], known: Mapping[Tensor, Tensor]) -> Tensor:
        """The same of an array of all parts."""
        every = states[self.place]
        count, *shape = every.shape
        merged = (*shape[: self.axis], count * shape[self.axis], *shape[self.axis + 1 :])
        whole = reshape(moveaxis(flip(every, 0) if self.backwards else every, 0, self.axis), merged)
        before, behind = self.operands[: self.first], self.operands[self.end :]
        return concatenate([*(known[one] for one in before), whole, *(known[one] for one in behind)], self.axis)


def _histories(line: _Line, begins: range) -> dict[Tensor, _History]:
    """The tensors behind parts that join what is at one place of each of them; `begins`: where parts begin."""
    found: dict[Tensor, _History] = {}
    for tensor in line.order[begins.stop :]:
        operands = tensor.operands if isinstance(tensor, Generic) else ()
        at: dict[int, list[tuple[int, int]]] = {}
        for k, operand in enumerate(operands):
            part, place = divmod(line.position.get(operand, -1) - begins.start, begins.step)
            if 0 <= part < len(begins):
                at.setdefault(place, []).append((k, part))
        every = list(range(len(begins)))
        for place, joined in at.items():
            first, parts = joined[0][0], [part for _, part in joined]
            if parts not in (every, every[::-1]) or [k for k, _ in joined] != [first + k for k in every]:
                continue
            axis = _axis_joined(tensor, operands)
            if axis is not None:
                found[tensor] = _History(place, axis, first, first + len(every), parts != every, operands)
    return found


def _axis_joined(tensor: Tensor, operands: Sequence[Tensor]) -> int | None:
    """The axis along which a tensor joins its operands; None of others."""
    for axis, extent in enumerate(tensor.shape):
        others = {(*operand.shape[:axis], *operand.shape[axis + 1 :]) for operand in operands if len(operand.shape) == len(tensor.shape)}
        if others == {(*tensor.shape[:axis], *tensor.shape[axis + 1 :])} and sum(one.shape[axis] for one in operands) == extent:
            return axis if concatenate(list(operands), axis) is tensor else None
    return None


def _steps_of_places(line: _Line, begins: range) -> list[tuple[int, ...]] | None:
    """How the numbers among places go on from part to part, for each tensor of a part; None where not by one step."""
    found: list[tuple[int, ...]] = []
    for place in range(begins.step):
        every = np.array([line.places[begin + place] for begin in begins], np.int64)
        steps = np.diff(every, axis=0)
        if (steps != steps[:1]).any():
            return None
        found.append(tuple(steps[0].tolist()))
    return found


def _is_worth_it(body: Sequence[Tensor], parts: int) -> bool:
    if not all(isinstance(tensor, Build | Generic) for tensor in body):
        return False  # what are calls of functions takes as long in a loop
    return len(body) * parts >= (MANY_TENSORS if all(map(_is_by_elements, body)) else LEAST_TENSORS)


def _is_by_elements(tensor: Tensor) -> bool:
    if at_known_place(tensor) is not None:
        return False  # all elements would be made anew in each part
    build = as_build(tensor) if isinstance(tensor, Generic) else tensor
    if not isinstance(build, Build) or has_fold(build.body):
        return False
    reads = [term for term in scalars(build.body) if isinstance(term, Read)]
    return all(isinstance(index, Var | Const) for read in reads for index in read.indices)
