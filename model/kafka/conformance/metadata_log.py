"""Converts what only KRaft has to observations of the model: records of the metadata log, settings and directories."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.conformance import Observation
from leadline.model.kafka.assignment import Assignment
from leadline.model.kafka.broker import ANSWERED, BEHIND
from leadline.model.kafka.conformance.decisions import are_replicas
from leadline.model.kafka.conformance.observer import Observer, Window
from leadline.model.kafka.conformance.words import broker_in_words, listed
from leadline.model.kafka.state import Partition


@attrs.frozen(eq=False)
class MetadataObservations(Observer):
    """Makes the observations of the metadata log, of settings and of log directories."""

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
            older = replica.isr != isr if replica.metadata == ANSWERED else not are_replicas(state, assignment)
            if not older or replica.metadata == BEHIND:
                yield from after
            if not after or older or may_know_more:
                yield state

        label = f"broker {leader} has applied the record of the metadata log with ISR {listed(isr)}"
        return self._made(
            window, label, apply, lambda state: broker_in_words(state, leader), "apply_record", optional=optional
        )

    def replica_deleted(self, window: Window, broker: int, epoch: int, *, optional: bool) -> Observation[Partition]:
        """A broker has applied a record of the metadata log that removes its replica, and deletes its log (KRaft)."""

        def apply(state: Partition) -> list[Partition]:
            replica = state.replicas[broker]
            if not replica.up or replica.leader is None:
                return [state]
            if epoch >= len(state.requests):
                return []  # the controller has not decided this yet
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
            assigned = self.release.take("assign_directory", state, broker)
            if assigned or not (state.quorum.elr and state.protocol.clears_elr_on_assignment):
                return assigned or [state]
            # other recorders do not note why a replica is in another directory; the records show the ELR
            return [state, attrs.evolve(state, quorum=attrs.evolve(state.quorum, elr=frozenset()))]

        label = f"broker {broker} tells the controller in which log directory its replica is"
        why = broker_in_words
        return self._made(window, label, apply, lambda state: why(state, broker), "assign_directory", optional=optional)
