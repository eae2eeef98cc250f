"""Pages of programs and of the plans that run them."""

from __future__ import annotations

from eqsat.ir.steps import Loop
from eqsat.ir.tensor import Program
from eqsat.pricing.costs import cost
from eqsat.running.plan import Plan
from eqsat.showing.html import array_type, block, code, counted, dim, escape, head, number, table


def program_body(program: Program) -> str:
    """The inputs, what the program costs as written, and its text."""
    written = cost(program)
    loops = sum(isinstance(step, Loop) for step in program.steps)
    steps = [f"{counted(len(program.steps), 'step')}, {loops} of them loops"] if program.steps else []
    outputs = f"{counted(len(program.inputs), 'input')}, {counted(len(program.outputs), 'output')}"
    facts = (outputs, f"{counted(len(written.kernels), 'kernel')} as written", *steps, dim(f"estimated {written}"))
    return head("Program", *facts) + block(program)


def plan_body(plan: Plan) -> str:
    """The kernels by groups, what they wait for, read and write, and the memory between them."""
    blueprint = plan.blueprint
    shown = _buffers(plan)
    groups = [kernel.group for kernel in plan.kernels]
    rows = []
    for k, kernel in enumerate(plan.kernels):
        waits = ", ".join(plan.kernels[other].name for other in kernel.dependencies)
        read, written = (", ".join(shown[slot] for slot in slots) for slots in (kernel.read, kernel.written))
        once = " once" if k in blueprint.once else ""
        split = f"{kernel.parallel_extent}" if kernel.parallel_extent is not None else ""
        first = k == 0 or groups[k - 1] != kernel.group
        group = str(kernel.group) if first else ""
        rows.append([group, code(kernel.name) + dim(once), escape(waits), read, written, number(kernel.estimated_ns), split])
    header = ("group", "kernel", "waits for", "reads", "writes", "ns", "parallel")
    facts = (
        f"{counted(len(plan.kernels), 'kernel')} in {counted(len(set(groups)), 'group')}",
        counted(plan.num_outputs, "output"),
        f"{number(sum(blueprint.storages))} bytes between kernels, in {counted(len(blueprint.storages), 'place')}",
        f"{number(len(blueprint.object_code))} bytes of object code",
        dim(", ".join(f"{size.name} in {size.lo}..{size.hi}" for size in blueprint.sizes)),
    )
    note = "Kernels of one group wait for none of each other; ns: estimated; parallel: iterations that threads may share."
    return head("Plan", *facts) + table(header, rows, "nttbbnn") + f"<div>{dim(note)}</div>"


def _buffers(plan: Plan) -> list[str]:
    """The name and the type of each buffer, as HTML."""
    sizes = {size.marker: size.name for size in plan.blueprint.sizes}
    inputs = [tensor.name for tensor in plan.blueprint.inputs]
    letters = {"output": "out", "constant": "const", "intermediate": "t", "input": "in"}
    names = [*inputs, *(f"{letters[buffer.role]}{slot}" for slot, buffer in enumerate(plan.buffers) if slot >= len(inputs))]
    types = (array_type(buffer.dtype, buffer.shape, sizes) for buffer in plan.buffers)
    return [f"{code(name)} {dim(type)}" for name, type in zip(names, types, strict=True)]
