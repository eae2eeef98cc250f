"""The explorer in Chromium, on a page of its own: what it shows, what can be done with it, and that it asks for nothing from outside."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from eqsat.exploring.picture import picture
from eqsat.exploring.widget import packed
from tests.eqsat.exploring.egraphs import egraph
from tests.notebooks.browser import Shown, explorer_page, needs_browser

pytestmark = [pytest.mark.slow, needs_browser]


@pytest.fixture
def shown(request: pytest.FixtureRequest) -> Iterator[Shown]:
    """The explorer of the graph that a test names, checked at the end for errors and for requests elsewhere."""
    with explorer_page(packed(egraph(getattr(request, "param", "softmax")))) as page:
        yield page
        assert page.errors == []
        assert page.strays == []


def ids(shown: Shown) -> set[int]:
    return {int(box.get_attribute("data-id")) for box in shown.page.locator(".box").all()}


def counts(shown: Shown) -> tuple[int, int, int]:
    """Classes shown, classes, nodes, as the page says."""
    found = re.match(r"(\d+) of (\d+) classes shown, (\d+) nodes", shown.count)
    assert found, shown.count
    a, b, c = map(int, found.groups())
    return a, b, c


def test_counts_are_those_of_the_graph_at_every_step(shown: Shown) -> None:
    graph = egraph("softmax")
    for number, step in enumerate(graph.steps):
        shown.page.locator("input[type=range]").fill(str(number))
        assert counts(shown)[1:] == (step.classes, step.nodes)
        assert counts(shown)[0] == len(ids(shown))
        assert shown.page.locator(".happened b").inner_text() == f"step {number} of {len(graph.steps) - 1}"


def test_what_was_extracted_is_open_and_marked(shown: Shown) -> None:
    graph = egraph("softmax")
    chosen = {eclass.id for eclass in graph.classes if eclass.chosen}
    assert {int(box.get_attribute("data-id")) for box in shown.page.locator(".box.chosen").all()} == chosen & ids(shown)
    assert set(graph.roots) <= ids(shown)
    assert shown.page.locator(".row.chosen").count() == len(chosen & ids(shown))


def hidden_by(graph: Any, start: set[int], open_: set[int]) -> int:
    """How many classes are reached from some without passing through open ones."""
    seen, stack = set(start), list(start)
    while stack:
        for node in graph[stack.pop()].nodes:
            fresh = set(node.operands) - seen - open_
            seen |= fresh
            stack += fresh
    return len(seen)


def test_every_edge_that_leaves_the_picture_says_what_it_hides_and_opens_it(shown: Shown) -> None:
    graph, before = egraph("softmax"), ids(shown)
    buttons = shown.page.locator(".row .button")
    leaving = [node for id in before for node in graph[id].nodes if not set(node.operands) <= before]
    assert buttons.count() == len(leaving) > 0
    first = buttons.first
    named = {int(id) for id in re.findall(r"c(\d+)", first.get_attribute("aria-label").split(":")[0])}
    assert int(first.text_content().split("+")[-1]) == hidden_by(graph, named, before)
    first.dispatch_event("click")
    assert ids(shown) == before | named


def test_users_open_too(shown: Shown) -> None:
    before = ids(shown)
    button = shown.page.locator(".box > .button.end").first
    hidden = int(button.text_content().split("↑")[-1])
    button.dispatch_event("click")
    assert len(ids(shown) - before) == hidden


def test_a_box_is_put_away(shown: Shown) -> None:
    before = ids(shown)
    shown.page.locator(".box > .button.plain").first.dispatch_event("click")
    assert len(ids(shown)) == len(before) - 1
    shown.page.get_by_role("button", name="show what was extracted").click()
    assert ids(shown) == before


@pytest.mark.parametrize(
    ("text", "where"), [("max", "operation"), ("substitute-reduce", "rule"), ("c43", "id"), ("i0%8", "term"), ("(i0 // 8)]", "operands")]
)
def test_search_finds_and_reveals(shown: Shown, text: str, where: str) -> None:
    graph = egraph("softmax")
    shown.page.locator(".search").fill(text)
    title = shown.page.locator(".results .title").inner_text()
    expected = 1 if where == "id" else len(graph.find(text))
    assert title == f"“{text}”: {expected} classes"
    hit = shown.page.locator(".results .hit").first
    id = int(re.match(r"c(\d+)", hit.inner_text())[1])  # type: ignore[index]
    hit.click()
    assert id in ids(shown)
    assert shown.page.evaluate("document.activeElement.dataset.id") == str(id)
    assert shown.page.locator(f".box.found[data-id='{id}']").count() == 1


def test_growing_opens_as_many_again_and_says_how_many_are_next() -> None:
    graph = egraph("softmax")
    with explorer_page(packed(graph), 640, 480) as page:
        before = ids(page)
        page.page.get_by_role("button", name="as many classes again").click()
        after = ids(page)
        more = int(page.count.split("; ")[1].removesuffix(" more next to these"))
    made_of = {operand for id in before for node in graph[id].nodes for operand in node.operands}
    assert len(after) == 2 * len(before)
    reached = {operand for id in after for node in graph[id].nodes for operand in node.operands}
    reached |= {eclass.id for eclass in graph.classes for node in eclass.nodes if after & set(node.operands)}
    assert more == len(reached - after)
    # what the first ones are made of comes before what uses them
    assert made_of <= after or after <= made_of | before


@pytest.mark.parametrize("shown", ["order"], indirect=True)
def test_rows_that_read_alike_say_what_they_are(shown: Shown) -> None:
    boxes = [[row.text_content() for row in box.locator(".row > text:first-of-type").all()] for box in shown.page.locator(".box").all()]
    assert all(len(set(rows)) == len(rows) for rows in boxes)
    assert any("(sum)" in row for rows in boxes for row in rows)


def test_the_meaning_of_colours_and_keys_comes_back(shown: Shown) -> None:
    shown.page.locator(".box.chosen:visible").first.focus()
    assert "dashed" not in shown.page.locator(".details").inner_text()
    shown.page.get_by_role("button", name="colours and keys").click()
    assert "dashed" in shown.page.locator(".details").inner_text()


def test_what_a_step_did_is_never_cut_without_a_way_to_see_it() -> None:
    with explorer_page(packed(egraph("softmax")), 640, 480) as page:
        longest = max(range(len(egraph("softmax").steps)), key=lambda k: len(egraph("softmax").steps[k].matches))
        page.page.locator("input[type=range]").fill(str(longest))
        happened = page.page.locator(".happened")
        assert happened.evaluate("element => element.scrollHeight > element.clientHeight + 1")
        page.page.get_by_role("button", name="all", exact=True).click()
        assert happened.evaluate("element => getComputedStyle(element).overflowY") == "auto"
        assert happened.evaluate("element => element.clientHeight") > 58


def test_a_step_highlights_what_it_added_and_names_the_rules(shown: Shown) -> None:
    graph = egraph("softmax")
    shown.page.locator("input[type=range]").fill("1")
    chips = {chip.inner_text() for chip in shown.page.locator(".chip").all()}
    assert chips == {f"{row} +{count}" for row, count in graph.steps[1].added.items()}
    shown.page.locator(".chip", has_text="generic-is-build").click()
    assert shown.page.locator(".row.new", has_text="build").count() == graph.steps[1].added["generic-is-build"]
    then = {str(node) for node in graph.at(1).nodes if node.step == 1}
    assert {
        text.split("  ")[0]
        for text in shown.run("return [...document.querySelectorAll('.row.new > text:nth-of-type(1)')].map(t => t.textContent)")
    } <= then


def test_the_pointer_shows_bounds_type_cost_and_rule(shown: Shown) -> None:
    shown.page.locator(".search").fill("i0 % 8")
    shown.page.locator(".results .hit").first.click()
    box = shown.page.locator(".box.found").first
    box.locator(".row text").first.hover()
    details = shown.page.locator(".details").inner_text()
    for word in ("type", "index", "bounds", "0..7", "operation", "mod", "cost", "0.333 ns", "rule", "as written"):
        assert word in details


def test_keys_move_zoom_and_open(shown: Shown) -> None:
    page = shown.page
    page.locator("svg.picture").focus()
    before = shown.run("return e.picture.transform")
    for key in ("ArrowLeft", "ArrowDown", "+"):
        page.keyboard.press(key)
    after = shown.run("return e.picture.transform")
    assert after["k"] > before["k"]
    page.keyboard.press("0")
    box = page.locator(".box", has=page.locator(".row .button")).first
    box.focus()
    count = len(ids(shown))
    page.keyboard.press("Enter")
    assert len(ids(shown)) > count
    page.locator(".box:has(> .button.plain)").first.focus()
    count = len(ids(shown))
    page.keyboard.press("Delete")
    assert len(ids(shown)) == count - 1


def test_a_box_that_the_keyboard_reaches_comes_into_view(shown: Shown) -> None:
    page = shown.page
    page.locator("svg.picture").focus()
    area = page.locator("svg.picture").bounding_box()
    for _ in range(12):
        page.keyboard.press("Tab")
        frame = page.evaluate(
            "(() => { const r = document.activeElement.getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom] })()"
        )
        assert page.evaluate("document.activeElement.classList.contains('box')")
        assert frame[0] >= area["x"] - 60
        assert frame[1] >= area["y"] - 1
        assert frame[2] <= area["x"] + area["width"] + 60
        assert frame[3] <= area["y"] + area["height"] + 1


def test_wheel_and_drag_work_once_the_picture_has_the_focus(shown: Shown) -> None:
    page = shown.page
    place = page.locator("svg.picture").bounding_box()
    page.mouse.move(place["x"] + place["width"] / 2, place["y"] + 20)
    before = shown.run("return e.picture.transform")
    page.mouse.wheel(0, -240)
    page.wait_for_timeout(100)
    assert shown.run("return e.picture.transform") == before
    page.mouse.down()
    page.mouse.move(place["x"] + place["width"] / 2 + 50, place["y"] + 60, steps=3)
    page.mouse.up()
    dragged = shown.run("return e.picture.transform")
    assert dragged["x"] - before["x"] == pytest.approx(50)
    page.mouse.wheel(0, -240)
    page.wait_for_timeout(100)
    assert shown.run("return e.picture.transform.k") > before["k"]


AGAIN = """data => {
  const root = document.querySelector('.eqsat-explorer');
  const Explorer = root.explorer.constructor;
  root.textContent = '';
  root.explorer = new Explorer(root, data);
}"""


def test_many_nodes_of_a_class_are_folded_and_open(shown: Shown) -> None:
    data = json.loads(egraph("identity").to_json())
    columns, extra = data["nodes"], 30
    for name, column in columns.items():
        column += [column[4] if name != "step" else 0] * extra
    data["steps"][-1]["nodes"] += extra
    shown.page.evaluate(AGAIN, data)
    link = shown.page.locator(".picture .link").first
    link.wait_for()
    rows = shown.page.locator(".row").count()
    hidden = int(re.findall(r"\d+", link.text_content())[0])
    link.dispatch_event("click")
    assert shown.page.locator(".row").count() == rows + hidden


@pytest.mark.parametrize("dark", [False, True])
def test_colours_follow_the_page(dark: bool) -> None:
    with explorer_page(packed(egraph("identity")), dark=dark) as page:
        assert page.page.locator(".eqsat-explorer").get_attribute("data-theme") == ("dark" if dark else "light")
        page.page.evaluate("document.body.style.background = 'rgb(20, 20, 20)'")
        page.page.wait_for_selector(".eqsat-explorer[data-theme=dark]")


def test_where_no_kernel_answers_the_picture_is_shown() -> None:
    with explorer_page(b"", picture=picture(egraph("softmax"))) as page:
        page.page.wait_for_selector(".eqsat-explorer.still img")
        assert page.page.evaluate("document.querySelector('.still img').naturalWidth") > 300
        assert "Run the cell again" in page.page.locator(".still").inner_text()
        assert page.strays == []
