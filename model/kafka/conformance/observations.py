"""Converts recorded frames and events to observations of the model.

Each method returns the observation for one kind of frame or event, in the model's terms: brokers are replicas, numbered
from 0; leader epochs are numbered in the order in which leaders were chosen; and records have numbers as values.
`model/README.md` lists what the model abstracts from, and says how each case is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import attrs

from leadline.checker.conformance import Observation
from leadline.model.kafka.assignment import Assignment
from leadline.model.kafka.broker import ACTIVE, ANSWERED, BEHIND, FENCED, Replica
from leadline.model.kafka.conformance.following import FollowedRelease
from leadline.model.kafka.conformance.words import broker_in_words, message_in_words, quorum_in_words
from leadline.model.kafka.controller import led_again
from leadline.model.kafka.crash import registered, started, was_noticed
from leadline.model.kafka.messages import (
    Diverging,
    EpochRequest,
    EpochResponse,
    FetchRequest,
    FetchResponse,
    Message,
    OffsetOutOfRange,
)
from leadline.model.kafka.protocols import nothing
from leadline.model.kafka.state import Partition
from leadline.model.log import Log, Record
from leadline.model.quorum import Quorum, drawn_isr

UNKNOWN = None
"""Stands for a value that a frame does not contain, and that agrees with every value."""

CONTROLLER_ACTIONS = (
    "controller_notices_failure",
    "session_expires",
    "session_resumes",
    "controller_elects",
    "controller_elects_uncleanly",
    "operator_elects_uncleanly",
    "begin_shutdown",
    "stop",
    "handle_alter_partition",
)
"""The actions by which the controller can change the leader or the ISR without a request of a leader that was seen."""

OFFSET_OUT_OF_RANGE, UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER = 1, 3, 6
NOT_ENOUGH_REPLICAS, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH = 19, 74, 75
UNKNOWN_TOPIC_ID, INCONSISTENT_TOPIC_ID = 100, 103

ERRORS = {
    OFFSET_OUT_OF_RANGE: "OFFSET_OUT_OF_RANGE",
    UNKNOWN_TOPIC_OR_PARTITION: "UNKNOWN_TOPIC_OR_PARTITION",
    NOT_LEADER: "NOT_LEADER_OR_FOLLOWER",
    NOT_ENOUGH_REPLICAS: "NOT_ENOUGH_REPLICAS",
    FENCED_LEADER_EPOCH: "FENCED_LEADER_EPOCH",
    UNKNOWN_LEADER_EPOCH: "UNKNOWN_LEADER_EPOCH",
    UNKNOWN_TOPIC_ID: "UNKNOWN_TOPIC_ID",
    INCONSISTENT_TOPIC_ID: "INCONSISTENT_TOPIC_ID",
}
"""Kafka's names of the errors of fetch requests that are followed, from `org.apache.kafka.common.protocol.Errors`."""


@attrs.frozen
class SeenFetch:
    """A fetch request in a recording.

    Attributes:
        leader, follower: the receiver and the sender of the request.
        epoch: the follower's leader epoch, or `UNKNOWN` before KIP-320.
        offset: the fetch offset.
        last_epoch: the epoch of the follower's last record, or None if the request does not contain one.
        names_last_epoch: whether this version of the request has a field for the epoch of the last record (KIP-595).
    """

    leader: int
    follower: int
    epoch: int | None
    offset: int
    last_epoch: int | None = None
    names_last_epoch: bool = False

    def __str__(self) -> str:
        last = f" after epoch {self.last_epoch}" if self.last_epoch is not None else ""
        return f"from offset {self.offset}{last}"


@attrs.frozen
class SeenRecords:
    """The records and the high watermark of a fetch response. A value or epoch can be `UNKNOWN`.

    Attributes:
        records: the values and epochs of the records.
        high_watermark: the leader's high watermark.
        base: the offset of the first record, or None if there is none.
    """

    records: tuple[tuple[int | None, int | None], ...]
    high_watermark: int
    base: int | None = None

    def __str__(self) -> str:
        return f"{_drawn(self.records)}, high watermark {self.high_watermark}"


def _drawn(records: Iterable[tuple[int | None, int | None]]) -> str:
    """Return records with their epochs, such as ``m0@0 m1@0``."""
    cells = [("?" if v is None else f"m{v}") + ("" if e is None else f"@{e}") for v, e in records]
    return " ".join(cells) or "no records"


@attrs.frozen
class SeenDiverging:
    """A fetch response that says that the logs differ (KIP-595). Only some releases use the high watermark in this
    response (KAFKA-14704).
    """

    epoch: int | None
    end_offset: int
    high_watermark: int

    def __str__(self) -> str:
        return f"the logs diverge: epoch {self.epoch} ends at {self.end_offset}"


@attrs.frozen
class SeenOutOfRange:
    """A fetch response that says that the fetch offset is out of range."""

    def __str__(self) -> str:
        return "the fetch offset is out of range"


Answer = SeenRecords | SeenDiverging | SeenOutOfRange


def _agrees(seen: Answer, message: Message | None) -> bool:
    match seen, message:
        case SeenRecords(), FetchResponse():
            return seen.high_watermark == message.high_watermark and _are(seen.records, message.records)
        case SeenDiverging(), Diverging():
            used = message.high_watermark in (None, seen.high_watermark)
            return used and seen.epoch in (UNKNOWN, message.epoch) and seen.end_offset == message.end_offset
        case SeenOutOfRange(), OffsetOutOfRange():
            return True
    return False


def _are(seen: Iterable[tuple[int | None, int | None]], records: tuple[Record, ...]) -> bool:
    pairs = list(seen)
    return len(pairs) == len(records) and all(
        value in (UNKNOWN, record.value) and epoch in (UNKNOWN, record.epoch)
        for (value, epoch), record in zip(pairs, records, strict=True)
    )


@attrs.frozen
class Window:
    """The period in which an event happened, and the frames that show the event.

    Attributes:
        earliest, latest: the beginning and the end of the period.
        source: the numbers of the frames.
        lost: a clause for each of these frames that never reached its receiver, or an empty string.
    """

    earliest: float
    latest: float
    source: tuple[int, ...] = ()
    lost: str = ""


@attrs.frozen(eq=False)
class Observations:
    """Creates the observations of one partition.

    Attributes:
        release: the release against whose rules a recording is checked.
    """

    release: FollowedRelease

    def _made(
        self,
        window: Window,
        label: str,
        apply: Callable[[Partition], Iterable[Partition]],
        why: Callable[[Partition], str],
        *exercises: str,
        optional: bool = False,
    ) -> Observation[Partition]:
        return Observation(
            earliest=window.earliest,
            latest=max(window.earliest, window.latest),
            label=label + window.lost,
            apply=apply,
            why=why,
            optional=optional,
            source=window.source,
            exercises=exercises,
        )

    # --- fetch requests -------------------------------------------------------------------------------------------

    def fetch_sent(self, window: Window, seen: SeenFetch) -> Observation[Partition]:
        """A follower has sent a fetch request. The request is in flight at some time in the window."""

        def apply(state: Partition) -> list[Partition]:
            return [state] if self._is_request(state, state.replicas[seen.follower].in_flight, seen) else []

        def why(state: Partition) -> str:
            told = message_in_words(state.replicas[seen.follower].in_flight)
            return (
                f"instead of this request, broker {seen.follower} has in flight {told}; "
                f"{broker_in_words(state, seen.follower)}"
            )

        label = f"broker {seen.follower} sends broker {seen.leader} a fetch request {seen}"
        return self._made(window, label, apply, why)

    def fetch_answered(
        self, window: Window, seen: SeenFetch, answer: Answer, *, arrives: bool
    ) -> Observation[Partition]:
        """A leader answers a fetch request. `arrives` is true if the follower receives the answer."""

        def apply(state: Partition) -> Iterator[Partition]:
            asked = self._in_flight(state, seen)
            if asked is not None and arrives:
                yield from (after for after in self._answers(asked, seen, answer))
            elif asked is not None or self._moved_on(state, seen):
                # the follower does not get the answer, or drops it: only what the leader makes of it counts
                lost = self._sent_again(state, seen) if asked is None else asked
                for after in self._answers(lost, seen, answer):
                    yield after.with_replica(seen.follower, state.replicas[seen.follower])

        def why(state: Partition) -> str:
            asked = self._in_flight(state, seen)
            about = f"{broker_in_words(state, seen.leader)}; {broker_in_words(state, seen.follower)}"
            if asked is None:
                told = message_in_words(state.replicas[seen.follower].in_flight)
                return f"broker {seen.follower} cannot have sent this request: it has in flight {told}; {about}"
            found = {message_in_words(after.replicas[seen.follower].in_flight) for after in self._handled(asked, seen)}
            return f"broker {seen.leader} would send {' or '.join(sorted(found)) or 'nothing yet'}; {about}"

        label = f"broker {seen.leader} answers broker {seen.follower}'s fetch request {seen}: {answer}"
        return self._made(window, label, apply, why, "handle_fetch")

    def fetch_unanswered(self, window: Window, seen: SeenFetch) -> Observation[Partition]:
        """A fetch request reached a leader that may have used its offset, but no answer was observed."""

        def apply(state: Partition) -> Iterator[Partition]:
            asked = self._in_flight(state, seen)
            lost = self._sent_again(state, seen) if asked is None else asked
            looked = [*self._handled(lost, seen), *self.release.take("park_fetch", lost, seen.leader, seen.follower)]
            for after in looked:
                yield after.with_replica(seen.follower, state.replicas[seen.follower])

        label = f"broker {seen.leader} handles broker {seen.follower}'s fetch request {seen}, which is not answered"
        return self._made(window, label, apply, lambda state: "", "handle_fetch", optional=True)

    def fetch_refused(
        self, window: Window, seen: SeenFetch, error: int, *, may_have_no_leader: bool = False
    ) -> Observation[Partition]:
        """A broker answers a fetch request with an error that depends on the broker's leader epoch.
        `may_have_no_leader` says whether the broker may know of a later epoch without a leader, which the model leaves
        out (KRaft).
        """

        def possible(state: Partition) -> bool:
            replica = state.replicas[seen.leader]
            if may_have_no_leader and error in (NOT_LEADER, FENCED_LEADER_EPOCH):
                return replica.up
            if error == UNKNOWN_TOPIC_OR_PARTITION:  # brokers answer this until they have heard of the topic
                return replica.up
            if error in (NOT_LEADER, UNKNOWN_TOPIC_ID, INCONSISTENT_TOPIC_ID):
                return replica.up and not state.believes_to_lead(seen.leader)
            if not replica.up or seen.epoch is None:  # a request without an epoch is never fenced
                return False
            if error == FENCED_LEADER_EPOCH:
                return replica.epoch > seen.epoch
            if error != UNKNOWN_LEADER_EPOCH:
                return False
            return replica.epoch < seen.epoch or seen.follower not in (replica.assigned or {seen.follower})

        def why(state: Partition) -> str:
            epoch = "no epoch" if seen.epoch is None else f"epoch {seen.epoch}"
            return f"the request has {epoch}, and {broker_in_words(state, seen.leader)}"

        label = (
            f"broker {seen.leader} refuses broker {seen.follower}'s fetch request {seen}"
            f"{'' if seen.epoch is None else f' in epoch {seen.epoch}'}: "
            f"{ERRORS.get(error, f'error {error}')}"
        )
        return self._made(window, label, lambda state: [state] if possible(state) else [], why, "handle_fetch")

    def response_handled(
        self, window: Window, seen: SeenFetch, answer: Answer, following: SeenFetch | None
    ) -> Observation[Partition]:
        """A follower handles a fetch response. `following` is its next request, or None if no request shows how the
        follower handled the response.
        """
        follower = seen.follower

        def agrees(state: Partition, message: Message | None) -> bool:
            return following is None or self._is_request(state, message, following)

        def apply(state: Partition) -> Iterator[Partition]:
            message = state.replicas[follower].in_flight
            if isinstance(message, FetchRequest):  # an answer that teaches nothing is no step: see `_idle`
                nothing_new = isinstance(answer, SeenRecords) and not answer.records
                if nothing_new and self._is_request(state, message, seen) and agrees(state, message):
                    yield state
                return
            if message is None or isinstance(message, EpochRequest | EpochResponse) or not _agrees(answer, message):
                return
            for after in self.release.take("handle_fetch_response", state, follower):
                if agrees(after, after.replicas[follower].in_flight):
                    yield after

        def why(state: Partition) -> str:
            after = self.release.take("handle_fetch_response", state, follower)
            found = {message_in_words(each.replicas[follower].in_flight) for each in after}
            told = message_in_words(state.replicas[follower].in_flight)
            would = f", and would send {' or '.join(sorted(found))}" if found else ""
            return f"broker {follower} has in flight {told}{would}; {broker_in_words(state, follower)}"

        then = "" if following is None else f", then fetches {following}"
        label = f"broker {follower} handles the fetch response ({answer}){then}"
        return self._made(window, label, apply, why, "handle_fetch_response", optional=following is None)

    def _is_request(self, state: Partition, message: Message | None, seen: SeenFetch) -> bool:
        if not isinstance(message, FetchRequest) or (message.leader, message.offset) != (seen.leader, seen.offset):
            return False
        if seen.epoch not in (UNKNOWN, message.epoch):
            return False
        sends = self.release.protocol.sends_last_epoch is not nothing
        if not seen.names_last_epoch or not sends:
            return (seen.last_epoch is None or not seen.names_last_epoch) and message.last_epoch is None
        return message.last_epoch == seen.last_epoch or _from_an_empty_epoch(state, message, seen)

    def _in_flight(self, state: Partition, seen: SeenFetch) -> Partition | None:
        """Return the state with the observed request in flight, or None if the follower has another request in flight.

        The leader epoch cache of a former leader keeps epochs in which the broker wrote nothing (KAFKA-10706). The
        model derives the cache from the records, so it lacks these epochs. If the observed request contains such an
        epoch, the returned state contains the request as it was observed.
        """
        message = state.replicas[seen.follower].in_flight
        if not isinstance(message, FetchRequest) or not self._is_request(state, message, seen):
            return None
        if message.last_epoch == seen.last_epoch or not seen.names_last_epoch:
            return state
        replica = attrs.evolve(
            state.replicas[seen.follower], in_flight=attrs.evolve(message, last_epoch=seen.last_epoch)
        )
        return state.with_replica(seen.follower, replica)

    def _moved_on(self, state: Partition, seen: SeenFetch) -> bool:
        """Return whether a follower may have sent another request since the observed one, because it has learned of
        another epoch or is down.
        """
        replica = state.replicas[seen.follower]
        if not replica.up or replica.leader != seen.leader or seen.epoch not in (UNKNOWN, replica.epoch):
            return True
        return replica.in_flight is None or replica.truncating

    def _sent_again(self, state: Partition, seen: SeenFetch) -> Partition:
        """Return the state in which a follower that has since moved on still has its earlier request in flight."""
        epoch = state.replicas[seen.leader].epoch if seen.epoch is None else seen.epoch
        sends = self.release.protocol.sends_last_epoch is not nothing
        request = FetchRequest(seen.leader, epoch, seen.offset, seen.last_epoch if sends else None)
        replica = state.replicas[seen.follower]
        log = replica.log if replica.log.end_offset == seen.offset else _log_of(seen.offset)
        return state.with_replica(seen.follower, attrs.evolve(replica, in_flight=request, log=log))

    def _handled(self, state: Partition, seen: SeenFetch) -> Iterator[Partition]:
        parked = self.release.take("park_fetch", state, seen.leader, seen.follower)
        for base in (state, *parked):
            yield from self.release.take("handle_fetch", base, seen.leader, seen.follower)

    def _answers(self, state: Partition, seen: SeenFetch, answer: Answer) -> Iterator[Partition]:
        if isinstance(answer, SeenRecords) and answer.base not in (None, seen.offset):
            return
        for after in self._handled(state, seen):
            grown = self._with_records(state, after, seen, answer)
            if _agrees(answer, grown.replicas[seen.follower].in_flight):
                yield grown
        yield from self._idle(state, seen, answer)

    def _with_records(self, state: Partition, after: Partition, seen: SeenFetch, answer: Answer) -> Partition:
        """Return the state in which the response contains as many records as were observed. The model sends only one
        record at a time.
        """
        message = after.replicas[seen.follower].in_flight
        if not isinstance(answer, SeenRecords) or len(answer.records) < 2 or not isinstance(message, FetchResponse):
            return after
        if not message.records:
            return after
        records = state.replicas[seen.leader].log.records[seen.offset : seen.offset + len(answer.records)]
        replica = attrs.evolve(after.replicas[seen.follower], in_flight=attrs.evolve(message, records=records))
        return after.with_replica(seen.follower, replica)

    def _idle(self, state: Partition, seen: SeenFetch, answer: Answer) -> Iterator[Partition]:
        """Yield the states after a response from which the follower learns nothing. In the model, the request stays in
        flight.
        """
        leader, follower = state.replicas[seen.leader], state.replicas[seen.follower]
        request, protocol = follower.in_flight, self.release.protocol
        if not isinstance(answer, SeenRecords) or answer.records or not isinstance(request, FetchRequest):
            return
        if not state.believes_to_lead(seen.leader) or not protocol.accepts(leader.epoch, request.epoch):
            return
        for base in (state, *self.release.take("park_fetch", state, seen.leader, seen.follower)):
            replica = base.replicas[seen.leader]
            learned = protocol.learns(request.offset, answer.high_watermark)
            at_the_end = seen.offset == replica.log.end_offset and replica.high_watermark == answer.high_watermark
            diverges = protocol.diverges(replica, request, protocol.end_of_epoch) is not None
            if at_the_end and not diverges and learned == follower.high_watermark:
                yield base

    # --- OffsetsForLeaderEpoch ------------------------------------------------------------------------------------

    def epoch_answered(
        self, window: Window, leader: int, follower: int, wanted: int, epoch: int | None, end_offset: int | None
    ) -> Observation[Partition]:
        """A leader answers an OffsetsForLeaderEpoch request. `epoch` is `UNKNOWN` if the answer contains no epoch."""

        def apply(state: Partition) -> Iterator[Partition]:
            message = state.replicas[follower].in_flight
            if not isinstance(message, EpochRequest) or (message.leader, message.wanted) != (leader, wanted):
                return
            for after in self.release.take("handle_epoch_request", state, leader, follower):
                answer = after.replicas[follower].in_flight
                if not isinstance(answer, EpochResponse) or answer.end_offset != end_offset:
                    continue
                if end_offset is None or epoch in (UNKNOWN, answer.epoch):
                    yield after

        def why(state: Partition) -> str:
            after = self.release.take("handle_epoch_request", state, leader, follower)
            found = {message_in_words(each.replicas[follower].in_flight) for each in after}
            told = message_in_words(state.replicas[follower].in_flight)
            if not isinstance(state.replicas[follower].in_flight, EpochRequest):
                return f"broker {follower} does not ask about an epoch here: it has in flight {told}"
            allowed = " or ".join(sorted(found)) or "nothing"
            return (
                f"broker {follower} has in flight {told}; broker {leader} would send {allowed}; "
                f"{broker_in_words(state, leader)}"
            )

        ends = "at an unknown offset" if end_offset is None else f"at {end_offset}"
        named = "it" if epoch is None else f"epoch {epoch}"
        label = f"broker {leader} answers broker {follower}'s question about epoch {wanted}: {named} ends {ends}"
        return self._made(window, label, apply, why, "handle_epoch_request")

    def epoch_response_handled(self, window: Window, follower: int, next_offset: int | None) -> Observation[Partition]:
        """A follower truncates its log where the answer tells it to, and then fetches. `next_offset` is the offset from
        which it fetches, or None if its next request was not observed.
        """

        def apply(state: Partition) -> Iterator[Partition]:
            for after in self.release.take("handle_epoch_response", state, follower):
                request = after.replicas[follower].in_flight
                if next_offset is None or not isinstance(request, FetchRequest) or request.offset == next_offset:
                    yield after

        def why(state: Partition) -> str:
            after = self.release.take("handle_epoch_response", state, follower)
            found = {message_in_words(each.replicas[follower].in_flight) for each in after}
            return f"the model allows {' or '.join(sorted(found)) or 'nothing'}; {broker_in_words(state, follower)}"

        then = "" if next_offset is None else f", then fetches from offset {next_offset}"
        label = f"broker {follower} truncates by the answer{then}"
        return self._made(window, label, apply, why, "handle_epoch_response", optional=next_offset is None)

    def epoch_refused(self, window: Window, leader: int, follower: int, error: int) -> Observation[Partition]:
        """A broker rejects an OffsetsForLeaderEpoch request, because it does not lead in this epoch."""

        def apply(state: Partition) -> list[Partition]:
            message = state.replicas[follower].in_flight
            epoch = message.epoch if isinstance(message, EpochRequest) else None
            fenced = epoch is not None and not self.release.protocol.accepts(state.replicas[leader].epoch, epoch)
            moved_on = not isinstance(message, EpochRequest)
            return [state] if not state.believes_to_lead(leader) or fenced or moved_on else []

        label = f"broker {leader} refuses broker {follower}'s question about an epoch: {ERRORS.get(error, error)}"
        return self._made(window, label, apply, lambda state: broker_in_words(state, leader), "handle_epoch_request")

    # --- leadership -----------------------------------------------------------------------------------------------

    def learned(
        self,
        window: Window,
        broker: int,
        leader: int,
        epoch: int,
        isr: frozenset[int],
        *,
        optional: bool,
        isr_is_known: bool = False,
    ) -> Observation[Partition]:
        """A broker learns of a leader epoch. If `isr_is_known`, the epoch had this ISR at some time. The controller can
        tell a follower an earlier one, which makes no difference to it.
        """
        name = "become_leader" if broker == leader else "become_follower"

        def apply(state: Partition) -> list[Partition]:
            replica = state.replicas[broker]
            if replica.up and (replica.epoch, replica.leader) == (epoch, leader):
                return [state]  # the broker is told again
            request = state.requests[epoch] if epoch < len(state.requests) else None
            if request is None or request.leader != leader:
                return []
            added = state.bounds.moves and broker not in (request.replicas or ())  # with an ISR in between
            told_earlier = isr_is_known and broker != leader
            if not added and not told_earlier and isr not in (request.isr, state.quorum.isr):
                return []
            return self.release.take(name, state, broker, epoch)

        def why(state: Partition) -> str:
            request = state.requests[epoch] if epoch < len(state.requests) else None
            if request is None:
                return f"epoch {epoch} has not begun: {quorum_in_words(state.quorum)}"
            began = f"epoch {epoch} began with leader {request.leader} and ISR {drawn_isr(request.isr)}"
            return f"{began}; now {quorum_in_words(state.quorum)}; {broker_in_words(state, broker)}"

        role = "leads" if broker == leader else f"follows broker {leader}"
        label = f"broker {broker} learns that it {role} in epoch {epoch} with ISR {drawn_isr(isr)}"
        return self._made(window, label, apply, why, name, optional=optional)

    def decided(
        self,
        window: Window,
        leader: int | None,
        epoch: int | None,
        isr: frozenset[int],
        may_shut_down: frozenset[int] = frozenset(),
        assignment: Assignment | None = None,
        is_reassigned: bool = False,
    ) -> Observation[Partition]:
        """The controller has decided on a leader, leader epoch and ISR, and on replicas unless `assignment` is None.
        `may_shut_down` contains the brokers that have asked to shut down. `is_reassigned` says whether the decision
        names replicas.
        """

        def is_so(state: Partition) -> bool:
            quorum = state.quorum
            led = quorum.leader == leader and epoch in (None, quorum.epoch) and quorum.isr == isr
            return led and _are_replicas(state, assignment)

        def was_so(state: Partition) -> bool:
            same_order = assignment is None or state.assignment.replicas == assignment.replicas
            return is_so(state) and (same_order or not is_reassigned)

        def controlled(state: Partition) -> Iterator[tuple[str, Partition]]:
            yield from self._controlled(state, may_shut_down)
            if assignment is not None:
                yield from self._reassigned(state, assignment)

        def apply(state: Partition) -> Iterator[Partition]:
            if was_so(state):
                yield state
                return
            for _, after in controlled(state):
                if is_so(after) and not (is_reassigned and after.assignment == state.assignment):
                    yield after

        def why(state: Partition) -> str:
            found = {
                f"{quorum_in_words(after.quorum)}{replicas_of(after)} ({name.replace('_', ' ')})"
                for name, after in controlled(state)
                if (after.quorum, after.assignment) != (state.quorum, state.assignment)
            }
            down = [str(b) for b, replica in enumerate(state.replicas) if not replica.up]
            allowed = "; ".join(sorted(found)) or "no change"
            now = quorum_in_words(state.quorum) + replicas_of(state)
            return f"{now}; down: {', '.join(down) or 'none'}; the model allows: {allowed}"

        def replicas_of(state: Partition) -> str:
            return f", replicas {state.assignment}" if assignment is not None else ""

        told = quorum_in_words(Quorum(leader, -1 if epoch is None else epoch, isr))
        label = f"the controller decides: {told}" + (f", replicas {assignment}" if assignment is not None else "")
        return self._made(window, label, apply, why, "controller")

    def contradicted(self, window: Window, label: str, reason: str) -> Observation[Partition]:
        """The controller has told a broker something that contradicts other frames, whatever the state is."""
        return self._made(window, label, lambda state: (), lambda state: reason)

    def _controlled(self, state: Partition, may_shut_down: frozenset[int]) -> Iterator[tuple[str, Partition]]:
        for name in CONTROLLER_ACTIONS:
            for broker in range(self.release.bounds.brokers):
                if name not in ("begin_shutdown", "stop") or broker in may_shut_down:
                    for after in self.release.take(name, state, broker):
                        yield name, after
                        yield from self._elected_uncleanly(after)

    def _reassigned(self, state: Partition, wanted: Assignment) -> Iterator[tuple[str, Partition]]:
        """Yield the states after an operator has changed the replicas. The replicas that the operator asked for come
        first in the list of all replicas.
        """
        for size in range(1, len(wanted.replicas) + 1):
            yield from (("reassign", after) for after in self.release.take("reassign", state, wanted.replicas[:size]))
        yield from (("cancel_reassignment", after) for after in self.release.take("cancel_reassignment", state, 0))

    def _elected_uncleanly(self, state: Partition) -> Iterator[tuple[str, Partition]]:
        """Yield each possible unclean election if the partition has lost its leader. Brokers can make both changes in
        one step, but the model has two steps.
        """
        name = "controller_elects_uncleanly"
        if state.quorum.leader is None:
            for broker in range(self.release.bounds.brokers):
                yield from ((name, after) for after in self.release.take(name, state, broker))

    def fenced(
        self, window: Window, broker: int, *, fenced: bool, optional: bool = False, has_registered: bool = False
    ) -> Observation[Partition]:
        """The controller fences or unfences a broker, without changing the leader or ISR. If this is optional, the
        controller may also change the leader or ISR at the same time, which is a separate observation.
        `has_registered` is true if the broker has `restarted` before, as a fenced broker.
        """
        name = "session_expires" if fenced else "session_resumes"

        def apply(state: Partition) -> list[Partition]:
            if not state.replicas[broker].up:
                return [] if has_registered else [state]
            if (state.registrations[broker].status == FENCED) == fenced:
                return [state]
            return [after for after in self.release.take(name, state, broker) if after.quorum == state.quorum]

        def why(state: Partition) -> str:
            if not state.replicas[broker].up:
                return f"broker {broker} is down"
            return f"this would change the leader or ISR: {quorum_in_words(state.quorum)}"

        label = f"the controller {'fences' if fenced else 'unfences'} broker {broker}"
        return self._made(window, label, apply, why, name, optional=optional)

    # --- the ISR --------------------------------------------------------------------------------------------------

    def proposed(self, window: Window, leader: int, epoch: int | None, isr: frozenset[int]) -> Observation[Partition]:
        """A leader has sent an AlterPartition request. Several brokers may leave the ISR at once."""

        def apply(state: Partition) -> Iterator[Partition]:
            replica = state.replicas[leader]
            if epoch not in (UNKNOWN, replica.epoch):
                return
            if replica.proposal is not None:
                if replica.proposal.isr == isr and replica.proposal.sent:
                    yield state
                return
            leaving = replica.isr - isr
            if not leaving or isr - replica.isr:
                return
            for after in self.release.take("shrink_isr", state, leader, min(leaving)):
                proposal = after.replicas[leader].proposal
                others = sorted(leaving)[1:]
                if proposal is None or not all(self.release.take("shrink_isr", state, leader, b) for b in others):
                    continue
                proposing = attrs.evolve(after.replicas[leader], proposal=attrs.evolve(proposal, isr=isr))
                yield after.with_replica(leader, proposing)

        def why(state: Partition) -> str:
            replica = state.replicas[leader]
            told = broker_in_words(state, leader)
            joining = sorted(isr - replica.isr)
            if epoch not in (UNKNOWN, replica.epoch):
                return f"the proposal is of epoch {epoch}; {told}"
            if joining and replica.proposal is None and state.believes_to_lead(leader):
                known = "; ".join(
                    f"broker {leader} cannot propose broker {broker}: it {_known_of(replica, broker)}"
                    for broker in joining
                )
                return f"{known}; {told}"
            return told

        label = f"broker {leader} proposes ISR {drawn_isr(isr)} to the controller"
        return self._made(window, label, apply, why, "shrink_isr")

    def proposal_handled(
        self,
        window: Window,
        leader: int,
        result: tuple[int | None, int | None, frozenset[int]] | None,
        assignment: Assignment | None = None,
    ) -> Observation[Partition]:
        """The controller has handled an AlterPartition request. `result` is the leader, epoch and ISR afterwards, or
        None if the controller has rejected the request. `assignment` is the replicas afterwards, or None if they are
        not known or never change.
        """

        def apply(state: Partition) -> Iterator[Partition]:
            for after in self.release.take("handle_alter_partition", state, leader):
                quorum = after.quorum
                if result is None:
                    if quorum == state.quorum:
                        yield after
                elif (
                    (quorum.leader, quorum.isr) == (result[0], result[2])
                    and result[1] in (None, quorum.epoch)
                    and _are_replicas(after, assignment)
                ):
                    yield after

        def why(state: Partition) -> str:
            after = self.release.take("handle_alter_partition", state, leader)
            found = {
                f"the controller would {'refuse the request' if each.quorum == state.quorum else 'accept it'}, so that "
                f"{quorum_in_words(each.quorum)}"
                for each in after
            }
            statuses = ", ".join(f"broker {b} is {r.status}" for b, r in enumerate(state.registrations))
            allowed = "; or ".join(sorted(found)) or "there is no request to answer"
            return f"{allowed}; {broker_in_words(state, leader)}; to the controller, {statuses}"

        told = "refused" if result is None else f"ISR {drawn_isr(result[2])}"
        label = f"the controller answers broker {leader}'s AlterPartition request: {told}"
        return self._made(window, label, apply, why, "handle_alter_partition")

    def isr_written(self, window: Window, leader: int, isr: frozenset[int]) -> Observation[Partition]:
        """A leader has written the ISR to ZooKeeper (up to 2.6). Several brokers may leave the ISR at once."""

        def apply(state: Partition) -> Iterator[Partition]:
            if state.quorum.isr == isr:
                yield state
                return
            states = [state]
            for member in sorted(state.quorum.isr - isr):
                states = [after for each in states for after in self.release.take("shrink_isr", each, leader, member)]
            yield from (after for after in states if after.quorum.isr == isr)

        def why(state: Partition) -> str:
            return f"{quorum_in_words(state.quorum)}; {broker_in_words(state, leader)}"

        label = f"broker {leader} writes ISR {drawn_isr(isr)} to ZooKeeper"
        return self._made(window, label, apply, why, "shrink_isr")

    # --- the metadata log -----------------------------------------------------------------------------------------

    def record_applied(
        self,
        window: Window,
        leader: int,
        epoch: int | None,
        isr: frozenset[int],
        assignment: Assignment | None,
        *,
        may_know_more: bool,
        optional: bool,
    ) -> Observation[Partition]:
        """A leader has applied a record of the metadata log (KRaft). This is a step if the leader knows an ISR only
        from an answer, or does not know the replicas.

        Parameters:
            window: the period from the time at which the broker received the record, to a heartbeat that shows that it
                has applied it.
            leader: the leader.
            epoch, isr, assignment: the leader epoch, ISR and replicas in the record. The replicas are None if they
                never change.
            may_know_more: whether the leader may have got an answer about a later change of the ISR. Then the record is
                older than what it knows, and changes nothing.
            optional: whether nothing shows that the broker has applied the record.
        """

        def apply(state: Partition) -> Iterator[Partition]:
            replica = state.replicas[leader]
            applies = replica.up and (replica.leader, replica.epoch) == (leader, epoch)
            after = self.release.take("apply_record", state, leader) if applies else []
            older = replica.isr != isr if replica.metadata == ANSWERED else not _are_replicas(state, assignment)
            if not older or replica.metadata == BEHIND:
                yield from after
            if not after or older or may_know_more:
                yield state

        label = f"broker {leader} has applied the record of the metadata log with ISR {drawn_isr(isr)}"
        return self._made(
            window, label, apply, lambda state: broker_in_words(state, leader), "apply_record", optional=optional
        )

    def replica_deleted(self, window: Window, broker: int, epoch: int, *, optional: bool) -> Observation[Partition]:
        """A broker has applied a record of the metadata log that removes its replica, and deletes its log (KRaft)."""

        def apply(state: Partition) -> list[Partition]:
            replica = state.replicas[broker]
            if not replica.up or replica.leader is None:
                return [state]
            return self.release.take("delete_replica", state, broker, epoch)

        label = f"broker {broker} learns that it has no replica in epoch {epoch}, and deletes its log"
        return self._made(
            window, label, apply, lambda state: broker_in_words(state, broker), "delete_replica", optional=optional
        )

    def min_isr_raised(self, window: Window) -> Observation[Partition]:
        """An operator has increased `min.insync.replicas` of the topic (KRaft)."""

        def apply(state: Partition) -> list[Partition]:
            return self.release.take("raise_min_insync_replicas", state, 0)

        label = "an operator increases min.insync.replicas"
        return self._made(window, label, apply, lambda state: "it was increased", "raise_min_insync_replicas")

    def setting_applied(self, window: Window, broker: int, *, optional: bool) -> Observation[Partition]:
        """A broker has applied the increase of `min.insync.replicas` (KRaft)."""

        def apply(state: Partition) -> list[Partition]:
            replica = state.replicas[broker]
            if not replica.up or not replica.old_min_isr:
                return [state]
            return self.release.take("apply_setting", state, broker)

        label = f"broker {broker} has applied the increase of min.insync.replicas"
        return self._made(
            window, label, apply, lambda state: broker_in_words(state, broker), "apply_setting", optional=optional
        )

    def directory_lost(self, window: Window, broker: int, *, replaced: bool) -> Observation[Partition]:
        """A stopped broker has lost the log directory of its replica (KRaft). The directory was taken out of
        `log.dirs`, or its disk was replaced.
        """
        name = "directory_replaced" if replaced else "directory_removed"

        def apply(state: Partition) -> list[Partition]:
            replica = state.replicas[broker]
            if not replica.up and not replica.log.end_offset:
                return [state]
            return self.release.take(name, state, broker)

        did = "is replaced" if replaced else "is removed from log.dirs"
        label = f"the log directory of stopped broker {broker} {did}"
        return self._made(window, label, apply, lambda state: broker_in_words(state, broker), name)

    def directory_assigned(self, window: Window, broker: int, *, optional: bool) -> Observation[Partition]:
        """A broker has told the controller in which log directory its replica is (KRaft)."""

        def apply(state: Partition) -> list[Partition]:
            return self.release.take("assign_directory", state, broker) or [state]

        label = f"broker {broker} tells the controller in which log directory its replica is"
        why = broker_in_words
        return self._made(window, label, apply, lambda state: why(state, broker), "assign_directory", optional=optional)

    # --- producers ------------------------------------------------------------------------------------------------

    def produced(
        self, window: Window, leader: int, values: tuple[int, ...], acks: str, base: int | None
    ) -> Observation[Partition]:
        """A producer writes records. `base` is the offset of the first record, or None if no answer was observed."""

        def apply(state: Partition) -> Iterator[Partition]:
            bounds = state.bounds
            with attrs.validators.disabled():  # see `followed_release`
                states = [attrs.evolve(state, bounds=attrs.evolve(bounds, acks=acks))]
            for value in values:
                given = [attrs.evolve(each, next_value=value) for each in states]
                states = [after for each in given for after in self.release.take("produce", each, leader)]
            for after in states:
                if base is None or after.replicas[leader].log.end_offset == base + len(values):
                    yield attrs.evolve(after, bounds=bounds)

        at = "" if base is None else f" at offset {base}"
        records = " ".join(f"m{value}" for value in values)
        label = f"broker {leader} appends {records}{at}"
        return self._made(
            window, label, apply, lambda state: broker_in_words(state, leader), "produce", optional=base is None
        )

    def acknowledged(self, window: Window, leader: int, end: int) -> Observation[Partition]:
        """A leader acknowledges records with acks=all: its high watermark has reached their end."""

        def apply(state: Partition) -> list[Partition]:
            return [state] if state.replicas[leader].high_watermark >= end else []

        label = f"broker {leader} acknowledges the records below offset {end} (acks=all)"
        return self._made(window, label, apply, lambda state: broker_in_words(state, leader))

    def produce_refused(
        self, window: Window, leader: int, error: int, *, may_have_no_leader: bool = False
    ) -> Observation[Partition]:
        """A broker refuses records: it does not lead, or its ISR is too small. `may_have_no_leader` is as in
        `fetch_refused`.
        """

        def apply(state: Partition) -> list[Partition]:
            if may_have_no_leader and error == NOT_LEADER:
                return [state]
            if error == NOT_ENOUGH_REPLICAS:
                replica = state.replicas[leader]
                too_small = len(replica.isr) < self.release.protocol.min_isr(replica, state.bounds)
                return [state] if state.believes_to_lead(leader) and too_small else []
            return [state] if not state.believes_to_lead(leader) else []

        label = f"broker {leader} refuses records: {ERRORS.get(error, f'error {error}')}"
        return self._made(window, label, apply, lambda state: broker_in_words(state, leader), "produce")

    # --- consumers ------------------------------------------------------------------------------------------------

    def watermark_read(self, window: Window, broker: int, high_watermark: int) -> Observation[Partition]:
        """A broker has told a consumer its high watermark."""

        def apply(state: Partition) -> list[Partition]:
            replica = state.replicas[broker]
            return [state] if replica.up and replica.high_watermark == high_watermark else []

        label = f"broker {broker} tells a consumer that its high watermark is {high_watermark}"
        return self._made(window, label, apply, lambda state: broker_in_words(state, broker))

    def records_read(
        self, window: Window, broker: int, base: int, records: tuple[tuple[int | None, int | None], ...]
    ) -> Observation[Partition]:
        """A broker has sent records to a consumer. `base` is the offset of the first one. A broker reads its high
        watermark before the records, so this can be later than `watermark_read`.
        """
        end = base + len(records)

        def apply(state: Partition) -> list[Partition]:
            replica = state.replicas[broker]
            committed = replica.up and end <= replica.high_watermark
            return [state] if committed and _are(records, tuple(replica.log.records[base:end])) else []

        def why(state: Partition) -> str:
            log = state.replicas[broker].log
            known = _drawn((each.value, each.epoch) for each in log.records[base:end])
            return f"it has {known} there; {broker_in_words(state, broker)}"

        label = f"broker {broker} sends a consumer {_drawn(records)} from offset {base}"
        return self._made(window, label, apply, why)

    # --- failures -------------------------------------------------------------------------------------------------

    def killed(
        self, window: Window, broker: int, *, cut_to: int | None = None, checkpoint: int | None = None
    ) -> Observation[Partition]:
        """A broker is killed.

        Parameters:
            window: the period in which the broker was killed.
            broker: the broker that was killed.
            cut_to: the offset from which the log was lost, or None if the whole log was kept.
            checkpoint: the high watermark that the broker had written to disk, or None if it is not known.
        """

        def apply(state: Partition) -> Iterator[Partition]:
            for after in self._crashed(state, broker, cut_to, first=checkpoint is not None):
                replica = after.replicas[broker]
                if checkpoint is not None:
                    known = min(checkpoint, replica.log.end_offset)
                    replica = attrs.evolve(replica, high_watermark=known, newest_checkpoint=0)
                yield attrs.evolve(after, replicas=(*after.replicas[:broker], replica, *after.replicas[broker + 1 :]))

        cut = "" if cut_to is None else f" and loses its log from offset {cut_to} on"
        label = f"broker {broker} is killed{cut}"
        return self._made(window, label, apply, lambda state: broker_in_words(state, broker), "crash")

    def _crashed(self, state: Partition, broker: int, cut_to: int | None, *, first: bool) -> list[Partition]:
        """Return the states after a crash. If `first` is true, return only one of the states that differ only in the
        checkpoint.
        """
        end = state.replicas[broker].log.end_offset
        most = 1 if first else None
        if cut_to is not None and cut_to < end:
            return self.release.take("crash_losing_tail", state, broker, cut_to, most=most)
        crashed = [
            after
            for name in ("crash", "crash_after_append")
            for after in self.release.take(name, state, broker, most=most)
        ]
        return [after for after in crashed if cut_to is None or after.replicas[broker].log.end_offset <= cut_to]

    def stopped(self, window: Window, broker: int, *, optional: bool) -> Observation[Partition]:
        """A broker has stopped after a controlled shutdown."""

        def apply(state: Partition) -> Iterator[Partition]:
            if not state.replicas[broker].up:  # as a part of a decision of the controller
                yield state
                return
            for begun in (state, *self.release.take("begin_shutdown", state, broker)):
                yield from self.release.take("stop", begun, broker)

        label, done = f"broker {broker} stops", ("begin_shutdown", "stop")
        return self._made(window, label, apply, lambda state: broker_in_words(state, broker), *done, optional=optional)

    def restarted(
        self, window: Window, broker: int, *, early: bool = False, fenced: bool = False
    ) -> Observation[Partition]:
        """A broker starts again, and registers. `early` is true if another observation shows that it has `started`
        before, and `fenced` if another one shows that the controller unfences it later (KRaft).
        """

        def why(state: Partition) -> str:
            return f"{broker_in_words(state, broker)}; {quorum_in_words(state.quorum)}"

        def apply(state: Partition) -> Iterable[Partition]:
            restarted = [] if early else self.release.take("restart", state, broker)
            if state.replicas[broker].up != early or not (early or restarted):
                return []
            back = registered(state if early else started(state, broker), broker)
            if fenced:
                return [back.with_registration(broker, FENCED)]
            return restarted or led_again(back.with_registration(broker, ACTIVE))

        return self._made(window, f"broker {broker} registers after a start", apply, why, "restart")

    def started(self, window: Window, broker: int, *, fenced: bool) -> Observation[Partition]:
        """A broker starts again, and fetches before the controller lets it register (KRaft). To the controller, its
        earlier run is fenced, or has not ended. `fenced` is true if it is certainly fenced.
        """

        def apply(state: Partition) -> Iterator[Partition]:
            if state.replicas[broker].up:
                return
            up = started(state, broker)
            if not fenced:
                yield up
            if was_noticed(state, broker):
                yield up.with_registration(broker, FENCED)

        label = f"broker {broker} starts, and cannot register yet"
        return self._made(window, label, apply, lambda state: broker_in_words(state, broker), "restart")


def _are_replicas(state: Partition, wanted: Assignment | None) -> bool:
    """Return whether a partition has the given replicas, with the same preferred leader and the same reassignment in
    progress. The order of the other replicas is left out. If `wanted` is None, return True.
    """
    if wanted is None:
        return True
    known = state.assignment
    same = set(known.replicas) == set(wanted.replicas) and known.replicas[0] == wanted.replicas[0]
    return same and (known.adding, known.removing) == (wanted.adding, wanted.removing)


def _known_of(replica: Replica, broker: int) -> str:
    """Return in words what a leader knows of a follower that has not caught up."""
    offset = replica.remote_leos[broker]
    if offset < 0:
        return f"has learned no log end offset of broker {broker} from a fetch request"
    return f"has learned only the log end offset {offset} of broker {broker} from its fetch requests"


def _from_an_empty_epoch(state: Partition, message: FetchRequest, seen: SeenFetch) -> bool:
    """Return whether the last epoch in a request may be an epoch in which the sender led but wrote nothing
    (KAFKA-10706).
    """
    last, named = -1 if message.last_epoch is None else message.last_epoch, seen.last_epoch
    if named is None or not last < named <= message.epoch or named >= len(state.requests):
        return False
    request = state.requests[named]
    return request is not None and request.leader == seen.follower


def _log_of(end_offset: int) -> Log:
    """Return a log with the given end offset. It stands for an earlier state of a follower's log. Its records are never
    read.
    """
    return Log((Record(-1, -1),) * end_offset)
