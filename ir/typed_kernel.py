"""A loop nest whose index terms are typed: what code generation starts from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from eqsat.ir.index import Index
from eqsat.ir.loops import Bind, Clip, Fold, For, Kernel, index_terms, statements
from eqsat.ir.typed import Typed


@dataclass(frozen=True)
class TypedKernel:
    """`typed` gives the Range of every loop variable, the Bound of every variable of a Bind, and the typed form of every offset.

    Offsets and bounds of loops are of dtype int32 or int64, and no intermediate value leaves its dtype.
    """

    kernel: Kernel
    typed: Mapping[Index, Typed]

    def __str__(self) -> str:
        """The nest, and below it every index term with its typed form."""
        roots: list[Index] = [s.variable for s in statements(self.kernel.body) if isinstance(s, For | Fold | Bind | Clip)]
        roots += [term for term in index_terms(self.kernel) if term in self.typed]
        return "\n".join([str(self.kernel), *(f"    {term}: {self.typed[term]}" for term in dict.fromkeys(roots))])
