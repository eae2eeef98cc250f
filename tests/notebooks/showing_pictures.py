"""Pictures of displayed values for the documentation: `python -m tests.notebooks.showing_pictures` writes docs/pictures/showing-*.png.

Look at them before they are committed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import eqsat
import eqsat.numpy as enp
from tests.notebooks.browser import chromium
from tests.notebooks.explorer_pictures import save

WIDTH, HEIGHT = 960, 800
PAGE = "<!doctype html><meta charset=utf-8><body style='margin:0;padding:10px;background:{back};color:{text}'>{page}"


def softmax(x: Any) -> Any:
    e = enp.exp(x - enp.max(x, axis=1, keepdims=True))
    return e / enp.sum(e, axis=1, keepdims=True)


def result() -> eqsat.Result:
    return eqsat.optimize(softmax, eqsat.spec((512, 256), "float32"))


def index() -> eqsat.IndexResult:
    x, y = eqsat.var("x", 0, 127), eqsat.var("y", 0, 3)
    cell = x * 4 + y
    return eqsat.optimize(cell // 8 * 2 + cell % 8 // 4)


def view() -> eqsat.ViewStack:
    return eqsat.ViewStack.from_shape((2, 3, 4)).pad(((0, 0), (1, 0), (0, 1))).reshape((2, 2, 2, 5))


@dataclass(frozen=True)
class Value:
    """One picture: what is displayed, on a light or a dark page."""

    name: str
    made: Callable[[], Any]
    dark: bool = False


VALUES = (
    Value("result", result),
    Value("listing", lambda: result().listing, dark=True),
    Value("index", index),
    Value("view", view, dark=True),
)


def write_pictures() -> None:
    for value in VALUES:
        back, text = ("#111111", "#e6e6e6") if value.dark else ("#ffffff", "#1a1a1a")
        with chromium(WIDTH, HEIGHT) as page:
            page.emulate_media(color_scheme="dark" if value.dark else "light")
            page.set_content(PAGE.format(back=back, text=text, page=value.made()._repr_mimebundle_()["text/html"]))
            save(page.locator("body").screenshot(), f"showing-{value.name}")


if __name__ == "__main__":
    write_pictures()
