"""How long optimizing takes, printed: `python -m tests.bench.bench_optimize`.

A transformer block of 64 x 128, first in a process and then warm; chains of ten generics read through affine maps, and through maps with
// and %.  The e-graph's part is shown beside the whole: saturating, and what stands around it: encoding, algebra's offers and extracting.
"""

from __future__ import annotations

import random
import statistics
import time

import eqsat
from eqsat.extraction.cheapest import cheapest_outputs
from eqsat.ir.generics import as_builds
from eqsat.ir.index import Index, Var
from eqsat.ir.tensor import Arg, Build, Call, Generic, Input, Literal, Program, Shape, Tensor, axes, tensors
from eqsat.pricing.costs import cost
from eqsat.report import Report
from eqsat.saturate import Session
from tests.eqsat.kernel_programs import block

SIDE = 24
OPTIONS = eqsat.Options(cache=False)
WIDE = ((64, 128), (128,), (128,), *((128, 128),) * 4, (128,), (128,), (128, 512), (512,), (512, 128), (128,))
MIX = Call("add", (Arg(0, "float32"), Call("multiply", (Arg(1, "float32"), Literal(0.5, "float32")), "float32")), "float32")


def mixed(tensor: Tensor, indices: tuple[Index, ...], other: Tensor, places: tuple[Index, ...], shape: Shape) -> Generic:
    """tensor[indices] + 0.5 * other[places] over a shape."""
    return Generic(tuple(("parallel", extent) for extent in shape), (indices, places), (tensor, other), MIX)


def affine_chain(length: int, seed: int) -> Program:
    """Generics that read the one before as it is, transposed or reversed, and an input transposed."""
    rng = random.Random(seed)
    shape = (SIDE, SIDE)
    x, y = Input("x", shape, "float32"), Input("y", shape, "float32")
    a, b = axes(shape)
    tensor: Tensor = x
    for _ in range(length):
        tensor = mixed(tensor, rng.choice([(a, b), (b, a), (a, SIDE - 1 - b)]), y, (b, a), shape)
    return Program((x, y), (tensor,))


def reshaped_chain(length: int, seed: int) -> Program:
    """The same with reshapes between, and an input that is repeated where the shape asks for more of it."""
    rng = random.Random(seed)
    first: Shape = (24, 36)
    x, y = Input("x", first, "float32"), Input("y", first, "float32")
    tensor: Tensor = x
    for _ in range(length):
        old, kind = tensor.shape, rng.choice(["same", "transposed", "reshaped", "reversed"])
        shape = {"transposed": old[::-1], "reshaped": _halved(old)}.get(kind, old)
        a, b = axes(shape)
        flat = a * shape[1] + b
        maps = {"same": (a, b), "transposed": (b, a), "reshaped": (flat // old[1], flat % old[1]), "reversed": (a, old[1] - 1 - b)}
        tensor = mixed(tensor, maps[kind], y, (_within(a, 24), _within(b, 36)), shape)
    return Program((x, y), (tensor,))


def _halved(shape: Shape) -> Shape:
    """As many elements in half as many rows, or in half as many columns."""
    return (shape[0] // 2, shape[1] * 2) if shape[0] % 2 == 0 else (shape[0] * 2, shape[1] // 2)


def _within(loop: Var, extent: int) -> Index:
    return loop % extent if loop.extent > extent else loop


class Stopwatch:
    """Seconds that sessions saturate."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._run = Session.run

    def run(self, session: Session, *phase: object) -> object:
        start = time.perf_counter()
        try:
            return self._run(session, *phase)  # type: ignore[arg-type]
        finally:
            self.seconds += time.perf_counter() - start


def parts_ms(program: Program) -> tuple[float, float]:
    """Milliseconds of saturating, and of encoding and extracting."""
    written = as_builds(program)
    before, watch = cost(written), Stopwatch()
    Session.run = lambda session, *phase: watch.run(session, *phase)  # type: ignore[method-assign, assignment]
    try:
        start = time.perf_counter()
        cheapest_outputs(written, before, OPTIONS, Report())
        whole = time.perf_counter() - start
    finally:
        Session.run = watch._run  # type: ignore[method-assign]
    return watch.seconds * 1e3, (whole - watch.seconds) * 1e3


def whole_ms(program: Program) -> float:
    """Milliseconds of `optimize`, machine code excluded."""
    start = time.perf_counter()
    eqsat.optimize(program, options=OPTIONS)
    return (time.perf_counter() - start) * 1e3


def show(name: str, programs: list[Program], rounds: int = 7) -> None:
    """The medians of each program, from the least to the most."""
    medians: list[tuple[float, ...]] = []
    for program in programs:
        parts_ms(program)
        times = [(*parts_ms(program), whole_ms(program)) for _ in range(rounds)]
        medians.append(tuple(statistics.median(column) for column in zip(*times, strict=True)))
    columns = (dict.fromkeys((f"{min(column):.0f}", f"{max(column):.0f}")) for column in zip(*medians, strict=True))
    saturating, around, whole = (f"{' to '.join(column)} ms" for column in columns)
    print(f"{name}: saturating {saturating}, encoding and extracting {around}, optimize {whole}", flush=True)


def main() -> None:
    program = eqsat.trace(block, *(eqsat.spec(shape, "float32") for shape in WIDE))
    cold = whole_ms(program)
    result = eqsat.optimize(program, options=OPTIONS)
    written = sum(isinstance(tensor, Generic | Build) for tensor in tensors(*program.outputs))
    print(f"transformer block: {written} kernels as written, {len(result.nests)} optimized; the first time {cold:.0f} ms")
    show("transformer block, warm", [program])
    show("ten generics, affine maps", [affine_chain(10, seed) for seed in range(8)])
    show("ten generics, reshapes between", [reshaped_chain(10, seed) for seed in range(8)])


if __name__ == "__main__":
    main()
