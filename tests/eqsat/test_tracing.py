"""Functions written for NumPy, traced: the program gives what NumPy gives."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import eqsat
import eqsat.numpy as enp
from eqsat.capture.specs import spec
from eqsat.capture.tracing import trace
from eqsat.ir.check import check_program
from eqsat.ir.containers import positions
from eqsat.ir.errors import UnsupportedError
from eqsat.ir.evaluate import evaluate
from eqsat.ir.tensor import Build, Constant, Generic, Input, tensors
from tests.effort import examples
from tests.eqsat.programs import RandomProgram, factorizations, programs
from tests.eqsat.tracing_cases import assert_same, sample, traced

Step = Callable[[Any], Any]
F = sample((3, 4), "float32")
CUBE = sample((2, 3, 4), "float64")
N = sample((3, 4), "int32")
TRUTH = sample((3, 4), "bool")

ONE_ARRAY: dict[str, tuple[Step, Any]] = {
    "sum of all": (lambda x: x.sum(), F),
    "sum over two axes": (lambda x: np.sum(x, axis=(0, -1)), CUBE),
    "sum with kept dimensions": (lambda x: enp.sum(x, (0, 2), keepdims=True), CUBE),
    "sum over no axis": (lambda x: x.sum(axis=()), N),
    "sum in another dtype": (lambda x: x.sum(axis=1, dtype="float32"), N),
    "sum of bool": (lambda x: np.sum(x, axis=0), TRUTH),
    "max of bool": (lambda x: x.max(axis=1), TRUTH),
    "min of int": (lambda x: np.min(x, axis=0, keepdims=True), N),
    "amax": (np.amax, CUBE),
    "mean of int": (lambda x: x.mean(axis=1), N),
    "mean of bool": (np.mean, TRUTH),
    "mean of float32": (lambda x: enp.mean(x, axis=-1, keepdims=True), F),
    "mean in float64": (lambda x: np.mean(x, dtype=np.float64), F),
    "fold of a ufunc": (lambda x: np.add.reduce(x) + np.maximum.reduce(x, axis=0), CUBE),
    "reshape to one dimension": (lambda x: x.reshape(-1), CUBE),
    "reshape with another split": (lambda x: x.reshape(3, 2, 4), CUBE),
    "reshape by a tuple": (lambda x: np.reshape(x, (4, 1, -1)), CUBE),
    "ravel": (np.ravel, CUBE.transpose(2, 0, 1)),
    "flatten": (lambda x: x.flatten(), CUBE),
    "T": (lambda x: x.T, CUBE),
    "mT": (lambda x: x.mT, CUBE),
    "transpose by axes": (lambda x: x.transpose(1, -1, 0), CUBE),
    "transpose by a tuple": (lambda x: np.transpose(x, (2, 0, 1)), CUBE),
    "permute_dims": (lambda x: enp.permute_dims(x, (1, 0, 2)), CUBE),
    "matrix_transpose": (np.matrix_transpose, CUBE),
    "swapaxes": (lambda x: x.swapaxes(0, -1), CUBE),
    "moveaxis": (lambda x: np.moveaxis(x, (0, 1), (-1, 0)), CUBE),
    "flip of all axes": (np.flip, CUBE),
    "flip of one axis": (lambda x: enp.flip(x, axis=-1), CUBE),
    "broadcast_to": (lambda x: np.broadcast_to(x[:, None, :1], (3, 5, 2)), F),
    "expand_dims": (lambda x: np.expand_dims(x, (0, -1)), F),
    "squeeze": (lambda x: x.reshape(1, 3, 1, 4).squeeze(), F),
    "squeeze of one axis": (lambda x: np.squeeze(x[None, None], axis=1), F),
    "slices": (lambda x: x[1:, ::-1, 1:4:2], CUBE),
    "negative steps": (lambda x: x[::-2, 2:0:-1], CUBE),
    "integers": (lambda x: x[-1, 0], CUBE),
    "an ellipsis and new axes": (lambda x: x[..., None, 1, enp.newaxis], CUBE),
    "an empty slice": (lambda x: x[2:1], F),
    "iteration": (lambda x: sum(row * k for k, row in enumerate(x)), CUBE),
    "unpacking": (lambda x: (lambda a, b: a - b)(*x), CUBE),
    "powers": (lambda x: x**2 + x**3 - x**1 * x**7 + x**0, CUBE),
    "powers of int": (lambda x: x**5, N),
    "an int to a float power": (lambda x: abs(x) ** 0.5 + x**2.0, N),
    "negative powers": (lambda x: x**-1 + abs(x) ** -0.5 + np.power(x, -2), CUBE),
    "square": (np.square, N),
    "softmax": (lambda x: np.exp(x - x.max(-1, keepdims=True)) / np.exp(x - x.max(-1, keepdims=True)).sum(-1, keepdims=True), F),
    "where": (lambda x: np.where(x > 0, x, 0.5 * x), F),
    "where on numbers": (lambda x: enp.where(x, 1.0, 0), N),
    "logic on numbers": (lambda x: np.logical_and(x - 1, x > 0) | ~(x == 2), N),
    "logic on bool": (lambda x: (x & True) ^ (x | x[::-1]), TRUTH),
    "sums of bool": (lambda x: x + x[::-1] * x, TRUTH),
    "absolute and negative": (lambda x: -abs(+x), N),
    "tanh and log": (lambda x: np.tanh(x) + np.log(abs(x)), N),
    "floor division and remainder": (lambda x: x // 3 + x % 4 + 7 // x + 9 % x, N),
    "astype": (lambda x: x.astype(np.int64) + enp.astype(x, "bool"), CUBE),
    "the likes": (lambda x: np.zeros_like(x) + np.ones_like(x, dtype="int64") + enp.full_like(x, 2.7), N),
    "copy": (lambda x: np.copy(x) + x.copy() + enp.asarray(x) + enp.asarray(x, "float32"), F),
    "shape queries": (lambda x: x * np.size(x) + np.ndim(x) + len(x) + np.shape(x)[1] + x.size, N),
    "a captured array": (lambda x: np.arange(4.0) * x + np.ones((3, 1), np.float32) - [1, 2, 3, 4], F),
    "a NumPy scalar": (lambda x: np.float64(2) * x + np.int32(1), F),
    "the namespace": (lambda x: x.__array_namespace__().exp(x) if hasattr(x, "__array_namespace__") else np.exp(x), F),
    "an unchanged input": (lambda x: x, F),
    "an empty result": (lambda x: (x[:0] * 2.0).reshape(0, 2).T, F),
    "a sum over nothing": (lambda x: x[:0].sum(axis=0) + 1, N),
    "a product over nothing": (lambda x: x[:, :0] @ x[:0], F),
    "a mean over nothing": (lambda x: x[:, :0].sum(axis=1), F),
}


@pytest.mark.parametrize("name", ONE_ARRAY)
def test_a_function_of_one_array_equals_numpy(name: str) -> None:
    function, array = ONE_ARRAY[name]
    assert_same(function, array)


MATMULS = [
    ((4,), (4,)),
    ((3, 4), (4,)),
    ((4,), (4, 5)),
    ((3, 4), (4, 5)),
    ((2, 3, 4), (4, 5)),
    ((3, 4), (2, 4, 5)),
    ((2, 1, 3, 4), (5, 4, 2)),
    ((4,), (2, 4, 3)),
    ((2, 3, 4), (4,)),
    ((1, 1), (1, 1)),
]


@pytest.mark.parametrize(("a", "b"), MATMULS)
@pytest.mark.parametrize("dtypes", [("float32", "float32"), ("int32", "int32"), ("int32", "float32")])
def test_matmul_equals_numpy(a: tuple[int, ...], b: tuple[int, ...], dtypes: tuple[str, str]) -> None:
    left, right = sample(a, dtypes[0], 1), sample(b, dtypes[1], 2)
    assert_same(lambda x, y: x @ y, left, right)
    assert_same(lambda x: np.matmul(x, right), left)
    assert_same(lambda y: left @ y, right)


def test_a_plain_array_on_the_left_of_an_operator_is_traced() -> None:
    for function in (lambda x: F + x, lambda x: F - x, lambda x: F / x, lambda x: 2 - x, lambda x: 1 / x, lambda x: x < F):
        assert_same(function, sample((3, 4), "float64"))


def test_names_of_eqsat_numpy_on_plain_arrays_are_numpys() -> None:
    assert np.array_equal(enp.exp(F), np.exp(F))
    assert np.array_equal(enp.sum(F, axis=0), np.sum(F, axis=0))
    assert enp.asarray([1, 2]).dtype == np.int64
    assert (enp.pi, enp.newaxis, enp.float32) == (np.pi, np.newaxis, np.float32)
    assert (enp.e, enp.inf, enp.bool) == (np.e, np.inf, np.bool_)
    assert np.isnan(enp.nan)


@pytest.mark.parametrize("call", ["arange(x[0])", "eye(x[0])", "geomspace(x[0], 5, 6)", "logspace(x[0], 1, 4)"])
def test_functions_that_programs_lack_say_so(call: str) -> None:
    with pytest.raises(UnsupportedError, match=call.partition("(")[0]):
        eqsat.jit(lambda x: eval(f"enp.{call}", {"enp": enp, "x": x}))(np.ones(3))


def reshaped(source: tuple[int, ...], target: tuple[int, ...]) -> Generic:
    (tensor,) = trace(lambda x: x.reshape(target), spec(source, "int64")).outputs
    assert isinstance(tensor, Generic)
    return tensor


def test_every_reshape_between_factorizations_equals_numpy() -> None:
    for source in factorizations(24):
        for target in (*factorizations(24), (1, *source, 1), (24,)):
            array = np.arange(24).reshape(source)
            assert np.array_equal(traced(lambda x, shape=target: x.reshape(shape), [array]), array.reshape(target))


@pytest.mark.parametrize(
    ("source", "target", "index"),
    [
        ((12, 4), (3, 4, 4), "i0 * 4 + i1, i2"),
        ((3, 4, 5), (12, 5), "i0 // 4, i0 % 4, i1"),
        ((2, 3, 4), (24,), "i0 // 12, i0 // 4 % 3, i0 % 4"),
        ((24,), (2, 3, 4), "i0 * 12 + i1 * 4 + i2"),
        ((6, 4), (8, 3), "(i0 * 3 + i1) // 4, (i0 * 3 + i1) % 4"),
        ((3, 1, 4), (1, 3, 4), "i1, 0, i2"),
        ((3, 4), (3, 4), "i0, i1"),
        ((5, 6, 7), (5, 2, 3, 7), "i0, i1 * 3 + i2, i3"),
    ],
)
def test_a_reshape_splits_and_joins_only_what_changes(source: tuple[int, ...], target: tuple[int, ...], index: str) -> None:
    assert ", ".join(str(term) for term in reshaped(source, target).maps[0]) == index


def test_axes_move_to_every_place_as_in_numpy() -> None:
    array = np.arange(24).reshape(1, 2, 3, 4)
    for destination in itertools.permutations(range(4), 3):
        assert_same(lambda x, to=destination: np.moveaxis(x, (2, 0, -1), to), array)


def test_only_stretched_dimensions_are_read_at_zero() -> None:
    def maps(*shapes: tuple[int, ...]) -> list[list[str]]:
        (tensor,) = trace(operator.add, *(spec(shape, "int64") for shape in shapes)).outputs
        assert isinstance(tensor, Generic)
        return [[str(term) for term in terms] for terms in tensor.maps]

    assert maps((1, 4), (3, 4)) == [["0", "i1"], ["i0", "i1"]]
    assert maps((1, 4), (4,)) == [["i0", "i1"], ["i1"]]


def test_every_operation_is_one_generic() -> None:
    counts = {
        "softmax": 5,
        "slices": 1,
        "reshape with another split": 1,
        "sum with kept dimensions": 1,
        "powers of int": 1,
        "mean of int": 2,
        "where": 3,
    }
    for name, count in counts.items():
        function, array = ONE_ARRAY[name]
        found = [tensor for tensor in tensors(*trace(function, array).outputs) if not isinstance(tensor, Input)]
        assert all(isinstance(tensor, Generic) for tensor in found)
        assert len(found) == count, name


def test_inputs_are_named_after_the_parameters() -> None:
    def named(image: Any, *weights: Any) -> Any:
        return image + sum(weights)

    names = [tensor.name for tensor in trace(named, *[F] * 3).inputs]
    assert names == ["image", "weights0", "weights1"]
    assert [tensor.name for tensor in trace(operator.add, F, F).inputs] == ["a", "b"]
    assert [tensor.name for tensor in trace(lambda weights0, *weights: weights0, F, F).inputs] == ["weights0", "weights1"]


def test_specs_and_arrays_give_the_same_program() -> None:
    def scaled(x: Any, factor: Any) -> Any:
        return x * factor

    assert trace(scaled, F, 2.0) is trace(scaled, spec((3, 4), np.float32), 2.0)
    assert trace(scaled, F, 2.0) is not trace(scaled, F, 3.0)
    assert trace(scaled, F, np.float32(2)).inputs[1].shape == ()


def test_containers_of_specs_and_arrays_are_several_inputs() -> None:
    def scaled(x: Any, weights: Any) -> Any:
        return x * weights["w"][0] + weights["b"]

    program = trace(scaled, spec((3, 4), "float32"), {"w": [F], "b": 1.0})
    assert [tensor.name for tensor in program.inputs] == ["x", "weights['w'][0]"]
    assert program is trace(scaled, F, {"w": [spec((3, 4), "float32")], "b": 1.0})
    assert "weights['w'][0]: float32[3, 4]" in str(program)


def test_results_keep_their_containers() -> None:
    def several(x: Any) -> Any:
        total = x.sum()
        return {"pair": (total, total), "rest": [x, 3, F, True]}

    program = trace(several, F)
    assert len(program.outputs) == 5
    found = traced(several, [F])
    assert list(found) == ["pair", "rest"]
    assert isinstance(found["pair"], tuple)
    assert [part.dtype.name for part in found["rest"]] == ["float32", "int64", "float32", "bool"]


def test_inputs_and_constants_that_are_returned_become_copies() -> None:
    outputs = trace(lambda x: (x, F, 2.0), spec((3, 4), "float64")).outputs
    assert all(isinstance(output, Build) for output in outputs)
    (empty,) = trace(lambda x: x, spec((0, 4), "float64")).outputs
    assert isinstance(empty, Constant)


def test_a_traced_array_has_numpys_attributes() -> None:
    seen = []

    def look(x: Any) -> Any:
        seen.append((x.shape, x.dtype, x.ndim, x.size, len(x), x.T.shape, repr(x), hasattr(x, "tofile")))
        return x

    trace(look, CUBE)
    assert seen == [((2, 3, 4), np.dtype("float64"), 3, 24, 2, (4, 3, 2), "TracedArray(shape=(2, 3, 4), dtype=float64)", False)]


@settings(max_examples=examples(150), deadline=None)
@given(programs())
def test_random_programs_equal_numpy(program: RandomProgram) -> None:
    traced_program = trace(program, *program.arrays)
    check_program(traced_program)
    outputs = evaluate(traced_program, program.arrays)
    program.check([outputs[k] for k in positions(traced_program.structure)], "as traced")
