"""Explain a trace of the `control` family: outdated reads, refused requests, and restarts that nobody notices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from leadline.checker.action import Step
from leadline.checker.drawing import Event
from leadline.model.control.delivery import accepts
from leadline.model.control.state import ANSWERED, APPLIED, Cluster, Sessions, StopReplica
from leadline.model.quorum import drawn_isr


def events(steps: Sequence[Step[Cluster]]) -> Iterator[Event]:
    """Yield the events that decide the outcome of a trace."""
    read_in: dict[int, int] = {}
    for number, step in enumerate(steps, start=1):
        if step.action == "read_brokers":
            read_in[step.arguments["controller"]] = number + 1
        for text, label in _of(step, read_in):
            yield Event(number, text, label)


def _of(step: Step[Cluster], read_in: dict[int, int]) -> Iterator[tuple[str, str]]:
    before, after = step.before, step.after
    if before.protocol.keeps_log:
        yield from _of_log(before, after, step)
        return
    yield from _reassigned(before, after, step)
    match step.action, step.arguments:
        case "handle_alter_partition", {"controller": number, "leader": leader}:
            yield from _answered(before, after, number, leader)
        case "controller_session_expires", {"controller": number}:
            yield f"controller {number} loses /controller, and goes on: it has not heard of it", "zombie"
        case "become_controller" | "start", {"controller": number} if after.controllers[number].epoch:
            epoch = after.controllers[number].epoch
            yield f"controller {number} starts with controller epoch {epoch}{_misses(before)}", "failover"
        case "lose_election", {"controller": number}:
            yield (
                f"controller {number} has won the election in ZooKeeper, and does not know it: nobody acts as the "
                "controller",
                "lost election",
            )
        case "act_on_brokers", {"controller": number}:
            yield from _acting(before, after, number, read_in.get(number))
        case "resign", {"controller": number}:
            lost = [broker for broker in range(len(before.replicas)) if before.queue(number, broker)]
            if lost:
                yield f"controller {number} resigns, and what it has not sent to {_named(lost)} yet is lost", ""
        case "deliver" | "deliver_unanswered", {"controller": number, "broker": broker}:
            yield from _handled(before, after, number, broker)
        case "handle_shutdown", {"controller": number, "broker": broker}:
            yield from _shut_down(before, after, number, broker)
        case "override", {"controller": number, "target": target}:
            yield f"controller {number} replaces the reassignment by one to brokers {', '.join(map(str, target))}", ""
        case "restart", {"broker": broker} if not _is_seen(before, broker):
            yield f"broker {broker} is back before any controller has seen that it was down", ""


def _reassigned(before: Cluster, after: Cluster, step: Step[Cluster]) -> Iterator[tuple[str, str]]:
    """Yield what a cancellation does, and the brokers that a leader adds to the ISR although they are not replicas."""
    if step.action in ("cancel", "override"):
        stopped = sorted(frozenset(before.assignment.replicas) - frozenset(after.assignment.replicas))
        if stopped:
            yield f"controller {step.arguments['controller']} tells {_named(stopped)} to delete the replica", ""
        if before.quorum.leader is not None and after.quorum.leader is None:
            yield (
                f"broker {before.quorum.leader} was the leader and the only member of the ISR: nobody leads",
                "no leader",
            )
    for broker in sorted(after.quorum.isr - before.quorum.isr - frozenset(before.assignment.replicas)):
        leader = before.quorum.leader
        yield f"broker {leader} has not heard that broker {broker} is not a replica, and adds it to the ISR", "outdated"


def _of_log(before: Cluster, after: Cluster, step: Step[Cluster]) -> Iterator[tuple[str, str]]:
    match step.action, step.arguments:
        case "controller_session_expires" | "controller_dies", {"controller": number}:
            if step.action == "controller_session_expires":
                yield (
                    f"the Raft quorum gives up controller {number}, which has not heard of it and can commit nothing",
                    "zombie",
                )
            undone = len(before.registry.uncommitted)
            if undone:
                which = "a record" if undone == 1 else f"{undone} records"
                yield f"{which} that the quorum has not committed {'is' if undone == 1 else 'are'} undone", "undone"
        case "become_controller", {"controller": number}:
            yield f"controller {number} starts with controller epoch {after.registry.controller_epoch}", "failover"
        case "handle_alter_partition", {"controller": number, "leader": leader}:
            yield from _answered(before, after, number, leader)
        case "metadata_rolls_back", _:
            yield from _rolled_back(before, after)
        case "commit", _ if after.quorum.epoch > before.quorum.epoch and _has_begun(before, after.quorum.epoch):
            yield f"leader epoch {after.quorum.epoch} begins a second time", "reused epoch"
        case "admit", {"broker": broker} if after.heard[broker].registering:
            registry = before.registry
            if registry.registered[broker]:
                yield f"broker {broker} registers again before it is fenced", ""
        case "apply_record", {"broker": broker}:
            replica, led = before.replicas[broker], after.replicas[broker].leader == broker
            if led and replica.leader is None and _has_lost_end(before, broker):
                epoch = after.replicas[broker].epoch
                yield f"broker {broker} leads in epoch {epoch} again, with a log that has lost its end", ""


def _rolled_back(before: Cluster, after: Cluster) -> Iterator[tuple[str, str]]:
    quorum, lost = after.quorum, before.quorum
    leads = "nobody leads" if quorum.leader is None else f"broker {quorum.leader} leads"
    since = f"epoch {lost.epoch} with ISR {drawn_isr(lost.isr)} is lost"
    yield f"{leads} in epoch {quorum.epoch} with ISR {drawn_isr(quorum.isr)} again: {since}", "rolled back"
    for broker, heard in enumerate(after.heard):
        if heard.ahead == APPLIED:
            yield (
                f"broker {broker} has applied what is lost, and goes on until it fetches the metadata log again",
                "zombie",
            )
        elif heard.ahead == ANSWERED:
            yield f"broker {broker} knows what is lost from the answer to its request, and notices nothing", "outdated"
        elif heard.generation > after.registry.births[broker]:
            yield f"the registration of broker {broker} is lost, and its heartbeats are refused", "refused"


def _has_begun(state: Cluster, epoch: int) -> bool:
    return any(replica.epoch >= epoch or (replica.log.last_epoch or 0) >= epoch for replica in state.replicas)


def _has_lost_end(state: Cluster, broker: int) -> bool:
    return state.replicas[broker].log.end_offset < max(each.log.end_offset for each in state.replicas)


def is_refused(steps: Sequence[Step[Cluster]]) -> bool:
    """Return whether a controller has answered an `AlterPartition` request in a trace with an error after which the
    leader waits. The `kafka` family has one other reason why a leader waits, and names it.
    """
    return any(
        step.action == "handle_alter_partition" and _waits(step.after, step.arguments["leader"]) for step in steps
    )


def _waits(state: Cluster, leader: int) -> bool:
    proposal = state.replicas[leader].proposal
    return proposal is not None and proposal.dropped


def _answered(before: Cluster, after: Cluster, number: int, leader: int) -> Iterator[tuple[str, str]]:
    if before.registry.controller != number:
        yield f"former controller {number} handles the request of broker {leader}", "zombie"
    if _waits(after, leader):
        epoch = before.replicas[leader].epoch
        yield (
            f"broker {leader} in epoch {epoch} is told that its request is outdated, and waits for a newer state",
            "refused",
        )


def _shut_down(before: Cluster, after: Cluster, number: int, broker: int) -> Iterator[tuple[str, str]]:
    if broker not in after.controllers[number].shutting_down:
        yield f"controller {number} refuses broker {broker}'s request to shut down", "refused"
    elif not after.heard[broker].may_stop:
        yield (
            f"controller {number} handles a request to shut down that broker {broker} sent before it restarted, and "
            "elects it no more",
            "stale request",
        )
    elif after.quorum.leader == broker:
        yield f"no other broker can lead, so broker {broker} will stop as the leader", ""


def _misses(before: Cluster) -> str:
    """Return a phrase about the brokers whose restart a new controller cannot detect, or an empty string."""
    known = [own.known for own in before.controllers if own.epoch]
    bounced = [
        broker
        for broker, epoch in enumerate(before.registry.sessions)
        if epoch and any(0 < each[broker] < epoch for each in known)
    ]
    if not bounced:
        return ""
    return f"; it takes {_named(bounced)} as it is now, and cannot see that it has restarted"


def _is_seen(before: Cluster, broker: int) -> bool:
    return any(own.epoch and not (own.read or own.known)[broker] for own in before.controllers)


def _acting(before: Cluster, after: Cluster, number: int, read_in: int | None) -> Iterator[tuple[str, str]]:
    read, sessions = before.controllers[number].read, before.registry.sessions
    is_former = before.registry.controller != number
    outdated = "" if read is None else _outdated(read, sessions)
    if read_in is not None and (outdated or is_former):
        who = f"{'former ' if is_former else ''}controller {number}"
        label = "stale read" if outdated else "zombie"
        yield f"{who} still acts on what it read in step {read_in}{': ' if outdated else ''}{outdated}", label
    if before.quorum == after.quorum:
        return
    epoch, quorum = before.controllers[number].epoch, after.quorum
    leads = "no leader" if quorum.leader is None else f"leader {quorum.leader}"
    newest = before.registry.controller_epoch
    accepted = f", and ZooKeeper accepts it, although there is a controller of epoch {newest}" if epoch < newest else ""
    yield f"the controller of epoch {epoch} writes {leads} in leader epoch {quorum.epoch}{accepted}", ""
    leader = quorum.leader
    if accepted and leader is not None and before.believes_to_lead(leader) and not before.protocol.in_flight:
        yield (
            f"broker {leader} still leads in epoch {before.replicas[leader].epoch}: ZooKeeper refuses every ISR from a "
            f"leader that has not heard of epoch {quorum.epoch}",
            "outdated",
        )


def _outdated(read: Sessions, now: Sessions) -> str:
    texts = []
    for broker, (was, is_now) in enumerate(zip(read, now, strict=True)):
        if was != is_now:
            state = "was down" if not was else "was live" if not is_now else "had an earlier broker epoch"
            texts.append(f"broker {broker} {state} then")
    return ", ".join(texts)


def _handled(before: Cluster, after: Cluster, number: int, broker: int) -> Iterator[tuple[str, str]]:
    request, heard, replica = before.queue(number, broker)[0], before.heard[broker], before.replicas[broker]
    if isinstance(request, StopReplica) and accepts(before, broker, request):
        if not before.protocol.obeys_stop(replica.epoch, request.epoch):
            yield (
                f"broker {broker} ignores the StopReplica request of leader epoch {request.epoch}: it is in epoch "
                f"{replica.epoch} already",
                "",
            )
        elif replica.leader is not None:
            yield f"broker {broker} {'deletes its replica' if request.delete else 'stops fetching'}", ""
    elif accepts(before, broker, request):
        if after.replicas[broker].leader == broker != replica.leader and replica.leader is None and request.epoch >= 0:
            if _has_lost_end(before, broker):
                yield f"broker {broker} leads in epoch {request.epoch} again, with a log that has lost its end", ""
        elif request.epoch <= replica.epoch:
            yield f"broker {broker} ignores leader epoch {request.epoch}: it is in epoch {replica.epoch} already", ""
    elif request.controller_epoch < heard.controller_epoch:
        yield (
            f"broker {broker} refuses the request of controller epoch {request.controller_epoch}, because it has "
            f"obeyed epoch {heard.controller_epoch}",
            "refused",
        )
    else:
        yield (
            f"broker {broker} refuses a request for its broker epoch {request.generation}, because it has restarted",
            "refused",
        )


def _named(brokers: list[int]) -> str:
    return " and ".join(f"broker {broker}" for broker in brokers)
