"""Whether LLVM can make code for a processor of some name: of one that it does not know, or that has no 64 bits, it ends the process."""

from __future__ import annotations

import os
import re
from typing import Any

# what `llc -march=x86-64 -mcpu=help` of LLVM 22 lists and ends at: "64-bit code requested on a subtarget that doesn't support it"
OF_32_BITS = re.compile(r"i[3-6]86|pentium.*|k6.*|athlon(-(4|mp|tbird|xp))?|c3.*|geode|lakemont|prescott|winchip.*|yonah")
UNKNOWN = b"is not a recognized processor"


def is_processor(target: Any, name: str) -> bool:
    """Whether LLVM can make code for a processor by name.  `help` and the empty name are none."""
    if name in ("", "help") or (OF_32_BITS.fullmatch(name) and target.triple.startswith("x86_64")):
        return False
    return UNKNOWN not in _said(target, name)


def _said(target: Any, name: str) -> bytes:
    """What LLVM writes to standard error, its only answer, when it makes a machine of this name."""
    try:
        stderr = os.dup(2)
    except OSError:  # there is none
        return b""
    said, told = os.pipe()  # which holds a line without anyone who reads
    os.dup2(told, 2)
    try:
        target.create_target_machine(cpu=name)
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
        os.close(told)
    with os.fdopen(said, "rb") as pipe:
        return pipe.read()
