"""What Python would make of ``and``, ``or`` and ``not`` in a formula: it takes a function for true."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from leadline.checker import Formula, always, eventually, now, temporal, witness
from tests.specs.refusals import refused


def p(state: int) -> bool:
    return state > 0


def q(state: int) -> bool:
    return state > 1


def test_a_formula_of_and_or_or_not_is_refused() -> None:
    def inner() -> Any:
        return always(eventually(p and q))  # type: ignore[truthy-function]

    def whole() -> Any:
        return p and always(q)  # type: ignore[truthy-function]

    def negated() -> Any:
        return always(not eventually(p))  # type: ignore[arg-type]

    for formula, text in ((inner, "p and q"), (whole, "p and always(q)"), (negated, "not eventually(p)")):
        with refused(f"temporal {formula.__name__} has {text}", "with &, | and ~", "test_formulas_in_python.py, line"):
            _ = temporal("x")(formula).formula


@pytest.mark.parametrize("combine", [lambda: now(p) & q, lambda: ~now(p), lambda: now(p) | q])
def test_what_combines_formulas_is_right(combine: Callable[[], Formula]) -> None:
    def right(limit: int) -> Formula:
        return always(combine() if limit and limit > 0 else p)

    assert str(temporal("x {limit}", limit=[1])(right).instances(None)[0].formula).startswith("always(")


def test_a_property_is_no_operand_either() -> None:
    positive = witness("p")(p)

    def of_property() -> Any:
        return always(eventually(positive and q))

    with refused("temporal of_property has positive and q", "with &, | and ~"):
        _ = temporal("x")(of_property).formula
