"""Looking into an e-graph: what saturation found, step by step, which rule found it, and what was extracted."""

from __future__ import annotations

from eqsat.exploring.data import EClass, Node, Step
from eqsat.exploring.exploration import explore, explore_index, explore_program
from eqsat.exploring.graph import EGraph

__all__ = ["EClass", "EGraph", "Node", "Step", "explore", "explore_index", "explore_program"]
