"""Identities of elements: what an operation does to its own result, to a neutral number, to equal operands.

A row says how; which operations it holds for are *laws*, facts of the e-graph that the encoder states for the operations of a program
(`laws_of`), so that a program without them pays nothing.  All hold to the last bit, for floats with infinities, NaN and signed zeros, and
for integers that wrap.  Where what is left is a part of it, the longer form is removed, so that no class is made of itself.  `less` does to
terms what the rows do to classes, for who explains a result.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from eqsat.egraph.schema import LAWS
from eqsat.ir.dtypes import integer_range, is_complex, is_float, is_inexact, is_integer
from eqsat.ir.tensor import Call, Literal, Scalar, operands, rebuild, scalars
from eqsat.rules.row import Table, TensorRule

# a law: the number of a row, or of rows that are one law, and names
Law = tuple[int, str, str, str, str]
RIGHT, LEFT, TWICE, AGAIN, SAME, EVEN, BOTH, OPPOSITE, TURNED, CHOICE, NOT, MINUS, DENIED, ANY = range(14)

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


def _rule(name: str, equation: str, pattern: str, others: str, law: str, result: str) -> TensorRule:
    """What is one of its own operands is removed."""
    removed = "" if result.startswith("(") else f" (delete {pattern})"
    return TensorRule(name, equation, f"(= e {pattern}) {others} (law {law})", f"(union e {result}){removed}")


def _absorbed() -> Iterator[TensorRule]:
    """An operation on its own result and one of the operands of that.  Which of two zeros a maximum is depends on their order, which floats
    keep."""
    for number, (left, inner, law) in enumerate(((True, "x y", SAME), (False, "y x", SAME), (True, "y x", ANY), (False, "x y", ANY)), 1):
        operands, made = ("a y" if left else "y a"), f"f({inner.replace(' ', ', ')})"
        equation = f"f({f'{made}, y' if left else f'y, {made}'}) = {made}"
        facts, given = f"(= a (Call2 op t {inner}))", f"{law} op {'z' if law == SAME else 't'} z1 z2"
        yield _rule(f"operand-again-{number}", equation, f"(Call2 op t {operands})", facts, given, "a")


ELEMENTS = Table(
    "elements",
    "fusion",
    "identities of elements that hold to the last bit; which operations have them is stated with a program",
    (
        _rule("right-unit", "x / 1 = x", "(Call2 op t x c)", "(= c (Literal v t))", f"{RIGHT} op t v z", "x"),
        _rule("left-unit", "1 * x = x", "(Call2 op t c x)", "(= c (Literal v t))", f"{LEFT} op t v z", "x"),
        # x is no operand of what is removed: where -(-x) is x already, that may be the only form of x
        _rule("twice", "-(-x) = x", "(Call1 op t a)", "(= a (Call1 op t x)) (!= e x)", f"{TWICE} op z0 z1 z2", "x"),
        _rule("again", "floor(ceil(x)) = ceil(x)", "(Call1 op t a)", "(= a (Call1 p t x))", f"{AGAIN} op p z0 z1", "a"),
        _rule("same-operands", "max(x, x) = x", "(Call2 op t x x)", "", f"{SAME} op z0 z1 z2", "x"),
        *_absorbed(),
        _rule("of-negative", "abs(-x) = abs(x)", "(Call1 op t a)", "(= a (Call1 n s x))", f"{EVEN} op n s z", "(Call1 op t x)"),
        _rule(
            "two-negatives",
            "-x * -y = x * y",
            "(Call2 op t a b)",
            "(= a (Call1 n t x)) (= b (Call1 n t y))",
            f"{BOTH} op n t z",
            "(Call2 op t x y)",
        ),
        _rule("minus-negative", "x - (-y) = x + y", "(Call2 op t x b)", "(= b (Call1 n t y))", f"{OPPOSITE} op n p z", "(Call2 p t x y)"),
        _rule("negative-plus", "-x + y = y - x", "(Call2 op t a y)", "(= a (Call1 n t x))", f"{TURNED} op n p z", "(Call2 p t y x)"),
        _rule("times-minus-one", "x * -1 = -x", "(Call2 op t x c)", "(= c (Literal v t))", f"{MINUS} op t v n", "(Call1 n t x)"),
        _rule("choice-of-same", "where(c, x, x) = x", "(Call3 w t c x x)", "", f"{CHOICE} w z0 z1 z2", "x"),
        _rule(
            "chosen-again",
            "where(c, where(c, x, y), z) = where(c, x, z)",
            "(Call3 w t c a z)",
            "(= a (Call3 w t c x y))",
            f"{CHOICE} w z0 z1 z2",
            "(Call3 w t c x z)",
        ),
        _rule(
            "left-again",
            "where(c, x, where(c, y, z)) = where(c, x, z)",
            "(Call3 w t c x a)",
            "(= a (Call3 w t c y z))",
            f"{CHOICE} w z0 z1 z2",
            "(Call3 w t c x z)",
        ),
        _rule(
            "choice-of-not",
            "where(not c, x, y) = where(c, y, x)",
            "(Call3 w t d x y)",
            "(= d (Call1 n b c))",
            f"{NOT} w n z0 z1",
            "(Call3 w t c y x)",
        ),
        _rule("not-equal", "not x == y = x != y", "(Call1 n b a)", "(= a (Call2 p b x y))", f"{DENIED} n p q z", "(Call2 q b x y)"),
    ),
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
    if not isinstance(term, Call):
        return None
    for law in laws_of(term):
        for row, result in _matches(law, term):
            return row, result
    return None


def _matches(law: Law, term: Call) -> Iterator[tuple[str, Scalar]]:
    number, op, *names = law
    first, *others = term.args
    second = others[0] if others else first
    inner, behind = _call(first), _call(second)

    def made(name: str, *args: Scalar) -> Call:
        return Call(name, args, term.dtype)

    if number in (RIGHT, LEFT):
        yield ("right-unit", first) if number == RIGHT else ("left-unit", second)
    elif number == MINUS:
        yield "times-minus-one", made(names[2], first)
    elif number == TWICE and inner[0] == op:
        yield "twice", inner[1][0]
    elif number == AGAIN and inner[0] == names[0]:
        yield "again", first
    elif number == SAME:
        if first is second:
            yield "same-operands", first
        if inner[0] == op and inner[1][1] is second:
            yield "operand-again-1", first
        if behind[0] == op and behind[1][0] is first:
            yield "operand-again-2", second
    elif number == ANY:
        if inner[0] == op and inner[1][0] is second:
            yield "operand-again-3", first
        if behind[0] == op and behind[1][1] is first:
            yield "operand-again-4", second
    elif number == EVEN and inner[0] == names[0]:
        yield "of-negative", made(op, inner[1][0])
    elif number == BOTH and inner[0] == behind[0] == names[0]:
        yield "two-negatives", made(op, inner[1][0], behind[1][0])
    elif number == OPPOSITE and behind[0] == names[0]:
        yield "minus-negative", made(names[1], first, behind[1][0])
    elif number == TURNED and inner[0] == names[0]:
        yield "negative-plus", made(names[1], second, inner[1][0])
    elif number == DENIED and inner[0] == names[0]:
        yield "not-equal", made(names[1], *inner[1])
    elif number == NOT and inner[0] == names[0]:
        yield "choice-of-not", made(op, inner[1][0], term.args[2], second)
    elif number == CHOICE:
        third = _call(term.args[2])
        if second is term.args[2]:
            yield "choice-of-same", second
        if behind[0] == op and behind[1][0] is first:
            yield "chosen-again", made(op, first, behind[1][1], term.args[2])
        if third[0] == op and third[1][0] is first:
            yield "left-again", made(op, first, second, third[1][2])


def _call(term: Scalar) -> tuple[str, tuple[Scalar, ...]]:
    """The operation that a term is, and its operands."""
    return (term.op, term.args) if isinstance(term, Call) else ("", ())
