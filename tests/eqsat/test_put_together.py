"""What is copied whole into a part of a result is made there: one kernel less, the same values, and nothing for what has to stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import eqsat
import eqsat.numpy as enp
from eqsat.ir.index import Const, Var
from eqsat.ir.loops import Buffer, Fold, Kernel, Load, Store, Temp
from eqsat.ir.tensor import Literal
from eqsat.kernels.copies import copied
from eqsat.lowering.joining.put_together import Rows, parts_of
from tests.effort import examples
from tests.eqsat.test_loop_kernels import repeat

Array = Any
RNG = np.random.default_rng(22)
X = RNG.standard_normal((40, 24)).astype("f4")


def history(xp: Any, x: Array, back: bool = False) -> tuple[Array, Array]:
    """Running means of rows, and the last of them."""

    def body(i: Any, carry: Any) -> Any:
        h, y = carry
        k = x.shape[0] - 2 - i if back else i
        h = np.float32(0.25) * x[k + 1] + np.float32(0.5) * h
        y[k] = h
        return h, y

    h, y = repeat(xp, x.shape[0] - 1, body, (x[-1 if back else 0] * np.float32(1), xp.zeros((x.shape[0] - 1, *x.shape[1:]), "f4")))
    return y, h


def with_first(xp: Any, x: Array) -> Array:
    return xp.concatenate([x[:1], history(xp, x)[0]])


def there_and_back(xp: Any, x: Array) -> Array:
    y = with_first(xp, x)
    back, last = history(xp, y, back=True)
    return xp.concatenate([back, last[None] * 2])


def shifted(xp: Any, x: Array) -> Array:
    """The loop reads slices, and functions of slices."""
    left, right = x[:-1], -np.float32(0.5) * x[1:]

    def body(i: Any, carry: Any) -> Any:
        h, y = carry
        h = right[i] - left[i] * h
        y[i] = h
        return h, y

    zero = xp.zeros(x.shape[1:], "f4")
    return xp.concatenate([zero[None], repeat(xp, x.shape[0] - 1, body, (zero, xp.zeros((x.shape[0] - 1, *x.shape[1:]), "f4")))[1]])


def products(xp: Any, x: Array) -> Array:
    return xp.concatenate([x[:2, :4], x @ x.T[:, :4], x[5:6, 2:6]])


def added_twice(xp: Any, x: Array) -> Array:
    """The second sums begin with the first ones, in their place."""
    places = np.array([3, 0, 3, 7, 3, 1, 0, 2])
    y = xp.zeros((8, x.shape[1]), "f4")
    for rows in (x[:8], -x[8:16]):
        y = y.copy()
        np.add.at(y, places, rows)
        places = (places + 1) % 8
    return y


# programs, and how many kernels they are
PROGRAMS: dict[str, tuple[Callable[..., Array], int]] = {
    "a history behind its beginning": (with_first, 1),
    "there and back": (there_and_back, 2),
    "of slices": (shifted, 1),
    "a product between rows": (products, 1),
    "added to where it is": (added_twice, 1),
    "within an edge": (lambda xp, x: xp.pad(xp.cumsum(xp.cumsum(x, axis=0), axis=1), ((1, 0), (1, 0))), 2),
    "between columns": (lambda xp, x: xp.concatenate([x[:, :3], xp.cumsum(x, axis=1), x[:, 4:5] * 2], axis=1), 1),
    "beside each other": (lambda xp, x: xp.concatenate([history(xp, x)[0], -x[1:], history(xp, -x)[0]], axis=1), 2),
    "within an edge, and behind it": (lambda xp, x: (lambda y: xp.pad(y, 1) + xp.max(y))(history(xp, x)[0]), 2),
    "read before and behind": (lambda xp, x: (lambda y: xp.concatenate([y, x[:3]]) * 2 + xp.sum(y))(history(xp, x)[0]), 2),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_made_in_place(name: str) -> None:
    function, kernels = PROGRAMS[name]
    result = eqsat.optimize(lambda x: function(enp, x), X)
    assert len(result.loops) == kernels
    for threads in (1, 2, 3):
        eqsat.set_num_threads(threads)
        np.testing.assert_allclose(result(X), function(np, X), rtol=2e-5, atol=2e-5)
    eqsat.set_num_threads(1)


def test_what_is_returned_too_stays() -> None:
    result = eqsat.optimize(lambda x: (with_first(enp, x), history(enp, x)[0]), X)
    first, second = result(X)
    np.testing.assert_allclose(first, with_first(np, X), rtol=1e-6)
    np.testing.assert_allclose(second, history(np, X)[0], rtol=1e-6)
    assert not np.shares_memory(first, second)
    assert any(list(parts_of(kernel)) or copied(kernel) for kernel in result.loops)


PLACES, VALUES = RNG.integers(0, 40, 500), np.ones(500, "f4")


def read_before_it_changes(xp: Any, x: Array) -> Any:
    """Sums are added to a copy of what others read."""
    y = xp.cumsum(x[:, 0])
    z = y.copy()
    np.add.at(z, PLACES, VALUES)
    return z, xp.max(y)


def with_the_same_state(xp: Any, x: Array) -> Any:
    """Both loops begin with the same row."""
    y, w = history(xp, x)[0], history(xp, -x)[0]
    return xp.concatenate([y, w]), xp.concatenate([w, x])


def chosen(xp: Any, x: Array) -> Any:
    y = history(xp, x)[0]
    return xp.concatenate([x[:1], y]), y[(xp.abs(x[:, 0]) * 2).astype("i8") % 39]


def begins_with_what_it_reads(xp: Any, x: Array) -> Any:
    w = -x[::-1]

    def body(i: Any, c: Any) -> Any:
        c[i] = np.float32(0.5) * c[i] + w[i]
        return c

    return repeat(xp, x.shape[0], body, w * 1)


@pytest.mark.parametrize("function", [read_before_it_changes, with_the_same_state, chosen, begins_with_what_it_reads])
@pytest.mark.parametrize("columns", [1, 24])
def test_what_is_written_over_is_read_before(function: Callable[..., Any], columns: int) -> None:
    x = X[:, :columns].copy()
    result = eqsat.optimize(lambda x: function(enp, x), x)
    for threads in (1, 3):
        eqsat.set_num_threads(threads)
        for found, wanted in zip(*(one if isinstance(one, tuple) else (one,) for one in (result(x), function(np, x))), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
    eqsat.set_num_threads(1)


def test_parts_are_told() -> None:
    (kernel,) = eqsat.optimize(lambda x, y: enp.concatenate([x[:1], y, x[1:2]]), X, X[:9]).loops
    (part,) = [part for part in parts_of(kernel) if part.source == "y"]
    assert (part.first, part.target, part.rows) == (24, kernel.outputs[0], (Rows(1, 1),))
    (kernel,) = eqsat.optimize(lambda x, y: enp.concatenate([x, y], axis=1), X[:9], X[:9]).loops
    (part,) = [part for part in parts_of(kernel) if part.source == "y"]
    assert (part.first, part.rows) == (24, (Rows(24, 48), Rows(1, 1)))
    for other in (lambda x, y: enp.stack([x, y], axis=2), lambda x, y: enp.concatenate([x, y[:4], y]), lambda x, y: x + y):
        assert all(part.source != "y" for kernel in eqsat.optimize(other, X[:9], X[:9]).loops for part in parts_of(kernel))


def test_what_a_fold_stores_on_its_way_is_no_part() -> None:
    r, y = Var("r", 0, 8), Buffer("y", "float32", 9, "in")
    fold = Fold("t", "max", "float32", r, (Store("o", r + 1, Load("y", r, "float32")),), Load("y", r, "float32"))
    outputs = Buffer("o", "float32", 10, "out"), Buffer("m", "float32", 1, "out")
    first, last = Store("o", Const(0), Literal(0.0, "float32")), Store("m", Const(0), Temp("t", "float32"))
    assert list(parts_of(Kernel("k", (y, *outputs), (first, fold, last)))) == []


@st.composite
def programs(draw: st.DrawFn) -> Callable[[Any, Array], Any]:
    """Concatenations of what kernels of their own make, of slices and of numbers, some read elsewhere as well."""
    rows, columns = draw(st.integers(3, 9)), draw(st.sampled_from((1, 3, 8, 24)))
    kinds = draw(
        st.lists(st.sampled_from(("history", "back", "product", "sums", "running", "slice", "ones", "before")), min_size=2, max_size=5)
    )
    factors = [draw(st.integers(-2, 2)) for _ in kinds]
    again, shown = draw(st.booleans()), draw(st.integers(0, len(kinds) - 1))
    before, behind, side_by_side = draw(st.integers(0, 2)), draw(st.integers(0, 1)), draw(st.booleans())

    def program(xp: Any, x: Array) -> Any:
        x = x[:rows, :columns]
        made: dict[str, Callable[[], Array]] = {
            "history": lambda: history(xp, x)[0],
            "back": lambda: history(xp, x, back=True)[0],
            "product": lambda: x @ (x.T @ x),
            "sums": lambda: xp.sum(x[:, :, None] * x[:, None, :], axis=2),
            "running": lambda: xp.cumsum(x, axis=0),
            "slice": lambda: x[1:3],
            "ones": lambda: xp.ones((2, columns), "f4"),
        }
        parts: list[Array] = []
        for kind, factor in zip(kinds, factors, strict=True):
            part = parts[-1] if kind in ("before", "added") and parts else made["slice" if kind in ("before", "added") else kind]()
            if kind == "added":
                part = part.copy()
                np.add.at(part, np.array([0, part.shape[0] - 1, 0]), x[:3])
            parts.append(part * np.float32(factor) if factor > 0 else part)
        if side_by_side:
            whole = xp.concatenate([xp.pad(part, ((before, 18 - before - part.shape[0]), (0, behind))) for part in parts], axis=1)
        else:
            whole = xp.pad(xp.concatenate(parts), ((before, behind), (behind, before)))
        if again:
            whole = xp.concatenate([whole[:1] * 2, history(xp, whole)[0]])
        return (whole, parts[shown], xp.sum(parts[-1], axis=0)) if factors[0] < 0 else whole

    return program


@given(programs())
@settings(max_examples=examples(25), deadline=None)
def test_random_parts(program: Callable[[Any, Array], Any]) -> None:
    expected = program(np, X)
    result = eqsat.optimize(lambda x: program(enp, x), X)
    for threads in (1, 3):
        eqsat.set_num_threads(threads)
        for found, wanted in zip(*(one if isinstance(one, tuple) else (one,) for one in (result(X), expected)), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
    eqsat.set_num_threads(1)
