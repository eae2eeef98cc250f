"""The examples of docs/extending.md, run in order in one namespace."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

from eqsat.ir.ops import SCALAR_OPS

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"
BLOCK = re.compile(r"```pycon\n(.*?)```", re.DOTALL)


def test_the_examples_of_the_page_give_what_it_says() -> None:
    before = set(SCALAR_OPS)
    blocks = BLOCK.findall(PAGE.read_text())
    examples = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "extending", str(PAGE), 0)
    told: list[str] = []
    result = doctest.DocTestRunner().run(examples, out=told.append)
    assert result.attempted > 20
    assert result.failed == 0, "".join(told)
    assert set(SCALAR_OPS) == before
