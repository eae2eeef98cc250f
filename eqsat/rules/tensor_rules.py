"""Tensor algebra: generic = build, reads of builds, and explicit substitution (source: "Ideas for optimizing generic operations").

`Subst e s`, `CompList js s` and `Comp j s` are e, js and j under the substitution s = Env js d: Axis k becomes the k-th of js,
reduction variables rise by d levels, so that nothing is captured.  Index terms over sums are substituted by the row
`substitute-sum`, when a candidate needs them.
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
            "(union t (Build shape (FoldOver combine 0 extents (Block block ops))))",
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
            "(= e (Read t js)) (= t (Build shape body)) (= d (levels js))",
            "(union e (Subst body (Env js d)))",
            "beta reduction; the array in between need not exist",
        ),
    ),
)

_CALLS = ("a", "a b", "a b c")


def _under(node: str, args: str, operand: str, wrapped: str) -> tuple[str, str]:
    """(fact, action): `operand` applied to a Call of `args` is the Call of `wrapped` operands."""
    return (
        f"(= e ({operand.format('f')})) (= f ({node} op dtype {args}))",
        f"(union e ({node} op dtype {' '.join('(' + wrapped.format(a) + ')' for a in args.split())}))",
    )


def _through_calls() -> tuple[Row, ...]:
    rows: list[Row] = []
    for count, args in enumerate(_CALLS, start=1):
        for name, what in (("substitute", "Subst {} s"), ("block", "Block {} s")):
            body, head = _under(f"Call{count}", args, what, what)
            rows.append(TensorRule(f"{name}-call-{count}", f"f({args.replace(' ', ', ')})[s] = f({', '.join(f'{a}[s]' for a in args.split())})", body, head))
    return tuple(rows)


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
            "(= e (Subst (Read x js) s)) (= s (Env ks d)) (= l (levels js))",
            "(union e (Read x (CompList js s))) (set (levels (CompList js s)) (+ l d))",
            "indexing maps compose",
        ),
        TensorRule(
            "substitute-reduce",
            "(fold r. f)[s] = fold r'. f[s], r' fresh",
            "(= e (Subst f s)) (= f (Reduce op l n body)) (= s (Env ks d))",
            "(union e (Reduce op (+ l d) n (Subst body s)))",
            "levels used by s are below d",
        ),
        TensorRule("block-literal", "c[args] = c", "(= e (Block f s)) (= f (Literal v t))", "(union e f)"),
        TensorRule("block-argument", "arg k [args] = args k", "(= e (Block f s)) (= f (Arg k t))", "(union e (Nth s k))"),
        TensorRule("first-operand", "(X[h], rest) 0 = X[h]", "(= e (Nth s 0)) (= s (Operand x js rest))", "(union e (Read x js))"),
        TensorRule("next-operand", "(X[h], rest) k = rest (k-1)", "(= e (Nth s k)) (> k 0) (= s (Operand x js rest))", "(union e (Nth rest (- k 1)))"),
        TensorRule("fold-over-none", "fold () b = b", "(= e (FoldOver op l ns b)) (= ns (Nil))", "(union e b)"),
        TensorRule(
            "fold-over-extent",
            "fold (n, ns) b = fold r < n. fold ns b",
            "(= e (FoldOver op l ns b)) (= ns (Cons n rest)) (= n (Num v))",
            "(union e (Reduce op l v (FoldOver op (+ l 1) rest b)))",
        ),
        TensorRule("compose-empty", "()[s] = ()", "(= e (CompList js s)) (= js (Nil))", "(union e js)"),
        TensorRule(
            "compose-list",
            "(j, js)[s] = (j[s], js[s])",
            "(= e (CompList ks s)) (= ks (Cons j js))",
            "(union e (Cons (Comp j s) (CompList js s)))",
        ),
        TensorRule("compose-axis", "axis k [js] = k-th of js", "(= e (Comp j s)) (= j (Axis k n)) (= s (Env js d))", "(union e (Pick js k))"),
        TensorRule("compose-reduction", "r_l [s] = r_(l+d)", "(= e (Comp j s)) (= j (RAxis l n)) (= s (Env js d))", "(union e (RAxis (+ l d) n))"),
        TensorRule("compose-constant", "c[s] = c", "(= e (Comp j s)) (= j (Num v))", "(union e j)"),
        TensorRule("pick-first", "(j, js) 0 = j", "(= e (Pick js 0)) (= js (Cons j rest))", "(union e j)"),
        TensorRule("pick-next", "(j, js) k = js (k-1)", "(= e (Pick js k)) (> k 0) (= js (Cons j rest))", "(union e (Pick rest (- k 1)))"),
        SumRow("substitute-sum", "(c + k*p + ..)[s] = c + k*p[s] + ..", "substitution through n-ary sums and the divisions over them, on demand"),
    ),
)

TENSOR_TABLES = (GENERIC_BUILD, SUBSTITUTION)
