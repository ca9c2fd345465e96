"""The rules that brokers and the controller of a release follow, as functions. `rules` is the table of them.

Each release, design and mutant is a `Protocol`; they differ in the rules that changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import attrs

from leadline.model.kafka.bounds import Bounds
from leadline.model.kafka.broker import ACTIVE, Registration, Replica
from leadline.model.kafka.epochs import EpochEnd
from leadline.model.kafka.messages import EpochResponse, FetchRequest
from leadline.model.log import Log
from leadline.model.quorum import Quorum

EpochLookup = Callable[[Log, int | None, int], EpochEnd | None]
"""The end of an epoch in a log according to the leader epoch cache. See `epochs`."""


@attrs.frozen
class Truncation:
    """A follower's conclusion from a response: the offset to truncate to, and whether it must ask again."""

    offset: int
    asks_again: bool = False


@attrs.frozen(eq=False, kw_only=True)
class Protocol:
    """The rules in which Kafka releases differ.

    Attributes:
        name: its name.
        summary: a sentence that describes it.
        truncates_first_to: the offset to which a new follower truncates before it asks or fetches, given its replica.
        asks_about: the epoch that a follower asks its leader about before it fetches, given its log; None if it does
            not ask.
        end_of_epoch: looks up an epoch in a leader epoch cache. See `epochs`.
        answers: a leader's response, given its replica, the requested epoch, and `end_of_epoch`.
        truncates_to: a follower's reaction to the response, given its replica, the response, and `end_of_epoch`.
        sends_last_epoch: the epoch that a follower sends in a fetch request, given its log; None if it sends none.
        diverges: the end of the follower's last epoch in the leader's log if the request shows that the logs differ,
            given the leader's replica, the request, and `end_of_epoch`; otherwise None.
        counts_diverging: whether a leader takes the offset of a diverging fetch as the follower's log end offset.
        learns_before_truncating: whether a follower adopts the high watermark of a diverging response first.
        follows_on: whether a follower of the same leader continues to fetch in a new epoch, without truncating, given
            its old epoch, the new one, and whether the new one began with an election.
        exits_out_of_range: whether a follower whose fetch offset is beyond its leader's log exits, if unclean leader
            election is disabled.
        accepts: whether a leader accepts a request, given the leader's epoch and the request's.
        admits: whether a leader admits a follower to the ISR, given the leader's replica and the fetch offset.
        lags: whether a leader may remove a follower from the ISR, given the follower's remote log end offset, the
            leader's log end offset, and whether the follower fetches from this leader.
        counts: the brokers whose log end offsets limit a leader's high watermark, given the leader's replica.
        may_raise: whether a leader may advance its high watermark, given its replica and the bounds.
        tells: the high watermark in a fetch response, given the leader's replica before and after it handled the
            request, and whether there are records to send.
        learns: a follower's high watermark, given its log end offset and the leader's high watermark.
        checkpoints: the high watermarks that can be on disk, given the one in memory.
        lists_offsets: whether a leader answers ListOffsets requests, given its replica.
        followers_serve: whether consumers also read from followers.
        notices_bounces: which restarts the controller always notices: "none", those of "leaders", or "all".
        obeys_late_requests: whether a broker obeys a request from before its restart.
        elects_at_once: whether an election is part of the step that makes it necessary or possible.
        in_flight: whether a leader changes the ISR with an `AlterPartition` request, not with compare-and-set.
        epoch_for_removal: whether an epoch begins when the controller removes a follower from the ISR.
        epoch_for_shrink: whether an epoch begins when a leader removes a follower from the ISR.
        may_join: whether the controller admits a broker to the ISR, given its registration and whether it has restarted
            since the leader judged it.
        names_incarnations: whether a leader sends the broker epoch of the follower that it judged.
        reads_incarnation_twice: whether a leader may send the broker epoch of a later fetch request instead.
        eligible: the ELR after a change of the ISR, given the quorum before, the new ISR, and `min.insync.replicas`.
        elects_last_known: whether the last known leader is elected if there is no other candidate: "no"; "alive", if
            the controller considers it alive; or "fenced", even if it does not.
        has_elr: whether there are eligible leader replicas, so that the ISR can become empty (KIP-966).
    """

    name: str
    summary: str
    truncates_first_to: Callable[[Replica], int]
    asks_about: Callable[[Log], int | None]
    end_of_epoch: EpochLookup
    answers: Callable[[Replica, int, EpochLookup], EpochResponse]
    truncates_to: Callable[[Replica, EpochResponse, EpochLookup], Truncation]
    sends_last_epoch: Callable[[Log], int | None]
    diverges: Callable[[Replica, FetchRequest, EpochLookup], EpochEnd | None]
    counts_diverging: bool
    learns_before_truncating: bool
    follows_on: Callable[[int, int, bool], bool]
    exits_out_of_range: bool
    accepts: Callable[[int, int], bool]
    admits: Callable[[Replica, int], bool]
    lags: Callable[[int, int, bool], bool]
    counts: Callable[[Replica], frozenset[int]]
    may_raise: Callable[[Replica, Bounds], bool]
    tells: Callable[[Replica, Replica, bool], int]
    learns: Callable[[int, int], int]
    checkpoints: Callable[[int], Iterable[int]]
    lists_offsets: Callable[[Replica], bool]
    followers_serve: bool
    notices_bounces: str
    obeys_late_requests: bool
    elects_at_once: bool
    in_flight: bool
    epoch_for_removal: bool
    epoch_for_shrink: bool
    may_join: Callable[[Registration, bool], bool]
    names_incarnations: bool
    reads_incarnation_twice: bool
    eligible: Callable[[Quorum, frozenset[int], int], frozenset[int]]
    elects_last_known: str
    has_elr: bool


# --- truncation ---------------------------------------------------------------------------------------------


def own_high_watermark(follower: Replica) -> int:
    """Before 0.11: truncate to the own high watermark, because records above it may not be committed."""
    return follower.high_watermark


def own_log_end(follower: Replica) -> int:
    """Do not truncate before the leader has said where."""
    return follower.log.end_offset


def nothing(log: Log) -> int | None:
    """No epoch."""
    return None


def last_epoch(log: Log) -> int | None:
    """The epoch of the last record, if there is one."""
    return log.last_epoch


def end_only(leader: Replica, wanted: int, end_of_epoch: EpochLookup) -> EpochResponse:
    """KIP-101: the end of the requested epoch, which is the start of the first larger one."""
    end = end_of_epoch(leader.log, leader.epoch, wanted)
    return EpochResponse(wanted, None if end is None else end.end_offset)


def epoch_and_end(leader: Replica, wanted: int, end_of_epoch: EpochLookup) -> EpochResponse:
    """KIP-279: the largest known epoch that is not greater than the requested one, and its end."""
    end = end_of_epoch(leader.log, leader.epoch, wanted)
    return EpochResponse(wanted, None) if end is None else EpochResponse(end.epoch, end.end_offset)


def nothing_to_answer(leader: Replica, wanted: int, end_of_epoch: EpochLookup) -> EpochResponse:
    """Before 0.11 and since KIP-595, no replica sends this request."""
    raise AssertionError("this release does not support OffsetsForLeaderEpoch")


def the_answer_or_own_high_watermark(follower: Replica, answer: EpochResponse, _: EpochLookup) -> Truncation:
    """KIP-101: truncate to the offset in the response; without one, to the own high watermark as before."""
    if answer.end_offset is None:
        return Truncation(follower.high_watermark)
    return Truncation(min(answer.end_offset, follower.log.end_offset))


def end_of_the_epoch_in_both(follower: Replica, answer: EpochResponse, end_of_epoch: EpochLookup) -> Truncation:
    """KIP-279: remove all larger epochs, and truncate to where both logs end this epoch, or ask about an older one."""
    if answer.end_offset is None:
        return Truncation(follower.high_watermark)
    end = end_of_epoch(follower.log, None, answer.epoch)
    if end is None:  # the follower knows no epoch that is not greater
        return Truncation(min(answer.end_offset, follower.log.end_offset))
    if end.epoch != answer.epoch:
        return Truncation(min(end.end_offset, follower.log.end_offset), asks_again=True)
    return Truncation(min(end.end_offset, answer.end_offset, follower.log.end_offset))


def never_diverges(leader: Replica, request: FetchRequest, end_of_epoch: EpochLookup) -> EpochEnd | None:
    """Before 2.8, fetch requests do not contain the epoch of the follower's last record."""
    return None


def by_last_epoch(leader: Replica, request: FetchRequest, end_of_epoch: EpochLookup) -> EpochEnd | None:
    """KIP-595: the leader does not know the follower's last epoch, or this epoch ends before the fetch offset."""
    if request.last_epoch is None:
        return None
    end = end_of_epoch(leader.log, leader.epoch, request.last_epoch)
    if end is None or (end.epoch >= request.last_epoch and end.end_offset >= request.offset):
        return None
    return end


def never(old: int, new: int, elected: bool) -> bool:
    """Since 2.1 and in the KIPs: a follower truncates in each new epoch."""
    return False


def always(old: int, new: int, elected: bool) -> bool:
    """Up to 2.0.0: the become-follower steps are skipped while the leader is the same (KAFKA-7164)."""
    return True


def if_none_was_missed(old: int, new: int, elected: bool) -> bool:
    """2.0.1: these steps are skipped if no epoch was missed.

    If the same leader was elected again, an epoch was missed: the one without a leader, which has no number here.
    """
    return new == old + 1 and not elected


# --- fetching -----------------------------------------------------------------------------------------------


def from_any_epoch(own: int, requested: int) -> bool:
    """Before KIP-320, requests do not contain the epoch of their sender."""
    return True


def from_own_epoch(own: int, requested: int) -> bool:
    """KIP-320: leaders fence all other epochs, older and newer ones."""
    return own == requested


def the_new_high_watermark(before: Replica, after: Replica, records: bool) -> int:
    """The leader updates the remote log end offset and the high watermark before it creates the response."""
    return after.high_watermark


def the_old_high_watermark(before: Replica, after: Replica, records: bool) -> int:
    """The leader reads the high watermark before it handles the request."""
    return before.high_watermark


def old_with_records_new_from_purgatory(before: Replica, after: Replica, records: bool) -> int:
    """The leader reads the high watermark with the records, and again when it completes a request without records."""
    return before.high_watermark if records else after.high_watermark


def no_more_than_it_has(end_offset: int, told: int) -> int:
    """A follower's high watermark is the leader's, limited to the end of its own log."""
    return min(end_offset, told)


# --- high watermark -----------------------------------------------------------------------------------------


def the_maximal_isr(leader: Replica) -> frozenset[int]:
    """The high watermark waits for the ISR and proposed members, and for no other brokers.

    Kafka's also waits for followers that caught up within `replica.lag.time.max.ms` (KAFKA-4485), so the one in the
    model is never lower.
    """
    return leader.maximal_isr


def whatever_the_isr(leader: Replica, bounds: Bounds) -> bool:
    """Before 3.7, the high watermark advances with any ISR, even if the leader is its only member."""
    return True


def with_enough_in_the_isr(leader: Replica, bounds: Bounds) -> bool:
    """KAFKA-15583: the committed ISR known to the leader has at least `min.insync.replicas` members."""
    return len(leader.isr) >= min(bounds.min_insync_replicas, bounds.brokers)


def exact(high_watermark: int) -> tuple[int, ...]:
    """The high watermark on disk is the one in memory."""
    return (high_watermark,)


def any_older(high_watermark: int) -> range:
    """The one on disk may be older: it is written every `replica.high.watermark.checkpoint.interval.ms`."""
    return range(high_watermark, -1, -1)


def at_any_time(leader: Replica) -> bool:
    """Before KIP-207, a leader answers ListOffsets with its high watermark, however old that is."""
    return True


def once_it_has_caught_up(leader: Replica) -> bool:
    """KIP-207: only after its high watermark has reached the start of its epoch."""
    return leader.high_watermark >= leader.starts_own_epoch_at


# --- ISR ----------------------------------------------------------------------------------------------------


def at_the_high_watermark(leader: Replica, offset: int) -> bool:
    """A follower that has caught up to the high watermark is in sync."""
    return offset >= leader.high_watermark


def at_the_start_of_the_epoch(leader: Replica, offset: int) -> bool:
    """KAFKA-7128: a new leader's high watermark may be behind, so a follower must also reach the start of its epoch."""
    return offset >= max(leader.high_watermark, leader.starts_own_epoch_at)


def behind(known: int, end: int, fetches: bool) -> bool:
    """Since 2.1 and in the articles: a follower at the leader's log end offset is in sync (KAFKA-7152)."""
    return known != end


def behind_or_silent(known: int, end: int, fetches: bool) -> bool:
    """Up to 2.0: a follower that has not fetched for a long time leaves the ISR, even if it has every record."""
    return known != end or not fetches


def anyone(registration: Registration, restarted: bool) -> bool:
    """The controller, or ZooKeeper, accepts every ISR that the leader proposes."""
    return True


def the_active(registration: Registration, restarted: bool) -> bool:
    """KIP-841: no broker that is fenced or shutting down."""
    return registration.status == ACTIVE


def the_active_that_were_judged(registration: Registration, restarted: bool) -> bool:
    """KIP-903: ... and no broker that has restarted since the fetch request by which the leader judged it."""
    return registration.status == ACTIVE and not restarted


# --- eligible leader replicas -------------------------------------------------------------------------------


def nobody(quorum: Quorum, isr: frozenset[int], min_isr: int) -> frozenset[int]:
    """There is no ELR."""
    return frozenset()


def who_left_too_small_an_isr(quorum: Quorum, isr: frozenset[int], min_isr: int) -> frozenset[int]:
    """KIP-966: empty if the ISR is large enough; else the brokers of the old ISR and ELR outside the new ISR."""
    return frozenset() if len(isr) >= min_isr else (quorum.elr | quorum.isr) - isr
