"""Index expressions by themselves: simplify, simplify_many, and their results."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import replace
from typing import Any, TypeVar

from eqsat.egraph.choose import cheapest_term, sharing_forms, written_forms
from eqsat.egraph.encode import Encoder
from eqsat.egraph.forms import Forms, Reading
from eqsat.egraph.index_cost import DEFAULT_WEIGHTS, IndexWeights, index_cycles
from eqsat.egraph.linear import Linear
from eqsat.egraph.schema import INDEX_LEAVES
from eqsat.egraph.settled import is_settled
from eqsat.egraph.snapshot import Snapshot, written_snapshot
from eqsat.egraph.spell import index_term, negated
from eqsat.gc_pause import uncollected
from eqsat.indices.results import RESULTS
from eqsat.ir import interval
from eqsat.ir.errors import UnsoundRuleError, UnsupportedError, UsageError
from eqsat.ir.index import Apply, Const, Index, Var, apply, as_index, in_order, walk, where
from eqsat.ir.index_points import SAMPLES, Pair as Sides, has_no_value, may_divide_by_zero
from eqsat.options import Limits, Options, options_of
from eqsat.progress import tell, work
from eqsat.proving.certificate import certify_terms
from eqsat.report import Report, StopReason
from eqsat.rules.assumptions import CONDITIONS
from eqsat.saturate import FEW_LOOKS, MANY_LOOKS, PHASES, Patience, Session, session_of
from eqsat.sizes.facts import facts_about

T = TypeVar("T")
# an index and its gate
Pair = tuple[Index, Index]
# a node that an encoder made: its handle, kind and operands
Made = tuple[int, str, tuple[Any, ...]]

# terms of one e-graph: enough to share the cost of a step, few enough that those that are done do not wait long for the others
TOGETHER = 64
TOGETHER_SIZE = 240
ALONE_SIZE = 24
# so many terms together are looked at before: most take one step, and need not wait for the others
FIRST_LOOK = 4
# so many terms take long enough for their progress to be shown
MANY = 256
# most terms need a hundred nodes; what has grown this large for its subterms seldom gets cheaper
NODES = 800
NODES_PER_SUBTERM = 60
NODES_PER_OTHER = 100
# what a gated index is where its gate does not hold: a value that no term has in common with it
INVALID = Var("_invalid_", -(1 << 40), 1 << 40)


def simplify(expression: Index | int, options: Options | None = None) -> Index:
    """The cheapest index expression that the rules prove equal on all values of the variables, at which the original has one, and under the
    facts that are declared (`assume`).

    Its cost is in cycles of index operations (docs/extending.md); a budget that is met (`Options.limits`) is an answer, never dearer than
    what was given.  Raises UsageError for what is no index expression, UnsoundRuleError where rules contradict each other.
    """
    return simplify_many([expression], options)[0]


def simplify_many(expressions: Iterable[Index | int], options: Options | None = None) -> list[Index]:
    """`simplify` of all expressions in one run, which takes less time than one after the other; the results stand in the order of the
    arguments.  An expression that the e-graph cannot hold comes back as it is, and does not keep the others from their forms.

    Raises what `simplify` raises.
    """
    if not isinstance(expressions, Iterable):
        raise UsageError(f"simplify_many: found a {type(expressions).__name__}, expected a list of index expressions")
    terms, chosen = [as_index(e) for e in expressions], options_of(options, "simplify")
    with work("simplifying") if len(terms) >= MANY else nullcontext():
        if not chosen.cache or chosen.certify or not isinstance(facts_about(terms), Const):
            return simplify_all(terms, chosen, Report())
        return RESULTS.results(terms, chosen, lambda missing: simplify_all(missing, chosen, Report()))


@uncollected()
def simplify_all(terms: list[Index], options: Options, report: Report) -> list[Index]:
    """simplify_many, with the report; a term that the e-graph cannot hold comes back as it is."""
    fact = facts_about(terms)
    if not isinstance(fact, Const):
        results = [index for index, _ in gate_all([(term, fact) for term in terms], options, report, free_gate=True)]
        if options.certify:
            certify_terms(terms, results, report, fact)
        return results
    return simplify_terms(terms, options, report)


def simplify_terms(terms: list[Index], options: Options, report: Report, within: bool = False) -> list[Index]:
    """simplify_all for terms over loop variables, of which no user knows anything, whatever they are called.  `within`: see Simplifier."""
    found: dict[Index, Index] = {}
    shortcut = options.cost.index == DEFAULT_WEIGHTS and not (options.certify or options.own_rules)
    for term, written in _as_written(dict.fromkeys(terms)) if shortcut else ():
        if not (within and is_wider(written, term)):
            found[term] = _cheaper(written, term, options.cost.index)
    left = [term for term in dict.fromkeys(terms) if term not in found]
    for together in _groups(left, lambda term: (term,)) if shortcut else ():
        if len(together) >= FIRST_LOOK:
            with suppress(UnsoundRuleError), Simplifier(options, Report(), within) as simplifier:  # raised again below, if it is one
                found.update(simplifier.first_look(together))
    for together in _groups([term for term in left if term not in found], lambda term: (term,)):
        tell("simplifying index terms", len(found), len(terms))
        run = functools.partial(_together, together, report, within)
        found.update(zip(together, _alarmed(run, options, together, together), strict=True))
        if len(together) == 1 and sum(1 for _ in walk(*together)) > ALONE_SIZE:
            (term,) = together
            found[term] = _again(term, found[term], options, report, within)
    for term, result in found.items():
        if not _keeps_values(term, result) and CONDITIONS.name in options.tables:
            (found[term],) = simplify_terms([term], options.without(CONDITIONS.name), report, within)
    return [found[term] for term in terms]


def _keeps_values(term: Index, result: Index) -> bool:
    """Whether a result has a value wherever the term has one: what is read under a condition may divide by what is zero elsewhere."""
    if not may_divide_by_zero(result):
        return True
    sides = Sides(term, result, extends=True)
    return (sides.exhaustive() if sides.size <= SAMPLES else sides.search()) is None


def _together(terms: list[Index], report: Report, within: bool, options: Options) -> list[Index]:
    """Terms simplified in an e-graph of their own."""
    with Simplifier(options, report, within) as simplifier:
        return simplifier.simplify(terms)


def _again(term: Index, result: Index, options: Options, report: Report, within: bool) -> Index:
    """What is found for a result with divisions or choices, as often as that is cheaper: rows read the cheapest forms, which are others
    from there."""
    cycles = functools.partial(index_cycles, weights=options.cost.index)
    while (_divides(result) or _chooses(result)) and cycles(result) < cycles(term):
        term, (result,) = result, _alarmed(functools.partial(_together, [result], report, within), options, [result], [result])
    return result


def _chooses(term: Index) -> bool:
    """Whether a term chooses among what is chosen, or among extrema."""
    inside = [sub for sub in walk(term) if isinstance(sub, Apply) and sub.op in ("where", "min", "max")]
    return len(inside) > 1 and any(sub.op == "where" for sub in inside)


def _divides(*terms: Index) -> bool:
    return any(isinstance(sub, Apply) and sub.op in ("floordiv", "mod") for sub in walk(*terms))


def simplify_gated(index: Index | int, valid: Index | bool, options: Options | None = None) -> Pair:
    """A gated index, read only where `valid` holds: the cheapest index that is equal there, and the cheapest form of the gate.

    A gate that bounds prove is True; where the gate never holds, the index is 0 and the gate False.  Raises what `simplify` raises.
    """
    chosen, report, gate = options_of(options, "simplify_gated"), Report(), as_index(valid)
    fact = facts_about([as_index(index), gate])
    if not isinstance(fact, Const):
        gate = gate_all([(gate, fact)], chosen, report, free_gate=True)[0][0]
        narrow = apply("and", fact, gate) if not isinstance(gate, Const) else fact if gate.value else Const(False)
        return gate_all([(as_index(index), narrow)], chosen, report, free_gate=True)[0][0], gate
    return gate_all([(as_index(index), gate)], chosen, report)[0]


@uncollected()
def gate_all(pairs: list[Pair], options: Options, report: Report, free_gate: bool = False) -> list[Pair]:
    """simplify_gated of each pair, without the facts that the user declared; with a free gate only the index is to be cheap.

    Pairs that became cheaper begin again from there, as terms do.
    """
    found: dict[Pair, Pair] = {}
    for together in _groups(list(dict.fromkeys(pairs)), lambda pair: pair):
        run = functools.partial(_gated, together, report=report, free_gate=free_gate)
        found.update(zip(together, _alarmed(run, options, together, (index for index, _ in together)), strict=True))
        for pair in together if not free_gate else ():
            found[pair] = _gated_again(pair, found[pair], options, report)
            if not _keeps_values(pair[1], found[pair][1]) and CONDITIONS.name in options.tables:
                (found[pair],) = gate_all([pair], options.without(CONDITIONS.name), report)
    return [found[pair] for pair in pairs]


def _gated_again(pair: Pair, result: Pair, options: Options, report: Report) -> Pair:
    """What is found for a result with divisions, as often as that is cheaper."""
    cycles = functools.partial(index_cycles, weights=options.cost.index)
    while _divides(*result) and cycles(*result) < cycles(*pair):
        (found,) = _alarmed(functools.partial(_gated, [result], report=report, free_gate=False), options, [result], result[:1])
        pair, result = result, min(result, found, key=lambda found: cycles(*found))
    return result


def _groups(items: list[T], terms: Callable[[T], tuple[Index, ...]]) -> Iterator[list[T]]:
    """What shares an e-graph.  A term that divides by what may be zero has one to itself: where that is zero the term has no value,
    so equalities that hold elsewhere serve it, but not the others."""
    group: list[T] = []
    size = 0
    for item in items:
        if may_divide_by_zero(*terms(item)):
            yield [item]
            continue
        more = sum(1 for _ in walk(*terms(item)))
        if more > ALONE_SIZE:
            yield [item]
            continue
        if group and (len(group) == TOGETHER or size + more > TOGETHER_SIZE):
            yield group
            group, size = [], 0
        group.append(item)
        size += more
    if group:
        yield group


def _alarmed(run: Callable[[Options], T], options: Options, otherwise: T, terms: Iterable[Index]) -> T:
    """What a run finds.  Where a term has no value at any point, everything is equal to it, and nothing is wrong with that: `otherwise`.
    What follows from conditions that cannot hold together, which shows only when an operand of theirs is simplified, may be that two
    numbers are one: without assumptions no such thing can follow."""
    try:
        return run(options)
    except UnsoundRuleError:
        if all(map(has_no_value, terms)):
            return otherwise
        if CONDITIONS.name not in options.tables:
            raise
    return run(options.without(CONDITIONS.name))


def _gated(pairs: list[Pair], options: Options, *, report: Report, free_gate: bool) -> list[Pair]:
    """What is found for each pair in one run."""
    encoder, weights = Encoder(), options.cost.index
    gates = [where(valid, index, INVALID) for index, valid in pairs]
    roots: dict[int, int] = {}
    for k, gated in enumerate(gates):
        with suppress(UnsupportedError):
            roots[k] = encoder.index(gated)
    nowhere = encoder.index(INVALID)
    written = [made for made in encoder.made() if made[1] not in INDEX_LEAVES]
    limits = limits_for(options.limits, gates)
    with session_of(options, report, limits, encoder, sorts=("Ix",)) as work:
        snapshot = work.run(PHASES["index"], Patience(roots.values(), MANY_LOOKS))
    chosen = work.forms(snapshot)
    as_written = written_forms(snapshot, chosen, written)
    cycles = functools.partial(index_cycles, weights=weights)
    results = []
    for k, (index, valid) in enumerate(pairs):
        ways = _read_gated(snapshot, (chosen, as_written), snapshot.name(roots[k]), snapshot.name(nowhere), weights) if k in roots else []
        typed = [(index, valid), *((as_kind(i, index), as_kind(g, valid)) for i, g in ways)]
        results.append(min(reversed(typed), key=lambda way: (0.0 if free_gate else cycles(*way), cycles(way[0]))))
    return results


def _read_gated(snapshot: Snapshot, starts: tuple[Forms, Forms], root: int, nowhere: int, weights: IndexWeights) -> list[Pair]:
    """(index, gate) of every `where(gate, index, INVALID)` in a class, of one with what both share; the class itself if the gate
    always holds.  `starts`: the cheapest nodes, and those of the pairs as they are written."""
    if root == nowhere:
        return [(Const(0), Const(False))]
    forms, written = starts
    shared = sharing_forms(snapshot, forms, root, weights, written)
    together = index_term(shared, root)
    alone = functools.cache(lambda arg: cheapest_term(snapshot, forms, arg, weights))
    found: list[Pair] = []
    for node in snapshot.classes["Ix"][root]:
        if node.op == "Where" and nowhere in node.args[1:] and all(arg in forms for arg in node.args):
            parts = [tuple(map(alone, node.args))]
            parts += [together.args] if node == shared[root] and isinstance(together, Apply) else []
            found += [(then, gate) if node.args[2] == nowhere else (otherwise, negated(gate)) for gate, then, otherwise in parts]
    return found or [(together, Const(True))]


def limits_for(limits: Limits, terms: Iterable[Index], before: int = 0) -> Limits:
    """A budget for the largest of these terms, for each other one, and for what the e-graph holds from before."""
    sizes = [sum(1 for _ in walk(term)) for term in terms]
    nodes = max(NODES, NODES_PER_SUBTERM * max(sizes, default=0)) + NODES_PER_OTHER * max(len(sizes) - 1, 0) + before
    return replace(limits, nodes=min(limits.nodes, nodes))


class Simplifier:
    """Simplifies lists of terms, one after the other, in one transaction on the e-graph, which begins when it is needed.

    A sum of variables is its own n-ary normal form: only terms with other operations enter saturation.

    within  whether a result must show by the bounds of its parts, as its original does, that it is no index out of range
    """

    def __init__(self, options: Options, report: Report, within: bool = False) -> None:
        self.options, self.report, self.within = options, report, within
        self.weights = options.cost.index
        self._encoder = Encoder()
        self._open = ExitStack()
        self._session: Session | None = None
        self._nodes = 0

    def __enter__(self) -> Simplifier:
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def first_look(self, terms: list[Index]) -> dict[Index, Index]:
        """The terms of which one step shows that nothing is cheaper than what it found, simplified."""
        spelled, roots = self._roots(terms)
        if roots:
            work = self._work()
            work.limits = replace(limits_for(self.options.limits, roots), iterations=1)
            snapshot = work.run(PHASES["index"], lambda reading: self._when_settled(reading, roots.values()))
            chosen = work.forms(snapshot)
            for term, root in roots.items():
                if self._settled(snapshot, chosen, (root,)):
                    spelled[term] = index_term(chosen, snapshot.name(root))
        return {term: self._better(as_kind(found, term), term) for term, found in spelled.items()}

    def _roots(self, terms: list[Index]) -> tuple[dict[Index, Index], dict[Index, int]]:
        """What sums of variables are, and the classes of the other terms; nothing of terms that the e-graph cannot hold."""
        encoder = self._encoder
        forms: dict[Index, Linear] = {}
        for term in dict.fromkeys(terms):
            with suppress(UnsupportedError):
                forms[term] = encoder.linear(term)
        spelled = {term: encoder.spell(form) for term, form in forms.items() if encoder.is_plain(form)}
        return spelled, {term: encoder.sum(form) for term, form in forms.items() if term not in spelled}

    def simplify(self, terms: list[Index]) -> list[Index]:
        """The simplified terms in order."""
        spelled, roots = self._roots(terms)
        if roots:
            written = [made for made in self._encoder.made() if made[1] not in INDEX_LEAVES] if not self.within else []
            work = self._work()
            work.limits = limits_for(self.options.limits, roots, self._nodes)
            patience = Patience(roots.values(), FEW_LOOKS if self.within else MANY_LOOKS)
            snapshot = work.run(PHASES["index"], lambda reading: self._when_settled(reading, roots.values()) or patience(reading))
            self._nodes = snapshot.nodes
            chosen = work.forms(snapshot)
            for term, root in roots.items():
                spelled[term] = self._read(snapshot, chosen, term, root, written, alone=len(roots) == 1)
        results = [self._better(as_kind(spelled[term], term), term) if term in spelled else term for term in terms]
        if self.options.certify:
            certify_terms(terms, results, self.report)
        return results

    def _read(self, snapshot: Snapshot, chosen: Forms, term: Index, root: int, written: list[Made], alone: bool) -> Index:
        """The cheapest term of a class; of one that got no cheaper, and of a large one that is alone, what it shares as it is written
        counts too, which takes a wider search."""
        name = snapshot.name(root)
        if self._settled(snapshot, chosen, (root,)):
            return index_term(chosen, name)
        found = cheapest_term(snapshot, chosen, name, self.weights)
        if self.within:
            return index_term(chosen, name) if is_wider(found, term) else found
        large = alone and _divides(term) and sum(1 for _ in walk(term)) > ALONE_SIZE
        if large or index_cycles(found, weights=self.weights) >= index_cycles(term, weights=self.weights):
            found = index_term(sharing_forms(snapshot, chosen, name, self.weights, written_forms(snapshot, chosen, written)), name)
        return found

    def _when_settled(self, reading: Reading, roots: Iterable[int]) -> StopReason | None:
        return StopReason.SATURATED if self._settled(reading.snapshot, reading.forms, roots) else None

    def _settled(self, snapshot: Snapshot, forms: Forms, roots: Iterable[int]) -> bool:
        """Whether nothing is cheaper than these, which is known of eqsat's rules and the default weights only."""
        known = self.weights == DEFAULT_WEIGHTS and not self.options.own_rules
        return known and all(is_settled(forms, snapshot.bounds, snapshot.name(root)) for root in roots)

    def _better(self, result: Index, original: Index) -> Index:
        """The result, if it is a better one."""
        return original if self.within and is_wider(result, original) else _cheaper(result, original, self.weights)

    def _work(self) -> Session:
        if self._session is None:
            opened = session_of(self.options, self.report, encoder=self._encoder, sorts=("Ix",))
            self._session = self._open.enter_context(opened)
        return self._session


def _as_written(terms: Iterable[Index]) -> Iterator[tuple[Index, Index]]:
    """The terms of which the n-ary form shows that nothing is cheaper, each with that."""
    encoder = Encoder()
    roots: dict[Index, int] = {}
    for term in terms:
        with suppress(UnsupportedError):
            roots[term] = encoder.index(term)
    snapshot = written_snapshot(encoder)
    forms = {name: nodes[0] for name, nodes in snapshot.classes["Ix"].items()}
    for term, root in roots.items():
        if is_settled(forms, snapshot.bounds, root):
            yield term, as_kind(index_term(forms, root), term)


def is_wider(result: Index, original: Index) -> bool:
    """Whether the bounds of its parts say less of a term than of what it stands for."""
    return not interval.within(result.bounds, original.bounds)


def _cheaper(result: Index, original: Index, weights: IndexWeights) -> Index:
    """The result, if it costs no more: forms are chosen class by class, so what they share may be paid twice."""
    return original if index_cycles(result, weights=weights) > index_cycles(original, weights=weights) else result


def as_kind(result: Index, original: Index) -> Index:
    """A result as an integer or a truth value, as the original is; in the e-graph truth values are 0 and 1."""
    result = in_order(result, may_divide_by_zero)  # as people write guards: Python evaluates nothing after one that decides
    if original.kind == result.kind:
        return result
    if isinstance(result, Const):
        return Const(bool(result.value) if original.kind == "bool" else int(result.value))
    return apply(original.kind, result)
