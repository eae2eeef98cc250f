"""The plan of a program: read from disk where it is known, else optimized, compiled and kept there."""

from __future__ import annotations

from eqsat.driver import optimize_program
from eqsat.ir.tensor import Constant, Program, tensors
from eqsat.keeping.kept import store_for
from eqsat.keeping.keys import plan_key
from eqsat.options import Options
from eqsat.progress import work
from eqsat.running.packing import pack, unpack
from eqsat.running.plan import Plan
from eqsat.running.sized_plan import plan_of


@work("compiling")
def compiled_plan(program: Program, options: Options) -> Plan:
    """The plan of a program; what `optimize_program` raises where the program is not known.

    egglog is not imported for a program that is known.
    """
    store = store_for(options)
    key = None if store is None else plan_key(program, options)
    if store is None or key is None:
        return optimize_program(program, options).compile()
    constants = [tensor.data for tensor in tensors(*program.outputs) if isinstance(tensor, Constant)]
    kept = store.get(key)
    if kept is not None:
        return plan_of(unpack(kept, constants), lambda: compiled_plan(program, options.without("algebra")))
    plan = optimize_program(program, options).compile()
    store.put(key, pack(plan.blueprint, constants))
    return plan
