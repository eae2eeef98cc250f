"""What LLVM gets wrong for AVX-512 is not met: truncations under all masks, run beside bytes that must stay as they are."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import eqsat
from eqsat.codegen.llvm.backend_faults import may_be_met, mended
from eqsat.codegen.llvm.machine import Library, binding, host
from tests.effort import some

BYTES = {"i8": 1, "i16": 2, "i32": 4, "i64": 8}
GUARD, BEHIND = 0x5A, 64


class Case(NamedTuple):
    """Integers of one width in another, those of `lanes` stored or the others cleared."""

    wide: str
    narrow: str
    lanes: tuple[bool, ...]
    clears: bool

    def text(self, name: str) -> str:
        n, (wide, narrow) = len(self.lanes), (f"<{len(self.lanes)} x {t}>" for t in (self.wide, self.narrow))
        head = f"define void @{name}(ptr %a, ptr %q) {{\n  %v = load {wide}, ptr %a, align 1\n  %t = trunc {wide} %v to {narrow}\n"
        if self.clears:
            kept = ", ".join(f"{self.narrow} {-1 if lane else 0}" for lane in self.lanes)
            return f"{head}  %s = and {narrow} %t, <{kept}>\n  store {narrow} %s, ptr %q, align 1\n  ret void\n}}"
        mask = ", ".join(f"i1 {'true' if lane else 'false'}" for lane in self.lanes)
        call = f"call void @llvm.masked.store.v{n}{self.narrow}.p0({narrow} %t, ptr align 1 %q, <{n} x i1> <{mask}>)"
        return f"{head}  {call}\n  ret void\n}}"

    def declaration(self) -> str:
        n = len(self.lanes)
        return f"declare void @llvm.masked.store.v{n}{self.narrow}.p0(<{n} x {self.narrow}>, ptr, <{n} x i1>)"


def masks(n: int) -> set[tuple[bool, ...]]:
    first = {tuple(lane < k for lane in range(n)) for k in range(1, n + 1)}
    return first | {tuple(lane == k for lane in range(n)) for k in range(n)} | {tuple(lane >= k for lane in range(n)) for k in range(n)}


def cases() -> Iterator[Case]:
    for wide, narrow in itertools.permutations(BYTES, 2):
        for n in (2, 4, 8, 16):
            if BYTES[wide] > BYTES[narrow] and n * BYTES[wide] <= 128:
                yield from (Case(wide, narrow, lanes, clears) for lanes in sorted(masks(n)) for clears in (False, True))


def test_truncations_under_any_mask_write_their_lanes_and_nothing_else() -> None:
    every = list(cases())
    text = "\n".join([*dict.fromkeys(case.declaration() for case in every), *(case.text(f"f{k}") for k, case in enumerate(every))])
    module = binding().parse_assembly(mended(str(binding().parse_assembly(text))))
    module.verify()
    library = Library(bytes(host().machine.emit_object(module)), tuple(f"f{k}" for k in range(len(every))))
    rng = np.random.default_rng(0)
    for k, case in enumerate(every):
        n = len(case.lanes)
        given = rng.integers(1, 256, n * BYTES[case.wide], dtype=np.uint8)
        found = np.full(n * BYTES[case.narrow] + BEHIND, GUARD, np.uint8)
        ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(library.address(f"f{k}"))(given.ctypes.data, found.ctypes.data)
        narrow = given.view(f"u{BYTES[case.wide]}").astype(f"u{BYTES[case.narrow]}")
        expected = np.full_like(found, GUARD)
        places = expected[:-BEHIND].view(narrow.dtype)
        places[:] = np.where(case.lanes, narrow, 0 if case.clears else places)
        np.testing.assert_array_equal(found, expected, err_msg=str(case))


def test_only_what_is_met_is_written_otherwise() -> None:
    one = Case("i32", "i8", (False, True), clears=False)
    text = str(binding().parse_assembly(f"{one.declaration()}\n{one.text('f')}"))
    assert "masked.store" not in mended(text).split("declare")[0]
    assert "getelementptr i8, ptr %q, i64 1" in mended(text)
    two = Case("i32", "i8", (True, True, False, False), clears=False)
    kept = str(binding().parse_assembly(f"{two.declaration()}\n{two.text('f')}"))
    assert mended(kept) == kept
    assert may_be_met("%x = trunc i32 %y to i8", iter(()))
    assert may_be_met("%x = trunc i64 %y to i32", iter(["llvm.masked.store.v8i32.p0"]))
    assert not may_be_met("%x = trunc i64 %y to i32", iter(["llvm.fma.f32"]))
    assert not may_be_met("%x = add i32 %y, %z", iter(["llvm.masked.store.v8i32.p0"]))


@pytest.mark.parametrize(("wide", "narrow"), some(itertools.product(["int16", "int32", "int64", "uint64"], ["int8", "uint8", "int16"]), 2))
def test_casts_of_rows_of_any_length_write_their_results_only(wide: str, narrow: str) -> None:
    rng = np.random.default_rng(1)

    def quantized(c: Any, a: Any, b: Any) -> tuple[Any, Any]:
        return c * (abs(a).max(1, keepdims=True) / 127) * (abs(b).max(0) / 127), (c >> 2).astype(narrow)

    for n in some([1, 2, 3, 4, 5, 9, 17, 33]):
        given = rng.integers(0, 100, (6, n)).astype(wide), rng.random((6, 7), np.float32), rng.random((7, n), np.float32)
        expected = quantized(*given)
        around = np.full(6 * n * np.dtype(narrow).itemsize + BEHIND, GUARD, np.uint8)
        found = around[:-BEHIND].view(narrow).reshape(6, n)
        eqsat.jit(quantized)(*given, out=(np.empty_like(expected[0]), found))
        np.testing.assert_array_equal(found, expected[1])
        assert (around[-BEHIND:] == GUARD).all()


@pytest.mark.parametrize("shape", [(2, 2, 4), (3, 4), (50, 3, 4)])
@pytest.mark.parametrize("narrow", ["int8", "uint8"])
def test_masks_of_casts_clear_what_they_should(shape: tuple[int, ...], narrow: str) -> None:
    x = np.arange(1, 1 + np.prod(shape)).reshape(shape)
    for function in (np.tril, np.triu):
        np.testing.assert_array_equal(eqsat.jit(lambda x, f=function: f(x.astype(narrow)))(x), function(x.astype(narrow)))


@pytest.mark.parametrize("dtype", ["int16", "int8", "int32", "float32"])
def test_rows_that_are_compared_in_many_ways_are_compiled(dtype: str) -> None:
    """Where this is not met, LLVM ends the process: "Cannot select ... SUBV_BROADCAST_LOAD"."""
    rng = np.random.default_rng(0)
    for columns, ways in ((4097, 5), (4099, 4), (1030, 8)):
        a, b = rng.integers(-3, 4, (5, columns)).astype(dtype), rng.integers(-3, 4, (ways, 5)).astype(dtype)
        found = eqsat.jit(lambda a, b: np.einsum("ij,jk->ki", b, a).astype(bool))(a, b)
        np.testing.assert_array_equal(found, np.einsum("ij,jk->ki", b, a).astype(bool))


def test_loads_of_half_a_vector_for_many_are_left_alone() -> None:
    uses = [f"  %m{k} = mul <4 x i16> %x, %c{k}" for k in range(4)]
    for count, volatile in ((3, False), (4, True)):
        text = "\n".join(["  %x = load <4 x i16>, ptr %p, align 2", *uses[:count]])
        assert ("load volatile <4 x i16>, ptr %p, align 2" in mended(text)) == volatile
    assert may_be_met("zext i1 %a to i8", iter(()))
