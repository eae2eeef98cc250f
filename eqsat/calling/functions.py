"""NumPy's functions as eqsat.numpy and its namespaces offer them: operations on traced arrays and lazy tensors, NumPy's own on others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from eqsat.calling.lazy import asarray
from eqsat.capture.array import TracedArray
from eqsat.capture.sharing import is_in_order
from eqsat.capture.traces import apply, traced_deep
from eqsat.capture.tracing import CURRENT
from eqsat.ir.errors import EqsatError
from eqsat.ir.host import flat
from eqsat.ir.ops import SCALAR_OPS
from eqsat.ir.tensor import Constant, Tensor
from eqsat.operations.table import numpy_function, without_neutral
from eqsat.sizes.markers import Extent

METHODS = ("reduce", "accumulate", "reduceat", "outer", "at")


def function(name: str) -> Callable[..., Any]:
    """The operation `name` on traced arrays, numpy's on others (of erf, which it lacks, what its row means)."""
    numpys = numpy_function(name)
    plain = numpys or SCALAR_OPS[name].meaning
    outs = range(numpys.nin + 1, numpys.nargs + 1) if isinstance(numpys, np.ufunc) else range(0)

    def found(*args: Any, **kwargs: Any) -> Any:
        if any(True for _ in traced_deep((args, kwargs))):
            writes = numpys is not None and (kwargs.get("out") is not None or len(args) in outs)
            return numpys(*args, **kwargs) if writes else apply(name, *args, **kwargs)  # NumPy finds the array to be changed
        return plain(*args, **kwargs)

    found.__name__ = found.__qualname__ = name.rpartition(".")[2]
    found.__doc__ = (
        f"numpy.{name}, on traced arrays as well." if numpys else f"{name} of every element, which NumPy lacks, as scipy.special has it."
    )
    if isinstance(numpys, np.ufunc):  # which find traced arrays themselves
        vars(found).update({method: getattr(numpys, method) for method in METHODS})
    return found


def creation(name: str, make: Callable[..., Tensor], to_fill: bool = True) -> Callable[..., Any]:
    """numpy's function; where a function is traced `make` in its place: of sizes that are known at run time, and of arrays `to_fill`."""
    plain = function(name)

    def found(*args: Any, **kwargs: Any) -> Any:
        owner, leaves = CURRENT.get(), tuple(flat((*args, *kwargs.values())))
        sized = owner is not None and owner.sizes and any(isinstance(leaf, Extent) for leaf in leaves)
        if owner is None or not (sized or (to_fill and not any(isinstance(leaf, TracedArray | np.ndarray) for leaf in leaves))):
            return plain(*args, **kwargs)
        if sized:
            return TracedArray(make(*args, **without_neutral(kwargs)), owner)
        try:
            tensor = make(*args, **kwargs)
        except (TypeError, EqsatError):  # NumPy says what is wrong, or where the array is to lie
            tensor = Constant(plain(*args, **kwargs))
        made = TracedArray(tensor if min(tensor.shape, default=0) >= 0 else Constant(plain(*args, **kwargs)), owner)
        made.memory.is_number, made.memory.is_whole = False, is_in_order(args, kwargs)
        return made

    found.__name__ = found.__qualname__ = name
    found.__doc__ = f"numpy.{name}; in functions that are traced an array of the trace{', which may be filled' if to_fill else ''}."
    return found


def array(x: Any) -> TracedArray:
    """What has a program: a traced array, or a lazy tensor of an array."""
    return x if isinstance(x, TracedArray) else asarray(x)
