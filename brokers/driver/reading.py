"""Reading as a consumer."""

from __future__ import annotations

import attrs

from leadline.brokers.client import Refused, Unanswered
from leadline.brokers.driver.observer import value_of
from leadline.brokers.driver.stage import TOPIC, Stage


@attrs.frozen
class Read:
    """What a consumer could read.

    Attributes:
        step: the number of the step after which it read, or None after the last one, when all brokers were back.
        broker: the leader that it read from.
        values: the records by offset, by their values in the model.
        end: the end offset that the leader listed, or None if it refused to list it.
    """

    step: int | None
    broker: int
    values: tuple[int, ...]
    end: int | None

    def __str__(self) -> str:
        records = " ".join(f"m{value}" for value in self.values) or "nothing"
        return f"a consumer reads {records} from broker {self.broker}"


def read_from(stage: Stage, leader: int, step: int | None) -> Read | None:
    """Read all records that a consumer can read from a leader now, or return None if it does not answer."""
    try:
        fetched = stage.client.read(leader, TOPIC)
    except (Unanswered, Refused):
        return None
    if fetched.error:
        return None
    try:
        end: int | None = stage.client.list_offset(leader, TOPIC)
    except (Unanswered, Refused):
        end = None
    return Read(step, leader, tuple(value_of(record.value) for record in fetched.records), end)
