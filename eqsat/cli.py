"""The command line: the demonstration, the same for a user's function and files, and the cache on disk.

Exit status: 0 done; 1 a result that is not NumPy's; 2 bad input, told in one line on stderr, nothing written.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import inspect
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import numpy as np

import eqsat
from eqsat import demo, rules
from eqsat.calibration import measure
from eqsat.comparison import Comparison, compare, leaves
from eqsat.ir.dtypes import dtype_name
from eqsat.ir.errors import EqsatError, UnsupportedError, UsageError
from eqsat.local_target import forget_target, local_target, store_target
from eqsat.target import DEFAULT_TARGET


class _Parser(argparse.ArgumentParser):
    """A parser that reports a bad command line in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line (sys.argv by default) and returns the exit status."""
    arguments = _parser().parse_args(argv)
    try:
        if arguments.command == "optimize":
            return _optimize(arguments)
        if arguments.command == "calibrate":
            return _calibrate(arguments)
        return _cache(arguments) if arguments.command == "cache" else demo.run()
    except (UsageError, UnsupportedError, OSError) as error:
        print("eqsat:", " ".join(str(error).split()), file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m eqsat", description="Without a command: the demonstration on photographs and digits.")
    commands = parser.add_subparsers(dest="command", parser_class=_Parser)
    text = "optimize a function written with NumPy's names, check it against NumPy and time it"
    optimize = commands.add_parser("optimize", help=text, description=text)
    optimize.add_argument("function", metavar="MODULE:FUNCTION", help="a module's dotted name or the path of a .py file")
    optimize.add_argument("--input", metavar="A.npy", action="append", required=True, help="an argument; repeat for more, in order")
    optimize.add_argument("--out", metavar="Y.npy", type=Path, help="where to write the result")
    optimize.add_argument("--dump", metavar="DIR", type=Path, help="a folder for the program after every stage")
    optimize.add_argument("--no-rules", metavar="TABLE", action="append", default=[], help="leave out a table of rules; repeat for more")
    text = "show or clear what is kept on disk"
    cache = commands.add_parser("cache", help=text, description=text)
    cache.add_argument("action", choices=("info", "clear"), nargs="?", default="info", help="info, the default: folder, entries, bytes")
    text = "measure the parameters of the cost model on this machine, and store them for later processes"
    calibrate = commands.add_parser("calibrate", help=text, description=text)
    how = calibrate.add_mutually_exclusive_group()
    how.add_argument("--show", action="store_true", help="measure nothing: what is used now")
    how.add_argument("--forget", action="store_true", help="remove what is stored: the named default is used again")
    calibrate.add_argument("--json", action="store_true", help="print the parameters as JSON")
    return parser


def _optimize(arguments: argparse.Namespace) -> int:
    if arguments.out is not None and not arguments.out.parent.is_dir():
        raise UsageError(f"--out: found no folder {arguments.out.parent}, expected one that exists")
    arrays = tuple(load_array(path) for path in arguments.input)
    options = eqsat.Options(rules=rules.without(*arguments.no_rules), dump=arguments.dump)
    found = _compared(arguments.function, load_function(arguments.function), arrays, options)
    outputs = list(leaves(found.value))
    if arguments.out is not None and len(outputs) != 1:
        raise UsageError(f"--out: found {len(outputs)} outputs of {arguments.function}, expected one")
    print(found)
    if not found.agrees:
        return 1
    if arguments.out is not None:
        save_array(arguments.out, outputs[0])
    return 0


def _cache(arguments: argparse.Namespace) -> int:
    if arguments.action == "clear":
        print("cleared", eqsat.cache.clear())
    else:
        print(eqsat.cache.info())
    return 0


def _calibrate(arguments: argparse.Namespace) -> int:
    if arguments.show:
        target, done = local_target(), "used now"
    elif arguments.forget:
        removed = forget_target()
        target, done = DEFAULT_TARGET, f"removed {removed}" if removed else "nothing was stored"
    else:
        target = measure(lambda what: print(f"measuring {what}", file=sys.stderr))
        done = f"stored in {store_target(target)}"
    if arguments.json:
        print(json.dumps(asdict(target), indent=2))
        return 0
    default = asdict(DEFAULT_TARGET)
    for name, value in asdict(target).items():
        print(f"{name:14} {_spelled(value):34} default {_spelled(default[name])}")
    print(done)
    return 0


def _spelled(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _compared(name: str, function: Callable[..., Any], arrays: tuple[np.ndarray[Any, Any], ...], options: eqsat.Options) -> Comparison:
    title = f"{name}({', '.join(f'{array.dtype}{list(array.shape)}' for array in arrays)})"
    try:
        return compare(title, function, arrays, {"NumPy": function}, options)
    except EqsatError:
        raise
    except Exception as error:
        # The function's own fault if it fails on plain arrays as well; eqsat's otherwise.
        try:
            function(*arrays)
        except Exception:
            raise UsageError(f"{name}: {type(error).__name__}: {error}") from error
        raise


def load_function(text: str) -> Callable[..., Any]:
    """The function that MODULE:FUNCTION names, without decorators such as `eqsat.jit`.

    Raises UsageError where there is no such module or function, or the module cannot be imported.
    """
    place, separator, name = text.rpartition(":")
    if not separator or not place or not name:
        raise UsageError(f"optimize: found {text!r}, expected MODULE:FUNCTION")
    try:
        module = _module_at(Path(place)) if place.endswith(".py") else importlib.import_module(place)
    except Exception as error:
        raise UsageError(f"optimize: found no module {place} that can be imported ({type(error).__name__}: {error})") from error
    function = getattr(module, name, None)
    if not callable(function):
        raise UsageError(f"optimize: found {type(function).__name__} under {name} in {place}, expected a function")
    plain: Callable[..., Any] = inspect.unwrap(function)
    return plain


def _module_at(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load_array(path: str) -> np.ndarray[Any, Any]:
    """The array of a .npy file, in C order and native byte order; UsageError where there is none, DTypeError for its dtype."""
    try:
        array = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise UsageError(f"--input: found no file {path}") from None
    except (ValueError, EOFError, OSError) as error:
        raise UsageError(f"--input: found {path}, expected an array in NumPy's .npy format ({error})") from error
    if not isinstance(array, np.ndarray):
        raise UsageError(f"--input: found several arrays in {path}, expected one in NumPy's .npy format")
    return np.array(array, dtype_name(array.dtype, f"--input {path}"), order="C")


def save_array(path: Path, array: np.ndarray[Any, Any]) -> None:
    """Writes a .npy file at exactly `path`, complete or not at all."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with partial.open("wb") as file:
            np.save(file, array, allow_pickle=False)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
