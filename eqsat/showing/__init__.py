"""How results look in a notebook: HTML without scripts, that needs neither trust nor a network.

`pages.page` makes the HTML of a value; its module is loaded when the first value is displayed.
"""

from __future__ import annotations

import importlib

from eqsat.ir.shown import write_pages_with


def _page(value: object) -> str:
    return str(importlib.import_module("eqsat.showing.pages").page(value))


write_pages_with(_page)
