"""Programs by other definitions: what changes, and nothing else; functions in the place of reads, without capture."""

from __future__ import annotations

import numpy as np

from eqsat.ir.definitions import in_order, index_pairs, inlined, redefined, with_inlined
from eqsat.ir.evaluate import evaluate
from eqsat.ir.tensor import Build, Call, Input, Literal, Position, Program, Read, Reduce, Scalar, Tensor, axes, axis, reduction

X = Input("x", (3, 4), "int64")
I0, I1 = axes((3, 4))
SUMS = Build((3,), Reduce("sum", reduction(0, 4), Read(X, (axis(0, 3), reduction(0, 4)))))
TWICE = Build((3, 4), Call("multiply", (Read(X, (I0, I1)), Literal(2, "int64")), "int64"))
TOTAL = Build((), Reduce("max", reduction(0, 3), Read(SUMS, (reduction(0, 3),))))


def function(tensor: Tensor) -> Scalar | None:
    return tensor.body if isinstance(tensor, Build) else None


def value(*outputs: Tensor) -> list[object]:
    array = np.arange(12).reshape(3, 4)
    return [found.tolist() for found in evaluate(Program((X,), outputs), [array])]


def test_tensors_above_a_new_definition_are_made_anew_and_others_stay() -> None:
    other = Build((3,), Reduce("sum", reduction(0, 4), Read(TWICE, (axis(0, 3), reduction(0, 4)))))
    known = redefined((TOTAL, TWICE), {SUMS: other})
    assert known[SUMS] is other
    assert known[TWICE] is TWICE
    assert value(known[TOTAL]) == [76]
    assert redefined((TOTAL,), {})[TOTAL] is TOTAL


def test_a_definition_may_bring_tensors_that_were_not_there() -> None:
    other = Build((3,), Reduce("sum", reduction(0, 4), Read(TWICE, (axis(0, 3), reduction(0, 4)))))
    assert in_order((TOTAL,), {SUMS: other}) == [X, TWICE, SUMS, TOTAL]


def test_a_reduction_in_the_place_of_a_read_keeps_apart_from_the_one_around_it() -> None:
    whole = with_inlined(TOTAL, function)
    assert str(whole.body).splitlines()[0] == "max(r0: 3, sum(r1: 4, x[r0, r1]))"
    assert value(whole) == value(TOTAL)


def test_only_the_functions_that_are_given_are_put_in() -> None:
    assert inlined(TOTAL.body, lambda tensor: None) is TOTAL.body


def test_elements_that_differ_in_index_terms_are_told_from_others() -> None:
    def same(one: Tensor, other: Tensor) -> bool:
        return one is other

    left, right = Read(X, (I0, I1)), Read(X, (I0, I1 + 0))
    assert index_pairs(left, right, same) == [(I1, right.indices[1])]
    assert index_pairs(left, left, same) == []
    assert index_pairs(left, Literal(2, "int64"), same) is None
    assert index_pairs(TWICE.body, Call("add", (Read(X, (I0, I1)), Literal(2, "int64")), "int64"), same) is None
    assert index_pairs(Position(I0, "int64"), Position(I0 + 1, "int64"), same) == [(I0, I0 + 1)]
    assert index_pairs(Position(I0, "int64"), Position(I0, "int32"), same) is None
    assert index_pairs(left, Read(TWICE, (I0, I1)), same) is None


def test_a_read_and_the_function_of_its_tensor_are_one_element_where_that_is_known() -> None:
    read = Read(TWICE, (I1 % 3, I0))
    whole = inlined(read, function)
    assert index_pairs(read, whole, lambda one, other: one is other) is None
    assert index_pairs(read, whole, lambda one, other: one is other, function) == []
