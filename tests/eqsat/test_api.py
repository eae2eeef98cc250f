"""The public names and what they promise."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.codegen import Units
from eqsat.ir import errors
from eqsat.ir.errors import DTypeError, EqsatError, ParseError, ShapeError, UsageError
from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import variables
from eqsat.rules import all_tables, without
from eqsat.testing import assert_cheaper, assert_close, assert_equivalent, random_arrays
from tests.effort import some

# where a value of another type is expected
ANY: Any = 3
F = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)

# a name is added here on purpose, or not at all
NAMES = """
Ablation Certificate Contrast Cost Costs DEFAULT_TARGET EGraph Fact Index IndexResult KernelWork Limits Missing Operation OperationVerdict
Options Plan
Program Proof Report Result Rule RuleVerdict Spec StopReason Target View ViewStack
assume cache check_operation check_rule compare cost dim explore fori jit leave_one_out maximum minimum missing num_threads operation
optimize parse_index pattern prove_equal realize
set_num_threads simplify simplify_gated simplify_many spec testing trace var where
"""

ERRORS = """
BoundsError DTypeError EqsatError InternalError MissingError ParseError ShapeError TraceError UnsoundRuleError UnsupportedError UsageError
"""


def softmax(x: Any) -> Any:
    e = enp.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def moved(x: Any) -> Any:
    return enp.flip(x.reshape(2, 6).T.reshape(4, 3), 0) * 2


# names and errors --------------------------------------------------------------------------------------------------
def test_the_public_names_are_these() -> None:
    assert sorted(eqsat.__all__) == sorted((NAMES + ERRORS).split())
    assert all(hasattr(eqsat, name) for name in eqsat.__all__)
    assert eqsat.__version__.count(".") == 2


def test_public_functions_say_what_they_do_and_what_they_take() -> None:
    for name in eqsat.__all__:
        value = getattr(eqsat, name)
        if inspect.isfunction(value):
            assert value.__doc__, name
            hints = inspect.signature(value)
            assert hints.return_annotation is not inspect.Signature.empty, name


def test_errors_are_one_tree() -> None:
    kinds = [value for value in vars(errors).values() if inspect.isclass(value) and issubclass(value, Exception)]
    assert {kind.__name__ for kind in kinds} == set(ERRORS.split())
    assert all(issubclass(kind, EqsatError) for kind in kinds)
    assert all(kind.__doc__ for kind in kinds)
    assert issubclass(UsageError, ValueError)
    assert issubclass(DTypeError, TypeError)
    assert all(getattr(eqsat, kind.__name__) is kind for kind in kinds)


# costs -------------------------------------------------------------------------------------------------------------
def test_costs_are_ordered_by_their_nanoseconds() -> None:
    small, large = eqsat.Cost((("a", 1.0), ("b", 2.0))), eqsat.Cost((("a", 4.0),))
    assert (small < large, small <= large, large > small, large >= small, small == large) == (True, True, True, True, False)
    assert (float(small), small == 3, small < 3.5, small > 2) == (3.0, True, True, True)
    assert min([large, small]) is small
    assert small.breakdown() == (("a", 1.0), ("b", 2.0))
    assert len({small, eqsat.Cost((("c", 3.0),))}) == 1
    assert str(eqsat.Cost((("a", 1234.5),))) == "1,234 ns"
    assert float(eqsat.Cost()) == 0


def test_the_cost_of_a_result_is_that_of_its_kernels() -> None:
    result = eqsat.optimize(softmax, F)
    assert len(result.cost.breakdown()) == len(result.loops)
    assert float(result.cost) == sum(ns for _, ns in result.cost.breakdown())
    assert result.cost < result.original_cost == eqsat.cost(eqsat.trace(softmax, F))


# assertions for users ----------------------------------------------------------------------------------------------
def test_assert_cheaper_compares_whatever_has_a_cost() -> None:
    x = eqsat.var("x", 0, 99)
    assert_cheaper(eqsat.optimize(moved, F), eqsat.trace(moved, F))
    assert_cheaper(eqsat.optimize(softmax, F), eqsat.trace(softmax, F), factor=0.9)
    assert_cheaper(x, x // 3)
    assert_cheaper(eqsat.Cost((("a", 1.0),)), 1.5)
    with pytest.raises(AssertionError, match=r"not below 1 \*"):
        assert_cheaper(eqsat.trace(moved, F), eqsat.optimize(moved, F))
    with pytest.raises(AssertionError, match=r"not below 0\.01 \*"):
        assert_cheaper(x % 3, x // 3, factor=0.01)
    with pytest.raises(UsageError, match="found a str"):
        assert_cheaper("x", 1)


def test_assert_equivalent_tells_equal_programs_from_others() -> None:
    spec = eqsat.spec((3, 4), "float32")
    assert_equivalent(eqsat.optimize(softmax, F), eqsat.trace(softmax, F))
    assert_equivalent(lambda x: x + x, lambda x: 2 * x, spec)
    for wrong in (lambda x: 2 * x + 1e-3, lambda x: (2 * x).astype("float64"), lambda x: (2 * x).reshape(4, 3)):
        with pytest.raises(AssertionError):
            assert_equivalent(wrong, lambda x: 2 * x, spec)
    with pytest.raises(AssertionError):
        assert_equivalent(lambda x: x + 1e-4, lambda x: x, spec, rtol=0)


def test_values_may_deviate_as_much_as_the_coarsest_dtype_between_allows() -> None:
    def scores(a: Any, b: Any) -> Any:
        return np.exp(a @ b / np.sqrt(32))  # NumPy's scalar makes float64 of float32

    specs = eqsat.spec((64, 32), "float32"), eqsat.spec((32, 48), "float32")
    assert_equivalent(eqsat.optimize(scores, *specs), scores, *specs)
    double = eqsat.spec((64, 32), "float64"), eqsat.spec((32, 48), "float64")
    with pytest.raises(AssertionError, match="exceeds 1e-12"):
        assert_equivalent(lambda a, b: scores(a, b) * (1 + 1e-9), scores, *double)
    with pytest.raises(AssertionError, match="exceeds 1e-12"):
        assert_equivalent(lambda a: a.astype("float64") + 1e-9, lambda a: a.astype("float64"), specs[0])
    with pytest.raises(AssertionError):
        assert_equivalent(lambda a: (a > 0).astype("int64"), lambda a: (a > 1e-7).astype("int64") * 2, specs[0])


def test_assert_equivalent_takes_neither_specs_nor_rtol_with_indices() -> None:
    x = eqsat.var("x", 0, 9)
    with pytest.raises(UsageError, match="found specs for an index expression"):
        assert_equivalent(x, x, eqsat.spec((3,), "int64"))
    with pytest.raises(UsageError, match=r"found rtol=0\.0 for an index expression"):
        assert_equivalent(x, x, rtol=0.0)


def test_assert_equivalent_tells_equal_indices_from_others() -> None:
    x, y = eqsat.var("x", -50, 50), eqsat.var("y", -5000, 5000)
    assert_equivalent(x // 4 * 4 + x % 4, x)
    assert_equivalent(eqsat.optimize(x // 4 * 4 + x % 4), x)
    with pytest.raises(AssertionError, match=r"at \{ \(\{'x': -50\}\) \}|'x'"):
        assert_equivalent(x // 4, (x + 1) // 4)
    with pytest.raises(AssertionError):
        assert_equivalent(x + y, x + eqsat.minimum(y, 4999))


def test_assert_close_wants_infinities_and_nan_in_their_places() -> None:
    special = np.array([1.0, np.nan, np.inf, -np.inf])
    assert_close(special + 1e-13, special)
    for other in ([1.0, np.nan, np.inf, np.inf], [1.0, 0.0, np.inf, -np.inf], [np.nan, np.nan, np.inf, -np.inf]):
        with pytest.raises(AssertionError):
            assert_close(np.array(other), special)
    with pytest.raises(AssertionError):
        assert_close(np.array([1, 2]), np.array([1, 3]))


def test_random_arrays_fit_the_inputs_and_repeat_with_their_seed() -> None:
    program = eqsat.trace(lambda x, y, z: x + y + z, eqsat.spec((2, 3), "float32"), eqsat.spec(3, "int64"), eqsat.spec((), "bool"))
    arrays = random_arrays(program)
    assert [(a.shape, a.dtype.name) for a in arrays] == [((2, 3), "float32"), ((3,), "int64"), ((), "bool")]
    assert all(np.array_equal(a, b) for a, b in zip(arrays, random_arrays(program), strict=True))
    assert not np.array_equal(arrays[0], random_arrays(program, seed=1)[0])


# options -----------------------------------------------------------------------------------------------------------
def test_options_are_frozen_and_checked() -> None:
    options = eqsat.Options()
    assert options.tables == all_tables()
    assert options == eqsat.Options()
    with pytest.raises(dataclasses.FrozenInstanceError):
        options.numerics = "fast"  # type: ignore[misc]
    with pytest.raises(UsageError, match="found 'quick', expected 'exact', 'default' or 'fast'"):
        eqsat.Options(numerics="quick")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="found 'identity'"):
        eqsat.Options(rules=("identity",))
    with pytest.raises(UsageError, match="rule tables: found 'none'"):
        without("none")
    assert eqsat.Options(rules=("sums", "identities")).tables == ("identities", "sums")
    assert eqsat.Options(rules=()).tables == ()


def test_the_cost_as_written_is_asked_for_in_every_form() -> None:
    expected = eqsat.cost(eqsat.trace(softmax, F))
    assert eqsat.cost(softmax, F) == eqsat.cost(softmax, eqsat.spec(F.shape, F.dtype)) == expected
    lazy = enp.asarray(F)
    assert [ns for _, ns in eqsat.cost(softmax(lazy)).kernels] == [ns for _, ns in expected.kernels]
    options = eqsat.Options(target=eqsat.DEFAULT_TARGET)
    assert eqsat.cost(softmax, F, options=options) == eqsat.cost(eqsat.trace(softmax, F), options) == expected
    x = eqsat.var("x", 0, 31)
    assert eqsat.cost(x // 8 % 2) == eqsat.optimize(x // 8 % 2).original_cost


X = eqsat.var("x", 0, 31)
PROGRAM = eqsat.trace(lambda x: x + 1, eqsat.spec((4,), "float32"))
WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "limits": (lambda: eqsat.Options(limits=ANY), "Options.limits: found a int, expected eqsat.Limits"),
    "target": (lambda: eqsat.Options(target=ANY), "Options.target: found a int, expected eqsat.Target"),
    "cost": (lambda: eqsat.Options(cost=ANY), "Options.cost: found a int, expected eqsat.Costs"),
    "dump": (lambda: eqsat.Options(dump=ANY), "Options.dump: found a int, expected the path of a folder"),
    "cache": (lambda: eqsat.Options(cache="no"), "Options.cache: found 'no', expected True or False"),  # type: ignore[arg-type]
    "nodes": (lambda: eqsat.Limits(nodes=-1), "Limits.nodes: found -1, expected an integer of at least 1"),
    "rules": (lambda: eqsat.Options(rules=ANY), "Options.rules: found 3, expected a list of names of tables and of rules"),
    "a rule": (lambda: eqsat.Options(rules="identities"), "Options.rules: found 'identities', expected a list"),
    "numerics": (lambda: eqsat.Options(numerics=np.array([1, 2])), "Options.numerics: found array"),  # type: ignore[arg-type]
    "iterations": (lambda: eqsat.Limits(iterations=2.5), "Limits.iterations: found 2.5"),  # type: ignore[arg-type]
    "seconds": (lambda: eqsat.Limits(seconds=-1), "Limits.seconds: found -1, expected seconds"),
    "cost of a number": (lambda: eqsat.cost(ANY), "cost: found a int, expected a Program"),
    "cost of an array": (lambda: eqsat.cost(F), "cost: found a ndarray, expected a Program, a function with specs"),
    "cost on a number": (lambda: eqsat.cost(PROGRAM, ANY), "cost: found options of type int"),
    "optimize": (lambda: eqsat.optimize(PROGRAM, options=ANY), "optimize: found options of type int, expected eqsat.Options"),
    "jit": (lambda: eqsat.jit(lambda x: x, options=ANY), "jit: found options of type int"),
    "explore": (lambda: eqsat.explore(X, options=ANY), "explore: found options of type int"),
    "simplify": (lambda: eqsat.simplify(X, ANY), "simplify: found options of type int"),
    "simplify_gated": (lambda: eqsat.simplify_gated(X, X > 3, ANY), "simplify_gated: found options of type int"),
    "simplify_many": (lambda: eqsat.simplify_many(ANY), "simplify_many: found a int, expected a list of index expressions"),
    "assert_equivalent": (lambda: eqsat.testing.assert_equivalent(X, "x"), "index expression: found 'x' of type str"),
    "leave_one_out": (lambda: eqsat.leave_one_out(X, options=ANY), "leave_one_out: found options of type int"),
}


@pytest.mark.parametrize("what", WRONG)
def test_arguments_of_the_wrong_kind_are_refused_by_name(what: str) -> None:
    call, message = WRONG[what]
    with pytest.raises(UsageError, match=re.escape(message)):
        call()


def test_numbers_of_numpy_are_numbers() -> None:
    found = eqsat.Options(limits=eqsat.Limits(nodes=np.int64(5), seconds=np.float32(2)), certify=np.bool_(True))  # type: ignore[arg-type]
    assert (type(found.limits.nodes), found.certify) == (int, True)


def test_a_folder_may_be_named_by_text(tmp_path: Path) -> None:
    assert eqsat.Options(dump=str(tmp_path)) == eqsat.Options(dump=tmp_path)  # type: ignore[arg-type]


@pytest.mark.parametrize("table", some(all_tables()))
def test_any_table_can_be_left_out(table: str) -> None:
    options = eqsat.Options(rules=without(table))
    result = eqsat.optimize(moved, F, options=options)
    assert_close(result(F), moved(F))


def test_without_rules_a_program_runs_as_it_is_written() -> None:
    result = eqsat.optimize(softmax, F, options=eqsat.Options(rules=()))
    assert_close(result(F), softmax(F))
    assert len(result.loops) == 5


def test_what_cannot_be_optimized_is_refused() -> None:
    for target in (3, "f", F):
        with pytest.raises(UsageError, match="expected a Program, a function with specs, lazy tensors, or an index"):
            eqsat.optimize(target)


@pytest.mark.parametrize("numerics", ["exact", "default", "fast"])
def test_every_mode_of_numerics_is_close(numerics: Any) -> None:
    assert_close(eqsat.optimize(softmax, F, options=eqsat.Options(numerics=numerics))(F), softmax(F))


# running -----------------------------------------------------------------------------------------------------------
@pytest.fixture
def threads() -> Any:
    before = eqsat.num_threads()
    yield eqsat.set_num_threads
    eqsat.set_num_threads(before)


@pytest.mark.parametrize("function", [softmax, lambda x: enp.tanh(x.T) * 2, lambda x: x.sum(axis=0) + 1, lambda x: x.sum()])
def test_results_are_the_same_for_any_number_of_threads(threads: Any, monkeypatch: pytest.MonkeyPatch, function: Any) -> None:
    monkeypatch.setattr("eqsat.running.plan.SPLIT_NS", 0.0)
    x = np.random.default_rng(0).uniform(-1, 1, (37, 41)).astype(np.float32)
    plan = eqsat.optimize(function, x).compile()
    results = []
    for count in (1, 2, 8):
        threads(count)
        assert eqsat.num_threads() == count
        results.append(plan(x))
    assert_close(results[0], np.asarray(function(x)))
    assert all(np.array_equal(results[0], other) for other in results[1:])


def test_large_kernels_are_split_along_their_parallel_loop(threads: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces: list[int] = []

    def row_by_row(entry: Callable[..., None], address: int, buffers: list[Any], units: Units) -> None:
        assert address > 0
        for k in range(units.extent):
            pieces.append(k)
            entry(*buffers, k, k + 1)

    threads(3)
    monkeypatch.setattr("eqsat.running.plan.SPLIT_NS", 0.0)
    monkeypatch.setattr("eqsat.running.plan.run_split", row_by_row)
    x = np.arange(60, dtype=np.float64).reshape(5, 12)
    assert_close(eqsat.optimize(lambda x: enp.exp(x / 60).max(axis=1), x)(x), np.exp(x / 60).max(axis=1))
    assert pieces == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("count", [0, -1, 2.0, "2", True, None])
def test_a_number_of_threads_is_at_least_one(count: Any) -> None:
    before = eqsat.num_threads()
    with pytest.raises(UsageError, match="expected an integer of at least 1"):
        eqsat.set_num_threads(count)
    assert eqsat.num_threads() == before


def test_a_plan_runs_again_with_other_data() -> None:
    plan = eqsat.optimize(softmax, F).compile()
    first = plan(F)
    kept = first.copy()
    for scale in (2, -1, 0):
        assert_close(plan(F * scale), softmax(F * scale))
    assert np.array_equal(first, kept)
    assert (plan.num_outputs, len(plan.kernels) >= 1) == (1, True)


def test_a_plan_reads_arrays_of_any_layout() -> None:
    wide = np.arange(96, dtype=np.float32).reshape(8, 12) / 7
    plan = eqsat.optimize(moved, F).compile()
    for view in (wide[:3, :4], wide[::3, ::3], wide[2::-1, 3::-1], wide.T[:3, :4], np.asfortranarray(F)):
        assert_close(plan(view), moved(view))
    with pytest.raises(ShapeError, match="x: found"):
        plan(F.T)
    with pytest.raises(DTypeError, match="x: found"):
        plan(F.astype("float64"))
    with pytest.raises(UsageError, match="found 0 arrays, expected 1"):
        plan()


def test_a_result_computes_into_an_array_of_the_caller() -> None:
    result, out = eqsat.optimize(moved, F), np.full_like(moved(F), np.nan)
    assert result(F, out=out) is out
    assert_close(out, moved(F))


def test_results_never_alias_arguments_constants_or_each_other() -> None:
    held = np.arange(4.0)

    def views(x: Any) -> Any:
        return x, x.reshape(3, 4), held, x[0], x + 0, x

    plan = eqsat.optimize(views, eqsat.spec((3, 4), "float64")).compile()
    x = np.ones((3, 4))
    results = plan(x)
    for result in results:
        assert result.flags.owndata or result.base is not x
        assert not np.shares_memory(result, x)
        assert not np.shares_memory(result, held)
    results[2][:] = -1
    results[0][:] = -1
    assert np.array_equal(plan(x)[2], np.arange(4.0))
    assert np.array_equal(x, np.ones((3, 4)))
    assert not any(np.shares_memory(a, b) for a, b in zip(results, plan(x), strict=True))


def test_a_jitted_function_compiles_once_a_signature() -> None:
    traces: list[tuple[int, ...]] = []

    @eqsat.jit
    def f(x: Any) -> Any:
        traces.append(x.shape)
        return softmax(x)

    for array in (F, F + 1, F[:, ::-1], F[:2], F.T, F[:2] * 2):
        assert_close(f(array), softmax(array))
    assert traces == [(3, 4), (2, 4), (4, 3)]


def test_threads_may_call_one_jitted_function() -> None:
    function = eqsat.jit(softmax)
    arrays = [F + k if k % 2 else np.concatenate([F, F]) - k for k in range(8)]
    for array in arrays[:2]:
        function(array)
    start = threading.Barrier(8)

    def call(array: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
        start.wait(timeout=30)
        return [function(array) for _ in range(20)]

    with ThreadPoolExecutor(8) as pool:
        for array, results in zip(arrays, pool.map(call, arrays), strict=True):
            for result in results:
                assert_close(result, softmax(array))


def test_threads_may_optimize_at_once() -> None:
    x = eqsat.var("x", 0, 999)

    def work(k: int) -> tuple[str, float]:
        return str(eqsat.simplify((x + k) // 7 * 7 + (x + k) % 7)), float(eqsat.optimize(moved, F).cost)

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(work, range(8)))
    assert [text for text, _ in found] == ["x", *(f"x + {k}" for k in range(1, 8))]
    assert len({cost for _, cost in found}) == 1


# texts -------------------------------------------------------------------------------------------------------------
def test_a_dump_holds_every_stage_in_order(tmp_path: Path) -> None:
    folder = tmp_path / "stages"
    result = eqsat.optimize(softmax, F, options=eqsat.Options(dump=folder))
    result(F)
    files = sorted(folder.iterdir())
    numbers = [int(file.name[:2]) for file in files]
    assert numbers == list(range(len(files)))
    texts = {file.name[3:]: file.read_text() for file in files}
    assert texts["program.txt"] == f"{result.original}\n"
    assert texts["extracted.txt"] == f"{result.program}\n"
    assert all(str(kernel) in texts["loops.txt"] for kernel in result.loops)
    assert all(str(kernel) in texts["typed.txt"] for kernel in result.loops)
    assert ":i32" in texts["typed.txt"]
    assert texts["module.ll"].rstrip() == result.llvm_ir.rstrip()
    assert "ret" in texts["module.s"]


def test_without_a_dump_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    eqsat.optimize(softmax, F)(F)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    result = eqsat.optimize(softmax, F)
    result(F)
    assert "cost" in result.explain()
    assert "generic-is-build" in result.explain()
    assert (*capsys.readouterr(),) == ("", "")


WRONG_TEXTS = {
    "x +": "invalid syntax",
    "": "invalid syntax",
    "x / 2": "found 'x / 2', expected one of",
    "x ** 2": "found 'x ** 2'",
    "z": "found name 'z', expected one of x, y",
    "f(x)": "found 'f(x)', expected min max abs where int bool",
    "min(x)": "found 'min(x)'",
    "where(x < 1, x)": "found 'where(x < 1, x)'",
    "x.real": "found 'x.real', expected an operation on integers",
    "x[0]": "found 'x[0]'",
    "1.5 + x": "found '1.5'",
    "'a'": "found",
    "x is y": "found comparison Is",
    "x in y": "found comparison In",
    "max(x, y, key=x)": "found 'max(x, y, key=x)'",
    "x if y else 1": "found 'x if y else 1'",
    "lambda: x": "found 'lambda: x'",
    "(x := 2)": "found",
    "x\n+ y": "parse_index",
}


@pytest.mark.parametrize("text", WRONG_TEXTS)
def test_text_that_is_no_index_expression_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(ParseError) as caught:
        eqsat.parse_index(text, {"x": (0, 9), "y": (0, 9)})
    assert WRONG_TEXTS[text] in str(caught.value)
    assert "\n" not in str(caught.value)


TEXTS = [
    "where(x < 4, x // 8, 0)",
    "0 <= x < 10",
    "x + y * 2 - -x",
    "min(x, y, 1) + max(x, y, 9) + abs(x - y)",
    "x & 6 | y ^ 1 << 2 >> 1",
    "~x",
    "not (x > y and x == 5 or x != 5)",
    "int(x > y) + bool(x)",
    "True",
    "-7 // 2",
    "-7 % 4",
]


@pytest.mark.parametrize("text", TEXTS)
def test_text_means_what_it_means_in_python(text: str) -> None:
    bounds = {"x": (-9, 9), "y": (-9, 9)}
    term = eqsat.parse_index(text, bounds)
    for x, y in itertools.product(range(-9, 10), repeat=2):
        expected = eval(text, {"x": x, "y": y, "where": lambda c, a, b: a if c else b})
        for found in (term, eqsat.parse_index(str(term), bounds)):
            assert evaluate_index(found, {v: {"x": x, "y": y}[v.name] for v in variables(found)}) == expected


def test_long_sums_over_leading_axes_are_no_less_accurate_than_numpys() -> None:
    image = np.random.default_rng(3).uniform(0, 255, (400, 600, 3)).astype("float32")
    exact = image.astype("float64").sum(axis=(0, 1))
    found = eqsat.jit(lambda x: x.sum(axis=(0, 1)))(image)
    deviation = np.max(np.abs(found - exact) / exact)
    assert deviation <= max(np.max(np.abs(image.sum(axis=(0, 1)) - exact) / exact), 1e-6)
