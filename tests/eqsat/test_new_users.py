"""What new users try: each attempt gives what NumPy gives, or ends in one line that says what is wrong; where the line offers the
fallback, the fallback gives what NumPy gives."""

from __future__ import annotations

import copy
import io
import math
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.ir.errors import BoundsError, DTypeError, EqsatError, MissingError, ShapeError, TraceError, UnsupportedError, UsageError

Array = np.ndarray[Any, Any]
X = np.random.default_rng(0).standard_normal((4, 6))
V = X[0].copy()
N = np.arange(6)


def assigned(x: Any) -> Any:
    x[0] = 1.0
    return x


def augmented(x: Any) -> Any:
    x += 1
    return x


def branched(x: Any) -> Any:
    return x if x.sum() > 0 else -x


def halved(x: Any) -> Any:
    while (x > 0.1).any():
        x = x / 2
    return x


def first_positive_row(x: Any) -> Any:
    for row in x:
        if row[0] > 0:
            return row
    return x[0]


def written(x: Any) -> Any:
    np.add(x, 1, out=x)
    return x


# name -> what is tried, on which argument, and the error that it ends in, None where it works
TRIED: dict[str, tuple[Callable[..., Any], Any, type[EqsatError] | None]] = {
    "mask index": (lambda x: x[x > 0], X, UnsupportedError),
    "mask assign": (lambda x: assigned(x), X, UnsupportedError),
    "augmented": (augmented, X, UnsupportedError),
    "nonzero": (np.nonzero, X, UnsupportedError),
    "argwhere": (np.argwhere, X, UnsupportedError),
    "flatnonzero": (np.flatnonzero, V, UnsupportedError),
    "unique": (np.unique, N, UnsupportedError),
    "extract": (lambda x: np.extract(x > 0, x), X, UnsupportedError),
    "compress": (lambda x: np.compress(x[0] > 0, x, axis=1), X, UnsupportedError),
    "builtin pow3": (lambda x: pow(x, 2, 3), N, UnsupportedError),
    "sliding": (lambda x: np.lib.stride_tricks.sliding_window_view(x, 3), V, None),
    "add.at": (lambda x: np.add.at(x, 0, 1), V, UnsupportedError),
    "add.reduceat": (lambda x: np.add.reduceat(x, [0, 3]), V, None),
    "add.outer": (lambda x: np.add.outer(x, x), V, None),
    "out in": (written, X, UnsupportedError),
    "where=": (lambda x: np.add(x, 1, where=x > 0), X, UnsupportedError),
    "sort()": (lambda x: x.sort(), X, UnsupportedError),
    "copyto": (lambda x: np.copyto(x, 0), X, UnsupportedError),
    "put": (lambda x: np.put(x, 0, 1), X, UnsupportedError),
    "partition()": (lambda x: x.partition(2), V, UnsupportedError),
    "apply_along_axis": (lambda x: np.apply_along_axis(np.sum, 0, x), X, None),
    "piecewise": (lambda x: np.piecewise(x, [x < 0], [0, 1]), V, None),
    "interp": (lambda x: np.interp(x, [0, 1], [0, 1]), V, None),
    "polyfit": (lambda x: np.polyfit(x, x, 1), V, None),
    "roots": (lambda x: np.roots(x), V, UnsupportedError),
    "eig": (lambda x: np.linalg.eig(x[:, :4]), X, UnsupportedError),
    "lstsq": (lambda x: np.linalg.lstsq(x, x[:, 0]), X, None),
    "save": (lambda x: np.save(io.BytesIO(), x), V, UnsupportedError),
    "bincount no min": (lambda n: np.bincount(n), N, UnsupportedError),
    "pad to a number": (lambda x: np.pad(x, 1, mode="linear_ramp"), V, None),
    "digitize": (lambda x: np.digitize(x, [0, 1]), V, None),
    "setdiff": (lambda n: np.setdiff1d(n, n), N, UnsupportedError),
    "order F": (lambda x: x.reshape(6, 4, order="F"), X, None),
    "flatten F": (lambda x: x.flatten("F"), X, None),
    "branch": (branched, X, TraceError),
    "while": (halved, X, TraceError),
    "float()": (lambda x: float(x.sum()), X, TraceError),
    "int()": (lambda x: int(x.sum()), X, TraceError),
    "bool()": (lambda x: bool(x.any()), X, TraceError),
    "item": (lambda x: x[0, 0].item(), X, TraceError),
    "tolist": (lambda x: x.tolist(), X, TraceError),
    "format": (lambda x: f"{x.sum():.2f}", X, TraceError),
    "math.sin": (lambda x: math.sin(x.sum()), X, TraceError),
    "builtin max": (lambda x: max(x[0, 0], x[0, 1]), X, TraceError),
    "builtin sorted": (lambda x: sorted(x), V, TraceError),
    "in": (lambda x: 0.5 in x, X, TraceError),
    "list index": (lambda n: [1, 2, 3][n[0]], N, TraceError),
    "range": (lambda n: sum(range(n[1])), N, TraceError),
    "array of arrays": (lambda x: np.array([x, x]), X, TraceError),
    "asarray": (lambda x: np.asarray(x) + 1, X, TraceError),
    "asarray list of scalars": (lambda x: np.array([x[0, 0], 1.0]), X, TraceError),
    "arange traced": (lambda n: np.arange(n[3]), N, TraceError),
    "reshape traced": (lambda n: np.reshape(n, (n[2], 3)), N, TraceError),
    "slice traced": (lambda n: n[n[1] :], N, TraceError),
    "repeat traced": (lambda n: np.repeat(n, n), N, TraceError),
    "split traced": (lambda n: np.split(n, n[:1]), N, TraceError),
    "as_strided": (lambda x: np.lib.stride_tricks.as_strided(x, (2, 2), (8, 8)), V, TraceError),
    "vectorize": (lambda x: np.vectorize(lambda t: t + 1)(x), V, TraceError),
    "assert_allclose": (lambda x: np.testing.assert_allclose(x, x), V, TraceError),
    "ndenumerate": (lambda x: list(np.ndenumerate(x)), V, TraceError),
    "for return": (first_positive_row, X, TraceError),
    "r_": (lambda x: np.r_[x, x], V, TraceError),
    "c_": (lambda x: np.c_[x, x], V, TraceError),
    "where one": (lambda x: np.where(x > 0), X, UnsupportedError),
    "str result": (lambda x: "abc", X, UsageError),
    "none result": (lambda x: None, X, UsageError),
    "set result": (lambda x: {1, 2}, X, UsageError),
    "masked": (lambda x: x + 1, np.ma.masked_array(V, V > 0), UsageError),
    "matrix": (lambda x: x * x, np.matrix(X), UsageError),
    "pickle": (lambda x: pickle.dumps(x), V, TraceError),
    "deepcopy": (lambda x: copy.deepcopy(x) + 1, V, None),
    "generator arg": (lambda x: x, (i for i in range(3)), UsageError),
    "set arg": (lambda x: x, {1, 2}, UsageError),
    "function arg": (lambda x: x, len, UsageError),
    "list arg": (lambda x: x, [1.0, 2.0], UsageError),
    "big int": (lambda n: n + 2**70, N, UsageError),
    "neg power": (lambda n: n ** (-1), N, UsageError),
    "builtin round": (lambda x: round(x.sum(), 2), X, None),
    "builtin sum": (lambda x: sum(x), X, None),
    "builtin abs": (lambda x: abs(x), X, None),
    "builtin divmod": (lambda x: divmod(x, 2), X, None),
    "len": (lambda x: x * len(x), X, None),
    "add.accumulate": (lambda x: np.add.accumulate(x), V, None),
    "add.reduce": (lambda x: np.add.reduce(x, axis=0), X, None),
    "histogram": (lambda x: np.histogram(x), V, None),
    "fft": (lambda x: np.fft.fft(x), V, None),
    "isclose": (lambda x: np.isclose(x, x), V, None),
    "allclose": (lambda x: np.allclose(x, x), V, None),
    "array_equal": (lambda x: np.array_equal(x, x), V, None),
    "random": (lambda x: x + np.random.default_rng(0).random(6), V, None),
    "complex scalar": (lambda x: x * 1j, V, None),
    "searchsorted": (lambda x: np.searchsorted(np.sort(x), 0.5), V, None),
    "isin": (lambda n: np.isin(n, [1, 2]), N, None),
    "cov": (lambda x: np.cov(x), X, None),
    "ix_": (lambda x: x[np.ix_([0, 1], [1, 2])], X, None),
    "copy": (lambda x: x.copy(), X, None),
    "astype str": (lambda x: x.astype(str), X, DTypeError),
    "astype object": (lambda x: x.astype(object), X, DTypeError),
    "longdouble": (lambda x: x.astype(np.longdouble), X, DTypeError),
    "datetime": (lambda x: x + 1, np.array(["2020-01-01"], "datetime64[D]"), DTypeError),
    "strings": (lambda x: x == "a", np.array(["a", "b"]), DTypeError),
    "object": (lambda x: x + 1, np.array([1, None], object), DTypeError),
    "structured": (lambda x: x["a"], np.zeros(3, [("a", "f8")]), DTypeError),
    "swapped": (lambda x: x + 1, V.astype(">f8"), DTypeError),
    "str dtype kw": (lambda x: x.sum(dtype="S3"), V, DTypeError),
    "view": (lambda x: x.view(np.int64), X, None),
    "strides": (lambda x: x.strides, X, MissingError),
    "flags": (lambda x: x.flags.c_contiguous, X, MissingError),
    "base": (lambda x: x.base, X, MissingError),
    "data": (lambda x: x.data, X, MissingError),
    "ctypes": (lambda x: x.ctypes.data, X, MissingError),
    "tobytes": (lambda x: x.tobytes(), X, MissingError),
    "fill": (lambda x: x.fill(0), X, UnsupportedError),
    "resize": (lambda x: x.resize(3), X, UnsupportedError),
    "setflags": (lambda x: x.setflags(write=False), X, MissingError),
    "byteswap": (lambda x: x.byteswap(), V, MissingError),
    "flat": (lambda x: x.flat[2], X, MissingError),
    "attr": (lambda x: x.foo, X, MissingError),
    "bad axis": (lambda x: x.sum(axis=2), X, ShapeError),
    "bad reshape": (lambda x: x.reshape(5, 5), X, ShapeError),
    "bad broadcast": (lambda x: x + np.zeros(5), X, ShapeError),
    "bad matmul": (lambda x: x @ x, X, ShapeError),
    "bad einsum": (lambda x: np.einsum("ij,jk", x, x), X, ShapeError),
    "bad concat": (lambda x: np.concatenate([x, x[0]]), X, ShapeError),
    "iter 0d": (lambda x: list(x.sum()), X, ShapeError),
    "bad index": (lambda x: x[7], X, BoundsError),
}

# where the fallback is offered, and cannot do it either: arguments that change, elements that NumPy leaves open, a function as an argument,
# a dtype that depends on values
NOT_EVEN_SO = {"out in", "where=", "eig"}


def leaves(value: Any) -> list[Any]:
    return [leaf for item in value for leaf in leaves(item)] if isinstance(value, list | tuple) else [value]


def assert_same(found: Any, expected: Any) -> None:
    for one, other in zip(leaves(found), leaves(expected), strict=True):
        assert (np.shape(one), np.asarray(one).dtype) == (np.shape(other), np.asarray(other).dtype)
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", TRIED)
def test_what_new_users_try(name: str) -> None:
    function, argument, error = TRIED[name]
    if error is None:
        assert_same(eqsat.jit(function)(argument), function(copy.deepcopy(argument)))
        return
    with pytest.raises(EqsatError) as caught:
        eqsat.jit(function)(argument)
    assert type(caught.value) is error
    message = str(caught.value)
    assert "\n" not in message
    assert 20 < len(message) < 330
    assert any(word in message for word in ("expected", "use ", "write ", "supported", "outside", "convert", "do not"))
    if "Options(fallback=True)" in message and name not in NOT_EVEN_SO:
        with warnings.catch_warnings(action="ignore"):
            assert_same(eqsat.jit(function, options=eqsat.Options(fallback=True))(argument), function(copy.deepcopy(argument)))


def test_most_of_what_does_not_work_is_told() -> None:
    assert sum(error is not None for _, _, error in TRIED.values()) >= 40


def test_names_that_newer_versions_of_numpy_lack_are_there() -> None:
    """NumPy 2.5 has no row_stack, which beside others stays a name of eqsat's."""
    without = "import numpy as np; vars(np).pop('row_stack', None); import eqsat.numpy as enp; "
    code = without + "print(enp.row_stack([np.ones(2), np.zeros(2)]).shape)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "(2, 2)\n"


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.repeat(x.sum(), 2, axis=0),
        lambda x: np.cumsum(x.sum(), axis=0),
        lambda x: np.cumprod(x.sum(), axis=-1),
        lambda x: np.take(x.sum(), [0, 0], axis=0),
        lambda x: np.squeeze(x.sum(), axis=-1),
        lambda x: np.argsort(x.sum(), axis=-1),
    ],
)
def test_a_number_has_the_axis_that_numpy_gives_it(function: Callable[..., Any]) -> None:
    np.testing.assert_allclose(eqsat.jit(function)(V), function(V))
    assert np.shape(eqsat.jit(function)(V)) == np.shape(function(V))


def test_lazy_tensors_are_pickled_by_their_elements_and_traced_arrays_are_not() -> None:
    lazy = enp.asarray(X) + 1
    np.testing.assert_array_equal(np.asarray(pickle.loads(pickle.dumps(lazy)) * 2), (X + 1) * 2)
    with pytest.raises(TraceError, match="pickle"):
        eqsat.trace(lambda x: pickle.dumps(x) and x, X)


def test_arrays_like_one_of_a_size_that_is_known_at_run_time() -> None:
    spec = eqsat.spec((eqsat.dim("n", 1, 99), 3), "float32")
    plan = eqsat.optimize(lambda x: np.ones(x.shape[:1], dtype=x.dtype, like=x) + x[:, 0], spec).compile()
    np.testing.assert_array_equal(plan(np.ones((5, 3), "float32")), np.full(5, 2.0))


def test_what_is_made_of_sizes_may_be_too_large_for_places() -> None:
    spec = eqsat.spec((eqsat.dim("n", 1, 2**40),), "float64")
    with pytest.raises(UnsupportedError, match="beyond 64 bits"):
        eqsat.optimize(lambda x: np.outer(x, x).reshape(-1)[[0, -1]], spec)
