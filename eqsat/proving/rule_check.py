"""Whether a user's rule is true: every point of a signed grid, points around its constants and far away, and integer sets.

A rule with divisors or factors that are variables is no quasi-affine function, and no general procedure decides it.  So what counts as
proof is what counts for the built-in rows: both sides agree at every point of a signed grid where the guard holds; beyond it, at many
points chosen where rules fail.  Rules that are quasi-affine are proved for all values of 40 bits where islpy is installed.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from eqsat.ir.errors import UsageError
from eqsat.ir.index import Apply, Const, Index, Var, conjunction, substitute, variables, walk, where
from eqsat.ir.index_points import Pair
from eqsat.proving import integer_sets
from eqsat.proving.missing_guard import Sample, missing_guard
from eqsat.proving.prove import Axes, evaluated
from eqsat.proving.rule_points import points as points_of
from eqsat.rules.own import Rule
from eqsat.rules.variables import PatternVariable


@dataclass(frozen=True, eq=False, repr=False)
class RuleVerdict:
    """What `eqsat.check_rule` found out; true only if the rule is proved.

    rule            the rule
    counterexample  a value for every variable at which the guard holds and the sides differ, or only one has a value: the smallest by
                    the sum of absolute values; None if there is none
    missing_guard   conditions that, added to the rule's, make it true, the weakest that were found; None if the rule is true or none was
                    found
    method          "integer sets": proved for all values of 40 bits; "exhaustive": at every point of a grid, and at many beyond;
                    "counterexample"; "never": the guard holds nowhere
    points          at how many points the guard held
    """

    rule: Rule
    method: str
    counterexample: dict[str, int] | None = None
    missing_guard: Index | None = None
    points: int = 0

    @property
    def proved(self) -> bool:
        """Whether the rule may be used."""
        return self.method in ("integer sets", "exhaustive")

    def __bool__(self) -> bool:
        return self.proved

    def __str__(self) -> str:
        if self.proved:
            return f"proved ({self.method}, {self.points:,} points): {self.rule}"
        if self.counterexample is None:
            return f"not proved: {self.rule}: its conditions never hold together"
        at = ", ".join(f"{name} = {value}" for name, value in self.counterexample.items())
        hint = f"; true with the condition {self.missing_guard}" if self.missing_guard is not None else ""
        return f"refuted: {self.rule}: the sides differ at {at}{hint}"

    __repr__ = __str__


@functools.lru_cache(maxsize=256)
def check_rule(rule: Rule) -> RuleVerdict:
    """Whether a rule holds for all integers; see RuleVerdict for what proves it.

    A division by zero and a shift by a negative amount have no value; a side that has none where the other has one refutes the rule, a
    condition that has none does not hold.  Takes up to a second; the verdict is remembered.  Raises UsageError for what is no Rule, and for
    constants that make values of more than 62 bits.
    """
    if not isinstance(rule, Rule):
        raise UsageError(f"check_rule: found {rule!r}, expected an eqsat.Rule")
    verdict, samples = _checked(rule)
    if verdict.counterexample is None:
        return verdict
    return replace(verdict, missing_guard=missing_guard(rule, samples, lambda mended: bool(_checked(mended)[0])))


def _checked(rule: Rule) -> tuple[RuleVerdict, list[Sample]]:
    """The verdict without what is missing, and what the rule is at the points that were looked at."""
    names = tuple(v for v in variables(rule.lhs) if isinstance(v, PatternVariable))
    samples = [_sample(rule, axes) for axes in points_of(rule, names)]
    count = sum(sample.points for sample in samples)
    wrong = [found for sample in samples if (found := sample.smallest_wrong()) is not None]
    if wrong:
        smallest = min(wrong, key=lambda point: sum(map(abs, point.values())))
        return RuleVerdict(rule, "counterexample", smallest, None, count), samples
    if not count:
        return RuleVerdict(rule, "never"), samples
    answer = _by_integer_sets(rule, names)
    if answer.difference is not None:
        at = {v.name: value for v, value in answer.difference.point.items()}
        return RuleVerdict(rule, "counterexample", {v.name: at.get(v.name, 0) for v in names}, None, count), samples
    return RuleVerdict(rule, "integer sets" if answer.equal else "exhaustive", None, None, count), samples


def _sample(rule: Rule, axes: Axes) -> Sample:
    held, differs, valued = evaluated(rule.lhs, rule.rhs, rule.when, axes)
    return Sample(axes, held & valued, held & differs)


# integer sets ----------------------------------------------------------------------------------------------------
def _by_integer_sets(rule: Rule, names: Sequence[PatternVariable]) -> integer_sets.Answer:
    """What isl says of a quasi-affine rule: one without products of variables and divisors that are no constants."""
    for sub in walk(rule.lhs, rule.rhs, *rule.when):
        if isinstance(sub, Apply) and sub.op in ("mul", "floordiv", "mod", "shl", "shr", "bitand", "bitor", "bitxor"):
            operands = sub.args[1:] if sub.op != "mul" else sub.args
            if not any(isinstance(arg, Const) for arg in operands) or any(isinstance(arg, Const) and not arg.value for arg in operands):
                return integer_sets.Answer(note="not quasi-affine")
    ranges: dict[Var, Index] = {v: Var(v.name, *((0, 1) if v.stands == "bool" else (-(1 << 40), 1 << 40))) for v in names}
    guard = conjunction(rule.when)
    left, right = (substitute(where(guard, side, 0), ranges) for side in (rule.lhs, rule.rhs))
    return integer_sets.compare(Pair(left, right))
