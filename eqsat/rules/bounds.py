"""Bounds of e-classes: egglog functions lo (merged by max) and hi (merged by min), so they tighten as classes merge.

A row gives the interval of a node from the intervals of its operands; lx, hx, ly, hy are their bounds.  Sums and products,
whose arity varies, get theirs from the row `bounds-of-sum`; ir/interval.py is the specification of all.
"""

from __future__ import annotations

from dataclasses import dataclass

from eqsat.rules.compile import floor_div, floor_mod


@dataclass(frozen=True)
class BoundsRow:
    """Where `given` holds: lo >= each of `lower`, hi <= each of `upper`; operands are x, y, z, a number n."""

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
    BoundsRow("Nonneg", "x", "", ("0",), ("1",)),
    BoundsRow("Nonneg", "x", "(>= lx 0)", ("1",), ()),
    BoundsRow("Nonneg", "x", "(< hx 0)", (), ("0",)),
    BoundsRow("Zero", "x", "", ("0",), ("1",)),
    BoundsRow("Zero", "x", "(= lx 0) (= hx 0)", ("1",), ()),
    BoundsRow("Zero", "x", "(> lx 0)", (), ("0",)),
    BoundsRow("Zero", "x", "(< hx 0)", (), ("0",)),
    BoundsRow("Not", "x", "", ("(- 1 hx)",), ("(- 1 lx)",)),
    BoundsRow("Scale", "nx", "(>= n 0)", ("(* n lx)",), ("(* n hx)",)),
    BoundsRow("Scale", "nx", "(< n 0)", ("(* n hx)",), ("(* n lx)",)),
    BoundsRow("Add", "xy", "", ("(+ lx ly)",), ("(+ hx hy)",)),
    BoundsRow("Abs", "x", "", ("0",), ("(max (- 0 lx) hx)",)),
    BoundsRow("Bitand", "xy", "(>= lx 0)", ("0",), ("hx",)),
    BoundsRow("Bitand", "xy", "(>= ly 0)", ("0",), ("hy",)),
)

# leaves, and the alarm: a class whose interval is empty holds two different values
LEAVES = """
(rule ((= t (Num v))) ((set (lo t) v) (set (hi t) v) (leaf t)) :ruleset bounds :name "bounds of Num")
(rule ((= t (Axis k n))) ((set (lo t) 0) (set (hi t) (- n 1)) (leaf t)) :ruleset bounds :name "bounds of Axis")
(rule ((= t (RAxis k n))) ((set (lo t) 0) (set (hi t) (- n 1)) (leaf t)) :ruleset bounds :name "bounds of RAxis")
(rule ((= l (lo t)) (= h (hi t)) (> l h)) ((alarm t)) :ruleset bounds :name "alarm")
"""


BOUNDS_TABLE = "bounds"


def ruleset_of(node: str) -> str:
    """Each kind of node has a ruleset of its own, which runs when there are such nodes."""
    return f"bounds-of-{node}"


NODES = tuple(dict.fromkeys(row.node for row in BOUNDS))
# (ruleset, the nodes that must be there for it to have anything to do)
BOUNDS_RULESETS: tuple[tuple[str, frozenset[str]], ...] = (
    ("bounds", frozenset()),
    *((ruleset_of(node), frozenset((node,))) for node in NODES),
)


def _rule(number: int, row: BoundsRow) -> str:
    node = f"(= t ({row.node} {' '.join(row.operands)}))"
    values = " ".join(f"(= l{v} (lo {v})) (= h{v} (hi {v}))" for v in row.operands if v != "n")
    # computed in the query: there an overflow is no match, in an action it would end the run
    results = [("lo", e) for e in row.lower] + [("hi", e) for e in row.upper]
    computed = " ".join(f"(= b{k} {e})" for k, (_, e) in enumerate(results))
    actions = " ".join(f"(set ({side} t) b{k})" for k, (side, _) in enumerate(results))
    return (
        f'(rule ({node} {values} {row.given} {computed}) ({actions}) :ruleset {ruleset_of(row.node)} :name "bounds {number} of {row.node}")'
    )


def _bare(node: str, operands: str) -> str:
    """A class that is a constant or a variable carries no structure: x = x % 8 would make x % 8 % 16 and so on without end."""
    term = f"({node} {' '.join(operands)})"
    return f'(rule ((= t {term}) (leaf t)) ((subsume {term})) :ruleset {ruleset_of(node)} :name "bare {node}")'


# operands that a choice may be equal to
CHOSEN = (("Min", ("t y", "x t")), ("Max", ("t y", "x t")), ("Where", ("p t y", "p x t")))


def _idle(node: str, operands: str) -> str:
    """Rule that removes `x = min(x, y)`: it states nothing new, and other rules would match it without end."""
    term = f"({node} {operands})"
    return f'(rule ((= t {term})) ((subsume {term})) :ruleset {ruleset_of(node)} :name "idle {node} {operands}")'


def _own_quotient(node: str, view: str) -> str:
    """The same of t = (k*t + c) // n: with t in place of itself the divisor would grow without end."""
    stated = {"as-step": "(as-step x k t c)", "as-offset": "(as-offset x t c)"}[view]
    term = f"({node} x n)"
    return f'(rule ((= t {term}) {stated}) ((subsume {term})) :ruleset {ruleset_of(node)} :name "idle {node} {view}")'


def bounds_program() -> str:
    """The egglog rules of the analysis."""
    rules = [_rule(number, row) for number, row in enumerate(BOUNDS)]
    bare = [_bare(node, operands) for node, operands in dict.fromkeys((row.node, row.operands) for row in BOUNDS)]
    idle = [_idle(node, operands) for node, ways in CHOSEN for operands in ways]
    idle += [_own_quotient(node, view) for node in ("Floordiv", "Mod") for view in ("as-step", "as-offset")]
    return "\n".join(["(ruleset bounds)", *(f"(ruleset {ruleset_of(node)})" for node in NODES), LEAVES, *rules, *bare, *idle])
