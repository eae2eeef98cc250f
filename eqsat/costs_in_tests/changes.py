"""What became of a program's cost since its snapshot: a verdict, and a text that names kernels, parts and rules."""

from __future__ import annotations

import enum
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher, unified_diff

from eqsat.costs_in_tests.snapshots import CostSnapshot, KernelCost
from eqsat.pricing.amounts import amount

# what is printed differs in the last digit
ROUNDING_NS = 2e-3
RELATIVE = 1e-6
# of the largest change in a kernel
NEGLIGIBLE = 1e-3
SHOWN_PARTS = 5
TENSOR = re.compile(r"\bt\d+\b")


class Verdict(enum.Enum):
    """How a cost compares with its snapshot."""

    SAME = "same"
    CHANGED = "changed"
    CHEAPER = "cheaper"
    DEARER = "dearer"
    TARGET = "other target"
    NEW = "new"


@dataclass(frozen=True)
class CostChange:
    """A program's cost beside its snapshot; `before` is None where there is none."""

    before: CostSnapshot | None
    after: CostSnapshot

    @property
    def verdict(self) -> Verdict:
        if self.before is None:
            return Verdict.NEW
        if (self.before.target, self.before.unit) != (self.after.target, self.after.unit):
            return Verdict.TARGET
        if not same_ns(self.before.total, self.after.total):
            return Verdict.DEARER if self.before.total < self.after.total else Verdict.CHEAPER
        return Verdict.SAME if self.before.program == self.after.program else Verdict.CHANGED

    @property
    def fails(self) -> bool:
        """Whether a test has to fail for it."""
        return self.verdict in (Verdict.DEARER, Verdict.TARGET)

    def __str__(self) -> str:
        """Cost, kernels, rules and listing before and after, as far as they differ."""
        before, after = self.before, self.after
        if before is None:
            return f"cost {amount(after.total, after.unit)}: no snapshot"
        if before.target != after.target:
            return f"costs are of another target: found {after.target}, expected {before.target} as in the snapshot"
        if before.unit != after.unit:
            return f"costs are counted in another unit: found {after.unit}, expected {before.unit} as in the snapshot"
        unit = after.unit
        lines = [f"cost {_step(before.total, after.total, unit)}, {_kernels(before, after)}, target {after.target}"]
        if before.eqsat != after.eqsat:
            lines.append(f"the snapshot was made by eqsat {before.eqsat}, this is eqsat {after.eqsat}")
        as_before = same_ns(before.written, after.written)
        lines.append(f"as written: {'as before' if as_before else f'{_step(before.written, after.written, unit)}, another program'}")
        lines += _kernel_lines(before, after)
        lines += _rule_lines("no longer fire", set(before.rules) - set(after.rules))
        lines += _rule_lines("fire newly", set(after.rules) - set(before.rules))
        return "\n".join([*lines, *_listing_lines(before.program, after.program)])


def same_ns(a: float, b: float) -> bool:
    """Whether two costs are equal but for rounding."""
    return math.isclose(a, b, rel_tol=RELATIVE, abs_tol=ROUNDING_NS)


def change_text(before: float, after: float) -> str:
    """+12.5%"""
    return f"{after / before - 1:+.1%}" if before else "from nothing"


def definitions(kernel: KernelCost, program: Sequence[str]) -> list[str]:
    """The lines of the listing that define what a kernel computes."""
    return [line.strip() for name in kernel.makes for line in program if line.startswith(f"  {name}: ")]


def kernel_lines(kernels: Sequence[KernelCost], program: Sequence[str], unit: str) -> list[str]:
    """For each kernel its name, its cost, and what it computes."""
    return [
        line for kernel in kernels for line in (f"  {kernel.name}  {amount(kernel.ns, unit)}", *_indented(definitions(kernel, program)))
    ]


def _step(before: float, after: float, unit: str) -> str:
    return f"{amount(before, unit)} -> {amount(after, unit)} ({change_text(before, after)})"


def _kernels(before: CostSnapshot, after: CostSnapshot) -> str:
    counts = dict.fromkeys(str(len(one.kernels)) for one in (before, after))
    return f"{' -> '.join(counts)} kernel{'' if [*counts] == ['1'] else 's'}"


def _signature(kernel: KernelCost, program: Sequence[str]) -> tuple[str, ...]:
    """What a kernel computes, whatever its tensors are called; what has no listing goes by its name."""
    return tuple(TENSOR.sub("t", line) for line in definitions(kernel, program)) or (kernel.name if kernel.makes else "",)


def _kernel_lines(before: CostSnapshot, after: CostSnapshot) -> list[str]:
    """What became of the kernels, those that cost the same left out: the ones that compute the same belong together, then the ones that
    stand in the same place."""
    old = [_signature(kernel, before.program) for kernel in before.kernels]
    new = [_signature(kernel, after.program) for kernel in after.kernels]
    lines: list[str] = []
    for _, start, stop, first, last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        gone, come = before.kernels[start:stop], after.kernels[first:last]
        for one, other in zip(gone, come, strict=False):
            lines += _pair_lines(one, other, before, after)
        lines += _lone_lines("-", gone[len(come) :], before)
        lines += _lone_lines("+", come[len(gone) :], after)
    return ["kernels:", *lines] if lines else []


def _pair_lines(one: KernelCost, other: KernelCost, before: CostSnapshot, after: CostSnapshot) -> list[str]:
    """A kernel before and after, where its cost differs: which of its parts changed, the largest change first."""
    if same_ns(one.ns, other.ns):
        return []
    shown = one.name if one.name == other.name else f"{one.name} -> {other.name}"
    changes = {what: other.parts.get(what, 0.0) - one.parts.get(what, 0.0) for what in {**one.parts, **other.parts}}
    least = max(ROUNDING_NS, NEGLIGIBLE * max(map(abs, changes.values()), default=0.0))
    largest = sorted((what for what in changes if abs(changes[what]) > least), key=lambda what: (-abs(changes[what]), what))
    rest = len(largest) - SHOWN_PARTS
    lines = [f"    {_signed(changes[what])}  {what}" for what in largest[:SHOWN_PARTS]]
    lines += [f"    and {rest} more parts"] if rest > 0 else []
    made, makes = definitions(one, before.program), definitions(other, after.program)
    gone, come = (f"    - {line}" for line in made if line not in makes), (f"    + {line}" for line in makes if line not in made)
    listing = _indented(made) if made == makes else [*gone, *come]
    return [f"  ~ {shown}  {_step(one.ns, other.ns, after.unit)}", *listing, *lines]


def _lone_lines(mark: str, kernels: Sequence[KernelCost], whole: CostSnapshot) -> list[str]:
    """Kernels that are there only before, or only after, with their dearest parts."""
    lines = []
    for kernel in kernels:
        dearest = sorted(kernel.parts, key=lambda what: (-kernel.parts[what], what))[:SHOWN_PARTS]
        sign = -1 if mark == "-" else 1
        lines += [f"  {mark} {kernel.name}  {amount(kernel.ns, whole.unit)}", *_indented(definitions(kernel, whole.program))]
        lines += [f"    {_signed(sign * kernel.parts[what])}  {what}" for what in dearest]
    return lines


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _signed(ns: float) -> str:
    return f"{'+' if ns > 0 else '-'}{amount(abs(ns))}".rjust(14)


def _rule_lines(what: str, names: set[str]) -> list[str]:
    return [f"rules that {what}: {', '.join(sorted(names))}"] if names else []


def _listing_lines(before: Sequence[str], after: Sequence[str]) -> list[str]:
    changed = list(unified_diff(before, after, "snapshot", "now", lineterm="", n=1))
    return ["program:", *(f"  {line}" for line in changed)] if changed else ["program: as before"]
