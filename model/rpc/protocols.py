"""The four protocols of the `rpc` family, as rules side by side. A mutant is one rule changed.

rule            hw-truncation      kip-101              kip-279                   kip-320
--------------  -----------------  -------------------  ------------------------  -------------------------
asks            never: truncates   for the end of the   for the end of the        for the end of the
                to its own high    epoch of its last    epoch of its last         epoch of its last
                watermark at once  record               record                    record
answers         -                  with the start of    with the largest epoch    with the largest epoch
                                   the next epoch       it knows up to that one,  it knows up to that one,
                                                        and its end               and its end
truncates_to    -                  the answer; own HW   where both logs end that  where both logs end that
                                   if there is none     epoch; asks again if      epoch; asks again if
                                                        its own is smaller        its own is smaller
accepts         any follower       any follower         any follower              a follower in its own
                                                                                  leader epoch
admits          at the high        at the high          at the high watermark     ... and where its own
                watermark          watermark                                      epoch starts

Three more rules are the same in all four; the articles and their readers dispute them:

counts          for the high watermark, the members of the ISR
tells           the follower, the high watermark as its fetch request has left it
learns          of the high watermark: the leader's, but no more than the own log end offset
"""

from __future__ import annotations

from collections.abc import Callable

import attrs

from model.log import Log
from model.rpc.messages import EpochResponse
from model.rpc.state import Replica


@attrs.frozen
class Truncation:
    """What a follower makes of an answer: where it truncates, and whether it has to ask again."""

    offset: int
    asks_again: bool = False


@attrs.frozen(eq=False)
class Protocol:
    """What the brokers of one Kafka version do differently from those of another.

    Attributes:
        name: the name of the protocol.
        summary: what it does, in a sentence.
        asks: whether a follower asks its leader where to truncate, given its log.
        answers: what a leader answers, given its replica and the epoch that is asked about.
        truncates_to: what a follower does with the answer, given its replica.
        accepts: whether a leader takes a request, given the leader's epoch and the request's.
        admits: whether a leader lets a follower into the ISR, given its replica and the fetch offset.
        counts: the brokers whose log end offsets limit a leader's high watermark.
        tells: the high watermark in a fetch response, given the leader's replica before and after it
            looked at the request.
        learns: a follower's high watermark, given its log end offset and what the leader told.
    """

    name: str
    summary: str
    asks: Callable[[Log], bool]
    answers: Callable[[Replica, int], EpochResponse]
    truncates_to: Callable[[Replica, EpochResponse], Truncation]
    accepts: Callable[[int, int], bool]
    admits: Callable[[Replica, int], bool]
    counts: Callable[[Replica], frozenset[int]]
    tells: Callable[[Replica, Replica], int]
    learns: Callable[[int, int], int]


def never(log: Log) -> bool:
    """Before 0.11 a follower does not ask."""
    return False


def if_it_has_records(log: Log) -> bool:
    """A follower asks about the epoch of its last record, if there is one."""
    return log.end_offset > 0


def start_of_next_epoch(leader: Replica, wanted: int) -> EpochResponse:
    """KIP-101: where the first larger epoch starts, which is the log end offset if there is none.

    A leader that is itself in a smaller epoch than the one asked about, a zombie, cannot say.
    """
    return EpochResponse(wanted, None if wanted > leader.epoch else leader.log.end_of_epoch(wanted))


def largest_epoch_up_to(leader: Replica, wanted: int) -> EpochResponse:
    """KIP-279: the largest epoch up to the one asked about that the leader knows, and where it ends.

    KAFKA-7415: a leader knows its own epoch from its election on, and what is before all epochs that it
    knows has ended where the first of them starts.
    """
    known = {record.epoch for record in leader.log.records} | {leader.epoch}
    epoch = max((epoch for epoch in known if epoch <= wanted), default=wanted)
    return EpochResponse(epoch, leader.log.end_of_epoch(wanted))


def the_answer_or_own_high_watermark(follower: Replica, answer: EpochResponse) -> Truncation:
    """KIP-101: where the leader says; without an answer as before, to the own high watermark."""
    if answer.end_offset is None:
        return Truncation(follower.high_watermark)
    return Truncation(min(answer.end_offset, follower.log.end_offset))


def end_of_the_epoch_in_both(follower: Replica, answer: EpochResponse) -> Truncation:
    """KIP-279: all larger epochs go; then the leader's end of this epoch, or another question about an older one."""
    offset = follower.log.end_of_epoch(answer.epoch)
    if offset > 0 and follower.log[offset - 1].epoch != answer.epoch:
        return Truncation(offset, asks_again=True)
    assert answer.end_offset is not None
    return Truncation(min(answer.end_offset, offset))


def from_any_epoch(own: int, requested: int) -> bool:
    """Before KIP-320 requests do not say which epoch their sender is in."""
    return True


def from_own_epoch(own: int, requested: int) -> bool:
    """KIP-320: every other epoch is fenced, the older and the newer."""
    return own == requested


def at_the_high_watermark(leader: Replica, offset: int) -> bool:
    """Whoever has caught up to the high watermark is in sync."""
    return offset >= leader.high_watermark


def at_the_start_of_the_epoch(leader: Replica, offset: int) -> bool:
    """KAFKA-7128: a new leader's high watermark is behind, so that its epoch's start has to be reached too."""
    return offset >= max(leader.high_watermark, leader.starts_own_epoch_at)


def the_isr(leader: Replica) -> frozenset[int]:
    """The high watermark waits for the ISR, and for nobody else."""
    return leader.isr


def the_new_high_watermark(before: Replica, after: Replica) -> int:
    """The remote log end offset is updated first, then the high watermark, and then the response is made."""
    return after.high_watermark


def no_more_than_it_has(end_offset: int, told: int) -> int:
    """A follower's high watermark is the leader's, but not beyond its own log."""
    return min(end_offset, told)


def nothing_to_answer(leader: Replica, wanted: int) -> EpochResponse:
    """Before 0.11 there is no such request."""
    raise AssertionError("OffsetsForLeaderEpoch is not known before 0.11")


HW_TRUNCATION = Protocol(
    name="hw-truncation",
    summary="Kafka before 0.11, message by message: a new follower truncates to its own high watermark",
    asks=never,
    answers=nothing_to_answer,
    truncates_to=the_answer_or_own_high_watermark,
    accepts=from_any_epoch,
    admits=at_the_high_watermark,
    counts=the_isr,
    tells=the_new_high_watermark,
    learns=no_more_than_it_has,
)
KIP_101 = attrs.evolve(
    HW_TRUNCATION,
    name="kip-101",
    summary="KIP-101, message by message: a new follower asks the leader where its last leader epoch ends",
    asks=if_it_has_records,
    answers=start_of_next_epoch,
)
KIP_279 = attrs.evolve(
    KIP_101,
    name="kip-279",
    summary="KIP-279, message by message: the answer says for which epoch it is, and the follower may ask again",
    answers=largest_epoch_up_to,
    truncates_to=end_of_the_epoch_in_both,
)
KIP_320 = attrs.evolve(
    KIP_279,
    name="kip-320",
    summary="KIP-320, message by message: requests carry the leader epoch, and leaders fence every other one",
    accepts=from_own_epoch,
    admits=at_the_start_of_the_epoch,
)

PROTOCOLS = (HW_TRUNCATION, KIP_101, KIP_279, KIP_320)
