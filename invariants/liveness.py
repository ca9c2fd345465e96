"""Liveness properties: events that happen eventually, or again and again, in every fair behaviour of the `atomic`
family.

These are the temporal properties of the public TLA+ specification of Kafka's replication
(hachikuji/kafka-specification), and further properties of the same states. Which of them hold depends on the fairness
of the actions, which `leadline.model.atomic.actions` declares in the same way as that specification.
"""

from __future__ import annotations

from leadline.checker.properties import always_eventually, eventually_always, leads_to
from leadline.model.atomic.state import Partition

SOURCE = "hachikuji/kafka-specification"


def someone_leads(state: Partition) -> bool:
    """Return whether any broker believes that it leads."""
    return any(state.believes_to_lead(broker) for broker in range(state.bounds.brokers))


@eventually_always("the quorum's leader eventually knows that it leads", source=SOURCE)
def leader_learns(state: Partition) -> bool:
    return state.quorum.leader is None or state.is_true_leader(state.quorum.leader)


@eventually_always("every broker eventually knows the leader epoch, if the partition has a leader", source=SOURCE)
def followers_learn(state: Partition) -> bool:
    epochs = {replica.epoch for replica in state.replicas}
    return state.quorum.leader is None or epochs == {state.quorum.epoch}


@leads_to("once a broker believes that it leads, all records are written", after=someone_leads, source=SOURCE)
def all_written(state: Partition) -> bool:
    return state.next_value == state.bounds.records


@eventually_always("the true leader eventually commits all records in its log", source=SOURCE)
def all_committed(state: Partition) -> bool:
    return all(
        replica.high_watermark == replica.log.end_offset
        for broker, replica in enumerate(state.replicas)
        if state.is_true_leader(broker)
    )


@eventually_always("every broker is eventually in the ISR, if the partition has a leader", source=SOURCE)
def isr_full_at_last(state: Partition) -> bool:
    return state.quorum.leader is None or len(state.quorum.isr) == state.bounds.brokers


@always_eventually("every broker is in the ISR again and again, or the partition has no leader", source=SOURCE)
def isr_full_again(state: Partition) -> bool:
    return state.quorum.leader is None or len(state.quorum.isr) == state.bounds.brokers
