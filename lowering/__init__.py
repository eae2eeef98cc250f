"""From a Build to loop nests: several candidates of equal meaning, and index work hoisted in the one that was picked, its
result written over what it reads."""

from eqsat.lowering.candidates import candidates
from eqsat.lowering.hoist import hoist
from eqsat.lowering.index_dtypes import type_indices
from eqsat.lowering.joining.in_place import in_place

__all__ = ["candidates", "hoist", "in_place", "type_indices"]
