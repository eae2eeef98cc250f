"""From a Pattern row to an egglog rule.

Sums are n-ary in the e-graph, so a sum in a pattern is matched through a view, a fact that Python found about it:
    n*q + r  under // n or % n            as-multiple S n q r
    g*q + r  under // (g*k) or % (g*k)    as-common S d g q r
    x + c                                 as-offset S x c
    c*(x % m) + r                         as-inner S c x m r
    c*(x // m) + r                        as-quotient S c x m r
    g*q + r    elsewhere                  as-scaled S g q r
    k*x + c    with constants k and c     as-step S k x c
    z*q + r  under // z or % z            as-multiple-of S z q r
    z*q + r  under // (z*w) or % (z*w)    as-common-of S d z q w r, d = z*w
    z*w  elsewhere                        as-product S z w
    a*x + b*y  as a whole left side       as-pair S a x b y rest; the rest of the sum is added to the right side
    x // n, x % n  inside another node    quotient C x n, remainder C x n: the cheapest form of a class, for a class that holds
                                          x // n only among others may contain itself; by a term: quotient-of, remainder-of
In a guard x - y and x + y are bounded through the facts `difference` and `total`.  x >= 0 and x == 0 are the nodes Nonneg and
Zero.  A commutative operation is matched in both orders.
"""

from __future__ import annotations

import re
from itertools import count, product

from eqsat.egraph.schema import CONSTRUCTORS, PENDING_NODES, VIEWS
from eqsat.ir.errors import InternalError
from eqsat.ir.index import OPS, Apply, Const, Index, Var, variables
from eqsat.rules.row import Pattern, TensorRule, is_literal


def floor_div(a: str, d: str) -> str:
    """floor(a / d) for d > 0 in egglog, whose own / and % truncate."""
    return f"(/ (- {a} {floor_mod(a, d)}) {d})"


def floor_mod(a: str, d: str) -> str:
    return f"(% (+ (% {a} {d}) {d}) {d})"


PENDING = frozenset(node.name for node in PENDING_NODES)
_LITERAL_OPS = {"add": "+", "sub": "-", "mul": "*", "bitand": "&", "bitor": "|", "bitxor": "^", "shl": "<<", "shr": ">>"}
_MENTIONED = re.compile(r"\(([A-Z][\w]*|[a-z]+-[\w-]+|quotient|remainder|difference|total) ")
_MATCHED = frozenset((*CONSTRUCTORS, *VIEWS)) - {"Num"}
_FORMS = {"floordiv": "quotient", "mod": "remainder"}
_NODES = {"and": "Min", "or": "Max", "ge": "Nonneg", "eq": "Zero"}
_COMPARE = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "=", "ne": "!="}


def all_literal(term: Index) -> bool:
    """Whether the term is made of constants only."""
    return all(is_literal(v) for v in variables(term))


class _Rule:
    """The egglog facts of one pattern, grown while its left side is walked."""

    def __init__(self) -> None:
        self.facts: list[str] = []
        self.names: dict[Var, str] = {}
        self.rest: str | None = None
        self.inside = False
        self._ids = count()

    def fresh(self, kind: str) -> str:
        return f"{kind}_{next(self._ids)}"

    # matching ------------------------------------------------------------------------------------------------------
    def match(self, term: Index, at: str) -> None:
        """State that the class `at` holds `term`."""
        if isinstance(term, Var) and not is_literal(term):
            if term in self.names:
                self.facts.append(f"(= {at} {self.names[term]})")
            self.names.setdefault(term, at)
        elif all_literal(term):
            value = self.fresh("v")
            self.facts.append(f"(= {at} (Num {value}))")
            self.match_literal(term, value)
        elif isinstance(term, Apply) and term.op == "add":
            self.match_sum(term, at)
        elif isinstance(term, Apply) and term.op == "mul":
            below = [self.fresh("x") for _ in term.args]
            self.facts.append(f"(as-product {at} {' '.join(below)})")
            for arg, name in zip(term.args, below, strict=True):
                self.match(arg, name)
        elif isinstance(term, Apply) and term.op in ("floordiv", "mod"):
            if all_literal(term.args[1]):
                self.match_division(term, at)
            else:
                self.match_symbolic_division(term, at)
        elif isinstance(term, Apply):
            self.inside = True
            args = operands(term)
            below = [self.fresh("x") for _ in args]
            self.facts.append(f"(= {at} ({node_name(term)} {' '.join(below)}))")
            for arg, name in zip(args, below, strict=True):
                self.match(arg, name)

    def match_symbolic_division(self, term: Apply, at: str) -> None:
        """A division by a term z, or by a product z*w of terms."""
        numerator, divisor = term.args
        above, below = self.fresh("x"), self.fresh("x")
        self.facts.append(
            f"({_FORMS[term.op]}-of {at} {above} {below})" if self.inside else f"(= {at} ({term.op.capitalize()} {above} {below}))"
        )
        self.inside = True
        if not (isinstance(numerator, Apply) and numerator.op == "add"):
            self.match(numerator, above)
            self.match(divisor, below)
            return
        q, r = self.fresh("x"), self.fresh("x")
        (_, quotient), rest = _factors(numerator.args[0]), numerator.args[1]
        if isinstance(divisor, Apply) and divisor.op == "mul":
            z, w = self.fresh("x"), self.fresh("x")
            self.facts.append(f"(as-common-of {above} {below} {z} {q} {w} {r})")
            self.match(divisor.args[0], z)
            self.match(divisor.args[1], w)
        else:
            self.facts.append(f"(as-multiple-of {above} {below} {q} {r})")
            self.match(divisor, below)
        self.match(quotient, q)
        self.match(rest, r)

    def match_division(self, term: Apply, at: str) -> None:
        numerator, divisor = term.args
        above, below, value = self.fresh("x"), self.fresh("x"), self.fresh("v")
        if self.inside:
            self.facts.append(f"({_FORMS[term.op]} {at} {above} {value})")
        else:
            self.facts += [f"(= {at} ({term.op.capitalize()} {above} {below}))", f"(= {below} (Num {value}))"]
        self.inside = True
        if isinstance(divisor, Var):
            self.match_literal(divisor, value)
        if isinstance(numerator, Apply) and numerator.op == "add":
            self.match_sum(numerator, above, divisor, value)
        else:
            self.match(numerator, above)
        if not isinstance(divisor, Var):
            self.match_literal(divisor, value)

    def match_sum(self, term: Apply, at: str, divisor: Index | None = None, value: str = "") -> None:
        left, right = term.args
        x, y, k = self.fresh("x"), self.fresh("x"), self.fresh("v")
        if all_literal(right) and isinstance(left, Apply) and left.op == "mul":
            c = self.fresh("v")
            factor, atom = _scaled(left)
            self.facts.append(f"(as-step {at} {k} {x} {c})")
            self.match_literal(factor, k)
            self.match_literal(right, c)
            self.match(atom, x)
            return
        if all_literal(right):
            self.facts.append(f"(as-offset {at} {x} {k})")
            self.match(left, x)
            self.match_literal(right, k)
            return
        factor, atom = _scaled(left)
        if divisor is not None and factor is divisor:
            self.facts.append(f"(as-multiple {at} {value} {x} {y})")
        elif isinstance(divisor, Apply) and divisor.op == "mul" and factor is divisor.args[0]:
            self.facts.append(f"(as-common {at} {value} {k} {x} {y})")
            self.match_literal(factor, k)
        elif isinstance(right, Apply) and right.op == "mul":
            self.match_pair(factor, atom, right, at)
            return
        elif isinstance(atom, Var):
            self.facts.append(f"(as-scaled {at} {k} {x} {y})")
            self.match_literal(factor, k)
        else:
            assert isinstance(atom, Apply)
            view = "as-inner" if atom.op == "mod" else "as-quotient"
            atom, modulus = atom.args
            m = self.fresh("v")
            self.facts.append(f"({view} {at} {k} {x} {m} {y})")
            self.match_literal(factor, k)
            self.match_literal(modulus, m)
        self.match(atom, x)
        self.match(right, y)

    def match_pair(self, factor: Index, atom: Index, right: Apply, at: str) -> None:
        x, y, k, m, self.rest = self.fresh("x"), self.fresh("x"), self.fresh("v"), self.fresh("v"), self.fresh("x")
        other_factor, other = _scaled(right)
        self.facts.append(f"(as-pair {at} {k} {x} {m} {y} {self.rest})")
        self.match_literal(factor, k)
        self.match(atom, x)
        self.inside = False
        self.match(other, y)
        self.match_literal(other_factor, m)

    def match_literal(self, term: Index, value: str) -> None:
        """State that the i64 `value` equals the constant `term`, binding its one unknown if there is one."""
        if isinstance(term, Var) and term not in self.names:
            self.names[term] = value
        elif isinstance(term, Apply) and term.op == "mul" and isinstance(term.args[1], Var) and term.args[1] not in self.names:
            known = self.literal(term.args[0])
            quotient = self.fresh("v")
            self.facts += [f"(!= {known} 0)", f"(= 0 (% {value} {known}))", f"(= {quotient} (/ {value} {known}))"]
            self.names[term.args[1]] = quotient
        else:
            self.facts.append(f"(= {value} {self.literal(term)})")

    # writing -------------------------------------------------------------------------------------------------------
    def literal(self, term: Index) -> str:
        """i64 expression of a constant."""
        if isinstance(term, Const):
            return str(int(term.value))
        if isinstance(term, Var):
            return self.names[term]
        assert isinstance(term, Apply)
        a, b = (self.literal(arg) for arg in term.args)
        if term.op == "floordiv":
            return floor_div(a, b)
        return floor_mod(a, b) if term.op == "mod" else f"({_LITERAL_OPS[term.op]} {a} {b})"

    def bound(self, term: Index, side: str) -> str:
        """i64 expression of the lower ("lo") or upper ("hi") bound of a term."""
        if all_literal(term):
            return self.literal(term)
        if isinstance(term, Var):
            value = self.fresh(side)
            self.facts.append(f"(= {value} ({side} {self.names[term]}))")
            return value
        if isinstance(term, Apply) and term.op in ("add", "sub") and all(isinstance(arg, Var) and not is_literal(arg) for arg in term.args):
            a, b = (self.names[_variable(arg)] for arg in term.args)
            whole, value = self.fresh("x"), self.fresh(side)
            self.facts += [f"({'total' if term.op == 'add' else 'difference'} {a} {b} {whole})", f"(= {value} ({side} {whole}))"]
            return value
        if isinstance(term, Apply) and term.op == "add":
            return f"(+ {self.bound(term.args[0], side)} {self.bound(term.args[1], side)})"
        if isinstance(term, Apply) and term.op == "mul" and all_literal(term.args[0]):
            return f"(* {self.literal(term.args[0])} {self.bound(term.args[1], side)})"
        if isinstance(term, Apply) and term.op == "mod" and side == "hi":
            value = self.fresh("hi")
            self.facts.append(f"(= {value} (residue {self.names[_variable(term.args[0])]} {self.literal(term.args[1])}))")
            return value
        if isinstance(term, Apply) and term.op == "floordiv" and side == "lo":
            below = self.literal(term.args[1]) if all_literal(term.args[1]) else self.bound(term.args[1], "hi")
            return floor_div(self.bound(term.args[0], side), below)
        raise InternalError(f"rule guard: no bound of {term}")

    def guard(self, condition: Index) -> None:
        """State a comparison; between terms it must follow from their bounds."""
        assert isinstance(condition, Apply)
        a, b = condition.args
        if condition.op == "ne" and not all_literal(condition):
            # of a divisor: where it is zero there is nothing to preserve, unless it is nothing else
            self.facts.append(f"(> (max {self.bound(a, 'hi')} (- 0 {self.bound(a, 'lo')})) 0)")
            return
        if condition.op in ("lt", "le"):
            sides = ("hi", "lo")
        elif condition.op in ("gt", "ge"):
            sides = ("lo", "hi")
        elif not all_literal(condition):
            raise InternalError(f"rule guard: {condition} is not decided by bounds")
        else:
            sides = ("lo", "hi")
        self.facts.append(f"({_COMPARE[condition.op]} {self.bound(a, sides[0])} {self.bound(b, sides[1])})")

    def build(self, term: Index) -> str:
        """Constructor text of a right side."""
        if all_literal(term):
            value = self.fresh("v")
            self.facts.append(f"(= {value} {self.literal(term)})")
            return f"(Num {value})"
        if isinstance(term, Var):
            return self.names[term]
        assert isinstance(term, Apply)
        if term.op == "mul" and any(map(all_literal, term.args)):
            factor, atom = _scaled(term)
            value = self.fresh("v")
            self.facts.append(f"(= {value} {self.literal(factor)})")
            return f"(Scale {value} {self.build(atom)})"
        if term.op == "sub":
            a, b = term.args
            return f"(Add {self.build(a)} (Scale -1 {self.build(b)}))"
        return f"({node_name(term)} {' '.join(self.build(arg) for arg in operands(term))})"


def node_name(term: Apply) -> str:
    """The constructor of an operation."""
    return _NODES.get(term.op, term.op.capitalize())


def operands(term: Apply) -> tuple[Index, ...]:
    """What the node of an operation holds: a comparison, which is one with zero, its left side."""
    if term.op in ("ge", "eq"):
        if not (isinstance(term.args[1], Const) and term.args[1].value == 0):
            raise InternalError(f"rule: found {term}, expected a comparison with 0")
        return term.args[:1]
    return term.args


def _factors(term: Index) -> tuple[Index, Index]:
    """(z, q) of a product z*q of terms."""
    assert isinstance(term, Apply)
    return term.args[0], term.args[1]


def _scaled(term: Index) -> tuple[Index, Index]:
    """(factor, atom) of a term factor*atom or atom*factor."""
    if isinstance(term, Apply) and term.op == "mul":
        a, b = term.args
        return (a, b) if all_literal(a) else (b, a)
    return Const(1), term


def _variable(term: Index) -> Var:
    assert isinstance(term, Var)
    return term


def compile_pattern(row: Pattern) -> list[tuple[str, frozenset[str], str]]:
    """The egglog rules of a Pattern row, one for every order of its commutative operands: (ruleset, needs, text).

    Each has a ruleset of its own, so that a step runs only rules whose nodes and views are there; a rule is named like its row
    up to a tilde.
    """
    rules = []
    for k, lhs in enumerate(orders(row.lhs)):
        rule, built = _body(row, lhs)
        name = f"{row.name}~{k}" if k else row.name
        needs = frozenset(n for fact in rule.facts for n in _MENTIONED.findall(fact) if n in _MATCHED)
        text = f'(rule ({" ".join(rule.facts)}) ((union root {built})) :ruleset {name} :name "{name}")'
        rules.append((name, needs, f"(ruleset {name})\n{text}"))
    return rules


def orders(term: Index) -> list[Index]:
    """The term with the operands of min, max, and, or and bit operations in every order that is another pattern."""
    if not isinstance(term, Apply):
        return [term]
    found: list[Index] = [Apply(term.op, args) for args in product(*map(orders, term.args))]
    if OPS[term.op].commutative and term.op not in ("add", "mul", "eq", "ne"):
        found += [Apply(term.op, (b, a)) for a, b in [other.args for other in found if isinstance(other, Apply)]]
    return found


def _body(row: Pattern, lhs: Index) -> tuple[_Rule, str]:
    """The facts of a rule, and the node that it makes equal to its root."""
    rule = _Rule()
    rule.match(lhs, "root")
    for constant, value in row.define:
        fresh = rule.fresh("v")
        rule.facts.append(f"(= {fresh} {rule.bound(value, 'lo')})")
        rule.names[constant] = fresh
    for condition in row.when:
        rule.guard(condition)
    built = rule.build(row.rhs)
    return rule, built if rule.rest is None else f"(Add {built} {rule.rest})"


def compile_tensor_rule(row: TensorRule, ruleset: str) -> str:
    """The egglog rule of a TensorRule row.

    A pending application that a rule carries out (its first fact) is removed: it has done its work, and every row less is one
    less to match again when classes merge.
    """
    pending = _PENDING.match(row.body)
    done = f" (delete {pending['term']})" if pending and pending["node"] in PENDING else ""
    return f'(rule ({row.body}) ({row.head}{done}) :ruleset {ruleset} :name "{row.name}")'


_PENDING = re.compile(r"\(= e (?P<term>\((?P<node>\w+)[^()]*\))\)")
