"""`python -m eqsat`."""

import sys

from eqsat.cli import main

if __name__ == "__main__":
    sys.exit(main())
