"""Variables of users' rules."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from eqsat.ir.errors import UsageError
from eqsat.ir.index import Index, Var
from eqsat.rules.row import TERM_RANGE

Stands = Literal["int", "bool", "constant"]


@dataclass(frozen=True, eq=False, repr=False)
class PatternVariable(Var):
    """A variable of a rule; it stands for any index term, for a truth value, or for an integer constant."""

    stands: Stands = field(default="int")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.stands == "bool":
            object.__setattr__(self, "kind", "bool")


def pattern(name: str, stands: Stands = "int") -> Index:
    """A variable of the sides and conditions of an `eqsat.Rule`.

    stands  "int": any index term; "bool": a comparison, or another term that is 0 or 1; "constant": an integer constant only
    Raises UsageError for a name that is no identifier.
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise UsageError(f"pattern: found name {name!r}, expected an identifier")
    if stands not in get_args(Stands):
        raise UsageError(f"pattern {name}: found {stands!r}, expected 'int', 'bool' or 'constant'")
    return PatternVariable(name, *((0, 1) if stands == "bool" else TERM_RANGE), stands)
