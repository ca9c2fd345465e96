"""States of specs, written as the data directories of a cluster that stopped in that state."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any
from uuid import UUID

from leadline.model.quorum import NO_EPOCH
from tests.disks.data_directories import Disk, Log, Metadata, batch, partition_record, topic_record

TOPIC = "topic"
TOPIC_ID = UUID(int=1 << 120)
CONTROLLER = 100
"""The node that has the whole metadata log, and no replica."""


def write_state(state: Any, folder: Path) -> None:
    """Write a state of either family: each broker's log and high watermark, and the metadata log as far as it knows it.

    What a broker believes is what it has of the metadata log. A broker that has yet to truncate, of which no disk
    tells, is written as one that has not heard of its leader: that is why it has not truncated, as far as a disk knows.

    Parameters:
        state: the state.
        folder: where.
    """
    metadata = Metadata()
    metadata.add(topic_record(TOPIC, TOPIC_ID))
    heard = {}
    beliefs = {
        broker: _belief(replica) if replica.leader == broker or _has_heard(state, broker) else None
        for broker, replica in enumerate(state.replicas)
    }
    before = metadata.end
    quorum = _belief(state.quorum)
    told = sorted({belief for belief in beliefs.values() if belief is not None}, key=str)
    told = [*sorted((belief for belief in told if belief != quorum), key=lambda belief: belief[1]), quorum]
    for place, (leader, epoch, isr) in enumerate(told):
        metadata.add(
            partition_record(
                TOPIC_ID,
                0,
                range(len(state.replicas)),
                isr,
                leader,
                leader_epoch=epoch,
                partition_epoch=2 * place,  # the states between are not written
                elr=_elr(state.quorum) if (leader, epoch, isr) == quorum else None,
            )
        )
        heard[leader, epoch, isr] = metadata.end
    for broker, replica in enumerate(state.replicas):
        belief = beliefs[broker]
        disk = Disk(folder / f"broker-{broker}", broker)
        disk.logs["__cluster_metadata", 0] = metadata.log(before if belief is None else heard[belief])
        held = [
            batch(offset, 1, record.epoch, values=[f"m{record.value}".encode()])
            for offset, record in enumerate(replica.log.records, start=replica.log.first_offset)
        ]
        base, start = replica.log.first_offset, replica.log.start_offset
        log = Log([(base, held)], TOPIC_ID, max(replica.high_watermark, 0), base, log_start=start or None)
        if any(after.epoch < earlier.epoch for earlier, after in itertools.pairwise(held)):
            log.epochs = []  # Kafka's cache of epochs cannot hold such a log
        disk.logs[TOPIC, 0] = log
        disk.write()
    controller = Disk(folder / "controller", CONTROLLER)
    controller.logs["__cluster_metadata", 0] = metadata.log()
    controller.write()


def _has_heard(state: Any, broker: int) -> bool:
    """Whether a follower is written as one that has heard of its leader."""
    return state.replicas[broker].leader is not None and not state.has_to_truncate(broker)


def _elr(quorum: Any) -> frozenset[int] | None:
    """The eligible leader replicas; None if there are none, as before KIP-966."""
    return quorum.elr or None


def _belief(about: Any) -> tuple[int | None, int, frozenset[int]]:
    """The leader, epoch and ISR that a replica or the quorum knows."""
    return about.leader, max(about.epoch, NO_EPOCH), about.isr
