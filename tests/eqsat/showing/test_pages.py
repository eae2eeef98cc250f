"""Every page is whole, needs neither script nor network, and hides nothing that its text says."""

from __future__ import annotations

import base64
import re
import subprocess
import sys

import pytest

import eqsat
from eqsat.ir.shown import MOST_CHARACTERS, Shown
from eqsat.showing.html import Bar, bars, block, code, details, dim, head, table
from eqsat.showing.results import LISTING_BYTES
from tests.eqsat.showing.reading import Page, bundle, page_of
from tests.eqsat.showing.shown_values import HOSTILE, MAKERS, STACK, value


@pytest.mark.parametrize("name", MAKERS)
def test_a_page_is_whole_and_needs_neither_script_nor_network(name: str) -> None:
    page = page_of(value(name))
    assert page.text.strip() or page.images
    assert not {"script", "iframe", "link", "object"} & set(page.tags)
    assert not [pair for pair in page.attributes if pair[0].startswith("on") or "javascript:" in pair[1]]
    assert "http" not in bundle(value(name))["text/html"]
    assert all(source.startswith("data:image/svg+xml;base64,") for source in page.images)


@pytest.mark.parametrize("name", MAKERS)
def test_a_value_has_a_text_form_of_its_own_beside_its_page(name: str) -> None:
    text = bundle(value(name))["text/plain"]
    assert text == str(value(name)) or len(str(value(name))) > MOST_CHARACTERS
    assert text.strip()
    assert not re.search(r" object at 0x[0-9a-f]+", text)


@pytest.mark.parametrize("name", MAKERS)
def test_a_page_of_a_small_value_is_small(name: str) -> None:
    most = 20_000 + LISTING_BYTES if "listing" in name.lower() else 60_000
    assert len(bundle(value(name))["text/html"]) < most


def test_a_long_text_is_cut_and_says_so() -> None:
    class Long(Shown):
        def __str__(self) -> str:
            return "x" * (MOST_CHARACTERS + 5)

    assert bundle(Long())["text/plain"] == "x" * MOST_CHARACTERS + "\n... 5 characters more: print(...) shows all"


def test_a_class_without_a_page_of_its_own_shows_its_text() -> None:
    class Plain(Shown):
        def __str__(self) -> str:
            return HOSTILE

    assert page_of(Plain()).text.strip() == HOSTILE


@pytest.mark.parametrize(
    "source",
    [
        block(HOSTILE),
        code(HOSTILE),
        dim(HOSTILE),
        head(HOSTILE),
        details(HOSTILE, "", HOSTILE),
        table([HOSTILE], [[code(HOSTILE)]], "t"),
        bars([Bar(HOSTILE, [(HOSTILE, 1.0)], HOSTILE)], HOSTILE),
    ],
)
def test_every_piece_escapes_its_text(source: str) -> None:
    page = Page(source)
    assert "script" not in page.tags
    assert HOSTILE in page.text


def test_names_from_outside_are_escaped_wherever_they_are_shown() -> None:
    term = eqsat.ir.index.Var("<b>x</b>", 0, 63)
    shown = (term // 8, eqsat.prove_equal(term // 8 * 8, term), eqsat.optimize(term // 8 * 8 + term % 8))
    for one in shown:
        page = page_of(one)
        assert "<b>x</b>" in page.text


def test_the_style_is_left_out_of_no_page_and_the_content_reads_without_it() -> None:
    page = bundle(value("Result"))["text/html"]
    assert page.startswith("<style>")
    assert "Optimized program" in Page(page.split("</style>", 1)[1]).text


def test_an_index_displays_itself_although_its_class_knows_no_html() -> None:
    code = "import eqsat; print(sorted(eqsat.var('x', 0, 7)._repr_mimebundle_()), 'eqsat.result' in __import__('sys').modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['text/html', 'text/plain'] True\n"
    first = "import sys, eqsat; eqsat.var('x', 0, 7); print('eqsat.result' in sys.modules, 'eqsat.showing.pages' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", first], capture_output=True, text=True, check=True).stdout == "False False\n"


def test_the_picture_in_a_page_is_the_picture() -> None:
    (source,) = page_of(STACK).images
    assert base64.b64decode(source.split(",")[1]).decode() == STACK.picture().svg
