"""Describe states and traces of the `control` family as rows, messages and events, for diagrams and tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from leadline.checker.action import Step
from leadline.checker.drawing import Drawing, Event, Message, Row
from leadline.model.control.explanation import events, is_refused
from leadline.model.control.metadata_log import METADATA
from leadline.model.control.state import Cluster, Controller, Image, Sessions, StopReplica
from leadline.model.kafka import drawing as kafka
from leadline.model.quorum import drawn_isr
from leadline.model.rows import CONTROLLER, broker_row, controller_badges, controller_columns

ZOOKEEPER = "ZooKeeper"
METADATA_LOG = "metadata log"


def controller_row(number: int) -> str:
    """Return the name of the row for the controller with the given number."""
    return f"controller {number}"


def rows(state: Cluster) -> dict[str, Row]:
    """Return the rows for ZooKeeper, the controllers, the producers, each broker, and the consumers, keyed by name.

    The row for a controller shows what the controller knows, what it has read but not yet acted on, and which of its
    requests brokers have not yet handled.
    """
    own = {controller_row(number): _controller(state, number) for number in range(len(state.controllers))}
    others = {name: row for name, row in kafka.rows(state).items() if name != CONTROLLER}
    for broker, heard in enumerate(state.heard):
        name = broker_row(broker)
        generation = f", broker epoch {heard.generation}" if state.protocol.names_generations else ""
        obeys = f"c{heard.controller_epoch}{generation}" if heard.controller_epoch else ""
        row = others[name]
        badges = [*row.badges, f"obeys {obeys}"] if obeys else row.badges
        others[name] = attrs.evolve(row, badges=badges, columns={**row.columns, "obeys": obeys or "-"})
    if state.protocol.keeps_log:
        for broker, queue in enumerate(state.queues[: state.bounds.brokers]):
            name = broker_row(broker)
            row = others[name]
            behind = f"{len(queue)} to apply: {'; '.join(map(str, queue))}" if queue else ""
            badges = [*row.badges, behind] if behind else row.badges
            others[name] = attrs.evolve(row, badges=badges, columns={**row.columns, "behind": behind or "-"})
    return {_store(state): _stored(state), **own, **others}


def _store(state: Cluster) -> str:
    """Return the name of the row for the store that controllers write to: the metadata log or ZooKeeper."""
    return METADATA_LOG if state.protocol.keeps_log else ZOOKEEPER


def _stored(state: Cluster) -> Row:
    registry = state.registry
    holder = "no controller" if registry.controller is None else f"controller: {registry.controller}"
    live = _live(state, registry.sessions)
    written = [f"not committed: {_image(state, image)}" for image in registry.uncommitted]
    if not state.protocol.keeps_log:
        written = [f"written by c{registry.written_by}"]
    return Row(
        badges=[*controller_badges(state.quorum), *written, holder, live],
        columns={
            **controller_columns(state.quorum),
            "log": "; ".join([f"{holder}, c{registry.controller_epoch}", live, *written]),
        },
    )


def _image(state: Cluster, image: Image) -> str:
    partition = image.partition
    leads = "no leader" if partition.leader is None else f"leader {partition.leader}"
    sessions = attrs.evolve(state.registry, births=image.births, registered=image.registered).sessions
    return f"{leads}, epoch {partition.epoch}, ISR {drawn_isr(partition.isr)}, {_live(state, sessions)}"


def _live(state: Cluster, sessions: Sessions) -> str:
    epochs = state.protocol.compares_epochs or state.protocol.names_generations
    live = [f"{broker}#{epoch}" if epochs else str(broker) for broker, epoch in enumerate(sessions) if epoch]
    return f"live: {' '.join(live) or '-'}"


def _controller(state: Cluster, number: int) -> Row:
    own = state.controllers[number]
    if not own.active:
        return Row(badges=["not the controller"], columns={"role": "-"})
    holds = state.registry.controller == number
    role = "controller" if holds else "former controller"
    epoch = f"c{own.epoch}" if own.epoch else "no controller epoch yet"
    texts = _believes(state, own)
    waiting = [
        f"to {broker}: {'; '.join(map(str, state.queue(number, broker)))}"
        for broker in range(state.bounds.brokers)
        if state.queue(number, broker) and not state.protocol.keeps_log
    ]
    partition = {} if own.partition is None else controller_columns(own.partition)
    believed = [] if own.partition is None else controller_badges(own.partition)
    return Row(
        badges=[role, epoch, *believed, *texts, *waiting],
        columns={**partition, "role": f"{role} {epoch}", "log": "; ".join([*texts, *waiting])},
    )


def _believes(state: Cluster, own: Controller) -> list[str]:
    if state.protocol.keeps_log:
        return []
    texts = [_live(state, own.known)] if own.epoch else []
    if own.asked:
        waiting = ", ".join(f"{broker}#{epoch}" for broker, epoch in sorted(own.asked))
        texts.append(f"ControlledShutdown requests: {waiting}")
    if own.shutting_down:
        texts.append(f"shutting down: {' '.join(map(str, sorted(own.shutting_down)))}")
    return texts if own.read is None else [*texts, f"has read {_live(state, own.read)}"]


def messages(state: Cluster) -> Iterator[Message]:
    """Yield the messages in flight: the oldest request from each controller to each broker, and messages between
    brokers.
    """
    for number in range(1 if state.protocol.keeps_log else len(state.controllers)):
        for broker in range(state.bounds.brokers):
            yield from _next(state, number, broker)
    yield from _redirected(state, kafka.messages(state))


def _next(state: Cluster, controller: int, broker: int) -> Iterator[Message]:
    for request in state.queue(controller, broker)[:1]:
        if state.protocol.keeps_log:
            yield Message(METADATA_LOG, broker_row(broker), "record", str(request))
        else:
            name = "StopReplica" if isinstance(request, StopReplica) else "LeaderAndIsr"
            yield Message(controller_row(controller), broker_row(broker), name, str(request))


def arrivals(step: Step[Cluster]) -> Iterator[Message]:
    """Yield the messages that arrive in a step, including writes to ZooKeeper and reads from it."""
    before, after = step.before, step.after
    match step.action, step.arguments:
        case "deliver" | "deliver_unanswered", {"controller": number, "broker": broker}:
            yield from _next(before, number, broker)
        case "apply_record", {"broker": broker}:
            yield from _next(before, METADATA, broker)
        case "handle_alter_partition", {"controller": number, "leader": leader}:
            asked = before.replicas[leader].proposal
            isr = "" if asked is None else drawn_isr(asked.isr)
            yield Message(broker_row(leader), controller_row(number), f"AlterPartition, ISR {isr}")
        case "hear_answer", {"leader": leader}:
            asked_in = before.heard[leader].asks
            for number, own in enumerate(before.controllers):
                if own.epoch == asked_in:
                    yield Message(controller_row(number), broker_row(leader), f"ISR {drawn_isr(after.quorum.isr)}")
        case "fence" | "admit", {"broker": broker} if before.registry.controller is not None:
            yield Message(controller_row(before.registry.controller), METADATA_LOG, f"{step.action}s broker {broker}")
        case "read_brokers", {"controller": number}:
            read = after.controllers[number].read
            yield Message(ZOOKEEPER, controller_row(number), _live(after, read or ()))
        case "become_controller" | "start", {"controller": number}:
            epoch = after.controllers[number].epoch
            is_node = step.action == "become_controller" and not after.protocol.keeps_log
            written = [*(["/controller"] if is_node else []), *([f"c{epoch}"] if epoch else [])]
            yield Message(controller_row(number), _store(after), ", ".join(written))
        case "lose_election", {"controller": number}:
            yield Message(controller_row(number), _store(after), "/controller")
        case "hear_of_isr", {"controller": number}:
            yield Message(ZOOKEEPER, controller_row(number), f"ISR {drawn_isr(after.quorum.isr)}")
        case "ask_to_stop", {"broker": broker} if before.registry.controller is not None:
            yield Message(broker_row(broker), controller_row(before.registry.controller), "ControlledShutdown")
        case "restart" | "register", {"broker": broker} if not after.protocol.keeps_log:
            yield Message(broker_row(broker), ZOOKEEPER, "registers")
    if step.action == "act_on_brokers" and after.quorum != before.quorum:
        (number,) = step.arguments.values()
        yield Message(
            controller_row(number), ZOOKEEPER, f"epoch {after.quorum.epoch}, ISR {drawn_isr(after.quorum.isr)}"
        )
    between: Step[Any] = step
    if step.action == "handle_alter_partition":
        return  # the controllers of this family are drawn each by itself
    yield from _redirected(after, kafka.arrivals(between))


def _redirected(state: Cluster, messages: Iterator[Message]) -> Iterator[Message]:
    """Yield the given messages of the `kafka` family with a row of this family in place of that family's controller.

    Up to 2.6, leaders write the ISR to ZooKeeper. In later releases, they send requests to the active controller. While
    a former controller is also active, either of them may receive a request, so the request is drawn only when a
    controller handles it.
    """
    active = [number for number, own in enumerate(state.controllers) if own.active and own.epoch]
    to = _store(state)
    if state.protocol.in_flight:
        to = controller_row(active[0]) if len(active) == 1 else ""
    for message in messages:
        source = to if message.source == CONTROLLER else message.source
        target = to if message.target == CONTROLLER else message.target
        if source and target:
            yield attrs.evolve(message, source=source, target=target)


def _events(steps: Sequence[Step[Cluster]]) -> Iterator[Event]:
    replicated: Sequence[Step[Any]] = steps
    yield from events(steps)
    for event in kafka.DRAWING.events(replicated):
        if event.label != "stuck" or not is_refused(steps):
            yield event


DRAWING = Drawing(
    rows=rows,
    messages=messages,
    arrivals=arrivals,
    events=_events,
    legend="c2: the controller of controller epoch 2; live: the brokers that have a session, as ZooKeeper or a "
    "controller knows it; 0#2: broker 0 with broker epoch 2; to 0: requests that broker 0 has not handled yet; "
    "obeys: the newest controller that the broker has obeyed; behind: the records of the metadata log that the broker "
    "has not applied; " + kafka.DRAWING.legend,
)
