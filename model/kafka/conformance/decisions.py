"""Converts decisions of the controller, and what brokers learn of them, to observations of the model."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import attrs

from leadline.checker.conformance import Observation
from leadline.model.kafka.assignment import Assignment
from leadline.model.kafka.broker import ACTIVE, FENCED
from leadline.model.kafka.conformance.following import controller_of
from leadline.model.kafka.conformance.observer import Observer, Window
from leadline.model.kafka.conformance.words import broker_in_words, listed, quorum_in_words
from leadline.model.kafka.controller import build, leaving, led_again
from leadline.model.kafka.releases import ZOOKEEPER
from leadline.model.kafka.state import Partition
from leadline.model.quorum import Quorum

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


@attrs.frozen(eq=False)
class DecisionObservations(Observer):
    """Makes the observations of decisions of the controller, and of what brokers learn of them."""

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
        tell a broker an earlier one than it has now, or a later one than it began with, if the next epoch overtakes it.
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
            overtaken = isr_is_known and (broker != leader or epoch < state.quorum.epoch)
            if not added and not overtaken and isr not in (request.isr, state.quorum.isr):
                return []
            if broker != leader or added or isr in (request.isr, state.quorum.isr):
                return self.release.take(name, state, broker, epoch)
            told = tuple(attrs.evolve(r, isr=isr) if r is request else r for r in state.requests[epoch:])
            changed = attrs.evolve(state, requests=state.requests[:epoch] + told)
            return [
                attrs.evolve(after, requests=state.requests)
                for after in self.release.take(name, changed, broker, epoch)
            ]

        def why(state: Partition) -> str:
            request = state.requests[epoch] if epoch < len(state.requests) else None
            if request is None:
                return f"epoch {epoch} has not begun: {quorum_in_words(state.quorum)}"
            began = f"epoch {epoch} began with leader {request.leader} and ISR {listed(request.isr)}"
            return f"{began}; now {quorum_in_words(state.quorum)}; {broker_in_words(state, broker)}"

        role = "leads" if broker == leader else f"follows broker {leader}"
        label = f"broker {broker} learns that it {role} in epoch {epoch} with ISR {listed(isr)}"
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
        asked_by: frozenset[int] | None = None,
        *,
        elr: tuple[frozenset[int], ...] | None = None,
        assigned: bool = False,
    ) -> Observation[Partition]:
        """The controller has decided on a leader, leader epoch and ISR, and on replicas unless `assignment` is None.
        `may_shut_down` contains the brokers that have asked to shut down. `is_reassigned` says whether the decision
        names replicas. `asked_by` contains the leaders whose `AlterPartition` requests may be the reason, or is None if
        such requests are not always recorded. `elr` has the eligible leader replicas and the last known ones, or is
        None if they are not recorded. `assigned` is whether brokers have told in which log directories their replicas
        are.
        """

        def is_so(state: Partition) -> bool:
            quorum = state.quorum
            led = quorum.leader == leader and epoch in (None, quorum.epoch) and quorum.isr == isr
            return led and are_eligible(state, elr) and are_replicas(state, assignment)

        def was_so(state: Partition) -> bool:
            same_order = assignment is None or state.assignment.replicas == assignment.replicas
            return is_so(state) and (same_order or not is_reassigned)

        def controlled(state: Partition) -> Iterator[tuple[str, Partition]]:
            yield from self._controlled(state, may_shut_down, asked_by)
            if assigned and state.quorum.elr and state.protocol.clears_elr_on_assignment:
                cleared = attrs.evolve(state.quorum, elr=frozenset())
                yield "assign_directory", attrs.evolve(state, quorum=cleared)
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
                f"{quorum_in_words(after.quorum)}{replicas_of(after)} (action {name})"
                for name, after in controlled(state)
                if (after.quorum, after.assignment) != (state.quorum, state.assignment)
            }
            are_up = ", ".join(f"broker {b} is {'up' if r.up else 'down'}" for b, r in enumerate(state.replicas))
            would = f"decide: {'; or '.join(sorted(found))}" if found else "change nothing"
            now = quorum_in_words(state.quorum) + replicas_of(state)
            asked = "".join(
                f"the controller would do so if broker {each} asked for it, but it sent no AlterPartition request; "
                for each in silent(state)
            )
            return f"{asked}the controller would {would}; before that, in the model: {now}; {are_up}"

        def silent(state: Partition) -> Iterator[int]:
            """Yield the leaders whose requests would explain the decision, but are not recorded."""
            for broker in range(self.release.bounds.brokers):
                answered = self.release.take("handle_alter_partition", state, broker)
                if asked_by is not None and broker not in asked_by and any(is_so(after) for after in answered):
                    yield broker

        def replicas_of(state: Partition) -> str:
            return f", replicas {state.assignment}" if assignment is not None else ""

        told = quorum_in_words(
            Quorum(leader, -1 if epoch is None else epoch, isr, frozenset() if elr is None else elr[0])
        )
        label = f"the controller decides: {told}" + (f", replicas {assignment}" if assignment is not None else "")
        return self._made(window, label, apply, why, "controller")

    def contradicted(self, window: Window, label: str, reason: str) -> Observation[Partition]:
        """The controller has told a broker something that contradicts other frames, whatever the state is."""
        return self._made(window, label, lambda state: (), lambda state: reason)

    def _controlled(
        self, state: Partition, may_shut_down: frozenset[int], asked_by: frozenset[int] | None
    ) -> Iterator[tuple[str, Partition]]:
        may_ask = {"begin_shutdown": may_shut_down, "stop": may_shut_down, "handle_alter_partition": asked_by}
        for name in CONTROLLER_ACTIONS:
            asking = may_ask.get(name)
            for broker in range(self.release.bounds.brokers):
                if asking is None or broker in asking:
                    for after in self.release.take(name, state, broker):
                        yield name, after
                        yield from self._elected_uncleanly(after)
        if controller_of(self.release.column) == ZOOKEEPER and not state.protocol.has_elr:
            yield from self._failed_together(state)

    def _failed_together(self, state: Partition) -> Iterator[tuple[str, Partition]]:
        """Yield the states after several brokers have failed in one event: the controller removes all of them in one
        leader epoch (`KafkaController.onBrokerFailure`).
        """
        members = sorted({*state.quorum.isr, *(() if state.quorum.leader is None else (state.quorum.leader,))})
        for size in range(2, len(members) + 1):
            for failed in itertools.combinations(members, size):
                fenced = state
                for broker in failed:
                    fenced = fenced.with_registration(broker, FENCED) if fenced.replicas[broker].up else fenced
                yield from (("controller_notices_failure", after) for after in leaving(fenced, *failed))

    def _reassigned(self, state: Partition, wanted: Assignment) -> Iterator[tuple[str, Partition]]:
        """Yield the states after an operator has changed the replicas. The replicas that the operator asked for come
        first in the list of all replicas.
        """
        for size in range(1, len(wanted.replicas) + 1):
            yield from (("reassign", after) for after in self.release.take("reassign", state, wanted.replicas[:size]))
        yield from (("cancel_reassignment", after) for after in self.release.take("cancel_reassignment", state, 0))
        # when the controller elects a leader because a broker has registered, it also completes a reassignment
        for after in build(state, state.quorum.isr) if state.quorum.leader is None else ():
            yield from (("session_resumes", elected) for elected in led_again(after))

    def _elected_uncleanly(self, state: Partition) -> Iterator[tuple[str, Partition]]:
        """Yield each possible unclean election if the partition has lost its leader. Brokers can make both changes in
        one step, but the model has two steps.
        """
        name = "controller_elects_uncleanly"
        if state.quorum.leader is None:
            for broker in range(self.release.bounds.brokers):
                yield from ((name, after) for after in self.release.take(name, state, broker))

    def fenced(
        self,
        window: Window,
        broker: int,
        *,
        fenced: bool,
        optional: bool = False,
        has_registered: bool = False,
        may_have_moved: bool = False,
    ) -> Observation[Partition]:
        """The controller fences or unfences a broker, without changing the leader or ISR. If this is optional, the
        controller may also change the leader or ISR at the same time, which is a separate observation.
        `has_registered` is true if the broker has `restarted` before, as a fenced broker. `may_have_moved` is true if
        the controller may not know the log directory of the broker's replica, so that it does not elect the broker.
        """
        name = "session_expires" if fenced else "session_resumes"

        def apply(state: Partition) -> list[Partition]:
            if not state.replicas[broker].up:
                return [] if has_registered else [state]
            if state.registrations[broker].status != (ACTIVE if fenced else FENCED):  # or shuts down
                return [state]
            taken = [after for after in self.release.take(name, state, broker) if after.quorum == state.quorum]
            if taken or fenced or not may_have_moved:
                return taken
            return [state.with_registration(broker, ACTIVE).with_moved(broker, True)]

        def why(state: Partition) -> str:
            if not state.replicas[broker].up:
                return f"broker {broker} is down"
            return f"this would change the leader or ISR: {quorum_in_words(state.quorum)}"

        label = f"the controller {'fences' if fenced else 'unfences'} broker {broker}"
        return self._made(window, label, apply, why, name, optional=optional)


def are_eligible(state: Partition, wanted: tuple[frozenset[int], ...] | None) -> bool:
    """Return whether a partition has the given ELR and last known leader. If `wanted` is None, return True.

    If a record names no last known leader, or several, no broker is elected because it is the last known leader. In a
    cluster without ELR, records keep the last one from the time before it was lowered, and no broker is elected so.
    """
    if wanted is None:
        return True
    (elr, last), known = wanted, state.quorum.last_known_leader
    named = last if len(last) == 1 else frozenset()
    same_leader = (frozenset() if known is None else frozenset({known})) == named or not state.protocol.has_elr
    return state.quorum.elr == elr and same_leader


def are_replicas(state: Partition, wanted: Assignment | None) -> bool:
    """Return whether a partition has the given replicas, with the same preferred leader and the same reassignment in
    progress. The order of the other replicas is left out. If `wanted` is None, return True.
    """
    if wanted is None:
        return True
    known = state.assignment
    same = set(known.replicas) == set(wanted.replicas) and known.replicas[0] == wanted.replicas[0]
    return same and (known.adding, known.removing) == (wanted.adding, wanted.removing)
