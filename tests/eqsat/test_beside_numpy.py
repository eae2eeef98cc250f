from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from eqsat.command_line.beside_numpy import Comparison, interleaved_medians, leaves, max_deviation
from eqsat.proving.deviation import deviation
from eqsat.testing import TOLERANCE


def comparison(matches: dict[str, int], found: float = 3e-7) -> Comparison:
    seconds = {"eqsat": 2e-3, "NumPy": 8e-3}
    return Comparison("f(float32[3])", (12.3e6, 900.0), (31, 1), matches, "saturated", found, 1e-5, seconds, None)


def test_deviation_is_relative_to_the_largest_magnitude() -> None:
    reference = np.array([1.0, -100.0, 0.0])
    assert deviation(reference + np.array([0.0, 0.0, 0.5]), reference) == pytest.approx(0.005)


def test_deviation_from_zeros_is_absolute() -> None:
    assert deviation(np.full(3, 0.25), np.zeros(3)) == 0.25


@pytest.mark.parametrize(
    ("value", "reference"),
    [
        (np.zeros(3), np.zeros((3, 1))),
        (np.zeros(3, np.float32), np.zeros(3)),
        (np.array([np.nan, 1.0]), np.array([0.0, 1.0])),
        (np.array([0.0, 1.0]), np.array([np.nan, 1.0])),
        (np.array([np.inf]), np.array([-np.inf])),
        (np.array([2**62 + 1]), np.array([2**62])),
        (np.array([True]), np.array([False])),
    ],
    ids=["shape", "dtype", "new-nan", "lost-nan", "sign-of-infinity", "integer", "truth-value"],
)
def test_what_no_tolerance_covers_deviates_without_bound(value: np.ndarray[Any, Any], reference: np.ndarray[Any, Any]) -> None:
    assert deviation(value, reference) == np.inf


def test_equal_infinities_and_nans_do_not_deviate() -> None:
    values = np.array([np.nan, np.inf, -np.inf, 1.0])
    assert deviation(values, values.copy()) == 0


def test_empty_arrays_do_not_deviate() -> None:
    assert deviation(np.zeros((0, 3)), np.zeros((0, 3))) == 0


def test_leaves_are_the_arrays_of_nested_containers_in_order() -> None:
    assert [int(leaf) for leaf in leaves((1, [2, {"a": 3, "b": (4,)}]))] == [1, 2, 3, 4]


def test_an_output_beyond_its_tolerance_comes_before_a_larger_deviation_within() -> None:
    single, double = np.ones(1, np.float32), np.ones(1)
    found, allowed = max_deviation((single + np.float32(5e-6), double + 1e-9), (single, double))
    assert found == pytest.approx(1e-9)
    assert allowed == TOLERANCE["float64"]


def test_another_number_of_outputs_deviates_without_bound() -> None:
    assert max_deviation((np.ones(1),), (np.ones(1), np.ones(1)))[0] == np.inf


def test_interleaved_medians_call_every_candidate_equally_often() -> None:
    calls = {"a": 0, "b": 0}

    def call(name: str) -> None:
        calls[name] += 1
        time.sleep(0.002 if name == "b" else 0)

    medians = interleaved_medians({"a": lambda: call("a"), "b": lambda: call("b")}, budget=0.0)
    assert calls["a"] == calls["b"] > 1
    assert medians["a"] < 0.002 <= medians["b"]


def test_the_table_names_cost_kernels_rules_deviation_and_times() -> None:
    shown = str(comparison({"read-of-build": 12, "fuse": 3}))
    assert shown == "\n".join(
        [
            "f(float32[3])",
            "  cost       12.3 ms -> 900 ns (estimated)",
            "  kernels    31 -> 1",
            "  rules      2 fired 15 times: read-of-build 12, fuse 3; stopped: saturated",
            "  deviation  3.0e-07 of the scale, 1e-05 allowed",
            "  time       eqsat 2 ms | NumPy 8 ms (4.0x)",
        ]
    )


def test_the_table_says_where_no_rule_fired_or_the_result_is_wrong() -> None:
    assert "none fired" in str(comparison({}))
    assert "MISMATCH" in str(comparison({}, found=1e-4))
    assert "MISMATCH" not in str(comparison({}))


def test_the_table_cuts_a_long_list_of_rules() -> None:
    assert "rule-0 1, " in str(comparison({f"rule-{k}": 1 for k in range(9)}))
    assert "rule-5 1, ...; stopped" in str(comparison({f"rule-{k}": 1 for k in range(9)}))
