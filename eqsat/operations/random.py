"""Random numbers as functions of a key and of the place in the result: Threefry-2x32 of the key and the number of the element.

So they are compiled like other elementwise operations, and do not depend on threads or fusion.  Keys are uint64; a key array gives one set
of numbers for each of its keys, in the leading axes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from eqsat.ir.dtypes import dtype_name, integer_range, is_integer
from eqsat.ir.errors import DTypeError, ShapeError, UsageError
from eqsat.ir.index import Index, Var
from eqsat.ir.tensor import Arg, Call, Position, Scalar, Shape, Tensor, axes
from eqsat.operations.elementwise import astype, call, cast, elementwise
from eqsat.operations.generic import broadcast_map, integer, integers, literal, make_generic, tensor_of
from eqsat.operations.host import host_call

# bits that a float between 0 and 1 is made of
BITS = {"float16": 11, "float32": 24, "float64": 53}
# keys are numbered from here, so that no key is a number that was drawn
KEYS = 1 << 63
# Wichura's rational approximations to the normal quantile (algorithms AS 241, PPND16 and PPND7): numerators and denominators, highest
# power first, of the middle, of the tails, and of what is further out, in sqrt(-log p)
MIDDLE, FIRST, SECOND = 0.425, 1.6, 5.0
Ratio = tuple[tuple[float, ...], tuple[float, ...]]
QUANTILE: dict[str, tuple[Ratio, ...]] = {
    "float64": (
        (
            (
                *(2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457),
                *(13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.387132872796366608),
            ),
            (
                *(5226.495278852854561, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867),
                *(5394.1960214247511077, 687.1870074920579083, 42.313330701600911252, 1.0),
            ),
        ),
        (
            (
                *(7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177, 1.27045825245236838258),
                *(3.64784832476320460504, 5.7694972214606914055, 4.6303378461565452959, 1.42343711074968357734),
            ),
            (
                *(1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966, 0.14810397642748007459),
                *(0.68976733498510000455, 1.6763848301838038494, 2.05319162663775882187, 1.0),
            ),
        ),
        (
            (
                *(2.01033439929228813265e-7, 2.71155556874348757815e-5, 0.0012426609473880784386, 0.026532189526576123093),
                *(0.29656057182850489123, 1.7848265399172913358, 5.4637849111641143699, 6.6579046435011037772),
            ),
            (
                *(2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5, 7.868691311456132591e-4),
                *(0.0148753612908506148525, 0.13692988092273580531, 0.59983220655588793769, 1.0),
            ),
        ),
    ),
    "float32": (
        ((59.10937472, 159.29113202, 50.434271938, 3.3871327179), (67.18756360, 78.757757664, 17.895169469, 1.0)),
        ((0.17023821103, 1.3067284816, 2.75681539, 1.4234372777), (0.12021132975, 0.7370016425, 1.0)),
    ),
}


def _drawn(key: Any, shape: Sequence[int], block: Callable[[Scalar], Scalar], first: int = 0) -> Tensor:
    """block(64 random bits) at every place of a shape, for every key."""
    keys = _keys(key)
    loops = axes((*keys.shape, *shape))
    own = loops[len(keys.shape) :]
    counter: Scalar = cast(Position(_number(own), "int64"), "uint64") if own else literal(0, "uint64")
    if first:
        counter = call("add", counter, literal(first, "uint64"))
    word = Call("threefry", (Arg(0, "uint64"), counter), "uint64")
    return make_generic((*keys.shape, *shape), (), (keys,), (broadcast_map(keys.shape, loops[: len(keys.shape)]),), block(word))


def _keys(key: Any) -> Tensor:
    keys = tensor_of("random", key)
    if keys.dtype != "uint64":
        raise DTypeError(f"random: found a key of dtype {keys.dtype}, expected uint64 as random.key and random.split give them")
    return keys


def _number(loops: Sequence[Var]) -> Index:
    """The number of a place, the last axis counting fastest."""
    total: Index = loops[0]
    for loop in loops[1:]:
        total = total * loop.extent + loop
    return total


def _shape(name: str, shape: Any) -> Shape:
    found = integers(name, "shape", shape)
    if any(n < 0 for n in found):
        raise ShapeError(f"{name}: found the shape {found}, expected extents of 0 or more")
    return found


def _float(name: str, dtype: Any) -> str:
    found = dtype_name(dtype, name)
    if found not in BITS:
        raise DTypeError(f"{name}: found dtype {found}, expected one of {', '.join(BITS)}")
    return found


def key(seed: Any) -> Tensor:
    """The key of a seed: an integer, or an array of them."""
    return astype(tensor_of("random.key", seed), "uint64")


def split(key: Any, num: Any = 2) -> Tensor:
    """Keys whose numbers have nothing to do with each other or with those of `key`: the shape of `key` and an axis of `num`."""
    return _drawn(key, _shape("random.split", integer("random.split", "num", num)), lambda word: word, KEYS)


def bits(key: Any, shape: Any = (), dtype: Any = "uint64") -> Tensor:
    """Random bits: every value of an unsigned integer dtype is equally likely."""
    found = dtype_name(dtype, "random.bits")
    if not found.startswith("u"):
        raise DTypeError(f"random.bits: found dtype {found}, expected uint8, uint16, uint32 or uint64")
    return _drawn(key, _shape("random.bits", shape), lambda word: cast(_highest(word, 8 * np.dtype(found).itemsize), found))


def _highest(word: Scalar, count: int) -> Scalar:
    return word if count == 64 else call("right_shift", word, literal(64 - count, "uint64"))


def _fraction(word: Scalar, count: int, dtype: str, offset: float = 0.0) -> Scalar:
    """(k + offset) / 2^count for the highest `count` bits k, without rounding."""
    number = cast(cast(_highest(word, count), "int64" if count > 31 else "int32"), dtype)
    number = call("add", number, literal(offset, dtype)) if offset else number
    return call("multiply", number, literal(2.0**-count, dtype))


def uniform(key: Any, shape: Any = (), dtype: Any = "float64", low: float = 0.0, high: float = 1.0) -> Tensor:
    """Numbers in low <= x < high, multiples of (high - low) / 2^11, 2^24 or 2^53 above low; rounding may give `high` where low is not 0."""
    found = _float("random.uniform", dtype)
    low, high = _finite("random.uniform", "low", low), _finite("random.uniform", "high", high)

    def block(word: Scalar) -> Scalar:
        fraction = _fraction(word, BITS[found], found)
        scaled = fraction if high - low == 1 else call("multiply", fraction, literal(high - low, found))
        return scaled if low == 0 else call("add", scaled, literal(low, found))

    return _drawn(key, _shape("random.uniform", shape), block)


def _finite(name: str, what: str, value: Any) -> float:
    if not isinstance(value, int | float | np.number) or not np.isfinite(value):
        raise UsageError(f"{name}: found {what} {value!r}, expected a finite number")
    return float(value)


def normal(key: Any, shape: Any = (), dtype: Any = "float64", loc: float = 0.0, scale: float = 1.0) -> Tensor:
    """Normally distributed numbers with this mean and standard deviation: the quantile of a uniform number, with a relative error of about
    1e-16 in float64 and 1e-7 in float32, in which float16 is computed; up to 8.2, 5.4 and 5.4 standard deviations from the mean."""
    found = _float("random.normal", dtype)
    loc, scale = _finite("random.normal", "loc", loc), _finite("random.normal", "scale", scale)
    inside = "float64" if found == "float64" else "float32"

    def block(word: Scalar) -> Scalar:
        value = normal_quantile(_fraction(word, BITS[inside] - 1, inside, 0.5), inside)
        value = value if scale == 1 else call("multiply", value, literal(scale, inside))
        return cast(value if loc == 0 else call("add", value, literal(loc, inside)), found)

    return _drawn(key, _shape("random.normal", shape), block)


def normal_quantile(p: Scalar, dtype: str) -> Scalar:
    """The number that a normally distributed one is below with probability p, for 2^-53 <= p <= 1 - 2^-53 (2^-24 in float32)."""
    middle, tail, *far = QUANTILE[dtype]
    q = call("subtract", p, literal(0.5, dtype))
    inner = call("subtract", literal(MIDDLE * MIDDLE, dtype), call("multiply", q, q))
    below = call("less", q, literal(0.0, dtype))
    least = call("where", below, p, call("subtract", literal(1.0, dtype), p))
    root = call("sqrt", call("negative", call("log", least)))
    outer = _ratio(tail, call("subtract", root, literal(FIRST, dtype)), dtype)
    for ratio in far:
        far_out = _ratio(ratio, call("subtract", root, literal(SECOND, dtype)), dtype)
        outer = call("where", call("greater", root, literal(SECOND, dtype)), far_out, outer)
    outer = call("where", below, call("negative", outer), outer)
    near = call("less_equal", call("absolute", q), literal(MIDDLE, dtype))
    return call("where", near, call("multiply", q, _ratio(middle, inner, dtype)), outer)


def _ratio(ratio: Ratio, x: Scalar, dtype: str) -> Scalar:
    """A quotient of polynomials."""
    values = []
    for coefficients in ratio:
        value: Scalar = literal(coefficients[0], dtype)
        for coefficient in coefficients[1:]:
            value = call("add", call("multiply", value, x), literal(coefficient, dtype))
        values.append(value)
    return call("divide", *values)


def randint(key: Any, shape: Any = (), low: Any = 0, high: Any = None, dtype: Any = "int64") -> Tensor:
    """Integers in low <= x < high, all equally likely but for (high - low) / 2^64; without `high` those in 0 <= x < low, as in NumPy."""
    found = dtype_name(dtype, "random.randint")
    first, end = integer("random.randint", "low", low), None if high is None else integer("random.randint", "high", high)
    first, end = (0, first) if end is None else (first, end)
    if not is_integer(found):
        raise DTypeError(f"random.randint: found dtype {found}, expected an integer dtype")
    least, greatest = integer_range(found)
    if not least <= first < end <= greatest + 1:
        raise UsageError(f"random.randint: found low = {first} and high = {end}, expected low < high in {least}..{greatest + 1}")

    def block(word: Scalar) -> Scalar:
        inside = word if end - first == 2**64 else call("remainder", word, literal(end - first, "uint64"))
        return cast(call("add", inside, literal(first % 2**64, "uint64")), found)

    return _drawn(key, _shape("random.randint", shape), block)


def bernoulli(key: Any, p: Any = 0.5, shape: Any = None) -> Tensor:
    """True with probability p, a number or an array; its shape where none is given."""
    chance = tensor_of("random.bernoulli", p)
    drawn = uniform(key, chance.shape if shape is None else shape)
    return elementwise("random.bernoulli", (drawn, chance), lambda a, b: call("less", a, cast(b, "float64")))


def permutation(key: Any, n: Any) -> Tensor:
    """0 .. n-1 in a random order, every order equally likely."""
    drawn = bits(key, _shape("random.permutation", integer("random.permutation", "n", n)))
    found: Tensor = host_call("argsort", (drawn, len(drawn.shape) - 1), {})  # no two are equal
    return found


OPERATIONS: dict[str, Callable[..., Any]] = {
    "random_key": key,
    "random_split": split,
    "random_bits": bits,
    "random_uniform": uniform,
    "random_normal": normal,
    "random_randint": randint,
    "random_bernoulli": bernoulli,
    "random_permutation": permutation,
}
