"""Faults of the past that are put back are found by the twin; `tests.reference.faults` tries all of them."""

from __future__ import annotations

import pytest

from tests.reference.faults import FAULTS, Fault, found

SOON = (1, 3, 4, 9, 10, 12, 13)
"""The numbers of the faults that few specs show."""


@pytest.mark.parametrize("fault", [FAULTS[number - 1] for number in SOON], ids=lambda fault: fault.put_back.__name__)
def test_a_fault_that_is_put_back_is_found(fault: Fault) -> None:
    ((_, number),) = found(10, [fault])
    assert isinstance(number, int), number
