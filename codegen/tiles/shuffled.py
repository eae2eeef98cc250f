"""Small blocks of elements that change places, in registers: whole vectors are loaded, put in another order, and stored."""

from __future__ import annotations

from eqsat.codegen.builder import Value
from eqsat.codegen.scope import Scope
from eqsat.codegen.tiles.tile import Cell, Emitter, cell_of, spread, value_in, vector_load, vector_store, vector_type
from eqsat.ir.loops import Load
from eqsat.ir.shuffle import Part, Point, Shuffle


def emit_shuffle(e: Emitter, shuffle: Shuffle, scope: Scope) -> None:
    """Write a block."""
    width = max(len(part.lanes) for parts in (shuffle.results, *shuffle.sources.values()) for part in parts)
    loaded = {load: [_loaded(e, shuffle, load, part, scope, width) for part in parts] for load, parts in shuffle.sources.items()}
    for part in shuffle.results:
        cell = _cell(e, shuffle, part, scope)
        for load, vectors in loaded.items():
            cell.turned[load] = _picked(e, load, vectors, [shuffle.found[load][point] for point in part.lanes], width)
        value = spread(e, value_in(e, shuffle.store.value, cell), cell.width)
        vector_store(e, shuffle.store, cell.scope, value)


def _cell(e: Emitter, shuffle: Shuffle, part: Part, scope: Scope) -> Cell:
    """Where the first lane of a vector is computed."""
    *around, lane = shuffle.loops
    first: Point = part.lanes[0]
    return cell_of(e, scope, dict(zip(around, first[:-1], strict=True)), lane, (first[-1], len(part.lanes)))


def _loaded(e: Emitter, shuffle: Shuffle, load: Load, part: Part, scope: Scope, width: int) -> Value:
    """A vector of memory, in the first lanes of a register."""
    vector = vector_load(e, load, _cell(e, shuffle, part, scope).scope, len(part.lanes))
    return vector if len(part.lanes) == width else _shuffled(e, load, vector, None, list(range(len(part.lanes))), width)


def _picked(e: Emitter, load: Load, vectors: list[Value], places: list[tuple[int, int]], width: int) -> Value:
    """Lanes of several vectors in one: of two vectors at once, then of one more each time."""
    numbers = list(dict.fromkeys(number for number, _ in places))
    first, *others = numbers
    second = others[0] if others else None
    lanes: list[int | None] = [lane + width * (number == second) if number in (first, second) else None for number, lane in places]
    found = _shuffled(e, load, vectors[first], vectors[second] if second is not None else None, lanes, width)
    for other in others[1:]:
        lanes = [width + lane if number == other else k for k, (number, lane) in enumerate(places)]
        found = _shuffled(e, load, found, vectors[other], lanes, width)
    return found if len(places) == width else _shuffled(e, load, found, None, list(range(len(places))), len(places))


def _shuffled(e: Emitter, load: Load, one: Value, other: Value | None, lanes: list[int | None] | list[int], width: int) -> Value:
    """Lanes of two vectors, as many as a width; what is not said may be anything."""
    mask = ", ".join("i32 poison" if lane is None else f"i32 {lane}" for lane in [*lanes, *[None] * (width - len(lanes))])
    second = other if other is not None else f"{one.type} poison"
    return e.b.emit(vector_type(load.dtype, width), f"shufflevector {one}, {second}, <{width} x i32> <{mask}>")
