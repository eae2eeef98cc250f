"""How a search for what is wrong ends: its counts, its findings, its exit status."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn


def conclude(counts: Mapping[str, int], wrong: Sequence[str], note: str = "") -> NoReturn:
    """Print the counts, a note, and what is wrong, a line each; exit with status 1 if anything is."""
    print(", ".join(f"{name} {number}" for name, number in counts.items()), f"; wrong {len(wrong)}{note}")
    for line in wrong:
        print(f"  {line}")
    sys.exit(1 if wrong else 0)
