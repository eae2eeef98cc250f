"""Lines of LLVM IR and of assembly belong to the statements that they were written for, and telling so changes no instruction."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import eqsat
from eqsat.codegen.llvm.listing import Line, instructions
from eqsat.ir.loops_text import statement_lines
from eqsat.kernels.listing import KernelListing
from eqsat.result import Result


def sums(a: Any) -> Any:
    return np.exp(a - np.mean(a, axis=1, keepdims=True)).sum(axis=1)


def product(a: Any, b: Any) -> Any:
    return np.tanh(a @ b)


def running(a: Any) -> Any:
    return np.cumsum(a, axis=1)


def positions(a: Any) -> Any:
    return np.sin(a.reshape(6, 32)[::-1])


WIDE = eqsat.spec((8, 24), "float32")
PROGRAMS = {
    "sums": (sums, (WIDE,)),
    "product": (product, (eqsat.spec((48, 32), "float64"), eqsat.spec((32, 40), "float64"))),
    "running": (running, (WIDE,)),
    "positions": (positions, (WIDE,)),
}


@pytest.fixture(scope="module", params=sorted(PROGRAMS))
def result(request: pytest.FixtureRequest) -> Result:
    function, specs = PROGRAMS[request.param]
    return eqsat.optimize(function, *specs)


def code_lines(one: KernelListing) -> list[Line]:
    return [line for line in one.assembly if line.text.startswith("\t")]


def test_the_lines_of_llvm_ir_are_those_of_the_module(result: Result) -> None:
    for one in result.listing.kernels:
        assert "\n".join(line.text for line in one.llvm_ir) in result.llvm_ir


def test_telling_where_lines_come_from_changes_no_instruction(result: Result) -> None:
    assert result.listing.same_code
    plain = instructions(result.assembly)
    for one in result.listing.kernels:
        assert [line.text for line in one.assembly] == [line.text for line in plain[one.name]]


def test_every_line_belongs_to_a_line_of_the_loop_nest(result: Result) -> None:
    for one, kernel in zip(result.listing.kernels, result.loops, strict=True):
        assert one.loops == tuple(str(kernel).split("\n"))
        assert {line.source for line in one.llvm_ir} <= set(range(1, len(one.loops) + 1))
        assert {line.source for line in one.assembly} <= set(range(len(one.loops) + 1))


def test_most_instructions_know_their_statement(result: Result) -> None:
    lines = [line for one in result.listing.kernels for line in code_lines(one)]
    assert sum(line.source > 1 for line in lines) > 0.5 * len(lines)


def test_stores_belong_to_stores_and_folds_to_folds() -> None:
    lines = [(line, one.loops) for one in eqsat.optimize(sums, WIDE).listing.kernels for line in one.llvm_ir]
    stores = [(line.source, loops) for line, loops in lines if line.text.startswith("  store ")]
    folds = [(line.source, loops) for line, loops in lines if " phi float" in line.text]
    assert stores
    assert folds
    assert all(source > 0 for source, _ in stores + folds)
    assert all(re.search(r"^\s*\w+\[.*\] =", loops[source - 1]) for source, loops in stores)
    assert all("= sum for" in loops[source - 1] for source, loops in folds)


def test_a_listing_as_text_numbers_the_lines() -> None:
    listing = eqsat.optimize(sums, WIDE).listing
    one = listing.kernels[0]
    numbered = [f"{number:4}  {text}" for number, text in enumerate(one.loops, start=1)]
    assert str(one).startswith("\n".join(numbered))
    assert all(f"{line.source or '':4}  {line.text}" in str(one) for line in one.assembly)
    assert str(listing) == "\n\n".join(map(str, listing.kernels))


def test_instructions_leave_out_what_is_no_code() -> None:
    text = '\t.text\n"k":\n.Lfunc_begin0:\n\t.loc\t1 7 0\n\taddq\t%rax, %rbx\t# a note\n.LBB0_1:\n\t.loc\t1 0 0\n\tretq\n.Lfunc_end0:\n'
    assert instructions(text) == {"k": (Line("\taddq\t%rax, %rbx", 7), Line(".LBB0_1:", 0), Line("\tretq", 0))}


def test_a_statement_begins_in_the_line_that_shows_it(result: Result) -> None:
    for kernel in result.loops:
        lines = str(kernel).split("\n")
        numbers = statement_lines(kernel)
        assert sorted(set(numbers.values())) == sorted(numbers.values())
        for stmt, number in numbers.items():
            name = getattr(stmt, "name", None) or getattr(stmt, "buffer", None) or stmt.variable.name  # type: ignore[union-attr]
            assert re.match(rf"\s*(for )?{name}\b", lines[number - 1])


def test_kernels_that_do_the_same_on_other_buffers_have_one_function() -> None:
    def repeated(x: Any, w: Any) -> Any:
        for _ in range(4):
            x = np.tanh(x @ w)
        return x

    x, w = np.random.default_rng(0).normal(size=(2, 32, 32)).astype("float32")
    result = eqsat.optimize(repeated, x, w)
    assert len(result.nests) == 4
    bodies = [line for line in result.llvm_ir.splitlines() if line.startswith("define void") and line.endswith("#0 {")]
    assert len(bodies) == 2  # the first kernel reads an input, the others may write over what they read
    assert result.llvm_ir.count(" = alias ") == 2 * 3
    np.testing.assert_allclose(result(x, w), repeated(x, w), rtol=1e-4, atol=1e-5)
    listing = result.listing
    _, first, *others = listing.kernels
    assert listing.same_code
    assert all(other.llvm_ir == first.llvm_ir and other.assembly == first.assembly for other in others)
    assert [one.name for one in listing.kernels] == [f"kernel_{k}" for k in range(4)]
