"""The texts mention only what exists: links and the sections that they lead to, paths, tests, modules and the names in them."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from eqsat.rules import TABLES, rows

ROOT = Path(__file__).parent.parent
TEXTS = (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")))
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.py"))
FOLDERS = "eqsat|ir|lowering|codegen|tests|docs|notebooks|\\.ci"

LINK = re.compile(r"\]\((?!https?:)([^)#]+)[^)]*\)")
SECTION_LINK = re.compile(r"\]\((?!https?:)([^)#]*)#([^)]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
PATH = re.compile(rf"(?<![\w/.-])((?:{FOLDERS})/[\w./-]*\w)")
TEST = re.compile(r"(tests/[\w./]+\.py)::(\w+)")
NAME = re.compile(r"`@?(eqsat(?:\.\w+)+)(?:\([^`]*\))?`")
RULE = re.compile(r"(?:row|rule|table|rows|rules|tables) `([\w-]+)`")
# what a command makes
MADE = "docs/_build"


def broken_links(text: str, folder: Path) -> list[str]:
    return [link for link in LINK.findall(text) if not (folder / link).exists()]


def broken_sections(text: str, folder: Path) -> list[str]:
    """Links to a section, by the name that GitHub and the site give it, where the page has none of that name."""
    found = [
        (link, name, (folder / link).read_text() if link else text) for link, name in SECTION_LINK.findall(text) if (folder / link).exists()
    ]
    return [f"{link}#{name}" for link, name, page in found if name not in map(section_name, HEADING.findall(page))]


def section_name(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def missing_paths(text: str, folder: Path) -> list[str]:
    found = PATH.findall(LINK.sub("", text))
    return [path for path in found if not path.startswith(MADE) and not (ROOT / path).exists()]


def missing_tests(text: str, folder: Path) -> list[str]:
    found = [(path, name) for path, name in TEST.findall(text) if (ROOT / path).exists()]
    return [f"{path}::{name}" for path, name in found if f"def {name}(" not in (ROOT / path).read_text()]


def missing_names(text: str, folder: Path) -> list[str]:
    return [name for name in NAME.findall(text) if not exists(name)]


def missing_rules(text: str, folder: Path) -> list[str]:
    known = {table.name for table in TABLES} | {row.name for _, row in rows()}
    return [name for name in RULE.findall(text) if name not in known]


def exists(dotted: str) -> bool:
    """Whether a name is a module or an attribute of one, of its classes included."""
    module, *rest = dotted.split(".")
    found = importlib.import_module(module)
    for k, part in enumerate(rest, start=1):
        if not hasattr(found, part):
            try:
                importlib.import_module(".".join([module, *rest[:k]]))
            except ImportError:
                return False
        found = getattr(found, part)
    return True


Check = Callable[[str, Path], list[str]]
CHECKS: tuple[Check, ...] = (broken_links, broken_sections, missing_paths, missing_tests, missing_names, missing_rules)


# of a notebook a row is one of an image as well
LINKS_AND_NAMES: tuple[Check, ...] = (broken_links, broken_sections, missing_names)
CASES = [(path, check) for paths, checks in ((TEXTS, CHECKS), (NOTEBOOKS, LINKS_AND_NAMES)) for path in paths for check in checks]


@pytest.mark.parametrize(("path", "check"), CASES, ids=lambda value: getattr(value, "__name__", None) or str(value.relative_to(ROOT)))
def test_a_text_mentions_only_what_exists(path: Path, check: Check) -> None:
    assert check(path.read_text(), path.parent) == []


@pytest.mark.parametrize(
    ("check", "text", "wrong"),
    [
        (broken_links, "[a](README.md) [b](gone.md) [c](https://example.org/x)", ["gone.md"]),
        (
            broken_sections,
            "# One: `two`\n[a](#one-two) [b](#gone) [c](docs/rules.md#identities) [d](docs/rules.md#x)",
            ["#gone", "docs/rules.md#x"],
        ),
        (missing_paths, "`eqsat/rules/sums.py`, docs/rules.md; codegen/gone.py, ir/.", ["codegen/gone.py"]),
        (missing_tests, "tests/test_docs.py::exists tests/test_docs.py::test_gone", ["tests/test_docs.py::test_gone"]),
        (missing_names, "`eqsat.optimize(f)`, `@eqsat.jit`, `eqsat.ir.index.Var.extent`, `eqsat.gone`", ["eqsat.gone"]),
        (missing_rules, "row `flatten-sum` of table `sums`, rule `gone`", ["gone"]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_planted_mention_of_what_is_not_there_is_found(check: Check, text: str, wrong: list[str]) -> None:
    assert check(text, ROOT) == wrong
