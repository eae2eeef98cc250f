"""Seams: loops cut where what they read changes, at the edges of padding, where a roll wraps round, where one array of several ends.

    for j < n: where(j < 3, a[j], b[j - 3])         ->  for j < 3: a[j], and for j < n - 3: b[j]

Within a piece the condition is decided by the bounds of the loop, and the piece runs in vectors.  `in_pieces` cuts the loop that does, by
all that it reads, and its ends off where that leaves whole parts for `//` and `%` (see `split`); `in_boxes` every loop by
conditions that decide between elements: what is stacked has loops of its own, and what is read across memory in them is turned.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod

from eqsat.ir.index import OPS, Apply, Const, Index, Var, apply, substitute, variables, walk
from eqsat.ir.interval import Interval
from eqsat.ir.loops import rebuilt
from eqsat.ir.tensor import Call, Position, Reduce, Scalar, has_fold, operands, scalars
from eqsat.lowering.affine import DIVISIONS, Affine, Forms, bounds
from eqsat.lowering.blocks import BlockPlacer, Body
from eqsat.lowering.movements.stepped import picks_elements
from eqsat.lowering.movements.turned import crossing, place_turned
from eqsat.lowering.nest import Nest, free_variables
from eqsat.lowering.place import Scope, stores, used_by_several
from eqsat.lowering.ranges.order import merge, needed_by_folds
from eqsat.lowering.ranges.split import split, uneven
from eqsat.lowering.sharing.alongside import alongside
from eqsat.lowering.sharing.jammed import place_jammed, shared

# of a loop by what it reads, and by conditions
MOST_PIECES, MOST_BRANCHES = 5, 128
# iterations of a loop that boxes write out, whatever they compute, and as many as LLVM looks at for vectors
MOST_SHORT, MOST_IN_TURN = 16, 96
# below that a loop is not worth its pieces; where rows are no longer the loop around them is cut, for they are one with it within a piece
LEAST_PIECE, LONGEST_ROW = 6, 47
# elements of what threads share
LEAST_ROW = 64
# how many terms more the elements of all boxes may have, for each term of the element as it is written and besides, and at most
GROWTH, MORE, MOST_MORE = 5, 64, 800
# quotients by sizes that are looked for
QUOTIENTS = (0, -1, 1)
# bounds of an index term
Bounds = Callable[[Index], Interval]
# where a comparison is another one: when the difference of its operands reaches these numbers
SEAM_MARKS = {"lt": (0,), "ge": (0,), "le": (1,), "gt": (1,), "eq": (0, 1), "ne": (0, 1)}


def in_pieces(nest: Nest, outputs: tuple[str, ...], buffers: frozenset[str], picking: bool = False) -> Body | None:
    """The statements with the loop that runs in vectors in pieces: the innermost, or the one around short rows; None where nothing changes
    along it, or too often, or a fold is computed in it.  `picking`: see in_boxes."""
    row = len(nest.loops) - 1
    while row > 0 and _is_short_row(nest, row) and nest.loops[row - 1].extent >= LEAST_PIECE:
        row -= 1
    if not nest.loops or nest.loops[row].extent < LEAST_PIECE:
        return None
    cuts = _Cuts(nest, outputs, buffers, row, picking=picking)
    cuts.place(nest, 0, cuts.placer.top)
    return cuts.result() if cuts.made and (cuts.picked or not picking) else None


def _is_short_row(nest: Nest, row: int) -> bool:
    """Whether the loops from here on are so short that the one around them is better cut; not where elements are looked for in turns, in
    other places from a seam on, which no vector loads."""
    places = [term for term in nest.terms if term.kind != "bool"]
    whole = row + 1 < len(nest.loops) or nest.loops[row].extent < LEAST_PIECE or len(begins(places, nest.loops[row])) == 1
    return whole and prod(v.extent for v in nest.loops[row:]) <= LONGEST_ROW


def in_boxes(nest: Nest, outputs: tuple[str, ...], buffers: frozenset[str], reordered: bool = False, picking: bool = False) -> Body | None:
    """The statements with all loops in pieces; None where `in_pieces` does the same, or where that makes too many terms.  `reordered`: in
    boxes of rows that share what they compute, sums are added up row by row first; `picking`: loops that step over elements are tiles,
    which pick them out of vectors; None where there are none such."""
    if not nest.conditions:
        return None
    for few in (False, True):
        cuts = _Cuts(nest, outputs, buffers, 0, reordered, picking, _written_out_inside(nest), in_vain_beyond=True, few=few)
        cuts.place(nest, 0, cuts.placer.top)
        if not cuts.in_vain:
            found = (cuts.jammed or not reordered) and (cuts.picked or not picking)
            return cuts.result() if cuts.made == "boxes" and found else None
    return None


def picked_in_pieces(nest: Nest, outputs: tuple[str, ...], buffers: frozenset[str]) -> Body | None:
    """In boxes, or else in pieces, of which some are tiles that pick elements out of vectors."""
    if not nest.loops or not _may_step(nest):
        return None
    return in_boxes(nest, outputs, buffers, picking=True) or in_pieces(nest, outputs, buffers, picking=True)


def _may_step(nest: Nest) -> bool:
    """Whether some place steps over elements along the innermost loop, perhaps within what is cut."""
    forms = Forms()
    return any((forms(term).stride(nest.loops[-1]) or 0) > 1 for term in walk(*nest.terms) if term.kind != "bool")


def chosen_innermost(nest: Nest) -> Nest | None:
    """Loops that conditions depend on innermost, short ones and those of which every iteration is another piece: in boxes, what their
    iterations have in common is loaded and computed once."""
    chosen = {v for v in variables(*nest.conditions) if v.extent <= MOST_SHORT or _is_all_pieces(nest, v)}
    inner = tuple(v for v in nest.loops if v in chosen)
    return Nest((*(v for v in nest.loops if v not in chosen), *inner), nest.body, nest.index) if inner else None


def _written_out_inside(nest: Nest) -> int:
    """How many of the innermost loops are written out, every iteration another piece, in one that is not."""
    count = 0
    while count + 1 < len(nest.loops) and _is_all_pieces(nest, nest.loops[-1 - count]):
        count += 1
    return count


def _is_all_pieces(nest: Nest, loop: Var) -> bool:
    return loop.extent <= MOST_BRANCHES and len(begins(nest.conditions, loop)) == loop.extent


class _Cuts:
    """Places a nest in pieces of its loops, of those from `first` on.

    behind  how many loops stand in the one that runs in vectors
    made  what came of it: nothing, "pieces" of the innermost loop, or "boxes"
    left  how many terms the elements of further boxes may have; `in_vain_beyond`: whether nothing is made of more
    few  whether of many pieces of a loop only the longest is one, if that is most of the loop
    parted  whether pieces are cut so that they can be split
    jammed  whether rows of a box are computed together
    picked  whether some loops are tiles that pick elements out of vectors
    """

    def __init__(
        self,
        nest: Nest,
        outputs: tuple[str, ...],
        buffers: frozenset[str],
        first: int,
        reordered: bool = False,
        picking: bool = False,
        behind: int = 0,
        in_vain_beyond: bool = False,
        few: bool = False,
    ) -> None:
        self.outputs, self.first, self.reordered, self.picking, self.few = outputs, first, reordered, picking, few
        self.picked, self.in_vain_beyond = False, in_vain_beyond
        self.behind = len(nest.loops) - 1 - first if first else behind
        self.jammed = False
        self.placer = BlockPlacer(buffers)
        self.folded = needed_by_folds(nest)
        self.parted = False
        self.made = ""
        self.left = _size(nest) + min(GROWTH * _size(nest) + MORE, MOST_MORE)

    @property
    def in_vain(self) -> bool:
        """Whether there are too many terms already for what comes of it to be of use."""
        return self.in_vain_beyond and self.left < 0

    def result(self) -> Body:
        return alongside(self.placer.top.body), tuple(self.placer.scratch)

    def place(self, nest: Nest, at: int, scope: Scope) -> None:
        """The nest inside of a scope; its loops before this one are pieces."""
        k, starts = next(((k, found) for k in range(at, len(nest.loops)) if (found := self._begins(nest, k))), (0, []))
        if self.left < 0 or not starts:
            self.left -= _size(nest)
            self._place_whole(nest, scope)
            return
        loop, inner = nest.loops[k], nest.loops[k + 1 :]
        few = not inner and loop.extent >= LEAST_PIECE and len(starts) <= MOST_PIECES
        self.made = "pieces" if self.made != "boxes" and few else "boxes"
        pieces = list(enumerate(zip(starts, [*starts[1:], loop.hi + 1], strict=True)))
        largest = max(pieces, key=lambda one: one[1][1] - one[1][0])
        rows = k > 0 and self._needs_rows(piece(nest, k, 0, *largest))
        first = 0 if rows else k  # each piece has loops around it of its own
        if len(pieces) == loop.extent and not rows and (k or scope.parent is not None) and not inner and not has_fold(nest.body):
            if not self.reordered or scope.parent is not None:  # else there are no rows but these
                self._write_out(nest, k, starts, scope)
            return
        around = self.placer.nest(scope, *nest.loops[:first])
        for number, values in pieces:
            if self.in_vain:
                break
            cut = piece(nest, k, first, number, values)
            self.place(cut, len(cut.loops) - len(inner), around[-1])
        self.placer.close_all(around)

    def _write_out(self, nest: Nest, k: int, values: Sequence[int], scope: Scope) -> None:
        """The iterations of the innermost loop one after the other; what several of them need is computed once, as long as they are not so
        many that they are done in several turns."""
        for number, begin in enumerate(range(0, len(values), MOST_IN_TURN)):
            alike = _without(nest.body, nest.loops[k])
            written = [piece(nest, k, 0, number, (value, value + 1), alike) for value in values[begin : begin + MOST_IN_TURN]]
            several = used_by_several(*(one.body for one in written))
            around = self.placer.nest(scope, *written[0].loops)
            for one in written if not self.in_vain else ():
                self.left -= sum(1 for term in scalars(one.body) if term not in self.placer.placed)
                around[-1].body += stores(self.outputs, one.index, self.placer.place(one.body, around[-1], several))
            self.placer.close_all(around)

    def _needs_rows(self, nest: Nest) -> bool:
        """Whether rows of a piece are computed together."""
        return crossing(nest) is not None or (not self.first and shared(nest, self.reordered) is not None)

    def _place_whole(self, nest: Nest, scope: Scope) -> None:
        """Rows that threads share, where they are no shorter than that, stay what the outermost loop of each box counts."""
        if not has_fold(nest.body):
            rows = 1 if not self.first and scope.parent is None and prod(v.extent for v in nest.loops[1:]) >= LEAST_ROW else 0
            inside = merge(Nest(nest.loops[rows:], nest.body, nest.index))
            nest = Nest((*nest.loops[:rows], *inside.loops), inside.body, inside.index)
        nest = split(nest) if self.parted else nest
        found = shared(nest, self.reordered) if not self.first else None
        if found is not None:
            self.jammed = True
            place_jammed(self.placer, scope, *found, self.outputs)
            return
        crossed = crossing(nest)
        if crossed is not None:
            place_turned(self.placer, scope, crossed, self.outputs)
            return
        opened = self.placer.nest(scope, *nest.loops)
        opened[-1].body += stores(self.outputs, nest.index, self.placer.place(nest.body, opened[-1]))
        tile = self.picking and picks_elements(nest)
        self.picked |= tile
        self.placer.close_all(opened, "tile" if tile else "parallel")

    def _begins(self, nest: Nest, k: int) -> list[int]:
        """Where the pieces of a loop begin; nothing where it stays whole, as it does where a fold depends on it or on a loop within."""
        loop, last = nest.loops[k], k == len(nest.loops) - 1 - self.behind
        if k < self.first or not self.folded.isdisjoint(nest.loops[k:]):
            return []
        middle = list[int]()
        if last and loop.extent >= LEAST_PIECE:
            found = begins(nest.terms, loop)
            parts = sorted({*found, *uneven(nest.terms, loop)})
            self.parted |= len(found) < len(parts) <= MOST_PIECES
            found = parts if len(parts) <= MOST_PIECES else found
            if len(found) <= MOST_PIECES:
                return found if len(found) > 1 else []
            middle = _around_the_longest(found, loop)
        if self.first:
            return middle
        found = begins(nest.conditions, loop, nest.loops[k + 1 :])
        if self.few and len(found) > MOST_PIECES:
            return _around_the_longest(found, loop)
        return found if 1 < len(found) <= MOST_BRANCHES else middle


def _around_the_longest(starts: Sequence[int], loop: Var) -> list[int]:
    """The longest of many pieces, and what is before and behind it as one each; nothing where it is not most of the loop."""
    ends = [*starts[1:], loop.hi + 1]
    extent, begin, end = max((end - begin, begin, end) for begin, end in zip(starts, ends, strict=True))
    return [start for start in dict.fromkeys((loop.lo, begin, end)) if start <= loop.hi] if 2 * extent > loop.extent else []


def _without(body: Scalar, loop: Var) -> dict[Scalar, Scalar | None]:
    """The terms of an element that a loop does not change, for `decided`."""
    return {term: None for term, free in free_variables(body).items() if loop not in free}


def piece(nest: Nest, cut: int, first: int, number: int, values: tuple[int, int], alike: dict[Scalar, Scalar | None] | None = None) -> Nest:
    """The loops of a nest from `first` on, the one that is cut over the values from one to before another; they are loops of its own.
    `alike`: see `decided`."""
    loop, (begin, end) = nest.loops[cut], values
    cut_loop = Var(f"{loop.name}_{number}", 0, end - begin - 1)
    loops = tuple(cut_loop if v is loop else Var(f"{v.name}_{number}", v.lo, v.hi) for v in nest.loops[first:])
    here: dict[Var, Index] = dict(zip(nest.loops[first:], loops, strict=True))
    here[loop] = Const(begin) if cut_loop.extent == 1 else cut_loop + begin if begin else cut_loop
    forms = Forms()
    body = decided(nest.body, here, lambda term: bounds(forms(term)), alike)
    return Nest(tuple(v for v in loops if v.extent > 1), body, substitute(nest.index, here))


def _size(nest: Nest) -> int:
    return sum(1 for _ in scalars(nest.body))


def decided(root: Scalar, env: Mapping[Var, Index], interval: Bounds, alike: dict[Scalar, Scalar | None] | None = None) -> Scalar:
    """An element over other indices, with those branches of choices that the bounds of these decide for.  `alike`: terms that become the
    same over all indices that are asked for, and what they became, once that is known."""
    done: dict[Scalar, Scalar] = {}
    alike = {} if alike is None else alike
    stack: list[tuple[Scalar, tuple[Scalar, ...] | None]] = [(root, None)]
    while stack:
        term, below = stack.pop()
        if term in done:
            continue
        if (known := alike.get(term)) is not None:
            done[term] = known
            continue
        if below is None:
            below = operands(term)
            if isinstance(term, Call) and term.op == "where" and isinstance(term.args[0], Position):
                truth = holds(_chosen(substitute(term.args[0].index, env), interval), interval)
                below = below if truth is None else (term.args[1 if truth else 2],)  # what is not chosen is not looked at
            stack += [(term, below), *((arg, None) for arg in below)]
            continue
        args = tuple(done[arg] for arg in below)
        if len(args) < len(operands(term)):
            done[term] = args[0]
        elif isinstance(term, Reduce):
            variable = env.get(term.variable, term.variable)
            assert isinstance(variable, Var)
            done[term] = Reduce(term.op, variable, *args)
        else:
            done[term] = rebuilt(term, args, lambda index: _chosen(substitute(index, env), interval))
        if term in alike:
            alike[term] = done[term]
    return done[root]


def _chosen(root: Index, interval: Bounds) -> Index:
    """An index term with those operands of minima and maxima that bounds decide for, absolute values by the sign that they show, and
    quotients and remainders by what is no number, where bounds tell how often that is in a term."""
    done: dict[Index, Index] = {}
    for term in walk(root):
        if isinstance(term, Apply):
            args = tuple(done.get(arg, arg) for arg in term.args)
            either = either_way(term.op, *args)
            low, high = interval(either[0] - either[1]) if either else (-1, 1)
            known = high <= 0 or low >= 0
            done[term] = either[0 if (high <= 0) == (term.op == "min") else 1] if either and known else apply(term.op, *args)
            if term.op in DIVISIONS and not isinstance(args[1], Const):
                found = _divided(term.op, args[0], args[1], interval)
                done[term] = done[term] if found is None else found
    return done.get(root, root)


def _divided(op: str, term: Index, by: Index, interval: Bounds) -> Index | None:
    """A quotient or remainder by a size greater than zero."""
    for k in QUOTIENTS if interval(by)[0] > 0 else ():
        rest = term - by * k if k else term
        if interval(rest)[0] >= 0 and interval(rest - by)[1] < 0:
            return rest if op == "mod" else Const(k)
    return None


def either_way(op: str, *args: Index) -> tuple[Index, Index] | None:
    """The two that a minimum or maximum is one of; an absolute value is the greater of a number and its opposite."""
    if op in ("min", "max"):
        return args[0], args[1]
    return (args[0], -args[0]) if op == "abs" else None


def holds(condition: Index, interval: Bounds) -> bool | None:
    """Whether a condition holds, or does not, for all values of its variables; None where that is not known."""
    if not isinstance(condition, Apply):
        return None
    if condition.op in ("and", "or", "not", "bool", "int"):
        parts = [holds(arg, interval) for arg in condition.args]
        if condition.op in ("and", "or"):
            settles = condition.op == "or"
            return settles if settles in parts else None if None in parts else not settles
        if parts[0] is not None or condition.op == "int":
            return parts[0] if condition.op != "not" or parts[0] is None else not parts[0]
    if condition.op == "bool":
        low, high = interval(condition.args[0])
    elif condition.op in SEAM_MARKS:
        low, high = interval(condition.args[0] - condition.args[1])
    else:
        return None
    truths = {
        bool(OPS["ne" if condition.op == "bool" else condition.op].evaluate(value, 0)) for value in {low, high, min(max(low, 0), high)}
    }
    return truths.pop() if len(truths) == 1 else None


def begins(terms: Sequence[Index], inner: Var, within: Sequence[Var] = ()) -> list[int]:
    """Where pieces of a loop begin: at its first value, and where some part of these terms that depends on it alone is another one.

    within  loops inside of it: so does a comparison that they change less than one step of the loop, before and behind the step for which
            they decide
    """

    def outside(seam: int) -> int:
        return min(seam - inner.lo, inner.hi + 1 - seam)

    forms = Forms()
    found = {inner.lo}
    either: list[tuple[int, ...]] = []
    for term in walk(*terms):
        if not isinstance(term, Apply):
            continue
        if term.op == "bool":
            form = _of(forms(term.args[0]), inner)
            found.update(_reached(*form, inner, SEAM_MARKS["ne"]) if form else ())
        elif compared := either_way(term.op, *term.args) or (term.args if term.op in SEAM_MARKS else ()):
            for one, other in itertools.product(*map(branches, compared)):
                difference = forms(one - other)
                form = _of(difference, inner)
                if term.op in SEAM_MARKS:
                    ends = [form] if form else _at_ends(difference, inner, within)
                    found.update(seam for end in ends for seam in _reached(*end, inner, SEAM_MARKS[term.op]))
                elif form and len(seams := tuple(_reached(*form, inner, (0, 1)))) == 2:  # where both are equal, either of them will do
                    either.append(tuple(sorted(seams, key=outside)))
        elif term.op in DIVISIONS and isinstance(term.args[1], Const) and term.args[1].value > 0:
            form, divisor = _of(forms(term.args[0]), inner), int(term.args[1].value)
            if form:
                first, last = sorted((form[0] * v + form[1]) // divisor for v in (inner.lo, inner.hi))
                if last - first < MOST_PIECES:
                    found.update(_reached(*form, inner, [k * divisor for k in range(first, last + 2)]))
    # from the middle on, each as far outside as may be: so they are the fewest, and the middle is the longest
    for seams in sorted(either, key=lambda seams: -outside(seams[0])):
        if found.isdisjoint(seams):
            found.add(seams[0])
    return sorted(found)


def branches(term: Index) -> tuple[Index, ...]:
    """What a minimum, maximum or absolute value may be, or the sum or difference of such."""
    if isinstance(term, Apply) and term.op in ("add", "sub"):
        return tuple(apply(term.op, *args) for args in itertools.product(*map(_either, term.args)))
    return _either(term)


def _either(term: Index) -> tuple[Index, ...]:
    """The terms that a min, max or abs may equal, nested ones opened; any other term itself."""
    ways = either_way(term.op, *term.args) if isinstance(term, Apply) else None
    return tuple(dict.fromkeys(leaf for way in ways for leaf in _either(way))) if ways else (term,)


def _of(form: Affine, inner: Var) -> tuple[int, int] | None:
    """step and constant of a form that is step * variable + constant."""
    return (form.terms[inner], form.constant) if list(form.terms) == [inner] else None


def _at_ends(form: Affine, inner: Var, within: Sequence[Var]) -> Iterator[tuple[int, int]]:
    """step and constant where loops within make a form least, and where most; none where they change it by more than a step."""
    step, others = form.terms.get(inner, 0), [v for v in form.terms if v is not inner]
    if step and others and all(v in within for v in others):
        least, most = (
            bound - step * end for bound, end in zip(bounds(form), (inner.lo, inner.hi) if step > 0 else (inner.hi, inner.lo), strict=True)
        )
        if most - least < abs(step):
            yield from ((step, least), (step, most))


def _reached(step: int, constant: int, inner: Var, marks: Sequence[int]) -> Iterator[int]:
    """The first values of the variable for which step * variable + constant is at least, or for falling ones below, a mark."""
    for mark in marks:
        found = -((constant - mark) // step) if step > 0 else (constant - mark) // -step + 1
        if inner.lo < found <= inner.hi:
            yield found
