"""Let Kafka's classes walk at random, and check that the model allows what they do.

A walk chooses among what the real nodes can do next: it delivers a request that one of them holds, lets a timer expire,
appends a record, or disturbs a node. Afterwards, the nodes must be in a state that one step of the model leads to from
a state in which they may have been before; the rest of a state, such as the votes that a candidate has, cannot be seen.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import attrs

from leadline.brokers.driver.waiting import StepFailed
from leadline.brokers.quorum.observed_state import ObservedQuorum, differences, observed_in, observed_state
from leadline.brokers.quorum.operations import LOSSES, REQUESTS, execute, not_shown, passing, start_all
from leadline.brokers.quorum.process import Controllers
from leadline.brokers.releases import BrokerRelease
from leadline.checker.action import ActionInstance
from leadline.checker.spec import Spec
from leadline.model.raft.state import PROSPECTIVE, Quorum

_MANY = ("max_epoch", "values", "restarts", "resignations", "links", "snapshots")
_FEW = ("disks", "files", "deaths", "configurations")
BOUNDS: Mapping[str, int] = dict.fromkeys(_MANY, 9) | dict.fromkeys(_FEW, 1) | {"cuts": 2}
"""The bounds of the model. A walk ends in the last epoch."""

_VOTERS = {"nodes": 5, "observers": 2, "dynamic": True}
DYNAMIC: Mapping[str, int] = dict.fromkeys((*_MANY, "changes"), 9) | {"deaths": 1, "snapshots": 0} | _VOTERS
"""The bounds with kraft.version 1, which every other walk has where the release has it."""

FIRST_RESIGNATIONS = (3, 0)
"""The first release whose controllers can let their node resign."""

FIRST_CHANGES = (3, 9)
"""The first release with kraft.version 1."""

STEPS = 60

_ACTIONS = {api: name for name, api in REQUESTS.items()}
_DISTURBANCES = (
    *(*("change_voters",) * 4, *("restart",) * 3, *("take_snapshot", "delete_segments") * 2, "check_quorum"),
    *("resign", "cut_link", "restore_link"),
)
_LOSSES = (*LOSSES, "change_configuration", "die")
_SHARE = 0.08
"""How often a walk disturbs the nodes, and how often it lets a timer expire, although messages are held."""


@attrs.frozen
class Walk:
    """A walk of the real nodes.

    Attributes:
        steps: a sentence for each step.
        rejected: why the model does not allow the last step, or an empty string.
    """

    seed: int
    steps: tuple[str, ...]
    rejected: str = ""


def walk(nodes: Controllers, spec: Spec[Quorum], seed: int, steps: int = STEPS) -> Walk:
    """Let new nodes walk.

    Parameters:
        nodes: a process without nodes.
        spec: the spec of the release, with `BOUNDS` or `DYNAMIC`.
        steps: the largest number of steps.

    Raises:
        BrokerError: if the process ends.
    """
    if nodes.release.version < FIRST_RESIGNATIONS:
        spec = spec.with_bounds({"resignations": 0})
    chosen, states = random.Random(seed), list(spec.initials())
    start_all(nodes, states[0])
    made = list[str]()
    rejected = _rejection(states, _observed(nodes, spec))
    loses = chosen.random() < 0.3
    last_epoch = states[0].bounds.max_epoch
    while not rejected and len(made) < steps and all(node.epoch < last_epoch for node in states[0].nodes):
        instance = _next(nodes, spec, states, chosen, loses)
        if instance is None:
            break
        possible = list(dict.fromkeys(after for state in states for after in _after(spec, instance, state)))
        try:
            did = execute(nodes, instance.action.name, instance.arguments, states[0], possible[0])
        except StepFailed as error:
            return Walk(seed, tuple(made), f"{instance.sentence}: {error}")
        made.append(f"{instance.sentence}: {'; '.join(did)}")
        seen = _observed(nodes, spec)
        rejected = _rejection(possible, seen)
        states = [state for state in possible if not differences(observed_state(state), seen)]
    return Walk(seed, tuple(made), rejected)


def _observed(nodes: Controllers, spec: Spec[Quorum]) -> ObservedQuorum:
    return observed_in(nodes.observed(), spec.initials()[0].bounds.nodes)


def _rejection(possible: Sequence[Quorum], seen: ObservedQuorum) -> str:
    """Return the differences from the most similar state of the model, or an empty string if there are none."""
    closest: list[str] = min((differences(observed_state(state), seen) for state in possible), key=len)
    return "; ".join(closest)


def _after(spec: Spec[Quorum], instance: ActionInstance[Quorum], state: Quorum) -> Iterator[Quorum]:
    """Yield the states to which a step may lead. A step that the model does not have changes nothing.

    The model does not remember who has refused a vote. Since 4.0, the next timer of a node expires at once when a
    majority has refused its pre-vote; so does that of a candidate among two voters, if its random backoff is 0. See
    also `passing`.
    """
    found = list(_shown(spec, instance, state)) or [state]
    yield from found
    own = instance.arguments["own"]
    for after in found:
        is_refused = after.nodes[own].role == PROSPECTIVE or len(after.voters(own)) == 2
        is_refused = is_refused and instance.action.name == "ask_vote"
        passes = ("time_out", own) if is_refused else passing(instance, state, after)
        if passes is not None:
            yield from spec.take(_instance(spec, passes[0], own=passes[1]), after)


def _shown(spec: Spec[Quorum], instance: ActionInstance[Quorum], state: Quorum) -> Iterator[Quorum]:
    """Yield the states to which a step of the model leads, as far as Kafka's classes show it."""
    own = instance.arguments["own"]
    for after in spec.take(instance, state):
        if not not_shown(instance.action.name, state.nodes[own], after.nodes[own]):
            yield after


def _instance(spec: Spec[Quorum], name: str, **arguments: int) -> ActionInstance[Quorum]:
    return next(each for each in spec.instances if each.action.name == name and each.arguments == arguments)


def _next(
    nodes: Controllers, spec: Spec[Quorum], states: Sequence[Quorum], chosen: random.Random, loses: bool
) -> ActionInstance[Quorum] | None:
    """Choose a step: mostly a message, else a timer, an append or a disturbance."""
    state, kind = states[0], chosen.random()
    by_name: dict[str, list[ActionInstance[Quorum]]] = {}
    for each in spec.instances:
        if any(_shown(spec, each, state)):
            by_name.setdefault(each.action.name, []).append(each)
    messages = list(_messages(nodes, spec, state))
    others = [*by_name.get("append", []), *by_name.get("start_again", [])]
    if kind < _SHARE:
        names = [name for name in (*_DISTURBANCES, *(_LOSSES if loses else ())) if name in by_name]
        choices = by_name[chosen.choice(names)] if names else []
    elif kind < 2 * _SHARE or not (messages or others):
        choices = by_name.get("time_out", [])
    elif others and kind < 4 * _SHARE:
        choices = others
    else:
        choices = messages or others
    choices = choices or messages or others or by_name.get("time_out", [])
    return chosen.choice(choices) if choices else None


def _messages(nodes: Controllers, spec: Spec[Quorum], state: Quorum) -> Iterator[ActionInstance[Quorum]]:
    """Yield the steps that deliver a request which a node holds, and which arrives."""
    for own, seen in nodes.observed().items():
        for other, api in seen["sent"].items():
            to = int(other)
            if api in _ACTIONS and not seen["halted"] and own != to and state.arrives(own, to):
                yield _instance(spec, _ACTIONS[api], own=own, other=to)


def walks(release: BrokerRelease, spec: Spec[Quorum], folder: Path, seeds: Iterable[int]) -> Iterator[Walk]:
    """Yield walks of the nodes of a release, one for each seed.

    Parameters:
        spec: the spec of the release. Its bounds are replaced by `BOUNDS`, or by `DYNAMIC`.
        folder: the folder to create for the files of the nodes, which are removed after each walk.

    Raises:
        BrokerError: if the process with the nodes cannot be started, or ends.
    """
    changes = release.version >= FIRST_CHANGES and next(iter(spec.initials())).protocol.changes_voters
    with closing(Controllers(release, folder)) as nodes:
        for seed in seeds:
            yield walk(nodes, spec.with_bounds(DYNAMIC if changes and seed % 2 else BOUNDS), seed)
            nodes.clear()
