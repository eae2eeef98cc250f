"""Tensor algebra: generic = build, reads of builds, and explicit substitution (source: "Ideas for optimizing generic operations").

`Subst e s`, `CompList js s` and `Comp j s` are e, js and j under the substitution s = Env js k: Axis i becomes the i-th of js,
raised over the k reductions between (`Up`).  Reduction variables are de Bruijn indices, so that renaming never makes a second
class of the same element.  Index terms are substituted as they are written (Raw nodes): that is associative, so however a
chain is fused, its map is one class.  The maps that candidates need then enter the index algebra (row `state-map`).
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
            "(= t (Generic shape extents ops block combine))",
            "(union t (Build shape (FoldOver combine extents (Block block ops))))",
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
            "(= e (Read t js)) (= t (Build shape body))",
            "(union e (Subst body (Env js 0)))",
            "beta reduction; the array in between need not exist",
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

_CALLS = ("a", "a b", "a b c")


def _under(node: str, args: str, operand: str, wrapped: str) -> tuple[str, str]:
    """(fact, action): `operand` applied to a Call of `args` is the Call of `wrapped` operands.

    A class that it leaves as it is says nothing new: without the guard f = f[s] would unroll without end.
    """
    return (
        f"(= e ({operand.format('f')})) (!= e f) (= f ({node} op dtype {args}))",
        f"(union e ({node} op dtype {' '.join('(' + wrapped.format(a) + ')' for a in args.split())}))",
    )


def _through_index_terms(name: str, node: str, wrapped: str, by: str) -> tuple[Row, ...]:
    """An operation on index terms goes through the operations that they are written with."""
    rows: list[Row] = []
    for count, args in enumerate(_CALLS, start=1):
        body = f"(= e ({node} j {by})) (= j (Raw{count} op {args}))"
        head = f"(union e (Raw{count} op {' '.join('(' + wrapped.format(a) + ')' for a in args.split())}))"
        mark = "[s]" if node == "Comp" else "^k"
        equation = f"op({args.replace(' ', ', ')}){mark} = op({', '.join(a + mark for a in args.split())})"
        rows.append(TensorRule(f"{name}-{count}", equation, body, head))
    return tuple(rows)


def _through_calls() -> tuple[Row, ...]:
    rows: list[Row] = []
    for count, args in enumerate(_CALLS, start=1):
        for name, what in (("substitute", "Subst {} s"), ("block", "Block {} s")):
            body, head = _under(f"Call{count}", args, what, what)
            rows.append(
                TensorRule(
                    f"{name}-call-{count}", f"f({args.replace(' ', ', ')})[s] = f({', '.join(f'{a}[s]' for a in args.split())})", body, head
                )
            )
    return tuple(rows)


MAPS = Table(
    "maps",
    "fusion",
    "from composed maps to the index algebra",
    (
        SumRow(
            "state-map",
            "a map as written = its n-ary form",
            "for the maps of candidate programs: the cheapest with indices as they stand, and with free ones",
        ),
    ),
)

SUBSTITUTION = Table(
    "substitution",
    "fusion",
    "carrying a substitution through elements, reductions and indexing maps",
    (
        *_through_calls(),
        TensorRule("substitute-literal", "c[s] = c", "(= e (Subst f s)) (= f (Literal v t))", "(union e f)"),
        TensorRule(
            "map-composition",
            "X[h(i)][s] = X[h(s(i))]",
            "(= e (Subst f s)) (= f (Read x js)) (written x js)",
            "(union e (Read x (CompList js s)))",
            "indexing maps compose; only reads of the program as it was written, for the others follow from them step by step",
        ),
        TensorRule(
            "substitute-reduce",
            "(fold r. f)[s] = fold r. f[s]",
            "(= e (Subst f s)) (!= e f) (= f (Reduce op n body)) (= s (Env js k))",
            "(union e (Reduce op n (Subst body (Env js (+ k 1)))))",
            "what s brings in is raised over r, so nothing is captured; what s leaves as it is would unroll without end",
        ),
        TensorRule("block-literal", "c[args] = c", "(= e (Block f s)) (= f (Literal v t))", "(union e f)"),
        TensorRule("block-argument", "arg k [args] = args k", "(= e (Block f s)) (= f (Arg k t))", "(union e (Nth s k))"),
        TensorRule(
            "substitute-element",
            "X[i][s] = X[s(i)]",
            "(= e (Subst f s)) (= f (Element x)) (= s (Env js k))",
            "(union e (Read x (UpList js k)))",
        ),
        TensorRule("element-operand", "(X, rest) 0 = X[i]", "(= e (Nth s 0)) (= s (Whole x rest))", "(union e (Element x))"),
        TensorRule(
            "operand-after-element",
            "(X, rest) k = rest (k-1)",
            "(= e (Nth s k)) (> k 0) (= s (Whole x rest))",
            "(union e (Nth rest (- k 1)))",
        ),
        TensorRule("first-operand", "(X[h], rest) 0 = X[h]", "(= e (Nth s 0)) (= s (Operand x js rest))", "(union e (Read x js))"),
        TensorRule(
            "next-operand",
            "(X[h], rest) k = rest (k-1)",
            "(= e (Nth s k)) (> k 0) (= s (Operand x js rest))",
            "(union e (Nth rest (- k 1)))",
        ),
        TensorRule("fold-over-none", "fold () b = b", "(= e (FoldOver op ns b)) (= ns (Nil))", "(union e b)"),
        TensorRule(
            "fold-over-extent",
            "fold (n, ns) b = fold r < n. fold ns b",
            "(= e (FoldOver op ns b)) (= ns (Cons n rest)) (= n (Num v))",
            "(union e (Reduce op v (FoldOver op rest b)))",
        ),
        TensorRule("compose-empty", "()[s] = ()", "(= e (CompList js s)) (= js (Nil))", "(union e js)"),
        TensorRule(
            "compose-list",
            "(j, js)[s] = (j[s], js[s])",
            "(= e (CompList ks s)) (= ks (Cons j js))",
            "(union e (Cons (Comp j s) (CompList js s)))",
        ),
        TensorRule(
            "compose-axis", "axis i [js] = i-th of js", "(= e (Comp j s)) (= j (Axis i n)) (= s (Env js k))", "(union e (Up (Pick js i) k))"
        ),
        TensorRule("compose-reduction", "r[s] = r", "(= e (Comp j s)) (= j (RAxis l n))", "(union e j)"),
        TensorRule("compose-constant", "c[s] = c", "(= e (Comp j s)) (= j (Num v))", "(union e j)"),
        TensorRule("pick-first", "(j, js) 0 = j", "(= e (Pick js 0)) (= js (Cons j rest))", "(union e j)"),
        TensorRule("pick-next", "(j, js) k = js (k-1)", "(= e (Pick js k)) (> k 0) (= js (Cons j rest))", "(union e (Pick rest (- k 1)))"),
        *_through_index_terms("compose-index", "Comp", "Comp {} s", "s"),
        TensorRule("raise-list-by-zero", "js^0 = js", "(= e (UpList js 0))", "(union e js)"),
        TensorRule("raise-empty", "()^k = ()", "(= e (UpList js k)) (= js (Nil))", "(union e js)"),
        TensorRule(
            "raise-list", "(j, js)^k = (j^k, js^k)", "(= e (UpList ks k)) (= ks (Cons j js))", "(union e (Cons (Up j k) (UpList js k)))"
        ),
        TensorRule("raise-by-zero", "j^0 = j", "(= e (Up j 0))", "(union e j)"),
        TensorRule("raise-axis", "axis^k = axis", "(= e (Up j k)) (= j (Axis i n))", "(union e j)"),
        TensorRule("raise-reduction", "r_l^k = r_(l+k)", "(= e (Up j k)) (= j (RAxis l n))", "(union e (RAxis (+ l k) n))"),
        TensorRule("raise-constant", "c^k = c", "(= e (Up j k)) (= j (Num v))", "(union e j)"),
        *_through_index_terms("raise-index", "Up", "Up {} k", "k"),
    ),
)

TENSOR_TABLES = (GENERIC_BUILD, SUBSTITUTION, MAPS)
