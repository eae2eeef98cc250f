"""Functions put together of what people write with NumPy, several arrays of several dtypes in and several results out, compiled and
compared with NumPy: `python -m tests.fuzz.functions --count 500 --seed 0`.

Where array_chains.py follows one array through operations, these keep all values that were made, of any dtype and rank, and an idiom takes
of them what it can work on.  Checked as in array_chains.py.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Mapping
from typing import Any

import numpy as np

import eqsat
from tests.fuzz.array_chains import Chain, check
from tests.fuzz.draws import Array, Draw, Nothing
from tests.fuzz.idioms import DECIDES, KEEPS, ROUNDS
from tests.fuzz.outcome import conclude

EXTENTS = (1, 2, 3, 4, 5, 7, 8, 16, 17, 31, 32, 33, 48, 64, 65, 100, 128, 130, 257, 1000)
MOST = 60_000
LARGEST = 1e5
KINDS = {"f": "float64 float32 float32", "i": "int64 int32 int16", "u": "uint8", "c": "complex128 complex64", "b": "bool"}


def _array(rng: random.Random, kind: str, shape: tuple[int, ...]) -> Array:
    data: Array = np.random.default_rng(rng.randrange(1 << 30)).integers(-40, 41, shape)
    eighths = {"f": data / 8, "c": (data + 1j * np.roll(data, 1, axis=-1)) / 8, "b": data > 0}
    return eighths.get(kind, data).astype(rng.choice(KINDS[kind].split()))


def _inputs(rng: random.Random) -> dict[str, Array]:
    m, n = rng.choice(EXTENTS), rng.choice(EXTENTS)
    shapes: list[tuple[int, ...]] = [(m, n), (m, n), (n,), (m,), (n, rng.choice(EXTENTS[:12])), (m, rng.choice((2, 3, 4)), n)]
    kinds = ["f", "f", rng.choice("ffi"), rng.choice("iif"), rng.choice("ffiuc"), rng.choice("fubc")]
    given = zip("abcdeg", kinds, rng.sample(shapes, len(shapes)), strict=True)
    found = {name: _array(rng, kind, shape) for name, kind, shape in given if math.prod(shape) <= MOST and rng.random() < 0.75}
    return found or {"a": _array(rng, "f", (m,))}


def line_of(text: str, name: str) -> str:
    """The lines of a function that give a value of an idiom its name."""
    return text.replace("@", name) if text.startswith("    ") else f"    {name} = {text}"


def value_of(line: str, name: str, values: Mapping[str, Array]) -> Array | None:
    """What a line makes; None where NumPy refuses it, or makes of it what nothing can be made of."""
    scope: dict[str, Any] = {"np": np, "eqsat": eqsat, **values}
    try:
        with np.errstate(all="ignore"):
            exec(f"def step():\n{line}\n    return {name}", scope)
            value = np.asarray(scope["step"]())
    except (ValueError, TypeError, IndexError):
        return None
    known = value.dtype.name in " ".join(KINDS.values()) and 0 < value.size <= MOST
    return value if known and np.abs(value.astype(np.complex128)).max() <= LARGEST else None


def draw(seed: int, position: int) -> Chain:
    """The program at a position of a seed."""
    rng = random.Random(f"functions {seed} {position}")
    d = Draw(rng, _inputs(rng))
    arrays, lines, used = dict(d.values), list[str](), set[str]()
    for _ in range(rng.randint(3, 16)):
        table, name = rng.choice((ROUNDS, KEEPS, KEEPS, DECIDES)), f"v{len(lines)}"
        d.taken = set()
        try:
            text = rng.choice(table)(d)
        except Nothing:
            continue
        line = line_of(text, name)
        if (value := value_of(line, name, d.values)) is None:
            continue
        d.values[name] = value
        used |= d.taken
        lines.append(f"{line}\n")
        if table is ROUNDS or d.taken & d.rounded:
            d.rounded.add(name)
    made = [name for name in d.values if name not in arrays]
    ends = [name for name in made if name not in used]
    results = rng.sample(ends, min(len(ends), rng.randint(1, 5))) + rng.sample(made, min(len(made), rng.choice((0, 0, 0, 1))))
    returned = ", ".join(dict.fromkeys(results)) or f"{next(iter(arrays))} * 2"
    source = f"def chain({', '.join(arrays)}):\n{''.join(lines)}    return {returned},\n"
    return Chain(source, tuple(arrays.values()), rng.choice(("default", "default", "default", "exact", "fast")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    conclude(*check([draw(arguments.seed, position) for position in range(arguments.count)]))


if __name__ == "__main__":
    main()
