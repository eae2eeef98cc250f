"""eqsat: an equality-saturation optimizer and compiler for tensor programs.

Write with NumPy's names, call `optimize()` or decorate with `@eqsat.jit`; explore what the e-graph found in the result.
"""

from eqsat.ir.index import maximum, minimum, var, where
from eqsat.options import Limits, Options
from eqsat.parse import parse_index
from eqsat.simplifier import simplify, simplify_many

__version__ = "0.1.0"
__all__ = ["Limits", "Options", "maximum", "minimum", "parse_index", "simplify", "simplify_many", "var", "where"]
