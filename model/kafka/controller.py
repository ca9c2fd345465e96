"""The controller, which elects leaders and changes the ISR and the replicas. It detects failures with a delay.

Its decisions can be based on outdated information. The controller considers a running broker dead if the broker's
session has expired. The controller can elect a leader before it notices that other brokers are down.

Every change of the ISR or of the replicas is made by `build`, as in Kafka's `PartitionChangeBuilder`. Therefore each
change may complete a reassignment, elect a leader, and update the ELR.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.action import action
from leadline.model.kafka.assignment import Assignment, completed
from leadline.model.kafka.bounds import OLD_MIN_ISR, Bounds
from leadline.model.kafka.broker import ACTIVE, BEHIND, FENCED
from leadline.model.kafka.state import P, Partition
from leadline.model.quorum import Quorum, Request, brokers


@action("the controller notices that broker {broker} is down", broker=brokers, fair="weak each", effect="healing")
def controller_notices_failure(state: Partition, broker: int) -> Iterator[Partition]:
    """The session of a broker expires some time after the broker has failed, and the controller reacts.

    The controller also learns from a running broker that the log directory of its replica has failed.
    """
    matters = broker == state.quorum.leader or isr_without(state, broker) != state.quorum.isr
    replica = state.replicas[broker]
    if matters and (not replica.up or replica.offline):
        yield from leaving(state, broker)


@action("the controller loses contact with broker {broker}, which is up", broker=brokers, effect="perturbing")
def session_expires(state: Partition, broker: int) -> Iterator[Partition]:
    """The session of a running broker expires after a long pause or a network failure.

    The broker does not notice that its session has expired.
    """
    if state.may("session_expiries") and state.considers_alive(broker):
        yield from leaving(state.having("session_expiries").with_registration(broker, FENCED), broker)


@action("the controller sees broker {broker} again", broker=brokers, fair="weak each", effect="healing")
def session_resumes(state: Partition, broker: int) -> Iterator[Partition]:
    """A broker whose session has expired starts a new session.

    The broker is elected if there is no leader and the broker is eligible.
    """
    if state.registrations[broker].status == FENCED and state.replicas[broker].up:
        yield from led_again(state.with_registration(broker, ACTIVE))


def leaving(state: P, *leave: int) -> Iterator[P]:
    """Yield the states after the controller has removed failed or stopping brokers from leadership and from the ISR.

    In the model, a leader epoch begins with the election that follows the failure of a leader, but not with the failure
    itself. In most releases, an epoch also begins when a follower is removed from the ISR. The model omits one case: in
    KRaft, an epoch also begins when a partition loses its leader, so that brokers learn that there is no leader.

    Yields:
        The next states, or the given state if the quorum does not change.
    """
    quorum = state.quorum
    isr = isr_without(state, *leave)
    if quorum.leader not in leave and isr == quorum.isr:
        yield state
        return
    yield from build(state, isr, deposed=quorum.leader in leave, bumps=state.protocol.epoch_for_removal)


def build(
    state: P,
    isr: frozenset[int],
    *,
    assignment: Assignment | None = None,
    deposed: bool = False,
    bumps: bool = False,
) -> Iterator[P]:
    """Yield the states after the controller has changed the ISR or the replicas (PartitionChangeBuilder.build).

    First, any reassignment in progress is completed if possible. Then the ELR is computed. If the leader cannot
    continue to lead, a new leader is elected if possible. Otherwise, a new leader epoch begins if the partition loses a
    replica, or if the ISR becomes smaller and `bumps` is set.

    Parameters:
        state: the state before the change.
        isr: the requested ISR.
        assignment: the new replicas, or None if the replicas do not change.
        deposed: whether the leader must not continue to lead, even if it is in the ISR.
        bumps: whether a new leader epoch begins if the ISR loses a member.

    Yields:
        The next states. There are none if a new leader epoch is needed but the bounds do not allow it.
    """
    quorum = state.quorum
    if not state.bounds.moves:
        after = with_quorum_isr(state, isr)
        changes_replicas = loses_replica = False
    else:
        before = state.assignment
        assignment, isr = completed(assignment or before, isr, state.protocol.completes)
        after = attrs.evolve(with_quorum_isr(state, isr), assignment=assignment)
        if state.protocol.cuts_elr:
            within = after.quorum.elr & frozenset(assignment.replicas)
            after = attrs.evolve(after, quorum=attrs.evolve(after.quorum, elr=within))
        changes_replicas = assignment.replicas != before.replicas or assignment.in_progress != before.in_progress
        loses_replica = not set(before.replicas) <= set(assignment.replicas)
    if quorum.leader is None:
        yield from _elected_among(after, state.assignment) if changes_replicas else [after]
    elif deposed or quorum.leader not in isr:
        yield from led_again(attrs.evolve(after, quorum=attrs.evolve(after.quorum, leader=None)))
    elif loses_replica or (bumps and isr < quorum.isr):
        yield from new_epoch(after, quorum.leader, isr, elected=False)
    elif changes_replicas:
        yield _without_telling(after, quorum.leader)
    else:
        yield after


def _elected_among(state: P, before: Assignment) -> Iterator[P]:
    """Yield the states after the replicas have changed while there is no leader. The controller elects a broker if it
    can.

    The request fails if the elected broker had no replica before. `ReplicationControlManager.LeaderAcceptor` then calls
    `PartitionRegistration.directory`, which throws an exception.
    """
    for after in led_again(state):
        if after.quorum.leader is None or after.quorum.leader in before.replicas:
            yield after


def _without_telling(state: P, leader: int) -> P:
    """Return the state after the replicas have changed in the same leader epoch. The leader does not know of the change
    yet.

    Until the leader applies the record of the change, the controller rejects the leader's `AlterPartition` requests,
    because their partition epoch is outdated.
    """
    if not state.is_true_leader(leader):
        return state
    replica = state.replicas[leader]
    proposal = replica.proposal
    stale = None if proposal is None or not proposal.sent else attrs.evolve(proposal, stale=True)
    return state.with_replica(leader, attrs.evolve(replica, metadata=BEHIND, proposal=stale or proposal))


def isr_without(state: Partition, *leave: int) -> frozenset[int]:
    """Return the ISR after brokers have been removed.

    In releases without an ELR, the last member stays in the ISR, unless a member of an ELR that was left over is
    elected.
    """
    isr = state.quorum.isr - set(leave)
    if isr or state.protocol.has_elr:
        return isr
    eligible = sorted(state.quorum.elr - set(leave))
    return isr if any(state.may_elect(broker) for broker in eligible) else state.quorum.isr


@action("the controller elects broker {broker}", broker=brokers, fair="weak", effect="healing")
def controller_elects(state: Partition, broker: int) -> Iterator[Partition]:
    """The controller elects a live member of the ISR if there is no leader, or the preferred leader at any time.
    With KIP-966, a live member of the ELR is elected if the ISR is empty, and the last known leader if the ELR is empty
    too.
    """
    if state.quorum.leader is None:
        yield from _elected(state, broker)
        return
    is_preferred = broker == state.assignment.replicas[0] != state.quorum.leader
    if is_preferred and broker in state.quorum.isr and state.may_elect(broker):
        yield from new_epoch(state, broker, state.quorum.isr)


def _elected(state: P, broker: int) -> Iterator[P]:
    isr, clean = _first_isr(state, broker)
    if isr:
        yield from new_epoch(state, broker, isr, clean=clean)


def _first_isr(state: Partition, broker: int) -> tuple[frozenset[int], bool]:
    """Return the ISR with which the controller elects a broker if there is no leader, and whether the election is
    clean. The ISR is empty if the broker is not elected.
    """
    quorum, nobody = state.quorum, frozenset[int]()
    if quorum.isr:
        return (quorum.isr, True) if broker in quorum.isr and state.may_elect(broker) else (nobody, True)
    if quorum.elr:
        return (frozenset({broker}), True) if broker in quorum.elr and state.may_elect(broker) else (nobody, True)
    if broker == quorum.last_known_leader and _may_lead_again(state, broker):
        return frozenset({broker}), False
    return nobody, False


def may_be_elected(state: Partition, broker: int) -> bool:
    """Return whether the controller can elect a broker, apart from the bounds of the search."""
    if state.quorum.leader is not None:
        return False
    uncleanly = state.bounds.unclean_leader_election and state.protocol.elects_uncleanly
    return bool(_first_isr(state, broker)[0]) or (uncleanly and _may_elect_uncleanly(state, broker))


def _may_lead_again(state: Partition, broker: int) -> bool:
    """Return whether the last known leader can be elected.

    Some releases require that the controller considers the broker alive. See the field `elects_last_known` of
    `leadline.model.kafka.protocols.Protocol`.
    """
    known = state.protocol.elects_last_known
    return known == "fenced" or (known == "alive" and state.may_elect(broker))


def led_again(state: P) -> Iterator[P]:
    """Elect a leader in the same step if the release does this, and yield the next states. If no broker is elected,
    yield the given state, without an ELR that was left over (`PartitionChangeBuilder.maybeUpdateRecordElr`).
    """
    elected = []
    if state.quorum.leader is None and state.protocol.elects_at_once:
        in_order = state.protocol.elects_in_order
        candidates = state.assignment.replicas if in_order else brokers(state.bounds)
        elected = [after for broker in candidates for after in _elected(state, broker)]
        elected = elected[:1] if in_order else elected
        left_over = state.quorum.elr and not state.protocol.has_elr
        if left_over and not any(may_be_elected(state, broker) for broker in candidates):
            state = attrs.evolve(state, quorum=attrs.evolve(state.quorum, elr=frozenset()))
    yield from elected or [state]


@action("the controller elects broker {broker}, which is not in the ISR", broker=brokers, fair="weak", effect="healing")
def controller_elects_uncleanly(state: Partition, broker: int) -> Iterator[Partition]:
    """With `unclean.leader.election.enable`, the controller elects any live broker if no ISR or ELR member is alive."""
    if state.bounds.unclean_leader_election and state.protocol.elects_uncleanly:
        yield from elected_uncleanly(state, broker)


@action("an operator has broker {broker} elected, which is not in the ISR", broker=brokers)
def operator_elects_uncleanly(state: Partition, broker: int) -> Iterator[Partition]:
    """An operator requests an unclean election (KIP-460), regardless of `unclean.leader.election.enable`."""
    if state.may("unclean_elections"):
        yield from elected_uncleanly(state.having("unclean_elections"), broker)


def elected_uncleanly(state: P, broker: int) -> Iterator[P]:
    """Yield the state after a live broker outside the ISR has been elected, if no ISR or ELR member is alive."""
    if _may_elect_uncleanly(state, broker):
        yield from new_epoch(state, broker, frozenset({broker}), clean=False)


def _may_elect_uncleanly(state: Partition, broker: int) -> bool:
    quorum = state.quorum
    candidates = quorum.isr or quorum.elr
    if quorum.leader is not None or broker in candidates:
        return False
    return state.may_elect(broker) and not any(state.may_elect(member) for member in sorted(candidates))


@action("min.insync.replicas is updated")
def update_min_insync_replicas(state: Partition) -> Iterator[Partition]:
    """`min.insync.replicas` is updated. The ELR is cleared, because it was computed with the old value (KIP-966).

    The last known leader is cleared too (`ReplicationControlManager.replay` of `ClearElrRecord`).
    """
    if state.quorum.elr and state.may("min_isr_updates") and state.protocol.clears_elr_on_update:
        yield _with_elr_cleared(state.having("min_isr_updates"))


def _with_elr_cleared(state: P) -> P:
    cleared = attrs.evolve(state.quorum, elr=frozenset(), last_known_leader=None)
    return attrs.evolve(state, quorum=cleared)


def only_if_raised(bounds: Bounds) -> range:
    """Return a range with one value if the bounds allow an increase of `min.insync.replicas`. Otherwise, return an
    empty range.
    """
    return range(1 if bounds.min_isr_raises else 0)


@action("an operator increases min.insync.replicas from 1", request=only_if_raised)
def raise_min_insync_replicas(state: Partition, request: int) -> Iterator[Partition]:
    """An operator increases `min.insync.replicas`. The controller uses the new value at once.

    A broker applies the setting after the partition changes in the same metadata
    (`BrokerMetadataPublisher.onMetadataUpdate`). A leader can learn an ISR before that, from the response to its
    request. The rule `min_isr_setting` defines whether brokers apply the setting late.
    """
    if not state.may("min_isr_raises"):
        return
    raised = state.having("min_isr_raises")
    if state.protocol.clears_elr_on_update:
        raised = _with_elr_cleared(raised)
    for broker in brokers(state.bounds):
        if not state.rules_of(broker).learns_settings_late:
            raised = raised.with_replica(broker, attrs.evolve(raised.replicas[broker], old_min_isr=False))
    yield raised


def brokers_with_late_settings(bounds: Bounds) -> range:
    """Return the brokers that can apply a setting late. By default, there are none."""
    return brokers(bounds) if bounds.min_isr_raises else range(0)


@action(
    "broker {broker} applies the increase of min.insync.replicas",
    broker=brokers_with_late_settings,
    fair="weak each",
    effect="healing",
)
def apply_setting(state: Partition, broker: int) -> Iterator[Partition]:
    """A broker applies the new value of `min.insync.replicas`."""
    replica = state.replicas[broker]
    if replica.old_min_isr and replica.up and state.spent.min_isr_raises:
        yield state.with_replica(broker, attrs.evolve(replica, old_min_isr=False))


def with_quorum_isr(state: P, isr: frozenset[int]) -> P:
    """Set the ISR of the quorum, recompute its ELR, and return the new state.

    If the ISR becomes empty, its last member becomes the last known leader (KIP-966), as it leads.
    """
    quorum = attrs.evolve(state.quorum, isr=isr, elr=_elr(state, isr))
    remembers = state.protocol.elects_last_known != "no" and not state.protocol.forgets_last_known
    if not isr and state.quorum.isr and remembers:
        quorum = attrs.evolve(quorum, last_known_leader=state.last_leader)
    return attrs.evolve(state, quorum=quorum)


def _elr(state: Partition, isr: frozenset[int]) -> frozenset[int]:
    """Return the ELR that results from a new ISR. This ELR can contain brokers that are not replicas
    (`maybePopulateTargetElr`).
    """
    return state.protocol.eligible(state.quorum, isr, _min_isr(state))


def _min_isr(state: Partition) -> int:
    """Return the `min.insync.replicas` that the controller uses for the partition (`getTopicEffectiveMinIsr`)."""
    bounds = state.bounds
    configured = OLD_MIN_ISR if state.sets_old_min_isr else bounds.min_insync_replicas
    if bounds.first_partition and state.protocol.counts_first_partition:
        return min(configured, bounds.first_partition)
    return min(configured, len(state.assignment.replicas) if bounds.moves else bounds.brokers)


def new_epoch(state: P, leader: int, isr: frozenset[int], *, elected: bool = True, clean: bool = True) -> Iterator[P]:
    """Begin the next leader epoch and announce it to the brokers.

    Parameters:
        state: the state before the epoch begins.
        leader, isr: the leader and ISR of the new epoch.
        elected: whether the epoch begins with an election. If not, the leader stays the same, and the ISR or the set of
            replicas loses a member.
        clean: whether the leader was in the ISR or ELR.

    Yields:
        The next state, or nothing if the bounds do not allow another epoch.
    """
    epoch = state.quorum.epoch + 1
    if epoch > state.bounds.max_epoch:
        return
    replicas = state.assignment.replicas if state.bounds.moves else None
    later = (Request(leader, isr, elected, replicas), *state.requests[epoch + 1 :])
    requests = state.requests[:epoch] + later
    if state.bounds.moves and isr == state.quorum.isr:
        elr = state.quorum.elr  # computed with the replicas before they changed
    else:
        elr = _elr(state, isr) if clean and state.protocol.has_elr else frozenset()
    yield attrs.evolve(state, quorum=Quorum(leader, epoch, isr, elr), requests=requests)
