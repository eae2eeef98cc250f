"""Where Python stands when it asks a traced array for values: what NumPy was told to do, of which it says nothing itself."""

from __future__ import annotations

from opcode import opmap
from types import FrameType

PUTS = frozenset(opmap[name] for name in ("STORE_SUBSCR", "STORE_SLICE") if name in opmap)
# functions of NumPy that look at their argument as an array, and what is there instead
WITHIN = {"as_strided": "use np.lib.stride_tricks.sliding_window_view(x, shape, axis), or slices, reshape and transpose"}


def asked_by(frame: FrameType, found: object) -> str:
    """What to say of a traced array whose values are asked for where `frame` stands; nothing where only that is known.

    `y[...] = x` into an array of NumPy asks for them as numpy.asarray(x) or int(x) would.
    """
    code = frame.f_code
    if code.co_code[frame.f_lasti] in PUTS:
        return (
            f"setitem: found {found!r}, whose values exist only at run time, as elements or a place of NumPy's own array; "
            "make the array that is filled by enp.empty(shape), enp.zeros(shape) or enp.zeros_like(x)"
        )
    if code.co_name in WITHIN:
        return f"{code.co_name}: found {found!r}, whose values and memory exist only at run time; {WITHIN[code.co_name]}"
    return ""
