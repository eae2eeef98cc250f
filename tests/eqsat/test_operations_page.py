"""docs/operations.md is what the table gives, and eqsat.numpy covers the array API standard but for what has a reason."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.capture.tracing import trace
from eqsat.operations import array_api
from eqsat.operations.document import PAGE, PROBES, covered, lacks, page, public, takes
from eqsat.operations.table import ALIASES, OPERATIONS


def test_the_page_is_what_the_table_gives() -> None:
    assert PAGE.read_text() == page(), "stale: run `python -m eqsat.operations.document`"


@pytest.mark.parametrize("name", public())
def test_every_operation_takes_some_dtype_and_is_a_name_of_eqsat_numpy(name: str) -> None:
    assert list(takes(name)), f"{name} takes no dtype: does it need a row in PROBES?"
    found = enp
    for part in name.split("."):
        found = getattr(found, part)
    assert callable(found)


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cumulative_sum", "cumulative_prod", "bincount", "linalg.norm", "linalg.inv"])
def test_of_the_functions_of_the_host_those_are_compiled_that_the_page_names(name: str) -> None:
    dtype, shape = ("int64", (20,)) if name == "bincount" else ("float32", (20,) if name.startswith("cumul") else (20, 20))
    function: Any = enp
    for part in name.split("."):
        function = getattr(function, part)
    call = functools.partial(function, minlength=9) if name == "bincount" else function
    names = [kernel.name for kernel in eqsat.optimize(lambda x: call(x), eqsat.spec(shape, dtype)).compile().kernels]
    assert any(name in kernel for kernel in names) == (name == "linalg.inv")


def test_dtypes_and_parameters_are_found_by_trying() -> None:
    assert list(takes("subtract")) == ["int", "float", "complex"]
    assert list(takes("bitwise_and")) == ["bool", "int"]
    assert list(lacks("cov")) == ["`fweights=`", "`aweights=`"]
    assert not list(lacks("sum"))
    assert set(PROBES) <= {*OPERATIONS, *ALIASES}


def test_the_standard_is_covered_but_for_what_has_a_reason() -> None:
    names = array_api.names()
    assert len(names) == len(set(names)) == 171
    missing = [name for name in names if name not in covered()]
    assert missing == [name for name in names if name in array_api.MISSING]
    assert len(covered()) >= 0.85 * len(names)


def test_questions_about_dtypes_are_numpys() -> None:
    def asked(x: Any) -> Any:
        assert enp.result_type(x, "float64", 1) == np.float64
        assert enp.can_cast(x, "float64")
        assert not enp.can_cast(x, "int32")
        assert enp.isrealobj(x)
        assert enp.iscomplexobj(x * 1j)
        return x

    trace(asked, np.ones(2, np.float32))
    assert enp.__array_namespace_info__().default_dtypes()["integral"] == np.int64
    assert enp.isrealobj(np.ones(2))
    assert not enp.iscomplexobj(np.ones(2))
    assert enp.isdtype(np.dtype("int8"), "integral")
    assert enp.finfo("float32").bits == 32
    assert enp.iinfo("int8").max == 127


def test_arrays_of_other_libraries_are_taken() -> None:
    np.testing.assert_array_equal(np.asarray(enp.from_dlpack(np.arange(6.0)) * 2), np.arange(6.0) * 2)
