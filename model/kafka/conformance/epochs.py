"""Converts OffsetsForLeaderEpoch requests and responses to observations of the model."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.conformance import Observation
from leadline.model.kafka.conformance.errors import NEWER_EPOCH, OLDER_EPOCH, named, said
from leadline.model.kafka.conformance.observer import Observer, Window
from leadline.model.kafka.conformance.seen import UNKNOWN, epoch_in_words
from leadline.model.kafka.conformance.words import broker_in_words, message_in_words
from leadline.model.kafka.messages import EpochRequest, EpochResponse, FetchRequest
from leadline.model.kafka.state import Partition


@attrs.frozen(eq=False)
class EpochObservations(Observer):
    """Makes the observations of OffsetsForLeaderEpoch requests and responses."""

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
                return f"broker {follower} would not ask about an epoch here: it would have in flight {told}"
            allowed = " or ".join(sorted(found)) or "nothing"
            return (
                f"broker {follower} would have in flight {told}; broker {leader} would send {allowed}; "
                f"{broker_in_words(state, leader)}"
            )

        ends = "at an unknown offset" if end_offset is None else f"at {end_offset}"
        named = "it" if epoch is None else epoch_in_words(epoch)
        label = (
            f"broker {leader} answers broker {follower}'s question about {epoch_in_words(wanted)}: {named} ends {ends}"
        )
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
            message, reason = state.replicas[follower].in_flight, said("OffsetForLeaderEpoch", error)
            if reason not in (OLDER_EPOCH, NEWER_EPOCH):
                return [] if state.believes_to_lead(leader) else [state]
            if not isinstance(message, EpochRequest):
                return [state]  # the follower has moved on
            own, named_epoch = state.replicas[leader].epoch, message.epoch
            return [state] if (own > named_epoch if reason == OLDER_EPOCH else own < named_epoch) else []

        label = f"broker {leader} refuses broker {follower}'s question about an epoch: {named(error)}"
        return self._made(window, label, apply, lambda state: broker_in_words(state, leader), "handle_epoch_request")
