"""numpy.fft for traced arrays and lazy tensors, as `eqsat.numpy.fft`: calls of NumPy within the program."""

from __future__ import annotations

from typing import Any as _Any

import numpy as _np

from eqsat.calling.functions import function as _function
from eqsat.operations.table import missing as _missing

fftfreq, rfftfreq = _np.fft.fftfreq, _np.fft.rfftfreq

fft = _function("fft.fft")
ifft = _function("fft.ifft")
rfft = _function("fft.rfft")
irfft = _function("fft.irfft")
fft2 = _function("fft.fft2")
ifft2 = _function("fft.ifft2")
rfft2 = _function("fft.rfft2")
irfft2 = _function("fft.irfft2")
fftn = _function("fft.fftn")
ifftn = _function("fft.ifftn")
rfftn = _function("fft.rfftn")
irfftn = _function("fft.irfftn")
hfft = _function("fft.hfft")
ihfft = _function("fft.ihfft")
fftshift = _function("fft.fftshift")
ifftshift = _function("fft.ifftshift")


def __getattr__(name: str) -> _Any:
    raise AttributeError(f"eqsat.numpy.{_missing('fft.' + name)}")
