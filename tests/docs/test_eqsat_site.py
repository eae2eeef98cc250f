"""Docstrings and links as the site shows them."""

from __future__ import annotations

import pytest
from eqsat_site.docstrings import inline, rest
from eqsat_site.links import in_site

ALIGNED = """What it does.
rows    the rows; more
        of them, as in `x % 8`
a, b    two of them
Raises ShapeError else, see docs/caches.md."""


def test_aligned_lines_become_a_definition_list_between_paragraphs() -> None:
    assert rest(ALIGNED.split("\n")) == [
        "What it does.",
        "",
        ".. rst-class:: aligned",
        "",
        "``rows``",
        "    the rows; more of them, as in ``x % 8``",
        "",
        "``a``, ``b``",
        "    two of them",
        "",
        "",
        "Raises :py:exc:`~eqsat.ShapeError` else, see :doc:`/caches`.",
        "",
    ]


def test_what_is_raised_is_a_paragraph_of_its_own() -> None:
    assert rest(["What it is.", "Raises what the function raises."]) == ["What it is.", "", "Raises what the function raises.", ""]


def test_indented_lines_and_drawings_stay_as_they_are() -> None:
    assert rest(["An equation:", "", "    x = y", "", "Tree", "|- leaf"]) == [
        *("An equation:", ""),
        *("::", "", "        x = y", ""),
        *("::", "", "    Tree", "    |- leaf", ""),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`eqsat.jit` of `x`", ":py:obj:`eqsat.jit <eqsat.jit>` of ``x``"),
        ("`eqsat.gone`", "``eqsat.gone``"),
        ("*args, a|b, name_ and name_of", r"\*args, a\|b, name\_ and name_of"),
        ("i = 0 .. n-1", "i = 0 … n-1"),
        ("with two spaces.  Next", "with two spaces.  Next"),
    ],
)
def test_words_become_links_only_where_they_name_what_is_public(text: str, expected: str) -> None:
    assert inline(text) == expected


@pytest.mark.parametrize(
    ("page", "link", "expected"),
    [
        ("rules", "../ARCHITECTURE.md#checks", "/architecture.md#checks"),
        ("rules", "numerics.md#errors", "numerics.md#errors"),
        ("decisions/0001-floor-division", "../../CHANGELOG.md", "/changelog.md"),
        ("decisions/0001-floor-division", "../math.md", "../math.md"),
        ("notebooks/01_x", "../docs/rules.md", "/rules.md"),
        ("notebooks/01_x", "../ARCHITECTURE.md", "/architecture.md"),
        ("tutorials/x", "../../notebooks/01_x.ipynb", "/notebooks/01_x.ipynb"),
    ],
)
def test_a_link_out_of_the_folder_of_pages_leads_to_the_page_that_shows_it(page: str, link: str, expected: str) -> None:
    assert in_site(f"see [it]({link})", page) == f"see [it]({expected})"


def test_a_link_to_what_the_site_does_not_show_is_its_name() -> None:
    assert in_site("see [`tests/`](../tests) and [rules](rules.md)", "math") == "see `tests/` and [rules](rules.md)"


def test_links_between_notebooks_go_by_the_names_of_their_pages() -> None:
    text = '{"source": ["see [the next](03_next.ipynb)"], "more": ["[it](02_it.ipynb)"]}'
    expected = '{"source": ["see {doc}`the next </notebooks/03_next>`"], "more": ["{doc}`it </notebooks/02_it>`"]}'
    assert in_site(text, "notebooks/01_this") == expected
    assert in_site(text, "math") == text
