"""Random numbers with a key: reproducible everywhere, and distributed as they should be."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.ir.dtypes import INTEGERS
from eqsat.ir.errors import DTypeError, EqsatError, ShapeError, UsageError
from eqsat.ir.tensor import Input
from eqsat.operations.elementwise import elementwise
from eqsat.operations.random import normal_quantile
from eqsat.threads import num_threads, set_num_threads
from tests.eqsat.tracing_cases import Array, traced

random = enp.random
FLOATS = ("float16", "float32", "float64")
KEY = np.uint64(2024)
COUNT = 40_000
NORMAL = statistics.NormalDist()
DRAWN: dict[str, Callable[[Any], Any]] = {
    "split": lambda key: random.split(key, 5),
    "bits": lambda key: random.bits(key, (3, 4), "uint16"),
    "one number": lambda key: random.bits(key),
    "uniform": lambda key: random.uniform(key, (3, 4)),
    "uniform between": lambda key: random.uniform(key, 7, "float32", -2, 3.5),
    "normal": lambda key: random.normal(key, (2, 3, 4)),
    "normal around": lambda key: random.normal(key, (5,), "float16", 1.5, 2.0),
    "randint": lambda key: random.randint(key, (4, 5), -3, 1000, "int16"),
    "randint below": lambda key: random.randint(key, (4,), 7),
    "bernoulli": lambda key: random.bernoulli(key, 0.25, (9, 3)),
    "bernoulli of an array": lambda key: random.bernoulli(key, np.linspace(0, 1, 7)),
    "permutation": lambda key: random.permutation(key, 12),
}


def numbers(name: str, *args: Any, key: int = 1, **kwargs: Any) -> Array:
    return np.asarray(getattr(random, name)(random.key(key), *args, **kwargs))


def distance(values: Array, distribution: Callable[[Array], Array]) -> float:
    """The distance of Kolmogorov and Smirnov by its standard deviation: above 1.95 once in a thousand times."""
    ordered = distribution(np.sort(values.ravel().astype(np.float64)))
    steps = np.arange(ordered.size + 1) / ordered.size
    return float(max(np.max(steps[1:] - ordered), np.max(ordered - steps[:-1]))) * math.sqrt(ordered.size)


def is_even(counts: Array) -> bool:
    """Whether counts are those of equally likely things: chi squared within four standard deviations."""
    mean, free = counts.mean(), counts.size - 1
    return bool(abs(np.sum((counts - mean) ** 2) / mean - free) < 4 * math.sqrt(2 * free))


@pytest.mark.parametrize("name", DRAWN)
def test_numbers_are_the_same_by_the_interpreter_compiled_lazy_and_for_any_threads(name: str) -> None:
    function = DRAWN[name]
    key = np.asarray(KEY)
    expected = traced(function, [key])
    for found in (eqsat.jit(function)(key), np.asarray(function(key)), np.asarray(function(random.key(2024)))):
        np.testing.assert_allclose(found, expected, rtol={"float16": 1e-3, "float32": 1e-6, "float64": 1e-14}.get(expected.dtype.name, 0))
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)


@pytest.mark.parametrize("name", DRAWN)
def test_an_array_of_keys_gives_the_numbers_of_each(name: str) -> None:
    keys = random.split(random.key(3), 6).reshape((2, 3))
    found = np.asarray(DRAWN[name](keys)) if name != "bernoulli of an array" else np.asarray(random.bernoulli(keys, 0.5, 4))
    for k, place in enumerate(itertools.product(range(2), range(3))):
        one = np.asarray(keys).ravel()[k]
        alone = DRAWN[name](one) if name != "bernoulli of an array" else random.bernoulli(one, 0.5, 4)
        np.testing.assert_array_equal(found[place], np.asarray(alone))


def test_threads_and_the_program_around_do_not_change_numbers() -> None:
    function = eqsat.jit(lambda key: random.uniform(key, (300, 1000)))
    once = function(np.asarray(KEY))
    usual = num_threads()
    try:
        for count in (1, 3):
            set_num_threads(count)
            np.testing.assert_array_equal(function(np.asarray(KEY)), once)
    finally:
        set_num_threads(usual)
    x = np.random.default_rng(0).uniform(-1, 1, (300, 1000))
    around = eqsat.jit(lambda key, x: np.where(x > 0, random.uniform(key, x.shape), x))(np.asarray(KEY), x)
    np.testing.assert_array_equal(around, np.where(x > 0, once, x))


def test_a_loop_draws_by_its_counter() -> None:
    found = eqsat.jit(lambda c: eqsat.fori(4, lambda i, c: c + random.uniform(random.key(i), 5), c))(np.zeros(5))
    np.testing.assert_allclose(found, np.asarray(random.uniform(random.key(np.arange(4)), 5)).sum(axis=0))


@pytest.mark.parametrize("dtype", FLOATS)
def test_uniform_numbers(dtype: str) -> None:
    found = numbers("uniform", COUNT, dtype)
    assert found.dtype == dtype
    assert 0 <= found.min() < 0.001
    assert 0.998 < found.max() < 1
    wide = found.astype(np.float64) + (2.0**-12 if dtype == "float16" else 0)
    assert distance(wide, lambda x: x) < 1.95
    assert abs(wide.mean() - 0.5) < 4 / math.sqrt(12 * COUNT)
    assert abs(wide.var() - 1 / 12) < 4 / math.sqrt(180 * COUNT)
    bits = {"float16": 11, "float32": 24, "float64": 53}[dtype]
    assert np.all(wide * 2.0**bits % 1 == (0.5 if dtype == "float16" else 0))
    between = numbers("uniform", COUNT, dtype, low=-2, high=3)
    np.testing.assert_allclose(between, found * found.dtype.type(5) - 2, atol=4e-3 if dtype == "float16" else 1e-6)


@pytest.mark.parametrize("dtype", FLOATS)
def test_normal_numbers(dtype: str) -> None:
    found = numbers("normal", COUNT, dtype).astype(np.float64)
    assert distance(found, np.vectorize(NORMAL.cdf)) < (2.2 if dtype == "float16" else 1.95)
    assert abs(found.mean()) < 4 / math.sqrt(COUNT)
    assert abs(found.var() - 1) < 4 * math.sqrt(2 / COUNT)
    assert abs((found**3).mean()) < 4 * math.sqrt(15 / COUNT)
    assert abs((found**4).mean() - 3) < 4 * math.sqrt(96 / COUNT)
    moved = numbers("normal", COUNT, dtype, loc=3, scale=0.5)
    np.testing.assert_allclose(moved, found * 0.5 + 3, rtol={"float16": 2e-3, "float32": 1e-6, "float64": 1e-14}[dtype])


def quantiles(p: Array) -> Array:
    """What a program makes of probabilities."""
    x = Input("p", p.shape, p.dtype.name)
    tensor = elementwise("quantile", (x,), lambda a: normal_quantile(a, p.dtype.name))
    found: Array = eqsat.optimize(eqsat.Program((x,), (tensor,)), options=eqsat.Options(numerics="exact"))(p)
    return found


@pytest.mark.parametrize(("dtype", "smallest", "error"), [("float64", 53, 2e-15), ("float32", 24, 4e-7)])
def test_the_normal_quantile_is_that_of_the_standard_library(dtype: str, smallest: int, error: float) -> None:
    tails = 2.0 ** -np.arange(1.0, smallest + 1, 0.25)
    middle = np.linspace(0.001, 0.999, 1999)
    p = np.unique(np.concatenate([tails[tails >= 2.0**-smallest], middle, 1 - 2.0 ** -np.arange(1.0, min(smallest, 52) + 1)]).astype(dtype))
    p = p[(p > 0) & (p < 1)]
    expected = np.array([NORMAL.inv_cdf(float(value)) for value in p])
    np.testing.assert_allclose(quantiles(p), expected, rtol=error, atol=0)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_in_a_range(dtype: str) -> None:
    low = 0 if dtype.startswith("u") else -5
    found = numbers("randint", COUNT, low, low + 23, dtype)
    assert found.dtype == dtype
    assert set(found.tolist()) == set(range(low, low + 23))
    assert is_even(np.unique(found, return_counts=True)[1])
    info = np.iinfo(dtype)
    widest = numbers("randint", COUNT, info.min, info.max + 1, dtype).astype(np.float64)
    assert distance((widest - float(info.min) + 0.5) / 2.0**info.bits, lambda x: x) < (2.5 if info.bits == 8 else 1.95)
    assert set(numbers("randint", 50, info.max, info.max + 1, dtype).tolist()) == {info.max}


def test_truth_values_with_a_probability() -> None:
    for p in (0.0, 0.01, 0.5, 1.0, 1, np.float32(0.25)):
        share = numbers("bernoulli", p, COUNT).mean()
        assert abs(share - p) <= 4 * math.sqrt(float(p) * (1 - float(p)) / COUNT)
    chances = np.linspace(0, 1, 11)
    found = np.asarray(random.bernoulli(random.split(random.key(4), 4000), chances))
    assert found.shape == (4000, 11)
    assert found.dtype == bool
    assert np.all(np.abs(found.mean(axis=0) - chances) <= 4 * np.sqrt(chances * (1 - chances) / 4000))


def test_permutations_are_equally_likely() -> None:
    found = np.asarray(random.permutation(random.split(random.key(5), 12_000), 4))
    assert np.all(np.sort(found, axis=1) == np.arange(4))
    orders, counts = np.unique(found, axis=0, return_counts=True)
    assert len(orders) == 24
    assert is_even(counts)
    assert np.asarray(random.permutation(random.key(5), 0)).shape == (0,)


def test_keys_have_nothing_to_do_with_each_other() -> None:
    seeds = np.asarray(random.uniform(random.key(np.arange(100)), 1000))
    keys = np.asarray(random.uniform(random.split(random.key(0), 100), 1000))
    for rows in (seeds, keys, np.stack([seeds[0], keys[0]])):
        correlation = np.corrcoef(rows)[np.triu_indices(len(rows), 1)]
        assert np.max(np.abs(correlation)) < 5 / math.sqrt(1000)
        assert abs(correlation.mean()) < 4 / math.sqrt(1000 * correlation.size)
    for rows in (seeds, keys):
        assert distance(rows[:, 0], lambda x: x) < 1.95
        neighbours = np.corrcoef(rows[:, :-1].ravel(), rows[:, 1:].ravel())[0, 1]
        assert abs(neighbours) < 4 / math.sqrt(rows.size)


def test_keys_are_no_numbers_that_were_drawn() -> None:
    key = random.key(9)
    drawn = np.asarray(random.bits(key, 50_000))
    keys = np.asarray(random.split(key, 50_000))
    assert np.unique(np.concatenate([drawn, keys])).size == 100_000


@pytest.mark.parametrize(
    "seed", [0, 7, -1, 2**63, 2**64 - 1, True, np.int32(-3), np.array([[1, 2]], np.int8), np.arange(3, dtype=np.uint64), [1, 2]]
)
def test_a_key_is_its_seed(seed: Any) -> None:
    found = np.asarray(random.key(seed))
    expected = np.asarray(seed, np.uint64) if isinstance(seed, int) and seed >= 2**63 else np.asarray(seed).astype(np.uint64)
    assert found.dtype == np.uint64
    np.testing.assert_array_equal(found, expected)


ANY: Any = random
REFUSED: dict[str, tuple[Callable[[], Any], type[EqsatError], str]] = {
    "a seed as a key": (lambda: random.uniform(7), DTypeError, "random.key"),
    "a negative extent": (lambda: random.bits(KEY, (2, -1)), ShapeError, "-1"),
    "an extent that is no integer": (lambda: random.bits(KEY, 2.5), UsageError, "2.5"),
    "bits of floats": (lambda: random.bits(KEY, 3, "float32"), DTypeError, "uint8"),
    "uniform integers": (lambda: random.uniform(KEY, 3, "int64"), DTypeError, "float16"),
    "a scale that is infinite": (lambda: random.normal(KEY, 3, scale=float("inf")), UsageError, "scale"),
    "an empty range": (lambda: random.randint(KEY, 3, 5, 5), UsageError, "low < high"),
    "a range that does not fit": (lambda: random.randint(KEY, 3, 0, 257, "uint8"), UsageError, "256"),
    "integers of floats": (lambda: random.randint(KEY, 3, 0, 2, "float64"), DTypeError, "integer"),
    "a permutation of nothing known": (lambda: ANY.permutation(KEY, 2.5), UsageError, "n 2.5"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_is_refused(what: str) -> None:
    function, error, text = REFUSED[what]
    with pytest.raises(error, match=text):
        function()
