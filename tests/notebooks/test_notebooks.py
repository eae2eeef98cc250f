"""Notebooks run as they are printed, agree with their .py twins, and stay small."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

from tests.effort import some

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
MOST_BYTES = 1_000_000
SECONDS = 120


def stem(path: Path) -> str:
    return path.stem


def notebook(path: Path) -> Any:
    return nbformat.read(path.open(), as_version=4)  # type: ignore[no-untyped-call]


def percent_cells(text: str) -> list[tuple[str, str]]:
    """(type, source) of the cells of a .py file in jupytext's percent format."""
    cells = []
    for part in re.split(r"^# %%", text, flags=re.MULTILINE)[1:]:
        head, _, body = part.partition("\n")
        if head.strip() == "[markdown]":
            cells.append(("markdown", "\n".join(line.removeprefix("#").removeprefix(" ") for line in body.strip().splitlines())))
        else:
            cells.append(("code", body.strip()))
    return cells


def kernel(folder: Path) -> AsyncKernelManager:
    """A kernel of the interpreter that runs the tests; what it writes goes into `folder`, its sockets too, so it needs no network."""
    place = folder / "kernels" / "tests"
    place.mkdir(parents=True)
    environment = {"IPYTHONDIR": str(folder / "ipython"), "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (place / "kernel.json").write_text(json.dumps({"argv": command, "display_name": "tests", "language": "python", "env": environment}))
    specs = KernelSpecManager(kernel_dirs=[str(place.parent)], ensure_native_kernel=False)
    return AsyncKernelManager(
        kernel_name="tests", kernel_spec_manager=specs, transport="ipc", connection_file=str(folder / "connection.json")
    )


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS


@pytest.mark.notebook
@pytest.mark.parametrize("path", some(NOTEBOOKS), ids=stem)
def test_a_notebook_runs_from_top_to_bottom_and_prints_results_only(path: Path) -> None:
    found = notebook(path)
    # pytest's own folder is too long a name for a socket; a kernel that ends may still write its history while this one is removed
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        NotebookClient(found, km=kernel(Path(folder)), timeout=SECONDS, resources={"metadata": {"path": str(ROOT)}}).execute()
    outputs = [output for cell in found.cells if cell.cell_type == "code" for output in cell.outputs]
    assert {output.output_type for output in outputs} <= {"stream", "execute_result", "display_data"}
    assert {output.name for output in outputs if output.output_type == "stream"} == {"stdout"}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=stem)
def test_a_notebook_and_its_text_twin_have_the_same_cells(path: Path) -> None:
    twin = percent_cells(path.with_suffix(".py").read_text())
    assert [(cell.cell_type, cell.source.strip()) for cell in notebook(path).cells] == twin, "write the notebook anew, see ARCHITECTURE.md"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=stem)
def test_a_notebook_is_stored_with_its_outputs_and_stays_small(path: Path) -> None:
    code = [cell for cell in notebook(path).cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert any(cell.outputs for cell in code)
    assert path.stat().st_size <= MOST_BYTES


@pytest.mark.parametrize("path", NOTEBOOKS, ids=stem)
def test_a_notebook_opens_with_a_question_and_uses_public_names_only(path: Path) -> None:
    cells = notebook(path).cells
    assert cells[0].cell_type == "markdown"
    assert "?" in cells[0].source
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    assert set(re.findall(r"^(?:import|from) (eqsat[\w.]*)", code, re.MULTILINE)) <= {"eqsat", "eqsat.numpy"}
    assert not re.search(r"\._\w|^ *class ", code, re.MULTILINE)
