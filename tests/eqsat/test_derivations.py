"""Equations (4) and (5) of "Ideas for optimizing generic operations": two generics in sequence become one.

    generic(h, ins(X) outs(Y) {y = f(x)});  generic(l, ins(Y) outs(Z) {z = g(y)})
    = build N (j -> g((build M (i -> f(X[h(i)])))[l(j)])) = build N (j -> g(f(X[h(l(j))])))
    = generic(h . l, ins(X) outs(Z) {z = g(f(x))})

Equation (4) is the case where h and l are the identity.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import eqsat
from eqsat.ir.evaluate import evaluate
from eqsat.ir.index import Index
from eqsat.ir.tensor import Arg, Build, Call, Generic, Input, Literal, Program, Read, Scalar, Tensor, axis, scalars
from eqsat.rules import without
from eqsat.testing import assert_equivalent

Map = Callable[[Index], Index]
N = 12
X = Input("X", (N,), "float64")
WITHOUT = eqsat.Options(rules=without("generic-build"))


def f(x: Scalar) -> Scalar:
    return Call("exp", (x,), "float64")


def g(y: Scalar) -> Scalar:
    return Call("multiply", (Call("add", (y, Literal(1.0, "float64")), "float64"), Literal(3.0, "float64")), "float64")


def generic(source: Tensor, index: Map, block: Callable[[Scalar], Scalar], extent: int = N) -> Generic:
    return Generic((("parallel", extent),), ((index(axis(0, extent)),),), (source,), block(Arg(0, source.dtype)))


def in_sequence(h: Map, l: Map, extent: int = N) -> Program:  # noqa: E741  # the names of the source
    return Program((X,), (generic(generic(X, h, f), l, g, extent),))


def only(result: eqsat.Result) -> Build:
    (build,) = result.program.outputs
    assert isinstance(build, Build)
    assert len(result.loops) == 1
    return build


def test_identity_maps_two_generics_become_one_build_of_the_composed_function() -> None:
    result = eqsat.optimize(in_sequence(lambda i: i, lambda j: j))
    assert only(result) is Build((N,), g(f(Read(X, (axis(0, N),)))))
    matches = result.report.matches
    assert matches["generic-is-build"] >= 2
    assert matches["element-of-build"] + matches["read-of-build"] >= 1
    assert result.cost < result.original_cost


def test_the_way_back_gives_one_generic_of_the_composed_block() -> None:
    result = eqsat.optimize(in_sequence(lambda i: i, lambda j: j))
    assert result.generics == (generic(X, lambda i: i, lambda x: g(f(x))),)
    assert result.report.matches["build-is-generic"] >= 1


MAPS: dict[str, tuple[Map, Map, str]] = {
    "h is the identity": (lambda i: i, lambda j: 11 - j, "11 - i0"),
    "l is the identity": (lambda i: 11 - i, lambda j: j, "11 - i0"),
    "two reversals": (lambda i: 11 - i, lambda j: 11 - j, "i0"),
    "a rotation there and back": (lambda i: (i + 5) % 12, lambda j: (j + 7) % 12, "i0"),
    "a transposition there and back": (lambda i: i % 3 * 4 + i // 3, lambda j: j % 4 * 3 + j // 4, "i0"),
    "two rotations": (lambda i: (i + 5) % 12, lambda j: (j + 3) % 12, "(i0 + 8) % 12"),
    "halves of a shift": (lambda i: i // 2, lambda j: j // 3, "i0 // 6"),
}


@pytest.mark.parametrize("name", MAPS)
def test_any_maps_two_generics_become_one_build_of_the_composed_map(name: str) -> None:
    h, l, composed = MAPS[name]  # noqa: E741
    program = in_sequence(h, l)
    result = eqsat.optimize(program)
    expected = eqsat.parse_index(composed, {"i0": (0, N - 1)})
    (read,) = (term for term in scalars(only(result).body) if isinstance(term, Read))
    assert only(result) is Build((N,), g(f(Read(X, read.indices))))
    assert eqsat.simplify(read.indices[0]) is expected
    assert result.generics == (generic(X, lambda _: read.indices[0], lambda x: g(f(x))),)
    assert_equivalent(result, program)


def test_the_report_names_the_rows_that_compose_maps() -> None:
    matches = eqsat.optimize(in_sequence(lambda i: (i + 5) % 12, lambda j: 11 - j)).report.matches
    for row in ("generic-is-build", "read-of-build", "map-composition", "build-is-generic"):
        assert matches[row] >= 1, row


def test_the_second_generic_may_read_a_part() -> None:
    program = in_sequence(lambda i: (i * 5 + 1) % 12, lambda j: j * 2 + 1, extent=5)
    result = eqsat.optimize(program)
    build = only(result)
    assert build.shape == (5,)
    data = np.arange(12.0) / 12
    expected = [(np.exp(data[((2 * j + 1) * 5 + 1) % 12]) + 1) * 3 for j in range(5)]
    assert np.allclose(result(data), expected, rtol=1e-14)


def test_three_generics_become_one() -> None:
    first = generic(X, lambda i: 11 - i, f)
    program = Program((X,), (generic(generic(first, lambda j: (j + 1) % 12, g), lambda k: 11 - k, f),))
    result = eqsat.optimize(program)
    assert_equivalent(result, program)
    only(result)


@pytest.mark.parametrize("h", [lambda i: i, lambda i: (i + 5) % 12])
def test_without_the_table_two_generics_stay_two_operations(h: Map) -> None:
    program = in_sequence(h, lambda j: 11 - j)
    result = eqsat.optimize(program, options=WITHOUT)
    assert len(result.loops) == 2
    assert not any(result.report.matches[row] for row in ("generic-is-build", "read-of-build", "element-of-build"))
    data = np.linspace(-1, 1, N)
    assert np.allclose(result(data), evaluate(program, [data])[0], rtol=1e-14)
    assert eqsat.optimize(program).cost < result.cost
