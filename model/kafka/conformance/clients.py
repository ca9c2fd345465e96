"""Converts requests of producers and consumers, and their responses, to observations of the model."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.conformance import Observation
from leadline.model.kafka.conformance.errors import FEW_IN_SYNC, NOT_LEADING, NOT_TOLD, named, said
from leadline.model.kafka.conformance.observer import Observer, Window
from leadline.model.kafka.conformance.seen import are_records, drawn
from leadline.model.kafka.conformance.words import broker_in_words
from leadline.model.kafka.state import Partition


@attrs.frozen(eq=False)
class ClientObservations(Observer):
    """Makes the observations of requests of producers and consumers."""

    def produced(
        self,
        window: Window,
        leader: int,
        values: tuple[int, ...],
        acks: str,
        base: int | None,
        *,
        may_repeat: bool = False,
    ) -> Observation[Partition]:
        """A producer writes records. `base` is the offset of the first record, or None if no answer was observed. If
        `may_repeat` is true, the leader may have these records already, and then appends nothing.
        """

        def apply(state: Partition) -> Iterator[Partition]:
            end = state.replicas[leader].log.end_offset
            if may_repeat and base is not None and base + len(values) <= end and state.believes_to_lead(leader):
                known = state.replicas[leader].log.records[base : base + len(values)]
                if tuple(record.value for record in known) == values:
                    yield state
                return
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
        self, window: Window, leader: int, error: int, *, may_have_no_leader: bool = False, may_be_new: bool = False
    ) -> Observation[Partition]:
        """A broker refuses records: it does not lead, or its ISR is too small.

        Parameters:
            window: the period in which the broker refused.
            leader: the broker.
            error: the error code in its answer.
            may_have_no_leader: as in `fetch_refused`.
            may_be_new: whether the broker may lead a topic before its metadata cache has it (with ZooKeeper, until the
                first UpdateMetadata request).
        """
        reason = said("Produce", error)

        def apply(state: Partition) -> list[Partition]:
            if (may_have_no_leader and reason == NOT_LEADING) or (may_be_new and reason == NOT_TOLD):
                return [state]
            if reason == FEW_IN_SYNC:
                replica = state.replicas[leader]
                too_small = len(replica.isr) < state.rules_of(leader).min_isr(replica, state.bounds)
                return [state] if state.believes_to_lead(leader) and too_small else []
            return [state] if not state.believes_to_lead(leader) else []

        label = f"broker {leader} refuses records: {named(error)}"
        return self._made(window, label, apply, lambda state: broker_in_words(state, leader), "produce")

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
            return [state] if committed and are_records(records, tuple(replica.log.records[base:end])) else []

        def why(state: Partition) -> str:
            log = state.replicas[broker].log
            known = drawn((each.value, each.epoch) for each in log.records[base:end])
            return f"it has {known} there; {broker_in_words(state, broker)}"

        label = f"broker {broker} sends a consumer {drawn(records)} from offset {base}"
        return self._made(window, label, apply, why)
