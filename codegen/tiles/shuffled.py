"""Small blocks of elements that change places, in registers: whole vectors are loaded, put in another order, and stored."""

from __future__ import annotations

from dataclasses import replace

from eqsat.codegen.builder import Value
from eqsat.codegen.emitter import Emitter
from eqsat.codegen.scope import Scope
from eqsat.codegen.tiles.tile import Cell, cell_of, value_in
from eqsat.codegen.tiles.vectors import spread, vector_load, vector_store, vector_type
from eqsat.ir.loops import Load
from eqsat.ir.shuffle import Part, Shuffle


def emit_shuffle(e: Emitter, shuffle: Shuffle, scope: Scope) -> None:
    """Write a block."""
    *around, lane = shuffle.loops
    first = cell_of(e, scope, {loop: loop.lo for loop in around}, lane, (lane.lo, 1))
    width = max(part.width for parts in (shuffle.results, *shuffle.sources.values()) for part in parts)
    loaded = {load: [_loaded(e, load, part, first, width) for part in parts] for load, parts in shuffle.sources.items()}
    for part, points in zip(shuffle.results, shuffle.order, strict=True):
        cell = replace(first, width=part.width, turned={})
        for load, (base, places) in shuffle.found.items():
            cell.turned[load] = _picked(e, load, loaded[base], [places[point] for point in points], width)
        value = spread(e, value_in(e, shuffle.store.value, cell), part.width)
        vector_store(e, shuffle.store, first.scope, value, part.begin)


def _loaded(e: Emitter, load: Load, part: Part, first: Cell, width: int) -> Value:
    """A vector of memory, in the first lanes of a register."""
    vector = vector_load(e, load, first.scope, part.width, part.begin)
    return vector if part.width == width else _shuffled(e, load, vector, None, list(range(part.width)), width)


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
