"""What single operations cost, in processor cycles: the tables, and what a caller changes in them."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields

from eqsat.egraph.index_cost import INDEX_CYCLES, SAME_AS, IndexWeights
from eqsat.ir.dtypes import is_complex
from eqsat.ir.errors import UsageError
from eqsat.ir.ops import SCALAR_OPS, shown
from eqsat.pricing.kernel_work import Objective

# cycles of one vector operation of each kind, sustained
ELEMENT_CYCLES = {
    "divide": 10.0,
    "floor_divide": 20.0,
    "remainder": 20.0,
    "fmod": 20.0,
    "sqrt": 12.0,
    "cbrt": 18.0,
    "hypot": 16.0,
    "exp": 12.0,
    "exp2": 12.0,
    "expm1": 14.0,
    "log": 11.0,
    "log2": 15.0,
    "log10": 16.0,
    "log1p": 20.0,
    "power": 48.0,
    "sin": 22.0,
    "cos": 22.0,
    "tan": 26.0,
    "arcsin": 16.0,
    "arccos": 16.0,
    "arctan": 16.0,
    "arctan2": 26.0,
    "sinh": 16.0,
    "cosh": 14.0,
    "tanh": 17.0,
    "arcsinh": 40.0,
    "arccosh": 36.0,
    "arctanh": 32.0,
    "erf": 40.0,
    "maximum": 2.5,
    "minimum": 2.5,
    "nextafter": 4.0,
    "fmax": 1.0,
    "fmin": 1.0,
    "sign": 1.0,
    "where": 1.0,
    "threefry": 35.0,
}
# of complex numbers
PAIR_CYCLES = {"multiply": 1.5, "divide": 20.0, "sqrt": 50.0}
SIMPLE_CYCLES = 0.6
# what does not take longer where vectors are worked on in halves: divisions, and comparisons into masks
UNSCALED = ("divide", "sqrt", "maximum", "minimum")


def priced_as(op: str, dtype: str) -> str:
    """The operation that one of elements of a dtype takes as long as: magnitudes of complex numbers are lengths."""
    return "hypot" if op == "absolute" and is_complex(dtype) else op


class Cycles(Mapping[str, float]):
    """Cycles by name, which do not change, so that tables are equal and hashed by what they hold."""

    def __init__(self, cycles: Mapping[str, float]) -> None:
        self._cycles = dict(sorted(cycles.items()))

    def __getitem__(self, name: str) -> float:
        return self._cycles[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._cycles)

    def __len__(self) -> int:
        return len(self._cycles)

    def __hash__(self) -> int:
        return hash(tuple(self._cycles.items()))

    def __repr__(self) -> str:
        return repr(self._cycles)


@dataclass(frozen=True, repr=False)
class Costs:
    """A cost model of the caller: what single operations cost, in processor cycles, where that is not what the tables of
    eqsat say, and what of a kernel is to be small.  What the machine costs is its `Target`.

    element_cycles  one vector operation on elements, sustained, by NumPy's name: `{"divide": 40.0, "exp": 0.0}`
    complex_cycles  the same on complex numbers
    index_cycles    one operation on indices, by the names of `eqsat.egraph.index_cost.INDEX_CYCLES`; those of divisions say what they
                    divide by
    objective       what a kernel costs, given its `KernelWork`; a program costs the sum over its kernels.  None: estimated nanoseconds.
                    It has to give the same for the same work.  What only it tells apart is not kept on disk
    unit            what costs are counted in

    Raises UsageError for names that are no operations, and for cycles that are negative, infinite or no numbers.
    """

    element_cycles: Mapping[str, float] = field(default_factory=dict)
    complex_cycles: Mapping[str, float] = field(default_factory=dict)
    index_cycles: Mapping[str, float] = field(default_factory=dict)
    objective: Objective | None = None
    unit: str = "ns"

    def __post_init__(self) -> None:
        elements = tuple(map(shown, SCALAR_OPS))
        for name, known in (("element_cycles", elements), ("complex_cycles", elements), ("index_cycles", tuple(INDEX_CYCLES))):
            object.__setattr__(self, name, _checked(f"Costs.{name}", getattr(self, name), known))
        if self.objective is not None and not callable(self.objective):
            raise UsageError(f"Costs.objective: found a {type(self.objective).__name__}, expected a function of a KernelWork")
        if not isinstance(self.unit, str):
            raise UsageError(f"Costs.unit: found a {type(self.unit).__name__}, expected a text")

    def __repr__(self) -> str:
        default = {"objective": None, "unit": "ns"}
        said = {one.name: getattr(self, one.name) for one in fields(self)}
        return f"Costs({', '.join(f'{name}={value!r}' for name, value in said.items() if value != default.get(name, {}))})"

    def cycles(self, op: str, dtype: str) -> float:
        """One vector operation on elements of this dtype."""
        if is_complex(dtype) and (op in self.complex_cycles or op in PAIR_CYCLES):
            return self.complex_cycles[op] if op in self.complex_cycles else PAIR_CYCLES[op]
        if self.element_cycles and (name := shown(op)) in self.element_cycles:
            return self.element_cycles[name]
        return ELEMENT_CYCLES.get(op, SIMPLE_CYCLES)

    def is_known(self, op: str, dtype: str) -> bool:
        """Whether the tables say what an operation costs, and it is made of others, or one of those: not a caller, nor one of UNSCALED."""
        own = self.complex_cycles if is_complex(dtype) else self.element_cycles
        return op not in UNSCALED and shown(op) not in own

    def is_simple(self, op: str) -> bool:
        """Whether an operation is one of those of which two are done in a cycle, as far as the tables know."""
        return shown(op) not in self.element_cycles and op not in ELEMENT_CYCLES

    @functools.cached_property
    def index(self) -> IndexWeights:
        """The weights of index operations."""
        return IndexWeights(tuple(item for item in self.index_cycles.items() if item[1] != INDEX_CYCLES[item[0]]))

    @property
    def text(self) -> str | None:
        """What tells it apart in every process; None where a function does."""
        return None if self.objective is not None else repr(self)


def _checked(where: str, cycles: Mapping[str, float], known: Sequence[str]) -> Cycles:
    if not isinstance(cycles, Mapping):
        raise UsageError(f"{where}: found a {type(cycles).__name__}, expected a dict of cycles by the names of operations")
    for name in cycles:
        if name not in known:
            same = f"; {name} costs what {SAME_AS[name]} does" if name in SAME_AS and "mul" in known else ""
            near = difflib.get_close_matches(str(name), known, n=3) or [f"one of {', '.join(known)}"]
            raise UsageError(f"{where}: found the unknown operation {name!r}, expected {' or '.join(near)}{same}")
    return Cycles({name: check_cycles(f"{where}[{name!r}]", value) for name, value in cycles.items()})


def check_cycles(where: str, value: object) -> float:
    """A number of cycles; UsageError for what is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise UsageError(f"{where}: found {value!r}, expected cycles, a finite number that is not negative")
    return float(value)


DEFAULT_COSTS = Costs()
