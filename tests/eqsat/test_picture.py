"""A picture shows at every element the memory cell that the view's expressions say."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import eqsat
from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import Var, variables
from eqsat.views.picture import MOST

SVG = "{http://www.w3.org/2000/svg}"
START = eqsat.ViewStack.from_shape((4, 6))
STACKS = {
    "scalar": eqsat.ViewStack.from_shape(()),
    "row": eqsat.ViewStack.from_shape((10,)).flip((0,)).pad(((2, 3),)),
    "plain": START,
    "transposed and padded": START.permute((1, 0)).pad(((1, 1), (0, 2))),
    "repeated": eqsat.ViewStack.from_shape((4, 1)).expand((4, 3)),
    "every other": START.stride((2, -2)),
    "several views": START.permute((1, 0)).reshape((3, 8)),
    "padding below": START.pad(((1, 1), (0, 0))).reshape((3, 12)).permute((1, 0)),
    "three axes": eqsat.ViewStack.from_shape((2, 3, 4)).flip((1,)),
    "four axes": eqsat.ViewStack.from_shape((4, 4)).pad(((1, 1), (1, 1))).reshape((3, 2, 3, 2)).permute((0, 2, 1, 3)),
    "nothing but padding": eqsat.ViewStack.from_shape((0,)).pad(((2, 1),)),
}


def drawn(picture: eqsat.views.picture.Picture) -> list[int]:
    """The numbers of the cells in reading order, -1 for padding."""
    root = ElementTree.fromstring(picture.svg)
    cells = [(path.get("d", ""), path.get("fill", "")) for path in root.iter(f"{SVG}path")]
    texts = {(float(t.get("x", "")), float(t.get("y", ""))): int(t.text or "") for t in root.iter(f"{SVG}text") if t.get("class") != "c"}
    found = []
    for path, fill in cells:
        x, y, width = (int(part) for part in re.findall(r"\d+", path)[:3])
        cell = texts.pop((x + width / 2, y + 16), -1)
        assert (cell == -1) == ("eqsat-pad" in fill)
        found.append(cell)
    assert not texts
    return found


def expected(stack: eqsat.ViewStack) -> list[int]:
    """What index_expr and valid_expr say, place by place."""
    position, valid = stack.index_expr(), stack.valid_expr()
    found = []
    for place in np.ndindex(stack.shape):
        env = {v: place[int(v.name.removeprefix("idx"))] for v in variables(position, valid) if isinstance(v, Var)}
        found.append(int(evaluate_index(position, env)) if evaluate_index(valid, env) else -1)
    return found


@pytest.mark.parametrize("name", STACKS)
def test_every_cell_is_what_the_expressions_say(name: str) -> None:
    assert drawn(STACKS[name].picture()) == expected(STACKS[name])


@pytest.mark.parametrize("name", STACKS)
def test_the_text_has_the_same_cells(name: str) -> None:
    text = STACKS[name].picture().text.split("shape (")[0]
    cells = [-1 if word == "." else int(word) for word in re.sub(r"\[.*?\]", "", text).split()]
    assert cells == expected(STACKS[name])


@pytest.mark.parametrize("name", [name for name, stack in STACKS.items() if len(stack.views) == 1])
def test_the_only_view_of_a_stack_has_the_picture_of_the_stack(name: str) -> None:
    assert drawn(STACKS[name].views[0].picture()) == drawn(STACKS[name].picture())


def test_elements_that_read_one_cell_have_one_colour() -> None:
    root = ElementTree.fromstring(STACKS["repeated"].picture().svg)
    fills = [path.get("fill") for path in root.iter(f"{SVG}path")]
    assert [len(set(fills[3 * row : 3 * row + 3])) for row in range(4)] == [1, 1, 1, 1]
    assert len(set(fills)) == 4


def test_the_caption_tells_strides_offset_mask_and_padding() -> None:
    text = STACKS["transposed and padded"].picture().text
    assert "shape (8, 6), strides (1, 6), offset -1" in text
    assert "mask ((1, 7), (0, 4))" in text
    assert "hatched: padding, which is 0" in text
    assert "hatched" not in STACKS["plain"].picture().text
    assert "hatched" in STACKS["padding below"].picture().text
    assert "no elements" in eqsat.ViewStack.from_shape((3, 0)).picture().text


def test_of_a_large_view_a_corner_is_drawn_that_says_so() -> None:
    picture = eqsat.ViewStack.from_shape((1000, 2000)).permute((1, 0)).picture()
    rows, columns = MOST[2]
    assert drawn(picture) == [i + 2000 * j for i in range(rows) for j in range(columns)]
    assert f"drawn: [:{rows}, :{columns}] of (2000, 1000)" in picture.text


def test_of_more_than_four_axes_the_first_stay_at_zero() -> None:
    picture = eqsat.ViewStack.from_shape((3, 2, 2, 2, 2, 2)).picture()
    assert drawn(picture) == list(range(16))
    assert "drawn: [:1, :1, :2, :2, :2, :2] of (3, 2, 2, 2, 2, 2)" in picture.text
    assert "[0, 0, 1, 0, :, :]" in picture.text


def test_a_picture_shows_itself_as_svg() -> None:
    picture = STACKS["plain"].picture()
    assert picture._repr_svg_() == picture.svg
    assert "<script" not in picture.svg
    assert len(picture.svg) < 20_000
