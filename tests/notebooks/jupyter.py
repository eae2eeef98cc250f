"""A Jupyter server of its own for a test: a folder with one notebook, a kernel that runs this Python, nothing from outside."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat

ROOT = Path(__file__).parent.parent.parent
TOKEN = "eqsat"
PATIENCE = 90.0


def command(name: str) -> str | None:
    """Where jupyter-lab or jupyter-notebook is: beside this Python, or on the path."""
    beside = Path(sys.executable).parent / name
    return str(beside) if beside.exists() else shutil.which(name)


def notebook(*cells: str) -> Any:
    """A notebook of these code cells, for the kernel of `server`."""
    metadata = {"kernelspec": {"name": "eqsat", "display_name": "eqsat", "language": "python"}}
    made = [nbformat.v4.new_code_cell(cell) for cell in cells]  # type: ignore[no-untyped-call]
    return nbformat.v4.new_notebook(cells=made, metadata=metadata)  # type: ignore[no-untyped-call]


def save(notebook: Any, path: Path) -> int:
    """Write a notebook -> its size in bytes."""
    nbformat.write(notebook, path)  # type: ignore[no-untyped-call]
    return path.stat().st_size


@contextmanager
def server(folder: Path, executable: str) -> Iterator[str]:
    """The address of a server whose root is a folder."""
    kernel = folder / "share" / "kernels" / "eqsat"
    kernel.mkdir(parents=True)
    launch = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": launch, "display_name": "eqsat", "language": "python", "env": {"PYTHONPATH": str(ROOT)}}
    (kernel / "kernel.json").write_text(json.dumps(spec))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = {"HOME": str(folder), "JUPYTER_PATH": str(folder / "share"), "JUPYTER_CONFIG_DIR": str(folder / "config")}
    options = ["--no-browser", "--ip=127.0.0.1", f"--port={port}", f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={folder}"]
    options += ["--allow-root", "--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
    with (folder / "server.log").open("w") as log:
        running = subprocess.Popen([executable, *options], env={**os.environ, **home}, stdout=log, stderr=log)
        try:
            _wait(f"http://127.0.0.1:{port}/api?token={TOKEN}", running, folder / "server.log")
            yield f"http://127.0.0.1:{port}"
        finally:
            running.terminate()
            try:
                running.wait(20)
            except subprocess.TimeoutExpired:  # it waits for its kernels
                running.kill()
                running.wait()


def _wait(address: str, running: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if running.poll() is not None:
            break
        try:
            with urllib.request.urlopen(address, timeout=2):
                return
        except OSError:
            time.sleep(0.3)
    raise AssertionError(f"the server did not start:\n{log.read_text()[-2000:]}")
