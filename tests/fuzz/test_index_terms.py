"""250 random index expressions in every run of the tests, 2,000 in thorough ones; the harness itself on findings that are planted."""

from __future__ import annotations

from collections import Counter

import pytest

import eqsat
from eqsat.ir.index import OPS, Apply, Index, apply, var, walk
from eqsat.ir.index_points import conditions
from tests.effort import examples
from tests.fuzz.index_terms import Finding, Tally, Worker, examine, search
from tests.fuzz.random_terms import draw, smaller

COUNT, BATCH = examples(2000, 8), 10
TERMS = [draw(0, position) for position in range(COUNT)]


@pytest.mark.slow
def test_random_expressions_simplify_to_equal_ones() -> None:
    counts: Counter[str] = Counter()
    for first in range(0, COUNT, BATCH):
        found, findings = examine(TERMS[first : first + BATCH], eqsat.Options(limits=eqsat.Limits(nodes=4000)))
        counts += found
        assert [str(finding) for finding in findings if finding.kind in ("unsound", "dearer")] == []
    assert counts["expressions"] == COUNT
    assert counts["changed"] >= COUNT // 2
    assert counts["at_all_points"] >= COUNT // 2


def test_every_operation_is_drawn_and_some_terms_have_no_value_somewhere() -> None:
    drawn = {sub.op for term in TERMS for sub in walk(term) if isinstance(sub, Apply)}
    assert drawn == set(OPS)
    assert sum(bool(conditions(term)) for term in TERMS) >= COUNT // 20
    assert len(set(TERMS)) >= 0.8 * COUNT


def test_a_seed_gives_the_same_terms() -> None:
    assert [draw(7, k) for k in range(20)] == [draw(7, k) for k in range(20)]
    assert [draw(7, k) for k in range(20)] != [draw(8, k) for k in range(20)]


def test_an_unsound_result_is_found_with_its_point(monkeypatch: pytest.MonkeyPatch) -> None:
    x = var("x", -5, 6)
    monkeypatch.setattr(eqsat, "simplify_many", lambda terms, options: [x + 1, x % 4, apply("int", x > 1)])
    counts, findings = examine([1 + x, x % -4, x > 1])
    assert [finding.kind for finding in findings] == ["unsound", "kind"]
    assert "{'x': -1}: -1 became 3" in findings[0].detail
    assert counts["changed"] == 3


class Planted(Worker):
    """A worker for which every batch with a term that has this operation fails as a whole."""

    def __init__(self, op: str) -> None:
        super().__init__(seconds=1)
        self.op = op

    def examine(self, terms: list[Index]) -> tuple[Counter[str], list[Finding]] | Finding:
        bad = any(isinstance(sub, Apply) and sub.op == self.op for term in terms for sub in walk(term))
        return Finding("error", terms[0], "planted") if bad else (Counter(expressions=len(terms)), [])


def test_what_fails_in_a_batch_is_found_and_made_small() -> None:
    x, y = var("x", -5, 6), var("y", 0, 7)
    tally = Tally()
    search([x + y, x * 3 % 5, (abs(x * 2 + 7) // 3 + y) * 4 - 1, y * 2], Planted("abs"), tally)
    assert [str(finding.term) for finding in tally.findings] == ["abs(x)"]
    assert tally.counts == Counter(expressions=4, error=1)


def test_a_worker_that_does_not_answer_is_ended() -> None:
    worker = Worker(seconds=0.0)
    try:
        answer = worker.examine([var("x", 0, 9) % 4])
    finally:
        worker.close()
    assert isinstance(answer, Finding)
    assert answer.kind == "hang"


def test_smaller_terms_are_written_with_less() -> None:
    x = var("x", -5, 6)
    found = smaller((x + 7) // 4 % 3)
    assert found[0] in (x + 7, x % 3)
    assert {str(other) for other in found} >= {"(x + 7) // 4", "x // 4 % 3", "x % 3", "x + 7"}
    assert all(len(str(other)) < len("(x + 7) // 4 % 3") for other in found)
