"""The one table of operations: the NumPy name, and what it does with tensors.

eqsat.numpy, NumPy's own functions and ufuncs on traced arrays, operators and methods all end in `find`; parameters carry NumPy's names.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import numpy as np

from eqsat.ir.errors import UnsupportedError, UsageError
from eqsat.ir.host import numpy_name
from eqsat.ir.host_functions import VALUES_DECIDE
from eqsat.ir.ops import SCALAR_OPS
from eqsat.operations import (
    assembling,
    assignment,
    bits,
    composed,
    contraction,
    derived,
    differences,
    elementwise,
    frames,
    host,
    indexing,
    joining,
    movement,
    placing,
    polynomials,
    powers,
    products,
    random,
    reductions,
    reinterpreted,
    searching,
    sorted_tables,
    sorting,
    statistics,
    taking,
    ufunc_folds,
    windows,
)
from eqsat.operations.complex_functions import NAMES as COMPLEX, of_complex

Implementation = Callable[..., Any]


def _family(module: ModuleType, names: str) -> dict[str, Implementation]:
    """Functions of a module under their own names."""
    return {name: getattr(module, name) for name in names.split()}


OPERATIONS: dict[str, Implementation] = {
    **{op: elementwise.scalar_operation(op) for op in SCALAR_OPS if op not in ("where", "astype", "power")},
    "where": elementwise.where,
    "astype": elementwise.astype,
    "view": reinterpreted.view,
    "copy": elementwise.copy,
    "positive": elementwise.positive,
    "power": powers.power,
    "float_power": powers.float_power,
    "square": powers.square,
    "divmod": composed.divmod,
    "reciprocal": composed.reciprocal,
    "fabs": composed.fabs,
    "deg2rad": composed.deg2rad,
    "rad2deg": composed.rad2deg,
    "sinc": composed.sinc,
    "heaviside": composed.heaviside,
    "bitwise_count": composed.bitwise_count,
    "logaddexp": composed.logaddexp,
    "logaddexp2": composed.logaddexp2,
    "clip": composed.clip,
    "round": composed.round,
    "nan_to_num": composed.nan_to_num,
    "isclose": composed.isclose,
    "allclose": composed.allclose,
    **_family(composed, "angle modf isposinf isneginf isreal iscomplex spacing"),
    "real": elementwise.real,
    "imag": elementwise.imag,
    "full": elementwise.full,
    "full_like": elementwise.full_like,
    "zeros_like": elementwise.zeros_like,
    "empty_like": elementwise.zeros_like,
    "ones_like": elementwise.ones_like,
    **_family(reductions, "sum prod max min any all count_nonzero"),
    **_family(searching, "argmax argmin"),
    **_family(statistics, "mean var std ptp average nansum nanprod nancumsum nancumprod nanmax nanmin nanmean nanvar nanstd"),
    **_family(statistics, "nanargmax nanargmin"),
    **_family(products, "matmul matvec vecmat vecdot dot vdot inner outer tensordot kron cross trace diagonal diag diagflat"),
    "einsum": contraction.einsum,
    "reshape": movement.reshape,
    "ravel": movement.ravel,
    "transpose": movement.transpose,
    "permute_dims": movement.permute_dims,
    "matrix_transpose": movement.matrix_transpose,
    "swapaxes": movement.swapaxes,
    "moveaxis": movement.moveaxis,
    "flip": movement.flip,
    "lib.stride_tricks.sliding_window_view": movement.sliding_window_view,
    "broadcast_to": movement.broadcast_to,
    "expand_dims": movement.expand_dims,
    "squeeze": movement.squeeze,
    "getitem": indexing.getitem,
    "setitem": assignment.setitem,
    **_family(taking, "take take_along_axis choose select compress extract"),
    "pad": frames.pad,
    "concatenate": joining.concatenate,
    "stack": joining.stack,
    "roll": joining.roll,
    "tile": joining.tile,
    "repeat": joining.repeat,
    "tril": joining.tril,
    "triu": joining.triu,
    **_family(assembling, "split array_split unstack hstack vstack dstack column_stack block append delete insert broadcast_arrays"),
    **_family(assembling, "meshgrid rot90 fliplr flipud rollaxis"),
    "vsplit": assembling.splitting("vsplit", 0, 2),
    "hsplit": assembling.splitting("hsplit", 1, 1),
    "dsplit": assembling.splitting("dsplit", 2, 3),
    **{f"atleast_{rank}d": assembling.at_least(rank) for rank in (1, 2, 3)},
    **_family(differences, "diff ediff1d unwrap gradient convolve correlate"),
    **{f"conv{rank}d": windows.convolution(rank) for rank in (1, 2, 3)},
    **{f"maxpool{rank}d": windows.max_pooling(rank) for rank in (1, 2, 3)},
    **{f"avgpool{rank}d": windows.mean_pooling(rank) for rank in (1, 2, 3)},
    **host.OPERATIONS,
    **sorting.OPERATIONS,
    **ufunc_folds.OPERATIONS,
    **random.OPERATIONS,
    **_family(sorted_tables, "searchsorted digitize interp histogram histogram2d histogram_bin_edges"),
    **_family(bits, "packbits unpackbits"),
    "scatter": placing.scatter,
    "scatter_add": taking.scatter_add,
    **{f"scatter_{op}": taking.scatter_at(op) for op in ("multiply", "maximum", "minimum")},
    **_family(derived, "linspace vander cov corrcoef trapezoid isin resize unravel_index ravel_multi_index array_equal array_equiv"),
    **_family(derived, "result_type can_cast iscomplexobj isrealobj"),
    **_family(polynomials, "polyval polyadd polysub polyder polyint polyfit"),
    **{f"linalg.{name}": getattr(derived, name) for name in ("multi_dot", "tensorinv", "tensorsolve")},
    **{f"{name}_from": derived.places_of(name) for name in ("diag_indices", "tril_indices", "triu_indices")},
    "linalg.matmul": products.matmul,
    **{f"linalg.{name}": getattr(products, f"linalg_{name}") for name in ("cross", "diagonal", "outer", "trace", "tensordot", "vecdot")},
    "linalg.matrix_transpose": movement.matrix_transpose,
    "shape": lambda a: a.shape,
    "ndim": lambda a: len(a.shape),
    "size": lambda a: a.size,
}

OPERATIONS |= {name: of_complex(name, OPERATIONS[name]) for name in COMPLEX}

ALIASES = {
    "concat": "concatenate",
    "true_divide": "divide",
    "mod": "remainder",
    "abs": "absolute",
    "amax": "max",
    "amin": "min",
    "acos": "arccos",
    "asin": "arcsin",
    "atan": "arctan",
    "atan2": "arctan2",
    "acosh": "arccosh",
    "asinh": "arcsinh",
    "atanh": "arctanh",
    "pow": "power",
    "around": "round",
    "fix": "trunc",
    "degrees": "rad2deg",
    "radians": "deg2rad",
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
    "bitwise_invert": "invert",
    "conj": "conjugate",
    "bitwise_not": "invert",
    "row_stack": "vstack",
}
for _alias, _name in ALIASES.items():
    OPERATIONS[_alias] = OPERATIONS[_name]

# Keywords that NumPy takes and that change nothing when they have one of these values.
NEUTRAL: dict[str, tuple[Any, ...]] = {
    "out": (None,),
    "where": (True,),
    "order": ("K", "C", "A", None),
    "casting": ("same_kind", "safe", "unsafe"),
    "subok": (True, False),
    "device": (None, "cpu"),
    "shape": (None,),
    "keepdims": (False,),
    "dtype": (None,),
    "copy": (True, None),
    "overwrite_input": (False, True),
}
# What to write instead of a keyword, or of an operation, that is missing.
INSTEAD_OF_KEYWORD = {
    "out": "use the returned array",
    "where": "use where(condition, result, other)",
    "initial": "combine the result with + or maximum",
    "dtype": "use astype",
    "order": "arrays are in C order",
}
# the way out where eqsat has no operation, but NumPy a function
FALLBACK = "Options(fallback=True), which leaves it to NumPy"
VALUES_DECIDE_SHAPES = frozenset(
    {
        "arange",
        "eye",
        "tri",
        "nonzero",
        "flatnonzero",
        "argwhere",
        "unique",
        "unique_values",
        "unique_counts",
        "unique_inverse",
        "unique_all",
        "union1d",
        "intersect1d",
        "setdiff1d",
        "setxor1d",
        "trim_zeros",
        "roots",
        "polymul",
        "polydiv",
    }
)
INSTEAD_OF = {
    "linalg.eig": "linalg.eigh for symmetric matrices; of others the dtype of the result depends on values",
    "linalg.eigvals": "linalg.eigvalsh for symmetric matrices; of others the dtype of the result depends on values",
    "polymul": "convolve, which has zeros where coefficients have",
    **dict.fromkeys(("put", "copyto", "place", "putmask", "itemset", "flat"), "x[...] = y, where, scatter or scatter_add"),
    **dict.fromkeys(("strides", "flags", "base", "data", "ctypes", "tobytes", "tofile", "setflags"), "it outside: there is no memory yet"),
    "byteswap": "view of bytes, and flip",
    **{f"cumulative_{order}": f"{order}imum.accumulate" for order in ("max", "min")},
    "array": "eqsat.numpy.stack, or asarray of one array",
    "full": "full_like",
    "zeros": "zeros_like",
    "ones": "ones_like",
}


def by_numpy_function() -> dict[Any, str]:
    """The table's name of every NumPy function that has one."""
    names: dict[Any, str] = {}
    for name in OPERATIONS:
        if (function := numpy_function(name)) is not None:
            names.setdefault(function, name)
    return names


def numpy_function(name: str) -> Any:
    """NumPy's function of an operation's name, None where it has none."""
    found: Any = np
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def run(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """The operation on tensors, NumPy scalars, numbers and array-likes: a tensor, or a plain value for shape, ndim and size.

    Raises UnsupportedError for a keyword of NumPy that eqsat lacks and UsageError for a call that fits no signature.
    """
    implementation = OPERATIONS[name]
    signature = host.signature(implementation)
    taken = {key: value for key, value in kwargs.items() if key in signature.parameters or not _neutral(key, value)}
    for key in taken:
        if key not in signature.parameters:
            _refuse_keyword(name, key, tuple(signature.parameters), args, kwargs)
    try:
        bound = signature.bind(*args, **taken)
    except TypeError as error:
        refused = UnsupportedError if len(args) > len(signature.parameters) and _fits_numpy(name, args, kwargs) else UsageError
        raise refused(f"{name}: found a call that does not fit ({error}), expected {name}{plain_signature(signature)}") from None
    if bound.arguments.get("out") is not None:
        _refuse_keyword(name, "out", tuple(signature.parameters), args, kwargs)
    return implementation(*bound.args, **bound.kwargs)


def check_neutral(name: str, **given: Any) -> None:
    """Raises UnsupportedError for a keyword whose value changes what NumPy does, and that eqsat takes only where it does not."""
    for key, value in given.items():
        if not _neutral(key, value):
            raise UnsupportedError(f"{name}: found {key}={value!r}; {INSTEAD_OF_KEYWORD.get(key, 'leave it out')}")


def without_neutral(given: Mapping[str, Any]) -> dict[str, Any]:
    """Keywords without those whose value changes nothing."""
    return {key: value for key, value in given.items() if not _neutral(key, value)}


def _neutral(key: str, value: Any) -> bool:
    return any(value is neutral or (isinstance(value, str) and value == neutral) for neutral in NEUTRAL.get(key, ()))


def _refuse_keyword(name: str, key: str, known: tuple[str, ...], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    if key in INSTEAD_OF_KEYWORD or key in NEUTRAL:
        hint = INSTEAD_OF_KEYWORD.get(key, "leave it out")
        raise UnsupportedError(f"{name}: found the keyword {key}=, supported are {', '.join(known)}; {hint}")
    if _fits_numpy(name, args, kwargs):
        raise UnsupportedError(f"{name}: found the keyword {key}=, supported are {', '.join(known)}")
    raise UsageError(f"{name}: found the unknown keyword {key}=, expected {', '.join(known)}")


def _fits_numpy(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Whether NumPy's function takes a call like this one; what ufuncs take besides their operands is refused by name."""
    function = numpy_function(name)
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return False
    return not isinstance(function, np.ufunc)


def plain_signature(signature: inspect.Signature) -> str:
    """(a, axis=None): a signature without its annotations."""
    plain = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in signature.parameters.values()]
    return str(signature.replace(parameters=plain, return_annotation=inspect.Signature.empty))


# operations that have no name in eqsat.numpy: what others, attributes, items and methods of ufuncs are made of
INTERNAL = (
    "cumulative_max",
    "cumulative_min",
    "scatter_multiply",
    "scatter_maximum",
    "scatter_minimum",
    "getitem",
    "setitem",
    "sorted_part",
    "threefry",
    "bits",
    "of_bits",
    "view",
    "complex",
)


def _named() -> list[str]:
    return [name for name in OPERATIONS if name not in INTERNAL and not name.startswith("random_")]


def missing(name: str, function: Any = None) -> str:
    """One line for an operation that is not in the table, with the nearest way that works; `function`: NumPy's."""
    if name in VALUES_DECIDE_SHAPES:
        return f"{name}: not supported on traced arrays, for the shape of its result depends on values; {VALUES_DECIDE}"
    option = f", or {FALLBACK}" if numpy_name(function if function is not None else numpy_function(name)) else ""
    if name in INSTEAD_OF:
        return f"{name}: not supported on traced arrays; use {INSTEAD_OF[name]}{option}"
    near = difflib.get_close_matches(name, _named(), n=3, cutoff=0.75)
    hint = f"the nearest are {', '.join(near)}" if near else "eqsat.numpy lists what is"
    return f"{name}: not supported on traced arrays; {hint}{option}"
