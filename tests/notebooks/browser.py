"""Chromium without a window, and a page that runs the explorer's bundle as anywidget would, with a model that is only data."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from eqsat.exploring.widget import bundle

CHROMIUM = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)
needs_browser = pytest.mark.skipif(
    CHROMIUM is None or importlib.util.find_spec("playwright") is None,
    reason="needs Chromium on the path, and playwright (extra `browser`)",
)
PLACE = "http://127.0.0.1:1"
_PAGE = """<!doctype html><meta charset="utf-8"><title>explorer</title><style>{css}</style>
<body style="margin:0;background:{back}"><div id="el"></div><script type="module">
import bundle from "/explorer.js";
const buffer = await (await fetch("/graph")).arrayBuffer();
const values = {{ graph: new DataView(buffer), height: {height}, picture: {picture!r}, summary: "an e-graph" }};
const model = {{ get: (name) => values[name], on() {{}}, off() {{}}, send() {{}} }};
await new Promise((done) => setTimeout(done));
const start = performance.now();
await bundle.render({{ model, el: document.getElementById("el") }});
await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
window.opened = performance.now() - start;
</script>"""


@dataclass
class Shown:
    """A page with an explorer; `strays` are the requests that went elsewhere, `errors` what the page complained about."""

    page: Any
    strays: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def run(self, code: str) -> Any:
        """The value of JavaScript in which `e` is the explorer."""
        return self.page.evaluate(f"(async () => {{ const e = document.querySelector('.eqsat-explorer').explorer; {code} }})()")

    @property
    def opened_ms(self) -> float:
        """From the call of render until its first picture was on the screen."""
        return float(self.page.evaluate("window.opened"))

    @property
    def count(self) -> str:
        return str(self.page.locator(".count").inner_text())


@contextmanager
def chromium(width: int, height: int) -> Iterator[Any]:
    """A page of this size, in a browser of its own."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            yield browser.new_page(viewport={"width": width, "height": height})
        finally:
            browser.close()


@contextmanager
def explorer_page(graph: bytes, width: int = 1280, height: int = 800, dark: bool = False, picture: str = "") -> Iterator[Shown]:
    """The explorer of what `packed` gives, as large as the page."""
    text = _PAGE.format(css=bundle("explorer.css"), back="#111111" if dark else "#ffffff", height=height, picture=picture)
    answers = {
        "/": (text, "text/html"),
        "/explorer.js": (bundle("explorer.js"), "text/javascript"),
        "/graph": (graph, "application/octet-stream"),
    }
    with chromium(width, height) as page:
        shown = Shown(page)

        def answer(route: Any) -> None:
            path = route.request.url.removeprefix(PLACE)
            if path in answers:
                body, kind = answers[path]
                route.fulfill(body=body, content_type=kind)
            else:
                shown.strays.append(route.request.url)
                route.abort()

        page.route("**/*", answer)
        page.on("pageerror", lambda error: shown.errors.append(str(error)))
        page.on("console", lambda message: shown.errors.append(message.text) if message.type == "error" else None)
        page.goto(f"{PLACE}/")
        page.wait_for_function("window.opened !== undefined")
        yield shown
