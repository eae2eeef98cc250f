"""Every test runs with the checks between stages switched on."""

import os

os.environ["EQSAT_CHECK"] = "1"
