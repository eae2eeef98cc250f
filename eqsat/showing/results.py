"""The page of an optimized program: what it cost and costs, what runs, and which rules made it so."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eqsat.ir.tensor import Program, Tensor
from eqsat.kernels.cost_parts import PART_KINDS, KernelParts, nest_parts, program_parts
from eqsat.pricing.cost_model import CostModel
from eqsat.pricing.costs import Cost
from eqsat.result import Result
from eqsat.showing.html import PALETTE, Bar, array_type, bars, block, code, counted, details, dim, escape, head, keys, number, pair
from eqsat.showing.listings import kernel_body, listing_body
from eqsat.showing.reports import certificate_body, report_facts, rule_table

# bytes of the listing within a result, which stays below 200 kB
LISTING_BYTES = 128_000
# characters of a program that is shown whole
MOST_TEXT = 12_000
# kernels in a chart, those of an open one, and bytes of loop nests
MOST_BARS = 50
MOST_OPEN = 12
NEST_BYTES = 40_000
# the kind of steps that are no kernels
OTHER = "steps"
COLOURS = {**dict(zip(PART_KINDS, PALETTE, strict=True)), OTHER: "#666666"}


@dataclass(frozen=True)
class _Side:
    """A cost with the parts of its kernels; the steps that are no kernels come last, and have none."""

    cost: Cost
    parts: tuple[KernelParts, ...]

    @property
    def kernels(self) -> tuple[tuple[str, KernelParts], ...]:
        """The name and the parts of each kernel and step."""
        steps = (((OTHER, ns),) for _, ns in self.cost.kernels[len(self.parts) :])
        return tuple(zip((name for name, _ in self.cost.kernels), (*self.parts, *steps), strict=True))

    @property
    def sums(self) -> KernelParts:
        """The parts of all together."""
        found: dict[str, float] = defaultdict(float)
        for _, parts in self.kernels:
            for kind, ns in parts:
                found[kind] += ns
        return tuple((kind, found[kind]) for kind in COLOURS if kind in found)


def result_body(result: Result) -> str:
    """A line of facts and the costs, then drawers for everything else."""
    model = CostModel(result.options.target, result.options.cost)
    before = _Side(result.original_cost, program_parts(result.written.joined(), model))
    after = _Side(result.cost, nest_parts(result.nests, model))
    report = result.report
    drawers = [
        _kernels(result, before, after),
        details("Program", pair(_program("as written", result.original), _program("optimized", result.program)), "before and after"),
        "" if result.is_listed else _loop_nests(result),
        _code(result),
        details("Rules", rule_table(report), f"{len(report.fired)} matched"),
    ]
    if result.bodies:
        bodies = "".join(details(f"Loop {k}", result_body(body), str(body.cost)) for k, body in enumerate(result.bodies))
        drawers.append(details("Bodies of loops", bodies, f"{len(result.bodies)}"))
    if result.certificate is not None:
        drawers.append(details("Certificate", certificate_body(result.certificate), "complete" if result.certificate else "incomplete"))
    changed = f"{len(before.kernels)} &#8594; {counted(len(after.kernels), 'kernel')}"
    facts = (_ratio(result), changed, dim(f"on {result.options.target.name}"))
    return head("Optimized program", *facts) + _totals(before, after) + head("", *report_facts(report)) + "".join(drawers)


def _ratio(result: Result) -> str:
    before, after = float(result.original_cost), float(result.cost)
    times = f", {number(before / after)} times cheaper" if 0 < after < before else ""
    return f"<b>{escape(result.original_cost)} &#8594; {escape(result.cost)}</b>{times}"


def _totals(before: _Side, after: _Side) -> str:
    """Both costs as bars of one scale, by what they are made of."""
    used = dict((*before.sums, *after.sums))
    shown = {kind: colour for kind, colour in COLOURS.items() if kind in used}
    return bars([Bar("before", before.sums), Bar("after", after.sums)], "ns", COLOURS) + keys(shown)


def _kernels(result: Result, before: _Side, after: _Side) -> str:
    """A bar for each kernel, after and before."""
    sizes = {size.marker: size.name for size in result.original.sizes}
    made = [_types(nest.made, sizes) for nest in result.nests]
    written = details("As written", _chart(before, []), counted(len(before.kernels), "kernel"))
    return details("Kernels", _chart(after, made) + written, f"{len(after.kernels)}", opened=len(after.kernels) <= MOST_OPEN)


def _types(tensors: Sequence[Tensor], sizes: Mapping[int, str]) -> str:
    """2 float32[4, 8], int64[3]."""
    counts = Counter(array_type(tensor.dtype, tensor.shape, sizes) for tensor in tensors)
    return ", ".join(f"{count} {name}" if count > 1 else name for name, count in counts.items())


def _chart(side: _Side, notes: Sequence[str]) -> str:
    """A bar for each kernel; of many, for the costliest, and what the others cost together."""
    ns = [ns for _, ns in side.cost.kernels]
    costliest = sorted(range(len(ns)), key=lambda k: -ns[k])
    shown, rest = sorted(costliest[:MOST_BARS]), costliest[MOST_BARS:]
    rows = [Bar(*side.kernels[k], notes[k] if k < len(notes) else "") for k in shown]
    others = f"{len(rest)} kernels more, {number(sum(ns[k] for k in rest))} ns together" if rest else ""
    return bars(rows, "ns", COLOURS) + dim(others)


def _program(title: str, program: Program) -> str:
    text = str(program)
    if len(text) <= MOST_TEXT:
        return dim(title) + block(text)
    return dim(f"{title}: the first {number(MOST_TEXT)} of {number(len(text))} characters, all in str()") + block(text[:MOST_TEXT] + " ...")


def _loop_nests(result: Result) -> str:
    """A drawer for each; where they take too much room, those that are left are named."""
    drawers: list[str] = []
    left = NEST_BYTES
    for k, kernel in enumerate(result.loops):
        body = kernel_body(kernel)
        left -= len(body)
        shown = body if left >= 0 else f"too long to be shown here: {code(f'result.loops[{k}]')}"
        drawers.append(details(kernel.name, shown, counted(body.count("\n") + 1, "line")))
    return details("Loop nests", "".join(drawers), f"{len(result.loops)}")


def _code(result: Result) -> str:
    """The listing where it was made; otherwise how to get it, for nothing is compiled to be displayed."""
    if result.is_listed:
        order = sorted(range(len(result.nests)), key=lambda k: -result.cost.kernels[k][1])
        return details("Code", listing_body(result.listing, LISTING_BYTES, order), "loop nests, LLVM IR and assembly")
    made = "compiled" if result.is_compiled else "not compiled yet"
    hint = f"{code('result.listing')} shows loop nests, LLVM IR and assembly line by line"
    texts = f"{code('result.llvm_ir')} and {code('result.assembly')} are the texts"
    return details("Code", f"{hint}; {texts}. Displaying a result compiles nothing.", made)
