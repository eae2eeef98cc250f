"""What is wrong with a built page is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.built_site import main, problems


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ('<a href="#here">x</a><p id="here">', []),
        ('<a href="#gone">x</a>', ["links to #gone, which is not there"]),
        ('<a href="other.html#there">x</a><a href="https://example.org/x">y</a>', []),
        ('<a href="gone.html">x</a>', ["links to gone.html, which is not there"]),
        ('<script src="https://cdn.example.org/x.js"></script>', ["loads https://cdn.example.org/x.js over the net"]),
        ('<link rel="stylesheet" href="//cdn.example.org/x.css">', ["loads //cdn.example.org/x.css over the net"]),
        ('<link rel="author" href="https://example.org/x"><script src="local.js"></script>', []),
    ],
)
def test_a_page_that_loads_from_the_net_or_links_to_nothing_is_found(tmp_path: Path, body: str, found: list[str]) -> None:
    (tmp_path / "other.html").write_text('<p id="there">')
    (tmp_path / "page.html").write_text(body)
    assert list(problems(tmp_path)) == [f"page.html: {text}" for text in found]


def test_a_style_sheet_that_loads_a_font_is_found(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("")
    (tmp_path / "style.css").write_text("@font-face { src: url('https://fonts.example.org/x') }")
    assert list(problems(tmp_path)) == ["style.css: loads something over the net"]


def test_the_exit_status_tells_whether_all_is_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(str(tmp_path)) == 1
    (tmp_path / "page.html").write_text("<p>")
    assert main(str(tmp_path)) == 0
    assert "found no page" in capsys.readouterr().out
