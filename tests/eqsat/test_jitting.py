"""`jit`: signatures, the cache, arguments and results, with the reference interpreter in place of the compiler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import eqsat.numpy as enp
from eqsat import jitting
from eqsat.arguments import check_arguments
from eqsat.ir.errors import DTypeError, EqsatError, UsageError
from eqsat.ir.evaluate import evaluate
from eqsat.ir.structure import rebuild_result
from eqsat.ir.tensor import Program
from eqsat.jitting import jit
from eqsat.options import Options

F = np.arange(12, dtype=np.float32).reshape(3, 4)
Programs = list[tuple[Program, Options | None]]


@dataclass
class Interpreted:
    """In place of the compiler's Result and of its Plan."""

    program: Program

    def compile(self) -> Interpreted:
        return self

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        return rebuild_result(self.program.structure, evaluate(self.program, check_arguments(self.program, arrays)))


@pytest.fixture
def optimized(monkeypatch: pytest.MonkeyPatch) -> Programs:
    """Every program that jit hands to the optimizer."""
    programs: Programs = []

    def optimize(program: Program, options: Options | None = None) -> Interpreted:
        programs.append((program, options))
        return Interpreted(program)

    monkeypatch.setattr(jitting, "optimize", optimize)
    return programs


def scaled(x: Any, *, factor: Any = 2, axis: int | None = None) -> Any:
    return {"scaled": x * factor, "sums": [x.sum(axis=axis)]}


def test_results_are_arrays_in_the_functions_containers(optimized: Programs) -> None:
    found = jit(scaled)(F, factor=3.0, axis=0)
    assert np.array_equal(found["scaled"], F * 3)
    assert np.array_equal(found["sums"][0], F.sum(axis=0))
    assert type(jit(lambda x: x.sum())(F)) is np.ndarray


def test_one_program_serves_all_arrays_of_a_signature(optimized: Programs) -> None:
    compiled = jit(scaled)
    for array in (F, F + 1, F[::-1]):
        assert np.array_equal(compiled(array)["scaled"], array * 2)
    assert len(optimized) == 1
    compiled(F[:2])
    compiled(F.astype("float64"))
    assert len(optimized) == 3


def test_numbers_are_constants_told_apart_by_type_and_value(optimized: Programs) -> None:
    compiled = jit(scaled)
    for factor, dtype in ((1, "int32"), (True, "int32"), (1.0, "float64"), (-0.0, "float64"), (0.0, "float64"), (1, "int32")):
        assert compiled(F.astype("int32"), factor=factor)["scaled"].dtype == dtype
    assert len(optimized) == 5
    assert all([tensor.name for tensor in program.inputs] == ["x"] for program, _ in optimized)


def test_arrays_by_position_and_by_keyword_share_a_program(optimized: Programs) -> None:
    compiled = jit(lambda x, y=1: x - y)
    assert np.array_equal(compiled(F, F * 2), -F)
    assert np.array_equal(compiled(y=F * 2, x=F), -F)
    assert len(optimized) == 1
    assert np.array_equal(jit(scaled)(x=F, factor=F)["scaled"], F * F)


def test_variadic_arrays_are_numbered(optimized: Programs) -> None:
    def total(*parts: Any, **named: Any) -> Any:
        return sum(parts) + named["parts0"]

    assert np.array_equal(jit(total)(F, F, parts0=F), 3 * F)
    assert [tensor.name for tensor in optimized[0][0].inputs] == ["parts1", "parts2", "parts0"]


def test_a_numpy_scalar_is_an_array_without_dimensions(optimized: Programs) -> None:
    compiled = jit(lambda x, s: x * s)
    assert compiled(F, np.float64(0.5)).dtype == np.float64
    assert np.array_equal(compiled(F, np.float64(2)), F * 2)
    assert len(optimized) == 1


def test_compiled_functions_may_call_each_other(optimized: Programs) -> None:
    inner = jit(lambda x: enp.exp(x))
    outer = jit(lambda x: inner(x) + 1)
    assert np.allclose(outer(F), np.exp(F) + 1)
    assert len(optimized) == 1


def test_a_decorated_function_keeps_its_name_and_its_options(optimized: Programs) -> None:
    options = Options(numerics="exact")

    @jit(options=options)
    def named(x: Any) -> Any:
        """Twice."""
        return 2 * x

    named(F)
    assert (named.__name__, named.__doc__) == ("named", "Twice.")
    assert optimized[0][1] is options


def test_a_failed_call_leaves_no_program_behind(optimized: Programs) -> None:
    compiled = jit(lambda x: x @ x)
    for _ in range(2):
        with pytest.raises(UsageError):
            compiled(F)
    assert optimized == []


WRONG: dict[str, tuple[tuple[Any, ...], dict[str, Any], type[EqsatError], str]] = {
    "a list": (([1.0],), {}, UsageError, "scaled: x: found a list, expected a numpy.ndarray; pass numpy.asarray(x)"),
    "uint8": ((F.astype("uint8"),), {}, DTypeError, "scaled: x: found uint8, expected one of bool"),
    "complex": ((F,), {"factor": F * 1j}, DTypeError, "scaled: factor: found complex64"),
    "objects": ((F.astype(object),), {}, DTypeError, "scaled: x: found object"),
    "a complex number": ((F,), {"factor": 1j}, UsageError, "scaled: factor: found a complex"),
    "a small float scalar": ((np.float16(1),), {}, DTypeError, "scaled: x: found float16"),
    "another byte order": ((F.astype(">f4"),), {}, DTypeError, "byte order"),
    "an unknown keyword": ((F,), {"scale": 2}, UsageError, "unexpected keyword argument 'scale'"),
    "nothing": ((), {}, UsageError, "missing a required argument: 'x'"),
    "a dict": (({},), {}, UsageError, "scaled: x: found a dict, expected a numpy.ndarray; pass an array"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_argument_is_named_before_anything_runs(optimized: Programs, name: str) -> None:
    args, kwargs, error, words = WRONG[name]
    with pytest.raises(error) as caught:
        jit(scaled)(*args, **kwargs)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert optimized == []


def test_only_functions_are_compiled() -> None:
    with pytest.raises(UsageError, match="expected a function"):
        jit(F)  # type: ignore[call-overload]
