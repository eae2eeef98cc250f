"""Pages read back: their tags, their text, and the rows of their tables."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"br", "img"}


class Page(HTMLParser):
    """A parsed page; AssertionError where a tag is closed that is not the last one opened, or one stays open."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.rows: list[list[str]] = []
        self.images: list[str] = []
        self._open: list[str] = []
        self.feed(source)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        self.images += [value or "" for name, value in attrs if (tag, name) == ("img", "src")]
        if tag not in VOID:
            self._open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" in self._open:
            return
        self.text += data
        if "td" in self._open or "th" in self._open:
            self.rows[-1][-1] += data


def page_of(value: object) -> Page:
    """The page that a value displays."""
    return Page(bundle(value)["text/html"])


def bundle(value: object) -> dict[str, str]:
    """What a value hands to Jupyter."""
    found: dict[str, str] = value._repr_mimebundle_()  # type: ignore[attr-defined]
    return found
