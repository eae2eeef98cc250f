"""Products of arrays, some of whose axes are summed: one Generic with affine maps, or one for each pair of more than two.

An array's axes have labels; axes of one label are one loop, and what the result lacks is summed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from eqsat.ir.errors import ShapeError, UsageError
from eqsat.ir.index import Const, Var
from eqsat.ir.tensor import Shape, Tensor, axes, reduction
from eqsat.operations.elementwise import converted_to
from eqsat.operations.generic import tensor_of
from eqsat.operations.reductions import sum_of_products
from eqsat.sizes.markers import shape_text

Labels = tuple[Hashable, ...]


def contract(name: str, operands: Sequence[Tensor], labels: Sequence[Labels], result: Labels) -> Tensor:
    """The sum, over all labels that `result` lacks, of the products of elements; of bool: whether all are true anywhere.

    An axis of one counts as every extent of its label, as in NumPy's einsum.  ShapeError where extents differ.
    """
    extents: dict[Hashable, int] = {}
    for operand, names in zip(operands, labels, strict=True):
        for label, extent in zip(names, operand.shape, strict=True):
            known = extents.setdefault(label, extent)
            if known != extent and 1 not in (known, extent):
                found = " and ".join(shape_text(tensor.shape) for tensor in operands)
                raise ShapeError(f"{name}: found the shapes {found}, expected one extent for axes of one label, not {known} and {extent}")
            extents[label] = extent if known == 1 else known
    summed = [label for label in extents if label not in result]
    shape, folded = tuple(extents[label] for label in result), tuple(extents[label] for label in summed)
    loops: dict[Hashable, Var] = dict(zip(result, axes(shape), strict=True))
    loops.update((label, reduction(level, extents[label])) for level, label in enumerate(summed))
    maps = [
        tuple(loops[label] if extent == extents[label] else Const(0) for label, extent in zip(names, operand.shape, strict=True))
        for operand, names in zip(operands, labels, strict=True)
    ]
    return sum_of_products(shape, folded, operands, maps)


def einsum(*operands: Any, out: None = None, dtype: Any = None, order: str = "K", casting: str = "safe", optimize: Any = False) -> Tensor:
    """NumPy's einsum, by a text or by lists of axes; more than two arrays are multiplied pair by pair, in a cheap order."""
    arrays, labels, result = _spelled(operands)
    arrays = [converted_to("einsum", array, dtype, casting) for array in arrays]
    if len(arrays) <= 2:
        return contract("einsum", arrays, labels, result)
    for pair in _order(arrays, labels, result):
        taken = [(arrays[k], labels[k]) for k in pair]
        arrays = [array for k, array in enumerate(arrays) if k not in pair]
        labels = [names for k, names in enumerate(labels) if k not in pair]
        needed = {label for names in (result, *labels) for label in names}
        kept = tuple(dict.fromkeys(label for _, names in taken for label in names if label in needed)) if arrays else result
        arrays.append(contract("einsum", [array for array, _ in taken], [names for _, names in taken], kept))
        labels.append(kept)
    return arrays[0]


def _order(arrays: Sequence[Tensor], labels: Sequence[Labels], result: Labels) -> list[tuple[int, ...]]:
    """Which arrays to multiply next, where products go to the end: what NumPy's search finds for arrays of these shapes."""
    letters: dict[Hashable, str] = {}
    for names in labels:
        for label in names:
            letters.setdefault(label, chr(ord("a") + len(letters)) if len(letters) < 26 else chr(ord("A") + len(letters) - 26))
    text = ",".join("".join(letters[label] for label in names) for names in labels) + "->" + "".join(letters[label] for label in result)
    sizes = [np.broadcast_to(np.float64(0), array.shape) for array in arrays]
    path: list[tuple[int, ...]] = np.einsum_path(text, *sizes, optimize="greedy")[0][1:]
    return path


def _spelled(operands: Sequence[Any]) -> tuple[list[Tensor], list[Labels], Labels]:
    """The arrays of a call of einsum, the labels of their axes, and those of the result."""
    if not operands:
        raise UsageError("einsum: found no operands, expected a text and arrays")
    if isinstance(operands[0], str):
        left, arrow, right = operands[0].replace(" ", "").partition("->")
        terms: list[Sequence[Any]] = [_letters(term) for term in left.split(",")]
        given: Sequence[Any] | None = _letters(right) if arrow else None
        values = operands[1:]
    else:
        values, terms = operands[: len(operands) // 2 * 2 : 2], list(operands[1::2])
        given = operands[-1] if len(operands) % 2 else None
    arrays = [tensor_of("einsum", value) for value in values]
    if len(terms) != len(arrays):
        raise UsageError(f"einsum: found {len(arrays)} arrays for {len(terms)} lists of axes, expected one for each")
    labels = [_expanded(term, array.shape) for term, array in zip(terms, arrays, strict=True)]
    rank = max((sum(isinstance(label, tuple) for label in names) for names in labels), default=0)
    return arrays, labels, _result(labels, given, tuple(("...", k - rank) for k in range(rank)))


def _letters(term: str) -> list[Any]:
    """The letters of a term of a text, and Ellipsis."""
    found: list[Any] = list(term.replace("...", "."))
    for letter in found:
        if letter != "." and not (letter.isascii() and letter.isalpha()):
            raise UsageError(f"einsum: found {letter!r} in {term!r}, expected letters and ...")
    return [Ellipsis if letter == "." else letter for letter in found]


def _expanded(term: Sequence[Any], shape: Shape) -> Labels:
    """The labels of an array's axes; those under an ellipsis are counted from the last one."""
    rest = len(shape) - sum(label is not Ellipsis for label in term)
    dots = sum(label is Ellipsis for label in term)
    if rest < 0 or dots > 1 or (rest and not dots):
        raise ShapeError(f"einsum: found the axes {_text(term)} for an array of {len(shape)} dimensions, expected one for each")
    found: list[Hashable] = []
    for label in term:
        found += [("...", k - rest) for k in range(rest)] if label is Ellipsis else [label]
    extents = dict(zip(found, shape, strict=True))
    if any(extents[label] != extent for label, extent in zip(found, shape, strict=True)):
        raise ShapeError(f"einsum: found the axes {_text(term)} for the shape {shape_text(shape)}, expected one extent for each letter")
    return tuple(found)


def _result(labels: Sequence[Labels], given: Sequence[Any] | None, dots: Labels) -> Labels:
    every = Counter(label for names in labels for label in names)
    if given is None:
        return (*dots, *sorted(label for label, count in every.items() if count == 1 and not isinstance(label, tuple)))  # type: ignore[type-var]
    found: list[Hashable] = []
    for label in given:
        found += dots if label is Ellipsis else [label]
    if len(set(found)) < len(found) or not every.keys() >= set(found) or not set(dots) <= set(found):
        raise UsageError(f"einsum: found the result {_text(given)}, expected axes of the operands, each once, and ... where they have it")
    return tuple(found)


def _text(term: Sequence[Any]) -> str:
    return "".join("..." if label is Ellipsis else str(label) for label in term) or "''"
