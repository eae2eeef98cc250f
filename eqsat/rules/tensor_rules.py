"""Tensor algebra: generic = build, reads of builds, and explicit substitution (source: "Ideas for optimizing generic operations").

A tensor's function is kept as it was written (sort Sy).  `At f js` is the element f where loop i is the i-th of js, `CompList
ks js` and `Comp k js` are indices there, and `Up j` is an index inside one more reduction.  Reduction variables are de Bruijn
indices, so that renaming never makes a second class of the same element.  Index terms are substituted as they are written
(Raw nodes): that is associative, so however a chain is fused, its map is one class.  The maps that candidates need then enter
the index algebra (row `state-map`).
"""

from __future__ import annotations

from eqsat.egraph.schema import GATHER_RANKS
from eqsat.rules.row import Row, SumRow, Table, TensorRule

GENERIC_BUILD = Table(
    "generic-build",
    "fusion",
    "a generic operation is a build, and reading a build is applying its function",
    (
        TensorRule(
            "generic-is-build",
            "generic(maps, ins(X..) {block}) = build N (i -> fold block(X[map(i)]..))",
            "(= t (Generic place shape f body))",
            "(union t (Build shape body))",
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
            "(= e (Read t js)) (= place (rank t)) (= t (Generic place shape f body))",
            "(union e (At f js))",
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
        applied = " ".join(f"(At {a} js)" for a in names.split())
        equation = f"f({names.replace(' ', ', ')})[js] = f({', '.join(f'{a}[js]' for a in names.split())})"
        body = f"(= e (At f js)) (= f (QCall{count} op dtype {names}))"
        rows.append(TensorRule(f"substitute-call-{count}", equation, body, f"(union e (Call{count} op dtype {applied}))"))
    return tuple(rows)


def _through_index_terms(name: str, node: str, by: str, mark: str) -> tuple[Row, ...]:
    """An operation on index terms goes through the operations that they are written with."""
    rows: list[Row] = []
    for count, names in enumerate(_OPERANDS, start=1):
        below = " ".join(f"({node} {a}{by})" for a in names.split())
        equation = f"op({names.replace(' ', ', ')}){mark} = op({', '.join(a + mark for a in names.split())})"
        body = f"(= e ({node} k{by})) (= k (Raw{count} op {names}))"
        rows.append(TensorRule(f"{name}-{count}", equation, body, f"(union e (Raw{count} op {below}))"))
    return tuple(rows)


def _through_gathers() -> tuple[Row, ...]:
    """A gather at places is applied by applying the places."""
    rows: list[Row] = []
    for count in GATHER_RANKS:
        names = " ".join("abcd"[:count])
        applied = " ".join(f"(At {a} js)" for a in names.split())
        equation = f"X[{names.replace(' ', ', ')}][js] = X[{', '.join(f'{a}[js]' for a in names.split())}]"
        rows.append(
            TensorRule(
                f"substitute-gather-{count}",
                equation,
                f"(= e (At f js)) (= f (QGather{count} x {names}))",
                f"(union e (Gather{count} x {applied}))",
            )
        )
    return tuple(rows)


ELEMENTS: tuple[Row, ...] = (
    TensorRule("substitute-literal", "c[js] = c", "(= e (At f js)) (= f (QLiteral v t))", "(union e (Literal v t))"),
    *_through_calls(),
    *_through_gathers(),
    TensorRule(
        "map-composition",
        "X[h(i)][js] = X[h(js)]",
        "(= e (At f js)) (= f (QRead x ks))",
        "(union e (Read x (CompList ks js)))",
        "indexing maps compose",
    ),
    TensorRule(
        "substitute-position",
        "i [js] = i-th of js",
        "(= e (At f js)) (= f (QPosition k t))",
        "(union e (Position (Comp k js) t))",
        "the value of an index term, as of the map of a read",
    ),
    TensorRule("substitute-element", "X[i][js] = X[js]", "(= e (At f js)) (= f (QElement x))", "(union e (Read x js))"),
    TensorRule(
        "substitute-reduce",
        "(fold r. f)[js] = fold r. f[js^1]",
        "(= e (At f js)) (= f (QReduce op n body))",
        "(union e (Reduce op n (At body (UpList js))))",
        "js is raised over r, so nothing is captured",
    ),
)

INDICES: tuple[Row, ...] = (
    TensorRule("compose-empty", "()[js] = ()", "(= e (CompList ks js)) (= ks (Nil))", "(union e ks)"),
    TensorRule(
        "compose-list",
        "(k, ks)[js] = (k[js], ks[js])",
        "(= e (CompList ls js)) (= ls (Cons k ks))",
        "(union e (Cons (Comp k js) (CompList ks js)))",
    ),
    TensorRule("compose-axis", "axis i [js] = i-th of js", "(= e (Comp k js)) (= k (Axis i n))", "(union e (Pick js i))"),
    TensorRule("compose-reduction", "r[js] = r", "(= e (Comp k js)) (= k (RAxis l n))", "(union e k)"),
    TensorRule("compose-constant", "c[js] = c", "(= e (Comp k js)) (= k (Num v))", "(union e k)"),
    TensorRule("compose-size", "n[js] = n", "(= e (Comp k js)) (= k (Var name low high))", "(union e k)", "a size is no loop"),
    *_through_index_terms("compose-index", "Comp", " js", "[js]"),
    TensorRule("pick-first", "(j, js) 0 = j", "(= e (Pick ks 0)) (= ks (Cons j js))", "(union e j)"),
    TensorRule("pick-next", "(j, js) i = js (i-1)", "(= e (Pick ks i)) (> i 0) (= ks (Cons j js))", "(union e (Pick js (- i 1)))"),
    TensorRule("raise-empty", "()^1 = ()", "(= e (UpList js)) (= js (Nil))", "(union e js)"),
    TensorRule("raise-list", "(j, js)^1 = (j^1, js^1)", "(= e (UpList ks)) (= ks (Cons j js))", "(union e (Cons (Up j) (UpList js)))"),
    TensorRule("raise-axis", "axis^1 = axis", "(= e (Up k)) (= k (Axis i n))", "(union e k)"),
    TensorRule("raise-reduction", "r_l^1 = r_(l+1)", "(= e (Up k)) (= k (RAxis l n))", "(union e (RAxis (+ l 1) n))"),
    TensorRule("raise-constant", "c^1 = c", "(= e (Up k)) (= k (Num v))", "(union e k)"),
    *_through_index_terms("raise-index", "Up", "", "^1"),
)

SUBSTITUTION = Table(
    "substitution",
    "fusion",
    "carrying a substitution through elements and reductions",
    ELEMENTS,
)

COMPOSITION = Table(
    "composition",
    "fusion",
    "carrying a substitution through indexing maps, a step at a time while the next reads are applied",
    INDICES,
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

ALGEBRA = Table(
    "algebra",
    "fusion",
    "other ways to compute a tensor; each is taken where it makes the program cheaper, and numerics allow it (docs/numerics.md)",
    (
        SumRow(
            "contraction-order",
            "sum j. (sum k. A[i,k]*B[k,j])*v[j] = sum k. A[i,k]*(sum j. B[k,j]*v[j])",
            "products under sums with the fewest multiplications: chains of matrices, sums through products, invariant factors",
        ),
        SumRow(
            "sum-in-parts",
            "sum i. (sum k. A[i,k]*B[k,j]) + c[j] = (sum k. (sum i. A[i,k])*B[k,j]) + n*c[j]",
            "products that are added up under sums, each in its cheapest order, where that is half the work or less",
        ),
        SumRow(
            "common-factor-of-sums",
            "sum k. A[i,k]*B[k,j] + sum k. A[i,k]*C[k,j] = sum k. A[i,k]*(B[k,j] + C[k,j])",
            "one product of matrices in the place of several",
        ),
        SumRow("like-terms", "(x+y)*(x+y) - (x-y)*(x-y) - 4*x*y = 0", "a polynomial with like terms added up, where that is shorter"),
        SumRow("greater-of-opposites", "max(x - y, y - x) = abs(x - y)", "magnitudes; of floats but for the sign of zero"),
        SumRow("square-of-modulus", "abs(z)*abs(z) = real(z)*real(z) + imag(z)*imag(z)", "complex numbers; rounded less often"),
        SumRow(
            "sum-of-one-point",
            "sum k. where(k == e, x[k], 0) = x[e]",
            "one-hot rows, identity and diagonal matrices: the other elements are zero",
        ),
        SumRow(
            "sum-at-places",
            "sum k. (p[k] == i)*x[k] = sum k. where(p[k] == i, x[k], 0)",
            "sums of groups, tables of pairs: what is compared with places says where the rest is added",
        ),
        SumRow("constant-is-function", "[0, 1, 2, 3][i] = i", "arange, eye, tri, one value: known arrays that follow a rule need no loads"),
        SumRow("fold-of-invariant", "max r. x + y[r] = x + max r. y[r]", "what does not vary with a greatest or least element"),
        SumRow(
            "gather-of-elements",
            "reshape(x)[p] = x[p // n, p % n]",
            "elements of a tensor that is made element by element, or only rearranged, at places that are elements: it need not be stored",
        ),
        SumRow(
            "function-of-a-table",
            "f(a[p], b[p]) = t[p], t[r] = f(a[r], b[r])",
            "functions of chosen elements, where fewer are to be chosen from: one gather in the place of several; a byte is one of 256",
        ),
        SumRow(
            "part-that-is-read",
            "(f(a @ b) @ c)[k] = f(a[k] @ b) @ c",
            "what is read at some places of an axis that no fold goes along is computed there alone, and so what that is made of",
        ),
        SumRow("operand-order", "x @ a.T = a @ x", "what is computed twice with operands in another order: a sum of the same products"),
        SumRow(
            "element-of-choices",
            "where(i < 3, x[i + 5], x[i - 3]) = x[where(i < 3, i + 5, i - 3)]",
            "stacks and concatenations of views of one tensor: one read, of which the index algebra simplifies the place",
        ),
    ),
)

TENSOR_TABLES = (GENERIC_BUILD, SUBSTITUTION, COMPOSITION, MAPS, ALGEBRA)
