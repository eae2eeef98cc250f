"""Whether LLVM can make code for a processor of some name: of one that it does not know, or that has no 64 bits, it ends the process."""

from __future__ import annotations

import os
import tempfile
from typing import Any

# what `llc -march=x86-64 -mcpu=help` of LLVM 22 lists and ends at: "64-bit code requested on a subtarget that doesn't support it"
OF_32_BITS = frozenset(
    """athlon athlon-4 athlon-mp athlon-tbird athlon-xp c3 c3-2 geode i386 i486 i586 i686 k6 k6-2 k6-3 lakemont pentium pentium-m pentium-mmx
    pentium2 pentium3 pentium3m pentium4 pentium4m pentium_4 pentium_4_sse3 pentium_ii pentium_iii pentium_iii_no_xmm_regs pentium_m
    pentium_mmx pentium_pro pentiumpro prescott winchip-c6 winchip2 yonah""".split()
)
UNKNOWN = b"is not a recognized processor"


def is_processor(target: Any, name: str) -> bool:
    """Whether LLVM can make code for a processor by name.  `help` and the empty name are none."""
    if name in ("", "help") or (name in OF_32_BITS and target.triple.startswith("x86_64")):
        return False
    return UNKNOWN not in _said(target, name)


def _said(target: Any, name: str) -> bytes:
    """What LLVM writes to standard error, its only answer, when it makes a machine of this name."""
    try:
        stderr = os.dup(2)
    except OSError:  # there is none
        return b""
    with tempfile.TemporaryFile() as said:
        os.dup2(said.fileno(), 2)
        try:
            target.create_target_machine(cpu=name)
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
        said.seek(0)
        return said.read()
