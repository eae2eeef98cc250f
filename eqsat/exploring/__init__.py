"""Looking into an e-graph: what saturation found, step by step, which rule found it, and what was extracted."""

from __future__ import annotations

from eqsat.exploring.explore import explore, explore_index, explore_program
from eqsat.exploring.graph import EClass, EGraph, Node, Step

__all__ = ["EClass", "EGraph", "Node", "Step", "explore", "explore_index", "explore_program"]
