"""Random walks of the model of a release, and what a recorder would see of their steps."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import attrs

from leadline.checker.conformance import Observation
from leadline.model.kafka.conformance.following import FollowedRelease, followed_release, forget
from leadline.model.kafka.conformance.observer import Window
from leadline.model.kafka.conformance.projection import Taken, seen
from leadline.model.kafka.messages import FetchRequest, FetchResponse
from leadline.model.kafka.mixes import Mix
from leadline.model.kafka.releases import Column
from leadline.model.kafka.state import Partition
from leadline.model.log import Record

BROKERS = 3
RARE = {
    "crash": 0.02,
    "crash_after_append": 0.02,
    "crash_losing_tail": 0.01,
    "session_expires": 0.02,
    "controller_elects": 0.1,
    "shrink_isr": 0.1,
    "produce": 0.5,
}
"""How often actions are taken, relative to others."""

NOT_WALKED = {
    *("begin_shutdown", "stop", "delay_fetch", "handle_late_fetch", "update_min_insync_replicas"),
    *("restart_as", "controller_becomes", "change_level"),
}
"""Steps of which nothing, or too little, is seen as long as nothing follows from them, and those of upgrades."""


def release(column: Column | Mix, **more: Any) -> FollowedRelease:
    """Return a release without shutdowns, in which no broker handles a response of an earlier epoch."""
    return followed_release(column, BROKERS, shutdowns=0, late_responses=0, acks="all", **more)


def beginning(followed: FollowedRelease) -> Partition:
    """Return the first state. In a mix, broker 1 and the controller run the new release."""
    return followed.beginning(0, frozenset(range(BROKERS)), (0, 1, 0, 1))


def walk(followed: FollowedRelease, length: int, rng: random.Random) -> list[Taken]:
    """Return the steps of a random walk: the action, its values, and the states before and after."""
    state, steps, value = beginning(followed), [], 0
    for _ in range(length):
        moves: dict[str, list[tuple[tuple[int, ...], Partition]]] = {}
        for name, values in instances(followed, state):
            given = attrs.evolve(state, next_value=value) if name == "produce" else state
            for after in map(forget, followed.take(name, given, *values)):
                if after != state:
                    moves.setdefault(name, []).append((values, after))
        if not moves:
            break
        name = rng.choices(list(moves), [RARE.get(each, 1.0) for each in moves])[0]
        values, after = rng.choice(moves[name])
        value += name == "produce"
        steps.append((name, values, state, after))
        state = after
    return steps


def instances(followed: FollowedRelease, state: Partition) -> Iterator[tuple[str, tuple[int, ...]]]:
    pairs = [(a, b) for a in range(BROKERS) for b in range(BROKERS) if a != b]
    for name, action in followed.actions.items():
        if name in NOT_WALKED:
            continue
        parameters = tuple(action.domains)
        if len(parameters) == 1:
            yield from ((name, (broker,)) for broker in range(BROKERS))
        elif parameters[1] == "epoch":
            for broker in range(BROKERS):
                newer = range(max(0, state.replicas[broker].epoch + 1), len(state.requests))
                yield from ((name, (broker, epoch)) for epoch in newer)
        elif parameters[1] == "offset":
            for broker in range(BROKERS):
                yield from ((name, (broker, at)) for at in range(state.replicas[broker].log.end_offset))
        else:
            yield from ((name, pair) for pair in pairs)


def recorded(
    followed: FollowedRelease, steps: list[Taken], rng: random.Random, spread: float
) -> list[Observation[Partition]]:
    """Return what a recorder sees of the steps, with windows that begin and end up to `spread` steps away."""
    observations = []
    for time, see in seen(followed, steps):
        observations.append(see(Window(time - rng.uniform(0, spread), time + rng.uniform(0, spread))))
    return sorted(observations, key=lambda each: each.earliest)


# --- changed walks ----------------------------------------------------------------------------------------------


def _with_message(state: Partition, follower: int, **changes: Any) -> Partition:
    message: Any = state.replicas[follower].in_flight
    replica = attrs.evolve(state.replicas[follower], in_flight=attrs.evolve(message, **changes))
    return attrs.evolve(state, replicas=(*state.replicas[:follower], replica, *state.replicas[follower + 1 :]))


def _with_quorum(state: Partition, **changes: Any) -> Partition:
    return attrs.evolve(state, quorum=attrs.evolve(state.quorum, **changes))


def changed(kind: str, step: Taken) -> Taken | None:
    """Return a step of which one thing was recorded wrongly, or None if the step does not have it."""
    name, values, before, after = step
    follower = values[-1]
    answer: Any = after.replicas[follower].in_flight if follower < BROKERS else None
    fetched = name == "handle_fetch" and isinstance(answer, FetchResponse)
    match kind:
        case "high watermark" if fetched:
            return name, values, before, _with_message(after, follower, high_watermark=answer.high_watermark + 1)
        case "epoch of a record" if fetched and answer.records:
            records = (attrs.evolve(answer.records[0], epoch=answer.records[0].epoch + 1),)
            return name, values, before, _with_message(after, follower, records=records)
        case "value of a record" if fetched and answer.records:
            records = (attrs.evolve(answer.records[0], value=answer.records[0].value + 1000),)
            return name, values, before, _with_message(after, follower, records=records)
        case "record that is not there" if fetched and not answer.records:
            return name, values, before, _with_message(after, follower, records=(Record(1000, 0),))
        case "fetch offset" if name == "handle_fetch":
            request: Any = before.replicas[follower].in_flight
            return name, values, _with_message(before, follower, offset=request.offset + 1), after
        case "next fetch offset" if name == "handle_fetch_response" and isinstance(answer, FetchRequest):
            return name, values, before, _with_message(after, follower, offset=answer.offset + 1)
        case "end of an epoch" if name == "handle_epoch_request" and answer.end_offset is not None:
            return name, values, before, _with_message(after, follower, end_offset=answer.end_offset + 1)
        case "leader" if name == "controller_elects" and after.quorum != before.quorum:
            return name, values, before, _with_quorum(after, leader=(values[0] + 1) % BROKERS)
        case "epoch" if name == "controller_elects" and after.quorum != before.quorum:
            return name, values, before, _with_quorum(after, epoch=after.quorum.epoch + 1)
        case "ISR" if name == "handle_alter_partition" and after.quorum != before.quorum:
            return name, values, before, _with_quorum(after, isr=frozenset(range(BROKERS)) - after.quorum.isr)
    return None


KINDS = (
    "high watermark",
    "epoch of a record",
    "value of a record",
    "record that is not there",
    "fetch offset",
    "next fetch offset",
    "end of an epoch",
    "leader",
    "epoch",
    "ISR",
)
"""What is recorded wrongly in a changed walk."""
