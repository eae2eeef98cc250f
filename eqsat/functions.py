"""NumPy's functions as eqsat.numpy and its namespaces offer them: operations on traced arrays and lazy tensors, NumPy's own on others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from eqsat.array import TracedArray, apply, traced_deep
from eqsat.ir.host import flat
from eqsat.ir.ops import SCALAR_OPS
from eqsat.ir.tensor import Tensor
from eqsat.lazy import asarray
from eqsat.operations.table import numpy_function
from eqsat.sizes import Extent
from eqsat.tracing import CURRENT


def function(name: str) -> Callable[..., Any]:
    """The operation `name` on traced arrays, numpy's on others (of erf, which it lacks, what its row means)."""
    plain = numpy_function(name) or SCALAR_OPS[name].meaning

    def found(*args: Any, **kwargs: Any) -> Any:
        if any(True for _ in traced_deep((args, kwargs))):
            return apply(name, *args, **kwargs)
        return plain(*args, **kwargs)

    found.__name__ = found.__qualname__ = name.rpartition(".")[2]
    found.__doc__ = f"numpy.{name}, on traced arrays as well."
    return found


def creation(name: str, make: Callable[..., Tensor]) -> Callable[..., Any]:
    """numpy's function; of sizes that are known at run time `make` in its place."""
    plain = function(name)

    def found(*args: Any, **kwargs: Any) -> Any:
        owner = CURRENT.get()
        if owner is not None and owner.sizes and any(isinstance(leaf, Extent) for leaf in flat((*args, *kwargs.values()))):
            return TracedArray(make(*args, **kwargs), owner)
        return plain(*args, **kwargs)

    found.__name__ = found.__qualname__ = name
    found.__doc__ = f"numpy.{name}, of sizes that are known at run time as well."
    return found


def array(x: Any) -> TracedArray:
    """What has a program: a traced array, or a lazy tensor of an array."""
    return x if isinstance(x, TracedArray) else asarray(x)
