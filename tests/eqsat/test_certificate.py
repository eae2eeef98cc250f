"""Options(certify=True): what the certificate states, and that a wrong rule or a wrong program is caught and named."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat import driver, saturate
from eqsat.extraction.cheapest import Extracted
from eqsat.ir.errors import UnsoundRuleError
from eqsat.ir.evaluate import Elements, elements, evaluate
from eqsat.ir.generics import as_builds
from eqsat.ir.index import apply, minimum, var
from eqsat.ir.tensor import Build, Call, Input, Literal, Program, Read, Reduce, Scalar, reduction
from eqsat.options import Limits
from eqsat.proving import integer_sets
from eqsat.proving.deviation import share_that_differs
from eqsat.report import Report
from eqsat.rules import TABLES, Pattern, Table
from eqsat.rules.row import literal, term
from eqsat.saturate import Session, session
from tests.eqsat.index_terms import needs_islpy
from tests.eqsat.tracing_cases import sample

CERTIFY = eqsat.Options(certify=True)
X = var("x", 0, 2**30)


def moved(x: Any) -> Any:
    return enp.flip(x.reshape(2, 6).T.reshape(4, 3), 0) * 2 + x.sum()


def plant(monkeypatch: pytest.MonkeyPatch, row: Pattern) -> None:
    """Let the simplifier use one more rule."""
    tables = (*TABLES, Table("planted", "index", "", (row,)))

    def planted(names: tuple[str, ...], limits: Limits, report: Report, **options: Any) -> AbstractContextManager[Session]:
        return session((*names, "planted"), limits, report, tables, **options)

    monkeypatch.setattr(saturate, "session", planted)


# index expressions -------------------------------------------------------------------------------------------------
@needs_islpy
def test_the_certificate_of_an_index_expression_is_the_proof_of_its_result() -> None:
    result = eqsat.optimize(X // 8 * 8 + X % 8, options=CERTIFY)
    assert result.expr is X
    assert isinstance(result.certificate, eqsat.Proof)
    assert result.certificate
    assert result.certificate.right is X
    assert result.certificate.method == "integer sets"


def test_a_result_may_have_values_where_the_expression_has_none() -> None:
    d = var("d", -3, 3)
    result = eqsat.optimize(X // d * 0, options=CERTIFY)
    assert str(result.expr) == "0"
    assert result.certificate
    assert not eqsat.prove_equal(X // d * 0, result.expr)


def test_without_certify_there_is_no_certificate() -> None:
    assert eqsat.optimize(X % 8).certificate is None
    assert eqsat.optimize(moved, np.ones(12, "float32")).certificate is None


x, y = term("x"), term("y")
a, n = literal("a"), literal("n")
QUOTIENT = Pattern("planted-quotient-in-range", (x // a) % n, x // a)
UNSOUND = [
    (Pattern("planted-min-is-first", minimum(x, y), x), minimum(X, var("z", 0, 2**30)) * 2 + X),
    (QUOTIENT, X // 8 % 4),
]


@pytest.mark.parametrize(("row", "expression"), UNSOUND, ids=lambda value: getattr(value, "name", ""))
def test_a_planted_unsound_rule_is_caught_and_named(row: Pattern, expression: eqsat.Index, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, row)
    assert eqsat.simplify(expression) is not expression
    with pytest.raises(UnsoundRuleError) as caught:
        eqsat.simplify_many([X % 4, expression], CERTIFY)
    assert row.name in caught.value.rules
    assert row.name in str(caught.value)
    assert str(expression) in str(caught.value)
    assert " at x = " in str(caught.value)


def test_what_cannot_be_decided_is_stated_and_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(integer_sets, "_islpy", lambda: None)
    result = eqsat.optimize(X // 8 * 8 + X % 8, options=CERTIFY)
    assert result.certificate is not None
    assert (bool(result.certificate), result.certificate.method) == (False, "unknown")


# programs ----------------------------------------------------------------------------------------------------------
def test_the_certificate_of_a_program_counts_proofs_and_elements() -> None:
    certificate = eqsat.optimize(moved, np.ones(12, "float32"), options=CERTIFY).certificate
    assert certificate
    assert certificate.indices
    assert certificate.undecided == ()
    (output,) = certificate.outputs
    assert (output.elements, output.size) == (12, 12)
    assert output.deviation <= 1e-6
    assert "12 of 12 elements compared" in str(certificate)


def test_of_large_outputs_some_elements_are_compared() -> None:
    certificate = eqsat.optimize(
        lambda a, b: enp.exp(a @ b).T, eqsat.spec((3000, 300), "float32"), eqsat.spec((300, 2000), "float32"), options=CERTIFY
    ).certificate
    assert certificate
    assert certificate.outputs[0].size == 6_000_000
    assert 64 <= certificate.outputs[0].elements <= 4096


def test_a_planted_unsound_rule_is_caught_in_the_maps_of_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, QUOTIENT)
    with pytest.raises(UnsoundRuleError, match="planted-quotient-in-range"):
        eqsat.optimize(lambda a: enp.flip(a.reshape(8, 6).T.reshape(12, 4), 0).reshape(6, 8), np.ones((6, 8)), options=CERTIFY)


def test_a_wrong_program_is_caught_by_its_values(monkeypatch: pytest.MonkeyPatch) -> None:
    other = as_builds(eqsat.trace(lambda a: a.reshape(3, 4)[:, ::-1], np.ones(12)))
    monkeypatch.setattr(driver, "cheapest_outputs", lambda program, *rest: Extracted(_reading(program, other)))
    with pytest.raises(UnsoundRuleError, match="output 0 differs from that of the program as written"):
        eqsat.optimize(lambda a: a.reshape(3, 4), np.ones(12), options=CERTIFY)


def _reading(program: Program, other: Program) -> tuple[Any, ...]:
    assert program.inputs[0] is other.inputs[0], "traced with one name"
    return other.outputs


# elements that are computed when they are read -----------------------------------------------------------------------
def test_elements_are_those_of_the_whole_array() -> None:
    arrays = (sample((6, 4), "float32"), sample((4, 5), "float32"))
    program = eqsat.trace(lambda a, b: (enp.exp(a @ b) / (a @ b).sum(axis=1, keepdims=True)).T, *arrays)
    (expected,) = evaluate(program, arrays)
    spent: list[int] = []
    found = elements(program, dict(zip(program.inputs, arrays, strict=True)), spent.append)[0]
    assert isinstance(found, Elements)
    rows, columns = np.array([[0, 4], [2, 2]]), np.array([[5, 0], [1, 1]])
    assert np.array_equal(found[rows, columns], expected[rows, columns])
    once = sum(spent)
    assert np.array_equal(found[rows, columns], expected[rows, columns])
    assert sum(spent) == once
    assert once < sum(tensor.shape[0] * tensor.shape[1] * 5 for tensor in as_builds(program).outputs if isinstance(tensor, Build)) * 4


def test_a_scalar_is_an_element_too() -> None:
    program = eqsat.trace(lambda a: a.sum(), np.ones(7))
    assert elements(program, {program.inputs[0]: np.arange(7.0)}, lambda work: None)[0][()] == 21
    assert eqsat.optimize(program, options=CERTIFY).certificate


def test_integers_that_differ_anywhere_are_an_error() -> None:
    count = np.arange(5)
    assert share_that_differs(count, count, False) == 0
    assert share_that_differs(count, count + (count == 4), False) == pytest.approx(0.2)
    floats = np.array([1.0, np.nan, np.inf, 4.0])
    assert share_that_differs(floats, floats, False) == 0
    assert share_that_differs(floats, np.array([1.0, np.nan, 1.0, 4.0]), False) == 0.25
    assert share_that_differs(floats, np.array([1.0, 3.0, 1.0, 4.0]), True) == 0


def test_the_parts_of_a_certificate_have_texts() -> None:
    assert str(eqsat.Certificate((), ())) == "index terms: 0 of 0 proved equal (none)"
    assert "apply" not in repr(eqsat.optimize(apply("abs", X - 3), options=CERTIFY).certificate)


def test_the_work_for_an_element_is_that_of_the_reductions_that_it_depends_on_at_once() -> None:
    x = Input("x", (8,), "int64")

    def folded(level: int, body: Scalar) -> Scalar:
        return Reduce("sum", reduction(level, 8), Call("add", (Read(x, (reduction(level, 8),)), body), "int64"))

    apart: Scalar = Literal(0, "int64")
    for _ in range(12):
        apart = Call("add", (folded(0, Literal(1, "int64")), apart), "int64")
    inside = folded(0, folded(1, folded(2, Literal(0, "int64"))))
    product = Reduce("sum", reduction(0, 8), Reduce("sum", reduction(1, 8), Read(x, ((reduction(0, 8) + reduction(1, 8)) % 8,))))
    for body, expected in ((apart, 8), (inside, 8), (product, 64)):
        counted: list[int] = []
        found = Elements(Build((3,), body), {x: np.arange(8)}, counted.append)[np.arange(3),]
        assert counted == [3 * expected]
        (whole,) = evaluate(Program((x,), (Build((3,), body),)), [np.arange(8)])
        np.testing.assert_array_equal(found, whole)
