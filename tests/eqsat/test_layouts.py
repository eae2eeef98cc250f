"""Arguments of compiled functions whose axes lie in memory in another order than C's: read as they lie."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import eqsat


def test_arrays_whose_axes_lie_in_another_order_are_read_as_they_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled once for each order, and copied in none."""
    copied = []
    monkeypatch.setattr("eqsat.running.plan.check_arguments", lambda *given: copied.append(given))
    traced = []

    def function(a: Any, b: Any = None, *, c: Any = None) -> Any:
        traced.append(a.shape)
        return {"sum": a.sum(axis=0), "more": (a + 1 if b is None else a @ b, a.T if c is None else a * c)}

    compiled = eqsat.jit(function)
    x, y = np.random.default_rng(0).random((30, 20)), np.random.default_rng(1).random((40, 20))
    cube = np.random.default_rng(2).random((4, 5, 6))
    calls: list[tuple[Any, dict[str, Any]]] = [
        ((x,), {}),
        ((x.T,), {}),
        ((np.asfortranarray(x),), {}),
        ((x, y.T), {}),
        ((x.T, np.asfortranarray(x)), {}),
    ]
    calls += [((np.moveaxis(cube, 0, 2),), {}), ((cube.transpose(2, 0, 1),), {"c": np.asfortranarray(np.moveaxis(cube, 2, 0))})]
    for _ in range(2):
        for args, named in calls:
            found, expected = compiled(*args, **named), function(*args, **named)
            np.testing.assert_allclose(found["sum"], expected["sum"])
            for one, other in zip(found["more"], expected["more"], strict=True):
                np.testing.assert_allclose(one, other)
                assert one.flags.c_contiguous
    assert not copied
    assert len(traced) == 3 * len(calls)


def test_arrays_in_no_order_are_copied() -> None:
    x = np.random.default_rng(0).random((30, 20))
    compiled = eqsat.jit(lambda a: a * 2)
    for a in (x[::2, ::3], x[::-1], np.broadcast_to(x[0], (5, 20)), x[:, ::2].T, x[:1].T, x[:0].T):
        np.testing.assert_array_equal(compiled(a), a * 2)
    out = np.empty((20, 30))
    assert compiled(x.T, out=out) is out
    np.testing.assert_array_equal(out, x.T * 2)


def test_what_is_written_to_an_argument_in_another_order_stays_in_the_function() -> None:
    def function(a: Any) -> Any:
        a[0] = 7
        a[:, 1] += a[:, 0]
        return a

    x = np.random.default_rng(0).random((4, 3))
    given = x.copy()
    np.testing.assert_array_equal(eqsat.jit(function)(x.T), function(given.T.copy()))
    np.testing.assert_array_equal(x, given)
