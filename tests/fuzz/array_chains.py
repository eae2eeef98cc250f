"""Chains of NumPy operations on arrays of up to some hundred thousand elements, compiled and compared with NumPy:
`python -m tests.fuzz.array_chains --count 500 --seed 0`.

The random programs of tests/eqsat/programs.py have small extents, so that every stage can be interpreted; here loops are long enough for
vectors, tiles, blocks, strips and parts.  Exit status 1 if a result differs, an input changed, or arrays share memory.
"""

from __future__ import annotations

import argparse
import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

import eqsat
from tests.fuzz.outcome import conclude

Array = np.ndarray[Any, Any]
EXTENTS = (1, 2, 3, 5, 8, 16, 17, 32, 33, 40, 64, 100, 128, 200)
MOST = 200_000
# of the greatest magnitude of a result; chains add up what single operations round
# once anything is of single precision, and otherwise
SINGLE, DOUBLE = 3e-4, 1e-10


@dataclass(frozen=True)
class Chain:
    """A function as text, its arguments, and the numerics that it is compiled with."""

    source: str
    arrays: tuple[Array, ...]
    numerics: str

    def function(self) -> Callable[..., tuple[Array, ...]]:
        names: dict[str, Any] = {"np": np, "eqsat": eqsat}
        exec(self.source, names)
        found: Callable[..., tuple[Array, ...]] = names["chain"]
        return found

    def __str__(self) -> str:
        return f"{self.source}  # {self.numerics}, {', '.join(f'{a.dtype}{list(a.shape)}' for a in self.arrays)}"


Step = Callable[[random.Random, Array, int], str]
# of x, one of its axes, and that axis' extent; each is text
STEPS: tuple[Step, ...] = (
    lambda rng, x, k: f"(x - x.mean(axis={k}, keepdims=True)) / np.sqrt(x.var(axis={k}, keepdims=True) + 1)",
    lambda rng, x, k: f"(lambda e: e / e.sum(axis={k}, keepdims=True))(np.exp(x - x.max(axis={k}, keepdims=True)))",
    lambda rng, x, k: f"np.roll(x, {rng.randint(-5, 5)}, axis={k}) * 0.5 + x",
    lambda rng, x, k: f"x - np.roll(x, 1, axis={k}) + x[..., :1]",
    lambda rng, x, k: f"x / (1 + np.abs(x).sum(axis={k}, keepdims=True))",
    lambda rng, x, k: f"x * (x.max(axis={k}, keepdims=True) - x.min(axis={k}, keepdims=True)) * 0.25",
    lambda rng, x, k: f"np.cumsum(x, axis={k}) / {x.shape[k]}",
    lambda rng, x, k: f"np.flip(x, {k}) + x",
    lambda rng, x, k: f"np.stack([x, -x]).sum(axis=0) + x.sum(axis={k}, keepdims=True) / {x.shape[k]}",
    lambda rng, x, k: f"np.repeat(x, 2, axis={k}) * 0.5",
    lambda rng, x, k: f"np.take(x, np.arange({x.shape[k] + 2}) * {rng.randint(1, 3)} % {x.shape[k]}, axis={k})",
    lambda rng, x, k: (
        f"np.pad(x, 1, mode={rng.choice(('edge', 'constant', 'wrap', 'reflect', 'symmetric'))!r})" if min(x.shape) > 3 else "x"
    ),
    lambda rng, x, k: "np.concatenate([x, x[..., :2]], axis=-1)",
    lambda rng, x, k: "np.swapaxes(x, 0, -1)",
    lambda rng, x, k: "x[..., 1:] - x[..., :-1]" if x.shape[-1] > 3 else "-x",
    lambda rng, x, k: "(x[:-2] + x[1:-1] * 2 + x[2:]) / 4" if x.shape[0] > 3 else "x * 0.5",
    lambda rng, x, k: f"x.reshape({(*x.shape[:-1], x.shape[-1] // 2, 2)}).max(axis=-1)" if x.shape[-1] % 2 == 0 else "np.tanh(x)",
    lambda rng, x, k: f"(x @ np.swapaxes(x, -1, -2)) / {x.shape[-1]}" if x.ndim > 1 and x.shape[-2] <= 300 else "np.abs(x)",
    lambda rng, x, k: "x + (x * x).sum(axis=-1)" if x.ndim == 2 and x.shape[0] == x.shape[1] else "(x - x.mean()) * 0.5",
    lambda rng, x, k: "np.where(x > 0, x, 0.125 * x)",
    lambda rng, x, k: "np.clip(x, -1, 1) * 0.75 + 0.125",
)


def draw(seed: int, position: int) -> Chain:
    """The chain at a position of a seed; one in three repeats one step."""
    rng = random.Random(f"chain {seed} {position}")
    shape = tuple(rng.choice(EXTENTS) for _ in range(rng.choice((1, 2, 2, 2, 3))))
    while math.prod(shape) > MOST:
        shape = tuple(max(n // 2, 1) for n in shape)
    data = np.random.default_rng(rng.randrange(1 << 30)).integers(-9, 10, shape)
    first = (data * 2 + 1).astype(rng.choice(("float64", "float32"))) / 8
    x, lines, results = first, list[str](), list[str]()
    repeated = rng.choice(STEPS) if rng.random() < 1 / 3 else None
    for number in range(rng.randint(2, 12)):
        step = (repeated or rng.choice(STEPS))(rng, x, rng.randrange(x.ndim))
        with np.errstate(all="ignore"):
            following = np.asarray(eval(step, {"np": np, "x": x}))
        if following.size == 0 or following.size > MOST or following.ndim == 0 or not np.isfinite(following).all():
            continue
        x = following
        lines.append(f"    x = {step}\n")
        if rng.random() < 0.15:
            lines.append(f"    y{number} = {rng.choice(('x * 2', 'x.max(axis=0)', 'x.mean(axis=-1)', 'x.sum()'))}\n")
            results.append(f"y{number}")
    source = f"def chain(x):\n{''.join(lines)}    return {', '.join(['x * 1', *results])},\n"
    return Chain(source, (first,), rng.choice(("default", "default", "exact", "fast")))


def difference(chain: Chain) -> str | None:
    """What is wrong with a chain's results, for its arguments and for others, with two threads and with one."""
    function = chain.function()
    options = eqsat.Options(numerics=chain.numerics)  # type: ignore[arg-type]
    compiled = eqsat.optimize(function, *chain.arrays, options=options)
    single = "float32" in chain.source or any(array.dtype.name in ("float32", "complex64") for array in chain.arrays)
    for arrays, threads in ((chain.arrays, 2), (tuple(_other(array) for array in chain.arrays), 1)):
        before = eqsat.num_threads()
        eqsat.set_num_threads(threads)
        kept = [array.copy() for array in arrays]
        try:
            with np.errstate(all="ignore"):
                found, expected = compiled(*arrays), function(*arrays)
        finally:
            eqsat.set_num_threads(before)
        if any(not np.array_equal(one, other) for one, other in zip(arrays, kept, strict=True)):
            return "an argument has changed"
        if any(one is not other and np.shares_memory(one, other) for one, other in combinations((*found, *arrays), 2)):
            return "arrays share memory"
        scale = max(float(np.abs(one[np.isfinite(one)]).max(initial=1.0)) for one in map(np.asarray, expected))
        for number, (one, other) in enumerate(zip(found, expected, strict=True)):
            wrong = _wrong(one, np.asarray(other), scale * (SINGLE if single else DOUBLE))
            if wrong is not None:
                return f"result {number}, {threads} threads: {wrong}"
    return None


def _other(array: Array) -> Array:
    """Other values of the same kind: the half of them where that is exact."""
    return array[::-1] * array.dtype.type(0.5) if array.dtype.kind in "fc" else array[::-1].copy()


def _wrong(found: Array, expected: Array, tolerance: float) -> str | None:
    if (found.dtype, found.shape) != (expected.dtype, expected.shape):
        return f"{found.dtype}{found.shape} instead of {expected.dtype}{expected.shape}"
    far = found != expected
    if expected.dtype.kind in "fc":
        with np.errstate(invalid="ignore"):
            far &= ~(np.abs(found - expected) <= tolerance) & ~(np.isnan(found) & np.isnan(expected))
    if not far.any():
        return None
    return f"{int(far.sum())} of {far.size} differ, the first at {np.argwhere(far)[0]}: {found[far][0]} instead of {expected[far][0]}"


def check(chains: Sequence[Chain]) -> tuple[Counter[str], list[str]]:
    """How many were compared, and what is wrong."""
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    for chain in chains:
        counts["chains"] += 1
        counts["steps"] += chain.source.count(" = ")
        try:
            found = difference(chain)
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
        if found is not None:
            wrong.append(f"{found}\n{chain}")
    return counts, wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    counts, wrong = check([draw(arguments.seed, position) for position in range(arguments.count)])
    conclude(counts, wrong)


if __name__ == "__main__":
    main()
