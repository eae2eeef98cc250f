"""What a prompt, and a failed assertion, shows of results: their text form, not what they are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import eqsat
from eqsat import optimize, spec, var

X = var("x", 0, 99)


def normalized(x: Any) -> Any:
    return eqsat.fori(3, lambda i, y: y / np.sum(y, axis=1, keepdims=True), np.exp(x) * 2 + 1)


PROGRAM = optimize(normalized, spec((4, 8), "float32"))
INDEX = optimize((X * 6 + 3) // 4)
VALUES = [
    *(PROGRAM, PROGRAM.cost, PROGRAM.report, PROGRAM.compile(), PROGRAM.loops[0], PROGRAM.listing, PROGRAM.steps[0]),
    *(PROGRAM.alternatives(1)[0], PROGRAM.why_not(PROGRAM.original), eqsat.compare(PROGRAM, PROGRAM), PROGRAM.bodies[0]),
    *(INDEX, INDEX.steps[0], INDEX.missing[0], INDEX.alternatives(1)[0], INDEX.why_not(X), eqsat.leave_one_out((X * 6 + 3) // 4)),
    optimize(X // 2, options=eqsat.Options(certify=True)).certificate,
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_prompt_shows_the_text_form(value: object) -> None:
    assert repr(value) == str(value)
    assert f"{type(value).__name__}(" not in repr(value)
    assert " object at 0x" not in repr(value)


def test_a_failed_assertion_shows_costs_and_no_fields() -> None:
    assert repr([PROGRAM.cost]) == f"[{PROGRAM.cost}]"
    assert repr(PROGRAM.alternatives(1)).count("\n") < 3
