"""The two ways to write a kernel: a Generic as the Build that it means, and back."""

from __future__ import annotations

from collections.abc import Mapping

from eqsat.ir.index import Index, Var, substitute
from eqsat.ir.tensor import (
    Arg,
    Build,
    Gather,
    Generic,
    IteratorKind,
    Position,
    Program,
    Read,
    Reduce,
    Scalar,
    Tensor,
    operands,
    over,
    rebuild,
    reduction,
    scalars,
    tensors,
)


def as_build(generic: Generic) -> Build:
    """A Generic as build N (i -> fold block): the meaning of Generic."""
    reads = tuple(Read(t, m) for t, m in zip(generic.operands, generic.maps, strict=True))
    body = instantiate_block(generic.block, reads)
    for variable in reversed(generic.reductions):
        assert generic.combine is not None
        body = Reduce(generic.combine, variable, body)
    return Build(generic.shape, body)


def instantiate_block(block: Scalar, args: tuple[Scalar, ...]) -> Scalar:
    """The block of a Generic with its arguments replaced."""
    done: dict[Scalar, Scalar] = {}
    for term in scalars(block):
        done[term] = args[term.position] if isinstance(term, Arg) else rebuild(term, tuple(done[a] for a in operands(term)))
    return done[block]


def as_generic(build: Build) -> Generic | None:
    """The way back: one Generic whose block is the whole function; None where a fold is not at the root of the function, or where it
    gathers.

    Operands are the distinct reads in order of first use, each with its indexing map.
    """
    folds: list[Reduce] = []
    body = build.body
    while isinstance(body, Reduce) and (not folds or body.op == folds[0].op):
        folds.append(body)
        body = body.body
    terms = tuple(scalars(body))
    if any(isinstance(term, Reduce | Gather) for term in terms):
        return None
    env: dict[Var, Index] = {fold.variable: reduction(level, fold.variable.extent) for level, fold in enumerate(folds)}
    reads = [term for term in terms if isinstance(term, Read)]
    done: dict[Scalar, Scalar] = {}
    for term in terms:
        if isinstance(term, Read):
            done[term] = Arg(reads.index(term), term.dtype)
        elif isinstance(term, Position):
            done[term] = Position(substitute(term.index, env), term.dtype)
        else:
            done[term] = rebuild(term, tuple(done[a] for a in operands(term)))
    iterators: list[tuple[IteratorKind, int]] = [("parallel", n) for n in build.shape]
    iterators += [("reduction", fold.variable.extent) for fold in folds]
    maps = tuple(tuple(substitute(index, env) for index in read.indices) for read in reads)
    return Generic(tuple(iterators), maps, tuple(read.tensor for read in reads), done[body], folds[0].op if folds else None)


def as_builds(program: Program) -> Program:
    """The program with every Generic written as the build that it means."""
    known = rebuilt(program, {})
    return Program(program.inputs, tuple(known[output] for output in program.outputs), program.structure, program.sizes)


def rebuilt(program: Program, changed: Mapping[Tensor, Build]) -> dict[Tensor, Tensor]:
    """The tensors of a program as builds over each other; `changed` are equal tensors to put in the place of some."""
    done: dict[Tensor, Tensor] = {}
    for tensor in tensors(*program.outputs):
        build = changed.get(tensor, tensor)
        done[tensor] = over(as_build(build) if isinstance(build, Generic) else build, done)
    return done
