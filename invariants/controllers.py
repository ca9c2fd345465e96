"""Properties of the `control` family: how brokers and ZooKeeper treat former controllers, and what holds at rest.

A state is at rest if no healing action can change anything: brokers have handled all requests, the controller has acted
on everything that it can read, and each broker that restarts after a crash is running again.
"""

from __future__ import annotations

from collections.abc import Iterator

from leadline.checker.properties import invariant, recoverable, step_invariant, witness
from leadline.model.control.state import Cluster


@invariant(
    "no two controllers have the same controller epoch",
    source="KAFKA-1096: a former controller took the epoch of its successor for its own",
)
def one_controller_per_epoch(state: Cluster) -> Iterator[str]:
    epochs: dict[int, int] = {}
    for number, controller in enumerate(state.controllers):
        if controller.epoch and epochs.setdefault(controller.epoch, number) != number:
            yield f"controllers {epochs[controller.epoch]} and {number} both have controller epoch {controller.epoch}"


@step_invariant(
    "a broker that has obeyed a controller obeys no older one",
    source="KAFKA-532: brokers refuse requests with an older controller epoch",
)
def newer_controller_obeyed(before: Cluster, after: Cluster) -> Iterator[str]:
    for broker, (was, now) in enumerate(zip(before.heard, after.heard, strict=True)):
        if now.controller_epoch < was.controller_epoch and after.replicas[broker].up:
            yield (
                f"broker {broker} obeys the controller of epoch {now.controller_epoch}, after that of epoch "
                f"{was.controller_epoch}"
            )


@step_invariant(
    "only the newest controller begins leader epochs",
    source="KAFKA-6082: a former controller wrote to ZooKeeper",
)
def former_controllers_fenced(before: Cluster, after: Cluster) -> Iterator[str]:
    """Checks each write that begins a leader epoch.

    This property is kept because it detects the cause of KAFKA-6082. `agreed_at_rest` detects only the consequences,
    some steps later.
    """
    registry = after.registry
    if after.quorum.epoch > before.quorum.epoch and registry.written_by < registry.controller_epoch:
        yield (
            f"the controller of epoch {registry.written_by} writes leader epoch {after.quorum.epoch}, although there "
            f"is one of epoch {registry.controller_epoch}"
        )


@invariant(
    "no broker is in a later leader epoch than ZooKeeper",
    source="LeaderAndIsr requests follow the write of the partition state",
)
def znode_epoch_is_newest(state: Cluster) -> Iterator[str]:
    """Compares the leader epochs of brokers with the leader epoch in ZooKeeper.

    This property is kept because elections rely on it: a controller adds 1 to the leader epoch in ZooKeeper. No value
    of a rule violates it, because a controller sends each request after the write.
    """
    for broker, replica in enumerate(state.replicas):
        if replica.epoch > state.quorum.epoch:
            yield f"broker {broker} is in leader epoch {replica.epoch}, ZooKeeper in {state.quorum.epoch}"


def controller_has_acted(state: Cluster) -> bool:
    """Return whether the controller knows the live brokers and has acted on them, and no broker has started or failed
    since it read them. With KRaft, this is always true, because one record contains both a registration and its
    consequences.
    """
    if state.protocol.keeps_log:
        return True
    number = _controller(state)
    if number is None:
        return False
    own = state.controllers[number]
    return own.known == state.registry.sessions and not own.notified


def _controller(state: Cluster) -> int | None:
    """Return the active controller, or None if there is none or it has not yet acted on what it has read."""
    number = state.registry.controller
    if number is None or not state.is_controller(number) or state.controllers[number].read is not None:
        return None
    return number if state.controllers[number].epoch else None


@invariant(
    "once the controller has acted, no broker without a session is in the ISR, unless it is the last member",
    source="KAFKA-3143, KAFKA-3096: a new controller left it there until the leader removed it",
    premise=controller_has_acted,
)
def dead_not_in_isr(state: Cluster) -> Iterator[str]:
    """Checks the ISR in ZooKeeper.

    If there is a leader, the violation does not last, because the leader removes the broker. Otherwise, the partition
    waits for the wrong broker.

    A broker that starts and fails again before the controller reads the live brokers is not a violation. If a former
    controller tells it who leads, it can be in the ISR, and the controller does not know that it was live.

    With two crashes, 2.7 to 3.2 also violate this property: a leader proposes a follower for the ISR, the follower and
    the controller fail, and the next controller does not check that the follower is live (KIP-841, since 3.3).
    """
    if not controller_has_acted(state) or len(state.quorum.isr) == 1:
        return
    for broker in sorted(state.quorum.isr):
        if not state.registry.registered[broker]:
            yield f"broker {broker} has no session and is in the ISR, and the controller has done all it will do"


@invariant(
    "once nothing is left to do, each running replica has the leader and leader epoch that ZooKeeper has, and "
    "no other broker has one",
    source="KAFKA-6082; KAFKA-1120; KIP-380; KAFKA-13972",
    at_rest=True,
)
def agreed_at_rest(state: Cluster) -> Iterator[str]:
    """Checks the leader and the leader epoch of every broker.

    This property is kept because it states the purpose of a controller. A leader that has not learned that it
    leads also violates `led_at_rest`. Brokers in an old leader epoch (KAFKA-6082) violate only this property.
    """
    quorum = state.quorum
    for broker, replica in enumerate(state.replicas):
        knows = "no leader" if replica.leader is None else f"leader {replica.leader} in epoch {replica.epoch}"
        if broker not in state.assignment.replicas:
            if replica.leader is not None:
                yield f"broker {broker} knows {knows}, and is not one of the replicas"
        elif (
            replica.up
            and quorum.leader is not None
            and (replica.leader, replica.epoch) != (quorum.leader, quorum.epoch)
        ):
            yield f"broker {broker} knows {knows}, ZooKeeper leader {quorum.leader} in epoch {quorum.epoch}"


@invariant(
    "once nothing is left to do, no reassignment is in progress, if all requested brokers are running and the "
    "partition has a leader",
    source="KIP-455: a reassignment completes once its replicas are in the ISR",
    at_rest=True,
)
def reassigned_at_rest(state: Cluster) -> Iterator[str]:
    """Checks the reassignment that an operator has requested. This property can be violated only if the bound
    `reassignments` is above 0.

    This property is kept because it states that a reassignment ends. Without a failover, no value of a rule violates
    it.
    """
    target = state.registry.target
    if target and state.quorum.leader is not None and all(state.replicas[broker].up for broker in target):
        yield f"brokers {' and '.join(map(str, target))} are running, and the reassignment to them does not end"


@invariant(
    "outside the completion of a reassignment, the ISR has replicas only",
    source="KIP-455, B3 and B4: two writes; KAFKA-6638",
    at_rest=True,
)
def isr_within_replicas_at_rest(state: Cluster) -> Iterator[str]:
    """Checks the ISR in ZooKeeper. This property can be violated only if the bound `reassignments` is above 0.

    This property is kept because a member of the ISR that is not a replica can be elected. Up to 2.0, a former
    controller can violate it after a failover.
    """
    for broker in sorted(state.quorum.isr - frozenset(state.assignment.replicas)):
        yield f"broker {broker} is in the ISR in ZooKeeper, and not one of the replicas"


@invariant(
    "once nothing is left to do, the partition has a leader that knows that it leads, if a member of the ISR "
    "is running",
    source="KAFKA-1120: a restarted leader is told nothing",
    at_rest=True,
)
def led_at_rest(state: Cluster) -> Iterator[str]:
    """Checks the leader in ZooKeeper.

    This property is kept because it states that the partition is available. `agreed_at_rest` is also violated if all
    brokers stay in an old leader epoch, although the partition then has a leader.
    """
    quorum = state.quorum
    if not any(state.replicas[broker].up for broker in sorted(quorum.isr)):
        return
    if quorum.leader is None:
        yield "ZooKeeper has no leader"
    elif state.replicas[quorum.leader].leader != quorum.leader:
        yield f"broker {quorum.leader} is the leader in ZooKeeper, and does not know it"


@invariant(
    "once nothing is left to do, there is an active controller that brokers obey",
    source="KAFKA-6082: two steps of an election",
    at_rest=True,
)
def controlled_at_rest(state: Cluster) -> Iterator[str]:
    number = state.registry.controller
    if number is None or not state.is_controller(number):
        yield "no broker acts as the controller"
        return
    epoch = state.controllers[number].epoch
    for broker, heard in enumerate(state.heard):
        if heard.controller_epoch > epoch:
            yield f"broker {broker} refuses the controller of epoch {epoch}: it has obeyed {heard.controller_epoch}"


@invariant(
    "once nothing is left to do, the leader can change the ISR",
    source="KAFKA-14154: a leader waits for an answer that does not come; KAFKA-2729",
    at_rest=True,
)
def isr_writable_at_rest(state: Cluster) -> Iterator[str]:
    """Checks a leader that knows that it leads.

    Up to 2.6, the leader must know the current ISR. Since 2.7, it must not wait for a response: at rest, none comes.
    """
    leader = state.quorum.leader
    if leader is None or not state.believes_to_lead(leader) or state.replicas[leader].epoch != state.quorum.epoch:
        return
    if not _can_change_isr(state, leader):
        yield f"broker {leader} leads, and can change the ISR no more"


def _can_change_isr(state: Cluster, leader: int) -> bool:
    return state.is_true_leader(leader) and state.replicas[leader].proposal is None


@recoverable(
    "the leader in ZooKeeper or in the metadata log can become able to change the ISR",
    source="KAFKA-2729, KAFKA-3042: its version of the partition state is outdated for ever; KAFKA-14154",
    by_healing=True,
)
def leader_can_write(state: Cluster) -> bool:
    """Checks what `isr_writable_at_rest` checks, and also that there is a leader."""
    leader = state.quorum.leader
    return leader is not None and _can_change_isr(state, leader)


@witness("a controller fails over")
def controller_fails_over(state: Cluster) -> bool:
    return state.registry.controller_epoch > 1


@witness("a former controller writes the partition state or sends requests after its successor has started")
def two_controllers_act(state: Cluster) -> bool:
    return sum(controller.epoch > 0 for controller in state.controllers) > 1


@witness("the last of the brokers that can be the controller takes over from the first", source="seed 002")
def last_controller_takes_over(state: Cluster) -> bool:
    last = state.bounds.controllers - 1
    return state.is_controller(last) and state.registry.controller_epoch > 1 and not state.controllers[0].active


# --- the situations in which bugs of the archive do harm: see `leadline.invariants.situations` -----------------------


@witness("a broker has registered again, and the controller knows only its earlier registration")
def registered_again_unread(state: Cluster) -> bool:
    return any(
        known not in (0, born)
        for controller in state.controllers
        if controller.active
        for known, born in zip(controller.known, state.registry.births, strict=bool(controller.known))
    )


@witness("a broker of the ISR is gone when a controller starts")
def member_gone_at_failover(state: Cluster) -> bool:
    registry = state.registry
    return registry.controller_epoch > 1 and not all(registry.registered[broker] for broker in state.quorum.isr)


@witness("a controller that was replaced believes that it is the controller")
def controller_was_replaced(state: Cluster) -> bool:
    return any(each.active and number != state.registry.controller for number, each in enumerate(state.controllers))


@witness("a reassignment is cancelled, and a broker that was being added has a replica")
def cancelled_with_replica(state: Cluster) -> bool:
    return state.spent.cancellations > 0 and any(
        replica.leader is not None and broker not in state.assignment.replicas
        for broker, replica in enumerate(state.replicas)
    )


@witness("a controller is asked to let a broker shut down that has registered again since")
def shutdown_asked_before_restart(state: Cluster) -> bool:
    births = state.registry.births
    return any(epoch != births[broker] for each in state.controllers for broker, epoch in each.asked)


@witness("a leader asks for a change of the ISR in a leader epoch that a former controller does not know")
def former_controller_asked(state: Cluster) -> bool:
    return any(
        replica.proposal is not None
        and controller.active
        and controller.partition is not None
        and controller.partition.epoch < replica.epoch
        for _, replica in state.believed_leaders()
        for controller in state.controllers
    )


@witness("a leader has lost the end of its log, and starts again in the leader epoch in which it led")
def leader_back_with_lost_end(state: Cluster) -> bool:
    leader = state.quorum.leader
    return state.spent.lossy_crashes > 0 and leader is not None and state.replicas[leader].leader != leader


@witness("a broker has created /controller, and takes its election for failed")
def own_election_unknown(state: Cluster) -> bool:
    number = state.registry.controller
    return number is not None and not state.controllers[number].active and not state.may("lost_elections")


SITUATIONS = (
    registered_again_unread,
    member_gone_at_failover,
    controller_was_replaced,
    cancelled_with_replica,
    shutdown_asked_before_restart,
    former_controller_asked,
    leader_back_with_lost_end,
    own_election_unknown,
)
"""Checked only if they are named."""
