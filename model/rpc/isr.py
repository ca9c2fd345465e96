"""The ISR as its leader changes it: written to the quorum under compare-and-set, so only by the true leader."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from checker.action import action
from model.quorum import brokers
from model.rpc.high_watermark import with_leader
from model.rpc.state import Partition, Replica


@action("broker {leader} removes the lagging broker {member} from the ISR", leader=brokers, member=brokers)
def shrink_isr(state: Partition, leader: int, member: int) -> Iterator[Partition]:
    """A member that has not fetched up to the leader's log end for `replica.lag.time.max.ms` is dropped.

    Time is abstracted: it may happen to any that the leader does not know to be there. What only this
    member lacked is committed by that.
    """
    replica = state.replicas[leader]
    if member == leader or not state.is_true_leader(leader) or member not in replica.isr:
        return
    if replica.remote_leos[member] != replica.log.end_offset:
        after, shrunk = with_isr(state, replica, replica.isr - {member})
        yield with_leader(after, leader, shrunk)


def with_isr(state: Partition, replica: Replica, isr: frozenset[int]) -> tuple[Partition, Replica]:
    """The quorum and the true leader's replica with another ISR: the epoch stays, and no request is sent."""
    return attrs.evolve(state, quorum=attrs.evolve(state.quorum, isr=isr)), attrs.evolve(replica, isr=isr)
