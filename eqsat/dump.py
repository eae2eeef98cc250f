"""Texts of the stages in a folder: the only thing that writes files during optimization, and only if asked."""

from __future__ import annotations

from pathlib import Path


class Dump:
    """Numbered files NN-stage.txt in a folder; nothing where the folder is None."""

    def __init__(self, folder: Path | str | None) -> None:
        self.folder = None if folder is None else Path(folder)
        self._count = 0

    def write(self, stage: str, text: object, suffix: str = "txt") -> None:
        """Write the text of one stage."""
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / f"{self._count:02}-{stage}.{suffix}").write_text(f"{text}\n")
            self._count += 1
