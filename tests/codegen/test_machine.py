from __future__ import annotations

import re
import subprocess
import sys
import threading

import numpy as np
import pytest

from eqsat.codegen.folds.accumulator import Numerics
from eqsat.codegen.llvm.machine import host, library, optimize
from eqsat.ir.errors import InternalError, UsageError
from eqsat.ir.index import var
from eqsat.ir.loops import Buffer, For, Kernel, Load, Store
from eqsat.ir.tensor import Literal, Scalar
from tests.codegen.nests import Array, call, compiled, elementwise, rows


def vectors(kernel: Kernel, numerics: Numerics = "default") -> int:
    """How often the widest vector registers occur in the assembly, which calls nothing; skips where the host has none."""
    register = "zmm" if "+avx512f" in host().features else "ymm" if "+avx2" in host().features else ""
    if not register:
        pytest.skip("the host has no AVX2")
    assembly = compiled([kernel], numerics).assembly
    assert not re.search(r"\tcall", assembly)
    return len(re.findall(register, assembly))


def polynomial(x: Scalar) -> Scalar:
    return call("add", call("multiply", x, x), Literal(1.0, x.dtype))


def exp_chain(x: Scalar) -> Scalar:
    return call("tanh", call("log", call("add", call("exp", x), Literal(1.0, x.dtype))))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("body", [polynomial, exp_chain])
def test_elementwise_loops_vectorize(body: object, dtype: str) -> None:
    assert callable(body)
    assert vectors(elementwise(body, (dtype,), 1000)) > 3


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("op", ["sum", "prod", "max", "min"])
def test_folds_vectorize(op: str, dtype: str) -> None:
    assert vectors(rows(op, (7, 1000), dtype)) > 3


def test_a_fold_of_exponentials_vectorizes() -> None:
    assert vectors(rows("sum", (7, 1000), "float32", lambda x: call("exp", x))) > 3


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("op", "least"), [("max", -np.inf), ("min", np.inf)])
def test_extrema_of_what_is_left_out_by_a_comparison_vectorize(op: str, least: float, dtype: str) -> None:
    """LLVM puts the selection behind the extremum where the element is compared with itself, and vectorizes none such."""

    def number(x: Scalar) -> Scalar:
        return call("where", call("isnan", x), Literal(least, dtype), x)

    def above(x: Scalar) -> Scalar:
        return call("where", call("greater", x, Literal(0.5, dtype)), x, Literal(least, dtype))

    for body in (number, above):
        assert vectors(rows(op, (7, 1000), dtype, body)) > 3


def test_casts_and_selections_of_bytes_vectorize() -> None:
    def body(x: Scalar, m: Scalar) -> Scalar:
        return call("where", m, call("maximum", x, Literal(0.0, "float32")), Literal(-1.0, "float32"))

    assert vectors(elementwise(body, ("float32", "bool"), 1000)) > 3


def test_equal_kernels_share_their_code_and_numerics_do_not() -> None:
    first, second = (compiled([elementwise(polynomial, ("float32",), 100)]) for _ in range(2))
    other = compiled([elementwise(polynomial, ("float32",), 100)], "exact")
    assert first.object_code is second.object_code
    assert other.llvm_ir != first.llvm_ir
    assert library(first.object_code, ("elementwise.arrays",)).address("elementwise.arrays") != 0


def test_the_texts_of_every_step_can_be_read() -> None:
    code = compiled([rows("sum", (3, 100), "float32")])
    assert 'define void @"rows"(ptr noalias' in code.llvm_ir
    assert "fadd reassoc contract float" in code.llvm_ir
    assert "llvm.vector.reduce.fadd" in code.optimized_ir
    assert "rows:" in code.assembly


def test_llvm_refusing_a_module_is_an_internal_error_of_one_line() -> None:
    with pytest.raises(InternalError, match="LLVM rejects the module") as error:
        optimize("define void @f() { ret i32 0 }", host())
    assert "\n" not in str(error.value)


def test_kernel_names_may_hold_any_character_but_not_repeat() -> None:
    kernel = elementwise(polynomial, ("float32",), 4)
    odd = Kernel('über "all" %1', kernel.buffers, kernel.body)
    out = np.zeros(4, np.float32)
    compiled([odd]).routine(odd.name)([np.ones(4, np.float32), out])
    assert out.tolist() == [2, 2, 2, 2]
    with pytest.raises(InternalError, match="distinct names"):
        compiled([kernel, kernel])


def test_a_kernel_that_is_no_single_parallel_loop_has_no_extent_to_split() -> None:
    kernel = elementwise(polynomial, ("float32",), 4, "serial")
    routine = compiled([kernel]).routine("elementwise")
    assert routine.parallel_extent is None
    with pytest.raises(UsageError, match=r"range 0\.\.2"):
        routine([np.ones(4, np.float32), np.ones(4, np.float32)], 0, 2)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.ones(4), "found for buffer in0 4 float64"),
        (np.ones(5, np.float32), "found for buffer in0 5 float32"),
        (np.ones(8, np.float32)[::2], "strided"),
        (np.frombuffer(bytes(17), np.float32, 4, 1), "unaligned"),
    ],
)
def test_an_array_that_does_not_fit_its_buffer_is_refused(x: Array, message: str) -> None:
    routine = compiled([elementwise(polynomial, ("float32",), 4)]).routine("elementwise")
    with pytest.raises(UsageError, match=message):
        routine([x, np.ones(4, np.float32)])


def test_inputs_may_be_read_only_and_outputs_may_not() -> None:
    routine = compiled([elementwise(polynomial, ("float32",), 4)]).routine("elementwise")
    frozen = np.ones(4, np.float32)
    frozen.flags.writeable = False
    out = np.zeros(4, np.float32)
    routine([frozen, out])
    assert out.tolist() == [2, 2, 2, 2]
    with pytest.raises(UsageError, match="read-only"):
        routine([out, frozen])


def test_wrong_ranges_counts_and_names_are_refused() -> None:
    code = compiled([elementwise(polynomial, ("float32",), 4)])
    arrays = [np.ones(4, np.float32), np.ones(4, np.float32)]
    for begin, end in [(-1, 2), (3, 2), (0, 5)]:
        with pytest.raises(UsageError, match=r"expected one within 0\.\.4"):
            code.routine("elementwise")(arrays, begin, end)
    with pytest.raises(UsageError, match="found 1 buffers, expected 2"):
        code.routine("elementwise")(arrays[:1])
    with pytest.raises(UsageError, match="expected one of elementwise"):
        code.routine("other")


def test_threads_may_compile_and_run_at_once() -> None:
    outs = [np.zeros(50, np.float32) for _ in range(8)]

    def work(k: int) -> None:
        kernel = elementwise(lambda x: call("add", x, Literal(float(k % 4), "float32")), ("float32",), 50)
        compiled([kernel]).routine("elementwise")([np.ones(50, np.float32), outs[k]])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [out[0] for out in outs] == [1 + k % 4 for k in range(8)]


def test_a_library_call_of_the_c_runtime_is_linked() -> None:
    x = np.array([7.5, -7.5, 1e300])
    i = var("i", 0, 2)
    store = Store("out", i, call("remainder", Load("x", i, "float64"), Literal(2.0, "float64")))
    kernel = Kernel("modulus", (Buffer("x", "float64", 3, "in"), Buffer("out", "float64", 3, "out")), (For(i, "serial", (store,)),))
    out = np.zeros(3)
    compiled([kernel]).routine("modulus")([x, out])
    np.testing.assert_array_equal(out, x % 2.0)


def test_importing_codegen_does_not_import_llvmlite() -> None:
    script = "import sys, eqsat.codegen; print(any(name.startswith('llvmlite') for name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
