"""The text of a term is its own."""

from __future__ import annotations

import itertools
import struct

import numpy as np
import pytest

import eqsat
from eqsat.ir.canonical import canonical_text
from eqsat.ir.containers import Container
from eqsat.ir.errors import InternalError
from eqsat.ir.index import Const, Var, apply
from eqsat.ir.node import Node
from eqsat.ir.tensor import Call, Constant, Input, Literal, Program, Read, axes
from tests.eqsat.test_tracing import ONE_ARRAY

X, Y = Input("x", (4,), "float32"), Input("y", (4,), "float32")
MINUS_NAN = struct.unpack("<d", struct.pack("<Q", 0xFFF8 << 48))[0]
ZERO, NEGATIVE = np.zeros(100), -np.zeros(100)

APART: dict[str, tuple[Node, Node]] = {
    "integers and truth values": (Const(1), Const(True)),
    "bounds of variables": (Var("i0", 0, 3), Var("i0", 0, 4)),
    "order of operands": (apply("sub", Var("a", 0, 3), Var("b", 0, 3)), apply("sub", Var("b", 0, 3), Var("a", 0, 3))),
    "signs of zero": (Literal(0.0, "float32"), Literal(-0.0, "float32")),
    "signs of NaN": (Literal(float("nan"), "float64"), Literal(MINUS_NAN, "float64")),
    "dtypes of numbers": (Literal(1, "int32"), Literal(1, "int64")),
    "names of inputs": (X, Y),
    "shapes of constants": (Constant(np.zeros((2, 3))), Constant(np.zeros((3, 2)))),
    "elements of large constants": (Constant(ZERO), Constant(NEGATIVE)),
    "order of outputs": (Program((X, Y), (X, Y)), Program((X, Y), (Y, X))),
    "containers": (Program((X,), (X,), Container("list", (0,))), Program((X,), (X,), Container("tuple", (0,)))),
    "keys": (Program((X,), (X,), Container("dict", (0,), ("a",))), Program((X,), (X,), Container("dict", (0,), ("b",)))),
    "names that look like other text": (Input("x') (4", (4,), "float32"), Input("x", (4,), "float32")),
}


@pytest.mark.parametrize("what", APART)
def test_terms_that_differ_have_different_texts(what: str) -> None:
    first, second = APART[what]
    assert first is not second
    assert canonical_text(first) != canonical_text(second)


def test_constants_of_equal_elements_have_one_text() -> None:
    assert canonical_text(Constant(np.arange(100))) == canonical_text(Constant(np.arange(100).copy()))


def test_programs_have_one_text_if_they_are_one_program() -> None:
    programs = [eqsat.trace(function, array) for function, array in ONE_ARRAY.values()]
    texts = [canonical_text(program) for program in programs]
    for (p, first), (q, second) in itertools.combinations(zip(programs, texts, strict=True), 2):
        assert (first == second) == (p is q)


def test_what_is_shared_is_written_once() -> None:
    term: Literal | Call | Read = Read(X, axes((4,)))
    for _ in range(100):
        term = Call("add", (term, term), "float32")
    assert len(canonical_text(term).splitlines()) == 103


def test_a_deep_term_has_a_text() -> None:
    term: Literal | Call = Literal(1.0, "float32")
    for _ in range(5000):
        term = Call("negative", (term,), "float32")
    assert len(canonical_text(term).splitlines()) == 5001


def test_a_field_that_cannot_be_written_exactly_is_a_bug() -> None:
    with pytest.raises(InternalError, match="found a field of type float"):
        canonical_text(Input("x", (0.5,), "float32"))  # type: ignore[arg-type]
