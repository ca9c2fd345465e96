"""Deliberately wrong rules for the `kafka` family that are not values in the table of rules.

Each mistake replaces rules of a `Protocol` or functions of actions. `leadline mutate` checks a release or design with
each mistake. `rules` contains the values that releases have had, whether right or wrong. The `atomic` family has some
further mistakes: a high watermark that is too high by one, a high watermark that advances with a majority of the ISR,
and requests that are applied twice.

Some mistakes are missing because the model has no reassignment with ZooKeeper (KAFKA-9672) and no topic ids
(KAFKA-14190). It also has no stale responses of a controller (KAFKA-14154). Others are
missing because mutants are not checked for liveness: a high watermark, an ISR or a truncation that is stuck
(KAFKA-13091, KAFKA-12686, KAFKA-10706), and a follower that leaves and joins the ISR repeatedly (KAFKA-19996).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import attrs

from leadline.checker.action import Action
from leadline.model.kafka import protocols as does
from leadline.model.kafka import readings
from leadline.model.kafka.broker import Replica
from leadline.model.kafka.controller import controller_elects
from leadline.model.kafka.crash import restart
from leadline.model.kafka.fetch import handle_fetch, park_fetch
from leadline.model.kafka.high_watermark import smallest_leo
from leadline.model.kafka.isr import handle_alter_partition, shrink_isr
from leadline.model.kafka.leadership import become_leader
from leadline.model.kafka.messages import EpochResponse, FetchRequest, FetchResponse, OffsetOutOfRange
from leadline.model.kafka.produce import produce
from leadline.model.kafka.protocols import EpochLookup, Truncation, end_of_the_epoch_in_both
from leadline.model.kafka.state import Partition
from leadline.model.kafka.truncation import handle_epoch_request
from leadline.model.log import Log, Record
from leadline.model.mistakes import Mistake, Taken, and_then, changing, under
from leadline.model.quorum import Quorum
from leadline.model.rules import Rule, RuleColumn

KafkaAction = Action[Partition, ...]


# --- truncation ---------------------------------------------------------------------------------------------


def one_too_many(follower: Replica, answer: EpochResponse, end_of_epoch: EpochLookup) -> Truncation:
    right = end_of_the_epoch_in_both(follower, answer, end_of_epoch)
    return attrs.evolve(right, offset=min(right.offset + 1, follower.log.end_offset))


def one_too_few(follower: Replica, answer: EpochResponse, end_of_epoch: EpochLookup) -> Truncation:
    right = end_of_the_epoch_in_both(follower, answer, end_of_epoch)
    return attrs.evolve(right, offset=max(right.offset - 1, 0))


def never_ask_again(follower: Replica, answer: EpochResponse, end_of_epoch: EpochLookup) -> Truncation:
    return attrs.evolve(end_of_the_epoch_in_both(follower, answer, end_of_epoch), asks_again=False)


# --- fetch --------------------------------------------------------------------------------------------------


def count_what_was_sent(before: Partition, after: Partition, leader: int, follower: int) -> Partition:
    """Set the remote log end offset as if the follower had received the records that the leader sends."""
    match after.replicas[follower].in_flight, before.replicas[follower].in_flight:
        case FetchResponse(records=records), FetchRequest(offset=offset):
            leos = list(after.replicas[leader].remote_leos)
            leos[follower] = offset + len(records)
            return changing(after, leader, remote_leos=tuple(leos))
    return after


def count_who_is_out_of_range(before: Partition, after: Partition, leader: int, follower: int) -> Partition:
    """Set the remote log end offset to a fetch offset that is beyond the leader's log (KAFKA-13141)."""
    match after.replicas[follower].in_flight, before.replicas[follower].in_flight:
        case OffsetOutOfRange(), FetchRequest(offset=offset):
            leos = list(after.replicas[leader].remote_leos)
            leos[follower] = offset
            return changing(after, leader, remote_leos=tuple(leos))
    return after


# --- high watermark -----------------------------------------------------------------------------------------


def the_leader_alone(leader: Replica) -> frozenset[int]:
    return frozenset()


def smallest_without_maximum(before: Partition, after: Partition, leader: int, *_: int) -> Partition:
    """Set the high watermark to the smallest log end offset that counts, even if this lowers the high watermark."""
    replica = after.replicas[leader]
    return changing(after, leader, high_watermark=max(smallest_leo(after, leader, replica), 0))


# --- ISR ----------------------------------------------------------------------------------------------------


def anyone(leader: Replica, offset: int) -> bool:
    return True


def one_below_the_high_watermark(leader: Replica, offset: int) -> bool:
    return offset >= leader.high_watermark - 1


def as_the_true_leader(action: KafkaAction) -> Taken:
    """Return an action that also lets a deposed leader write the ISR, as if there were no compare-and-set."""

    def mutant(state: Partition, leader: int, other: int) -> Iterator[Partition]:
        pretended = Quorum(leader, state.replicas[leader].epoch, state.quorum.isr)
        for successor in action(attrs.evolve(state, quorum=pretended), leader, other):
            yield attrs.evolve(successor, quorum=attrs.evolve(state.quorum, isr=successor.quorum.isr))

    return mutant


def only_in_the_leader(before: Partition, after: Partition, leader: int, other: int) -> Partition:
    return attrs.evolve(after, quorum=before.quorum)


# --- controller and leadership ------------------------------------------------------------------------------


def elect_in_the_same_epoch(state: Partition, broker: int) -> Iterator[Partition]:
    quorum = state.quorum
    if quorum.leader is None and broker in quorum.isr and state.replicas[broker].up:
        epoch = quorum.epoch
        latest = state.requests[epoch]
        if latest is None:  # not an assert, which pytest rewrites, so that the function would be given whole states
            raise ValueError(f"no leader was elected in epoch {epoch}")
        requests = (*state.requests[:epoch], attrs.evolve(latest, leader=broker), *state.requests[epoch + 1 :])
        yield attrs.evolve(state, quorum=Quorum(broker, epoch, quorum.isr), requests=requests)


def elect_beside_the_isr(state: Partition, broker: int) -> Iterator[Partition]:
    quorum, epoch = state.quorum, state.quorum.epoch + 1
    if epoch <= state.bounds.max_epoch and quorum.leader is None and state.replicas[broker].up:
        first = state.requests[0]
        if first is None:
            raise ValueError("no leader was elected in epoch 0")
        request = attrs.evolve(first, leader=broker, isr=quorum.isr)
        requests = (*state.requests[:epoch], request, *state.requests[epoch + 1 :])
        yield attrs.evolve(state, quorum=Quorum(broker, epoch, quorum.isr), requests=requests)


def starting(change: Callable[[Replica, int], dict[str, object]]) -> Taken:
    """Return an action that makes a broker the leader, and then changes fields of its replica.

    Parameters:
        change: a function that returns the changed fields. Its arguments are the replica and the broker.
    """

    def mutant(before: Partition, after: Partition, broker: int, epoch: int) -> Partition:
        return changing(after, broker, **change(after.replicas[broker], broker))

    return and_then(become_leader, mutant)


def lead_by_a_stale_request(state: Partition, broker: int, epoch: int) -> Iterator[Partition]:
    """Accept an older request that names the broker as leader, so that the broker leads again."""
    known = state.replicas[broker]
    yield from become_leader(changing(state, broker, epoch=min(known.epoch, epoch - 1)), broker, epoch)


def go_on_leading(state: Partition, broker: int) -> Iterator[Partition]:
    """Restart the leader before the controller notices that it was down, so that it continues to lead in the same
    epoch.
    """
    for back in restart(state, broker):
        yield attrs.evolve(back, quorum=state.quorum)


# --- records ------------------------------------------------------------------------------------------------


def stamp_epoch_0(before: Partition, after: Partition, leader: int) -> Partition:
    *kept, last = after.replicas[leader].log.records
    return changing(after, leader, log=Log((*kept, Record(last.value, epoch=0))))


def write_to_a_follower(state: Partition, leader: int) -> Iterator[Partition]:
    replica = state.replicas[leader]
    if replica.leader not in (None, leader):
        log = replica.log.append(Record(state.next_value, replica.epoch))
        if state.next_value < state.bounds.records:
            yield attrs.evolve(changing(state, leader, log=log), next_value=state.next_value + 1)
    else:
        yield from produce(state, leader)


# --- releases since 2.7 -------------------------------------------------------------------------------------


def without_the_pending_expansion(leader: Replica) -> frozenset[int]:
    return leader.isr


def with_a_pending_shrink_taken_for_done(leader: Replica) -> frozenset[int]:
    asked = leader.proposal
    return asked.isr if asked is not None and asked.isr < leader.isr else leader.maximal_isr


def whatever_the_partition_epoch(state: Partition, leader: int) -> Iterator[Partition]:
    """Accept a proposed ISR even if the ISR has changed since the proposal was sent."""
    asked = state.replicas[leader].proposal
    if asked is not None:
        asked = attrs.evolve(asked, known=state.quorum.isr)
        yield from handle_alter_partition(changing(state, leader, proposal=asked), leader)


def at_the_start_of_the_epoch_only(leader: Replica, offset: int) -> bool:
    return offset >= leader.starts_own_epoch_at


def even_if_the_isr_is_large_enough(quorum: Quorum, isr: frozenset[int], min_isr: int) -> frozenset[int]:
    return (quorum.elr | quorum.isr) - isr


def with_the_new_isr(quorum: Quorum, isr: frozenset[int], min_isr: int) -> frozenset[int]:
    return frozenset() if len(isr) >= min_isr else (quorum.elr | quorum.isr) - (quorum.isr & isr)


def keep_the_elr(state: Partition, broker: int) -> Iterator[Partition]:
    """Restart a broker as if it had stopped cleanly, so that it stays in the ELR after an unclean shutdown."""
    stopped = changing(state, broker, stopped_cleanly=True)
    if not state.replicas[broker].up:
        yield from restart(stopped, broker)


def join_a_stranger(state: Partition, leader: int) -> Iterator[Partition]:
    """Add a broker that is not a replica of the partition to the ISR."""
    for handled in handle_alter_partition(state, leader):
        quorum = handled.quorum
        yield attrs.evolve(handled, quorum=attrs.evolve(quorum, isr=quorum.isr | {state.bounds.brokers}))


# --- the table ----------------------------------------------------------------------------------------------

_TWO: Mapping[str, int] = {"max_epoch": 2}
_THREE: Mapping[str, int] = {"brokers": 3, "records": 1, "max_epoch": 2, "crashes": 1}
_THREE_NO_SHRINKS: Mapping[str, int] = {**_THREE, "isr_shrinks": 0}
_ONE_CRASH: Mapping[str, int] = {"max_epoch": 2, "crashes": 1}
_SMALL_ISR: Mapping[str, int] = {"min_insync_replicas": 2, "max_epoch": 2, "crashes": 1}
_LOST_LOG: Mapping[str, int] = {
    "records": 1,
    "min_insync_replicas": 2,
    "max_epoch": 2,
    "crashes": 0,
    "lossy_crashes": 1,
}
_SAME_EPOCH: Mapping[str, int] = {"max_epoch": 0, "crashes": 0, "lossy_crashes": 1}
_LOST_TAIL: Mapping[str, int] = {"max_epoch": 1, "crashes": 0, "lossy_crashes": 1}
_THREE_BROKERS: Mapping[str, int] = {"brokers": 3, "records": 1, "max_epoch": 1, "crashes": 1}
_FETCHES = (handle_fetch, park_fetch)
_ANSWERED = does.end_of_the_epoch_in_both

MISTAKES = (
    Mistake(
        name="no-truncation",
        sentence="a new follower keeps its whole log",
        source="KIP-101",
        right={"truncates_to": _ANSWERED},
        wrong={"truncates_to": readings.keep_all},
    ),
    Mistake(
        name="truncation-one-too-few",
        sentence="a new follower keeps one record too many",
        source="KIP-101",
        right={"truncates_to": _ANSWERED, "asks_about": does.last_epoch},
        wrong={"truncates_to": one_too_many},
    ),
    Mistake(
        name="diverging-truncation-one-too-few",
        sentence="a follower whose fetch request diverges keeps one record too many",
        source="KIP-595",
        right={"truncates_to": _ANSWERED, "diverges": does.by_last_epoch, "fetches_with_epochs": True},
        wrong={"truncates_to": one_too_many},
        bounds=_TWO,
        harmless="its next fetch request diverges again, so it fetches nothing and no leader counts it",
    ),
    Mistake(
        name="truncation-one-too-many",
        sentence="a new follower drops one record too many",
        source="KIP-101",
        right={"truncates_to": _ANSWERED},
        wrong={"truncates_to": one_too_few},
    ),
    Mistake(
        name="asks-once",
        sentence="a follower does not ask again when its leader does not know the epoch",
        source="KIP-279, KAFKA-6361",
        right={"truncates_to": _ANSWERED, "asks_about": does.last_epoch},
        wrong={"truncates_to": never_ask_again},
        bounds={"max_epoch": 3, "records": 3},
    ),
    Mistake(
        name="fetch-not-fenced",
        sentence="a leader answers fetch requests from another leader epoch",
        source="KIP-320, KAFKA-7395",
        right={"accepts": does.from_own_epoch},
        actions={action: under(action, accepts=does.from_any_epoch) for action in _FETCHES},
        bounds=_THREE_NO_SHRINKS,
    ),
    Mistake(
        name="epoch-request-not-fenced",
        sentence="a leader answers OffsetsForLeaderEpoch requests from another leader epoch",
        source="KIP-320, KAFKA-7395",
        right={"accepts": does.from_own_epoch},
        actions={handle_epoch_request: under(handle_epoch_request, accepts=does.from_any_epoch)},
        bounds=_THREE,
        harmless="only fetching in another epoch does harm",
    ),
    Mistake(
        name="leads-from-high-watermark",
        sentence="a broker without an answer to OffsetsForLeaderEpoch truncates to its high watermark, then leads",
        source="KIP-101",
        right={"asks_about": does.last_epoch},
        actions={become_leader: readings.fall_back_and_lead.function},
    ),
    Mistake(
        name="counts-what-was-sent",
        sentence="a leader counts records as received as soon as it has sent them",
        actions={handle_fetch: and_then(handle_fetch, count_what_was_sent)},
    ),
    Mistake(
        name="counts-out-of-range",
        sentence="a fetch offset beyond the leader's log counts as the follower's log end offset",
        source="KAFKA-13141",
        actions={handle_fetch: and_then(handle_fetch, count_who_is_out_of_range)},
        bounds=_TWO,
        harmless="if leader epochs are fenced, no fetch offset is beyond the log of a leader that accepts the request",
    ),
    Mistake(
        name="hw-not-capped",
        sentence="a follower adopts the leader's high watermark even if its own log is shorter",
        source="KAFKA-3919",
        right={"learns": does.no_more_than_it_has},
        wrong={"learns": readings.the_leaders},
    ),
    Mistake(
        name="hw-of-leader-alone",
        sentence="only the leader counts towards the high watermark",
        right={"counts": does.the_maximal_isr},
        wrong={"counts": the_leader_alone},
    ),
    Mistake(
        name="hw-of-caught-up",
        sentence="only ISR members that have caught up count towards the high watermark",
        right={"counts": does.the_maximal_isr},
        wrong={"counts": readings.isr_members_that_are_caught_up},
    ),
    Mistake(
        name="hw-of-all-that-fetch",
        sentence="the ISR and every follower that has fetched count towards the high watermark",
        right={"counts": does.the_maximal_isr},
        wrong={"counts": readings.the_isr_and_all_that_fetch},
        bounds=_THREE,
        harmless="it waits for more followers than necessary",
    ),
    Mistake(
        name="hw-may-fall",
        sentence="the high watermark is the smallest log end offset that counts, even if it was higher before",
        source="KIP-101",
        actions={action: and_then(action, smallest_without_maximum) for action in (*_FETCHES, produce, shrink_isr)},
    ),
    Mistake(
        name="isr-joins-anywhere",
        sentence="a follower joins the ISR wherever its log ends",
        source="KAFKA-7128",
        right={"admits": does.at_the_start_of_the_epoch},
        wrong={"admits": anyone},
    ),
    Mistake(
        name="isr-joins-one-below",
        sentence="a follower joins the ISR one record below the high watermark",
        source="KAFKA-7128",
        right={"admits": does.at_the_start_of_the_epoch},
        wrong={"admits": one_below_the_high_watermark},
    ),
    Mistake(
        name="isr-joins-at-epoch-start",
        sentence="a follower joins the ISR where the leader's epoch starts, even below the high watermark",
        source="KAFKA-7128",
        right={"admits": does.at_the_start_of_the_epoch},
        wrong={"admits": at_the_start_of_the_epoch_only},
        bounds=_ONE_CRASH,
    ),
    Mistake(
        name="isr-written-by-zombie",
        sentence="a deposed leader writes the ISR: there is no compare-and-set",
        source="KIP-497, KAFKA-8836",
        right={"in_flight": False},
        actions={action: as_the_true_leader(action) for action in (*_FETCHES, shrink_isr)},
        bounds={"crashes": 0, "session_expiries": 1},
    ),
    Mistake(
        name="isr-shrunk-before-written",
        sentence="a leader uses the smaller ISR before it is written",
        source="KIP-497",
        right={"in_flight": False},
        actions={shrink_isr: and_then(shrink_isr, only_in_the_leader)},
    ),
    Mistake(
        name="elects-beside-isr",
        sentence="the controller elects a broker outside the ISR and does not change the ISR",
        actions={controller_elects: elect_beside_the_isr},
    ),
    Mistake(
        name="elects-in-same-epoch",
        sentence="an election does not begin a new leader epoch",
        source="KIP-101",
        right={"elects_at_once": False},
        actions={controller_elects: elect_in_the_same_epoch},
        bounds={"records": 0, "session_expiries": 1},
    ),
    Mistake(
        name="leader-commits-its-log",
        sentence="a new leader sets its high watermark to its log end offset",
        actions={become_leader: starting(lambda own, _: {"high_watermark": own.log.end_offset})},
        bounds=_THREE_BROKERS,
    ),
    Mistake(
        name="leader-truncates",
        sentence="a new leader truncates its own log to its high watermark",
        source="KIP-101",
        actions={become_leader: starting(lambda own, _: {"log": own.log.truncate_to(own.high_watermark)})},
    ),
    Mistake(
        name="leader-by-stale-request",
        sentence="a request from an older leader epoch makes a broker the leader again",
        source="KIP-380, KAFKA-7235",
        actions={become_leader: lead_by_a_stale_request},
    ),
    Mistake(
        name="leader-forgets-isr",
        sentence="a new leader starts with an ISR that has no other member",
        actions={become_leader: starting(lambda _, leader: {"isr": frozenset({leader})})},
    ),
    Mistake(
        name="stamps-epoch-0",
        sentence="records are stamped with epoch 0",
        source="KIP-101",
        actions={produce: and_then(produce, stamp_epoch_0)},
    ),
    Mistake(
        name="follower-accepts-writes",
        sentence="a follower accepts records from producers",
        actions={produce: write_to_a_follower},
    ),
    Mistake(
        name="leads-on-after-restart",
        sentence="a leader that restarts quickly continues in its leader epoch",
        source="KAFKA-7235, KAFKA-18106",
        actions={restart: go_on_leading},
        bounds=_SAME_EPOCH,
    ),
    Mistake(
        name="maximal-isr-without-expansion",
        sentence="brokers that an AlterPartition in flight adds to the ISR do not count towards the high watermark",
        source="KIP-497, KAFKA-8836",
        right={"in_flight": True, "counts": does.the_maximal_isr},
        wrong={"counts": without_the_pending_expansion},
        bounds=_ONE_CRASH,
    ),
    Mistake(
        name="maximal-isr-after-shrink",
        sentence="brokers that an AlterPartition in flight removes from the ISR no longer count towards the high "
        "watermark",
        source="KIP-497, KAFKA-8836",
        right={"in_flight": True, "counts": does.the_maximal_isr},
        wrong={"counts": with_a_pending_shrink_taken_for_done},
        bounds=_ONE_CRASH,
    ),
    Mistake(
        name="partition-epoch-ignored",
        sentence="the controller accepts an ISR that was proposed before another change of the ISR",
        source="KIP-497, KAFKA-8836",
        actions={handle_alter_partition: whatever_the_partition_epoch},
        bounds=_THREE_BROKERS,
    ),
    Mistake(
        name="broker-epochs-ignored",
        sentence="the controller does not compare broker epochs, although leaders send them",
        source="KIP-903, KAFKA-14617",
        right={"may_join": does.the_active_that_were_judged},
        wrong={"may_join": does.the_active},
        bounds=_LOST_LOG,
    ),
    Mistake(
        name="earlier-life-counted",
        sentence="a fetch request from before a restart counts for the broker epoch after it",
        source="KAFKA-15221",
        right={"refuses_earlier_life": True, "reads_incarnation_twice": False},
        wrong={"refuses_earlier_life": False, "reads_incarnation_twice": True},
        bounds={**_LOST_TAIL, "records": 1, "late_fetches": 1},
    ),
    Mistake(
        name="stranger-joins-isr",
        sentence="the controller adds to the ISR a broker that is not a replica",
        actions={handle_alter_partition: join_a_stranger},
    ),
    Mistake(
        name="diverging-fetch-taken-as-good",
        sentence="a leader does not check the epoch of a follower's last record",
        source="KIP-595, KAFKA-10554",
        right={"diverges": does.by_last_epoch, "fetches_with_epochs": True},
        wrong={"diverges": does.never_diverges},
        bounds=_ONE_CRASH,
    ),
    Mistake(
        name="elr-kept-with-large-isr",
        sentence="the ELR is kept when the ISR is large enough",
        source="KIP-966",
        right={"eligible": does.who_left_too_small_an_isr},
        wrong={"eligible": even_if_the_isr_is_large_enough},
        bounds={**_THREE_BROKERS, "crashes": 0, "min_insync_replicas": 2},
    ),
    Mistake(
        name="elr-with-isr",
        sentence="members of the new ISR stay in the ELR",
        source="KIP-966",
        right={"eligible": does.who_left_too_small_an_isr},
        wrong={"eligible": with_the_new_isr},
        bounds=_SMALL_ISR,
    ),
    Mistake(
        name="elr-kept-after-unclean-shutdown",
        sentence="a broker stays in the ELR when it registers after an unclean shutdown",
        source="KIP-966",
        right={"has_elr": True},
        actions={restart: keep_the_elr},
        bounds=_LOST_LOG,
    ),
)
"""The wrong rules by topic: truncation, fetching, high watermark, ISR, controller, leadership, releases since 2.7."""

ONLY_WITH: Mapping[str, tuple[str, str]] = {
    "incarnation_read": ("isr_eligibility", "active-incarnation"),
    "diverging_fetch": ("truncation", "fetch"),
    "diverging_hw": ("truncation", "fetch"),
    "late_diverging": ("truncation", "fetch"),
    "last_fetched_epoch": ("truncation", "fetch"),
    "isr_answer": ("isr_write", "alter-partition"),
    "isr_pending": ("isr_write", "alter-partition"),
}
"""The rules that have an effect only if another rule has a certain value: the other rule and its value, by rule."""

_PUT_BACK = "its bound is 0 by default: `leadline bugs` puts it back, and a search finds the loss again"
_IN_TESTS = "its bound is 0 by default: tests/model/test_kafka_kraft.py has a behaviour for each of its values"
_OF_STARTS = "its bound is 0 by default: tests/model/test_log_starts.py has a behaviour for each of its values"
_PROGRESS = "it only keeps a partition from making progress, which no invariant notices"

NOT_MUTATED: Mapping[str, str] = {
    "election_order": "it is what Kafka does, and the model does that and more",
    "follower_leos": 'its loss takes more leader epochs than mutants have: leadline bugs "outdated log end"',
    "reassignment": _IN_TESTS,
    "override": _PUT_BACK,
    "override_added": _PUT_BACK,
    "elr_members": _PUT_BACK,
    "same_record": _PUT_BACK,
    "directories": _PUT_BACK,
    "last_known_leader": _PUT_BACK,
    "directory_elr": _PUT_BACK,
    "elr_update": _PUT_BACK,
    "min_isr_setting": _PUT_BACK,
    "elr_min_isr": _PUT_BACK,
    "late_fetch": "the mistake earlier-life-counted is this mutant, with the bound that it needs",
    "log_start": _OF_STARTS,
    "retention": _PUT_BACK,
    "low_hw": _PUT_BACK,
    "start_test": _OF_STARTS,
    "response_start": _OF_STARTS,
    "fetch_failure": _OF_STARTS,
    "empty_epoch": _PROGRESS,
    "isr_answer": _PROGRESS,
    "isr_pending": _PROGRESS,
}
"""The rules that are not mutated, each with the reason."""

RULES_SHOWN_WITH: Mapping[tuple[str, str], Mapping[str, int]] = {
    ("truncation", "epoch-end"): {"max_epoch": 3, "crashes": 2, "isr_shrinks": 0},
    ("epoch_cache", "first-append"): {"max_epoch": 2, "crashes": 1, "session_expiries": 1, "isr_shrinks": 0},
    ("same_leader", "goes-on"): _LOST_TAIL,
    ("same_leader", "goes-on-unless-one-was-missed"): _LOST_TAIL,
    ("fencing", "none"): _THREE_NO_SHRINKS,
    ("fetch_session", "epoch-dropped"): _THREE_NO_SHRINKS,
    ("isr_join", "high-watermark"): _THREE_NO_SHRINKS,
    ("isr_eligibility", "any"): {"crashes": 0, "session_expiries": 1},
    ("isr_eligibility", "active"): _LOST_LOG,
    ("late_diverging", "truncates"): {
        "records": 1,
        "max_epoch": 2,
        "crashes": 2,
        "isr_shrinks": 0,
        "unclean_leader_election": True,
        "late_responses": 1,
    },
    ("out_of_range", "exit"): {"max_epoch": 2, "crashes": 0, "lossy_crashes": 1},
    ("hw_gate", "none"): _SMALL_ISR,
    ("elr", "off"): {**_LOST_LOG, "lossy_crashes": 2},
    ("elr", "on-unchecked"): {"records": 1, "min_insync_replicas": 2, "max_epoch": 2, "crashes": 3},
    ("bounce", "missed"): {**_SAME_EPOCH, "missed_bounces": 1},
    ("bounce", "followers-missed"): {**_LOST_LOG, "max_epoch": 1, "missed_bounces": 1},
    ("late_requests", "obeyed"): {**_LOST_TAIL, "late_requests": 1, "isr_shrinks": 0},
}
"""The bounds within which a value of a rule violates a property of a release with a different value.

The keys are names of a rule and of a value."""

RIGHT_TOO: Mapping[tuple[str, str], str] = {
    ("truncation", "epoch-and-end"): "the design of KIP-279 is correct if requests are fenced by leader epoch",
    ("same_leader", "goes-on-unless-one-was-missed"): "it continues only if its leader has led all the time, so "
    "there is nothing to truncate",
    ("out_of_range", "exit"): "a follower truncates before it fetches again, so no offset is beyond the leader's log",
    ("incarnation_read", "twice"): "a leader refuses fetch requests from before a restart (late_fetch=refused)",
    ("isr_leave", "behind-or-silent"): "a leader may remove a follower from the ISR at any time",
    ("isr_write", "compare-and-set"): "leaders change the ISR this way with ZooKeeper",
    ("shrink_epoch", "by-controller"): "more leader epochs than necessary do no harm",
    ("shrink_epoch", "always"): "more leader epochs than necessary do no harm",
    ("response_hw", "new"): "followers learn the high watermark sooner",
    ("response_hw", "old"): "followers learn the high watermark later",
    ("hw_waits", "isr"): "the ISR has what is committed, whoever else the high watermark waits for",
    ("hw_waits", "caught-up"): _PROGRESS,
    ("hw_checkpoint", "exact"): "a crash loses less than it could",
    ("hw_checkpoint", "older"): "a checkpoint is never above the high watermark, which does no harm",
    ("hw_checkpoint", "older-or-newer"): "it does harm only after a loss of committed records: see model/left-out.md",
    ("acknowledgement", "own-epoch"): "fewer records are acknowledged",
    ("last_fetched_epoch", "lost-if-empty"): "it does harm only if a leader's restart goes unnoticed, as before 4.0",
    ("unclean_election", "on-request"): "fewer elections are unclean",
    ("elections", "later"): "an election may be delayed anyway",
    ("follower_reads", "no"): "it is a configuration setting",
}
"""The reasons why a value of a rule does no harm to a release with a different value.

The keys are names of a rule and of a value."""

_LATER_AND_WRONG = {("elr", "on-unchecked")}


def why_harmless(rule: Rule, other: str, column: RuleColumn) -> str:
    """Return the reason why a different value of a rule does no harm to a release, or an empty string; see
    `leadline.model.family.Mutations`.

    The values of a rule are in the order of releases, and become stricter: a later value keeps the guarantees of the
    earlier values.
    """
    is_later = rule.is_later(other, column.values[rule.name]) and (rule.name, other) not in _LATER_AND_WRONG
    return "it is the rule of later releases" if is_later else ""


_BY_NAME = {mistake.name: mistake for mistake in MISTAKES}


def mistake(name: str) -> Mistake:
    """Return the mistake with the given name.

    Raises:
        KeyError: if no mistake has the name.
    """
    return _BY_NAME[name]
