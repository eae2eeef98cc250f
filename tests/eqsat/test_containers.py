"""Named tuples and dataclasses as arguments and results: the fields are containers, and the class stays."""

from __future__ import annotations

import subprocess
import sys
from collections import namedtuple
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import eqsat
import eqsat.numpy as enp
from eqsat.ir.containers import Container, named, rebuild_result
from eqsat.ir.errors import UnsupportedError, UsageError
from eqsat.running.packing import pack, unpack

A, B = np.arange(6.0).reshape(2, 3), np.ones(3)


class Layer(NamedTuple):
    """A layer with a method."""

    weight: Any
    bias: Any

    def doubled(self) -> Layer:
        return Layer(self.weight * 2, self.bias * 2)


@dataclass(frozen=True)
class Model:
    """A dataclass with containers, a number, and what a new one would check."""

    first: Layer
    rest: dict[str, Any]
    scale: float = 2.0

    def __post_init__(self) -> None:
        if not isinstance(self.first, Layer):
            raise TypeError("first is no Layer")


@dataclass
class Sized:
    """A field with a shape, which makes it no array."""

    shape: tuple[int, ...]
    data: Any


def test_a_named_tuple_is_taken_and_returned() -> None:
    f = eqsat.jit(lambda layer: layer.doubled())
    for _ in range(3):
        found = f(Layer(A, B))
        assert type(found) is Layer
        np.testing.assert_array_equal(found.weight, A * 2)
        np.testing.assert_array_equal(found.bias, B * 2)


def test_a_dataclass_is_taken_and_returned() -> None:
    f = eqsat.jit(lambda model: Model(Layer(model.first.weight @ B * model.scale, model.first.bias), {"a": model.rest["a"] + 1}))
    model = Model(Layer(A, B), {"a": B})
    found = f(model)
    assert type(found) is Model
    assert type(found.first) is Layer
    np.testing.assert_array_equal(found.first.weight, A @ B * 2)
    np.testing.assert_array_equal(found.rest["a"], B + 1)
    np.testing.assert_array_equal(f(Model(Layer(A, B), {"a": B}, 3.0)).first.weight, A @ B * 3)


def test_classes_of_the_same_fields_are_told_apart() -> None:
    other = namedtuple("other", ("weight", "bias"))
    f = eqsat.jit(lambda layer: layer.weight + isinstance(layer, Layer))
    np.testing.assert_array_equal(f(Layer(A, B)), A + 1)
    np.testing.assert_array_equal(f(other(A, B)), A)


def test_classes_of_one_name_are_told_apart() -> None:
    def kind(times: int) -> Any:
        @dataclass
        class Local:
            a: Any

            def scaled(self) -> Any:
                return self.a * times

        return Local

    two, three = kind(2), kind(3)
    f = eqsat.jit(lambda one: one.scaled())
    np.testing.assert_array_equal(f(two(A)), A * 2)
    np.testing.assert_array_equal(f(three(A)), A * 3)
    again = eqsat.jit(lambda one: type(one)(one.a + 1))
    assert [type(again(one(A))) for one in (two, three, two)] == [two, three, two]


def test_fields_of_arguments_are_not_changed() -> None:
    def stepped(one: Sized) -> Any:
        one.data = one.data + 1
        return one.data

    with pytest.raises(UnsupportedError, match=r"x\.data = y: found an argument, a Sized, which belongs to the caller; return another"):
        eqsat.jit(stepped)(Sized((3, 2), A))


CHANGES: dict[str, tuple[Any, Any, str]] = {
    "an entry": (lambda x: x.update(a=x["a"] + 1), {"a": A}, r"x\['a'\] = y: found an argument, a dict, .*; begin with x = dict\(x\)"),
    "a new entry": (lambda x: x.setdefault("b", x["a"]), {"a": A}, r"x\['b'\] = y: .* a dict"),
    "an entry less": (lambda x: x.pop("a") + 1, {"a": A, "b": B}, r"x\['a'\] = y: .* a dict"),
    "an item": (lambda x: x.__setitem__(1, x[0]), [A, B], r"x\[1\] = y: .* a list, .*; begin with x = list\(x\)"),
    "an item more": (lambda x: x.append(x[0]), [A], r"x\[1\] = y: .* a list"),
    "an order": (lambda x: x.reverse(), [A, B], r"x\[0\] = y: .* a list"),
    "what is within": (lambda x: x[0]["b"].append(1), ({"b": [A]},), r"x\[1\] = y: .* a list"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_containers_of_arguments_are_not_changed(name: str) -> None:
    change, argument, message = CHANGES[name]

    def changed(x: Any) -> Any:
        change(x)
        return A

    with pytest.raises(UnsupportedError, match=message):
        eqsat.jit(changed)(argument)


def test_containers_of_a_function_are_its_own() -> None:
    def both(weights: Any, items: Any) -> Any:
        weights, items = dict(weights), list(items)
        weights["a"] = weights["a"] + items.pop()
        return weights, items

    found, rest = eqsat.jit(both)({"a": A}, [B, A])
    np.testing.assert_array_equal(found["a"], A + A)
    assert len(rest) == 1


def test_a_field_called_shape_makes_no_array() -> None:
    np.testing.assert_array_equal(eqsat.jit(lambda one: one.data.reshape(one.shape))(Sized((3, 2), A)), A.reshape(3, 2))


def test_a_loop_carries_them() -> None:
    def stepped(first: Layer) -> Any:
        return eqsat.fori(3, lambda i, layer: Layer(layer.weight + i, layer.bias * 2), first)

    for found in (stepped(Layer(A, B)), eqsat.jit(stepped)(Layer(A, B))):
        assert type(found) is Layer
        np.testing.assert_array_equal(found.weight, A + 3)
        np.testing.assert_array_equal(found.bias, B * 8)


def test_names_of_inputs_are_those_of_fields() -> None:
    program = eqsat.trace(lambda layer: layer.weight + layer.bias, Layer(eqsat.spec((2, 3), "float64"), eqsat.spec((3,), "float64")))
    assert [tensor.name for tensor in program.inputs] == ["layer.weight", "layer.bias"]
    with pytest.raises(UsageError, match=r"layer\.bias: found a set"):
        eqsat.jit(lambda layer: layer.weight)(Layer(A, {1}))


def test_plans_keep_the_name_of_the_class() -> None:
    result = eqsat.optimize(lambda a, b: Layer(a + 1, b), eqsat.spec((2, 3), "float64"), eqsat.spec((3,), "float64"))
    blueprint = result.compile().blueprint
    assert unpack(pack(blueprint, ()), ()).structure == blueprint.structure
    assert type(result(A, B)) is Layer


@pytest.mark.parametrize("kind", ["tuple", "fields"])
def test_a_class_that_is_not_known_is_a_named_tuple(kind: Any) -> None:
    for of in ("nowhere:Layer", "sys:path", f"{__name__}:Sized", "eqsat:numpy.nothing"):
        found = rebuild_result(Container(kind, (0, 1), ("weight", "bias"), of), [A, B])
        assert type(found) is named(("weight", "bias"))
        assert found.bias is B


PROCESS = """
import numpy as np, eqsat
from dataclasses import dataclass
from typing import Any, NamedTuple

class Point(NamedTuple):
    x: Any
    y: Any

@dataclass
class Line:
    a: Any
    b: Any

@eqsat.jit
def f(x):
    return Line(Point(x, x + 1), x * 2)

found = f(np.arange(3.0))
assert type(found) is Line and type(found.a) is Point, found
print(found.a.y.sum() + found.b.sum())
"""


def test_another_process_finds_them_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQSAT_CACHE_DIR", str(tmp_path))
    for _ in range(2):
        assert subprocess.run([sys.executable, "-c", PROCESS], capture_output=True, text=True, check=True).stdout == "12.0\n"


def test_lazy_tensors_in_them() -> None:
    found = eqsat.jit(lambda layer: layer.weight @ layer.bias)(Layer(enp.asarray(A) + 1, enp.asarray(B)))
    np.testing.assert_array_equal(np.asarray(found), (A + 1) @ B)
