"""Converts fetch requests and responses to observations of the model."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.conformance import Observation
from leadline.model.kafka.conformance.errors import NEWER_EPOCH, NOT_LEADING, NOT_TOLD, OLDER_EPOCH, named, said
from leadline.model.kafka.conformance.following import controller_of
from leadline.model.kafka.conformance.observer import Observer, Window
from leadline.model.kafka.conformance.seen import (
    UNKNOWN,
    Answer,
    SeenFetch,
    SeenOutOfRange,
    SeenRecords,
    epoch_in_words,
    is_answer,
)
from leadline.model.kafka.conformance.words import broker_in_words, message_in_words
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
from leadline.model.kafka.releases import ZOOKEEPER
from leadline.model.kafka.state import Partition
from leadline.model.log import Log, Record


@attrs.frozen(eq=False)
class FetchObservations(Observer):
    """Makes the observations of fetch requests and responses of followers."""

    def fetch_sent(self, window: Window, seen: SeenFetch) -> Observation[Partition]:
        """A follower has sent a fetch request. The request is in flight at some time in the window."""

        def apply(state: Partition) -> list[Partition]:
            return [state] if self._is_request(state, state.replicas[seen.follower].in_flight, seen) else []

        def why(state: Partition) -> str:
            told = message_in_words(state.replicas[seen.follower].in_flight)
            known = seen.epoch in (UNKNOWN, state.replicas[seen.follower].epoch)
            request = "this request" if known else f"this request, which is of {epoch_in_words(seen.epoch)}"
            return (
                f"broker {seen.follower} would have in flight {told}, instead of {request}; "
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
                return f"broker {seen.follower} cannot have sent this request: it would have in flight {told}; {about}"
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
            replica, reason = state.replicas[seen.leader], said("Fetch", error)
            if not replica.up or (may_have_no_leader and reason in (NOT_LEADING, OLDER_EPOCH)):
                return replica.up
            if reason == NOT_TOLD and controller_of(self.release.column) == ZOOKEEPER:
                return True  # a leader answers this until its metadata cache has the topic, from UpdateMetadata
            if reason in (NOT_LEADING, NOT_TOLD):
                return not state.believes_to_lead(seen.leader)
            if seen.epoch is None or self._is_never_fenced(state, seen):
                return False
            if reason == OLDER_EPOCH:
                return replica.epoch > seen.epoch
            added = replica.assigned is None or seen.follower in replica.assigned
            return reason == NEWER_EPOCH and (replica.epoch < seen.epoch or not added)

        def why(state: Partition) -> str:
            epoch = "no epoch" if seen.epoch is None else epoch_in_words(seen.epoch)
            return f"the request has {epoch}, and {broker_in_words(state, seen.leader)}"

        label = (
            f"broker {seen.leader} refuses broker {seen.follower}'s fetch request {seen}"
            f"{'' if seen.epoch is None else f' in {epoch_in_words(seen.epoch)}'}: "
            f"{named(error)}"
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
            if message is None or isinstance(message, EpochRequest | EpochResponse) or not is_answer(answer, message):
                return
            for after in self.release.take("handle_fetch_response", state, follower):
                if agrees(after, after.replicas[follower].in_flight):
                    yield after

        def why(state: Partition) -> str:
            after = self.release.take("handle_fetch_response", state, follower)
            found = {message_in_words(each.replicas[follower].in_flight) for each in after}
            told = message_in_words(state.replicas[follower].in_flight)
            would = f", and would send {' or '.join(sorted(found))}" if found else ""
            return f"broker {follower} would have in flight {told}{would}; {broker_in_words(state, follower)}"

        then = "" if following is None else f", then fetches {following}"
        label = f"broker {follower} handles the fetch response ({answer}){then}"
        return self._made(window, label, apply, why, "handle_fetch_response", optional=following is None)

    def _is_request(self, state: Partition, message: Message | None, seen: SeenFetch) -> bool:
        if not isinstance(message, FetchRequest) or (message.leader, message.offset) != (seen.leader, seen.offset):
            return False
        if seen.epoch not in (UNKNOWN, message.epoch):
            return False
        sends = state.rules_of(seen.follower).sends_last_epoch is not nothing
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
        sends = state.rules_of(seen.follower).sends_last_epoch is not nothing
        request = FetchRequest(seen.leader, epoch, seen.offset, seen.last_epoch if sends else None)
        replica = state.replicas[seen.follower]
        log = replica.log if replica.log.end_offset == seen.offset else _log_of(seen.offset)
        return state.with_replica(seen.follower, attrs.evolve(replica, in_flight=request, log=log))

    def _is_never_fenced(self, state: Partition, seen: SeenFetch) -> bool:
        """Return whether the leader does not know the epoch of a request, although the request has one."""
        return seen.in_session and not state.rules_of(seen.leader).keeps_session_epochs

    def _accepts(self, state: Partition, seen: SeenFetch) -> bool:
        """Return whether a leader accepts the epoch of the request in flight."""
        request = state.replicas[seen.follower].in_flight
        known = isinstance(request, FetchRequest) and not self._is_never_fenced(state, seen)
        return not known or state.accepts(seen.leader, seen.follower, request.epoch)  # type: ignore[union-attr]

    def _handled(self, state: Partition, seen: SeenFetch) -> Iterator[Partition]:
        if not self._accepts(state, seen):
            return
        parked = self.release.take("park_fetch", state, seen.leader, seen.follower)
        for base in (state, *parked):
            for after in self.release.take("handle_fetch", base, seen.leader, seen.follower):
                yield after
                yield from self._answered_at_once(base, after, seen)
                # a request in purgatory is counted before it waits, which may be in an earlier epoch of the leader, and
                # not when it is answered (`DelayedFetch.onComplete`, 2.4.1)
                if base is state and state.replicas[seen.leader].remote_leos[seen.follower] == seen.offset:
                    yield state.with_replica(seen.follower, after.replicas[seen.follower])

    def _answered_at_once(self, before: Partition, after: Partition, seen: SeenFetch) -> Iterator[Partition]:
        """Yield the state after a response without records that does not wait, because the follower does not know the
        high watermark yet. It has the high watermark from before the leader counted the request (KIP-392, 2.4.0:
        `ReplicaManager.fetchMessages`, `followerNeedsHwUpdate`). In the model, a request without records waits.
        """
        told, serves = before.replicas[seen.leader].high_watermark, before.rules_of(seen.leader).followers_serve
        follower = after.replicas[seen.follower]
        message = follower.in_flight
        if not isinstance(message, FetchResponse) or message.records or not serves:
            return
        learned = before.rules_of(seen.follower).learns(seen.offset, told)
        if message.high_watermark != told and learned != follower.high_watermark:
            earlier = attrs.evolve(follower, in_flight=attrs.evolve(message, high_watermark=told))
            yield after.with_replica(seen.follower, earlier)

    def _answers(self, state: Partition, seen: SeenFetch, answer: Answer) -> Iterator[Partition]:
        if isinstance(answer, SeenRecords) and answer.base not in (None, seen.offset):
            return
        for handled in self._handled(state, seen):
            after = self._without_epochs(handled, seen) if isinstance(answer, SeenOutOfRange) else handled
            grown = self._with_records(state, after, seen, answer)
            if is_answer(answer, grown.replicas[seen.follower].in_flight):
                yield grown
        yield from self._idle(state, seen, answer)

    def _without_epochs(self, after: Partition, seen: SeenFetch) -> Partition:
        """Return the state with the answer of a leader whose leader epoch cache is empty: the offset is out of range
        (`Partition.readRecords`). The cache in the model has the leader's epoch, so that the logs diverge. The follower
        truncates to the same offset.
        """
        end, replica = after.replicas[seen.leader].log.end_offset, after.replicas[seen.follower]
        if end or not isinstance(replica.in_flight, Diverging):
            return after
        return after.with_replica(seen.follower, attrs.evolve(replica, in_flight=OffsetOutOfRange(end)))

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
        follower = state.replicas[seen.follower]
        request, protocol = follower.in_flight, state.rules_of(seen.leader)
        if not isinstance(answer, SeenRecords) or answer.records or not isinstance(request, FetchRequest):
            return
        if not state.believes_to_lead(seen.leader) or not self._accepts(state, seen):
            return
        for base in (state, *self.release.take("park_fetch", state, seen.leader, seen.follower)):
            replica = base.replicas[seen.leader]
            learned = state.rules_of(seen.follower).learns(request.offset, answer.high_watermark)
            at_the_end = seen.offset == replica.log.end_offset and replica.high_watermark == answer.high_watermark
            diverges = protocol.diverges(replica, request, protocol.end_of_epoch) is not None
            if at_the_end and not diverges and learned == follower.high_watermark:
                yield base


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
