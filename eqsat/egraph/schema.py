"""What the e-graph holds: sorts and constructors of egglog, written down once.

Index classes (sort Ix).  Sums and products are n-ary: `Sum c {T k a, ...}` is c + k*a + ..., `Prod {a, ...}` a product of
atoms, over egglog MultiSets, so commutativity and associativity are in the representation.  Rules may build the binary
recipes `Add`, `Scale` and `Mul`; rows give them their n-ary form.  `Raw` nodes are operations of ir.index as they are written,
in the maps of tensor programs: substitution goes through them, index rules do not see them.

Truth values are 0 and 1.  A comparison is a sum and a sign: `Nonneg s` is s >= 0, `Zero s` is s == 0; what is compared cancels
in the sum.  Conjunction is Min, disjunction is Max.  `Given x k` is x, with the bounds that it has under the k-th assumption.

Tensor classes (sort Tx), their elements (Sx), lists of index classes (Ixs).  `Generic p s f e` is the p-th tensor of the
program, of shape s, whose function is kept twice: as an element e, and as it was written, f, syntax (Sy) that is never made
equal to anything, so that applying it walks what was written, not all that it equals.  `At f js` is f where loop i is the
i-th of js (rules/tensor_rules.py).  `Element t` is t at the loops around it; `RAxis l n` is the variable of the l-th
reduction around it, innermost 0.

Everything comes in bulk, as rows of integers in one file: each says what it states (`loadable`) and about which handles;
handles are integers that name classes (constructor H).  Views are facts about n-ary nodes that Python finds and the rules
match.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from eqsat.ir.index import OPS

CLASS_SORTS = ("Ix", "Sx", "Tx", "Ixs", "Sy")


@dataclass(frozen=True)
class Constructor:
    """An e-node kind: operands by sort; i64 and Name operands are parameters.  A Name is the number of a text (Encoder.names)."""

    name: str
    operands: tuple[str, ...]
    sort: str


def _title(op: str) -> str:
    return op.capitalize()


# index operations of fixed arity that are nodes of their own
NODE_OPS = ("floordiv", "mod", "min", "max", "abs", "where", "not", "bitand", "bitor", "bitxor", "shl", "shr")
OP_OF_NODE = {_title(name): name for name in NODE_OPS}

INDEX_NODES = (
    Constructor("Num", ("i64",), "Ix"),
    Constructor("Var", ("Name", "i64", "i64"), "Ix"),
    Constructor("Axis", ("i64", "i64"), "Ix"),
    Constructor("RAxis", ("i64", "i64"), "Ix"),
    Constructor("Add", ("Ix", "Ix"), "Ix"),
    Constructor("Scale", ("i64", "Ix"), "Ix"),
    Constructor("Mul", ("Ix", "Ix"), "Ix"),
    Constructor("Nonneg", ("Ix",), "Ix"),
    Constructor("Zero", ("Ix",), "Ix"),
    Constructor("Given", ("Ix", "i64"), "Ix"),
    *(Constructor(f"Raw{n}", ("Name", *("Ix",) * n), "Ix") for n in (1, 2, 3)),
    *(Constructor(_title(name), ("Ix",) * OPS[name].arity, "Ix") for name in NODE_OPS),
)
# tensors of other ranks are not gathered from in the e-graph
GATHER_RANKS = (1, 2, 3, 4)
# a class that holds one of these carries no other structure
VARIABLES = ("Var", "Axis", "RAxis")
INDEX_LEAVES = ("Num", *VARIABLES)
DIVISIONS = ("Floordiv", "Mod")
SUM_OPS = ("Num", "Sum", "Add", "Scale", "Prod", "Mul")
TENSOR_NODES = (
    Constructor("Nil", (), "Ixs"),
    Constructor("Cons", ("Ix", "Ixs"), "Ixs"),
    Constructor("Literal", ("Name", "Name"), "Sx"),
    Constructor("Read", ("Tx", "Ixs"), "Sx"),
    Constructor("Position", ("Ix", "Name"), "Sx"),
    *(Constructor(f"Gather{n}", ("Tx", *("Sx",) * n), "Sx") for n in GATHER_RANKS),
    Constructor("Element", ("Tx",), "Sx"),
    Constructor("Call1", ("Name", "Name", "Sx"), "Sx"),
    Constructor("Call2", ("Name", "Name", "Sx", "Sx"), "Sx"),
    Constructor("Call3", ("Name", "Name", "Sx", "Sx", "Sx"), "Sx"),
    Constructor("Reduce", ("Name", "i64", "Sx"), "Sx"),
    Constructor("Leaf", ("i64",), "Tx"),
    Constructor("Build", ("Ixs", "Sx"), "Tx"),
    Constructor("Generic", ("i64", "Ixs", "Sy", "Sx"), "Tx"),
)
# functions as they are written: never made equal to anything, only applied
SYNTAX_NODES = (
    Constructor("QLiteral", ("Name", "Name"), "Sy"),
    Constructor("QRead", ("Tx", "Ixs"), "Sy"),
    Constructor("QPosition", ("Ix", "Name"), "Sy"),
    *(Constructor(f"QGather{n}", ("Tx", *("Sy",) * n), "Sy") for n in GATHER_RANKS),
    Constructor("QElement", ("Tx",), "Sy"),
    Constructor("QCall1", ("Name", "Name", "Sy"), "Sy"),
    Constructor("QCall2", ("Name", "Name", "Sy", "Sy"), "Sy"),
    Constructor("QCall3", ("Name", "Name", "Sy", "Sy", "Sy"), "Sy"),
    Constructor("QReduce", ("Name", "i64", "Sy"), "Sy"),
)
# made by rules only: applications that wait to be carried out
PENDING_NODES = (
    Constructor("At", ("Sy", "Ixs"), "Sx"),
    Constructor("CompList", ("Ixs", "Ixs"), "Ixs"),
    Constructor("Comp", ("Ix", "Ixs"), "Ix"),
    Constructor("Pick", ("Ixs", "i64"), "Ix"),
    Constructor("UpList", ("Ixs",), "Ixs"),
    Constructor("Up", ("Ix",), "Ix"),
)
CONSTRUCTORS = {node.name: node for node in (*INDEX_NODES, *TENSOR_NODES, *SYNTAX_NODES, *PENDING_NODES)}

# views: relation name -> operand sorts; what each states is in rules/sums.py
VIEWS = {
    "as-multiple": ("Ix", "i64", "Ix", "Ix"),
    "as-common": ("Ix", "i64", "i64", "Ix", "Ix"),
    "as-offset": ("Ix", "Ix", "i64"),
    "as-inner": ("Ix", "i64", "Ix", "i64", "Ix"),
    "as-quotient": ("Ix", "i64", "Ix", "i64", "Ix"),
    "as-scaled": ("Ix", "i64", "Ix", "Ix"),
    "as-step": ("Ix", "i64", "Ix", "i64"),
    "as-multiple-of": ("Ix", "Ix", "Ix", "Ix"),
    "as-common-of": ("Ix", "Ix", "Ix", "Ix", "Ix", "Ix"),
    "as-product": ("Ix", "Ix", "Ix"),
    "quotient": ("Ix", "Ix", "i64"),
    "remainder": ("Ix", "Ix", "i64"),
    "quotient-of": ("Ix", "Ix", "Ix"),
    "remainder-of": ("Ix", "Ix", "Ix"),
    "difference": ("Ix", "Ix", "Ix"),
    "total": ("Ix", "Ix", "Ix"),
    "as-pair": ("Ix", "i64", "Ix", "i64", "Ix", "Ix"),
}
# what operations of elements have (rules/elements.py): the number of the law, and names
LAWS = {"law": ("i64", "Name", "Name", "Name", "Name")}
# facts that are functions: name -> key sorts; all map to i64
FACTS = {"lo": ("Ix",), "hi": ("Ix",), "residue": ("Ix", "i64"), "rank": ("Tx",)}
MERGE = {"lo": "(max old new)", "hi": "(min old new)", "residue": "(min old new)", "rank": "(min old new)"}


# the columns of relation `row`, through which everything is loaded: what it is, a handle or key, operands
ROW_WIDTH = 10
# sums of at most this many terms are one row
SHORT_SUM = 3
# nodes that are made when all their members have been stated
GATHERED = ("Sum", "Prod")


def loadable(sorts: tuple[str, ...]) -> tuple[str, ...]:
    """What rows can state, by number: constructors, facts, views, members of sums and products, equalities."""
    named = [node.name for node in nodes_of(sorts)] + [*over(FACTS, sorts), *relations(sorts)]
    short = (f"Sum{n}" for n in range(1, SHORT_SUM + 1))
    return (*named, "bounds", *short, "term", "Sum", "factor", "Prod", "same", "same tensor")


def over(relations: Mapping[str, tuple[str, ...]], sorts: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """The facts or views about these sorts."""
    return {name: operands for name, operands in relations.items() if set(sorts).issuperset(set(operands) - {"i64", "Name"})}


def relations(sorts: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """The views about these sorts, and laws where they are those of elements."""
    return over(VIEWS, sorts) | (LAWS if "Sx" in sorts else {})


def _egglog_sort(sort: str) -> str:
    return "i64" if sort == "Name" else sort


def _value(sort: str, name: str) -> str:
    return f"(H{sort} {name})" if sort in CLASS_SORTS else name


def load_ruleset(name: str) -> str:
    """The ruleset that carries out rows of one kind."""
    return f"load-{name.replace(' ', '-')}"


def _loader(kind: int, name: str, names: list[str], actions: str, where: str = "") -> str:
    """The rule that carries out rows of one kind, in a ruleset of its own."""
    columns = [*names, *(f"z{k}" for k in range(ROW_WIDTH - 1 - len(names)))]
    row = f"(row {kind} {' '.join(columns)})"
    ruleset = load_ruleset(name)
    return f'(ruleset {ruleset})\n(rule ({row} {where}) ({actions}) :ruleset {ruleset} :name "load {name}")'


def _loaders(sorts: tuple[str, ...]) -> Iterator[str]:
    kinds = {name: kind for kind, name in enumerate(loadable(sorts))}
    for node in nodes_of(sorts):
        names = [f"a{k}" for k in range(len(node.operands))]
        built = " ".join(_value(sort, name) for sort, name in zip(node.operands, names, strict=True))
        leaf = f"(leaf (H{node.sort} h))" if node.name in INDEX_LEAVES else ""
        yield _loader(kinds[node.name], node.name, ["h", *names], f"(union (H{node.sort} h) ({node.name} {built})) {leaf}")
    for name, keys in (over(FACTS, sorts) | relations(sorts)).items():
        names = [f"a{k}" for k in range(len(keys))]
        stated = f"({name} {' '.join(_value(sort, key) for sort, key in zip(keys, names, strict=True))})"
        yield _loader(kinds[name], name, [*names, "v"], f"(set {stated} v)") if name in FACTS else _loader(kinds[name], name, names, stated)
    yield _loader(kinds["bounds"], "bounds", ["h", "l", "u"], "(set (lo (HIx h)) l) (set (hi (HIx h)) u)")
    for n in range(1, SHORT_SUM + 1):
        names = [f"{letter}{k}" for k in range(n) for letter in "ka"]
        members = " ".join(f"(T k{k} (HIx a{k}))" for k in range(n))
        yield _loader(kinds[f"Sum{n}"], f"Sum{n}", ["h", "c", *names], f"(union (HIx h) (Sum c (multiset-of {members})))")
    # a longer n-ary node is loaded member by member: members gather in a multiset, then become the node
    yield _loader(kinds["term"], "term", ["h", "k", "a"], "(set (gathered h) (multiset-single (T k (HIx a)) 1))")
    yield _loader(kinds["factor"], "factor", ["h", "a", "n"], "(set (gathered-factors h) (multiset-single (HIx a) n))")
    yield _loader(kinds["Sum"], "Sum", ["h", "c"], "(union (HIx h) (Sum c ms)) (delete (gathered h))", "(= ms (gathered h))")
    yield _loader(kinds["Prod"], "Prod", ["h"], "(union (HIx h) (Prod ms)) (delete (gathered-factors h))", "(= ms (gathered-factors h))")
    yield _loader(kinds["same"], "same", ["a", "b"], "(union (HIx a) (HIx b))")
    if "Tx" in sorts:
        yield _loader(kinds["same tensor"], "same tensor", ["a", "b"], "(union (HTx a) (HTx b))")


@functools.cache
def nodes_of(sorts: tuple[str, ...]) -> tuple[Constructor, ...]:
    """The constructors whose operands and results are all of these sorts."""
    known = {*sorts, "i64", "Name"}
    return tuple(node for node in CONSTRUCTORS.values() if known.issuperset((node.sort, *node.operands)))


def declarations(sorts: tuple[str, ...] = CLASS_SORTS) -> str:
    """The egglog text that declares all of this for some sorts; the rules of the tables follow it."""
    lines = [*(f"(sort {sort})" for sort in sorts), "(sort Term)"]
    lines += [f"(constructor H{sort} (i64) {sort} :unextractable)" for sort in sorts]
    lines += [f"(constructor {n.name} ({' '.join(map(_egglog_sort, n.operands))}) {n.sort})" for n in nodes_of(sorts)]
    lines += ["(relation alarm (Ix))", "(relation leaf (Ix))"]
    lines += ["(constructor T (i64 Ix) Term)", "(sort Terms (MultiSet Term))", "(constructor Sum (i64 Terms) Ix)"]
    lines += ["(sort Factors (MultiSet Ix))", "(constructor Prod (Factors) Ix)"]
    lines += [f"(function {name} ({' '.join(keys)}) i64 :merge {MERGE[name]})" for name, keys in over(FACTS, sorts).items()]
    lines += [f"(relation {name} ({' '.join(map(_egglog_sort, operands))}))" for name, operands in relations(sorts).items()]
    lines += ["(function gathered (i64) Terms :merge (multiset-sum old new))"]
    lines += ["(function gathered-factors (i64) Factors :merge (multiset-sum old new))"]
    lines += [f"(relation row ({' '.join(['i64'] * ROW_WIDTH)}))"]
    return "\n".join([*lines, *_loaders(sorts), *_clearing(sorts)])


def _clearing(sorts: tuple[str, ...]) -> Iterator[str]:
    """Rules that empty every table that a session fills (ruleset clear)."""
    rows = {node.name: len(node.operands) for node in nodes_of(sorts)}
    rows |= {f"H{sort}": 1 for sort in sorts} | {"T": 2, "Sum": 2, "Prod": 1}
    yield "(ruleset clear)"
    columns = " ".join(f"a{k}" for k in range(ROW_WIDTH))
    yield f'(rule ((row {columns})) ((delete (row {columns}))) :ruleset clear :name "clear row")'
    for name, arity in rows.items():
        row = f"({' '.join([name, *(f'a{k}' for k in range(arity))])})"
        yield f'(rule ((= e {row})) ((delete {row})) :ruleset clear :name "clear {name}")'
    for name, operands in {**over(FACTS, sorts), **relations(sorts), "alarm": ("Ix",), "leaf": ("Ix",)}.items():
        row = f"({' '.join([name, *(f'a{k}' for k in range(len(operands)))])})"
        fact = f"(= v {row})" if name in FACTS else row
        yield f'(rule ({fact}) ((delete {row})) :ruleset clear :name "clear {name}")'
