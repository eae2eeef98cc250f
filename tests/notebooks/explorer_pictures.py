"""Pictures of the explorer for the documentation: `python -m tests.notebooks.explorer_pictures` writes docs/pictures/explorer-*.png.

Look at them before they are committed.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

import eqsat
from eqsat.exploring.picture import picture
from eqsat.exploring.widget import packed
from tests.eqsat.exploring.egraphs import PROGRAMS, TERMS
from tests.notebooks.browser import chromium, explorer_page

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"


@dataclass(frozen=True)
class View:
    """One picture: of which e-graph, how large, in which theme, after what was done (JavaScript in which `e` is the explorer)."""

    name: str
    graph: str
    width: int = 1280
    height: int = 800
    dark: bool = False
    done: str = ""


VIEWS = (
    View("index", "order"),
    View("index-step", "order", 700, 500, done="e.slider.value = 3; e.go(3); e.showAdded('div-mod-identity');"),
    View("program", "softmax", done="const root = e.state.classes.get(e.state.roots[0]); e.about(root, root.nodes[0]);"),
    View("program-search", "softmax", 700, 500, True, "e.search.value = 'reduce'; e.look(); e.results.querySelector('.hit').click();"),
)


def save(png: bytes, name: str) -> None:
    """Write a picture in few colours, a third as large."""
    Image.open(io.BytesIO(png)).quantize(128, dither=Image.Dither.NONE).save(FOLDER / f"{name}.png", optimize=True)


def write_pictures() -> None:
    FOLDER.mkdir(exist_ok=True)
    for view in VIEWS:
        graph = eqsat.explore(TERMS[view.graph] if view.graph in TERMS else PROGRAMS[view.graph])
        with explorer_page(packed(graph), view.width, view.height, view.dark) as shown:
            shown.run(view.done)
            shown.page.wait_for_timeout(300)
            save(shown.page.screenshot(), f"explorer-{view.name}")
    with chromium(1280, 800) as page:
        page.set_content(f"<body style='margin:0'>{picture(eqsat.explore(TERMS['identity']))}</body>")
        save(page.locator("svg").screenshot(), "explorer-still")


if __name__ == "__main__":
    write_pictures()
