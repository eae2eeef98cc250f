"""Integer types for index terms: int32 where all values fit, else int64, else an error.

Index terms have no width.  Three tables of rows give them one, bottom-up in one pass: *wrap* types the leaves and casts them
back to "index", *propagate* moves these casts towards the root, *strip* drops them where an index is used.

    select(x) = int32 if the bounds of x fit, else int64
    dt        = the widest of select(result) and the dtypes of the operands

So every operand and every result is a value of the dtype in which it is computed, and nothing wraps around.
Source: tinygrad, pm_lower_index_dtype; the gate of an access is the condition under which its index is valid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eqsat.ir.errors import InternalError, UnsupportedError
from eqsat.ir.index import OPS, Apply, Const, Index, Var, walk
from eqsat.ir.loops import Bind, Blocks, Clip, Fold, For, Kernel, Part, index_terms, statements
from eqsat.ir.tensor import Size
from eqsat.ir.typed import (
    Access,
    Bound,
    Cast,
    End,
    IndexType,
    Invalid,
    Name,
    Number,
    Numbers,
    Operation,
    Range,
    Sink,
    Special,
    Typed,
    Vector,
    fits,
    typed_terms,
)
from eqsat.ir.typed_kernel import TypedKernel

LOGICAL = ("and", "or", "not", "bool")


@dataclass(frozen=True)
class Row:
    """`rewrite` gives the new form of a node of class `node`, or None where the row does not apply."""

    name: str
    node: type[Typed]
    rewrite: Callable[[Any], Typed | None]


def select(term: Typed) -> IndexType:
    """int32 if the bounds of the term fit, else int64; UnsupportedError where they leave that too."""
    if fits("int32", term.bounds):
        return "int32"
    if fits("int64", term.bounds):
        return "int64"
    raise refusal(term)


def refusal(term: Typed | Index) -> UnsupportedError:
    lo, hi = term.bounds
    return UnsupportedError(f"index {term}: found values in {lo}..{hi}, expected 64-bit integers; use smaller sizes")


def widest(*dtypes: IndexType) -> IndexType:
    return "int64" if "int64" in dtypes else "int32"


def is_wrapped(term: Typed) -> bool:
    return isinstance(term, Cast) and term.dtype == "index"


def wrap(term: Typed) -> Typed:
    return Cast(term, "index")


def inside(term: Typed) -> Typed:
    """What a wrapper holds; other terms as they are."""
    return term.arg if isinstance(term, Cast) and term.dtype == "index" else term


def at(term: Typed, dtype: IndexType) -> Typed:
    """The value of a term in a dtype that holds it."""
    term = inside(term)
    if term.dtype == dtype:
        return term
    if isinstance(term, Number | Numbers):
        return Number(int(term.value), dtype) if isinstance(term, Number) else Numbers(term.values, dtype)
    return Invalid(dtype) if isinstance(term, Invalid) else Cast(term, dtype)


def truth(term: Typed) -> Typed:
    """Whether a term is not zero."""
    inner = inside(term)
    if inner.dtype == "bool":
        return inner
    zero = Number(0, inner.dtype) if inner.lanes == 1 else Numbers((0,) * inner.lanes, inner.dtype)
    return Operation("ne", (inner, zero), "bool")


def _common(terms: Iterable[Typed], *selected: IndexType) -> IndexType:
    return widest(*selected, *(inside(term).dtype for term in terms))


def _wrap_number(term: Number) -> Typed | None:
    return wrap(Number(term.value, select(term))) if term.dtype == "index" else None


def _wrap_numbers(term: Numbers) -> Typed | None:
    return wrap(Numbers(term.values, select(term))) if term.dtype == "index" else None


def _wrap_name(term: Name) -> Typed | None:
    return wrap(Name(term.variable, select(term))) if term.dtype == "index" else None


def _arithmetic(term: Operation) -> Typed | None:
    if term.dtype != "index" or term.op == "where":
        return None
    dtype = _common(term.args, select(term))
    args = tuple(at(arg, dtype) for arg in term.args)
    return wrap(args[0] if term.op == "int" else Operation(term.op, args, dtype))


def _comparison(term: Operation) -> Typed | None:
    if OPS[term.op].kind != "bool" or term.op in LOGICAL or not any(is_wrapped(arg) or arg.dtype == "bool" for arg in term.args):
        return None
    dtype = _common(term.args)
    return Operation(term.op, tuple(at(arg, dtype) for arg in term.args), "bool")


def _logical(term: Operation) -> Typed | None:
    if term.op not in LOGICAL or not (term.op == "bool" or any(is_wrapped(arg) for arg in term.args)):
        return None
    args = tuple(truth(arg) for arg in term.args)
    return args[0] if term.op == "bool" else Operation(term.op, args, "bool")


def _where(term: Operation) -> Typed | None:
    if term.op != "where" or not (term.dtype == "index" or any(is_wrapped(arg) for arg in term.args)):
        return None
    condition, arms = truth(term.args[0]), term.args[1:]
    if term.dtype == "bool":
        return Operation("where", (condition, *(truth(arm) for arm in arms)), "bool")
    dtype = _common(arms, select(term))
    return wrap(Operation("where", (condition, *(at(arm, dtype) for arm in arms)), dtype))


def _range(term: Range) -> Typed | None:
    if not is_wrapped(term.end):
        return None
    dtype = _common([term.end], select(term))
    return wrap(Range(term.variable, at(term.end, dtype), dtype))


def _special(term: Special) -> Typed | None:
    if not is_wrapped(term.end):
        return None
    if inside(term.end).dtype != "int32":
        raise UnsupportedError(f"launch index {term.variable.name}: found {term.end.bounds[1]} threads, expected fewer than 2^31")
    return wrap(Special(term.variable, inside(term.end), "int32"))


def _vector(term: Vector) -> Typed | None:
    if term.dtype != "index":
        return None
    dtype = _common(term.args, select(term))
    return wrap(Vector(tuple(at(arg, dtype) for arg in term.args), dtype))


def _bound(term: Bound) -> Typed | None:
    if term.dtype != "index":
        return None
    dtype = _common((term.name, term.value), select(term))
    return wrap(Bound(at(term.name, dtype), at(term.value, dtype), dtype))


def _access(term: Access) -> Typed | None:
    return Access(term.buffer, inside(term.index), term.gate) if is_wrapped(term.index) else None


def _gate(term: Access) -> Typed | None:
    index = term.index
    if not (isinstance(index, Operation) and index.op == "where" and isinstance(index.args[2], Invalid)):
        return None
    condition, valid, _ = index.args
    return Access(term.buffer, valid, condition if term.gate is None else Operation("and", (term.gate, condition), "bool"))


def _sink(term: Sink) -> Typed | None:
    return Sink(tuple(inside(arg) for arg in term.args)) if any(map(is_wrapped, term.args)) else None


def _end(term: End) -> Typed | None:
    return End(inside(term.body), tuple(map(inside, term.ranges))) if any(map(is_wrapped, term.operands)) else None


WRAP = (Row("constant", Number, _wrap_number), Row("vector-constant", Numbers, _wrap_numbers), Row("variable", Name, _wrap_name))
PROPAGATE = (
    Row("arithmetic", Operation, _arithmetic),
    Row("comparison", Operation, _comparison),
    Row("logical", Operation, _logical),
    Row("where", Operation, _where),
    Row("range", Range, _range),
    Row("special", Special, _special),
    Row("vector", Vector, _vector),
    Row("bind", Bound, _bound),
)
STRIP = (Row("access", Access, _access), Row("gate", Access, _gate), Row("sink", Sink, _sink), Row("end", End, _end))
PHASES: Mapping[str, tuple[Row, ...]] = {"wrap": WRAP, "propagate": PROPAGATE, "strip": STRIP}


class Rewriter:
    """Applies rows bottom-up, every node until no row of it applies; a node is rewritten once, whatever root it is reached from."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows: dict[type[Typed], list[Row]] = {}
        for row in rows:
            self.rows.setdefault(row.node, []).append(row)
        self.done: dict[Typed, Typed] = {}

    def __call__(self, root: Typed) -> Typed:
        for term in typed_terms(root):
            if term not in self.done:
                operands = tuple(self.done[arg] for arg in term.operands)
                same = all(a is b for a, b in zip(operands, term.operands, strict=True))
                self.done[term] = self.normal(term if same else term.rebuilt(operands))
        return self.done[root]

    def normal(self, term: Typed) -> Typed:
        changed: Typed | None = term
        while changed is not None:
            term = changed
            changed = next((new for row in self.rows.get(type(term), ()) if (new := row.rewrite(term)) is not None), None)
        return term


def lowered() -> Rewriter:
    """What applies the rows of all phases."""
    return Rewriter([row for rows in PHASES.values() for row in rows])


def lower_index_dtypes(root: Typed) -> Typed:
    """A terminal over terms of dtype "index" as the same terminal over terms of int32, int64 and bool.

    Raises UnsupportedError, naming the subterm, where a value can leave 64 bits or a launch has 2^31 threads or more.
    """
    return lowered()(root)


class Abstract:
    """Index terms as typed terms of dtype "index"; `leaves` gives the Range or Special of variables that are no plain names.

    Raises UnsupportedError, naming the subterm as it was written, where a value can leave 64 bits.
    """

    def __init__(self, leaves: Mapping[Var, Typed] | None = None) -> None:
        self.leaves = leaves if leaves is not None else {}
        self.done: dict[Index, Typed] = {}

    def __call__(self, root: Index) -> Typed:
        for term in walk(root):
            if term not in self.done:
                self.done[term] = self.node(term)
        return self.done[root]

    def node(self, term: Index) -> Typed:
        if not fits("int64", term.bounds):
            raise refusal(term)
        dtype: IndexType = "bool" if term.kind == "bool" else "index"
        if isinstance(term, Const):
            return Number(term.value, dtype)
        if isinstance(term, Apply):
            return Operation(term.op, tuple(self.done[arg] for arg in term.args), dtype)
        if not isinstance(term, Var):
            raise InternalError(f"index dtypes: found a {type(term).__name__}, expected a term of ir.index")
        return self.leaves.get(term) or Name(term, dtype)


def loop_range(variable: Var, size: Size | Blocks | Part | None = None) -> Range:
    """The counter of a loop over a variable's values, up to what is known at run time if it ends there."""
    end = Number(variable.hi + 1, "index") if size is None else Name(size.variable, "index")
    return Range(variable, end, "index")


def type_indices(kernel: Kernel) -> TypedKernel:
    """The kernel with types for its counters, bound values and offsets.  Raises what `lower_index_dtypes` raises."""
    lower = lowered()
    found = list(statements(kernel.body))
    leaves = {stmt.variable: loop_range(stmt.variable, kernel.size_of(stmt.variable)) for stmt in found if isinstance(stmt, For | Fold)}
    abstract = Abstract(leaves)
    roots: dict[Index, Typed] = dict(leaves.items())
    roots |= {term: abstract(term) for term in (*index_terms(kernel), *(end.variable for end in kernel.ends))}
    for stmt in found:
        if isinstance(stmt, Bind):
            roots[stmt.variable] = Bound(abstract(stmt.variable), roots[stmt.value], "index")
        elif isinstance(stmt, Clip):
            roots[stmt.variable] = abstract(stmt.variable)
    typed = {}
    for term, root in roots.items():
        stripped = lower(Sink((root,)))
        typed[term] = stripped.operands[0]
    return TypedKernel(kernel, typed)
