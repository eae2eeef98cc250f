"""Text to index expressions, through Python's own grammar."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from eqsat.ir.errors import ParseError, UsageError
from eqsat.ir.index import Const, Index, apply, var, where

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.LShift: "shl",
    ast.RShift: "shr",
}
_BITS: dict[type[ast.operator], str] = {ast.BitAnd: "__and__", ast.BitOr: "__or__", ast.BitXor: "__xor__"}
_COMPARE: dict[type[ast.cmpop], str] = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}


def parse_index(text: str, variables: Mapping[str, tuple[int, int]]) -> Index:
    """The index expression that `text` states over variables with inclusive bounds {name: (lo, hi)}.

    Known: + - * // % & | ^ ~ << >> and or not comparisons (chained too) min max abs where int bool, integers, True, False.
    All operands are looked at, those of `and`, `or` and `where` too: where one has no value, as x // 0, the whole has none.
    Raises ParseError naming the part that is not known, and UsageError for variables without two bounds.
    """
    if not isinstance(text, str) or not isinstance(variables, Mapping):
        raise UsageError(f"parse_index: found {text!r} and {variables!r}, expected a text and a dict of names with their bounds")
    for name, bounds in variables.items():
        if not isinstance(bounds, tuple | list) or len(bounds) != 2:
            raise UsageError(f"parse_index: found the bounds {bounds!r} of {name}, expected a pair (lo, hi)")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        raise ParseError(f"parse_index: {error.msg} in {text!r}") from None
    known = {name: var(name, *bounds) for name, bounds in variables.items()}
    return _Parser(text, dict(known)).index(tree.body)


class _Parser:
    """Walks one tree."""

    def __init__(self, text: str, known: dict[str, Index]) -> None:
        self.text, self.known = text, known

    def index(self, node: ast.expr) -> Index:
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return Const(node.value)
        if isinstance(node, ast.Name):
            return self.name(node.id)
        if isinstance(node, ast.BinOp):
            return self.binary(node)
        if isinstance(node, ast.UnaryOp):
            return self.unary(node)
        if isinstance(node, ast.BoolOp):
            return self.joined("and" if isinstance(node.op, ast.And) else "or", [_truth(self.index(value)) for value in node.values])
        if isinstance(node, ast.Compare):
            sides = [self.index(side) for side in (node.left, *node.comparators)]
            pairs = zip(node.ops, sides, sides[1:], strict=False)
            return self.joined("and", [apply(self.comparison(op), a, b) for op, a, b in pairs])
        if isinstance(node, ast.Call):
            return self.call(node)
        raise self.error(node, "an operation on integers")

    def name(self, name: str) -> Index:
        if name not in self.known:
            known = f"one of {', '.join(self.known)}" if self.known else "a variable whose bounds are given, such as x from 0 to 31"
            raise ParseError(f"parse_index: found name {name!r}, expected {known}")
        return self.known[name]

    def binary(self, node: ast.BinOp) -> Index:
        left, right = self.index(node.left), self.index(node.right)
        if type(node.op) in _BINARY:
            return apply(_BINARY[type(node.op)], left, right)
        if type(node.op) in _BITS:
            result: Index = getattr(left, _BITS[type(node.op)])(right)
            return result
        raise self.error(node, "one of + - * // % & | ^ << >>")

    def unary(self, node: ast.UnaryOp) -> Index:
        operand = self.index(node.operand)
        if isinstance(node.op, ast.USub):
            return Const(-operand.value) if isinstance(operand, Const) else -operand
        if isinstance(node.op, ast.Not):
            return apply("not", _truth(operand))
        return ~operand if isinstance(node.op, ast.Invert) else operand

    def joined(self, op: str, terms: list[Index]) -> Index:
        result = terms[0]
        for term in terms[1:]:
            result = apply(op, result, term)
        return result

    def comparison(self, op: ast.cmpop) -> str:
        if type(op) not in _COMPARE:
            raise ParseError(f"parse_index: found comparison {type(op).__name__}, expected one of < <= > >= == !=")
        return _COMPARE[type(op)]

    def call(self, node: ast.Call) -> Index:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        args = [self.index(arg) for arg in node.args]
        if not node.keywords:
            if name in ("min", "max") and len(args) >= 2:
                return self.joined(name, args)
            if name in ("abs", "int", "bool") and len(args) == 1:
                return apply(name, *args)
            if name == "where" and len(args) == 3:
                return where(*args)
        raise self.error(node, "min max abs where int bool")

    def error(self, node: ast.expr, expected: str) -> ParseError:
        return ParseError(f"parse_index: found {ast.get_source_segment(self.text.strip(), node)!r}, expected {expected}")


def _truth(term: Index) -> Index:
    """Operands of and, or and not are truth values: what an integer stands for there is whether it is not zero."""
    return term if term.kind == "bool" else apply("bool", term)
