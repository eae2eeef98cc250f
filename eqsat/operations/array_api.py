"""The functions of the Python array API standard, version 2024.12, and those that eqsat.numpy lacks, each with its reason."""

from __future__ import annotations

VERSION = "2024.12"

FUNCTIONS: dict[str, str] = {
    "creation": """arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril triu zeros
        zeros_like""",
    "data types": "astype can_cast finfo iinfo isdtype result_type",
    "elementwise": """abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert bitwise_or
        bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp expm1 floor floor_divide greater greater_equal
        hypot imag isfinite isinf isnan less less_equal log log1p log2 log10 logaddexp logical_and logical_not logical_or logical_xor
        maximum minimum multiply negative nextafter not_equal positive pow real reciprocal remainder round sign signbit sin sinh square
        sqrt subtract tan tanh trunc""",
    "indexing": "take take_along_axis",
    "inspection": "__array_namespace_info__",
    "linear algebra": "matmul matrix_transpose tensordot vecdot",
    "manipulation": """broadcast_arrays broadcast_to concat expand_dims flip moveaxis permute_dims repeat reshape roll squeeze stack tile
        unstack""",
    "searching": "argmax argmin count_nonzero nonzero searchsorted where",
    "sets": "unique_all unique_counts unique_inverse unique_values",
    "sorting": "argsort sort",
    "statistics": "cumulative_prod cumulative_sum max mean min prod std sum var",
    "utilities": "all any diff",
    "linalg": """linalg.cholesky linalg.cross linalg.det linalg.diagonal linalg.eigh linalg.eigvalsh linalg.inv linalg.matmul
        linalg.matrix_norm linalg.matrix_power linalg.matrix_rank linalg.matrix_transpose linalg.outer linalg.pinv linalg.qr
        linalg.slogdet linalg.solve linalg.svd linalg.svdvals linalg.tensordot linalg.trace linalg.vecdot linalg.vector_norm""",
    "fft": """fft.fft fft.ifft fft.fftn fft.ifftn fft.rfft fft.irfft fft.rfftn fft.irfftn fft.hfft fft.ihfft fft.fftfreq fft.rfftfreq
        fft.fftshift fft.ifftshift""",
}

_VALUES_DECIDE = "the shape of the result depends on values"
MISSING: dict[str, str] = {
    "nonzero": _VALUES_DECIDE,
    "unique_all": _VALUES_DECIDE,
    "unique_counts": _VALUES_DECIDE,
    "unique_inverse": _VALUES_DECIDE,
    "unique_values": _VALUES_DECIDE,
}


def names() -> list[str]:
    """The functions in order; those of extensions with their namespace."""
    return [name for text in FUNCTIONS.values() for name in text.split()]
