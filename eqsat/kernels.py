"""From an extracted program to the loop nests that run it: candidates lowered, their indices simplified, priced, one picked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from eqsat.ir.index import Index
from eqsat.ir.loops import Kernel, index_terms, map_indices
from eqsat.ir.loops_check import check_kernel
from eqsat.ir.tensor import Build, Program, Tensor, tensors
from eqsat.lowering import candidates, hoist
from eqsat.nest_costs import nest_ns
from eqsat.options import Options
from eqsat.report import Report
from eqsat.simplifier import simplify_terms


@dataclass(frozen=True)
class Nest:
    """A kernel with the tensor that it computes and the tensors of its buffers, output last."""

    kernel: Kernel
    build: Build
    tensors: tuple[Tensor, ...]


def lower_program(program: Program, options: Options, report: Report) -> tuple[Nest, ...]:
    """One loop nest for every tensor that the program stores, in execution order."""
    builds = [tensor for tensor in tensors(*program.outputs) if isinstance(tensor, Build)]
    names: dict[Tensor, str] = {tensor: tensor.name for tensor in program.inputs}
    for tensor in tensors(*program.outputs):
        names.setdefault(tensor, f"t{len(names)}")
    choices = [candidates(build, f"kernel_{k}", names) for k, build in enumerate(builds)]
    simplified = _simplifier([kernel for group in choices for kernel in group], options, report)
    by_name = {name: tensor for tensor, name in names.items()}
    nests = []
    for build, group in zip(builds, choices, strict=True):
        kernels = [map_indices(kernel, simplified) for kernel in group]
        picked = hoist(min(kernels, key=lambda kernel: nest_ns(kernel, options.target)))
        check_kernel(picked)
        nests.append(Nest(picked, build, tuple(by_name[buffer.name] for buffer in picked.buffers)))
    return tuple(nests)


def _simplifier(kernels: list[Kernel], options: Options, report: Report) -> Callable[[Index], Index]:
    """A function from the index terms of all kernels to their simplified forms, found in one run of the e-graph."""
    terms = list(dict.fromkeys(term for kernel in kernels for term in index_terms(kernel)))
    known = dict(zip(terms, simplify_terms(terms, options, report, within=True), strict=True))
    return lambda term: known[term]
