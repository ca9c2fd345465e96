"""A broker that leads nothing asks to shut down: KRaft's controller fences it at once, and it stops later."""

from __future__ import annotations

import pytest

from leadline.model.kafka.broker import ACTIVE, FENCED, SHUTTING_DOWN
from leadline.model.kafka.conformance.following import followed_release
from leadline.model.kafka.conformance.observations import Observations
from leadline.model.kafka.conformance.observer import Window
from leadline.model.kafka.releases import column_of
from leadline.model.kafka.state import Partition

WINDOW = Window(0, 1)
COLUMN = column_of("kafka/4.1")
assert COLUMN is not None
RELEASE = followed_release(COLUMN, 3)
BEGINNING, MAKE = RELEASE.beginning(0, frozenset({0, 1, 2})), Observations(RELEASE)


def fence(state: Partition, *, fenced: bool) -> list[Partition]:
    return [*MAKE.fenced(WINDOW, 2, fenced=fenced).apply(state)]


def test_a_broker_that_is_fenced_because_it_shuts_down_stops() -> None:
    (begun,) = RELEASE.take("begin_shutdown", BEGINNING, 2)
    assert begun.registrations[2].status == SHUTTING_DOWN
    assert fence(begun, fenced=True) == [begun]
    (stopped,) = MAKE.stopped(WINDOW, 2, optional=False).apply(begun)
    assert not stopped.replicas[2].up
    assert fence(stopped, fenced=True) == [stopped]


@pytest.mark.parametrize(("status", "becomes"), [(ACTIVE, FENCED), (FENCED, ACTIVE)])
def test_other_brokers_are_fenced_and_unfenced(status: str, becomes: str) -> None:
    (out,) = RELEASE.take("begin_shutdown", BEGINNING, 2)
    state = out.with_registration(2, status)
    assert [each.registrations[2].status for each in fence(state, fenced=becomes == FENCED)] == [becomes]
    assert fence(state, fenced=status == FENCED) == [state]
