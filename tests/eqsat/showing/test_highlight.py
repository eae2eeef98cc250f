"""Coloured code reads as the code, and is there without pygments."""

from __future__ import annotations

import pytest

from eqsat.showing import highlight as module
from eqsat.showing.highlight import Language, highlight
from tests.eqsat.showing.reading import Page

TEXTS: tuple[tuple[Language, str], ...] = (
    ("python", "kernel k(x: in float32[4])\n    for i0 in 0..3 parallel:\n        t0 = sum for r0 in 0..7: x[r0] * 1e-05\n\n    a < b & c"),
    ("llvm", 'define void @"k"(ptr %b0) #0 {\nentry:\n  %v1 = add nuw nsw i32 %v0, 16\n  ret void\n}'),
    ("gas", "\tvmovups\t%zmm0, -128(%rsp)\n.LBB0_3:\n\tjne\t.LBB0_3"),
)


@pytest.mark.parametrize(("language", "text"), TEXTS)
def test_colours_change_no_letter(language: Language, text: str) -> None:
    lines = highlight(text, language)
    assert [Page(line).text for line in lines] == text.split("\n")
    assert 'class="k"' in "".join(lines)


@pytest.mark.parametrize(("language", "text"), TEXTS)
def test_without_pygments_code_is_shown_as_it_stands(language: Language, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_lexers", lambda: None)
    lines = highlight(text, language)
    assert [Page(line).text for line in lines] == text.split("\n")
    assert "<" not in "".join(lines)
