"""Read records from real brokers as a consumer."""

from __future__ import annotations

import attrs

from leadline.brokers.driver.observer import value_of
from leadline.brokers.driver.stage import TOPIC, Stage
from leadline.brokers.pending import Refused, Unanswered


@attrs.frozen
class Read:
    """The records that a consumer could read from a leader.

    Attributes:
        step: the number of the step before the read. None for the final read, which takes place after all brokers were
            restarted.
        broker: the leader.
        values: the model's value for each record, keyed by offset.
        end: the end offset that ListOffsets returned, or None if it returned an error.
    """

    step: int | None
    broker: int
    values: tuple[int, ...]
    end: int | None

    def __str__(self) -> str:
        records = " ".join(f"m{value}" for value in self.values) or "nothing"
        return f"a consumer reads {records} from broker {self.broker}"


def read_from(stage: Stage, leader: int, step: int | None) -> Read | None:
    """Read all records that a consumer can read from a leader now. Return None if it does not respond."""
    try:
        fetched = stage.client.read(leader, TOPIC, partition=stage.partition)
    except (Unanswered, Refused):
        return None
    if fetched.error:
        return None
    try:
        end: int | None = stage.client.list_offset(leader, TOPIC, partition=stage.partition)
    except (Unanswered, Refused):
        end = None
    return Read(step, leader, tuple(value_of(record.value) for record in fetched.records), end)
