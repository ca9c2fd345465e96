"""Converts ends and starts of brokers to observations of the model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import attrs

from leadline.checker.conformance import Observation
from leadline.model.kafka.broker import ACTIVE, FENCED
from leadline.model.kafka.conformance.observer import Observer, Window
from leadline.model.kafka.conformance.upgrades import at_stage
from leadline.model.kafka.conformance.words import broker_in_words, quorum_in_words
from leadline.model.kafka.controller import led_again
from leadline.model.kafka.crash import registered, started, was_noticed
from leadline.model.kafka.state import Partition


@attrs.frozen(eq=False)
class FailureObservations(Observer):
    """Makes the observations of ends and starts of brokers."""

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

        part = f" from offset {cut_to} on" if cut_to else ""
        cut = "" if cut_to is None else f" and loses its log{part}"
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
        self, window: Window, broker: int, stage: int = 0, *, early: bool = False, fenced: bool = False
    ) -> Observation[Partition]:
        """A broker starts again, and registers. `early` is true if another observation shows that it has `started`
        before, and `fenced` if another one shows that the controller unfences it later (KRaft). In a mix, `stage` is
        the stage that it has when it starts.
        """

        def why(state: Partition) -> str:
            running = f"broker {broker} is running already; " if state.replicas[broker].up else ""
            return f"{running}{broker_in_words(state, broker)}; {quorum_in_words(state.quorum)}"

        def apply(down: Partition) -> Iterable[Partition]:
            state = at_stage(down, broker, stage)
            restarted = [] if early else self.release.take("restart", state, broker)
            if state.replicas[broker].up != early or not (early or restarted):
                return []
            back = registered(state if early else started(state, broker), broker)
            if fenced:
                return [back.with_registration(broker, FENCED)]
            return restarted or led_again(back.with_registration(broker, ACTIVE))

        return self._made(window, f"broker {broker} registers after a start", apply, why, "restart")

    def started(self, window: Window, broker: int, stage: int = 0, *, fenced: bool) -> Observation[Partition]:
        """A broker starts again, and fetches before the controller lets it register (KRaft). To the controller, its
        earlier run is fenced, or has not ended. `fenced` is true if it is certainly fenced. `stage` is as in
        `restarted`.
        """

        def apply(state: Partition) -> Iterator[Partition]:
            if state.replicas[broker].up:
                return
            up = started(at_stage(state, broker, stage), broker)
            if not fenced:
                yield up
            if was_noticed(state, broker):
                yield up.with_registration(broker, FENCED)

        label = f"broker {broker} starts, and cannot register yet"
        return self._made(window, label, apply, lambda state: broker_in_words(state, broker), "restart")
