"""Producing: a broker that believes it leads appends a record."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.action import action
from leadline.model.kafka.high_watermark import with_leader
from leadline.model.kafka.state import Partition, Promise
from leadline.model.log import Record
from leadline.model.quorum import brokers


@action("a producer writes a record to broker {leader}", leader=brokers)
def produce(state: Partition, leader: int) -> Iterator[Partition]:
    """A broker that believes it leads (even a zombie) appends a record and tries to advance its high watermark.

    With acks=all, the broker rejects the record if its ISR is smaller than `min.insync.replicas`. With acks=1, the
    record is acknowledged immediately. With acks=all, it is acknowledged when the high watermark has passed it. With
    acks=0, it is never acknowledged.
    """
    if not state.believes_to_lead(leader) or state.next_value == state.bounds.records:
        return
    replica = state.replicas[leader]
    if state.bounds.acks == "all" and len(replica.isr) < state.rules_of(leader).min_isr(replica, state.bounds):
        return
    record = Record(state.next_value, replica.epoch)
    written = attrs.evolve(state, next_value=state.next_value + 1)
    if state.bounds.acks == "1":
        promise = Promise(record, replica.log.end_offset, replica.epoch)
        written = attrs.evolve(written, acked=(*written.acked, promise))
    yield with_leader(written, leader, attrs.evolve(replica, log=replica.log.append(record)))
