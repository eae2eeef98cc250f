"""An element of neighbouring iterations at once: vectors of what lies in memory one after the other, numbers of what they share."""

from __future__ import annotations

from collections.abc import Callable

from eqsat.codegen import scalar
from eqsat.codegen.builder import Value
from eqsat.codegen.emitter import Emitter
from eqsat.codegen.scope import Scope
from eqsat.codegen.tiles.vectors import load_apart, spread, widened
from eqsat.ir.loops import Load
from eqsat.ir.tensor import Call, Scalar, operands, scalars
from eqsat.ir.vectorizable import widening


def of_neighbours(e: Emitter, root: Scalar, scope: Scope, width: int, step: Callable[[Load], int | None]) -> Value:
    """The element for as many iterations, from that of the scope on; `step`: how far from one to the next a load goes, none of which may be
    farther than `is_near`."""
    done: dict[Scalar, Value] = {}
    for term in scalars(root):
        args = tuple(done[arg] for arg in operands(term))
        wide = any(arg.type.startswith("<") for arg in args)
        if isinstance(term, Load) and (apart := step(term)):
            done[term] = load_apart(e, term, scope, width, apart)
        elif isinstance(term, Call) and wide and widens(term):
            done[term] = widened(e, term, args[0], width)
        elif isinstance(term, Call):
            done[term] = scalar.call(e.b, term, tuple(spread(e, arg, width) for arg in args) if wide else args, e.flags_of(term))
        else:
            done[term] = e.element(term, scope)
    return spread(e, done[root], width)


def widens(call: Call) -> bool:
    """Whether integers in memory become wider ones."""
    return call.op == "astype" and isinstance(call.args[0], Load) and widening(call.args[0].dtype, call.dtype) in ("sext", "zext")
