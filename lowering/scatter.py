"""Values put, or added, at places that an array says, as loops.

    out = x;  for k: p = places[k];  out[i, p, j] = values[i, k, j], or is combined with it

One step follows the other: places may be the same.  Many whole numbers that are added at few places are added to several tables in turns,
for a step that adds where the one before did waits for it:

    for k: tables[0][places[4*k]] += ..;  tables[1][places[4*k + 1]] += ..;  ..        out = x + tables[0] + tables[1] + ..

Several arrays that are added to at the same places are one loop.  Places, values and the array may be made of others as they are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

from eqsat.ir.dtypes import INTEGERS, itemsize
from eqsat.ir.index import Apply, Const, Index, Var, as_index, depends, walk
from eqsat.ir.loops import Buffer, Clip, For, Kernel, Load, Stmt, Store, over, statements
from eqsat.ir.tensor import Build, Call, Gather, Literal, Position, Reduce, Scalar, Shape, Size, scalars, sources
from eqsat.lowering.affine import Affine, Forms, rebuilt
from eqsat.lowering.joining.renaming import Renaming
from eqsat.lowering.nest import Names, flat, nest_of
from eqsat.lowering.ranges.order import merge
from eqsat.lowering.sharing.alongside import abreast

# operations that take no longer by themselves than in vectors: loading what they make does; how many of them, and for arrays of how many
# elements, for a longer one is made by several threads
PLAIN_OPS = (
    *("add", "subtract", "multiply", "negative", "absolute", "minimum", "maximum", "where", "astype", "bitwise_and", "bitwise_or"),
    *("bitwise_xor", "invert", "left_shift", "right_shift"),
    *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or", "logical_not"),
)
MOST_PLAIN, MOST_ALONE = 8, 1 << 16
# tables that take turns, how often each place is added to on average at the least, and what the tables may take, in the first cache
TABLES, LEAST_STEPS, MOST_BYTES = 4, 8, 16 << 10
# steps of a row, at the least, into which places would have to be divided else
LEAST_ROW = 16
# what is added to in one loop stays in the second cache
MOST_ADDED_BYTES = 256 << 10


@dataclass(frozen=True)
class Given:
    """An array: how many elements it has, those in order, and the buffers that they are read from."""

    size: int
    element: Callable[[Index], Scalar]
    buffers: tuple[Buffer, ...]


def stored(buffer: Buffer) -> Given:
    """An array in memory."""
    return Given(buffer.size, lambda at: Load(buffer.name, at, buffer.dtype), (buffer,))


def computed(build: Build, names: Names, once: bool = False) -> Given | None:
    """An array made element by element of others as it is read; None where elements are more than a few plain operations, or of several
    axes that are not one in memory, into which places would have to be divided, unless that is done `once` and not for every step."""
    calls = [term.op for term in scalars(build.body) if isinstance(term, Call)]
    if len(calls) > MOST_PLAIN or not all(op in PLAIN_OPS for op in calls):
        return None
    if any(isinstance(term, Reduce | Gather) for term in scalars(build.body)):
        return None
    if all(isinstance(term, Literal | Call) for term in scalars(build.body)):
        return Given(build.size, lambda at: build.body, ())
    nest = merge(nest_of((build,), names, {}))
    loops = nest.loops
    shape = tuple(loop.extent for loop in loops)
    if (len(loops) > 1 and not once) or (loops and nest.index is not flat(loops, shape, {})):
        return None
    read = tuple(Buffer(names[tensor], tensor.dtype, tensor.size, "in") for tensor in sources(build))

    def element(at: Index) -> Scalar:
        if len(loops) < 2:
            return over(nest.body, dict.fromkeys(loops, at))
        places: dict[Var, Index] = {}
        for k, loop in enumerate(loops):
            step = prod(shape[k + 1 :])
            along = at // step if step > 1 else at
            places[loop] = along % loop.extent if k else along
        return over(nest.body, places)

    return Given(build.size, element, read)


def scattered(
    shape: Shape,
    axis: int,
    given: tuple[Given, Given, Given],
    result: Buffer,
    combine: str | None,
    name: str,
    sizes: tuple[Size, ...] = (),
    alone: bool = True,
) -> Kernel:
    """An array of this shape with values put at places of an axis, or combined with what is there.

    given  the array, as many places as there are values along the axis, and the values, of the array's shape but for that axis
    sizes  of the program; none of these arrays has one
    alone  whether nothing else is done at these places
    """
    first, places, values = given
    before, extent, behind = prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])
    every, row, lane = Var("every", 0, result.size - 1), Var("row", 0, before - 1), Var("lane", 0, behind - 1)
    place = Var("place", 0, extent - 1)
    buffers = tuple(dict.fromkeys(buffer for one in given for buffer in one.buffers))
    alone = alone and before == behind == 1 and not sizes
    if alone and combine == "sum" and result.dtype in INTEGERS and _are_worth_tables(result, places.size):
        return _in_turns(given, result, name, buffers)
    group, step = _rows_of_steps((places, values) if before == behind == 1 else (places,), places.size)
    number = group * step.extent + step if group.extent > 1 else step

    def at(along: Index, count: int) -> Index:
        parts: tuple[tuple[Index, int, int], ...] = ((row, before, count * behind), (along, count, behind), (lane, behind, 1))
        return rebuilt(Affine(0, {index: stride for index, extent, stride in parts if extent > 1}))

    start = For(every, "serial", (Store(result.name, every, first.element(every)),))
    body: Stmt = Store(result.name, at(place, extent), values.element(at(number, places.size)), combine)
    body = For(lane, "parallel", (body,)) if behind > 1 else body
    chosen = Clip(place, places.element(number if places.size > 1 else as_index(0)))
    loop: Stmt = For(step, "serial", (chosen, body))
    loop = For(group, "serial", (loop,)) if group.extent > 1 else loop
    loop = For(row, "serial", (loop,)) if before > 1 else loop
    return Kernel(name, (*buffers, result), (start, loop), sizes)


def together(kernels: Sequence[Kernel]) -> Kernel | None:
    """One kernel for several that none of them waits for, which goes through their places once; None where these are not the same, or
    what they add to is more than the second cache holds."""
    first, *others = kernels
    body = first.body
    for number, other in enumerate(others, 1):
        body = abreast(body, Renaming(f"_{number}", {}, {}).block(other.body))
    results = tuple(buffer for kernel in kernels for buffer in kernel.outputs)
    stepping = [stmt for stmt in body if isinstance(stmt, For) and any(isinstance(inner, Clip) for inner in statements(stmt.body))]
    if len(stepping) > 1 or sum(buffer.size * itemsize(buffer.dtype) for buffer in results) > MOST_ADDED_BYTES:
        return None
    read = dict.fromkeys(buffer for kernel in kernels for buffer in kernel.buffers if buffer.role == "in")
    return Kernel(first.name, (*read, *results), body, first.sizes)


def _rows_of_steps(given: Sequence[Given], count: int) -> tuple[Var, Var]:
    """Loops over rows of steps and over the steps of a row: as they are divided into to read arrays, or one row of all."""
    every = Var("step", 0, count - 1)
    read = (term.index for one in given for term in scalars(one.element(every)) if isinstance(term, Load | Position))
    forms = Forms()
    terms = {term for index in read for atom in forms(index).terms for term in walk(atom)}
    divisors = {term.args[1] for term in terms if isinstance(term, Apply) and term.op in ("floordiv", "mod") and depends(term, every)}
    least = min((by.value for by in divisors if isinstance(by, Const)), default=0)
    row = least if least >= LEAST_ROW and count % least == 0 else count
    return Var("group", 0, count // max(row, 1) - 1), Var("step", 0, row - 1)


def _are_worth_tables(result: Buffer, steps: int) -> bool:
    return steps >= LEAST_STEPS * TABLES * result.size and (TABLES - 1) * result.size * itemsize(result.dtype) <= MOST_BYTES


def _in_turns(given: tuple[Given, Given, Given], result: Buffer, name: str, buffers: tuple[Buffer, ...]) -> Kernel:
    """Whole numbers added to tables in turns: to the result, and to others, which it is given in the end."""
    first, places, values = given
    tables = [Buffer(f"table{k}", result.dtype, result.size, "scratch") for k in range(1, TABLES)]
    group, step = _rows_of_steps((places, values), places.size)
    rounds, rest = divmod(step.extent, TABLES)

    def added(number: Index, k: int, table: Buffer) -> Iterator[Stmt]:
        place = Var(f"place{k}", 0, result.size - 1)
        yield Clip(place, places.element(number))
        yield Store(table.name, place, values.element(number), "sum")

    begin = group * step.extent if group.extent > 1 else as_index(0)
    every, turn, back = (Var(v, 0, n - 1) for v, n in (("every", result.size), ("turn", rounds), ("back", result.size)))
    zero = Literal(0, result.dtype)
    start = For(every, "serial", (Store(result.name, every, first.element(every)), *(Store(t.name, every, zero) for t in tables)))
    some = tuple(stmt for k, table in enumerate((result, *tables)) for stmt in added(begin + (turn * TABLES + k), k, table))
    others = tuple(stmt for k in range(rest) for stmt in added(begin + rounds * TABLES + k, TABLES + k, result))
    total: Scalar = Load(tables[0].name, back, result.dtype)
    for table in tables[1:]:
        total = Call("add", (total, Load(table.name, back, result.dtype)), result.dtype)
    end = For(back, "serial", (Store(result.name, back, total, "sum"),))
    steps = (For(turn, "serial", some), *others)
    steps = (For(group, "serial", steps),) if group.extent > 1 else steps
    return Kernel(name, (*buffers, result), (start, *steps, end), scratch=tuple(tables))
