"""Every test runs with the checks between stages switched on, without entries on disk, since no folder can be made below a file, and
without progress, of which notebooks would keep traces."""

import os

import pytest

from tests.effort import left_out

os.environ["EQSAT_CHECK"] = "1"
os.environ["EQSAT_CACHE_DIR"] = os.devnull
os.environ["EQSAT_PROGRESS"] = "0"

# for tests/eqsat/costs_in_tests/test_plugin.py
pytest_plugins = ["pytester"]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out a part of long lists (tests/effort.py)."""
    without = set(left_out(items))
    if without:
        config.hook.pytest_deselected(items=[item for item in items if item in without])
        items[:] = [item for item in items if item not in without]
