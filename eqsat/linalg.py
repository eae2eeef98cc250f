"""numpy.linalg for traced arrays and lazy tensors, as `eqsat.numpy.linalg`: calls of NumPy within the program."""

from __future__ import annotations

from typing import Any as _Any

from eqsat.calling.functions import function as _function
from eqsat.operations.table import missing as _missing

inv = _function("linalg.inv")
solve = _function("linalg.solve")
det = _function("linalg.det")
slogdet = _function("linalg.slogdet")
cholesky = _function("linalg.cholesky")
qr = _function("linalg.qr")
svd = _function("linalg.svd")
svdvals = _function("linalg.svdvals")
eigh = _function("linalg.eigh")
eigvalsh = _function("linalg.eigvalsh")
pinv = _function("linalg.pinv")
lstsq = _function("linalg.lstsq")
tensorinv = _function("linalg.tensorinv")
tensorsolve = _function("linalg.tensorsolve")
matrix_rank = _function("linalg.matrix_rank")
matrix_power = _function("linalg.matrix_power")
cond = _function("linalg.cond")
norm = _function("linalg.norm")
vector_norm = _function("linalg.vector_norm")
matrix_norm = _function("linalg.matrix_norm")
matmul = _function("linalg.matmul")
tensordot = _function("linalg.tensordot")
multi_dot = _function("linalg.multi_dot")
vecdot = _function("linalg.vecdot")
outer = _function("linalg.outer")
cross = _function("linalg.cross")
diagonal = _function("linalg.diagonal")
trace = _function("linalg.trace")
matrix_transpose = _function("linalg.matrix_transpose")


def __getattr__(name: str) -> _Any:
    raise AttributeError(f"eqsat.numpy.{_missing('linalg.' + name)}")
