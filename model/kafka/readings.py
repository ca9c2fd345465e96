"""Protocols for disputed interpretations of rules, taken from articles on replication and readers' comments.

Each protocol is the design of a KIP with one rule changed to a function that is not in the table of rules. The
protocols are not in the catalog, because the interpretations are either wrong or make no difference. A seed is one of
the numbered articles on replication, together with its comments.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.action import action
from leadline.model.kafka.broker import Replica
from leadline.model.kafka.follower import truncated
from leadline.model.kafka.leadership import become_leader
from leadline.model.kafka.messages import EpochResponse
from leadline.model.kafka.protocols import EpochLookup, Truncation
from leadline.model.kafka.releases import KIP_101, KIP_320
from leadline.model.kafka.state import Partition
from leadline.model.quorum import brokers, epochs


def the_leaders(end_offset: int, told: int) -> int:
    """A follower adopts the leader's high watermark unchanged (seed 004, pseudo-code)."""
    return told


def isr_members_that_are_caught_up(leader: Replica) -> frozenset[int]:
    """The high watermark waits for brokers that are in the ISR and do not lag. The conditions are joined by AND (seed
    000, two comments).
    """
    end = leader.log.end_offset
    return frozenset(broker for broker in leader.isr if leader.remote_leos[broker] == end)


def the_isr_and_all_that_fetch(leader: Replica) -> frozenset[int]:
    """The high watermark waits for brokers that are in the ISR or do not lag. The conditions are joined by OR (seed
    003). A follower does not lag if it has fetched.
    """
    return leader.isr | {broker for broker, leo in enumerate(leader.remote_leos) if leo >= 0}


def keep_all(follower: Replica, answer: EpochResponse, end_of_epoch: EpochLookup) -> Truncation:
    """A follower does not truncate, but keeps all records on disk (seed 000, comments of 2020-01-19 and 2020-04-26)."""
    return Truncation(follower.log.end_offset)


def the_log_end(leader: Replica, wanted: int, end_of_epoch: EpochLookup) -> EpochResponse:
    """The leader returns its log end offset for every epoch (seed 000, comment of 2019-11-02)."""
    return EpochResponse(wanted, leader.log.end_offset)


@action("broker {broker} learns that it is the leader for epoch {epoch}", broker=brokers, epoch=epochs)
def fall_back_and_lead(state: Partition, broker: int, epoch: int) -> Iterator[Partition]:
    """If a new leader is still waiting to learn where to truncate, it truncates to its high watermark before it leads.

    Source: seed 003, comment 18.
    """
    replica = state.replicas[broker]
    if replica.truncating:
        state = state.with_replica(broker, truncated(state.rules_of(broker), replica, replica.high_watermark))
    yield from become_leader(state, broker, epoch)


_KIP_101, _KIP_320 = KIP_101.protocol(), KIP_320.protocol()

NO_MINIMUM = attrs.evolve(_KIP_101, name="no-minimum", learns=the_leaders)
IN_SYNC_AND = attrs.evolve(_KIP_320, name="in-sync-and", counts=isr_members_that_are_caught_up)
IN_SYNC_OR = attrs.evolve(_KIP_320, name="in-sync-or", counts=the_isr_and_all_that_fetch)
NO_TRUNCATION = attrs.evolve(_KIP_101, name="no-truncation", truncates_to=keep_all)
LOG_END_ONLY = attrs.evolve(_KIP_101, name="log-end-only", answers=the_log_end)
