"""Find a trace of a bug whose steps real controllers can execute, one after the other.

In the model, a former controller can act for any length of time. A real controller learns of a change of `/controller`
at once, unless it is handling an event: it has read the list of brokers, and its next request to ZooKeeper is held.
Therefore, the search leaves out steps that a driver cannot execute, and finds a shortest violation without them. All
its steps are steps of the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from leadline.brokers.errors import NotExecutable
from leadline.checker.action import ActionInstance
from leadline.checker.spec import Spec
from leadline.checker.trace import Trace, complaint_at_end
from leadline.model.control.state import Cluster, Controller
from leadline.model.control.wire import on_the_wire

Instance = ActionInstance[Any]

MOST_STATES = 50_000


def schedule_of(spec: Spec[Cluster]) -> Trace[Cluster]:
    """Return a shortest trace that violates the only property of a spec, and that a driver can execute.

    Parameters:
        spec: a spec of the `control` family.

    Raises:
        NotExecutable: if no trace is found, or the search has too many states. The message says why.
    """
    (about,) = spec.checks
    came: dict[Cluster, tuple[Cluster, Instance] | None] = dict.fromkeys(spec.initials())
    waiting = list(came)
    for state in waiting:  # a queue that grows during the loop
        for instance, after in spec.successors(state):
            unmade = on_the_wire(instance.action.name, state.protocol).unmade
            if after in came or unmade or not _may_happen(state, instance):
                continue
            came[after] = state, instance
            waiting.append(after)
            if complaint_at_end(spec, about, [state, after]) is not None:
                return Trace(spec, *path_to(after, came), about)
        if len(came) > MOST_STATES:
            raise NotExecutable(1, f"no violation of {about.name} within {MOST_STATES:,} states")
    raise NotExecutable(
        1, "; ".join([f"no steps that the driver can execute violate {about.name}", *sorted(_unmade(spec))])
    )


def _unmade(spec: Spec[Cluster]) -> Iterator[str]:
    """Yield the reasons why the driver cannot execute some perturbations of a spec."""
    perturbing = {each.action.name for each in spec.instances if each.action.effect == "perturbing"}
    protocol = spec.initials()[0].protocol
    yield from {on_the_wire(name, protocol).unmade for name in perturbing} - {""}


def path_to(
    last: Cluster, came: Mapping[Cluster, tuple[Cluster, Instance] | None]
) -> tuple[list[Cluster], list[Instance]]:
    """Return the states and the steps of the path to a state.

    Parameters:
        came: for each state, the state before it on its path, and the step between them. None for the first state.
    """
    states, taken = [last], []
    while (step := came[states[-1]]) is not None:
        states.append(step[0])
        taken.append(step[1])
    return states[::-1], taken[::-1]


def _may_happen(state: Cluster, instance: Instance) -> bool:
    """Return whether real brokers can execute a step in a state."""
    name, arguments = instance.action.name, instance.arguments
    for number, own in enumerate(state.controllers):
        if (
            own.read is not None
            and not _rereads(state, own)
            and (name, arguments) != ("act_on_brokers", {"controller": number})
        ):
            return False  # it sends what it knows, and no request to ZooKeeper shows when it begins
        if own.is_free and state.registry.controller != number:
            return (
                name in ("deliver", "resign")
                and arguments["controller"] == number
                and (
                    name == "deliver" or not any(state.queue(number, broker) for broker in range(state.bounds.brokers))
                )
            )  # it hears of it now, and waits for the responses to its requests
    match name:
        case "controller_session_expires":
            return state.controllers[arguments["controller"]].read is not None
        case "act_on_brokers":
            number = arguments["controller"]
            gone = [broker for broker, epoch in enumerate(state.controllers[number].read or ()) if not epoch]
            return state.registry.controller is not None and not any(
                state.replicas[broker].up and state.queue(number, broker) for broker in gone
            )  # up to 2.1, it waits for the response (ControllerChannelManager.removeExistingBroker)
        case "restart" | "register":  # a broker that comes without a controller becomes the controller itself
            return state.registry.controller is not None and not _handles_event(state)
        case "become_controller":  # a controller that has died is not started again
            return bool(arguments["controller"] == state.spent.failovers)  # type: ignore[attr-defined]
        case "broker_dies" | "broker_session_expires":
            waits = any(state.queue(number, arguments["broker"]) for number in range(len(state.controllers)))
            return not waits and not _handles_event(state)
    return True


def _handles_event(state: Cluster) -> bool:
    """Return whether the controller that is registered in ZooKeeper is handling an event.

    If this controller is replaced later, it will handle any change that happens now before it learns of its
    replacement.
    """
    number = state.registry.controller
    return number is not None and state.controllers[number].read is not None


def _rereads(state: Cluster, own: Controller) -> bool:
    """Return whether a controller reads the partition state before it acts. It does so if a broker is gone or has
    restarted.
    """
    changes = zip(own.known, own.read or (), strict=True)
    return any(was and (not now or (state.protocol.compares_epochs and was != now)) for was, now in changes)
