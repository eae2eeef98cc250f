"""What is asked for before it is read: the lines that the loop reads then, and results as they were."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

import eqsat
from eqsat.codegen import kernel_code
from eqsat.codegen.llvm.machine import machine_of
from eqsat.codegen.memory import ahead
from eqsat.codegen.memory.ahead import Piece, pieces_ahead, written_ahead
from eqsat.codegen.memory.lines import LINE_BYTES
from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import Var
from eqsat.ir.loops import Bind, Fold, For, Kernel, Load, Stmt, Store, loads, value_of

Env = Mapping[Var, Any]
RNG = np.random.default_rng(6)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LEAST_BYTES", "LEAST_BUFFER", "FEWEST"):
        monkeypatch.setattr(ahead, name, 0)


def blocks(x: Any, rows: int, columns: int) -> Any:
    return np.reshape(x, (x.shape[0] // rows, rows, x.shape[1] // columns, columns))


WINDOW = tuple(product(range(3), range(3)))
JUMPS: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "greatest of blocks": (lambda x: np.max(blocks(x, 4, 4), axis=(1, 3)), (64, 512)),
    "sums of blocks": (lambda x: np.sum(blocks(x, 2, 2), axis=(1, 3)), (64, 512)),
    "windows that overlap": (lambda x: functools.reduce(np.maximum, (x[i : i + 63 : 2, j : j + 254 : 2] for i, j in WINDOW)), (65, 256)),
    "transpose": (lambda x: x.T * 2, (96, 160)),
    "transposes of a batch": (lambda x: np.transpose(x, (0, 2, 1)) + 1, (4, 48, 64)),
    "channels last": (lambda x: np.transpose(x, (0, 2, 3, 1)) * 2, (2, 32, 24, 24)),
    "rows backwards": (lambda x: np.flip(x, 0) * 2, (40, 640)),
    "sums of rows of blocks": (lambda x: np.sum(blocks(x, 8, 1) * 2, axis=1), (80, 512)),
    "every other row": (lambda x: x[::2] + 1, (64, 640)),
}
STREAMS: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "elements": (lambda x: x * 2, (64, 512)),
    "greatest of columns": (lambda x: np.max(x, axis=0), (300, 2048)),
    "sums of columns": (lambda x: np.sum(x, axis=0), (300, 2048)),
    "sums of rows": (lambda x: np.sum(x, axis=1), (64, 512)),
    "a sum in parts": (lambda x: np.sum(x * x), (256, 512)),
    "neighbours": (lambda x: x[:, 1:] + x[:, :-1], (64, 4096)),
    "long rows": (lambda x: np.max(blocks(x, 4, 4), axis=(1, 3)), (16, 4096)),
    "a column": (lambda x: x[:, 3] + 1, (640, 64)),
}


def kernels(function: Callable[..., Any], shape: tuple[int, ...]) -> tuple[Kernel, ...]:
    return eqsat.optimize(function, eqsat.spec(shape, "float32")).loops


def asks(function: Callable[..., Any], shape: tuple[int, ...], looks_ahead: bool = False) -> bool:
    return any(pieces_ahead(kernel, looks_ahead) for kernel in kernels(function, shape))


def line_of(load: Load, byte: int, env: Env) -> int:
    """Where lines begin with the buffer; the elements are float32."""
    return (4 * int(evaluate_index(load.index, env)) + byte) // LINE_BYTES


def everything(variable: Var) -> Iterable[int]:
    return range(variable.lo, variable.hi + 1)


def middle(variable: Var) -> Iterable[int]:
    return ((variable.lo + variable.hi) // 2,)


def runs(body: Sequence[Stmt], env: Env, iterations: Callable[[Var], Iterable[int]]) -> Iterator[tuple[Stmt, Env]]:
    """Statements as they run, loops in each of these iterations, with the values of all variables."""
    for stmt in body:
        if isinstance(stmt, Bind):
            env = {**env, stmt.variable: evaluate_index(stmt.value, env)}
        if isinstance(stmt, For | Fold):
            for value in iterations(stmt.variable):
                inner = {**env, stmt.variable: value}
                yield stmt, inner
                yield from runs(stmt.body, inner, iterations)
        else:
            yield stmt, env


def lines_read(body: Sequence[Stmt], env: Env, buffer: str) -> set[int]:
    found = ((load, at) for stmt, at in runs(body, env, everything) if (value := value_of(stmt)) is not None for load in loads(value))
    return {line_of(load, 0, at) for load, at in found if load.buffer == buffer}


def lines_asked(pieces: Iterable[Piece], env: Env) -> set[int]:
    found = set[int]()
    for piece in pieces:
        at = {**env, **dict(piece.corner)}
        for bind in piece.binds:
            at[bind.variable] = evaluate_index(bind.value, at)
        for steps in product(*(range(0, count * step, step) for count, step in piece.repeats)):
            found |= {line_of(piece.load, sum(steps) + byte, at) for byte in piece.lines}
    return found


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", JUMPS)
def test_the_lines_are_those_that_the_iteration_reads(name: str) -> None:
    compared = 0
    for kernel in kernels(*JUMPS[name]):
        everywhere = pieces_ahead(kernel)
        for stmt, env in runs(kernel.body, {}, middle):
            if isinstance(stmt, For) and stmt.variable in everywhere:
                pieces = everywhere[stmt.variable]
                for buffer in {piece.load.buffer for piece in pieces}:
                    read, asked = lines_read(stmt.body, env, buffer), lines_asked(pieces, env)
                    assert len(read ^ asked) <= len(read) / 8
                    compared += 1
    assert compared


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", JUMPS)
@pytest.mark.parametrize("numerics", ["default", "exact"])
def test_results_are_those_of_numpy(name: str, numerics: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_code, "pieces_ahead", lambda kernel, looks_ahead: pieces_ahead(kernel))  # as for any processor
    function, shape = JUMPS[name]
    x = RNG.integers(-9, 9, shape).astype("float32")
    result = eqsat.optimize(function, x, options=eqsat.Options(numerics=numerics, cache=False))
    assert "prefetch" in result.llvm_ir or numerics == "exact"  # in which sums are in another order
    np.testing.assert_array_equal(result(x), function(x))


@pytest.mark.usefixtures("small")
def test_streams_need_nothing() -> None:
    assert [name for name in STREAMS if asks(*STREAMS[name])] == []
    assert [name for name in JUMPS if not asks(*JUMPS[name])] == []


@pytest.mark.usefixtures("small")
def test_processors_that_look_ahead_are_not_asked() -> None:
    assert not any(asks(*JUMPS[name], looks_ahead=True) for name in JUMPS)
    processors = [("x86_64", "sapphirerapids"), ("x86_64", "znver4"), ("x86_64", "x86-64-v3"), ("aarch64", "neoverse-n1")]
    assert [machine_of(f"{kind}-unknown-linux-gnu", name).abilities.looks_ahead for kind, name in processors] == [True, False, False, False]


def test_neither_does_what_stays_in_caches() -> None:
    function = JUMPS["transpose"][0]
    assert asks(function, (2048, 2048))
    assert not asks(function, (512, 512))
    assert not asks(lambda x: x[::64].T * 2, (2048 * 64, 64))
    assert not eqsat.optimize(function, eqsat.spec((eqsat.dim("n", 1, 4096), 4096), "float32")).llvm_ir.count("prefetch")


def blurred(x: Any) -> Any:
    along = (x[:, :-2] + x[:, 1:-1] + x[:, 2:]) * np.float32(0.5)
    return along[:-2] + along[1:-1] + along[2:]


WRITTEN: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "rows of a stencil": (blurred, (1028, 1003)),
    "channels last": (lambda x: np.transpose(x, (0, 2, 3, 1)) * 2, (2, 72, 40, 40)),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_lines_to_write_are_those_that_the_loop_writes(name: str) -> None:
    compared = 0
    for kernel in kernels(*WRITTEN[name]):
        asked = written_ahead(kernel, looks_ahead=True)
        places: dict[Store, list[int]] = {}
        for stmt, env in runs(kernel.body, {}, lambda v: middle(v) if v.extent > 100 else everything(v)):
            if isinstance(stmt, Store) and stmt in asked:
                places.setdefault(stmt, []).append(4 * int(evaluate_index(stmt.index, env)))
        for store, behind in asked.items():
            written = set(places[store])
            assert sum(place + behind in written for place in written) >= len(written) / 2
            compared += 1
    assert compared


@pytest.mark.parametrize("name", WRITTEN)
def test_results_are_those_of_numpy_where_lines_to_write_are_asked_for(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_code, "written_ahead", lambda kernel, looks_ahead: written_ahead(kernel, looks_ahead=True))
    function, shape = WRITTEN[name]
    x = RNG.integers(-9, 9, shape).astype("float32")
    result = eqsat.optimize(function, x, options=eqsat.Options(cache=False))
    assert re.search(r"prefetch.*i32 1, i32 3, i32 1\)", result.llvm_ir)
    np.testing.assert_array_equal(result(x), function(x))


def test_lines_to_write_are_asked_for_where_rows_begin_anywhere() -> None:
    function, shape = WRITTEN["rows of a stencil"]
    assert any(written_ahead(kernel, looks_ahead=True) for kernel in kernels(function, shape))
    assert not any(written_ahead(kernel, looks_ahead=False) for kernel in kernels(function, shape))
    assert not any(written_ahead(kernel, looks_ahead=True) for kernel in kernels(function, (1028, 1026)))  # 1024 begin with lines
    near = kernels(WRITTEN["channels last"][0], (1, 72, 10, 10))  # stays in the first cache
    assert not any(written_ahead(kernel, looks_ahead=True) for kernel in near)
    assert not any(written_ahead(kernel, looks_ahead=True) for kernel in kernels(lambda x: x @ x, (203, 203)))
