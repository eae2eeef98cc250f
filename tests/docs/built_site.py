"""What is wrong with the pages of a built site: `python -m tests.docs.built_site docs/_build/html`.

Exit status 1, and a line for each, where a page loads something over the net, or a link leads to no file or to no place in it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# what a browser fetches to show a page, by tag; links to click are none of it
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "audio": "src", "embed": "src", "object": "data"}
SCHEMES = ("http:", "https:", "//")
REMOTE_STYLE = re.compile(r"""(?:url\(|@import )["']?(?:https?:|//)""")
LOADED_LINKS = ("stylesheet", "icon", "preload", "prefetch", "modulepreload", "preconnect", "dns-prefetch")


@dataclass
class Page(HTMLParser):
    """What a page loads, where it links to, and the places in it that others may link to."""

    text: str
    loads: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    places: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Called for every tag."""
        found = {name: value or "" for name, value in attrs}
        self.places.update(found[name] for name in ("id", "name") if name in found)
        if tag in LOADED and LOADED[tag] in found:
            self.loads.append(found[LOADED[tag]])
        if tag == "link" and found.get("rel", "") in LOADED_LINKS:
            self.loads.append(found.get("href", ""))
        if tag == "a" and "href" in found:
            self.links.append(found["href"])


def problems(folder: Path) -> Iterator[str]:
    """What is wrong with the pages below a folder, one line each."""
    pages = {path: Page(path.read_text()) for path in sorted(folder.resolve().rglob("*.html"))}
    if not pages:
        yield f"{folder}: found no page"
    for path, page in pages.items():
        where = path.relative_to(folder.resolve())
        yield from (f"{where}: loads {url} over the net" for url in page.loads if _is_remote(url))
        yield from (f"{where}: links to {link}, which is not there" for link in page.links if not _leads_somewhere(link, path, pages))
    for path in sorted(folder.resolve().rglob("*.css")):
        if REMOTE_STYLE.search(path.read_text()):
            yield f"{path.relative_to(folder.resolve())}: loads something over the net"


def _is_remote(url: str) -> bool:
    return url.startswith(SCHEMES)


def _leads_somewhere(link: str, path: Path, pages: dict[Path, Page]) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target not in pages:
        return target.is_file()
    return not parts.fragment or unquote(parts.fragment) in pages[target].places


def main(folder: str) -> int:
    """Print what is wrong; the number of lines is 0 where all is well."""
    found = list(problems(Path(folder)))
    print("\n".join(found) or f"{folder}: every page is whole and loads nothing over the net")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
