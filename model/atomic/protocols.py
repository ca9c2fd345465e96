"""The five protocols of the `atomic` family. A protocol is a set of rules, and a mutant has one changed rule.

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
    """The rules of one protocol. Each rule is a function. Versions of Kafka differ in these rules.

    Attributes:
        name: the name of the protocol.
        summary: a sentence that describes the protocol.
        truncates_to: returns the offset to which a new follower truncates. The arguments are the follower's replica and
            the leader's log.
        trusts: returns whether a broker that becomes a follower in an epoch may ask the leader where to truncate. The
            arguments are the leader's replica, the leader's number and the epoch.
        follows: returns whether a leader accepts a follower that names it as leader. The arguments are the leader's
            replica and the follower's replica.
        agrees_at: returns whether, as far as the leader can tell, both logs have the same record at an offset. The
            arguments are the leader's log, the follower's log, and an offset at which both logs have a record.
        admits: returns whether a leader may add followers to the ISR once they have caught up. The argument is the
            leader's replica.
        diverges: returns whether a follower detects, when it fetches, that it must truncate. The arguments are the
            leader's log and the follower's log.
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
        """Whether a new follower reads its leader's log to find out where to truncate."""
        return self.truncates_to not in (own_high_watermark, own_end)


def own_high_watermark(follower: Replica, leader_log: Log) -> int:
    """Before 0.11: truncate to the follower's own high watermark, because records above it may not be committed."""
    return follower.high_watermark


def end_of_own_last_epoch(follower: Replica, leader_log: Log) -> int:
    """KIP-101: truncate to the offset at which the epoch of the follower's last record ends in the leader's log.

    If the leader's log has neither this epoch nor a larger one, truncate to the follower's own high watermark.
    """
    own_epoch = follower.log.last_epoch
    if own_epoch is None:
        return 0
    if leader_log.last_epoch == own_epoch:
        return leader_log.end_offset
    next_epoch_starts = leader_log.first_offset_after(own_epoch)
    return follower.high_watermark if next_epoch_starts is None else next_epoch_starts


def end_of_agreement(follower: Replica, leader_log: Log) -> int:
    """KIP-279: truncate to the offset up to which both logs match. The follower determines this offset epoch by
    epoch.
    """
    return follower.log.end_of_agreement_with(leader_log)


def own_end(follower: Replica, leader_log: Log) -> int:
    """Return the log end offset: a broker keeps its whole log when it becomes a follower."""
    return follower.log.end_offset


def any_broker(source: Replica, broker: int, epoch: int) -> bool:
    """Followers ask the broker that a request names as leader, even if that broker has not received the request yet."""
    return True


def leader_in_epoch(source: Replica, broker: int, epoch: int) -> bool:
    """KIP-320: followers ask the leader only if it has learned that it leads in this epoch."""
    return source.leader == broker and source.epoch == epoch


def by_name(leader: Replica, follower: Replica) -> bool:
    """A leader accepts followers in any epoch."""
    return True


def in_same_epoch(leader: Replica, follower: Replica) -> bool:
    """KIP-320: requests contain the leader epoch, and the leader rejects requests with a different epoch."""
    return follower.epoch == leader.epoch


def has_offset(leader_log: Log, follower_log: Log, offset: int) -> bool:
    """The leader learns only that the follower's log has a record at the offset. It does not learn which record
    it is.
    """
    return True


def has_same_epoch(leader_log: Log, follower_log: Log, offset: int) -> bool:
    """The leader compares the epochs of both records.

    A fetch request contains the epoch of the follower's last record.
    """
    return follower_log[offset].epoch == leader_log[offset].epoch


def always(leader: Replica) -> bool:
    """A leader may always add followers to the ISR once they have reached the high watermark."""
    return True


def high_watermark_in_own_epoch(leader: Replica) -> bool:
    """KIP-320, KAFKA-7128: add no follower to the ISR until the high watermark has reached the start of the leader's
    epoch.

    The high watermark of a new leader may be below that of the previous leader.
    """
    watermark = leader.high_watermark
    return watermark == leader.log.end_offset or (
        leader.log.has(watermark) and leader.log[watermark].epoch == leader.epoch
    )


def never(leader_log: Log, follower_log: Log) -> bool:
    """A follower never truncates when it fetches, because it already truncated its log when it became a follower."""
    return False


def last_record_differs(leader_log: Log, follower_log: Log) -> bool:
    """The follower's log is longer than the leader's log, or the logs have different epochs at the offset of the
    follower's last record.
    """
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
