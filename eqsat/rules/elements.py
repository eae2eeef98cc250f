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

from eqsat.egraph.laws import (
    AGAIN,
    ANY,
    BOTH,
    CHOICE,
    DENIED,
    EVEN,
    FIRST,
    LEFT,
    MINUS,
    NOT,
    OPPOSITE,
    RIGHT,
    SAME,
    SECOND,
    TURNED,
    TWICE,
    Law,
    laws_of,
    text_of,
)
from eqsat.egraph.schema import LAWS
from eqsat.ir.tensor import Call, Literal, Scalar, operands, rebuild, scalars
from eqsat.rules.row import Table, TensorRule

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
