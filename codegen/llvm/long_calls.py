"""The two calls into LLVM that take long, which may run in several threads at once.

llvmlite has one lock for all its calls, for LLVM's data are shared by what has one context.  Every module here has a context of its own,
and each of these calls a machine that no other thread uses, so that LLVM has nothing to share: they go past the lock where llvmlite lets
them, and wait for each other elsewhere.
"""

from __future__ import annotations

import ctypes
from typing import Any


def run_passes(passes: Any, module: Any, builder: Any) -> None:
    """passes.run(module, builder)"""
    _past_the_lock("LLVMPY_RunNewModulePassManager")(passes, module, builder)


def emit_object(machine: Any, module: Any) -> bytes:
    """machine.emit_object(module)"""
    from llvmlite.binding import ffi

    with ffi.OutputString() as message:
        buffer = _past_the_lock("LLVMPY_TargetMachineEmitToMemory")(machine, module, 1, message)
        if not buffer:
            raise RuntimeError(str(message))
    try:
        return ctypes.string_at(ffi.lib.LLVMPY_GetBufferStart(buffer), ffi.lib.LLVMPY_GetBufferSize(buffer))
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)


def _past_the_lock(name: str) -> Any:
    from llvmlite.binding import ffi

    function = getattr(ffi.lib, name)
    return getattr(function, "_cfn", function)
