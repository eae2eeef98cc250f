"""What the site needs beside Sphinx: docstrings as they are written here, links of the repository, formulas without scripts."""

from __future__ import annotations

from sphinx.application import Sphinx

from eqsat_site import docstrings, links, mathml


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx, which finds this package in `extensions` of conf.py."""
    docstrings.setup(app)
    links.setup(app)
    mathml.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
