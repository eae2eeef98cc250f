"""The widget without a browser: what it hands to the page, and how much of that a notebook is saved with."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
from nbclient import NotebookClient

import eqsat
from eqsat.exploring import widget
from eqsat.exploring.widget import bundle, explorer, packed
from eqsat.ir.errors import UsageError
from tests.eqsat.exploring.egraphs import PROGRAMS, egraph
from tests.notebooks.jupyter import notebook, save
from tests.notebooks.test_notebooks import kernel

ROOT = Path(__file__).parents[3]
MOST_BYTES_OF_A_NOTEBOOK = 1_000_000
WIDGET = "application/vnd.jupyter.widget-view+json"


def test_what_is_shown_always_has_text_and_a_picture() -> None:
    shown, _ = egraph("identity")._repr_mimebundle_()
    assert set(shown) == {"text/plain", "text/html", WIDGET}
    assert shown["text/plain"] == egraph("identity").summary()


def test_without_anywidget_the_picture_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(widget, "is_available", lambda: False)
    shown, _ = egraph("identity")._repr_mimebundle_()
    assert set(shown) == {"text/plain", "text/html"}
    with pytest.raises(UsageError, match=r"pip install 'eqsat\[notebook\]'"):
        egraph("identity").widget()


def test_a_small_graph_is_saved_with_the_notebook() -> None:
    state = explorer(egraph("identity")).get_state()
    assert json.loads(zlib.decompress(state["graph"]))["counts"] == [8, 5]
    assert state["picture"] == ""


def test_a_large_graph_is_sent_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(widget, "MOST_SAVED", 500)
    live = explorer(egraph("softmax"))
    assert live.get_state()["graph"] == b""
    assert live.get_state()["picture"].startswith("<svg")
    sent: list[Any] = []
    monkeypatch.setattr(type(live), "send", lambda self, content, buffers: sent.append((content, buffers)))
    live._handle_custom_msg({"kind": "other"}, [])
    assert sent == []
    live._handle_custom_msg({"kind": "graph"}, [])
    assert sent == [({"kind": "graph"}, [packed(egraph("softmax"))])]


def test_a_saved_widget_is_small() -> None:
    def size(value: Any) -> int:
        return len(value) * 4 // 3 if isinstance(value, bytes) else len(json.dumps(value))

    for name in ("softmax", "sines"):
        assert sum(map(size, explorer(egraph(name)).get_state().values())) < 150_000


def test_the_code_asks_for_nothing_from_elsewhere() -> None:
    for text in (bundle("explorer.js"), bundle("explorer.css")):
        addresses = {part.split('"')[0].split("'")[0].split("`")[0] for part in text.split("://")[1:]}
        assert addresses <= {
            "www.w3.org/2000/svg",
            "www.w3.org/1999/xhtml",
            "www.w3.org/1999/xlink",
            "www.w3.org/XML/1998/namespace",
            "www.w3.org/2000/xmlns/",
        }
        assert "@import" not in text


def test_the_bundle_is_built_from_the_sources_beside_it() -> None:
    folder = Path(widget.__file__).parent / "js"
    digest = hashlib.sha256()
    for path in (folder / "package-lock.json", *sorted((folder / "src").iterdir())):
        digest.update(path.read_bytes())
    for name in ("explorer.js", "explorer.css"):
        assert bundle(name).startswith(f"/* built from {digest.hexdigest()};"), "npm run build in eqsat/exploring/js"


@pytest.mark.slow
@pytest.mark.notebook
def test_a_saved_notebook_with_explorers_stays_below_a_megabyte(tmp_path: Path) -> None:
    cells = [
        "import eqsat, sys; sys.path.insert(0, '.')",
        "from tests.eqsat.exploring.egraphs import PROGRAMS, TERMS",
        *(f"eqsat.explore({place})" for place in ("TERMS['identity']", "TERMS['order']", "PROGRAMS['softmax']", "PROGRAMS['sines']")),
    ]
    saved = notebook(*cells)
    NotebookClient(saved, km=kernel(tmp_path), resources={"metadata": {"path": str(ROOT)}}).execute()
    assert save(saved, tmp_path / "saved.ipynb") < MOST_BYTES_OF_A_NOTEBOOK
    assert "widgets" in saved.metadata
    assert all(WIDGET in cell.outputs[0].data for cell in saved.cells[2:])
    assert not any(output.output_type == "stream" for cell in saved.cells for output in cell.outputs)


def test_asking_for_a_result_loads_no_widget() -> None:
    asked = "import eqsat, sys; x = eqsat.var('x', 0, 9); eqsat.optimize(x // 3 * 3 + x % 3).egraph"
    code = f"{asked}; print({{'anywidget', 'pygraphviz'}} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"


def test_results_have_their_egraph_once() -> None:
    result = eqsat.optimize(PROGRAMS["sines"])
    assert result.egraph is result.egraph
    assert result.egraph.classes == egraph("sines").classes
