"""Certificates: what Options(certify=True) found out about index terms and programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from eqsat.ir.errors import UnsoundRuleError
from eqsat.ir.index import Index
from eqsat.ir.index_points import Pair
from eqsat.ir.shown import Shown
from eqsat.proving.proof import ALWAYS, Proof, prove_under
from eqsat.report import Report


@dataclass(frozen=True)
class Compared:
    """The values of one output before and after, by the reference interpreter on random inputs.

    elements   how many elements were compared; 0: none, since `size` or the work for one is too large
    size       how many elements the output has
    deviation  of floats relative to the largest magnitude; of other values the share that differs
    """

    elements: int
    size: int
    deviation: float = 0.0

    def __str__(self) -> str:
        if self.size and not self.elements:
            return f"none of {self.size:,} elements compared: too much work"
        return f"{self.elements:,} of {self.size:,} elements compared, deviation {self.deviation:.1e}"


@dataclass(frozen=True, repr=False)
class Certificate(Shown):
    """What was checked of an optimized program; true if every index term is proved equal and every output was compared.

    indices  a Proof for every index term that was simplified: maps of movements, indices of loops
    outputs  the comparison of every output's values
    """

    indices: tuple[Proof, ...]
    outputs: tuple[Compared, ...]

    @property
    def undecided(self) -> tuple[Proof, ...]:
        """The index terms whose equality was neither proved nor refuted."""
        return tuple(proof for proof in self.indices if not proof)

    def __bool__(self) -> bool:
        return not self.undecided and all(one.elements or not one.size for one in self.outputs)

    def __str__(self) -> str:
        methods = ", ".join(f"{method} {count}" for method, count in Counter(proof.method for proof in self.indices).most_common())
        lines = [f"index terms: {len(self.indices) - len(self.undecided)} of {len(self.indices)} proved equal ({methods or 'none'})"]
        lines += [f"  {proof}" for proof in self.undecided]
        lines += [f"output {k}: {one}" for k, one in enumerate(self.outputs)]
        return "\n".join(lines)

    __repr__ = __str__


def certify_terms(terms: Sequence[Index], results: Sequence[Index], report: Report, fact: Index = ALWAYS) -> None:
    """Add to the report the proof that every result equals its term wherever that has a value, and a fact holds.

    The rules take no part in these proofs.  Raises UnsoundRuleError where one is refuted.
    """
    for term, result in dict(zip(terms, results, strict=True)).items():
        proof = prove_under(fact, Pair(term, result, extends=True))
        if proof.refuted:
            fired = tuple(sorted(report.fired))
            raise UnsoundRuleError(f"{term} was simplified to {result}: {proof}; rules that fired: {', '.join(fired)}", fired)
        report.proofs.append(proof)
