"""Arguments of functions on a command line: arrays of files, and specs such as float32[1024,n]; sizes and variables with their ranges."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eqsat.capture.specs import Spec, describe, spec
from eqsat.ir.dtypes import dtype_name
from eqsat.ir.errors import UsageError
from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import Index, Var, variables
from eqsat.ir.tensor import Input, Program
from eqsat.sizes.facts import dim
from eqsat.testing import random_arrays

Array = np.ndarray[Any, Any]
Argument = Array | Spec
SPEC = re.compile(r"\s*(\w+)\s*\[(.*)\]\s*")


@dataclass(frozen=True)
class ArrayFile:
    """`--input A.npy`."""

    path: str


@dataclass(frozen=True)
class SpecText:
    """`--spec float32[1024,64]`."""

    text: str


def add_arguments(parser: argparse.ArgumentParser, sizes: str) -> None:
    """The options that `load_arguments` reads; `sizes`: the help of `--size`."""
    text = "an argument: an array in NumPy's format; repeat for more, in order"
    parser.add_argument("--input", metavar="A.npy", type=ArrayFile, action="append", dest="given", default=[], help=text)
    text = "an argument: a dtype and a shape, such as float32[1024,64]; repeat for more, in order"
    parser.add_argument("--spec", metavar="SPEC", type=SpecText, action="append", dest="given", help=text)
    parser.add_argument("--size", metavar="NAME=N", action="append", default=[], help=sizes)


def load_arguments(arguments: argparse.Namespace, ranges: bool = True) -> tuple[Argument, ...]:
    """The arguments that `--input`, `--spec` and `--size` name, in order; without `ranges` all sizes have to be numbers.

    Raises UsageError for what makes no sense, and where nothing is given.
    """
    sizes = parse_sizes(arguments.size, ranges)
    if not arguments.given:
        raise UsageError("arguments: found none, expected --spec or --input, for each argument of the function")
    loaded = tuple(load_array(one.path) if isinstance(one, ArrayFile) else parse_spec(one.text, sizes) for one in arguments.given)
    named = {extent for one in arguments.given if isinstance(one, SpecText) for extent in re.split(r"[\[\], ]+", one.text)}
    for name in sizes:
        if name not in named:
            raise UsageError(f"--size: found {name}, expected a size that a --spec names")
    return loaded


def parse_spec(text: str, sizes: Mapping[str, int | Var]) -> Spec:
    """The spec that a text such as float32[1024,n] states, with these sizes."""
    match = SPEC.fullmatch(text)
    if match is None:
        raise UsageError(f"--spec: found {text!r}, expected a dtype and a shape such as float32[1024,64]")
    dtype, extents = match.groups()
    words = [word.strip() for word in extents.split(",")] if extents.strip() else []
    return spec(tuple(_extent(word, text, sizes) for word in words), dtype_name(dtype, "--spec"))


def _extent(word: str, text: str, sizes: Mapping[str, int | Var]) -> int | Var:
    if word in sizes:
        return sizes[word]
    if not re.fullmatch(r"\d{1,18}", word):
        known = f"--size {word}=1:4096" if word.isidentifier() else "an integer"
        raise UsageError(f"--spec: found the extent {word!r} in {text!r}, expected {known}")
    return int(word)


def parse_sizes(texts: Iterable[str], ranges: bool = True) -> dict[str, int | Var]:
    """The sizes that texts such as n=512 or n=1:65536 state."""
    sizes: dict[str, int | Var] = {}
    for text in texts:
        match = re.fullmatch(r"(\w+)=(\d{1,18})(?::(\d{1,18}))?", text)
        if match is None or not match[1].isidentifier():
            raise UsageError(f"--size: found {text!r}, expected a name and a number or a range such as n=512 or n=1:65536")
        name, low, high = match.groups()
        _check_new("--size", name, sizes)
        if high is not None and not ranges:
            raise UsageError(f"--size: found the range {text!r}, expected a number such as {name}={high}: arrays are made for it")
        sizes[name] = int(low) if high is None else dim(name, int(low), int(high))
    return sizes


def parse_variables(texts: Iterable[str]) -> dict[str, tuple[int, int]]:
    """The variables that texts such as x=0:31 state, with their inclusive bounds."""
    variables: dict[str, tuple[int, int]] = {}
    for text in texts:
        match = re.fullmatch(r"(\w+)=(-?\d{1,18}):(-?\d{1,18})", text)
        if match is None or not match[1].isidentifier():
            raise UsageError(f"--var: found {text!r}, expected a name and inclusive bounds such as x=0:31")
        _check_new("--var", match[1], variables)
        variables[match[1]] = int(match[2]), int(match[3])
    return variables


def _check_new(option: str, name: str, known: Collection[str]) -> None:
    if name in known:
        raise UsageError(f"{option}: found {name} twice, expected it once")


def load_array(path: str) -> Array:
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


def save_array(path: Path, array: Array) -> None:
    """Writes a .npy file at exactly `path`, complete or not at all."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with partial.open("wb") as file:
            np.save(file, array, allow_pickle=False)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def filled(given: Iterable[Argument], seed: int = 0) -> tuple[Array, ...]:
    """The arguments as arrays: random ones from `seed` for specs, with the least of a size that is a range."""
    arguments = tuple(given)
    specs = (one for one in arguments if isinstance(one, Spec))
    inputs = tuple(Input(f"a{k}", tuple(map(_least, one.shape)), one.dtype) for k, one in enumerate(specs))
    drawn = iter(random_arrays(Program(inputs, inputs), seed))
    return tuple(next(drawn) if isinstance(one, Spec) else one for one in arguments)


def _least(extent: int | Index) -> int:
    return int(evaluate_index(extent, {v: v.lo for v in variables(extent)})) if isinstance(extent, Index) else extent


def call_text(name: str, given: Iterable[Argument]) -> str:
    """softmax(float32[5, 7])."""
    return f"{name}({', '.join(describe_argument(one) for one in given)})"


def describe_argument(given: Argument) -> str:
    """float32[5, 7]."""
    return describe(given.shape, str(given.dtype))
