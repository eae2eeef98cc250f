"""The errors that users see, one tree.

EqsatError
|- UsageError            the call is wrong: a shape, a dtype, a name, a file (also a ValueError)
|  |- ShapeError         shapes do not fit the operation
|  |- DTypeError         a dtype that the operation does not take (also a TypeError)
|  |- BoundsError        an index that can leave its array (also an IndexError)
|  `- ParseError         text that is no index expression
|- UnsupportedError      the call is sound, eqsat cannot do it yet (also a NotImplementedError)
|  |- TraceError         Python control flow that depends on array values
|  `- MissingError       an attribute that traced arrays lack (also an AttributeError)
|- UnsoundRuleError      two different constants became equal: a rule of the named phase is wrong
`- InternalError         a stage produced an illegal term: a bug in eqsat
"""

from __future__ import annotations


class EqsatError(Exception):
    """Base of every error that eqsat raises on purpose."""


class UsageError(EqsatError, ValueError):
    """The caller passed something that cannot be right."""


class ShapeError(UsageError):
    """Shapes that do not fit the operation."""


class DTypeError(UsageError, TypeError):
    """A dtype that the operation does not accept."""


class BoundsError(UsageError, IndexError):
    """An index expression that can leave the array that it reads."""


class ParseError(UsageError):
    """Text that is no index expression."""


class UnsupportedError(EqsatError, NotImplementedError):
    """A sound request that eqsat does not handle yet; the message names the nearest way that works."""


class TraceError(UnsupportedError, TypeError):
    """Python needed the value of a traced array (`if`, `while`, `float()`), which exists only at run time."""


class MissingError(UnsupportedError, AttributeError):
    """An attribute of arrays that traced ones do not have."""


class UnsoundRuleError(EqsatError):
    """The e-graph holds a contradiction; `rules` names the rows that fired in the step that made it."""

    def __init__(self, message: str, rules: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.rules = rules


class InternalError(EqsatError):
    """A stage of eqsat produced an illegal term; please report it."""


def one_line(error: BaseException) -> str:
    """What a function of the caller raised, for a message of ours: its type and its text in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
