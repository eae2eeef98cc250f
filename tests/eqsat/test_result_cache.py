"""Results kept by structure: what is asked again is not computed again, and never under another name, range, option or fact."""

from __future__ import annotations

from threading import Thread

import pytest

import eqsat
from eqsat.indices.results import RESULTS, ResultCache
from eqsat.ir.index import Index, apply, var
from eqsat.options import Options

x, y, wide = var("x", 0, 7), var("y", 0, 7), var("x", 0, 70)


class Counting:
    """A simplifier that counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[Index] = []

    def __call__(self, terms: list[Index]) -> list[Index]:
        self.asked += terms
        return eqsat.simplify_many(terms, Options(cache=False))


def test_a_term_is_simplified_once() -> None:
    cache, simplify = ResultCache(), Counting()
    assert cache.results([x % 8, x % 4], Options(), simplify) == [x, x % 4]
    assert cache.results([x % 4, x % 8], Options(), simplify) == [x % 4, x]
    assert simplify.asked == [x % 8, x % 4]


def test_names_of_variables_do_not_matter_and_are_kept() -> None:
    cache, simplify = ResultCache(), Counting()
    assert cache.results([(x * 8 + y) // 8 + y, (y * 8 + x) // 8 + x], Options(), simplify) == [y + x, x + y]
    assert cache.results([(y * 8 + x) // 8 + x], Options(), simplify) == [x + y]
    assert cache.results([(x * 8 + x) // 8 + x], Options(), simplify) == eqsat.simplify_many([(x * 8 + x) // 8 + x])
    assert len(simplify.asked) == 2


def test_ranges_options_and_budgets_do() -> None:
    cache, simplify = ResultCache(), Counting()
    assert cache.results([x % 8, wide % 8], Options(), simplify) == [x, wide % 8]
    cache.results([x % 8], Options(rules=("sums",)), simplify)
    cache.results([x % 8], Options(limits=eqsat.Limits(nodes=10)), simplify)
    assert len(simplify.asked) == 4


def test_the_least_recently_used_goes_first() -> None:
    cache, simplify = ResultCache(2), Counting()
    for term in (x % 8, x % 4, x % 8, x % 2, x % 8):
        cache.results([term], Options(), simplify)
    assert (len(cache), simplify.asked) == (2, [x % 8, x % 4, x % 2])
    cache.clear()
    assert len(cache) == 0


def test_declared_facts_are_no_part_of_what_is_kept() -> None:
    n = eqsat.dim("n", 1, 64)
    before = eqsat.simplify(n // 4 * 4)
    with eqsat.assume(apply("eq", n % 4, 0)):
        assert eqsat.simplify(n // 4 * 4) == n
    assert eqsat.simplify(n // 4 * 4) == before != n


def test_the_environment_can_turn_it_off(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Options().cache
    monkeypatch.setenv("EQSAT_CACHE", "0")
    assert not Options().cache
    kept = len(RESULTS)
    eqsat.simplify(x * 12345 // 12345)
    assert len(RESULTS) == kept


def test_threads_share_it() -> None:
    found: list[Index] = []
    threads = [Thread(target=lambda: found.append(eqsat.simplify((x * 8 + y) // 8))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [x] * 4
