"""Algebra of whole tensors: other ways to compute one, stated to the e-graph as equalities."""

from eqsat.algebra.alternatives import Alternative, alternatives

__all__ = ["Alternative", "alternatives"]
