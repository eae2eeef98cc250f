"""The documentation site: `python -m sphinx -W -b html docs docs/_build/html`.

It takes the extra `docs`.  Neither the build nor a page loads anything over the net (tests/docs/built_site.py).
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import eqsat  # noqa: E402  (the checkout that this page belongs to, whatever is installed)

project = "eqsat"
author = "the eqsat authors"
copyright = "the eqsat authors, Apache License 2.0"
version = release = eqsat.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "eqsat_site.docstrings",
    "eqsat_site.links",
    "eqsat_site.mathml",
]
# notebooks/ is a link to the folder beside docs/; of each jupytext pair the .ipynb has the outputs
exclude_patterns = ["_build", "notebooks/*.md", "notebooks/*.py", "notebooks/.ipynb_checkpoints"]
# every link has a target, but for types of Python and NumPy and of eqsat's insides in signatures
nitpicky = True
nitpick_ignore_regex = [("py:class", r"(?!eqsat\.\w+$).*"), ("py:obj", r"typing\..*")]

html_theme = "furo"
html_title = f"eqsat {version}"
html_static_path = ["_static"]
html_css_files = ["eqsat.css"]
html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": True}
smartquotes = False
pygments_style = "friendly"
pygments_dark_style = "github-dark"

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_class_signature = "mixed"
autosummary_generate = False
maximum_signature_line_length = 100
toc_object_entries_show_parents = "hide"

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
html_math_renderer = "mathml"

# notebooks are executed by the tests, and shown with the outputs that they have
nb_execution_mode = "off"
# what a cell prints comes in pieces, and is one text
nb_merge_streams = True
# widgets need scripts from the net where no kernel runs; their HTML, pictures and text do not
nb_ipywidgets_js = {}
nb_mime_priority_overrides = [("html", "application/vnd.jupyter.widget-view+json", None)]

copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True
