"""Instructions that LLVM turns into wrong machine code, or into none, written otherwise.

LLVM 22 (and perhaps others) for AVX-512, found by running all widths, lanes and masks (tests/codegen/test_backend_faults.py):

    masked.store(trunc x, one lane)     stores an element of the width of x: bytes behind the place are overwritten
    trunc <4 x i64> x to <4 x i8>       where lanes 2 and 3 are cleared afterwards, they are not
    load of 64 bits as lanes            what is computed of it in four ways or more and compared, for bytes one behind the other, is to be
                                        one vector of it four times, for which there is no instruction: LLVM ends the process

All are found in the text after O3, where masks are constants; nothing else is read.  A load that is volatile is left as it is.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

# names what is done here; code on disk is named by it
MENDED = "stores of one lane, four quadwords to bytes, loads of 64 bits for many"
_STORE = re.compile(
    r"^  (?:tail )?call void @llvm\.masked\.store\.v\d+(i\d+)\.p0\((<\d+ x i\d+>) ([^,]+|<[^>]*>), "
    r"ptr [^,%@]*([%@][^,]+), (?:i32 \d+, )?<\d+ x i1> <([^>]*)>\).*$",
    re.MULTILINE,
)
_TRUNCATION = re.compile(r"^  (%\S+) = trunc (?:nuw |nsw )*<4 x i64> ([^,\n]+) to <4 x i8>.*$", re.MULTILINE)
_SHORT_LOAD = re.compile(r"^  (%\S+) = load <(?:4 x i16|8 x i8|2 x i32|2 x float|4 x half)>, ", re.MULTILINE)
# as many uses of a load make one vector of it
USES = 4


def may_be_met(text: str, declared: Iterator[str]) -> bool:
    """Whether a module may have such instructions, by its text before optimization and the functions that it declares after."""
    stores = any(name.startswith("llvm.masked.store.") for name in declared)
    return (" to i8" in text and ("trunc i" in text or "zext i1" in text)) or (stores and "trunc i" in text)


def mended(text: str) -> str:
    """The text of a module with other instructions of the same meaning."""
    names = (f"%mended{k}" for k in itertools.count())

    def one_lane(found: re.Match[str]) -> str:
        element, vector, value, place, mask = found.groups()
        lanes = [lane.strip() == "i1 true" for lane in mask.split(",")]
        if sum(lanes) != 1:
            return found[0]
        name, lane = next(names), lanes.index(True)
        return (
            f"  {name}.e = extractelement {vector} {value}, i64 {lane}\n"
            f"  {name}.p = getelementptr {element}, ptr {place}, i64 {lane}\n"
            f"  store {element} {name}.e, ptr {name}.p, align 1"
        )

    def bytes_of(found: re.Match[str]) -> str:
        result, value = found.groups()
        name = next(names)
        return (
            f"  {name}.w = trunc <4 x i64> {value} to <4 x i32>\n"
            f"  {name}.b = bitcast <4 x i32> {name}.w to <16 x i8>\n"
            f"  {result} = shufflevector <16 x i8> {name}.b, <16 x i8> poison, <4 x i32> <i32 0, i32 4, i32 8, i32 12>"
        )

    def left_alone(found: re.Match[str]) -> str:
        uses = len(re.findall(rf"{re.escape(found[1])}\b", text)) - 1
        return found[0].replace(" = load ", " = load volatile ") if uses >= USES else found[0]

    return _SHORT_LOAD.sub(left_alone, _TRUNCATION.sub(bytes_of, _STORE.sub(one_lane, text)))
