"""Every function of codegen.math with the arguments that its tests and measurements use, and how its error is measured."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from eqsat.codegen import Routine
from eqsat.codegen.fold import Numerics
from tests.codegen.nests import call, compiled, elementwise

Array = np.ndarray[Any, Any]
Range = tuple[float, float]


class Function(NamedTuple):
    """Ranges of each argument, in step with each other: the first as it is used most, then those that are hard."""

    ranges: tuple[tuple[Range, ...], ...]

    @property
    def arity(self) -> int:
        return len(self.ranges)


def of_one(*ranges: Range) -> Function:
    return Function((ranges,))


FUNCTIONS: dict[str, Function] = {
    "exp": of_one((-10, 10), (-746, 710), (-104, 89), (-1, 1)),
    "exp2": of_one((-10, 10), (-1075, 1024), (-150, 128), (-1, 1)),
    "expm1": of_one((-5, 5), (-40, 710), (-1, 1), (0.3, 0.5), (-0.5, -0.3), (-1e-3, 1e-3)),
    "log": of_one((0.1, 10), (0.6, 1.6), (0, 1e-300), (0, 1e-38), (0, 1e30)),
    "log2": of_one((0.1, 10), (0.6, 1.6), (0, 1e-300), (0, 1e-38), (0, 1e30)),
    "log10": of_one((0.1, 10), (0.6, 1.6), (0, 1e-300), (0, 1e-38), (0, 1e30)),
    "log1p": of_one((-0.9, 10), (-0.4, 0.5), (-1e-3, 1e-3), (-1, -0.99), (0, 1e30)),
    "sin": of_one((-10, 10), (-1e4, 1e4), (-(2.0**30), 2.0**30), (-1e30, 1e30), (0.7, 0.9)),
    "cos": of_one((-10, 10), (-1e4, 1e4), (-(2.0**30), 2.0**30), (-1e30, 1e30), (0.7, 0.9)),
    "tan": of_one((-10, 10), (-1e4, 1e4), (-(2.0**30), 2.0**30), (-1e30, 1e30), (0.7, 0.9)),
    "arcsin": of_one((-1, 1), (0.49, 0.6), (0.999, 1), (-1e-3, 1e-3)),
    "arccos": of_one((-1, 1), (0.49, 0.7), (-0.7, -0.49), (0.999, 1)),
    "arctan": of_one((-10, 10), (-1, 1), (0.9, 1.3), (-1e9, 1e9)),
    "arctan2": Function((((-10, 10), (-1, 1), (-1e30, 1e30), (0.9, 1.1)), ((-10, 10), (-1e3, 1e3), (-1e30, 1e30), (0.9, 1.1)))),
    "sinh": of_one((-5, 5), (-711, 711), (-89.5, 89.5), (0.9, 1.7), (-1, 1)),
    "cosh": of_one((-5, 5), (-711, 711), (-89.5, 89.5), (-1, 1)),
    "tanh": of_one((-5, 5), (-1, 1), (0.5, 0.7), (-20, 20)),
    "arcsinh": of_one((-10, 10), (-1, 1), (0.4, 1.3), (-1e30, 1e30)),
    "arccosh": of_one((1, 10), (1, 1.1), (1, 1e30)),
    "arctanh": of_one((-1, 1), (-0.5, 0.5), (0.999, 1), (-1e-3, 1e-3)),
    "erf": of_one((-3, 3), (-1, 1), (0.9, 1.1), (-6, 6)),
    "power": Function(
        (
            ((0, 10), (0, 2), (0.9, 1.1), (0, 1e30), (0, 1e-300), (-10, 10)),
            ((-10, 10), (-100, 100), (-5000, 5000), (-3, 3), (-1, 1), (-3, 3)),
        )
    ),
    "cbrt": of_one((-10, 10), (1, 8), (0, 1e-310), (0, 1e-40), (-1e30, 1e30)),
    "hypot": Function((((-10, 10), (0, 1e-310), (0, 1e300), (1, 2)), ((-10, 10), (0, 1e-310), (0, 1e300), (0, 1)))),
}


@functools.cache
def routine(name: str, dtype: str, size: int, numerics: Numerics = "default") -> Routine:
    """Machine code of one loop over arrays of `size` elements."""
    dtypes = (dtype,) * FUNCTIONS[name].arity
    return compiled([elementwise(lambda *args: call(name, *args), dtypes, size)], numerics).routine("elementwise")
