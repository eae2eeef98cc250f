"""Tensor algebra: generic = build, reads of builds, and explicit substitution (source: "Ideas for optimizing generic operations").

A tensor's function is kept as it was written (`function-of`, sort Sy).  `At f s` is the element f under the substitution s, `Fold`
the fold of it over extents, `CompList js s` and `Comp j s` are indices under s, and `Up j k` is an index raised over k more
reductions.  Reduction variables are de Bruijn indices, so that renaming never makes a second class of the same element.
Index terms are substituted as they are written (Raw nodes): that is associative, so however a chain is fused, its map is one
class.  The maps that candidates need then enter the index algebra (row `state-map`).
"""

from __future__ import annotations

from eqsat.rules.row import Row, SumRow, Table, TensorRule

GENERIC_BUILD = Table(
    "generic-build",
    "fusion",
    "a generic operation is a build, and reading a build is applying its function",
    (
        TensorRule(
            "generic-is-build",
            "generic(maps, ins(X..) {block}) = build N (i -> fold block(X[map(i)]..))",
            "(= t (Generic place shape combine extents block ops))",
            "(union t (Build shape (Fold combine extents block (Own 0 ops)))) (function-of t place combine extents block ops)",
            "equation (3) of the source",
        ),
        SumRow(
            "build-is-generic",
            "build N (i -> f(X[h(i)]..)) = generic(maps h, ins(X..) {y = f(x..)})",
            "the way back: a fused build is one generic with the composed block",
        ),
        TensorRule(
            "read-of-build",
            "(build N f)[h(i)] = f(h(i))",
            "(= e (Read t js)) (= place (rank t)) (function-of t place combine extents body ops)",
            "(union e (Fold combine extents body (Env js 0 ops)))",
            "beta reduction; of equal tensors the first one's function, which reads none of them",
        ),
        TensorRule(
            "element-of-build",
            "(build N f)[i] = f(i)",
            "(= e (Element t)) (= t (Build shape body))",
            "(union e body)",
            "read-of-build where the loops are those of the build: nothing to substitute",
        ),
    ),
)

_OPERANDS = ("a", "a b", "a b c")


def _through_calls() -> tuple[Row, ...]:
    """A function of elements is applied by applying its operands."""
    rows: list[Row] = []
    for count, names in enumerate(_OPERANDS, start=1):
        applied = " ".join(f"(At {a} s)" for a in names.split())
        equation = f"f({names.replace(' ', ', ')})[s] = f({', '.join(f'{a}[s]' for a in names.split())})"
        body = f"(= e (At f s)) (= f (QCall{count} op dtype {names}))"
        rows.append(TensorRule(f"substitute-call-{count}", equation, body, f"(union e (Call{count} op dtype {applied}))"))
    return tuple(rows)


def _through_index_terms(name: str, node: str, by: str, mark: str) -> tuple[Row, ...]:
    """An operation on index terms goes through the operations that they are written with."""
    rows: list[Row] = []
    for count, names in enumerate(_OPERANDS, start=1):
        below = " ".join(f"({node} {a} {by})" for a in names.split())
        equation = f"op({names.replace(' ', ', ')}){mark} = op({', '.join(a + mark for a in names.split())})"
        body = f"(= e ({node} j {by})) (= j (Raw{count} op {names}))"
        rows.append(TensorRule(f"{name}-{count}", equation, body, f"(union e (Raw{count} op {below}))"))
    return tuple(rows)


ELEMENTS: tuple[Row, ...] = (
    TensorRule("substitute-literal", "c[s] = c", "(= e (At f s)) (= f (QLiteral v t))", "(union e (Literal v t))"),
    *_through_calls(),
    TensorRule(
        "map-composition",
        "X[h(i)][s] = X[h(s(i))]",
        "(= e (At f s)) (= f (QRead x js))",
        "(union e (Read x (CompList js s)))",
        "indexing maps compose",
    ),
    TensorRule("keep-element", "X[i] = X[i]", "(= e (At f s)) (= f (QElement x)) (= s (Own k ops))", "(union e (Element x))"),
    TensorRule(
        "substitute-element",
        "X[i][s] = X[s(i)]",
        "(= e (At f s)) (= f (QElement x)) (= s (Env js k ops))",
        "(union e (Read x (UpList js k)))",
    ),
    TensorRule(
        "keep-reduce",
        "(fold r. f) = fold r. f",
        "(= e (At f s)) (= f (QReduce op n body)) (= s (Own k ops))",
        "(union e (Reduce op n (At body (Own (+ k 1) ops))))",
    ),
    TensorRule(
        "substitute-reduce",
        "(fold r. f)[s] = fold r. f[s]",
        "(= e (At f s)) (= f (QReduce op n body)) (= s (Env js k ops))",
        "(union e (Reduce op n (At body (Env js (+ k 1) ops))))",
        "what s brings in is raised over r, so nothing is captured",
    ),
    TensorRule("substitute-argument", "(x_k)[s] = operand k", "(= e (At f s)) (= f (QArg k)) (= s (Own d ops))", "(union e (Nth ops k s))"),
    TensorRule(
        "substitute-read-argument",
        "(x_k)[s] = operand k [s]",
        "(= e (At f s)) (= f (QArg k)) (= s (Env js d ops))",
        "(union e (Nth ops k s))",
    ),
    TensorRule(
        "first-operand", "(X[h], rest) 0 = X[h]", "(= e (Nth ops 0 s)) (= ops (Operand x js rest))", "(union e (At (QRead x js) s))"
    ),
    TensorRule(
        "next-operand",
        "(X[h], rest) k = rest (k-1)",
        "(= e (Nth ops k s)) (> k 0) (= ops (Operand x js rest))",
        "(union e (Nth rest (- k 1) s))",
    ),
    TensorRule("first-whole-operand", "(X, rest) 0 = X[i]", "(= e (Nth ops 0 s)) (= ops (Whole x rest))", "(union e (At (QElement x) s))"),
    TensorRule(
        "next-after-whole-operand",
        "(X, rest) k = rest (k-1)",
        "(= e (Nth ops k s)) (> k 0) (= ops (Whole x rest))",
        "(union e (Nth rest (- k 1) s))",
    ),
    TensorRule("fold-over-none", "fold () f = f", "(= e (Fold op ns f s)) (= ns (Nil))", "(union e (At f s))"),
    TensorRule(
        "fold-over-extent",
        "fold (n, ns) f = fold r < n. fold ns f",
        "(= e (Fold op ns f s)) (= ns (Cons n rest)) (= n (Num v)) (= s (Own k ops))",
        "(union e (Reduce op v (Fold op rest f (Own (+ k 1) ops))))",
    ),
    TensorRule(
        "fold-read-over-extent",
        "(fold (n, ns) f)[s] = fold r < n. (fold ns f)[s]",
        "(= e (Fold op ns f s)) (= ns (Cons n rest)) (= n (Num v)) (= s (Env js k ops))",
        "(union e (Reduce op v (Fold op rest f (Env js (+ k 1) ops))))",
    ),
)

INDICES: tuple[Row, ...] = (
    TensorRule("keep-list", "js = js", "(= e (CompList js s)) (= s (Own k ops))", "(union e js)"),
    TensorRule("compose-empty", "()[s] = ()", "(= e (CompList js s)) (= js (Nil))", "(union e js)"),
    TensorRule(
        "compose-list",
        "(j, js)[s] = (j[s], js[s])",
        "(= e (CompList ks s)) (= ks (Cons j js)) (= s (Env ls k ops))",
        "(union e (Cons (Comp j s) (CompList js s)))",
    ),
    TensorRule(
        "compose-axis",
        "axis i [js] = i-th of js",
        "(= e (Comp j s)) (= j (Axis i n)) (= s (Env js k ops))",
        "(union e (Up (Pick js i) k))",
    ),
    TensorRule("compose-reduction", "r[s] = r", "(= e (Comp j s)) (= j (RAxis l n))", "(union e j)"),
    TensorRule("compose-constant", "c[s] = c", "(= e (Comp j s)) (= j (Num v))", "(union e j)"),
    *_through_index_terms("compose-index", "Comp", "s", "[s]"),
    TensorRule("pick-first", "(j, js) 0 = j", "(= e (Pick js 0)) (= js (Cons j rest))", "(union e j)"),
    TensorRule("pick-next", "(j, js) k = js (k-1)", "(= e (Pick js k)) (> k 0) (= js (Cons j rest))", "(union e (Pick rest (- k 1)))"),
    TensorRule("raise-list-by-zero", "js^0 = js", "(= e (UpList js 0))", "(union e js)"),
    TensorRule("raise-empty", "()^k = ()", "(= e (UpList js k)) (= js (Nil))", "(union e js)"),
    TensorRule(
        "raise-list",
        "(j, js)^k = (j^k, js^k)",
        "(= e (UpList ks k)) (!= k 0) (= ks (Cons j js))",
        "(union e (Cons (Up j k) (UpList js k)))",
    ),
    TensorRule("raise-by-zero", "j^0 = j", "(= e (Up j 0))", "(union e j)"),
    TensorRule("raise-axis", "axis^k = axis", "(= e (Up j k)) (= j (Axis i n))", "(union e j)"),
    TensorRule("raise-reduction", "r_l^k = r_(l+k)", "(= e (Up j k)) (!= k 0) (= j (RAxis l n))", "(union e (RAxis (+ l k) n))"),
    TensorRule("raise-constant", "c^k = c", "(= e (Up j k)) (= j (Num v))", "(union e j)"),
    *_through_index_terms("raise-index", "Up", "k", "^k"),
)

SUBSTITUTION = Table(
    "substitution",
    "fusion",
    "carrying a substitution through elements, reductions and indexing maps",
    (*ELEMENTS, *INDICES),
)

MAPS = Table(
    "maps",
    "fusion",
    "from composed maps to the index algebra",
    (
        SumRow(
            "compose-views",
            "X[h(i)][l(j)] = X[h(l(j))]",
            "a movement of a movement is one movement; composed and simplified from the source on",
        ),
        SumRow("state-map", "a map as written = its n-ary form", "for the maps of the program that would be cheapest if indices were free"),
    ),
)

TENSOR_TABLES = (GENERIC_BUILD, SUBSTITUTION, MAPS)
