"""Links that are right in the repository, made right in the site, whose pages lie in docs/ alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

# pages of the repository outside of docs/, and the pages of the site that show them
SHOWN = {"ARCHITECTURE.md": "architecture.md", "CHANGELOG.md": "changelog.md"}

# to another notebook: by its name in the site, for the folder is a link and its files are elsewhere
_BESIDE = re.compile(r"\[([^\[\]\n]*)\]\((\w+)\.ipynb\)")
_LEAVING = re.compile(r"\[([^\]]*)\]\(((?:\.\./)+)([\w./-]+)([^)]*)\)")


def setup(app: Sphinx) -> None:
    """Rewrite the links of every page when it is read."""
    app.connect("source-read", lambda app, name, content: content.__setitem__(0, in_site(content[0], name)))


def in_site(text: str, page: str) -> str:
    """The text of `page` (its path below docs/, without suffix) with links to files of the repository as links to pages of the site;
    of what the site does not show the name is left.

    docs/notebooks/ is a link to notebooks/, from where the repository is one level nearer.
    """
    up = page.count("/") + (0 if page.startswith("notebooks/") else 1)

    def replaced(match: re.Match[str]) -> str:
        said, levels, target, place = match.groups()
        if levels.count("../") != up:
            return match[0]
        if target in SHOWN:
            return f"[{said}](/{SHOWN[target]}{place})"
        return f"[{said}](/{target.removeprefix('docs/')}{place})" if target.startswith(("docs/", "notebooks/")) else said

    found = _LEAVING.sub(replaced, text)
    return _BESIDE.sub(r"{doc}`\1 </notebooks/\2>`", found) if page.startswith("notebooks/") else found
