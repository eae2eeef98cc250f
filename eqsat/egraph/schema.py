"""What the e-graph holds: sorts and constructors of egglog, written down once.

Index classes (sort Ix).  Sums and products are n-ary: `Sum c {T k a, ...}` is c + k*a + ..., `Prod {a, ...}` a product of
atoms, over egglog MultiSets, so commutativity and associativity are in the representation.  Truth values are 0 and 1.
Rules may build the binary recipes `Add` and `Scale`; the row `flatten-sum` gives them their n-ary form.  `Raw` nodes are
operations of ir.index as they are written, in the maps of tensor programs: substitution goes through them, index rules do
not see them.  Comparisons are Lt, Eq and Not.

Tensor classes (sort Tx), their elements (Sx), lists of index classes (Ixs), operands of a Generic (Ops).  Function bodies are
kept as syntax (Sy), apart from the classes of elements: applying a function walks what was written, not all that it equals.
A substitution (Sub) is `Own k ops`, the loops of the tensor itself, or `Env js k ops`, where loop i is the i-th of js; both
under k reductions and with the operands that a block's arguments stand for (rules/tensor_rules.py).  `Element t` is t at
the loops around it, `Whole t` an operand read so; `RAxis l n` is the variable of the l-th reduction around it, innermost 0.

Facts come in bulk, through files: every constructor C has a relation `load_C (handle ...)`, where handles are integers that
name classes (constructor H).  Views are facts about n-ary nodes that Python finds and the rules match.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from eqsat.ir.index import OPS

CLASS_SORTS = ("Ix", "Sx", "Tx", "Ixs", "Ops", "Sub", "Sy")


@dataclass(frozen=True)
class Constructor:
    """An e-node kind: operands by sort; i64 and String operands are parameters."""

    name: str
    operands: tuple[str, ...]
    sort: str


def _title(op: str) -> str:
    return op.capitalize()


# index operations of fixed arity that are nodes of their own; add, sub, neg and mul become Sum and Prod,
# le, gt, ge and ne become Lt, Eq and Not
NODE_OPS = tuple(name for name in OPS if name not in ("add", "sub", "neg", "mul", "le", "gt", "ge", "ne"))
OP_OF_NODE = {_title(name): name for name in NODE_OPS}

INDEX_NODES = (
    Constructor("Num", ("i64",), "Ix"),
    Constructor("Var", ("String", "i64", "i64"), "Ix"),
    Constructor("Axis", ("i64", "i64"), "Ix"),
    Constructor("RAxis", ("i64", "i64"), "Ix"),
    Constructor("Add", ("Ix", "Ix"), "Ix"),
    Constructor("Scale", ("i64", "Ix"), "Ix"),
    *(Constructor(f"Raw{n}", ("String", *("Ix",) * n), "Ix") for n in (1, 2, 3)),
    *(Constructor(_title(name), ("Ix",) * OPS[name].arity, "Ix") for name in NODE_OPS),
)
TENSOR_NODES = (
    Constructor("Nil", (), "Ixs"),
    Constructor("Cons", ("Ix", "Ixs"), "Ixs"),
    Constructor("Literal", ("String", "String"), "Sx"),
    Constructor("Read", ("Tx", "Ixs"), "Sx"),
    Constructor("Element", ("Tx",), "Sx"),
    Constructor("Call1", ("String", "String", "Sx"), "Sx"),
    Constructor("Call2", ("String", "String", "Sx", "Sx"), "Sx"),
    Constructor("Call3", ("String", "String", "Sx", "Sx", "Sx"), "Sx"),
    Constructor("Reduce", ("String", "i64", "Sx"), "Sx"),
    Constructor("Leaf", ("i64",), "Tx"),
    Constructor("Build", ("Ixs", "Sx"), "Tx"),
    Constructor("NoOps", (), "Ops"),
    Constructor("Operand", ("Tx", "Ixs", "Ops"), "Ops"),
    Constructor("Whole", ("Tx", "Ops"), "Ops"),
    Constructor("Generic", ("Ixs", "String", "Ixs", "Sy", "Ops"), "Tx"),
)
# functions as they are written: never made equal to anything, only applied
SYNTAX_NODES = (
    Constructor("QLiteral", ("String", "String"), "Sy"),
    Constructor("QRead", ("Tx", "Ixs"), "Sy"),
    Constructor("QElement", ("Tx",), "Sy"),
    Constructor("QArg", ("i64",), "Sy"),
    Constructor("QCall1", ("String", "String", "Sy"), "Sy"),
    Constructor("QCall2", ("String", "String", "Sy", "Sy"), "Sy"),
    Constructor("QCall3", ("String", "String", "Sy", "Sy", "Sy"), "Sy"),
    Constructor("QReduce", ("String", "i64", "Sy"), "Sy"),
)
# made by rules only: applications that wait to be carried out
PENDING_NODES = (
    Constructor("Own", ("i64", "Ops"), "Sub"),
    Constructor("Env", ("Ixs", "i64", "Ops"), "Sub"),
    Constructor("Comp", ("Ix", "Sub"), "Ix"),
    Constructor("Pick", ("Ixs", "i64"), "Ix"),
    Constructor("Up", ("Ix", "i64"), "Ix"),
    Constructor("UpList", ("Ixs", "i64"), "Ixs"),
    Constructor("CompList", ("Ixs", "Sub"), "Ixs"),
    Constructor("At", ("Sy", "Sub"), "Sx"),
    Constructor("Nth", ("Ops", "i64", "Sub"), "Sx"),
    Constructor("Fold", ("String", "Ixs", "Sy", "Sub"), "Sx"),
)
CONSTRUCTORS = {node.name: node for node in (*INDEX_NODES, *TENSOR_NODES, *SYNTAX_NODES, *PENDING_NODES)}

# views: relation name -> operand sorts; what each states is in rules/sums.py; `function-of t`: t = build (i -> fold of body over extents)
VIEWS = {
    "as-multiple": ("Ix", "i64", "Ix", "Ix"),
    "as-common": ("Ix", "i64", "i64", "Ix", "Ix"),
    "as-offset": ("Ix", "Ix", "i64"),
    "as-inner": ("Ix", "i64", "Ix", "i64", "Ix"),
    "as-pair": ("Ix", "i64", "Ix", "i64", "Ix", "Ix"),
    "function-of": ("Tx", "String", "Ixs", "Sy", "Ops"),
}
# facts that are functions: name -> key sorts; all map to i64
FACTS = {"lo": ("Ix",), "hi": ("Ix",), "residue": ("Ix", "i64")}
MERGE = {"lo": "(max old new)", "hi": "(min old new)", "residue": "(min old new)"}


def _column(sort: str) -> str:
    return "i64" if sort in CLASS_SORTS else sort


def _value(sort: str, name: str) -> str:
    return f"(H{sort} {name})" if sort in CLASS_SORTS else name


def _loader(node: Constructor) -> Iterator[str]:
    names = [f"a{k}" for k in range(len(node.operands))]
    fact = f"(load_{node.name} {' '.join(['h', *names])})"
    built = " ".join(_value(sort, name) for sort, name in zip(node.operands, names, strict=True))
    yield f"(relation load_{node.name} (i64 {' '.join(map(_column, node.operands))}))"
    yield f'(rule ({fact}) ((union (H{node.sort} h) ({node.name} {built})) (delete {fact})) :ruleset load :name "load {node.name}")'


def _fact_loader(name: str, sorts: tuple[str, ...], valued: bool) -> Iterator[str]:
    names = [f"a{k}" for k in range(len(sorts))]
    keys = " ".join(_value(sort, key) for sort, key in zip(sorts, names, strict=True))
    columns = " ".join(map(_column, sorts))
    fact = f"(load_{name} {' '.join(names)}{' v' if valued else ''})"
    yield f"(relation load_{name} ({columns}{' i64' if valued else ''}))"
    action = f"(set ({name} {keys}) v)" if valued else f"({name} {keys})"
    yield f'(rule ({fact}) ({action} (delete {fact})) :ruleset load :name "load {name}")'


TENSOR_VIEWS = ("function-of",)


def nodes_of(sorts: tuple[str, ...]) -> tuple[Constructor, ...]:
    """The constructors whose operands and results are all of these sorts."""
    known = {*sorts, "i64", "String"}
    return tuple(node for node in CONSTRUCTORS.values() if known.issuperset((node.sort, *node.operands)))


def declarations(sorts: tuple[str, ...] = CLASS_SORTS) -> str:
    """The egglog text that declares all of this for some sorts; the rules of the tables follow it."""
    nodes = nodes_of(sorts)
    views = {name: operands for name, operands in VIEWS.items() if "Tx" in sorts or name not in TENSOR_VIEWS}
    lines = ["(ruleset load)", "(ruleset load-sums)", *(f"(sort {sort})" for sort in sorts), "(sort Term)"]
    lines += [f"(constructor H{sort} (i64) {sort} :unextractable)" for sort in sorts]
    lines += [f"(constructor {n.name} ({' '.join(n.operands)}) {n.sort})" for n in nodes]
    lines += ["(relation alarm (Ix))"]
    lines += ["(constructor T (i64 Ix) Term)", "(sort Terms (MultiSet Term))", "(constructor Sum (i64 Terms) Ix)"]
    lines += ["(sort Factors (MultiSet Ix))", "(constructor Prod (Factors) Ix)"]
    lines += [f"(function {name} ({' '.join(keys)}) i64 :merge {MERGE[name]})" for name, keys in FACTS.items()]
    lines += [f"(relation {name} ({' '.join(operands)}))" for name, operands in views.items()]
    for node in nodes:
        lines += _loader(node)
    for name, keys in FACTS.items():
        lines += _fact_loader(name, keys, valued=True)
    for name, operands in views.items():
        lines += _fact_loader(name, operands, valued=False)
    lines.append(NARY_LOADERS)
    if "Tx" in sorts:
        lines.append(SAME_TENSOR_LOADER)
    return "\n".join([*lines, *_clearing(sorts, views)])


def _clearing(sorts: tuple[str, ...], views: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """Rules that empty every table that a session fills (ruleset clear)."""
    rows = {node.name: len(node.operands) for node in nodes_of(sorts)}
    rows |= {f"H{sort}": 1 for sort in sorts} | {"T": 2, "Sum": 2, "Prod": 1}
    yield "(ruleset clear)"
    for name, arity in rows.items():
        row = f"({' '.join([name, *(f'a{k}' for k in range(arity))])})"
        yield f'(rule ((= e {row})) ((delete {row})) :ruleset clear :name "clear {name}")'
    for name, operands in {**FACTS, **views, "alarm": ("Ix",)}.items():
        row = f"({' '.join([name, *(f'a{k}' for k in range(len(operands)))])})"
        fact = f"(= v {row})" if name in FACTS else row
        yield f'(rule ({fact}) ((delete {row})) :ruleset clear :name "clear {name}")'


# an n-ary node is loaded member by member: members gather in a multiset, then become the node
NARY_LOADERS = """
(function gathered (i64) Terms :merge (multiset-sum old new))
(function gathered-factors (i64) Factors :merge (multiset-sum old new))
(relation load_term (i64 i64 i64))
(relation load_Sum (i64 i64))
(relation load_factor (i64 i64 i64))
(relation load_Prod (i64))
(relation load_same (i64 i64))
(rule ((load_same a b))
      ((union (HIx a) (HIx b)) (delete (load_same a b)))
      :ruleset load :name "load same")
(rule ((load_term h k a))
      ((set (gathered h) (multiset-single (T k (HIx a)) 1)) (delete (load_term h k a)))
      :ruleset load :name "load term")
(rule ((load_factor h a n))
      ((set (gathered-factors h) (multiset-single (HIx a) n)) (delete (load_factor h a n)))
      :ruleset load :name "load factor")
(rule ((load_Sum h c) (= ms (gathered h)))
      ((union (HIx h) (Sum c ms)) (delete (load_Sum h c)) (delete (gathered h)))
      :ruleset load-sums :name "load Sum")
(rule ((load_Prod h) (= ms (gathered-factors h)))
      ((union (HIx h) (Prod ms)) (delete (load_Prod h)) (delete (gathered-factors h)))
      :ruleset load-sums :name "load Prod")
"""

SAME_TENSOR_LOADER = """
(relation load_same_tensor (i64 i64))
(rule ((load_same_tensor a b))
      ((union (HTx a) (HTx b)) (delete (load_same_tensor a b)))
      :ruleset load :name "load same tensor")
"""
