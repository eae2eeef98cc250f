"""Functions that a command line names, and whose fault it is when they fail."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import operator
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from eqsat.ir.errors import EqsatError, UsageError

T = TypeVar("T")
Function = Callable[..., Any]


def load_function(text: str) -> Function:
    """The function that MODULE:FUNCTION names, without decorators such as `eqsat.jit`; FUNCTION may have dots, as `linalg.norm`.

    Raises UsageError where there is no such module or function, or the module cannot be imported.
    """
    place, separator, name = text.rpartition(":")
    if not separator or not place or not name:
        raise UsageError(f"function: found {text!r}, expected MODULE:FUNCTION")
    try:
        module = _module_at(Path(place)) if place.endswith(".py") else _module_named(place)
    except (Exception, SystemExit) as error:
        raise UsageError(f"function: found no module {place} that can be imported ({type(error).__name__}: {error})") from error
    try:
        function = operator.attrgetter(name)(module)
    except AttributeError:
        raise UsageError(f"function: found nothing called {name} in {place}, expected a function") from None
    if not callable(function):
        raise UsageError(f"function: found {name} in {place} of type {type(function).__name__}, expected a function")
    plain: Function = inspect.unwrap(function)
    return plain


def _module_named(name: str) -> ModuleType:
    """A module that can be imported where the command runs, as `python -m` would find it."""
    here = os.getcwd()
    if not {"", here} & set(sys.path):
        sys.path.insert(0, here)
    return importlib.import_module(name)


def _module_at(path: Path) -> ModuleType:
    """The module of a file; it is known under its path, which no import statement can name."""
    spec = importlib.util.spec_from_file_location(str(path), path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look for the module of a class there
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[spec.name]
        raise
    return module


def blamed(name: str, function: Function, arrays: Callable[[], Sequence[Any]], work: Callable[[], T]) -> T:
    """What `work` with a user's function gives.  An error that is not eqsat's own is the function's fault if it fails on plain arrays as
    well, and then a UsageError."""
    try:
        return work()
    except EqsatError:
        raise
    except Exception as error:
        try:
            function(*arrays())
        except Exception:
            raise UsageError(f"{name}: {type(error).__name__}: {error}") from error
        raise
