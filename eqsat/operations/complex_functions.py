"""Functions of complex numbers that eqsat has code for of real numbers alone: they are calls of NumPy, right for every special value."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from eqsat.ir.dtypes import is_complex
from eqsat.ir.errors import UnsupportedError
from eqsat.ir.tensor import Tensor
from eqsat.operations.host import host_call

# what NumPy computes of complex numbers, and codegen does not, at least not for every exponent
_NAMES = (
    "exp expm1 exp2 log log1p log2 log10 sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh sinc sign rint round "
    "isnan isinf isfinite isclose allclose nan_to_num fmax fmin power float_power corrcoef"
)
NAMES = tuple(_NAMES.split())


def of_complex(name: str, operation: Callable[..., Any]) -> Callable[..., Any]:
    """The operation, or where it has no code for complex numbers a call of NumPy's function of that name."""

    @functools.wraps(operation)
    def either(*args: Any, **kwargs: Any) -> Any:
        try:
            return operation(*args, **kwargs)
        except UnsupportedError:
            if not any(map(_is_complex, args)):
                raise
            return host_call(f"numpy.{name}", _with_dtypes(args), kwargs)

    return either


def _with_dtypes(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Python's complex numbers in the precision that they have beside the arrays."""
    arrays = [np.dtype(value.dtype) for value in args if isinstance(value, Tensor | np.ndarray | np.generic)]
    kind = np.result_type(*arrays, 1j).type
    return tuple(kind(value) if isinstance(value, complex) and not isinstance(value, np.generic) else value for value in args)


def _is_complex(value: Any) -> bool:
    if isinstance(value, Tensor | np.ndarray | np.generic):
        return is_complex(str(value.dtype))
    return isinstance(value, complex)
