"""Order the steps of a trace so that real brokers can execute each of them. The result is a trace of the same model.

Real brokers perform some actions of the model together, in one step, and some events happen on real brokers even if a
trace does not contain them. For example, a ZooKeeper controller sends a broker every request in order, so the broker
cannot learn of leader epoch 2 before epoch 1. In a schedule, steps that happen together are adjacent, and missing steps
are added. The schedule is executed in the model, so it is always a behaviour of the release. It ends with the same
violation as the trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import attrs

from leadline.brokers.errors import NotExecutable
from leadline.checker.action import ActionInstance
from leadline.checker.spec import Spec
from leadline.checker.trace import Trace, complaint_at_end
from leadline.model.kafka.broker import FENCED
from leadline.model.kafka.crash import was_noticed
from leadline.model.kafka.messages import FetchRequest
from leadline.model.kafka.releases import KRAFT, ZOOKEEPER
from leadline.model.kafka.state import Partition
from leadline.model.kafka.wire import on_the_wire

Instance = ActionInstance[Partition]
_MOST_CHANGES = 30
_MOST_STATES = 5_000


@attrs.frozen
class _Conflict:
    """A step that real brokers cannot execute at its position.

    Attributes:
        index: the number of the step, from 1.
        reason: the reason why brokers cannot execute the step.
        candidates: sequences of steps to try instead, in order of preference.
    """

    index: int
    reason: str
    candidates: tuple[tuple[Instance, ...], ...] = ()


def schedule_of(trace: Trace[Partition], controller: str) -> Trace[Partition]:
    """Return a trace that real brokers can execute, with the same steps and, if necessary, additional steps.

    Parameters:
        trace: a trace of a Kafka spec.
        controller: the kind of controller that the release uses, `ZOOKEEPER` or `KRAFT`.

    Returns:
        A trace of the same spec that ends with a violation of the same property. If the given trace is not about a
        property, the returned trace ends with the same logs.

    Raises:
        NotExecutable: if real brokers cannot execute a step. The message names the step and the reason.
    """
    left = _MOST_CHANGES
    while (conflict := next(_conflicts(trace, controller), None)) is not None:
        found = (_executed(trace, candidate) for candidate in conflict.candidates)
        arranged = next((each for each in found if each is not None), None)
        left -= 1
        if arranged is None or not left:
            raise NotExecutable(conflict.index, conflict.reason)
        trace = arranged
    return trace


def _conflicts(trace: Trace[Partition], controller: str) -> Iterator[_Conflict]:
    protocol = trace.states[0].protocol
    for number, step in enumerate(trace.steps, start=1):
        wire = on_the_wire(step.action, controller, protocol)
        if wire.unmade:
            yield _Conflict(number, wire.unmade)
        if wire.within:
            yield from _not_within(trace, number, wire.within)
        if wire.before:
            yield from _not_before(trace, number, wire.before)
        check = _CHECKS[controller].get(step.action)
        if check is not None:
            yield from check(trace, number)


def _not_within(trace: Trace[Partition], number: int, within: tuple[str, ...]) -> Iterator[_Conflict]:
    """Yield a conflict if a step is part of an earlier step on real brokers, but does not immediately follow it."""
    instances = trace.instances
    if number > 1 and instances[number - 2].action.name in within:
        return
    earlier = [at for at in range(number - 1) if instances[at].action.name in within]
    moved = tuple(_moved(instances, number - 1, at + 1) for at in reversed(earlier))
    yield _Conflict(number, "the controller does it in the step that makes it possible", moved)


def _not_before(trace: Trace[Partition], number: int, following: str) -> Iterator[_Conflict]:
    """Yield a conflict if a step is not immediately followed by the step that always follows it on real brokers."""
    instances = trace.instances
    own = instances[number - 1].values
    later = [at for at in range(number, len(instances)) if _is(instances[at], following, own)]
    if later[:1] == [number]:
        return
    reason = f"nothing can be seen, and no broker can be stopped, between it and {following}"
    yield _Conflict(number, reason, tuple(_moved(instances, at, number) for at in later[:1]))


def _unnoticed_restart(trace: Trace[Partition], number: int, controller: str = ZOOKEEPER) -> Iterator[_Conflict]:
    """Yield a conflict if the controller must not notice a restart, but the restart cannot be hidden from it.

    With ZooKeeper, a driver can hide a restart from controllers that compare only broker ids (in releases up to 2.1).
    Afterwards, the driver makes another broker the controller. The new controller sends all requests again.
    """
    before, broker = trace.states[number - 1], trace.instances[number - 1].values[0]
    hidden = controller == ZOOKEEPER and before.protocol.notices_bounces == "none"
    if not was_noticed(before, broker) and not hidden:
        yield _Conflict(number, "the controller notices the restart of a broker unless it fails over at this moment")


def _restart_in_kraft(trace: Trace[Partition], number: int) -> Iterator[_Conflict]:
    """Yield a conflict if a broker restarts without learning the current epoch.

    The controller considers a broker alive again when the broker has read the metadata log up to the record of its own
    registration. By then, the broker has learned of the leader epoch that precedes the registration.
    """
    yield from _unnoticed_restart(trace, number, KRAFT)
    instance, before, after = trace.instances[number - 1], trace.states[number - 1], trace.states[number]
    if after.quorum.leader is None or after.quorum.epoch != before.quorum.epoch:
        return
    learns = _learns(trace, instance.values[0], after.quorum.epoch, after.quorum.leader)
    if trace.instances[number : number + 1] == (learns,):
        return
    reason = "a broker that registers has read the metadata log, and so learns of the current leader in the same step"
    yield _Conflict(number, reason, _with_step_at(trace, learns, number))


def _shutdown_in_kraft(trace: Trace[Partition], number: int) -> Iterator[_Conflict]:
    """Yield a conflict if a broker stops before all active brokers have learned the current epoch.

    The controller lets a broker stop only when all active brokers have read the metadata log as far as the leaders
    that it elected instead (`BrokerHeartbeatManager.calculateNextBrokerState`). The model waits for nobody.
    """
    before = trace.states[number - 1]
    epoch = before.quorum.epoch
    for broker in range(len(before.replicas)):
        learns = _learns(trace, broker, epoch, before.quorum.leader)
        if before.considers_alive(broker) and trace.spec.take(learns, before):
            reason = f"the controller waits until broker {broker} has learned of epoch {epoch}"
            yield _Conflict(number, reason, _with_step_at(trace, learns, number - 1))


def _skipped_request(trace: Trace[Partition], number: int) -> Iterator[_Conflict]:
    """Yield a conflict if a broker skips a request, which means that it learns of an epoch before it has handled the
    request for an earlier epoch.
    """
    broker, epoch = trace.instances[number - 1].values
    before = trace.states[number - 1]
    if before.replicas[broker].leader is None and not before.is_current(epoch):
        yield _Conflict(number, "it needs a request that was sent before the restart and arrives after it")
        return
    sent = _sent_since_start(trace, number, broker)
    if epoch not in sent and before.registrations[broker].status == FENCED:
        yield from _after_session(trace, number, broker)
        return
    if epoch not in sent and not obeys_late_requests(before, broker):
        yield from _before_session(trace, number, broker)
        return
    missed = [each for each in sorted(sent) if before.replicas[broker].epoch < each < epoch]
    if not missed:
        return
    request = before.requests[missed[0]]
    if request is None or request.leader is None:
        raise ValueError(f"no request announces a leader in epoch {missed[0]}")
    learns = _learns(trace, broker, missed[0], request.leader)
    instances = trace.instances
    positions = range(number - 1, sent[missed[0]] - 1, -1)
    candidates = tuple((*instances[:at], learns, *instances[at:]) for at in positions)
    reason = f"broker {broker} gets the controller's requests in order, and that of epoch {missed[0]} before"
    yield _Conflict(number, reason, candidates)


def _after_session(trace: Trace[Partition], number: int, broker: int) -> Iterator[_Conflict]:
    """Yield a conflict for a request that the controller sends only after the broker has a new session."""
    instances = trace.instances
    later = [at for at in range(number, len(instances)) if _is(instances[at], "session_resumes", (broker,))]
    reason = f"the controller sends nothing to broker {broker}, whose session has ended"
    yield _Conflict(number, reason, tuple(_moved(instances, at, number - 1) for at in later[:1]))


def _unanswered_request(trace: Trace[Partition], number: int) -> Iterator[_Conflict]:
    """Yield a conflict if the session of a broker ends before the broker has handled a request.

    Up to 2.1, the controller then waits for the response to this request before it handles the end of the session
    (`ControllerChannelManager.removeExistingBroker`).
    """
    broker, before = trace.instances[number - 1].values[0], trace.states[number - 1]
    waiting = [each for each in _sent_since_start(trace, number, broker) if each > before.replicas[broker].epoch]
    if not waiting or not before.protocol.obeys_late_requests:
        return
    request = before.requests[min(waiting)]
    if request is None or request.leader is None:
        raise ValueError(f"no request announces a leader in epoch {min(waiting)}")
    learns = _learns(trace, broker, min(waiting), request.leader)
    reason = f"the controller waits until broker {broker} has handled the request for epoch {min(waiting)}"
    yield _Conflict(number, reason, _with_step_at(trace, learns, number - 1))


def _before_session(trace: Trace[Partition], number: int, broker: int) -> Iterator[_Conflict]:
    """Yield a conflict for a request that the broker refuses, because it was sent before the broker's last session
    (KIP-380).
    """
    instances = trace.instances
    earlier = [at for at in range(number - 1) if _is(instances[at], "session_resumes", (broker,))]
    reason = f"broker {broker} refuses requests that were sent before its session began"
    yield _Conflict(number, reason, tuple(_moved(instances, number - 1, at) for at in reversed(earlier)))


def _sent_since_start(trace: Trace[Partition], number: int, broker: int) -> dict[int, int]:
    """Return the number of each step that sent a request that the broker obeys, keyed by the epoch in the request.

    A broker obeys requests that were sent since it started and, if it compares broker epochs, since its session began.
    """
    sent: dict[int, int] = {}
    for at in range(1, number):
        before, after = trace.states[at - 1], trace.states[at]
        if not after.replicas[broker].up:
            sent.clear()
            continue
        if before.registrations[broker].status == FENCED and not obeys_late_requests(before, broker):
            sent.clear()
        if after.quorum.leader is not None and _is_told(before, after, broker):
            sent.setdefault(after.quorum.epoch, at)
    return sent


def _is_told(before: Partition, after: Partition, broker: int) -> bool:
    """Return whether a ZooKeeper controller sends a request to a running broker in a step. It does so for a new epoch,
    and when the broker has started or has a new session.
    """
    if after.registrations[broker].status == FENCED:
        return False
    is_back = not before.replicas[broker].up or before.registrations[broker].status == FENCED
    return is_back or after.quorum.epoch != before.quorum.epoch


def obeys_late_requests(state: Partition, broker: int) -> bool:
    """Return whether a broker accepts requests that were sent before its session began: if it does not compare broker
    epochs (KIP-380), or the controller's requests do not contain them.
    """
    return state.rules_of(broker).obeys_late_requests or not state.protocol.names_broker_epochs


def lags(state: Partition, leader: int, member: int) -> bool:
    """Return whether a leader may remove a follower from the ISR because the follower lags."""
    replica, follower = state.replicas[leader], state.replicas[member]
    fetches = follower.leader == leader and follower.epoch == replica.epoch
    return state.rules_of(leader).lags(replica.remote_leos[member], replica.log.end_offset, fetches)


def keeps_up(state: Partition, leader: int, follower: int) -> bool:
    """Return whether a follower has all records of a leader and fetches from it. The driver can let such a follower
    fetch repeatedly without receiving new data.
    """
    fetches, remote = state.replicas[follower].in_flight, state.replicas[leader]
    return (
        state.replicas[follower].up
        and isinstance(fetches, FetchRequest)
        and fetches.leader == leader
        and remote.remote_leos[follower] == fetches.offset == remote.log.end_offset
    )


def _elects_without_leader(trace: Trace[Partition], number: int) -> Iterator[_Conflict]:
    """Yield a conflict if a step elects a leader for a partition that has none. A real controller would have elected it
    in the previous step. The only exception is the last known leader, which is elected when an operator requests an
    election (`PartitionChangeBuilder`, if a change without the ELR has cleared the ELR).
    """
    quorum = trace.states[number - 1].quorum
    is_last_resort = not quorum.isr and not quorum.elr
    if quorum.leader is None and not is_last_resort:
        yield _Conflict(number, "the controller elects in the step that makes it possible")


def _removed_together(trace: Trace[Partition], number: int) -> Iterator[_Conflict]:
    """Yield a conflict if a leader removes one lagging follower and keeps another one.

    A leader removes all lagging followers at once (`Partition.maybeShrinkIsr`). The model removes one at a time.
    """
    leader, member = trace.instances[number - 1].values
    before = trace.states[number - 1]
    others = [
        broker
        for broker in before.replicas[leader].isr - {leader, member}
        if lags(before, leader, broker) and not keeps_up(before, leader, broker)
    ]
    instances = trace.instances
    removals = [
        at
        for at in range(number, len(instances))
        if any(_is(instances[at], "shrink_isr", (leader, other)) for other in others)
    ]
    if not others or number in removals:
        return
    candidates = tuple(_moved(instances, at, number) for at in removals)
    yield _Conflict(number, f"broker {leader} also removes broker {min(others)}, which lags as well", candidates)


_Check = Callable[[Trace[Partition], int], Iterator[_Conflict]]
_CHECKS: dict[str, dict[str, _Check]] = {
    ZOOKEEPER: {
        "restart": _unnoticed_restart,
        "restart_as": _unnoticed_restart,
        "become_leader": _skipped_request,
        "become_follower": _skipped_request,
        "controller_elects": _elects_without_leader,
        "session_expires": _unanswered_request,
        "shrink_isr": _removed_together,
    },
    KRAFT: {
        "restart": _restart_in_kraft,
        "restart_as": _restart_in_kraft,
        "stop": _shutdown_in_kraft,
        "controller_elects": _elects_without_leader,
        "shrink_isr": _removed_together,
    },
}


def _learns(trace: Trace[Partition], broker: int, epoch: int, leader: int | None) -> Instance:
    name = "become_leader" if leader == broker else "become_follower"
    return next(each for each in trace.spec.instances if _is(each, name, (broker, epoch)))


def _is(instance: Instance, action: str, values: tuple[object, ...]) -> bool:
    return instance.action.name == action and instance.values == values


def _with_step_at(trace: Trace[Partition], step: Instance, at: int) -> tuple[tuple[Instance, ...], ...]:
    """Return the steps with the given one at an index: first moved there from later on, if it is there, then added."""
    instances = trace.instances
    later = [index for index in range(at, len(instances)) if instances[index] == step]
    return (*(_moved(instances, index, at) for index in later[:1]), (*instances[:at], step, *instances[at:]))


def _moved(instances: Sequence[Instance], old: int, new: int) -> tuple[Instance, ...]:
    """Return the steps after moving the step at index `old` to index `new`."""
    left = [*instances[:old], *instances[old + 1 :]]
    return (*left[:new], instances[old], *left[new:])


# --- executing other steps in the model ---------------------------------------------------------------------


def _executed(trace: Trace[Partition], instances: Sequence[Instance]) -> Trace[Partition] | None:
    """Execute the given steps in the model. Return the new trace if it ends like the given trace, otherwise None."""
    wanted = dict(zip(trace.instances, trace.states[1:], strict=False))
    left = _MOST_STATES
    states: list[Partition] = [trace.states[0]]
    choices = [_successors(trace.spec, instances, states, wanted)]
    while choices:
        state = next(choices[-1], None)
        left -= 1
        if left < 0:
            return None
        if state is None:
            choices.pop()
            states.pop()
            continue
        states.append(state)
        if len(states) <= len(instances):
            choices.append(_successors(trace.spec, instances, states, wanted))
        elif _ends_alike(trace, states):
            return Trace(trace.spec, states, instances, trace.about)
        else:
            states.pop()
    return None


def _successors(
    spec: Spec[Partition], instances: Sequence[Instance], states: Sequence[Partition], wanted: dict[Instance, Partition]
) -> Iterator[Partition]:
    """Return the next states. Those with the most replicas in common with the original trace come first."""
    instance = instances[len(states) - 1]
    target = wanted.get(instance)
    found = spec.take(instance, states[-1]) if spec.is_within(states[-1]) else []
    if target is None:
        return iter(found)
    return iter(sorted(found, key=lambda state: -_in_common(state, target)))


def _in_common(state: Partition, target: Partition) -> int:
    return sum(own == other for own, other in zip(state.replicas, target.replicas, strict=True))


def _ends_alike(trace: Trace[Partition], states: Sequence[Partition]) -> bool:
    if trace.about is not None:
        return complaint_at_end(trace.spec, trace.about, states) is not None
    pairs = zip(states[-1].replicas, trace.states[-1].replicas, strict=True)
    return all(own.log == other.log for own, other in pairs)
