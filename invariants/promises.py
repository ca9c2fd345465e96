"""Properties that state promises to clients: a record that consumers could read, or that was acknowledged, is not lost.

States of the `kafka` family record these promises, although no broker stores them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from leadline.checker.properties import invariant, step_invariant
from leadline.checker.result import PropertyResult, Result, Verdict
from leadline.checker.spec import Spec
from leadline.checker.support.messages import counted
from leadline.checker.trace import Trace
from leadline.invariants.known import ALL_RELEASES, RPC
from leadline.invariants.view import Complaint
from leadline.model.control.state import Cluster
from leadline.model.kafka.bounds import OLD_MIN_ISR, Bounds
from leadline.model.kafka.consume import readable
from leadline.model.kafka.controller import controller_elects_uncleanly, operator_elects_uncleanly
from leadline.model.kafka.state import Partition, Promise


def led_after_exposed(state: Partition) -> bool:
    """Return whether consumers could read a record and a broker now leads in a later epoch."""
    return _led_after(state, state.exposed)


def led_after_acked(state: Partition) -> bool:
    """Return whether a record was acknowledged and a broker now leads in a later epoch."""
    return _led_after(state, state.acked)


def something_exposed(state: Partition) -> bool:
    """Return whether consumers could read a record in this state or in an earlier one."""
    return bool(state.exposed)


def led_after_durable(state: Partition) -> bool:
    """Return whether KIP-966 protects acknowledged records, a record was acknowledged, and a broker now leads in a
    later epoch.
    """
    return _promises_durability(state) and led_after_acked(state)


def _led_after(state: Partition, promises: Iterable[Promise]) -> bool:
    return any(replica.epoch > promise.epoch for _, replica in state.believed_leaders() for promise in promises)


def _promises_durability(state: Partition) -> bool:
    if state.bounds.acks != "all" or state.bounds.unclean_leader_election or state.spent.unclean_elections:
        return False
    return _lost_logs(state) < min(_least(state), _fewest_replicas(state))


def _promises_after_few_unclean_stops(state: Partition) -> bool:
    unclean = state.spent.crashes + _lost_logs(state)
    return _promises_durability(state) and unclean < min(_least(state), _fewest_replicas(state))


def led_after_few_unclean_stops(state: Partition) -> bool:
    """Return whether a record was acknowledged, a broker now leads in a later epoch, and fewer than
    `min.insync.replicas` brokers have stopped uncleanly.
    """
    return _promises_after_few_unclean_stops(state) and led_after_acked(state)


def _least(state: Partition) -> int:
    """Return the smallest value of `min.insync.replicas` with which a record may have been acknowledged."""
    return OLD_MIN_ISR if state.bounds.min_isr_raises else state.bounds.min_insync_replicas


def _lost_logs(state: Partition) -> int:
    """Return how many times a broker has lost its log or the end of its log."""
    return state.spent.lossy_crashes + state.spent.lost_directories


def _fewest_replicas(state: Partition) -> int:
    """Return the smallest number of replicas that the partition has had.

    A record may have been acknowledged while the partition had this number of replicas. Therefore, no record needs more
    copies than this number.
    """
    return state.assignment.fewest_replicas if state.bounds.moves else state.bounds.brokers


@invariant(
    "a record that consumers could read, or that was acknowledged with acks=all, is in the log of every later "
    "leader at the same offset",
    source="seeds 000, 001, 002, 003: the first scenario, lost data; seed 004: records below HW survive any failure",
    fails_in=(*RPC, *ALL_RELEASES),
    premise=led_after_exposed,
)
def committed_never_lost(state: Partition) -> Iterator[Complaint]:
    """Checks every record that consumers could read.

    This property is kept because it states the promise that Kafka makes to users, and because it is violated only when
    a broker that has lost a record leads. `leader_candidates_complete` is usually violated earlier, when such a broker
    could be elected.
    """
    yield from _lost(state, state.exposed, "could be read from")


@invariant(
    "a record that was acknowledged to its producer is in the log of every later leader at the same offset",
    source="seeds 000, 001, 003: with min.insync.replicas=1 a record counts as written once the leader has it. "
    "With acks=1 this fails by design: a clean election may choose a follower that has not fetched the record",
    fails_in=(*RPC, *ALL_RELEASES),
    premise=led_after_acked,
)
def acked_never_lost(state: Partition) -> Iterator[Complaint]:
    """Checks every record that was acknowledged to its producer.

    This property is kept because of acks=0 and acks=1. With these settings, a record is acknowledged before consumers
    can read it. With acks=all, `committed_never_lost` detects the same wrong rules.
    """
    yield from _lost(state, state.acked, "was acknowledged by")


@step_invariant(
    "consumers never read two different records at the same offset",
    source="seed 002: monotonic reads, a message that was visible does not disappear",
    fails_in=RPC,
    premise=something_exposed,
)
def reads_monotonic(before: Partition, after: Partition) -> Iterator[Complaint]:
    """Checks every record that consumers can read from any leader, including deposed leaders.

    This property is kept because it answers a question that readers of the articles on replication asked, and because
    it includes the records that consumers read from deposed leaders. In mutants, `leader_candidates_complete` is
    violated earlier.
    """
    for leader, replica in after.believed_leaders():
        for promise in before.exposed:
            if promise.offset in readable(replica) and replica.log[promise.offset] != promise.record:
                yield Complaint.about(
                    f"{promise.record} could be read at offset {promise.offset}; "
                    f"now broker {leader} has {replica.log[promise.offset]} there",
                    leader,
                    offset=promise.offset,
                )


@invariant(
    "the log end offset that a later leader reports (ListOffsets) never excludes a record that consumers could read",
    source="seed 002: a message that was visible does not disappear; KIP-207, KAFKA-2334",
    fails_in=(*RPC, *ALL_RELEASES),
    premise=led_after_exposed,
)
def reads_not_taken_back(state: Partition) -> Iterator[Complaint]:
    for leader, replica in state.believed_leaders():
        if not state.rules_of(leader).lists_offsets(replica):
            continue
        for promise in state.exposed:
            gone = promise.offset < state.deletable
            if promise.epoch < replica.epoch and promise.offset >= replica.high_watermark and not gone:
                yield Complaint.about(
                    f"{promise.record} could be read at offset {promise.offset} in epoch {promise.epoch}; broker "
                    f"{leader}, which leads in epoch {replica.epoch}, says the log ends at {replica.high_watermark}",
                    leader,
                    offset=promise.offset,
                )


@invariant(
    "a record acknowledged with acks=all survives as long as fewer than min.insync.replicas brokers have lost the end "
    "of their log, and no election is unclean",
    source="KIP-966",
    fails_in=(*RPC, *ALL_RELEASES),
    premise=led_after_durable,
)
def durable_as_promised(state: Partition) -> Iterator[Complaint]:
    if _promises_durability(state):
        yield from _lost(state, state.acked, "was acknowledged by")


@invariant(
    "a record acknowledged with acks=all survives as long as fewer than min.insync.replicas brokers have stopped "
    "uncleanly or lost a log directory, and no election is unclean",
    source="KIP-966: an eligible leader replica that stops uncleanly may have lost records, so the controller treats "
    "it as if it had. What is lost despite fewer unclean stops is not by design",
    fails_in=(*RPC, *ALL_RELEASES),
    premise=led_after_few_unclean_stops,
)
def durable_after_few_unclean_stops(state: Partition) -> Iterator[Complaint]:
    """Checks what `durable_as_promised` checks, but counts every crash as the loss of the end of a log.

    After `min.insync.replicas` unclean stops, the controller cannot know which brokers have lost records. If it then
    elects the last known leader, and that broker has lost records, this is by design.
    """
    if _promises_after_few_unclean_stops(state):
        yield from _lost(state, state.acked, "was acknowledged by")


LOSS_PROPERTIES = (
    *("committed_never_lost", "acked_never_lost"),
    *("durable_as_promised", "durable_after_few_unclean_stops"),
)
"""Properties whose violation loses a record that was acknowledged or read."""

PROMISES = tuple(
    item.name
    for item in (
        committed_never_lost,
        acked_never_lost,
        durable_as_promised,
        durable_after_few_unclean_stops,
        reads_monotonic,
        reads_not_taken_back,
    )
)
"""The names of the properties that users of Kafka were promised. All other properties are for its developers."""


def promised(spec: Spec[Any]) -> tuple[str, ...]:
    """Return the names of the properties that a spec's configuration promises to users.

    With ``acks=0`` and ``acks=1``, the result does not contain `acked_never_lost`. `committed_never_lost` covers the
    records that consumers could read, and the loss of any other record is by design; see `why_not_promised`.

    Parameters:
        spec: the spec. If it is not of the `kafka` family, the result is empty.
    """
    if getattr(spec.bounds, "acks", None) is None:
        return ()
    names = [item.name for item in spec.checks if item.name in PROMISES]
    return tuple(name for name in names if name != acked_never_lost.name or spec.bounds.acks == "all")


def by_design(item: PropertyResult) -> str:
    """Return why a violation is by design. Return an empty string if the configuration promises the property in at
    least one counterexample.
    """
    violated = item.traces if item.verdict is Verdict.VIOLATED else ()
    reasons = [why_not_promised(item.property.name, trace) for trace in violated]
    return reasons[0] if reasons and all(reasons) else ""


def violations(result: Result) -> list[PropertyResult]:
    """Return the properties that have counterexamples in a result. Properties that are violated by design come last."""
    found = [item for item in result.properties if item.verdict is Verdict.VIOLATED and item.traces]
    return sorted(found, key=lambda item: bool(by_design(item)))


def why_not_promised(name: str, trace: Trace[object]) -> str:
    """Return why the configuration does not promise a property in the behaviour that a counterexample shows.

    An unclean election can lose records, as Kafka's documentation of ``unclean.leader.election.enable`` says, unless
    ``min.insync.replicas`` equals the number of brokers. If ``min.insync.replicas`` brokers have lost the end of their
    log, records can be lost (KIP-966). With ``acks=0`` and ``acks=1``, a record can be lost before followers fetch it,
    as the documentation of ``acks`` says. However, if consumers could read the record, every member of the ISR had it.

    Parameters:
        name: the name of the violated property.
        trace: the counterexample.

    Returns:
        The reason, or an empty string if the configuration promises the property in this behaviour or if the spec
        belongs to neither the `kafka` nor the `control` family.
    """
    end = trace.states[-1]
    if not isinstance(end, Partition) or name not in _LOSSES:
        return ""
    bounds, lost = end.bounds, _lost_logs(end)
    names = {step.action.name for step in trace.instances}
    if bounds.min_insync_replicas < bounds.brokers or lost:
        if controller_elects_uncleanly.name in names or _leader_was_elected_uncleanly(trace):
            return UNCLEAN_NOT_PROMISED
        if operator_elects_uncleanly.name in names:
            return REQUESTED_NOT_PROMISED
    if lost >= min(bounds.min_insync_replicas, _fewest_replicas(end)):
        return _loss_not_promised(bounds, lost)
    readable_records = {(promise.record, promise.offset) for promise in end.exposed}
    readable_acked = [promise for promise in end.acked if (promise.record, promise.offset) in readable_records]
    was_readable = next(_lost(end, readable_acked, ""), None) is not None
    if name == acked_never_lost.name and bounds.acks != "all" and not was_readable:
        return _acks_not_promised(bounds)
    return ""


def _leader_was_elected_uncleanly(trace: Trace[object]) -> bool:
    """Return whether a step of the `control` family, where any controller may elect, elects a broker that is in neither
    the ISR nor the ELR.
    """
    quorums = [state.quorum for state in trace.states if isinstance(state, Cluster)]
    return any(
        after.leader is not None and after.epoch > before.epoch and after.leader not in {*before.isr, *before.elr}
        for before, after in pairwise(quorums)
    )


def not_promised(bounds: Bounds) -> list[str]:
    """Return a sentence for each guarantee that a cluster's settings do not give. See `why_not_promised`.

    Parameters:
        bounds: the bounds that represent settings of the cluster. Other bounds are ignored.
    """
    said = [_acks_not_promised(bounds)] if bounds.acks != "all" else []
    if bounds.unclean_leader_election:
        said.append(UNCLEAN_NOT_PROMISED)
    return [*said, _loss_not_promised(bounds, bounds.min_insync_replicas)]


UNCLEAN_NOT_PROMISED = "unclean.leader.election.enable=true does not promise that records survive an unclean election"
REQUESTED_NOT_PROMISED = "records need not survive an unclean election that an operator requests"


def _acks_not_promised(bounds: Bounds) -> str:
    return f"acks={bounds.acks} does not promise that a record survives if its followers have not fetched it"


def _loss_not_promised(bounds: Bounds, lost: int) -> str:
    return (
        f"min.insync.replicas={bounds.min_insync_replicas} does not promise that records survive the loss of "
        f"the end of {counted(lost, 'log')}"
    )


_LOSSES = tuple(item.name for item in (committed_never_lost, acked_never_lost, reads_not_taken_back))
"""The properties that an unclean election or the loss of the end of a log can violate by design."""


def _lost(state: Partition, promises: Iterable[Promise], how: str) -> Iterator[Complaint]:
    for leader, replica in state.believed_leaders():
        # on disks, a broker that can be elected takes the place of a leader that is missing
        vacant = state.quorum.leader is None and state.quorum.epoch == replica.epoch
        role = "which can be elected since there is no leader" if vacant else f"which leads in epoch {replica.epoch}"
        for promise in promises:
            log, offset = replica.log, promise.offset
            if offset < state.deletable:
                continue  # an operator or retention has deleted it, or will
            held = log[offset] if log.has(offset) else None
            if replica.epoch > promise.epoch and held != promise.record:
                yield Complaint.about(
                    f"{promise.record} at offset {offset} {how} {promise.teller}; "
                    f"broker {leader}, {role}, has {held or 'no record'} there",
                    leader,
                    offset=offset,
                )
