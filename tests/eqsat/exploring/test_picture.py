"""The still picture: legal SVG without script, which says what it leaves out."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from eqsat.exploring import picture as pictures
from eqsat.exploring.picture import MOST_BOXES, as_image, picture
from tests.eqsat.exploring.egraphs import PROGRAMS, TERMS, egraph

SVG = "{http://www.w3.org/2000/svg}"


def boxes(svg: str) -> list[ElementTree.Element]:
    return [
        group
        for group in ElementTree.fromstring(svg).iter(f"{SVG}g")
        if any("b" in (r.get("class") or "") for r in group.findall(f"{SVG}rect"))
    ]


@pytest.mark.parametrize("name", [*TERMS, *PROGRAMS])
def test_a_picture_is_legal_and_has_no_script(name: str) -> None:
    svg = picture(egraph(name))
    kinds = {element.tag.removeprefix(SVG) for element in ElementTree.fromstring(svg).iter()}
    assert kinds <= {"svg", "g", "rect", "path", "text", "style"}
    assert not re.search(r"href|url\(|@import|on\w+=", svg)
    assert len(boxes(svg)) == min(len(egraph(name).classes), MOST_BOXES)


def test_a_picture_says_how_much_it_leaves_out() -> None:
    graph = egraph("softmax")
    svg = picture(graph, most=10)
    assert len(boxes(svg)) == 10
    assert f"10 of {len(graph.classes)} classes shown, {len(graph.nodes)} nodes" in svg
    texts = [text.text or "" for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]
    assert any(re.fullmatch(r"\+\d+", text) for text in texts)
    assert any(re.fullmatch(r"↑\d+", text) for text in texts)


def test_what_was_extracted_is_drawn_first() -> None:
    graph = egraph("softmax")
    chosen = [eclass.id for eclass in graph.classes if eclass.chosen]
    assert set(pictures.neighbourhood(graph, len(chosen))) == set(chosen)


def test_boxes_do_not_overlap() -> None:
    areas = []
    for group in boxes(picture(egraph("softmax"))):
        x, y = map(float, re.findall(r"-?[\d.]+", group.get("transform") or ""))
        frame = group.find(f"{SVG}rect")
        assert frame is not None
        areas.append((x, y, x + float(frame.get("width") or 0), y + float(frame.get("height") or 0)))
    for k, (left, top, right, bottom) in enumerate(areas):
        for other in areas[:k]:
            assert right <= other[0] or other[2] <= left or bottom <= other[1] or other[3] <= top


def test_without_graphviz_there_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "is_available", lambda: False)
    shown, _ = egraph("identity")._repr_mimebundle_()
    assert shown["text/html"].startswith("<pre>x // 8 * 8 + x % 8")


def test_an_image_keeps_its_description() -> None:
    assert as_image("<svg/>", 'a "b"').startswith('<img alt="a &quot;b&quot;" src="data:image/svg+xml;base64,')


def test_pygraphviz_is_imported_in_one_place() -> None:
    source = Path(pictures.__file__).parent
    assert [path.name for path in source.glob("*.py") if "import pygraphviz" in path.read_text()] == ["picture.py"]
