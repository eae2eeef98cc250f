"""tinygrad's simplifier behind our terms: FLOORDIV and FLOORMOD are floor division and its remainder, so nothing is lost.

Two of its rule sets answer: `UOp.simplify` (symbolic) and the larger `sym` that kernels run through.
"""

from __future__ import annotations

from typing import Any

from tinygrad.uop.ops import Ops, UOp, graph_rewrite
from tinygrad.uop.symbolic import sym

from eqsat.ir.index import Apply, Const, Index, Var, apply, as_index, walk
from tests.bench.index_peers import Untranslatable, added, complemented, multiplied

NAME = "tinygrad"
VARIANTS = {"symbolic": lambda uop: uop.simplify(), "sym": lambda uop: graph_rewrite(uop, sym)}

BUILD: dict[str, Any] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "neg": lambda a: -a,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a.alu(Ops.FLOORDIV, b),
    "mod": lambda a, b: a.alu(Ops.FLOORMOD, b),
    "min": lambda a, b: a.minimum(b),
    "max": lambda a, b: a.maximum(b),
    "where": lambda c, a, b: c.where(a, b),
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a.eq(b),
    "ne": lambda a, b: a.ne(b),
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "not": lambda a: a.logical_not(),
}


def simplifiers(term: Index) -> dict[str, Any]:
    """For each variant a call without arguments that simplifies the term."""
    uop = translated(term)
    return {name: lambda run=run: run(uop) for name, run in VARIANTS.items()}


def translated(term: Index) -> Any:
    made: dict[Index, Any] = {}
    for sub in walk(term):
        if isinstance(sub, Const):
            made[sub] = UOp.const(sub.value)
        elif isinstance(sub, Var):
            made[sub] = UOp.variable(sub.name, sub.lo, sub.hi, param=True)
        elif isinstance(sub, Apply):
            if sub.op not in BUILD:
                raise Untranslatable(f"tinygrad: no translation of {sub.op}")
            made[sub] = BUILD[sub.op](*(made[arg] for arg in sub.args))
    return made[term]


def read_back(uop: Any, names: dict[str, Var]) -> Index:
    """The term that a UOp states."""
    read: dict[Any, Index] = {}
    for node in uop.toposort():
        if node.op is Ops.CONST:
            read[node] = as_index(node.val)
        elif node.op in (Ops.PARAM, Ops.BUFFER):
            read[node] = names[node.arg.name]
        elif node.op is not Ops.STACK:
            read[node] = _read(node, [read[source] for source in node.src])
    return read[uop]


def _read(node: Any, args: list[Index]) -> Index:
    bools = all(arg.kind == "bool" for arg in args)
    if node.op is Ops.ADD:
        return added(*args)
    if node.op is Ops.MUL:
        return multiplied(*args)
    if node.op is Ops.CMPNE and bools and isinstance(args[1], Const):
        return apply("not", args[0]) if args[1].value else args[0]
    if node.op is Ops.CAST:
        return apply("int", args[0]) if bools else args[0]
    if node.op is Ops.XOR and not bools and isinstance(args[1], Const) and args[1].value == -1:
        return complemented(args[0])
    if node.op in (Ops.AND, Ops.OR, Ops.XOR):
        ops = {Ops.AND: "and", Ops.OR: "or", Ops.XOR: "ne"} if bools else {Ops.AND: "bitand", Ops.OR: "bitor", Ops.XOR: "bitxor"}
        return apply(ops[node.op], *args)
    known = {
        Ops.FLOORDIV: "floordiv",
        Ops.FLOORMOD: "mod",
        Ops.MAX: "max",
        Ops.WHERE: "where",
        Ops.CMPLT: "lt",
        Ops.CMPNE: "ne",
        Ops.CMPEQ: "eq",
        Ops.NEG: "neg",
        Ops.SUB: "sub",
        Ops.SHL: "shl",
        Ops.SHR: "shr",
    }
    if node.op not in known:
        raise Untranslatable(f"tinygrad: no reading of {node.op}")
    return apply(known[node.op], *args)
