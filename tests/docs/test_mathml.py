"""Formulas are drawn by the browser itself, and one that cannot be is a warning, which fails the build."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

pytest.importorskip("myst_parser", reason="the extra docs is not installed")

CONFIGURATION = """
extensions = ["myst_parser", "eqsat_site.mathml"]
myst_enable_extensions = ["dollarmath"]
html_math_renderer = "mathml"
"""


def built(folder: Path, text: str) -> tuple[str, str]:
    """The page that a text becomes, and the warnings."""
    from sphinx.application import Sphinx

    (folder / "conf.py").write_text(CONFIGURATION)
    (folder / "index.md").write_text(f"# Page\n\n{text}\n")
    warnings = io.StringIO()
    Sphinx(folder, folder, folder / "out", folder / "trees", "html", status=None, warning=warnings).build()
    return (folder / "out" / "index.html").read_text(), warnings.getvalue()


@pytest.mark.slow
def test_a_formula_is_mathml_with_its_number_and_no_script(tmp_path: Path) -> None:
    page, warnings = built(tmp_path, "$n > 0$\n\n$$ x < n \\tag{4} $$")
    assert page.count("<math") == 2
    assert '<span class="tag">(4)</span>' in page
    assert "MathJax" not in page
    assert warnings == ""


@pytest.mark.slow
def test_a_formula_that_cannot_be_drawn_is_shown_as_written_with_a_warning(tmp_path: Path) -> None:
    page, warnings = built(tmp_path, "$\\nosuch{x}$")
    assert "<code>\\nosuch{x}</code>" in page
    assert "nosuch" in warnings
    assert "index.md:3" in warnings
