"""The values of rules that `leadline mutate` tries in releases of the `control` family, and wrong rules of the metadata
log.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from leadline.checker.action import Action
from leadline.model.control import metadata_log as log
from leadline.model.control.alter_partition import handle_alter_partition
from leadline.model.control.controller import become_controller
from leadline.model.control.failures import broker_session_expires, controller_dies, controller_session_expires
from leadline.model.control.state import Cluster, Heard
from leadline.model.mistakes import Mistake, Taken, and_then, changing
from leadline.model.quorum import brokers
from leadline.model.rules import RuleColumn

_CANCELLED: Mapping[str, int | str] = {
    "brokers": 3,
    "replicas": 2,
    "reassignments": 1,
    "cancellations": 1,
    "target": "0-2",
    "records": 0,
    "failovers": 0,
    "crashes": 0,
}
"""The bounds within which a reassignment is cancelled and nothing fails."""

RULES_SHOWN_WITH: Mapping[tuple[str, str], Mapping[str, int | str]] = {
    ("controller_election", "later"): {"records": 0, "crashes": 0, "failovers": 2},
    ("own_node", "starts"): {"records": 0, "crashes": 0, "lost_elections": 1},
    ("controller_writes", "unless-written-since"): {"records": 0},
    ("controller_epoch", "adopts"): {"records": 0, "crashes": 0},
    ("controller_requests", "obeyed"): {"records": 0},
    ("broker_change", "ids"): {"records": 2, "failovers": 0, "crashes": 0, "lossy_crashes": 1},
    ("broker_epoch", "none"): {"records": 2, "failovers": 0, "lossy_crashes": 1, "lost_answers": 1},
    ("stop_replica", "newer"): _CANCELLED,
    ("shrinks_unassigned", "no"): _CANCELLED,
    ("shrinks_unassigned", "yes"): {"records": 0},
    ("stop_replica", "any"): {"records": 0},
    ("stop_replica", "not-older"): {"records": 0},
    ("reassigning", "admin"): {"records": 0},
    ("newer_leader", "refused"): {"records": 0},
}
"""The bounds within which a value of a rule violates a property of a release with a different value."""

RIGHT_TOO: Mapping[tuple[str, str], str] = {
    ("reassigning", "admin"): "it only prevents that a reassignment is cancelled",
    ("stop_replica", "any"): "the requests of a controller to a broker stay in order in the model (KAFKA-9539)",
    ("stop_replica", "not-older"): "it is the rule of later releases",
    ("shrinks_unassigned", "yes"): "it is the rule of later releases",
    ("own_node", "starts"): "it is the cure of KAFKA-13407",
    ("broker_change", "epochs"): "it is the rule of later releases",
}
"""The reasons why a value of a rule does no harm to a release with a different value."""


WITH_A_LOG = frozenset({"broker_change", "newer_leader"})
"""The rules of the controller that concern releases with KRaft."""

WITHOUT_A_LOG = frozenset({"metadata", "newer_leader"})
"""The rules that are not mutated with ZooKeeper: the first is another system, with columns of its own. The second
concerns requests that a controller with ZooKeeper cannot answer wrongly, because its write fails.
"""


def concerns(rule: str, values: Mapping[str, str]) -> bool:
    """Return whether a different value for a rule can affect a release.

    Parameters:
        rule: the name of the rule.
        values: the values of the column.
    """
    return rule in WITH_A_LOG if values["metadata"] == "log" else rule not in WITHOUT_A_LOG


def may_be_mutated(column: RuleColumn) -> bool:
    """Return whether a release satisfies all properties within its default bounds. This is true of release 2.3 and
    later, except with KRaft before 3.3.
    """
    values = column.values
    fences = values["controller_writes"] == "fenced" and values["dead_at_start"] == "leave"
    return fences and values["newer_leader"] != "refused"


# --- wrong rules of the metadata log --------------------------------------------------------------------------------


def _unanswered(before: Cluster, after: Cluster, controller: int) -> Cluster:
    for broker in brokers(after.bounds):
        after = changing(after, broker, proposal=before.replicas[broker].proposal)
    return after


def _unregistered(before: Cluster, after: Cluster, controller: int) -> Cluster:
    for broker in brokers(after.bounds):
        registering = before.heard[broker].registering
        after = after.with_heard(broker, attrs.evolve(after.heard[broker], registering=registering))
    return after


def _answered(before: Cluster, after: Cluster, controller: int, leader: int) -> Cluster:
    is_written = len(after.registry.uncommitted) > len(before.registry.uncommitted)
    if not is_written:
        return after
    return changing(after, leader, isr=after.registry.uncommitted[-1].partition.isr, proposal=None)


def _announced(before: Cluster, after: Cluster, broker: int) -> Cluster:
    seen = log.as_the_controller_sees(after, log.newest(after))
    told = log.announced(seen, [each for each in brokers(after.bounds) if after.heard[each].generation])
    return attrs.evolve(after, queues=told.queues)


def _begun(before: Cluster, after: Cluster, broker: int) -> Cluster:
    if not after.heard[broker].registering:
        return after
    return after.with_heard(broker, Heard(generation=log.newest(after).births[broker]))


def _from_committed(action: Action[Any, ...]) -> Taken:
    """Return a function that writes a record as if the earlier records that are not committed did not exist."""

    def mutant(state: Cluster, *values: int) -> Iterator[Cluster]:
        waiting = state.registry.uncommitted
        for after in action(attrs.evolve(state, registry=attrs.evolve(state.registry, uncommitted=())), *values):
            records = (*waiting, *after.registry.uncommitted)
            yield attrs.evolve(after, registry=attrs.evolve(after.registry, uncommitted=records))

    return mutant


def _resumed(before: Cluster, after: Cluster, controller: int) -> Cluster:
    for broker in brokers(after.bounds):
        if after.replicas[broker].up and not after.heard[broker].generation:
            registry = after.registry.born(broker)
            after = attrs.evolve(after, registry=registry)
            after = after.with_heard(broker, Heard(generation=registry.births[broker]))
            after = log.announced(after, [broker])
    return after


def _newest_first(state: Cluster, broker: int) -> Iterator[Cluster]:
    queue = state.queue(log.METADATA, broker)
    newest_first = state.with_queue(log.METADATA, broker, (*queue[-1:], *queue[:-1]))
    yield from log.apply_record(newest_first, broker)


_FAILOVERS = (controller_session_expires, controller_dies)
_WITH_LOG = {"keeps_log": True}

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        name="undone-requests-unanswered",
        sentence="a failover undoes the record for which a leader waits, and nobody answers the leader",
        source="QuorumController.renounce: failAll, NOT_CONTROLLER",
        right=_WITH_LOG,
        actions={action: and_then(action, _unanswered) for action in _FAILOVERS},
        bounds={"records": 1, "crashes": 0, "isr_shrinks": 1},
    ),
    Mistake(
        name="undone-registrations-forgotten",
        sentence="a failover undoes the registration of a broker, and the broker does not register again",
        source="QuorumController.renounce: failAll; BrokerLifecycleManager sends the request again",
        right=_WITH_LOG,
        actions={action: and_then(action, _unregistered) for action in _FAILOVERS},
        bounds={"records": 0},
    ),
    Mistake(
        name="answered-before-committed",
        sentence="the controller answers a leader's request before the record is committed",
        source="QuorumController.ControllerWriteEvent: the response waits in the purgatory",
        right=_WITH_LOG,
        actions={handle_alter_partition: and_then(handle_alter_partition, _answered)},
        bounds={"controllers": 1, "records": 1, "crashes": 0, "isr_shrinks": 1, "session_expiries": 1},
    ),
    Mistake(
        name="applied-before-committed",
        sentence="brokers apply a record that is not committed",
        source="KIP-595: a fetch returns records up to the high watermark",
        right=_WITH_LOG,
        actions={log.fence: and_then(log.fence, _announced)},
        bounds={"records": 0},
    ),
    Mistake(
        name="registered-before-committed",
        sentence="a broker takes itself for registered before the registration is committed",
        source="QuorumController.registerBroker: the response waits in the purgatory",
        right=_WITH_LOG,
        actions={log.admit: and_then(log.admit, _begun)},
        bounds={"records": 0},
    ),
    Mistake(
        name="records-from-committed-state",
        sentence="the controller writes a record as if the records before it that are not committed did not exist",
        source="QuorumController: events read the newest state of the snapshot registry",
        right=_WITH_LOG,
        actions={action: _from_committed(action) for action in (log.fence, broker_session_expires)},
        bounds={"records": 0, "failovers": 0, "crashes": 0, "session_expiries": 2},
    ),
    Mistake(
        name="registrations-in-memory",
        sentence="a new controller takes the running brokers as they are, as with ZooKeeper",
        source="KIP-631: registrations are records",
        right={**_WITH_LOG, "compares_epochs": True},
        actions={become_controller: and_then(become_controller, _resumed)},
        bounds={"records": 2, "crashes": 0, "lossy_crashes": 1},
    ),
    Mistake(
        name="newest-record-first",
        sentence="brokers apply the newest record first",
        source="KIP-631: brokers apply the records of the metadata log in their order",
        right={**_WITH_LOG, "epoch_for_removal": False},
        actions={log.apply_record: _newest_first},
        bounds={"brokers": 3, "controllers": 1, "records": 0, "failovers": 0, "crashes": 2, "restarts": False},
    ),
    Mistake(
        name="newest-record-first",
        sentence="brokers apply the newest record first",
        source="KIP-631: brokers apply the records of the metadata log in their order",
        right={**_WITH_LOG, "epoch_for_removal": True},
        actions={log.apply_record: _newest_first},
        bounds={"records": 0, "failovers": 0, "crashes": 2},
        harmless="each record begins a leader epoch, and brokers ignore those of earlier epochs, except what a leader "
        "asks for, one request at a time",
    ),
)
"""The mistakes in the rules of the metadata log. They concern releases with KRaft only."""
