"""docs/operations.md from the table of operations: `python -m eqsat.operations.document` rewrites it.

Which dtypes an operation takes is found by calling it; which of NumPy's parameters it lacks, by comparing signatures.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import eqsat.numpy as enp
from eqsat.ir.errors import EqsatError
from eqsat.ir.host import UFUNC_METHODS
from eqsat.ir.tensor import Constant, Input
from eqsat.operations import array_api
from eqsat.operations.host import signature
from eqsat.operations.table import ALIASES, INTERNAL, OPERATIONS, numpy_function, plain_signature, run

PAGE = Path(__file__).parents[2] / "docs" / "operations.md"
KINDS = {"bool": ("bool",), "int": ("int64", "uint8"), "float": ("float32", "float64"), "complex": ("complex64", "complex128")}
_HEAD = """# Operations

Written by `python -m eqsat.operations.document` from the table in `eqsat/operations/`; do not edit.

These are functions of `eqsat.numpy`, and NumPy's own functions, ufuncs, operators and methods on traced arrays and lazy tensors come to the
same.  Shapes, dtypes and values are NumPy's.  Of every function:

- `out=` changes an array of the trace, and with it `where=` of functions of elements; arguments are not changed (the compiled function
  takes `out=` itself).  `order=`, `casting=`, `subok=`, and `dtype=` of functions of elements, are taken only with the values that change
  nothing.
- What depends on values cannot decide about shapes: masks as indices, for one, must be known when the program is recorded.
- Sums, means and products of floats may be rounded in another order than NumPy's ([numerics](numerics.md)).
- Of ufuncs `outer` is there for all, `reduce` for sums, products, extremes (also `fmax`), truth values, bits and `logaddexp`, `accumulate`
  for sums, products and extremes (`np.maximum.accumulate`), truth values and bits, `reduceat` for the same and `at` for sums, products
  and extremes.
- `np.copyto`, `put`, `place`, `putmask`, `put_along_axis`, `fill_diagonal` change arrays of the trace.  `np.piecewise`,
  `apply_along_axis` (of up to 64 rows) and `apply_over_axes` record the functions that they are given, which `piecewise` wants to be
  functions of elements.
- Any other name of NumPy is NumPy's own (`enp.s_`, `enp.errstate`, `enp.unique`): it takes what has a value when the program is recorded,
  and says so of traced arrays.
- Arrays of integers are indices: x[i], x[i, :, j], with NumPy's rules for where their axes are.  One out of range is an
  `eqsat.ir.errors.BoundsError`, which is an IndexError: while the program is recorded where that is known, else after the kernels of the
  call that met it and before its results are handed out (arrays given as `out=` are written by then).  What no result needs is not
  checked.
- `x.view(dtype)` has the bytes of x as elements of another dtype; it is a copy, and nothing is put into x through it.

*takes*: kinds of dtypes; *lacks*: parameters of NumPy's function that are refused, unless they change nothing.
"""

# calls that an operation is tried with, where it needs more than its arrays
_SQUARE, _FLAT = (3, 3), (5,)
Probe = Callable[[Callable[[tuple[int, ...]], Any]], tuple[Any, ...]]


def _windows(rank: int, kernel: bool) -> Probe:
    shapes = [(1, 1, *(3,) * rank), (1, 1, *(2,) * rank)]
    return lambda x: tuple(x(shape) for shape in shapes[: 1 + kernel])


MASK, PLACES = Input("mask", _SQUARE, "bool"), Constant(np.array([[0, 1, 2]]))
PROBES: dict[str, Probe] = {
    **dict.fromkeys(("broadcast_to", "reshape"), lambda x: (x((1, 3)), (1, 1, 3))),
    **dict.fromkeys(("moveaxis", "swapaxes"), lambda x: (x(_SQUARE), 0, 1)),
    "lib.stride_tricks.sliding_window_view": lambda x: (x(_SQUARE), 2, 0),
    **dict.fromkeys(("concatenate", "concat", "stack", "hstack", "vstack", "dstack", "column_stack"), lambda x: ([x(_SQUARE)] * 2,)),
    **dict.fromkeys(("split", "array_split", "hsplit", "vsplit", "tile", "repeat", "roll", "pad", "delete"), lambda x: (x(_SQUARE), 1)),
    **dict.fromkeys(("convolve", "correlate"), lambda x: (x(_FLAT), x((2,)))),
    **dict.fromkeys(("matvec", "vecmat"), lambda x: (x(_SQUARE), x(_SQUARE))),
    "power": lambda x: (x(_SQUARE), 2),
    **dict.fromkeys(("topk", "partition", "argpartition", "linalg.matrix_power"), lambda x: (x(_SQUARE), 1)),
    **dict.fromkeys(("percentile", "quantile", "nanpercentile", "nanquantile"), lambda x: (x(_SQUARE), 0.5)),
    **dict.fromkeys(("cumulative_sum", "cumulative_prod", "polyder", "polyint"), lambda x: (x(_FLAT),)),
    "resize": lambda x: (x(_FLAT), (3,)),
    "can_cast": lambda x: (x(_FLAT), "float64"),
    "polyval": lambda x: (x(_FLAT), x(_SQUARE)),
    "unravel_index": lambda x: (PLACES, (2, 3)),
    "ravel_multi_index": lambda x: ((PLACES, PLACES), (3, 3)),
    "linalg.multi_dot": lambda x: ([x(_SQUARE)] * 3,),
    **dict.fromkeys(("searchsorted", "digitize", "polyadd", "polysub", "linalg.outer"), lambda x: (x(_FLAT), x(_FLAT))),
    "interp": lambda x: (x(_SQUARE), x(_FLAT), x(_FLAT)),
    "ldexp": lambda x: (x(_SQUARE), 2),
    "compress": lambda x: ([True, False, True], x(_SQUARE), 0),
    "extract": lambda x: (np.eye(3), x(_SQUARE)),
    "histogram2d": lambda x: (x(_FLAT), x(_FLAT), 2, [[0, 1], [0, 1]]),
    "polyfit": lambda x: (x(_FLAT), x(_FLAT), 1),
    "linalg.tensorinv": lambda x: (x(_SQUARE), 1),
    "linalg.tensorsolve": lambda x: (x(_SQUARE), x((3,))),
    "linalg.lstsq": lambda x: (x(_SQUARE), x(_SQUARE)),
    "linalg.solve": lambda x: (x(_SQUARE), x(_SQUARE)),
    "bincount": lambda x: (x(_FLAT), None, 3),
    "astype": lambda x: (x(_SQUARE), "complex128"),
    "full_like": lambda x: (x(_SQUARE), 1),
    "full": lambda x: ((2,), x(())),
    "linspace": lambda x: (x(()), x(()), 3),
    "vander": lambda x: (x(_FLAT), 3),
    "expand_dims": lambda x: (x(_SQUARE), 0),
    "rollaxis": lambda x: (x(_SQUARE), 1),
    "where": lambda x: (MASK, x(_SQUARE), x(_SQUARE)),
    "select": lambda x: ([MASK], [x(_SQUARE)]),
    "choose": lambda x: (PLACES, [x(_SQUARE), x(_SQUARE), x(_SQUARE)]),
    "take": lambda x: (x(_SQUARE), PLACES),
    "take_along_axis": lambda x: (x(_SQUARE), PLACES, 0),
    "scatter": lambda x: (x(_SQUARE), [0, 1], x((2, 3))),
    "scatter_add": lambda x: (x(_SQUARE), [0, 1], x((2, 3))),
    "einsum": lambda x: ("ij,jk", x(_SQUARE), x(_SQUARE)),
    "insert": lambda x: (x(_SQUARE), 0, x(())),
    "dsplit": lambda x: (x((1, 1, 2)), 1),
    **{f"{kind}{rank}d": _windows(rank, kind == "conv") for rank in (1, 2, 3) for kind in ("conv", "maxpool", "avgpool")},
}

NOTES: dict[str, str] = {
    "bincount": "numbers that are not less than `minlength` are an error",
    "average": "weights whose sum is zero give NaN or infinities, no ZeroDivisionError",
    "choose": "mode='raise' only where the places are known to be in range",
    "cross": "vectors of three elements",
    "pad": "modes constant, edge, linear_ramp, maximum, mean, minimum, reflect, symmetric, wrap and empty (zeros); reflect_type='even'",
    "select": "conditions and choices broadcast",
    "scatter": "not in NumPy: x[indices] = updates on a copy",
    "scatter_add": "not in NumPy: what np.add.at does in place",
    "repeat": "numbers of repeats are known when the program is recorded",
    "unravel_index": "indices that are known to be in range, as those of argmax are; int64 only",
    "ravel_multi_index": "mode='raise' only where the indices are known to be in range",
    "searchsorted": "compiled, but of complex keys, of bfloat16 and where their number is known at run time",
    "sort": "of 16 elements and fewer compiled; NaN is NaN, whatever its bits; `descending` is the array API's",
    "argsort": "of 8 elements and fewer compiled, as if stable; `descending` is the array API's",
    "topk": "not in NumPy; up to 8 elements compiled",
    "partition": "of 16 elements and fewer compiled: all in order",
    "median": "of 49 elements and fewer compiled",
    "quantile": "of 49 elements and fewer compiled, for one q by the method linear",
    "percentile": "of 49 elements and fewer compiled, for one q by the method linear",
    "digitize": "bins that go neither up nor down are no error",
    "interp": "without the search that remembers where the last number was",
    "array_equal": "a 0-d array of bool",
    "corrcoef": "real numbers only",
    "isin": "every element is compared with all others",
    "gradient": "places of neighbours are always taken as uneven, even ones may be rounded otherwise",
    "empty_like": "zeros",
    "einsum": "three operands or more are multiplied pair by pair, in NumPy's greedy order; `optimize` changes nothing",
    "nanmean": "of float16 carried in float32; without warnings",
    "delete": "places are known when the program is recorded",
    "insert": "places are known when the program is recorded",
}


# what is said of a family before its table
_ABOUT = {
    "host": (
        "Calls of NumPy between compiled kernels ([library calls](fallback.md)).  Compiled by now are `cumsum`, `cumprod`,",
        "`cumulative_sum`, `cumulative_prod`, `bincount`, and the norms that are roots of sums of squares: `linalg.norm`,",
        "`linalg.vector_norm` and `linalg.matrix_norm` without `ord=`.",
        "",
    ),
}


def page() -> str:
    """The text of docs/operations.md."""
    parts = [_HEAD]
    for family, names in _families().items():
        head = ["", *_ABOUT.get(family, ()), "| name | takes | lacks | differs |", "|---|---|---|---|"]
        parts += [f"## {family}", *head, *map(_line, names), ""]
    return "\n".join([*parts, *_random(), *_coverage()])


def public() -> list[str]:
    """The operations that eqsat.numpy has under the same names."""
    return [name for name in OPERATIONS if not (name in INTERNAL or _is_of_ufunc(name) or name.startswith("random_"))]


def _is_of_ufunc(name: str) -> bool:
    """Whether it is what a method of a ufunc does: add.reduceat."""
    return name.rpartition(".")[2] in UFUNC_METHODS


def _random() -> list[str]:
    """The functions of eqsat.numpy.random, which NumPy has not."""
    functions = [value for name, value in vars(enp.random).items() if inspect.isfunction(value) and not name.startswith("_")]
    return ["## random", "", *(f"- `random.{one.__name__}{plain_signature(inspect.signature(one))}`" for one in functions), ""]


def _families() -> dict[str, list[str]]:
    """The operations by the file that they are in."""
    found: dict[str, list[str]] = {}
    for name, implementation in OPERATIONS.items():
        if name in public() and name not in ALIASES:
            found.setdefault(implementation.__module__.rpartition(".")[2], []).append(name)
    return found


def _line(name: str) -> str:
    aliases = [alias for alias, known in ALIASES.items() if known == name]
    names = ", ".join(f"`{one}`" for one in (name, *aliases))
    note = NOTES.get(name, "" if numpy_function(name) is not None else "not in NumPy")
    return f"| {names} | {' '.join(takes(name))} | {' '.join(lacks(name))} | {note} |"


def takes(name: str) -> Iterator[str]:
    """The kinds of dtypes that an operation takes: all of a kind, or those that are named."""
    for kind, dtypes in KINDS.items():
        taken = [dtype for dtype in dtypes if _works(name, dtype)]
        if taken:
            yield kind if len(taken) == len(dtypes) else "/".join(taken)


def _works(name: str, dtype: str) -> bool:
    try:
        run(name, _arguments(name, lambda shape: Input("x", shape, dtype)), {})
    except EqsatError:
        return False
    return True


def _arguments(name: str, array: Callable[[tuple[int, ...]], Input]) -> tuple[Any, ...]:
    known = name if name in PROBES else ALIASES.get(name, name)
    if known in PROBES:
        return PROBES[known](array)
    parameters = signature(OPERATIONS[name]).parameters.values()
    needed = [p for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return (array(_SQUARE),) * max(len(needed), 1)


def lacks(name: str) -> Iterator[str]:
    """The parameters of NumPy's function that an operation has not; those of ufuncs are all alike."""
    function = numpy_function(name)
    if function is None or isinstance(function, np.ufunc):
        return
    try:
        theirs = inspect.signature(function).parameters
    except ValueError:
        return
    ours = signature(OPERATIONS[name]).parameters
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in (*theirs.values(), *ours.values())):
        return
    positional = [p for p in theirs.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty]
    known = {*ours, *(parameter.name for parameter in positional), "out", "order", "casting", "subok", "kwargs"}
    yield from (f"`{key}=`" for key in theirs if key not in known)


def _has(name: str) -> bool:
    """Whether eqsat.numpy has a function."""
    module, _, function = name.rpartition(".")
    return function in vars(getattr(enp, module) if module else enp)  # what has no row is NumPy's own


def covered() -> list[str]:
    """The functions of the array API standard that eqsat.numpy has."""
    return [name for name in array_api.names() if _has(name)]


def _coverage() -> list[str]:
    every, have = array_api.names(), covered()
    missing = [name for name in every if name not in have]
    return [
        f"## The array API standard, {array_api.VERSION}",
        "",
        f"{len(have)} of its {len(every)} functions ({100 * len(have) // len(every)} %).  Missing:",
        "",
        *(f"- `{name}`: {array_api.MISSING.get(name, 'not there yet')}" for name in missing),
        "",
    ]


def main() -> None:
    """Write the page."""
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
