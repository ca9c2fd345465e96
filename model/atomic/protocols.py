"""The five protocols of the `atomic` family, as rules side by side. A mutant is one rule changed.

rule            hw-truncation    kip-101           kip-279            kip-320-first-try    kip-320
--------------  ---------------  ----------------  -----------------  -------------------  -------------------
truncates_to    own high         leader's end of   where both logs    (keeps its log)      where both logs
                watermark        own last epoch    stop agreeing                           stop agreeing
trusts          any broker       any broker        any broker         any broker           a leader that is in
                                                                                           the request's epoch
follows         names the        names the         names the          names the            names the leader,
                leader           leader            leader             leader               in the same epoch
agrees_at       has the offset   has the offset    has the offset     has a record of      has the offset
                                                                      the same epoch there
admits          always           always            always             once the high watermark has reached
                                                                      the leader's own epoch
diverges        never            never             never              longer, or its last  never
                                                                      epoch differs
"""

from __future__ import annotations

from collections.abc import Callable

import attrs

from leadline.model.atomic.replica import Replica
from leadline.model.log import Log


@attrs.frozen(eq=False)
class Protocol:
    """What the brokers of one Kafka version do differently from those of another.

    Attributes:
        name: the name of the protocol.
        summary: what it does, in a sentence.
        truncates_to: for a replica that becomes a follower, and the log of its new leader: the offset
            it truncates to.
        trusts: whether a replica may be asked for a truncation point by those who obey the request
            of an epoch, given that replica, the broker it is on, and the epoch.
        follows: whether a follower that names the leader is taken for its follower, given the leader's
            and the follower's replicas.
        agrees_at: whether a follower's log has what the leader's log has, as far as the leader can
            tell, given both logs and an offset that both have.
        admits: whether a leader may let a caught-up follower into the ISR.
        diverges: whether a follower finds while fetching that it has to truncate, given the leader's
            log and its own.
    """

    name: str
    summary: str
    truncates_to: Callable[[Replica, Log], int]
    trusts: Callable[[Replica, int, int], bool]
    follows: Callable[[Replica, Replica], bool]
    agrees_at: Callable[[Log, Log, int], bool]
    admits: Callable[[Replica], bool]
    diverges: Callable[[Log, Log], bool]

    @property
    def asks_the_leader(self) -> bool:
        """Whether a broker that becomes a follower reads its leader's log to know where to truncate."""
        return self.truncates_to not in (own_high_watermark, own_end)


def own_high_watermark(follower: Replica, leader_log: Log) -> int:
    """Before 0.11: what is above the own high watermark may not be committed, so it goes."""
    return follower.high_watermark


def end_of_own_last_epoch(follower: Replica, leader_log: Log) -> int:
    """KIP-101: up to where the leader's log ends the epoch of the follower's last record.

    A leader that knows no such epoch, nor a larger one, cannot say: then the high watermark again.
    """
    own_epoch = follower.log.last_epoch
    if own_epoch is None:
        return 0
    if leader_log.last_epoch == own_epoch:
        return leader_log.end_offset
    next_epoch_starts = leader_log.first_offset_after(own_epoch)
    return follower.high_watermark if next_epoch_starts is None else next_epoch_starts


def end_of_agreement(follower: Replica, leader_log: Log) -> int:
    """KIP-279: epoch by epoch back to where both logs agree."""
    return follower.log.end_of_agreement_with(leader_log)


def own_end(follower: Replica, leader_log: Log) -> int:
    """Nothing is truncated on becoming a follower."""
    return follower.log.end_offset


def any_broker(source: Replica, broker: int, epoch: int) -> bool:
    """A broker that has not yet heard of its leadership is asked all the same."""
    return True


def leader_in_epoch(source: Replica, broker: int, epoch: int) -> bool:
    """KIP-320: only a broker that already leads in that very epoch."""
    return source.leader == broker and source.epoch == epoch


def by_name(leader: Replica, follower: Replica) -> bool:
    """Whoever names the leader follows it, from whatever epoch."""
    return True


def in_same_epoch(leader: Replica, follower: Replica) -> bool:
    """KIP-320: requests carry the leader epoch, and the leader fences every other one."""
    return follower.epoch == leader.epoch


def has_offset(leader_log: Log, follower_log: Log, offset: int) -> bool:
    """An offset says nothing of which record is there."""
    return True


def has_same_epoch(leader_log: Log, follower_log: Log, offset: int) -> bool:
    """The fetch request says which epoch the follower's last record has."""
    return follower_log[offset].epoch == leader_log[offset].epoch


def always(leader: Replica) -> bool:
    """Whoever has caught up to the high watermark is in sync."""
    return True


def high_watermark_in_own_epoch(leader: Replica) -> bool:
    """KIP-320, KAFKA-7128: a new leader's high watermark is behind; wait until it means something."""
    watermark = leader.high_watermark
    return watermark == leader.log.end_offset or (
        leader.log.has(watermark) and leader.log[watermark].epoch == leader.epoch
    )


def never(leader_log: Log, follower_log: Log) -> bool:
    """Truncation was done on becoming a follower."""
    return False


def last_record_differs(leader_log: Log, follower_log: Log) -> bool:
    """The follower is longer than the leader, or its last record has another epoch than the leader's there."""
    last = follower_log.end_offset - 1
    return follower_log.end_offset > leader_log.end_offset or (
        last >= 0 and follower_log[last].epoch != leader_log[last].epoch
    )


HW_TRUNCATION = Protocol(
    name="hw-truncation",
    summary="Kafka before 0.11: a new follower truncates to its own high watermark",
    truncates_to=own_high_watermark,
    trusts=any_broker,
    follows=by_name,
    agrees_at=has_offset,
    admits=always,
    diverges=never,
)
KIP_101 = attrs.evolve(
    HW_TRUNCATION,
    name="kip-101",
    summary="KIP-101: a new follower asks the leader where its last leader epoch ends",
    truncates_to=end_of_own_last_epoch,
)
KIP_279 = attrs.evolve(
    KIP_101,
    name="kip-279",
    summary="KIP-279: a new follower truncates to where both logs agree, after fast leader changes too",
    truncates_to=end_of_agreement,
)
KIP_320_FIRST_TRY = attrs.evolve(
    KIP_279,
    name="kip-320-first-try",
    summary="a design KIP-320's authors rejected: truncate only when fetching shows a divergence",
    truncates_to=own_end,
    agrees_at=has_same_epoch,
    admits=high_watermark_in_own_epoch,
    diverges=last_record_differs,
)
KIP_320 = attrs.evolve(
    KIP_279,
    name="kip-320",
    summary="KIP-320: fetching, truncation and the ISR are fenced by the leader epoch",
    trusts=leader_in_epoch,
    follows=in_same_epoch,
    admits=high_watermark_in_own_epoch,
)

PROTOCOLS = (HW_TRUNCATION, KIP_101, KIP_279, KIP_320_FIRST_TRY, KIP_320)
