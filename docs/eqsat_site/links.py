"""Links that are right in the repository, made right in the site, whose pages lie in docs/ alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

# pages of the repository outside of docs/, and the pages of the site that show them
SHOWN = {"ARCHITECTURE.md": "architecture.md", "CHANGELOG.md": "changelog.md"}

_LEAVING = re.compile(r"\]\(((?:\.\./)+)([\w./-]+)")


def setup(app: Sphinx) -> None:
    """Rewrite the links of every page when it is read."""
    app.connect("source-read", lambda app, name, content: content.__setitem__(0, in_site(content[0], name)))


def in_site(text: str, page: str) -> str:
    """The text of `page` (its path below docs/, without suffix) with links to files of the repository as links to pages of the site.

    docs/notebooks/ is a link to notebooks/, from where the repository is one level nearer.
    """
    inside = page.startswith("notebooks/")
    up = page.count("/") + (0 if inside else 1)

    def replaced(match: re.Match[str]) -> str:
        target = match[2].removeprefix("docs/")
        return f"](/{SHOWN.get(target, target)}" if match[1].count("../") == up else match[0]

    return _LEAVING.sub(replaced, text)
