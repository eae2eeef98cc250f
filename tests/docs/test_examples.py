"""The examples on the pages of docs/ print what stands there."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

import eqsat

ROOT = Path(__file__).parents[2]
SESSION = re.compile(r"^```pycon\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = tuple(page for page in sorted((ROOT / "docs").rglob("*.md")) if SESSION.search(page.read_text()))
TUTORIALS = ("compiler-researcher", "numpy-programmer", "test-author")
FLAGS = doctest.ELLIPSIS


def session(text: str, name: str) -> doctest.DocTest:
    """All examples of a page as one session; numbers of lines are those of the page."""
    parser, examples = doctest.DocTestParser(), []
    for block in SESSION.finditer(text):
        before = text.count("\n", 0, block.start(1))
        for example in parser.get_examples(block[1], name):
            example.lineno += before
            examples.append(example)
    return doctest.DocTest(examples, {"__name__": "__main__"}, name, name, 0, text)


def failures(text: str, name: str = "page") -> str:
    """What the examples print that the page does not say; empty if all is well."""
    said: list[str] = []
    doctest.DocTestRunner(optionflags=FLAGS, verbose=False).run(session(text, name), out=said.append)
    return "".join(said)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_of_a_page_print_what_it_says(page: Path) -> None:
    threads = eqsat.num_threads()
    try:
        assert failures(page.read_text(), page.name) == ""
    finally:
        eqsat.set_num_threads(threads)


def test_every_tutorial_has_examples() -> None:
    assert {page.stem for page in PAGES}.issuperset(TUTORIALS)


def test_a_wrong_output_is_found_with_its_line() -> None:
    text = "# Page\n\n```pycon\n>>> 1 + 1\n2\n```\n\ntext\n\n```pycon\n>>> 1 + 2\n4\n```\n"
    assert failures(text.replace("4\n", "3\n")) == ""
    assert 'File "page", line 11' in failures(text)
