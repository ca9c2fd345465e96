"""What brokers and controller of a release do: the rules as functions. `rules` is the table of them.

A release, a design and a mutant are each a `Protocol`; they differ in the rules that changed.
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
"""Where an epoch ends in a log, as far as its leader epoch cache says. See `epochs`."""


@attrs.frozen
class Truncation:
    """What a follower makes of an answer: where it truncates, and whether it has to ask again."""

    offset: int
    asks_again: bool = False


@attrs.frozen(eq=False, kw_only=True)
class Protocol:
    """What brokers and controller of one Kafka release do differently from those of another.

    Attributes:
        name: its name.
        summary: what it is, in a sentence.
        truncates_first_to: the offset a new follower truncates to before it asks or fetches, given its replica.
        asks_about: the epoch a follower asks its leader about before it fetches, given its log; None: it does
            not ask.
        end_of_epoch: what a leader epoch cache says. See `epochs`.
        answers: what a leader answers, given its replica, the epoch asked about, and `end_of_epoch`.
        truncates_to: what a follower does with the answer, given its replica, and `end_of_epoch`.
        sends_last_epoch: the epoch that a follower names in a fetch request, given its log; None: none.
        diverges: where the follower's last epoch ends for its leader, if the two logs differ as far as a fetch
            request tells, given the leader's replica, the request, and `end_of_epoch`; else None.
        counts_diverging: whether a leader takes the offset of a diverging fetch for the follower's log end offset.
        learns_before_truncating: whether a follower takes the high watermark of a diverging response first.
        follows_on: whether a follower that hears again of the leader it follows goes on fetching, without truncating,
            given the epoch it was in, the new one, and whether that began with an election.
        exits_out_of_range: whether a follower beyond its leader's log end exits, if unclean election is off.
        accepts: whether a leader takes a request, given the leader's epoch and the request's.
        admits: whether a leader lets a follower into the ISR, given its replica and the fetch offset.
        lags: whether a leader may remove a follower from the ISR, given its log end offset as the leader knows
            it, the leader's, and whether the follower fetches from this leader.
        counts: the brokers whose log end offsets limit a leader's high watermark.
        may_raise: whether a leader may raise its high watermark, given its replica and the bounds.
        tells: the high watermark in a fetch response, given the leader's replica before and after it
            looked at the request, and whether there are records to send.
        learns: a follower's high watermark, given its log end offset and what the leader told.
        checkpoints: the high watermarks that may be on disk, given the one in memory.
        lists_offsets: whether a leader tells consumers where its log ends, given its replica.
        followers_serve: whether consumers read from followers too.
        notices_bounces: whether the controller notices that a broker was down: "none" of them for certain,
            those of "leaders", or "all".
        obeys_late_requests: whether a broker obeys a request from before its restart.
        elects_at_once: whether an election is part of the step that makes it necessary or possible.
        in_flight: whether a leader changes the ISR by an `AlterPartition` in flight, not by a compare-and-set.
        epoch_for_removal: whether the controller begins an epoch when it removes a follower from the ISR.
        epoch_for_shrink: whether it does when a leader removes one.
        may_join: whether the controller lets a broker into the ISR, given its registration and whether it has
            started again since the leader judged it.
        names_incarnations: whether a leader says by which broker epoch it judged a follower.
        reads_incarnation_twice: whether it may name that of a later fetch than the one it judged.
        eligible: the ELR after a change of the ISR, given the quorum before, the new ISR, and
            `min.insync.replicas`.
        elects_last_known: whether the last known leader is elected if there is nobody else: "no", "alive": if
            the controller takes it for alive, "fenced": even if it does not.
        has_elr: whether there are eligible leader replicas, so that the ISR may become empty (KIP-966).
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
    """Before 0.11: what is above the own high watermark may not be committed, so it goes."""
    return follower.high_watermark


def own_log_end(follower: Replica) -> int:
    """Nothing is truncated before the leader says where."""
    return follower.log.end_offset


def nothing(log: Log) -> int | None:
    """No epoch is named."""
    return None


def last_epoch(log: Log) -> int | None:
    """The epoch of the last record, if there is one."""
    return log.last_epoch


def end_only(leader: Replica, wanted: int, end_of_epoch: EpochLookup) -> EpochResponse:
    """KIP-101: where the epoch asked about ends, which is where the first larger one starts."""
    end = end_of_epoch(leader.log, leader.epoch, wanted)
    return EpochResponse(wanted, None if end is None else end.end_offset)


def epoch_and_end(leader: Replica, wanted: int, end_of_epoch: EpochLookup) -> EpochResponse:
    """KIP-279: the largest epoch up to the one asked about that the leader knows, and where it ends."""
    end = end_of_epoch(leader.log, leader.epoch, wanted)
    return EpochResponse(wanted, None) if end is None else EpochResponse(end.epoch, end.end_offset)


def nothing_to_answer(leader: Replica, wanted: int, end_of_epoch: EpochLookup) -> EpochResponse:
    """Before 0.11, and since followers truncate by fetching, no replica sends such a request."""
    raise AssertionError("OffsetsForLeaderEpoch is not known in this release")


def the_answer_or_own_high_watermark(follower: Replica, answer: EpochResponse, _: EpochLookup) -> Truncation:
    """KIP-101: where the leader says; without an answer as before, to the own high watermark."""
    if answer.end_offset is None:
        return Truncation(follower.high_watermark)
    return Truncation(min(answer.end_offset, follower.log.end_offset))


def end_of_the_epoch_in_both(follower: Replica, answer: EpochResponse, end_of_epoch: EpochLookup) -> Truncation:
    """KIP-279: all larger epochs go; then the leader's end of this epoch, or another question about an older one."""
    if answer.end_offset is None:
        return Truncation(follower.high_watermark)
    end = end_of_epoch(follower.log, None, answer.epoch)
    if end is None:  # the follower knows no epoch so small
        return Truncation(min(answer.end_offset, follower.log.end_offset))
    if end.epoch != answer.epoch:
        return Truncation(min(end.end_offset, follower.log.end_offset), asks_again=True)
    return Truncation(min(end.end_offset, answer.end_offset, follower.log.end_offset))


def never_diverges(leader: Replica, request: FetchRequest, end_of_epoch: EpochLookup) -> EpochEnd | None:
    """Before 2.8 a fetch request does not say what the follower's last record is."""
    return None


def by_last_epoch(leader: Replica, request: FetchRequest, end_of_epoch: EpochLookup) -> EpochEnd | None:
    """KIP-595: the leader does not know the follower's last epoch, or it ends before the fetch offset."""
    if request.last_epoch is None:
        return None
    end = end_of_epoch(leader.log, leader.epoch, request.last_epoch)
    if end is None or (end.epoch >= request.last_epoch and end.end_offset >= request.offset):
        return None
    return end


def never(old: int, new: int, elected: bool) -> bool:
    """Since 2.1, and in the KIPs: a follower truncates in each new epoch."""
    return False


def always(old: int, new: int, elected: bool) -> bool:
    """Up to 2.0.0: the become-follower steps are skipped while the leader is the same (KAFKA-7164)."""
    return True


def if_none_was_missed(old: int, new: int, elected: bool) -> bool:
    """2.0.1: they are skipped if no epoch was missed in between.

    If the same leader was elected again, one was: that in which there was no leader, which has no number here.
    """
    return new == old + 1 and not elected


# --- fetching -----------------------------------------------------------------------------------------------


def from_any_epoch(own: int, requested: int) -> bool:
    """Before KIP-320 requests do not say which epoch their sender is in."""
    return True


def from_own_epoch(own: int, requested: int) -> bool:
    """KIP-320: every other epoch is fenced, the older and the newer."""
    return own == requested


def the_new_high_watermark(before: Replica, after: Replica, records: bool) -> int:
    """The remote log end offset is updated first, then the high watermark, and then the response is made."""
    return after.high_watermark


def the_old_high_watermark(before: Replica, after: Replica, records: bool) -> int:
    """The high watermark is read before the request is looked at."""
    return before.high_watermark


def old_with_records_new_from_purgatory(before: Replica, after: Replica, records: bool) -> int:
    """The high watermark is read with the records; a request that waited for none is read again as it completes."""
    return before.high_watermark if records else after.high_watermark


def no_more_than_it_has(end_offset: int, told: int) -> int:
    """A follower's high watermark is the leader's, but not beyond its own log."""
    return min(end_offset, told)


# --- high watermark -----------------------------------------------------------------------------------------


def the_maximal_isr(leader: Replica) -> frozenset[int]:
    """The high watermark waits for the ISR and who was asked to join it, and for nobody else.

    Kafka's also waits for followers that caught up within `replica.lag.time.max.ms` (KAFKA-4485); this one is
    never lower.
    """
    return leader.maximal_isr


def whatever_the_isr(leader: Replica, bounds: Bounds) -> bool:
    """Before 3.7 the high watermark rises with any ISR, be it the leader alone."""
    return True


def with_enough_in_the_isr(leader: Replica, bounds: Bounds) -> bool:
    """KAFKA-15583: the ISR, as far as it is known to be committed, has `min.insync.replicas` members."""
    return len(leader.isr) >= min(bounds.min_insync_replicas, bounds.brokers)


def exact(high_watermark: int) -> tuple[int, ...]:
    """The high watermark in memory is on disk too."""
    return (high_watermark,)


def any_older(high_watermark: int) -> range:
    """It is written every `replica.high.watermark.checkpoint.interval.ms`: what is on disk may be older."""
    return range(high_watermark, -1, -1)


def at_any_time(leader: Replica) -> bool:
    """Before KIP-207 a leader answers ListOffsets with its high watermark, however old that is."""
    return True


def once_it_has_caught_up(leader: Replica) -> bool:
    """KIP-207: not before its high watermark has reached the start of its epoch."""
    return leader.high_watermark >= leader.starts_own_epoch_at


# --- ISR ----------------------------------------------------------------------------------------------------


def at_the_high_watermark(leader: Replica, offset: int) -> bool:
    """Whoever has caught up to the high watermark is in sync."""
    return offset >= leader.high_watermark


def at_the_start_of_the_epoch(leader: Replica, offset: int) -> bool:
    """KAFKA-7128: a new leader's high watermark is behind, so that its epoch's start has to be reached too."""
    return offset >= max(leader.high_watermark, leader.starts_own_epoch_at)


def behind(known: int, end: int, fetches: bool) -> bool:
    """Since 2.1, and in the articles: who has the leader's log end is in sync (KAFKA-7152)."""
    return known != end


def behind_or_silent(known: int, end: int, fetches: bool) -> bool:
    """Up to 2.0: a follower that has not fetched for long leaves the ISR, even if it has all."""
    return known != end or not fetches


def anyone(registration: Registration, restarted: bool) -> bool:
    """The controller, or ZooKeeper, takes the ISR that the leader asks for."""
    return True


def the_active(registration: Registration, restarted: bool) -> bool:
    """KIP-841: nobody who is fenced, or shutting down."""
    return registration.status == ACTIVE


def the_active_that_were_judged(registration: Registration, restarted: bool) -> bool:
    """KIP-903: ... and nobody who has started again since the fetch by which the leader judged it."""
    return registration.status == ACTIVE and not restarted


# --- eligible leader replicas -------------------------------------------------------------------------------


def nobody(quorum: Quorum, isr: frozenset[int], min_isr: int) -> frozenset[int]:
    """There is no ELR."""
    return frozenset()


def who_left_too_small_an_isr(quorum: Quorum, isr: frozenset[int], min_isr: int) -> frozenset[int]:
    """KIP-966: empty if the ISR is large enough; else who was in the ISR or the ELR, and is not in the new ISR."""
    return frozenset() if len(isr) >= min_isr else (quorum.elr | quorum.isr) - isr
