"""Object files in archives, and compiling them in several threads."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from eqsat.codegen import compile_kernels, object_code
from eqsat.codegen.emit import write_module
from eqsat.codegen.llvm.archive import archive, members
from eqsat.codegen.llvm.machine import _compiled, _object_code, host
from eqsat.ir.errors import InternalError
from eqsat.ir.loops import Kernel
from eqsat.lowering import type_indices
from tests.codegen.nests import call, elementwise, rows


def kernels() -> list[Kernel]:
    found = [elementwise(lambda x: call("exp", call("tanh", x)), (dtype,), 1000) for dtype in ("float32", "float64")]
    found += [rows(op, (7, 1000), "float32") for op in ("sum", "max")]
    return [Kernel(f"k{n}", kernel.buffers, kernel.body) for n, kernel in enumerate(found)]


def parts() -> tuple[str, ...]:
    return write_module([type_indices(kernel) for kernel in kernels()], "default", host().abilities, host().registers).parts


@given(st.lists(st.binary(max_size=40), min_size=2, max_size=5))
def test_members_are_what_was_put_in(objects: list[bytes]) -> None:
    assert list(members(archive(objects))) == objects


def test_one_object_is_no_archive() -> None:
    assert archive([b"\x7fELF"]) == b"\x7fELF"
    assert list(members(b"\x7fELF")) == [b"\x7fELF"]


@pytest.mark.skipif(shutil.which("ar") is None, reason="binutils are not installed")
def test_binutils_read_an_archive(tmp_path: Path) -> None:
    (tmp_path / "code.a").write_bytes(archive([b"odd", b"even"]))
    listed = subprocess.run(["ar", "p", "code.a"], cwd=tmp_path, capture_output=True, check=True)
    assert listed.stdout == b"oddeven"


def test_code_is_the_same_whatever_the_number_of_threads() -> None:
    texts = parts()
    expected = [_compiled(text, host()) for text in texts]
    for threads in (1, 2, 3, 8):
        _object_code.cache_clear()
        assert list(members(object_code(*texts, threads=threads))) == expected


def test_modules_are_compiled_together_many_times() -> None:
    """What LLVM shared between threads would show in some of a hundred modules."""
    texts = parts() * 6
    expected = {text: _compiled(text, host()) for text in set(texts)}
    for _ in range(4):
        _object_code.cache_clear()
        assert list(members(object_code(*texts, threads=4))) == [expected[text] for text in texts]


def test_threads_that_compile_different_programs_do_not_disturb_each_other() -> None:
    texts, found = parts(), dict[int, bytes]()

    def compile(k: int) -> None:
        found[k] = object_code(*texts[k:], *texts[:k], threads=2)

    threads = [threading.Thread(target=compile, args=(k,)) for k in range(len(texts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = list(members(found[0]))
    assert all(list(members(found[k])) == expected[k:] + expected[:k] for k in found)


AT_THE_END = """
import threading
import numpy as np
import eqsat, eqsat.numpy as enp

eqsat.set_num_threads(2)
x = np.linspace(0, 1, 3000).reshape(50, 60)

def compute():
    threading.main_thread().join()
    found = eqsat.jit(lambda x: (enp.tanh(x), enp.sum(x, axis=0), enp.cumsum(x, axis=1)))(x)
    print(np.allclose(found[0], np.tanh(x)), flush=True)

threading.Thread(target=compute).start()
"""


def test_kernels_are_compiled_where_the_interpreter_ends() -> None:
    """When no further thread can be made."""
    done = subprocess.run([sys.executable, "-c", AT_THE_END], capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout.strip() == "True", done.stderr


def test_llvm_refusing_one_of_several_modules_is_an_internal_error() -> None:
    with pytest.raises(InternalError, match="LLVM rejects the module"):
        object_code(parts()[0], "define void @f() { ret i32 0 }", threads=2)


def test_every_kernel_of_an_archive_is_called() -> None:
    code = compile_kernels([type_indices(kernel) for kernel in kernels()])
    assert code.object_code.startswith(b"!<arch>\n")
    x = np.linspace(-2, 2, 1000)
    for k, dtype in enumerate(("float32", "float64")):
        out = np.zeros(1000, dtype)
        code.routine(f"k{k}")([x.astype(dtype), out])
        np.testing.assert_allclose(out, np.exp(np.tanh(x)), rtol=1e-6)
    for k, fold in ((2, np.sum), (3, np.max)):
        table, out = np.arange(7000, dtype="float32").reshape(7, 1000), np.zeros(7, "float32")
        code.routine(f"k{k}")([table.ravel(), out])
        np.testing.assert_allclose(out, fold(table, axis=1), rtol=1e-6)
