"""Linear forms: exact where they decide, silent where they cannot."""

from __future__ import annotations

import itertools

import pytest

from eqsat.ir.evaluate import evaluate_index
from eqsat.ir.index import Apply, Index, Var, variables, walk, where
from eqsat.lowering.affine import Forms, rebuilt, recombined

OUT, IN = Var("o", 0, 3), Var("n", 0, 4)

TERMS = {
    "o": (OUT * 5 + IN) // 5,
    "n": (OUT * 5 + IN) % 5,
    "o * 3": (OUT * 15 + IN * 3 + 2) // 15 * 3,
    "o * -1 + 3": (19 - OUT * 5 - IN) // 5,
    "n * -1 + 4": (19 - OUT * 5 - IN) % 5,
    "0": (IN - IN) * OUT,
    "n // 4 * 2 + 1": IN // 4 * 2 + 1,
    "o * n": OUT * IN,
}


@pytest.mark.parametrize("expected", TERMS)
def test_a_linear_form_is_the_term(expected: str) -> None:
    term = TERMS[expected]
    form = rebuilt(Forms()(term))
    assert str(form) == expected
    for point in itertools.product(range(4), range(5)):
        env = dict(zip((OUT, IN), point, strict=True))
        assert evaluate_index(form, env) == evaluate_index(term, env)


@pytest.mark.parametrize("term", [(OUT * 5 + IN + 1) // 5, OUT * IN, where(OUT < 2, IN, OUT), IN // 2 + OUT])
def test_a_variable_inside_an_atom_has_no_stride(term: Index) -> None:
    strides = [Forms()(term).stride(v) for v in variables(term)]
    assert None in strides


def test_strides_are_coefficients() -> None:
    form = Forms()(OUT * -5 + IN * 2 - IN + 7)
    assert (form.stride(OUT), form.stride(IN), form.stride(Var("m", 0, 1))) == (-5, 1, 0)


t = Var("t", 0, 47)


@pytest.mark.parametrize(
    ("offset", "joined"),
    [
        (t // 8 * 16 + t % 8 * 2, True),
        (t // 8 * 8 + t % 8 + 5, True),
        ((t + 1) // 2 * 512 - t % 2 * 256, True),  # (t + 1) % 2 is 1 - t % 2
        ((t + 5) // 6 * 18 - (-t) % 6 * 3, True),
        (t // 8 * 16 - t % 8 * 2, False),
        (t // 8 * 16 + t % 8 * 3, False),
        (t // 8 * 16 + (t + 1) % 8 * 2, False),
        ((t + 2) // 2 * 512 - t % 2 * 256, False),
        (t // 8 * 8 + t % 4, False),
        (t // 12 * 24 + t // 4 % 3 * 8 + t % 4 * 2, False),
    ],
)
def test_quotients_and_remainders_of_one_term_are_put_together(offset: Index, joined: bool) -> None:
    whole = rebuilt(recombined(Forms()(offset)))
    assert joined == (not any(isinstance(term, Apply) and term.op in ("floordiv", "mod") for term in walk(whole)))
    assert all(evaluate_index(whole, {t: v}) == evaluate_index(offset, {t: v}) for v in range(48))
