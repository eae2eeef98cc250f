"""The house that ARCHITECTURE.md draws: who may import whom, held by reading every import statement."""

from __future__ import annotations

import ast
import functools
import graphlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import eqsat

ROOT = Path(__file__).parent.parent
PACKAGES = {"eqsat": "eqsat", "eqsat.ir": "ir", "eqsat.lowering": "lowering", "eqsat.codegen": "codegen"}
OPTIONAL = {"PIL", "anywidget", "islpy", "jax", "pygments", "pygraphviz", "pytest", "rich", "sklearn", "traitlets"}
LATE = {"llvmlite"} | OPTIONAL
ALLOWED = {
    "eqsat.ir": {"eqsat.ir", "ml_dtypes", "numpy"},
    "eqsat.lowering": {"eqsat.ir", "eqsat.lowering"},
    "eqsat.codegen": {"eqsat.ir", "eqsat.codegen", "llvmlite", "numpy"},
    "eqsat": {*PACKAGES, "numpy"} | OPTIONAL,
}
# the packages within eqsat/, each of which imports those before it only; what stands at the top of eqsat/ puts them together
ORDER = (
    *("sizes", "egraph", "rules", "algebra", "keeping", "pricing", "proving", "indices", "operations", "capture", "views", "kernels"),
    *("extraction", "running", "calling", "explaining", "exploring", "showing", "costs_in_tests", "command_line"),
)
# of NumPy's own import, 0.08 s on a quiet machine: of the package, and of its functions for the first time
IMPORT_RATIO = 1.5
USE_RATIO = 4.8


@dataclass(frozen=True)
class Module:
    """A Python file under the name by which it is imported."""

    name: str
    source: str
    is_package: bool = False


@dataclass(frozen=True)
class Import:
    """An import statement; `late`: inside a function."""

    module: str
    target: str
    line: int
    late: bool

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.target}"


def files(folder: str, suffix: str) -> Iterator[Path]:
    """Every file of a folder of the repository; links are not followed, so that no file comes twice."""
    for place, folders, names in os.walk(ROOT / folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(place, name) for name in sorted(names) if name.endswith(suffix))


def project_modules() -> list[Module]:
    found = []
    for package, folder in PACKAGES.items():
        for path in files(folder, ".py"):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            is_package = parts[-1] == "__init__"
            name = ".".join((package, *(parts[:-1] if is_package else parts)))
            found.append(Module(name, path.read_text(), is_package))
    return found


def other_modules() -> list[Module]:
    """Tests and notebooks, under their paths."""
    tests = [Module(str(path.relative_to(ROOT)), path.read_text()) for folder in ("tests", "notebooks") for path in files(folder, ".py")]
    return tests + [Module(str(path.relative_to(ROOT)), notebook_source(path.read_text())) for path in files("notebooks", ".ipynb")]


def notebook_source(text: str) -> str:
    """The Python of a notebook's code cells, without lines for IPython."""
    cells = ["".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    return "\n".join("" if line.lstrip().startswith(("%", "!", "?")) else line for cell in cells for line in cell.splitlines())


def imports(modules: list[Module]) -> list[Import]:
    known = frozenset(module.name for module in modules)
    return [found for module in modules for found in _imports_of(module, known)]


@functools.cache
def _imports_of(module: Module, known: frozenset[str]) -> tuple[Import, ...]:
    return tuple(_imports(module, ast.parse(module.source), known, late=False))


def _imports(module: Module, node: ast.AST, known: frozenset[str], late: bool) -> Iterator[Import]:
    if isinstance(node, ast.Import):
        yield from (Import(module.name, alias.name, node.lineno, late) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        origin = _origin(module, node)
        for alias in node.names:
            inner = f"{origin}.{alias.name}"
            yield Import(module.name, inner if inner in known else origin, node.lineno, late)
    inside = late or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    for child in ast.iter_child_nodes(node):
        yield from _imports(module, child, known, inside)


def _origin(module: Module, node: ast.ImportFrom) -> str:
    """The absolute name of the module after `from`."""
    if not node.level:
        return node.module or ""
    drop = node.level - (1 if module.is_package else 0)
    base = module.name.split(".")[: -drop or None]
    return ".".join([*base, *(node.module.split(".") if node.module else [])])


def package_of(name: str) -> str:
    """The package of PACKAGES that a module belongs to; for others the first part of its name."""
    inside = [package for package in PACKAGES if name == package or name.startswith(f"{package}.")]
    return max(inside, key=len) if inside else name.split(".")[0]


def wrong_arrows(modules: list[Module]) -> list[str]:
    """Imports that ALLOWED does not list."""
    return [
        str(found)
        for found in imports(modules)
        if package_of(found.target) not in ALLOWED[package_of(found.module)] | (sys.stdlib_module_names - {"ir", "lowering", "codegen"})
    ]


def wrong_order(modules: list[Module]) -> list[str]:
    """Imports within eqsat/ of a package that comes later, or that ORDER does not have."""

    def place(name: str) -> int | None:
        parts = name.split(".") if package_of(name) == "eqsat" else []
        if len(parts) > 1 and parts[1] in ORDER:
            return ORDER.index(parts[1])
        return len(ORDER) if len(parts) > 2 else None

    places = [(found, place(found.module), place(found.target)) for found in imports(modules)]
    return [str(found) for found, here, there in places if here is not None and there is not None and there > here]


def bare_imports(modules: list[Module]) -> list[str]:
    """`import ir` would load every class of eqsat.ir a second time."""
    return [str(found) for found in imports(modules) if found.target.split(".")[0] in ("ir", "lowering", "codegen")]


def late_imports(modules: list[Module]) -> list[str]:
    """Imports inside functions of what is neither slow to load nor optional."""
    return [str(found) for found in imports(modules) if found.late and found.target.split(".")[0] not in LATE]


def circles(modules: list[Module]) -> list[str]:
    """A chain of modules that leads back to its start, if there is one."""
    graph: dict[str, set[str]] = {module.name: set() for module in modules}
    for found in imports(modules):
        if found.target in graph:
            graph[found.module].add(found.target)
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return [" <- ".join(error.args[1])]
    return []


Check = Callable[[list[Module]], list[str]]
CHECKS: tuple[Check, ...] = (wrong_arrows, wrong_order, bare_imports, late_imports, circles)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_import_statements_of_the_packages_keep_the_rule(check: Check) -> None:
    assert check(project_modules()) == []


def test_tests_and_notebooks_import_the_packages_under_their_full_names() -> None:
    assert bare_imports(other_modules()) == []


def test_egglog_is_loaded_without_its_package_and_serves_that_too(tmp_path: Path) -> None:
    simplified = "import sys, eqsat; x = eqsat.var('x', 0, 9); eqsat.simplify(x // 4 * 4 + x % 4, eqsat.Options(cache=False)); "
    alone = "print(*(name for name in sys.modules if 'egglog' in name)); "
    beside = "import egglog; print(egglog.bindings.EGraph is eqsat.egraph.engine.bindings().EGraph, egglog.EGraph().run(1).updated)"
    for code, expected in ((simplified + alone + beside, "\nTrue False\n"), (f"import egglog; {simplified}{beside}", "True False\n")):
        run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert run.stdout == expected


@pytest.mark.parametrize(
    ("check", "name", "source"),
    [
        (wrong_arrows, "eqsat.ir.x", "import eqsat"),
        (wrong_arrows, "eqsat.ir.x", "from eqsat.lowering import y"),
        (wrong_arrows, "eqsat.ir.x", "from ..codegen import y"),
        (wrong_arrows, "eqsat.ir.x", "import egglog"),
        (wrong_arrows, "eqsat.lowering.x", "from eqsat.codegen.y import z"),
        (wrong_arrows, "eqsat.lowering.x", "from eqsat import rules"),
        (wrong_arrows, "eqsat.lowering.x", "import llvmlite.ir as ll"),
        (wrong_arrows, "eqsat.codegen.x", "from eqsat.lowering import y"),
        (wrong_arrows, "eqsat.codegen.x", "from eqsat.rules import y"),
        (wrong_arrows, "eqsat.x", "import llvmlite.binding"),
        (wrong_arrows, "eqsat.x", "import scipy"),
        (wrong_arrows, "eqsat.x", "import ir"),
        (wrong_order, "eqsat.egraph.x", "from eqsat.rules.y import z"),
        (wrong_order, "eqsat.rules.x", "from eqsat.new.y import z"),
        (wrong_order, "eqsat.kernels.x", "def f():\n    import eqsat.running.plan"),
        (bare_imports, "eqsat.x", "import ir"),
        (bare_imports, "tests/test_x.py", "import lowering.split as s"),
        (bare_imports, "notebooks/x.ipynb", "if True:\n    from codegen import y"),
        (late_imports, "eqsat.x", "def f():\n    from eqsat import ir"),
        (late_imports, "eqsat.x", "class A:\n    async def f(self):\n        import json"),
        (late_imports, "eqsat.x", "def f():\n    import numpy as np"),
        (wrong_arrows, "eqsat.x", "def f():\n    from egglog.bindings import EGraph"),
        (circles, "eqsat.ir.index", "from eqsat.planted import y"),
        (circles, "eqsat.x", "from eqsat import x"),
        (circles, "eqsat.x", "from . import x"),
    ],
)
def test_a_planted_offence_is_found(check: Check, name: str, source: str) -> None:
    house = [
        Module("eqsat", "", is_package=True),
        Module("eqsat.ir", "", is_package=True),
        Module("eqsat.planted", "import eqsat.ir.index"),
    ]
    assert check(house) == []
    found = check([*house, Module(name, source)])
    assert len(found) >= 1
    assert any(name in line for line in found)


def test_an_import_is_resolved_to_the_module_that_it_names() -> None:
    modules = [
        Module("eqsat", "", is_package=True),
        Module("eqsat.ir", "from . import index\nfrom .index import Var", is_package=True),
        Module("eqsat.ir.index", "import numpy as np\nfrom eqsat.ir import node, index\nfrom .. import cost"),
    ]
    targets = [found.target for found in imports(modules)]
    assert targets == ["eqsat.ir.index", "eqsat.ir.index", "numpy", "eqsat.ir", "eqsat.ir.index", "eqsat"]


def test_the_code_of_a_notebook_is_read_without_ipython_lines() -> None:
    cells = [{"cell_type": "markdown", "source": ["import ir"]}, {"cell_type": "code", "source": ["%time\n", "import ir\n", "!ls"]}]
    source = notebook_source(json.dumps({"cells": cells}))
    assert bare_imports([Module("n", source)]) == ["n:2 imports ir"]


def test_importing_eqsat_is_quick_and_loads_neither_egglog_nor_llvmlite(tmp_path: Path) -> None:
    # processor time, measured by that of NumPy in the same process, so that what else runs on the machine does not count; from bytecode,
    # which the first run writes even where the environment forbids it
    code = (
        "import sys; from time import process_time as now; start = now(); import numpy; middle = now(); import eqsat; first = now();"
        "eqsat.jit, eqsat.optimize, eqsat.numpy; last = now();"
        "print(*((end - start) / (middle - start) for end in (first, last)), *({'llvmlite'} & set(sys.modules)),"
        "*('egglog' for _ in range(eqsat.egraph.engine.bindings.cache_info().currsize)))"
    )
    command = [sys.executable, "-c", code]
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(tmp_path)}
    runs = [subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True).stdout.split() for _ in range(4)]
    assert all(not loaded for _, _, *loaded in runs)
    assert min(float(first) for first, *_ in runs) <= IMPORT_RATIO
    assert min(float(last) for _, last, *_ in runs) <= USE_RATIO


def test_the_names_of_the_package_are_those_of_its_modules() -> None:
    imported = ast.parse((ROOT / "eqsat" / "__init__.py").read_text())
    typed = {alias.name for node in ast.walk(imported) if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert set(eqsat.__all__) <= typed | {"cache", "testing"}
    for name in eqsat.__all__:
        assert getattr(eqsat, name) is getattr(eqsat, name)
        assert name in dir(eqsat)
    assert not set(eqsat.__all__) & {path.stem for path in (ROOT / "eqsat").glob("*.py")} - {"cache", "testing"}
    with pytest.raises(AttributeError, match="'eqsat' has no attribute 'absent'"):
        eqsat.absent  # noqa: B018
