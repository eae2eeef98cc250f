"""Random programs with NumPy's names, for the tests of whole programs.

A program is a list of steps, each the Python source of one call on the values before it, so that what fails prints as code.
Steps are drawn beside the arrays that they give: the value of every step decides what may follow.

Float results carry a scale, the largest magnitude that went into them, of which TOLERANCE says what each dtype may lose.  A value that
every order of operations computes without rounding is `exact`; only such values decide something (comparisons, floors, integers, divisors).
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

import eqsat.numpy as enp
from eqsat.ir.dtypes import DTYPES as EVERY_DTYPE, is_complex, is_inexact, is_integer, promote
from eqsat.testing import TOLERANCE, assert_close
from tests.eqsat.tracing_cases import Array, sample

# NumPy adds up bfloat16 in bfloat16, of which nothing is left to compare
DTYPES = tuple(dtype for dtype in EVERY_DTYPE if dtype != "bfloat16")
SHAPES = [(4, 6), (2, 3, 4), (12,), (3, 1), (1, 5), (2, 1, 3), (1,), ()]
LARGEST_SIZE = 48
LARGEST_RANK = 5
MOST_STEPS = 6
# numbers below the limit that are multiples of one by the parts are exact, and so are quarters of quarters of a float32, and their sums
EXACT_LIMIT, EXACT_PARTS = {"float16": 2.0**8}, {"float16": 2.0**2}


@dataclass(frozen=True)
class Value:
    """What a step gives: its array, whether it is free of rounding, the magnitude that rounding is relative to, and the
    part of that which was lost on the way."""

    array: Array
    exact: bool
    scale: float
    lost: float = 0.0

    @property
    def dtype(self) -> str:
        name: str = self.array.dtype.name
        return name

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.array.shape
        return shape


@dataclass(frozen=True)
class RandomProgram:
    """Called with arrays, numpy's or traced ones, it gives the values of `outputs`."""

    arrays: tuple[Array, ...]
    steps: tuple[str, ...]
    outputs: tuple[int, ...]
    values: tuple[Value, ...]

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        values = list(arrays)
        for step in self.steps:
            values.append(evaluated(step, values))
        return tuple(values[k] for k in self.outputs)

    def check(self, found: Sequence[Array], what: str) -> None:
        """Assert that the arrays are NumPy's: dtypes, shapes, and values to what dtypes lose of their scale."""
        for position, (array, k) in enumerate(zip(found, self.outputs, strict=True)):
            expected = self.values[k]
            name = f"{what}, output {position} (v{k})"
            assert (array.dtype, array.shape) == (expected.array.dtype, expected.shape), f"{name}: {array.dtype}{array.shape}"
            tolerance = max(TOLERANCE.get(expected.dtype, 0.0), expected.lost)
            assert_close(array, expected.array, tolerance * max(1.0, expected.scale / magnitude(expected.array)), name)

    def __repr__(self) -> str:
        inputs = [f"v{k} = {a.dtype}{list(a.shape)}" for k, a in enumerate(self.arrays)]
        steps = [f"v{k} = {step}" for k, step in enumerate(self.steps, start=len(self.arrays))]
        return "\n".join([*inputs, *steps, f"return {', '.join(f'v{k}' for k in self.outputs)}"])


def evaluated(step: str, values: Sequence[Any]) -> Any:
    """The value of one step."""
    names = {f"v{k}": value for k, value in enumerate(values)}
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        return eval(step, {"enp": enp, "np": np}, names)


def magnitude(array: Array) -> float:
    """The largest finite magnitude; never zero."""
    finite = np.abs(array[np.isfinite(array)].astype(np.promote_types(array.dtype, np.float64)))
    return float(np.max(finite, initial=1e-30))


def _is_coarse(array: Array) -> bool:
    """Whether few bits hold every element, so that sums and products of some of them do not round."""
    if not is_inexact(array.dtype.name):
        return True
    limit, parts = EXACT_LIMIT.get(array.dtype.name, 2.0**12), EXACT_PARTS.get(array.dtype.name, 2.0**6)
    wide = array.astype(np.promote_types(array.dtype, np.float64)) * parts
    return bool(np.all(np.isfinite(wide)) and np.all(wide == np.round(wide)) and np.all(np.abs(wide) < limit * parts))


def quarters(shape: tuple[int, ...], dtype: str, seed: int) -> Array:
    """Small values without zeros, signed where the dtype is; floats are multiples of a quarter."""
    array = np.asarray(sample(shape, dtype, seed))
    return np.asarray(np.round(array * 4) / 4, dtype) if is_inexact(dtype) else array


class Drawing:
    """A program being drawn; `empty`: of arrays that may have no elements, so steps that NumPy refuses are left out."""

    def __init__(self, draw: st.DrawFn, empty: bool = False) -> None:
        self.draw = draw
        self.empty = empty
        self.values: list[Value] = []
        self.steps: list[str] = []

    def pick(self, options: Sequence[Any]) -> Any:
        """One of the options; 0 where there are none, of an axis without elements."""
        return self.draw(st.sampled_from(options)) if options else 0

    def add(self, array: Array) -> None:
        self.values.append(Value(array, _is_coarse(array), magnitude(array)))

    def step(self, source: str, *read: int, gain: float = 1.0) -> bool:
        """Append a step that reads these values, unless its result is too large or too much rounding goes into it."""
        try:
            array = np.asarray(evaluated(source, [value.array for value in self.values]))
        except (ValueError, IndexError, ZeroDivisionError):
            if not self.empty:
                raise
            return False
        before = [self.values[k] for k in read]
        rounds = "divide" in source and is_complex(array.dtype.name)  # parts of quotients are quotients of sums of products
        exact = all(value.exact for value in before) and _is_coarse(array) and not rounds
        scale = magnitude(array)
        if is_inexact(array.dtype.name) and not all(value.exact for value in before):
            scale = max(scale, gain * math.prod(max(1.0, value.scale) for value in before))
        if array.ndim > LARGEST_RANK or array.size > LARGEST_SIZE or array.dtype.name not in DTYPES or scale > 1e6 * magnitude(array):
            return False
        self.steps.append(source)
        lost = 0.0 if exact else max([TOLERANCE.get(array.dtype.name, 0.0), *(value.lost for value in before)])
        self.values.append(Value(array, exact, scale, lost))
        return True

    def choose(self, fits: Callable[[Value], bool] = lambda value: True) -> int | None:
        """A value that fits, the latest preferred, as chains are what fusion is about."""
        found = [k for k, value in enumerate(self.values) if fits(value) and (value.array.size or self.empty)]
        return self.pick([found[-1], found[-1], *found]) if found else None


def movement(drawing: Drawing) -> bool:
    """Elements in another order, taken from or repeated."""
    k = drawing.choose()
    if k is None:
        return False
    shape, rank, x = drawing.values[k].shape, len(drawing.values[k].shape), f"v{k}"
    axis = drawing.pick(range(-rank, rank)) if rank else 0
    sources = [
        f"enp.reshape({x}, {drawing.pick(factorizations(math.prod(shape)))})",
        f"enp.expand_dims({x}, {drawing.pick(range(rank + 1))})",
        f"enp.ravel({x})",
        f"enp.squeeze({x})",
        f"enp.flip({x})",
        f"enp.broadcast_to({x}, {(drawing.pick([1, 2, 3]), *(drawing.pick([1, 3]) if n == 1 else n for n in shape))})",
        f"enp.transpose({x}, {tuple(drawing.draw(st.permutations(range(rank))))})",
        f"enp.roll({x}, {drawing.pick([-3, 1, 2])})",
        f"enp.tile({x}, {drawing.pick([1, 2, (2, 1), (1, 2)])})",
        f"enp.repeat({x}, {drawing.pick([1, 2, 3])})",
        f"enp.pad({x}, {drawing.pick([0, 1, (1, 2), (0, 1)])}, constant_values={drawing.pick([0, 1])})",
        f"enp.concatenate(({x}, {x}), axis=None)",
        f"enp.stack([{x}, {x}])",
    ]
    if rank:
        sources += [
            f"enp.roll({x}, {drawing.pick([-3, 1, 2])}, {axis})",
            f"enp.repeat({x}, {drawing.pick([1, 2])}, {axis})",
            f"enp.concatenate([{x}, enp.flip({x}), {x}], {axis})",
            f"enp.concat([{x}, enp.ones({shape}, {drawing.values[k].dtype!r})], {axis})",
            f"enp.stack([{x}, enp.flip({x})], {axis})",
        ]
    sources += [f"enp.atleast_2d({x})", f"enp.atleast_3d({x})", f"enp.append({x}, {x})", f"enp.block([{x}, {x}])"]
    if rank:
        sources += [
            f"enp.pad({x}, {drawing.pick([1, (0, 2), (3, 1)])}, {drawing.pick(['edge', 'wrap', 'reflect', 'symmetric'])!r})",
            f"enp.delete({x}, {drawing.pick(range(shape[axis]))}, {axis})",
            f"enp.insert({x}, {drawing.pick(range(shape[axis] + 1))}, 2, {axis})",
            f"enp.array_split({x}, 2, {axis})[0]",
            f"enp.unstack({x}, axis={axis})[-1]",
            f"enp.hstack([{x}, {x}])",
            f"enp.vstack([{x}, {x}])",
            f"enp.flipud({x})",
            f"enp.repeat({x}, {[(3 * k + 1) % 3 for k in range(shape[axis])]}, {axis})",
        ]
    if rank:
        slices = ", ".join(_slice(drawing, n) for n in shape)
        sources += [f"enp.flip({x}, {axis})", f"{x}[{slices}]", f"{x}[{slices}]", f"{x}[{drawing.pick(range(-shape[0], shape[0]))}]"]
    if rank > 1:
        other = drawing.pick(range(-rank, rank))
        sources += [
            f"enp.permute_dims({x}, {tuple(reversed(range(rank)))})",
            f"enp.matrix_transpose({x})",
            f"enp.tril({x}, {drawing.pick([-1, 0, 2])})",
            f"enp.triu({x}, {drawing.pick([-1, 0, 2])})",
            f"enp.swapaxes({x}, {axis}, {other})",
            f"enp.moveaxis({x}, {axis}, {other})",
            f"enp.rot90({x}, {drawing.pick([-1, 1, 2])})",
            f"enp.diagonal({x}, {drawing.pick([0, 1])})",
        ]
    return drawing.step(drawing.pick(sources), k)


def _slice(drawing: Drawing, extent: int) -> str:
    """Text of a slice of a dimension, hardly ever an empty one."""
    if extent == 1:
        return drawing.pick([":", "::-1"])  # type: ignore[no-any-return]
    lo = drawing.pick(range(extent))
    step = drawing.pick([1, 1, 2, 3, -1, -2])
    length = drawing.pick(range(1, extent)) if drawing.pick(range(20)) else 0
    if step > 0:
        return f"{lo}:{min(lo + length, extent)}:{step}"
    return f"{lo}:{lo - length if lo >= length else ''}:{step}"


@functools.cache
def factorizations(size: int) -> tuple[tuple[int, ...], ...]:
    """Every way to write `size` as an ordered product of factors of two or more; (1, 1) for one."""
    found = [(n, *rest) for n in range(2, size + 1) if size % n == 0 for rest in (factorizations(size // n) if n < size else ((),))]
    return tuple(found) or ((1, 1),)


def unary(drawing: Drawing) -> bool:
    """An elementwise operation on one value."""
    k = drawing.choose()
    if k is None:
        return False
    value, x = drawing.values[k], f"v{k}"
    sources = [f"enp.abs({x})", f"enp.absolute({x})", f"enp.copy({x})", f"enp.zeros_like({x})", f"enp.ones_like({x})"]
    sources += [f"enp.full_like({x}, 2)", f"enp.asarray({x})"]
    sources += [f"enp.conj({x})", f"enp.conjugate({x})", f"enp.real({x})", f"enp.imag({x})", f"{x}.real"]
    sources += [f"enp.astype({x}, {dtype!r})" for dtype in DTYPES if is_inexact(dtype) or value.exact]
    if not is_inexact(value.dtype):
        sources += [f"enp.invert({x})", f"enp.bitwise_invert({x})", f"~{x}", f"{x} << 2", f"{x} >> 1", f"{x} & 5", f"6 ^ {x}", f"{x} | {x}"]
        sources += [f"{x} < {number}" for number in (300, -1, 2**40)]
    if is_complex(value.dtype):
        sources += [f"-{x}", f"enp.square({x})", f"{x} * (1 - 2j)", f"1 / ({x} * {x} + 2)", f"{x} - 2", f"3 * {x}", f"{x}.imag"]
    elif value.dtype != "bool":
        sources += [f"-{x}", f"enp.negative({x})", f"enp.positive({x})", f"enp.square({x})", f"{x}**3", f"enp.power({x}, 2)"]
        sources += [f"enp.tanh({x} * 0.25)", f"enp.exp(enp.minimum({x}, 0.5))", f"enp.log(enp.abs({x}) + 1)"]
        sources += [f"enp.sqrt({x} * {x} + 1)", f"1 / ({x} * {x} + 2)"]
        sources += [f"enp.{name}({x})" for name in ("exp", "log", "sqrt", "tanh") if value.exact and magnitude(value.array) < 50]
        sources += _functions(x, value)
        sources += [f"enp.add({x}, 0.5)", f"{x} - 2", f"3 * {x}", f"enp.maximum({x}, 0)"]
    if value.exact:
        sources += [f"enp.logical_not({x})", f"{x} > 0"]
    source = drawing.pick(sources)
    degree = max((power for part, power in {"**3": 3, "square": 2, "power": 2, f"{x} * {x}": 2}.items() if part in source), default=1)
    return drawing.step(source, *[k] * degree, gain=2)


# functions that do not magnify an error of their argument by much
SMOOTH = ["sin", "cos", "atan", "arctan", "tanh", "arcsinh", "asinh", "erf", "sinc", "deg2rad", "radians"]
# functions of what is exact, where they may be steep
STEEP = ["exp2", "expm1", "sinh", "cosh", "tan", "rad2deg", "degrees", "cbrt"]
# made to fit their domain, [-1, 1] or what is positive
WITHIN = ["arcsin", "asin", "arccos", "acos"]
POSITIVE = ["log2", "log10", "log1p"]
# steps, and what halves and zeros decide
STEPS = [
    *("floor", "ceil", "trunc", "fix", "rint", "round", "around", "sign", "signbit", "fabs", "reciprocal"),
    *("isnan", "isinf", "isfinite", "nan_to_num"),
]


def _functions(x: str, value: Value) -> list[str]:
    """Functions of one value that is no bool."""
    sources = [f"enp.{name}({x})" for name in SMOOTH]
    sources += [f"enp.{name}(enp.tanh({x}) * 0.5)" for name in (*WITHIN, "arctanh", "atanh")]
    sources += [f"enp.{name}(enp.abs({x}) + 1.25)" for name in (*POSITIVE, "arccosh", "acosh")]
    sources += [f"enp.hypot({x}, 1.5)", f"enp.clip({x}, -2, 3)", f"enp.logaddexp({x}, 1.5)", f"enp.logaddexp2({x}, 1.5)"]
    sources += [f"enp.power(enp.abs({x}) + 1.25, 1.5)", f"enp.pow(enp.abs({x}) + 1.25, -0.5)", f"enp.fmax({x}, 0)", f"enp.fmin({x}, 1)"]
    if value.exact:
        sources += [f"enp.{name}({x})" for name in STEPS]
        sources += [f"enp.{name}({x})" for name in STEEP if magnitude(value.array) < 50]
        sources += [f"enp.isclose({x}, 2)", f"enp.allclose({x}, 2)", f"enp.heaviside({x}, 0.5)", f"enp.copysign(2.0, {x})"]
        sources += [f"enp.divmod({x}, 3)[0]", f"enp.fmod({x}, 3)", f"enp.nextafter({x}, 1)", f"enp.float_power({x}, 2)"]
        sources += [f"enp.arctan2({x}, 2)", f"enp.atan2(3, {x})", f"enp.logical_xor({x}, 1)"]
    return sources


def binary(drawing: Drawing) -> bool:
    """An elementwise operation on two values that broadcast."""
    k = drawing.choose()
    if k is None:
        return False
    first = drawing.values[k]
    j = drawing.choose(lambda value: _broadcast(value.shape, first.shape))
    assert j is not None
    if drawing.pick([False, True]):
        k, j = j, k
    a, b, x, y = drawing.values[k], drawing.values[j], f"v{k}", f"v{j}"
    both = promote(a.dtype, b.dtype)
    names = ["add", "multiply"]
    names += ["maximum", "minimum"] if not is_complex(both) or (a.exact and b.exact) else []
    bools = [value.dtype == "bool" for value in (a, b)]
    names += [] if all(bools) else ["subtract"]
    if not is_inexact(both):
        names += ["bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "bitwise_left_shift", "bitwise_right_shift"]
    if a.exact and b.exact:
        names += ["less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "logical_and", "logical_or"]
        if not any(bools) and np.all(b.array != 0):
            names += ["divide", "true_divide", *(() if is_complex(both) else ("floor_divide", "remainder", "mod"))]
    sources = [f"enp.{name}({x}, {y})" for name in names]
    sources += [f"{x} {symbol} {y}" for symbol in ("+", "*", *(() if all(bools) else ("-",)))]
    if a.exact:
        sources += [f"enp.where({x}, {y}, 0)", f"enp.where({x} > 0, {y}, {x})"]
    return drawing.step(drawing.pick(sources), k, j, gain=2)


def reduction(drawing: Drawing) -> bool:
    """A fold over one, several or all axes, now and then kept as dimensions of one."""
    k = drawing.choose()
    if k is None:
        return False
    rank = len(drawing.values[k].shape)
    subsets = [tuple(sorted(drawing.draw(st.sets(st.sampled_from(range(rank)))))) if rank else (), None, *range(-rank, rank)]
    ordered = drawing.values[k].exact or not is_complex(drawing.values[k].dtype)
    exact = ("any", "all", "count_nonzero", "prod", *(() if drawing.values[k].dtype == "bool" else ("ptp",)))
    names = ["sum", "sum", "nansum", "mean", *(("max", "min", "amax", "amin", "nanmax", "nanmin") if ordered else ())]
    name = drawing.pick([*names, *(exact if drawing.values[k].exact else ())])
    keep = drawing.pick(["", "", ", keepdims=True", ", where=True"]) if name not in ("count_nonzero", "ptp", "prod") else ""
    return drawing.step(f"enp.{name}(v{k}, axis={drawing.pick(subsets)}{keep})", k, gain=drawing.values[k].array.size)


def product(drawing: Drawing) -> bool:
    """A matrix product of two values, or of one with an array that the program holds."""
    k = drawing.choose(lambda value: bool(value.shape) and value.dtype != "bool")
    if k is None:
        return False
    shape, x = drawing.values[k].shape, f"v{k}"
    j = drawing.choose(lambda value: len(value.shape) > 0 and value.dtype != "bool" and _multiplies(shape, value.shape))
    if j is not None:
        return drawing.step(drawing.pick([f"enp.matmul({x}, v{j})", f"{x} @ v{j}"]), k, j, gain=shape[-1])
    inner, outer = shape[-1], shape[-2] if len(shape) > 1 else shape[-1]
    constant = drawing.pick(
        [
            f"enp.arange({inner * 2}, dtype='float32').reshape({inner}, 2)",
            f"enp.eye({inner}, k={drawing.pick([-1, 0, 1])}, dtype='float32')",
            f"enp.full(({inner}, 2), 3, dtype='int32')",
            f"enp.zeros(({inner}, 1), dtype='float32')",
        ]
    )
    squared = [f"enp.matmul({x}, enp.matrix_transpose({x}))"] if len(shape) > 1 else [f"{x} @ {x}", f"enp.outer({x}, {x})"]
    squared += [f"enp.vecdot({x}, {x})", f"enp.inner({x}, {x})", f"enp.einsum('...i,...i->...', {x}, {x})"]
    picked = drawing.pick([f"{x} @ {constant}", f"enp.matmul(np.ones({outer}, 'int32'), {x})", *squared])
    return drawing.step(picked, k, k, gain=2.0 * inner * inner)


def _multiplies(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return b[-2:][0] == a[-1] and _broadcast(a[:-2], b[:-2])


def _broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return all(m == n or 1 in (m, n) for m, n in zip(reversed(a), reversed(b), strict=False))


def call(drawing: Drawing) -> bool:
    """A library function on whole arrays, of values whose order is known."""
    k = drawing.choose(lambda value: bool(value.shape) and (value.exact or not is_complex(value.dtype)))
    if k is None:
        return False
    value, x = drawing.values[k], f"v{k}"
    axis = drawing.pick(range(-len(value.shape), len(value.shape)))
    sources = [f"enp.sort({x})", f"enp.sort({x}, {axis})", f"enp.sort({x}, axis={axis}, descending=True)", f"enp.cumsum({x}, {axis})"]
    sources += [f"enp.partition({x}, 0, {axis})[..., 0]" if axis in (-1, len(value.shape) - 1) else f"enp.sort({x}, axis=None)"]
    sources += [f"enp.cumulative_sum({x}, axis={axis}, include_initial=True)"]
    if value.exact:
        sources += [f"enp.argsort({x}, {axis}, stable=True)", f"enp.argsort({x}, axis=None, descending=True, kind='stable')"]
        sources += [f"enp.searchsorted(enp.sort(enp.ravel({x})), {x}, side='right')"]
        sources += [f"enp.cumprod({x}, {axis})", f"enp.cumulative_prod({x}, axis={axis})"]
    if value.exact and value.dtype != "bool" and not is_complex(value.dtype):
        sources += [f"enp.{name}({x}, {axis})" for name in ("median", "nanmedian")]
        sources += [f"enp.{name}({x}, [25, 75], {axis})" for name in ("percentile", "nanpercentile")]
        sources += [f"enp.{name}({x}, 0.5, {axis})" for name in ("quantile", "nanquantile")]
    return drawing.step(drawing.pick(sources), k, gain=value.array.size)


def taking(drawing: Drawing) -> bool:
    """Elements at places that another array, or the value itself, says."""
    k = drawing.choose(lambda value: bool(value.shape) and value.array.size > 0)
    if k is None:
        return False
    value, x = drawing.values[k], f"v{k}"
    axis = drawing.pick(range(-len(value.shape), len(value.shape)))
    n = value.shape[axis]
    places = drawing.draw(st.lists(st.integers(-n, n - 1), min_size=1, max_size=3))
    sources = [f"enp.take({x}, {places}, {axis})", f"{x}[..., {[place % value.shape[-1] for place in places]}]"]
    j = drawing.choose(lambda other: is_integer(other.dtype) and other.exact)
    if j is not None:
        sources += [f"enp.take({x}, v{j}, {axis}, mode={drawing.pick(['wrap', 'clip'])!r})", f"{x}[v{j} % {value.shape[0]}]"]
    if value.exact:
        sources += [f"enp.take_along_axis({x}, enp.argmax({x}, {axis}, keepdims=True), {axis})", f"enp.argmin({x}, {axis})"]
        sources += [f"enp.select([{x} > 1, {x} < 0], [{x}, {x}], 3)", f"enp.diff({x}, axis={axis})"]
    read = [k, j] if j is not None else [k]
    return drawing.step(drawing.pick(sources), *read, gain=2)


KINDS = (movement, movement, unary, binary, reduction, product, call, taking)


def _appended(drawing: Drawing, most_steps: int) -> RandomProgram:
    """The program with up to `most_steps` operations on the inputs that it has, and one to three of the values as results."""
    draw, inputs = drawing.draw, len(drawing.values)
    for _ in range(draw(st.integers(2, most_steps))):
        drawing.pick(KINDS)(drawing)
    last = len(drawing.values) - 1
    others = draw(st.lists(st.integers(0, last), max_size=2))
    arrays = tuple(value.array for value in drawing.values[:inputs])
    return RandomProgram(arrays, tuple(drawing.steps), tuple(dict.fromkeys([last, *others])), tuple(drawing.values))


@st.composite
def programs(draw: st.DrawFn, most_steps: int = MOST_STEPS) -> RandomProgram:
    """One to three inputs, operations that fit each other, and results."""
    drawing = Drawing(draw)
    for _ in range(draw(st.integers(1, 3))):
        shape, dtype = draw(st.sampled_from(SHAPES)), draw(st.sampled_from(DTYPES))
        drawing.add(quarters(shape, dtype, draw(st.integers(0, 3))))
    return _appended(drawing, most_steps)


LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "as it is": lambda array: array.copy(),
    "every second": lambda array: np.repeat(array, 2, axis=-1)[..., ::2] if array.ndim else array.copy(),
    "backwards": lambda array: np.flip(np.flip(array).copy()),
    "by columns": lambda array: np.array(array, order="F"),
    "misaligned": lambda array: np.frombuffer(b"x" + array.tobytes(), array.dtype, offset=1).reshape(array.shape).view(),
    "read-only": lambda array: np.broadcast_to(array, array.shape),
    "broadcast": lambda array: np.broadcast_to(array[:1], array.shape) if array.ndim and _repeats(array) else array.copy(),
}


def _repeats(array: Array) -> bool:
    return array.size > 0 and bool(np.all(array == array[:1]))


@dataclass(frozen=True)
class LaidOut:
    """A program, its arrays as they lie in memory, and arrays for its results, if it is to write them."""

    program: RandomProgram
    arrays: tuple[Array, ...]
    out: tuple[Array, ...] | None

    def __repr__(self) -> str:
        places = [f"v{k}: strides {a.strides}, {'writeable' if a.flags.writeable else 'read-only'}" for k, a in enumerate(self.arrays)]
        return "\n".join([*places, f"out: {self.out is not None}", repr(self.program)])


@st.composite
def laid_out_programs(draw: st.DrawFn, most_steps: int = MOST_STEPS) -> LaidOut:
    """Programs of arrays that lie in memory in any way, some the same memory or without elements, which write new arrays or given ones."""
    drawing = Drawing(draw, empty=True)
    for k in range(draw(st.integers(1, 3))):
        shared = [value.array for value in drawing.values if value.array.ndim]
        if k and shared and draw(st.integers(0, 3)) == 0:
            array = draw(st.sampled_from(shared))
            drawing.add(draw(st.sampled_from([array, array[::-1], array.T, array[:1], array[..., ::-1]])))
        else:
            shape, dtype = draw(st.sampled_from([*SHAPES, (0, 3), (2, 0), (0,)])), draw(st.sampled_from(DTYPES))
            drawing.add(quarters(shape, dtype, draw(st.integers(0, 3))))
    program = _appended(drawing, most_steps)
    arrays = [LAYOUTS[draw(st.sampled_from(sorted(LAYOUTS)))](array) for array in program.arrays]
    if draw(st.integers(0, 2)) == 0:
        arrays = _in_one_memory(program.arrays)
    out = [_room(draw, program.values[k].array, arrays) for k in program.outputs] if draw(st.booleans()) else None
    return LaidOut(program, tuple(arrays), None if out is None else tuple(out))


def _in_one_memory(arrays: Sequence[Array]) -> list[Array]:
    """Copies of arrays; those that share memory share it again."""
    copies: dict[int, Array] = {}
    found = []
    for array in arrays:
        owner = array if array.base is None or not isinstance(array.base, np.ndarray) else array.base
        copy = copies.setdefault(id(owner), owner.copy())
        offset = array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
        found.append(np.ndarray(array.shape, array.dtype, copy, offset, array.strides) if owner.size else array.copy())
    return found


def _room(draw: st.DrawFn, result: Array, arrays: Sequence[Array]) -> Array:
    """An array for a result: new, of every second element, or in the memory of an argument."""
    same = [array for array in arrays if (array.shape, array.dtype) == (result.shape, result.dtype) and array.flags.writeable]
    kind = draw(st.integers(0, 2))
    if kind == 0 and same:
        return draw(st.sampled_from(same))
    fresh = np.full_like(result, 7)
    return np.repeat(fresh, 2, axis=-1)[..., ::2] if kind == 1 and fresh.ndim else fresh
