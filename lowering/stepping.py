"""Loops whose steps are one kernel, element by element, as one nest: what is carried stays where it is, in registers where it is short.

    for k serial: { for e: h'[e] = f(h[e], x[k, e]);  h = h';  ys[k + 1] = h' }
    ->  for e: h[e] = first[e];   for k serial: for e: { t = f(h[e], x[k, e]); h[e] = t; ys[k + 1, e] = t }

Elements that are many are blocks, and all steps are done for one block after the other: no element waits for another one.  What is put at
places may be read at others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from eqsat.ir.dtypes import integer_range, is_integer, itemsize
from eqsat.ir.index import Const, Index, Var, as_index, substitute
from eqsat.ir.loops import Bind, Buffer, For, Kernel, Let, Load, Pick, Stmt, Store, Temp, loads, over, rebuilt, statements, values_of
from eqsat.ir.tensor import Call, Literal, Position, Scalar, operands, scalars
from eqsat.lowering.affine import Forms, bounds
from eqsat.lowering.joining.renaming import Renaming
from eqsat.lowering.scatter import PLAIN_OPS, Given

# bytes of a block of the widest of its elements, whole lines; so many times as many where functions are computed, whose terms wait for each
# other, twice as many of one state
BLOCK_BYTES, LINE, HEAVY = 256, 64, 16


@dataclass(frozen=True)
class State:
    """What is carried and made anew by every step: where the kernel of a step reads it and stores the next one."""

    before: str
    after: str
    first: Given
    result: Buffer


@dataclass(frozen=True)
class Put:
    """What is carried and changed at one place by a step: `rows` blocks of `inner` elements of `values`, each at a place of `extent`."""

    before: str
    values: str
    place: Scalar
    rows: int
    extent: int
    inner: int
    first: Given
    result: Buffer


def stepping(
    kernels: Sequence[Kernel],
    count: int,
    counter: str,
    of_step: Mapping[str, Scalar],
    carried: tuple[Sequence[State], Sequence[Put]],
    stays: Mapping[str, Given],
    name: str,
) -> Kernel | None:
    """One kernel for so many steps of others, which know the step by the buffer `counter`; None where elements of a step wait for others.

    of_step  buffers of one element that are made of the counter alone, as functions of it
    stays    what the kernels of a step read beside these, by their names for it
    """
    states, puts = carried
    made = {counter, *of_step, *(one.after for one in states), *(one.values for one in puts)}
    every: tuple[State | Put, ...] = (*states, *puts)
    between = {buffer.name for kernel in kernels for buffer in kernel.outputs} - made
    known = made | between | stays.keys() | {one.before for one in every}
    if any(kernel.sizes or kernel.scratch or any(buffer.name not in known for buffer in kernel.buffers) for kernel in kernels):
        return None
    step = Var("step", 0, count - 1)
    found = _Steps(kernels, step, {counter: Position(step, "int64"), **of_step}, states, puts, stays)
    body = found.body()
    if body is None:
        return None
    buffers: dict[str, Buffer] = {}
    for buffer in (buffer for given in (*stays.values(), *(one.first for one in every)) for buffer in given.buffers):
        buffers.setdefault(buffer.name, buffer)
    results = tuple(dict.fromkeys(one.result for one in every))
    return Kernel(name, (*buffers.values(), *results), (*found.starts(), *body))


@dataclass(frozen=True)
class _Piece:
    """A nest of loops around stores."""

    around: tuple[Var, ...]
    stores: tuple[Store, ...]

    @property
    def extents(self) -> tuple[int, ...]:
        return tuple(variable.extent for variable in self.around)

    def along(self, around: tuple[Var, ...]) -> tuple[Store, ...]:
        """The stores over other loops."""
        env: dict[Var, Index] = dict(zip(self.around, around, strict=True))
        return tuple(Store(one.buffer, substitute(one.index, env), over(one.value, env), one.combine) for one in self.stores)


def _piece(loop: For) -> _Piece | None:
    """A loop and those in it, if one is all that there is in each, around stores."""
    around: list[Var] = []
    body: tuple[Stmt, ...] = (loop,)
    while len(body) == 1 and isinstance(body[0], For):
        if body[0].kind != "parallel" or body[0].variable.lo:
            return None
        around.append(body[0].variable)
        body = body[0].body
    stores = tuple(stmt for stmt in body if isinstance(stmt, Store))
    return _Piece(tuple(around), stores) if len(stores) == len(body) else None


def _around(loops: Sequence[Var], body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Statements in loops whose iterations are independent."""
    for variable in reversed(loops):
        body = (For(variable, "parallel", body),)
    return body


class _Steps:
    """The statements of all steps."""

    def __init__(
        self,
        kernels: Sequence[Kernel],
        step: Var,
        of_step: Mapping[str, Scalar],
        states: Sequence[State],
        puts: Sequence[Put],
        stays: Mapping[str, Given],
    ) -> None:
        self.kernels, self.step, self.of_step = kernels, step, of_step
        # what a step makes, and what it makes on the way, has names that no buffer outside has
        self.states = [replace(state, after=f"next {state.after}") for state in states]
        self.puts = [replace(put, values=f"next {put.values}") for put in puts]
        memory = {one.before: one.result.name for one in states} | {one.before: one.result.name for one in puts}
        self.carried = set(memory.values())
        self.stays = {f"given {inner}": given for inner, given in stays.items()}
        memory |= {inner: f"given {inner}" for inner in stays}
        outputs = [buffer.name for kernel in kernels for buffer in kernel.outputs]
        self.memory = memory | {name: f"next {name}" for name in outputs}
        self.made = {f"next {name}" for name in outputs}
        self.following = {one.after for one in self.states} | {one.values for one in self.puts}
        self.forms = Forms()
        # whether steps read what other elements put, and only what is at lower places, or at higher ones; known when the elements are
        self.crosses, self.below, self.above = False, True, True
        calls = [term for kernel in kernels for stmt in statements(kernel.body) for value in values_of((stmt,)) for term in scalars(value)]
        self.is_heavy = any(isinstance(term, Call) and term.op not in PLAIN_OPS for term in calls)

    def starts(self) -> Iterator[Stmt]:
        """What is put into begins as it was given, but for what steps put there before anything reads it."""
        for k, result in enumerate(dict.fromkeys(put.result for put in self.puts)):
            first = next(put.first for put in self.puts if put.result == result)
            for end, (low, high) in enumerate(self._left(result)):
                every = Var(f"every{k}_{end}", 0, high - low - 1)
                yield For(every, "parallel", (Store(result.name, every + low, first.element(every + low)),))

    def _left(self, result: Buffer) -> list[tuple[int, int]]:
        """The elements that no step puts, or that may be read before."""
        put = next(put for put in self.puts if put.result == result)
        place = self._place(put)
        form = None if place is None else self.forms(place)
        on = form.terms[self.step] if form is not None and form.terms.keys() == {self.step} else 0
        if form is None or put.rows > 1 or not ((on == 1 and self.below) or (on == -1 and self.above)):
            return [(0, result.size)]
        lowest = form.constant - (self.step.extent - 1 if on == -1 else 0)
        begin, end = lowest * put.inner, (lowest + self.step.extent) * put.inner
        return [(low, high) for low, high in ((0, begin), (end, result.size)) if low < high]

    def body(self) -> tuple[Stmt, ...] | None:
        """Loops along elements around the steps, and in them; without those where there is one element."""
        pieces = self._pieces()
        if pieces is None:
            return None
        found = [self._element(piece, number) for number, piece in enumerate(pieces)]
        if not self.following <= {store.buffer for piece in pieces for store in piece.stores}:
            return None
        elements = [element for element in found if element is not None]
        if len(elements) < len(found) or not self._may_follow(pieces):
            return None
        if len(pieces) == 1 and pieces[0].around and not self.crosses:
            ((element, starts),), (*rows, lane) = elements, pieces[0].around
            return self._by_lanes(element, starts, rows, lane)
        begins: list[Stmt] = []
        step: list[Stmt] = []
        for piece, (element, starts) in zip(pieces, elements, strict=True):
            begins += _again(starts, piece.around, "_first")
            step += _around(piece.around, element)
        return (*begins, For(self.step, "serial", tuple(step)))

    def _may_follow(self, pieces: Sequence[_Piece]) -> bool:
        """Whether no piece reads what is carried where one before it stores the next."""
        state_of = {state.after: state.result.name for state in self.states}
        for k, piece in enumerate(pieces):
            own = {store.buffer for store in piece.stores}
            before = {state_of.get(store.buffer) for other in pieces[:k] for store in other.stores if store.buffer not in own}
            if any(load.buffer in before for value in values_of(piece.stores) for load in loads(value)):
                return False
        return True

    def _by_lanes(self, element: tuple[Stmt, ...], starts: tuple[Stmt, ...], rows: Sequence[Var], lane: Var) -> tuple[Stmt, ...] | None:
        """All steps of some elements, which wait for no others, before those of the next ones."""
        if rows:
            is_short = lane.extent * self._widest < 2 * LINE
            return None if is_short else _around(rows, self._steps(element, starts, lane))
        length = self._block(lane)
        count, rest = divmod(lane.extent, length)
        if count == 1 and not rest:
            return self._steps(element, starts, lane)
        block = Var(f"{lane.name}_block", 0, count - 1)
        each = self._within(element, starts, lane, block * length, length, "_lane")
        last = self._within(element, starts, lane, as_index(count * length), rest, "_last") if rest else ()
        return (*_around([block], each), *last)

    def _within(
        self, element: tuple[Stmt, ...], starts: tuple[Stmt, ...], lane: Var, begin: Index, length: int, suffix: str
    ) -> tuple[Stmt, ...]:
        """All steps of so many elements, from one on."""
        within = Var(f"{lane.name}{suffix}", 0, length - 1)
        moved = Renaming(suffix, {}, {})
        moved.variables |= {lane: begin + within, self.step: (step := Var(f"{self.step.name}{suffix}", 0, self.step.hi))}
        return self._steps(moved.block(element), moved.block(starts), within, step)

    def _steps(self, element: tuple[Stmt, ...], starts: tuple[Stmt, ...], lane: Var, step: Var | None = None) -> tuple[Stmt, ...]:
        return (*_again(starts, [lane], "_first"), For(self.step if step is None else step, "serial", (For(lane, "parallel", element),)))

    def _pieces(self) -> list[_Piece] | None:
        """The nests of a step; one, where all go through the same elements.  None where there are others."""
        found: list[_Piece] = []
        for number, kernel in enumerate(self.kernels):
            renaming = Renaming(f"_step{number or ''}", self.memory, {})
            body = self._with_given(renaming.block(self._written_out(kernel.body, {}, {})))
            alone = tuple(stmt for stmt in body if isinstance(stmt, Store))
            pieces = [_Piece((), alone)] if alone else []
            pieces += [piece for stmt in body if isinstance(stmt, For) and (piece := _piece(stmt)) is not None]
            if len(pieces) < bool(alone) + len(body) - len(alone):
                return None
            found += pieces
        first, *others = found
        if len(found) == len(self.kernels) and all(piece.extents == first.extents for piece in others):
            stores = (store for piece in others for store in piece.along(first.around))
            return [_Piece(first.around, (*first.stores, *stores))]
        return found

    def _with_given(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """Statements that read what stays where it is, or compute it as they read it; a step has no others than loops and stores, as it is
        written out, and what elements choose of is stored."""
        found: list[Stmt] = []
        for stmt in body:
            if isinstance(stmt, For):
                found.append(replace(stmt, body=self._with_given(stmt.body)))
            elif isinstance(stmt, Store):
                read: dict[Scalar, Scalar] = {}
                for term in scalars(stmt.value):
                    if isinstance(term, Load) and term.buffer in self.stays:
                        read[term] = self.stays[term.buffer].element(term.index)
                    elif isinstance(term, Pick) and term.buffer in self.stays:
                        args = tuple(over(arg, {}, read) for arg in term.args)
                        read[term] = Pick(self.stays[term.buffer].buffers[0].name, term.shape, args, term.dtype)
                found.append(replace(stmt, value=over(stmt.value, {}, read)))
            else:
                found.append(stmt)
        return tuple(found)

    @property
    def _widest(self) -> int:
        """Bytes of the widest element that is carried."""
        results: list[Buffer] = [*(state.result for state in self.states), *(put.result for put in self.puts)]
        return max(itemsize(result.dtype) for result in results)

    def _block(self, lane: Var) -> int:
        """How many elements all steps are done for at a time: whole vectors, a divisor of all where there is one of more than a half."""
        widest = self._widest
        block = (HEAVY if self.is_heavy else 2 if len(self.states) == 1 else 1) * BLOCK_BYTES
        most, vector = block // widest, LINE // widest
        if lane.extent * widest <= 2 * block:
            return lane.extent
        return next((length for length in range(most, most // 2, -vector) if not lane.extent % length), most)

    def _element(self, piece: _Piece, number: int) -> tuple[tuple[Stmt, ...], tuple[Stmt, ...]] | None:
        """The statements of one element of a step, all loads of what is carried first, and those before the first step."""
        stores = {store.buffer: store for store in piece.stores if store.combine is None}
        if len(stores) < len(piece.stores):
            return None
        new: dict[Scalar, Scalar] = {}
        for store in piece.stores:  # what is made of what is made here
            new[Load(store.buffer, store.index, store.value.dtype)] = over(store.value, {}, new)
        of_buffer = dict(zip(stores, new.values(), strict=True))
        values = {buffer: of_buffer[buffer] for buffer in stores if buffer in self.following}
        terms = list(scalars(*values.values()))
        if any(isinstance(term, Pick) and term.buffer in self.carried | self.made for term in terms):
            return None
        every = [term for term in terms if isinstance(term, Load)]
        if any(load.buffer in self.made for load in every):
            return None
        carried = [load for load in every if load.buffer in self.carried]
        before: dict[Scalar, Scalar] = {load: Temp(f"carried{number}_{k}", load.dtype) for k, load in enumerate(carried)}
        given = {load: element for load in carried if (element := self._as_given(load, stores)) is not None}
        lets: list[Stmt] = [Let(f"carried{number}_{k}", given.get(load, load)) for k, load in enumerate(carried)]
        read = [load for load in carried if load not in given]
        following = {buffer: Temp(f"next{number}_{k}", value.dtype) for k, (buffer, value) in enumerate(values.items())}
        lets += [Let(f"next{number}_{k}", over(value, {}, before)) for k, value in enumerate(values.values())]
        starts: list[Stmt] = []
        ends: list[Stmt] = []
        for state in (state for state in self.states if state.after in stores):
            index = stores[state.after].index
            if any(load.buffer == state.result.name and load.index is not index for load in read):
                return None
            ends.append(Store(state.result.name, index, following[state.after]))
            starts.append(Store(state.result.name, index, state.first.element(index)))
        for put in (put for put in self.puts if put.values in stores):
            index, place = stores[put.values].index, self._place(put)
            if place is None:
                return None
            at = _put_at(put, place, index)
            if not all(self._are_apart(load.index, at, place, put) for load in read if load.buffer == put.result.name):
                return None  # it would have to be put behind everything that reads it
            ends.append(Store(put.result.name, at, following[put.values]))
        for put in (put for put in self.puts if put.values not in stores):
            place = self._place(put)
            if place is None or not all(self._is_elsewhere(load.index, place, put) for load in read if load.buffer == put.result.name):
                return None
        return (*lets, *ends), tuple(starts)

    def _as_given(self, load: Load, stores: Mapping[str, Store]) -> Scalar | None:
        """The element that this step puts, as it was given, if that is what it reads and no other step comes to its place."""
        puts = [put for put in self.puts if put.result.name == load.buffer]
        if len(puts) != 1 or puts[0].values not in stores or (place := self._place(put := puts[0])) is None:
            return None
        distance = self.forms(load.index - _put_at(put, place, stores[put.values].index))
        is_it = not distance.terms and not distance.constant and self.forms(place).terms.keys() == {self.step}
        return put.first.element(load.index) if is_it else None

    def _are_apart(self, read: Index, stored: Index, place: Index, put: Put) -> bool:
        """Whether an element that is read is the one that is put by the same iteration, or of another place; notes where that is."""
        distance = self.forms(read - stored)
        self.crosses |= bool(distance.terms) or distance.constant % put.inner != 0
        return self._is_elsewhere(read, place, put) or not (distance.terms or distance.constant)

    def _is_elsewhere(self, read: Index, place: Index, put: Put) -> bool:
        """Whether an element is of another place than the one that is put; notes whether of one before or behind it."""
        least, most = bounds(self.forms(read - place * put.inner))
        self.below &= most < 0
        self.above &= least >= put.inner
        return put.rows == 1 and (least >= put.inner or most < 0)

    def _place(self, put: Put) -> Index | None:
        """The place as a function of the step; None where it is another, or out of range."""
        place = as_term(self._of_step(put.place, {}))
        if place is None:
            return None
        least, most = bounds(self.forms(place))
        return place if least >= 0 and most < put.extent else None

    def _written_out(self, body: tuple[Stmt, ...], bound: Mapping[Var, Index], elements: Mapping[Scalar, Scalar]) -> tuple[Stmt, ...]:
        """Statements with index terms and elements in the places of what is bound to them, as functions of the step."""
        here, known, found = dict(bound), dict(elements), list[Stmt]()
        for stmt in body:
            if isinstance(stmt, Bind):
                here[stmt.variable] = substitute(stmt.value, here)
            elif isinstance(stmt, Let):
                known[Temp(stmt.name, stmt.value.dtype)] = over(stmt.value, here, known)
            elif isinstance(stmt, For):
                found.append(For(stmt.variable, stmt.kind, self._written_out(stmt.body, here, known)))
            elif isinstance(stmt, Store):
                found.append(
                    Store(stmt.buffer, substitute(stmt.index, here), self._of_step(over(stmt.value, here, known), {}), stmt.combine)
                )
            else:
                found.append(stmt)
        return tuple(found)

    def _of_step(self, root: Scalar, known: dict[Scalar, Scalar]) -> Scalar:
        """An element with the step itself in the place of the counter in memory; places that are functions of it are no gathers."""
        for term in scalars(root):
            args = tuple(known[arg] for arg in operands(term))
            if isinstance(term, Load) and term.buffer in self.of_step:
                element = self.of_step[term.buffer]
                known[term] = element if isinstance(element, Position) else self._of_step(element, known)
            elif isinstance(term, Pick):
                known[term] = _picked(Pick(term.buffer, term.shape, args, term.dtype), self.forms)
            else:
                known[term] = rebuilt(term, args, lambda index: index)
        return known[root]


def _put_at(put: Put, place: Index, index: Index) -> Index:
    """Where an element of what is put goes."""
    row, rest = (index // put.inner * put.extent, index % put.inner) if put.rows > 1 else (as_index(0), index)
    return (row + place) * put.inner + rest


def _again(body: tuple[Stmt, ...], loops: Sequence[Var], suffix: str) -> tuple[Stmt, ...]:
    """Statements in loops of their own over the same ranges."""
    renaming = Renaming(suffix, {}, {})
    variables = [renaming.variable(variable) for variable in loops]
    return _around(variables, renaming.block(body)) if body else ()


def _picked(pick: Pick, forms: Forms) -> Scalar:
    """A load where all places are index terms in range."""
    index: Index = Const(0)
    for arg, extent in zip(pick.args, pick.shape, strict=True):
        place = as_term(arg)
        if place is None:
            return pick
        least, most = bounds(forms(place))
        if least < 0 or most >= extent:
            return pick
        index = index * extent + place
    return Load(pick.buffer, index, pick.dtype)


def as_term(element: Scalar) -> Index | None:
    """An integer element that is a function of loop variables alone, as an index term; None where the dtype may not hold it."""
    found = _as_term(element)
    if found is None:
        return None
    least, most = integer_range(element.dtype)
    return found if least <= found.bounds[0] and found.bounds[1] <= most else None


def _as_term(element: Scalar) -> Index | None:
    if isinstance(element, Position):
        return element.index
    if isinstance(element, Literal):
        return as_index(int(element.value.real)) if is_integer(element.dtype) else None
    if isinstance(element, Call) and is_integer(element.dtype):
        args = [as_term(arg) for arg in element.args]
        if element.op == "astype" and element.args[0].dtype != "bool" and is_integer(element.args[0].dtype):
            return args[0]
        if element.op in ("add", "subtract", "multiply") and (left := args[0]) is not None and (right := args[1]) is not None:
            return left + right if element.op == "add" else left - right if element.op == "subtract" else left * right
    return None
