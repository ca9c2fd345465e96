"""Convert the decisions of the controller to observations."""

from __future__ import annotations

import bisect
from collections.abc import Iterator

import attrs

from leadline.brokers.conformance import kraft, zookeeper
from leadline.brokers.conformance.context import Context
from leadline.brokers.conformance.contradictions import contradictions
from leadline.brokers.conformance.controller import Decision
from leadline.brokers.conformance.frames import NEVER, NONE, Body, Seen
from leadline.brokers.conformance.not_followed import NotFollowed
from leadline.brokers.conformance.partition import PartitionRecording
from leadline.brokers.messages.shutdown import asks_to_stop
from leadline.checker.conformance import Observation
from leadline.model.kafka.conformance.errors import DONE, ELECTED, MAYBE_DONE, OLDER_EPOCH, said
from leadline.model.kafka.conformance.observer import Window
from leadline.model.kafka.state import Partition


def decided(context: Context) -> Iterator[Observation[Partition]]:
    """Yield the observations of decisions of the controller, and of the requests of leaders for them.

    Raises:
        NotFollowed: if a decision names a leader without a replica.
    """
    read, make, explained, requests = context.read, context.make, set[int](), list[Seen]()
    yield from _altered(context, explained, requests)
    for number, decision in enumerate(context.controller.decisions):
        if number not in explained:
            yield _decided(context, decision, requests)
    if read.kraft:
        yield from kraft.fences(context)
    else:
        yield from zookeeper.isr_writes(context)
    for each in contradictions(read, () if read.kraft else zookeeper.state_writes(read)):
        yield make.contradicted(Window(each.at, each.at, each.frames), each.label, each.why)


def _altered(context: Context, explained: set[int], requests: list[Seen]) -> Iterator[Observation[Partition]]:
    """Yield the observations of AlterPartition requests and responses. Add the positions of the decisions that they
    explain to `explained`, and the requests that explain none to `requests`.
    """
    read, make, decisions = context.read, context.make, context.controller.decisions
    same: dict[tuple[int, frozenset[int]], list[int]] = {}
    for number, decision in enumerate(decisions):
        same.setdefault((decision.epoch, frozenset(decision.isr)), []).append(number)
    answered: dict[int | str, list[float]] = {}
    for frame in read.frames:
        if frame.api != "AlterPartition" or not frame.request:
            continue
        since = _may_propose_since(read, frame, answered.setdefault(frame.source, []))
        part, leader = read.part(frame.body), read.replica(frame.source)
        if part is None or leader is None:
            continue
        ids = part.get("NewIsr") or [each["BrokerId"] for each in part.get("NewIsrWithEpochs") or ()]
        isr = read.isr(ids)
        window = Window(since, frame.arrived, (frame.number,))
        requests.append(frame)
        outdated = _names_another_run(context, frame, part)
        yield make.proposed(window, leader, read.epoch(part.get("LeaderEpoch")), isr, outdated=outdated)
        answer = read.answer.get(frame.number)
        if answer is None or frame.passed is None:
            context.notes["AlterPartition requests without an answer"] += 1
            continue
        told, error = read.part(answer.body), answer.body.get("ErrorCode", 0)
        if error or told is None:  # the leader sends the same request again (`AlterPartitionManager`)
            context.notes["AlterPartition requests that are refused as a whole, and sent again"] += 1
            if said("AlterPartition", error) not in (MAYBE_DONE, None):
                requests.pop()
            continue
        window = context.window(frame.passed, answer.arrived, frame, answer)
        own, known = frame.body.get("BrokerEpoch", NONE), _registered(read, frame.source, answer.arrived)
        if own != NONE and known and own not in known:  # `ClusterControlManager.checkBrokerEpoch`
            why = f"broker {leader} has registered with {' or '.join(map(str, sorted(known)))}"
            yield make.contradicted(window, f"the controller handles a request of the broker epoch {own}", why)
        refused = said("AlterPartition", told.get("ErrorCode", 0))
        if refused != DONE:
            election = _election(context, explained, frame, refused)
            if election is None:
                yield make.proposal_handled(window, leader, None, reason=refused)
                continue
            decision = decisions[election]
            explained.add(election)
            requests.pop()
            result = read.replica(decision.leader), read.epoch(decision.epoch), read.isr(list(decision.isr))
            window = attrs.evolve(window, latest=min(answer.arrived, decision.latest))
            yield make.proposal_handled(window, leader, result, decision.assignment, elr=_elr(read, decision))
            continue
        result = read.replica(told["LeaderId"]), read.epoch(told["LeaderEpoch"]), read.isr(told["Isr"])
        assignment = elr = None
        unexplained = same.get((told["LeaderEpoch"], frozenset(told["Isr"])), [])
        for place, number in enumerate(unexplained):
            decision = decisions[number]
            if frame.passed <= decision.latest:
                explained.add(unexplained.pop(place))
                requests.pop()
                window = attrs.evolve(window, latest=min(answer.arrived, decision.latest))
                assignment, elr = decision.assignment, _elr(read, decision)
                yield from _of_other_version(context, frame, answer, decision)
                break
        yield make.proposal_handled(window, leader, result, assignment, elr=elr)


def _election(context: Context, explained: set[int], frame: Seen, refused: str | None) -> int | None:
    """Return the position of the decision by which an AlterPartition request has made another broker the leader,
    although its answer contains an error, or None if the request was refused.

    With KRaft, a request that completes a reassignment can do so. The controller then writes the change, and answers
    with NEW_LEADER_ELECTED, or up to version 1 with FENCED_LEADER_EPOCH (`ReplicationControlManager.alterPartition`,
    3.0.0:698 and 3.9.0:1105).
    """
    read = context.read
    part, answer = read.part(frame.body), read.answer[frame.number]
    assert part is not None
    if not read.kraft or refused != (ELECTED if frame.version > 1 else OLDER_EPOCH) or frame.passed is None:
        return None
    for number, decision in enumerate(context.controller.decisions):
        is_next = decision.epoch == part["LeaderEpoch"] + 1 and decision.leader not in (NONE, frame.source)
        if is_next and decision.is_reassigned and number not in explained and decision.latest >= frame.passed:
            return number if decision.earliest <= answer.arrived else None
    return None


def _of_other_version(
    context: Context, frame: Seen, answer: Seen, decision: Decision
) -> Iterator[Observation[Partition]]:
    """Yield the contradiction if the partition epochs in an accepted AlterPartition request, and in its answer, are not
    those before and after the decision (`ReplicationControlManager.validateAlterPartitionData`).
    """
    read = context.read
    asked, told = ((read.part(each.body) or {}).get("PartitionEpoch", NONE) for each in (frame, answer))
    after = decision.partition_epoch
    if after != NONE and (asked not in (NONE, after - 1) or told not in (NONE, after)):
        yield context.make.contradicted(
            context.window(answer.arrived, answer.arrived, frame, answer),
            f"the controller accepts a request with the partition epoch {asked}, and answers with {told}",
            f"the record of this change (frame {decision.frame}) changes the partition epoch from {after - 1} to "
            f"{after}",
        )


def _elr(read: PartitionRecording, decision: Decision) -> tuple[frozenset[int], ...] | None:
    """Return the ELR and the last known leaders after a decision, with the numbers of the model."""
    return None if decision.elr is None else tuple(read.isr(list(each)) for each in decision.elr)


def _names_another_run(context: Context, frame: Seen, part: Body) -> bool | None:
    """Return whether an AlterPartition request names another broker epoch of a member than the one with which the
    member has registered (KIP-903), or None if it names none, or registrations are not recorded.
    """
    named = {each["BrokerId"]: each.get("BrokerEpoch", NONE) for each in part.get("NewIsrWithEpochs") or ()}
    known = {broker: _registered(context.read, broker, frame.arrived) for broker in named}
    found = [epoch in known[broker] for broker, epoch in named.items() if epoch != NONE and known[broker]]
    return not all(found) if found else None


def _registered(read: PartitionRecording, broker: object, at: float) -> set[int]:
    """Return the broker epochs with which a broker may be registered at a time. There are several if the answer to a
    registration comes later.
    """
    epochs: set[int] = set()
    for each in read.frames:
        answer = read.answer.get(each.number)
        if each.api == "BrokerRegistration" and each.source == broker and each.arrived <= at and answer is not None:
            epoch = answer.body.get("BrokerEpoch", NONE)
            if not answer.body.get("ErrorCode") and epoch != NONE:
                epochs = {epoch} if answer.arrived <= at else {*epochs, epoch}
    return epochs


def _may_propose_since(read: PartitionRecording, frame: Seen, answered: list[float]) -> float:
    """Return the earliest time at which a leader may have decided to send a proposal. A leader first waits for the
    response to its previous proposal. `answered` contains the times of the responses to earlier proposals, in order.
    """
    known = bisect.bisect_right(answered, frame.arrived)
    since = answered[known - 1] if known else 0.0
    answer = read.answer.get(frame.number)
    if answer is not None and answer.passed is not None:
        bisect.insort(answered, answer.passed)
    return max(0.0, since)


def _decided(context: Context, decision: Decision, requests: list[Seen]) -> Observation[Partition]:
    """Return the observation of a decision. `requests` contains the AlterPartition requests that may be the reason."""
    read = context.read
    leader = read.replica(decision.leader) if decision.leader >= 0 else None
    if leader is None and decision.leader >= 0:
        raise NotFollowed(
            f"frame {decision.frame} names broker {decision.leader} as leader, but that broker has no replica"
        )
    epoch = read.epoch(decision.epoch) if decision.leader >= 0 else None
    stopping = frozenset(
        broker
        for frame in read.frames
        if frame.passed is not None and frame.passed <= decision.latest
        if frame.request and asks_to_stop(frame.api, frame.body)
        if (broker := read.replica(frame.source)) is not None
    )
    window = Window(decision.earliest, decision.latest, (decision.frame,))
    isr = read.isr(list(decision.isr))
    replicas = decision.assignment, decision.is_reassigned
    elr = _elr(read, decision)
    assigned = any(
        frame.api == "AssignReplicasToDirs" and frame.request and (frame.passed or NEVER) <= decision.latest
        for frame in read.frames
    )
    asked_by = {read.replica(each.source) for each in requests if each.passed is not None}
    asked = frozenset(broker for broker in asked_by if broker is not None) if read.kraft else None
    more = (window, leader, epoch, isr, stopping, *replicas, asked)
    return context.make.decided(*more, elr=elr, assigned=assigned)
