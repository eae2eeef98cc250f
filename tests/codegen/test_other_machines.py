"""Code for processors other than the host: written for all of them, run where the host can stand in."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import eqsat
from eqsat.codegen.llvm.machine import assembly_text, host, machine_of
from eqsat.lowering import type_indices
from tests.codegen.modules import emit_module
from tests.effort import some

PROGRAMS = {
    "product": (lambda a, b: a @ b, ((40, 64), (64, 48)), r"\bfmla\s+v\d+\.4s"),
    "softmax": (lambda a: np.exp(a) / np.exp(a).sum(axis=1, keepdims=True), ((30, 64),), r"\bfmul\s+v\d+\.4s"),
    "transpose": (lambda a, b: a.T + b, ((64, 48), (48, 64)), r"\bfadd\s+v\d+\.4s"),
    "running sum": (lambda a: np.cumsum(a, axis=1), ((20, 64),), r"\bfadd\s+v\d+\.4s"),
    "stencil": (lambda a: a[1:-1, 1:-1] * 2 + a[:-2, 1:-1] + a[2:, 1:-1], ((40, 70),), r"\bf(add|mla)\s+v\d+\.4s"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_code_for_arm_uses_its_vectors(name: str) -> None:
    function, shapes, instruction = PROGRAMS[name]
    result = eqsat.optimize(function, *(eqsat.spec(shape, "float32") for shape in shapes))
    arm = machine_of("aarch64-unknown-linux-gnu", "neoverse-n1")
    text = emit_module([type_indices(kernel) for kernel in result.loops], "default", arm.abilities, arm.registers)
    assembly = assembly_text(text, arm)
    assert re.search(instruction, assembly)
    assert not re.search(r"[xyz]mm\d", assembly)


WORKER = """
import numpy as np, eqsat
from tests.codegen.test_other_machines import PROGRAMS
from eqsat.codegen.llvm.machine import host
rng = np.random.default_rng(0)
for name, (function, shapes, _) in PROGRAMS.items():
    arrays = [rng.integers(-3, 4, shape).astype(np.float32) for shape in shapes]
    np.testing.assert_allclose(eqsat.jit(function)(*arrays), function(*arrays), rtol=1e-5, err_msg=name)
print(host().cpu, host().registers.bytes)
"""
# width of the vectors that sums of tiles use
STAND_INS = {"x86-64": 16, "nehalem": 16, "haswell": 32, "skylake-avx512": 64}


@pytest.mark.skipif("x86_64" not in host().triple, reason="the host is no x86-64")
@pytest.mark.parametrize("cpu", some(STAND_INS, 2))
def test_older_processors_compute_the_same(cpu: str) -> None:
    needed = {16: "sse2", 32: "avx2", 64: "avx512f"}[STAND_INS[cpu]]
    if needed not in host().known:
        pytest.skip(f"the host has no {needed}")
    environment = {**os.environ, "EQSAT_CPU": cpu}
    done = subprocess.run(
        [sys.executable, "-c", WORKER], env=environment, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False
    )
    assert done.stdout.split() == [cpu, str(STAND_INS[cpu])], done.stderr


@pytest.mark.parametrize("cpu", ["nosuch", "help", "i686"])
def test_a_processor_that_llvm_has_no_code_for_is_refused_by_name(cpu: str) -> None:
    if cpu == "i686" and "x86_64" not in host().triple:
        pytest.skip("the host is no x86-64")
    environment = {**os.environ, "EQSAT_CPU": cpu, "EQSAT_CACHE": "0"}
    program = "import numpy as np, eqsat; eqsat.jit(lambda x: x + 1)(np.ones(3))"
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False
    )
    assert done.returncode == 1
    assert f"UsageError: EQSAT_CPU: found {cpu!r} in the environment, expected a processor that LLVM" in done.stderr.splitlines()[-1]
    assert "not a recognized" not in done.stderr
