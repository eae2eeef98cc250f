"""How many vectors of iterations a loop computes side by side.

A vector of many operations, each of which needs the one before, waits most of the time: a processor begins what it sees some hundred
instructions ahead, which are those of one or two such vectors.  So does a search, in which every element that is looked at says where the
next one is.  Several vectors whose instructions stand beside each other wait together.  LLVM
does so for short bodies and for folds, and takes the vectors of long bodies one after the other.  Where much is loaded and little waits,
that is right: more vectors leave no registers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from eqsat.codegen.builder import Registers

# what waits: so many instructions in a row, if only so many for each of them are not in it, or no more is loaded or left to functions than
# this; or even more in a row
ROW, BESIDE, LITTLE, LONG_ROW = 17, 3, 2, 26
# of longer bodies two vectors are side by side, of those beyond one is enough to look at
MOST, LONG, LONGEST = 4, 256, 512
# of bodies so short LLVM takes more side by side than registers hold around calls of functions
SHORT, AROUND_CALLS = 13, 2
_NAME = re.compile(r"%[\w.]+")


def side_by_side(body: Sequence[str], extent: int, itemsize: int, registers: Registers) -> int:
    """How many vectors of a loop are to be computed side by side.

    body      the lines of LLVM IR of an iteration
    extent    how many iterations there are: a short loop is not left with a rest that fills vectors of its own
    itemsize  bytes of its widest element
    """
    if len(body) > LONGEST or not waits(body):
        around_calls = len(body) <= SHORT and any("@rare." in line for line in body)
        return AROUND_CALLS if around_calls else 1
    lanes, count = max(1, registers.bytes // itemsize), MOST // 2 if len(body) > LONG else MOST
    while count > 1 and extent < MOST * count * lanes and extent % (count * lanes) >= lanes:
        count //= 2
    return count


def waits(body: Sequence[str]) -> bool:
    """Whether an iteration waits for its own results most of the time."""
    row, taken = longest_row(body), sum(" = load " in line or "@rare." in line for line in body)
    return row >= ROW and (len(body) <= BESIDE * row or taken <= LITTLE or row >= LONG_ROW)


def longest_row(body: Sequence[str]) -> int:
    """The most instructions of which each needs the one before."""
    rows: dict[str, int] = {}
    for line in body:
        name, _, instruction = line.strip().partition(" = ")
        if instruction:
            rows[name] = 1 + max((rows.get(operand, 0) for operand in _NAME.findall(instruction)), default=0)
    return max(rows.values(), default=0)
