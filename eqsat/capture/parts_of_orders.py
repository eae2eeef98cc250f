"""Sorts of which a program reads but a part: the nearest neighbours of `argsort(d)[:, :5]`, `sort(x)[n // 2]`, `partition(x, 3)[..., :3]`.

They are calls of NumPy on whole arrays, which nothing can be fused with; the elements that are read are found without the others.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Mapping

from eqsat.algebra.products import through_movements
from eqsat.ir.generics import as_builds
from eqsat.ir.steps import HostCall
from eqsat.ir.tensor import Build, Gather, Program, Read, Scalar, StepResult, Tensor, over, reread, scalars, sources, tensors
from eqsat.operations.sorting import Order, order_of, part_of_order


def only_parts_of_orders(program: Program) -> Program:
    """The program without the sorts of which it reads a part that is found otherwise; one of any size stays as it is."""
    if program.sizes or not any(_order(tensor) for tensor in tensors(*program.outputs)):
        return program
    written = as_builds(program)
    every = list(tensors(*written.outputs))
    orders = {tensor: order for tensor in every if (order := _order(tensor)) is not None}
    moved = _movements(every, orders)
    bodies: dict[Tensor, Scalar] = {tensor: tensor.body for tensor in every if isinstance(tensor, Build)}
    gathered = {term.tensor for body in bodies.values() for term in scalars(body) if isinstance(term, Gather)}
    given = {source for tensor in every if isinstance(tensor, StepResult) for source in sources(tensor)}
    needed = {*written.outputs, *gathered, *given}
    bodies = {tensor: through_movements(body) for tensor, body in bodies.items() if tensor in needed or tensor not in moved}
    spans = _spans(bodies.values(), orders)
    done: dict[Tensor, Tensor] = {}
    parts: dict[Tensor, Callable[[Read], Scalar]] = {}
    for tensor in every:
        if tensor in spans and tensor not in needed:
            order, (low, high) = orders[tensor], spans[tensor]
            part = part_of_order(order._replace(source=done[order.source]), low, high)
            if part is not None:
                parts[tensor] = functools.partial(_read_of, part, order.axis, low)
        body = bodies.get(tensor)
        if body is not None and any(isinstance(term, Read) and term.tensor in parts for term in scalars(body)):
            done[tensor] = Build(tensor.shape, reread(body, done, parts))
        else:
            done[tensor] = over(tensor, done)
    if not parts:
        return program
    return Program(written.inputs, tuple(done[output] for output in written.outputs), written.structure, written.sizes)


def _order(tensor: Tensor) -> Order | None:
    return order_of(tensor.step) if isinstance(tensor, StepResult) and isinstance(tensor.step, HostCall) else None


def _read_of(part: Tensor, axis: int, low: int, whole: Read) -> Scalar:
    """What is read of an order, read of its part that begins at `low`."""
    return Read(part, tuple(index - low if k == axis else index for k, index in enumerate(whole.indices)))


def _movements(every: Iterable[Tensor], orders: Collection[Tensor]) -> set[Tensor]:
    """The tensors that hold elements of orders at other places."""
    found: set[Tensor] = set()
    for tensor in every:
        if isinstance(tensor, Build) and isinstance(tensor.body, Read) and (tensor.body.tensor in orders or tensor.body.tensor in found):
            found.add(tensor)
    return found


def _spans(bodies: Iterable[Scalar], orders: Mapping[Tensor, Order]) -> dict[Tensor, tuple[int, int]]:
    """The first and the last place that is read of orders."""
    found: dict[Tensor, tuple[int, int]] = {}
    for body in bodies:
        for term in scalars(body):
            if isinstance(term, Read) and term.tensor in orders:
                low, high = term.indices[orders[term.tensor].axis].bounds
                first, last = found.get(term.tensor, (low, high))
                found[term.tensor] = min(first, low), max(last, high)
    return found
