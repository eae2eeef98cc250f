"""Bounds of e-classes: egglog functions lo (merged by max) and hi (merged by min), so they tighten as classes merge.

A row gives the interval of a node from the intervals of its operands; lx, hx, ly, hy are their bounds.  Sums and products,
whose arity varies, get theirs from the row `bounds-of-sum`; ir/interval.py is the specification of all.
"""

from __future__ import annotations

from dataclasses import dataclass

from eqsat.rules.compile import floor_div, floor_mod


@dataclass(frozen=True)
class BoundsRow:
    """Where `given` holds: lo >= each of `lower`, hi <= each of `upper`; operands are x, y, z."""

    node: str
    operands: str
    given: str
    lower: tuple[str, ...]
    upper: tuple[str, ...]


def _positive_div(x: str) -> tuple[str, str]:
    return floor_div(x, "ly"), floor_div(x, "hy")


_LOW_DIV, _HIGH_DIV = _positive_div("lx"), _positive_div("hx")

BOUNDS = (
    BoundsRow("Floordiv", "xy", "(> ly 0)", (f"(min {' '.join(_LOW_DIV)})",), (f"(max {' '.join(_HIGH_DIV)})",)),
    BoundsRow("Mod", "xy", "(> ly 0)", ("0",), ("(- hy 1)",)),
    BoundsRow("Mod", "xy", "(> ly 0) (>= lx 0)", (), ("hx",)),
    BoundsRow("Mod", "xy", "(>= lx 0) (< hx ly)", ("lx",), ("hx",)),
    BoundsRow(
        "Mod",
        "xy",
        f"(> ly 0) (= ly hy) (= {floor_div('lx', 'ly')} {floor_div('hx', 'ly')})",
        (floor_mod("lx", "ly"),),
        (floor_mod("hx", "ly"),),
    ),
    BoundsRow("Min", "xy", "", ("(min lx ly)",), ("(min hx hy)",)),
    BoundsRow("Max", "xy", "", ("(max lx ly)",), ("(max hx hy)",)),
    BoundsRow("Where", "xyz", "", ("(min ly lz)",), ("(max hy hz)",)),
    BoundsRow("Lt", "xy", "", ("0",), ("1",)),
    BoundsRow("Lt", "xy", "(< hx ly)", ("1",), ()),
    BoundsRow("Lt", "xy", "(>= lx hy)", (), ("0",)),
    BoundsRow("Eq", "xy", "", ("0",), ("1",)),
    BoundsRow("Eq", "xy", "(= lx hx) (= ly hy) (= lx ly)", ("1",), ()),
    BoundsRow("Eq", "xy", "(< hx ly)", (), ("0",)),
    BoundsRow("Eq", "xy", "(< hy lx)", (), ("0",)),
    BoundsRow("Not", "x", "", ("(- 1 hx)",), ("(- 1 lx)",)),
    BoundsRow("And", "xy", "", ("(min lx ly)",), ("(min hx hy)",)),
    BoundsRow("Or", "xy", "", ("(max lx ly)",), ("(max hx hy)",)),
    BoundsRow("Int", "x", "", ("lx",), ("hx",)),
)

# leaves, and the alarm: a class whose interval is empty holds two different values
LEAVES = """
(rule ((= t (Num v))) ((set (lo t) v) (set (hi t) v)) :ruleset bounds :name "bounds of Num")
(rule ((= t (Axis k n))) ((set (lo t) 0) (set (hi t) (- n 1))) :ruleset bounds :name "bounds of Axis")
(rule ((= t (RAxis k n))) ((set (lo t) 0) (set (hi t) (- n 1))) :ruleset bounds :name "bounds of RAxis")
(rule ((= l (lo t)) (= h (hi t)) (> l h)) ((alarm t)) :ruleset bounds :name "alarm")
"""


def _rule(number: int, row: BoundsRow) -> str:
    node = f"(= t ({row.node} {' '.join(row.operands)}))"
    values = " ".join(f"(= l{v} (lo {v})) (= h{v} (hi {v}))" for v in row.operands)
    actions = " ".join([*(f"(set (lo t) {e})" for e in row.lower), *(f"(set (hi t) {e})" for e in row.upper)])
    return f'(rule ({node} {values} {row.given}) ({actions}) :ruleset bounds :name "bounds {number} of {row.node}")'


def bounds_program() -> str:
    """The egglog rules of the analysis."""
    return "(ruleset bounds)" + LEAVES + "\n".join(_rule(number, row) for number, row in enumerate(BOUNDS))
