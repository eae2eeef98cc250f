"""TVM's simplifiers behind our terms: floordiv and floormod of int64 variables whose ranges the Analyzer is told.

The rewriting and the canonical simplifier answer alone, in turn for a few steps and for many, and with all extensions switched on.
"""

from __future__ import annotations

from typing import Any

from tvm import arith, ir, tirx

from eqsat.ir.index import Apply, Const, Index, Var, apply, as_index, variables, walk
from tests.bench.index_peers import Untranslatable, added, multiplied

NAME = "tvm"
VARIANTS = {
    "simplify": lambda analyzer, expr: analyzer.simplify(expr),
    "rewrite": lambda analyzer, expr: analyzer.rewrite_simplify(expr),
    "canonical": lambda analyzer, expr: analyzer.canonical_simplify(expr),
    "8 steps": lambda analyzer, expr: analyzer.simplify(expr, steps=8),
    "extended": lambda analyzer, expr: _extended(analyzer).simplify(expr, steps=8),
}

BUILD: dict[str, Any] = {
    "add": tirx.Add,
    "sub": tirx.Sub,
    "mul": tirx.Mul,
    "floordiv": tirx.FloorDiv,
    "mod": tirx.FloorMod,
    "min": tirx.Min,
    "max": tirx.Max,
    "where": tirx.Select,
    "lt": tirx.LT,
    "le": tirx.LE,
    "gt": tirx.GT,
    "ge": tirx.GE,
    "eq": tirx.EQ,
    "ne": tirx.NE,
    "and": tirx.And,
    "or": tirx.Or,
    "not": tirx.Not,
}
ALL_EXTENSIONS = 15
MOST_JOINED = 2
READ: list[tuple[Any, str]] = [(node, op) for op, node in BUILD.items() if op not in ("add", "mul", "not", "where")]


def _extended(analyzer: Any) -> Any:
    analyzer.enabled_extensions = arith.Extension(ALL_EXTENSIONS)
    return analyzer


def simplifiers(term: Index) -> dict[str, Any]:
    """For each variant a call without arguments that binds the ranges and simplifies the term."""
    named = {v: tirx.Var(v.name, "int64") for v in variables(term)}
    expr = translated(term, named)

    def run(variant: Any) -> Any:
        analyzer = arith.Analyzer()
        for variable, node in named.items():
            analyzer.bind(node, ir.Range.from_min_extent(_constant(variable.lo), _constant(variable.extent)))
        return variant(analyzer, expr)

    # one extension multiplies out conjunctions and disjunctions, which takes minutes where there are many
    joined = sum(isinstance(sub, Apply) and sub.op in ("and", "or") for sub in walk(term))
    names = [name for name in VARIANTS if name != "extended" or joined <= MOST_JOINED]
    return {name: lambda variant=VARIANTS[name]: run(variant) for name in names}


def _constant(value: int) -> Any:
    return tirx.IntImm("bool" if isinstance(value, bool) else "int64", int(value))


def translated(term: Index, named: dict[Var, Any]) -> Any:
    made: dict[Index, Any] = {}
    for sub in walk(term):
        if isinstance(sub, Const):
            made[sub] = _constant(sub.value)
        elif isinstance(sub, Var):
            made[sub] = named[sub]
        elif isinstance(sub, Apply):
            args = [made[arg] for arg in sub.args]
            if sub.op == "neg":
                made[sub] = tirx.Sub(_constant(0), *args)
            elif sub.op in BUILD:
                made[sub] = BUILD[sub.op](*args)
            else:
                raise Untranslatable(f"tvm: no translation of {sub.op}")
    return made[term]


def read_back(expr: Any, names: dict[str, Var]) -> Index:
    """The term that an expression of TVM states."""
    if isinstance(expr, tirx.IntImm):
        return as_index(bool(expr.value) if str(expr.ty) == "bool" else int(expr.value))
    if isinstance(expr, tirx.Var):
        return names[expr.name]
    if isinstance(expr, tirx.Not):
        return apply("not", read_back(expr.a, names))
    if isinstance(expr, tirx.Select):
        return apply("where", *(read_back(part, names) for part in (expr.condition, expr.true_value, expr.false_value)))
    if isinstance(expr, tirx.Cast):
        value = read_back(expr.value, names)
        return apply("int", value) if value.kind == "bool" else value
    if isinstance(expr, tirx.Add):
        return added(read_back(expr.a, names), read_back(expr.b, names))
    if isinstance(expr, tirx.Mul):
        return multiplied(read_back(expr.a, names), read_back(expr.b, names))
    for node, op in READ:
        if isinstance(expr, node):
            return apply(op, read_back(expr.a, names), read_back(expr.b, names))
    raise Untranslatable(f"tvm: no reading of {type(expr).__name__}")
