"""Formulas as MathML, which browsers draw themselves: no script has to be loaded."""

from __future__ import annotations

import html
import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

_TAG = re.compile(r"\\tag\{([^}]*)\}")
_LOGGER = logging.getLogger(__name__)


def setup(app: Sphinx) -> None:
    """Register the renderer `mathml` for `html_math_renderer`."""
    app.add_html_math_renderer("mathml", (_visit_inline, None), (_visit_block, None))


def _visit_inline(writer: Any, node: nodes.Element) -> None:
    writer.body.append(_drawn(node.astext(), node, block=False))
    raise nodes.SkipNode


def _visit_block(writer: Any, node: nodes.Element) -> None:
    formula = node.astext()
    tag = "".join(f'<span class="tag">({html.escape(name)})</span>' for name in _TAG.findall(formula))
    writer.body.append(f'<div class="math">{_drawn(_TAG.sub("", formula), node, block=True)}{tag}</div>')
    raise nodes.SkipNode


def _drawn(formula: str, node: nodes.Element, block: bool) -> str:
    """MathML of a formula; its source, with a warning, where docutils knows no MathML for it."""
    try:
        return str(tex2mathml(formula, as_block=block))
    except MathError as error:
        _LOGGER.warning("formula: found %s, expected LaTeX that docutils turns into MathML (%s)", formula, error, location=node)
        return f"<code>{html.escape(formula)}</code>"
