"""Progress in a real kernel: one output that is written over while work goes on, and empty at the end."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.notebooks.test_notebooks import SECONDS, kernel

SOURCE = """
import os, time
os.environ.pop("EQSAT_PROGRESS", None)
from eqsat import progress
progress.DELAY = 0.1
with progress.work("measuring"):
    time.sleep(0.5)
    progress.tell("lowering kernels", 1, 4)
    time.sleep(0.5)
print("done")
"""


class Client(NotebookClient):
    """Runs a notebook and writes down what is displayed on the way."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.displayed: list[tuple[str, str]] = []

    def process_message(self, msg: Any, cell: Any, cell_index: int) -> Any:
        if msg["msg_type"] in ("display_data", "update_display_data"):
            self.displayed.append((msg["msg_type"], msg["content"]["data"]["text/plain"]))
        return super().process_message(msg, cell, cell_index)


@pytest.mark.notebook
def test_a_kernel_shows_progress_in_one_output_that_is_empty_at_the_end() -> None:
    found = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(SOURCE)])  # type: ignore[no-untyped-call]
    # pytest's own folder is too long a name for a socket; a kernel that ends may still write its history while this one is removed
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        client = Client(found, km=kernel(Path(folder)), timeout=SECONDS)
        client.execute()
    assert client.displayed[0] == ("display_data", "eqsat: measuring (0 s)")
    assert client.displayed[-1] == ("update_display_data", "")
    assert any("lowering kernels [#####..." in text for _, text in client.displayed)
    shown, printed = found.cells[0].outputs
    assert (shown["output_type"], shown["data"]["text/plain"], printed["text"]) == ("display_data", "", "done\n")
