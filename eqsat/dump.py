"""Texts of the stages in a folder: the only thing that writes files during optimization, and only if asked."""

from __future__ import annotations

from pathlib import Path

from eqsat.ir.errors import UsageError


class Dump:
    """Numbered files NN-stage.txt in a folder; nothing where the folder is None."""

    def __init__(self, folder: Path | str | None) -> None:
        self.folder = None if folder is None else Path(folder)
        self._count = 0

    def write(self, stage: str, text: object, suffix: str = "txt") -> None:
        """Write the text of one stage; UsageError for a folder that cannot be written to."""
        if self.folder is not None:
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                (self.folder / f"{self._count:02}-{stage}.{suffix}").write_text(f"{text}\n")
            except OSError as error:
                raise UsageError(f"Options.dump: found {self.folder} ({error.strerror}), expected a folder to write to") from error
            self._count += 1
