"""Index types by bounds beside int64 throughout: `python -m tests.bench.bench_index_dtypes`.  Nothing gates on these figures.

Kernels over the same arrays, calls interleaved, medians in microseconds on one thread; then the time that typing itself takes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

import eqsat
import eqsat.numpy as enp
from eqsat.codegen import compile_kernels
from eqsat.command_line.beside_numpy import interleaved_medians
from eqsat.demo import image_pipeline
from eqsat.ir.index import Index, Var, var, where
from eqsat.ir.loops import Buffer, Fold, For, Kernel, Load, Store, Temp
from eqsat.ir.typed import Cast, Name, Number, Operation, Range, Typed, typed_terms
from eqsat.ir.typed_kernel import TypedKernel
from eqsat.lowering import hoist, type_indices

REPEATS = 30


def widened(kernel: TypedKernel) -> TypedKernel:
    """The same kernel with int64 for every int32."""
    done: dict[Typed, Typed] = {}
    for term in typed_terms(*kernel.typed.values()):
        new = term.rebuilt(tuple(done[arg] for arg in term.operands))
        if isinstance(new, Operation) and new.dtype == "int32":
            new = Operation(new.op, new.args, "int64")
        elif isinstance(new, Number) and new.dtype == "int32":
            new = Number(new.value, "int64")
        elif isinstance(new, Name):
            new = Name(new.variable, "int64")
        elif isinstance(new, Range):
            new = Range(new.variable, new.end, "int64")
        elif isinstance(new, Cast):
            new = new.arg if new.arg.dtype == "int64" else Cast(new.arg, "int64")
        done[term] = new
    return TypedKernel(kernel.kernel, {index: done[term] for index, term in kernel.typed.items()})


def flat(name: str, count: int, index: Callable[[Var], Index]) -> Kernel:
    """out[i] = x[index(i)]."""
    i = var("i", 0, count - 1)
    return _kernel(name, count, (For(i, "parallel", (Store("out", i, Load("x", index(i), "float32")),)),), index(i))


def grid(name: str, h: int, w: int, index: Callable[[Var, Var], Index]) -> Kernel:
    """out[i, j] = x[index(i, j)]."""
    i, j = var("i", 0, h - 1), var("j", 0, w - 1)
    inner = For(j, "serial", (Store("out", i * w + j, Load("x", index(i, j), "float32")),))
    return _kernel(name, h * w, (For(i, "parallel", (inner,)),), index(i, j))


def sums(name: str, h: int, w: int) -> Kernel:
    """out[i] = sum of x[i, j] over j."""
    i, j = var("i", 0, h - 1), var("j", 0, w - 1)
    fold = Fold("t", "sum", "float32", j, (), Load("x", i * w + j, "float32"))
    return _kernel(name, h, (For(i, "parallel", (fold, Store("out", i, Temp("t", "float32")))),), i * w + j)


def _kernel(name: str, count: int, body: tuple[For, ...], index: Index) -> Kernel:
    size = index.bounds[1] + 1
    return Kernel(name, (Buffer("x", "float32", size, "in"), Buffer("out", "float32", count, "out")), body)


def permuted(i: Index) -> Index:
    """The flat index of a 7 x 5 x 11 x 288 array in its reversed axes."""
    a, b, c, d = i // (5 * 11 * 288), i // (11 * 288) % 5, i // 288 % 11, i % 288
    return ((d * 11 + c) * 5 + b) * 7 + a


def kernels() -> Iterator[Kernel]:
    yield flat("copy", 1 << 14, lambda i: i)
    yield flat("split by 35 and 7", 20_000, lambda i: i // 7 % 5 * 7 + i % 7)
    yield flat("permuted, three divisors", 7 * 5 * 11 * 288, permuted)
    yield flat("square, then mod 1021", 1 << 14, lambda i: i * i % 1021)
    yield grid("product, then // 7", 120, 126, lambda i, j: i * j // 7)
    yield grid("clamp", 120, 128, lambda i, j: where(i * 2 + j < 200, i * 2 + j, 200) * 3 + 1)
    yield grid("clamp, then // 7", 120, 128, lambda i, j: where(i * 2 + j < 200, i * 2 + j, 200) * 3 // 7)
    yield grid("roll", 120, 130, lambda i, j: (i + 17) % 120 * 130 + (j + 57) % 130)
    yield grid("pixel shuffle by 3", 120, 126, lambda i, j: ((i // 3) * 42 + j // 3) * 9 + i % 3 * 3 + j % 3)
    yield grid("transpose", 120, 130, lambda i, j: j * 120 + i)
    yield sums("row sums", 64, 1000)
    yield sums("long sums", 4, 1 << 14)


def kernel_times(kernel: Kernel) -> dict[str, float]:
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(buffer.size).astype(buffer.dtype) for buffer in kernel.buffers]
    narrow = type_indices(hoist(kernel))
    calls: dict[str, Callable[[], object]] = {}
    for name, typed in (("by bounds", narrow), ("int64", widened(narrow))):
        routine = compile_kernels([typed]).routine(kernel.name)
        extent = routine.parallel_extent or 0
        calls[name] = partial(_repeat, partial(routine.entry, *arrays, 0, extent))
    return {name: seconds / REPEATS * 1e6 for name, seconds in interleaved_medians(calls).items()}


def _repeat(call: Callable[[], object]) -> None:
    for _ in range(REPEATS):
        call()


def main() -> None:
    eqsat.set_num_threads(1)
    print(f"{'microseconds a call':28}{'by bounds':>10}{'int64':>10}")
    for kernel in kernels():
        found = kernel_times(kernel)
        print(f"{kernel.name:28}{found['by bounds']:10.2f}{found['int64']:10.2f}   {found['int64'] / found['by bounds']:.2f}")
    nests = eqsat.optimize(lambda x: image_pipeline(enp, x), eqsat.spec((400, 640, 3), "float32")).loops
    start = time.perf_counter()
    for _ in range(20):
        for nest in nests:
            type_indices(nest)
    print(f"typing the image pipeline: {(time.perf_counter() - start) / 20 * 1e3:.2f} ms for {len(nests)} kernels")


if __name__ == "__main__":
    main()
