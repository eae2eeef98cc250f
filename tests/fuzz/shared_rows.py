"""Functions of a few arrays with several results, stored and folded, which are made of rows that they share, compiled and compared with
NumPy: `python -m tests.fuzz.shared_rows --count 300 --seed 0`.

One loop then stores, folds and reads again what it has stored, in parts and strips; what may go before what is easily wrong.  Checked as in
array_chains.py.
"""

from __future__ import annotations

import argparse
import random

import numpy as np

from tests.fuzz.array_chains import Chain, check
from tests.fuzz.outcome import conclude

SHAPES = ((130, 600), (64, 300), (200, 64), (33, 1000), (17, 2049), (400, 65), (3, 50_000), (300, 128))
# of two arrays of one shape; sums are of so many that they stay small
STEPS = (
    "np.minimum({p}, {q})",
    "np.maximum({p}, {q})",
    "({p} + {q}) * 0.5",
    "{p} - {q}",
    "np.abs({p} - {q})",
    "np.tanh({p}) * {q}",
    "np.where({p} > {q}, {p}, 2 * {q} - {p})",  # which does not jump where both are equal up to rounding
    "np.exp(-np.abs({p}))",
    "{p}[:, ::-1]",
    "{p} + np.sum({q}, axis=-1, keepdims=True) / {columns}",
    "{p} * np.sum({q}, axis=-1, keepdims=True) / {columns}",
    "{p} - np.max({q}, axis=-1, keepdims=True)",
    "np.cumsum({p}, axis=-1) / {columns} + {q}",
    "{p} + np.min({q}, axis=0, keepdims=True)",
)
RESULTS = (
    "{p} * 1",
    "np.sum({p}, axis=-1)",
    "np.max({p}, axis=-1)",
    "np.min({p}, axis=-1)",
    "np.mean({p}, axis=-1)",
    "np.sum({p}) / {columns}",
    "np.sum({p}, axis=0)",
    "{p} - np.max({p}, axis=-1, keepdims=True)",
)


def draw(seed: int, position: int) -> Chain:
    """The program at a position of a seed."""
    rng = random.Random(f"rows {seed} {position}")
    shape, dtype = rng.choice(SHAPES), rng.choice(("float32", "float64"))
    data = np.random.default_rng(rng.randrange(1 << 30))
    arrays = tuple(data.standard_normal(shape).astype(dtype) for _ in range(2))
    names, lines = ["a", "b"], list[str]()
    for number in range(rng.randint(3, 9)):
        p, q = rng.choice(names[-4:]), rng.choice(names)
        lines.append(f"    x = {rng.choice(STEPS).format(p=p, q=q, columns=shape[1])}\n    v{number} = np.clip(x, -1000, 1000)\n")
        names.append(f"v{number}")
    results = [rng.choice(RESULTS).format(p=rng.choice(names[-5:]), columns=shape[1]) for _ in range(rng.randint(1, 4))]
    return Chain(f"def chain(a, b):\n{''.join(lines)}    return {', '.join(results)},\n", arrays, "default")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    conclude(*check([draw(arguments.seed, position) for position in range(arguments.count)]))


if __name__ == "__main__":
    main()
