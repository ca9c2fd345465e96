"""The rules that the brokers and the controller of a release follow, as functions. The table of rules is in `rules`.

Each release, design and mutant is a `Protocol`, which is a choice of a function or value for each rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import attrs

from leadline.model.kafka.assignment import Assignment
from leadline.model.kafka.bounds import OLD_MIN_ISR, Bounds
from leadline.model.kafka.broker import ACTIVE, Registration, Replica
from leadline.model.kafka.epochs import EpochEnd
from leadline.model.kafka.messages import EpochResponse, FetchRequest
from leadline.model.kafka.parties import BROKER, CONTROLLER, FEATURE, FOLLOWER, LEADER, LEVEL, decided_by
from leadline.model.log import Log
from leadline.model.quorum import NO_EPOCH, Quorum

UNKNOWN = "unknown"
AT_START = "start-of-leader"
KEPT = "kept"
AT_ONCE = "start"

EpochLookup = Callable[[Log, int | None, int], EpochEnd | None]
"""A function that looks up the end of an epoch in the leader epoch cache of a log.

See `leadline.model.kafka.epochs`.
"""


@attrs.frozen
class Truncation:
    """What a follower does after a response: the offset to which it truncates its log, and whether it asks again."""

    offset: int
    asks_again: bool = False


@attrs.frozen(eq=False, kw_only=True)
class Protocol:
    """The rules in which Kafka releases differ. Each attribute is a function or value that defines how one release
    behaves.

    The attributes that are true or false are described by the rules that set them: see `leadline.model.kafka.rules`.

    Attributes:
        name: the name of the release or design.
        summary: a sentence that describes the release or design.
        truncates_first_to: returns the offset to which a new follower truncates before it asks or fetches. The argument
            is the follower's replica.
        asks_about: returns the epoch about which a follower asks its leader before it fetches, or None if it does not
            ask. The argument is the follower's replica.
        end_of_epoch: looks up an epoch in a leader epoch cache. See `leadline.model.kafka.epochs`.
        answers: returns a leader's response to an `OffsetsForLeaderEpoch` request. The arguments are the leader's
            replica, the requested epoch, and `end_of_epoch`.
        truncates_to: returns what a follower does after the response to its `OffsetsForLeaderEpoch` request. The
            arguments are the follower's replica, the response, and `end_of_epoch`.
        sends_last_epoch: returns the epoch that a follower sends in a fetch request, or None if it sends no epoch. The
            argument is the follower's replica.
        diverges: if a fetch request shows that the logs differ, returns where the follower's last epoch ends in the
            leader's log. Otherwise, returns None. The arguments are the leader's replica, the request, and
            `end_of_epoch`.
        follows_on: returns whether a follower whose leader stays the same continues to fetch in a new epoch without
            truncating its log. The arguments are the follower's old epoch, the new epoch, and whether the new epoch
            began with an election.
        accepts: returns whether a leader accepts a request. The arguments are the leader's epoch and the epoch of the
            request.
        admits: returns whether a leader admits a follower to the ISR. The arguments are the leader's replica and the
            fetch offset.
        lags: returns whether a leader may remove a follower from the ISR. The arguments are the follower's remote log
            end offset, the leader's log end offset, and whether the follower fetches from this leader.
        counts: returns the brokers whose log end offsets limit a leader's high watermark. The argument is the leader's
            replica.
        may_raise: returns whether a leader may advance its high watermark. The arguments are the leader's replica and
            the bounds.
        min_isr: returns the minimum size of the ISR for acks=all. The arguments are the leader's replica and the
            bounds.
        tells: returns the high watermark in a fetch response. The arguments are the leader's replica before and after
            it handled the request, and whether there are records to send.
        learns: returns the high watermark that a follower adopts from a fetch response. The arguments are the
            follower's log end offset and the leader's high watermark.
        checkpoints: returns the high watermarks that can be on disk. The argument is the high watermark in memory or
            the highest one that can be on disk, whichever is higher.
        lists_offsets: returns whether a leader answers ListOffsets requests. The argument is the leader's replica.
        notices_bounces: which restarts the controller always notices: "none", only restarts of "leaders", or "all".
        may_join: returns whether the controller admits a broker to the ISR. The arguments are the broker's
            registration, and whether the broker has restarted since the fetch request on which the leader's decision is
            based.
        eligible: returns the ELR after a change of the ISR. The arguments are the previous quorum, the new ISR, and
            `min.insync.replicas`.
        elects_last_known: whether the last known leader is elected if there is no other candidate: "no" (never),
            "alive" (only if the controller considers it alive), or "fenced" (even if the controller does not consider
            it alive).
        completes: returns whether a reassignment completes. The arguments are the assignment, and the ISR without the
            replicas that are being removed.
        retains_up_to: returns the largest log start offset to which the retention of a broker may advance. The argument
            is its replica.
        low_hw: what becomes of a high watermark below the start of the log: it becomes `UNKNOWN` or the start
            (`AT_START`) when the broker leads; it becomes the start when the broker next learns a high watermark
            (`KEPT`), or at once (`AT_ONCE`).
        of_brokers: in a mix of two releases, the rules that each broker follows; these are then the rules that the
            controller follows. Empty if all follow the same rules.
    """

    name: str
    summary: str
    truncates_first_to: Callable[[Replica], int] = decided_by(FOLLOWER, LEVEL)
    asks_about: Callable[[Replica], int | None] = decided_by(FOLLOWER, LEVEL)
    end_of_epoch: EpochLookup = decided_by(BROKER)
    knows_from_election: bool = decided_by(BROKER)
    drops_empty_epoch: bool = decided_by(FOLLOWER)
    answers: Callable[[Replica, int, EpochLookup], EpochResponse] = decided_by(LEADER)
    truncates_to: Callable[[Replica, EpochResponse, EpochLookup], Truncation] = decided_by(FOLLOWER, LEVEL)
    sends_last_epoch: Callable[[Replica], int | None] = decided_by(FOLLOWER, LEVEL)
    fetches_with_epochs: bool = decided_by(FOLLOWER, LEVEL)
    diverges: Callable[[Replica, FetchRequest, EpochLookup], EpochEnd | None] = decided_by(LEADER)
    counts_diverging: bool = decided_by(LEADER)
    learns_before_truncating: bool = decided_by(FOLLOWER)
    truncates_late: bool = decided_by(BROKER)
    forgets_last_epoch: bool = decided_by(FOLLOWER)
    follows_on: Callable[[int, int, bool], bool] = decided_by(FOLLOWER)
    exits_out_of_range: bool = decided_by(FOLLOWER)
    accepts: Callable[[int, int], bool] = decided_by(LEADER)
    names_epoch: bool = decided_by(FOLLOWER, LEVEL)
    keeps_session_epochs: bool = decided_by(LEADER)
    admits: Callable[[Replica, int], bool] = decided_by(LEADER)
    lags: Callable[[int, int, bool], bool] = decided_by(LEADER)
    counts: Callable[[Replica], frozenset[int]] = decided_by(LEADER)
    waits_for_caught_up: bool = decided_by(LEADER)
    waits_for_ineligible: bool = decided_by(LEADER)
    keeps_leos: bool = decided_by(LEADER)
    may_raise: Callable[[Replica, Bounds], bool] = decided_by(LEADER)
    min_isr: Callable[[Replica, Bounds], int] = decided_by(LEADER)
    acknowledges_earlier: bool = decided_by(LEADER)
    tells: Callable[[Replica, Replica, bool], int] = decided_by(LEADER)
    learns: Callable[[int, int], int] = decided_by(FOLLOWER)
    checkpoints: Callable[[int], Iterable[int]] = decided_by(BROKER)
    keeps_newer_checkpoints: bool = decided_by(BROKER)
    lists_offsets: Callable[[Replica], bool] = decided_by(LEADER)
    followers_serve: bool = decided_by(BROKER)
    notices_bounces: str = decided_by(CONTROLLER)
    obeys_late_requests: bool = decided_by(BROKER)
    names_broker_epochs: bool = decided_by(CONTROLLER, LEVEL)
    elects_at_once: bool = decided_by(CONTROLLER)
    elects_uncleanly: bool = decided_by(CONTROLLER)
    in_flight: bool = decided_by(LEADER, LEVEL)
    epoch_for_removal: bool = decided_by(CONTROLLER, LEVEL)
    epoch_for_shrink: bool = decided_by(CONTROLLER, LEVEL)
    may_join: Callable[[Registration, bool], bool] = decided_by(CONTROLLER)
    names_incarnations: bool = decided_by(LEADER)
    sends_incarnation: bool = decided_by(FOLLOWER, LEVEL)
    reads_incarnation_twice: bool = decided_by(LEADER)
    raises_when_answered: bool = decided_by(LEADER)
    drops_newer_proposals: bool = decided_by(LEADER)
    eligible: Callable[[Quorum, frozenset[int], int], frozenset[int]] = decided_by(CONTROLLER, FEATURE)
    elects_last_known: str = decided_by(CONTROLLER, FEATURE)
    has_elr: bool = decided_by(CONTROLLER, FEATURE)
    elects_in_order: bool = decided_by(CONTROLLER)
    reassigns: bool = decided_by(CONTROLLER)
    completes: Callable[[Assignment, frozenset[int]], bool] = decided_by(CONTROLLER)
    replaces_added: bool = decided_by(CONTROLLER)
    replaces_removed: bool = decided_by(CONTROLLER)
    cuts_elr: bool = decided_by(CONTROLLER)
    forgets_newer_proposals: bool = decided_by(LEADER)
    has_directories: bool = decided_by(BROKER, LEVEL)
    loses_directory_cleanly: bool = decided_by(BROKER)
    forgets_last_known: bool = decided_by(CONTROLLER)
    clears_elr_on_assignment: bool = decided_by(CONTROLLER)
    clears_elr_on_update: bool = decided_by(CONTROLLER)
    learns_settings_late: bool = decided_by(BROKER)
    counts_first_partition: bool = decided_by(CONTROLLER)
    refuses_earlier_life: bool = decided_by(LEADER)
    carries_starts: bool = decided_by(FOLLOWER, LEVEL)
    deletes_records: bool = decided_by(LEADER)
    retains_up_to: Callable[[Replica], int] = decided_by(BROKER)
    low_hw: str = decided_by(BROKER)
    tests_start_first: bool = decided_by(LEADER)
    reads_start_again: bool = decided_by(LEADER)
    fails_whole_fetcher: bool = decided_by(FOLLOWER)
    of_brokers: tuple[Protocol, ...] = ()


# --- truncation ---------------------------------------------------------------------------------------------


def own_high_watermark(follower: Replica) -> int:
    """Before 0.11: truncate to the follower's own high watermark, because records above it may not be committed."""
    return follower.high_watermark


def own_log_end(follower: Replica) -> int:
    """Return the log end offset, because a follower keeps its whole log until the leader's response gives an offset."""
    return follower.log.end_offset


def nothing(follower: Replica) -> int | None:
    """Return None, because the follower does not ask about an epoch or send one."""
    return None


def last_epoch(follower: Replica) -> int | None:
    """Return the last epoch in the follower's leader epoch cache: the epoch of its last record, unless it remembers a
    later one. Return None if the cache is empty.
    """
    return follower.last_known_epoch


def end_only(leader: Replica, wanted: int, end_of_epoch: EpochLookup) -> EpochResponse:
    """KIP-101: respond with the end of the requested epoch, which is the start of the next larger epoch."""
    end = end_of_epoch(leader.log, leader.epoch, wanted)
    return EpochResponse(wanted, None if end is None else end.end_offset)


def epoch_and_end(leader: Replica, wanted: int, end_of_epoch: EpochLookup) -> EpochResponse:
    """KIP-279: respond with the largest known epoch that is not greater than the requested epoch, and with the epoch's
    end.
    """
    end = end_of_epoch(leader.log, leader.epoch, wanted)
    return EpochResponse(wanted, None) if end is None else EpochResponse(end.epoch, end.end_offset)


def nothing_to_answer(leader: Replica, wanted: int, end_of_epoch: EpochLookup) -> EpochResponse:
    """Raise an error: before 0.11, no replica sends `OffsetsForLeaderEpoch` requests."""
    raise AssertionError("this release does not support OffsetsForLeaderEpoch")


def the_answer_or_own_high_watermark(follower: Replica, answer: EpochResponse, _: EpochLookup) -> Truncation:
    """KIP-101: truncate to the offset in the response. If the response has no offset, truncate to the
    follower's own high watermark.
    """
    if answer.end_offset is None:
        return Truncation(follower.high_watermark)
    return Truncation(min(answer.end_offset, follower.log.end_offset))


def end_of_the_epoch_in_both(follower: Replica, answer: EpochResponse, end_of_epoch: EpochLookup) -> Truncation:
    """KIP-279: truncate the records whose epoch is larger than the epoch in the response.

    If the follower's log has the epoch of the response, truncate to the end of this epoch in the leader's log or in the
    follower's log, whichever is smaller. Otherwise, ask about an older epoch.
    """
    if answer.end_offset is None:
        return Truncation(follower.high_watermark)
    remembered = None if follower.empty_epoch == NO_EPOCH else follower.empty_epoch
    end = end_of_epoch(follower.log, remembered, answer.epoch)
    if end is None:  # all epochs in the follower's log are greater
        return Truncation(min(answer.end_offset, follower.log.end_offset))
    if end.epoch != answer.epoch:
        return Truncation(min(end.end_offset, follower.log.end_offset), asks_again=True)
    return Truncation(min(end.end_offset, answer.end_offset, follower.log.end_offset))


def never_diverges(leader: Replica, request: FetchRequest, end_of_epoch: EpochLookup) -> EpochEnd | None:
    """Before 2.7, leaders know no epoch of the follower's last record. Followers send it since 2.8."""
    return None


def by_last_epoch(leader: Replica, request: FetchRequest, end_of_epoch: EpochLookup) -> EpochEnd | None:
    """KIP-595: the logs diverge if the leader's log does not have the follower's last epoch, or if the epoch ends
    earlier there.

    If the logs diverge, the end of this epoch in the leader's log is less than the fetch offset.
    """
    if request.last_epoch is None:
        return None
    end = end_of_epoch(leader.log, leader.epoch, request.last_epoch)
    if end is None or (end.epoch >= request.last_epoch and end.end_offset >= request.offset):
        return None
    return end


def never(old: int, new: int, elected: bool) -> bool:
    """In 2.1 and later and in the KIPs, a follower truncates its log in each new epoch."""
    return False


def always(old: int, new: int, elected: bool) -> bool:
    """Up to 2.0.0, a follower does not truncate its log if its leader stays the same (KAFKA-7164)."""
    return True


def if_none_was_missed(old: int, new: int, elected: bool) -> bool:
    """In 2.0.1, a follower does not truncate its log if its leader stays the same and the follower has missed no epoch.

    If the same leader was elected again, the follower has missed an epoch without a leader. In the model, such an epoch
    has no number.
    """
    return new == old + 1 and not elected


# --- fetching -----------------------------------------------------------------------------------------------


def from_any_epoch(own: int, requested: int) -> bool:
    """Before KIP-320, requests do not contain the epoch of the sender, so leaders accept requests from any epoch."""
    return True


def from_own_epoch(own: int, requested: int) -> bool:
    """KIP-320: leaders reject requests from all other epochs, both older and newer."""
    return own == requested


def the_new_high_watermark(before: Replica, after: Replica, records: bool) -> int:
    """The leader updates the remote log end offset and the high watermark before it creates the response."""
    return after.high_watermark


def the_old_high_watermark(before: Replica, after: Replica, records: bool) -> int:
    """The leader reads the high watermark before it handles the request."""
    return before.high_watermark


def old_with_records_new_from_purgatory(before: Replica, after: Replica, records: bool) -> int:
    """If there are records to send, the leader reads the high watermark together with the records.

    If there are no records, the leader reads the high watermark again when the request leaves purgatory.
    """
    return before.high_watermark if records else after.high_watermark


def no_more_than_it_has(end_offset: int, told: int) -> int:
    """A follower adopts the leader's high watermark or its own log end offset, whichever is lower."""
    return min(end_offset, told)


# --- high watermark -----------------------------------------------------------------------------------------


def the_maximal_isr(leader: Replica) -> frozenset[int]:
    """Return the members of the ISR and of the proposed ISR. The high watermark waits only for these brokers.

    Kafka's high watermark also waits for followers that have caught up within `replica.lag.time.max.ms`. See the rule
    `hw_waits`.
    """
    return leader.maximal_isr


def whatever_the_isr(leader: Replica, bounds: Bounds) -> bool:
    """Before 3.7, the high watermark advances whatever the size of the ISR, even if the leader is its only member."""
    return True


def with_enough_in_the_isr(leader: Replica, bounds: Bounds) -> bool:
    """KAFKA-15583: the high watermark advances if the leader's committed ISR has at least `min.insync.replicas`
    members.
    """
    return len(leader.isr) >= at_most_the_replicas(leader, bounds)


def as_configured(leader: Replica, bounds: Bounds) -> int:
    """Before 3.7, `min.insync.replicas` is used even if it is larger than the number of replicas."""
    return OLD_MIN_ISR if leader.old_min_isr else bounds.min_insync_replicas


def at_most_the_replicas(leader: Replica, bounds: Bounds) -> int:
    """KAFKA-15583: use `min.insync.replicas` or the number of replicas that the leader knows of, if that is smaller."""
    return min(as_configured(leader, bounds), bounds.brokers if leader.assigned is None else len(leader.assigned))


def exact(high_watermark: int) -> tuple[int, ...]:
    """The high watermark on disk equals the high watermark in memory."""
    return (high_watermark,)


def any_older(high_watermark: int) -> range:
    """The high watermark on disk may be older, because it is written every
    `replica.high.watermark.checkpoint.interval.ms`.
    """
    return range(high_watermark, -1, -1)


def up_to_the_high_watermark(replica: Replica) -> int:
    """KAFKA-5634: retention deletes no record above the high watermark."""
    return replica.high_watermark


def at_any_time(leader: Replica) -> bool:
    """Before KIP-207, a leader answers ListOffsets requests with its high watermark, even if it is out of date."""
    return True


def once_it_has_caught_up(leader: Replica) -> bool:
    """KIP-207: a leader answers ListOffsets requests once its high watermark has reached the start of its epoch."""
    return leader.high_watermark >= leader.starts_own_epoch_at


# --- ISR ----------------------------------------------------------------------------------------------------


def at_the_high_watermark(leader: Replica, offset: int) -> bool:
    """A follower that has caught up to the high watermark is in sync."""
    return offset >= leader.high_watermark


def at_the_start_of_the_epoch(leader: Replica, offset: int) -> bool:
    """KAFKA-7128: a follower must also reach the start of the leader's epoch to be in sync.

    The high watermark of a new leader may be below that of the previous leader.
    """
    return offset >= max(leader.high_watermark, leader.starts_own_epoch_at)


def behind(known: int, end: int, fetches: bool) -> bool:
    """In 2.1 and later and in the articles, a leader can remove a follower from the ISR unless the follower has reached
    the leader's log end offset (KAFKA-7152).
    """
    return known != end


def behind_or_silent(known: int, end: int, fetches: bool) -> bool:
    """Up to 2.0, a leader can also remove a follower that has every record but has not fetched for a long time."""
    return known != end or not fetches


def anyone(registration: Registration, restarted: bool) -> bool:
    """The controller, or ZooKeeper, accepts every ISR that the leader proposes."""
    return True


def the_active(registration: Registration, restarted: bool) -> bool:
    """KIP-841: the controller rejects an ISR that contains a broker that is fenced or shutting down."""
    return registration.status == ACTIVE


def the_active_that_were_judged(registration: Registration, restarted: bool) -> bool:
    """KIP-903: the controller also rejects a broker that has restarted since the leader handled the broker's fetch
    request.
    """
    return registration.status == ACTIVE and not restarted


# --- eligible leader replicas -------------------------------------------------------------------------------


def nobody(quorum: Quorum, isr: frozenset[int], min_isr: int) -> frozenset[int]:
    """Return an empty ELR, for releases that have no ELR."""
    return frozenset()


def who_was_left_over(quorum: Quorum, isr: frozenset[int], min_isr: int) -> frozenset[int]:
    """Return the ELR after `eligible.leader.replicas.version` was lowered: the old one until the ISR has a member.

    `PartitionChangeBuilder.isValidNewLeader` still elects from it, and `maybeUpdateRecordElr` then clears it (4.3.1).
    """
    return quorum.elr if not isr else frozenset()


def who_left_too_small_an_isr(quorum: Quorum, isr: frozenset[int], min_isr: int) -> frozenset[int]:
    """KIP-966: return the members of the old ISR and ELR that are not in the new ISR.

    If the new ISR has at least `min_isr` members, the ELR is empty.
    """
    return frozenset() if len(isr) >= min_isr else (quorum.elr | quorum.isr) - isr
