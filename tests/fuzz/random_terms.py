"""Random index terms of every operation: over small and large ranges, with divisors that may be zero, and in the shapes of the rules."""

from __future__ import annotations

import random

from eqsat.ir.index import Apply, Const, Index, Var, apply, as_index, children, substitute, var, variables, walk
from eqsat.rules import Pattern, rows
from eqsat.rules.row import is_literal

SCOPES: tuple[tuple[Var, ...], ...] = (
    (var("x", -5, 6), var("y", 0, 7), var("z", 1, 3), var("w", -3, 3)),
    (var("i", 0, 31), var("j", 0, 3), var("k", 0, 6), var("n", 1, 9)),
    (var("p", -1, 8), var("q", 0, 15), var("m", -4, -1)),
    (var("a", 0, 2**33), var("b", -(2**35), 2**20), var("c", 1, 7), var("d", -3, 3)),
)
CONSTANTS = (*range(-6, 13), 16, 24, -24, 35, 64, 100)
DIVISORS = (1, 2, 3, 4, 5, 6, 8, 12, 16, 35, 64, -1, -2, -3, -4, -12)
MASKS = (0, 1, 3, 7, 8, 12, 15, -1, -4, -8, 5)
LARGEST = 2**50
LARGEST_AMOUNT = 12
NUMBERS = ("linear", "linear", "divide", "divide", "divide", "digits", "two", "bits", "one", "shift", "where", "int", "shaped")
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
PATTERNS = tuple(row for _, row in rows() if isinstance(row, Pattern))


class Drawing:
    """One random term; the same seed gives the same term for the same rules."""

    def __init__(self, seed: str) -> None:
        self.rng = random.Random(seed)
        self.scope = self.rng.choice(SCOPES)

    def term(self) -> Index:
        """A term whose values stay below LARGEST, of one to a few dozen operations."""
        while True:
            depth = self.rng.choice((1, 2, 2, 3, 3, 4))
            kind = self.rng.random()
            drawn = self.shaped(depth) if kind < 0.4 else self.truth(depth) if kind < 0.55 else self.number(depth)
            if isinstance(drawn, Apply) and all(max(map(abs, sub.bounds)) < LARGEST for sub in walk(drawn)):
                return drawn

    def leaf(self) -> Index:
        variable: Index = self.rng.choice(self.scope)
        return variable if self.rng.random() < 0.75 else Const(self.rng.choice(CONSTANTS))

    def number(self, depth: int) -> Index:
        if depth == 0:
            return self.leaf()
        rng, below = self.rng, depth - 1
        kind = rng.choice(NUMBERS)
        if kind == "linear":
            scaled = self.number(below) * Const(rng.choice(CONSTANTS))
            return scaled + self.number(below)
        if kind == "divide":
            return apply(rng.choice(("floordiv", "mod")), self.number(below), self.divisor())
        if kind == "digits":
            a, k = self.number(below), rng.randint(2, 12)
            return (a // k + rng.randint(0, 2)) * k + (a % k if rng.random() < 0.7 else a // rng.randint(2, 9) % k)
        if kind == "two":
            return apply(rng.choice(("add", "sub", "mul", "min", "max", "min", "max")), self.number(below), self.number(below))
        if kind == "bits":
            other = Const(rng.choice(MASKS)) if rng.random() < 0.7 else self.number(below)
            return apply(rng.choice(("bitand", "bitor", "bitxor")), self.number(below), other)
        if kind == "one":
            return apply(rng.choice(("neg", "abs")), self.number(below))
        if kind == "shift":
            return apply(rng.choice(("shl", "shr")), self.number(below), self.amount())
        if kind == "where":
            return apply("where", self.truth(below), self.number(below), self.number(below))
        return apply("int", self.truth(below)) if kind == "int" else self.shaped(below)

    def truth(self, depth: int) -> Index:
        rng, below = self.rng, max(depth - 1, 0)
        kind = rng.choice(("compare", "compare", "join", "not", "bool", "where")) if depth > 0 else "compare"
        if kind == "compare":
            return apply(rng.choice(COMPARISONS), self.number(below), self.number(below))
        if kind == "join":
            return apply(rng.choice(("and", "or")), self.truth(below), self.truth(below))
        if kind == "where":
            return apply("where", self.truth(below), self.truth(below), self.truth(below))
        return apply("not", self.truth(below)) if kind == "not" else apply("bool", self.number(below))

    def divisor(self) -> Index:
        """Mostly a constant of either sign; sometimes a term, which may be zero."""
        if self.rng.random() < 0.75:
            return Const(self.rng.choice(DIVISORS))
        others: tuple[Index, ...] = (Const(0), self.leaf(), self.rng.choice(self.scope), self.number(1))
        return self.rng.choice(others)

    def amount(self) -> Index:
        """How far to shift; sometimes negative."""
        small = [v for v in self.scope if v.hi <= LARGEST_AMOUNT]
        return self.rng.choice(small) if self.rng.random() < 0.4 else Const(self.rng.choice((0, 1, 2, 3, 5, -1)))

    def shaped(self, depth: int) -> Index:
        """A side of a rule with constants and terms in place of its letters, whether its guard holds or not."""
        row = self.rng.choice(PATTERNS)
        side = row.lhs if self.rng.random() < 0.8 else row.rhs
        shifts = [sub.args[1] for sub in walk(side) if isinstance(sub, Apply) and sub.op in ("shl", "shr")]
        amounts = set(variables(*shifts))
        env: dict[Var, Index] = {}
        for letter in variables(side):
            if letter in amounts:
                env[letter] = self.amount()
            elif is_literal(letter):
                env[letter] = Const(self.rng.choice((1, 2, 3, 4, 4, 6, 8, 12, -1, -2, 0, 5)))
            else:
                env[letter] = self.number(self.rng.randint(0, max(depth - 1, 0)))
        return substitute(side, env)


def draw(seed: int, position: int) -> Index:
    """The term at a position of the sequence that a seed gives."""
    return Drawing(f"{seed}/{position}").term()


def smaller(term: Index) -> list[Index]:
    """Terms with fewer operations that a failure of `term` may come from, the smallest first."""
    found: dict[Index, None] = {sub: None for sub in walk(term) if isinstance(sub, Apply) and sub is not term}
    if isinstance(term, Apply):
        simple = [*variables(term)[:3], as_index(0), as_index(1)]
        for position, arg in enumerate(term.args):
            if arg.kind == "int":
                others = [*(simple if isinstance(arg, Apply) else ()), *(smaller(arg) if isinstance(arg, Apply) else ())]
            else:
                others = smaller(arg)
            for other in others:
                if other.kind == arg.kind:
                    found[Apply(term.op, (*term.args[:position], other, *term.args[position + 1 :]))] = None
    sizes = {other: _size(other) for other in found}
    return sorted((other for other in found if sizes[other] < _size(term)), key=sizes.__getitem__)[:400]


def _size(term: Index) -> int:
    """How many operations and leaves the term is written with."""
    sizes: dict[Index, int] = {}
    for sub in walk(term):
        sizes[sub] = 1 + sum(sizes[arg] for arg in children(sub))
    return sizes[term]
