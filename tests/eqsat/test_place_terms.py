"""Places that are computed are equal places, with the divisions gone that bounds decide."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import eqsat
import eqsat.numpy as enp
from eqsat.algebra.gathers import clipped
from eqsat.algebra.place_terms import simple_place
from eqsat.ir.evaluate import evaluate_tensor
from eqsat.ir.index import Index, Var
from eqsat.ir.places import PLACE, place_at
from eqsat.ir.tensor import Build, Call, Input, Position, Read, Scalar, axis, scalars
from tests.effort import examples

SHAPE = (6, 5)
R, J = axis(0, 6), axis(1, 5)
P, Q = Var("p", 0, 19), Var("q", 0, 6)


def element(name: str, extent: int) -> Scalar:
    """An element of an array, clipped to a dimension."""
    return clipped(Call("astype", (Read(Input(name, (6,), "int32"), (R,)),), PLACE), extent)


ELEMENTS: dict[Var, Scalar] = {P: element("p", 20), Q: element("q", 7)}


def place(index: Index) -> Scalar:
    found = place_at(index, ELEMENTS)
    assert found is not None
    return found


def values(scalar: Scalar) -> Any:
    rng = np.random.default_rng(5)
    inputs = {Input(name, (6,), "int32"): rng.integers(-3, 23, 6).astype("int32") for name in "pq"}
    return evaluate_tensor(Build(SHAPE, scalar), inputs)


def divisions(scalar: Scalar) -> int:
    return sum(isinstance(term, Call) and term.op in ("floor_divide", "remainder") for term in scalars(scalar))


@pytest.mark.parametrize(
    ("index", "left"),
    [
        ((R * 60 + P * 3 + J % 3) // 3 % 20, 0),
        ((R * 60 + P * 3 + J % 3) % 3, 0),
        ((R * 60 + P * 3 + J % 3) // 180 * 2, 0),  # of the loop alone
        ((R * 60 + P * 3 + J % 3) // 60 % 3, 0),
        ((P * 6 + R) // 6, 0),
        ((P * 6 + R) % 12, 1),  # p % 2 of an element
        ((P * 7 + Q + 1) // 7, 1),  # q + 1 may be 7
        ((P * 7 + Q) // 7 + (P * 7 + Q) % 7, 0),
        (((P * 7 + Q) * 5 + J) // 35, 0),
        ((P - 20) // 20, 0),
    ],
)
def test_divisions_that_bounds_decide_are_gone(index: Index, left: int) -> None:
    written = place(index)
    found = simple_place(written)
    assert divisions(found) == left
    np.testing.assert_array_equal(values(found), values(written))


def test_a_place_without_elements_is_an_index() -> None:
    assert isinstance(simple_place(place((R * 60 + P * 3) // 60)), Position)


def test_places_that_may_be_any_number_stay() -> None:
    raw = Call("astype", (Read(Input("p", (6,), "int32"), (R,)),), PLACE)
    far = Call("multiply", (Read(Input("n", (6,), "int64"), (R,)), Read(Input("n", (6,), "int64"), (R,))), PLACE)
    for scalar, index in ((raw, (P * 7 + Q) // 7), (far, (P * 7 + Q) // 7)):
        written = place_at(index, {P: scalar, Q: ELEMENTS[Q]})
        assert written is not None
        if scalar is far:  # a product that may not fit
            assert simple_place(written) is written
        else:
            np.testing.assert_array_equal(values(simple_place(written)), values(written))


@st.composite
def indices(draw: st.DrawFn) -> Index:
    """Sums of multiples, divided again and again."""
    atoms = [R, J, P, Q]
    term: Index = draw(st.sampled_from(atoms)) * draw(st.sampled_from([1, 2, 3, 5, 6, 7, 20, 60]))
    for _ in range(draw(st.integers(1, 5))):
        kind = draw(st.sampled_from(["add", "add", "sub", "div", "mod", "mul"]))
        number = draw(st.sampled_from([2, 3, 5, 6, 7, 12, 20, 35, 60, 140]))
        if kind == "div":
            term = term // number
        elif kind == "mod":
            term = term % number
        elif kind == "mul":
            term = term * number
        else:
            other = draw(st.sampled_from(atoms)) * draw(st.sampled_from([1, 2, 3, 7, 20])) + draw(st.integers(-3, 3))
            term = term + other if kind == "add" else term - other
    return term


@settings(max_examples=examples(600), deadline=None, derandomize=True, database=None)
@given(indices())
def test_any_place_is_an_equal_one(index: Index) -> None:
    written = place(index)
    found = simple_place(written)
    assert divisions(found) <= divisions(written)
    np.testing.assert_array_equal(values(found), values(written))


@pytest.mark.parametrize("shape", [(22, 27, 25, 3), (4, 6, 25, 2)])
def test_what_is_taken_of_reshaped_arrays_is_read_where_it_is(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    x, places = rng.standard_normal(shape).astype(np.float32), rng.integers(-20, 20, 6).astype(np.int32)

    def taken(np: Any, x: Any, places: Any) -> Any:
        rows = np.reshape(x[::2, :, 3:23], (-1, 20, shape[-1]))
        return np.take(rows, places, axis=1)

    result = eqsat.optimize(lambda *a: taken(enp, *a), x, places)
    np.testing.assert_array_equal(result(x, places), taken(np, x, places))
    assert not any("%" in line and "clip" in line for kernel in result.loops for line in str(kernel).split("\n"))
