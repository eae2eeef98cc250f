"""Functions of the C library, for those that have no code of their own: right, but one call an element."""

from __future__ import annotations

from collections.abc import Callable

from eqsat.codegen.builder import Builder, Value


def c_function(name: str) -> Callable[..., Value]:
    """The C function of this name, computed in float64."""

    def function(b: Builder, *args: Value) -> Value:
        if args[0].type == "double":
            return b.library(name, *args)
        wide = b.library(name, *(b.cast("fpext", arg, "double") for arg in args))
        return b.cast("fptrunc", wide, args[0].type)

    return function
