"""Random numbers with a key, as `eqsat.numpy.random`, compiled with the program around them.

    key = random.key(7)
    first, second = random.split(key)
    x = random.normal(first, (256, 64), "float32")

A number depends on its key and its place alone (Threefry-2x32), so a key is used once and split where more are needed.  Keys are uint64
arrays, of which each gives numbers of its own.  Results are lazy tensors, or traced arrays where the key is one.

On every machine, for every number of threads and in every program they are the same: keys, bits, integers, truth values, permutations and
uniform numbers below 1 to the last bit, normal ones and those of other ranges up to rounding, which `Options.numerics` is about.
"""

from __future__ import annotations

from typing import Any

from eqsat.calling.functions import array as _array
from eqsat.capture.traces import apply as _apply


def key(seed: Any) -> Any:
    """The key of a seed: an integer in the range of int64 or uint64, or an array of integers."""
    return _apply("random_key", _array(seed))


def split(key: Any, num: int = 2) -> Any:
    """`num` keys whose numbers have nothing to do with each other or with those of `key`: uint64, of the shape of `key` and `num`."""
    return _apply("random_split", _array(key), num)


def bits(key: Any, shape: Any = (), dtype: Any = "uint64") -> Any:
    """Random bits: every value of an unsigned integer dtype is equally likely."""
    return _apply("random_bits", _array(key), shape, dtype)


def uniform(key: Any, shape: Any = (), dtype: Any = "float64", low: float = 0.0, high: float = 1.0) -> Any:
    """Numbers in low <= x < high, equally likely, in float16, float32 or float64; where low is not 0, rounding may give `high`."""
    return _apply("random_uniform", _array(key), shape, dtype, low, high)


def normal(key: Any, shape: Any = (), dtype: Any = "float64", loc: float = 0.0, scale: float = 1.0) -> Any:
    """Normally distributed numbers with the mean `loc` and the standard deviation `scale`, in float16, float32 or float64; they end at
    8.2 standard deviations, in float16 and float32 at 5.4."""
    return _apply("random_normal", _array(key), shape, dtype, loc, scale)


def randint(key: Any, shape: Any = (), low: int = 0, high: int | None = None, dtype: Any = "int64") -> Any:
    """Integers in low <= x < high, equally likely to within (high - low) / 2^64; without `high` those in 0 <= x < low."""
    return _apply("random_randint", _array(key), shape, low, high, dtype)


def bernoulli(key: Any, p: Any = 0.5, shape: Any = None) -> Any:
    """bool, True with probability p: a number or an array, whose shape the result has where none is given."""
    return _apply("random_bernoulli", _array(key), p, shape)


def permutation(key: Any, n: int) -> Any:
    """0 .. n-1 in a random order, int64; all orders are equally likely."""
    return _apply("random_permutation", _array(key), n)
