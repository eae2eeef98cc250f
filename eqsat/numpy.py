"""NumPy's names for traced arrays and lazy tensors: `import eqsat.numpy as enp`.

On traced arrays an operation records a step of the program, on lazy tensors (`enp.asarray`) what to compute when asked; on plain numpy
arrays it is numpy's function of the same name.
"""

from __future__ import annotations

import sys as _sys
from builtins import bool as _bool
from collections.abc import Callable
from inspect import signature as _signature
from types import SimpleNamespace as _Namespace
from typing import Any

import numpy as _np

from eqsat import fft as fft, linalg as linalg, random as random
from eqsat.calling.functions import array as _array, creation as _creation, function as _function
from eqsat.calling.joined_by_items import Columns as _Columns, Rows as _Rows
from eqsat.calling.lazy import asarray as _lazy
from eqsat.capture.array import TracedArray as _TracedArray
from eqsat.capture.traces import apply as _apply, traced_deep as _traced_deep
from eqsat.ir.host import host_function as _host_function
from eqsat.operations import creation as _make
from eqsat.operations.table import OPERATIONS as _operations, check_neutral as _check_keywords, missing as _missing

bool = bool_ = _np.bool_
int8, int16, int32, int64 = _np.int8, _np.int16, _np.int32, _np.int64
uint8, uint16, uint32, uint64 = _np.uint8, _np.uint16, _np.uint32, _np.uint64
float16, float32, float64 = _np.float16, _np.float32, _np.float64
complex64, complex128 = _np.complex64, _np.complex128
finfo, iinfo, isdtype = _np.finfo, _np.iinfo, _np.isdtype
newaxis = _np.newaxis
e, inf, nan, pi = _np.e, _np.inf, _np.nan, _np.pi
bartlett, blackman, hamming, hanning, kaiser = _np.bartlett, _np.blackman, _np.hamming, _np.hanning, _np.kaiser
indices, ix_, diag_indices, tril_indices, triu_indices = _np.indices, _np.ix_, _np.diag_indices, _np.tril_indices, _np.triu_indices
broadcast_shapes, promote_types = _np.broadcast_shapes, _np.promote_types


add = _function("add")
subtract = _function("subtract")
multiply = _function("multiply")
divide = _function("divide")
true_divide = _function("true_divide")
floor_divide = _function("floor_divide")
remainder = _function("remainder")
mod = _function("mod")
divmod = _function("divmod")
fmod = _function("fmod")
power = _function("power")
pow = _function("pow")
float_power = _function("float_power")
reciprocal = _function("reciprocal")
negative = _function("negative")
positive = _function("positive")
absolute = _function("absolute")
abs = _function("abs")
sign = _function("sign")
signbit = _function("signbit")
copysign = _function("copysign")
nextafter = _function("nextafter")
spacing = _function("spacing")
fabs = _function("fabs")
floor = _function("floor")
ceil = _function("ceil")
trunc = _function("trunc")
modf = _function("modf")
fix = _function("fix")
rint = _function("rint")
round = _function("round")
around = _function("around")
clip = _function("clip")
nan_to_num = _function("nan_to_num")
isnan = _function("isnan")
isposinf = _function("isposinf")
isneginf = _function("isneginf")
isinf = _function("isinf")
isfinite = _function("isfinite")
isclose = _function("isclose")
allclose = _function("allclose")
heaviside = _function("heaviside")
bitwise_count = _function("bitwise_count")
packbits = _function("packbits")
unpackbits = _function("unpackbits")
gcd = _function("gcd")
lcm = _function("lcm")
ldexp = _function("ldexp")
frexp = _function("frexp")
sqrt = _function("sqrt")
square = _function("square")
exp = _function("exp")
log = _function("log")
tanh = _function("tanh")
exp2 = _function("exp2")
expm1 = _function("expm1")
log2 = _function("log2")
log10 = _function("log10")
log1p = _function("log1p")
logaddexp = _function("logaddexp")
logaddexp2 = _function("logaddexp2")
cbrt = _function("cbrt")
hypot = _function("hypot")
sin = _function("sin")
cos = _function("cos")
tan = _function("tan")
arcsin = _function("arcsin")
asin = _function("asin")
arccos = _function("arccos")
acos = _function("acos")
arctan = _function("arctan")
atan = _function("atan")
arctan2 = _function("arctan2")
atan2 = _function("atan2")
sinh = _function("sinh")
cosh = _function("cosh")
arcsinh = _function("arcsinh")
asinh = _function("asinh")
arccosh = _function("arccosh")
acosh = _function("acosh")
arctanh = _function("arctanh")
atanh = _function("atanh")
sinc = _function("sinc")
i0 = _function("i0")
deg2rad = _function("deg2rad")
radians = _function("radians")
rad2deg = _function("rad2deg")
degrees = _function("degrees")
erf = _function("erf")
maximum = _function("maximum")
minimum = _function("minimum")
fmax = _function("fmax")
fmin = _function("fmin")
where = _function("where")
less = _function("less")
less_equal = _function("less_equal")
greater = _function("greater")
greater_equal = _function("greater_equal")
equal = _function("equal")
not_equal = _function("not_equal")
logical_and = _function("logical_and")
logical_or = _function("logical_or")
logical_xor = _function("logical_xor")
logical_not = _function("logical_not")
bitwise_and = _function("bitwise_and")
bitwise_or = _function("bitwise_or")
bitwise_xor = _function("bitwise_xor")
invert = _function("invert")
bitwise_not = _function("bitwise_not")
left_shift = _function("left_shift")
right_shift = _function("right_shift")
bitwise_left_shift = _function("bitwise_left_shift")
bitwise_right_shift = _function("bitwise_right_shift")
bitwise_invert = _function("bitwise_invert")
conjugate = _function("conjugate")
conj = _function("conj")
real = _function("real")
angle = _function("angle")
isreal = _function("isreal")
iscomplex = _function("iscomplex")
imag = _function("imag")
sum = _function("sum")
max = _function("max")
min = _function("min")
amax = _function("amax")
amin = _function("amin")
mean = _function("mean")
prod = _function("prod")
any = _function("any")
all = _function("all")
count_nonzero = _function("count_nonzero")
argmax = _function("argmax")
argmin = _function("argmin")
var = _function("var")
std = _function("std")
ptp = _function("ptp")
average = _function("average")
nansum = _function("nansum")
nanprod = _function("nanprod")
nanargmax = _function("nanargmax")
nanargmin = _function("nanargmin")
nanmax = _function("nanmax")
nanmin = _function("nanmin")
nanmean = _function("nanmean")
nanvar = _function("nanvar")
nanstd = _function("nanstd")
matmul = _function("matmul")
matvec = _function("matvec")
vecmat = _function("vecmat")
vecdot = _function("vecdot")
dot = _function("dot")
vdot = _function("vdot")
inner = _function("inner")
outer = _function("outer")
tensordot = _function("tensordot")
einsum = _function("einsum")
kron = _function("kron")
cross = _function("cross")
trace = _function("trace")
diagonal = _function("diagonal")
diag = _function("diag")
diagflat = _function("diagflat")
take = _function("take")
take_along_axis = _function("take_along_axis")
choose = _function("choose")
compress = _function("compress")
extract = _function("extract")
select = _function("select")
reshape = _function("reshape")
ravel = _function("ravel")
transpose = _function("transpose")
permute_dims = _function("permute_dims")
matrix_transpose = _function("matrix_transpose")
swapaxes = _function("swapaxes")
moveaxis = _function("moveaxis")
flip = _function("flip")
broadcast_to = _function("broadcast_to")
expand_dims = _function("expand_dims")
squeeze = _function("squeeze")
pad = _function("pad")
concatenate = _function("concatenate")
concat = _function("concat")
stack = _function("stack")
roll = _function("roll")
tile = _function("tile")
repeat = _function("repeat")
tril = _function("tril")
triu = _function("triu")
split = _function("split")
array_split = _function("array_split")
hsplit = _function("hsplit")
vsplit = _function("vsplit")
dsplit = _function("dsplit")
unstack = _function("unstack")
hstack = _function("hstack")
vstack = _function("vstack")
row_stack = vstack  # which NumPy 2.5 has no longer
dstack = _function("dstack")
column_stack = _function("column_stack")
block = _function("block")
append = _function("append")
delete = _function("delete")
insert = _function("insert")
broadcast_arrays = _function("broadcast_arrays")
meshgrid = _function("meshgrid")
rot90 = _function("rot90")
fliplr = _function("fliplr")
flipud = _function("flipud")
rollaxis = _function("rollaxis")
lib = _Namespace(stride_tricks=_Namespace(sliding_window_view=_function("lib.stride_tricks.sliding_window_view")))
atleast_1d = _function("atleast_1d")
atleast_2d = _function("atleast_2d")
atleast_3d = _function("atleast_3d")
diff = _function("diff")
ediff1d = _function("ediff1d")
unwrap = _function("unwrap")
gradient = _function("gradient")
cov = _function("cov")
corrcoef = _function("corrcoef")
trapezoid = _function("trapezoid")
polyval = _function("polyval")
polyadd = _function("polyadd")
polysub = _function("polysub")
polyder = _function("polyder")
polyint = _function("polyint")
polyfit = _function("polyfit")
isin = _function("isin")
resize = _function("resize")
unravel_index = _function("unravel_index")
ravel_multi_index = _function("ravel_multi_index")
array_equal = _function("array_equal")
array_equiv = _function("array_equiv")
diag_indices_from = _function("diag_indices_from")
tril_indices_from = _function("tril_indices_from")
triu_indices_from = _function("triu_indices_from")
shape, ndim, size = _function("shape"), _function("ndim"), _function("size")
result_type = _function("result_type")
can_cast = _function("can_cast")
iscomplexobj = _function("iscomplexobj")
isrealobj = _function("isrealobj")
convolve = _function("convolve")
correlate = _function("correlate")
arange = _creation("arange", _make.arange, to_fill=False)
eye = _creation("eye", _make.eye)
zeros = _creation("zeros", _make.zeros)
ones = _creation("ones", _make.ones)
full = _creation("full", _make.full)
empty = _creation("empty", _make.zeros)
identity = _creation("identity", _make.identity)
tri = _function("tri")
linspace = _function("linspace")
logspace = _function("logspace")
geomspace = _function("geomspace")
vander = _function("vander")
astype = _function("astype")
copy = _function("copy")
zeros_like = _function("zeros_like")
ones_like = _function("ones_like")
full_like = _function("full_like")
empty_like = _function("empty_like")
partition = _function("partition")
argpartition = _function("argpartition")
cumsum = _function("cumsum")
cumprod = _function("cumprod")
nancumsum = _function("nancumsum")
nancumprod = _function("nancumprod")
cumulative_sum = _function("cumulative_sum")
cumulative_prod = _function("cumulative_prod")
searchsorted = _function("searchsorted")
digitize = _function("digitize")
interp = _function("interp")
bincount = _function("bincount")
histogram = _function("histogram")
histogram2d = _function("histogram2d")
histogram_bin_edges = _function("histogram_bin_edges")
lexsort = _function("lexsort")
sort_complex = _function("sort_complex")
median = _function("median")
percentile = _function("percentile")
quantile = _function("quantile")
nanmedian = _function("nanmedian")
nanpercentile = _function("nanpercentile")
nanquantile = _function("nanquantile")


def sort(a: Any, axis: Any = -1, *, descending: _bool = False, **how: Any) -> Any:
    """numpy.sort, on traced arrays as well, and `descending` of the array API: the reverse, NaN first."""
    return _ordered("sort", a, axis, descending, how)


def argsort(a: Any, axis: Any = -1, *, descending: _bool = False, **how: Any) -> Any:
    """numpy.argsort, on traced arrays as well, and `descending` of the array API; equal elements stay in order where the sort is stable."""
    return _ordered("argsort", a, axis, descending, how)


def _ordered(name: str, x: Any, axis: Any, descending: _bool, how: dict[str, Any]) -> Any:
    if isinstance(x, _TracedArray):
        return _apply(name, x, axis, descending=descending, **how)
    found = _host_function(name).call
    return found(_np.ravel(x) if axis is None else _np.asarray(x), 0 if axis is None else axis, descending, **how)


def topk(x: Any, k: int, axis: int = -1, largest: _bool = True) -> Any:
    """The k greatest (or least) elements along an axis, the most extreme first, and their int64 places; of equal ones the first.

    NaN counts as the greatest, as in numpy.sort.  Traced, or lazy on a numpy array.
    """
    return _apply("topk", _array(x), k, axis, largest)


def _beside_numpy(name: str) -> Callable[..., Any]:
    """An operation that NumPy lacks; of numpy arrays it is a lazy tensor."""
    implementation = _operations[name]

    def function(x: Any, *args: Any, **kwargs: Any) -> Any:
        return _apply(name, _array(x), *args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = implementation.__doc__
    function.__signature__ = _signature(implementation)  # type: ignore[attr-defined]  # what inspect and help() show
    return function


conv1d = _beside_numpy("conv1d")
conv2d = _beside_numpy("conv2d")
conv3d = _beside_numpy("conv3d")
maxpool1d = _beside_numpy("maxpool1d")
maxpool2d = _beside_numpy("maxpool2d")
maxpool3d = _beside_numpy("maxpool3d")
avgpool1d = _beside_numpy("avgpool1d")
avgpool2d = _beside_numpy("avgpool2d")
avgpool3d = _beside_numpy("avgpool3d")
scatter = _beside_numpy("scatter")
scatter_add = _beside_numpy("scatter_add")


def from_dlpack(x: Any, /) -> Any:
    """A lazy tensor of the elements of an array of another library, on the CPU."""
    return _lazy(_np.from_dlpack(x))


def __array_namespace_info__() -> Any:
    """What the array API standard asks about dtypes and devices: NumPy's answers."""
    return _np.__array_namespace_info__()


def asarray(a: Any, dtype: Any = None, *, copy: _bool | None = None, order: str | None = None) -> Any:
    """A lazy tensor of the elements of an array or nested lists (eqsat.calling.lazy.asarray says what that means); traced arrays and lazy
    tensors as they are, or cast to `dtype`.  What is computed never shares memory with what it was made of, and lies in C order."""
    _check_keywords("asarray", copy=copy, order=order)
    if not isinstance(a, _TracedArray):
        return _lazy(a, dtype)
    cast = a if dtype is None else a.astype(dtype)
    found = a if cast.dtype == a.dtype else cast
    return found.copy() if copy and found is a else found


asanyarray = asarray


def ascontiguousarray(a: Any, dtype: Any = None) -> Any:
    """asarray of one axis at least, which shares memory with an array that lies in C order, as NumPy's does; with others it may."""
    found = asarray(a, dtype)
    if not isinstance(a, _TracedArray):
        return found
    return found if found.memory.is_whole and found.ndim else found.reshape(found.shape or (1,))


def asfortranarray(a: Any, dtype: Any = None) -> Any:
    """asarray: a copy of what NumPy has in C order only; with others it may share memory.  What is computed lies in C order."""
    found = asarray(a, dtype)
    if not isinstance(a, _TracedArray):
        return found
    return found.copy() if found.memory.is_whole and found.ndim > 1 else found.reshape(found.shape)


r_, c_ = _Rows(), _Columns()


def require(a: Any, dtype: Any = None, requirements: Any = None) -> Any:
    """asarray: what is computed lies in C order, is aligned, writeable and owns its memory, so NumPy's names of these ask for nothing more;
    UnsupportedError for Fortran's order."""
    _make.check_requirements(requirements)
    return asarray(a, dtype)


def array(object: Any, dtype: Any = None, *, copy: _bool | None = True, order: str | None = None) -> Any:
    """asarray, also of nested lists of traced arrays and numbers, which are stacked; a copy, unless `copy` says that none is needed."""
    _check_keywords("array", copy=copy, order=order)
    if isinstance(object, list | tuple) and any(True for _ in _traced_deep(object)):
        found = _apply("stack", [array(part) for part in object])
        return found if dtype is None else found.astype(dtype)
    found = asarray(object, dtype)
    return found.copy() if copy and found is object and isinstance(found, _TracedArray) else found


def __getattr__(name: str) -> Any:
    """What NumPy has besides: on traced arrays its functions say what to use instead."""
    if name.startswith("_") or not hasattr(_np, name):
        raise AttributeError(f"eqsat.numpy.{_missing(name)}")
    return getattr(_np, name)


_TracedArray.namespace = _sys.modules[__name__]
