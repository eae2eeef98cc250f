"""The cheapest term of a class, where what is computed once may be read twice: nodes are chosen for what they share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush
from typing import Any

from eqsat.egraph.forms import RAW, SIGNS, Choice, Forms, Honesty, choose, index_children
from eqsat.egraph.index_cost import IndexWeights, has_offset, index_cycles
from eqsat.egraph.linear import Linear
from eqsat.egraph.schema import DIVISIONS, INDEX_LEAVES
from eqsat.egraph.snapshot import ENode, Snapshot
from eqsat.egraph.spell import Group, as_spelled, common_groups, given_class, index_term, reachable, split_groups
from eqsat.ir.index import Index

# how many other choices are tried, and among how many classes
MAX_TRIALS = 80
MAX_CLASSES = 60
# an operation that two others read, and one that joins them
LEAST_SHARED = 4
# what is computed: by a class, or by all sums of these terms
Work = int | tuple[object, ...]


def cheapest_term(snapshot: Snapshot, forms: Forms, root: int, weights: IndexWeights) -> Index:
    """The term of a class: from the cheapest nodes, or, where work can be shared, from others that share more of it."""
    return index_term(sharing_forms(snapshot, forms, root, weights), root)


def sharing_forms(snapshot: Snapshot, forms: Forms, root: int, weights: IndexWeights, written: Forms | None = None) -> Forms:
    """The nodes that spell the cheapest term of a class, where work can be shared.

    written  those of the term as it is written, if that may share more: with them the search is wider, and also tries to do without
             each division
    """
    best, least = forms, index_cycles(index_term(forms, root), weights=weights)
    if least < LEAST_SHARED * weights.least:
        return best
    known = {name: node.args[0] for name, node in forms.items() if node.op == "Num"}
    nodes = _usable(snapshot, forms, root, known, weights)
    if not _may_share(forms, nodes):
        return best
    shared = _dag_forms(nodes, forms, root, known, weights)
    starts = [forms, *([shared] if shared is not forms else []), *([written] if written and not _has_cycle(written, root) else [])]
    for start in starts:
        chosen = _shared_forms(snapshot, start, root, known, weights)
        if written is not None and (fewer := _leaving_out(nodes, chosen, root, known, weights)) is not chosen:
            chosen = _shared_forms(snapshot, fewer, root, known, weights)
        if chosen is not forms and (cycles := index_cycles(index_term(chosen, root), weights=weights)) < least:
            best, least = chosen, cycles
    return best


def written_forms(snapshot: Snapshot, forms: Forms, written: Iterable[tuple[int, str, tuple[Any, ...]]]) -> Forms:
    """The forms of a snapshot with nodes that an encoder made (Encoder.made) in place of others, where their operands have forms."""
    chosen = dict(forms)
    for handle, op, args in written:
        name = snapshot.name(handle)
        node = ENode(op, args)
        names = {child: snapshot.name(child) for child in index_children(node)}
        if chosen[name].op in INDEX_LEAVES or any(child not in forms for child in names.values()):
            continue
        if op == "Sum":
            form = Linear.of(args[0], [(names[atom], k) for atom, k in args[1:]])
            chosen[name] = ENode("Sum", (form.constant, *form.terms))
        else:
            chosen[name] = ENode(op, tuple(names[arg] for arg in args))
    return chosen


def _may_share(forms: Forms, nodes: list[Choice]) -> bool:
    """Whether an operation, or the terms of a sum, may be read by two classes."""
    readers: dict[object, int] = {}
    for name, node, children, _ in nodes:
        terms = [node.args[1:]] if node.op == "Sum" and any(k != 1 or len(node.args) > 2 for _, k in node.args[1:]) else []
        for read in (*(child for child in children if forms[child].op not in INDEX_LEAVES), *terms):
            if readers.setdefault(read, name) != name:
                return True
    return False


def _dag_forms(nodes: list[Choice], forms: Forms, root: int, known: dict[int, int], weights: IndexWeights) -> Forms:
    """Nodes chosen so that the whole of what each class computes, everything paid once, is least.

    The greedy algorithm of "extraction gym" (faster-greedy-dag): each class holds all the work below its node; a node's is the
    union of those of its operands.  It is exact for trees, and sees what operands of one node share.
    """
    chosen: dict[int, ENode] = {name: forms[name] for name in known}
    work: dict[int, dict[Work, float]] = {name: {} for name in known}
    total: dict[int, float] = dict.fromkeys(known, 0.0)

    def is_cheaper(name: int, node: ENode, children: tuple[int, ...], _: float) -> bool:
        if any(child not in total or name in work[child] for child in children):
            return False
        mine: dict[Work, float] = {name: 0.0}
        for child in children:
            mine |= work[child]
        mine.update(_work(chosen, name, node, known, weights))
        cycles = sum(mine.values())
        if cycles < total.get(name, float("inf")):
            chosen[name], work[name], total[name] = node, mine, cycles
            return True
        return False

    choose(nodes, set(known), is_cheaper)
    if root not in chosen or _has_cycle(chosen, root) or all(chosen[name] == forms[name] for name in reachable(chosen, root)):
        return forms
    return chosen


def _has_cycle(forms: Forms, root: int) -> bool:
    """Whether some class below is made of itself: a choice may have changed below one that was made before."""
    return any(is_below(forms, name) for name in reachable(forms, root))


def _usable(snapshot: Snapshot, forms: Forms, root: int, known: dict[int, int], weights: IndexWeights) -> list[Choice]:
    """(class, node, operands) of all that a term may be made of, its operands first where that can be."""
    names, found, honesty = [root], {root}, Honesty(snapshot)
    usable: list[Choice] = []
    for name in names:
        for node in snapshot.classes["Ix"].get(name, ()) if name not in known else ():
            children = index_children(node)
            own = weights.node_cycles(node, known.get)
            if own is None or node.op in RAW or not honesty.may_spell(name, node):
                continue
            if all(child in forms for child in children):
                usable.append((name, node, children, own))
                names += (new := [child for child in dict.fromkeys(children) if child not in found])
                found.update(new)
    return usable[::-1]


def _work(forms: Forms, name: int, node: ENode, known: dict[int, int], weights: IndexWeights) -> Iterator[tuple[Work, float]]:
    """What a node computes itself, and its cycles."""
    if node.op == "Sum":
        constant = node.args[0] + sum(k * known.get(atom, 0) for atom, k in node.args[1:])
        yield from _sum_work(constant, [(given_class(forms, atom), k) for atom, k in node.args[1:] if atom not in known], weights)
    elif node.op in SIGNS and forms[node.args[0]].op == "Sum":
        yield from _sign_work(name, node.op, forms[node.args[0]], lambda terms: terms, weights)
    else:
        yield name, weights.node_cycles(node, known.get) or 0.0


def _sum_work(constant: int, parts: Iterable[tuple[Work, int]], weights: IndexWeights) -> Iterator[tuple[Work, float]]:
    """The work of c + sum of k*part: a product for every magnitude, and additions; a part is a class or a group of terms."""
    parts = tuple(sorted(parts, key=_place_in_sum))
    magnitudes: dict[int, list[Work]] = {}
    for part, k in parts:
        magnitudes.setdefault(abs(k), []).append(part)
    for size, scaled in magnitudes.items():
        if size != 1:
            yield ("times", size, *scaled), weights.multiply
    if len(parts) > 1:
        yield ("sum", *parts), weights.add * (len(parts) - 1)
    if constant:
        yield ("offset", constant, *parts), weights.add
    elif magnitudes.keys() == {1} and all(k < 0 for _, k in parts):
        yield ("negated", *parts), weights.add


def _place_in_sum(part: tuple[Work, int]) -> tuple[bool, Any]:
    """Classes before groups: one order for the parts of a sum."""
    return isinstance(part[0], tuple), part


def _sign_work(
    name: int, op: str, below: ENode, grouped: Callable[[Group], Iterable[tuple[Work, int]]], weights: IndexWeights
) -> Iterator[tuple[Work, float]]:
    """The work of a comparison of a sum, each side without negation."""
    constant = below.args[0]
    sides = [tuple((atom, sign * k) for atom, k in below.args[1:] if sign * k > 0) for sign in (1, -1)]
    for side in sides:
        yield from _sum_work(0, grouped(side), weights) if side else ()
    yield name, weights.compare + weights.add * has_offset(op, constant, sides)


def _total(forms: Forms, root: int, known: dict[int, int], weights: IndexWeights) -> float:
    """Cycles of a term as it will be spelled, everything paid once."""
    forms, classes = as_spelled(forms, root)
    groups = common_groups([forms[name] for name in classes if forms[name].op == "Sum"])
    read = {child for name in classes if forms[name].op not in SIGNS for child in index_children(forms[name])} | {root}
    paid: dict[Work, float] = {}

    def grouped(terms: Group) -> Iterator[tuple[Work, int]]:
        used, left = split_groups(terms, groups)
        for group, factor in used:
            paid.update(_sum_work(0, group, weights))
            yield group, factor
        yield from left.items()

    for name in classes:
        node = forms[name]
        if node.op == "Sum":
            paid.update(_sum_work(node.args[0], grouped(node.args[1:]), weights) if name in read else ())
        elif node.op in SIGNS and forms[node.args[0]].op == "Sum" and node.args[0] not in read:
            paid.update(_sign_work(name, node.op, forms[node.args[0]], grouped, weights))
        else:
            paid[name] = weights.node_cycles(node, known.get) or 0.0
    return sum(paid.values())


def _shared_forms(snapshot: Snapshot, forms: Forms, root: int, known: dict[int, int], weights: IndexWeights) -> Forms:
    """The chosen nodes, changed where another node makes the whole term cheaper because it shares what is computed anyway.

    Of two that could share something, the first to change gains nothing yet; where there are such, what does gain goes first, too.
    """
    if len(reachable(forms, root)) > MAX_CLASSES:
        return forms
    first = _total(forms, root, known, weights)
    found, least, went_sideways = _changed(snapshot, (forms, first), root, known, weights, sideways=True)
    if went_sideways:
        gained, total, _ = _changed(snapshot, (forms, first), root, known, weights, sideways=False)
        gained, total, _ = _changed(snapshot, (gained, total), root, known, weights, sideways=True)
        found, least = (gained, total) if total < least else (found, least)
    return found if least < first else forms


def _changed(
    snapshot: Snapshot, start: tuple[Forms, float], root: int, known: dict[int, int], weights: IndexWeights, sideways: bool
) -> tuple[Forms, float, bool]:
    """Nodes changed one by one, what they cost, and whether some were that gained nothing, as they may `sideways`."""
    best, least = dict(start[0]), start[1]
    tried: set[tuple[int, ENode]] = set()
    trials, improved, went = MAX_TRIALS, True, False
    while improved:
        improved = False
        for more, name, node in other_choices(snapshot, best, root, known, weights):
            if (name, node) in tried or not trials:
                continue
            tried.add((name, node))
            trials -= 1
            before, best[name] = best[name], node
            total = _total(best, root, known, weights) if not is_below(best, name) else float("inf")
            if total < least or (sideways and total == least and more >= weights.add):
                improved |= total < least
                went |= total == least
                least = total
            else:
                best[name] = before
    return best, least, went


def _leaving_out(nodes: list[Choice], forms: Forms, root: int, known: dict[int, int], weights: IndexWeights) -> Forms:
    """The chosen nodes, changed where the whole term is cheaper without one of its divisions: whatever reads that is chosen again."""
    best, least = forms, _total(forms, root, known, weights)
    readers = _Readers(nodes)
    kept: set[int] = set()
    improved = True
    while improved:
        improved = False
        for name in [n for n in reachable(best, root) if best[n].op in DIVISIONS and n not in kept]:
            trial = _chosen_without(readers, best, root, name, known, weights)
            total = _total(trial, root, known, weights) if trial is not None else least
            if trial is not None and total < least:
                best, least, improved = trial, total, True
                break
            kept.add(name)
    return best


class _Readers:
    """Choices, numbered: which of them read a class, and how many classes each reads."""

    def __init__(self, nodes: Iterable[Choice]) -> None:
        self.choices = list(dict.fromkeys(nodes))
        self.of: dict[int, list[int]] = {}
        self.reads = []
        for number, (_, _, children, _) in enumerate(self.choices):
            distinct = dict.fromkeys(children)
            self.reads.append(len(distinct))
            for child in distinct:
                self.of.setdefault(child, []).append(number)


def _chosen_without(
    readers: _Readers, forms: Forms, root: int, left_out: int, known: dict[int, int], weights: IndexWeights
) -> Forms | None:
    """Nodes for all that is made of a class, so that nothing is; what is not made of it stays as it is and costs nothing.

    Cheapest classes first, as in Knuth's generalization of Dijkstra's algorithm; None if there are no such nodes.
    """
    below = reachable(forms, root)
    made_of = _made_of(forms, below, left_out)
    if root == left_out:
        return None
    settled = {name: 0.0 for name in (*known, *below) if name not in made_of}
    chosen = dict(forms)
    missing = list(readers.reads)
    heap: list[tuple[float, int, int, ENode]] = []

    def settle(name: int) -> None:
        for number in readers.of.get(name, ()):
            reader, node, children, own = readers.choices[number]
            missing[number] -= 1
            if missing[number] or reader in settled or reader == left_out:
                continue
            if node.op in SIGNS and settled[children[0]]:
                own -= weights.sign_saving(node.op, chosen[children[0]])
            heappush(heap, (own + sum([settled[child] for child in children]), number, reader, node))

    for name in list(settled):
        settle(name)
    while heap:
        cost, _, name, node = heappop(heap)
        if name in settled:
            continue
        settled[name], chosen[name] = cost, node
        if name == root:
            return chosen
        settle(name)
    return None


def _made_of(forms: Forms, classes: Iterable[int], name: int) -> set[int]:
    """`name`, and every class of `classes` that reads it, directly or through others."""
    parents: dict[int, list[int]] = {}
    for reader in classes:
        for child in index_children(forms[reader]):
            parents.setdefault(child, []).append(reader)
    found, stack = {name}, [name]
    while stack:
        for parent in parents.get(stack.pop(), ()):
            if parent not in found:
                found.add(parent)
                stack.append(parent)
    return found


def other_choices(
    snapshot: Snapshot, forms: Forms, root: int, known: dict[int, int], weights: IndexWeights
) -> list[tuple[float, int, ENode]]:
    """(how much more it costs by itself, class, node) for nodes that might be chosen instead below a class, the cheapest first."""
    cost: dict[int, float] = {}

    def tree_cost(node: ENode) -> float:
        total = weights.node_cycles(node, known.get)
        if total is None:
            return float("inf")
        for child in index_children(node):
            if child not in cost:
                cost[child] = tree_cost(forms[child])
            total += cost[child]
        return total

    found, honesty = list[tuple[float, int, ENode]](), Honesty(snapshot)
    for name in reachable(forms, root):
        mine = tree_cost(forms[name])
        for node in snapshot.classes["Ix"].get(name, ()) if name not in known else ():
            if node == forms[name] or not honesty.may_spell(name, node):
                continue
            if node.op not in RAW and all(child in forms for child in index_children(node)):
                found.append((tree_cost(node) - mine, name, node))
    return [item for item in sorted(found, key=lambda item: item[0]) if item[0] < float("inf")]


def is_below(forms: Forms, name: int) -> bool:
    """Whether a class is made of itself."""
    seen: set[int] = set()
    stack = list(index_children(forms[name]))
    while stack:
        here = stack.pop()
        if here == name:
            return True
        if here not in seen:
            seen.add(here)
            stack.extend(index_children(forms[here]))
    return False
