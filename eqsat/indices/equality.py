"""prove_equal: whether two index expressions are equal, by every means that there is."""

from __future__ import annotations

from eqsat.indices.simplifier import simplify_all
from eqsat.ir.errors import UnsupportedError, UsageError
from eqsat.ir.index import Const, Index, Var, apply, as_index, variables
from eqsat.ir.index_points import Pair
from eqsat.options import Options
from eqsat.proving.proof import Proof, prove_under
from eqsat.report import Report
from eqsat.sizes.facts import facts_about


def prove_equal(e1: Index | int, e2: Index | int, *, extends: bool = False) -> Proof:
    """Whether two index expressions are equal for all values of their variables for which the facts hold that are declared (`assume`).

    e1, e2   index expressions, integers or truth values, which count as 1 and 0; variables of one name have the same bounds
    extends  False: they are equal if at every point both have the same value or neither has one (a divisor is zero, a shift amount
             negative); True: e2 may have values where e1 has none, as a simplified expression may

    The answer is true only if equality is proved, and has a counterexample only if that was found to be one by evaluation; otherwise
    its method is "unknown" and its note says why.  Up to 65,536 points every one is evaluated.  Beyond, a fixed choice of points is
    searched for a difference, then the e-graph is asked whether both sides or their difference simplify to one term, then isl about
    quasi-affine functions (where islpy is installed: the extra `sets`), and at last up to 4,000,000 points are all evaluated.
    Raises UsageError for anything else than index expressions and for one name with two bounds, and UnsoundRuleError if the e-graph
    finds a contradiction.
    """
    left, right = as_index(e1), as_index(e2)
    known: dict[str, Var] = {}
    for v in variables(left, right):
        other = known.setdefault(v.name, v)
        if other is not v:
            raise UsageError(f"prove_equal: found {v.name} in {other.lo}..{other.hi} and in {v.lo}..{v.hi}, expected one range for a name")
    return prove_under(facts_about([left, right]), Pair(left, right, extends), _by_rules)


def _by_rules(pair: Pair) -> bool:
    """Whether the e-graph makes both sides one term, or their difference zero."""
    left, right = pair.left, pair.right
    whole = apply("eq" if left.kind == right.kind == "bool" else "sub", left, right)
    try:
        first, second, both = simplify_all([left, right, whole], Options(), Report())
    except UnsupportedError:
        return False
    return first is second or both is Const(True if whole.kind == "bool" else 0)
