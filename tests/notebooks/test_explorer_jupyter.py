"""The explorer in JupyterLab and in Notebook 7: live, and as a picture where a notebook is not trusted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from nbclient import NotebookClient

from tests.notebooks.browser import chromium, needs_browser
from tests.notebooks.jupyter import TOKEN, command, notebook, save, server
from tests.notebooks.test_notebooks import kernel

PAGES = {"jupyter-lab": "lab/tree", "jupyter-notebook": "notebooks"}
CELLS = ("import eqsat\nx = eqsat.var('x', 0, 31)", "eqsat.optimize(x // 8 * 8 + x % 8).egraph")
# as of a graph that is too large to be saved: the page has to ask for it
ASKED = "from eqsat.exploring import widget\nwidget.MOST_SAVED = 0\neqsat.explore(x // 8 * 8 + x % 8)"
PATIENCE = 90_000

pytestmark = [pytest.mark.slow, needs_browser]


def executable(name: str) -> str:
    found = command(name)
    if found is None:
        pytest.skip(f"needs {name} beside this Python or on the path (extra `browser`)")
    return found


def open_notebook(page: Any, address: str, program: str, name: str) -> list[str]:
    """Open a notebook -> the requests of the page that go to another machine, growing."""
    strays: list[str] = []
    page.on("request", lambda request: strays.append(request.url) if request.url.split(":")[0] in ("http", "https", "ws", "wss") else None)
    page.goto(f"{address}/{PAGES[program]}/{name}?token={TOKEN}")
    page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=PATIENCE)
    return strays


@pytest.mark.parametrize("program", PAGES)
def test_the_explorer_runs_in_a_notebook(program: str, tmp_path: Path) -> None:
    save(notebook(*CELLS, ASKED), tmp_path / "live.ipynb")
    with server(tmp_path, executable(program)) as address, chromium(1280, 800) as page:
        requests = open_notebook(page, address, program, "live.ipynb")
        page.locator(".jp-CodeCell").nth(0).click()
        page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status=idle]", timeout=PATIENCE)
        for _ in (*CELLS, ASKED):
            page.keyboard.press("Shift+Enter")
        page.wait_for_function("document.querySelectorAll('.eqsat-explorer:has(.box)').length == 2", timeout=PATIENCE)
        assert page.locator(".eqsat-explorer .count").all_inner_texts() == ["5 of 5 classes shown, 8 nodes"] * 2
        assert page.locator(".eqsat-explorer").first.get_attribute("data-theme") == "light"
        assert [request for request in requests if "//127.0.0.1" not in request] == []


@pytest.mark.parametrize("program", PAGES)
def test_an_untrusted_notebook_shows_the_picture(program: str, tmp_path: Path) -> None:
    saved = notebook(*CELLS)
    (tmp_path / "kernel").mkdir()
    NotebookClient(saved, km=kernel(tmp_path / "kernel")).execute()
    save(saved, tmp_path / "saved.ipynb")
    with server(tmp_path, executable(program)) as address, chromium(1280, 800) as page:
        open_notebook(page, address, program, "saved.ipynb")
        image = page.wait_for_selector(".jp-OutputArea-output img", timeout=PATIENCE)
        page.wait_for_function("image => image.naturalWidth > 300", arg=image)
        assert page.locator(".eqsat-explorer").count() == 0
