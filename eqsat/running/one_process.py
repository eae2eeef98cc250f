"""Values that hold machine code, which belongs to the process that loaded it."""

from __future__ import annotations

from typing import Any, Self

from eqsat.ir.errors import UsageError


class OfOneProcess:
    """Copies are the value itself, which does not change; it cannot be pickled, but the program that it was made of can."""

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> Any:
        kind = type(self).__name__
        raise UsageError(
            f"pickle: found a {kind}, which holds machine code of this process; pickle its program, and optimize that where it runs"
        )
