"""Acceptance row g of index algebra: what each rule table earns, printed: `python -m tests.bench.bench_tables [CORPUS.jsonl ...]`.

Without corpora the generated families of index_families.py.  A case needs rules if all of them make it cheaper than its n-ary normal
form; it is lost where a table is off and its cost is higher than with all.  Costs are those of index_score.py, equal subterms once.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import eqsat
from eqsat.indices.simplifier import simplify_all
from eqsat.ir.index import Index
from eqsat.report import Report
from eqsat.rules import TABLES, Pattern, SumRow
from tests.bench.bench_index_time import read_corpus
from tests.bench.index_families import FAMILIES, family
from tests.bench.index_score import score

INDEX_TABLES = tuple(table for table in TABLES if table.phase == "index")
PATTERN_TABLES = tuple(table.name for table in INDEX_TABLES if any(isinstance(row, Pattern) for row in table.rows))
SUM_TABLES = tuple(table.name for table in INDEX_TABLES if any(isinstance(row, SumRow) for row in table.rows))
INDEX_NAMES = tuple(table.name for table in INDEX_TABLES)
# without the rows that finish a term quickly others may grow
LIMITS = eqsat.Limits(nodes=2000, iterations=20)


def ways() -> Iterator[tuple[str, tuple[str, ...]]]:
    """(what is off, names of the tables that are)."""
    for table in INDEX_TABLES:
        yield table.name, (table.name,)
    yield "all egglog rows", PATTERN_TABLES
    yield "all sum rows", SUM_TABLES
    yield "all rows", (*PATTERN_TABLES, *SUM_TABLES)


def costs(terms: Sequence[Index], off: tuple[str, ...], report: Report) -> list[int]:
    """What the simplified terms cost without these tables; a term that fails keeps its own cost."""
    options = eqsat.Options(rules=tuple(name for name in INDEX_NAMES if name not in off), limits=LIMITS)
    found: list[int] = []
    for term in terms:
        try:
            found.append(score(*simplify_all([term], options, report)))
        except (eqsat.EqsatError, MemoryError) as error:
            print(f"  failed without {', '.join(off)}: {type(error).__name__} {error}: {term}")
            found.append(score(term))
    return found


def shares(report: Report) -> Counter[str]:
    """Matches by who found them: egglog's rows, sum rows that state equalities, sum rows that hand out views and bounds."""
    kinds: Counter[str] = Counter()
    rows = {row.name: row for table in INDEX_TABLES for row in table.rows}
    for name, count in report.matches.items():
        if isinstance(rows.get(name), Pattern):
            kinds["egglog rows"] += count
        elif name.startswith("split-") or name in ("read-forms", "compare-members", "bounds-of-sum"):
            kinds["views and bounds"] += count
        elif name in rows:
            kinds["sum rows"] += count
    return kinds


def measure(terms: Sequence[Index], only: Sequence[str] = ()) -> dict[str, tuple[int, int, int]]:
    """For everything that is switched off (cases lost, cases that need rules, cost gained by it); prints the table.

    only  what to switch off; nothing: everything
    """
    report = Report()
    best = costs(terms, (), report)
    plain = costs(terms, INDEX_NAMES, Report())
    needing = [k for k in range(len(terms)) if plain[k] > best[k]]
    saved = sum(plain[k] - best[k] for k in needing)
    print(f"{len(terms)} cases, {len(needing)} need rules")
    print(f"cost {sum(map(score, terms))} as written, {sum(plain)} in normal form, {sum(best)} with all rules")
    found: dict[str, tuple[int, int, int]] = {}
    for name, off in ways():
        if only and name not in only:
            continue
        here = costs(terms, off, Report())
        lost = sum(here[k] > best[k] for k in needing)
        gained = sum(here) - sum(best)
        better = sum(cost < full for cost, full in zip(here, best, strict=True))
        found[name] = (lost, len(needing), gained)
        cost = f"cost {gained:+} ({_percent(gained, saved)} of what rules save)"
        print(f"  without {name:16} {lost:5} lost ({_percent(lost, len(needing))}), {cost}, {better} cheaper")
    kinds = shares(report)
    equalities = kinds["egglog rows"] + kinds["sum rows"]
    parts = ", ".join(f"{kind} {_percent(kinds[kind], equalities)}" for kind in ("egglog rows", "sum rows"))
    print(f"  matches that state equalities: {parts}; beside them {kinds['views and bounds']} views and bounds")
    return found


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / max(whole, 1):.1f} %"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpora", nargs="*", type=Path, help="expressions in JSON lines; none: the generated families")
    parser.add_argument("--count", type=int, default=50, help="generated terms of each family")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=(), help="what to switch off, as the report names it")
    chosen = parser.parse_args()
    if chosen.corpora:
        terms = [term for path in chosen.corpora for term in read_corpus(path)]
    else:
        terms = [term for name in FAMILIES for term in family(name, chosen.count, chosen.seed)]
    measure(list(dict.fromkeys(terms)), chosen.only)


if __name__ == "__main__":
    main()
