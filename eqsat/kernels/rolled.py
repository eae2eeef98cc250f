"""Loops of Python that were written out while a program was recorded, as loops again: their body is optimized and compiled once.

    u1 = f(u0, w);  u2 = f(u1, w);  ..;  u50 = f(u49, w)        is        u1 = f(u0, w);  u50 = 49 times (u1, w): f

Tensors stand in the order in which they are made.  Where what stands there repeats itself, each tensor the same function of tensors that
stand as far before it, or of tensors that are the same all the time, a part of it is the body of a loop; what reaches from one part into
later ones is carried.  Parts whose tensors are made element by element stay as they are as long as they are few: they become one kernel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from eqsat.ir.generics import as_build
from eqsat.ir.steps import Loop
from eqsat.ir.tensor import Build, Constant, Generic, Input, Program, Read, Tensor, axes, copied, has_fold, over, scalars, sources, tensors
from eqsat.kernels.invariant import without_invariants

# parts that are worth a loop, and tensors in them: of parts that become a kernel each, and of such as become one together
LEAST_PARTS, LEAST_TENSORS, MANY_TENSORS = 8, 32, 600
# tensors of a part, how many lengths of parts are tried, parts across which something is carried, and what is carried
LONGEST_PART, MOST_LENGTHS, FARTHEST, MOST_CARRIED = 400, 6, 4, 16


def rolled(program: Program) -> Program:
    """The program with a loop in the place of what repeats itself; the same one where that is little or nothing."""
    if program.sizes:
        return program
    order = [tensor for tensor in tensors(*program.outputs) if sources(tensor) or isinstance(tensor, Build | Generic)]
    if len(order) < LEAST_TENSORS:
        return program
    line = _Line(order)
    found = max((run for length in line.lengths() for run in line.runs(length)), key=lambda run: run.covered, default=None)
    return program if found is None else _with_loop(program, line, found)


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
    """Tensors in the order in which they are made, each as a function of others."""

    def __init__(self, order: Sequence[Tensor]) -> None:
        self.order = order
        self.position = {tensor: k for k, tensor in enumerate(order)}
        self.function = [_function(tensor) for tensor in order]

    def lengths(self) -> list[int]:
        """How far apart tensors stand that are made alike, the most frequent first."""
        last: dict[Tensor, int] = {}
        found: Counter[int] = Counter()
        for k, function in enumerate(self.function):
            if function in last:
                found[k - last[function]] += 1
            last[function] = k
        often = [length for length, times in found.most_common() if times >= LEAST_PARTS and length <= LONGEST_PART]
        return often[:MOST_LENGTHS]

    def runs(self, length: int) -> Iterator[_Run]:
        """The longest stretches that repeat themselves after so many tensors."""
        start = 0
        for k in range(length, len(self.order) + 1):
            if k < len(self.order) and self._is_again(k, length):
                continue
            if k - start >= (LEAST_PARTS + 1) * length:
                yield _Run(start, k, length)
            start = k - length + 1

    def _is_again(self, k: int, length: int) -> bool:
        if self.function[k] is not self.function[k - length]:
            return False
        pairs = zip(sources(self.order[k - length]), sources(self.order[k]), strict=True)
        return all(one is other or self._is_shifted(one, other, length) for one, other in pairs)

    def _is_shifted(self, one: Tensor, other: Tensor, length: int) -> bool:
        return one in self.position and other in self.position and self.position[other] - self.position[one] == length


def _function(tensor: Tensor) -> Tensor:
    """What is done to the sources of a tensor, whatever they are: the same node for all that is made alike."""
    return over(tensor, {source: Input(f"source{k}", source.shape, source.dtype) for k, source in enumerate(sources(tensor))})


def _with_loop(program: Program, line: _Line, run: _Run) -> Program:
    length = run.length
    first = min(range(run.start, run.start + length), key=lambda at: _crossing(line, run, at + length))
    parts = (run.end - first) // length
    after = first + parts * length
    carried = _carried(program, line, range(first, after, length)) if parts > LEAST_PARTS else None
    if not carried:
        return program
    peeled = max(far for _, far in carried)
    begin = first + peeled * length
    body = line.order[begin : begin + length]
    if not _is_worth_it(body, parts - peeled):
        return program
    given = [line.order[begin - far * length + place] for place, far in carried]
    made = [line.order[after - far * length + place] for place, far in carried]
    inside = {tensor for tensor in _read_behind(program, line, after) if begin <= line.position.get(tensor, -1) < after}
    if not inside <= set(made):
        return program
    carries = [Input(f"carry[{k}]", tensor.shape, tensor.dtype) for k, tensor in enumerate(given)]
    known: dict[Tensor, Tensor] = dict(zip(given, carries, strict=True))
    stays: dict[Tensor, Input] = {}
    for tensor in body:
        for source in sources(tensor):
            if isinstance(source, Constant):
                known[source] = source
            elif source not in known:
                if line.position.get(source, -1) >= begin:
                    return program
                known[source] = stays[source] = Input(f"captured{len(stays)}", source.shape, source.dtype)
        known[tensor] = over(tensor, known)
    following = [known[body[place]] if far == 1 else carries[carried.index((place, far - 1))] for place, far in carried]
    counter = Input("i", (), "int64", parts - peeled - 1)
    step = Program((counter, *carries, *stays.values()), tuple(map(copied, following)))
    loop = without_invariants(Loop(parts - peeled, step, (*given, *stays)))
    done: dict[Tensor, Tensor] = dict(zip(made, loop.results, strict=True))
    for tensor in tensors(*program.outputs):
        if tensor not in done and not begin <= line.position.get(tensor, -1) < after:
            done[tensor] = over(tensor, done)
    return Program(program.inputs, tuple(done[output] for output in program.outputs), program.structure)


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
        shifted = [source for source, later in zip(sources(one), sources(again), strict=True) if source is not later]
        if not all(reached(source, FARTHEST) for source in shifted):
            return None
    for source in _read_behind(program, line, after):
        if after - FARTHEST * length <= line.position.get(source, -1) < after:
            reached(source, parts)
    return sorted(found) if len(found) <= MOST_CARRIED else None


def _read_behind(program: Program, line: _Line, after: int) -> set[Tensor]:
    """What is read by what stands behind a place, or handed out."""
    return {source for tensor in line.order[after:] for source in sources(tensor)} | set(program.outputs)


def _is_worth_it(body: Sequence[Tensor], parts: int) -> bool:
    if not all(isinstance(tensor, Build | Generic) for tensor in body):
        return False  # what are calls of functions takes as long in a loop
    return len(body) * parts >= (MANY_TENSORS if all(map(_is_by_elements, body)) else LEAST_TENSORS)


def _is_by_elements(tensor: Tensor) -> bool:
    build = as_build(tensor) if isinstance(tensor, Generic) else tensor
    if not isinstance(build, Build) or has_fold(build.body):
        return False
    reads = [term for term in scalars(build.body) if isinstance(term, Read)]
    return all(read.indices == axes(build.shape) or not read.indices for read in reads)
