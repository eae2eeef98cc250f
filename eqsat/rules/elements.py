"""Identities of elements: what an operation does to its own result, to a neutral number, to equal operands.

A row says how; which operations it holds for are *laws*, facts of the e-graph that the encoder states for the operations of a program
(`laws_of`), so that a program without them pays nothing.  All hold to the last bit, for floats with infinities, NaN and signed zeros, and
for integers that wrap.  Where what is left is a part of it, the longer form is removed, so that no class is made of itself.  `less` does to
terms what the rows do to classes: both are made of one `Identity`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias, cast

import numpy as np

from eqsat.egraph.schema import LAWS
from eqsat.ir.dtypes import integer_range, is_complex, is_float, is_inexact, is_integer
from eqsat.ir.tensor import Call, Literal, Scalar, operands, rebuild, scalars
from eqsat.rules.row import Table, TensorRule

# a law: the number of a row, or of rows that are one law, and names
Law = tuple[int, str, str, str, str]
RIGHT, LEFT, TWICE, AGAIN, SAME, EVEN, BOTH, OPPOSITE, TURNED, CHOICE, NOT, MINUS, DENIED, ANY, FIRST, SECOND = range(16)

# numbers that an operation on the right, or on both sides, leaves its other operand with
RIGHT_UNITS: dict[str, float] = {"subtract": 0.0, "divide": 1, "floor_divide": 1, "left_shift": 0, "right_shift": 0, "power": 1}
UNITS: dict[str, float] = {
    "add": -0.0,
    "multiply": 1,
    "bitwise_or": 0,
    "bitwise_xor": 0,
    "bitwise_and": -1,
    "logical_and": True,
    "logical_or": False,
    "logical_xor": False,
}
# of floats these round
ROUNDED = ("floor_divide", "power")
INVOLUTIONS = ("negative", "invert", "logical_not", "conjugate")
WHOLE = ("floor", "ceil", "trunc", "rint")
IDEMPOTENT = ("maximum", "minimum", "fmax", "fmin", "bitwise_and", "bitwise_or", "logical_and", "logical_or")


# a term: a variable; or (operation, dtype, operands), or (LITERAL, its bytes, dtype), of which names that a law has stand for what it says
Side: TypeAlias = "str | tuple[str | Side, ...]"
LITERAL = "Literal"


@dataclass(frozen=True)
class Identity:
    """A row: what is equal under a law, whose names are variables of the sides; a name beginning with z is of no use.

    besides  what egglog has to find besides; operands of operands are variables
    """

    name: str
    equation: str
    left: Side
    right: Side
    law: Law
    besides: str = ""

    def rule(self) -> TensorRule:
        """The row for egglog.  What is a part of itself is removed."""
        operands = self.left[2:]
        parts: dict[Side, str] = {part: f"a{place}" for place, part in enumerate(operands) if not isinstance(part, str)}
        whole = _written(self.left, parts)
        facts = [f"(= {name} {_written(part, {})})" for part, name in parts.items()]
        given = " ".join(filter(None, (*facts, self.besides, f"(law {' '.join(map(str, self.law))})")))
        removed = f" (delete {whole})" if isinstance(self.right, str) or self.right in operands else ""
        result = parts.get(self.right) or _written(self.right, {})
        return TensorRule(self.name, self.equation, f"(= e {whole}) {given}", f"(union e {result}){removed}")

    def applied(self, law: Law, term: Scalar) -> Scalar | None:
        """What the row makes of a term for which a law was stated, if it matches it."""
        known: dict[str, object] = dict(zip(self.law[1:], law[1:], strict=True))
        return _made(self.right, known) if _matches(self.left, term, known) else None


def _written(pattern: Side, parts: dict[Side, str]) -> str:
    """A side in egglog's words, with names for parts of it."""
    if isinstance(pattern, str):
        return pattern
    if pattern[0] == LITERAL:
        return f"({' '.join(map(str, pattern))})"
    operands = " ".join(parts.get(operand) or _written(operand, {}) for operand in pattern[2:])
    return f"(Call{len(pattern) - 2} {pattern[0]} {pattern[1]} {operands})"


def _matches(pattern: Side, term: Scalar, known: dict[str, object]) -> bool:
    """Whether a term is what a side says, under what is known of its variables; they are known then."""
    if isinstance(pattern, str):
        return _agrees(pattern, term, known)
    if pattern[0] == LITERAL:
        return isinstance(term, Literal) and _agrees(pattern[1], text_of(term), known) and _agrees(pattern[2], term.dtype, known)
    return (
        isinstance(term, Call)
        and len(term.args) == len(pattern) - 2
        and _agrees(pattern[0], term.op, known)
        and _agrees(pattern[1], term.dtype, known)
        and all(_matches(operand, arg, known) for operand, arg in zip(pattern[2:], term.args, strict=True))
    )


def _agrees(name: Side, value: object, known: dict[str, object]) -> bool:
    return known.setdefault(str(name), value) == value


def _made(pattern: Side, known: dict[str, object]) -> Scalar:
    """The term that a side is."""
    if isinstance(pattern, str):
        return cast(Scalar, known[pattern])
    op, dtype, *operands = pattern
    return Call(str(known[str(op)]), tuple(_made(operand, known) for operand in operands), str(known[str(dtype)]))


def _absorbed() -> Iterator[Identity]:
    """An operation on its own result and one of the operands of that.  Which of two zeros a maximum is depends on their order, which floats
    keep."""
    for number, (left, inner, law) in enumerate(((True, "xy", SAME), (False, "yx", SAME), (True, "yx", ANY), (False, "xy", ANY)), 1):
        part, shown = ("op", "t", *inner), f"f({', '.join(inner)})"
        equation = f"f({f'{shown}, y' if left else f'y, {shown}'}) = {shown}"
        whole = ("op", "t", part, "y") if left else ("op", "t", "y", part)
        yield Identity(f"operand-again-{number}", equation, whole, part, (law, "op", "z" if law == SAME else "t", "z1", "z2"))


IDENTITIES = (
    Identity("right-unit", "x / 1 = x", ("op", "t", "x", (LITERAL, "v", "t")), "x", (RIGHT, "op", "t", "v", "z")),
    Identity("left-unit", "1 * x = x", ("op", "t", (LITERAL, "v", "t"), "x"), "x", (LEFT, "op", "t", "v", "z")),
    # x is no operand of what is removed: where -(-x) is x already, that may be the only form of x
    Identity("twice", "-(-x) = x", ("op", "t", ("op", "t", "x")), "x", (TWICE, "op", "z0", "z1", "z2"), "(!= e x)"),
    Identity("again", "floor(ceil(x)) = ceil(x)", ("op", "t", ("p", "t", "x")), ("p", "t", "x"), (AGAIN, "op", "p", "z0", "z1")),
    Identity("same-operands", "max(x, x) = x", ("op", "t", "x", "x"), "x", (SAME, "op", "z0", "z1", "z2")),
    *_absorbed(),
    Identity("of-negative", "abs(-x) = abs(x)", ("op", "t", ("n", "s", "x")), ("op", "t", "x"), (EVEN, "op", "n", "s", "z")),
    Identity(
        "two-negatives",
        "-x * -y = x * y",
        ("op", "t", ("n", "t", "x"), ("n", "t", "y")),
        ("op", "t", "x", "y"),
        (BOTH, "op", "n", "t", "z"),
    ),
    Identity(
        "minus-negative", "x - (-y) = x + y", ("op", "t", "x", ("n", "t", "y")), ("p", "t", "x", "y"), (OPPOSITE, "op", "n", "p", "z")
    ),
    Identity("negative-plus", "-x + y = y - x", ("op", "t", ("n", "t", "x"), "y"), ("p", "t", "y", "x"), (TURNED, "op", "n", "p", "z")),
    Identity("times-minus-one", "x * -1 = -x", ("op", "t", "x", (LITERAL, "v", "t")), ("n", "t", "x"), (MINUS, "op", "t", "v", "n")),
    Identity("choice-of-same", "where(c, x, x) = x", ("w", "t", "c", "x", "x"), "x", (CHOICE, "w", "z0", "z1", "z2")),
    Identity("choice-of-true", "where(true, x, y) = x", ("w", "t", (LITERAL, "v", "b"), "x", "y"), "x", (FIRST, "w", "v", "b", "z")),
    Identity("choice-of-false", "where(false, x, y) = y", ("w", "t", (LITERAL, "v", "b"), "x", "y"), "y", (SECOND, "w", "v", "b", "z")),
    Identity(
        "chosen-again",
        "where(c, where(c, x, y), z) = where(c, x, z)",
        ("w", "t", "c", ("w", "t", "c", "x", "y"), "z"),
        ("w", "t", "c", "x", "z"),
        (CHOICE, "w", "z0", "z1", "z2"),
    ),
    Identity(
        "left-again",
        "where(c, x, where(c, y, z)) = where(c, x, z)",
        ("w", "t", "c", "x", ("w", "t", "c", "y", "z")),
        ("w", "t", "c", "x", "z"),
        (CHOICE, "w", "z0", "z1", "z2"),
    ),
    Identity(
        "choice-of-not",
        "where(not c, x, y) = where(c, y, x)",
        ("w", "t", ("n", "b", "c"), "x", "y"),
        ("w", "t", "c", "y", "x"),
        (NOT, "w", "n", "z0", "z1"),
    ),
    Identity("not-equal", "not x == y = x != y", ("n", "b", ("p", "b", "x", "y")), ("q", "b", "x", "y"), (DENIED, "n", "p", "q", "z")),
)
ELEMENTS = Table(
    "elements",
    "fusion",
    "identities of elements that hold to the last bit; which operations have them is stated with a program",
    tuple(identity.rule() for identity in IDENTITIES),
    frozenset(LAWS),
)


def laws_of(term: Scalar) -> Iterator[Law]:
    """What the e-graph is told of the root of a term, without which no row matches it."""
    if not isinstance(term, Call):
        return
    op, dtype = term.op, term.dtype
    if op in INVOLUTIONS:
        yield TWICE, op, "", "", ""
    if op in IDEMPOTENT:
        yield SAME, op, "", "", ""
        if not is_inexact(dtype):
            yield ANY, op, dtype, "", ""
    if op == "where":
        yield CHOICE, op, "", "", ""
        yield NOT, op, "logical_not", "", ""
        yield FIRST, op, text_of(Literal(True, "bool")), "bool", ""
        yield SECOND, op, text_of(Literal(False, "bool")), "bool", ""
    if op in WHOLE:
        yield from ((AGAIN, op, inner, "", "") for inner in WHOLE)
    if op == "absolute":
        yield AGAIN, op, op, "", ""
        given = term.args[0].dtype
        if is_inexact(given) or (is_integer(given) and integer_range(given)[0] < 0):
            yield EVEN, op, "negative", given, ""
    if op == "logical_not":
        yield DENIED, op, "equal", "not_equal", ""
        yield DENIED, op, "not_equal", "equal", ""
    if op in ("multiply", "divide") and not is_complex(dtype):
        yield BOTH, op, "negative", dtype, ""
    if op in ("add", "subtract"):
        yield OPPOSITE, op, "negative", "subtract" if op == "add" else "add", ""
    if op == "add":
        yield TURNED, op, "negative", "subtract", ""
    yield from _numbers(term)


def _numbers(term: Call) -> Iterator[Law]:
    """What an operation with a number is."""
    op, dtype = term.op, term.dtype
    if len(term.args) != 2 or is_complex(dtype) or (op in ROUNDED and not is_integer(dtype)):
        return
    left, right = term.args
    unit = RIGHT_UNITS.get(op, UNITS.get(op))
    if isinstance(right, Literal) and _is(right, unit):
        yield RIGHT, op, dtype, text_of(right), ""
    if isinstance(left, Literal) and _is(left, UNITS.get(op)):
        yield LEFT, op, dtype, text_of(left), ""
    if op in ("multiply", "divide") and is_float(dtype) and isinstance(right, Literal) and right.value == -1:
        yield MINUS, op, dtype, text_of(right), "negative"
        yield TWICE, "negative", "", "", ""


def _is(literal: Literal, unit: float | None) -> bool:
    """Whether a number is this one, with the sign of zero."""
    if unit is None or (unit == -1 and not is_integer(literal.dtype)):
        return False
    return text_of(literal) == text_of(Literal(unit, literal.dtype)) if literal.value == unit else False


def text_of(literal: Literal) -> str:
    """The bytes of a constant, exactly."""
    return np.array(literal.value, literal.dtype).tobytes().hex()


def less(root: Scalar) -> tuple[Scalar, tuple[str, ...]]:
    """What the rows leave of a term, from its parts on, and their names in order."""
    done: dict[Scalar, Scalar] = {}
    rows: list[str] = []
    for term in scalars(root):
        made = rebuild(term, tuple(done[operand] for operand in operands(term)))
        while (found := _once(made)) is not None:
            rows.append(found[0])
            made = found[1]
        done[term] = made
    return done[root], tuple(dict.fromkeys(rows))


def _once(term: Scalar) -> tuple[str, Scalar] | None:
    """A row that matches a term at its root, and what it makes of it."""
    for law in laws_of(term):
        for identity in IDENTITIES:
            if identity.law[0] == law[0] and (result := identity.applied(law, term)) is not None:
                return identity.name, result
    return None
