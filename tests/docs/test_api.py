"""The API reference has every public name, once, and only what exists."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy
import pytest

import eqsat
import eqsat.numpy
from tests.test_docs import exists

FOLDER = Path(__file__).parents[2] / "docs" / "api"
INDEX, *PAGES = (FOLDER / "index.rst", *(page for page in sorted(FOLDER.glob("*.rst")) if page.stem != "index"))
DOCUMENTED = re.compile(r"^\.\. auto(?:function|class|data|exception|module):: ([\w.]+)", re.MULTILINE)
LISTED = re.compile(r"^   (eqsat\.[\w.]+)$", re.MULTILINE)


def documented() -> Counter[str]:
    return Counter(name for page in PAGES for name in DOCUMENTED.findall(page.read_text()))


@pytest.mark.parametrize("name", eqsat.__all__)
def test_a_public_name_stands_in_the_reference_and_in_its_index(name: str) -> None:
    assert documented()[f"eqsat.{name}"] == 1
    assert f"eqsat.{name}" in LISTED.findall(INDEX.read_text())


@pytest.mark.parametrize("name", sorted(documented()))
def test_what_the_reference_names_exists(name: str) -> None:
    assert exists(name)


def own_functions() -> list[str]:
    """The functions of eqsat.numpy that NumPy lacks, and those that mean something else there."""
    defined = [name for name, value in vars(eqsat.numpy).items() if getattr(value, "__module__", "") == "eqsat.numpy"]
    return ["asarray", "from_dlpack", *sorted(name for name in defined if name[0] != "_" and not hasattr(numpy, name))]


@pytest.mark.parametrize("name", own_functions())
def test_a_function_that_numpy_lacks_stands_in_the_reference(name: str) -> None:
    assert documented()[f"eqsat.numpy.{name}"] == 1
