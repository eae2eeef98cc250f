"""`fori`: a loop with a fixed number of steps, whose body is compiled once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from eqsat.calling.lazy import plan_of, values_of
from eqsat.calling.leaves import numbered
from eqsat.capture.arguments import check_arguments
from eqsat.capture.array import TracedArray
from eqsat.capture.signature import Arguments, Baked, is_number, leaves_of, spec_of
from eqsat.capture.specs import Spec
from eqsat.capture.traces import Trace, in_owner, is_traced
from eqsat.capture.tracing import CURRENT, record, record_body
from eqsat.ir.containers import Container, Structure, flatten_result, rebuild_result
from eqsat.ir.errors import BoundsError, DTypeError, ShapeError, UsageError
from eqsat.ir.steps import Loop
from eqsat.ir.tensor import Constant, Program, Tensor
from eqsat.kernels.invariant import without_invariants
from eqsat.operations.generic import integer
from eqsat.options import Options, options_of
from eqsat.running.loop_bodies import as_computed
from eqsat.running.repeated import Repeated
from eqsat.running.results import new_array

COUNTER = Spec((), "int64")
MOST_STEPS = 1 << 63


def fori(n: int, body: Callable[[Any, Any], Any], init: Any, *, options: Options | None = None) -> Any:
    """The carry after n steps: carry = body(i, carry) for i = 0 .. n-1, starting with `init`.

    n     how often, an integer that is known before the loop
    body  written with NumPy's names; called once, on traced arrays, whatever n is: i is a 0-d int64 array, carry has the structure,
          shapes and dtypes of `init`, and so must its result.  It may change what is carried in place, and `ys[i] = h` writes h alone;
          arrays of `init` stay as they are
    init  arrays, lazy tensors and numbers in nested tuples, lists and dicts; numbers are 0-d arrays, as numpy.asarray makes them

    Returns new numpy arrays in those containers.  The steps are a loop of machine code over one plan, which is kept by structure.
    Arrays and lazy tensors that the body takes from elsewhere are constants, with the elements that they have when fori is called.
    In a function that is traced (`jit`, `trace`, `optimize`) the loop becomes part of the program: results are traced arrays, and the body
    may use other arrays of the trace.

    Raises UsageError for a negative n and for other containers, ShapeError and DTypeError for other leaves than in `init`, each with the
    place, before anything is computed; UnsupportedError in programs with sizes that are known at run time only.
    """
    steps = integer("fori", "n", n)
    if not 0 <= steps < MOST_STEPS:
        raise UsageError(f"fori: found n = {steps}, expected 0 or more" + ("" if steps < 0 else ", less than 2**63"))
    around = CURRENT.get()
    if around is None and any(is_traced(leaf) for leaf in leaves_of(init)):
        raise UsageError("fori: found arrays of a trace that is over, expected arrays")
    given: list[Any] = []
    specs: list[tuple[str, Spec | Baked]] = [("i", COUNTER)]

    def place(leaf: Any, where: str) -> int:
        given.append(np.asarray(leaf) if is_number(leaf) or isinstance(leaf, np.generic) else leaf)
        specs.append((where, spec_of(given[-1], where, "fori")))
        return len(given)

    structure = flatten_result(init, place, "carry")
    arguments = Arguments((("i", 0), ("carry", structure)), (), tuple(specs))
    chosen = options_of(options, "fori")
    try:
        if around is not None:
            program, captured = record_body(body, arguments, around, steps)
        else:
            program, captured = record(body, arguments, chosen.fallback, of_loop=True), ()
    except BoundsError:
        if not steps:  # a body that no step runs may read arrays without elements
            return rebuild_result(structure, [None, *_unchanged(around, given)])
        raise
    outputs = [program.outputs[position] for position in _matched(program.structure, structure, "carry")]
    for (where, expected), output in zip(specs[1:], outputs, strict=True):
        _check_leaf(where, Spec(output.shape, output.dtype), expected)
    if not steps:
        carry = _unchanged(around, given)
    elif around is not None:
        loop = without_invariants(Loop(steps, Program(program.inputs, tuple(outputs)), (*_first(around, given), *captured)))
        carry = [TracedArray(result, around) for result in loop.results]
    else:
        shared, constants = numbered(outputs, program.inputs)
        computed = as_computed(shared)
        plan = plan_of(computed.program, chosen)
        carry = [new_array(output.shape, np.dtype(output.dtype)) for output in outputs]
        loops = Repeated(plan, steps, computed.following, computed.puts)
        loops.run(check_arguments(plan.blueprint.inputs[1:], (*values_of(given), *constants)), carry)
    return rebuild_result(structure, [None, *carry])


def _unchanged(around: Trace | None, given: list[Any]) -> list[Any]:
    """What is carried where there are no steps."""
    if around is None:
        return [array.copy() for array in values_of(given)]
    return [TracedArray(tensor, around) for tensor in _first(around, given)]


def _first(around: Trace, given: Sequence[Any]) -> list[Tensor]:
    """What the first step of a loop in a program takes."""
    return [in_owner(leaf, around) if isinstance(leaf, TracedArray) else Constant(np.asarray(leaf)) for leaf in given]


def _matched(found: Structure, expected: Structure, where: str) -> Iterator[int]:
    """The positions in `found` in the order of those in `expected`; UsageError where the containers differ."""
    if isinstance(found, int) and isinstance(expected, int):
        yield found
        return
    if not isinstance(found, Container) or not isinstance(expected, Container) or _form(found) != _form(expected):
        raise UsageError(f"fori: {where}: found {_described(found)} from body, expected {_described(expected)} as in init")
    items = dict(zip(found.keys or range(len(found.items)), found.items, strict=True))
    for key, item in zip(expected.keys or range(len(expected.items)), expected.items, strict=True):
        yield from _matched(items[key], item, f"{where}[{key!r}]")


def _form(container: Container) -> tuple[object, ...]:
    return container.kind, len(container.items), frozenset(container.keys)


def _described(structure: Structure) -> str:
    if isinstance(structure, int):
        return "an array"
    parts = ", ".join(map(repr, structure.keys)) if structure.keys else len(structure.items)
    return f"a {structure.kind} of {parts}"


def _check_leaf(where: str, found: Spec, expected: Spec | Baked) -> None:
    assert isinstance(expected, Spec)
    if found.shape != expected.shape:
        raise ShapeError(f"fori: {where}: found {found} from body, expected {expected} as in init")
    if found.dtype != expected.dtype:
        raise DTypeError(f"fori: {where}: found {found} from body, expected {expected} as in init; use astype in the body or for init")
