"""How many vectors of iterations a loop computes side by side.

A vector of many operations waits for its own results most of the time: a processor begins what it sees some hundred instructions
ahead, which are those of one or two such vectors.  Several whose instructions stand beside each other wait together.  LLVM does so for
short bodies and for folds, and takes the vectors of long bodies one after the other.
"""

from __future__ import annotations

from eqsat.codegen.builder import Registers

# LLVM sees to shorter bodies itself; of longer ones two are side by side, and of those beyond one is enough to look at
SHORT, LONG, LONGEST = 12, 256, 512
MOST = 4


def side_by_side(instructions: int, extent: int, itemsize: int, registers: Registers) -> int:
    """How many vectors of a loop of so many iterations, whose widest element has so many bytes, are to be computed side by side; a short
    loop is not left with a rest that fills vectors of its own."""
    lanes = max(1, registers.bytes // itemsize)
    count = 1 if not SHORT <= instructions <= LONGEST else MOST // 2 if instructions > LONG else MOST
    while count > 1 and extent < MOST * count * lanes and extent % (count * lanes) >= lanes:
        count //= 2
    return count
