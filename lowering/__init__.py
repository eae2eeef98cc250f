"""From a Build to loop nests: several candidates of equal meaning, and index work hoisted in the one that was picked."""

from eqsat.lowering.candidates import candidates
from eqsat.lowering.hoist import hoist
from eqsat.lowering.index_dtypes import type_indices

__all__ = ["candidates", "hoist", "type_indices"]
