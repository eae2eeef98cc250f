"""Every test runs with the checks between stages switched on, without entries on disk, since no folder can be made below a file, and
without progress, of which notebooks would keep traces."""

import os

os.environ["EQSAT_CHECK"] = "1"
os.environ["EQSAT_CACHE_DIR"] = os.devnull
os.environ["EQSAT_PROGRESS"] = "0"

# for tests/eqsat/costs_in_tests/test_plugin.py
pytest_plugins = ["pytester"]
