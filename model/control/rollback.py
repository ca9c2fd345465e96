"""What a partition loses if KRaft's quorum loses committed records of the metadata log.

When a quorum can lose them is what the `quorum` family searches (KAFKA-14205). Here, the newest of them are gone, once.
All that the controller knows is then as it was before them. A broker that has applied one of them halts, because it
must not truncate the log below its high watermark (`KafkaRaftClient.handleFetchResponse`,
`KafkaMetadataLog.truncateTo`; since 3.0), and starts again. The other brokers notice nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TypeGuard

import attrs

from leadline.checker.action import action
from leadline.model.control.bounds import brokers_that_may_halt, lost_records
from leadline.model.control.failures import stopped
from leadline.model.control.metadata_log import (
    METADATA,
    announced,
    as_the_controller_sees,
    asks_again,
    committed,
    concerned,
    knowing,
)
from leadline.model.control.state import ANSWERED, APPLIED, Cluster, Image, LeaderAndIsr, Request
from leadline.model.kafka.broker import Replica
from leadline.model.kafka.high_watermark import with_leader
from leadline.model.quorum import brokers


@action("the metadata log loses its newest {records} committed records", records=lost_records, effect="perturbing")
def metadata_rolls_back(state: Cluster, records: int) -> Iterator[Cluster]:
    """The Raft quorum elects a leader that lacks the newest committed records, before that leader acts as the
    controller.

    A leader whose `AlterPartition` request the first lost record of its queue answers has received the answer, or has
    not and sends the request again to the next controller. In the model, a broker has applied no lost record that does
    not concern its replica.
    """
    own = state.registry
    if own.controller is not None or len(own.undoable) < records:
        return
    images = (*own.undoable[-records:], committed(state))
    rolled = as_the_controller_sees(state.having("metadata_rolls_back"), images[0])
    rolled = attrs.evolve(rolled, registry=attrs.evolve(rolled.registry, undoable=()))
    found = [rolled]
    for broker in brokers(state.bounds):
        found = [after for each in found for after in _noticed(state, each, broker, images)]
    yield from found


def _noticed(before: Cluster, state: Cluster, broker: int, images: tuple[Image, ...]) -> Iterator[Cluster]:
    """Yield the states of a broker after the loss. `images` are those before and after each lost record."""
    heard, queue = before.heard[broker], before.queue(METADATA, broker)
    if not heard.generation:
        return (yield state)
    told = 0
    for old, new in pairwise(images):
        registers = old.births[broker] < new.births[broker] == heard.generation
        is_told = registers or broker in concerned(before, old.partition, new.partition)
        told = (0 if registers else told) + (is_told and new.partition.leader is not None)
    if told > len(queue):
        yield state.with_queue(METADATA, broker, ()).with_heard(broker, attrs.evolve(heard, ahead=APPLIED))
        return
    kept, lost = queue[: len(queue) - told], queue[len(queue) - told :]
    waiting = state.with_queue(METADATA, broker, kept)
    if heard.generation > images[0].births[broker]:
        yield announced(waiting, [broker])
        return
    yield asks_again(waiting, broker) if lost else waiting
    if lost and _answers(lost[0], before.replicas[broker], broker):
        knows = waiting.with_heard(broker, attrs.evolve(heard, ahead=ANSWERED))
        yield with_leader(knows, broker, knowing(before.replicas[broker], lost[0].isr))


def _answers(record: Request, leader: Replica, broker: int) -> TypeGuard[LeaderAndIsr]:
    """Return whether a record of the metadata log answers the request of a leader for another ISR."""
    asked = leader.proposal
    if not isinstance(record, LeaderAndIsr) or asked is None or asked.sent or not asked.awaited:
        return False
    return (record.leader, record.epoch, record.isr) == (broker, leader.epoch, asked.isr)


@action(
    "broker {broker} finds that the metadata log has lost what it has applied, and halts",
    broker=brokers_that_may_halt,
    effect="healing",
)
def halt(state: Cluster, broker: int) -> Iterator[Cluster]:
    """The next leader of the Raft quorum tells a broker to truncate below its high watermark. Its disk remains."""
    replica, number = state.replicas[broker], state.registry.controller
    if state.heard[broker].ahead == APPLIED and number is not None:
        for on_disk in state.rules_of(broker).checkpoints(replica.high_watermark):
            down = replica.renewed(log=replica.log, high_watermark=on_disk, up=False)
            yield stopped(state.with_replica(broker, down), broker)
