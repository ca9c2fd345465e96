"""Convert the decisions of the controller to observations."""

from __future__ import annotations

import bisect
from collections.abc import Iterator

import attrs

from leadline.brokers.conformance import kraft, zookeeper
from leadline.brokers.conformance.context import Context
from leadline.brokers.conformance.contradictions import contradictions
from leadline.brokers.conformance.controller import Decision
from leadline.brokers.conformance.frames import NONE, Seen
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
        yield make.proposed(window, leader, read.epoch(part.get("LeaderEpoch")), isr)
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
            yield make.proposal_handled(window, leader, result, decision.assignment)
            continue
        result = read.replica(told["LeaderId"]), read.epoch(told["LeaderEpoch"]), read.isr(told["Isr"])
        assignment = None
        unexplained = same.get((told["LeaderEpoch"], frozenset(told["Isr"])), [])
        for place, number in enumerate(unexplained):
            decision = decisions[number]
            if frame.passed <= decision.latest:
                explained.add(unexplained.pop(place))
                requests.pop()
                window = attrs.evolve(window, latest=min(answer.arrived, decision.latest))
                assignment = decision.assignment
                break
        yield make.proposal_handled(window, leader, result, assignment)


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
    asked_by = {read.replica(each.source) for each in requests if each.passed is not None}
    asked = frozenset(broker for broker in asked_by if broker is not None) if read.kraft else None
    return context.make.decided(window, leader, epoch, isr, stopping, *replicas, asked)
