"""Functions of complex numbers that codegen has for real numbers alone: made of functions of their parts where these are right for every
special value, and else calls of NumPy."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from eqsat.ir.dtypes import is_complex
from eqsat.ir.errors import UnsupportedError
from eqsat.ir.tensor import Scalar, Tensor
from eqsat.operations.elementwise import Block, call, cast, elementwise
from eqsat.operations.host import host_call

# what codegen does not compute of complex numbers, at least not for every exponent
_NAMES = (
    "exp expm1 exp2 log log1p log2 log10 sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh sinc sign rint round "
    "isnan isinf isfinite isclose allclose nan_to_num fmax fmin power float_power corrcoef"
)
NAMES = tuple(_NAMES.split())


def of_complex(name: str, operation: Callable[..., Any]) -> Callable[..., Any]:
    """The operation, or where it has no code for complex numbers one of their parts or a call of NumPy's function of that name."""

    @functools.wraps(operation)
    def either(*args: Any, **kwargs: Any) -> Any:
        try:
            return operation(*args, **kwargs)
        except UnsupportedError:
            if not any(map(_is_complex, args)):
                raise
            if name in BY_PARTS and len(args) == 1 and not kwargs:
                return elementwise(name, args, BY_PARTS[name])
            return host_call(f"numpy.{name}", _with_dtypes(args), kwargs)

    return either


def _parts(z: Scalar) -> tuple[Scalar, Scalar]:
    return call("real", z), call("imag", z)


def _exp(z: Scalar) -> Scalar:
    """exp(x) cos(y) + exp(x) sin(y) i, with the special values of C99, annex G; where exp(x) is infinite and the products are not, it is
    computed in up to three factors."""
    x, y = _parts(z)
    large, step = (700.0, 500.0) if x.dtype == "float64" else (80.0, 60.0)
    endless, rest, factors = call("logical_not", call("isfinite", y)), x, list[Scalar]()
    for most in (large, large + step):
        above = call("greater", x, most)
        rest = call("where", above, call("subtract", rest, step), rest)
        factors.append(call("where", above, np.exp(np.array(step, x.dtype)).item(), cast(1.0, x.dtype)))
    size = call("exp", rest)
    real, imag = (
        functools.reduce(functools.partial(call, "multiply"), factors, call("multiply", size, call(turn, y))) for turn in ("cos", "sin")
    )
    vanishes, grows = (call("logical_and", endless, call("equal", x, end)) for end in (-np.inf, np.inf))
    real = call("where", vanishes, 0.0, call("where", grows, x, real))
    imag = call("where", call("equal", y, 0.0), y, call("where", vanishes, 0.0, imag))
    return call("complex", real, imag)


def _rint(z: Scalar) -> Scalar:
    return call("complex", *(call("rint", part) for part in _parts(z)))


def _either(op: str, joined: str) -> Block:
    return lambda z: call(joined, *(call(op, part) for part in _parts(z)))


BY_PARTS: dict[str, Block] = {
    "exp": _exp,
    "rint": _rint,
    "isnan": _either("isnan", "logical_or"),
    "isinf": _either("isinf", "logical_or"),
    "isfinite": _either("isfinite", "logical_and"),
}


def _with_dtypes(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Python's complex numbers in the precision that they have beside the arrays."""
    arrays = [np.dtype(value.dtype) for value in args if isinstance(value, Tensor | np.ndarray | np.generic)]
    kind = np.result_type(*arrays, 1j).type
    return tuple(kind(value) if isinstance(value, complex) and not isinstance(value, np.generic) else value for value in args)


def _is_complex(value: Any) -> bool:
    if isinstance(value, Tensor | np.ndarray | np.generic):
        return is_complex(str(value.dtype))
    return isinstance(value, complex)
