"""Converts the changes of the ISR that leaders ask for to observations of the model."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.conformance import Observation
from leadline.model.kafka.assignment import Assignment
from leadline.model.kafka.broker import Replica
from leadline.model.kafka.conformance.decisions import are_eligible, are_replicas
from leadline.model.kafka.conformance.errors import INELIGIBLE, OLDER_EPOCH, OTHER_VERSION
from leadline.model.kafka.conformance.observer import Observer, Window
from leadline.model.kafka.conformance.seen import UNKNOWN, epoch_in_words
from leadline.model.kafka.conformance.words import broker_in_words, listed, quorum_in_words
from leadline.model.kafka.state import Partition


@attrs.frozen(eq=False)
class IsrObservations(Observer):
    """Makes the observations of the changes of the ISR that leaders ask for."""

    def proposed(
        self, window: Window, leader: int, epoch: int | None, isr: frozenset[int], *, outdated: bool | None = None
    ) -> Observation[Partition]:
        """A leader has sent an AlterPartition request. Several brokers may leave the ISR at once. `outdated` is whether
        the request names the broker epoch of an earlier run of a member, or None if this is not known.
        """

        def apply(state: Partition) -> Iterator[Partition]:
            replica = state.replicas[leader]
            if epoch not in (UNKNOWN, replica.epoch):
                return
            if replica.proposal is not None:
                if replica.proposal.isr == isr and replica.proposal.sent:
                    named = replica.proposal.outdated if outdated is None else outdated
                    proposing = attrs.evolve(replica, proposal=attrs.evolve(replica.proposal, outdated=named))
                    yield state.with_replica(leader, proposing)
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
                return f"the proposal is of {epoch_in_words(epoch)}; {told}"
            if joining and replica.proposal is None and state.believes_to_lead(leader):
                known = "; ".join(
                    f"broker {leader} cannot propose broker {broker}: it {_known_of(replica, broker)}"
                    for broker in joining
                )
                return f"{known}; {told}"
            return told

        label = f"broker {leader} proposes ISR {listed(isr)} to the controller"
        return self._made(window, label, apply, why, "shrink_isr")

    def proposal_handled(
        self,
        window: Window,
        leader: int,
        result: tuple[int | None, int | None, frozenset[int]] | None,
        assignment: Assignment | None = None,
        *,
        reason: str | None = None,
        elr: tuple[frozenset[int], ...] | None = None,
    ) -> Observation[Partition]:
        """The controller has handled an AlterPartition request. `result` is the leader, epoch and ISR afterwards, or
        None if the controller has rejected the request. `assignment` is the replicas afterwards, or None if they are
        not known or never change. `reason` is what the error says (see `errors`). `elr` is as in
        `decided`.
        """

        def is_reason(state: Partition) -> bool:
            leads, proposal = state.is_true_leader(leader), state.replicas[leader].proposal
            if reason == OLDER_EPOCH:
                return not leads
            if reason == OTHER_VERSION:
                return leads and proposal is not None and (proposal.stale or proposal.known != state.quorum.isr)
            if reason != INELIGIBLE or proposal is None:
                return True
            registered, may_join = state.registrations, state.protocol.may_join
            return not all(may_join(registered[broker], proposal.outdated) for broker in proposal.isr)

        def apply(state: Partition) -> Iterator[Partition]:
            for after in self.release.take("handle_alter_partition", state, leader):
                quorum = after.quorum
                if result is None:
                    if quorum == state.quorum and is_reason(state):
                        yield after
                elif (
                    (quorum.leader, quorum.isr) == (result[0], result[2])
                    and result[1] in (None, quorum.epoch)
                    and are_eligible(after, elr)
                    and are_replicas(after, assignment)
                ):
                    yield after

        def why(state: Partition) -> str:
            after = self.release.take("handle_alter_partition", state, leader)
            found = {
                f"the controller would refuse the request, and nothing would change: {quorum_in_words(each.quorum)}"
                if each.quorum == state.quorum
                else f"the controller would accept the request, so that {quorum_in_words(each.quorum)}"
                for each in after
            }
            statuses = ", ".join(f"broker {b} is {r.status}" for b, r in enumerate(state.registrations))
            allowed = "; or ".join(sorted(found)) or "there is no request to answer"
            if result is not None and after and all(each.quorum.epoch != result[1] for each in after):
                allowed += f", but the answer names {epoch_in_words(result[1])}"
            return f"{allowed}; {broker_in_words(state, leader)}; to the controller, {statuses}"

        did, now = ("refuses", "") if result is None else ("accepts", f": ISR {listed(result[2])}")
        now += f", eligible leader replicas (ELR) {listed(elr[0])}" if elr is not None and elr[0] else ""
        label = f"the controller {did} broker {leader}'s AlterPartition request{now}"
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

        label = f"broker {leader} writes ISR {listed(isr)} to ZooKeeper"
        return self._made(window, label, apply, why, "shrink_isr")


def _known_of(replica: Replica, broker: int) -> str:
    """Return in words what a leader knows of a follower that has not caught up."""
    offset = replica.remote_leos[broker]
    if offset < 0:
        return f"has learned no log end offset of broker {broker} from a fetch request"
    return f"has learned only the log end offset {offset} of broker {broker} from its fetch requests"
