"""`jit`: signatures, the cache, arguments and results, with the reference interpreter in place of the compiler."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest

import eqsat.numpy as enp
from eqsat.calling import jitting
from eqsat.calling.jitting import jit
from eqsat.capture.arguments import check_arguments
from eqsat.ir.containers import rebuild_result
from eqsat.ir.errors import DTypeError, EqsatError, UsageError
from eqsat.ir.evaluate import evaluate
from eqsat.ir.tensor import Program
from eqsat.options import Options

F = np.arange(12, dtype=np.float32).reshape(3, 4)
Function = Callable[..., Any]
Programs = list[tuple[Program, Options | None]]


@dataclass
class Interpreted:
    """In place of a plan."""

    program: Program
    direct = None

    def result(self, arrays: list[Any], out: Any = None) -> Any:
        found = rebuild_result(self.program.structure, evaluate(self.program, check_arguments(self.program.inputs, arrays)))
        return found if out is None else out


@pytest.fixture
def optimized(monkeypatch: pytest.MonkeyPatch) -> Programs:
    """Every program that jit hands to the optimizer."""
    programs: Programs = []

    def plan(program: Program, options: Options) -> Interpreted:
        programs.append((program, options))
        return Interpreted(program)

    monkeypatch.setattr(jitting, "compiled_plan", plan)
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


# containers ----------------------------------------------------------------------------------------------------------
def layered(params: Any, x: Any) -> Any:
    for layer in params["layers"]:
        x = enp.maximum(x @ layer["w"] + layer["b"], 0)
    return {"y": x, "params": [params["layers"][0]["w"] * params["rate"], params["mode"] == "train"]}


def weights(rate: Any = 0.1, mode: str = "train") -> Any:
    w = np.ones((4, 4), np.float32)
    return {"layers": [{"w": w, "b": w[0]}, {"w": w * 2, "b": np.float32(1)}], "rate": rate, "mode": mode}


def test_containers_of_arrays_are_several_inputs(optimized: Programs) -> None:
    compiled = jit(layered)
    for params in (weights(), weights(0.2), weights(np.float32(0.2)), weights(), weights(mode="test")):
        found, expected = compiled(params, F), layered(params, F)
        assert np.allclose(found["y"], expected["y"])
        assert np.allclose(found["params"][0], expected["params"][0])
        assert bool(found["params"][1]) == expected["params"][1]
    assert len(optimized) == 4
    names = [tensor.name for tensor in optimized[0][0].inputs]
    layers = [f"params['layers'][{k}]['{part}']" for k in (0, 1) for part in "wb"]
    assert names == [*layers, "x"]


def test_containers_are_told_apart_by_kind_keys_and_length(optimized: Programs) -> None:
    compiled = jit(lambda parts: sum(parts.values()) if isinstance(parts, dict) else sum(parts))
    calls: list[Any] = [[F], (F,), [F, F], {"a": F, "b": F}, {"a": F, "c": F}, [F, 2], [F, 2.0], [F, (F, 2)[1]]]
    for parts in (*calls, *calls):
        assert np.array_equal(compiled(parts), sum(parts.values()) if isinstance(parts, dict) else sum(parts))
    assert len(optimized) == 7


def test_a_tuple_of_numbers_stays_a_constant(optimized: Programs) -> None:
    assert jit(lambda x, shape: x.reshape(shape))(F, (2, 6)).shape == (2, 6)
    assert [tensor.name for tensor in optimized[0][0].inputs] == ["x"]


# static arguments ----------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Config:
    scale: float


def configured(x: Any, config: Config, axis: Any = None, *, hook: Any = None) -> Any:
    result = (x * config.scale).sum(axis=axis)
    return hook(result) if hook else result


def test_static_arguments_are_compiled_for_each_value(optimized: Programs) -> None:
    compiled = jit(configured, static=("config", "axis", "hook"))
    for config, axis in ((Config(2.0), 0), (Config(2.0), 0), (Config(3.0), 0), (Config(3.0), (0, 1)), (Config(3.0), None)):
        assert np.allclose(compiled(F, config, axis=axis), (F * config.scale).sum(axis=axis))
    assert len(optimized) == 4
    assert np.allclose(compiled(F, config=Config(2.0), axis=0, hook=np.exp), np.exp((F * 2).sum(axis=0)))
    assert len(optimized) == 5


def test_static_arguments_are_told_apart_by_type(optimized: Programs) -> None:
    compiled = jit(lambda x, value: x * sum(value), static="value")
    for value in ((1, 1), (1.0, 1), (True, 1), frozenset({1}), (1, 1)):
        assert np.array_equal(compiled(F.astype("int32"), value), F.astype("int32") * sum(value))
    assert len(optimized) == 4


@pytest.mark.parametrize(
    ("static", "value", "words"),
    [
        ("config", [1], "configured: config: found a list, expected something that can be hashed"),
        ("config", F, "configured: config: found a ndarray, expected something that can be hashed"),
        ("axes", 0, "jit: found the static name 'axes', expected a parameter of configured: x, config, axis, hook"),
    ],
)
def test_wrong_static_arguments_are_told(optimized: Programs, static: str, value: Any, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        jit(configured, static=(static,))(F, value)
    assert words in str(caught.value)
    assert optimized == []


# what a function takes from elsewhere --------------------------------------------------------------------------------
def test_closures_are_read_when_the_function_is_traced(optimized: Programs) -> None:
    scale, offset = np.full(4, 2.0, np.float32), 1.0

    def shifted(x: Any) -> Any:
        return x * scale + offset

    compiled = jit(shifted)
    assert np.array_equal(compiled(F), F * 2 + 1)
    scale[:], offset = 3, 5.0
    assert np.array_equal(compiled(F), F * 2 + 1)
    assert np.array_equal(compiled(F[:1]), F[:1] * 3 + 5)
    assert np.array_equal(compiled(F), F * 2 + 1)
    assert len(optimized) == 2


def test_lazy_tensors_are_computed_for_arguments_and_constant_in_closures(optimized: Programs) -> None:
    t = enp.asarray(F)
    scale = enp.asarray(np.float32(2)) * 2
    compiled = jit(lambda parts, y: parts["x"] * scale + y)
    found = compiled({"x": t + 1}, t * 3)
    assert type(found) is np.ndarray
    assert np.array_equal(found, (F + 1) * 4 + F * 3)
    assert np.array_equal(compiled({"x": F}, F), F * 5)
    assert len(optimized) == 1


def test_traced_arrays_in_containers_run_as_plain_python(optimized: Programs) -> None:
    inner = jit(lambda parts: parts[0] + parts[1]["y"])
    outer = jit(lambda x: inner([x, {"y": x * 2}]))
    assert np.array_equal(outer(F), F * 3)
    assert len(optimized) == 1


def test_out_names_arrays_for_the_results(optimized: Programs) -> None:
    out = np.empty_like(F)
    assert jit(lambda x: x * 2)(F, out=out) is out
    assert jit(lambda x, out: x * out)(F, out=2.0)[0, 0] == F[0, 0] * 2


def test_threads_that_meet_a_new_signature_compile_it_once(optimized: Programs) -> None:
    barrier = threading.Barrier(8)

    @jit
    def slow(x: Any) -> Any:
        time.sleep(0.02)
        return x * 2

    def call(k: int) -> Any:
        barrier.wait()
        return slow(F[: 1 + k % 2])

    with ThreadPoolExecutor(8) as pool:
        for k, found in enumerate(pool.map(call, range(8))):
            assert np.array_equal(found, F[: 1 + k % 2] * 2)
    assert len(optimized) == 2


def test_a_compiled_function_keeps_no_results() -> None:
    compiled = jit(lambda x: x * 2 + 1)
    result = weakref.ref(compiled(F))
    gc.collect()
    assert result() is None


# errors --------------------------------------------------------------------------------------------------------------
WRONG: dict[str, tuple[tuple[Any, ...], dict[str, Any], type[EqsatError], str]] = {
    "a list": (([1.0],), {}, UsageError, "scaled: x: found a list, expected a numpy.ndarray; pass numpy.asarray(x)"),
    "a long double": ((F.astype("longdouble"),), {}, DTypeError, "scaled: x: found float128, expected one of bool"),
    "dates": ((F,), {"factor": np.zeros(2, "M8[s]")}, DTypeError, "scaled: factor: found datetime64"),
    "objects": ((F.astype(object),), {}, DTypeError, "scaled: x: found object"),
    "a large float scalar": ((np.longdouble(1),), {}, DTypeError, "scaled: x: found float128"),
    "another byte order": ((F.astype(">f4"),), {}, DTypeError, "byte order"),
    "an unknown keyword": ((F,), {"scale": 2}, UsageError, "unexpected keyword argument 'scale'"),
    "nothing": ((), {}, UsageError, "missing a required argument: 'x'"),
    "a list in a container": (([F, [object()]],), {}, UsageError, "scaled: x[1][0]: found a object"),
    "a long double in a container": (({"a": [F.astype("longdouble")]},), {}, DTypeError, "scaled: x['a'][0]: found float128"),
    "numbered keys": (({0: F},), {}, UsageError, "x: found the dict key 0, expected strings"),
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


def test_functions_may_be_defaults() -> None:
    def activated(x: Any, by: Any = np.tanh, *, then: Any = abs) -> Any:
        return then(by(x))

    np.testing.assert_allclose(jit(activated)(F), np.abs(np.tanh(F)), rtol=1e-6)
    np.testing.assert_allclose(jit(activated, static="by")(F, np.exp), np.exp(F), rtol=1e-6)
    with pytest.raises(UsageError, match="by: found a ufunc"):
        jit(activated)(F, np.exp)


@pytest.mark.parametrize(
    "function", [np.sign, np.sum, np.median, np.cumsum, np.diff, np.round, partial(np.add, 2.0), partial(np.sum, axis=0)]
)
def test_numpys_own_functions_are_functions(optimized: Programs, function: Any) -> None:
    """What their signatures show as defaults need not be what they take."""
    compiled: Function = jit(function)
    np.testing.assert_array_equal(compiled(F), function(F))


def test_arrays_may_be_defaults(optimized: Programs) -> None:
    weights = np.ones((3, 4), np.float32)

    def weigh(x: Any, scale: int = 2, w: Any = weights) -> Any:
        return x * scale + w

    weighted = jit(weigh)
    first = weighted(F)
    weights += 1
    np.testing.assert_array_equal(weighted(F), first + 1)


@jit
def doubled(x: Any) -> Any:
    return x * 2


def test_calls_need_no_tuple_of_arguments() -> None:
    vectorcall = 1 << 11  # Py_TPFLAGS_HAVE_VECTORCALL
    assert type(doubled).__flags__ & vectorcall == partial.__flags__ & vectorcall


def test_compiled_functions_are_pickled_by_name() -> None:
    assert pickle.loads(pickle.dumps(doubled)) is doubled
    assert copy.deepcopy([doubled])[0] is doubled
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(jit(lambda x: x))


def test_calls_that_need_numpy_are_found_again_by_how_their_arrays_lie() -> None:
    """Sorting is a call of NumPy: its plan is looked up without describing the arguments again, and never for others."""
    calls = 0

    @jit
    def ordered(x: Any, y: Any) -> Any:
        nonlocal calls
        calls += 1
        return enp.sort(x) + y

    rng = np.random.default_rng(3)
    kinds = [((7,), "float32"), ((7,), "float64"), ((3, 7), "float32"), ((7,), ">f4")]
    for _ in range(3):
        for shape, dtype in kinds[:3]:
            x, y = (rng.standard_normal(shape).astype(dtype) for _ in range(2))
            np.testing.assert_array_equal(ordered(x, y), np.sort(x) + y)
            np.testing.assert_array_equal(ordered(x, y=y), np.sort(x) + y)
            turned = np.asfortranarray(x)
            np.testing.assert_array_equal(ordered(turned, y), np.sort(turned) + y)
            every_second = np.repeat(x, 2, axis=-1)[..., ::2]
            np.testing.assert_array_equal(ordered(every_second, y), np.sort(x) + y)
    assert calls == len(kinds[:3]) + 1  # one plan more for columns that lie beside each other
    with pytest.raises(EqsatError):
        ordered(np.zeros(7, ">f4"), np.zeros(7, "float32"))
    with pytest.raises(EqsatError):
        ordered(np.zeros(7, "float32"), np.zeros(6, "float32"))
