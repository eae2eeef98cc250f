"""Every test runs with the checks between stages switched on, and without entries on disk: no folder can be made below a file."""

import os

os.environ["EQSAT_CHECK"] = "1"
os.environ["EQSAT_CACHE_DIR"] = os.devnull

# for tests/eqsat/test_pytest_plugin.py
pytest_plugins = ["pytester"]
